"""Powers of the residual against their printed formulas and the rest of the table."""

import numpy as np
import pytest

from brute import supremum
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Huber,
    PiecewisePolynomial,
    PolynomialLoss,
    Squared,
    SquaredEpsilonInsensitive,
)

R = np.concatenate([np.linspace(-3, 3, 61), [0.0, 0.3, -0.3, 1.1, -1.1]])
Y = 0.5
POWERS = [1.05, 1.5, 2.0, 2.5, 4.0]


def piecewise(r, p, sigma, epsilon):
    xi = np.maximum(np.abs(r) - epsilon, 0.0)
    return np.where(xi <= sigma, xi**p / (p * sigma ** (p - 1)), xi - sigma * (p - 1) / p)


@pytest.mark.parametrize("power", POWERS)
def test_value_is_the_printed_formula(power):
    y = np.full_like(R, Y)
    for epsilon in (0.0, 0.3):
        np.testing.assert_allclose(
            PolynomialLoss(power, epsilon).value(y, y - R),
            np.maximum(np.abs(R) - epsilon, 0.0) ** power / power,
            rtol=1e-13,
            atol=1e-15,
        )
        np.testing.assert_allclose(
            PiecewisePolynomial(power, 0.8, epsilon).value(y, y - R),
            piecewise(R, power, 0.8, epsilon),
            rtol=1e-13,
            atol=1e-15,
        )


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_conjugate_is_the_supremum(power, epsilon):
    y = np.array(Y)
    for loss in (PolynomialLoss(power, epsilon), PiecewisePolynomial(power, 0.8, epsilon)):
        bound = min(loss.slopes(y)[1], 1.2)
        # The slope 1.2 is reached at an excess of 1.2^20 = 38 for the smallest power.
        for v in np.linspace(-0.99 * bound, 0.99 * bound, 9):
            best = supremum(
                lambda f, v=v, loss=loss: v * f - float(loss.value(y, np.asarray(f))),
                Y - 40,
                Y + 40,
            )
            assert loss.conjugate(y, np.array(v)) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("power", POWERS)
def test_conjugate_is_the_printed_formula(power):
    # -C T(alpha) = (p-1)/p sigma C r^(p/(p-1)), xi = sigma r^(1/(p-1)),
    # xi' = sigma r^((2-p)/(p-1)) / (C (p-1)), with r = alpha / C.
    C, sigma, p = 3.0, 0.8, power
    alpha = C * np.linspace(0.05, 1.0, 20)
    r = alpha / C
    loss, y = PiecewisePolynomial(power, sigma), np.zeros_like(alpha)
    np.testing.assert_allclose(
        C * loss.conjugate(y, -r), (p - 1) / p * sigma * C * r ** (p / (p - 1)), rtol=1e-12
    )
    np.testing.assert_allclose(
        -loss.conjugate_gradient(y, -r), sigma * r ** (1 / (p - 1)), rtol=1e-12
    )
    np.testing.assert_allclose(
        loss.conjugate_curvature(y, -r) / C,
        sigma * r ** ((2 - p) / (p - 1)) / (C * (p - 1)),
        rtol=1e-12,
    )


def test_conjugate_is_infinite_outside():
    loss, y = PiecewisePolynomial(3.0, 0.8), np.full(4, Y)
    v = np.array([1.0 + 1e-13, -1.0 - 1e-13, 1.001, -np.inf])
    np.testing.assert_array_equal(np.isfinite(loss.conjugate(y, v)), [True, True, False, False])
    assert PolynomialLoss(3.0).conjugate(np.array(0.0), np.array(np.inf)) == np.inf


def test_table_identities():
    y = np.zeros_like(R)
    pairs = [
        (PolynomialLoss(2.0), Squared(), 1.0),
        (PolynomialLoss(2.0, 0.3), SquaredEpsilonInsensitive(0.3), 1.0),
        (PiecewisePolynomial(2.0, 0.7), Huber(0.7), 1 / 0.7),
    ]
    for power, parabola, scale in pairs:
        for method in ("value", "gradient", "curvature"):
            np.testing.assert_allclose(
                getattr(power, method)(y, R),
                scale * getattr(parabola, method)(y, R),
                rtol=1e-12,
                atol=1e-15,
                err_msg=f"{power} {method}",
            )
        v = np.linspace(-0.9, 0.9, 19)
        np.testing.assert_allclose(
            power.conjugate(v, v), scale * parabola.conjugate(v, v / scale), atol=1e-14
        )
    # p -> 1: xi^p differs from xi by (p - 1) xi log xi, at most 3 log 3 + 3 times p - 1 here.
    p = 1 + 1e-6
    for epsilon, limit in ((0.0, Absolute()), (0.3, EpsilonInsensitive(0.3))):
        for loss in (PolynomialLoss(p, epsilon), PiecewisePolynomial(p, 0.7, epsilon)):
            np.testing.assert_allclose(
                loss.value(y, R), limit.value(y, R), atol=(p - 1) * (3 * np.log(3) + 3)
            )


@pytest.mark.parametrize("power", [1.05, 1.5])
def test_violation_is_measured_in_the_decision_value_below_two(power):
    loss, y = PiecewisePolynomial(power, 0.8, 0.3), np.zeros(7)
    v = np.array([0.0, 0.0, 0.5, -0.5, 1.0, -1.0, 1.5])
    f = np.array([0.25, -0.4, 0.9, 0.9, 0.9, 5.0, 0.0])
    reach = 0.3 + 0.8 * 0.5 ** (1 / (power - 1))
    # Inside the tube; 0.1 outside of it; short of or beyond where the slope is 1/2; before the
    # straight arm begins at 1.1; on the wrong arm; a slope that the loss does not have.
    expected = [0.0, 0.1, abs(0.9 - reach), 0.9 + reach, 0.2, 6.1, np.inf]
    np.testing.assert_allclose(loss.violation(y, f, v), expected, atol=1e-14)


@pytest.mark.parametrize("power", [2.0, 3.0])
def test_violation_is_measured_in_the_slope_from_two_on(power):
    loss, y = PolynomialLoss(power), np.zeros(3)
    f, v = np.array([0.5, -2.0, 0.0]), np.array([1.0, 0.0, 0.25])
    slope = np.sign(f) * np.abs(f) ** (power - 1)
    np.testing.assert_allclose(loss.violation(y, f, v), np.abs(v - slope), atol=1e-15)


def test_smooth_from_two_on():
    assert [PolynomialLoss(p).smooth for p in (1.5, 1.999, 2.0, 3.0)] == [False, False, True, True]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: PolynomialLoss(1.0), "power must be finite and exceed 1, got 1.0; use Absolute"),
        (lambda: PolynomialLoss(np.inf), "power must be finite"),
        (lambda: PolynomialLoss(2.0, -1.0), "epsilon must be finite and not negative"),
        (lambda: PiecewisePolynomial(2.0, 0.0), "sigma must be positive and finite, got 0.0"),
    ],
)
def test_refuses_with_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
