"""Families of kernels of the difference of two points: stationary, radial, of a dimension."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import TypeAlias

import numpy as np

from mercer._native import weigh_slopes
from mercer.kernels.base import Evaluator, Kernel, numerical_spectrum
from mercer.kernels.distances import Points, squared_distances
from mercer.kernels.points import (
    CHUNK_BYTES,
    Array,
    Data,
    as_pair,
    as_points,
    dot,
    is_sparse,
    row_slices,
    scale_features,
    squared_norms,
    to_dense,
)
from mercer.kernels.radial_tiles import RadialTiles, are_near, quick_square
from mercer.kernels.tiles import TiledEvaluator

LengthScale: TypeAlias = float | Sequence[float] | Array


PULL_BYTES = 2**19
"""Size of a block of slopes, which stays in a core's second cache with that of the distances."""


class Stationary(Kernel):
    """A stationary kernel: a function of the difference in units of a length scale, 1 at zero."""

    length_scale: LengthScale

    @property
    def stationary(self) -> bool:
        return True

    def __post_init__(self) -> None:
        if type(self.length_scale) is float and self.length_scale > 0.0:
            return
        scale = np.asarray(self.length_scale, dtype=float)
        if scale.ndim > 1 or scale.size == 0 or not (scale > 0).all():
            raise ValueError(
                "length_scale must be a positive number or one positive number per feature, "
                f"got {self.length_scale!r}."
            )

    @property
    def _scale(self) -> Array:
        return np.asarray(self.length_scale, dtype=float)

    def _factor(self, X: Data) -> Array:
        """Reciprocal length scale, checked to fit the points."""
        scale = self._scale
        if scale.ndim and scale.size != X.shape[1]:
            raise ValueError(
                f"length_scale has {scale.size} entries but the points have {X.shape[1]} features."
            )
        return np.asarray(1.0 / scale)

    def _in_units(self, X: Data) -> Data:
        """Points divided by the length scale."""
        return scale_features(X, self._factor(X))

    def diag(self, X: Data) -> Array:
        X = as_points(X)
        return np.ones(X.shape[0], dtype=X.dtype)

    def spectrum(self, omega: Array, dim: int = 1) -> Array:
        # k(u / l) has the spectrum |l| P(l omega): substitute u = l v in the transform.
        omega, scale = np.asarray(omega, dtype=float), self._scale
        if scale.ndim and scale.size != dim:
            raise ValueError(f"length_scale has {scale.size} entries but the dimension is {dim}.")
        if omega.ndim == 1 and dim > 1 and (scale.ndim or not self.radial):
            raise ValueError(
                f"This kernel is not radial: pass frequency vectors of shape (m, {dim})."
            )
        if omega.ndim == 1:
            omega = np.pad(omega[:, None], ((0, 0), (0, dim - 1)))
        if omega.ndim != 2 or omega.shape[1] != dim:
            raise ValueError(f"omega must have shape (m,) or (m, {dim}), got {omega.shape}.")
        volume = float(np.prod(np.broadcast_to(scale, dim)))
        return volume * self._unit_spectrum(omega * scale)

    def _unit_spectrum(self, omega: Array) -> Array:
        """Spectrum for length scale 1 at frequency vectors ``(m, d)``."""
        return numerical_spectrum(self, omega, omega.shape[1])


class Profile(Stationary):
    r"""A function :math:`\varphi(s)` of the squared scaled distance :math:`s = |(x - z)/l|^2`."""

    @property
    def radial(self) -> bool:
        return self._scale.ndim == 0

    @property
    def _smooth(self) -> bool:
        """Whether an absolute error of s is one of the kernel; if not, s needs relative digits."""
        return False

    @abstractmethod
    def _profile(self, s: Array) -> None:
        """Turn squared distances into kernel values, in place."""

    @property
    def _slope_at_zero(self) -> float:
        """Minus twice the derivative of the profile at zero."""
        return np.inf

    def value_error(self, X: Data) -> float:
        X = as_points(X)
        if X.dtype != np.float64 or not X.shape[0]:
            return 0.0
        points = Points(self._in_units(_shift(X, _origin(X))))
        rounding, error, _ = points.precision
        slope, largest = self._slope_at_zero, float(np.max(rounding * points.norms))
        # An infinite slope times no distance is no number.
        known = float(
            np.max(error) if np.isinf(slope) else min(2.0 * slope * largest, np.max(error))
        )
        # Sparse rows are not moved towards zero: in units they are off by a rounding of their size.
        moved = 2.0 * np.finfo(float).eps * float(np.sqrt(np.max(points.norms)))
        # Values of a positive definite kernel are no farther apart, also where norms overflow.
        return float(np.fmin(known + (moved if is_sparse(X) else 0.0), 2.0))

    def against(self, Z: Data) -> Evaluator:
        Z = as_points(Z)

        @cache
        def prepared() -> tuple[Array | None, Points]:
            origin = _origin(Z)
            return origin, Points(self._in_units(_shift(Z, origin)))

        def general(X: Data, like: Data) -> Array:
            if like is Z and (is_sparse(Z) or not is_sparse(X)):
                origin, Q = prepared()
                P = Points(self._in_units(_shift(X, origin)))
            else:
                P, Q = self._pair(X, like)
            return squared_distances(P, Q, exact_near=not self._smooth, finish=self._profile)

        return TiledEvaluator(Z, self._tiles, general)

    def _tiles(self, Z: Array) -> RadialTiles:
        return RadialTiles(Z, self._factor(Z), self._profile, np.inf)

    def paired(self, X: Data, Z: Data) -> Array:
        X, Z = as_pair(X, Z)
        factor = self._factor(X)
        s = np.empty(X.shape[0], dtype=X.dtype)
        for rows in row_slices(X.shape[0], X.shape[1] * X.dtype.itemsize, CHUNK_BYTES):
            s[rows] = squared_norms(scale_features(X[rows] - Z[rows], factor))
            self._profile(s[rows])
        return s

    def _pair(self, X: Data, Z: Data) -> tuple[Points, Points]:
        """Both sets in units of the length scale, shifted to the origin if both are dense."""
        origin = None if is_sparse(X) else _origin(Z)
        P, Q = (Points(self._in_units(_shift(A, origin))) for A in (X, Z))
        return P, Q

    def _squared(self, X: Data, Z: Data | None) -> Array:
        """Squared scaled distances."""
        s = squared_distances(*self._pair(*as_pair(X, X if Z is None else Z)), exact_near=True)
        if Z is None:
            np.fill_diagonal(s, 0.0)
        return s


