r"""The Matern kernel, with its profile for every smoothness.

Closed forms, Bessel functions, a mixture of Gaussians.

With :math:`a = \sqrt{2\nu s}` the profile is
:math:`M_\nu(a) = 2^{1-\nu} a^\nu K_\nu(a)/\Gamma(\nu)`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from mercer.kernels.points import Array, squared_norms
from mercer.kernels.stationary import LengthScale, Radial

LARGE = 30.0
"""Above this smoothness Bessel functions overflow at distances where the profile is not yet 1."""


@dataclass(eq=False)
class Matern(Radial):
    r"""The Matern kernel; its functions have up to :math:`\nu + d/2` square-integrable derivatives.

    .. math:: k(x, z) = \frac{2^{1-\nu}}{\Gamma(\nu)} a^\nu K_\nu(a), \qquad
              a = \sqrt{2\nu} \, |(x - z)/l|

    It is :math:`e^{-a}` for :math:`\nu = 1/2`, :math:`(1 + a) e^{-a}` for 3/2,
    :math:`(1 + a + a^2/3) e^{-a}` for 5/2 and the Gaussian in the limit. With
    :math:`\alpha = \sqrt{2\nu}/l` its spectrum is

    .. math:: P(\omega) = 2^{d/2} \frac{\Gamma(\nu + d/2)}{\Gamma(\nu)}
              \frac{\alpha^{2\nu}}{(\alpha^2 + |\omega|^2)^{\nu + d/2}}

    Parameters
    ----------
    length_scale : float or (p,) array, default=1.0
        The width l, one for all features or one for each.
    nu : float, default=1.5
        Smoothness, any positive number or infinity.

    References
    ----------
    C. E. Rasmussen and C. K. I. Williams, *Gaussian Processes for Machine Learning*, 2006,
    eq. (4.14) and (4.15); for :math:`\nu = 1/2` also A. J. Smola, *Learning with Kernels*,
    TU Berlin 1998, sec. 3.4.

    Examples
    --------
    >>> Matern(nu=0.5)([[0.0]], [[1.0], [2.0]]).round(4)
    array([[0.3679, 0.1353]])
    """

    length_scale: LengthScale = 1.0
    nu: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.nu > 0.0:
            raise ValueError(f"nu must be positive (or infinite), got {self.nu}.")

    @property
    def _smooth(self) -> bool:
        return self.nu > 1.0

    @property
    def _twice_nu(self) -> int | None:
        return int(2.0 * self.nu) if self.nu in (1.5, 2.5) else None

    def _profile(self, s: Array) -> None:
        s[...] = value(s, float(self.nu))

    def _slope(self, s: Array) -> Array:
        return slope(s, float(self.nu))

    def _unit_spectrum(self, omega: Array) -> Array:
        square, half = squared_norms(omega), 0.5 * omega.shape[1]
        if np.isinf(self.nu):
            return np.exp(-0.5 * square)
        # Gamma(nu + d/2) / Gamma(nu) * (2 nu)^nu * 2^(d/2) / (2 nu + w^2)^(nu + d/2), in logarithms
        nu = float(self.nu)
        log_ratio = float(special.gammaln(nu + half) - special.gammaln(nu)) - half * np.log(nu)
        return np.asarray(np.exp(log_ratio - (nu + half) * np.log1p(square / (2.0 * nu))))


def value(s: Array, nu: float) -> Array:
    """Return the profile at squared scaled distances `s`."""
    if np.isinf(nu):
        return np.exp(-0.5 * s)
    a = np.sqrt((2.0 * nu) * s)
    if nu == 0.5:
        return np.exp(-a)
    if nu == 1.5:
        return (1.0 + a) * np.exp(-a)
    if nu == 2.5:
        return (1.0 + a + a * a / 3.0) * np.exp(-a)
    # Rounding of the logarithms could exceed the value at zero distance.
    return np.minimum(bessel(a, nu), 1.0).astype(s.dtype, copy=False)


def slope(s: Array, nu: float) -> Array:
    r"""Return :math:`-2 \, d/ds` of the profile; 0 at ``s = 0`` if it is infinite there.

    From :math:`\frac{d}{da} a^\nu K_\nu(a) = -a^\nu K_{\nu-1}(a)`.
    """
    if np.isinf(nu):
        return np.exp(-0.5 * s)
    if nu > 1.0:
        return nu / (nu - 1.0) * value(s * (nu / (nu - 1.0)), nu - 1.0)
    a = np.sqrt((2.0 * nu) * s)
    result = np.zeros_like(a)
    if nu == 0.5:
        return np.divide(np.exp(-a), a, out=result, where=a > 0.0)
    positive = a > 0.0
    a = a[positive]
    constant = nu * 2.0 ** (2.0 - nu) / float(special.gamma(nu))
    result[positive] = constant * a ** (nu - 1.0) * special.kv(1.0 - nu, a)
    return result


def bessel(a: Array, nu: float) -> Array:
    r"""Return :math:`M_\nu(a)`, with the limit 1 at ``a = 0``."""
    a = np.asarray(a, dtype=np.float64)
    if nu > LARGE:
        return _mixture(a, nu)
    K = special.kve(nu, a)
    # K is infinite at a = 0 and, for nu <= 30, below a = 1e-8, where 1 - M < 1e-17. Logarithms,
    # because a^nu may underflow where K is large.
    finite = np.isfinite(K) & (a > 0.0)
    logarithm = nu * np.log(a[finite]) + np.log(K[finite]) - a[finite]
    # SciPy gives up beyond a = 1e9; for nu <= 30 the profile underflows before a = 2000.
    result = np.where(a < 2000.0, 1.0, 0.0)
    result[finite] = np.exp(logarithm + ((1.0 - nu) * np.log(2.0) - special.gammaln(nu)))
    return result


def _mixture(a: Array, nu: float) -> Array:
    r"""Return the profile as a mixture of Gaussians, for large smoothness.

    .. math:: M_\nu(a) = \frac{1}{\Gamma(\nu)} \int_0^\infty u^{\nu-1} e^{-u - a^2/4u} \, du

    In :math:`t = \ln u` the integrand is nearly a Gaussian bell of width
    :math:`(\nu^2 + a^2)^{-1/4}` around :math:`u_0 = \nu (1 + x)`, so the trapezoidal rule with
    half that width as its step is exact to rounding: the neglected frequencies weigh
    :math:`|\Gamma(\nu + 4\pi i\sqrt\nu)| / \Gamma(\nu)`, which is below 1e-20. Only positive terms
    are added, and everything is written relative to :math:`u_0`, so nothing cancels.
    """
    step = 0.5
    q = (a / nu) ** 2
    root = np.sqrt(1.0 + q)
    x = 0.5 * q / (1.0 + root)
    unit = 1.0 / np.sqrt(nu * root)
    total = np.zeros_like(a)
    # The left flank decays like u^nu only: 12.5 widths leave 1e-16 of it at nu = 30.
    for j in range(-25, 19):
        t = (step * j) * unit
        total += np.exp(-nu * (_excess(t, nu) + 4.0 * x * np.sinh(0.5 * t) ** 2))
    # Remainder of Stirling's formula for ln Gamma(nu); the next term is below 1e-16.
    v = 1.0 / nu
    stirling = v * (1 / 12 - v**2 * (1 / 360 - v**2 * (1 / 1260 - v**2 / 1680)))
    constant = step / np.sqrt(2.0 * np.pi) * np.exp(-stirling)
    peak: Array = constant * np.exp(nu * (np.log1p(x) - 2.0 * x)) / np.sqrt(root)
    return peak * total


def _excess(t: Array, nu: float) -> Array:
    """Return ``exp(t) - 1 - t``; by its series where the difference would cancel."""
    if nu < 1e4:
        return np.expm1(t) - t
    series = np.ones_like(t)
    for k in range(10, 2, -1):
        series = 1.0 + t / k * series
    return 0.5 * t * t * series
