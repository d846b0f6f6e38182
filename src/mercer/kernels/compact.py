"""Kernels that vanish beyond a distance, so that most entries of a large matrix are zero."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, factorial

import numpy as np

from mercer._params import is_integer
from mercer.kernels._pairwise import (
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
from mercer.kernels.base import Evaluator, Support, put
from mercer.kernels.stationary import LengthScale, Stationary


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
