"""Sums of losses: taken apart, put together, and certified."""

import cvxpy as cp
import numpy as np
import pytest

from brute import supremum
from cases import random_risk
from mercer import SVR, KernelRegressor
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Huber,
    Pinball,
    PolynomialLoss,
    Several,
    Squared,
)
from mercer.problems import RegularizedRisk
from mercer.problems.copied_samples import fold, unfold
from mercer.solvers import SMO, Auto, InteriorPoint, minimize

TWO_TUBES = Several([EpsilonInsensitive(0.2), EpsilonInsensitive(0.8)], [1.0, 3.0])
PRICED = Several([Huber(0.5), EpsilonInsensitive(0.3)], [0.2, 1.0])
MIXED = Several([PolynomialLoss(3.0), Absolute()], [1.0, 0.5])
SUMS = [TWO_TUBES, PRICED, MIXED]
every_sum = pytest.mark.parametrize("loss", SUMS, ids=["two tubes", "priced", "mixed"])


def risk_of(loss, seed=0, C=3.0):
    risk = random_risk(Squared(), seed=seed, C=C)
    return RegularizedRisk(loss, risk.K, risk.y, risk.c, risk.B)


def terms(loss, r):
    """Return the loss as a conic solver reads it."""
    costs = {
        EpsilonInsensitive: lambda x: cp.pos(cp.abs(r) - x.epsilon),
        Huber: lambda x: cp.huber(r, x.delta) / 2,
        PolynomialLoss: lambda x: cp.power(cp.abs(r), x.power) / x.power,
        Absolute: lambda x: cp.abs(r),
    }
    return sum(w * costs[type(x)](x) for x, w in zip(loss.losses, loss.weights, strict=True))


@every_sum
def test_optimum_is_that_of_a_conic_solver(loss):
    risk = risk_of(loss)
    K = risk.K.dense()
    root = np.linalg.cholesky(K + 1e-12 * np.eye(risk.n))
    w, b = cp.Variable(risk.n), cp.Variable(risk.q)
    r = risk.y - root @ w - risk.B @ b
    problem = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + risk.c @ terms(loss, r)))
    best = problem.solve(solver=cp.CLARABEL)
    found = minimize(risk, InteriorPoint(tol=1e-9))
    # Clarabel's own tolerance is 1e-8 relative.
    assert abs(found.objective - best) <= 1e-6 * (1 + abs(best))
    assert found.gap <= 1e-7 * (1 + abs(best))


@every_sum
def test_the_certificate_of_copies_is_that_of_the_sum(loss):
    risk = risk_of(loss)
    copies = unfold(risk)
    assert copies.n == 2 * risk.n
    inner = minimize(copies, InteriorPoint(tol=1e-9))
    whole = risk.certificate(fold(risk, inner.a), inner.b)
    outer = minimize(risk, InteriorPoint(tol=1e-9))
    np.testing.assert_allclose(outer.a, fold(risk, inner.a), atol=1e-12)
    np.testing.assert_allclose(outer.f, whole.f, atol=1e-9)
    assert outer.objective == pytest.approx(whole.primal, rel=1e-12)
    # The conjugate of the sum is the least over all ways to share, so its bound is no worse.
    assert whole.dual >= inner.dual - 1e-11 * (1 + abs(inner.dual))
    assert whole.gap <= inner.gap + 1e-11 * (1 + abs(inner.objective))


@every_sum
def test_its_conjugate_is_the_supremum(loss):
    y = np.full(21, 0.3)
    low, high = (np.clip(end, -3, 3) for end in loss.slopes(y))
    v = low + (high - low) * np.linspace(0, 1, 21)
    best = supremum(lambda f: v * f - loss.value(y, f), np.full(21, -20.0), np.full(21, 20.0))
    np.testing.assert_allclose(loss.conjugate(y, v), best, atol=1e-12)


def test_quadratic_sums_go_to_pair_steps():
    risk = risk_of(TWO_TUBES)
    pairs, path = minimize(risk, SMO(tol=1e-8)), minimize(risk, InteriorPoint(tol=1e-8))
    assert pairs.converged
    assert abs(pairs.objective - path.objective) <= pairs.gap + path.gap + 1e-12
    assert minimize(risk, Auto(tol=1e-6)).solver == "SMO"
    # Between the tubes the slope is one, beyond both it is four, times the weight.
    r = np.abs(risk.y - pairs.f)
    between, beyond = (r > 0.2 + 1e-6) & (r < 0.8 - 1e-6), r > 0.8 + 1e-6
    assert between.any()
    assert beyond.any()
    np.testing.assert_allclose(np.abs(pairs.a[between]), risk.c[between], rtol=1e-12)
    np.testing.assert_allclose(np.abs(pairs.a[beyond]), 4 * risk.c[beyond], rtol=1e-12)
    assert np.all(pairs.a[r < 0.2 - 1e-6] == 0.0)


def test_one_loss_twice_is_its_double():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 6, (80, 1))
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=80)
    double = KernelRegressor(Several([EpsilonInsensitive(0.1)] * 2), C=1.0, tol=1e-8).fit(X, y)
    svr = SVR(epsilon=0.1, C=2.0, tol=1e-8).fit(X, y)
    assert double.solution_.objective == pytest.approx(svr.solution_.objective, rel=1e-6)
    # Objectives within g of the minimum have functions within sqrt(2 g) of each other.
    gap = double.solution_.gap + svr.solution_.gap
    np.testing.assert_allclose(double.predict(X), svr.predict(X), atol=2 * np.sqrt(2 * gap) + 1e-6)
    assert double.dual_coef_.shape[1] == len(double.support_)


def test_smooth_sums_stay_whole():
    smooth = Several([Squared(), Huber(0.5)])
    assert smooth.smooth
    risk = risk_of(smooth)
    assert unfold(risk) is risk
    assert minimize(risk, Auto(tol=1e-8)).solver == "Newton"


def test_nested_sums_are_one():
    nested = Several([TWO_TUBES, Absolute()], [2.0, 1.0])
    flat = [(type(loss), weight) for loss, weight in nested.parts()]
    assert flat == [(EpsilonInsensitive, 2.0), (EpsilonInsensitive, 6.0), (Absolute, 1.0)]


def test_parameters_per_sample():
    n = 30
    widths, weights = np.linspace(0.1, 0.5, n), np.linspace(1.0, 2.0, n)
    loss = Several([EpsilonInsensitive(widths), Pinball(0.7)], [weights, 0.5])
    y, f = np.random.default_rng(0).normal(size=(2, n))
    some = np.array([3, 5, 20])
    np.testing.assert_allclose(
        loss.take(some).value(y[some], f[some]), loss.value(y, f)[some], rtol=1e-14
    )
    assert set(loss.per_sample()) == {"losses[0].epsilon", "weights[0]"}
    X = np.linspace(0, 1, n)[:, None]
    assert KernelRegressor(loss).fit(X, y).solution_.converged
    with pytest.raises(ValueError, match=r"losses\[0\].epsilon"):
        KernelRegressor(loss).fit(X[:-1], y[:-1])


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="list of losses"):
        Several([])
    with pytest.raises(ValueError, match="as many weights"):
        Several([Squared(), Absolute()], [1.0])
    with pytest.raises(ValueError, match="positive and finite"):
        Several([Squared(), Absolute()], [1.0, -1.0])
