"""Laplace's evidence of classes against scikit-learn and finite differences."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from mercer import KernelLogisticRegression, tune
from mercer.kernels import Gaussian, Laplacian
from mercer.smoothing.logistic_evidence import LogisticEvidence


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    labels = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
    return X, labels


@pytest.mark.parametrize("width", [0.3, 1.0, 4.0])
def test_value_is_that_of_scikit_learn(sample, width):
    X, labels = sample
    # The constant of the log odds has variance ten.
    kernel = 3.0 * RBF(width) + ConstantKernel(10.0)
    theirs = GaussianProcessClassifier(kernel, optimizer=None, max_iter_predict=1000)
    theirs.fit(X, labels)
    ours = LogisticEvidence(2.0 * labels - 1.0).value(3.0 * Gaussian(width)(X))
    assert ours == pytest.approx(-theirs.log_marginal_likelihood_value_ / len(X), rel=1e-6)


def test_derivative_by_the_matrix(sample):
    X, labels = sample
    rng = np.random.default_rng(1)
    Y = np.column_stack([2.0 * labels - 1.0, np.where(X[:, 1] > 0, 1.0, -1.0)])
    evidence = LogisticEvidence(Y, rng.uniform(0.5, 2.0, size=60))
    K = 5.0 * Laplacian(3.0)(X)
    value, G = evidence.gradient(K)
    assert value == pytest.approx(evidence.value(K), rel=1e-6)
    directions = rng.normal(size=(5, 60, 60))
    for D in directions @ directions.transpose(0, 2, 1) / 60:
        h = 1e-4
        slope = (evidence.value(K + h * D) - evidence.value(K - h * D)) / (2 * h)
        assert slope == pytest.approx(float(np.sum(G * D)), rel=1e-4, abs=1e-7)


def test_start_does_not_matter(sample):
    X, labels = sample
    y = 2.0 * labels - 1.0
    used = LogisticEvidence(y)
    used.value(1e4 * Gaussian(0.1)(X))
    K = 2.0 * Gaussian(1.0)(X)
    assert used.value(K) == pytest.approx(LogisticEvidence(y).value(K), rel=1e-8)


def test_weights_count_samples(sample):
    X, labels = sample
    y, K = 2.0 * labels - 1.0, 2.0 * Gaussian(1.0)(X)
    twice = np.r_[np.arange(60), np.arange(60)]
    # The same sample twice: one value, two losses.
    doubled = LogisticEvidence(y[twice]).value(K[np.ix_(twice, twice)]) * 120
    weighted = LogisticEvidence(y, np.full(60, 2.0)).value(K) * 60
    assert doubled == pytest.approx(weighted, rel=1e-5)


def test_tune_minimizes_the_evidence_of_a_logistic_machine(sample):
    X, labels = sample
    found = tune(KernelLogisticRegression(kernel=Gaussian(0.1)), X, labels)
    kernel, C = found.best_params_["kernel"], found.best_params_["C"]
    evidence = LogisticEvidence(2.0 * labels - 1.0)
    best = evidence.value(C * kernel(X))
    assert found.best_value_ == pytest.approx(best, rel=1e-6)
    for factor in (0.7, 1.4):
        moved = Gaussian(factor * kernel.length_scale)
        assert evidence.value(C * moved(X)) >= best - 1e-4
        assert evidence.value(factor * C * kernel(X)) >= best - 1e-4
