"""Losses and their conjugates at the ends of their domains, where closed forms are known."""

import numpy as np
import pytest
from scipy import stats

from mercer.losses import LogCosh, Logistic, PiecewisePolynomial, PowerHinge, Squared
from mercer.losses.density import SCORES, _MinusLog, density_from_loss
from mercer.losses.interval import Interval


@pytest.mark.parametrize("delta", [0.3, 1.0, 7.0])
def test_the_conjugate_of_log_cosh_ends_at_its_largest_slope(delta):
    y = np.array([-2.0, 0.5])
    for v in (-delta, delta):
        # sup of v f - delta^2 log cosh((y - f)/delta), approached as f grows without bound
        expected = v * y + delta**2 * np.log(2.0)
        np.testing.assert_allclose(LogCosh(delta).conjugate(y, np.full(2, v)), expected, rtol=1e-14)
        assert np.isinf(LogCosh(delta).conjugate(y, np.full(2, 1.001 * v))).all()


@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_the_conjugate_of_the_logistic_loss_is_0_at_both_ends(y):
    v = np.array([0.0, -y])
    np.testing.assert_array_equal(Logistic().conjugate(np.full(2, y), v), 0.0)
    assert np.isinf(Logistic().conjugate(np.full(2, y), np.array([0.01 * y, -1.01 * y]))).all()


@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_the_conjugate_of_a_hinge_to_a_power_begins_at_0(y):
    found = PowerHinge(1.5).conjugate(np.full(3, y), np.array([0.0, -0.1 * y, 0.1 * y]))
    assert found[0] == 0.0  # minus the least loss
    assert np.isfinite(found[1])
    assert np.isinf(found[2])


@pytest.mark.parametrize("delta", [0.3, 2.0])
def test_the_curvature_of_log_cosh_is_one_minus_its_squared_share_of_the_slope(delta):
    r = np.linspace(-3.0, 3.0, 13)
    found = LogCosh(delta).curvature(r, np.zeros(13))
    np.testing.assert_allclose(found, 1.0 - np.tanh(r / delta) ** 2, rtol=1e-9, atol=4e-16)
    assert LogCosh(delta).curvature(np.array([1e6]), np.zeros(1)) < 1e-200


def test_arms_beyond_the_ends_of_a_density_are_straight():
    cost = _MinusLog(stats.norm(), None, float(stats.norm.logpdf(0.0)), 1.0, low=-2.0, high=1.0)
    z = np.array([-3.0, -2.5, -2.0, 0.0, 0.5, 1.0, 1.25, 2.0, 4.0])
    line = np.where(z < -2.0, 2.0 - 2.0 * (z + 2.0), 0.5 + (z - 1.0))
    exact = np.where((z < -2.0) | (z > 1.0), line, 0.5 * z**2)
    np.testing.assert_allclose(cost(z), exact, rtol=1e-6)
    free = _MinusLog(stats.norm(), None, float(stats.norm.logpdf(0.0)), 1.0)
    np.testing.assert_allclose(free(z), 0.5 * z**2, rtol=1e-12)


@pytest.mark.parametrize(
    "loss", [PowerHinge(1.5), PowerHinge(3.0), LogCosh(2.0), Logistic()], ids=repr
)
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_derivatives_of_conjugates_are_those_of_differences(loss, y):
    v = -y * np.array([0.1, 0.4, 0.9])
    labels, h = np.full(3, y), 1e-5
    for derivative, of in (
        (loss.conjugate_gradient, loss.conjugate),
        (loss.conjugate_curvature, loss.conjugate_gradient),
    ):
        slope = (of(labels, v + h) - of(labels, v - h)) / (2 * h)
        # The third derivative times h^2/6 is below 1e-7, rounding below 1e-10.
        np.testing.assert_allclose(derivative(labels, v), slope, rtol=1e-6, atol=1e-7)


GIVEN = {"gennorm": (1.7,), "laplace_asymmetric": (0.6,), "t": (3.0,)}


@pytest.mark.parametrize("name", sorted(SCORES))
def test_derivatives_of_log_densities_are_differences(name):
    z, h = np.array([-1.3, -0.4, 0.3, 1.1]), 1e-6
    given = GIVEN.get(name, ())
    log = getattr(stats, name)(*given).logpdf
    slope = (log(z + h) - log(z - h)) / (2 * h)
    np.testing.assert_allclose(SCORES[name](z, *given), slope, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("power", [2.5, 4.0])
def test_curvatures_of_powers_are_differences_of_slopes(power):
    loss = PiecewisePolynomial(power, sigma=0.4)
    y, f, h = np.zeros(6), np.array([-1.5, -0.3, -0.1, 0.2, 0.35, 2.0]), 1e-6
    slope = (loss.gradient(y, f + h) - loss.gradient(y, f - h)) / (2 * h)
    np.testing.assert_allclose(loss.curvature(y, f), slope, rtol=1e-5, atol=1e-6)


def test_one_wide_interval_makes_no_loss_quadratic():
    assert not Interval(Squared(), np.array([0.0, 0.5]), np.zeros(2)).quadratic
    assert not Interval(Squared(), np.zeros(2), np.array([0.5, 0.0])).quadratic
    assert Interval(Squared(), np.zeros(2), np.zeros(2)).quadratic


def test_shares_of_a_density_beyond_its_panels():
    density = density_from_loss(Squared())
    z = np.array([-1e3, -2.0, 0.0, 0.7, 1e3])
    np.testing.assert_allclose(density.cdf(z), stats.norm.cdf(z), rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(density.sf(z), stats.norm.sf(z), rtol=1e-7, atol=1e-12)
    q = np.array([0.01, 0.3, 0.5, 0.99])
    np.testing.assert_allclose(density.ppf(q), stats.norm.ppf(q), rtol=1e-7, atol=1e-9)
