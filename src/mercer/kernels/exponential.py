"""Exponential kernels: powers of the distance, and a product over the features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.kernels._transform import radial_transform
from mercer.kernels.base import Evaluator, Kernel, put
from mercer.kernels.distances import manhattan_distances
from mercer.kernels.matern import Matern
from mercer.kernels.points import Array, Data, as_pair, as_points, squared_norms, to_dense
from mercer.kernels.stationary import LengthScale, Radial, Stationary

__all__ = ["Laplacian", "PoweredExponential"]


@dataclass(eq=False)
class PoweredExponential(Radial):
    r"""The powered exponential or stable kernel, :math:`k(x, z) = \exp(-|(x - z)/l|^e)`.

    Between the exponential, which is e = 1 and also ``Matern(nu=0.5)``, and a Gaussian for e = 2.
    The spectrum, a density of stable distributions, is computed by quadrature
    (:func:`~mercer.kernels.fourier_transform`): not a number where it is too small to be seen.

    Parameters
    ----------
    length_scale : float or (p,) array, default=1.0
        The width l, one for all features or one for each.
    exponent : float, default=1.0
        The number e, positive and at most 2, beyond which the function is not positive definite.

    References
    ----------
    I. J. Schoenberg, *Metric spaces and positive definite functions*, Transactions of the American
    Mathematical Society 44, 1938.

    Examples
    --------
    >>> PoweredExponential(exponent=1.5)([[0.0]], [[0.5], [1.0]]).round(4)
    array([[0.7022, 0.3679]])
    """

    length_scale: LengthScale = 1.0
    exponent: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.exponent <= 2.0:
            raise ValueError(f"exponent must be positive and at most 2, got {self.exponent}.")

    @property
    def _smooth(self) -> bool:
        return self.exponent == 2.0

    def _profile(self, s: Array) -> None:
        np.exp(-(s ** (0.5 * float(self.exponent))), out=s)

    def _slope(self, s: Array) -> Array:
        e = float(self.exponent)
        if self._smooth:
            return np.asarray(2.0 * np.exp(-s))
        power = s ** (0.5 * e)
        return np.divide(e * power * np.exp(-power), s, out=np.zeros_like(s), where=s > 0.0)

    def _unit_spectrum(self, omega: Array) -> Array:
        d, e = omega.shape[1], float(self.exponent)
        if e == 2.0:
            return np.asarray(2.0 ** (-0.5 * d) * np.exp(-0.25 * squared_norms(omega)))
        lengths = np.sqrt(squared_norms(omega))
        return radial_transform(lambda r: np.exp(-(r**e)), lengths, d).values


@dataclass(eq=False)
class Laplacian(Stationary):
    r"""The Laplacian kernel, :math:`k(x, z) = \exp(-\sum_j |x_j - z_j| / l_j)`.

    A product over the features, not radial; the radial exponential is ``Matern(nu=0.5)``. Its
    spectrum is :math:`\prod_j \sqrt{2/\pi} \, l_j / (1 + l_j^2 \omega_j^2)`.

    Parameters
    ----------
    length_scale : float or (p,) array, default=1.0
        The width l, one for all features or one for each.

    Examples
    --------
    >>> Laplacian(2.0)([[0.0, 0.0]], [[1.0, -1.0]]).round(4)
    array([[0.3679]])
    """

    length_scale: LengthScale = 1.0

    def spectral_power(self, power: float, dim: int = 1) -> Kernel | None:
        # On a line it is the exponential kernel.
        return Matern(self.length_scale, nu=0.5).spectral_power(power) if dim == 1 else None

    def against(self, Z: Data) -> Evaluator:
        Z = as_points(Z)
        units = self._in_units(Z)

        def evaluate(X: Data, out: Array | None = None) -> Array:
            X, like = as_pair(X, Z)
            Q = units if like is Z else self._in_units(like)
            return put(manhattan_distances(self._in_units(X), Q, finish=_exp_minus), out)

        return evaluate

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        P, Q = (self._in_units(A) for A in as_pair(X, X if Z is None else Z))
        scale = self._scale
        distances = manhattan_distances(P, Q)
        K = np.exp(-distances)
        if scale.ndim == 0:
            return {"length_scale": K * distances / float(scale)}
        differences = np.abs(to_dense(P)[:, None, :] - to_dense(Q)[None, :, :])
        return {"length_scale": differences * K[:, :, None] / scale.astype(K.dtype)}

    def _unit_spectrum(self, omega: Array) -> Array:
        factors = np.sqrt(2.0 / np.pi) / (1.0 + omega**2)
        return np.asarray(factors.prod(axis=1))

    def _separate(self, p: int) -> list[Kernel]:
        return [Laplacian(float(scale)) for scale in np.broadcast_to(self._scale, p)]

    def _times(self, other: Kernel) -> Kernel | None:
        if not isinstance(other, Laplacian):
            return None
        return Laplacian(1.0 / (1.0 / self._scale + 1.0 / other._scale))


def _exp_minus(block: Array) -> None:
    np.negative(block, out=block)
    np.exp(block, out=block)
