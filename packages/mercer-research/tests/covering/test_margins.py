"""Error rates from dimensions and margins: formulas, conditions, and where they begin to speak."""

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer_research import covering
from mercer_research.covering import (
    FiniteClass,
    Interval,
    adaptive_margin_bound,
    binary_classes,
    combination_margin_bound,
    linear_margin_bound,
    log_growth,
    margin_bound,
    margin_distribution_bound,
    margin_errors,
    vc_bound,
    vc_bound_to_a_constant,
)
from mercer_research.covering import margins as margins_module


def test_the_formula_of_vapnik():
    m, h, delta = 5000, 7, 0.02
    width = np.sqrt((h * (np.log(2 * m / h) + 1) - np.log(delta / 4)) / m)
    bound = vc_bound(0.1, m, h, delta)
    assert bound.value == pytest.approx(0.1 + width, rel=1e-12)
    assert not bound.vacuous
    assert vc_bound(0.1, m, h, delta, majority=0.2).vacuous
    # As printed in one text the 1 was inside the logarithm, which is smaller than what is proved.
    assert np.sqrt((h * np.log(2 * m / h + 1) - np.log(delta / 4)) / m) < width


def test_what_is_lost_without_replacement_is_less_than_what_the_growth_function_gives_away():
    # 4 Pi(2m) exp(-e^2 m^2 / (m + 1)) is proved; the formula has exp(-e^2 m) and (2em/h)^h.
    # For deviations below 1 the first is smaller, for all numbers of rows and dimensions.
    for m in (*range(1, 60), 100, 1000, 10**6):
        for h in {1, 2, 3, 5, 10, m, 2 * m}:
            if h <= 2 * m:
                given_away = log_growth(2 * m, h, "exponential") - log_growth(2 * m, h)
                if h == 2 * m:
                    given_away = h * (1 + np.log(2 * m / h)) - 2 * m * np.log(2)
                assert m / (m + 1) <= given_away


def test_it_is_sharper_than_the_classical_constants():
    for m in (1000, 10**5):
        classical = binary_classes().width(lambda n: FiniteClass(log_growth(n, 10)), m).value
        assert vc_bound(0.0, m, 10).value < classical


def test_bounds_rise_and_fall_as_they_should():
    rows = [vc_bound(0.0, m, 10).value for m in (10**3, 10**4, 10**5)]
    richness = [vc_bound(0.0, 10**4, h).value for h in (1, 10, 100)]
    sure = [vc_bound(0.0, 10**4, 10, delta).value for delta in (0.2, 0.05, 1e-6)]
    assert np.all(np.diff(rows) < 0)
    assert np.all(np.diff(richness) > 0)
    assert np.all(np.diff(sure) > 0)


def test_constants_that_nobody_named_must_be_told():
    m, h, c, delta = 1000, 4, 3.0, 0.1
    bound = vc_bound_to_a_constant(0.05, m, h, delta, constant=c)
    assert bound.value == pytest.approx(0.05 + np.sqrt(c / m * (h + np.log(10))))
    assert "names none" in bound.constants["constant"].origin
    square = c / m * ((2 / 0.5) ** 2 * np.log(m / 0.5) ** 2 + np.log(10))
    none = linear_margin_bound(0.0, m, 0.5, delta, constant=c, size=2.0)
    assert none.value == pytest.approx(square)
    some = linear_margin_bound(0.1, m, 0.5, delta, constant=c, size=2.0)
    assert some.value == pytest.approx(0.1 + np.sqrt(square))
    assert some.vacuous
    combined = combination_margin_bound(0.1, m, 0.5, h, delta, constant=c)
    inside = h * np.log(m / h) ** 2 / 0.25 + np.log(10)
    assert combined.value == pytest.approx(0.1 + np.sqrt(c / m * inside))
    for call in (
        lambda: vc_bound_to_a_constant(0.05, m, h),
        lambda: linear_margin_bound(0.0, m, 0.5),
        lambda: combination_margin_bound(0.1, m, 0.5, h),
    ):
        with pytest.raises(TypeError, match="constant"):
            call()
    with pytest.raises(ValueError, match="positive"):
        vc_bound_to_a_constant(0.05, m, h, constant=0.0)


