"""The Gaussian kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mercer.kernels.points import Array, Data, squared_norms
from mercer.kernels.radial_tiles import RadialTiles, quick_square
from mercer.kernels.stationary import LengthScale, Radial

__all__ = ["Gaussian"]


@dataclass(eq=False)
class Gaussian(Radial):
    r"""The Gaussian kernel, :math:`k(x, z) = \exp(-\tfrac12 |(x - z)/l|^2)`.

    Its spectrum is :math:`l^d \exp(-\tfrac12 l^2 |\omega|^2)`: derivatives of all orders are
    penalized.

    Parameters
    ----------
    length_scale : float or (p,) array, default=1.0
        The width l, one for all features or one for each.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.29) and (3.30).

    Examples
    --------
    >>> Gaussian(2.0)([[0.0]], [[2.0]]).round(4)
    array([[0.6065]])
    >>> Gaussian.from_gamma(0.5)
    Gaussian(length_scale=1.0)
    """

    length_scale: LengthScale = 1.0

    @classmethod
    def from_gamma(cls, gamma: float | Array) -> Gaussian:
        r"""Return the kernel :math:`\exp(-\gamma |x - z|^2)`; gamma 0 is an infinite width.

        Parameters
        ----------
        gamma : float or (p,) array
            At least 0.
        """
        if isinstance(gamma, float) and gamma > 0.0:
            return cls(math.sqrt(0.5 / gamma))
        rate = np.asarray(gamma, dtype=float)
        if not (rate >= 0).all():
            raise ValueError(f"gamma must be at least 0, got {gamma!r}.")
        with np.errstate(divide="ignore"):
            scale = np.sqrt(0.5 / rate)
        return cls(float(scale) if scale.ndim == 0 else scale)

    @property
    def gamma(self) -> float | Array:
        r"""The rate :math:`\gamma = 1 / (2 l^2)`, a number or one for each feature."""
        gamma = 0.5 / self._scale**2
        return float(gamma) if gamma.ndim == 0 else gamma

    @property
    def _twice_nu(self) -> int | None:
        return 0

    def _profile(self, s: Array) -> None:
        s *= -0.5
        np.exp(s, out=s)

    def _tiles(self, Z: Array) -> RadialTiles:
        return RadialTiles(Z, self._factor(Z))

    def symmetric(self, X: Data) -> Array:
        if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype != np.float64 or not X.size:
            return self(X)
        K = quick_square(X, self._factor(X))
        if K is None:
            K = self._tiles(X).square(X)
            np.fill_diagonal(K, 1.0)
        return K

    def _slope(self, s: Array) -> Array:
        return np.exp(-0.5 * s)

    def _unit_spectrum(self, omega: Array) -> Array:
        return np.exp(-0.5 * squared_norms(omega))
