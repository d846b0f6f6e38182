r"""Squared loss is a linear system: conjugate gradients need products with K only.

.. math::

    \begin{pmatrix} K + \operatorname{diag}(1/c) & B \\ B' & 0 \end{pmatrix} \binom{a}{b}
    = \binom{y}{d}

The bordered matrix is indefinite, and K perhaps too; on the vectors with :math:`B'x = 0` the matrix
:math:`K + \operatorname{diag}(1/c)` is positive definite, and all steps are taken there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mercer.gram.factor import Indefinite, Solve, orthonormal
from mercer.losses.base import Array
from mercer.problems.reductions import LinearSystem, infeasible, linear_system
from mercer.problems.risk import RegularizedRisk
from mercer.solvers._system import approximately, iterated, pivoted_cholesky
from mercer.solvers.base import Answer, Monitor, Solution, Solver

__all__ = ["ConjugateGradient"]

# A residual is carried along for half of the tolerance; what rounding has made of the true one is
# measured then, and is the right-hand side of another round if it is too much.
SAFE, EPS = 0.5, float(np.finfo(np.float64).eps)
PRECONDITIONERS = ("auto", "low_rank", "jacobi", None)


@dataclass(eq=False)
class ConjugateGradient(Solver):
    """Solve the linear system of a squared loss by preconditioned conjugate gradients.

    One product with K per iteration, whatever the number of unpenalized columns: Grams that
    are tiled or sparse are never held or factorized. Weights may differ and vanish, K may be only
    conditionally positive definite with respect to the columns of B.

    Parameters
    ----------
    tol : float, default=1e-3
        Largest violation of an optimality condition: the largest residual of the system.
    max_iter : int, default=-1
        Largest number of iterations, -1 for no limit.
    max_time : float, optional
        Largest number of seconds.
    preconditioner : {"auto", "low_rank", "jacobi"} or None, default="auto"
        The system with a thin factor ``LL'`` in the place of K, with its diagonal in the place of
        it, or the identity. ``auto`` is the diagonal for a sparse Gram and else the thin factor.
    rank : int, default=256
        Largest number of columns of the thin factor, a pivoted Cholesky factor.

    References
    ----------
    K. Pelckmans, *Primal-dual kernel machines*, K.U. Leuven 2005, algorithm 4.1, solves two
    definite systems instead of the bordered one; here both are one, on the complement of B.
    N. Gould, M. Hribar and J. Nocedal (2001), On the solution of equality constrained quadratic
    programming problems arising in optimization, SIAM J. Scientific Computing 23, algorithm 2.1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.losses import Squared
    >>> from mercer.problems import RegularizedRisk
    >>> from mercer.solvers import ConjugateGradient, minimize
    >>> risk = RegularizedRisk(Squared(), Dense(np.eye(2)), np.array([2.0, 4.0]), 1.0)
    >>> minimize(risk, ConjugateGradient(tol=1e-9)).a
    array([1., 2.])
    """

    preconditioner: str | None = "auto"
    rank: int = 256

    def __post_init__(self) -> None:
        if self.preconditioner not in PRECONDITIONERS:
            raise ValueError(
                "preconditioner must be 'auto', 'low_rank', 'jacobi' or None, "
                f"got {self.preconditioner!r}"
            )
        if not self.rank >= 1:
            raise ValueError(f"rank must be at least 1, got {self.rank!r}")

    def refuses(self, risk: RegularizedRisk) -> str:
        if linear_system(risk) is None:
            return "its loss is not squared, so its solution is not a linear system"
        return infeasible(risk)

    def solve(self, risk: RegularizedRisk, start: Solution | None, monitor: Monitor) -> Answer:
        reduction = linear_system(risk)
        assert reduction is not None
        p = reduction.problem
        live = np.isfinite(p.e)
        U, back = orthonormal(np.where(live[:, None], p.B, 0.0))
        e, delta = np.where(live, p.e, 0.0), back.T @ p.d
        inverse = self._inverse(p, U)
        a, t = np.zeros(risk.n), np.zeros(U.shape[1])
        if start is not None:
            a, t = np.where(live, start.a, 0.0), U.T @ (p.B @ start.b)
        done, size, best = 0, np.inf, (np.inf, a, t)

        def enough(left: Array, x: Array, s: Array) -> bool:
            nonlocal done, best
            done += 1
            value, gap = _values(p, a[live] + x, t + s, delta, left, live)
            if gap < best[0]:
                best = (gap, x, s)
            violation = float(np.max(np.abs(left)))
            small = max(SAFE * self.tol, EPS * size)
            return monitor.report(done, value, gap, violation) or violation <= small

        while True:
            Ka = p.K.matvec(a)
            left = np.where(live, p.r - Ka - e * a - U @ t, 0.0)
            previous, size = size, float(np.max(np.abs(left), initial=0.0))
            idle = not size < 0.5 * previous
            if size <= self.tol or idle or monitor.spent(done):
                return Answer(a, back @ t, done, Ka)
            best = (np.inf, a[live], t)
            try:
                x, s = iterated(p.K, p.e, U, inverse, enough)(left, delta - U.T @ a)
            except Indefinite as error:
                raise ValueError(str(error)) from None
            if monitor.status is not None:
                # Residuals rise and fall: stopped early, what is proved to be nearest is best.
                _, x[live], s = best
                return Answer(a + x, back @ (t + s), done)
            a, t = a + x, t + s

    def _inverse(self, p: LinearSystem, U: Array) -> Solve:
        """Return the preconditioner over the samples with weight."""
        kind, nothing = self.preconditioner, np.empty((len(p.e), 0))
        if kind is None:
            return np.copy
        if kind == "jacobi" or (kind == "auto" and p.K.sparse):
            return approximately(p.e + np.maximum(p.K.diag(), 0.0), nothing)
        return approximately(p.e, pivoted_cholesky(p.K, self.rank, U))


def _values(
    p: LinearSystem, a: Array, t: Array, delta: Array, left: Array, live: NDArray[np.bool_]
) -> tuple[float, float]:
    r"""Return objective and gap from the residual :math:`\rho = r - Ka - ea - Ut`, without K.

    The terms of Fenchel and Young are :math:`\rho_i^2 / 2 e_i`; the dual value is
    :math:`\tfrac12 (a'(r + \rho) + \delta't)` where :math:`U'a = \delta`.
    """
    gap = 0.5 * float(np.sum(left**2 / p.e[live]))
    return gap + 0.5 * float(a @ (p.r[live] + left) + delta @ t), gap
