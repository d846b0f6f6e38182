import numpy as np
import pytest

from cases import REGRESSION
from mercer.gram import Dense
from mercer.kernels import Gaussian
from mercer.losses import (
    EpsilonInsensitive,
    Huber,
    Interval,
    LogCosh,
    Pinball,
    Squared,
)
from mercer.losses.interval import within
from mercer.problems import RegularizedRisk
from mercer.solvers import SMO, InteriorPoint, Newton, minimize
from oracles import conic

PLAIN = [loss for loss in REGRESSION if not isinstance(loss, Interval)]
TOL = 1e-9


def censored(loss, n=24, seed=0, C=3.0):
    """Draw a problem with exact, left, right and interval censored targets and one unknown."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=n)
    below, above = np.zeros(n), np.zeros(n)
    kind = rng.permutation(n) % 4
    above[kind == 1], below[kind == 2] = np.inf, np.inf
    below[kind == 3], above[kind == 3] = rng.uniform(0.0, 0.5, (2, np.sum(kind == 3)))
    below[0] = above[0] = np.inf
    K = Gaussian(1.0)(X)
    c = C * rng.uniform(0.5, 1.0, n)
    return RegularizedRisk(within(loss, below, above), Dense(K), y, c, np.ones((n, 1)))


@pytest.mark.parametrize("loss", PLAIN, ids=repr)
def test_optimum_is_that_of_a_conic_program(loss):
    risk = censored(loss)
    found = minimize(risk, InteriorPoint(tol=TOL))
    values, vectors = np.linalg.eigh(risk.K.dense())
    reference = conic.solve(risk, vectors * np.sqrt(np.maximum(values, 0.0)))
    # Clarabel stops at a relative gap of 1e-8, an order less where it reports reduced accuracy.
    assert found.objective == pytest.approx(reference.objective, rel=1e-6, abs=1e-7)
    assert found.gap <= 1e-6


@pytest.mark.parametrize("loss", [Squared(), Huber(0.5), EpsilonInsensitive(0.1), Pinball(0.3)])
def test_every_solver_and_the_conditions_of_optimality(loss):
    risk = censored(loss, n=40)
    solvers = [SMO(tol=TOL), InteriorPoint(tol=TOL), *([Newton(tol=TOL)] if loss.smooth else [])]
    fits = [minimize(risk, solver) for solver in solvers]
    for fit in fits:
        np.testing.assert_allclose(fit.objective, fits[0].objective, rtol=1e-7)
        a, f = fit.a, fit.f
        low, high = risk.y - risk.loss.below, risk.y + risk.loss.above
        # From outside: f strictly inside costs nothing; a side without end never pulls.
        inside = (f > low + 1e-6) & (f < high - 1e-6)
        np.testing.assert_allclose(a[inside], 0.0, atol=1e-7)
        assert np.all(a[np.isinf(high)] >= 0)
        assert np.all(a[np.isinf(low)] <= 0)
        assert abs(np.sum(a)) < 1e-8
        if isinstance(loss, Squared):
            outside = a != 0
            nearest = np.clip(f, low, high)
            np.testing.assert_allclose(
                a[outside], (risk.c * (nearest - f))[outside], atol=1e-7 * np.max(risk.c)
            )


@pytest.mark.parametrize("loss", PLAIN, ids=repr)
def test_intervals_of_no_width_are_targets(loss):
    rng = np.random.default_rng(0)
    y, f, v = rng.normal(size=(3, 8))
    v = np.clip(v, *loss.slopes(y))
    same = within(loss, np.zeros(8), np.zeros(8))
    for what in ("value", "gradient", "curvature"):
        np.testing.assert_array_equal(getattr(same, what)(y, f), getattr(loss, what)(y, f))
    for what in ("conjugate", "conjugate_gradient", "conjugate_curvature"):
        np.testing.assert_array_equal(getattr(same, what)(y, v), getattr(loss, what)(y, v))
    assert same.quadratic == loss.quadratic


@pytest.mark.parametrize("loss", [Squared(), EpsilonInsensitive(0.05), LogCosh(0.5)], ids=repr)
def test_widening_an_interval_that_holds_f_changes_nothing(loss):
    risk = censored(loss, n=30)
    before = minimize(risk, InteriorPoint(tol=TOL))
    low, high = risk.y - risk.loss.below, risk.y + risk.loss.above
    held = (before.f > low + 0.01) & (before.f < high - 0.01)
    assert np.any(held & np.isfinite(high - low))
    wide = within(
        loss, risk.loss.below + np.where(held, 5.0, 0.0), np.where(held, np.inf, risk.loss.above)
    )
    after = minimize(RegularizedRisk(wide, risk.K, risk.y, risk.c, risk.B), InteriorPoint(tol=TOL))
    np.testing.assert_allclose(after.f, before.f, atol=1e-6)
    np.testing.assert_allclose(after.objective, before.objective, rtol=1e-8)


def test_a_tube_is_an_interval():
    y, f = np.random.default_rng(0).normal(size=(2, 50))
    tube, excess = EpsilonInsensitive(0.3), within(Pinball(0.5), 0.3, 0.3)
    np.testing.assert_allclose(2.0 * excess.value(y, f), tube.value(y, f), atol=1e-15)
    beside = within(Squared(), -0.5, 1.0)
    np.testing.assert_allclose(
        beside.value(y, f), within(Squared(), 0.0, 0.5).value(y + 0.5, f), atol=1e-15
    )


def test_a_wide_side_takes_no_digits_from_a_narrow_one():
    loss, one = within(Squared(), 0.1, 1e15), np.ones(1)
    assert loss.dual_terms(one, one).p_pos == pytest.approx(-0.9, abs=1e-15)
    assert loss.value(one, np.zeros(1)) == pytest.approx(0.405, abs=1e-15)
