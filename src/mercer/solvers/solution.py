"""A minimizer with its certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer._words import plural
from mercer.solvers.monitor import Progress
from mercer.solvers.status import GAP_ROUNDING, Status, check, relative_gap

__all__ = ["Solution", "Terms", "join"]


class Terms(NamedTuple):
    r"""The objectives of one or several problems, term by term.

    Parameters
    ----------
    penalties : ndarray of shape (k,)
        :math:`Q = \tfrac12 a'Ka`, half the squared norm of the expansion.
    losses : ndarray of shape (k,)
        :math:`\sum_i c_i l(y_i, f_i)`.
    weights : ndarray of shape (k,)
        :math:`\sum_i c_i`; nan where it is not known.
    """

    penalties: Array
    losses: Array
    weights: Array


@dataclass(frozen=True, repr=False, eq=False)
class Solution:
    """A minimizer with its certificate; printed, a summary of it.

    Parameters
    ----------
    a, b : ndarray of shape (n,) and (q,)
        Coefficients of the expansion and of the unpenalized columns.
    objective, dual : float
        Value of the regularized risk, and the lower bound that duality proves for it.
    gap : float
        Duality gap, measured from scratch at ``(a, b)``. Of an approximated machine it is that of
        the reduced problem; see ``total_gap`` of
        :class:`~mercer.reduced.solve.ReducedSolution` for the whole one.
    violation, residual : float
        Largest violation of an optimality condition and of ``B'a = d``.
    status : Status
        How the solver ended.
    n_iter : int
        Iterations, in the solver's own unit.
    solver, reason : str
        Which solver ran, and why it was picked.
    times : dict
        Seconds spent in ``solve`` and ``certify``; the latter with products in float64 that a
        solver in float32 needs for its certificate.
    history : tuple of Progress
        The solver's report, line by line.
    f : ndarray of shape (n,)
        Decision values of the sample.
    n_free, n_bound : int
        Coefficients inside their bounds and on them, those that are zero apart.
    evaluations : int
        Kernel values that decomposition asked for; zero for solvers that take the matrix whole.
    b_interval : ndarray of shape (q, 2), optional
        Smallest and largest optimal value of each entry of ``b`` while the others stay.
    terms : Terms, optional
        Penalty, losses and weights, of each problem.
    resolution : float
        Gap that counts as none (rounding, or nothing beside the losses of a constant), measured
        where the gap is large beside the objective.
    samples : ndarray of shape (n,), optional
        Which row of the sample each coefficient belongs to, where several problems share rows;
        None for one row each.
    n_samples : int, optional
        Number of rows of the sample; None for as many as coefficients.
    precisions : ndarray of shape (n,), optional
        Of a squared loss, if its solver was asked for them: the inverse variance of every
        observation given the others, by which ``a`` is divided to get left-out errors.

    Notes
    -----
    A solution is never converged next to a gap that is not finite, or that is more than a
    hundredth of the objective: :func:`mercer.solvers.status.check` is asked when it is made.
    """

    a: Array
    b: Array
    objective: float
    dual: float
    gap: float
    violation: float
    residual: float
    status: Status
    n_iter: int
    solver: str
    reason: str
    f: Array
    times: dict[str, float] = field(default_factory=dict)
    history: tuple[Progress, ...] = ()
    n_free: int = 0
    n_bound: int = 0
    evaluations: int = 0
    b_interval: Array | None = None
    terms: Terms | None = None
    resolution: float = 0.0
    samples: NDArray[np.intp] | None = None
    n_samples: int | None = None
    precisions: Array | None = None

    def __post_init__(self) -> None:
        status = check(self.status, self.objective, self.dual, self.gap, self.resolution)
        object.__setattr__(self, "status", status)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.status.value}, objective={self.objective:.6g}, "
            f"gap={self.gap:.2g}, solver={self.solver!r})"
        )

    def __str__(self) -> str:
        return "\n".join(self.summary())

    def _repr_html_(self) -> str:
        first, *rest = map(escape, self.summary())
        return f"<div><strong>{first}</strong>{''.join(f'<br>{line}' for line in rest)}</div>"

    def summary(self) -> list[str]:
        """Return how the fit ended, how exact it is, which solver ran and what it found, in lines.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import SVR
        >>> X = np.linspace(0, 6, 50)[:, None]
        >>> SVR(gamma=1.0).fit(X, np.sin(X[:, 0])).solution_.summary()[0]
        'converged: objective 0.892669, certified within 0.0003 (0.033 %) of the optimum'
        """
        certain = "without a certificate"
        if np.isfinite(self.gap):
            part = f"{self.gap:.2g} ({100.0 * self.relative_gap:.2g} %)"
            part = "rounding" if self.relative_gap <= GAP_ROUNDING else part
            certain = f"certified within {part} of the optimum"
        seconds = sum(self.times.values())
        steps = plural(self.n_iter, "iteration")
        return [
            f"{self.status.value}: objective {self.objective:.6g}, {certain}",
            f"solver {self.solver} ({self.reason}), {steps}, {seconds:.2g} s",
            *self._size(),
        ]

    def _size(self) -> list[str]:
        """Return a line on the coefficients, if they are those of samples."""
        if not len(self.f):
            return []
        if self.samples is None:
            n, bound = len(self.support), f", {self.n_bound} of them at the bound"
        else:
            n = len(np.unique(self.samples[self.support]))
            bound = f", with {len(self.support)} coefficients, {self.n_bound} of them at the bound"
        bound = bound if self.n_bound else ""
        return [f"{n} support vectors of {self.n_samples or len(self.a)} samples{bound}"]

    @property
    def support(self) -> NDArray[np.intp]:
        """Indices of the non-zero coefficients."""
        return np.flatnonzero(self.a)

    @property
    def relative_gap(self) -> float:
        """Gap divided by the larger magnitude of objective and dual value."""
        return relative_gap(self.objective, self.dual, self.gap)

    @property
    def significant_figures(self) -> float:
        r"""Digits of the objective that are certain, :math:`-\log_{10}(gap / (1 + |objective|))`.

        The published stopping rule, whose one counts digits after the point where the objective is
        small; `relative_gap` has no such unit.
        """
        part = self.gap / (1.0 + abs(self.objective))
        return float(-np.log10(max(part, np.finfo(float).eps)))

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self.status is Status.CONVERGED


def join(solutions: Sequence[Solution]) -> Solution:
    """Return the solution of independent problems taken together.

    Objectives, bounds, gaps, iterations and times add up; violations and residuals are the largest,
    and the status is the worst. The only solution of one problem is returned as it is.
    """
    if len(solutions) == 1:
        return solutions[0]
    worst = next((s for s in solutions if not s.converged), solutions[0])
    rows = [np.arange(len(s.a)) if s.samples is None else s.samples for s in solutions]
    intervals = [s.b_interval for s in solutions if s.b_interval is not None]
    terms = [s.terms for s in solutions if s.terms is not None]
    return Solution(
        a=np.concatenate([s.a for s in solutions]),
        b=np.concatenate([s.b for s in solutions]),
        objective=sum(s.objective for s in solutions),
        dual=sum(s.dual for s in solutions),
        gap=sum(s.gap for s in solutions),
        violation=max(s.violation for s in solutions),
        residual=max(s.residual for s in solutions),
        status=worst.status,
        n_iter=sum(s.n_iter for s in solutions),
        solver=worst.solver,
        reason=worst.reason,
        f=np.concatenate([s.f for s in solutions]),
        times={key: sum(s.times[key] for s in solutions) for key in worst.times},
        history=tuple(progress for s in solutions for progress in s.history),
        n_free=sum(s.n_free for s in solutions),
        n_bound=sum(s.n_bound for s in solutions),
        evaluations=sum(s.evaluations for s in solutions),
        b_interval=np.concatenate(intervals) if len(intervals) == len(solutions) else None,
        terms=(
            Terms(*(np.concatenate(column) for column in zip(*terms, strict=True)))
            if len(terms) == len(solutions)
            else None
        ),
        # Gaps that are small one by one are small together.
        resolution=sum(s.gap if s.converged else s.resolution for s in solutions),
        samples=np.concatenate(rows),
        n_samples=max(s.n_samples or len(s.a) for s in solutions),
    )
