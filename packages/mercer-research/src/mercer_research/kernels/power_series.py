"""Power series of kernels, and the penalties of power series of the inner product."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy import special

from mercer.kernels.algebra import Modified
from mercer.kernels.base import Evaluator, Kernel, Support, put
from mercer.kernels.dot_product import (
    Linear,
    Polynomial,
    monomial_features,
    multinomial,
)
from mercer.kernels.points import Array, Data, chunks


class Series(NamedTuple):
    """A function that is the sum of its power series."""

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    radius: float
    coefficients: Callable[[Array], Array]


def _even(i: Array) -> Array:
    return np.where(i % 2 == 0, special.rgamma(i + 1.0), 0.0)


def _odd(i: Array) -> Array:
    return np.where(i % 2 == 1, special.rgamma(i + 1.0), 0.0)


def _logarithm(i: Array) -> Array:
    return np.where(i == 0, 0.0, 1.0 / np.maximum(i, 1))


def _arcsine(i: Array) -> Array:
    half = (i - 1) // 2
    terms = special.binom(2 * half, half) / 4.0**half / (2 * half + 1)
    return np.where(i % 2 == 1, terms, 0.0)


SERIES: dict[str, Series] = {
    "exp": Series(np.exp, np.exp, np.inf, lambda i: special.rgamma(i + 1.0)),
    "cosh": Series(np.cosh, np.sinh, np.inf, _even),
    "sinh": Series(np.sinh, np.cosh, np.inf, _odd),
    "geometric": Series(lambda s: 1 / (1 - s), lambda s: (1 - s) ** -2.0, 1.0, np.ones_like),
    "logarithm": Series(lambda s: -np.log1p(-s), lambda s: 1 / (1 - s), 1.0, _logarithm),
    "arcsine": Series(np.arcsin, lambda s: (1 - s**2) ** -0.5, 1.0, _arcsine),
}
"""Power series by name; all of their coefficients are at least 0."""


@dataclass(eq=False)
class PowerSeries(Modified):
    r"""A power series of a kernel, :math:`t(k(x, z))` with :math:`t(s) = \sum_i a_i s^i`.

    It is positive definite if k is and no coefficient is negative; of the inner product, and
    in every dimension, only then. Degrees whose coefficient is 0 are not in the space.

    Parameters
    ----------
    series : str or sequence of float, default="exp"
        ``exp``, ``cosh``, ``sinh``, ``geometric`` (:math:`1/(1-s)`), ``logarithm``
        (:math:`-\ln(1-s)`), ``arcsine``, or the coefficients of a polynomial from :math:`a_0` on.
    kernel : Kernel, default=Linear()
        The kernel k. Where the series converges for :math:`|s| < 1` only, its values must be
        smaller than 1.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.67)-(3.69), cor. 3.6.

    Examples
    --------
    >>> PowerSeries("exp")([[1.0, 2.0]], [[0.5, 0.0]]).round(4)
    array([[1.6487]])
    >>> PowerSeries("sinh", PowerSeries("exp")).positive_definite
    True
    >>> PowerSeries([1.0, 0.0, -0.5]).positive_definite
    False
    """

    series: str | Sequence[float] | Array = "exp"
    kernel: Kernel = field(default_factory=Linear)
    order = 0

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel) or self.kernel.precomputed:
            raise ValueError(
                f"kernel must be a Kernel of points, got {self.kernel!r}; apply the series to a "
                "precomputed matrix yourself."
            )
        if isinstance(self.series, str):
            if self.series not in SERIES:
                raise ValueError(
                    f"series must be one of {', '.join(sorted(SERIES))} or a list of coefficients, "
                    f"got {self.series!r}."
                )
            return
        a = np.asarray(self.series, dtype=float)
        if a.ndim != 1 or not a.size or not np.isfinite(a).all():
            raise ValueError(
                f"The coefficients of a series must be finite numbers, got {self.series!r}."
            )

    @property
    def positive_definite(self) -> bool:
        admissible = isinstance(self.series, str) or (np.asarray(self.series) >= 0).all()
        return bool(admissible) and self.kernel.positive_definite and self.kernel.order == 0

    @property
    def support(self) -> Support | None:
        return self.kernel.support if self.coefficient(np.zeros(1, dtype=int))[0] == 0 else None

    def unpenalized(self, p: int) -> list[tuple[int, ...]]:
        return []

    def coefficient(self, i: Array) -> Array:
        """Return the coefficients of the series with these numbers.

        Parameters
        ----------
        i : (m,) array of int
        """
        i = np.asarray(i, dtype=int)
        if isinstance(self.series, str):
            return np.asarray(SERIES[self.series].coefficients(i), dtype=float)
        a = np.asarray(self.series, dtype=float)
        return np.where(i < a.size, a[np.minimum(i, a.size - 1)], 0.0)

    def _apply(self, K: Array, slope: bool = False) -> Array:
        """Return the series, or its derivative, of kernel values."""
        if not isinstance(self.series, str):
            a = np.asarray(self.series, dtype=float)
            return np.asarray(_horner(a[1:] * np.arange(1, a.size) if slope else a, K))
        series = SERIES[self.series]
        largest = float(np.abs(K).max(initial=0.0))
        if largest >= series.radius:
            raise ValueError(
                f"The series {self.series!r} converges for kernel values below {series.radius:g} "
                f"but {largest:.4g} occurs: scale the points, or the kernel as in 0.1 * kernel."
            )
        with np.errstate(over="ignore"):
            return (series.slope if slope else series.value)(K)

    def _finish(self, K: Array) -> Array:
        """Apply the series to values a few rows at a time, in float64."""
        for rows in chunks(np.atleast_2d(K)):
            part = np.atleast_2d(K)[rows]
            with np.errstate(over="ignore"):
                part[...] = self._apply(part.astype(np.float64))
            if not np.isfinite(part).all():
                raise ValueError(
                    f"The series {self.series!r} overflows {K.dtype} numbers: scale the points, or "
                    "the kernel as in 0.1 * kernel."
                )
        return K

    def against(self, Z: Data) -> Evaluator:
        kernel = self.kernel.against(Z)
        return lambda X, out=None: put(self._finish(kernel(X)), out)

    def diag(self, X: Data) -> Array:
        return self._finish(self.kernel.diag(X))

    def paired(self, X: Data, Z: Data) -> Array:
        return self._finish(self.kernel.paired(X, Z))

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        K = self.kernel(X, Z)
        result = {}
        if not isinstance(self.series, str):
            powers = np.arange(np.size(self.series))
            result["series"] = K[:, :, None] ** powers.astype(K.dtype)
        slope = self._apply(K, slope=True).astype(K.dtype)
        for name, value in self.kernel.gradient(X, Z).items():
            result[f"kernel__{name}"] = value * (slope if value.ndim == 2 else slope[:, :, None])
        return result

    def features(self, X: Data) -> Array:
        """Return all monomials that occur, whose inner products are the kernel.

        Only for a finite series of the inner product itself.

        Parameters
        ----------
        X : (m, p) points

        Returns
        -------
        (m, q) array
        """
        if isinstance(self.series, str) or self.kernel != Linear():
            raise ValueError(
                "Features are listed for a finite series of Linear() only; give the coefficients "
                "as a list."
            )
        return monomial_features(X, np.asarray(self.series, dtype=float))


def _horner(a: Array, s: Array) -> Array:
    total = np.zeros_like(s)
    for coefficient in a[::-1]:
        total = total * s + coefficient
    return total


def operator_penalty(
    kernel: Polynomial | PowerSeries, exponents: Array, coefficients: Array
) -> float:
    r"""Return the penalty of a kernel of the inner product on a polynomial.

    .. math:: |P f|^2 = \sum_n \frac{c_n^2}{a_{|n|}} \binom{|n|}{n}^{-1},
              \qquad f(x) = \sum_n c_n x^n

    The operator takes Taylor coefficients at zero, with the weights
    :math:`(a_{|n|} \binom{|n|}{n})^{-1/2}`.

    Parameters
    ----------
    kernel : Polynomial or PowerSeries
        The latter of the inner product.
    exponents : (q, p) array of int
        The multi-indices n.
    coefficients : (q,) array
        The numbers :math:`c_n`.

    Returns
    -------
    float
        Infinite if f has a degree that does not occur in the kernel.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.59)-(3.68), where the exponents of
    the weights are printed as +1/2, which is not consistent with the kernel.

    Examples
    --------
    The square of a sum, 2 x z in ``(1 + x z)^2`` and hence half the penalty of 1:

    >>> operator_penalty(Polynomial(2, coef0=1.0), np.array([[0], [1]]), np.array([1.0, 1.0]))
    1.5
    """
    exponents, c = np.asarray(exponents, dtype=int), np.asarray(coefficients, dtype=float)
    degrees = exponents.sum(axis=1)
    if isinstance(kernel, PowerSeries):
        if kernel.kernel != Linear():
            raise ValueError(f"The operator is known for series of Linear() only, got {kernel!r}.")
        a = kernel.coefficient(degrees)
    else:
        series = kernel.series()
        a = np.where(degrees < series.size, series[np.minimum(degrees, series.size - 1)], 0.0)
    present = c != 0.0
    weights = (a * multinomial(exponents))[present]
    return float((c[present] ** 2 / weights).sum()) if (weights > 0).all() else np.inf
