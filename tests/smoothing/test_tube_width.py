"""Tubes for a density of noise, and guesses made of the noise."""

import numpy as np
import pytest
from scipy import stats

from mercer.losses import Huber, Squared, density_from_loss
from mercer.smoothing import fit_noise, optimal_epsilon, optimal_nu, tube_efficiency
from mercer.smoothing.tube_width import tube_variance

# Table 2.3 of Smola's thesis, with what the scan lost computed again: power, epsilon, nu.
TABLE = [
    (1.0, 0.0, 1.0),
    (1.25, 0.0363, 0.9600),
    (1.5, 0.2093, 0.8067),
    (1.75, 0.4188, 0.6575),
    (2.0, 0.6120, 0.5405),
    (3.0, 1.1180, 0.2909),
    (4.0, 1.3583, 0.1898),
    (5.0, 1.4844, 0.1384),
    (8.0, 1.6339, 0.0743),
    (10.0, 1.6704, 0.0563),
]


@pytest.mark.parametrize(("power", "epsilon", "nu"), TABLE)
def test_the_printed_table(power, epsilon, nu):
    assert abs(optimal_epsilon(power) - epsilon) < 1e-4
    assert abs(optimal_nu(power) - nu) < 1e-4


def test_gaussian_efficiency_has_its_closed_form():
    for t in (0.0, 0.3, 0.612, 1.5):
        inverse = np.pi / 2 * np.exp(t**2) * 2 * stats.norm.sf(t)
        np.testing.assert_allclose(1.0 / tube_efficiency("gaussian", t), inverse, rtol=1e-8)


def test_densities_of_scipy_are_read():
    np.testing.assert_allclose(
        tube_efficiency(stats.norm(scale=3.0), 1.8), tube_efficiency("gaussian", 0.6), rtol=1e-5
    )


def test_laplacian_efficiency_has_its_closed_form():
    scale = 1.0 / np.sqrt(2.0)
    for t in (0.0, 0.5):
        np.testing.assert_allclose(tube_efficiency("laplace", t), np.exp(-t / scale), rtol=1e-7)


@pytest.mark.parametrize(
    ("noise", "epsilon"),
    [(stats.norm(), 0.612), (stats.gumbel_r(), 0.8), (stats.gumbel_r(loc=3.0), 0.0)],
    ids=["normal", "gumbel", "median of gumbel"],
)
def test_variance_is_that_of_draws(noise, epsilon):
    draws = noise.rvs((3000, 200), random_state=0)
    # The minimizers of the summed loss: bisection for the sign of its derivative.
    low, high = np.full(3000, -4.0), np.full(3000, 8.0)
    for _ in range(45):
        middle = 0.5 * (low + high)
        r = draws - middle[:, None]
        slope = np.sum(r > epsilon, axis=1) - np.sum(r < -epsilon, axis=1)
        low, high = np.where(slope > 0, middle, low), np.where(slope > 0, high, middle)
    # A variance of 3000 draws has a standard error of sqrt(2/3000); n = 200 is nearly asymptotic.
    np.testing.assert_allclose(
        200 * np.var(low), tube_variance(noise, epsilon), rtol=3 * 0.026 + 0.02
    )


@pytest.mark.parametrize(
    ("noise", "information"),
    [
        (stats.norm(scale=2.0), 1 / 4),
        (stats.laplace(scale=2.0), 1 / 4),
        (stats.logistic(scale=2.0), 1 / 12),
        (stats.t(3), 4 / 6),
        (stats.gumbel_r(scale=2.0), 1 / 4),
        (stats.gamma(4.0), 1 / 2),  # 1 / (k - 2), and no score that is known beforehand
        (Squared(), 1.0),
        (density_from_loss(Squared(), C=4.0), 4.0),
        (lambda z: -(np.abs(z) ** 3), None),
    ],
)
def test_efficiency_is_relative_to_the_fisher_information(noise, information):
    if information is None:
        known = stats.gennorm(3.0)
        np.testing.assert_allclose(
            tube_efficiency(noise, 0.5), tube_efficiency(known, 0.5), rtol=1e-6
        )
        return
    product = tube_efficiency(noise, 0.3) * tube_variance(noise, 0.3)
    # Of log-densities without a known slope by differences, and tails of 1e-12 left out.
    np.testing.assert_allclose(product, 1 / information, rtol=1e-5)
    assert 0 < tube_efficiency(noise, 0.3) <= 1


