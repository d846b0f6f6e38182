"""The largest loss that the missing cells of a row allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.estimators.missing_risks import ByComponent, GapStrategy, Reading
from mercer.losses.base import Loss, QuadraticDualLoss
from mercer.machines.missing_cells import Components
from mercer.programs.variation import Part, Variation, VariationProblem
from mercer.solvers import Solution, Status
from mercer_research.programs.worst_case import worst_case

__all__ = ["WorstCase"]


@dataclass(eq=False)
class WorstCase(GapStrategy):
    r"""The largest loss that the gaps of a sample allow.

    .. math:: \sum_i c_i \max_{|u| \le T_i} l\Bigl(y_i, b + \sum_{p \text{ there}} f_p(x_i)
              + u\Bigr) + \mu \sum_p t_p, \qquad
              T_i = \sum_{p \text{ missing}} t_p, \quad t_p = \max_i |f_p(x_i)|

    A convex loss is largest at an end of the interval, so that this is a quadratic program. A
    component that many samples lack costs more than it can give; from a third to a half of all
    cells on nothing is left but the constant.

    Parameters
    ----------
    variation : float, default=0.0
        The price :math:`\mu` of the largest value of a component, in the units of C.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, definition 6.3, lemma 6.6 and eqs.
    (6.49) to (6.54); in (6.51) the bounds :math:`t_p` are those of cells that are observed.

    Examples
    --------
    >>> from mercer_research.estimators import WorstCase
    >>> from mercer.estimators import MissingInputClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, (200, 3))
    >>> y = X[:, 0] ** 2 + X[:, 1] > 1
    >>> X[rng.uniform(size=X.shape) < 0.1] = np.nan
    >>> machine = MissingInputClassifier(strategy=WorstCase(), C=3.0, abstain="open").fit(X, y)
    >>> machine.predict([[0.0, -1.0, np.nan], [np.nan, np.nan, 0.0]])
    array([False, 'open'], dtype=object)
    """

    variation: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.variation < np.inf:
            raise ValueError(f"variation must be at least 0, got {self.variation!r}.")

    def solve(
        self,
        X: Array,
        make: Any,
        loss: Loss,
        Y: Array,
        c: Array,
        tol: float,
        max_time: float | None,
    ) -> tuple[Reading, list[Solution]]:
        if not isinstance(loss, QuadraticDualLoss):
            raise ValueError(
                f"the worst case of {type(loss).__name__} is no quadratic program; use a hinge, "
                "squared, absolute, epsilon-insensitive or Huber loss, or strategy='expected'."
            )
        parts: Components = make(X)
        pieces = [_piece(part, X) for part in parts.parts]
        columns = [self._column(pieces, loss, y, c, tol, max_time) for y in Y.T]
        W = np.stack([np.concatenate([np.zeros(0), *answer.w]) for answer in columns], axis=1)
        t = np.stack([answer.variation for answer in columns], axis=1)
        b = np.array([answer.b[0] for answer in columns])
        return ByComponent(parts, W, b, 0.0 * t, -t, t), [answer.solution for answer in columns]

    def _column(
        self,
        pieces: list[Part],
        loss: QuadraticDualLoss,
        y: Array,
        c: Array,
        tol: float,
        max_time: float | None,
    ) -> Variation:
        """Solve by eliminating what belongs to single samples; for more digits, as a program."""
        quick = worst_case(
            loss.dual_terms(y, c), pieces, self.variation, tol=tol, max_time=max_time
        )
        if quick.solution.status is not Status.STALLED:
            return quick
        problem = VariationProblem(pieces, loss, y, c, np.ones((len(y), 1)))
        return problem.solve(self.variation, tol=tol, max_time=max_time)


def _piece(part: Any, X: Array) -> Part:
    """Return a component at its different values, and which of them each row has."""
    there = part.observed(X)
    rows = X[there][:, part.columns]
    different, which = np.unique(rows, axis=0, return_inverse=True)
    index = np.full(len(X), -1)
    index[there] = np.asarray(which).ravel()
    functions = part.functions
    return Part(functions.features(functions.raw(different)), index)
