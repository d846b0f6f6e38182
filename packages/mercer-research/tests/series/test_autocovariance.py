"""Autocovariances against their sums, and windows against their spectra."""

import numpy as np
import pytest
from scipy import linalg, signal

from mercer_research.series.autocovariance import autocovariance, cross_covariance, parzen

Y = np.random.default_rng(0).normal(size=37)


def direct(y, u, tau):
    return sum(y[k + tau] * u[k] for k in range(len(y) - tau))


@pytest.mark.parametrize("center", [True, False])
def test_every_pair_is_counted_once(center):
    """The divisor is n, whatever the lag."""
    y = Y - Y.mean() if center else Y
    sums = np.array([direct(y, y, tau) for tau in range(37)])
    found = autocovariance(Y, center=center)
    np.testing.assert_allclose(found, sums / 37, rtol=0, atol=1e-14)
    unbiased = autocovariance(Y, method="unbiased", center=center)
    np.testing.assert_allclose(unbiased, sums / (37 - np.arange(37)), rtol=0, atol=1e-13)
    tapered = autocovariance(Y, 10, method="tapered", center=center)
    np.testing.assert_allclose(tapered, sums[:11] / 37 * parzen(11), rtol=0, atol=1e-14)


def test_the_past_of_another_series():
    u = np.random.default_rng(1).normal(size=37)
    exact = [direct(Y, u, tau) / 37 for tau in range(6)]
    np.testing.assert_allclose(cross_covariance(Y, u, 5, center=False), exact, atol=1e-14)


def test_biased_and_tapered_sequences_are_positive_definite_and_unbiased_ones_are_not():
    y = np.sin(0.3 * np.arange(60)) + 0.1 * np.random.default_rng(3).normal(size=60)
    smallest = {
        method: np.linalg.eigvalsh(linalg.toeplitz(autocovariance(y, 59, method=method)))[0]
        for method in ("biased", "tapered", "unbiased")
    }
    assert smallest["biased"] > 0
    assert smallest["tapered"] > 0
    assert smallest["unbiased"] < -0.1


def test_the_window_is_the_one_of_scipy_and_has_a_spectrum_without_sign():
    m = 20
    # A window of SciPy ends half a sample after its last one.
    np.testing.assert_allclose(parzen(m), signal.windows.parzen(2 * m - 1)[m - 1 :], atol=0.03)
    whole = np.concatenate([parzen(m), np.zeros(1), parzen(m)[:0:-1]])
    assert np.fft.fft(whole).real.min() > -1e-12


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: autocovariance([1.0]), "two or more"),
        (lambda: autocovariance([1.0, np.nan]), "finite"),
        (lambda: autocovariance(Y, 37), "between 0 and 36"),
        (lambda: autocovariance(Y, method="best"), "'biased', 'unbiased' or 'tapered'"),
        (lambda: cross_covariance(Y, Y[:-1]), "one length"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
