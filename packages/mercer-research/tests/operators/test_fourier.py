"""Fourier integrals against closed forms: poles, long tails, ripples."""

import numpy as np
import pytest
from scipy import special

from mercer_research.operators._fourier import cosine_integrals

T = np.array([0.0, 0.3, 1.0, 2.0, 7.5])

CASES = {
    "gaussian": (lambda w: np.exp(-0.5 * w**2), np.sqrt(0.5 * np.pi) * np.exp(-0.5 * T**2)),
    "exponential": (lambda w: np.exp(-w), 1.0 / (1.0 + T**2)),
    "long tail": (lambda w: 1.0 / (1.0 + w**2), 0.5 * np.pi * np.exp(-T)),
    "pole": (special.k0, 0.5 * np.pi / np.sqrt(1.0 + T**2)),
    "power": (lambda w: w**-0.9 * np.exp(-w), special.gamma(0.1) * np.real((1.0 + 1j * T) ** -0.1)),
    "ripples": (lambda w: np.sinc(w / np.pi) ** 2, 0.25 * np.pi * np.maximum(2.0 - T, 0.0)),
}


@pytest.mark.parametrize("name", CASES)
def test_closed_forms(name):
    g, expected = CASES[name]
    integrals, error = cosine_integrals(g, T, 1.0)
    assert np.abs(integrals - expected).max() <= 2e-10 * expected[0]
    assert error <= 1e-9 * expected[0]


def test_what_is_not_finite_ends_the_sum():
    """A function that is known up to a frequency only is continued, and the error says how well."""
    known = lambda w: np.where(w < 1e3, 1.0 / (1.0 + w**2), np.nan)  # noqa: E731
    integrals, error = cosine_integrals(known, T, 1.0)
    assert np.abs(integrals - 0.5 * np.pi * np.exp(-T)).max() <= max(10.0 * error, 1e-9)
    assert error < 1e-5  # what lies beyond is 1e-3
