"""Bounds from the rows of the fit: identities with independent computations, and refusals."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.optimize import minimize_scalar
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, SVR
from mercer.inspect.gram import effective_dimension
from mercer.kernels import Gaussian, Linear
from mercer.regularizers import Empty
from mercer.risk_bounds import log_choose
from mercer_research.diagnostics import removal
from mercer_research.diagnostics.removal import removal_change, stability_bound
from mercer_research.risk_bounds import (
    compression_bound,
    pac_bayes,
    rademacher,
    randomized_machine_bound,
)
from mercer_research.risk_bounds.concentration import log_kl_moment
from mercer_research.risk_bounds.pac_bayes import PRIOR_SCALES, _clipped, pac_bayes_bound
from mercer_research.risk_bounds.rademacher import (
    local_complexity,
    rademacher_bound,
    rademacher_margin_bound,
)
from mercer_research.risk_bounds.sample_compression import log_subsets, refit_to_support
from mercer_research.risk_bounds.weight_vector import Weights, weights_of


def two_classes(m, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 2))
    return X, np.where(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=m) > 1, 1, -1)


# Compression --------------------------------------------------------------------------------------


def test_support_vectors_reproduce_the_machine():
    X, y = two_classes(200)
    machine = SVC(kernel=Gaussian(1.0), C=10.0, tol=1e-6).fit(X, y)
    few = refit_to_support(machine, X, y)
    assert np.array_equal(few.kept, np.sort(machine.support_))
    assert few.agreement == 1.0
    assert few.machine.decision_function(X) == pytest.approx(machine.decision_function(X), abs=1e-3)
    d, k = len(few.kept), int(few.losses.sum())
    log_delta = math.log(0.05 / 3) - math.log(math.comb(200, d)) - math.log((d + 1) * (d + 2))
    tail = stats.beta.isf(math.exp(log_delta), k + 1, 200 - d - k)
    assert compression_bound(machine, X, y, choices=3).value == pytest.approx(tail, rel=1e-6)


@pytest.mark.parametrize("given", [[-1], [60], [0, 60], [-1, 0], [0.0], ["a"]])
def test_rows_that_are_given_are_rows(given):
    X, y = two_classes(60)
    with pytest.raises(ValueError, match="given must hold numbers of rows, from 0 to 59"):
        refit_to_support(SVR().fit(X, y), X, y, given=given)


def test_rows_that_are_given_are_neither_paid_for_nor_tested():
    X, y = two_classes(200)
    machine = SVC(kernel=Gaussian(1.0)).fit(X, y)
    few = refit_to_support(machine, X, y, given=range(50))
    assert np.all(few.kept >= 50)
    assert len(few.losses) == 150 - len(few.kept)
    assert len(few.machine.support_) <= 50 + len(few.kept)


def test_a_scaler_is_refitted_to_the_support_vectors():
    """A pipeline is a machine like any other: its refit knows the rows kept and no others."""
    X, y = two_classes(200)
    pipe = make_pipeline(StandardScaler(), SVC()).fit(X * [1.0, 100.0], y)
    few = refit_to_support(pipe, X * [1.0, 100.0], y)
    kept = X[few.kept] * [1.0, 100.0]
    assert few.machine[0].mean_ == pytest.approx(kept.mean(axis=0))
    values = few.machine.decision_function(X), pipe.decision_function(X)
    assert np.max(np.abs(values[0] - values[1])) > 0.01


def test_compressed_regressors_and_machines_that_cannot_be():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(300, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=300)
    machine = SVR(kernel=Gaussian(1.0), C=10.0, epsilon=0.25, tol=1e-6).fit(X, y)
    bound = compression_bound(machine, X, y, largest=1.0)
    assert bound.constants["agreement"].value == 1.0
    assert not bound.vacuous
    with pytest.raises(ValueError, match="support_"):
        refit_to_support(KNeighborsClassifier().fit(X, y > 0), X, y > 0)


# Weights and PAC-Bayes ----------------------------------------------------------------------------


def test_weights_of_a_linear_machine_are_its_coefficients():
    X, y = two_classes(60)
    machine = SVC(kernel=Linear()).fit(X, y)
    w = machine.dual_coef_[0] @ machine.support_vectors_
    ours = weights_of(machine, constant=0.5)
    whole = np.append(w, machine.intercept_[0] / 0.5)
    assert ours.norm == pytest.approx(np.linalg.norm(whole))
    points = np.column_stack([X, np.full(60, 0.5)])
    expected = y * (points @ whole) / np.linalg.norm(whole) / np.linalg.norm(points, axis=1)
    assert ours.margins(X, y) == pytest.approx(expected)
    other = Weights(Linear(), np.array([[1.0, 2.0]]), np.array([3.0]), 1.0, 0.5)
    theirs = np.array([3.0, 6.0, 2.0])
    cosine = whole @ theirs / np.linalg.norm(whole) / np.linalg.norm(theirs)
    assert ours.cosine(other) == pytest.approx(cosine)
    assert np.all(Weights(Linear(), X, np.zeros(60)).margins(X, y) == 0.0)
    with pytest.raises(ValueError, match="functions"):
        weights_of(SVC().fit(X, np.arange(60) % 3))


def test_the_divergence_is_that_of_two_gaussians():
    """The error of a randomized linear machine by sampling, the divergence in closed form."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    u, u0 = np.array([1.0, 0.0, 0.0]), np.array([0.6, 0.8, 0.0])
    y = np.sign(X @ [1.0, 0.3, 0.0])
    t = y * (X @ u) / np.linalg.norm(X, axis=1)
    bound = randomized_machine_bound(t, cosine=float(u @ u0))
    told = {name: constant.value for name, constant in bound.constants.items()}
    mu, eta = told["posterior scale"], told["prior scale"]
    assert eta in PRIOR_SCALES
    assert told["divergence"] == pytest.approx(0.5 * np.sum((mu * u - eta * u0) ** 2))
    drawn = mu * u + rng.normal(size=(20_000, 3))
    errors = np.mean(np.sign(drawn @ X.T) != y, axis=1)
    # Four standard errors of the mean over the draws.
    assert told["randomized error"] == pytest.approx(errors.mean(), abs=4 * errors.std() / 141)
    value = pac_bayes_bound(told["randomized error"], told["divergence"], 40, choices=10)
    assert told["randomized bound"] == pytest.approx(float(value))
    assert bound.value == min(1.0, 2 * told["randomized bound"])


