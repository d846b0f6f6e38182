r"""Repeated convolutions of the indicator of a ball, from their spectrum.

With :math:`\Omega_d(t) = t^{1-d/2} J_{d/2-1}(t)` the ball has the transform :math:`\Omega_{d+2}`,
so that n + 1 of them, divided by their value at zero, are

.. math:: \varphi(r) = \frac{1}{c} \int_0^\infty \omega^{d-1} \, \Omega_{d+2}(\omega)^{n+1} \,
          \Omega_d(\omega r) \, d\omega

On every interval between 0, 2, ..., n + 1 the function is smooth, up to high powers of the distance
to its ends, and is kept as a Chebyshev series.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.polynomial import chebyshev
from scipy import fft

from mercer.kernels._transform import oscillation
from mercer.kernels.points import Array

NODES = 72
r"""Of the interpolation: the worst end, :math:`r^4 \ln r` in the plane, leaves a few 1e-15."""


@lru_cache(maxsize=32)
def convolved_balls(degree: int, dim: int) -> tuple[float, tuple[Array, ...]]:
    """Return the constant c, and the Chebyshev coefficients on each interval of length 2.

    Parameters
    ----------
    degree : int
        The number n of convolutions, at least 3.
    dim : int
        The dimension d, at least 2.

    Examples
    --------
    >>> constant, series = convolved_balls(3, 3)
    >>> len(series), float(chebyshev.chebval(-1.0, series[0]).round(12))
    (2, 1.0)
    """
    # The integrand falls like omega^-p: beyond the end it is 1e-16 of the total.
    p = 0.5 * (degree + 1) * (dim + 1) - dim + 1
    end = int(np.ceil(10.0 ** (15.5 / (p - 1.0)))) + 10
    x, weight = np.polynomial.legendre.leggauss(16)
    angle = np.pi * (np.arange(NODES) + 0.5) / NODES
    r = (2.0 * np.arange((degree + 1) // 2)[:, None] + 1.0 + np.cos(angle)).ravel()
    total, top = np.zeros(r.size), 0.0
    # Pieces of length 1 hold at most 2 (n + 1) radians.
    for start in range(0, end, 64):
        omega = (start + np.arange(64)[:, None] + 0.5 * (x + 1.0)).ravel()
        terms = np.tile(0.5 * weight, 64) * omega ** (dim - 1)
        terms *= oscillation(omega, dim + 2) ** (degree + 1)
        total += oscillation(np.outer(r, omega), dim) @ terms
        top += float(terms.sum())
    constant = top * float(oscillation(np.zeros(1), dim)[0])
    values = (total / constant).reshape(-1, NODES)
    series = fft.dct(values, axis=1) / NODES
    series[:, 0] *= 0.5
    return constant, tuple(chebyshev.chebtrim(coef, 2e-16) for coef in series)


def evaluate(series: tuple[Array, ...], r: Array) -> Array:
    """Return piecewise Chebyshev series at distances, zero beyond the last interval."""
    result = np.zeros(r.shape)
    for j, coef in enumerate(series):
        inside = (r >= 2.0 * j) & (r < 2.0 * (j + 1))
        result[inside] = chebyshev.chebval(r[inside] - (2.0 * j + 1.0), coef)
    return result
