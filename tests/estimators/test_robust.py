"""Robust least-squares machines: the quadratic program, outliers, weights, limits, refusals."""

import copy

import numpy as np
import pytest

from mercer import LSSVR, KernelRegressor
from mercer.estimators import HuberSVR, RobustLSSVR
from mercer.kernels import Gaussian
from mercer.losses import LogCosh
from mercer.machines.solving import EarlyStop
from mercer.regularizers import Empty, Polynomial
from mercer.smoothing.scale import robust_scale
from mercer.smoothing.weights import WEIGHTS, BisquareWeights, HuberWeights, WeightFunction

METHODS = sorted(WEIGHTS)
CONVEX = ("huber", "logistic")
SETTINGS = {"kernel": Gaussian(1.0), "C": 10.0, "tol": 1e-9}


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(-3, 3, (80, 1)), axis=0)
    y = np.sinc(X[:, 0]) + 0.1 * rng.normal(size=80)
    y[[5, 30, 31, 60]] += [8.0, -5.0, -6.0, 3.0]
    return X, y


def test_reweighting_is_the_huber_machine(sample):
    X, y = sample
    reweighted = RobustLSSVR(c=0.1345, **SETTINGS).fit(X, y)
    exact = RobustLSSVR(c=0.1345, exact=True, **SETTINGS).fit(X, y)
    huber = HuberSVR(delta=0.1345, **SETTINGS).fit(X, y)
    # Each is within tol = 1e-9 of one function.
    np.testing.assert_allclose(reweighted.predict(X), exact.predict(X), atol=1e-8)
    np.testing.assert_allclose(reweighted.predict(X), huber.predict(X), atol=1e-8)
    assert reweighted.solution_.solver == "Reweighting"
    assert reweighted.convex_
    assert reweighted.solution_.gap <= 1e-8
    assert np.max(np.abs(reweighted.dual_coef_)) == 10.0 * 0.1345


def test_logistic_weights_descend_the_logarithm_of_cosh(sample):
    X, y = sample
    robust = RobustLSSVR(method="logistic", c=0.12, **SETTINGS).fit(X, y)
    other = KernelRegressor(LogCosh(0.12), **SETTINGS).fit(X, y)
    np.testing.assert_allclose(robust.predict(X), other.predict(X), atol=1e-7)