def test_the_scale_of_the_posterior_is_the_best_one():
    t = np.random.default_rng(0).uniform(-0.1, 0.6, size=500)
    found = randomized_machine_bound(t, randomized=True)

    def value(log_mu):
        mu = math.exp(log_mu)
        gibbs = stats.norm.sf(mu * t).mean()
        return float(pac_bayes_bound(gibbs, 0.5 * mu**2, 500))

    best = minimize_scalar(value, bounds=(-1, 5), method="bounded")
    # Neighbours on the second grid are 4 % apart: the value is flat to second order.
    assert best.fun <= found.value <= best.fun * 1.001
    nearby = randomized_machine_bound(t, cosine=1.0, randomized=True)
    assert nearby.value < found.value


@pytest.mark.parametrize("mean", [-3.0, 0.0, 0.7, 2.0])
def test_the_mean_of_a_clipped_error(mean):
    def integrand(z):
        return min(abs(mean + 0.8 * z), 1.5) * stats.norm.pdf(z)

    kinks = sorted((level - mean) / 0.8 for level in (-1.5, 0.0, 1.5))
    value = integrate.quad(integrand, -12, 12, points=kinks, limit=200)[0]
    found = _clipped(np.array([mean]), np.array([0.8]), 1.5)
    assert found == pytest.approx(value, abs=1e-7)


# Rademacher averages ------------------------------------------------------------------------------


def test_rademacher_terms():
    losses = np.full(400, 0.1)
    known = rademacher_bound(losses, norm=3.0, size=0.5, lipschitz=2.0, largest=4.0)
    assert known.value == pytest.approx(
        0.1 + 2 * 2.0 * 3.0 * 0.5 / 20 + 4.0 * math.sqrt(math.log(20) / 800)
    )
    traced = rademacher_bound(losses, norm=3.0, trace=100.0, lipschitz=2.0, largest=4.0)
    assert traced.value == pytest.approx(
        0.1 + 2 * 2.0 * 3.0 * 10.0 / 400 + 3 * 4.0 * math.sqrt(math.log(40) / 800)
    )
    with pytest.raises(ValueError, match="give size"):
        rademacher_bound(losses, norm=3.0)
    with pytest.raises(ValueError, match="give size"):
        rademacher_margin_bound(losses, size=1.0, trace=1.0)


def test_a_margin_is_paid_for():
    u = np.full(4000, 0.5)
    bound = rademacher_margin_bound(u, size=1.0)
    j = 2  # the margin 2^(-2/2) = 0.5, at which no row has a loss
    assert bound.constants["margin"].value == pytest.approx(0.5)
    expected = 2 / (0.5 * math.sqrt(4000)) + math.sqrt(math.log((j + 1) * (j + 2) / 0.05) / 8000)
    assert bound.value == pytest.approx(expected)
    assert rademacher_margin_bound(3.0 * u, size=3.0).value == pytest.approx(bound.value)
    # A trace of m is that of points of length 1; it pays for being measured.
    assert rademacher_margin_bound(u, trace=4000.0).value > bound.value
    assert "says nothing" in str(rademacher_margin_bound(u[:50] / 10, size=1.0, trivial=0.4))


