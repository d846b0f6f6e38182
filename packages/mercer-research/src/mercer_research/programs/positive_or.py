r"""Of two numbers that are not negative, one is zero: relaxed by a curved penalty, or branched on.

.. math:: \min_x\; x'Hx + f'x \quad\text{subject to}\quad x \ge 0, \quad x_i x_j = 0
          \ \text{for pairs } (i, j), \qquad H \succ 0

Products of numbers that are not negative cost nothing where they vanish, so that

.. math:: \min_{x \ge 0}\; x'\Bigl(H + \sum_k \gamma_k N_k\Bigr) x + f'x, \qquad
          \gamma_k \ge 0, \quad H + \sum_k \gamma_k N_k \succeq 0

is convex and bounds the minimum from below, with :math:`N_k` one at its pair. Where its minimizer
meets the pairs, it is the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la

from mercer._params import is_integer
from mercer._typing import Array
from mercer.programs.program import Program
from mercer_research.programs.lifting import triangle

__all__ = ["PositiveOr", "PositiveOrSolution"]

# The gap up to which a value and its bound are the same, as a share of the value plus the square
# of the linear cost in units of H: what programs promise, and a digit.
SAME = 1e-6


@dataclass(frozen=True, eq=False)
class PositiveOrSolution:
    """A point that meets the pairs, and a bound.

    Parameters
    ----------
    x : ndarray of shape (D,)
        The point.
    value, lower_bound : float
        Its objective, and what no point that meets the pairs goes below.
    exact : bool
        Whether it is a global minimum, up to rounding.
    weights : ndarray of shape (n_pairs,)
        Weights of the products.
    method : str
        "relaxation" if one convex program was enough, else "branching".
    nodes : int
        Convex programs that were solved.
    """

    x: Array
    value: float
    lower_bound: float
    exact: bool
    weights: Array
    method: str
    nodes: int


@dataclass(eq=False)
class PositiveOr:
    r"""A convex quadratic program over numbers that are not negative, with alternatives.

    Parameters
    ----------
    H : (D, D) array
        Positive definite.
    f : (D,) array
    pairs : sequence of (i, j)
        Numbers of which one is zero.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 2.4.3, definition 2.5, eqs.
    (2.46) to (2.50). The condition is :math:`H + \gamma N \succeq 0`, and
    :math:`x'Nx \le 0` is what the relaxation leaves out.

    Examples
    --------
    >>> problem = PositiveOr(np.eye(2), np.array([-2.0, -3.0]), [(0, 1)])
    >>> problem.largest_weight()
    1.0
    >>> found = problem.solve()
    >>> found.x.round(4), round(found.value, 4), found.exact, found.method
    (array([0. , 1.5]), -2.25, True, 'relaxation')
    """

    H: Array
    f: Array
    pairs: Sequence[tuple[int, int]]

    def __post_init__(self) -> None:
        self.H, self.f = np.asarray(self.H, dtype=float), np.asarray(self.f, dtype=float)
        D = len(self.f) if self.f.ndim == 1 else 0
        if not D or self.H.shape != (D, D):
            raise ValueError(
                "f must be a row of D numbers and H a (D, D) matrix, got shapes "
                f"{self.f.shape} and {self.H.shape}."
            )
        if not (np.isfinite(self.H).all() and np.isfinite(self.f).all()):
            raise ValueError("H and f must hold finite numbers.")
        if not all(is_integer(k) and 0 <= k < D for pair in self.pairs for k in pair):
            raise ValueError(
                f"pairs must hold numbers of variables from 0 to {D - 1}, got {list(self.pairs)}."
            )
        if any(i == j for i, j in self.pairs):
            raise ValueError("a pair has two different numbers; fix a number at zero instead.")
        if la.eigvalsh(self.H)[0] <= 0:
            raise ValueError("H must be positive definite, or no weight of a product is convex.")

    def products(self, weights: Any) -> Array:
        """Return the matrix of the weighted products."""
        N = np.zeros_like(self.H)
        each = np.broadcast_to(weights, len(self.pairs))
        for (i, j), weight in zip(self.pairs, each, strict=True):
            N[i, j] += weight
            N[j, i] += weight
        return N

    def largest_weight(self) -> float:
        r"""Return the largest weight for all products at once, :math:`-1/\lambda_{\min}(N, H)`."""
        if not self.pairs:
            return 0.0
        return float(-1.0 / la.eigh(self.products(1.0), self.H, eigvals_only=True)[0])

    def best_weights(self, tol: float = 1e-9) -> Array:
        r"""Return weights with the largest sum that leave the program convex, (n_pairs,)."""
        if not self.pairs:
            return np.zeros(0)
        # In units of H, so that its size does not meet the tolerances of the program.
        size = float(np.max(np.diagonal(self.H)))
        units = [self.products(unit) for unit in np.eye(len(self.pairs))]
        program = Program()
        gamma = program.variable(len(units), lower=0.0)
        program.cost(gamma, -1.0)
        columns = np.stack([triangle(N) for N in units], axis=1)
        program.semidefinite([(columns, gamma)], triangle(self.H / size), len(self.H))
        # Rounding of the program would leave a slightly negative eigenvalue.
        weights: Array = size * np.maximum(program.solve(tol)[gamma], 0.0)
        lowest = la.eigh(self.products(weights), self.H, eigvals_only=True)[0]
        return weights / max(1.0, -float(lowest))

    def objective(self, x: Array) -> float:
        """Return the objective."""
        return float(x @ self.H @ x + self.f @ x)

    def solve(
        self, weights: Any = "sdp", *, branch: bool = True, max_nodes: int = 2000
    ) -> PositiveOrSolution:
        """Solve the relaxation, and branch on violated pairs if it is not exact.

        Parameters
        ----------
        weights : {"sdp", "largest", "none"} or array, default="sdp"
            Weights of the products: the largest sum, one largest weight for all, none, or given.
        branch : bool, default=True
            Whether to go on where the relaxation is not exact.
        max_nodes : int, default=2000
            Convex programs at most.
        """
        if isinstance(weights, str):
            choices: dict[str, Any] = {
                "sdp": self.best_weights,
                "largest": self.largest_weight,
                "none": float,
            }
            if weights not in choices:
                raise ValueError(f"weights must be one of {sorted(choices)} or numbers.")
            weights = choices[weights]()
        gamma = np.broadcast_to(np.asarray(weights, dtype=float), (len(self.pairs),)).copy()
        M = self.H + self.products(gamma)
        if la.eigvalsh(M)[0] < -1e-9 * np.abs(M).max():
            raise ValueError(
                f"with these weights the program is not convex; one for all pairs is at most "
                f"{self.largest_weight():.6g}."
            )
        same = SAME * self._units(list(range(len(self.f))))[1] ** 2
        best, value, nodes = np.zeros(len(self.f)), 0.0, 0
        open_nodes: list[tuple[float, frozenset[int]]] = [(-np.inf, frozenset())]
        lowest = np.inf
        while open_nodes:
            open_nodes.sort(key=lambda node: -node[0])
            bound, zero = open_nodes.pop()
            if bound >= value - same - SAME * abs(value):
                continue
            if nodes >= max_nodes:
                lowest = min(lowest, bound)
                break
            nodes += 1
            x, bound = self._relaxed(M, zero)
            rounded = self._rounded(x, zero)
            if self.objective(rounded) < value:
                best, value = rounded, self.objective(rounded)
            if bound >= value - same - SAME * abs(value):
                lowest = min(lowest, bound)
                continue
            if not branch:
                lowest = min(lowest, bound)
                break
            # Numbers that a rounding set to zero in different pairs: split the largest product.
            alive = [p for p in self.pairs if not zero & set(p)]
            i, j = max(alive, key=lambda p: x[p[0]] * x[p[1]])
            open_nodes += [(bound, zero | {i}), (bound, zero | {j})]
        lower = min(lowest, value)
        exact = lower >= value - same - SAME * abs(value)
        method = "relaxation" if nodes <= 1 else "branching"
        return PositiveOrSolution(best, value, lower, exact, gamma, method, nodes)

    def _relaxed(self, M: Array, zero: frozenset[int]) -> tuple[Array, float]:
        """Minimize the relaxation with some numbers at zero; return its minimizer and bound."""
        keep = [i for i in range(len(self.f)) if i not in zero]
        x = np.zeros(len(self.f))
        unit, size = self._units(keep)
        if size == 0.0:
            return x, 0.0
        values, vectors = la.eigh(M[np.ix_(keep, keep)] * np.outer(unit, unit))
        program = Program()
        y = program.variable(len(keep), lower=0.0)
        program.square(y, np.sqrt(2.0 * np.maximum(values, 0.0))[:, None] * vectors.T)
        program.cost(y, self.f[keep] * unit / size)
        found = program.solve(1e-9)
        x[keep] = size * unit * np.maximum(found[y], 0.0)
        return x, size**2 * found.dual

    def _units(self, keep: Sequence[int]) -> tuple[Array, float]:
        """Return units of some numbers in which H has a diagonal of ones, and the size of f then.

        With numbers in these units times the size, the linear cost is at most one and the objective
        is counted in squares of the size: tolerances do not depend on the units of H and f.
        """
        unit = 1.0 / np.sqrt(np.diagonal(self.H)[keep])
        return unit, float(np.max(np.abs(self.f[keep] * unit), initial=0.0))

    def _rounded(self, x: Array, zero: frozenset[int]) -> Array:
        """Return the best point whose zeros are the smaller numbers of each pair."""
        fixed = set(zero)
        for i, j in sorted(self.pairs, key=lambda p: -abs(x[p[0]] - x[p[1]])):
            if not {i, j} & fixed:
                fixed.add(i if x[i] <= x[j] else j)
        return self._relaxed(self.H, frozenset(fixed))[0]
