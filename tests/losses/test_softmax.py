"""The softmax loss against its definition: slopes by differences, Fenchel-Young, the conjugate."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer.losses.softmax import Softmax

LOSS = Softmax()
RNG = np.random.default_rng(0)
F, Y = 3.0 * RNG.normal(size=(20, 4)), RNG.integers(0, 4, 20)


def test_value_is_minus_the_logarithm_of_the_probability():
    P = np.exp(F) / np.exp(F).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(LOSS.value(Y, F), -np.log(P[np.arange(20), Y]), rtol=1e-12)
    np.testing.assert_allclose(LOSS.probability(F), P, rtol=1e-12)


def test_slope_by_differences():
    h, slope = 1e-6, LOSS.slope(Y, F)
    for c in range(4):
        step = h * np.eye(4)[c]
        by_difference = (LOSS.value(Y, F + step) - LOSS.value(Y, F - step)) / (2.0 * h)
        np.testing.assert_allclose(slope[:, c], by_difference, atol=1e-9)


def test_conjugate_is_the_largest_difference():
    """Over all decision values, of v'f - l(y, f) with v = p - e_y."""
    P = RNG.dirichlet(np.ones(3), size=5)
    for p, y in zip(P, [0, 1, 2, 0, 1], strict=True):

        def excess(f, p=p, y=y):
            return LOSS.value(np.array([y]), f[None])[0] - (p - np.eye(3)[y]) @ f

        found = minimize(excess, np.zeros(3), tol=1e-12)
        assert LOSS.conjugate(p[None])[0] == pytest.approx(-found.fun, abs=1e-9)


def test_young_gap_is_the_sum_of_the_three_terms():
    P = RNG.dirichlet(np.ones(4), size=20)
    V = P - np.eye(4)[Y]
    terms = LOSS.value(Y, F) + LOSS.conjugate(P) - np.sum(V * F, axis=1)
    np.testing.assert_allclose(LOSS.young_gap(P, F), terms, rtol=1e-10)
    assert np.all(LOSS.young_gap(LOSS.probability(F), F) < 1e-15)


def test_young_gap_where_probabilities_underflow():
    """A class that is impossible costs p (log p - log q) though q is zero in floating point."""
    f, p = np.array([[0.0, -2000.0]]), np.array([[0.5, 0.5]])
    assert LOSS.young_gap(p, f)[0] == pytest.approx(np.log(0.5) + 1000.0)
    assert LOSS.young_gap(np.array([[1.0, 0.0]]), f)[0] == 0.0


def test_infinite_decision_values_are_limits_of_large_ones():
    F = np.array([[np.inf, 3.0, -2.0], [np.inf, np.inf, 5.0], [-np.inf, 1.0, 2.0], [1.0, 2.0, 3.0]])
    # Beyond 745 a difference of decision values is a probability of zero in floating point.
    large, y = np.clip(F, -1e5, 1e5), np.array([0, 1, 2, 0])
    np.testing.assert_allclose(LOSS.probability(F), LOSS.probability(large), rtol=1e-15)
    np.testing.assert_allclose(LOSS.value(y, F), LOSS.value(y, large), rtol=1e-15)
    assert np.all(np.isposinf(LOSS.value(np.array([1, 2, 0]), F[:3])))
    assert np.isnan(LOSS.probability(np.array([[np.inf, np.nan]]))).any()
