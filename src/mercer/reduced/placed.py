"""Maps whose raw values are made, kept and multiplied on a device."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from mercer._typing import AnyArray, Array, PointsLike
from mercer.kernels.points import as_points, is_sparse, pieces
from mercer.reduced.base import FeatureMap
from mercer.reduced.devices import Device, resolve
from mercer.reduced.feature_maps import Joined, Waves
from mercer.reduced.nystrom import NystromMap
from mercer.reduced.panel import Slopes

__all__ = ["Placed", "Remote", "place"]


class Remote:
    """A matrix on a device that is multiplied with arrays of NumPy, and gives such arrays.

    Parameters
    ----------
    values : (n, m) array of the device
    at : Device
    dtype : dtype
        Of its numbers, as NumPy calls them.

    Examples
    --------
    >>> at = Device(np)
    >>> R = Remote(at.to_device([[1.0, 2.0], [3.0, 4.0]]), at, np.float64)
    >>> R @ np.ones(2), R.T @ np.ones(2), np.asarray(R[:1])
    (array([3., 7.]), array([4., 6.]), array([[1., 2.]]))
    """

    def __init__(self, values: Any, at: Device, dtype: DTypeLike) -> None:
        self.values, self.at, self.dtype = values, at, np.dtype(dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return tuple(self.values.shape)

    @property
    def T(self) -> Remote:
        """The transpose."""
        return Remote(self.values.T, self.at, self.dtype)

    def __matmul__(self, A: AnyArray) -> AnyArray:
        return self.at.to_numpy(self.values @ self.at.to_device(A, self.dtype == np.float32))

    def __getitem__(self, rows: Any) -> Remote:
        if not isinstance(rows, slice):
            index = np.arange(self.shape[0])[rows]
            chosen = self.at.xp.asarray(index, device=self.at.device)
            return Remote(self.at.xp.take(self.values, chosen, axis=0), self.at, self.dtype)
        return Remote(self.values[rows, :], self.at, self.dtype)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> AnyArray:
        return self.at.to_numpy(self.values).astype(dtype or self.dtype, copy=False)


class Placed(FeatureMap):
    """A map whose raw values are :class:`Remote`; coefficients and sums stay in NumPy.

    Parameters
    ----------
    map : FeatureMap
    at : Device

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> phi = Placed(NystromMap(Linear(), np.eye(2)), Device(np))
    >>> phi.raw([[1.0, 2.0]]) @ np.ones((2, 1))
    array([[3.]])
    """

    piece = 2**27
    """Bytes of features that normal equations are summed of at once."""

    def __init__(self, map: FeatureMap, at: Device) -> None:
        self.map, self.at = map, at
        self.m, self.r, self.index = map.m, map.r, map.index
        self._raw: dict[bool, Callable[..., Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        # What lies on the device does not travel.
        return vars(self) | {"_raw": {}}

    def raw(self, X: PointsLike, single: bool = False) -> Remote:
        return self._values(X, single)

    def _values(self, X: PointsLike, single: bool, out: Any = None) -> Remote:
        if single not in self._raw:
            self._raw[single] = raw_on(self.map, self.at, single)
        return Remote(self._raw[single](X, out), self.at, np.float32 if single else np.float64)

    def sweep(
        self,
        X: PointsLike,
        A: Array,
        slopes: Slopes,
        single: bool = False,
        rows: int | None = None,
    ) -> Array:
        """Return ``R' G`` as every map does, with one block of memory on the device.

        Each part of the rows is fused: products, profile and both sums with the values meet the
        same memory. Only ``R A``, G and its sum travel.
        """
        rows = rows or max(16, self.at.tile // (self.m * (4 if single else 8)))
        n = X.shape[0]
        memory = self.at.empty((min(rows, n), self.m), single)
        there = self.at.to_device(A, single)
        total: Array | None = None
        for part in pieces(0, n, rows):
            R = self._values(X[part], single, memory[: part.stop - part.start, :])
            F = self.at.to_numpy(R.values @ there)
            product = R.T @ slopes(np.asarray(F, dtype=np.float64), part, R)
            total = product.astype(np.float64) if total is None else total + product
        return np.zeros(A.shape) if total is None else total

    @property
    def core(self) -> FeatureMap:
        return self.map

    def lift(self, W: Array) -> Array:
        return self.map.lift(W)

    def lower(self, G: Array) -> Array:
        return self.map.lower(G)

    def features(self, R: Any, single: bool = False) -> Array:
        return self.map.features(np.asarray(R, dtype=np.float64), single)

    @property
    def steepness(self) -> float:
        return self.map.steepness

    @property
    def nbytes(self) -> int:
        return self.map.nbytes


@singledispatch
def raw_on(phi: FeatureMap, at: Device, single: bool) -> Callable[..., Any]:
    """Return the function from points on the host, and memory or None, to values on a device.

    Parameters
    ----------
    phi : FeatureMap
        One that has no formula for devices is evaluated on the host, and its values are sent.
    at : Device
    single : bool
        In float32.
    """
    return lambda X, out: at.to_device(phi.raw(X, single), single)


@raw_on.register
def _(phi: NystromMap, at: Device, single: bool) -> Callable[..., Any]:
    return at.evaluator(phi.kernel, phi.Z, single)


@raw_on.register
def _(phi: Waves, at: Device, single: bool) -> Callable[..., Any]:
    xp, omega = at.xp, at.to_device(phi.omega.T, single)
    origin = np.zeros(phi.omega.shape[1]) if phi.origin is None else phi.origin
    size = float(np.sqrt(phi.height / len(phi.omega)))

    def raw(X: PointsLike, out: Any) -> Any:
        X = as_points(X)
        X = np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
        A = at.to_device(X - origin, single) @ omega
        return size * xp.concat([xp.cos(A), xp.sin(A)], axis=1)

    return raw


@raw_on.register
def _(phi: Joined, at: Device, single: bool) -> Callable[..., Any]:
    parts = [raw_on(part, at, single) for part in phi.maps]
    return lambda X, out: at.xp.concat([part(X, None) for part in parts], axis=1)


def place(map: FeatureMap, device: Any) -> FeatureMap:
    """Return a map whose values live on a device; the map itself without a device.

    Parameters
    ----------
    map : FeatureMap
    device : None, str, Device, or (namespace, device)
        As for :func:`mercer.reduced.devices.resolve`.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> phi = NystromMap(Linear(), np.eye(2))
    >>> place(phi, None) is phi, type(place(phi, (np, None))).__name__
    (True, 'Placed')
    """
    at = resolve(device)
    return map if at is None else Placed(map, at)
