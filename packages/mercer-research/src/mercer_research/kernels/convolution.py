r"""From the penalty on coefficients to the one on functions, and back.

A machine that penalizes :math:`\tfrac12 |a|^2` in an expansion :math:`f = \sum_i a_i k(x_i, \cdot)`
(ridge regression on kernels, an RBF network with weight decay) smooths like one with the penalty
:math:`\tfrac12 a'Ka` whose kernel is the convolution of k with itself, because the spectrum that
counts is the square of that of k. On a sample this is exact with :math:`K^2` in place of K; its
size then depends on how densely the points lie.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from mercer.kernels.algebra import Scaled
from mercer.kernels.base import Kernel
from mercer.kernels.compact import BSpline
from mercer.kernels.exponential import Laplacian
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.matern import Matern
from mercer.kernels.points import Array
from mercer_research.kernels.spectral import FromSpectrum


def self_convolution(kernel: Kernel, dim: int = 1) -> Kernel:
    r"""Return the kernel whose function penalty acts like a coefficient penalty with `kernel`.

    .. math:: (k \star k)(x - z) = \int_{\mathbb{R}^d} k(x - u) \, k(u - z) \, du, \qquad
              P_{k \star k} = (2\pi)^{d/2} P_k^2

    In closed form for :class:`Gaussian` (the width grows by :math:`\sqrt2`), :class:`BSpline`
    (degree n becomes 2n + 1), :class:`Matern` (smoothness :math:`\nu` becomes
    :math:`2\nu + d/2`), :class:`Laplacian` on a line and multiples of these; from the spectrum
    otherwise.

    Parameters
    ----------
    kernel : Kernel
        Stationary.
    dim : int, default=1
        Dimension d of the points.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.39)-(3.42).

    Examples
    --------
    >>> from mercer.kernels import BSpline, Gaussian
    >>> self_convolution(Gaussian(1.0)).kernel
    Gaussian(length_scale=1.4142135623730951)
    >>> self_convolution(BSpline(2.0, degree=1)).kernel
    BSpline(length_scale=2.0, degree=3)
    """
    kernel, factor = _unscaled(kernel)
    result = spectral_power(kernel, 2.0, dim)
    if result is None:
        _require_distance(kernel, dim)
        return factor**2 * FromSpectrum(SquaredSpectrum(kernel, dim), dim)
    return factor**2 * _size(kernel, 2.0, dim) / _size(result, 1.0, dim) * result


def convolution_root(kernel: Kernel, dim: int = 1) -> Kernel:
    r"""Return the kernel whose coefficient penalty acts like a function penalty with `kernel`.

    The k with :math:`k \star k` equal to the kernel given: the square root of its spectrum,

    .. math:: P_k = (2\pi)^{-d/4} P^{1/2}

    In closed form for :class:`Gaussian` (narrower by :math:`\sqrt2`), :class:`BSpline` of odd
    degree 2n + 1 (degree n) and :class:`Matern` (smoothness :math:`\tfrac12 (\nu - d/2)`); from
    the spectrum otherwise. Rough kernels have none that is bounded: that of the exponential
    kernel :math:`s e^{-|t|/h}` on a line is :math:`\sqrt{2s/h} \, K_0(|t|/h) / \pi`.

    Parameters
    ----------
    kernel : Kernel
        Stationary and positive definite.
    dim : int, default=1
        Dimension d of the points.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.39)-(3.42); K. Pelckmans,
    *Primal-Dual Kernel Machines*, KU Leuven 2005, Lemma 9.2.

    Examples
    --------
    >>> from mercer.kernels import BSpline, Matern
    >>> convolution_root(BSpline(degree=3)).kernel
    BSpline(length_scale=1.0, degree=1)
    >>> convolution_root(Matern(nu=0.5))
    Traceback (most recent call last):
    ...
    ValueError: The root of a Matern kernel is bounded only if nu > dim / 2 = 0.5, got nu = 0.5.
    """
    kernel, factor = _unscaled(kernel)
    result = spectral_power(kernel, 0.5, dim)
    if result is None:
        _require_distance(kernel, dim)
        return float(np.sqrt(factor)) * FromSpectrum(RootSpectrum(kernel, dim), dim)
    size = factor * _size(kernel, 1.0, dim) / _size(result, 2.0, dim)
    return float(np.sqrt(size)) * result


@dataclass(frozen=True)
class SquaredSpectrum:
    """The spectrum of a kernel convolved with itself."""

    kernel: Kernel
    dim: int

    def __call__(self, omega: Array) -> Array:
        """Return the density at lengths of frequencies."""
        P = self.kernel.spectrum(np.ravel(omega), self.dim).reshape(np.shape(omega))
        return np.asarray((2.0 * np.pi) ** (0.5 * self.dim) * P**2)


@dataclass(frozen=True)
class RootSpectrum:
    """The spectrum of a convolution root: convolved with itself, it is a given kernel."""

    kernel: Kernel
    dim: int

    def __call__(self, omega: Array) -> Array:
        """Return the density at lengths of frequencies."""
        P = self.kernel.spectrum(np.ravel(omega), self.dim).reshape(np.shape(omega))
        # A negative value is left for the check of densities to find.
        return np.asarray((2.0 * np.pi) ** (-0.25 * self.dim) * np.sign(P) * np.sqrt(np.abs(P)))


def _unscaled(kernel: Kernel) -> tuple[Kernel, float]:
    """Return a kernel without its factor, and the factor."""
    return (kernel.kernel, float(kernel.factor)) if isinstance(kernel, Scaled) else (kernel, 1.0)


def _require_distance(kernel: Kernel, dim: int) -> None:
    if not kernel.stationary or (dim > 1 and not kernel.radial):
        raise ValueError(
            f"Convolutions in {dim} dimensions are computed for kernels of the distance, got "
            f"{kernel!r}."
        )


def _size(kernel: Kernel, power: float, dim: int) -> float:
    """Return the spectrum at zero, of the kernel or of its convolution with itself."""
    P = float(kernel.spectrum(np.zeros((1, dim)), dim)[0])
    return float(P**power * (2.0 * np.pi) ** (0.5 * dim * (power - 1.0)))


@singledispatch
def spectral_power(kernel: Kernel, power: float, dim: int = 1) -> Kernel | None:
    """Return a kernel whose spectrum is proportional to a power of that of another one.

    Parameters
    ----------
    kernel : Kernel
    power : float
        2 for the convolution of the kernel with itself, 1/2 for the root of that.
    dim : int, default=1
        Dimension of the points.

    Returns
    -------
    Kernel or None
        None if none is known in closed form.
    """
    return None


def _widened(kernel: Gaussian | Matern, factor: float) -> float | Array:
    scale = np.asarray(kernel.length_scale, dtype=float) * factor
    return float(scale) if scale.ndim == 0 else scale


@spectral_power.register
def _(kernel: Gaussian, power: float, dim: int = 1) -> Kernel:
    return Gaussian(_widened(kernel, np.sqrt(power)))


@spectral_power.register
def _(kernel: Matern, power: float, dim: int = 1) -> Kernel:
    if np.isinf(kernel.nu):
        return Gaussian(_widened(kernel, np.sqrt(power)))
    nu = power * (kernel.nu + 0.5 * dim) - 0.5 * dim
    if nu <= 0.0:
        raise ValueError(
            f"The root of a Matern kernel is bounded only if nu > dim / 2 = {0.5 * dim}, got "
            f"nu = {kernel.nu}."
        )
    return Matern(_widened(kernel, np.sqrt(nu / kernel.nu)), nu)


@spectral_power.register
def _(kernel: Laplacian, power: float, dim: int = 1) -> Kernel | None:
    # On a line it is the exponential kernel.
    if dim > 1 or not kernel.stationary:
        return None
    return spectral_power(Matern(kernel.length_scale, nu=0.5), power)


@spectral_power.register
def _(kernel: BSpline, power: float, dim: int = 1) -> Kernel | None:
    # The spectrum is a power of sinc, one more than the degree.
    degree = power * (kernel.degree + 1) - 1
    known = degree == int(degree) and 0 <= degree <= 9
    return BSpline(kernel.length_scale, int(degree)) if known else None
