"""Number of components by broken stick, parallel analysis and held-out rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import KFold

from mercer import Nystrom
from mercer.kernels import Gaussian
from mercer.manifold import KernelPCA
from mercer.manifold.component_count import broken_stick
from mercer.manifold.component_criteria import reconstruction_errors

rng = np.random.default_rng(0)
Q = np.linalg.qr(rng.normal(size=(12, 12)))[0]


def factors(k, n=300, noise=0.3):
    """Return rows that k strong factors explain, but for noise."""
    return rng.normal(size=(n, k)) @ (3.0 * Q[:k]) + noise * rng.normal(size=(n, 12))


@pytest.mark.parametrize("criterion", ["parallel", "held-out", "broken-stick"])
@pytest.mark.parametrize("k", [1, 3])
def test_factors_are_counted(criterion, k):
    X = factors(k)
    assert KernelPCA(criterion, kernel="linear").fit(X).n_components_ == k
    few = KernelPCA(criterion, kernel="linear", approximation=Nystrom(100)).fit(X)
    assert few.n_components_ == k


@pytest.mark.parametrize("criterion", ["parallel", "held-out"])
def test_noise_has_one_component_at_most(criterion):
    X = rng.normal(size=(200, 6))
    assert KernelPCA(criterion, kernel="linear").fit(X).n_components_ == 1


def test_errors_of_held_out_rows_by_explicit_fits():
    X = factors(2, n=60)
    kernel = Gaussian(5.0)
    w = rng.uniform(0.5, 2.0, len(X))
    folds = KFold(3)
    errors, rows, rank = reconstruction_errors(kernel(X), np.ones((60, 1)), w, folds, True)
    assert errors.shape == (60, rank + 1)
    assert np.all(np.diff(errors, axis=1) <= 1e-12)
    for fit, rest in folds.split(X):
        pca = KernelPCA(4, kernel=kernel).fit(X[fit], sample_weight=w[fit])
        s = w[fit] / w[fit].sum()
        K, k = kernel(X[fit]), kernel(X[rest], X[fit])
        own = 1.0 - 2.0 * k @ s + s @ K @ s
        expected = own - np.sum(pca.transform(X[rest]) ** 2, axis=1)
        assert_allclose(errors[np.isin(rows, rest), 4], expected, atol=1e-10)


def test_pieces_of_a_stick():
    pieces = -np.sort(-np.diff(np.sort(rng.uniform(size=(20_000, 4))), prepend=0, append=1))
    assert_allclose(pieces.mean(axis=0), broken_stick(5), atol=0.005)


def test_weights_count():
    """Rows without a weight do not add a factor."""
    X = np.vstack([factors(2), 5.0 * rng.normal(size=(100, 12))])
    w = np.r_[np.ones(300), np.zeros(100)]
    for criterion in ("parallel", "held-out"):
        pca = KernelPCA(criterion, kernel="linear").fit(X, sample_weight=w)
        assert pca.n_components_ == 2


def test_refusals():
    X = factors(2)
    with pytest.raises(ValueError, match="needs a positive definite kernel of rows of numbers"):
        KernelPCA("parallel", kernel="precomputed").fit(X @ X.T)
    with pytest.raises(ValueError, match="needs a positive definite kernel"):
        KernelPCA("held-out", kernel="sigmoid").fit(X)
    assert KernelPCA("held-out", kernel="precomputed").fit(X @ X.T).n_components_ == 2
