"""Toeplitz matrices against dense algebra."""

import numpy as np
import pytest
from scipy import fft, linalg

from mercer.kernels import Gaussian
from mercer_research.series.projection import nearest_moving_average
from mercer_research.series.toeplitz import Toeplitz

rng = np.random.default_rng(0)
ROW = np.exp(-0.3 * np.arange(50.0))
T = Toeplitz(ROW)


def test_products_and_solutions_are_those_of_the_dense_matrix():
    dense, V = linalg.toeplitz(ROW), rng.normal(size=(50, 3))
    assert len(T) == 50
    np.testing.assert_array_equal(T.dense(), dense)
    np.testing.assert_allclose(T @ V, dense @ V, rtol=0, atol=1e-13)
    np.testing.assert_allclose(T @ V[:, 0], dense @ V[:, 0], rtol=0, atol=1e-13)
    np.testing.assert_allclose(T.solve(V), np.linalg.solve(dense, V), rtol=0, atol=1e-11)
    shifted = np.linalg.solve(dense + 2.0 * np.eye(50), V)
    np.testing.assert_allclose(T.solve(V, 2.0), shifted, rtol=0, atol=1e-13)


def test_the_smoother_of_the_documents():
    """(gamma T + I) e = y, and gamma T e is the smooth part."""
    y = rng.normal(size=50)
    e = np.linalg.solve(3.0 * T.dense() + np.eye(50), y)
    np.testing.assert_allclose(T.smooth(y, 3.0), 3.0 * T.dense() @ e, rtol=0, atol=1e-13)


def test_the_circulant_matrix_begins_with_the_toeplitz_matrix():
    ring = fft.ifft(T.circulant()).real
    assert len(ring) == 98
    np.testing.assert_allclose(linalg.circulant(ring)[:50, :50], T.dense(), rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("row", "definite"),
    [
        (ROW, True),
        ([1.0], True),
        ([0.0], True),
        ([-1.0], False),
        ([1.0, 1.0, 1.0], True),
        ([1.0, 1.001], False),
        ([1.0, 0.9, 0.9, 0.0], False),
        ([1.0, 0.6, *[0.0] * 5], False),
        ([1.0, 0.5, *[0.0] * 900], True),
    ],
)
def test_definiteness_by_eigenvalues(row, definite):
    smallest = np.linalg.eigvalsh(linalg.toeplitz(row))[0]
    assert (smallest >= -1e-12) == definite
    assert Toeplitz(row).is_positive_semidefinite() == definite


def test_definite_matrices_need_not_begin_definite_circulant_ones():
    wide = Toeplitz(Gaussian(3.0)(np.zeros((1, 1)), np.arange(6.0)[:, None])[0])
    assert wide.circulant().min() < 0
    assert wide.is_positive_semidefinite()


def test_samples_have_the_covariance():
    series = T.sample(4000, random_state=0)
    covariance = series.T @ series / 4000
    # Standard errors are sqrt((c_ij^2 + c_ii c_jj) / 4000) < 0.0224; 2500 entries stay within 5.
    np.testing.assert_allclose(covariance, T.dense(), rtol=0, atol=5 * 0.0224)
    with pytest.raises(ValueError, match="more lags"):
        Toeplitz([1.0, 0.9, 0.9, 0.0]).sample()
    mended = np.append(nearest_moving_average([1.0, 0.9, 0.9, 0.0]), 0.0)
    assert Toeplitz(mended).sample(2, random_state=0).shape == (2, 5)


def test_nonsense_is_refused_with_a_sentence():
    with pytest.raises(ValueError, match="first row"):
        Toeplitz([[1.0]])


def test_the_zero_matrix_is_semidefinite():
    assert Toeplitz(np.zeros(3)).is_positive_semidefinite()
    assert not Toeplitz([0.0, 1.0]).is_positive_semidefinite()