class Radial(Profile):
    """A profile with a length scale to differentiate by."""

    @property
    def _smooth(self) -> bool:
        """Whether the slope of the profile is finite at zero."""
        return True

    @property
    def _twice_nu(self) -> int | None:
        """3 and 5 for Matern kernels and 0 for the Gaussian, which have compiled passes."""
        return None

    @abstractmethod
    def _slope(self, s: Array) -> Array:
        """Return minus twice the derivative of the profile; 0 where that is infinite at s = 0."""

    @property
    def _slope_at_zero(self) -> float:
        return abs(float(self._slope(np.zeros(1))[0])) if self._smooth else np.inf

    def _tiles(self, Z: Array) -> RadialTiles:
        slope = self._slope_at_zero
        return RadialTiles(Z, self._factor(Z), self._profile, slope, self._twice_nu)

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        s = self._squared(X, Z)
        slope = self._slope(s)
        scale = self._scale
        if scale.ndim == 0:
            return {"length_scale": slope * s / float(scale)}
        P, Q = (to_dense(self._in_units(A)) for A in as_pair(X, X if Z is None else Z))
        squares = (P[:, None, :] - Q[None, :, :]) ** 2
        return {"length_scale": squares * slope[:, :, None] / scale.astype(P.dtype)}

    def symmetric(self, X: Data) -> Array:
        twice, K = self._twice_nu, None
        if twice is not None and isinstance(X, np.ndarray) and X.ndim == 2 and X.size:
            K = quick_square(X, self._factor(X), twice)
        return super().symmetric(X) if K is None else K

    def pullback(self, X: Data, G: Array) -> dict[str, Array]:
        X = as_points(X)
        points, scale, twice = self._pair(X, X)[0], self._scale, self._twice_nu
        half = 0.5 * points.norms
        quick = twice is not None and not is_sparse(X) and are_near(half, X.shape[1], twice)
        tied = scale.ndim == 0
        P = None if tied and not quick else to_dense(points.matrix)
        total: Array = np.zeros(() if P is None else P.shape[1])
        # Pairs below the diagonal count twice; a block of them stays in the cache.
        for rows in row_slices(X.shape[0], 8 * X.shape[0], PULL_BYTES):
            before = points.part(slice(0, rows.stop))
            if quick and twice is not None:
                H = dot(points.matrix[rows], before.matrix)
                weigh_slopes(H, half[rows], half, np.ascontiguousarray(G[rows]), rows.start, twice)
            else:
                s = squared_distances(points.part(rows), before, exact_near=not self._smooth)
                np.fill_diagonal(s[:, rows.start :], 0.0)
                H = self._slope(s) * G[rows, : rows.stop]
                H[:, : rows.start] *= 2.0
            if P is None:
                total = total + np.vdot(H, s)
            else:
                # sum_ij H_ij (p_i - p_j)^2 = sum_i (H1)_i p_i^2 + sum_j (H'1)_j p_j^2 - 2 p'Hp
                p, q = P[rows], P[: rows.stop]
                total += H.sum(axis=1) @ p**2 + H.sum(axis=0) @ q**2
                total -= 2.0 * np.sum(p * (H @ q), axis=0)
        return {"length_scale": np.asarray((total.sum() if tied else total) / scale)}


class Dimensional(Kernel):
    """A stationary kernel whose profile depends on the number of features."""

    stationary = True

    @abstractmethod
    def _in(self, p: int) -> Profile:
        """Return the kernel of points with `p` features."""

    def against(self, Z: Data) -> Evaluator:
        Z = as_points(Z)
        return self._in(Z.shape[1]).against(Z)

    def diag(self, X: Data) -> Array:
        X = as_points(X)
        return self._in(X.shape[1]).diag(X)

    def paired(self, X: Data, Z: Data) -> Array:
        return self._in(as_points(X).shape[1]).paired(X, Z)

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        return self._in(as_points(X).shape[1]).gradient(X, Z)

    def pullback(self, X: Data, G: Array) -> dict[str, Array]:
        return self._in(as_points(X).shape[1]).pullback(X, G)

    def spectrum(self, omega: Array, dim: int = 1) -> Array:
        return self._in(dim).spectrum(omega, dim)


def _origin(Z: Data) -> Array | None:
    """Mean of dense points: as the origin it makes their norms, and so the rounding, small."""
    if is_sparse(Z) or Z.shape[0] == 0:
        return None
    mean: Array = Z.mean(axis=0, dtype=np.float64).astype(Z.dtype)
    return mean


def _shift(X: Data, origin: Array | None) -> Data:
    return X if origin is None else X - origin