def test_margins_by_covering_numbers():
    m, rho, delta = 2000, 0.3, 0.05
    count = np.ceil(1 / (rho / 2))
    zero = margin_bound(Interval(1.0), rho, m, delta)
    # Both inequalities have half of delta, because which applies is seen on the sample.
    assert 2 * count * 2 ** (-zero.value * m / 2) == pytest.approx(delta / 2)
    some = margin_bound(Interval(1.0), rho, m, delta, empirical=0.1)
    assert 2 * count * np.exp(-((some.value - 0.1) ** 2) * m / 8) == pytest.approx(delta / 2)
    wide = margin_bound(Interval(1.0), 2 * rho, m, delta)
    assert wide.value < zero.value
    with pytest.raises(ValueError, match="margin"):
        margin_bound(Interval(1.0), 0.0, m)


def test_a_value_at_half_the_margin_counts_on_one_side_only():
    # At radius 1/4 four balls cover [-1, 1], at anything less five do.
    at = margin_bound(Interval(1.0), 0.5, 1000).log_covering
    assert at == pytest.approx(np.log(np.ceil(1 / 0.25)))

    class Sharp(Interval):
        def _log_covering(self, radius):
            return float(np.log(np.ceil(self.largest / radius)))

    assert margin_bound(Sharp(1.0), 0.5, 1000).log_covering == pytest.approx(np.log(5))


def test_margin_errors_are_counted_below_the_margin():
    y = np.array([1, 1, -1, -1])
    f = np.array([0.5, 0.2, -0.5, 0.1])
    assert margin_errors(y, f, 0.5) == 0.5
    shares = [margin_errors(y, f, rho) for rho in (0.0, 0.1, 0.3, 1.0)]
    assert np.all(np.diff(shares) >= 0)


def by_hand(kappa, m, delta):
    logs = np.log2(8 * np.e * m / kappa) * np.log2(32 * m)
    return 2 / m * (kappa * logs + np.log2(2 * m * (28 + np.log2(m)) / delta))


def test_all_margins():
    margins = np.array([1.0] * 99_997 + [0.5, 0.2, -0.1])
    rho, size = 0.6, 1.5
    lacking = np.sqrt(0.1**2 + 0.4**2 + 0.7**2)
    kappa = np.floor(65 * ((size + lacking) ** 2 + 2.25 * size * lacking) / rho**2)
    bound = margin_distribution_bound(margins, rho, size=size)
    assert bound.constants["capacity"].value == kappa
    assert bound.value == pytest.approx(by_hand(kappa, 100_000, 0.05), rel=1e-12)
    assert bound.valid


def first(limit):
    """Return the least number of rows at which the best case is below a limit."""
    low, high = 1000, 10**6
    while high - low > 1:
        middle = (low + high) // 2
        value = margin_distribution_bound(np.ones(middle), 1.0).value
        low, high = (low, middle) if value < limit else (middle, high)
    return high


def test_where_all_margins_begin_to_speak():
    assert first(1.0) == pytest.approx(3.6e4, rel=0.02)  # two digits
    assert first(0.5) == pytest.approx(8.2e4, rel=0.01)
    assert margin_distribution_bound(np.ones(10_000), 1.0).vacuous


def test_conditions_are_checked_before_a_number_is_quoted():
    # Far too few rows: the formula is negative, and must not be taken for a certainty.
    bound = margin_distribution_bound(np.r_[np.ones(9), -30.0], 1.0, size=30.0)
    assert bound.value < 0
    assert not bound.valid
    assert "may not be quoted" in str(bound)
    assert not margin_distribution_bound(np.full(10**5, 0.5), 1.0).valid  # no row keeps it
    assert not margin_distribution_bound(np.ones(5), 1.0).valid
    with pytest.raises(ValueError, match="margin"):
        margin_distribution_bound(np.ones(5), 0.0)


