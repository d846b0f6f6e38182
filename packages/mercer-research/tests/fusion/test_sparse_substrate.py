"""Sparse machines against a conic solver, scikit-learn's lasso, refits and their own conditions."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import Lasso
from sklearn.model_selection import GroupKFold, KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SVR
from mercer.kernels import Gaussian
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Pinball,
    Squared,
    SquaredHinge,
)
from mercer.regularizers import Empty, Polynomial
from mercer_research.fusion import SparseSubstrate, SparseSubstrateClassifier
from mercer_research.fusion.dictionary import largest_penalty, sparse_fit

KERNEL = Gaussian(0.7)


def sinc(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 1))
    return X, np.sinc(X[:, 0]) + 0.1 * rng.standard_normal(n)


def problem(seed=0):
    X, y = sinc(40, seed)
    return KERNEL(X), np.ones((40, 1)), y, np.random.default_rng(1).uniform(0.5, 2.0, 40)


LOSSES = {
    "squared": (Squared(), lambda y, f: 0.5 * cp.square(y - f)),
    "huber": (Huber(0.1), lambda y, f: 0.5 * cp.huber(y - f, 0.1)),
    "absolute": (Absolute(), lambda y, f: cp.abs(y - f)),
    "tube": (EpsilonInsensitive(0.05), lambda y, f: cp.pos(cp.abs(y - f) - 0.05)),
    "pinball": (Pinball(0.3), lambda y, f: cp.maximum(0.3 * (y - f), -0.7 * (y - f))),
    "hinge": (Hinge(), lambda y, f: cp.pos(1 - cp.multiply(y, f))),
    "squared hinge": (SquaredHinge(), lambda y, f: 0.5 * cp.square(cp.pos(1 - cp.multiply(y, f)))),
    "logistic": (Logistic(), lambda y, f: cp.logistic(-cp.multiply(y, f))),
}


@pytest.mark.parametrize("share", [0.3, 0.01])
@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_against_a_conic_solver(name, share):
    (loss, written), (K, B, y, c) = LOSSES[name], problem()
    y = np.sign(y - 0.1) if name in ("hinge", "squared hinge", "logistic") else y
    zeta = share * largest_penalty(K, B, y, c, loss)
    found = sparse_fit(K, B, y, c, loss, zeta)
    a, b = cp.Variable(40), cp.Variable(1)
    best = cp.Problem(cp.Minimize(c @ written(y, K @ a + B @ b) + zeta * cp.norm1(a)))
    best.solve(solver=cp.CLARABEL)
    objective = c @ loss.value(y, K @ found.a + B @ found.b) + zeta * np.abs(found.a).sum()
    # Ours is within 1e-7 of the null function's cost, the other within 1e-8 of its own.
    scale = float(c @ loss.value(y, np.zeros(40)))
    assert objective == pytest.approx(best.value, abs=1e-6 * scale)
    assert abs(found.gap) <= 1e-6 * scale
    assert objective - best.value <= max(found.gap, 0.0) + 1e-6 * scale


@pytest.mark.parametrize("zeta", [3.0, 0.1, 1e-3])
def test_the_conditions_of_the_lasso(zeta):
    K, B, y, c = problem()
    found = sparse_fit(K, B, y, c, Squared(), zeta)
    g = K.T @ (c * (y - K @ found.a - B @ found.b))
    # Slips of 1e-10 of the largest correlation are allowed by the active set.
    slip = 1e-8 * np.max(np.abs(K.T @ (c * y)))
    on = found.a != 0
    assert np.max(np.abs(g)) <= zeta + slip
    assert g[on] == pytest.approx(zeta * np.sign(found.a[on]), abs=slip)
    assert (c * (y - K @ found.a - B @ found.b)).sum() == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("name", LOSSES)
def test_beyond_the_largest_penalty_nothing_is_used(name):
    loss, (K, B, y, c) = LOSSES[name][0], problem()
    y = np.sign(y - 0.1) if name in ("hinge", "squared hinge", "logistic") else y
    largest = largest_penalty(K, B, y, c, loss)
    assert not np.any(sparse_fit(K, B, y, c, loss, 1.0001 * largest).a)
    if loss.smooth:
        assert np.any(sparse_fit(K, B, y, c, loss, 0.99 * largest).a)


def test_similarities_that_are_no_kernel():
    rng = np.random.default_rng(0)
    K, y = rng.normal(size=(30, 30)), rng.normal(size=30)
    machine = SparseSubstrate("precomputed", zeta=2.0).fit(K, y)
    model = Lasso(alpha=2.0 / 30, tol=1e-12, max_iter=10**6).fit(K, y)
    assert machine.predict(K) == pytest.approx(model.predict(K), abs=1e-6)
    assert list(machine.support_) == list(np.flatnonzero(model.coef_))
    assert SparseSubstrate("precomputed", zeta=2.0, refit="ols").fit(K, y).score(K, y) > 0
    with pytest.raises(ValueError, match="refit='ols'"):
        SparseSubstrate("precomputed", zeta=2.0, refit="tikhonov").fit(K, y)


def test_losses_without_a_method_are_refused():
    class Square(EpsilonInsensitive):
        smooth = False

        def terms(self):
            return Huber(1.0).terms()

    K, B, y, c = problem()
    with pytest.raises(ValueError, match="neither smooth nor piecewise linear"):
        sparse_fit(K, B, y, c, Square(), 1.0)


# The choice of the penalty -----------------------------------------------------------------------


def test_errors_of_folds_are_those_of_refits():
    X, y = sinc(30)
    s = np.random.default_rng(2).uniform(0.5, 2.0, 30)
    machine = SparseSubstrate(KERNEL, zeta="min", cv=KFold(3), n_zetas=6).fit(X, y, s)
    errors, shares = [], []
    for train, test in KFold(3).split(X):
        share = s[train].sum() / s.sum()
        folds = [
            SparseSubstrate(KERNEL, zeta=zeta * share).fit(X[train], y[train], s[train])
            for zeta in machine.zetas_
        ]
        losses = [0.5 * (y[test] - fold.predict(X[test])) ** 2 for fold in folds]
        errors.append(np.average(losses, axis=1, weights=s[test]))
        shares.append(s[test].sum())
    mean = np.average(errors, axis=0, weights=shares)
    assert machine.cv_errors_ == pytest.approx(mean, rel=1e-6)
    spread = np.average((np.array(errors) - mean) ** 2, axis=0, weights=shares)
    assert machine.cv_standard_errors_ == pytest.approx(np.sqrt(spread / 2), rel=1e-5)
    assert machine.zeta_ == machine.zetas_[np.argmin(mean)]


def test_one_standard_error_is_the_largest_within_it_and_sparser():
    X, y = sinc(80, seed=3)
    one, best = (SparseSubstrate(KERNEL, zeta=rule).fit(X, y) for rule in ("1se", "min"))
    k = int(np.argmin(one.cv_errors_))
    within = one.cv_errors_ <= one.cv_errors_[k] + one.cv_standard_errors_[k]
    assert one.zeta_ == one.zetas_[within].max()
    assert best.zeta_ == one.zetas_[k] <= one.zeta_
    assert one.sparsity_ <= best.sparsity_
    assert one.n_kernels_[list(one.zetas_).index(one.zeta_)] == len(one.support_)
    assert one.n_kernels_[0] == 0


def test_support_is_spread_unlike_that_of_a_tube():
    X, y = sinc(100, seed=1)
    machine = SparseSubstrate(KERNEL).fit(X, y)
    tube = SVR(kernel=KERNEL, C=10.0, epsilon=0.05).fit(X, y)
    assert machine.sparsity_ < 0.5 * len(tube.support_) / 100
    # No half of the inputs is without a kernel.
    assert X[machine.support_].min() < 0 < X[machine.support_].max()


@pytest.mark.parametrize("refit", ["ols", "tikhonov"])
def test_refits_on_the_support(refit):
    X, y = sinc(50)
    s = np.random.default_rng(3).uniform(0.5, 2.0, 50)
    plain = SparseSubstrate(KERNEL, zeta=0.2).fit(X, y, s)
    again = SparseSubstrate(KERNEL, zeta=0.2, refit=refit).fit(X, y, s)
    assert list(again.support_) == list(plain.support_)
    S, K = plain.support_, KERNEL(X)
    if refit == "ols":
        root = np.sqrt(s)[:, None]
        design = np.c_[K[:, S], np.ones(50)]
        z = np.linalg.lstsq(root * design, root[:, 0] * y, rcond=None)[0]
        assert again.predict(X) == pytest.approx(design @ z, abs=1e-8)
        return
    # For some C: the residuals' normal equations with the norm of the kernels that are left.
    a, b = again.dual_coef_.ravel(), again.intercept_[0]
    r = s * (y - K[:, S] @ a - b)
    left, norm = K[:, S].T @ r, K[np.ix_(S, S)] @ a
    C = float(norm @ norm / (left @ norm))
    assert left == pytest.approx(norm / C, abs=1e-6 * np.max(np.abs(left)))
    assert r.sum() == pytest.approx(0.0, abs=1e-8)


def test_coherence_tells_neighbours():
    X = np.array([[0.0], [10.0], [20.0], [30.0]])
    y = np.arange(4.0)
    apart = SparseSubstrate(KERNEL, zeta=0.1, null_space=Empty()).fit(X, y)
    assert apart.coherence_ == pytest.approx(0.0, abs=1e-12)
    X[3] = 20.0
    assert SparseSubstrate(KERNEL, zeta=0.1).fit(X, y).coherence_ == pytest.approx(1.0)


def test_outputs_groups_weights_and_unpenalized_functions():
    X, y = sinc(30)
    Y = np.c_[y, X[:, 0]]
    both = SparseSubstrate(KERNEL, zeta=0.5, null_space=Polynomial(1)).fit(X, Y)
    alone = SparseSubstrate(KERNEL, zeta=0.5, null_space=Polynomial(1)).fit(X, y)
    assert both.predict(X)[:, 0] == pytest.approx(alone.predict(X), abs=1e-9)
    assert both.predict(X)[:, 1] == pytest.approx(X[:, 0], abs=1e-9)
    s, groups = np.ones(30), np.arange(30) % 5
    s[:4] = 0.0
    zero = SparseSubstrate(KERNEL, cv=GroupKFold(5)).fit(X, y, s, groups=groups)
    rest = SparseSubstrate(KERNEL, cv=GroupKFold(5)).fit(X[4:], y[4:], groups=groups[4:])
    assert zero.predict(X) == pytest.approx(rest.predict(X), abs=1e-8)


# Classes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "hinge", "logistic"])
def test_classes_are_the_signs_of_a_machine(loss):
    X, y = sinc(40)
    labels = np.where(y > 0.1, "b", "a")
    machine = SparseSubstrateClassifier(KERNEL, loss=loss, zeta=0.5).fit(X, labels)
    inner = SparseSubstrate(KERNEL, zeta=0.5).set_params(
        loss={"squared": Squared(), "hinge": Hinge(), "logistic": Logistic()}[loss]
    )
    inner.fit(X, np.where(labels == "b", 1.0, -1.0))
    assert machine.decision_function(X) == pytest.approx(inner.predict(X), abs=1e-9)
    assert list(machine.predict(X)) == list(np.where(inner.predict(X) > 0, "b", "a"))


def test_mistakes_are_counted_in_folds():
    X, y = sinc(40)
    labels = y > 0.1
    machine = SparseSubstrateClassifier(KERNEL, cv=KFold(4), n_zetas=5).fit(X, labels)
    inner, wrong = machine.machine_, np.zeros(5)
    for train, test in KFold(4).split(X):
        for k, zeta in enumerate(inner.zetas_):
            fold = SparseSubstrateClassifier(KERNEL, zeta=0.75 * zeta).fit(X[train], labels[train])
            f = fold.decision_function(X[test])
            wrong[k] += np.sum(0.5 * (1 - np.sign(f) * np.where(labels[test], 1, -1)))
    assert inner.cv_errors_ == pytest.approx(wrong / 40)


def test_several_classes_and_their_weights():
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3
    X = rng.normal(size=(60, 2)) + 3.0 * np.eye(3)[labels][:, :2]
    machine = SparseSubstrateClassifier(Gaussian(2.0), zeta=1.0).fit(X, labels)
    assert machine.decision_function(X).shape == (60, 3)
    assert machine.score(X, labels) > 0.85
    heavy = SparseSubstrateClassifier(Gaussian(2.0), zeta=1.0, class_weight={0: 50.0})
    assert np.sum(heavy.fit(X, labels).predict(X) == 0) >= np.sum(machine.predict(X) == 0)
    with pytest.raises(ValueError, match="one class only"):
        machine.fit(X, np.zeros(60))


@parametrize_with_checks(
    [
        SparseSubstrate(gamma="auto", cv=3, n_zetas=3, smallest=0.05),
        SparseSubstrate(loss="absolute", zeta=0.1, gamma="auto"),
        SparseSubstrateClassifier(gamma="auto", cv=3, n_zetas=3, smallest=0.05),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)
