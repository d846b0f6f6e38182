"""Spectra as values: order, multiplicities, tails, products, cut-offs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer_research.covering import Spectrum, exponential_law, power_law, tensor_product


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-20, 5), min_size=1, max_size=30), st.randoms())
def test_order_and_divided_multiplicities_do_not_matter(logs, random):
    spectrum = Spectrum(np.array(logs))
    mixed = list(logs)
    random.shuffle(mixed)
    other = Spectrum(np.array(mixed))
    np.testing.assert_array_equal(spectrum.log_values, other.log_values)
    np.testing.assert_allclose(spectrum.counts, other.counts, rtol=1e-12)
    assert spectrum.counts.sum() == pytest.approx(len(logs))
    assert spectrum.trace == pytest.approx(np.exp(logs).sum())
    np.testing.assert_allclose(spectrum.log_eigenvalues(), np.sort(logs)[::-1], rtol=0, atol=1e-10)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats(-30, 2), min_size=1, max_size=12),
    st.lists(st.floats(-30, 2), min_size=1, max_size=12),
    st.integers(1, 60),
)
def test_products_by_brute_force(first, second, most):
    a = Spectrum(np.array(first), log_tail=-3.0)
    b = Spectrum(np.array(second), log_tail=-4.0)
    both = tensor_product(a, b, most)
    every = np.sort(np.add.outer(first, second).ravel())[::-1]
    kept = both.log_eigenvalues()
    np.testing.assert_allclose(kept, every[: len(kept)], rtol=0, atol=1e-9)
    assert both.trace == pytest.approx(a.trace * b.trace, rel=1e-12)
    commuted = tensor_product(b, a, most)
    assert commuted.trace == pytest.approx(both.trace, rel=1e-12)


def test_products_keep_digits_of_small_tails():
    # A difference of traces would lose e^-200 beside 1.
    a = Spectrum(np.array([0.0, -100.0]), log_tail=-200.0)
    both = tensor_product(a, a, 4)
    assert both.log_tail == pytest.approx(-200.0 + np.log(2.0), abs=1e-12)


def test_laws_have_their_sums():
    assert power_law(2.0, scale=3.0, n=50).trace == pytest.approx(9 * 1.2020569031595942)
    # By direct summation; the integral may exceed the sum of the tail.
    for rate, power in ((1.0, 1.0), (0.2, 2.0), (0.5, 0.5)):
        law = exponential_law(rate, power)
        j = np.arange(1.0, 200_000)
        assert law.trace == pytest.approx(np.exp(-rate * j**power).sum(), rel=1e-12)
        assert -3200 < law.log_tail < law.log_values[-1] + 20
    with pytest.raises(ValueError, match="exponent must be positive"):
        power_law(0.0)
    with pytest.raises(ValueError, match="rate must be positive"):
        exponential_law(-1.0)


def test_the_decay_of_eigenvalues_is_classified():
    # lambda_j = j^(-a-1) for an exponential kernel has a = 1; see also mercer.inspect.
    assert power_law(1.0, n=500).decay().exponent == pytest.approx(2.0, rel=1e-6)
    assert exponential_law(0.05, 2.0).decay().kind == "gaussian"


def test_cutoff_is_the_largest_frequency_so_far():
    spectrum = Spectrum(
        np.log([5.0, 3.0, 4.0]), np.log([1.0, 2.0, 2.0]), -9.0, 1.0, [0.0, 1.0, 7.0]
    )
    assert [spectrum.cutoff(k) for k in range(6)] == [0.0, 0.0, 7.0, 7.0, 7.0, 7.0]
    with pytest.raises(ValueError, match="5 eigenvalues"):
        spectrum.cutoff(6)
    with pytest.raises(ValueError, match="without frequencies"):
        power_law(1.0).cutoff(3)


def test_refusals():
    with pytest.raises(ValueError, match="above 0"):
        Spectrum(np.array([-np.inf]))
    with pytest.raises(ValueError, match="equal length"):
        Spectrum(np.zeros(3), np.zeros(2))
    with pytest.raises(ValueError, match="occurs"):
        Spectrum(np.zeros(1), np.array([30.0])).log_eigenvalues()