def test_kernel_machines_are_linear_classifiers_of_unit_norm():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    K = Gaussian(1.0)(X)
    coef = y * rng.uniform(0, 1, 40)
    f = K @ coef
    norm = np.sqrt(coef @ f)
    kernel = adaptive_margin_bound(K, y, coef, size=1.0)
    linear = margin_distribution_bound(y * f / norm, 1 / norm, size=1.0)
    assert kernel.constants["capacity"].value == linear.constants["capacity"].value
    assert kernel.value == linear.value
    # The simpler expression is weaker; 2.125 instead of its 3 would do.
    lacking = np.linalg.norm(np.maximum(0, 1 - y * f))
    weak = adaptive_margin_bound(K, y, coef, size=1.0, weak=True).constants["capacity"].value
    assert weak == np.floor(65 * (norm + 3 * lacking) ** 2)
    between = np.floor(65 * (norm + 2.125 * lacking) ** 2)
    assert kernel.constants["capacity"].value <= between <= weak
    assert adaptive_margin_bound(K, y, coef).data_dependent
    assert not kernel.data_dependent


def test_slacks_of_adaptive_margins_bound_what_is_lacking():
    # Any feasible slacks: y f >= 1 - slack + weight, so that max(0, 1 - y f) <= slack - weight.
    rng = np.random.default_rng(1)
    K = Gaussian(1.0)(rng.standard_normal((20, 2)))
    y, alpha, lam = rng.choice([-1.0, 1.0], 20), rng.uniform(0, 1, 20), 0.7
    f = K @ (alpha * y)
    slack = np.maximum(0.0, 1 + lam * alpha * np.diag(K) - y * f)
    lacking = np.maximum(0, 1 - y * f)
    assert np.all(lacking <= np.maximum(0, slack - lam * alpha * np.diag(K)) + 1e-12)
    assert lacking == pytest.approx(np.maximum(0, slack - lam * alpha * np.diag(K)))


@pytest.mark.parametrize("empirical", [-0.1, 1.1])
def test_shares_are_shares(empirical):
    with pytest.raises(ValueError, match="share"):
        vc_bound(empirical, 10, 1)


def test_a_bound_too_small_for_its_theorem_says_so():
    # Capacities where the formula gives between -2/m and 2/m lie beside its zero; some m has one.
    seen = 0
    for m in range(6, 3000):
        L = np.log2(2 * m * (28 + np.log2(m)) / 0.05)
        for kappa in range(int(8 * np.e * m), int(8 * np.e * m) + 4):
            half = kappa * np.log2(8 * np.e * m / kappa) * np.log2(32 * m) + L
            if -0.9 < half < 0.9 and seen < 3:
                seen += 1
                bound = margins_module._by_capacity(kappa + 0.5, m, 0.05, True, 0.5, "small")
                assert bound.value == pytest.approx(2 / m * half, abs=1e-9 / m)
                status = {a.text: a.status for a in bound.assumptions}
                assert status["the bound is at least 2 over the number of rows"] == "violated"
    assert seen == 3


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: covering.margin_errors([], [], 0.5), "must hold one number"),
        (lambda: covering.margin_distribution_bound([], 0.5), "margins must hold one number"),
        (lambda: covering.adaptive_margin_bound(np.eye(0), [], []), "y must hold one number"),
        (lambda: covering.one_function([]), "one variable or more"),
        (lambda: covering.vc_bound(0.1, 0, 3), "at least one row"),
    ],
)
def test_bounds_of_no_rows_are_refused_in_words(call, words):
    with pytest.raises(ValueError, match=words):
        call()
