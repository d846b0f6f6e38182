"""Bounds hold: 1,000 draws from distributions whose risks are known exactly, at delta = 0.05.

Points are drawn from finite sets with known label probabilities, so risks are sums; machines are
made to overfit, and where labels are pure noise every machine has the risk 1/2.
"""

import math
from functools import cache

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin

from mercer.kernels import Gaussian
from mercer.risk_bounds import error_bound
from mercer_research.diagnostics.removal import removal_change, stability_bound
from mercer_research.risk_bounds import CertifiedSVC, randomized_machine_bound
from mercer_research.risk_bounds.pac_bayes import (
    _clipped,
    pac_bayes_bound,
    randomized_regression_bound,
)
from mercer_research.risk_bounds.rademacher import rademacher_bound, rademacher_margin_bound
from mercer_research.risk_bounds.sample_compression import refit_to_support
from mercer_research.risk_bounds.weight_vector import Weights

DRAWS, DELTA = 1000, 0.05
ALLOWED = DRAWS * DELTA


# Compression --------------------------------------------------------------------------------------


class Threshold(ClassifierMixin, BaseEstimator):
    """The midpoint between two neighbours, and a side, with the fewest errors: two rows make it."""

    def fit(self, X, y):
        order = np.argsort(X[:, 0])
        x, s = X[order, 0], y[order]
        left = np.cumsum(s)[:-1]
        right = s.sum() - left
        at = int(np.argmax(np.abs(right - left)))
        # Two rows of one label do not tell a side: the label on the right is theirs.
        self.side_ = np.sign(right[at] - left[at]) or s[-1]
        self.at_ = (x[at] + x[at + 1]) / 2
        self.classes_ = np.array([-1.0, 1.0])
        self.support_ = order[at : at + 2]
        return self

    def predict(self, X):
        return np.where(X[:, 0] > self.at_, self.side_, -self.side_)


def test_compression_holds():
    """Uniform points, labels sign(x - 0.3) with noise: the risk is linear in the threshold."""
    rng = np.random.default_rng(0)
    failures = careless = 0
    for number in range(DRAWS):
        noise = 0.5 if number % 2 else 0.1
        X = rng.random((20, 1))
        y = np.where((X[:, 0] > 0.3) ^ (rng.random(20) < noise), 1.0, -1.0)
        few = refit_to_support(Threshold().fit(X, y), X, y)
        wrong = abs(few.machine.at_ - 0.3)
        wrong = wrong if few.machine.side_ > 0 else 1.0 - wrong
        risk = noise + (1 - 2 * noise) * wrong
        failures += few.bound(DELTA).value < risk
        k = int(few.losses.sum())
        careless += error_bound(k, len(few.losses), delta=DELTA).value < risk
    assert failures <= ALLOWED
    # Without paying for the choice of the two rows it would fail.
    assert careless > 2 * ALLOWED


# Machines on a finite set of points ---------------------------------------------------------------

KERNEL = Gaussian(0.5)