def test_the_scale_is_robust_and_that_of_the_least_squares_machine(sample):
    X, y = sample
    machine = RobustLSSVR(**SETTINGS).fit(X, y)
    residuals = y - LSSVR(Gaussian(1.0), C=10.0).fit(X, y).predict(X)
    assert machine.scale_ == pytest.approx(robust_scale(residuals), rel=1e-6)
    assert machine.c_ == pytest.approx(1.345 * machine.scale_)
    for scale in ("sn", "qn"):
        other = RobustLSSVR(scale=scale, **SETTINGS).fit(X, y)
        assert other.scale_ == pytest.approx(robust_scale(residuals, scale), rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_outliers_are_found_and_forgiven(sample, method):
    X, y = sample
    machine = RobustLSSVR(method=method, **SETTINGS).fit(X, y)
    truth = np.sinc(X[:, 0])
    plain = LSSVR(Gaussian(1.0), C=10.0).fit(X, y)
    errors = [np.max(np.abs(m.predict(X) - truth)) for m in (machine, plain)]
    assert errors[0] < 0.25 < 0.5 < errors[1]
    assert set(np.argsort(machine.weights_)[:4]) == {5, 30, 31, 60}
    assert np.all(machine.weights_[[5, 30, 31]] < 0.15)
    assert np.median(machine.weights_) > 0.9


@pytest.mark.parametrize("method", METHODS)
def test_stands_still(sample, method):
    """The least-squares machine with the weights found is the machine."""
    X, y = sample
    machine = RobustLSSVR(method=method, **SETTINGS).fit(X, y)
    again = LSSVR(Gaussian(1.0), C=10.0).fit(X, y, sample_weight=machine.weights_)
    # Weights are known to tol over the residual.
    np.testing.assert_allclose(again.predict(X), machine.predict(X), atol=1e-7)
    assert machine.convex_ is (method in CONVEX)
    assert machine.solution_.converged


@pytest.mark.parametrize("method", ["hampel", "bisquare", "myriad"])
def test_losses_that_are_not_convex_fall_too(sample, method):
    X, y = sample
    machine = RobustLSSVR(method=method, **SETTINGS).fit(X, y)
    weights = WEIGHTS[method](machine.c_)

    def objective(fitted):
        a = np.zeros(len(y))
        a[fitted.support_] = fitted.dual_coef_[0]
        rest = y - fitted.predict(X)
        return 0.5 * a @ Gaussian(1.0)(X) @ a + 10.0 * np.sum(weights.value(rest))

    start = RobustLSSVR(c=1.345 / weights.tuning * machine.c_, **SETTINGS).fit(X, y)
    assert objective(machine) < objective(start)
    # No function nearby is better.
    rng, best = np.random.default_rng(1), objective(machine)
    for _ in range(10):
        moved = copy.deepcopy(machine)
        step = 1e-3 * rng.normal(size=machine.dual_coef_.shape)
        moved.dual_coef_ = moved._dual_coef_ = machine.dual_coef_ + step
        assert objective(moved) >= best - 1e-12
    if method == "hampel":
        assert machine.weights_[5] == 0.0
        assert 5 not in machine.support_


def test_limits(sample):
    X, y = sample
    least_squares = LSSVR(Gaussian(1.0), C=10.0).fit(X, y).predict(X)
    for method in METHODS:
        far = RobustLSSVR(method=method, c=1e6, **SETTINGS).fit(X, y)
        # The largest weight that is lost is (10 / 1e6)^2.
        np.testing.assert_allclose(far.predict(X), least_squares, atol=1e-6)
    tight = RobustLSSVR(kernel=Gaussian(1.0), c=1e-5, C=1e6, tol=1e-8).fit(X, y)
    absolute = KernelRegressor("absolute", Gaussian(1.0), C=10.0, tol=1e-8).fit(X, y)
    # The loss differs from the absolute one by at most c/2 a sample.
    np.testing.assert_allclose(tight.predict(X), absolute.predict(X), atol=0.02)


def test_an_outlier_that_moves_further_away_changes_nothing(sample):
    X, y = sample
    further = y.copy()
    further[5] += 1e6
    one, other = (RobustLSSVR(c=0.1345, **SETTINGS).fit(X, target) for target in (y, further))
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=1e-8)


def test_weights_are_repetitions(sample):
    X, y = sample
    times = np.random.default_rng(2).integers(0, 3, size=80)
    weighted = RobustLSSVR(**SETTINGS).fit(X, y, sample_weight=times)
    repeated = RobustLSSVR(**SETTINGS).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.scale_ == pytest.approx(repeated.scale_)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-7)


@pytest.mark.parametrize("method", ["huber", "bisquare"])
def test_outputs_have_scales_of_their_own(sample, method):
    X, y = sample
    Y = np.c_[y, 100.0 * y + 50.0]
    both = RobustLSSVR(method=method, **SETTINGS).fit(X, Y)
    one = RobustLSSVR(method=method, **SETTINGS).fit(X, y)
    assert both.scale_[1] == pytest.approx(100.0 * both.scale_[0])
    assert both.weights_.shape == Y.shape
    np.testing.assert_allclose(both.predict(X)[:, 0], one.predict(X), atol=1e-8)
    np.testing.assert_allclose(both.predict(X)[:, 1], 100.0 * one.predict(X) + 50.0, atol=1e-6)


def test_free_functions(sample):
    X, y = sample
    line = RobustLSSVR(null_space=Polynomial(1), **SETTINGS)
    tilted, flat = line.fit(X, y + 7.0 * X[:, 0]).predict(X), line.fit(X, y).predict(X)
    np.testing.assert_allclose(tilted, flat + 7.0 * X[:, 0], atol=1e-7)
    assert RobustLSSVR(null_space=Empty(), **SETTINGS).fit(X, y).intercept_ == 0.0


