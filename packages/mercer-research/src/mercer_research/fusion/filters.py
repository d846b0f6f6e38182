r"""Validation errors of a least-squares machine for every C, as a function of its spectral filter.

With the eigenvectors :math:`V_j` and eigenvalues :math:`\sigma_j` of the kernel matrix off the
unpenalized columns, the machine is a sum of shrunk components,

.. math:: a = \sum_j \lambda_j p_j V_j, \qquad p = V'y, \qquad
          \mu_j = \sigma_j \lambda_j = \frac{\sigma_j}{\sigma_j + 1/C} \in [0, 1],

and its errors on validation data are :math:`F\mu - t`: quadratic in the shrinkage factors,
which lie on a curve (Tikhonov), in its convex hull, or in a polytope around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, minimize_scalar

from mercer._typing import Array
from mercer.gram.factor import orthonormal
from mercer.smoothing import Spectral

__all__ = ["Decomposition", "Filtered", "PathMinimum", "ValidationPath", "shrinkage"]


# Components below this share of the largest are known to no digit after the division by them.
RANK = 1e-10
# 1/C runs this far beyond the smallest and the largest eigenvalue, where nothing moves any more.
BEYOND = 1e8
PER_DECADE = 12


def shrinkage(values: Array, C: ArrayLike) -> Array:
    r"""Return the shrinkage factors :math:`\sigma / (\sigma + 1/C)`, one row a C.

    Examples
    --------
    >>> shrinkage(np.array([3.0, 1.0]), [0.0, 1.0, np.inf])
    array([[0.  , 0.  ],
           [0.75, 0.5 ],
           [1.  , 1.  ]])
    """
    C = np.asarray(C, dtype=np.float64)[..., None]
    with np.errstate(divide="ignore"):
        return np.asarray(values / (values + 1.0 / C))


class Decomposition:
    """Eigenvectors of a sample off its unpenalized columns, largest eigenvalue first.

    Parameters
    ----------
    K : (n, n) array, optional
        Kernel matrix.
    B : (n, q) array
        Unpenalized columns.
    weights : (n,) array, optional
        Weights of the samples, positive; ones by default.
    factor : (n, m) array, optional
        G with ``K = G G'`` instead of K: a thin singular value decomposition takes the place of
        the eigendecomposition.
    rank : float, default=1e-10
        Components whose eigenvalue is below this share of the largest are left out.
    """

    def __init__(
        self,
        K: Array | None,
        B: Array,
        weights: Array | None = None,
        *,
        factor: Array | None = None,
        rank: float = RANK,
    ) -> None:
        if (K is None) == (factor is None):
            raise ValueError("give the kernel matrix K or a factor of it, one of the two.")
        self.factor = factor
        self.root = np.ones(len(B)) if weights is None else np.sqrt(weights)
        self.U, self.back = orthonormal(self.root[:, None] * B)
        if factor is not None:
            self._G = self.root[:, None] * factor
            left, s, _ = np.linalg.svd(self._G - self.U @ (self.U.T @ self._G), full_matrices=False)
            values, vectors = s**2, left
            self.KU = self._G @ (self._G.T @ self.U)
        else:
            assert K is not None
            spectral = Spectral(K, B, weights)
            values, vectors = spectral.values[::-1], spectral.vectors[:, ::-1]
            self.KU = self.root[:, None] * (K @ (self.root[:, None] * self.U))
        keep = values > rank * values[0] if len(values) and values[0] > 0 else values > 0
        self.values: Array = values[keep]
        self.vectors: Array = vectors[:, keep]

    def project(self, Y: Array) -> Array:
        """Return the components p of targets (n, d), (m, d)."""
        return np.asarray(self.vectors.T @ (self.root[:, None] * Y))

    def coefficients(self, Y: Array, mu: Array) -> tuple[Array, Array]:
        """Return a (n, d) and b (q, d) of the machine whose filter shrinks by ``mu``."""
        a = self.vectors @ ((mu / self.values)[:, None] * self.project(Y))
        t = self.U.T @ (self.root[:, None] * Y) - self.KU.T @ a
        return self.root[:, None] * a, self.back @ t

    def moves(self, cross: Array, B: Array) -> Array:
        """Return predictions by every eigenvector at new points, (n_val, m)."""
        if self.factor is None:
            kernel = cross @ (self.root[:, None] * self.vectors)
        else:
            kernel = cross @ (self._G.T @ self.vectors)
        return np.asarray(kernel - B @ (self.back @ (self.KU.T @ self.vectors)))

    def against(
        self, Y: Array, cross: Array, B: Array, Y_val: Array, weights: Array | None = None
    ) -> Filtered:
        """Return errors on validation data as a function of the filter.

        Parameters
        ----------
        Y : (n, d) array
            Targets of the sample.
        cross : (n_val, n) array, or (n_val, m) array
            Kernel between validation data and sample, or the factor of validation data.
        B : (n_val, q) array
            Unpenalized functions there.
        Y_val : (n_val, d) array
            Targets there.
        weights : (n_val,) array, optional
            Weights of the errors there.
        """
        root = np.ones(len(Y_val)) if weights is None else np.sqrt(weights)
        P = self.project(Y)
        start = B @ (self.back @ (self.U.T @ (self.root[:, None] * Y)))
        move = root[:, None] * self.moves(cross, B)
        # Outputs below each other: their squared errors add up.
        F = np.concatenate([move * (p / self.values) for p in P.T])
        t = (root[:, None] * (Y_val - start)).T.reshape(-1)
        return Filtered(self.values, F, t, np.sum(P**2, axis=1))


@dataclass(frozen=True, eq=False)
class Filtered:
    """Errors on one validation set, ``F mu - t``, for a filter on some eigenvalues."""

    values: Array
    """Eigenvalues, descending, (m,)."""

    F: Array
    """What each component predicts unshrunk, (n_val, m)."""

    t: Array
    """Targets less what stays without any component, (n_val,)."""

    power: Array
    """Squares of the components of the training targets, (m,)."""

    def cost(self, mu: Array) -> float:
        """Return the sum of squared errors of a filter."""
        error = self.F @ mu - self.t
        return float(error @ error)


class PathMinimum(NamedTuple):
    """The best C of a path."""

    C: float
    cost: float
    boundary: str | None
    """``"zero"`` or ``"infinity"`` if no C in between is best."""


class ValidationPath:
    r"""The sum of squared validation errors along all C, over one or several validation sets.

    .. math:: J(C) = \sum_l \|F_l \mu_l(C) - t_l\|^2

    It is not convex: every change of sign of the derivative on a fine grid is followed to its
    root, and the ends, no kernel part at all and (pseudo-)interpolation, are looked at too.

    Parameters
    ----------
    parts : sequence of Filtered
        One a validation set, or one a fold.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (7.20), by the filters of
    eq. (7.21) to (7.24) with :math:`S + \gamma^{-1}` where (7.21a) prints :math:`S + 1`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer_research.fusion import Decomposition, ValidationPath
    >>> rng = np.random.default_rng(0)
    >>> X, one = rng.uniform(-3, 3, (60, 1)), np.ones((60, 1))
    >>> Y = np.sinc(X) + 0.3 * rng.normal(size=(60, 1))
    >>> T, V, kernel = slice(40), slice(40, 60), Gaussian(0.5)
    >>> sample = Decomposition(kernel(X[T]), one[T])
    >>> path = ValidationPath([sample.against(Y[T], kernel(X[V], X[T]), one[V], Y[V])])
    >>> best = path.minimum()
    >>> bool(best.cost <= path.cost(np.geomspace(1e-4, 1e4, 1000)).min())
    True
    """

    def __init__(self, parts: Sequence[Filtered]) -> None:
        self.parts = list(parts)
        low = min((float(part.values[-1]) for part in parts if len(part.values)), default=1.0)
        high = max((float(part.values[0]) for part in parts if len(part.values)), default=1.0)
        ends = -np.log(high * BEYOND), -np.log(low / BEYOND)
        size = int(np.ceil(PER_DECADE * (ends[1] - ends[0]) / np.log(10.0)))
        self.log_grid: Array = np.linspace(*ends, size)

    @property
    def grid(self) -> Array:
        """The values of C at which the path is looked at, with both ends."""
        return np.concatenate([[0.0], np.exp(self.log_grid), [np.inf]])

    def errors(self, C: ArrayLike) -> Array:
        """Return the validation errors of each C, prediction less target, (..., n_val)."""
        return np.concatenate(
            [shrinkage(part.values, C) @ part.F.T - part.t for part in self.parts], axis=-1
        )

    def cost(self, C: ArrayLike) -> Array:
        """Return the sum of squared errors of each C."""
        return np.asarray(np.sum(self.errors(C) ** 2, axis=-1))

    def slope(self, C: ArrayLike) -> Array:
        """Return the derivative of the cost in log C."""
        total = np.zeros(np.shape(C))
        for part in self.parts:
            mu = shrinkage(part.values, C)
            error = mu @ part.F.T - part.t
            total += 2.0 * np.sum((error @ part.F) * mu * (1.0 - mu), axis=-1)
        return total

    def minimum(self) -> PathMinimum:
        """Return the best C; the smallest C of a tie, which regularizes most."""
        with np.errstate(under="ignore"):
            slopes = self.slope(np.exp(self.log_grid))
        turns = np.flatnonzero((slopes[:-1] < 0) & (slopes[1:] > 0))
        grid, slope = self.log_grid, lambda u: float(self.slope(np.exp(u)))
        roots = [
            brentq(slope, float(grid[k]), float(grid[k + 1]), xtol=1e-11) for k in turns.tolist()
        ]
        C = np.concatenate([[0.0], np.exp(roots), [np.inf]])
        costs = self.cost(C)
        if not np.isfinite(costs.min()):
            raise ValueError(
                "the validation error is not finite for any C: the kernel or the targets are too "
                "large or too small for their squares; scale them."
            )
        # Equal up to the rounding of a sum of squares.
        best = int(np.flatnonzero(costs <= costs.min() * (1.0 + 1e-12))[0])
        boundary = "zero" if best == 0 else "infinity" if best == len(C) - 1 else None
        return PathMinimum(float(C[best]), float(costs[best]), boundary)

    def nearest(self, filters: Sequence[Array]) -> float:
        r"""Return the C whose filter is nearest to given ones.

        .. math:: \min_C \sum_j p_j^2 \Bigl(\mu_j - \frac{\sigma_j}{\sigma_j + 1/C}\Bigr)^2

        Distances are measured in what the filter does to the training targets. The printed relation
        of :math:`\gamma` with the residuals is inverted, and its least-squares solution is ruled
        by the smallest eigenvalues.

        References
        ----------
        K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (7.25).
        """

        def distance(u: Any) -> Any:
            return sum(
                ((shrinkage(part.values, np.exp(u)) - mu) ** 2) @ part.power
                for part, mu in zip(self.parts, filters, strict=True)
            )

        grid = self.log_grid
        k = int(np.argmin(distance(grid)))
        ends = grid[max(k - 1, 0)], grid[min(k + 1, len(grid) - 1)]
        found = minimize_scalar(distance, bounds=ends, method="bounded", options={"xatol": 1e-10})
        u = found.x if found.fun <= distance(grid[k]) else grid[k]
        return float(np.exp(u))

    def towards(self, error: Array) -> tuple[float, Array]:
        """Return the C whose errors go farthest against a direction, and these errors.

        Parameters
        ----------
        error : (n_val,) array
            The direction, in the space of all validation errors.
        """
        pulls, first = [], 0
        for part in self.parts:
            pulls.append(error[first : first + len(part.t)] @ part.F)
            first += len(part.t)

        def value(u: Any) -> Any:
            pairs = zip(self.parts, pulls, strict=True)
            return sum(shrinkage(part.values, np.exp(u)) @ pull for part, pull in pairs)

        grid = self.log_grid
        values = value(grid)
        k = int(np.argmin(values))
        ends = grid[max(k - 1, 0)], grid[min(k + 1, len(grid) - 1)]
        found = minimize_scalar(value, bounds=ends, method="bounded", options={"xatol": 1e-12})
        candidates = [
            (float(values[k]), float(np.exp(grid[k]))),
            (float(found.fun), float(np.exp(found.x))),
            (0.0, 0.0),
            (float(sum(np.sum(pull) for pull in pulls)), np.inf),
        ]
        C = min(candidates)[1]
        return C, self.errors(C)
