"""Laws of convex losses: Fenchel and Young's inequality, derivatives, their inverses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cases import CLASSIFICATION, LOSSES
from mercer.losses import (
    Absolute,
    Custom,
    EpsilonInsensitive,
    Hinge,
    Huber,
    LogCosh,
    QuadraticDualLoss,
    Several,
    Squared,
    loss_from_density,
)
from mercer.losses.base import BOX_SLACK
from mercer.losses.interval import within
from mercer.losses.softmax import Softmax
from mercer.losses.stacked import stack

EPS = np.finfo(float).eps
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
numbers = st.floats(-4, 4)
fractions = st.floats(0, 1)
# Fifteen losses and eleven laws: forty examples of each are several thousand.
few = settings(max_examples=40)


def target(loss, y):
    """Turn a number into a target: itself, or its sign for a loss of the margin."""
    y = float(np.where(y > 0, 1.0, -1.0)) if type(loss) in map(type, CLASSIFICATION) else y
    return np.array(y)


def slope(loss, y, fraction):
    """Return a slope of the loss, at most four in magnitude where it is not bounded."""
    lower, upper = (np.clip(bound, -4.0, 4.0) for bound in loss.slopes(y))
    return np.array((1 - fraction) * lower + fraction * upper)


def rounding(loss, y, f, v):
    """Return the error of evaluating all that is compared here, a few times over."""
    return 32 * EPS * (1.0 + abs(v * f) + loss.value(y, f) + abs(loss.conjugate(y, v)) + abs(v * y))


@every_loss
@few
@given(y=numbers, f=numbers, fraction=fractions)
def test_fenchel_young_inequality(loss, y, f, fraction):
    y, f = target(loss, y), np.array(f)
    v = slope(loss, y, fraction)
    assert loss.value(y, f) + loss.conjugate(y, v) - v * f >= -rounding(loss, y, f, v)


@every_loss
@few
@given(y=numbers, f=numbers)
def test_equality_at_the_gradient(loss, y, f):
    y, f = target(loss, y), np.array(f)
    v = loss.gradient(y, f)
    gap = loss.value(y, f) + loss.conjugate(y, v) - v * f
    assert abs(gap) <= rounding(loss, y, f, v)
    assert loss.violation(y, f, v) <= 16 * EPS * (1 + abs(y) + abs(f))


@every_loss
@few
@given(y=numbers, fraction=fractions)
def test_equality_at_the_gradient_of_the_conjugate(loss, y, fraction):
    y = target(loss, y)
    v = slope(loss, y, fraction)
    f = loss.conjugate_gradient(y, v)
    if np.isinf(f):  # the ends of the logistic losses, where the supremum is a limit
        assert v in np.stack(loss.slopes(y))
        return
    gap = loss.value(y, f) + loss.conjugate(y, v) - v * f
    assert abs(gap) <= rounding(loss, y, f, v)


@every_loss
@few
@given(y=numbers, f=numbers, fraction=fractions)
def test_violation_and_gap_vanish_together(loss, y, f, fraction):
    y, f = target(loss, y), np.array(f)
    v = slope(loss, y, fraction)
    gap = loss.value(y, f) + loss.conjugate(y, v) - v * f
    violation = loss.violation(y, f, v)
    # A slope that rounding may have taken from the end of its range counts as the end, where any
    # decision value beyond is optimal; the logistic loss forgives nothing at its infinite ends.
    end = np.nan_to_num(loss.conjugate_gradient(y, v), posinf=0.0, neginf=0.0)
    forgiven = BOX_SLACK * abs(v) * abs(f - end)
    if violation == 0:
        assert gap <= rounding(loss, y, f, v) + forgiven
    if gap > rounding(loss, y, f, v) + forgiven:
        assert violation > 0
    # With f' where the slope is v, the gap is l(f) - l(f') - v (f - f'), which convexity bounds.
    away = abs(loss.gradient(y, f) - v) * abs(f - loss.conjugate_gradient(y, v))
    assert np.isnan(away) or gap <= away + rounding(loss, y, f, v)


@every_loss
@few
@given(y=numbers, f=numbers)
def test_gradient_lies_between_difference_quotients(loss, y, f):
    # Convexity alone: no quotient to the left exceeds a subgradient, none to the right is below.
    y, f, h = target(loss, y), np.array(f), 1e-6
    here = loss.value(y, f)
    left, right = (here - loss.value(y, f - h)) / h, (loss.value(y, f + h) - here) / h
    slack = 8 * EPS * (1.0 + abs(y) + abs(f) + here) / h
    assert left - slack <= loss.gradient(y, f) <= right + slack


@every_loss
@few
@given(y=numbers, fraction=st.floats(0.01, 0.99))
def test_conjugate_gradient_lies_between_difference_quotients(loss, y, fraction):
    y, h = target(loss, y), 1e-6
    v = slope(loss, y, fraction)
    here = loss.conjugate(y, v)
    left, right = (here - loss.conjugate(y, v - h)) / h, (loss.conjugate(y, v + h) - here) / h
    slack = 8 * EPS * (1.0 + abs(v * y) + abs(here)) / h
    assert left - slack <= loss.conjugate_gradient(y, v) <= right + slack


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss.smooth], ids=repr)
@few
@given(y=numbers, f=numbers)
def test_curvature_is_the_change_of_the_gradient(loss, y, f):
    y, h = target(loss, y), 1e-5
    f = f + h * np.arange(-1, 2)
    change = (loss.gradient(y, f[2]) - loss.gradient(y, f[0])) / (2 * h)
    curvature = loss.curvature(y, f)
    # A mean of the curvature over the interval lies between its extremes, found at the three points
    # up to h^2 times its second derivative, which none of these losses has above 50 within reach.
    slack = 50 * h * h + 8 * EPS * (1 + abs(loss.gradient(y, f[1])) + abs(y) + abs(f[1])) / h
    assert curvature.min() - slack <= change <= curvature.max() + slack


@every_loss
@few
@given(y=numbers, fraction=st.floats(0.02, 0.98))
def test_conjugate_curvature_is_the_change_of_its_gradient(loss, y, fraction):
    y, h = target(loss, y), 1e-6
    v = slope(loss, y, fraction)
    if abs(v) < 2 * h:  # two pieces meet at zero
        return
    v = v + h * np.arange(-1, 2)
    change = np.diff(loss.conjugate_gradient(y, v[[0, 2]]))[0] / (2 * h)
    curvature = loss.conjugate_curvature(y, v)
    # Monotone on each side of zero, except for the logistic loss, whose smallest value is at 1/2.
    slack = 8 * EPS * (1 + abs(y) + abs(loss.conjugate_gradient(y, v[1]))) / h + 1e-9
    assert curvature.min() - slack <= change <= curvature.max() + slack


@every_loss
@few
@given(y=numbers, f=st.lists(numbers, min_size=2, max_size=2))
def test_convex(loss, y, f):
    y, (low, high) = target(loss, y), sorted(f)
    middle = loss.value(y, np.array(0.5 * (low + high)))
    mean = 0.5 * (loss.value(y, np.array(low)) + loss.value(y, np.array(high)))
    assert middle <= mean + 8 * EPS * (1 + mean)
    assert loss.gradient(y, np.array(low)) <= loss.gradient(y, np.array(high))


@every_loss
@few
@given(y=numbers, f=numbers)
def test_slopes_bound_the_gradient(loss, y, f):
    y, f = target(loss, y), np.array(f)
    lower, upper = loss.slopes(y)
    assert lower <= loss.gradient(y, f) <= upper
    assert lower <= 0 <= upper


@every_loss
@few
@given(y=numbers, f=numbers)
def test_a_mirrored_loss_has_its_sides_exchanged(loss, y, f):
    y, f = target(loss, y), np.array(f)
    other = loss.mirrored()
    expected = loss.value(-y, -f)
    # Subtraction from one rounds a level, and sums of a target and a width round as always.
    slack = 8 * EPS * (1.0 + abs(y) + abs(f)) * (1.0 + abs(expected))
    assert abs(other.value(y, f) - expected) <= slack, (
        f"{loss!r} treats its two sides differently: write mirrored(), which exchanges them"
    )


@every_loss
@settings(max_examples=15)
@given(y=numbers, f=numbers, g=numbers)
def test_lipschitz_constants_bound_differences_of_losses(loss, y, f, g):
    y, f, g = target(loss, y), np.array(f), np.array(g)
    low, high = min(f, g), max(f, g)
    rise = abs(loss.value(y, f) - loss.value(y, g))
    noise = rounding(loss, y, f, np.array(0.0)) + rounding(loss, y, g, np.array(0.0))
    # The ends of the range are the two values, so that a constant of the inside would be too small.
    constant = loss.lipschitz(y, float(low), float(high))
    assert rise <= constant * (high - low) * (1 + 8 * EPS) + noise
    assert np.all(constant <= loss.lipschitz(y) * (1 + 8 * EPS) + 8 * EPS)


@every_loss
@few
@given(y=numbers, z=numbers, t=st.floats(0.01, 10.0))
def test_the_proximal_map_splits_a_point_into_value_and_slope(loss, y, z, t):
    """Moreau's decomposition z = f + t v with v a slope at f, which the conjugate confirms."""
    y, z = target(loss, y), np.array(z)
    f = loss.prox(y, z, t)
    v = (z - f) / t
    lower, upper = loss.slopes(y)
    # An error e of f is one of e / t of the slope; both enter the gap times slopes, which grow at
    # most as squares here.
    e = 8 * EPS * (1.0 + abs(z) + abs(y) + t * abs(v))
    v = np.clip(v, lower, upper) if np.all(v >= lower - e / t) and np.all(v <= upper + e / t) else v
    gap = loss.value(y, f) + loss.conjugate(y, v) - v * f
    assert (
        abs(gap) <= rounding(loss, y, f, v) + (1 + 1 / t) * e * (1 + abs(f) + abs(v) + abs(y)) ** 2
    )


