"""Held-out bounds: identities with SciPy and closed forms, draws of known risk, refusals."""

import math
from decimal import Decimal

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq
from sklearn.model_selection import cross_val_score

from mercer import SVC, SVR
from mercer.risk_bounds import (
    Assumption,
    Bound,
    binomial_upper,
    cross_validated_estimate,
    error_bound,
    held_out_bound,
    kl_upper,
    majority_error,
    mean_bound,
    risk_controlled_threshold,
    split_kl,
)

DRAWS, DELTA = 1000, 0.05
ALLOWED = DRAWS * DELTA
NAN, INF = np.nan, np.inf
FALSE = Assumption("the norm was fixed before", "violated")
CUTOFFS = np.linspace(-2.8, 0.2, 31)
RISK = stats.norm.cdf(CUTOFFS)  # a standard normal score lies below the cutoff


@pytest.mark.parametrize("m", [60, 300])
def test_the_risk_of_errors_is_controlled_and_not_wasted(m):
    scores = np.random.default_rng(0).normal(size=(DRAWS, m))
    chosen = [
        risk_controlled_threshold(row[:, None] < CUTOFFS, CUTOFFS, target=0.3).index
        for row in scores
    ]
    too_large = np.mean(RISK[chosen] > 0.3)
    assert too_large <= DELTA
    # As each cutoff alone, it uses what it is granted.
    assert too_large > 0.2 * DELTA


def test_the_risk_of_numbers_is_controlled_where_it_does_not_fall_along_the_thresholds():
    # Mean losses go up, down and up again: only an unbroken walk from the safe end may count.
    risks = np.array([0.05, 0.08, 0.35, 0.1, 0.2, 0.5])
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(DRAWS):
        losses = rng.beta(4.0 * risks, 4.0 * (1.0 - risks), size=(150, len(risks)))
        chosen = risk_controlled_threshold(losses, np.arange(6.0), target=0.3)
        wrong += risks[chosen.index] > 0.3
        assert chosen.index >= 1
        assert chosen.bound == mean_bound(losses[:, chosen.index])
    assert wrong <= DELTA * DRAWS


def test_it_is_the_last_one_of_an_unbroken_walk():
    rng = np.random.default_rng(2)
    wrong = rng.random((80, 5)) < [0.01, 0.02, 0.9, 0.02, 0.9]
    found = risk_controlled_threshold(wrong, [1.0, 2.0, 3.0, 4.0, 5.0], target=0.2)
    bounds = [error_bound(int(column.sum()), 80).value for column in wrong.T]
    assert bounds[3] < 0.2 < bounds[2]
    assert (found.value, found.index, found.bound.value) == (2.0, 1, bounds[1])


@pytest.mark.parametrize(
    ("losses", "options", "said"),
    [
        (np.ones((5, 2), bool), {"target": 0.1}, "safest threshold, 0, is not shown"),
        (np.zeros((5, 2), bool), {"target": 0.1}, "give more than 5 rows"),
        (np.full((500, 2), 3.0), {"target": 0.5}, "every loss lies between 0 and 1"),
        (np.zeros((5, 3), bool), {"target": 0.1}, "a column for each threshold"),
        (np.zeros((5, 2), bool), {"target": 1.5}, "between 0 and 1, not 1.5"),
    ],
)
def test_it_says_why_not(losses, options, said):
    with pytest.raises(ValueError, match=said):
        risk_controlled_threshold(losses, [0.0, 1.0], **options)


def two_classes(m, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 2))
    return X, np.where(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=m) > 1, 1, -1)


def test_the_error_bound_is_beta_and_choices_divide_delta():
    bound = error_bound(4, 100, delta=0.05, choices=10, trivial=0.3)
    assert bound.value == pytest.approx(stats.beta.isf(0.005, 5, 96))
    assert bound.valid
    assert not bound.vacuous
    assert error_bound(40, 100, trivial=0.3).vacuous
    with pytest.raises(ValueError, match="delta"):
        error_bound(4, 100, delta=1.0)
    with pytest.raises(ValueError, match="choices"):
        error_bound(4, 100, choices=0)


