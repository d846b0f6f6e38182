r"""Repeated convolutions of the indicator of a ball, from their spectrum.

With :math:`\Omega_d(t) = t^{1-d/2} J_{d/2-1}(t)` the ball has the transform :math:`\Omega_{d+2}`,
so that n + 1 of them, divided by their value at zero, are

.. math:: \varphi(r) = \frac{1}{c} \int_0^\infty \omega^{d-1} \, \Omega_{d+2}(\omega)^{n+1} \,
          \Omega_d(\omega r) \, d\omega

On every interval between 0, 2, ..., n + 1 the function is smooth, up to high powers of the distance
to its ends, and is kept as a Chebyshev series.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.polynomial import chebyshev
from scipy import fft, special

from mercer._params import is_integer
from mercer.kernels.compact import Ball, truncated_powers
from mercer.kernels.points import Array, squared_norms
from mercer.kernels.stationary import LengthScale
from mercer_research.kernels._fourier import oscillation, polynomial_transform, radial_transform

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


def _evaluate(series: tuple[Array, ...], r: Array) -> Array:
    """Return piecewise Chebyshev series at distances, zero beyond the last interval."""
    result = np.zeros(r.shape)
    for j, coef in enumerate(series):
        inside = (r >= 2.0 * j) & (r < 2.0 * (j + 1))
        result[inside] = chebyshev.chebval(r[inside] - (2.0 * j + 1.0), coef)
    return result


@dataclass(eq=False)
class RadialBSpline(Ball):
    r"""Balls convolved with each other, the radial counterpart of B-splines.

    .. math:: k(x, z) = \frac{(1_U * \dots * 1_U)(u)}{(1_U * \dots * 1_U)(0)}, \qquad
              u = \frac{x - z}{l}

    with n + 1 unit balls U of :math:`\mathbb{R}^d`; it vanishes where
    :math:`|x - z| \ge (n + 1) l`. For n = 1 it is the common volume of two balls,
    :math:`I_{1 - q^2}(\frac{d+1}{2}, \frac12)` with :math:`q = |u|/2` and the regularized
    incomplete beta function: :math:`1 - q` for d = 1, the circular
    :math:`\frac{2}{\pi} (\arccos q - q \sqrt{1 - q^2})` for 2, the spherical
    :math:`1 - \frac32 q + \frac12 q^3` of geostatistics for 3. Higher degrees are smoother, and
    interpolated to rounding from their spectrum, a multiple of
    :math:`(t^{-d/2} J_{d/2}(t))^{n+1}` with :math:`t = l |\omega|`. In fewer dimensions than d the
    spectrum is computed by quadrature.

    Parameters
    ----------
    length_scale : float or (p,) array, default=1.0
        The radius l of the balls, one for all features or one for each.
    degree : {1, 3, 5}, default=1
        The number n of convolutions; odd, because even ones are not positive definite.
    dim : int, default=3
        The dimension d of the balls; points may have fewer features, not more.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.55) to (3.57).

    Examples
    --------
    >>> RadialBSpline(2.0)([[0.0]], [[0.0], [2.0], [4.0]])
    array([[1.    , 0.3125, 0.    ]])
    """

    length_scale: LengthScale = 1.0
    degree: int = 1
    dim: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_integer(self.degree) or self.degree not in (1, 3, 5):
            raise ValueError(f"degree must be 1, 3 or 5, got {self.degree!r}.")

    @property
    def _reach(self) -> float:
        return self.degree + 1.0

    @property
    def _smooth(self) -> bool:
        return self.degree > 1

    def _at(self, r: Array, times: int = 0) -> Array:
        """Return the function of the distance, or a derivative of it, for more than two balls."""
        n = int(self.degree)
        if self.dim == 1:
            # Knots at the distance of a diameter.
            top = 2.0**times * float(truncated_powers(np.zeros(1), n, 0)[0])
            return (-1.0) ** times * truncated_powers(0.5 * r, n, times) / top
        _, series = convolved_balls(n, int(self.dim))
        return _evaluate(tuple(chebyshev.chebder(c, times) for c in series), r).astype(r.dtype)

    def _profile(self, s: Array) -> None:
        if self.degree > 1:
            s[...] = self._at(np.sqrt(s))
            return
        q = np.minimum(0.5 * np.sqrt(s), 1.0)
        if self.dim == 1:
            s[...] = 1.0 - q
        elif self.dim == 2:
            s[...] = (np.arccos(q) - q * np.sqrt(1.0 - q * q)) * (2.0 / np.pi)
        elif self.dim == 3:
            s[...] = (1.0 - q) ** 2 * (1.0 + 0.5 * q)
        else:
            s[...] = special.betainc(0.5 * (self.dim + 1), 0.5, (1.0 - q) * (1.0 + q))

    def _slope(self, s: Array) -> Array:
        r = np.sqrt(s)
        result = np.zeros_like(r)
        inside = (r > 0.0) & (r < self._reach)
        r = r[inside]
        if self.degree > 1:
            result[inside] = -self._at(r, 1) / r
            # Minus the second derivative at zero, from near by: only its size matters there.
            step = np.full(1, 1e-3, dtype=s.dtype)
            result[s == 0.0] = -(self._at(step, 1) / step)[0]
            return result
        constant = 1.0 / float(special.beta(0.5 * (self.dim + 1), 0.5))
        result[inside] = constant * (1.0 - 0.25 * r * r) ** (0.5 * (self.dim - 1)) / r
        return result

    def _unit_spectrum(self, omega: Array) -> Array:
        d, n, lengths = omega.shape[1], int(self.degree), np.sqrt(squared_norms(omega))
        if d == self.dim:
            if n == 1:
                constant = 2.0 ** (-0.5 * d) / float(special.gamma(1.0 + 0.5 * d))
            elif d == 1:
                # The value at zero of boxes of width 2 and transform sqrt(2/pi) sin(w)/w.
                top = float(truncated_powers(np.zeros(1), n, 0)[0])
                constant = top * 2.0**n * (2.0 * np.pi) ** (-0.5 * n)
            else:
                constant = convolved_balls(n, d)[0]
            return np.asarray(oscillation(lengths, d + 2) ** (n + 1) / constant)
        if self.dim == 3 and n == 1:
            # (1 - q)^2 (1 + q/2) with q half the distance, in powers of q and of 1 - q.
            powers = np.array([1.0, -1.5, 0.0, 0.5]), np.array([0.0, 0.0, 1.5, -0.5])
            values = polynomial_transform(
                lambda q: (1.0 - q) ** 2 * (1.0 + 0.5 * q), *powers, 2.0 * lengths, d
            )
            return np.asarray(2.0**d * values.values)

        def profile(r: Array) -> Array:
            s = r * r
            self._profile(s)
            return s

        return radial_transform(profile, lengths, d).values
