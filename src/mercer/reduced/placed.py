"""Maps whose raw values are made, kept and multiplied on a device."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from mercer._typing import AnyArray, Array, PointsLike
from mercer.kernels.points import as_points, is_sparse
from mercer.reduced.base import FeatureMap
from mercer.reduced.devices import Device, resolve
from mercer.reduced.feature_maps import Joined, Waves
from mercer.reduced.nystrom import NystromMap

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
    """Bytes of raw values that are worked on at once: a device is fast with many."""

    def __init__(self, map: FeatureMap, at: Device) -> None:
        self.map, self.at = map, at
        self.m, self.r, self.index = map.m, map.r, map.index
        self._raw: dict[bool, Callable[[Any], Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        # What lies on the device does not travel.
        return vars(self) | {"_raw": {}}

    def raw(self, X: PointsLike, single: bool = False) -> Remote:
        if single not in self._raw:
            self._raw[single] = raw_on(self.map, self.at, single)
        return Remote(self._raw[single](X), self.at, np.float32 if single else np.float64)

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
def raw_on(phi: FeatureMap, at: Device, single: bool) -> Callable[[Any], Any]:
    """Return the function from points on the host to raw values on a device.

    Parameters
    ----------
    phi : FeatureMap
        One that has no formula for devices is evaluated on the host, and its values are sent.
    at : Device
    single : bool
        In float32.
    """
    return lambda X: at.to_device(phi.raw(X, single), single)


@raw_on.register
def _(phi: NystromMap, at: Device, single: bool) -> Callable[[Any], Any]:
    return at.evaluator(phi.kernel, phi.Z, single)


@raw_on.register
def _(phi: Waves, at: Device, single: bool) -> Callable[[Any], Any]:
    xp, omega = at.xp, at.to_device(phi.omega.T, single)
    origin = np.zeros(phi.omega.shape[1]) if phi.origin is None else phi.origin
    size = float(np.sqrt(phi.height / len(phi.omega)))

    def raw(X: PointsLike) -> Any:
        X = as_points(X)
        X = np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
        A = at.to_device(X - origin, single) @ omega
        return size * xp.concat([xp.cos(A), xp.sin(A)], axis=1)

    return raw


@raw_on.register
def _(phi: Joined, at: Device, single: bool) -> Callable[[Any], Any]:
    parts = [raw_on(part, at, single) for part in phi.maps]
    return lambda X: at.xp.concat([part(X) for part in parts], axis=1)


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
