"""Random feature maps: waves, and those of the terms of a sum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._typing import PointsLike
from mercer.kernels.points import Array, as_points, as_single, is_sparse
from mercer.reduced.base import FeatureMap

__all__ = ["Joined", "RandomMap", "Waves"]


class RandomMap(FeatureMap):
    """A map whose raw functions are the features themselves."""

    @property
    def r(self) -> int:  # type: ignore[override]
        return self.m


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

    @property
    def nbytes(self) -> int:
        return sum(phi.nbytes for phi in self.maps)
