"""Weight functions: the losses they belong to, and the parabolas that lie above those."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from mercer.smoothing.weights import WEIGHTS, HampelWeights, HuberWeights, WeightFunction

NAMES = sorted(WEIGHTS)
CONVEX = {"huber", "logistic"}
SIZES = np.r_[0.0, 1e-12, np.geomspace(1e-3, 30.0, 60)]


def make(name, c=1.7) -> WeightFunction:
    return WEIGHTS[name](c)


@pytest.mark.parametrize("name", NAMES)
def test_the_loss_is_the_integral_of_the_pull(name):
    w = make(name)
    kinks = [1.7, 1.2 * 1.7]
    for r in (0.01, 1.0, 1.6, 1.9, 2.5, 9.0):
        points = [k for k in kinks if k < r] or None
        area = quad(lambda t: t * float(w.weight(np.array(t))), 0, r, points=points, limit=200)[0]
        # The error that quad promises, absolute and relative.
        assert float(w.value(np.array(r))) == pytest.approx(area, rel=2e-8, abs=2e-8)


@pytest.mark.parametrize("name", NAMES)
def test_weights_fall_from_one_and_are_even(name):
    w = make(name).weight(SIZES)
    assert w[0] == 1.0
    assert np.all(np.diff(w) <= 1e-15)
    assert np.all((w >= 0) & (w <= 1))
    np.testing.assert_array_equal(w, make(name).weight(-SIZES))
    np.testing.assert_array_equal(make(name).value(SIZES), make(name).value(-SIZES))


@pytest.mark.parametrize("name", NAMES)
def test_parabolas_lie_above(name):
    w = make(name)
    at = SIZES[:, None]
    parabola = w.value(at) + 0.5 * w.weight(at) * (SIZES**2 - at**2)
    # Rounding of sums whose terms are at most 0.5 * 30^2.
    assert np.all(parabola - w.value(SIZES) >= -1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_convexity_is_as_declared(name):
    slopes = np.diff(make(name).slope(np.linspace(-20, 20, 4001)))
    assert make(name).convex is (name in CONVEX)
    assert bool(np.all(slopes >= -1e-12)) is make(name).convex


def test_loss_of_small_errors_is_half_their_square():
    for name in NAMES:
        # The next term is of the order r^4 / c^2, a part in 10^8 here.
        assert make(name).value(np.array([1e-4]))[0] == pytest.approx(0.5e-8, rel=1e-7)


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"hampel"}))
def test_the_default_keeps_95_per_cent(name):
    """Asymptotic efficiency for normal errors, (E psi')^2 / E psi^2 with E psi' = E r psi."""
    w = WEIGHTS[name](WEIGHTS[name].tuning)
    r = np.linspace(-10, 10, 400_001)
    p = norm.pdf(r) * (r[1] - r[0])
    psi = w.slope(r)
    # The constants are printed with four digits, the efficiency changes by less than 0.001 a digit.
    assert np.sum(p * r * psi) ** 2 / np.sum(p * psi**2) == pytest.approx(0.95, abs=1e-3)


def test_huber_at_infinity_is_the_square():
    r = np.array([-3.0, 0.1, 8.0])
    np.testing.assert_allclose(HuberWeights(1e9).value(r), 0.5 * r**2)


@pytest.mark.parametrize("name", NAMES)
def test_refuses_a_size_that_is_none(name):
    with pytest.raises(ValueError, match="c must be"):
        WEIGHTS[name](0.0)


def test_refuses_a_reach_that_is_none():
    with pytest.raises(ValueError, match="reach must be larger than one"):
        HampelWeights(1.0, reach=1.0)
