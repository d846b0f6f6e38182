"""Rates: laws of decay against the best scaling of their eigenvalues and of the lattice."""

import numpy as np
import pytest

from covers_brute import water_filling
from mercer.inspect.bands import spectral_decay
from mercer.kernels import Gaussian, Matern
from mercer_research.covering import (
    ExponentialDecay,
    PolynomialDecay,
    exponential_law,
    growth_exponent,
    lattice_rate,
    power_law,
)


@pytest.mark.parametrize(("exponent", "ratio"), [(1.0, 0.9995), (3.0, 0.9970)])
def test_the_asymptote_of_polynomial_decay(exponent, ratio):
    found = 6 * water_filling(power_law(exponent, n=20_000), 5000.0)[0]
    assert found / np.exp(PolynomialDecay(exponent).log_asymptote(5000.0)) == pytest.approx(
        ratio, abs=5e-5
    )


@pytest.mark.parametrize("exponent", [0.5, 1.0, 3.0])
def test_polynomial_laws_are_above_the_best_scaling(exponent):
    spectrum, law = power_law(exponent, n=20_000), PolynomialDecay(exponent)
    for log_n in (0.3, 2.0, 50.0, 1000.0, 5000.0):
        value = 6 * water_filling(spectrum, log_n)[0]
        assert np.exp(law.log_scale(log_n)) * 6 >= value
    # The least of the printed bound over tau, on a fine grid.
    for log_n in (5.0, 300.0):
        tau = np.linspace(0.0, min(exponent, 2 * log_n), 100_001)[1:-1]
        bound = np.sqrt(1 + 1 / (exponent - tau)) * (2 * log_n / tau) ** (-tau / 2)
        assert np.exp(law.log_scale(log_n)) == pytest.approx(np.min(bound), rel=1e-6)
    # With 1/(alpha - tau) about ln(2 ln n) it falls like sqrt(ln(2 ln n)) (ln n)^(-alpha/2).
    far = np.array([1e8, 1e12])
    expected = 0.5 * np.log(np.log(2 * far)) - 0.5 * exponent * np.log(far)
    found = [law.log_scale(L) for L in far]
    assert np.diff(found) == pytest.approx(np.diff(expected), abs=0.02)


@pytest.mark.parametrize(("rate", "power"), [(1.0, 1.0), (0.2, 2.0), (0.05, 2.0), (0.5, 0.5)])
def test_exponential_laws_of_the_specification(rate, power):
    # Constants large enough that the norm of the class does not cut the bound.
    spectrum, law = exponential_law(rate, power), ExponentialDecay(rate, power)
    for log_n in (20.0, 100.0, 400.0):
        if law.log_entropy(log_n) < np.log(law.norm) - 1e-9:
            ratio = np.exp(law.log_entropy(log_n)) / 6 / water_filling(spectrum, log_n)[0]
            assert 1.09 < ratio < 2.8
    assert law.log_entropy(400.0) < np.log(law.norm)


@pytest.mark.parametrize("exponent", [0.5, 1.0, 3.0])
def test_covering_numbers_invert_entropy_numbers(exponent):
    law = PolynomialDecay(exponent)
    for log_n in (30.0, 300.0, 3000.0):
        log_radius = law.log_entropy(log_n)
        if log_radius < np.log(law.norm) - 1e-9:
            assert law.log_covering(np.exp(log_radius)) == pytest.approx(log_n, rel=1e-8)
    radii = np.geomspace(1e-2, 2.0, 20) * law.norm
    assert (np.diff([law.log_covering(r) for r in radii]) <= 0).all()
    assert law.log_covering(law.norm) == 0.0


def test_constants_scale():
    law = PolynomialDecay(2.0, 2.0, eigenfunction_bound=3.0, norm=5.0)
    plain = PolynomialDecay(2.0)
    assert law.log_covering(3.0) == pytest.approx(plain.log_covering(0.1), rel=1e-9)
    assert law.norm == pytest.approx(30 * plain.norm)


LATTICE = {
    1: [0.763030, 0.147355, 0.00157815, 3.10657e-8, 1.91998e-23],
    2: [0.922192, 0.555248, 0.154080, 0.0111216, 1.10719e-5],
    3: [0.976587, 0.824100, 0.516022, 0.198086, 0.0186612],
    4: [0.993342, 0.941218, 0.790176, 0.532653, 0.195268],
}


@pytest.mark.parametrize("dim", LATTICE)
def test_the_integral_over_the_lattice(dim):
    for log_n, value in zip((1, 10, 50, 200, 1000), LATTICE[dim], strict=True):
        log = lattice_rate(log_n, 0.5, 2.0, 6.0, dim, scale=(2 * np.pi) ** (dim / 4))
        assert np.exp(log) / 6 == pytest.approx(value, rel=4e-6)


def test_exponents_of_capacity():
    gaussian, matern = spectral_decay(Gaussian()), spectral_decay(Matern(nu=1.5))
    assert growth_exponent(gaussian, 3) == ("log", 2.5)
    assert growth_exponent(gaussian, 3, wrapped=False) == ("log", 4.0)
    kind, value = growth_exponent(matern)
    assert kind == "power"
    assert value == pytest.approx(2 / 4, rel=0.02)  # S = O(w^-4) in one dimension
    assert gaussian.entropy_exponent == growth_exponent(gaussian)


def test_refusals():
    with pytest.raises(ValueError, match="exponent must be positive"):
        PolynomialDecay(0.0)