@every_loss
def test_no_point_of_a_grid_beats_the_proximal_map(loss):
    rng = np.random.default_rng(0)
    y = np.array([float(target(loss, value)) for value in rng.normal(size=20)])
    z = 3.0 * rng.normal(size=20)
    f = loss.prox(y, z, 0.7)

    def cost(g):
        return 0.7 * loss.value(y, g) + 0.5 * (g - z) ** 2

    for step in np.linspace(-4.0, 4.0, 401):
        assert np.all(cost(f) <= cost(f + step) + 1e-12)


# Losses made of others, with targets of one and minus one; the first are of censored targets.
COMPOSED = {
    "censored above": within(Squared(), 0.0, np.inf),
    "censored below": within(EpsilonInsensitive(0.1), np.inf, 0.2),
    "censored above, smooth": within(LogCosh(), 0.0, np.inf),
    "unknown": within(Absolute(), np.inf, np.inf),
    "several": Several([EpsilonInsensitive(0.1), Huber(0.5)]),
    "stacked": stack([Squared(), Hinge()], [2, 2]),
    "density": loss_from_density(stats.logistic()),
    "custom": Custom(
        lambda r: np.where(r**2 <= 1.0, r**2 / 2, np.where(r**2 > 1.0, np.abs(r) - 0.5, 0.0)),
        lambda r: np.where(r**2 <= 1.0, r, np.where(r > 1.0, 1.0, np.where(r < -1.0, -1.0, 0.0))),
        lambda r: np.where(r**2 <= 1.0, 1.0, 0.0),
    ),
}
NAMED = {repr(loss): loss for loss in LOSSES} | COMPOSED
Y = np.array([1.0, -1.0, 1.0, -1.0])
BAD = np.array([True, False, True, False])


