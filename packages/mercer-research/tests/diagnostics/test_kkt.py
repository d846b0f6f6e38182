"""Optimality measured from outside, forces in equilibrium, and prices by differences."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer import LSSVR, SVC, SVR, NuSVC
from mercer.estimators import HuberSVR, SparseRegressor
from mercer_research.diagnostics import kkt, shadow_prices


@pytest.fixture(scope="module")
def plane():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, np.where(X @ [1.0, -0.5, 0.3] + 0.4 * rng.normal(size=60) > 0.2, "up", "down")


def test_states_of_the_support_vector_machine(plane):
    X, y = plane
    machine = SVC(C=2.0, tol=1e-8).fit(X, y)
    found = kkt(machine, X, y)
    margins = np.where(y == machine.classes_[1], 1, -1) * machine.decision_function(X)
    # No coefficient: margin at least one; inside the box: one; on the box: at most one.
    assert np.all(margins[found.idle] >= 1 - 1e-6)
    assert np.allclose(margins[found.free], 1.0, atol=1e-6)
    assert np.all(margins[found.bounded] <= 1 + 1e-6)
    assert np.array_equal(np.sort([*found.free, *found.bounded]), np.sort(machine.support_))
    assert len(found.free) + len(found.bounded) + len(found.idle) == 60
    assert max(found.stationarity, found.gap) < 1e-6
    assert found.bounds == 0.0
    assert found.complementarity <= found.gap * (1 + found.objective) * (1 + 1e-9)
    assert found.objective - found.dual == pytest.approx(
        found.gap * (1 + found.objective), abs=1e-9
    )
    assert "free" in str(found)


def test_forces_and_torques_are_in_equilibrium(plane):
    X, y = plane
    machine = SVC(kernel="linear", C=2.0, tol=1e-8).fit(X, y)
    found = kkt(machine, X, y)
    pull = np.abs(machine.dual_coef_).sum()
    assert np.allclose(found.forces, 0.0, atol=1e-9 * pull)
    a = np.zeros(60)
    a[machine.support_] = machine.dual_coef_[0]
    # The printed identity, with the normal of the plane from the fitted machine.
    printed = np.cross(X, a[:, None] * machine.coef_[0]).sum(axis=0)
    assert np.allclose(printed, 0.0, atol=1e-9 * pull)
    turned = [found.torques[1, 2], found.torques[2, 0], found.torques[0, 1]]
    assert np.allclose(turned, printed, atol=1e-9 * pull)


def test_what_is_not_optimal_is_seen(plane):
    X, y = plane
    machine = SVC(C=2.0, tol=1e-8).fit(X, y)
    a = machine.solution_.a.copy()
    a[np.argmax(np.abs(a))] *= 1.5
    object.__setattr__(machine.solution_, "a", a)
    found = kkt(machine, X, y)
    assert found.bounds == pytest.approx(1.0)
    assert found.equality > 0.5
    with pytest.raises(ValueError, match="not fitted to such"):
        kkt(machine, X[:30], y[:30])
    with pytest.raises(TypeError, match="no kernel machine"):
        kkt(object(), X, y)


def test_every_problem_has_a_report(plane):
    X, _ = plane
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    found = kkt(SVC(tol=1e-6).fit(X, y), X, y)
    assert len(found) == 3
    assert max(report.stationarity for report in found) < 1e-5
    nu = kkt(NuSVC(nu=0.3, tol=1e-6).fit(X, y > 0), X, y > 0)
    assert np.max(np.abs(nu.forces)) < 1e-7
    sparse = SparseRegressor().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="certificate of its own"):
        kkt(sparse, X, X[:, 0])


@pytest.mark.parametrize(
    "machine", [LSSVR(C=2.0), HuberSVR(C=2.0, tol=1e-10), SVR(C=2.0, tol=1e-10)]
)
def test_prices_are_derivatives_and_bounds(machine, plane):
    X, _ = plane
    rng = np.random.default_rng(1)
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.1 * rng.normal(size=60)
    machine = clone(machine).set_params(gamma="auto").fit(X, y)
    p, prices = machine.solution_.objective, shadow_prices(machine, X, y)

    def value(y, C=2.0, s=None):
        return clone(machine).set_params(C=C).fit(X, y, s).solution_.objective

    h = 1e-5
    for i in np.argsort(-np.abs(prices.targets))[[0, 10, 20]]:
        e = h * (np.arange(60) == i)
        # The value is convex with curvature at most C = 2: differences are off by C h at most, or
        # by a jump of the slope where the loss has a kink, which bounds of the box exclude.
        slope = (value(y + e) - value(y - e)) / (2 * h)
        assert slope == pytest.approx(prices.targets[i], abs=1e-3)
        s = 1.0 + 1e-3 * (np.arange(60) == i)
        assert (value(y, s=s) - p) / 1e-3 == pytest.approx(prices.weights[i], rel=1e-2, abs=1e-3)
    assert (value(y, 2.0 + h) - value(y, 2.0 - h)) / (2 * h) == pytest.approx(prices.C, rel=1e-4)
    for _ in range(5):
        # The bounds are global, for changes of any size.
        delta = rng.normal(size=60)
        assert value(y + delta) >= p + prices.targets @ delta - 1e-7
    for C in (0.1, 10.0):
        assert value(y, C) <= p + (C - 2.0) * prices.C + 1e-7


def test_only_regressions_have_prices(plane):
    X, y = plane
    with pytest.raises(ValueError, match="regression of one output"):
        shadow_prices(SVC().fit(X, y), X, y)
