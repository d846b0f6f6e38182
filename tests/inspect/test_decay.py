"""The classifier of decay on sequences that follow a law exactly, and on noise."""

import numpy as np
import pytest

from mercer.inspect.decay import classify_decay

J = np.arange(1.0, 400.0)


@pytest.mark.parametrize("a", [1.5, 2.0, 4.0])
def test_polynomial(a):
    decay = classify_decay(3.0 * J**-a)
    assert decay.kind == "polynomial"
    assert decay.exponent == pytest.approx(a, rel=1e-10)
    assert decay.entropy_exponent == ("power", pytest.approx(2.0 / a))
    assert decay.confidence > 0.99


@pytest.mark.parametrize(
    ("p", "kind"), [(0.5, "stretched"), (1.0, "exponential"), (1.5, "stretched"), (2.0, "gaussian")]
)
def test_exponential(p, kind):
    decay = classify_decay(2.0 * np.exp(-0.3 * J**p))
    assert decay.kind == kind
    assert decay.exponent == p
    assert decay.rate == pytest.approx(0.3, rel=1e-8)
    assert decay.entropy_exponent == ("log", pytest.approx(1.0 + 1.0 / p))


def test_oscillation_is_seen_by_its_envelope():
    decay = classify_decay(J**-2.0 * np.cos(J) ** 2)
    assert decay.kind == "polynomial"
    assert decay.exponent == pytest.approx(2.0, abs=0.05)


def test_finite():
    decay = classify_decay(np.where(J <= 7, 1.0, 0.0))
    assert decay.kind == "finite"
    assert decay.rate == 7.0
    assert decay.entropy_exponent == ("log", 1.0)
    assert "nothing above 7" in str(decay)


def test_stretching_is_that_of_the_frequencies():
    decay = classify_decay(np.exp(-0.3 * J**2))
    again = classify_decay(np.exp(-0.3 * J**2), 2.0 * J)
    stretched = decay.stretched(2.0)
    assert stretched.rate == pytest.approx(again.rate)
    finite = classify_decay(np.where(J <= 7, 1.0, 0.0))
    assert finite.stretched(2.0).rate == 14.0
    polynomial = classify_decay(J**-2.0)
    assert polynomial.stretched(2.0) == polynomial


def test_too_little_to_tell():
    assert classify_decay(np.zeros(10)) is None
    assert classify_decay(np.array([1.0, 0.5, 0.2])) is None


@pytest.mark.parametrize(
    ("law", "text"),
    [
        (J**-2.0, "polynomial, omega^-2"),
        (np.exp(-0.5 * J), "exponential, exp(-0.5 omega)"),
        (np.exp(-0.05 * J**2), "Gaussian, exp(-0.05 omega^2)"),
    ],
)
def test_in_words(law, text):
    assert str(classify_decay(law)) == text
