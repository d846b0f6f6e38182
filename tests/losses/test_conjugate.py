"""Weighted losses against the losses themselves, one at a time."""

import numpy as np
import pytest

from brute import supremum
from cases import LOSSES, targets
from mercer.losses import Conjugate, MarginLoss, ResidualLoss, Squared
from mercer.losses.base import DualTerms

N = 60
# Coefficients, slopes and targets times numbers of order one: a few dozen roundings.
ROUNDING = 64 * np.finfo(float).eps


class Wall(ResidualLoss):
    """Errors up to a half cost nothing, larger ones infinitely much."""

    def terms(self):
        return Conjugate(kink=0.5)


class Lopsided(MarginLoss):
    """A dead zone off zero, another curvature on each side, a bound on one."""

    def terms(self):
        return Conjugate(0.3, 0.2, 0.5, lower=-1.5, quad_negative=2.0)


def sample(loss):
    rng = np.random.default_rng(0)
    y, c = targets(loss, N, rng), rng.uniform(0.1, 2.0, N)
    return np.sign(y) if isinstance(loss, MarginLoss) else y, c, rng


def coefficients(terms, c):
    """Yield coefficients inside the box, at its ends, at zero, and outside where there is one."""
    for fraction in (0.0, 0.4, 1.0, 1.0 + 1e-6):
        for end, sign in ((terms.lower, -1.0), (terms.upper, 1.0)):
            yield fraction * np.where(np.isfinite(end), end, sign * 2.0 * c)


def agree(got, expected, scale):
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(got[~finite], expected[~finite])
    assert np.all(np.abs(got[finite] - expected[finite]) <= ROUNDING * scale[finite])


@pytest.mark.parametrize(
    "loss", [*LOSSES, Wall(), Lopsided()], ids=lambda loss: type(loss).__name__
)
def test_weighted_losses_are_the_losses_times_their_weights(loss):
    y, c, rng = sample(loss)
    terms = loss.weigh(y, c)
    f = 2.0 * rng.normal(size=N)
    f[0] = y[0]  # a residual of zero and a margin of one: kinks
    scale = (1.0 + np.abs(y) + np.abs(f)) ** 2
    agree(terms.value(f), c * loss.value(y, f), c * scale)
    for a in coefficients(terms, c):
        agree(terms.conjugate(a), c * loss.conjugate(y, -a / c), c * scale)
        agree(terms.violation(a, f), loss.violation(y, f, -a / c), scale)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_samples_without_weight_are_free_at_zero_and_forbidden_elsewhere(loss):
    y, c, rng = sample(loss)
    c[:5] = 0.0
    terms, f, a = loss.weigh(y, c), rng.normal(size=N), np.zeros(N)
    for values in (terms.value(f), terms.conjugate(a), terms.violation(a, f)):
        np.testing.assert_array_equal(values[:5], 0.0)
    a[:5] = [1e-9, -1e-9, 1.0, -1.0, 1e9]
    np.testing.assert_array_equal(terms.conjugate(a)[:5], np.inf)
    np.testing.assert_array_equal(terms.violation(a, f)[:5], np.inf)


def test_the_value_is_the_supremum_over_coefficients():
    rng = np.random.default_rng(1)
    p_neg, kink, q_pos, q_neg, upper = rng.uniform(0.1, 1.0, (5, 20))
    terms = DualTerms(p_neg + kink, p_neg, q_pos, q_neg, -upper[::-1], upper)
    f = rng.normal(size=20)
    for i, value in enumerate(terms.value(f)):

        def objective(a, i=i):
            p, q = (terms.p_pos, terms.q_pos) if a > 0 else (terms.p_neg, terms.q_neg)
            return -a * f[i] - p[i] * a - 0.5 * q[i] * a * a

        best = supremum(objective, terms.lower[i], terms.upper[i])
        assert value == pytest.approx(best, abs=1e-12)


def test_the_box_forgives_rounding_only():
    y, c = np.zeros(2), np.array([0.1, 0.3])
    terms = DualTerms(y, y, y, y, -c, c)
    assert np.all(np.isfinite(terms.conjugate(c * (1 + 1e-14))))
    # At its end a coefficient claims no more than the side on which the decision value is.
    np.testing.assert_array_equal(terms.violation(c * (1 - 1e-14), np.full(2, -5.0)), 0.0)
    np.testing.assert_array_equal(terms.violation(c * (1 + 1e-14), np.full(2, 5.0)), 5.0)
    np.testing.assert_array_equal(terms.conjugate(c * (1 + 1e-9)), np.inf)
    assert np.isinf(Squared().weigh(y, c).conjugate(np.array([np.inf, 0.0]))[0])
