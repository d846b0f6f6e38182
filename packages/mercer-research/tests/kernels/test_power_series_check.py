"""Taylor coefficients on circles, and the verdict on functions of the inner product."""

from math import factorial

import numpy as np
import pytest
from scipy import special

from mercer_research.kernels import PowerSeries, power_series_check
from mercer_research.kernels.power_series_check import power_series_coefficients

N = np.arange(21)


@pytest.mark.parametrize(
    ("function", "exact"),
    [
        (np.exp, 1 / special.factorial(N)),
        (np.cosh, np.where(N % 2, 0, 1 / special.factorial(N))),
        (lambda z: (z + 1) ** 5, special.comb(5, N)),
        (lambda z: 1 / (1 - z), np.ones(21)),
        (lambda z: 1 / (1 - 30 * z), 30.0**N),
        (lambda z: -np.log1p(-z), np.append(0.0, 1 / N[1:])),
        (lambda z: np.exp(50 * z), 50.0**N / special.factorial(N)),
        (lambda z: 2.5, np.append(2.5, np.zeros(20))),
    ],
)
def test_coefficients_are_exact_up_to_their_errors(function, exact):
    values, errors, bounds = power_series_coefficients(function)
    assert (np.abs(values - exact) <= errors).all()
    assert (errors <= 1e-13 * bounds).all()
    assert (np.abs(exact) <= bounds * (1 + 1e-12)).all()


def test_high_degrees_keep_their_relative_precision():
    values, _, _ = power_series_coefficients(np.exp, degree=100)
    exact = np.array([1 / factorial(n) for n in range(101)])
    np.testing.assert_allclose(values, exact, rtol=1e-12)


@pytest.mark.parametrize(
    "function",
    [
        np.exp,
        np.cosh,
        np.sinh,
        lambda z: (z + 1) ** 7,
        lambda z: np.sinh(np.exp(z)),
        lambda z: 1 / (1 - z),
        np.arcsin,
        lambda z: 0 * z,
    ],
)
def test_accepted(function):
    verdict = power_series_check(function)
    assert verdict
    assert (verdict.status, verdict.index) == ("admissible", None)


@pytest.mark.parametrize(
    ("function", "index", "value"),
    [
        (np.tanh, 3, -1 / 3),
        (np.cos, 2, -0.5),
        (lambda z: np.tanh(z - 1), 0, np.tanh(-1)),
        (lambda z: np.exp(z) - 1e-6 * z**15, 15, 1 / factorial(15) - 1e-6),
        (lambda z: (z - 0.5) ** 2, 1, -1.0),
    ],
)
def test_rejected(function, index, value):
    verdict = power_series_check(function)
    assert not verdict
    assert (verdict.status, verdict.index) == ("rejected", index)
    assert verdict.value == pytest.approx(value, rel=1e-9)
    assert f"degree {index} is" in verdict.reason


def test_what_is_rejected_is_really_not_positive_definite():
    X = 0.3 * np.random.default_rng(0).normal(size=(40, 4))
    values = power_series_check(np.tanh, degree=9).coefficients.values
    kernel = PowerSeries(np.where(np.abs(values) < 1e-12, 0.0, values))
    assert not kernel.positive_definite
    for matrix in (kernel(X), np.tanh(X @ X.T)):
        assert np.linalg.eigvalsh(matrix)[0] < -1e-3


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (np.sqrt, "not the sum of a power series"),
        (np.abs, "up to"),
        (lambda z: 1 / (1 - 1e6 * z), "radius of"),
        (lambda z: z > 0, "not the sum"),
        (lambda z: 1j * z, "not real"),
        (lambda z: special.erfcx("a"), "not supported"),
    ],
)
def test_undecided(function, reason):
    verdict = power_series_check(function)
    assert verdict.status == "undecided"
    assert reason in verdict.reason
