"""Windows and the Gaussian of a sample where numbers leave the range of double precision."""

import numpy as np
import pytest

from mercer.research.density import GaussianDensity, ParzenWindow


def test_windows_far_from_a_point_have_no_density_there():
    X = np.random.default_rng(3).normal(size=(40, 1))
    far = ParzenWindow(0.1).fit(X).score_samples([[1e200], [0.0]])
    assert far[0] == -np.inf
    assert np.isfinite(far[1])


def test_an_outlier_that_overflows_is_refused_in_words():
    X = np.random.default_rng(3).normal(size=(40, 1))
    X[0] = 1e200
    with pytest.raises(ValueError, match=r"X reaches from .* to 1\.0e\+200\. Scale inputs"):
        ParzenWindow().fit(X)


def test_a_gaussian_of_equal_rows_is_refused_in_words():
    with pytest.raises(ValueError, match=r"All rows are equal .*without spread has no density"):
        GaussianDensity().fit(np.ones((5, 2)))
