"""Stable machines against machines of folds, a conic solver and each other."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_info, threadpool_limits

from mercer.kernels import Gaussian
from mercer.regularizers import Empty, Polynomial
from mercer_research.fusion import (
    FastStable,
    FoldedSubstrate,
    FullStable,
    StabilityCurve,
    StableLSSVR,
    System,
    slab,
    stability_curve,
)
from mercer_research.fusion.slab import Slab
from mercer_research.linear.constrained import constrained_least_squares
from mercer_research.selection.folds import Folds

KERNEL = Gaussian(0.7)
# The solver stops at 1e-9 of the squared targets; costs differ by as much, and solutions of a
# program whose least curvature is of order 1e-3 by its square root.
TOL = 1e-9


def sinc(n=30, seed=0, noise=0.2):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 1))
    return X, np.sinc(X[:, 0]) + noise * rng.standard_normal(n)


def parts(n=24, L=4, B=None, seed=0, weights=None):
    X, y = sinc(n, seed)
    B = np.ones((n, 1)) if B is None else B
    folds = Folds(np.random.default_rng(1).permutation(n) % L)
    return System(KERNEL(X), y, B, 2.0, weights), folds


# The program -------------------------------------------------------------------------------------


def conic(F, t, G, tau):
    z = cp.Variable(F.shape[1])
    problem = cp.Problem(cp.Minimize(cp.sum_squares(t - F @ z)), [cp.abs(G @ z) <= tau])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return z.value, problem.value


@pytest.mark.parametrize("tau", [0.01, 0.3, 1.0, 50.0])
def test_least_squares_between_hyperplanes_against_a_conic_solver(tau):
    rng = np.random.default_rng(0)
    F, G, t = rng.normal(size=(20, 8)), rng.normal(size=(12, 8)), rng.normal(size=20)
    found = Slab(F, G).solve(t, tau)
    z, value = conic(F, t, G, tau)
    assert np.max(np.abs(G @ found.z)) <= tau * (1 + 1e-9)
    assert found.cost == pytest.approx(value, abs=2 * TOL * (t @ t))
    assert found.cost - found.gap <= value + 1e-9
    # F has singular values beyond 1, so that costs within TOL have distances within its root.
    assert found.z == pytest.approx(z, abs=np.sqrt(2 * TOL * (t @ t)))


def test_algebra_of_hundreds_of_rows_has_one_thread(monkeypatch):
    """Threads of BLAS would wait for each other: at 500 samples that took four times as long."""
    held = []

    def threads():
        return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

    def watched(*args):
        held.extend(threads())
        return constrained_least_squares(*args)

    monkeypatch.setattr(slab, "constrained_least_squares", watched)
    stable, y = FastStable(*parts()), parts()[0].y
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        stable.solve(y, 0.01)
        assert threads() == before
    if max(before) < 2:
        pytest.skip("this BLAS has no second thread")
    assert held
    assert set(held) == {1}


def test_directions_that_matter_for_nothing_are_zero():
    F = np.c_[np.eye(3), np.zeros(3)]
    found = Slab(F, np.ones((1, 4)) * [1, 1, 1, 0]).solve(np.array([1.0, 2.0, 3.0]), 3.0)
    # The projection of t on the half-space of sums up to 3.
    assert found.z == pytest.approx([0, 1, 2, 0], abs=1e-4)


def programs():
    fast = parts()
    return [FastStable(*fast), FullStable(*fast, training=0.01)]


@pytest.mark.parametrize("tau", [0.02, 0.2])
@pytest.mark.parametrize("k", [0, 1])
def test_stable_machines_against_a_conic_solver(k, tau):
    (system, folds), L = parts(), 4
    stable, y, n = programs()[k], system.y, 24
    K = system.K
    if k == 0:
        a, b = cp.Variable(n), cp.Variable()
        left = y - b - folds.across(K) @ a
        change = folds.difference(K) @ a
        problem = cp.Problem(
            cp.Minimize(cp.sum_squares(left)), [cp.abs(change) <= tau, cp.sum(a) == 0]
        )
    else:
        # Machines of the folds as they are written, each with its own system.
        c, limits, cost, trained, left_out = cp.Variable(n), [], 0, {}, {}
        for fold in range(L):
            T, V = folds.outside(fold), folds.inside(fold)
            a, b = cp.Variable(len(T)), cp.Variable()
            limits += [
                (K[np.ix_(T, T)] + np.diag(system.ridge[T])) @ a + b + c[T] == y[T],
                cp.sum(a) == 0,
            ]
            e, ev = y[T] - K[np.ix_(T, T)] @ a - b, y[V] - K[np.ix_(V, T)] @ a - b
            cost += cp.sum_squares(ev) + 0.01 * cp.sum_squares(e)
            trained |= {(fold, j): e[i] for i, j in enumerate(T)}
            left_out |= {j: ev[i] for i, j in enumerate(V)}
        limits += [cp.abs(e - left_out[j]) <= tau for (_, j), e in trained.items()]
        problem = cp.Problem(cp.Minimize(cost), limits)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    found = stable.solve(y, tau)
    scale = float(y @ y) * (1 if k == 0 else 1 + 0.01 * (L - 1))
    assert found.gap <= 1e-6 * scale
    # Each solver is within its own bound; the other's feasibility counts multipliers of order one.
    assert found.cost == pytest.approx(problem.value, abs=found.gap + 1e-6 * scale)


def test_shared_coefficients_predict_what_machines_of_folds_do():
    system, folds = parts()
    stable, y, K = FastStable(system, folds), system.y, system.K
    z = stable.solve(y, 0.05).z
    a, b = stable.coefficients(z[:, None], "sum")
    a, b = a[:, 0], b[0, 0]
    e, left_out = stable.residuals(y, z)
    total = np.zeros(24)
    for fold in range(4):
        T, V = folds.outside(fold), folds.inside(fold)
        f = K[:, T] @ a[T] + b
        assert left_out[V] == pytest.approx(y[V] - f[V], abs=1e-12)
        total[T] += y[T] - f[T]
    assert e == pytest.approx(total / 3, abs=1e-10)
    assert abs(a.sum()) < 1e-9 * np.abs(a).sum()
    average, _ = stable.coefficients(z[:, None], "average")
    assert average[:, 0] == pytest.approx(0.75 * a)


def test_shared_constants_are_those_of_machines_of_folds():
    system, folds = parts(weights=np.linspace(0.5, 2.0, 24))
    stable, y, tau = FullStable(system, folds), system.y, 0.05
    z = stable.solve(y, tau).z
    folded = FoldedSubstrate(system, folds)
    e, left_out = stable.residuals(y, z)
    assert left_out == pytest.approx(folded.left_out(y - z), abs=1e-10)
    assert e == pytest.approx(folded.mean_residuals(y - z), abs=1e-10)
    for fold in range(4):
        T = folds.outside(fold)
        change = folded.fold_residuals(fold, y - z) - left_out[T]
        assert np.max(np.abs(change)) <= tau * (1 + 1e-9)


@pytest.mark.parametrize("k", [0, 1])
def test_costs_fall_and_ends_are_known(k):
    stable, y = programs()[k], parts()[0].y
    t = stable._target(y)
    bounds = [0.0, 1e-3, 1e-2, 0.1, 1.0, 1e6]
    found = [stable.solve(y, bound) for bound in bounds]
    costs = np.array([fit.cost for fit in found])
    assert np.all(np.diff(costs) <= 1e-7 * costs[0])
    # Without differences nothing is left to the kernel: what remains is off the constants.
    assert np.max(np.abs(stable.slab.G @ np.zeros(stable.slab.G.shape[1]))) == 0
    e, left_out = stable.residuals(y, found[0].z)
    assert e == pytest.approx(left_out, abs=1e-8)
    # And an idle bound leaves least squares.
    F = stable.slab.F
    free = t - F @ np.linalg.lstsq(F, t, rcond=None)[0]
    assert found[-1].cost == pytest.approx(float(free @ free), abs=1e-10)


def test_negative_bounds_are_refused():
    with pytest.raises(ValueError, match="at least zero"):
        programs()[0].solve(np.zeros(24), -1.0)
    with pytest.raises(ValueError, match="at least zero"):
        FullStable(*parts(), training=-1.0)


# Curves ------------------------------------------------------------------------------------------


def test_curves_are_those_of_single_bounds_and_fall():
    X, y = sinc(30)
    machine = StableLSSVR(KERNEL, cv=5)
    bounds = np.geomspace(1e-3, 1.0, 5)
    curve = stability_curve(machine, X, y, bounds)
    assert np.all(np.diff(curve.left_out) <= 1e-9)
    for k in (0, 4):
        fit = clone(machine).set_params(alpha_s=bounds[k]).fit(X, y)
        assert curve.left_out[k] == pytest.approx(np.mean(fit.stability_.left_out**2), abs=1e-8)
        assert curve.residuals[k] == pytest.approx(np.mean(fit.stability_.residuals**2), abs=1e-8)
    assert StabilityCurve(bounds, curve.residuals, curve.left_out).least in bounds


# The estimator -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "final"),
    [("fast", "average"), ("fast", "sum"), ("full", "refit"), ("full", "average")],
)
def test_machines_keep_their_bound(mode, final):
    X, y = sinc(30)
    machine = StableLSSVR(KERNEL, alpha_s=0.05, mode=mode, cv=5, final=final).fit(X, y)
    assert machine.stability_.alpha <= 0.05 + 1e-9
    assert machine.gap_ <= 1e-6 * (y @ y)
    assert machine.curve_ is None
    system, folds = System(KERNEL(X), y[:, None], np.ones((30, 1))), Folds(machine.folds_)
    stable = FastStable(system, folds) if mode == "fast" else FullStable(system, folds)
    a, b = stable.coefficients(stable.solve(y, 0.05).z[:, None], final)
    assert machine.predict(X) == pytest.approx(KERNEL(X) @ a[:, 0] + b[0, 0], abs=1e-7)


@pytest.mark.parametrize("rule", ["corner", "residuals"])
def test_the_bound_from_the_curve(rule):
    X, y = sinc(40, noise=0.1)
    machine = StableLSSVR(KERNEL, alpha_s=rule, cv=5).fit(X, y)
    curve = stability_curve(machine, X, y)
    assert machine.alpha_s_ == pytest.approx(curve.best if rule == "corner" else curve.least)
    assert machine.stability_.alpha <= machine.alpha_s_ * (1 + 1e-6)
    # Both are bounds far below the noise, which a machine may follow up to a share of a sample.
    assert machine.alpha_s_ < 0.1
    assert machine.score(X, y) > 0.7


def test_constant_targets_are_fitted_at_any_bound():
    X, _ = sinc(20)
    for value in (0.0, 3.0):
        machine = StableLSSVR(KERNEL, cv=5).fit(X, np.full(20, value))
        assert machine.predict(X) == pytest.approx(np.full(20, value), abs=1e-12)


def test_scale_and_shift_of_the_targets():
    X, y = sinc(30)
    one = StableLSSVR(KERNEL, cv=5).fit(X, y)
    other = StableLSSVR(KERNEL, cv=5).fit(X, 100.0 * y + 7.0)
    assert other.alpha_s_ == pytest.approx(100.0 * one.alpha_s_, rel=1e-6)
    # Within the gap of both solves, 1e-6 of the squared targets at worst.
    assert other.predict(X) == pytest.approx(100.0 * one.predict(X) + 7.0, abs=0.1)


def test_outputs_are_solved_one_by_one_and_without_weight_is_without():
    X, y = sinc(30)
    Y = np.c_[y, -y]
    machine = StableLSSVR(KERNEL, alpha_s=0.05, cv=5).fit(X, Y)
    alone = StableLSSVR(KERNEL, alpha_s=0.05, cv=5).fit(X, y)
    assert machine.alpha_s_ == pytest.approx([0.05, 0.05])
    np.testing.assert_allclose(machine.predict(X)[:, 0], alone.predict(X), atol=1e-8)
    s = np.ones(30)
    s[:3] = 0.0
    groups = np.arange(30) % 5
    zero = StableLSSVR(KERNEL, alpha_s=0.05, cv=GroupKFold(5)).fit(X, y, s, groups=groups)
    rest = StableLSSVR(KERNEL, alpha_s=0.05, cv=GroupKFold(5))
    rest.fit(X[3:], y[3:], groups=groups[3:])
    assert zero.predict(X) == pytest.approx(rest.predict(X), abs=1e-6)
    assert list(zero.folds_[:3]) == [-1, -1, -1]
    with pytest.raises(ValueError, match="one output"):
        stability_curve(machine, X, Y)


@pytest.mark.parametrize("space", [Empty(), Polynomial(1)])
def test_unpenalized_functions(space):
    X, y = sinc(30)
    machine = StableLSSVR(KERNEL, alpha_s=0.0, null_space=space, cv=5).fit(X, y)
    # Without any difference the kernel is idle, and least squares are left.
    B = np.zeros((30, 1)) if isinstance(space, Empty) else np.c_[np.ones(30), X]
    expected = B @ np.linalg.lstsq(B, y, rcond=None)[0]
    assert machine.predict(X) == pytest.approx(expected, abs=1e-6)


def test_settings_that_do_not_belong_together_are_refused():
    X, y = sinc(20)
    with pytest.raises(ValueError, match="not defined for mode='full'"):
        StableLSSVR(mode="full", final="sum").fit(X, y)


@parametrize_with_checks(
    [
        StableLSSVR(alpha_s=0.1, gamma="auto", cv=3),
        StableLSSVR(alpha_s=0.1, mode="full", gamma="auto", cv=3),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)
