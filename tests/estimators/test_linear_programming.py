"""Machines under the 1-norm of their coefficients, against conic programs and their laws."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.base import clone

from mercer import SVC, SVR
from mercer.estimators import SparseClassifier, SparseRegressor
from mercer.kernels import BSpline, Gaussian, Sigmoid
from mercer.losses import EpsilonInsensitive, Pinball
from mercer.machines.solving import EarlyStop
from mercer.regularizers import Empty, Polynomial
from mercer_research.estimators import NuSparseClassifier, NuSparseRegressor

TOL = 1e-7


@pytest.fixture(scope="module")
def curve():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (60, 1))
    return X, np.sinc(X[:, 0]) + 0.1 * rng.normal(size=60), rng.uniform(0.2, 2.0, 60)


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2))
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=60) > 0, 1, -1)


def test_regression_is_the_printed_program(curve):
    X, y, s = curve
    machine = SparseRegressor(
        EpsilonInsensitive(0.05), Gaussian(0.5), C=3.0, null_space=Polynomial(1), tol=TOL
    ).fit(X, y, s)
    a, b = cp.Variable(60), cp.Variable(2)
    f = Gaussian(0.5)(X) @ a + np.column_stack([np.ones(60), X]) @ b
    value = cp.norm1(a) + 3.0 * s @ cp.pos(cp.abs(y - f) - 0.05)
    expected = cp.Problem(cp.Minimize(value)).solve(solver=cp.CLARABEL)
    assert machine.solution_.objective == pytest.approx(expected, rel=1e-6)
    # The fitted function has the value of the objective that the solver says.
    ours = np.abs(machine.dual_coef_).sum() + 3.0 * s @ np.maximum(
        np.abs(y - machine.predict(X)) - 0.05, 0.0
    )
    assert ours == pytest.approx(machine.solution_.objective, rel=1e-8)
    # The dual of the printed program at the multipliers: feasible, and of the same value.
    u = machine.multipliers_
    assert np.max(np.abs(Gaussian(0.5)(X) @ u)) <= 1 + 1e-9
    assert np.all(np.abs(u) <= 3.0 * s * (1 + 1e-9))
    assert np.max(np.abs(np.column_stack([np.ones(60), X]).T @ u)) < 1e-7 * np.abs(u).sum()
    assert y @ u - 0.05 * np.abs(u).sum() == pytest.approx(expected, rel=1e-6)


def test_multipliers_are_shadow_prices(curve):
    """The optimum is convex in the targets, and its slope is u: central differences lie near it."""
    X, y, _ = curve
    X, y = X[:30], y[:30]
    machine = SparseRegressor("huber", Gaussian(0.5), C=3.0, tol=1e-11).fit(X, y)
    h = 1e-4
    for i in (3, 17):
        e = h * (np.arange(30) == i)
        up, down = (clone(machine).fit(X, y + sign * e).solution_.objective for sign in (1.0, -1.0))
        # Second differences of a loss of curvature C are C h, gaps of 1e-11 over h are 1e-7.
        assert (up - down) / (2 * h) == pytest.approx(machine.multipliers_[i], abs=3.0 * h)


def test_collapse(curve):
    X, y, _ = curve
    machine = SparseRegressor(gamma=1.0, tol=1e-9).fit(X, y)
    assert len(clone(machine).set_params(C=0.99 * machine.C_min_).fit(X, y).support_) == 0
    assert len(clone(machine).set_params(C=1.02 * machine.C_min_).fit(X, y).support_) > 0
    nu = NuSparseRegressor(0.3, gamma=1.0, tol=1e-9).fit(X, y)
    assert len(clone(nu).set_params(C=0.99 * nu.C_min_).fit(X, y).support_) == 0
    assert len(clone(nu).set_params(C=1.02 * nu.C_min_).fit(X, y).support_) > 0


def test_a_scaled_kernel_is_a_scaled_weight(curve):
    X, y, _ = curve
    one = SparseRegressor(kernel=Gaussian(0.5), C=2.0, tol=1e-9).fit(X, y)
    other = SparseRegressor(kernel=4.0 * Gaussian(0.5), C=0.5, tol=1e-9).fit(X, y)
    assert 4.0 * other.solution_.objective == pytest.approx(one.solution_.objective, rel=1e-7)
    assert np.allclose(one.predict(X), other.predict(X), atol=1e-5)


def test_sparser_than_the_support_vector_machine(curve):
    X, y, _ = curve
    lp = SparseRegressor("absolute", Gaussian(0.7), C=1.0).fit(X, y)
    sv = SVR(kernel=Gaussian(0.7), C=1.0, epsilon=0.0).fit(X, y)
    assert len(sv.support_) == 60
    assert len(lp.support_) < 15
    assert np.mean(np.abs(lp.predict(X) - np.sinc(X[:, 0]))) < 0.1


@pytest.mark.parametrize("kernel", [BSpline(0.5, degree=2), Sigmoid(gamma=0.5, coef0=-1.0)])
def test_dictionaries_need_not_be_kernels(kernel, curve):
    """Even-order splines and tanh are not positive definite: no warning, and an optimum."""
    X, y, _ = curve
    K = kernel(X)
    assert np.linalg.eigvalsh(K)[0] < -1e-3
    machine = SparseRegressor(kernel=kernel, C=3.0, tol=TOL).fit(X, y)
    a, b = cp.Variable(60), cp.Variable()
    value = cp.norm1(a) + 3.0 * cp.sum(cp.pos(cp.abs(y - K @ a - b) - 0.1))
    expected = cp.Problem(cp.Minimize(value)).solve(solver=cp.CLARABEL)
    assert machine.solution_.objective == pytest.approx(expected, rel=1e-6)
    assert machine.solution_.converged


def test_prototypes_and_centres_are_the_same_machine(curve):
    X, y, _ = curve
    Z = np.linspace(-3, 3, 13)[:, None]
    given = SparseRegressor(kernel=Gaussian(0.5), centres=Z, C=3.0, tol=TOL).fit(X, y)
    matrix = SparseRegressor(kernel="precomputed", C=3.0, tol=TOL).fit(Gaussian(0.5)(X, Z), y)
    function = SparseRegressor(
        kernel=lambda A, B: Gaussian(0.5)(A, B), centres=Z, C=3.0, tol=TOL
    ).fit(X, y)
    new = np.linspace(-2, 2, 7)[:, None]
    expected = given.predict(new)
    assert np.allclose(matrix.predict(Gaussian(0.5)(new, Z)), expected, atol=1e-9)
    assert np.allclose(function.predict(new), expected, atol=1e-9)
    assert given.support_.max() < 13
    assert np.array_equal(given.support_vectors_, Z[given.support_])
    some = SparseRegressor(kernel=Gaussian(0.5), centres=20, C=3.0).fit(X, y)
    assert set(some.support_vectors_[:, 0]) <= set(X[:, 0])
    # So few functions are all needed where the loss weighs nearly everything.
    for few in (1, 3):
        rich = SparseRegressor(kernel=Gaussian(0.5), centres=few, C=1e3).fit(X, y)
        assert len(rich.support_) == few
    with pytest.raises(ValueError, match="features"):
        SparseRegressor(centres=np.ones((3, 2))).fit(X, y)
    with pytest.raises(ValueError, match="columns of a precomputed"):
        SparseRegressor(kernel="precomputed", centres=3).fit(Gaussian(0.5)(X, Z), y)


def test_positive_coefficients(curve, classes):
    X, y, _ = curve
    machine = SparseRegressor(kernel=Gaussian(0.5), positive=True, C=10.0).fit(X, y)
    assert np.all(machine.dual_coef_ > 0)
    X, labels = classes
    machine = SparseClassifier(positive=True, null_space=Empty(), C=0.5).fit(X, labels)
    assert np.all(machine.dual_coef_[0] * labels[machine.support_] > 0)
    with pytest.raises(ValueError, match="no labels"):
        SparseClassifier(positive=True, centres=X[:5]).fit(X, labels)


def test_the_other_mix_is_a_quadratic_program(curve):
    """The 1-norm of the expansion and a quadratic penalty on the parametric part."""
    X, y, s = curve
    M = np.array([[0.5, 0.2], [0.2, 2.0]])
    machine = SparseRegressor(
        kernel=Gaussian(0.5),
        C=3.0,
        null_space=Polynomial(1),
        null_space_penalty=M,
        tol=TOL,
    ).fit(X, y, s)
    a, b = cp.Variable(60), cp.Variable(2)
    f = Gaussian(0.5)(X) @ a + np.column_stack([np.ones(60), X]) @ b
    value = cp.norm1(a) + 0.5 * cp.quad_form(b, M) + 3.0 * s @ cp.pos(cp.abs(y - f) - 0.1)
    expected = cp.Problem(cp.Minimize(value)).solve(solver=cp.CLARABEL)
    assert machine.solution_.objective == pytest.approx(expected, rel=1e-6)
    assert np.allclose(machine.null_space_coef_, b.value, atol=1e-3)
    # Multipliers of the unpenalized part are no longer orthogonal to it: they balance M b.
    B = np.column_stack([np.ones(60), X])
    assert np.allclose(B.T @ machine.multipliers_, M @ machine.null_space_coef_, atol=1e-5)
    for penalty, sentence in [(np.ones(3), "shape"), ([-1.0, 1.0], "semidefinite")]:
        with pytest.raises(ValueError, match=sentence):
            clone(machine).set_params(null_space_penalty=penalty).fit(X, y)


@pytest.mark.parametrize("nu", [0.1, 0.3, 0.8])
def test_nu_counts_samples(nu, curve):
    X, y, _ = curve
    machine = NuSparseRegressor(nu, Gaussian(0.5), C=2.0, tol=TOL).fit(X, y)
    r = np.abs(y - machine.predict(X))
    outside, touching = r > machine.epsilon_ + 1e-6, r >= machine.epsilon_ - 1e-6
    assert np.mean(outside) <= nu
    assert np.mean(touching) >= nu
    # At its own width the tube is the machine's optimum, and the objective is that plus the width.
    tube = SparseRegressor(EpsilonInsensitive(machine.epsilon_), Gaussian(0.5), C=2.0, tol=TOL).fit(
        X, y
    )
    expected = tube.solution_.objective + 2.0 * nu * machine.epsilon_ * len(y)
    assert machine.solution_.objective == pytest.approx(expected, rel=1e-6)
    assert np.abs(machine.multipliers_).sum() == pytest.approx(2.0 * nu * 60, rel=1e-6)


def test_the_classifier_is_the_printed_program(classes):
    X, y = classes
    K = Gaussian(0.8)(X)
    machine = SparseClassifier(
        kernel=Gaussian(0.8), C=0.5, positive=True, null_space=Empty(), tol=TOL
    ).fit(X, y)
    a = cp.Variable(60, nonneg=True)
    slack = cp.pos(1 - cp.multiply(y, K @ cp.multiply(y, a)))
    expected = cp.Problem(cp.Minimize(cp.sum(slack) + 2.0 * cp.sum(a))).solve(solver=cp.CLARABEL)
    assert machine.solution_.objective / 0.5 == pytest.approx(expected, rel=1e-6)
    # Its dual: maximize sum(beta) with Y K Y beta <= lambda and 0 <= beta <= 1.
    beta = y * machine.multipliers_[0] / 0.5
    assert np.all((beta >= -1e-9) & (beta <= 1 + 1e-9))
    assert np.max(y * (K @ (y * beta))) <= 2.0 * (1 + 1e-9)
    assert beta.sum() == pytest.approx(expected, rel=1e-6)
    assert 1 / machine.C_min_ == pytest.approx(np.max(y * (K @ y)), rel=1e-9)
    # A vertex has at most as many coefficients as samples that are tight without slack.
    tight = np.abs(y * machine.decision_function(X) - 1) < 1e-6
    assert len(machine.support_) <= tight.sum()
    sv = SVC(kernel=Gaussian(0.8), C=0.5).fit(X, y)
    assert len(machine.support_) < len(sv.support_)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_curved_losses_and_class_weights(loss, classes):
    X, y = classes
    machine = SparseClassifier(loss, Gaussian(0.8), C=2.0, class_weight={1: 3.0}, tol=TOL)
    machine.fit(X, y)
    c = np.where(y == 1, 6.0, 2.0)
    a, b = cp.Variable(60), cp.Variable()
    margin = cp.multiply(y, Gaussian(0.8)(X) @ a + b)
    cost = 0.5 * cp.square(cp.pos(1 - margin)) if loss == "squared_hinge" else cp.logistic(-margin)
    expected = cp.Problem(cp.Minimize(cp.norm1(a) + c @ cost)).solve(solver=cp.CLARABEL)
    assert machine.solution_.objective == pytest.approx(expected, rel=1e-5)
    assert hasattr(machine, "predict_proba") == (loss == "logistic")


@pytest.mark.parametrize("nu", [0.1, 0.2, 0.5])
@pytest.mark.parametrize("threshold", [True, False])
def test_nu_of_the_classifier_counts_margins(nu, threshold, classes):
    X, y = classes
    machine = NuSparseClassifier(
        nu,
        Gaussian(0.5),
        null_space=None if threshold else Empty(),
        positive=not threshold,
        tol=1e-9,
    ).fit(X, y)
    margins, rho = y * machine.decision_function(X), machine.margin_
    assert rho > 0
    assert np.abs(machine.dual_coef_).sum() == pytest.approx(1.0, rel=1e-6)
    assert np.mean(margins < rho - 1e-9) <= nu
    assert np.mean(margins <= rho + 1e-9) >= nu
    assert np.sum(y * machine.multipliers_[0]) == pytest.approx(nu, rel=1e-6)
    if not threshold:
        # The game: the lowest largest price over weights of the samples.
        beta, gamma = cp.Variable(60, nonneg=True), cp.Variable()
        K = y[:, None] * Gaussian(0.5)(X) * y
        held = [K @ beta <= gamma, cp.sum(beta) >= nu, beta <= 1 / 60]
        value = cp.Problem(cp.Minimize(gamma), held).solve(solver=cp.CLARABEL)
        # The conic solver stops at an absolute gap of 1e-8, ours at a relative one of 1e-9.
        assert -machine.solution_.objective == pytest.approx(value, abs=2e-8)


def test_no_margin_errors_below_the_share_of_a_sample(classes):
    X, y = classes
    hard = NuSparseClassifier(0.0, Gaussian(0.5), tol=1e-9).fit(X, y)
    same = NuSparseClassifier(0.9 / 60, Gaussian(0.5), tol=1e-9).fit(X, y)
    assert hard.margin_ == pytest.approx(same.margin_, rel=1e-5)
    assert np.min(y * hard.decision_function(X)) == pytest.approx(hard.margin_, rel=1e-5)
    with pytest.raises(ValueError, match="infeasible"):
        NuSparseClassifier(0.9).fit(X, np.where(np.arange(60) < 10, 1, -1))
    # Labels at random of two points, over and over: nothing separates them.
    twice = np.repeat([[0.0], [1.0]], 10, axis=0)
    with pytest.warns(UserWarning, match="The margin is zero"):
        NuSparseClassifier(0.0, Gaussian(0.5)).fit(twice, np.tile([1, -1], 10))


def test_several_classes():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(m, 0.4, (20, 2)) for m in ((0, 0), (2, 0), (0, 2))])
    y = np.repeat(["a", "b", "c"], 20)
    for machine in (SparseClassifier(C=2.0), NuSparseClassifier(0.1)):
        machine.fit(X, y)
        assert machine.score(X, y) > 0.95
        assert machine.decision_function(X).shape == (60, 3)
        assert machine.dual_coef_.shape == (3, len(machine.support_))


def test_warm_starts_budgets_and_sources(curve):
    X, y, _ = curve
    machine = SparseRegressor("squared", Gaussian(0.3), C=10.0, warm_start=True).fit(X, y)
    first = machine.solution_.n_iter
    assert machine.fit(X, y).solution_.n_iter == 1 < first
    with pytest.warns(EarlyStop, match="Solver terminated early"):
        SparseRegressor("squared", Gaussian(0.3), C=10.0, max_iter=1).fit(X, y)


def test_quantiles_leave_their_share_below(curve):
    X, y, _ = curve
    machine = SparseRegressor(Pinball(0.8), Gaussian(0.5), C=5.0).fit(X, y)
    assert np.mean(y < machine.predict(X) - 1e-6) <= 0.8 <= np.mean(y <= machine.predict(X) + 1e-6)
