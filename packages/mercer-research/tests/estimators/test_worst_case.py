"""The worst case of rows with gaps against conic programs, enumeration and its dual."""

import cvxpy as cp
import numpy as np
import pytest

from mercer import MissingInputRegressor
from mercer.estimators import BreakdownWarning, MissingInputClassifier
from mercer.kernels import Gaussian
from mercer.losses import Pinball
from mercer_research.estimators import WorstCase

K = Gaussian(0.8)


def with_gaps(n=30, d=3, share=0.2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    g = np.sin(2 * X[:, 0]) + X[:, 1]
    y = g + 0.3 * rng.normal(size=n)
    X[rng.uniform(size=X.shape) < share] = np.nan
    return X, y, np.where(y > 0, 1, -1)


PHI = {
    "hinge": lambda e: cp.sum(cp.pos(e)),
    "squared_hinge": lambda e: 0.5 * cp.sum_squares(cp.pos(e)),
    "huber_hinge": lambda e: 0.5 * cp.sum(cp.huber(cp.pos(e), 1.0)),
}


RHO = {
    "squared": lambda e: 0.5 * cp.sum_squares(e),
    "absolute": cp.sum,
    "epsilon_insensitive": lambda e: cp.sum(cp.pos(e - 0.1)),
    "huber": lambda e: 0.5 * cp.sum(cp.huber(e, 1.0)),
}


def cellwise(X):
    """Roots of the matrices of observed cells, as rows of features."""
    F = []
    for j in range(X.shape[1]):
        there = ~np.isnan(X[:, j])
        values, vectors = np.linalg.eigh(K(X[there][:, [j]]))
        root = np.zeros((len(X), there.sum()))
        root[there] = vectors * np.sqrt(np.maximum(values, 0.0))
        F.append(root)
    return F


def conic(X, y, loss, C, mu, classes):
    """Minimize the printed primal."""
    F = cellwise(X)
    w = [cp.Variable(G.shape[1]) for G in F]
    b, t, e = cp.Variable(), cp.Variable(len(F), nonneg=True), cp.Variable(len(y))
    parts = [G @ v for G, v in zip(F, w, strict=True)]
    f, T = sum(parts) + b, np.isnan(X).astype(float) @ t
    rows = [cp.abs(part) <= t[p] for p, part in enumerate(parts)]
    if classes:
        cost, rows = PHI[loss](1 - cp.multiply(y, f) + T), rows
    else:
        cost, rows = RHO[loss](e), [*rows, e >= y - f + T, e >= f - y + T]
    norms = 0.5 * sum(cp.sum_squares(v) for v in w)
    return cp.Problem(cp.Minimize(norms + C * cost + mu * cp.sum(t)), rows).solve(solver="CLARABEL")


@pytest.mark.parametrize("loss", sorted(PHI))
def test_worst_margins_against_a_conic_program(loss):
    X, _, y = with_gaps(30, 3, 0.1)
    strategy = WorstCase(variation=0.5)
    ours = MissingInputClassifier(loss, K, strategy=strategy, C=2.0, tol=1e-8).fit(X, y)
    value = conic(X, y, loss, 2.0, 0.5, True)
    assert ours.solution_.objective == pytest.approx(value, rel=1e-6)
    assert ours.solution_.relative_gap < 1e-6


@pytest.mark.parametrize("loss", sorted(RHO))
def test_worst_residuals_against_a_conic_program(loss):
    X, y, _ = with_gaps(30, 3, 0.1)
    ours = MissingInputRegressor(loss, K, strategy=WorstCase(), C=2.0, tol=1e-8).fit(X, y)
    value = conic(X, y, loss, 2.0, 0.0, False)
    assert ours.solution_.objective == pytest.approx(value, rel=1e-6)
    assert ours.solution_.relative_gap < 1e-6


@pytest.mark.parametrize("mu", [0.0, 1.0, 5.0])
def test_strong_duality_of_the_worst_case(mu):
    """The dual of lemma 6.6, with the corrections of the bounds and of w."""
    X, _, y = with_gaps(25, 3, 0.1)
    C, there = 2.0, ~np.isnan(X)
    ours = MissingInputClassifier(kernel=K, strategy=WorstCase(mu), C=C, tol=1e-8).fit(X, y)
    alpha, rows, value = cp.Variable(len(y)), [], 0.0
    for j, G in enumerate(cellwise(X)):
        up, down = cp.Variable(len(y), nonneg=True), cp.Variable(len(y), nonneg=True)
        seen = there[:, j].astype(float)
        value -= 0.5 * cp.sum_squares(G.T @ (cp.multiply(alpha, y) + up - down))
        rows += [seen @ (up + down) == mu + (1 - seen) @ alpha]
    rows += [alpha >= 0, alpha <= C, y @ alpha == 0]
    dual = cp.Problem(cp.Maximize(value + cp.sum(alpha)), rows)
    assert dual.solve(solver="CLARABEL") == pytest.approx(ours.solution_.objective, rel=1e-6)
    # Prices of the samples are the coefficients, y alpha, where these are unique.
    np.testing.assert_allclose(ours.solution_.a, y * alpha.value, atol=1e-3)


def test_a_pinball_is_worst_at_one_of_two_ends():
    X, y, _ = with_gaps(30, 2, 0.1)
    ours = MissingInputRegressor(Pinball(0.3), K, strategy=WorstCase(), tol=1e-8).fit(X, y)
    low, high = ours.predict_interval(X).T
    f, loss = ours.predict(X), Pinball(0.3)
    worst = np.maximum(loss.value(y, low), loss.value(y, high)).sum()
    assert np.all((low <= f) & (f <= high))
    values = ours._reading.parts.values(X, ours._reading.W)[:, :, 0]
    np.testing.assert_allclose(ours.component_size_, np.nanmax(np.abs(values), axis=0))
    norms = 0.5 * np.sum(ours._reading.W**2)
    assert norms + worst == pytest.approx(ours.solution_.objective, rel=1e-9)


def test_too_many_gaps_break_the_worst_case_down():
    X, _, y = with_gaps(60, 3, 0.5)
    with pytest.warns(BreakdownWarning, match="nothing but the constant"):
        MissingInputClassifier(kernel=K, strategy=WorstCase()).fit(X, y)


def test_a_loss_without_quadratic_dual_has_no_worst_case():
    X, _, y = with_gaps()
    with pytest.raises(ValueError, match="Logistic is no quadratic program"):
        MissingInputClassifier("logistic", strategy=WorstCase()).fit(X, y)
