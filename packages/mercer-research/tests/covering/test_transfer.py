"""From functions to losses: constants, covers of losses, and the statement about risks."""

import numpy as np
import pytest

from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Pinball,
    PolynomialLoss,
    Squared,
)
from mercer_research.covering import (
    AlmostLipschitz,
    FiniteClass,
    Interval,
    finite_classes,
    loss_range,
    losses_of,
    real_valued_classes,
    risk_bound_by_covering,
)
from periodic_gaussian import PeriodicGaussian


@pytest.mark.parametrize(
    ("loss", "y", "largest", "lipschitz"),
    [
        (EpsilonInsensitive(0.1), [-1, 1], 2.0, 1.0),
        (Absolute(), [-1, 1], 2.0, 1.0),
        (Hinge(), [-1, 1], 2.0, 1.0),
        (Pinball(0.2), [-1, 1], 2.0, 0.8),
        (Huber(0.5), [-1, 1], 2.0, 0.5),  # delta |r| far away; the normalized loss divides by it
        (Squared(), [-1, 1], 2.0, 3.0),  # W, the largest residual
        (PolynomialLoss(3.0), [-1, 1], 2.0, 9.0),  # W to the power p - 1
        (Logistic(), [-1, 1], 2.0, 1 / (1 + np.exp(-2))),
    ],
    ids=lambda value: type(value).__name__,
)
def test_constants_of_losses(loss, y, largest, lipschitz):
    found = loss_range(loss, y, largest)
    assert found.lipschitz == pytest.approx(lipschitz, rel=1e-12)
    # A fine grid of functions and targets has slopes and values up to that, and not beyond.
    f = np.linspace(-largest, largest, 2001)
    labels = np.array(y) if isinstance(loss, Hinge | Logistic) else np.linspace(*y, 41)
    values = np.array([loss.value(np.full(f.shape, float(t)), f) for t in labels])
    slopes = np.abs(np.diff(values, axis=1)) / (f[1] - f[0])
    assert np.max(slopes) <= lipschitz * (1 + 1e-9)
    assert np.max(slopes) >= lipschitz * 0.99
    assert np.max(values) == pytest.approx(found.largest, rel=1e-12)


def test_a_bound_on_functions_is_needed():
    with pytest.raises(ValueError, match="largest"):
        loss_range(Squared(), [-1, 1], np.inf)


def test_losses_are_covered_where_functions_are():
    # Constants between -1 and 1 on one point with target 0.3: cover, apply, measure.
    f = np.linspace(-1, 1, 4001)
    y = np.full(f.shape, 0.3)
    for loss, radius in ((Squared(), 0.2), (Pinball(0.2), 0.1), (Absolute(), 0.03)):
        lipschitz = loss_range(loss, [0.3], 1.0).lipschitz
        count = int(np.rint(np.exp(losses_of(Interval(1.0), lipschitz).log_covering(radius))))
        centres = (2 * np.arange(count) + 1) / count - 1
        at = loss.value(np.full(count, 0.3), centres)
        gap = np.min(np.abs(loss.value(y, f)[:, None] - at), axis=1)
        assert np.max(gap) <= radius * (1 + 1e-9)
    # In sums over m points a function within m r / L is within r in the mean of losses.
    assert losses_of(Interval(1.0), 2.0, 10).log_covering(0.1) == Interval(1.0).log_covering(0.5)


def test_losses_that_jump():
    # |f| rounded down to tenths: differences are at most |f - f'| + 0.1 <= 2 max(|f - f'|, 0.1).
    jump = 0.2
    f = np.linspace(-1, 1, 20001)
    rounded = np.floor(10 * np.abs(f)) / 10
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, len(f), size=(2, 100_000))
    assert np.all(abs(rounded[i] - rounded[j]) <= np.maximum(2 * abs(f[i] - f[j]), jump) + 1e-12)
    covering = AlmostLipschitz(Interval(1.0), lipschitz=2.0, jump=jump)
    for radius in (0.2, 0.3, 0.5):
        count = int(np.rint(np.exp(covering.log_covering(radius))))
        centres = np.linspace(-1, 1, 2 * count + 1)[1::2]
        at = np.floor(10 * np.abs(centres) + 1e-9) / 10
        # A ball of functions around a centre, and how far their losses are from that of it.
        nearest = np.argmin(np.abs(f[:, None] - centres), axis=1)
        assert np.max(np.abs(rounded - at[nearest])) <= radius + 1e-9
    assert covering.log_covering(0.19) == np.inf
    assert covering.norm == 2.0
    # An inequality asks for a radius above the jump, however many rows there are.
    width = real_valued_classes().width(covering, 10**9)
    assert width.value == pytest.approx(6 * jump, rel=1e-12)
    assert width.value >= 6 * jump


def test_the_statement_about_risks():
    covering = PeriodicGaussian(0.5)
    loss, y, largest, m = Squared(), [-0.5, 0.5], 0.5, 10**6
    bound = risk_bound_by_covering(covering, loss, y, largest, empirical=0.1, n_samples=m)
    width = bound.value - 0.1
    # L = 1 and B = 1/2, put into the formula by hand.
    log_right = np.log(12 * m) + covering.log_covering(width / 6) - width**2 * m / (36 * 0.25)
    assert log_right == pytest.approx(np.log(0.05), abs=1e-6)
    assert bound.trivial == 0.5
    assert bound.constants["lipschitz"].value == 1.0
    with pytest.raises(ValueError, match="no mean of losses"):
        risk_bound_by_covering(covering, loss, y, largest, empirical=0.6, n_samples=m)


def test_other_inequalities_and_coverings_of_so_many_points():
    def covering(n_points):
        assert n_points == 100
        return FiniteClass(np.log(5))

    bound = risk_bound_by_covering(
        covering, Hinge(), [-1, 1], 1.0, empirical=0.2, n_samples=100, inequality=finite_classes()
    )
    assert bound.value == pytest.approx(0.2 + 2 * np.sqrt(np.log(200) / 200))
