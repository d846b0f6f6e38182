"""Losses that a user writes: against those of the library, and refused where they are wrong."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from brute import supremum
from cases import random_risk
from mercer import KernelClassifier, KernelRegressor
from mercer.losses import (
    Absolute,
    Custom,
    EpsilonInsensitive,
    Hinge,
    LogCosh,
    Logistic,
    PolynomialLoss,
    Squared,
)
from mercer.problems import RegularizedRisk
from mercer.solvers import InteriorPoint, Newton, minimize


def log_cosh(r):
    r = np.abs(r)
    return r + np.log1p(np.exp(-2 * r)) - np.log(2)


def tube_slope(r):
    return np.where(np.abs(r) > 0.3, np.sign(r), 0.0)


def softplus(m):
    return np.logaddexp(0.0, -m)


def sigmoid_slope(m):
    return -1.0 / (1.0 + np.exp(np.clip(m, -700, 700)))


TWINS = [
    (Custom(log_cosh, np.tanh), LogCosh()),
    (Custom(lambda r: r**2 / 2, lambda r: r, lambda r: np.ones_like(r)), Squared()),
    (Custom(np.abs, np.sign), Absolute()),
    (Custom(lambda r: np.maximum(np.abs(r) - 0.3, 0), tube_slope), EpsilonInsensitive(0.3)),
    (Custom(lambda r: np.abs(r) ** 3 / 3, lambda r: r * np.abs(r)), PolynomialLoss(3.0)),
    (Custom(softplus, sigmoid_slope, of="margin"), Logistic()),
    (
        Custom(lambda m: np.maximum(1 - m, 0), lambda m: np.where(m < 1, -1.0, 0.0), of="margin"),
        Hinge(),
    ),
    (
        Custom(lambda y, f: (y - f) ** 2 / 2, lambda y, f: f - y, of="both", unit=3.0),
        Squared(),
    ),
]
twins = pytest.mark.parametrize(("mine", "known"), TWINS, ids=lambda loss: type(loss).__name__)


@twins
def test_everything_follows_from_value_and_slope(mine, known):
    rng = np.random.default_rng(0)
    y, f = np.where(rng.normal(size=50) > 0, 1.0, -1.0), rng.normal(size=50)
    np.testing.assert_allclose(mine.value(y, f), known.value(y, f), atol=1e-12)
    np.testing.assert_allclose(mine.gradient(y, f), known.gradient(y, f), atol=1e-12)
    assert mine.smooth == known.smooth
    np.testing.assert_allclose(mine.slopes(y), known.slopes(y), rtol=1e-12)
    low, high = (np.clip(end, -3, 3) for end in known.slopes(y))
    v = low + (high - low) * rng.uniform(0.01, 0.99, 50)
    # The place is found to a few units in the last place, the value with the square of that.
    np.testing.assert_allclose(mine.conjugate(y, v), known.conjugate(y, v), atol=1e-13)
    np.testing.assert_allclose(
        mine.conjugate_gradient(y, v), known.conjugate_gradient(y, v), rtol=1e-12, atol=1e-12
    )
    if known.smooth:
        # Curvatures are differences over 6e-6: truncated at h^2 = 4e-11, rounded at 1e-16 / h.
        np.testing.assert_allclose(
            mine.conjugate_curvature(y, v), known.conjugate_curvature(y, v), rtol=1e-6
        )
    np.testing.assert_allclose(mine.violation(y, f, v), known.violation(y, f, v), atol=1e-9)
    assert np.all(np.isinf(mine.conjugate(y, high + 0.01)) | np.isinf(known.slopes(y)[1]))


@pytest.mark.parametrize("k", [0, 2, 3, 4])
def test_machines_are_those_of_the_known_loss(k):
    mine, known = TWINS[k]
    risk = random_risk(known, C=5.0)
    twin = RegularizedRisk(mine, risk.K, risk.y, risk.c, risk.B)
    solver = Newton(tol=1e-8) if known.smooth else InteriorPoint(tol=1e-8)
    a, b = minimize(risk, solver), minimize(twin, solver)
    assert b.converged
    # Both objectives lie within their gaps above the one minimum.
    slack = a.gap + b.gap + 1e-12 * (1 + abs(a.objective))
    assert abs(a.objective - b.objective) <= slack
    assert b.relative_gap <= 1e-7


def test_a_slope_by_differences_is_nearly_as_good():
    mine = Custom(log_cosh)
    rng = np.random.default_rng(1)
    y, f = rng.normal(size=(2, 40))
    # Central differences over h = 6e-6 of values known to 1e-16: about 1e-10.
    np.testing.assert_allclose(mine.gradient(y, f), LogCosh().gradient(y, f), atol=1e-9)
    v = rng.uniform(-0.9, 0.9, 40)
    np.testing.assert_allclose(mine.conjugate(y, v), LogCosh().conjugate(y, v), atol=1e-13)
    risk = random_risk(Squared(), C=3.0)
    found = minimize(RegularizedRisk(mine, risk.K, risk.y, risk.c, risk.B), Newton(tol=1e-6))
    assert found.converged


def test_a_loss_of_its_own_is_certified():
    # LINEX, exp(r) - r - 1: its conjugate is (1 + u) log(1 + u) - u.
    linex = Custom(lambda r: np.expm1(r) - r, np.expm1)
    u = np.linspace(-0.95, 3.0, 20)
    y = np.zeros(20)
    closed = (1 + u) * np.log1p(u) - u
    np.testing.assert_allclose(linex.conjugate(y, -u), closed, atol=1e-13)
    np.testing.assert_allclose(linex.slopes(y)[1], np.ones(20))
    assert np.all(np.isneginf(linex.slopes(y)[0]))
    best = supremum(lambda f: -u * f - linex.value(y, f), np.full(20, -30.0), np.full(20, 30.0))
    np.testing.assert_allclose(closed, best, atol=1e-12)
    risk = random_risk(Squared(), C=5.0, n=12)
    risk = RegularizedRisk(linex, risk.K, risk.y, risk.c, risk.B)
    newton = minimize(risk, Newton(tol=1e-9))
    assert newton.relative_gap <= 1e-8
    root = np.linalg.cholesky(risk.K.dense() + 1e-12 * np.eye(risk.n))
    w, b = cp.Variable(risk.n), cp.Variable(risk.q)
    r = risk.y - root @ w - risk.B @ b
    cost = cp.sum_squares(w) / 2 + risk.c @ (cp.exp(r) - r - 1)
    # Clarabel's own tolerance is 1e-8 relative.
    assert newton.objective == pytest.approx(cp.Problem(cp.Minimize(cost)).solve("CLARABEL"), 1e-6)


def test_kinks_and_curves_together():
    # A cusp on a parabola, |r| + r^2 / 2: conjugate max(0, |u| - 1)^2 / 2.
    loss = Custom(lambda r: np.abs(r) + r**2 / 2, lambda r: np.sign(r) + r)
    u = np.linspace(-3, 3, 31)
    y = np.zeros(31)
    np.testing.assert_allclose(
        loss.conjugate(y, u), np.maximum(np.abs(u) - 1, 0) ** 2 / 2, atol=1e-13
    )
    assert not loss.smooth
    inside = np.abs(u) < 1
    # Where the cusp has the slope nothing curves; elsewhere the parabola does.
    np.testing.assert_allclose(loss.conjugate_curvature(y, u)[inside], 0.0)
    np.testing.assert_allclose(loss.conjugate_curvature(y, u)[np.abs(u) > 1.01], 1.0, rtol=1e-6)


@pytest.mark.parametrize(
    ("functions", "options", "message"),
    [
        ((np.abs,), {}, "kink near r = 0"),
        ((lambda r: np.sqrt(np.abs(r)),), {}, "not convex"),
        ((lambda r: r**2, lambda r: r), {}, "not the derivative"),
        ((lambda r: r**2, lambda r: -2 * r), {}, "not the derivative"),
        ((lambda r: r**2, lambda r: 2 * r, lambda r: -2.0 + 0 * r), {}, "bend is negative"),
        ((lambda r: r**2, lambda r: 2 * r, lambda r: 1.0 + 0 * r), {}, "bend is not"),
        ((lambda r: -r,), {}, "no least value"),
        ((lambda r: 1.0,), {}, "elementwise"),
        ((lambda r: np.where(r > 0, np.inf, 0.0),), {}, "finite everywhere"),
        ((lambda r: r**2 / 2,), {"dual": lambda u: u**2}, "not the conjugate"),
        ((np.abs, np.sign), {"bounds": (-2.0, 2.0)}, "far away they are -1"),
        ((np.abs, np.sign), {"bounds": (1.0, 2.0)}, "both sides of zero"),
        ((np.abs, np.sign), {"of": "price"}, "of must be"),
        ((np.abs, np.sign), {"unit": 0.0}, "unit must be"),
    ],
)
def test_mistakes_are_refused(functions, options, message):
    with pytest.raises(ValueError, match=message):
        Custom(*functions, **options)


def test_what_is_given_is_used():
    loss = Custom(lambda r: r**2 / 2, lambda r: r, lambda r: np.ones_like(r), lambda u: u**2 / 2)
    y, v = np.array([1.0, 2.0]), np.array([0.5, -0.5])
    np.testing.assert_allclose(loss.conjugate(y, v), Squared().conjugate(y, v))
    bounded = Custom(np.abs, np.sign, bounds=(-1.0, 1.0), kinks=True)
    np.testing.assert_array_equal(bounded.slopes(y), [[-1.0, -1.0], [1.0, 1.0]])
    assert np.isinf(bounded.conjugate(y, np.array([1.1, -1.1]))).all()
    margin = Custom(softplus, sigmoid_slope, of="margin", bounds=(-1.0, 0.0))
    np.testing.assert_array_equal(margin.slopes(np.array([1.0, -1.0])), [[-1.0, 0.0], [0.0, 1.0]])


def test_estimators_take_it():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 6, (60, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=60)
    machine = KernelRegressor(Custom(log_cosh, np.tanh), C=3.0, tol=1e-8)
    known = KernelRegressor("log_cosh", C=3.0, tol=1e-8).fit(X, y)
    copy = clone(machine).fit(X, y)
    # Both within 1e-8 in slope of one optimum, which the kernel times C = 3 and 60 samples magnify.
    np.testing.assert_allclose(copy.predict(X), known.predict(X), atol=180e-8)
    search = GridSearchCV(machine, {"C": [0.1, 1.0], "loss__unit": [1.0, 2.0]}, cv=2).fit(X, y)
    assert search.best_params_["C"] == 1.0
    labels = (y > 0).astype(int)
    classifier = KernelClassifier(Custom(softplus, sigmoid_slope, of="margin"), C=5.0, tol=1e-8)
    logistic = KernelClassifier(Logistic(), C=5.0, tol=1e-8).fit(X, labels)
    np.testing.assert_allclose(
        classifier.fit(X, labels).decision_function(X),
        logistic.decision_function(X),
        atol=300e-8,
    )


def test_a_custom_loss_is_mirrored_by_its_functions():
    linex = Custom(
        lambda r: np.exp(r) - r - 1.0,
        lambda r: np.exp(r) - 1.0,
        np.exp,
        lambda u: (1.0 + u) * np.log1p(u) - u,
        bounds=(-1.0, np.inf),
    )
    both = Custom(lambda y, f: np.exp(f - y) - f, lambda y, f: np.exp(f - y) - 1.0, of="both")
    y, f, v = np.array([1.0, -0.5]), np.array([0.2, 0.9]), np.array([0.5, -0.3])
    for loss in (linex, both):
        other = loss.mirrored()
        np.testing.assert_array_equal(other.value(y, f), loss.value(-y, -f))
        np.testing.assert_array_equal(other.gradient(y, f), -loss.gradient(-y, -f))
        np.testing.assert_array_equal(other.curvature(y, f), loss.curvature(-y, -f))
        np.testing.assert_allclose(other.conjugate(y, v), loss.conjugate(-y, -v), rtol=1e-12)
    np.testing.assert_array_equal(linex.mirrored().slopes(y), [[-1.0, -1.0], [np.inf, np.inf]])
    margin = Custom(softplus, sigmoid_slope, of="margin")
    assert margin.mirrored() is margin
