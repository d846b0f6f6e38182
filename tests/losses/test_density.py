"""Losses and densities of noise: closed forms, round trips, and what has none."""

import numpy as np
import pytest
from scipy import special, stats

from mercer import KernelRegressor
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Huber,
    LogCosh,
    PiecewisePolynomial,
    Pinball,
    PolynomialLoss,
    Squared,
    density_from_loss,
    loss_from_density,
)

Z = np.linspace(-4.0, 4.0, 81)


def huber_mass(s):
    """Return the integral of exp(-loss) for the loss r^2 / 2s up to s and r - s/2 beyond."""
    return np.sqrt(2 * np.pi * s) * special.erf(np.sqrt(s / 2)) + 2 * np.exp(-s / 2)


# Table 2.1 with the corrected constant of the polynomial row, and what the library adds to it.
NORMALIZERS = [
    (EpsilonInsensitive(0.7), 2 * (1 + 0.7)),
    (Absolute(), 2.0),
    (Squared(), np.sqrt(2 * np.pi)),
    (PiecewisePolynomial(2.0, sigma=0.6), huber_mass(0.6)),
    (PolynomialLoss(3.0), 2 * special.gamma(1 / 3) / 3 ** (1 - 1 / 3)),
    (PolynomialLoss(1.5), 2 * special.gamma(1 / 1.5) / 1.5 ** (1 - 1 / 1.5)),
    (Pinball(0.3), 1 / 0.3 + 1 / 0.7),
    (Expectile(0.8), np.sqrt(np.pi / 2) * (1 / np.sqrt(0.8) + 1 / np.sqrt(0.2))),
    # The integral of 1 / cosh is pi.
    (LogCosh(1.0), np.pi),
]
table = pytest.mark.parametrize(("loss", "Z0"), NORMALIZERS, ids=lambda x: type(x).__name__)


@table
def test_normalizers_have_their_closed_forms(loss, Z0):
    density = density_from_loss(loss)
    assert np.exp(density.log_normalizer) == pytest.approx(Z0, rel=1e-12)
    constant = -density.logpdf(Z) - loss.value(Z, np.zeros_like(Z))
    np.testing.assert_allclose(constant, np.log(Z0), atol=1e-11)


