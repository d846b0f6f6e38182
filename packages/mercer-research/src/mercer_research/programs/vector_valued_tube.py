r"""Tubes around functions of several outputs that prefer no direction among them.

.. math::

    \min_{A, b}\; \tfrac12 \operatorname{tr} A'KA + \sum_i c_i \max(0, |y_i - f_i|_2 - \epsilon),
    \qquad f = KA + Bb

.. math::

    \max_A\; -\tfrac12 \operatorname{tr} A'KA + \langle A, Y \rangle - \epsilon \sum_i |a_i|_2
    \qquad \text{subject to}\; |a_i|_2 \le c_i, \quad B'A = 0

Turning the outputs turns the answer. Each sample is a second-order cone; coefficients are the
multipliers of its rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._typing import Array
from mercer.gram.pivoted import pivoted_cholesky
from mercer.programs.program import Block, Program
from mercer.solvers.rounding import SUMMATION_ROUNDING
from mercer.solvers.solution import Solution
from mercer.solvers.status import GAP_ROUNDING, Status

__all__ = ["VectorTube"]

# Relative size of pivots below which a matrix has no further directions.
RANK_TOL = 1e-13
# Coefficients below this part of their bound are what an interior point leaves of zero.
ZERO_BOUND_PART = 1e-7
# How much larger than the tolerance of the program the gap of the answer may be, relative to the
# objective: coefficients are rounded to zero, and rows restored.
GAP_TOL_RATIO = 100.0


@dataclass(frozen=True)
class VectorTube:
    """A sample of several outputs under the length of their residuals.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel matrix, positive semidefinite.
    Y : ndarray of shape (n, q)
        Targets.
    c : ndarray of shape (n,)
        Weights of the losses.
    B : ndarray of shape (n, p)
        Unpenalized columns.
    epsilon : float
        Radius of the tube.
    rounding : float, default=16 eps
        Part of the largest kernel value by which values differ that are computed in two ways.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.programs.vector_valued_tube import VectorTube
    >>> Y = np.array([[3.0, 4.0], [0.0, 0.0]])
    >>> found = VectorTube(np.eye(2), Y, np.full(2, 2.0), np.zeros((2, 0)), 1.0).solve()
    >>> found.a.reshape(2, 2).round(4) + 0.0
    array([[1.2, 1.6],
           [0. , 0. ]])
    """

    K: Array
    Y: Array
    c: Array
    B: Array
    epsilon: float
    rounding: float = SUMMATION_ROUNDING

    def solve(self, tol: float = 1e-8, max_time: float | None = None) -> Solution:
        """Return coefficients, row by row, with a certificate measured from scratch."""
        (n, q), p = self.Y.shape, self.B.shape[1]
        G = pivoted_cholesky(self.K, tol=RANK_TOL).L
        program = Program()
        W, b = program.variable(G.shape[1] * q), program.variable(p * q)
        t = program.variable(n, lower=0.0)
        program.square(W)
        program.cost(t, self.c)
        live, cones = np.flatnonzero(self.c > 0), []
        turn = np.eye(q)
        for i in live:
            terms = [(-np.kron(G[i], turn), W), (-np.kron(self.B[i], turn), b)]
            bound = [(np.ones(1), Block(t.start + int(i), 1))]
            cones.append(program.norm(terms, self.Y[i], bound, self.epsilon))
        found = program.solve(tol, max_time=max_time)
        A = np.zeros((n, q))
        A[live] = [found.multiplier(rows)[1:] for rows in cones]
        A = self._feasible(A)
        free = found[b].reshape(p, q)
        primal, dual = self.values(A, free)
        gap = max(primal - dual, 0.0)
        status = found.status
        if gap <= GAP_TOL_RATIO * tol * (1.0 + abs(primal)):
            status = Status.CONVERGED
        elif status is Status.CONVERGED:
            status = Status.STALLED
        return Solution(
            a=A.ravel(),
            b=free.ravel(),
            objective=primal,
            dual=dual,
            gap=gap,
            violation=found.residual,
            residual=float(np.max(np.abs(self.B.T @ A), initial=0.0)),
            status=status,
            n_iter=found.n_iter,
            solver=found.solver,
            reason="lengths of several outputs: one cone a sample",
            f=(self.K @ A + self.B @ free).ravel(),
            times=found.times,
            resolution=GAP_TOL_RATIO * tol * self.values(np.zeros((n, q)), np.zeros((p, q)))[0],
        )

    def values(self, A: Array, b: Array) -> tuple[float, float]:
        """Return the regularized risk, and the bound that coefficients prove for it.

        Both at the worst that rounding makes of decision values, where that is not nothing.
        """
        KA, free = self.K @ A, self.B @ b
        penalty = 0.5 * float(np.vdot(A, KA))
        sizes = np.linalg.norm(A, axis=1)
        dual = float(np.vdot(A, self.Y)) - self.epsilon * float(np.sum(sizes)) - penalty
        lengths = np.linalg.norm(self.Y - KA - free, axis=1)
        roots = np.sqrt(np.maximum(np.diag(self.K), 0.0))
        largest = max(float(np.max(np.abs(values), initial=0.0)) for values in (self.Y, KA, free))
        delta = self.rounding * roots * np.linalg.norm(roots * sizes)
        delta = delta + (1 + self.B.shape[1]) * np.finfo(float).eps * largest
        moved = 0.5 * float(sizes @ delta)

        def primal(error: Array | float) -> float:
            return penalty + float(self.c @ np.maximum(lengths + error - self.epsilon, 0.0))

        worst = primal(delta) + moved
        if worst - primal(0.0) <= GAP_ROUNDING * worst:
            return primal(0.0), dual
        return worst, dual - moved

    def _feasible(self, A: Array) -> Array:
        """Return coefficients that keep their bounds and ``B'A = 0``: a bound needs both."""
        sizes = np.linalg.norm(A, axis=1)
        A = np.where((sizes > ZERO_BOUND_PART * self.c)[:, None], A, 0.0)
        carried = np.flatnonzero(A.any(axis=1))
        if self.B.shape[1] and len(carried):
            rows = self.B[carried]
            A[carried] -= rows @ np.linalg.lstsq(rows.T @ rows, rows.T @ A[carried], rcond=None)[0]
        sizes = np.linalg.norm(A, axis=1)
        over = float(np.max(sizes / np.where(self.c > 0, self.c, 1.0), initial=0.0))
        return A / max(over, 1.0)
