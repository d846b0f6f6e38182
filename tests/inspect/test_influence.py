"""Influence of single samples by fitting again, against what least-squares machines know."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from mercer import LSSVC, LSSVR
from mercer.estimators import HuberSVR
from mercer.inspect import jackknife, sensitivity_curve
from mercer.kernels import Gaussian


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (20, 2))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=20)


def test_refits_are_the_closed_form(sample):
    X, y = sample
    machine = LSSVR(Gaussian(0.8), C=10.0)
    fitted = LSSVR(Gaussian(0.8), C=10.0).fit(X, y)
    # Condition n C = 200 times rounding is far below.
    close = {"rtol": 1e-8, "atol": 1e-8}
    np.testing.assert_allclose(jackknife(machine, X, y), fitted.loo_predictions_, **close)
    np.testing.assert_allclose(jackknife(machine, X, y, X[:3]), fitted.jackknife(X[:3]), **close)
    values = [-2.0, 7.0]
    for Z in (None, X[:4]):
        np.testing.assert_allclose(
            sensitivity_curve(machine, X, y, 5, values, Z),
            fitted.sensitivity_curve(5, values, Z),
            **close,
        )


def test_frames_and_decisions(sample):
    X, y = sample
    labels = np.where(y > 0, "up", "down")
    machine = LSSVC(Gaussian(0.8))
    frame = pd.DataFrame(X, columns=["u", "v"])
    decision = jackknife(machine, frame, labels, method="decision_function")
    np.testing.assert_allclose(decision, machine.fit(X, labels).loo_decision_, atol=1e-8)


def test_squares_follow_an_outlier_and_huber_stops(sample):
    """The curve of least squares is a line; that of Huber's loss ends where the loss is linear."""
    X, y = sample
    values = np.array([0.0, 5.0, 10.0, 20.0])
    line = sensitivity_curve(LinearRegression(), X, y, 3, values)[:, 0]
    np.testing.assert_allclose(np.diff(line) / np.diff(values), (line[1] - line[0]) / 5.0)
    bounded = sensitivity_curve(HuberSVR(kernel=Gaussian(0.8), tol=1e-8), X, y, 3, values)[:, 0]
    np.testing.assert_allclose(bounded[1:], bounded[1], atol=1e-6)