def test_a_weight_function_of_ones_own(sample):
    X, y = sample
    given = RobustLSSVR(method=BisquareWeights(0.5), **SETTINGS).fit(X, y)
    named = RobustLSSVR(method="bisquare", c=0.5, **SETTINGS).fit(X, y)
    np.testing.assert_array_equal(given.predict(X), named.predict(X))
    assert np.isnan(given.scale_)

    class Fair(WeightFunction):
        """Convex, but unknown to solvers: certified as the weighted machine."""

        tuning = 1.4

        def weight(self, r):
            return 1.0 / (1.0 + np.abs(r) / self.c)

        def value(self, r):
            u = np.abs(r) / self.c
            return self.c**2 * (u - np.log1p(u))

    fair = RobustLSSVR(method=Fair(0.14), **SETTINGS).fit(X, y)
    assert not fair.convex_
    assert np.max(np.abs(fair.predict(X) - np.sinc(X[:, 0]))) < 0.25


def test_one_reweighting_and_damping(sample):
    X, y = sample
    limit = RobustLSSVR(**SETTINGS).fit(X, y).predict(X)
    damped = RobustLSSVR(damping=0.5, **SETTINGS).fit(X, y).predict(X)
    np.testing.assert_allclose(damped, limit, atol=1e-8)
    for method in ("huber", "bisquare"):
        with pytest.warns(EarlyStop, match="max_iter"):
            RobustLSSVR(method=method, max_iter=2, **SETTINGS).fit(X, y)


@pytest.mark.parametrize("method", CONVEX)
def test_two_machines_are_least_squares_and_one_reweighting(sample, method):
    X, y = sample
    with pytest.warns(EarlyStop, match="max_iter"):
        robust = RobustLSSVR(method=method, max_iter=2, **SETTINGS).fit(X, y)
    first = LSSVR(Gaussian(1.0), C=10.0).fit(X, y)
    with pytest.warns(EarlyStop, match="max_iter"):
        alone = RobustLSSVR(method=method, max_iter=1, **SETTINGS).fit(X, y)
    np.testing.assert_allclose(alone.predict(X), first.predict(X), atol=1e-9)
    weights = WEIGHTS[method](robust.c_).weight(y - first.predict(X))
    second = LSSVR(Gaussian(1.0), C=10.0).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(robust.predict(X), second.predict(X), atol=1e-9)


def test_exact_data_have_a_floor(sample):
    X, _ = sample
    y = 3.0 + 0.0 * X[:, 0]
    with pytest.warns(UserWarning, match="robust scale is zero"):
        machine = RobustLSSVR(**SETTINGS).fit(X, y)
    np.testing.assert_allclose(machine.predict(X), 3.0)
    assert machine.scale_ > 0


def test_a_program_needs_a_convex_loss(sample):
    with pytest.raises(ValueError, match="not convex"):
        RobustLSSVR(method="bisquare", exact=True).fit(*sample)
    with pytest.raises(ValueError, match="'c' parameter"):
        RobustLSSVR(c=0.0).fit(*sample)


def test_huber_weights_are_the_default(sample):
    X, y = sample
    machine = RobustLSSVR(c=0.3, **SETTINGS).fit(X, y)
    w = HuberWeights(0.3).weight(y - machine.predict(X))
    np.testing.assert_allclose(machine.weights_, w, atol=1e-8)


@pytest.mark.parametrize("damping", [0.99, 0.99999])
def test_strong_damping_needs_few_machines(sample, damping):
    X, y = sample
    settings = SETTINGS | {"tol": 1e-6, "max_iter": 1000}
    gentle, plain = RobustLSSVR(damping=0.9, **settings).fit(X, y), RobustLSSVR(**settings)
    fitted = RobustLSSVR(damping=damping, **settings).fit(X, y)
    assert fitted.solution_.converged
    # Some twenty machines more until 0.00001 of the way has grown to a tenth.
    assert fitted.n_iter_ <= gentle.n_iter_ + 30
    np.testing.assert_allclose(fitted.predict(X), plain.fit(X, y).predict(X), atol=1e-5)