@pytest.mark.parametrize("loss", NAMED.values(), ids=NAMED.keys())
@pytest.mark.parametrize("name", ["value", "gradient", "curvature", "prox", "violation"])
def test_nan_has_the_cost_nan(loss, name):
    f = np.array([0.3, 0.3, -0.3, 0.3])
    bad_y, bad_f = np.where(BAD, np.nan, Y), np.where(BAD, np.nan, f)
    call, v = getattr(loss, name), loss.gradient(Y, f)
    rest = (v,) if name == "violation" else ()
    for targets, places in ((Y, bad_f), (bad_y, f), (bad_y, bad_f)):
        np.testing.assert_array_equal(np.isnan(call(targets, places, *rest)), BAD)
    if name == "violation":
        np.testing.assert_array_equal(np.isnan(call(Y, f, np.where(BAD, np.nan, v))), BAD)


@pytest.mark.parametrize("loss", NAMED.values(), ids=NAMED.keys())
@pytest.mark.parametrize("name", ["conjugate", "conjugate_gradient", "conjugate_curvature"])
def test_nan_has_the_conjugate_nan(loss, name):
    call, v = getattr(loss, name), slope(loss, Y, 0.25)
    np.testing.assert_array_equal(np.isnan(call(Y, np.where(BAD, np.nan, v))), BAD)
    if name != "conjugate_curvature":  # the only one that depends on no target
        np.testing.assert_array_equal(np.isnan(call(np.where(BAD, np.nan, Y), v)), BAD)