@cache
def domain(size, seed=0):
    """Points, their kernel matrix and the probability of the label +1 at each."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(size, 2))
    return X, KERNEL(X), np.clip(0.5 + 0.7 * np.sin(2 * X[:, 0]), 0.05, 0.95)


def drawn(rng, m, chance):
    """Draw indices of points and labels."""
    i = rng.integers(len(chance), size=m)
    return i, np.where(rng.random(m) < chance[i], 1.0, -1.0)


def risk(error, chance):
    """Return the mean over points of the chance to err, given that of predicting +1."""
    return float(np.mean(chance * (1 - error) + (1 - chance) * error))


def ridge(K, i, y, n, penalty):
    """Return coefficients at the points of a regularized least-squares fit."""
    a = np.linalg.solve(K[np.ix_(i, i)] + penalty * np.eye(len(i)), y)
    return np.bincount(i, weights=a, minlength=n)


def overfitted(K, i, y, penalties=(0.01, 1.0, 30.0)):
    """Yield normalized values at all points, of several machines to choose from."""
    for penalty in penalties:
        a = ridge(K, i, y, len(K), penalty)
        yield a, K @ a / math.sqrt(a @ K @ a)


@pytest.mark.parametrize("prior", [False, True])
def test_pac_bayes_holds(prior):
    """For the randomized machine and, doubled, for the sign; the least over machines is taken."""
    _, K, smooth = domain(25)
    rng = np.random.default_rng(1)
    failures = np.zeros(2)
    for number in range(DRAWS):
        chance = np.full(25, 0.5) if number % 2 else smooth
        i, y = drawn(rng, 80, chance)
        rows, cosine = slice(0, 80), None
        if prior:
            rows = slice(40, 80)
            a0 = ridge(K, i[:40], y[:40], 25, 1.0)
        found = None
        for a, f in overfitted(K, i, y, (0.1, 10.0)):
            if prior:
                cosine = float(a @ K @ a0 / math.sqrt((a @ K @ a) * (a0 @ K @ a0)))
            bound = randomized_machine_bound(y[rows] * f[i[rows]], cosine=cosine, delta=DELTA)
            if found is None or bound.value < found[0].value:
                found = bound, f
        bound, f = found
        told = bound.constants
        gibbs = risk(stats.norm.cdf(told["posterior scale"].value * f), chance)
        failures += told["randomized bound"].value < gibbs, bound.value < risk(f > 0, chance)
    assert failures.max() <= ALLOWED


def test_pac_bayes_over_finitely_many_machines_holds_and_the_prior_is_needed():
    """The best of 2,000 coins on 25 rows: a point mass has the divergence ln 2000."""
    rng = np.random.default_rng(0)
    best = rng.binomial(25, 0.5, size=(DRAWS, 2000)).min(axis=1) / 25
    assert np.sum(pac_bayes_bound(best, math.log(2000), 25, delta=DELTA) < 0.5) <= ALLOWED
    assert np.sum(pac_bayes_bound(best, 0.0, 25, delta=DELTA) < 0.5) > 2 * ALLOWED


@pytest.mark.parametrize("noise", [False, True])
def test_rademacher_margins_hold(noise):
    _, K, chance = domain(40)
    chance = np.full(40, 0.5) if noise else chance
    rng = np.random.default_rng(2)
    failures = 0
    for number in range(DRAWS):
        i, y = drawn(rng, 400 if number % 2 else 60, chance)
        a = np.bincount(i, weights=y, minlength=40)  # the nearest mean
        f = K @ a / math.sqrt(a @ K @ a)
        known = {"size": 1.0} if number % 4 < 2 else {"trace": float(len(i))}
        bound = rademacher_margin_bound(y * f[i], **known, delta=DELTA)
        failures += bound.value < risk(f > 0, chance)
    assert failures <= ALLOWED


def test_rademacher_margins_hold_for_coins_on_one_point():
    """All rows are one point, and f = 1 or -1 there: the margins are signs, the risk is 1/2."""
    rng = np.random.default_rng(4)
    failures, with_half_the_loss = 0, 0
    for number in range(60):
        y = rng.choice([-1.0, 1.0], size=1000)
        known = {"size": 1.0} if number % 2 else {"trace": 1000.0}
        bound = rademacher_margin_bound(y * np.sign(y.sum() or 1.0), **known, delta=DELTA)
        told = bound.constants
        failures += bound.value < 0.5
        with_half_the_loss += told["sum"].value - 0.5 * told["margin error"].value < 0.5
    assert failures <= 60 * DELTA
    # The draws can tell the margin loss from half of it.
    assert with_half_the_loss > 30


@pytest.mark.parametrize("m", [100, 1000])
def test_coins_learnt_by_heart_are_not_certified(m):
    """Each row is a point of its own, K = I: f over its norm is 1 / sqrt(m), the risk 1/2."""
    t = np.full(m, 1 / math.sqrt(m))
    for randomized in (False, True):
        assert randomized_machine_bound(t, randomized=randomized, delta=DELTA).value >= 0.5
    assert rademacher_margin_bound(t, size=1.0, delta=DELTA).value >= 0.5
    # With a tenth of the divergence they would be.
    scales = np.geomspace(1, 5 * math.sqrt(m), 50)
    gibbs = stats.norm.cdf(-scales / math.sqrt(m))
    assert pac_bayes_bound(gibbs, 0.1 * 0.5 * scales**2, m, delta=DELTA).min() < 0.4


def test_rademacher_margins_by_the_formula():
    """The least over 40 margins of three terms, written down once more, for margins of any size."""
    rng = np.random.default_rng(5)
    for R, m in ((1.0, 200), (2.5, 50), (0.3, 800)):
        u = R * np.clip(0.4 + 0.4 * rng.standard_normal(m), -1.0, 1.0)
        sums = []
        for j in range(40):
            rho = R * 2 ** (-j / 2)
            loss = sum(min(1.0, max(0.0, 1 - v / rho)) for v in u) / m
            spread = math.sqrt(math.log((j + 1) * (j + 2) / DELTA) / (2 * m))
            sums.append(loss + 2 * R / (rho * math.sqrt(m)) + spread)
        bound = rademacher_margin_bound(u, size=R, delta=DELTA)
        assert bound.constants["sum"].value == pytest.approx(min(sums), rel=1e-12)
        assert bound.value == pytest.approx(min(1.0, *sums), rel=1e-12)


def test_rademacher_balls_hold():
    """Absolute errors clipped at 2, of functions of norm 1, targets of noise."""
    K = domain(40)[1]
    rng = np.random.default_rng(3)
    failures = 0
    for number in range(DRAWS):
        i = rng.integers(40, size=50)
        y = rng.choice([-1.0, 1.0], size=50)
        a = np.bincount(i, weights=y, minlength=40)
        f = K @ a / math.sqrt(a @ K @ a)
        known = {"size": 1.0} if number % 2 else {"trace": 50.0}
        bound = rademacher_bound(np.abs(y - f[i]), norm=1.0, largest=2.0, **known, delta=DELTA)
        failures += bound.value < np.mean(0.5 * np.abs(1 - f) + 0.5 * np.abs(1 + f))
    assert failures <= ALLOWED


def test_pac_bayes_of_regressions_holds():
    """Targets are a function of the points and a fair coin, errors are clipped at 2."""
    X, K, chance = domain(25)
    rng = np.random.default_rng(4)
    failures = 0
    for _ in range(DRAWS):
        i = rng.integers(25, size=60)
        coin = rng.choice([-0.5, 0.5], size=60)
        y = chance[i] + coin
        f = Weights(KERNEL, X, ridge(K, i, y, 25, 0.3), constant=0.0)
        bound = randomized_regression_bound(f, X[i], y, largest=2.0, delta=DELTA)
        spread = np.full(25, bound.constants["prior scale"].value)
        ends = [_clipped(chance + side - K @ f.coef, spread, 2.0) for side in (-0.5, 0.5)]
        failures += bound.value < np.mean(ends)
    assert failures <= ALLOWED


# Stability ----------------------------------------------------------------------------------------


def slopes(x, y, c, C):
    r"""Return minimizers of w^2 / 2 + C sum_i c_i |y_i - w x_i|, one for each row, by bisection."""
    low, high = np.full(len(x), -10.0), np.full(len(x), 10.0)
    for _ in range(40):
        w = 0.5 * (low + high)
        slope = w - C * np.sum(c * x * np.sign(y - w[:, None] * x), axis=1)
        low, high = np.where(slope < 0, w, low), np.where(slope < 0, high, w)
    return 0.5 * (low + high)


@pytest.mark.parametrize("C", [0.002, 0.3])
def test_stability_holds(C):
    """Points +1 and -1, targets 0.5 x with a coin of +-1: errors clipped at 1."""
    rng = np.random.default_rng(5)
    m = 20
    x = rng.choice([-1.0, 1.0], size=(DRAWS, m))
    y = 0.5 * x + rng.choice([-1.0, 1.0], size=(DRAWS, m))

    def losses(w, x, y):
        return np.minimum(np.abs(y - w * x), 1.0)

    w = slopes(x, y, np.ones(m), C)
    left = np.empty((DRAWS, m))
    for i in range(m):
        kept = (np.arange(m) != i).astype(float)
        left[:, i] = losses(slopes(x, y, kept, C), x[:, i], y[:, i])
    risks = sum(losses(w, sx, 0.5 * sx + e) for sx in (-1, 1) for e in (-1, 1)) / 4
    change = removal_change(C)
    told = {"largest": 1.0, "delta": DELTA}
    trained = losses(w[:, None], x, y)
    for failures in (
        sum(
            stability_bound(t, change, **told).value < r
            for t, r in zip(trained, risks, strict=True)
        ),
        *(
            sum(
                stability_bound(t, change, left_out=True, method=method, **told).value < r
                for t, r in zip(left, risks, strict=True)
            )
            for method in ("bounded differences", "second moment")
        ),
    ):
        assert failures <= ALLOWED
    # The constants of the second moment: E (R - R_loo)^2 <= B^2 / m + 6 B beta.
    assert np.mean((risks - left.mean(axis=1)) ** 2) <= 1 / m + 6 * change.value


# The machine that keeps its bound -----------------------------------------------------------------


def test_certified_machines_hold():
    """Few draws of the whole machine; a thousand are part of the benchmark."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(40_000, 2))
    chance = np.clip(0.5 + 0.6 * X[:, 0], 0.1, 0.9)
    failures = 0
    for seed in range(20):
        Z = rng.normal(size=(60, 2))
        y = rng.random(60) < np.clip(0.5 + 0.6 * Z[:, 0], 0.1, 0.9)
        machine = CertifiedSVC(Cs=[1.0, 100.0], widths=[1.0], cv=None, random_state=seed)
        machine.fit(Z, y)
        true = risk(machine.predict(X), chance)
        # Ten standard errors of the sum over 40,000 points are below 0.02.
        failures += machine.bound_.value < true - 0.02
    # If 95 % hold, more than 5 of 20 failures have a chance of 0.03 %.
    assert failures <= 5
