"""Windows and the Gaussian of a sample where numbers leave the range of double precision."""

import numpy as np
import pytest
from scipy import stats

from mercer_research.density import GaussianDensity, ParzenWindow


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


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("power", [-530, -500, 0, 400])
def test_the_gaussian_of_a_sample_has_no_units(power):
    """Variances of 1e-320 are numbers of few digits, and SciPy's cutoffs divide by them."""
    rng = np.random.default_rng(0)
    X, unit = rng.normal(size=(30, 2)) @ [[1.0, 0.3], [0.0, 0.5]], 2.0**power
    near, far = GaussianDensity().fit(X), GaussianDensity().fit(unit * X)
    # Powers of two change no digit: the density has the factor of the two units.
    expected = near.score_samples(X) - 2 * power * np.log(2.0)
    np.testing.assert_allclose(far.score_samples(unit * X), expected, rtol=1e-14)
    np.testing.assert_allclose(far.cdf(unit * X[:3]), near.cdf(X[:3]), rtol=1e-12)
    same = near.sample(5, random_state=0) * unit
    np.testing.assert_allclose(far.sample(5, random_state=0), same, rtol=1e-12)
    known = stats.multivariate_normal(X.mean(axis=0), np.cov(X.T, bias=True))
    np.testing.assert_allclose(near.score_samples(X), known.logpdf(X), rtol=1e-12)
