"""Weights of machines are where their criteria are least, evaluated without any gradient."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax
from scipy.stats import ttest_1samp

from mercer import AutoRegressor
from mercer.tabular.automatic import METRIC, _standard_errors
from mercer.tabular.candidates import Features
from mercer.tabular.stacking import CONSTANT, convex_weights, log_odds, logistic_weights


@pytest.mark.parametrize("tau", [0.5, 20.0])
def test_weights_for_numbers_are_at_the_least_value(tau):
    rng = np.random.default_rng(0)
    y, weights = rng.normal(size=40), rng.uniform(0.5, 2.0, 40)
    left_out = y + np.array([[0.3], [0.5], [1.0]]) * rng.normal(size=(3, 40))

    def value(u):
        log_w = log_softmax(u)
        error = np.average((y - np.exp(log_w) @ left_out) ** 2, weights=weights)
        return 0.5 * np.log(error) - tau / 40 * log_w.mean()

    found = np.log(convex_weights(left_out, y, weights, tau))
    exact = minimize(
        value, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-12}
    )
    assert value(found) <= exact.fun + 1e-8
    np.testing.assert_allclose(np.exp(found), np.exp(log_softmax(exact.x)), atol=2e-3)


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("tau", [1.0, 20.0])
def test_weights_for_classes_are_at_the_least_value(d, tau):
    rng = np.random.default_rng(d)
    n, k = 60, max(d, 2)
    labels, weights = rng.integers(0, k, n), rng.uniform(0.5, 2.0, n)
    aim = np.where(labels == 1, 1.0, -1.0)[:, None] if d == 1 else 2.0 * np.eye(3)[labels] - 1.0
    left_out = np.array([0.5, 2.0])[:, None, None] * (aim + 1.5 * rng.normal(size=(2, n, d)))
    size = np.sqrt(np.mean(left_out**2, axis=(1, 2)))

    def value(u):
        b = u[2:]
        odds = np.tensordot(np.exp(u[:2]) / size, left_out, 1) + b
        odds = np.hstack([np.zeros((n, 1)), odds]) if d == 1 else odds
        loss = -np.average(log_softmax(odds, axis=1)[np.arange(n), labels], weights=weights)
        return loss + 0.5 * CONSTANT * b @ b - tau / n * log_softmax(u[:2]).mean()

    w, b = logistic_weights(left_out, labels, weights, tau)
    found = np.concatenate([np.log(w * size), b])
    options = {"xatol": 1e-6, "fatol": 1e-12, "maxfev": 20000}
    exact = minimize(value, found, method="Nelder-Mead", options=options)
    assert value(found) <= exact.fun + 1e-7
    np.testing.assert_allclose(log_odds(left_out, w, b), np.tensordot(w, left_out, 1) + b)


@pytest.mark.parametrize(
    ("numbers", "divisible", "kept"), [(2, True, True), (1, True, False), (2, False, False)]
)
def test_a_metric_is_learnt_of_two_numbers_whose_rows_divide(numbers, divisible, kept):
    task = SimpleNamespace(divisible=lambda judged: divisible)
    plan = {"matern": (None, task), METRIC: (None, task)}
    columns = SimpleNamespace(numbers=range(numbers), judged=None)
    asked = AutoRegressor()._asked(plan, list(plan), columns)
    assert list(asked) == (["matern", METRIC] if kept else ["matern"])


def test_several_outputs_are_said_to_be_possible():
    assert AutoRegressor().__sklearn_tags__().target_tags.multi_output


def test_a_mean_in_units_of_its_standard_error():
    gain = np.random.default_rng(0).normal(0.5, 1.0, 30)
    # Student's statistic divides by one less than the number of samples.
    student = ttest_1samp(gain, 0.0).statistic * np.sqrt(30 / 29)
    assert _standard_errors(gain, np.full(30, 3.0)) == pytest.approx(student)
    weights = np.r_[np.zeros(10), np.ones(20)]
    part = ttest_1samp(gain[10:], 0.0).statistic * np.sqrt(30 / 19)
    assert _standard_errors(gain, weights) == pytest.approx(part)
    assert _standard_errors(np.full(4, -2.0), np.ones(4)) == -np.inf
    assert _standard_errors(np.zeros(4), np.ones(4)) == 0.0


def test_features_beyond_the_numbers_are_categories():
    fake = SimpleNamespace(numbers=range(2), categories=range(3))
    candidate = SimpleNamespace(absolute=True)
    Z = np.random.default_rng(0).integers(0, 3, (40, 5)).astype(float)
    kernel = Features.kernel(fake, candidate, Z, np.random.default_rng(1))
    assert kernel.categories == (2, 3, 4)
