"""Kernels of features in other units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import TypeAlias

import numpy as np

from mercer.kernels.algebra import ActiveDims, Modified, Power, Product, Scaled, Sum
from mercer.kernels.base import Evaluator, Kernel, Support, put
from mercer.kernels.points import (
    Array,
    Data,
    as_pair,
    as_points,
    scale_features,
)
from mercer.kernels.stationary import Stationary

__all__ = ["Stretched", "stretch"]

Scale: TypeAlias = float | Sequence[float] | Array


@dataclass(eq=False)
class Stretched(Modified):
    r"""A kernel of features divided by their scales, :math:`k(x / s, z / s)`.

    Its spectrum is :math:`\prod_j s_j \, P(s \omega)`.

    Parameters
    ----------
    kernel : Kernel
        Sees the features in units of the scales.
    scale : float or (p,) array
        The scales s, positive, one for all features or one for each.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Stretched(Linear(), [1.0, 10.0])([[1.0, 20.0]])
    array([[5.]])
    """

    kernel: Kernel
    scale: Scale = 1.0

    def __post_init__(self) -> None:
        if self.kernel.precomputed or not self.kernel.numeric:
            raise ValueError(f"{self.kernel!r} sees no features whose units could be changed.")
        _checked(self.scale)

    @property
    def _scale(self) -> Array:
        return np.asarray(self.scale, dtype=float)

    @property
    def radial(self) -> bool:
        return self.kernel.radial and np.ptp(self._scale) == 0

    @property
    def period(self) -> float | None:
        inner, scale = self.kernel.period, self._scale
        return float(inner * scale.flat[0]) if inner is not None and np.ptp(scale) == 0 else None

    @property
    def support(self) -> Support | None:
        inner = self.kernel.support
        if inner is None:
            return None
        scale = self._scale if self._scale.ndim == 0 else self._scale[inner.dims]
        return inner._replace(scale=np.asarray(inner.scale * scale))

    def _in_units(self, X: Data) -> Data:
        X, scale = as_points(X), self._scale
        if scale.ndim and scale.size != X.shape[1]:
            raise ValueError(f"scale has {scale.size} entries but the points have {X.shape[1]}.")
        return scale_features(X, np.asarray(1.0 / scale))

    def against(self, Z: Data) -> Evaluator:
        Z = as_points(Z)
        kernel = self.kernel.against(self._in_units(Z))

        def evaluate(X: Data, out: Array | None = None) -> Array:
            X = as_points(X)
            if X.dtype == Z.dtype:
                return put(kernel(self._in_units(X)), out)
            # Points of both precisions are divided in the higher one.
            P, Q = as_pair(X, Z)
            return put(self.kernel(self._in_units(P), self._in_units(Q)), out)

        return evaluate

    def diag(self, X: Data) -> Array:
        return self.kernel.diag(self._in_units(X))

    def paired(self, X: Data, Z: Data) -> Array:
        return self.kernel.paired(self._in_units(X), self._in_units(Z))

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        Z = None if Z is None else self._in_units(Z)
        inner = self.kernel.gradient(self._in_units(X), Z)
        return {f"kernel__{name}": value for name, value in inner.items()}

    def pullback(self, X: Data, G: Array) -> dict[str, Array]:
        inner = self.kernel.pullback(self._in_units(X), G)
        return {f"kernel__{name}": value for name, value in inner.items()}

    def spectrum(self, omega: Array, dim: int = 1) -> Array:
        omega, scale = np.asarray(omega, dtype=float), self._scale
        if omega.ndim == 1 and dim > 1 and not self.radial:
            raise ValueError(
                f"This kernel is not radial: pass frequency vectors of shape (m, {dim})."
            )
        common = float(scale.flat[0]) if omega.ndim == 1 else scale
        volume = float(np.prod(np.broadcast_to(scale, dim)))
        return volume * self.kernel.spectrum(omega * common, dim)

    def coefficients(self, n: Array) -> Array:
        return self.kernel.coefficients(n)


def _checked(scale: object) -> Array:
    """Return positive scales as an array; refuse all others."""
    s = np.asarray(scale, dtype=float)
    if s.ndim > 1 or s.size == 0 or not np.all((s > 0) & (s < np.inf)):
        raise ValueError(
            f"scale must be a positive number or one positive number per feature, got {scale!r}."
        )
    return s


def stretch(kernel: Kernel, scale: Scale) -> Kernel:
    r"""Return the kernel of features divided by their scales, :math:`k(x / s, z / s)`.

    Scales go into the length scales where a kernel has them, so that these can be read and tuned,
    through sums, products, powers and restrictions; other kernels become :class:`Stretched`.

    Parameters
    ----------
    kernel : Kernel
    scale : float or (p,) array
        Positive, one for all features or one for each.

    Returns
    -------
    Kernel

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> stretch(2.0 * Gaussian(0.5), [4.0, 10.0])
    2.0 * Gaussian(length_scale=array([2., 5.]))
    >>> stretch(Linear(), [4.0, 10.0])
    Stretched(kernel=Linear(), scale=array([ 4., 10.]))
    """
    s = _checked(scale)
    return kernel if np.all(s == 1.0) else _stretch(kernel, s)


@singledispatch
def _stretch(kernel: Kernel, s: Array) -> Kernel:
    return Stretched(kernel, s)


@_stretch.register
def _(kernel: Stationary, s: Array) -> Kernel:
    # A period is a length of its own, which a length scale does not stretch; categories, in a
    # kernel that is not stationary, remain equal or not.
    known = kernel.stationary and "length_scale" in kernel.get_params(deep=False)
    if kernel.period is not None or not known:
        return Stretched(kernel, s)
    width = np.asarray(kernel.length_scale, dtype=float) * s
    return replace(kernel, length_scale=float(width) if width.ndim == 0 else width)  # type: ignore[type-var]


@_stretch.register
def _(kernel: Sum, s: Array) -> Kernel:
    return Sum(_stretch(kernel.left, s), _stretch(kernel.right, s))


@_stretch.register
def _(kernel: Product, s: Array) -> Kernel:
    return Product(_stretch(kernel.left, s), _stretch(kernel.right, s))


@_stretch.register
def _(kernel: Scaled, s: Array) -> Kernel:
    return Scaled(_stretch(kernel.kernel, s), kernel.factor)


@_stretch.register
def _(kernel: Power, s: Array) -> Kernel:
    return replace(kernel, kernel=_stretch(kernel.kernel, s))


@_stretch.register
def _(kernel: ActiveDims, s: Array) -> Kernel:
    if s.ndim == 0:
        return replace(kernel, kernel=_stretch(kernel.kernel, s))
    here = kernel.dims if isinstance(kernel.dims, slice) else kernel._positions
    return replace(kernel, kernel=_stretch(kernel.kernel, s[here]))