@pytest.mark.parametrize("loss", NAMED.values(), ids=NAMED.keys())
def test_weighted_losses_and_conjugates_of_nan_are_nan(loss):
    weighted = loss.weigh(Y, np.full(4, 2.0))
    f = np.array([0.3, 0.3, -0.3, 0.3])
    a = -2.0 * loss.gradient(Y, f)
    bad_a, bad_f = np.where(BAD, np.nan, a), np.where(BAD, np.nan, f)
    np.testing.assert_array_equal(np.isnan(weighted.value(bad_f)), BAD)
    np.testing.assert_array_equal(np.isnan(weighted.conjugate(bad_a)), BAD)
    np.testing.assert_array_equal(np.isnan(weighted.violation(bad_a, f)), BAD)
    # Any decision value goes with a coefficient that can only be zero.
    free = BAD & (weighted.lower < weighted.upper)
    np.testing.assert_array_equal(np.isnan(weighted.violation(a, bad_f)), free)


@pytest.mark.parametrize("loss", NAMED.values(), ids=NAMED.keys())
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_losses_have_their_limits_at_infinity(loss, side):
    f = np.full(4, side * np.inf)
    # A convex function is infinite at infinity unless its slope vanishes on the way there.
    end = loss.slopes(Y)[1 if side > 0 else 0]
    limit = np.where(end == 0, loss.value(Y, np.full(4, side * 1e3)), np.inf)
    np.testing.assert_array_equal(loss.value(Y, f), limit)
    np.testing.assert_array_equal(loss.weigh(Y, np.full(4, 2.0)).value(f), 2.0 * limit)
    np.testing.assert_array_equal(loss.gradient(Y, f), end)
    np.testing.assert_array_equal(loss.prox(Y, f), f)
    if not isinstance(loss, Custom) or loss.bend is not None:  # differences know none there
        assert np.all(loss.curvature(Y, f) >= 0)
    if isinstance(loss, QuadraticDualLoss):
        bend = loss.curvature(Y, np.full(4, side * 1e3))
        np.testing.assert_array_equal(loss.curvature(Y, f), bend)
    attained, v = np.isfinite(end), np.where(np.isfinite(end), end, side)
    np.testing.assert_array_equal(loss.violation(Y, f, v) > 0, ~attained)
    np.testing.assert_array_equal(loss.violation(Y, f, 0.5 * v) > 0, v != 0)
    np.testing.assert_array_equal(loss.conjugate(Y, f), np.inf)


def test_the_loss_of_classes_keeps_nan_and_has_limits():
    y = np.array([0, 1, 0, 2, 0])
    f = np.array(
        [[np.nan, 0, 0], [np.inf, 0, 0], [np.inf, 0, 0], [0, 0, -np.inf], [-1, -np.inf, -np.inf]]
    )
    np.testing.assert_array_equal(Softmax().value(y, f), [np.nan, np.inf, 0, np.inf, 0])
    np.testing.assert_array_equal(Softmax().probability(f)[1:3], [[1, 0, 0], [1, 0, 0]])
    assert np.isnan(Softmax().slope(y, f)[0]).all()
