"""Kernels that vanish beyond a distance, so that most entries of a large matrix are zero."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import comb, factorial

import numpy as np

from mercer._params import check_integer, is_integer
from mercer.kernels.base import Evaluator, Support, put
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

    def _spline(self, distance: Array, times: int = 0) -> Array:
        """Return B_n at distances in units, or minus its derivative by the distance."""
        return truncated_powers(distance, int(self.degree), times)

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


def truncated_powers(distance: Array, n: int, times: int) -> Array:
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
    positive definite in d dimensions. Its spectrum, computed in the package mercer-research to
    nearly full relative accuracy at all frequencies, falls like :math:`|\omega|^{-d-2k-1}`: the
    penalty is that of a Sobolev space.

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
    def factors(self) -> tuple[int, Array]:
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
        power, coef = self.factors
        r = np.minimum(np.sqrt(s), 1.0)
        s[...] = _powers(1.0 - r, power) * _horner(coef / coef[0], r)

    def _slope(self, s: Array) -> Array:
        # -phi'/r = (1 - r)^(power-1) (power q - (1 - r) q') / r, where for k > 0 the last factor
        # is a multiple of r.
        power, coef = self.factors
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
