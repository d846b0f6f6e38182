"""Gradients of validation errors with respect to hyperparameters, against differences."""

import numpy as np
import pytest

from mercer import SVC, SVR, KernelClassifier, KernelRegressor
from mercer.kernels import Gaussian
from mercer_research.selection.hypergradient import hypergradient
from mercer_research.selection.validation import Validation


def split(n=40, m=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + m, 2))
    noise = rng.normal(size=n + m)
    labels = np.where(X[:, 0] + 0.8 * noise > 0, 1.0, -1.0)
    return X[:n], labels[:n], X[n:], labels[n:], (np.sin(2 * X[:, 0]) + 0.3 * noise)


@pytest.mark.parametrize(
    ("machine", "loss"),
    [
        (KernelRegressor("squared", kernel=Gaussian(0.8), C=2.0), "squared"),
        (KernelRegressor("huber", kernel=Gaussian(0.8), C=2.0), "squared"),
        (SVR(kernel=Gaussian(0.8), C=2.0, epsilon=0.1), "squared"),
        (SVC(kernel=Gaussian(0.8), C=2.0), "logistic"),
        (KernelClassifier("squared_hinge", kernel=Gaussian(0.8), C=2.0), "logistic"),
        (KernelClassifier("logistic", kernel=Gaussian(0.8), C=2.0), "logistic"),
    ],
    ids=lambda v: v if isinstance(v, str) else type(v).__name__ + str(getattr(v, "loss", "")),
)
def test_hypergradients_are_differences(machine, loss):
    X, y, X_val, y_val, numbers = split(40, 30, 7)
    if loss == "squared":
        y, y_val = numbers[:40], numbers[40:]
    function = hypergradient(machine, X, y, X_val, y_val, loss=loss)
    assert function.names == ["C", "kernel__length_scale"]
    value, gradient = function(function.start)
    h = 1e-4
    for k in range(2):
        step = h * np.eye(2)[k]
        difference = (function(function.start + step)[0] - function(function.start - step)[0]) / (
            2 * h
        )
        # Inner problems are solved to 1e-8, so that differences over 2e-4 are good to 1e-4.
        assert gradient[k] == pytest.approx(difference, abs=2e-4 * max(1.0, abs(value)))


def test_refusals():
    X, y, X_val, y_val, _ = split()
    kernel = Gaussian(0.7)
    with pytest.raises(ValueError, match="loss must be a Loss or one of"):
        Validation(kernel(X_val, X), y_val, loss="ramp")
    with pytest.raises(ValueError, match="has no slope"):
        hypergradient(SVC(kernel=kernel), X, y, X_val, y_val, loss="error")