def test_a_skewed_density_has_its_best_tube():
    noise = stats.gumbel_r(scale=2.0)
    best = optimal_epsilon(noise)
    here = tube_variance(noise, best)
    assert all(here <= tube_variance(noise, best * t) for t in (0.0, 0.5, 0.95, 1.05, 2.0))
    np.testing.assert_allclose(best, 2.0 * optimal_epsilon(stats.gumbel_r()), rtol=1e-6)
    np.testing.assert_allclose(best, optimal_epsilon(stats.gumbel_l(loc=5, scale=2.0)), rtol=1e-6)


def test_sharp_ends_are_capped():
    uniform = stats.uniform(-1, 2)
    # G = 1 - t and Q = 1: the variance falls to nothing, where one per cent is left outside.
    for t in (0.0, 0.5, 0.9):
        np.testing.assert_allclose(tube_variance(uniform, t), 1 - t, rtol=1e-9)
    with pytest.warns(UserWarning, match="sharp ends"):
        np.testing.assert_allclose(optimal_epsilon(uniform), 0.99, rtol=1e-6)
    with pytest.warns(UserWarning, match="sharp ends"):
        np.testing.assert_allclose(optimal_nu(uniform), 0.01, rtol=1e-6)
    with pytest.raises(ValueError, match="no best variance"):
        tube_efficiency(uniform, 0.1)
    assert tube_variance(uniform, 2.0) == np.inf


def test_losses_are_densities_too():
    np.testing.assert_allclose(optimal_epsilon(Squared()), optimal_epsilon("gaussian"), rtol=1e-6)
    np.testing.assert_allclose(optimal_nu(Squared()), optimal_nu("gaussian"), rtol=1e-6)
    # Between Laplacian and Gaussian noise.
    assert optimal_nu("gaussian") < optimal_nu(Huber(1.0)) < 1.0


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0, 4.0])
def test_the_power_of_the_noise_is_found(power):
    known = stats.gennorm(power, loc=0.5, scale=2.0)
    z = known.rvs(4000, random_state=1)
    found = fit_noise(z, location=None)
    # The information of 4000 draws on log p is at least 1000 in this range of powers.
    assert abs(np.log(found.power / power)) < 3 / np.sqrt(1000)
    assert found.sigma == pytest.approx(known.std(), rel=3 / np.sqrt(2 * 1000))
    np.testing.assert_allclose(found.log_likelihood, np.sum(found.density.logpdf(z)), rtol=1e-9)
    # No better than the best that a general search finds, and no worse than Gaussian.
    general = np.sum(stats.gennorm(*stats.gennorm.fit(z)).logpdf(z))
    assert found.log_likelihood >= general - 1.92 - 1e-6
    assert found.gain >= 0.0
    assert found.nu == optimal_nu(found.power)
    assert found.epsilon == pytest.approx(found.sigma * optimal_epsilon(found.power))


def test_weights_of_residuals_are_repetitions():
    z = np.random.default_rng(0).laplace(size=60)
    w = np.random.default_rng(1).integers(0, 3, 60)
    weighted, repeated = fit_noise(z, w), fit_noise(np.repeat(z, w))
    np.testing.assert_allclose(weighted.power, repeated.power, rtol=1e-5)
    np.testing.assert_allclose(weighted.sigma, repeated.sigma, rtol=1e-5)
    assert fit_noise(np.zeros(5)).power == 2.0
    with pytest.raises(ValueError, match="weights"):
        fit_noise(z, -np.ones(60))
    with pytest.raises(ValueError, match="at or above 1"):
        fit_noise(z, powers=(0.5, 2.0))


def test_widths_scale_with_the_noise():
    np.testing.assert_allclose(
        optimal_epsilon(stats.norm(scale=2.0)), 2.0 * optimal_epsilon("gaussian"), rtol=1e-6
    )
    np.testing.assert_allclose(optimal_epsilon("gaussian", 2.0), 2.0 * optimal_epsilon("gaussian"))
    np.testing.assert_allclose(optimal_nu(stats.norm(scale=2.0)), optimal_nu("gaussian"), rtol=1e-6)


def test_densities_that_are_none_are_refused():
    with pytest.raises(ValueError, match="must not be negative"):
        tube_variance("gaussian", -1.0)
    with pytest.raises(ValueError, match="power of at least 1"):
        optimal_nu(0.5)
    with pytest.raises(ValueError, match="noise must be"):
        optimal_nu("magic")
