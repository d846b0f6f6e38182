r"""The Matern profile for every smoothness: closed forms, Bessel functions, a mixture of Gaussians.

With :math:`a = \sqrt{2\nu s}` the profile is
:math:`M_\nu(a) = 2^{1-\nu} a^\nu K_\nu(a)/\Gamma(\nu)`.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from mercer.kernels.points import Array

LARGE = 30.0
"""Above this smoothness Bessel functions overflow at distances where the profile is not yet 1."""


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
