"""The rational quadratic kernel and the spectra of power laws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from mercer.kernels.matern import bessel
from mercer.kernels.points import Array, Data, squared_norms
from mercer.kernels.stationary import LengthScale, Radial

__all__ = ["RationalQuadratic"]


def power_law_spectrum(a: Array, power: float, d: int) -> Array:
    r"""Return the spectrum of :math:`(1 + r^2)^{-\beta}`, up to its sign, in d dimensions.

    .. math:: \frac{2^{1-\beta}}{|\Gamma(\beta)|} \, a^\mu K_\mu(a), \qquad
              a = |\omega|, \quad \mu = \beta - d/2

    For :math:`\mu \le 0` the function is not integrable and its spectrum infinite at zero; for
    :math:`\beta < 0`, not an integer, it is a spectrum away from zero only.

    Parameters
    ----------
    a : (m,) array
        Lengths of frequencies.
    power : float
        The number :math:`-\beta`.
    d : int
        The dimension.

    Examples
    --------
    >>> power_law_spectrum(np.array([0.0, 1.0]), -1.0, 1) / np.sqrt(np.pi / 2)
    array([1.        , 0.36787944])
    """
    beta, half = -power, 0.5 * d
    mu = beta - half
    if mu > 0.0:
        ratio = 2.0**-half * float(special.poch(beta, -half))
        return np.asarray(ratio * bessel(a, mu))
    constant = 2.0 ** (1.0 - beta) / abs(float(special.gamma(beta)))
    # SciPy's function is not a number for huge arguments, where it has long been zero.
    near = a < 2000.0
    with np.errstate(divide="ignore", over="ignore"):
        values = np.where(near, a, 1.0) ** mu * special.kv(-mu, np.where(near, a, 1.0))
    return np.where(near, constant * values, 0.0)


@dataclass(eq=False)
class RationalQuadratic(Radial):
    r"""The rational quadratic kernel, a mixture of Gaussians of all widths.

    .. math:: k(x, z) = \Bigl(1 + \frac{|(x - z)/l|^2}{2\alpha}\Bigr)^{-\alpha}

    Its spectrum follows from that mixture: for :math:`l = 1` it is
    :math:`\frac{2\alpha^\alpha}{\Gamma(\alpha)} (|\omega|^2/2\alpha)^{\mu/2}
    K_\mu(\sqrt{2\alpha} |\omega|)` with :math:`\mu = \alpha - d/2`.

    Parameters
    ----------
    length_scale : float or (p,) array, default=1.0
        The width l, one for all features or one for each.
    alpha : float, default=1.0
        Positive; large values leave nearly one width.

    References
    ----------
    C. E. Rasmussen and C. K. I. Williams, *Gaussian Processes for Machine Learning*, 2006,
    eq. (4.19).

    Examples
    --------
    >>> RationalQuadratic(alpha=0.5)([[0.0]], [[1.0]]).round(4)
    array([[0.7071]])
    """

    length_scale: LengthScale = 1.0
    alpha: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.alpha < np.inf:
            raise ValueError(
                f"alpha must be a positive number, got {self.alpha}; its limit is Gaussian."
            )

    def _profile(self, s: Array) -> None:
        alpha = float(self.alpha)
        s /= 2.0 * alpha
        np.log1p(s, out=s)
        s *= -alpha
        np.exp(s, out=s)

    def _slope(self, s: Array) -> Array:
        alpha = float(self.alpha)
        return np.exp(-(alpha + 1.0) * np.log1p(s / (2.0 * alpha)))

    def _by_alpha(self, s: Array) -> Array:
        alpha = float(self.alpha)
        s = s / (2.0 * alpha)
        logarithm = np.log1p(s)
        return np.asarray(np.exp(-alpha * logarithm) * (s / (1.0 + s) - logarithm))

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        return super().gradient(X, Z) | {"alpha": self._by_alpha(self._squared(X, Z))}

    def pullback(self, X: Data, G: Array) -> dict[str, Array]:
        by_alpha = np.vdot(G, self._by_alpha(self._squared(X, None)))
        return super().pullback(X, G) | {"alpha": np.asarray(by_alpha)}

    def _unit_spectrum(self, omega: Array) -> Array:
        width = np.sqrt(2.0 * float(self.alpha))
        lengths, d = width * np.sqrt(squared_norms(omega)), omega.shape[1]
        return np.asarray(width**d * power_law_spectrum(lengths, -float(self.alpha), d))
