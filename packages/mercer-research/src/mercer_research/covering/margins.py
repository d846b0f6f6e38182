"""Error rates of classifiers, from VC dimensions and from margins on the sample."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from mercer._params import check_integer, check_nonnegative, check_positive
from mercer._typing import Array
from mercer.risk_bounds import Assumption, Bound, Constant, one_each, some_samples
from mercer_research.covering.base import Covering
from mercer_research.covering.shattering import log_growth
from mercer_research.covering.uniform import (
    Coverings,
    FiniteClass,
    Inequality,
)
from mercer_research.risk_bounds.concentration import (
    BEFOREHAND,
    INDEPENDENT,
    check_margins,
    check_signs,
    half_digits,
)

__all__ = [
    "adaptive_margin_bound",
    "combination_margin_bound",
    "linear_margin_bound",
    "margin_bound",
    "margin_distribution_bound",
    "margin_errors",
    "vc_bound",
    "vc_bound_to_a_constant",
]

UNNAMED = "told by the caller: the theorem names none"


def margin_errors(y: ArrayLike, f: ArrayLike, margin: float) -> float:
    r"""Return the share of rows that keep less than a margin, :math:`y_i f(x_i) < \rho`.

    Examples
    --------
    >>> margin_errors([1, 1, -1, -1], [0.9, 0.4, -0.5, 0.2], 0.5)
    0.5
    """
    check_nonnegative(margin=margin)
    y, f = _pairs(y, f, "f")
    return float(np.mean(y * f < margin))


def vc_bound(
    empirical: float, n_samples: int, dimension: int, delta: float = 0.05, *, majority: float = 1.0
) -> Bound:
    r"""Bound the error rate of a classifier from a class of some VC dimension, after Vapnik.

    With probability at least :math:`1 - \delta`, for all classifiers of the class,

    .. math:: R \le R_m + \sqrt{\frac{h (\ln(2 m / h) + 1) - \ln(\delta / 4)}{m}}.

    Parameters
    ----------
    empirical : float
        Share of errors on the sample.
    n_samples : int
        m.
    dimension : int
        The VC dimension h.
    delta : float, default=0.05
    majority : float, default=1.0
        What is known without theory, such as the error rate of always naming the larger class.

    Notes
    -----
    The exponent :math:`\varepsilon^2 m` is eight times that of :func:`binary_classes`, because the
    probability that a second sample has at least the expected share of errors is at least 1/4
    (Greenberg and Mohri), and two halves of 2m rows are compared without replacement (Serfling).
    The remaining factor :math:`e^{\varepsilon^2 m / (m + 1)}` is less than what Sauer's sum lies
    below :math:`(2 e m / h)^h`.

    Examples
    --------
    >>> print(vc_bound(0.02, n_samples=100_000, dimension=10))
    at most 0.0537, by VC dimension 10, assuming that rows are drawn independently from one
    distribution and the class of functions was fixed before the rows were seen
    """
    _check(empirical, n_samples, delta)
    check_integer("dimension", dimension, 0)
    log_count = log_growth(2 * n_samples, dimension, "exponential")
    width = float(np.sqrt((log_count + np.log(4 / delta)) / n_samples))
    return Bound(
        empirical + width,
        f"VC dimension {dimension}",
        trivial=majority,
        log_covering=log_count,
        constants={
            "empirical": Constant(empirical, "share of errors on the sample"),
            "factor": Constant(4.0, "a second sample errs as often as expected"),
        },
        assumptions=(INDEPENDENT, BEFOREHAND),
    )


def vc_bound_to_a_constant(
    empirical: float, n_samples: int, dimension: float, delta: float = 0.05, *, constant: float
) -> Bound:
    r"""Bound an error rate up to a constant, without the logarithm of the number of rows.

    .. math:: R \le R_m + \sqrt{\frac{c}{m} \Bigl(h + \ln \frac1\delta\Bigr)}

    The minimizer of the empirical risk is within the same of the best classifier of the class, and
    for some distribution no method does better up to another constant.

    Parameters
    ----------
    empirical, n_samples, dimension, delta
        As in :func:`vc_bound`.
    constant : float
        c, which the theorem does not name: classes may be compared, numbers may not be quoted.

    Examples
    --------
    >>> small, large = (
    ...     vc_bound_to_a_constant(0.0, 10_000, h, constant=1.0).value for h in (10, 100)
    ... )
    >>> round(large / small, 2)
    2.82
    """
    _check(empirical, n_samples, delta)
    check_nonnegative(dimension=dimension)
    check_positive(constant=constant)
    value = empirical + float(np.sqrt(constant / n_samples * (dimension + np.log(1 / delta))))
    return _up_to(constant, value, "VC dimension, up to a constant")


def margin_bound(
    covering: Coverings,
    margin: float,
    n_samples: int,
    delta: float = 0.05,
    *,
    empirical: float = 0.0,
    majority: float = 1.0,
) -> Bound:
    r"""Bound an error rate by the share of rows that keep less than a margin, by covering numbers.

    .. math::
        \Pr\{\exists f:\ R_\rho(f) = 0,\ R(f) \ge \varepsilon\} &\le
            2\, N(\rho / 2)\, 2^{-\varepsilon m / 2} \\
        \Pr\{\exists f:\ R(f) \ge R_\rho(f) + \varepsilon\} &\le
            2\, N(\rho / 2)\, e^{-\varepsilon^2 m / 8}

    with covering numbers in the largest difference on 2m points. The first is taken where no row
    keeps less than the margin, and then each of the two has half of :math:`\delta`; so that
    whichever applies was not chosen after the rows were seen.

    Parameters
    ----------
    covering : Covering or callable
        Of the real-valued functions whose signs are the classifiers.
    margin : float
        :math:`\rho`, chosen before the rows are seen.
    n_samples : int
    delta : float, default=0.05
    empirical : float, default=0.0
        :func:`margin_errors`.
    majority : float, default=1.0
        What is known without theory.

    Examples
    --------
    >>> from mercer_research.covering import Interval
    >>> offsets = Interval(1.0)
    >>> round(margin_bound(offsets, 0.1, n_samples=1000).value, 5)
    0.02129
    >>> round(margin_bound(offsets, 0.1, n_samples=1000, empirical=0.02).value, 5)
    0.26294
    """
    _check(empirical, n_samples, delta)
    check_positive(margin=margin)

    def at_half_the_margin(n_points: int) -> FiniteClass:
        cover = covering(n_points) if callable(covering) else covering
        # Strictly inside: a value at exactly half the margin would count on both sides.
        radius = float(np.nextafter(margin / 2, 0.0))
        return FiniteClass(cover.log_covering(radius), cover.active(radius))

    name = "margins on the sample"
    if empirical == 0:
        rule = Inequality(name, factor=2.0, rate=2 / np.log(2.0), power=1.0, least=2.0)
    else:
        rule = Inequality(name, factor=2.0, rate=8.0, least=2.0)
    width = rule.width(at_half_the_margin, n_samples, delta / 2)
    cover = covering(2 * n_samples) if callable(covering) else covering
    return _plus(width, empirical, cover, majority)


def linear_margin_bound(
    empirical: float,
    n_samples: int,
    margin: float,
    delta: float = 0.05,
    *,
    constant: float,
    size: float = 1.0,
) -> Bound:
    r"""Bound the error rate of a linear classifier with :math:`\|w\| \le 1`, up to a constant.

    .. math:: R \le \frac cm \Bigl(\frac{R^2}{\rho^2} \ln^2 \frac m\rho + \ln \frac1\delta\Bigr)

    where no row keeps less than the margin, and :math:`R_\rho` plus the root of it otherwise; for
    all margins at once.

    Parameters
    ----------
    empirical : float
        :func:`margin_errors`.
    n_samples, margin, delta
        As in :func:`margin_bound`.
    constant : float
        c, which the theorem does not name: machines may be compared, numbers may not be quoted.
    size : float, default=1.0
        The largest norm of a point.

    Examples
    --------
    >>> wide, narrow = (linear_margin_bound(0, 10**6, r, constant=1.0).value for r in (0.2, 0.1))
    >>> round(narrow / wide, 2)
    4.37
    """
    _check(empirical, n_samples, delta)
    check_positive(margin=margin, size=size, constant=constant)
    _check_kept(empirical, margin, size)
    richness = (size / margin * np.log(n_samples / margin)) ** 2
    square = float(constant / n_samples * (richness + np.log(1 / delta)))
    value = square if empirical == 0 else empirical + np.sqrt(square)
    return _up_to(constant, float(value), "margins of linear classifiers, up to a constant")


def combination_margin_bound(
    empirical: float,
    n_samples: int,
    margin: float,
    dimension: float,
    delta: float = 0.05,
    *,
    constant: float,
) -> Bound:
    r"""Bound the error rate of a convex combination of classifiers, up to a constant.

    .. math:: R \le R_\rho + \sqrt{\frac cm
        \Bigl(\frac{h \ln^2(m / h)}{\rho^2} + \ln \frac1\delta\Bigr)}

    Parameters
    ----------
    empirical : float
        :func:`margin_errors` of the combination, whose coefficients are not negative and sum to 1.
    n_samples, margin, delta
        As in :func:`margin_bound`.
    dimension : float
        The VC dimension h of the classifiers that are combined; their number does not matter.
    constant : float
        c, which the theorem does not name: machines may be compared, numbers may not be quoted.

    Examples
    --------
    >>> bound = combination_margin_bound(0.1, 10**6, 0.5, dimension=3, constant=1.0)
    >>> round(bound.value, 4)
    0.1441
    """
    _check(empirical, n_samples, delta)
    check_positive(margin=margin, dimension=dimension, constant=constant)
    _check_kept(empirical, margin, 1.0)
    richness = dimension * (np.log(n_samples / dimension) / margin) ** 2
    value = empirical + np.sqrt(constant / n_samples * (richness + np.log(1 / delta)))
    return _up_to(constant, float(value), "margins of convex combinations, up to a constant")


def margin_distribution_bound(
    margins: ArrayLike,
    margin: float,
    delta: float = 0.05,
    *,
    size: float = 1.0,
    majority: float = 1.0,
) -> Bound:
    r"""Bound the error rate of a linear classifier by all its margins, after Shawe-Taylor.

    With :math:`d_i = \max(0, \rho - y_i \langle w, x_i \rangle)`, :math:`D^2 = \sum_i d_i^2`,
    :math:`\|w\| \le 1` and :math:`\|x\| \le R`,

    .. math:: R \le \frac2m \Bigl(\kappa \log_2 \frac{8 e m}{\kappa} \log_2(32 m)
        + \log_2 \frac{2 m (28 + \log_2 m)}{\delta}\Bigr), \qquad
        \kappa = \Bigl\lfloor \frac{65 ((R + D)^2 + 2.25 R D)}{\rho^2} \Bigr\rfloor,

    if some :math:`d_i = 0`, :math:`m \ge 6`, the bound is at least :math:`2 / m`, and
    :math:`\kappa \le e m`. Where one of these fails the bound says so: the formula may even turn
    negative there. Since :math:`\kappa \ge 65`, nothing is said below some 36,000 rows.

    Parameters
    ----------
    margins : array-like of shape (n_samples,)
        :math:`y_i \langle w, x_i \rangle`.
    margin : float
        :math:`\rho`.
    delta : float, default=0.05
    size : float, default=1.0
        R, a bound on the norms of all points, known beforehand.
    majority : float, default=1.0
        What is known without theory.

    Examples
    --------
    >>> print(margin_distribution_bound(np.ones(100_000), 1.0))
    at most 0.423, by all margins of a linear classifier, assuming that rows are drawn
    independently from one distribution
    """
    check_positive(margin=margin, size=size)
    rho, kept = float(margin), check_margins(margins, size)
    lacking = float(np.linalg.norm(np.maximum(0.0, rho - kept)))
    capacity = 65 * ((size + lacking) ** 2 + 2.25 * size * lacking) / rho**2
    name = "all margins of a linear classifier"
    return _by_capacity(capacity, len(kept), delta, bool(np.any(kept >= rho)), majority, name)


def adaptive_margin_bound(
    K: ArrayLike,
    y: ArrayLike,
    coef: ArrayLike,
    delta: float = 0.05,
    *,
    size: float | None = None,
    weak: bool = False,
    majority: float = 1.0,
) -> Bound:
    r"""Bound the error rate of a kernel classifier without offset by its margins around 1.

    As :func:`margin_distribution_bound` for :math:`f = \sum_i \alpha_i y_i k(x_i, \cdot)`, with
    :math:`W^2 = \|f\|^2`, :math:`D^2 = \sum_i \max(0, 1 - y_i f(x_i))^2` and

    .. math:: \kappa = \lfloor 65 ((W R + D)^2 + 2.25 W R D) \rfloor \le
        \lfloor 65 (W R + 3 D)^2 \rfloor.

    For an adaptive margin machine :math:`\max(0, 1 - y_i f(x_i)) \le
    \max(0, \xi_i - \lambda \alpha_i k(x_i, x_i))`, with equality at its optimum.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        The kernel matrix of the sample.
    y : array-like of shape (n_samples,)
        Labels -1 and 1.
    coef : array-like of shape (n_samples,)
        Signed coefficients :math:`\alpha_i y_i`.
    delta : float, default=0.05
    size : float, optional
        R, a bound on :math:`\sqrt{k(x, x)}` of all points, at least that of the sample. By default
        the largest of the sample, which makes the bound data-dependent.
    weak : bool, default=False
        Take the second, weaker and simpler expression.
    majority : float, default=1.0
        What is known without theory.

    Examples
    --------
    >>> bound = adaptive_margin_bound(np.eye(4), [1, 1, -1, -1], [1.0, 1.0, -1.0, -1.0], size=1.0)
    >>> bound.valid, bound.constants["capacity"].value
    (False, 260.0)
    """
    y, a = _pairs(y, coef, "coef")
    f, norm, longest = _on_sample(K, a)
    measured = size is None
    if size is None:
        size = longest
    check_positive(size=size)
    if not longest <= size * (1.0 + half_digits(K)):
        raise ValueError(
            f"size={size!r} must be at least the largest sqrt(k(x, x)) of the sample, "
            f"{longest:.6g}: the diagonal of K contradicts it"
        )
    lacking = float(np.linalg.norm(np.maximum(0.0, 1 - y * f)))
    reach = norm * size
    tight = (reach + lacking) ** 2 + 2.25 * reach * lacking
    capacity = 65 * ((reach + 3 * lacking) ** 2 if weak else tight)
    # The offset-free f / W is a unit vector with margin 1 / W.
    bound = _by_capacity(
        capacity, len(y), delta, bool(np.any(y * f >= 1 - 1e-9)), majority, "margins around 1"
    )
    return replace(bound, data_dependent=measured)


def _by_capacity(
    capacity: float, m: int, delta: float, reached: bool, majority: float, name: str
) -> Bound:
    """Return the common bound of the two margin distributions, with what it asks for checked."""
    _check(0.0, m, delta)
    kappa = float(np.floor(capacity))
    logs = np.log2(8 * np.e * m / kappa) * np.log2(32 * m)
    value = 2 / m * (kappa * logs + np.log2(2 * m * (28 + np.log2(m)) / delta))
    checks = {
        "some row keeps the margin": reached,
        "there are at least 6 rows": m >= 6,
        "the bound is at least 2 over the number of rows": value >= 2 / m,
        "the capacity is at most e times the number of rows": kappa <= np.e * m,
    }
    checked = tuple(
        Assumption(text, "checked" if holds else "violated") for text, holds in checks.items()
    )
    return Bound(
        float(value),
        name,
        trivial=majority,
        constants={"capacity": Constant(kappa, "65 times squared size and lacking margins")},
        assumptions=(INDEPENDENT, *checked),
    )


def _plus(width: Bound, empirical: float, cover: Covering, majority: float) -> Bound:
    return replace(
        width,
        value=empirical + width.value,
        trivial=majority,
        constants={
            **width.constants,
            "empirical": Constant(empirical, "share of rows that keep less than the margin"),
        },
        assumptions=(
            *width.assumptions,
            *cover.assumptions,
            Assumption("the margin was chosen before the rows were seen"),
        ),
        data_dependent=cover.data_dependent,
    )


def _up_to(constant: float, value: float, method: str) -> Bound:
    return Bound(
        value,
        method,
        trivial=1.0,
        constants={"constant": Constant(constant, UNNAMED)},
        assumptions=(INDEPENDENT, BEFOREHAND, Assumption("the constant is large enough")),
    )


def _pairs(y: ArrayLike, values: ArrayLike, name: str) -> tuple[Array, Array]:
    """Return labels -1 and 1 with one number each."""
    signs, numbers = check_signs(y), one_each(values, name)
    if len(signs) != len(numbers):
        raise ValueError(f"y has {len(signs)} rows and {name} has {len(numbers)}")
    return signs, numbers


def _on_sample(K: ArrayLike, a: Array) -> tuple[Array, float, float]:
    r"""Return the values, the norm and the largest :math:`\sqrt{k(x, x)}` of an expansion.

    A positive semidefinite matrix has :math:`f_i^2 \le K_{ii}\, a'Ka`; what exceeds the rounding of
    these sums proves that it is not one.
    """
    eps, K = half_digits(K) ** 2, np.asarray(K, dtype=float)
    if K.shape != (len(a), len(a)) or not np.isfinite(K).all():
        raise ValueError(f"K must be a finite ({len(a)}, {len(a)}) matrix, got shape {K.shape}")
    f, diagonal = K @ a, np.diagonal(K)
    rounding = 2 * len(a) * eps * (np.abs(K) @ np.abs(a))
    square = float(a @ f)
    most = max(square + float(np.abs(a) @ rounding), 0.0)
    if np.min(diagonal) < 0 or np.any(
        np.maximum(np.abs(f) - rounding, 0.0) ** 2 > diagonal * most * (1 + 4 * eps)
    ):
        raise ValueError(
            "K must be positive semidefinite, and these values of K and coef contradict Cauchy and "
            f"Schwarz: a'Ka = {square:.6g}, the least of the diagonal {np.min(diagonal):.6g}"
        )
    return f, float(np.sqrt(max(square, 0.0))), float(np.sqrt(np.max(diagonal)))


def _check_kept(empirical: float, margin: float, size: float) -> None:
    """Raise ValueError if rows keep a margin that no function of the class reaches."""
    if empirical < 1 and margin > size:
        raise ValueError(
            f"margin={margin!r} exceeds {size:g}, the largest value of these functions, so that no "
            f"row keeps it and empirical is 1, not {empirical!r}"
        )


def _check(empirical: float, n_samples: float, delta: float) -> None:
    """Raise ValueError for a share, a number of rows or a probability that cannot be."""
    if not 0 <= empirical <= 1:
        raise ValueError(f"empirical must be a share between 0 and 1, got {empirical!r}")
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, got {delta!r}")
    some_samples(n_samples)