def test_it_is_read_like_a_distribution():
    mine, known = density_from_loss(Squared(), C=4.0), stats.norm(scale=0.5)
    z = np.linspace(-2.0, 2.0, 21)
    for name in ("pdf", "logpdf", "cdf", "sf", "logsf"):
        np.testing.assert_allclose(getattr(mine, name)(z), getattr(known, name)(z), rtol=1e-11)
    q = np.array([0.001, 0.3, 0.5, 0.99])
    np.testing.assert_allclose(mine.ppf(q), known.ppf(q), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(mine.isf(q), known.isf(q), rtol=1e-10, atol=1e-12)
    assert mine.mean() == pytest.approx(0.0, abs=1e-13)
    assert mine.std() == pytest.approx(0.5, rel=1e-11)
    assert mine.information() == pytest.approx(4.0, rel=1e-11)
    assert mine.support() == (-np.inf, np.inf)
    for ends in ([-np.inf, np.inf], [-1e300, 1e300]):
        np.testing.assert_array_equal(mine.cdf(ends), [0.0, 1.0])
        np.testing.assert_array_equal(mine.sf(ends), [1.0, 0.0])
    draws = density_from_loss(Absolute()).rvs(4000, random_state=0)
    # At the level 1e-3 a right law is refused once in a thousand seeds; this is one of them or not.
    assert stats.kstest(draws, stats.laplace().cdf).pvalue > 1e-3


@pytest.mark.parametrize(
    ("noise", "loss"),
    [
        (stats.norm(), Squared()),
        (stats.laplace(), Absolute()),
        (stats.gennorm(1.5, scale=1.5 ** (1 / 1.5)), PolynomialLoss(1.5)),
        (stats.gennorm(3.0, scale=3.0 ** (1 / 3.0)), PolynomialLoss(3.0)),
        (stats.hypsecant(), LogCosh(1.0)),
    ],
)
def test_losses_of_the_table_come_back(noise, loss):
    mine = loss_from_density(noise)
    zero = np.zeros_like(Z)
    np.testing.assert_allclose(mine.value(Z, zero), loss.value(Z, zero), atol=1e-11)
    np.testing.assert_allclose(mine.gradient(Z, zero), loss.gradient(Z, zero), atol=1e-11)
    back = density_from_loss(mine)
    np.testing.assert_allclose(back.logpdf(Z), noise.logpdf(Z), atol=1e-10)


def test_units_of_the_noise():
    loss = loss_from_density(stats.norm(scale=20.0))
    zero = np.zeros_like(Z)
    np.testing.assert_allclose(loss.value(20 * Z, zero), Z**2 / 2, atol=1e-11)
    skewed = loss_from_density(stats.gumbel_r(scale=2.0))
    np.testing.assert_allclose(skewed.value(2 * Z, zero), Z + np.exp(-Z) - 1, rtol=1e-9, atol=1e-11)


def test_a_log_density_of_ones_own():
    # Of two exponential rates, smooth: log p = -log(exp(z) + exp(-3 z)).
    def log(z):
        return -np.logaddexp(z, -3 * z)

    def score(z):
        return -(1.0 - 4.0 / (1.0 + np.exp(np.clip(4 * z, -700, 700))))

    exact, differences = loss_from_density(log, score), loss_from_density(log)
    zero = np.zeros_like(Z)
    # The slope in f is the derivative of the log-density at the residual.
    np.testing.assert_allclose(exact.gradient(Z, zero), score(Z), atol=1e-12)
    # Central differences over 6e-6: 1e-16 / h + h^2.
    np.testing.assert_allclose(
        exact.gradient(Z, zero), differences.gradient(Z, zero), rtol=1e-7, atol=1e-8
    )
    np.testing.assert_allclose(exact.slopes(np.zeros(1)), [[-1.0], [3.0]], rtol=1e-9)
    assert exact.smooth


def test_a_machine_is_the_most_likely_one():
    # Without kernel and penalty: the location of a logistic sample by likelihood.
    noise = stats.logistic(scale=0.4)
    y = 2.0 + noise.rvs(200, random_state=0)
    machine = KernelRegressor(loss_from_density(noise), kernel="precomputed", C=1.0, tol=1e-9).fit(
        np.zeros((200, 200)), y
    )
    location = stats.logistic.fit(y, fscale=0.4)[0]
    # The simplex search of scipy stops at 1e-4.
    assert machine.intercept_[0] == pytest.approx(location, abs=1e-4)


def test_densities_without_convex_loss():
    student = stats.t(3)
    with pytest.raises(ValueError, match="not log-concave"):
        loss_from_density(student)
    with pytest.raises(ValueError, match="not log-concave"):
        loss_from_density(stats.cauchy())
    proxy = loss_from_density(student, proxy=True)
    zero = np.zeros_like(Z)
    # (nu + 1)/2 log(1 + z^2/nu) bends back at sqrt(nu), where its slope is (nu + 1)/(2 sqrt(nu)).
    end, slope = np.sqrt(3.0), 4.0 / (2 * np.sqrt(3.0))
    within = np.minimum(np.abs(Z), end)
    expected = 2 * np.log1p(within**2 / 3) + slope * (np.abs(Z) - within)
    np.testing.assert_allclose(proxy.value(Z, zero), expected, atol=1e-6)
    # A fall of the slope by less than 1e-8 is taken for rounding.
    np.testing.assert_allclose(proxy.slopes(np.zeros(1)), [[-slope], [slope]], rtol=1e-7)
    with pytest.raises(ValueError, match="zero somewhere"):
        loss_from_density(stats.uniform(-1, 2))
    with pytest.raises(ValueError, match="zero somewhere"):
        loss_from_density(stats.expon())
    with pytest.raises(ValueError, match="kink near"):
        loss_from_density(lambda z: -np.abs(z))


def test_losses_without_density():
    with pytest.raises(ValueError, match="no loss of the residual"):
        density_from_loss(Hinge())
    with pytest.raises(ValueError, match="hardly grows"):
        _ = density_from_loss(Pinball(1.0)).log_normalizer
    with pytest.raises(ValueError, match="differ between samples"):
        density_from_loss(Huber(np.ones(3)))
    with pytest.raises(ValueError, match="C must be"):
        density_from_loss(Squared(), C=0.0)
