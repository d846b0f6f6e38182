"""Losses of the residual against their printed formulas."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from brute import supremum
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Expectile,
    Huber,
    Pinball,
    Squared,
    SquaredEpsilonInsensitive,
)


def huber(r, delta):
    return np.where(np.abs(r) <= delta, 0.5 * r**2, delta * np.abs(r) - 0.5 * delta**2)


# The loss, the formula it is printed with, and the formula of rho*, the conjugate of rho.
TABLE = [
    (Squared(), lambda r: 0.5 * r**2, lambda u: 0.5 * u**2),
    (Absolute(), np.abs, lambda u: np.where(np.abs(u) <= 1, 0.0, np.inf)),
    (
        EpsilonInsensitive(0.3),
        lambda r: np.maximum(0.0, np.abs(r) - 0.3),
        lambda u: np.where(np.abs(u) <= 1, 0.3 * np.abs(u), np.inf),
    ),
    (
        SquaredEpsilonInsensitive(0.3),
        lambda r: 0.5 * np.maximum(0.0, np.abs(r) - 0.3) ** 2,
        lambda u: 0.3 * np.abs(u) + 0.5 * u**2,
    ),
    (
        Huber(0.7),
        lambda r: huber(r, 0.7),
        lambda u: np.where(np.abs(u) <= 0.7, 0.5 * u**2, np.inf),
    ),
    (
        Pinball(0.2),
        lambda r: 0.2 * np.maximum(0.0, r) + 0.8 * np.maximum(0.0, -r),
        lambda u: np.where((u >= -0.8) & (u <= 0.2), 0.0, np.inf),
    ),
    (
        Expectile(0.2),
        lambda r: 0.5 * np.where(r < 0, 0.8, 0.2) * r**2,
        lambda u: u**2 / (2 * np.where(u < 0, 0.8, 0.2)),
    ),
]
table = pytest.mark.parametrize(("loss", "rho", "dual"), TABLE, ids=lambda x: type(x).__name__)

# Hits every corner of the table exactly, and both sides of it.
R = np.concatenate([np.linspace(-3, 3, 61), [0.3, -0.3, 0.7, -0.7, 0.0]])
U = np.concatenate(
    [np.round(np.linspace(-1.5, 1.5, 31), 3), [0.2, -0.8, 0.7, -0.7, 1.0, -1.0, 0.0]]
)
Y = 0.5


@table
def test_value_is_the_printed_formula(loss, rho, dual):
    y = np.full_like(R, Y)
    np.testing.assert_allclose(loss.value(y, y - R), rho(R), rtol=1e-14, atol=1e-15)


@table
def test_conjugate_is_the_printed_formula(loss, rho, dual):
    y = np.full_like(U, Y)
    # l*(y, v) = v y + rho*(-v)
    np.testing.assert_allclose(loss.conjugate(y, -U), -U * Y + dual(U), rtol=1e-14, atol=1e-15)


@table
def test_conjugate_is_the_supremum(loss, rho, dual):
    lower, upper = (float(x) for x in loss.slopes(np.array(Y)))
    for v in np.linspace(max(lower, -2.0), min(upper, 2.0), 9):
        # The supremum is attained within ten of y: slopes up to 2 of curvatures down to 0.2.
        best = supremum(lambda f, v=v: v * f - float(rho(Y - f)), Y - 10.5, Y + 10.5)
        assert loss.conjugate(np.array(Y), np.array(v)) == pytest.approx(best, abs=1e-13)


@table
def test_conjugate_is_infinite_where_the_supremum_is(loss, rho, dual):
    lower, upper = (float(x) for x in loss.slopes(np.array(Y)))
    far = 1e6
    for v, f in ((upper + 0.1, far), (lower - 0.1, -far)):
        if np.isfinite(v):
            assert loss.conjugate(np.array(Y), np.array(v)) == np.inf
            assert v * f - rho(np.asarray(Y - f)) > 0.09 * far  # it grows like 0.1 |f|


@table
def test_slopes_are_those_far_away(loss, rho, dual):
    lower, upper = loss.slopes(np.array(Y))
    far = 1e3
    # r = -far has the largest slope in f, r = far the smallest; exact for straight arms.
    for bound, r in ((upper, -far), (lower, far)):
        slope = (rho(np.asarray(r - 1.0)) - rho(np.asarray(r + 1.0))) / 2.0
        if np.isfinite(bound):
            assert bound == pytest.approx(slope, rel=1e-9)
        else:
            assert abs(slope) > 0.1 * far


@table
def test_smooth_means_bounded_curvature(loss, rho, dual):
    h = 1e-4
    bend = (rho(R + h) - 2 * rho(R) + rho(R - h)) / h**2
    # A kink of height 0.2 or more bends by at least 0.2 / h = 2000; a parabola here by at most 1.
    assert loss.smooth == (np.max(bend) < 10)


def test_table_identities():
    y = np.zeros_like(R)
    np.testing.assert_array_equal(EpsilonInsensitive(0.0).value(y, R), Absolute().value(y, R))
    np.testing.assert_array_equal(SquaredEpsilonInsensitive(0.0).value(y, R), Squared().value(y, R))
    np.testing.assert_allclose(2 * Pinball(0.5).value(y, R), Absolute().value(y, R), rtol=1e-15)
    np.testing.assert_allclose(2 * Expectile(0.5).value(y, R), Squared().value(y, R), rtol=1e-15)
    # Huber / delta tends to the absolute value like delta / 2, and is the parabola for large delta.
    small = 1e-6
    np.testing.assert_allclose(
        Huber(small).value(y, R) / small, Absolute().value(y, R), atol=0.5 * small * (1 + 1e-6)
    )
    np.testing.assert_array_equal(Huber(1e6).value(y, R), Squared().value(y, R))


def test_a_shifted_tube_is_a_shifted_target():
    # A tube that ends at eps + s above y and at eps - s below is the even tube around y + s.
    tube, shift = EpsilonInsensitive(0.3), 0.2
    asymmetric = np.maximum(0.0, np.maximum(R - (0.3 + shift), -R - (0.3 - shift)))
    y = np.full_like(R, Y)
    np.testing.assert_allclose(tube.value(y, y - R + shift), asymmetric, atol=1e-15)


def test_quantile_minimizes_pinball():
    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    for tau in (0.1, 0.5, 0.9):
        grid = np.sort(y)
        cost = [Pinball(tau).value(y, np.full_like(y, t)).sum() for t in grid]
        t = grid[np.argmin(cost)]
        assert np.mean(y < t) <= tau <= np.mean(y <= t)


def test_expectile_balances_excesses():
    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    tau = 0.8
    result = minimize_scalar(lambda t: Expectile(tau).value(y, np.full_like(y, t)).sum(), tol=1e-12)
    t = result.x
    above, below = np.maximum(y - t, 0).sum(), np.maximum(t - y, 0).sum()
    # The derivative vanishes; a minimum found from values alone is good to the root of rounding.
    assert tau * above == pytest.approx((1 - tau) * below, rel=1e-6)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: EpsilonInsensitive(-0.1), "epsilon must be finite and not negative, got -0.1"),
        (lambda: EpsilonInsensitive(np.array([0.1, np.nan])), "epsilon must be finite"),
        (lambda: SquaredEpsilonInsensitive(np.inf), "give it the weight zero"),
        (lambda: Huber(0.0), "use Absolute for 0"),
        (lambda: Huber(np.inf), "Squared for infinity"),
        (lambda: Pinball(1.1), "quantile must lie between 0 and 1, got 1.1"),
        (lambda: Expectile(1.0), "expectile must lie strictly between 0 and 1, got 1.0"),
    ],
)
def test_refuses_with_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_validates_again_when_a_parameter_is_set():
    loss = EpsilonInsensitive(0.1)
    with pytest.raises(ValueError, match="not negative"):
        loss.set_params(epsilon=-1.0)
    assert loss == EpsilonInsensitive(0.1)


def test_a_width_that_is_true_is_refused_in_words():
    with pytest.raises(ValueError, match=r"delta must be a number, got True; write 1\.0"):
        Huber(True)