def test_bounds_of_means():
    losses = np.random.default_rng(0).uniform(0, 0.4, size=200)
    m, q, v = 200, losses.mean(), losses.var(ddof=1)
    bernstein = q + math.sqrt(2 * v * math.log(40) / m) + 7 * 2 * math.log(40) / (3 * 199)
    assert mean_bound(losses, largest=2.0, method="bernstein").value == pytest.approx(bernstein)
    hoeffding = q + 2.0 * math.sqrt(math.log(20) / (2 * m))
    assert q < mean_bound(losses, largest=2.0, method="kl").value < hoeffding
    half = {"largest": 2.0, "delta": 0.025}
    both = [mean_bound(losses, **half, method=name).value for name in ("kl", "bernstein")]
    assert mean_bound(losses, largest=2.0).value == pytest.approx(min(both))
    wide = mean_bound(losses, method="sub-gaussian", scale=0.3, delta=0.1)
    assert wide.value == pytest.approx(q + 0.3 * math.sqrt(2 * math.log(10) / m))
    assert not mean_bound(losses, largest=0.3).valid
    with pytest.raises(ValueError, match="scale"):
        mean_bound(losses, method="sub-gaussian")
    with pytest.raises(ValueError, match="not known"):
        mean_bound(losses, method="hoeffding")


def test_held_out_rows_of_a_classifier_and_a_regressor():
    X, y = two_classes(300)
    machine = SVC().fit(X[:100], y[:100])
    wrong = int(np.sum(machine.predict(X[100:]) != y[100:]))
    bound = held_out_bound(machine, X[100:], y[100:])
    assert bound.value == pytest.approx(stats.beta.isf(0.05, wrong + 1, 200 - wrong))
    assert bound.trivial == majority_error(y[100:])
    regressor = SVR().fit(X[:100], X[:100, 0])
    errors = np.minimum(np.abs(regressor.predict(X[100:]) - X[100:, 0]), 1.5)
    found = held_out_bound(regressor, X[100:], X[100:, 0], largest=1.5)
    assert found.value == pytest.approx(mean_bound(errors, largest=1.5).value)
    with pytest.raises(ValueError, match="ConformalRegressor"):
        held_out_bound(regressor, X[100:], X[100:, 0])


def test_cross_validation_is_an_estimate_and_may_not_be_quoted_as_a_bound():
    X, y = two_classes(120)
    estimate = cross_validated_estimate(SVC(), X, y, cv=4)
    assert estimate.value == pytest.approx(1 - cross_val_score(SVC(), X, y, cv=4).mean())
    assert not estimate.valid
    assert "may not be quoted" in str(estimate)


def test_a_budget_without_end_bounds_by_one():
    assert kl_upper(0.3, np.inf) == 1.0


@pytest.mark.parametrize("errors", [0, 1, 7, 50, 99])
@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-6])
def test_the_binomial_tail_is_the_interval_of_clopper_and_pearson(errors, delta):
    found = binomial_upper(errors, 100, math.log(delta))
    assert found == pytest.approx(stats.beta.isf(delta, errors + 1, 100 - errors), rel=1e-9)
    interval = stats.binomtest(errors, 100, alternative="less").proportion_ci(1 - delta)
    assert found == pytest.approx(interval.high, rel=1e-6)


def test_tails_that_underflow():
    """Without errors (1 - p)^m = delta has a solution at any size of delta."""
    assert binomial_upper(0, 5000, -3000.0) == pytest.approx(-math.expm1(-3000 / 5000))
    # One error, in decimals whose exponents do not underflow: the tail at the bound is delta.
    p = Decimal(binomial_upper(1, 400, -1500.0))
    tail = (1 - p) ** 400 + 400 * p * (1 - p) ** 399
    assert float(tail.ln()) == pytest.approx(-1500.0, rel=1e-9)
    assert binomial_upper(100, 100, -5.0) == 1.0
    with pytest.raises(ValueError, match="between 0 and"):
        binomial_upper(3, 2, -1.0)


def by_brackets(mean, budget):
    def excess(p):
        return float(split_kl(mean, p)) - budget

    almost = 1 - 1e-16
    return brentq(excess, max(mean, 1e-300), almost) if excess(almost) > 0 else 1.0


def test_the_kl_bound_solves_its_equation():
    q, c = np.array([0.0, 0.01, 0.3, 0.99, 1.0]), 0.05
    p = kl_upper(q, c)
    assert np.all(p >= q)
    assert split_kl(q[:-1], p[:-1]) == pytest.approx(c, rel=1e-6)
    assert p[0] == pytest.approx(-math.expm1(-c))
    assert p[-1] == 1.0
    # Means and budgets of many sizes, against a bracketing root finder.
    for mean in (0.0, 1e-8, 1e-3, 0.2, 0.5, 0.97):
        for budget in (1e-9, 1e-4, 0.01, 0.3, 2.0, 20.0):
            assert kl_upper(mean, budget) == pytest.approx(by_brackets(mean, budget), rel=1e-7)
    # Pinsker: never above q + sqrt(c / 2); exactly as far for small deviations around 1/2.
    assert np.all(p <= q + math.sqrt(c / 2))
    assert kl_upper(0.5, 1e-8) == pytest.approx(0.5 + math.sqrt(1e-8 / 2), abs=1e-8)


