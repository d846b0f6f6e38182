r"""Blocks on a device: kernel values and their products there, vectors in NumPy.

Everything is written against the array API standard, so that the same lines run on NumPy's arrays,
on tensors of PyTorch and wherever these live. Without a device the compiled loops of the kernels
are used, which no general library equals on a processor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._optional import plugin
from mercer._typing import AnyArray, PointsLike
from mercer.kernels.base import Kernel
from mercer.kernels.points import as_points, is_sparse
from mercer.reduced.device_kernels import in_place

__all__ = ["Device", "resolve"]


class Device:
    """A library of arrays, and where its arrays live.

    Parameters
    ----------
    xp : namespace
        Of arrays that follow the array API standard.
    device : object, optional
        One of its devices; its own choice by default.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> at = Device(np)
    >>> K = at.evaluator(Gaussian(), np.zeros((1, 2)))(np.array([[1.0, 1.0]]))
    >>> at.to_numpy(K).round(4)
    array([[0.3679]])
    """

    tile = 2**20
    """Bytes of kernel values that are computed and summed at once."""

    def __init__(self, xp: Any, device: Any = None) -> None:
        self.xp, self.device = xp, device

    @property
    def overwriting(self) -> Any:
        """Functions of the library, which write over their argument where they can."""
        return self.xp

    def empty(self, shape: tuple[int, int], single: bool = False) -> Any:
        """Return memory for numbers on the device."""
        dtype = self.xp.float32 if single else self.xp.float64
        return self.xp.empty(shape, dtype=dtype, device=self.device)

    def squared_distances(self, P: Any, Q: Any, pp: Any, qq: Any, out: Any = None) -> Any:
        """Return ``pp + qq - 2 P Q'``, at least zero, for points with these squared norms.

        Parameters
        ----------
        P, Q : (n, p) and (m, p) arrays of the device
        pp, qq : (n,) and (m,) arrays of the device
        out : (n, m) array of the device, optional
            Memory for the result, which a library that cannot write there leaves as it is.
        """
        s = P @ Q.T
        s *= -2.0
        s += pp[:, None]
        s += qq[None, :]
        return self.xp.clip(s, 0.0, None)

    def to_device(self, array: Any, single: bool = False) -> Any:
        """Return an array of numbers on the device, as a dense tensor.

        Parameters
        ----------
        array : array or sparse matrix
        single : bool, default=False
            In float32; in float64 otherwise.
        """
        array = array.toarray() if is_sparse(array) else np.asarray(array)
        array = np.ascontiguousarray(array, dtype=np.float32 if single else np.float64)
        return self.xp.asarray(array, device=self.device, copy=True)

    def to_numpy(self, tensor: Any) -> AnyArray:
        """Return an array of the device as one of NumPy.

        Parameters
        ----------
        tensor : array of the namespace
        """
        return np.asarray(self.home(tensor))

    def home(self, tensor: Any) -> Any:
        """Return an array where NumPy can read it."""
        info = getattr(self.xp, "__array_namespace_info__", None)
        if self.device is None or info is None or not hasattr(tensor, "to_device"):
            return tensor
        return tensor.to_device(info().default_device())

    def evaluator(self, kernel: Kernel, Z: PointsLike, single: bool = False) -> Callable[..., Any]:
        """Return the function ``X -> k(X, Z)`` from points on the host to values on the device.

        Parameters
        ----------
        kernel : Kernel
            Without a formula for devices it is evaluated on the host and its values are sent.
        Z : (m, p) points
        single : bool, default=False
            In float32, around the mean of Z where the kernel depends on differences only.

        Returns
        -------
        callable
            Maps ``(n, p)`` points, dense or sparse, to an ``(n, m)`` array of the device. A second
            argument is memory of that shape there, in which values are computed where kernel and
            library can.
        """
        if not kernel.numeric or kernel.precomputed:
            raise ValueError(
                f"{kernel!r} compares objects, but a device holds numbers: leave device at None."
            )
        Z = as_points(Z)
        Z = np.asarray(Z.toarray() if is_sparse(Z) else Z, dtype=np.float64)
        origin = Z.mean(axis=0) if kernel.stationary and len(Z) else np.zeros(Z.shape[1])
        dtype = np.float32 if single else np.float64
        values = in_place(kernel, (Z - origin).astype(dtype), self)

        def evaluate(X: PointsLike, out: Any = None) -> Any:
            X = X.toarray() if is_sparse(X) else np.asarray(X, dtype=np.float64)
            if X.ndim != 2 or X.shape[1] != Z.shape[1]:
                raise ValueError(
                    f"Both sets of points need the same features, got an array of shape {X.shape} "
                    f"and {Z.shape[1]} features."
                )
            # On the host, where there is double precision: around the origin no digits are lost.
            return values(self.to_device(X - origin, single), out)

        return evaluate


def resolve(device: Any) -> Device | None:
    """Return the device that a user named, and None for NumPy with compiled loops.

    Parameters
    ----------
    device : None, str, Device, or (namespace, device)
        A text such as "cpu", "cuda" or "cuda:1" names a device of PyTorch.

    Examples
    --------
    >>> resolve(None) is None, type(resolve((np, None))).__name__
    (True, 'Device')
    """
    if device is None or isinstance(device, Device):
        return device
    if isinstance(device, str):
        found: Device = plugin("torch").device(device)
        return found
    xp, where = device
    return Device(xp, where)
