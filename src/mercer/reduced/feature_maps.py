"""Random feature maps: waves, monomials, sketches, and their sums and products."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from math import comb
from typing import Any

import numpy as np

from mercer._typing import PointsLike
from mercer.kernels.dot_product import Polynomial, monomial_features
from mercer.kernels.points import (
    Array,
    as_points,
    as_single,
    is_sparse,
    scale_features,
    squared_norms,
)
from mercer.reduced.base import FeatureMap
from mercer.reduced.sketches import CountSketch, convolve

__all__ = [
    "Coordinates",
    "Crossed",
    "Exponential",
    "Joined",
    "Multiplied",
    "RandomMap",
    "Sketch",
    "Waves",
    "Within",
]


class RandomMap(FeatureMap):
    """A map whose raw functions are the features themselves."""

    @property
    def r(self) -> int:  # type: ignore[override]
        return self.m

    def raw(self, X: PointsLike, single: bool = False) -> Any:
        X = as_points(X)
        return self.at(X.astype(np.float32 if single else np.float64, copy=False))

    @abstractmethod
    def at(self, X: PointsLike) -> Array:
        """Return the values at points of one precision, (n, m), in the same."""


class Waves(RandomMap):
    r"""Cosines and sines of random frequencies, :math:`\sqrt{k(0)/D} \, (\cos, \sin)(\omega'x)`.

    Parameters
    ----------
    omega : (D, p) array
        Frequencies.
    height : float
        The value k(0).
    origin : (p,) array, optional
        Subtracted from all points: around it they have more digits in float32.

    References
    ----------
    A. Rahimi and B. Recht (2007), *Random features for large-scale kernel machines*, NIPS 20,
    algorithm 1, in the form with both functions of each frequency, whose error is smaller.

    Examples
    --------
    >>> phi = Waves(np.array([[np.pi]]), 1.0)
    >>> phi.raw(np.array([[0.0], [1.0]])).round(12) + 0.0
    array([[ 1.,  0.],
           [-1.,  0.]])
    """

    def __init__(self, omega: Array, height: float, origin: Array | None = None) -> None:
        self.omega, self.height, self.origin = omega, float(height), origin
        self.m = 2 * len(omega)

    def raw(self, X: PointsLike, single: bool = False) -> Any:
        X = as_points(X)
        if single and not is_sparse(X):
            return self._waves(as_single(X, origin=self.origin), None)
        return self._waves(X.astype(np.float32 if single else np.float64, copy=False), self.origin)

    def at(self, X: PointsLike) -> Array:
        return self._waves(X, self.origin)

    def _waves(self, X: PointsLike, origin: Array | None) -> Array:
        D = len(self.omega)
        A = X @ self.omega.T.astype(X.dtype)
        if origin is not None:
            A -= (self.omega @ origin).astype(X.dtype)
        out = np.empty((X.shape[0], 2 * D), dtype=X.dtype)
        np.cos(A, out=out[:, :D])
        np.sin(A, out=out[:, D:])
        out *= np.sqrt(self.height / D)
        return out

    @property
    def nbytes(self) -> int:
        return int(self.omega.nbytes)


class Coordinates(RandomMap):
    """All monomials of a polynomial kernel, or the points themselves: not random, but exact.

    Parameters
    ----------
    series : (q + 1,) array
        Coefficients of the powers of the inner product.
    p : int
        Number of features.
    """

    def __init__(self, series: Array, p: int) -> None:
        self.series, self.p = np.asarray(series, dtype=np.float64), p
        self.m = sum(comb(p + i - 1, i) for i in np.flatnonzero(self.series))

    def at(self, X: PointsLike) -> Array:
        return monomial_features(X, self.series)


class Sketch(RandomMap):
    r"""The sketch of a power of an inner product, :math:`(\gamma \langle x, z\rangle + c_0)^q`.

    Parameters
    ----------
    p : int
        Number of features.
    kernel : Polynomial
    m : int
        Number of functions.
    rng : numpy.random.Generator
    """

    def __init__(self, p: int, kernel: Polynomial, m: int, rng: np.random.Generator) -> None:
        self.root, self.m = float(np.sqrt(kernel.gamma)), m
        constant = float(np.sqrt(kernel.coef0))
        self.sketches = [CountSketch(p, m, rng, constant) for _ in range(int(kernel.degree))]

    def at(self, X: PointsLike) -> Array:
        X = X * X.dtype.type(self.root)
        return convolve([sketch(X) for sketch in self.sketches])


class Multiplied(RandomMap):
    """The sketch of a product of kernels, from maps for each of them.

    Parameters
    ----------
    maps : sequence of FeatureMap
    m : int
    rng : numpy.random.Generator
    """

    def __init__(self, maps: Sequence[RandomMap], m: int, rng: np.random.Generator) -> None:
        self.maps, self.m = list(maps), m
        self.sketches = [CountSketch(phi.m, m, rng) for phi in maps]

    def at(self, X: PointsLike) -> Array:
        pairs = zip(self.maps, self.sketches, strict=True)
        return convolve([sketch(phi.at(X)) for phi, sketch in pairs])

    @property
    def nbytes(self) -> int:
        return sum(phi.nbytes for phi in self.maps)


class Crossed(RandomMap):
    """All products of the functions of two maps: the product of their kernels, exactly.

    Parameters
    ----------
    left, right : FeatureMap
    """

    def __init__(self, left: RandomMap, right: RandomMap) -> None:
        self.left, self.right, self.m = left, right, left.m * right.m

    def at(self, X: PointsLike) -> Array:
        L, R = self.left.at(X), self.right.at(X)
        return np.asarray((L[:, :, None] * R[:, None, :]).reshape(len(L), self.m))

    @property
    def nbytes(self) -> int:
        return self.left.nbytes + self.right.nbytes


class Joined(RandomMap):
    """The functions of several maps: the sum of their kernels.

    Parameters
    ----------
    maps : sequence of FeatureMap
    """

    def __init__(self, maps: Sequence[RandomMap]) -> None:
        self.maps, self.m = list(maps), sum(phi.m for phi in maps)

    def raw(self, X: PointsLike, single: bool = False) -> Any:
        return np.concatenate([phi.raw(X, single) for phi in self.maps], axis=1)

    def at(self, X: PointsLike) -> Array:
        return np.concatenate([phi.at(X) for phi in self.maps], axis=1)

    @property
    def nbytes(self) -> int:
        return sum(phi.nbytes for phi in self.maps)


class Within(RandomMap):
    """A map of some features, in other units, times a number.

    Parameters
    ----------
    inner : FeatureMap
    factor : float, default=1.0
        The kernel is multiplied by it.
    dims : list of int, optional
        Features that the map sees.
    scale : float or array, default=1.0
        By which features are divided.
    """

    def __init__(
        self, inner: RandomMap, factor: float = 1.0, dims: Any = None, scale: Any = 1.0
    ) -> None:
        self.inner, self.m = inner, inner.m
        self.root, self.dims = float(np.sqrt(factor)), dims
        self.scale = np.asarray(scale, dtype=np.float64)

    def at(self, X: PointsLike) -> Array:
        X = X if self.dims is None else X[:, self.dims]
        X = scale_features(X, 1.0 / self.scale)
        return np.asarray(self.inner.at(X) * X.dtype.type(self.root))

    @property
    def nbytes(self) -> int:
        return self.inner.nbytes


class Exponential(RandomMap):
    r"""The exponential of an inner product, a Gaussian between points with weights.

    .. math:: e^{\langle x, z\rangle} = e^{|x|^2/2} e^{-|x - z|^2/2} e^{|z|^2/2}

    Parameters
    ----------
    inner : FeatureMap
        Of the Gaussian kernel of width one.
    """

    def __init__(self, inner: RandomMap) -> None:
        self.inner, self.m = inner, inner.m

    def at(self, X: PointsLike) -> Array:
        weights = np.exp(0.5 * squared_norms(X))
        return np.asarray(self.inner.at(X) * weights[:, None])

    @property
    def nbytes(self) -> int:
        return self.inner.nbytes
