r"""Quadratic programs with complementarity constraints: a product of two variables is zero.

.. math:: \min_z\; \tfrac12 z'Hz + g'z \quad \text{subject to}\; A z = e, \quad
          z \ge \text{lower}, \quad z_i \ge 0,\ z_j \ge 0,\ z_i z_j = 0 \ \text{for pairs } (i, j)

The product, as a penalty :math:`\varepsilon z_i z_j`, is convex only if the Hessian dominates it:
:math:`H + \varepsilon N \succeq 0`. It never does where one of the two carries no curvature of its
own, however small :math:`\varepsilon` (K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005,
says the contrary at (2.49) and (2.61)); instead it is exact for :math:`\varepsilon` large enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from scipy.optimize import minimize

from mercer._linear_program import NoOptimumError, linear_program
from mercer._typing import Array
from mercer.losses.classification import Hinge
from mercer.problems.risk import RegularizedRisk

__all__ = [
    "Alternatives",
    "ComplementarityProgram",
    "is_convex_penalty",
    "largest_convex_weight",
    "svm_program",
]

Pairs = Sequence[tuple[int, int]]

# A product of a pair that counts as zero, relative to the square of the largest number.
TOL = 1e-8
# Precision of the objective of quadratic programs.
PRECISION = 1e-13


def is_convex_penalty(H: ArrayLike, pairs: Pairs, eps: float) -> bool:
    r"""Answer whether :math:`\tfrac12 z'Hz + \varepsilon \sum z_i z_j` is convex.

    Parameters
    ----------
    H : (m, m) array
        Hessian of the criterion.
    pairs : sequence of (i, j)
        The pairs.
    eps : float
        Weight of the penalty.

    Examples
    --------
    A pair of which one carries no curvature: convex for no weight at all.

    >>> is_convex_penalty([[4.0, 0.0], [0.0, 0.0]], [(0, 1)], 1e-6)
    False
    >>> is_convex_penalty([[4.0, 0.0], [0.0, 1.0]], [(0, 1)], 1.5)
    True
    """
    M = np.asarray(H, dtype=np.float64) + eps * _coupling(len(np.asarray(H)), pairs)
    least = float(np.linalg.eigvalsh(M)[0])
    return least >= -1e-14 * max(1.0, float(np.max(np.abs(H))))


def largest_convex_weight(H: ArrayLike, pairs: Pairs) -> float:
    r"""Return the largest :math:`\varepsilon` whose penalty is convex, :math:`-1/\lambda_{\min}`.

    The eigenvalue is that of the pencil (N, H). Zero where H is singular.

    Parameters
    ----------
    H : (m, m) array
        Hessian of the criterion, positive semidefinite.
    pairs : sequence of (i, j)
        The pairs.

    Returns
    -------
    float

    Examples
    --------
    For two variables :math:`\sqrt{h_{11} h_{22}} - h_{12}`:

    >>> round(largest_convex_weight([[4.0, 1.0], [1.0, 9.0]], [(0, 1)]), 6)
    5.0
    """
    H = np.asarray(H, dtype=np.float64)
    if np.linalg.eigvalsh(H)[0] <= 1e-13 * max(1.0, float(np.max(np.abs(H)))):
        return 0.0
    least = float(eigh(_coupling(len(H), pairs), H, eigvals_only=True)[0])
    return np.inf if least >= 0 else -1.0 / least


def _coupling(m: int, pairs: Pairs) -> Array:
    N = np.zeros((m, m))
    for i, j in pairs:
        N[i, j] = N[j, i] = 1.0
    return N


@dataclass(frozen=True, eq=False)
class Alternatives:
    """A point of a program with complementarity constraints, with its bounds."""

    z: Array
    """The point."""

    value: float
    """The objective."""

    lower_bound: float
    """What no feasible point goes below."""

    certified: bool
    """Whether the point is feasible and the best up to rounding."""

    complementarity: float
    """The largest product of a pair."""

    strategy: str
    """How it was found."""

    weight: float
    """The last weight of the penalty; zero without one."""


@dataclass(eq=False)
class ComplementarityProgram:
    r"""A convex quadratic program with complementarity constraints.

    Parameters
    ----------
    H : (m, m) array
        Hessian, positive semidefinite.
    g : (m,) array
        Linear cost.
    pairs : sequence of (i, j)
        Variables of which one is zero; both are not negative.
    A, e : (k, m) and (k,) arrays, optional
        Equality rows.
    lower, upper : (m,) array, optional
        Bounds; none by default.

    Examples
    --------
    >>> program = ComplementarityProgram(np.eye(2), np.array([-1.0, -2.0]), [(0, 1)])
    >>> found = program.solve("bnb")
    >>> found.z.round(6), found.certified
    (array([0., 2.]), True)
    """

    H: Array
    g: Array
    pairs: Pairs
    A: Array | None = None
    e: Array | None = None
    lower: Array | None = None
    upper: Array | None = None

    def objective(self, z: Array) -> float:
        """Return the objective."""
        return float(0.5 * z @ self.H @ z + self.g @ z)

    def complementarity(self, z: Array) -> float:
        """Return the largest product of a pair."""
        return float(max((abs(z[i] * z[j]) for i, j in self.pairs), default=0.0))

    def solve(self, strategy: str = "bnb", *, max_nodes: int = 5000) -> Alternatives:
        """Solve by branching, by a penalty that grows, or without the alternatives.

        Parameters
        ----------
        strategy : {"bnb", "penalty", "relax"}
        max_nodes : int, default=5000
            Programs that branching may solve.
        """
        if strategy == "relax":
            z, value = self._minimum(self.H, self.g, ())
            good = self._is_complementary(z)
            return Alternatives(z, value, value, good, self.complementarity(z), strategy, 0.0)
        return self._penalty() if strategy == "penalty" else self._branch(max_nodes)

    def _is_complementary(self, z: Array) -> bool:
        return self.complementarity(z) <= TOL * max(1.0, float(np.max(np.abs(z))) ** 2)

    def _minimum(self, H: Array, g: Array, zero: Sequence[int]) -> tuple[Array, float]:
        """Minimize the convex program with some variables held at zero; infinite if impossible."""
        m = len(g)
        lower = np.full(m, -np.inf) if self.lower is None else np.array(self.lower, dtype=float)
        upper = np.full(m, np.inf) if self.upper is None else np.array(self.upper, dtype=float)
        paired = [i for pair in self.pairs for i in pair]
        lower[paired] = np.maximum(lower[paired], 0.0)
        keep = np.setdiff1d(np.arange(m), zero)
        A = np.zeros((0, m)) if self.A is None else np.asarray(self.A, dtype=float)
        e = np.zeros(0) if self.e is None else np.asarray(self.e, dtype=float)
        bounds = np.stack([lower, upper], axis=1)[keep]
        rows = A[:, keep]
        try:
            start = linear_program(np.zeros(len(keep)), A_eq=rows, b_eq=e, bounds=bounds.tolist())
        except NoOptimumError:
            return np.zeros(m), np.inf
        inner, linear = H[np.ix_(keep, keep)], g[keep]
        found = minimize(  # type: ignore[call-overload]
            lambda z: (0.5 * z @ inner @ z + linear @ z, inner @ z + linear),
            start.x,
            jac=True,
            method="SLSQP",
            bounds=bounds,
            constraints=[{"type": "eq", "fun": lambda z: rows @ z - e, "jac": lambda z: rows}],
            options={"ftol": PRECISION, "maxiter": 200},
        )
        z = np.zeros(m)
        z[keep] = np.clip(found.x, bounds[:, 0], bounds[:, 1])
        return z, float(0.5 * z @ H @ z + g @ z)

    def _branch(self, max_nodes: int) -> Alternatives:
        """Branch on the pair that is violated most, with bounds from convex relaxations."""
        best: tuple[Array, float] = (np.zeros(len(self.g)), np.inf)
        stack: list[tuple[float, tuple[int, ...]]] = [(-np.inf, ())]
        nodes, open_bound = 0, np.inf
        while stack:
            stack.sort(key=lambda node: -node[0])
            bound, zero = stack.pop()
            if bound >= best[1] - TOL * (1.0 + abs(best[1])):
                continue
            if nodes >= max_nodes:
                open_bound = min(open_bound, bound)
                break
            nodes += 1
            z, value = self._minimum(self.H, self.g, zero)
            if value >= best[1]:
                continue
            worst = max(self.pairs, key=lambda p: z[p[0]] * z[p[1]], default=None)
            if worst is None or self._is_complementary(z):
                best = (z, value)
                continue
            stack += [(value, (*zero, i)) for i in worst]
        z, value = best
        if not np.isfinite(value):
            raise ValueError("no point meets the equality rows, the bounds and the alternatives")
        certified = not np.isfinite(open_bound)
        lower = value if certified else min(value, open_bound)
        return Alternatives(z, value, lower, certified, self.complementarity(z), "bnb", 0.0)

    def _penalty(self) -> Alternatives:
        """Raise the weight of the products until they vanish, by convex-concave steps.

        With ``z_i z_j = ((z_i + z_j)^2 - (z_i - z_j)^2) / 4`` the first square joins the Hessian
        and the second is replaced by its tangent: the penalized objective falls at every step.
        """
        z, bound = self._minimum(self.H, self.g, ())
        if not np.isfinite(bound):
            raise ValueError("no point meets the equality rows and the bounds")
        weight = 1e-3 * max(float(np.max(np.abs(self.H @ z + self.g))), 1e-3)
        m = len(self.g)
        plus, minus = np.zeros((m, m)), np.zeros((m, m))
        for i, j in self.pairs:
            for one, other, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
                plus[one, other] += 0.5
                minus[one, other] += 0.5 * sign
        for _ in range(14):
            for _ in range(10):
                before = self.objective(z) + 0.5 * weight * float(z @ (plus - minus) @ z)
                new, value = self._minimum(
                    self.H + weight * plus, self.g - weight * (minus @ z), ()
                )
                if not np.isfinite(value):
                    break
                after = self.objective(new) + 0.5 * weight * float(new @ (plus - minus) @ new)
                if after > before - 1e-10 * (1.0 + abs(before)):
                    break
                z = new
            if self._is_complementary(z):
                break
            weight *= 10.0
        # What is left of products is rounding of the programs: the smaller of each pair is zero.
        zero = [i if z[i] <= z[j] else j for i, j in self.pairs]
        polished, value = self._minimum(self.H, self.g, zero)
        if np.isfinite(value):
            z = polished
        return Alternatives(
            z, self.objective(z), bound, False, self.complementarity(z), "penalty", weight
        )


def svm_program(
    risk: RegularizedRisk,
    K: Array,
    y: Array,
    B: Array | None = None,
    *,
    C_min: float = 1e-3,
    C_max: float = 1e3,
) -> ComplementarityProgram:
    r"""Write a support vector machine fused with validation as one program in ``(alpha, ..., C)``.

    .. math::

        \min \tfrac12 \|K_v Y\alpha + B_v b - y_v\|^2 \quad \text{subject to} \quad
        Y(KY\alpha + Bb) - 1 + \xi = s, \quad C s_i' - \alpha = t, \quad B'Y\alpha = 0, \quad
        \alpha \perp s, \quad t \perp \xi

    The conditions of the hinge are linear in C too, so that C is a variable like the others and
    two pairs a sample are all that is not convex. Variables are, in order,
    :math:`\alpha, s, t, \xi` (n each), b (q) and C.

    Parameters
    ----------
    risk : RegularizedRisk
        The machine with hinge loss, its weights those of C = 1.
    K, y, B : arrays
        Kernel between m validation and the n training samples, their labels, and their columns.
    C_min, C_max : float
        Smallest and largest C; at zero the training sample would leave b to the validation sample.
        Where it leaves an interval for b (no support vector is free) the program takes the best of
        it, a path one end or the middle.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (7.26)-(7.28), for the hinge.
    """
    if not isinstance(risk.loss, Hinge) or np.any(risk.d):
        raise ValueError("the program is written for the hinge loss only")
    n, q, labels = risk.n, risk.q, risk.y
    m = 4 * n + q + 1
    B_v = np.ones((len(y), q)) if B is None else np.asarray(B, dtype=np.float64)
    alpha, free, last = slice(n), slice(4 * n, 4 * n + q), m - 1
    F = np.zeros((len(y), m))
    F[:, alpha], F[:, free] = K * labels, B_v
    A, e = np.zeros((2 * n + q, m)), np.zeros(2 * n + q)
    rows = np.arange(n)
    A[:n, alpha] = labels[:, None] * risk.K.dense() * labels
    A[:n, free] = labels[:, None] * risk.B
    A[rows, 3 * n + rows], A[rows, n + rows] = 1.0, -1.0
    e[:n] = 1.0
    A[n + rows, last], A[n + rows, rows], A[n + rows, 2 * n + rows] = risk.c, -1.0, -1.0
    A[2 * n :, alpha] = (risk.B * labels[:, None]).T
    lower, upper = np.zeros(m), np.full(m, np.inf)
    lower[free] = -np.inf
    lower[last], upper[last] = C_min, C_max
    pairs = [(i, n + i) for i in range(n)] + [(2 * n + i, 3 * n + i) for i in range(n)]
    return ComplementarityProgram(F.T @ F, -F.T @ np.asarray(y, float), pairs, A, e, lower, upper)
