r"""A quadratic criterion of the solution of a quadratic program: two levels in one.

.. math:: \min_{x, \theta}\; \tfrac12 v'Pv + p'v, \quad v = (x, \theta), \qquad
          x = \arg\min_x\; \tfrac12 x'Gx + (g + T\theta)'x \quad\text{subject to}\quad
          Ax \le u + U\theta

The inner program is replaced by its optimality conditions,
:math:`Gx + g + T\theta + A'\alpha = 0`, :math:`s = u + U\theta - Ax \ge 0`, :math:`\alpha \ge 0`
and :math:`\alpha_k s_k = 0`, which are linear but for the alternatives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._typing import Array
from mercer.programs.program import Program
from mercer_research.fusion.complementarity import ComplementarityProgram

__all__ = ["BilevelProgram", "BilevelSolution"]


@dataclass(frozen=True, eq=False)
class BilevelSolution:
    """Both levels at once.

    Parameters
    ----------
    x, theta, alpha : ndarray
        Solution of the inner program, hyperparameters, and multipliers of the inner rows.
    value, lower_bound : float
        The criterion, and what no pair of both levels goes below.
    certified : bool
        Whether the value is the global minimum up to rounding.
    complementarity, residual : float
        Largest product of a multiplier and its slack, and largest violation of a linear condition
        of the inner program.
    strategy : str
        How it was found.
    """

    x: Array
    theta: Array
    alpha: Array
    value: float
    lower_bound: float
    certified: bool
    complementarity: float
    residual: float
    strategy: str


@dataclass(eq=False)
class BilevelProgram:
    r"""The two programs.

    Parameters
    ----------
    G, g : (d, d) and (d,) arrays
        Inner objective; G is positive semidefinite.
    T : (d, h) array
        How its slope depends on the hyperparameters.
    A, u, U : (k, d), (k,) and (k, h) arrays
        Inner constraints, and how they depend on the hyperparameters.
    P, p : (d + h, d + h) and (d + h,) arrays
        Outer criterion; P is positive semidefinite.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 2.4.4, eqs. (2.51) to (2.63).
    That a small penalty on the products leaves the problem convex, (2.61), is not so.

    Examples
    --------
    The bound of a scalar program, chosen by another: :math:`x = \min(1, c)` beside 3.

    >>> one, none = np.ones((1, 1)), np.zeros((1, 1))
    >>> program = BilevelProgram(
    ...     G=one,
    ...     g=-np.ones(1),
    ...     T=none,
    ...     A=one,
    ...     u=np.zeros(1),
    ...     U=one,
    ...     P=np.diag([1.0, 0.0]),
    ...     p=np.array([-3.0, 0.0]),
    ... )
    >>> found = program.solve()
    >>> found.x.round(6), found.alpha.round(6), found.certified
    (array([1.]), array([0.]), True)
    """

    G: Array
    g: Array
    T: Array
    A: Array
    u: Array
    U: Array
    P: Array
    p: Array

    def solve(self, strategy: str = "bnb", *, max_nodes: int = 5000) -> BilevelSolution:
        """Solve both levels.

        Parameters
        ----------
        strategy : {"bnb", "penalty", "relax"}
            Branch on the alternatives, which certifies the answer; raise a penalty on the products
            until they vanish, which need not find the best; or leave them out, for a bound.
        max_nodes : int, default=5000
            Programs that branching may solve.
        """
        d, h, k = len(self.g), self.U.shape[1], len(self.u)
        m = d + h + 2 * k
        H, c = np.zeros((m, m)), np.zeros(m)
        H[: d + h, : d + h], c[: d + h] = self.P, self.p
        rows = np.block(
            [
                [self.G, self.T, self.A.T, np.zeros((d, k))],
                [self.A, -self.U, np.zeros((k, k)), np.eye(k)],
            ]
        )
        right = np.concatenate([-self.g, self.u])
        pairs = [(d + h + i, d + h + k + i) for i in range(k)]
        found = ComplementarityProgram(H, c, pairs, rows, right).solve(
            strategy, max_nodes=max_nodes
        )
        z = found.z
        residual = float(np.max(np.abs(rows @ z - right), initial=0.0))
        return BilevelSolution(
            z[:d],
            z[d : d + h],
            z[d + h : d + h + k],
            found.value,
            found.lower_bound,
            found.certified,
            found.complementarity,
            residual,
            found.strategy,
        )

    def inner(self, theta: Array) -> Array:
        """Return the solution of the inner program for given hyperparameters."""
        values, vectors = np.linalg.eigh(self.G)
        program = Program()
        x = program.variable(len(self.g))
        program.square(x, np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)
        program.cost(x, self.g + self.T @ theta)
        program.at_most([(self.A, x)], self.u + self.U @ theta)
        return program.solve(1e-10)[x]

    def criterion(self, theta: Array) -> float:
        """Return the criterion at the inner solution for given hyperparameters."""
        v = np.concatenate([self.inner(theta), theta])
        return float(0.5 * v @ self.P @ v + self.p @ v)
