"""Kernels that vanish beyond a distance, so that most entries of a large matrix are zero."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import comb, factorial

import numpy as np
from numpy.polynomial import chebyshev
from scipy import special

from mercer._params import check_integer, is_integer
from mercer.kernels._balls import convolved_balls, evaluate
from mercer.kernels._transform import oscillation, polynomial_transform, radial_transform
from mercer.kernels.base import Evaluator, Kernel, Support, put
from mercer.kernels.points import (
    BLOCK_BYTES,
    CHUNK_BYTES,
    Array,
    Data,
    as_pair,
    as_points,
    chunks,
    is_sparse,
    row_slices,
    squared_norms,
)
from mercer.kernels.stationary import LengthScale, Radial, Stationary


@dataclass(eq=False)
class BSpline(Stationary):
    r"""A product of B-splines, one for each feature, zero outside a box.

    .. math:: k(x, z) = \prod_j B_n\Bigl(\frac{x_j - z_j}{l_j}\Bigr), \qquad
              B_n = \underbrace{1_{[-1/2, 1/2]} * \dots * 1_{[-1/2, 1/2]}}_{n + 1}

    It vanishes where some :math:`|x_j - z_j| \ge l_j (n+1)/2`. The value at zero is not 1:
    :math:`B_1(0) = 1`, :math:`B_3(0) = 2/3`, :math:`B_5(0) = 11/20` for each feature. The spectrum
    is :math:`\prod_j (2\pi)^{-1/2} l_j \operatorname{sinc}^{n+1}(l_j \omega_j / 2)` with
    :math:`\operatorname{sinc} t = \sin t / t`: functions of this kernel have no
    frequencies that are multiples of :math:`2 \pi / l_j`.

    Parameters
    ----------
    length_scale : float or (p,) array, default=1.0
        The distance l of the knots, one for all features or one for each.
    degree : int, default=3
        Between 0 and 9. Only odd degrees are positive definite: the spectrum of an even one is
        an odd power of sinc and has negative lobes. Even ones remain basis functions for
        machines that penalize coefficients.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.26) to (3.28).

    Examples
    --------
    >>> BSpline(2.0)([[0.0]], [[0.0], [1.0], [2.0], [4.0]]).round(4)
    array([[0.6667, 0.4792, 0.1667, 0.    ]])
    >>> BSpline(degree=2).positive_definite
    False
    """

    length_scale: LengthScale = 1.0
    degree: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_integer(self.degree) or not 0 <= self.degree <= 9:
            raise ValueError(
                f"degree must be an integer from 0 to 9, got {self.degree!r}; beyond, a B-spline "
                "is a Gaussian to the eye."
            )

    @property
    def positive_definite(self) -> bool:
        return self.degree % 2 == 1

    @property
    def support(self) -> Support:
        return Support(self._scale * (0.5 * (self.degree + 1)), np.inf)

    def spectral_power(self, power: float, dim: int = 1) -> Kernel | None:
        # The spectrum is a power of sinc, one more than the degree.
        degree = power * (self.degree + 1) - 1
        known = degree == int(degree) and 0 <= degree <= 9
        return BSpline(self.length_scale, int(degree)) if known else None

    def _spline(self, distance: Array, times: int = 0) -> Array:
        """Return B_n at distances in units, or minus its derivative by the distance."""
        return _truncated_powers(distance, int(self.degree), times)

    def against(self, Z: Data) -> Evaluator:
        Z = as_points(Z)

        def evaluate(X: Data, out: Array | None = None) -> Array:
            A, B = as_pair(X, Z)
            factor = np.broadcast_to(self._factor(A), A.shape[1])
            K = np.ones((A.shape[0], B.shape[0]), dtype=A.dtype)
            for features in row_slices(len(factor), sum(K.shape) * K.itemsize, BLOCK_BYTES):
                left, right = (_columns(P, features) for P in (A, B))
                for rows in chunks(K):
                    for x, z, scale in zip(left, right, factor[features], strict=True):
                        distance = np.abs(x[rows, None] - z)
                        distance *= float(scale)
                        K[rows] *= self._spline(distance)
            return put(K, out)

        return evaluate

    def diag(self, X: Data) -> Array:
        X = as_points(X)
        top = float(self._spline(np.zeros(1))[0])
        return np.full(X.shape[0], top ** X.shape[1], dtype=X.dtype)

    def paired(self, X: Data, Z: Data) -> Array:
        X, Z = as_pair(X, Z)
        factor = np.broadcast_to(self._factor(X), X.shape[1])
        result = np.ones(X.shape[0], dtype=X.dtype)
        for rows in row_slices(X.shape[0], X.shape[1] * X.dtype.itemsize, CHUNK_BYTES):
            for difference, scale in zip(_columns(X[rows] - Z[rows]), factor, strict=True):
                result[rows] *= self._spline(np.abs(difference) * float(scale))
        return result

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        X, Z = as_pair(X, X if Z is None else Z)
        scale = np.broadcast_to(self._scale, X.shape[1])
        result = np.empty((X.shape[0], Z.shape[0], X.shape[1]), dtype=X.dtype)
        # d/dl B(u / l) = -u/l^2 B'(u / l), times all other factors: those before, those after.
        before, after = np.ones((2, *result.shape[:2]), dtype=X.dtype)
        values = []
        for j, (x, z) in enumerate(zip(_columns(X), _columns(Z), strict=True)):
            distance = np.abs(x[:, None] - z) / float(scale[j])
            values.append(self._spline(distance))
            result[:, :, j] = before * self._spline(distance, 1) * distance / float(scale[j])
            before = before * values[-1]
        for j in reversed(range(len(values))):
            result[:, :, j] *= after
            after = after * values[j]
        return {"length_scale": result if self._scale.ndim else result.sum(axis=2)}

    def _unit_spectrum(self, omega: Array) -> Array:
        factors = np.sinc(omega / (2.0 * np.pi)) ** (int(self.degree) + 1) / np.sqrt(2.0 * np.pi)
        return np.asarray(factors.prod(axis=1))

    def _separate(self, p: int) -> list[Kernel]:
        scales = np.broadcast_to(self._scale, p)
        return [BSpline(float(scale), self.degree) for scale in scales]


def _truncated_powers(distance: Array, n: int, times: int) -> Array:
    r"""Return minus the derivative, `times` 0 or 1, of the B-spline of degree n.

    .. math:: B_n(u) = \frac{1}{n!} \sum_k (-1)^k \binom{n+1}{k} (t - k)_+^n, \qquad
              t = \frac{n+1}{2} - |u|

    Counted from the end of the support: the first term alone is exact there, and the largest term
    of degree 9 is 7 at the centre, so no more than a digit cancels.
    """
    t = 0.5 * (n + 1) - distance
    power = n - times
    total = np.zeros_like(t)
    if power < 0:
        return total
    for k in range((n + 2) // 2):
        if k:
            t -= 1.0
        base = np.maximum(t, 0.0)
        term = base if power else (base > 0.0).astype(t.dtype)
        for _ in range(power - 1):
            term = term * base
        total += ((-1) ** k * comb(n + 1, k) / factorial(power)) * term
    return total


def _columns(X: Data, features: slice = slice(None)) -> Array:
    """Return some features of the points as contiguous rows."""
    X = X[:, features]
    return np.ascontiguousarray((X.toarray() if is_sparse(X) else X).T)


class Ball(Radial):
    """A radial kernel that vanishes outside a ball, positive definite up to some dimension."""

    dim: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("dim", self.dim, 1)

    @property
    @abstractmethod
    def _reach(self) -> float:
        """The radius of the ball in units of the length scale."""

    @property
    def support(self) -> Support:
        return Support(self._scale * self._reach, 2)

    def _factor(self, X: Data) -> Array:
        self._check(X.shape[1])
        return super()._factor(X)

    def _check(self, p: int) -> None:
        if p > self.dim:
            raise ValueError(
                f"This kernel is positive definite in up to {self.dim} dimensions and was given "
                f"{p}: set dim={p}, which changes its shape."
            )

    def spectrum(self, omega: Array, dim: int = 1) -> Array:
        self._check(dim)
        return super().spectrum(omega, dim)


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
            top = 2.0**times * float(_truncated_powers(np.zeros(1), n, 0)[0])
            return (-1.0) ** times * _truncated_powers(0.5 * r, n, times) / top
        _, series = convolved_balls(n, int(self.dim))
        return evaluate(tuple(chebyshev.chebder(c, times) for c in series), r).astype(r.dtype)

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
                top = float(_truncated_powers(np.zeros(1), n, 0)[0])
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


@dataclass(eq=False)
class Wendland(Ball):
    r"""Wendland's kernel, a polynomial of the distance inside a ball and zero outside.

    With :math:`r = |(x - z)/l|` and :math:`m = \lfloor d/2 \rfloor + k + 1` it is, for
    :math:`r < 1` and k = 0, 1, 2, 3,

    .. math::

        (1 - r)^m, \qquad (1 - r)^{m+1} ((m+1) r + 1), \qquad
        \tfrac13 (1 - r)^{m+2} ((m^2 + 4m + 3) r^2 + (3m + 6) r + 3),

        \tfrac{1}{15} (1 - r)^{m+3}
        ((m^3 + 9m^2 + 23m + 15) r^3 + (6m^2 + 36m + 45) r^2 + (15m + 45) r + 15)

    It has 2k continuous derivatives and the smallest degree of all such polynomials that are
    positive definite in d dimensions. Its spectrum, computed to nearly full relative accuracy at
    all frequencies, falls like :math:`|\omega|^{-d-2k-1}`: the penalty is that of a Sobolev space.

    Parameters
    ----------
    length_scale : float or (p,) array, default=1.0
        The radius l of the support, one for all features or one for each.
    smoothness : int, default=1
        The number k, from 0 to 3.
    dim : int, default=3
        The dimension d; points may have fewer features, not more.

    References
    ----------
    H. Wendland, *Piecewise polynomial, positive definite and compactly supported radial functions
    of minimal degree*, Advances in Computational Mathematics 4, 1995, theorem 2.1 and table 1.

    Examples
    --------
    >>> Wendland(2.0)([[0.0]], [[0.0], [1.0], [2.0]])
    array([[1.    , 0.1875, 0.    ]])
    """

    length_scale: LengthScale = 1.0
    smoothness: int = 1
    dim: int = 3
    _reach = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_integer(self.smoothness) or not 0 <= self.smoothness <= 3:
            raise ValueError(f"smoothness must be an integer from 0 to 3, got {self.smoothness!r}.")

    @property
    def _smooth(self) -> bool:
        return self.smoothness > 0

    @property
    def _factors(self) -> tuple[int, Array]:
        """The power of 1 - r, and the coefficients of the other factor in powers of r."""
        k = int(self.smoothness)
        m = int(self.dim) // 2 + k + 1
        table: list[list[float]] = [
            [1],
            [1, m + 1],
            [3, 3 * m + 6, m**2 + 4 * m + 3],
            [15, 15 * m + 45, 6 * m**2 + 36 * m + 45, m**3 + 9 * m**2 + 23 * m + 15],
        ]
        return m + k, np.array(table[k], dtype=float)

    def _profile(self, s: Array) -> None:
        power, coef = self._factors
        r = np.minimum(np.sqrt(s), 1.0)
        s[...] = _powers(1.0 - r, power) * _horner(coef / coef[0], r)

    def _slope(self, s: Array) -> Array:
        # -phi'/r = (1 - r)^(power-1) (power q - (1 - r) q') / r, where for k > 0 the last factor
        # is a multiple of r.
        power, coef = self._factors
        r = np.minimum(np.sqrt(s), 1.0)
        derivative = np.polynomial.polynomial.polyder(coef)
        rest = power * coef
        rest[: len(derivative)] -= derivative
        rest[1 : len(derivative) + 1] += derivative
        value = _powers(1.0 - r, power - 1)
        if self.smoothness:
            return np.asarray(value * _horner(rest[1:] / coef[0], r))
        value *= rest[0] / coef[0] * (r < 1.0)
        return np.divide(value, r, out=np.zeros_like(r), where=r > 0.0)

    def _unit_spectrum(self, omega: Array) -> Array:
        power, coef = self._factors
        # Integers below 2^53, so that nothing is rounded.
        at_zero: Array = coef
        at_one: Array = np.zeros(1)
        for _ in range(power):
            at_zero = np.polynomial.polynomial.polymul(at_zero, [1.0, -1.0])
        for c in coef[::-1]:
            at_one = np.polynomial.polynomial.polymul(at_one, [1.0, -1.0])
            at_one[0] += c
        at_one = np.concatenate([np.zeros(power), at_one])
        return polynomial_transform(
            lambda r: _powers(1.0 - r, power) * _horner(coef / coef[0], r),
            at_zero / coef[0],
            at_one / coef[0],
            np.sqrt(squared_norms(omega)),
            omega.shape[1],
        ).values


def _powers(base: Array, exponent: int) -> Array:
    result = np.ones_like(base)
    for _ in range(exponent):
        result *= base
    return result


def _horner(coef: Array, r: Array) -> Array:
    """Return a polynomial in the dtype of its argument."""
    result = np.full_like(r, coef[-1])
    for c in coef[-2::-1]:
        result *= r
        result += float(c)
    return result
