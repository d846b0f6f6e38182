"""Additive regularization against machines of folds, closed forms and a conic solver."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelRegressor
from mercer.kernels import Gaussian
from mercer.losses import Absolute, Huber, Squared
from mercer.regularizers import Empty, Polynomial
from mercer.smoothing import Spectral
from mercer_research.fusion import (
    AdditiveRegularization,
    FoldedSubstrate,
    Substrate,
    System,
    additive_ridge,
    equivalent_shifts,
    fast_fusion,
    mean_shift,
    modified_loss,
)
from mercer_research.selection.folds import Folds

KERNEL = Gaussian(0.7)


def sinc(n=30, seed=0, outputs=None):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 1))
    y = np.sinc(X) + 0.2 * rng.standard_normal((n, outputs or 1))
    return X, y if outputs else y[:, 0]


def bordered(K, B, ridge, z):
    """Solve the system of the machine as it is written."""
    q = B.shape[1]
    M = np.block([[K + np.diag(ridge), B], [B.T, np.zeros((q, q))]])
    solution = np.linalg.solve(M, np.concatenate([z, np.zeros((q, *z.shape[1:]))]))
    return solution[: len(K)], solution[len(K) :]


# Ridge -------------------------------------------------------------------------------------------


def linear(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(20, 3)), rng.normal(size=20), rng.normal(size=20)


def test_ridge_with_constants_is_affine_in_them_and_solves_its_equations():
    X, y, c = linear()
    w = additive_ridge(X, y, c, 2.0)
    np.testing.assert_allclose(w - 2.0 * X.T @ (y - c - X @ w), 0.0, atol=1e-12)
    zero, double = (additive_ridge(X, y, t * c, 2.0) for t in (0.0, 2.0))
    np.testing.assert_allclose(zero + double, 2 * w, atol=1e-12)
    np.testing.assert_allclose(zero, np.linalg.solve(X.T @ X + np.eye(3) / 2, X.T @ y))


def test_modified_losses_are_equivalent():
    X, y, c = linear()
    w, d = additive_ridge(X, y, c, 0.5), equivalent_shifts(X, y, c, 0.5)
    np.testing.assert_allclose(modified_loss(X, y, d), w, atol=1e-12)
    np.testing.assert_allclose(X.T @ d, X.T @ c + w / 0.5, atol=1e-12)
    ordinary = np.linalg.lstsq(X, y, rcond=None)[0]
    np.testing.assert_allclose(modified_loss(X, y, np.zeros(20)), ordinary)
    with pytest.raises(ValueError, match="depend on each other"):
        equivalent_shifts(np.ones((4, 2)), np.ones(4), np.zeros(4))


@pytest.mark.parametrize("seed", range(4))
def test_shifts_of_outliers_against_a_conic_solver(seed):
    X, y, _ = linear(seed)
    y[:3] += 8.0
    found = mean_shift(X, y, 0.6)
    w, d = cp.Variable(3), cp.Variable(20)
    cost = 0.5 * cp.sum_squares(y - X @ w - d) + 0.6 * cp.norm1(d)
    problem = cp.Problem(cp.Minimize(cost))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
    r = y - X @ found.coef - found.shifts
    ours = 0.5 * r @ r + 0.6 * np.abs(found.shifts).sum()
    assert ours == pytest.approx(problem.value, abs=1e-7)
    assert found.gap + 1e-12 >= 0
    assert ours - found.gap <= problem.value + 1e-7
    assert {0, 1, 2} <= set(np.flatnonzero(found.shifts))
    with pytest.raises(ValueError, match="positive"):
        mean_shift(X, y, 0.0)


# The substrate -----------------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("space", [Empty(), Polynomial(1)])
def test_the_substrate_solves_its_system(outputs, space):
    X, y = sinc(outputs=outputs)
    rng = np.random.default_rng(1)
    s, c = rng.uniform(0.5, 2.0, 30), rng.normal(size=y.shape)
    system = Substrate(KERNEL, 3.0, space).on(X, y, s)
    a, b = system.coefficients(c)
    expected = bordered(KERNEL(X), space(X), 1 / (3.0 * s), y - c)
    np.testing.assert_allclose(a, expected[0], atol=1e-9)
    np.testing.assert_allclose(b, expected[1], atol=1e-9)
    e = y - KERNEL(X) @ a - space(X) @ b
    np.testing.assert_allclose(system.residuals(c), e, atol=1e-9)
    np.testing.assert_allclose(space(X).T @ a, 0.0, atol=1e-9)
    np.testing.assert_allclose(system.shifts(a, b), c, atol=1e-9)
    for affine, value in ((system.alpha, a), (system.e, e), (system.b, b)):
        np.testing.assert_allclose(affine(c), value, atol=1e-9)
    new = np.linspace(-3, 3, 5)[:, None]
    f = system.predictions(KERNEL(new, X), space(new))
    np.testing.assert_allclose(f(c), KERNEL(new, X) @ a + space(new) @ b, atol=1e-9)


def test_any_coefficients_can_be_had():
    X, y = sinc()
    system = Substrate(KERNEL).on(X, y)
    a, b = np.random.default_rng(0).normal(size=30), np.array([0.7])
    a -= a.mean()
    found = system.coefficients(system.shifts(a, b))
    np.testing.assert_allclose(found[0], a, atol=1e-10)
    np.testing.assert_allclose(found[1], b, atol=1e-10)


def test_machines_of_one_C_and_back():
    X, y = sinc()
    s = np.random.default_rng(1).uniform(0.5, 2.0, 30)
    system = Substrate(KERNEL, C0=2.0).on(X, y, s)
    for C in (0.01, 2.0, 500.0):
        c = system.from_tikhonov(C)
        a, _ = system.coefficients(c)
        expected = Spectral(KERNEL(X), np.ones((30, 1)), s).coefficients(y, C)[0]
        np.testing.assert_allclose(a, expected, rtol=1e-7, atol=1e-8)
        effective = system.effective_C(a, c)
        assert pytest.approx(C, rel=1e-7) == effective.C
        assert effective.distance < 1e-7
    assert system.effective_C(a, c + 1.0).distance > 0.1
    assert system.effective_C(np.zeros(30), c).C == 0.0


def test_unrestricted_fusion_ignores_the_targets_of_the_sample():
    X, y = sinc(60)
    T, V = slice(20), slice(20, 60)
    K, one = KERNEL(X), np.ones((60, 1))
    fits = []
    for targets in (y[T], -y[T]):
        system = System(K[T, T], targets, one[T])
        c = system.fuse(K[V, T], y[V], one[V])
        fits.append(system.predictions(K[V, T], one[V])(c))
    np.testing.assert_allclose(*fits, atol=1e-6)
    # It is least squares on the validation data with centres of the sample.
    rows = np.c_[K[V, T] - K[V, T].mean(axis=1, keepdims=True), one[V]]
    best = np.linalg.lstsq(rows, y[V], rcond=None)[0]
    assert np.sum((y[V] - fits[0]) ** 2) == pytest.approx(
        np.sum((y[V] - rows @ best) ** 2), rel=1e-4
    )


def test_fusion_with_a_penalty_minimizes_what_it_says():
    X, y = sinc(50)
    T, V = slice(30), slice(30, 50)
    K, one = KERNEL(X), np.ones((50, 1))
    system = System(K[T, T], y[T], one[T])
    with pytest.raises(ValueError, match="do not determine"):
        system.fuse(K[V, T], y[V], one[V])
    c = system.fuse(K[V, T], y[V], one[V], training=0.3, penalty=0.1)
    f = system.predictions(K[V, T], one[V])
    gradient = -f.matrix.T @ (y[V] - f(c)) + 0.3 * system.e.matrix.T @ system.residuals(c) + 0.1 * c
    np.testing.assert_allclose(gradient, 0.0, atol=1e-10)


def test_substrates_refuse_what_they_cannot_hold():
    with pytest.raises(ValueError, match="C0 must be positive"):
        Substrate(KERNEL, C0=0.0)
    with pytest.raises(ValueError, match="positive weight"):
        System(np.eye(2), np.ones(2), weights=[1.0, 0.0])
    with pytest.raises(ValueError, match="2 rows"):
        System(np.eye(2), np.ones(3))


# All folds at once -------------------------------------------------------------------------------


def folded(seed=0, space=None, outputs=None, weighted=True):
    X, y = sinc(24, seed, outputs)
    rng = np.random.default_rng(seed)
    s = rng.uniform(0.5, 2.0, 24) if weighted else np.ones(24)
    space = Polynomial(0) if space is None else space
    system = System(KERNEL(X), y, space(X), 1.7, s)
    return FoldedSubstrate(system, Folds(rng.permutation(24) % 5)), space(X)


@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("space", [Empty(), Polynomial(0), Polynomial(1)])
def test_machines_of_folds_are_those_of_refits(space, outputs):
    machine, B = folded(space=space, outputs=outputs)
    system, folds = machine.system, machine.folds
    c = np.random.default_rng(5).normal(size=system.y.shape)
    mean, cost = np.zeros_like(system.y), 0.0
    left_out = machine.left_out(c)
    for fold in range(folds.n_folds):
        T, V = folds.outside(fold), folds.inside(fold)
        z = (system.y - c)[T]
        a, b = bordered(system.K[np.ix_(T, T)], B[T], system.ridge[T], z)
        ours = machine.fold_coefficients(fold, c)
        # Systems with condition numbers of a few thousand.
        np.testing.assert_allclose(ours[0][T], a, atol=1e-11)
        np.testing.assert_allclose(ours[0][V], 0.0)
        np.testing.assert_allclose(ours[1], b, atol=1e-11)
        e = system.y[T] - system.K[np.ix_(T, T)] @ a - B[T] @ b
        np.testing.assert_allclose(machine.fold_residuals(fold, c), e, atol=1e-11)
        ev = system.y[V] - system.K[np.ix_(V, T)] @ a - B[V] @ b
        np.testing.assert_allclose(left_out[V], ev, atol=1e-11)
        mean[T] += e / (folds.n_folds - 1)
        cost += np.sum(system.weights[T] @ e**2) + np.sum(system.weights[V] @ ev**2)
    np.testing.assert_allclose(machine.mean_residuals(c), mean, atol=1e-11)
    assert machine.cost(c) == pytest.approx(cost, rel=1e-12)


def test_without_constants_left_out_residuals_are_those_of_fold_algebra():
    machine, B = folded(weighted=False)
    spectral = Spectral(machine.system.K, B)
    expected = spectral.fold_residuals(machine.system.y, 1.7, machine.folds.labels)
    np.testing.assert_allclose(machine.left_out(np.zeros(24)), expected, atol=1e-11)


@pytest.mark.parametrize("outputs", [None, 2])
def test_normal_equations_are_the_derivatives_of_the_cost(outputs):
    machine, _ = folded(outputs=outputs)
    N, g = machine.normal_equations
    rng = np.random.default_rng(2)
    c, step = rng.normal(size=machine.system.y.shape), rng.normal(size=machine.system.y.shape)
    # The cost is quadratic, so that central differences are exact but for rounding.
    slope = (machine.cost(c + step) - machine.cost(c - step)) / 2
    assert slope == pytest.approx(2 * np.sum(step * (N @ c - g)), rel=1e-9)
    bend = machine.cost(c + step) + machine.cost(c - step) - 2 * machine.cost(c)
    assert bend == pytest.approx(2 * np.sum(step * (N @ step)), rel=1e-8)


def test_the_best_constants_are_stationary_and_beat_none():
    machine, _ = folded()
    c = machine.best_shifts()
    N, g = machine.normal_equations
    # Eigenvalues left out are below n eps of the largest; gradients there are their roots at most.
    scale = np.sqrt(len(N) * np.finfo(float).eps * np.linalg.norm(N, 2) * machine.cost(0 * c))
    assert np.linalg.norm(N @ c - g) < 10 * scale
    assert machine.cost(c) < machine.cost(np.zeros(24))
    rows = []
    for k in range(24):
        unit = np.eye(24)[k]
        rows.append(machine.left_out(unit) - machine.left_out(np.zeros(24)))
    assert np.linalg.matrix_rank(np.array(rows)) > 2


def test_the_order_of_folds_changes_nothing():
    machine, B = folded()
    system = machine.system
    renamed = (machine.folds.labels + 2) % 5
    other = FoldedSubstrate(System(system.K, system.y, B, 1.7, system.weights), Folds(renamed))
    c = np.random.default_rng(0).normal(size=24)
    assert other.cost(c) == pytest.approx(machine.cost(c), rel=1e-12)
    first, second = machine.best_shifts(), other.best_shifts()
    assert machine.cost(first) == pytest.approx(machine.cost(second), rel=1e-6)


def test_folds_that_hold_a_function_alone_are_refused():
    B = np.zeros((6, 1))
    B[:2] = 1.0
    system = System(np.eye(6), np.arange(6.0), B)
    with pytest.raises(ValueError, match="not determined"):
        FoldedSubstrate(system, Folds(np.array([0, 0, 1, 1, 2, 2])))


# Fast fusion -------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [0.0, 0.1])
@pytest.mark.parametrize("labels", [np.arange(24) % 5, np.arange(24) % 2, np.arange(24)])
def test_fast_fusion_minimizes_what_it_says(labels, penalty):
    X, y = sinc(24, outputs=2)
    folds, s = Folds(labels), np.random.default_rng(0).uniform(0.5, 2.0, 24)
    K, B = KERNEL(X), np.ones((24, 1))
    found = fast_fusion(K, y, folds, B, s, penalty=penalty)
    np.testing.assert_allclose(B.T @ found.a, 0.0, atol=1e-8 * np.abs(found.a).max())
    e = y - B @ found.b - folds.averaged(K) @ found.a
    np.testing.assert_allclose(found.residuals, e, atol=1e-9)
    ev = y - B @ found.b - folds.across(K) @ found.a
    np.testing.assert_allclose(found.left_out, ev, atol=1e-9)
    # Stationary in b, and in a up to a multiple of B.
    np.testing.assert_allclose(B.T @ (s[:, None] * e), 0.0, atol=1e-8)
    slope = -folds.averaged(K).T @ (s[:, None] * e)
    slope += folds.difference(K).T @ (s[:, None] * (folds.difference(K) @ found.a))
    slope += penalty * found.a / s[:, None]
    slope -= slope.mean(axis=0)
    # Singular values below eps times n of the largest are left out, as in LAPACK's least squares.
    np.testing.assert_allclose(slope, 0.0, atol=1e-6)


def test_other_losses_of_fast_fusion_against_a_conic_solver():
    X, y = sinc(16)
    folds, K, B = Folds(np.arange(16) % 4), Gaussian(0.4)(X), np.ones((16, 1))
    A, D = folds.averaged(K), folds.difference(K)
    for loss, cost in (
        (Absolute(), cp.norm1),
        (Huber(0.1), lambda r: 0.5 * cp.sum(cp.huber(r, 0.1))),
    ):
        found = fast_fusion(K, y, folds, B, loss=loss, penalty=0.01)
        a, b = cp.Variable(16), cp.Variable()
        value = cost(y - A @ a - b) + 0.5 * cp.sum_squares(D @ a) + 0.005 * cp.sum_squares(a)
        problem = cp.Problem(cp.Minimize(value), [cp.sum(a) == 0])
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
        change = D @ found.a[:, 0]
        ours = np.sum(loss.value(y, y - found.residuals[:, 0])) + 0.5 * change @ change
        ours += 0.005 * np.sum(found.a**2)
        # The duality gap that the solver is asked for, 1e-8 of the objective, and the other's.
        assert ours == pytest.approx(problem.value, rel=1e-6)


def test_squared_losses_of_fast_fusion_agree_by_both_ways():
    X, y = sinc(20)
    folds, K, B = Folds(np.arange(20) % 4), Gaussian(0.3)(X), np.ones((20, 1))
    first = fast_fusion(K, y, folds, B)
    near = fast_fusion(K, y, folds, B, loss=Huber(1e6))
    np.testing.assert_allclose(first.residuals, near.residuals, atol=1e-5)
    assert fast_fusion(K, y, folds, B, loss=Squared()).a == pytest.approx(first.a)


# The estimator -----------------------------------------------------------------------------------


def test_final_machines():
    X, y = sinc(40)
    machines = {
        (mode, final): AdditiveRegularization(KERNEL, mode=mode, final=final, cv=5).fit(X, y)
        for mode, final in (
            *(("full", "refit"), ("full", "average")),
            *(("fast", "average"), ("fast", "sum")),
        )
    }
    whole = machines["full", "refit"]
    refit = KernelRegressor(kernel=KERNEL, C=1.0, tol=1e-8).fit(X, y - whole.shifts_)
    np.testing.assert_allclose(whole.predict(X), refit.predict(X), atol=1e-6)
    average = np.zeros(40)
    for fold in range(5):
        T = whole.folds_ != fold
        one = KernelRegressor(kernel=KERNEL, C=1.0, tol=1e-8).fit(X[T], (y - whole.shifts_)[T])
        average += one.predict(X) / 5
        np.testing.assert_allclose(
            whole.left_out_residuals_[~T], (y - one.predict(X))[~T], atol=1e-5
        )
    np.testing.assert_allclose(machines["full", "average"].predict(X), average, atol=1e-5)
    part, total = (machines["fast", final] for final in ("average", "sum"))
    kernel_part = part.predict(X) - part.intercept_
    np.testing.assert_allclose(kernel_part, 0.8 * (total.predict(X) - total.intercept_), atol=1e-9)
    for machine in machines.values():
        a = np.zeros(40)
        a[machine.support_] = machine.dual_coef_[0]
        np.testing.assert_allclose(machine.shifts_, y - machine.predict(X) - a, atol=1e-8)
        assert machine.distance_ > 0.01
        assert machine.effective_C_ > 0


@pytest.mark.parametrize("mode", ["full", "fast"])
def test_outputs_weights_groups_and_rows(mode):
    X, Y = sinc(40, outputs=2)
    both = AdditiveRegularization(KERNEL, mode=mode, cv=KFold(5)).fit(X, Y)
    for k in range(2):
        one = AdditiveRegularization(KERNEL, mode=mode, cv=KFold(5)).fit(X, Y[:, k])
        np.testing.assert_allclose(both.predict(X)[:, k], one.predict(X), atol=1e-6)
    weights = np.ones(40)
    weights[::8] = 0.0
    live = weights > 0
    cv = [(T, V) for T, V in KFold(5).split(X)]
    given = AdditiveRegularization(KERNEL, mode=mode, cv=cv).fit(X, Y, weights)
    position = np.cumsum(live) - 1
    fewer = [(position[T[live[T]]], position[V[live[V]]]) for T, V in cv]
    other = AdditiveRegularization(KERNEL, mode=mode, cv=fewer).fit(X[live], Y[live])
    np.testing.assert_allclose(given.predict(X), other.predict(X), atol=1e-6)
    assert np.all(np.isnan(given.shifts_[::8]))
    groups = np.arange(40) // 4
    grouped = AdditiveRegularization(KERNEL, mode=mode, cv=GroupKFold(5)).fit(X, Y, groups=groups)
    assert all(len(set(grouped.folds_[groups == g])) == 1 for g in range(10))


def test_penalized_constants_are_those_of_their_equations_and_tame():
    machine, _ = folded()
    N, g = machine.normal_equations
    c = machine.best_shifts(0.5)
    np.testing.assert_allclose(N @ c + 0.5 * machine.system.weights * c, g, atol=1e-9)
    assert np.linalg.norm(c) < np.linalg.norm(machine.best_shifts())
    X, y = sinc(40)
    size = [
        np.abs(AdditiveRegularization(KERNEL, penalty=p).fit(X, y).shifts_).max() for p in (0, 1)
    ]
    assert size[1] < size[0]


def test_settings_that_do_not_belong_together_are_refused():
    X, y = sinc(20)
    with pytest.raises(ValueError, match="not defined for mode='full'"):
        AdditiveRegularization(final="sum").fit(X, y)
    with pytest.raises(ValueError, match="squared residuals only"):
        AdditiveRegularization(loss="absolute").fit(X, y)


@parametrize_with_checks(
    [AdditiveRegularization(gamma="auto", cv=3), AdditiveRegularization(mode="fast", cv=3)],
    expected_failed_checks=lambda machine: (
        {
            "check_sample_weight_equivalence_on_dense_data": "gamma='scale' sees no weights",
            "check_sample_weight_equivalence_on_sparse_data": "gamma='scale' sees no weights",
        }
        if machine.gamma == "scale"
        else {}
    ),
)
def test_estimator_checks(estimator, check):
    check(estimator)