def test_the_chernoff_tail_is_above_the_exact_one():
    for k in (0, 3, 20):
        exact = binomial_upper(k, 60, math.log(0.05))
        chernoff = float(kl_upper(k / 60, math.log(20) / 60))
        assert chernoff == pytest.approx(exact) if k == 0 else chernoff > exact


@pytest.mark.parametrize("m", [1, 30, 100])
def test_the_binomial_tail_holds_exactly(m):
    """No simulation: the probability of failure is a sum over counts, for many risks."""
    bounds = np.array([error_bound(k, m).value for k in range(m + 1)])
    failures = [
        stats.binom.pmf(np.flatnonzero(bounds < p), m, p).sum() for p in np.linspace(0, 1, 201)
    ]
    assert max(failures) <= DELTA
    # Nothing is given away: some risk fails nearly as often as it may.
    assert max(failures) > 0.8 * DELTA


@pytest.mark.parametrize("method", ["best", "kl", "bernstein", "sub-gaussian"])
def test_bounds_of_means_hold(method):
    rng = np.random.default_rng(0)
    rare = 2.0 * (rng.random((DRAWS // 2, 40)) < 0.15)
    smooth = 2.0 * rng.beta(1.0, 6.0, size=(DRAWS // 2, 40))
    # Variables in [0, 2] are sub-Gaussian with scale 1.
    options = {"scale": 1.0} if method == "sub-gaussian" else {"largest": 2.0}
    failures = {
        name: sum(mean_bound(row, method=method, **options).value < risk for row in sample)
        for name, sample, risk in (("rare", rare, 0.3), ("smooth", smooth, 2.0 / 7.0))
    }
    assert sum(failures.values()) <= ALLOWED
    # Means themselves are too small every second time: the draws can tell a bound from none.
    assert np.mean(smooth.mean(axis=1) < 2.0 / 7.0) > 0.4


@pytest.mark.parametrize("value", [NAN, -0.778, -26558.0, INF, 1.0, 1.5])
def test_what_may_not_be_quoted_is_vacuous(value):
    bound = Bound(value, "a formula", trivial=1.0)
    assert bound.vacuous
    assert not str(bound).startswith("at most")


def test_a_bound_without_its_conditions_is_vacuous():
    assert not Bound(0.1, "a formula", trivial=1.0).vacuous
    assert Bound(0.1, "a formula", trivial=1.0, assumptions=(FALSE,)).vacuous
    assert not Bound(0.0, "a count").vacuous


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: error_bound(0, 0), "at least one row"),
        (lambda: error_bound(0.5, 10), "a count between 0 and"),
        (lambda: error_bound(float("nan"), 10), "a count between 0 and"),
        (lambda: error_bound(3, 2), "a count between 0 and"),
        (lambda: mean_bound([]), "losses must hold one number for each of at least one row"),
        (lambda: mean_bound([0.1, np.nan]), "losses holds NaN in 1 of 2 rows"),
        (lambda: mean_bound([0.1], largest=0.0), "largest must be positive and finite"),
        (lambda: mean_bound([0.1], method="sub-gaussian", scale=-1.0), "scale must be positive"),
        (lambda: majority_error([]), "label of at least one row"),
        (lambda: binomial_upper(0, 0, -3.0), "at least one row"),
        (lambda: kl_upper(1.5, 0.1), "mean must lie between 0 and 1"),
    ],
)
def test_bounds_of_no_rows_are_refused_in_words(call, words):
    with pytest.raises(ValueError, match=words):
        call()


X20, Y20 = np.linspace(0, 1, 20)[:, None], np.linspace(0, 1, 20)

# What is refused, by a call and the name of the argument that the message begins with.
REFUSED = {
    "largest": (lambda v: mean_bound([0.1], largest=v), (-1.0, 0.0, NAN, INF)),
    "scale": (lambda v: mean_bound([0.1], method="sub-gaussian", scale=v), (-1.0, 0.0, NAN, INF)),
    "thresholds": (
        lambda v: risk_controlled_threshold(np.zeros((100, 1)), [v], target=0.1),
        (NAN,),
    ),
    "largest ": (lambda v: cross_validated_estimate(SVR(), X20, Y20, largest=v), (-1.0, NAN)),
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, (_, many) in REFUSED.items() for value in many]
)
def test_impossible_arguments(name, value):
    with pytest.raises(ValueError, match=rf"^{name.strip()}\b"):
        REFUSED[name][0](value)