def test_local_complexity_is_above_the_supremum():
    """The supremum over the two ellipsoids by duality: the least over convex combinations."""
    rng = np.random.default_rng(0)
    m = 60
    X = rng.normal(size=(m, 2))
    K = Gaussian(1.0)(X)
    values, vectors = np.linalg.eigh(K)
    lam = np.clip(values, 1e-14, None) / m
    for r in (1e-3, 0.03, 0.3, np.inf):

        def supremum(sigma, r=r):
            g = (vectors.T @ sigma) ** 2 / m**2

            def dual(s):
                return float(np.sqrt(np.sum(g / (s / (m * lam) + (1 - s) / (m * r)))))

            if r == np.inf:
                return dual(1.0)
            return minimize_scalar(dual, bounds=(0, 1), method="bounded").fun

        average = np.mean([supremum(rng.choice([-1.0, 1.0], size=m)) for _ in range(100)])
        bound = local_complexity(lam, m, radius=r)
        # sqrt(2) for the intersection of the ellipsoids, Jensen for the root.
        assert average <= bound.value <= 2.0 * average
    # With one number r for radius and penalty, twice the smooth effective dimension is above.
    r = 0.03
    smooth = effective_dimension(K, penalty=m * r)
    assert local_complexity(lam, m, radius=r).value <= math.sqrt(2 / m * r * 2 * smooth)


# Stability ----------------------------------------------------------------------------------------


def test_no_row_changes_a_loss_by_more():
    rng = np.random.default_rng(0)
    X, C = rng.uniform(-1, 1, size=(30, 2)), 0.3
    y = np.sin(3 * X[:, 0]) + rng.normal(size=30)
    everywhere = rng.uniform(-1, 1, size=(500, 2))
    options = {"kernel": Gaussian(1.0), "C": C, "epsilon": 0.0, "tol": 1e-8}
    machine = SVR(null_space=Empty(), **options).fit(X, y)
    change = removal_change(C).value
    largest = 0.0
    for i in range(30):
        rows = np.arange(30) != i
        other = SVR(null_space=Empty(), **options).fit(X[rows], y[rows])
        moved = np.abs(machine.predict(everywhere) - other.predict(everywhere))
        largest = max(largest, float(moved.max()))
    # A far point with a loss moves the function by C at itself: the bound is attained nearly.
    assert 0.3 * change < largest <= change


def test_statements_of_stability():
    losses, change = np.full(100, 0.2), removal_change(0.001, lipschitz=2.0, size=0.5)
    beta, tail = 0.001, math.sqrt(math.log(20) / 200)
    assert change.value == pytest.approx(beta)
    trained = stability_bound(losses, change, largest=1.0)
    assert trained.value == pytest.approx(0.2 + 2 * beta + (4 * 100 * beta + 1) * tail)
    left = stability_bound(losses, change, largest=1.0, left_out=True)
    assert left.value == pytest.approx(trained.value - beta)
    moment = stability_bound(losses, change, largest=1.0, left_out=True, method="second moment")
    assert moment.value == pytest.approx(0.2 + math.sqrt(20 * (0.01 + 6 * beta)))
    assert not stability_bound(losses, change, largest=0.1).valid
    with pytest.raises(ValueError, match="left_out"):
        stability_bound(losses, change, largest=1.0, method="second moment")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pac_bayes.pac_bayes_bound(0.1, 1.0, 0), "at least one row"),
        (lambda: randomized_machine_bound([]), "margins must hold one number"),
        (lambda: randomized_machine_bound([np.nan]), "margins holds NaN"),
        (
            lambda: rademacher.rademacher_bound([], norm=1.0, size=1.0),
            "losses must hold one number",
        ),
        (lambda: rademacher.rademacher_margin_bound([], size=1.0), "margins must hold one number"),
        (lambda: rademacher.local_complexity([1.0], 0, radius=1.0), "at least one row"),
        (
            lambda: removal.stability_bound([], removal.removal_change(1.0), largest=1.0),
            "losses must hold one number",
        ),
    ],
)
def test_bounds_of_no_rows_are_refused_in_words(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_the_constant_of_maurer():
    """Against the sum in rational arithmetic, and his bounds sqrt(m) and 2 sqrt(m)."""
    for m in (1, 2, 8, 30):
        terms = (
            math.comb(m, k) * Fraction(k, m) ** k * (1 - Fraction(k, m)) ** (m - k)
            for k in range(m + 1)
        )
        assert math.exp(log_kl_moment(m)) == pytest.approx(float(sum(terms)), rel=1e-12)
    for m in (8, 100, 6000):
        assert math.sqrt(m) <= math.exp(log_kl_moment(m)) <= 2 * math.sqrt(m)


def test_subsets_and_sizes_share_all_of_delta():
    m = 12
    assert float(np.exp(log_choose(m, 5))) == pytest.approx(math.comb(m, 5))
    total = sum(math.comb(m, d) * math.exp(-log_subsets(d, m)) for d in range(m + 1))
    assert total == pytest.approx(1 - 1 / (m + 2))
