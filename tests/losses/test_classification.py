"""Losses of the margin against their printed formulas."""

import numpy as np
import pytest

from brute import supremum
from mercer.losses import Hinge, HuberHinge, Logistic, SquaredHinge


def huber_hinge(m, delta):
    return np.where(
        m >= 1, 0.0, np.where(m >= 1 - delta, (1 - m) ** 2 / (2 * delta), 1 - m - delta / 2)
    )


def inside(u, value):
    return np.where((u >= -1) & (u <= 0), value, np.inf)


def entropy(p):
    p = np.clip(p, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.nan_to_num(p * np.log(p)), np.nan_to_num((1 - p) * np.log(1 - p))
    return terms[0] + terms[1]


# The loss, phi(m) as printed, and phi*(u), the conjugate of phi.
TABLE = [
    (Hinge(), lambda m: np.maximum(0.0, 1 - m), lambda u: inside(u, u)),
    (Hinge(0.0), lambda m: np.maximum(0.0, -m), lambda u: inside(u, 0.0 * u)),
    (
        SquaredHinge(),
        lambda m: 0.5 * np.maximum(0.0, 1 - m) ** 2,
        lambda u: np.where(u <= 0, u + 0.5 * u**2, np.inf),
    ),
    (HuberHinge(0.5), lambda m: huber_hinge(m, 0.5), lambda u: inside(u, u + 0.25 * u**2)),
    (HuberHinge(2.0), lambda m: huber_hinge(m, 2.0), lambda u: inside(u, u + u**2)),
    (Logistic(), lambda m: np.log(1 + np.exp(-m)), lambda u: inside(u, entropy(-u))),
]
table = pytest.mark.parametrize(("loss", "phi", "dual"), TABLE, ids=lambda x: repr(x)[:16])
labels = pytest.mark.parametrize("label", [-1.0, 1.0])

M = np.concatenate([np.linspace(-3, 3, 61), [0.0, 0.5, 1.0, -1.0]])
U = np.concatenate([np.linspace(-1.5, 0.5, 41), [-1.0, 0.0]])


@labels
@table
def test_value_is_the_printed_formula(loss, phi, dual, label):
    y = np.full_like(M, label)
    np.testing.assert_allclose(loss.value(y, y * M), phi(M), rtol=1e-14, atol=1e-15)


@labels
@table
def test_conjugate_is_the_printed_formula(loss, phi, dual, label):
    y = np.full_like(U, label)
    np.testing.assert_allclose(loss.conjugate(y, y * U), dual(U), rtol=1e-13, atol=1e-15)


@labels
@table
def test_conjugate_is_the_supremum(loss, phi, dual, label):
    # At the ends the supremum of the logistic loss is a limit, tested by its formula above.
    for u in np.linspace(-0.98, -0.02, 13):
        best = supremum(lambda m, u=u: u * m - float(phi(m)), -8.0, 8.0)
        got = loss.conjugate(np.array(label), np.array(label * u))
        assert got == pytest.approx(best, abs=1e-13)


@labels
@table
def test_slopes_bound_the_difference_quotients(loss, phi, dual, label):
    y, f = np.full_like(M, label), np.sort(M) * 100
    quotients = np.diff(phi(y * f)) / np.maximum(np.diff(f), 1e-300)
    quotients = quotients[np.diff(f) > 0]
    lower, upper = loss.slopes(np.array(label))
    assert np.all(quotients >= lower - 1e-12)
    assert np.all(quotients <= upper + 1e-12)
    for bound, extreme in ((lower, quotients.min()), (upper, quotients.max())):
        # The quotients at the far ends reach a finite bound, and pass any other.
        assert (
            extreme == pytest.approx(bound, abs=1e-12) if np.isfinite(bound) else abs(extreme) > 50
        )


def test_table_identities():
    y = np.where(np.arange(len(M)) % 2, 1.0, -1.0)
    # HuberHinge tends to Hinge like delta / 2; with delta >= 4 it is the parabola / delta here.
    np.testing.assert_allclose(
        HuberHinge(1e-6).value(y, M), Hinge().value(y, M), atol=0.5e-6 * (1 + 1e-6)
    )
    np.testing.assert_allclose(
        8 * HuberHinge(8.0).value(y, M), SquaredHinge().value(y, M), rtol=1e-14, atol=1e-15
    )
    # A margin asked for scales the loss: max(0, mu - m) = mu max(0, 1 - m / mu).
    np.testing.assert_allclose(Hinge(2.0).value(y, 2 * M), 2 * Hinge().value(y, M), atol=1e-15)


def test_logistic_is_safe_far_out():
    y, f = np.array([1.0, 1.0, -1.0, -1.0]), np.array([800.0, -800.0, 800.0, -800.0])
    loss = Logistic()
    np.testing.assert_array_equal(loss.value(y, f), [0.0, 800.0, 800.0, 0.0])
    np.testing.assert_array_equal(loss.gradient(y, f), [0.0, -1.0, 1.0, 0.0])
    np.testing.assert_array_equal(loss.curvature(y, f), np.zeros(4))


def test_logistic_conjugate_at_and_beyond_its_ends():
    y = np.ones(4)
    v = np.array([0.0, -1.0, 1e-13, -1.0 - 1e-13])  # the last two are the ends up to rounding
    loss = Logistic()
    np.testing.assert_array_equal(loss.conjugate(y, v), np.zeros(4))
    np.testing.assert_array_equal(loss.conjugate_gradient(y, v), [np.inf, -np.inf] * 2)
    np.testing.assert_array_equal(loss.conjugate_curvature(y, v), np.full(4, np.inf))
    np.testing.assert_array_equal(loss.conjugate(np.ones(2), np.array([0.1, -1.1])), [np.inf] * 2)


def test_refuses_with_a_sentence():
    with pytest.raises(ValueError, match="delta must be positive and finite, got 0; use Hinge"):
        HuberHinge(0)
    with pytest.raises(ValueError, match="margin must be finite, got nan"):
        Hinge(np.nan)


def test_logistic_probability_is_that_of_the_model():
    # The loss is minus the logarithm of the probability of the label.
    f = np.linspace(-5, 5, 11)
    p = Logistic().probability(f)
    np.testing.assert_allclose(-np.log(p), Logistic().value(np.ones(11), f), rtol=1e-13)
    np.testing.assert_allclose(-np.log1p(-p), Logistic().value(-np.ones(11), f), rtol=1e-12)
