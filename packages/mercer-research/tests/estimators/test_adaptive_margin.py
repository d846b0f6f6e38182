"""Margins that adapt: the linear program, its certificate, and what the machines promise."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from mercer import SVC
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.regularizers import Constant
from mercer_research.estimators import (
    AdaptiveMarginSVC,
    CollapsedMachine,
    LeaveOneOutSVC,
    adaptive_margin,
)
from mercer_research.estimators.adaptive_margin import adaptive_margin_path
from mercer_research.programs import adaptive_margin as margin

KERNEL = Gaussian(0.7)


def overlap(n=40, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat([-1.0, 1.0], n // 2)
    return rng.normal(size=(n, 2)) + 0.8 * y[:, None], y


def conic(K, y, lam, c=None, threshold=False):
    """Return the least summed slack as another program solves it, primal form."""
    n, c = len(y), np.ones(len(y)) if c is None else c
    alpha, xi, b = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True), cp.Variable()
    M = y[:, None] * K * y - lam * np.diag(np.diag(K))
    margin = M @ alpha + (cp.multiply(y, b) if threshold else 0.0)
    problem = cp.Problem(cp.Minimize(c @ xi), [margin + xi >= 1, alpha <= 1e4])
    return problem.solve(solver=cp.CLARABEL)


def test_coefficients_solve_the_problem_whatever_the_diagonal():
    """With k(x, x) from 1 to 100 the slacks of the coefficients add up to the minimum."""
    X, y = overlap(30)
    kernel, lam, alpha = Polynomial(2, coef0=1.0), 0.5, np.zeros(30)
    K = kernel(X)
    machine = AdaptiveMarginSVC(lam, kernel=kernel).fit(X, y)
    alpha[machine.support_] = np.abs(machine.dual_coef_[0])
    slack = np.maximum(0.0, 1.0 + lam * alpha * np.diag(K) - y * (K @ (alpha * y)))
    assert slack.sum() == pytest.approx(conic(K, y, lam), abs=1e-6 * 30)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("lam", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("threshold", [False, True])
def test_the_minimum_is_that_of_a_conic_solver(lam, threshold, seed):
    X, y = overlap(30, seed)
    c = np.random.default_rng(seed).uniform(0.5, 2.0, len(y))
    null_space = Constant() if threshold else None
    machine = AdaptiveMarginSVC(lam, kernel=KERNEL, null_space=null_space).fit(X, y, c)
    best = conic(KERNEL(X), y, lam, c, threshold)
    # What tol promises: a millionth of the summed weights.
    assert machine.solution_.objective == pytest.approx(best, abs=1e-6 * c.sum())
    assert -1e-9 < machine.solution_.gap < 1e-6 * c.sum()
    assert machine.solution_.residual < 1e-8


def test_the_gap_is_that_of_the_worst_rounding_and_of_missed_equations(monkeypatch):
    """Multipliers that do not add up to zero are worth as much as the coefficient they price."""
    X, y = overlap(30)
    lam, size, shift, answers = 1.0, 1e-4, 2e-4 * (np.arange(30) < 15), []
    plain = margin.MarginProgram.solve

    def shifted(program, lam):
        answers.append(plain(program, lam))
        return replace(answers[0], beta=answers[0].beta + shift)

    monkeypatch.setattr(margin.MarginProgram, "solve", shifted)
    monkeypatch.setattr(adaptive_margin, "decision_error", lambda *_: np.full(30, size))
    machine = AdaptiveMarginSVC(lam, kernel=KERNEL, null_space=Constant(), tol=0.1).fit(X, y)
    (answer,) = answers
    K, missed = KERNEL(X), 15 * 2e-4 * abs(answer.b[0])
    f = K @ (y * answer.alpha) + answer.b[0] - size * y
    worst = np.sum(np.maximum(1.0 + lam * answer.alpha * np.diag(K) - y * f, 0.0))
    best = conic(K, y, lam, threshold=True)
    # The conic solver and the program promise a millionth of the summed weights.
    assert machine.solution_.gap == pytest.approx(worst - best + missed, abs=2e-6 * 30)
    assert min(missed, worst - best) > 1e-5 * 30


@pytest.mark.parametrize("threshold", [False, True])
def test_the_central_path_over_some_columns_is_the_whole_program(threshold, monkeypatch):
    """Many samples take another way, by chosen columns: HiGHS over all of them agrees."""
    X, y = overlap(400)
    null_space = Constant() if threshold else None
    path = AdaptiveMarginSVC(1.0, kernel=KERNEL, null_space=null_space).fit(X, y)
    assert path.solution_.solver == "central path"
    monkeypatch.setattr(margin, "MIN_CENTRAL_WORK", np.inf)
    monkeypatch.setattr(margin, "MAX_WHOLE_COLUMNS", len(y))
    whole = AdaptiveMarginSVC(1.0, kernel=KERNEL, null_space=null_space).fit(X, y)
    assert whole.solution_.solver == "HiGHS"
    # Each is within its own gap of the same optimum; that of a solved vertex is rounding.
    apart = abs(path.solution_.objective - whole.solution_.objective)
    assert apart <= path.solution_.gap + whole.solution_.gap
    assert abs(path.solution_.gap) <= 1e-9 * len(y)
    assert np.array_equal(path.support_, whole.support_)


def test_multipliers_and_slacks_are_complementary():
    X, y = overlap()
    machine = AdaptiveMarginSVC(1.5, kernel=KERNEL).fit(X, y)
    (pair,) = machine.pairs_
    K = KERNEL(X)
    M = y[:, None] * K * y - 1.5 * np.diag(np.diag(K))
    # Vertices of HiGHS are exact up to its tolerance of 1e-10, times coefficients below 1e3.
    assert np.all(M.T @ pair.multipliers <= 1e-9)
    assert np.all((pair.multipliers >= 0) & (pair.multipliers <= 1))
    np.testing.assert_allclose(pair.multipliers[pair.slack > 1e-6], 1.0, atol=1e-9)
    assert np.all(pair.slack[pair.multipliers < 1 - 1e-6] < 1e-6)
    assert np.all(np.abs((M.T @ pair.multipliers)[pair.alpha > 0]) < 1e-9)
    np.testing.assert_allclose(pair.slack, np.maximum(0, 1 - M @ pair.alpha), atol=1e-7)


def test_margins_are_what_they_say():
    X, y = overlap()
    machine = AdaptiveMarginSVC(2.0, kernel=KERNEL).fit(X, y)
    alpha, achieved = machine.pairs_[0].alpha, y * machine.decision_function(X)
    np.testing.assert_allclose(machine.achieved_margins_, achieved, atol=1e-9)
    np.testing.assert_allclose(machine.required_margins_, 1 + 2.0 * alpha)
    np.testing.assert_allclose(machine.left_out_margins_, achieved - alpha, atol=1e-9)
    np.testing.assert_allclose(machine.outlier_scores_, alpha - achieved, atol=1e-9)
    assert np.all(alpha >= 0)
    a = np.zeros(len(y))
    a[machine.support_] = np.ravel(machine.dual_coef_)
    np.testing.assert_allclose(a, y * alpha)
    pair = machine.pairs_[0]
    assert pytest.approx(a @ KERNEL(X) @ a, rel=1e-10) == pair.W**2
    assert pytest.approx(np.linalg.norm(np.maximum(0, 1 - achieved)), abs=1e-7) == pair.D


def test_leave_one_out_is_lambda_one():
    X, y = overlap()
    one = LeaveOneOutSVC(kernel=KERNEL).fit(X, y)
    family = AdaptiveMarginSVC(1.0, kernel=KERNEL).fit(X, y)
    np.testing.assert_array_equal(one.decision_function(X), family.decision_function(X))
    # (a) of the chapter: a slack below one means classified correctly by the whole sum.
    wrong = one.predict(X) != y
    assert np.all(one.slack_[wrong] >= 1 - 1e-9)
    assert wrong.sum() <= one.slack_.sum() + 1e-9


def test_objectives_do_not_fall_with_lambda_and_paths_agree_with_fits():
    X, y = overlap()
    path = adaptive_margin_path(AdaptiveMarginSVC(kernel=KERNEL), X, y, [0.0, 0.3, 1.0, 3.0, 6.0])
    assert np.all(np.diff(path.lams) < 0)
    assert np.all(np.diff(path.objectives) <= 1e-7)
    assert np.all(path.objectives - path.bounds < 1e-6)
    for lam, objective, coef in zip(path.lams, path.objectives, path.coefs, strict=True):
        alone = AdaptiveMarginSVC(lam, kernel=KERNEL).fit(X, y)
        assert objective == pytest.approx(alone.solution_.objective, abs=1e-7)
        # Ties are settled the same way, whichever patterns the program was started from.
        np.testing.assert_allclose(np.abs(coef).sum(), np.abs(alone.dual_coef_).sum(), rtol=1e-5)
    assert path.W.shape == path.D.shape == path.n_support.shape == (5,)


def test_default_path_begins_below_the_collapse():
    X, y = overlap()
    path = adaptive_margin_path(AdaptiveMarginSVC(kernel=KERNEL), X, y)
    assert path.lams[0] == pytest.approx(0.99 * path.lambda_max)
    assert path.n_support[0] >= 1
    assert path.lams[-1] <= 0.05


def test_collapse():
    X, y = overlap()
    K = KERNEL(X)
    limit = np.max(y * (K @ y) / np.diag(K))
    below = AdaptiveMarginSVC(0.999 * limit, kernel=KERNEL).fit(X, y)
    assert below.lambda_max_ == pytest.approx(limit)
    assert len(below.support_) == 1
    weights = np.where(y > 0, 2.0, 1.0)
    weighted = np.max(y * (K @ (weights * y)) / weights)
    machine = AdaptiveMarginSVC(1.001 * weighted, kernel=KERNEL)
    with pytest.warns(CollapsedMachine, match="lambda_max_"):
        machine.fit(X, y, weights)
    assert machine.lambda_max_ == pytest.approx(weighted)
    scaled = AdaptiveMarginSVC(0.5 * limit, kernel=4.0 * KERNEL).fit(X, y)
    assert scaled.lambda_max_ == pytest.approx(limit)  # of prices that are four times as large
    assert len(machine.support_) == 0
    assert np.all(machine.predict(X) == 1)
    with pytest.warns(CollapsedMachine):
        machine.fit(X, -y, weights)
    assert np.all(machine.predict(X) == -1)


def test_beyond_the_bound_a_threshold_is_all_there_is():
    X, y = overlap(30)
    y[:10] = 1.0
    machine = AdaptiveMarginSVC(kernel=KERNEL, null_space=Constant()).fit(X, y)
    machine.set_params(lam=1.001 * machine.lambda_max_).fit(X, y)
    assert len(machine.support_) == 0
    assert np.all(machine.predict(X) == 1)
    assert machine.solution_.objective == pytest.approx(2 * np.sum(y < 0))


def test_scale_of_the_kernel():
    X, y = overlap()
    one = AdaptiveMarginSVC(1.0, kernel=KERNEL).fit(X, y)
    other = AdaptiveMarginSVC(1.0, kernel=25.0 * KERNEL).fit(X, y)
    np.testing.assert_allclose(other.dual_coef_, one.dual_coef_ / 25.0, rtol=1e-7)
    np.testing.assert_allclose(other.decision_function(X), one.decision_function(X), rtol=1e-7)


def test_order_and_names_of_classes_do_not_matter():
    X, y = overlap()
    order = np.random.default_rng(1).permutation(len(y))
    f = AdaptiveMarginSVC(1.0, kernel=KERNEL).fit(X, y).decision_function(X)
    shuffled = AdaptiveMarginSVC(1.0, kernel=KERNEL).fit(X[order], y[order])
    np.testing.assert_allclose(shuffled.decision_function(X), f, atol=1e-7)
    turned = AdaptiveMarginSVC(1.0, kernel=KERNEL).fit(X, -y)
    np.testing.assert_allclose(turned.decision_function(X), -f, atol=1e-7)


def test_without_lambda_nothing_is_missing():
    X, y = overlap()
    machine = AdaptiveMarginSVC(0.0, kernel=KERNEL).fit(X, y)
    assert machine.solution_.objective == pytest.approx(0.0, abs=1e-6)
    # Ties are settled: no function with all margins one has a smaller sum of coefficients.
    alpha = cp.Variable(len(y), nonneg=True)
    M = y[:, None] * KERNEL(X) * y
    least = cp.Problem(cp.Minimize(cp.sum(alpha)), [M @ alpha >= 1]).solve(solver=cp.CLARABEL)
    assert np.sum(np.abs(machine.dual_coef_)) == pytest.approx(least, rel=1e-5)


def test_conflicting_labels_of_one_point_cost_two_each():
    X, y = overlap(20)
    X = np.vstack([X, X[:3], X[:3]])
    y = np.concatenate([y, -y[:3], y[:3]])
    machine = AdaptiveMarginSVC(0.0, kernel=KERNEL).fit(X, y)
    assert machine.solution_.objective == pytest.approx(2.0 * 3, abs=1e-5)


def outlier(seed):
    rng = np.random.default_rng(seed)
    dots = rng.normal((-1.0, 0.0), 0.35, size=(15, 2))
    crosses = rng.normal((1.0, 0.0), 0.35, size=(15, 2))
    X = np.vstack([dots, crosses, [[2.0, 0.0]]])
    return X, np.append(np.repeat([1.0, -1.0], 15), 1.0)


@pytest.mark.parametrize("seed", range(3))
def test_an_outlier_has_no_influence_and_the_largest_score(seed):
    X, y = outlier(seed)
    machine = LeaveOneOutSVC(kernel=Gaussian(0.3)).fit(X, y)
    assert np.flatnonzero(machine.predict(X) != y) == [30]
    assert 30 not in machine.support_
    assert int(np.argmax(machine.outlier_scores_)) == 30
    # Footnote 7: far away from all others it is as if it were not there.
    far = X.copy()
    far[-1, 0] = 50.0
    without = clone(machine).fit(X[:-1], y[:-1])
    f = clone(machine).fit(far, y).decision_function(X)
    np.testing.assert_allclose(f, without.decision_function(X), rtol=1e-6, atol=1e-6)
    hard = SVC(C=100.0, kernel=Gaussian(0.3)).fit(X, y)
    assert hard.decision_function(X[-1:])[0] > 0.99


def test_carriers_lie_in_the_middle_of_their_class():
    rng = np.random.default_rng(3)
    y = np.repeat([-1.0, 1.0], 30)
    X = 0.7 * rng.normal(size=(60, 2)) + np.outer(y, [1.5, 0.0])
    machine = AdaptiveMarginSVC(8.0, kernel=Gaussian(1.0)).fit(X, y)
    K, alpha = Gaussian(1.0)(X), machine.pairs_[0].alpha
    for label in (-1, 1):
        own = y == label
        within = K[np.ix_(own, own)].mean(axis=1)
        assert np.average(within, weights=alpha[own]) > np.median(within)


def test_weight_zero_is_absence():
    X, y = overlap()
    weights = np.ones(len(y))
    weights[::5] = 0.0
    kept = weights > 0
    some = AdaptiveMarginSVC(1.0, kernel=KERNEL).fit(X, y, weights)
    alone = AdaptiveMarginSVC(1.0, kernel=KERNEL).fit(X[kept], y[kept])
    np.testing.assert_allclose(some.decision_function(X), alone.decision_function(X), atol=1e-9)
    assert np.all(np.isnan(some.outlier_scores_[~kept]))
    assert np.all(np.isfinite(some.outlier_scores_[kept]))


def test_precomputed_and_indefinite_kernels():
    X, y = overlap()
    K = KERNEL(X)
    given = AdaptiveMarginSVC(1.0, kernel="precomputed").fit(K, y)
    plain = AdaptiveMarginSVC(1.0, kernel=KERNEL).fit(X, y)
    np.testing.assert_allclose(given.decision_function(K), plain.decision_function(X), atol=1e-9)
    tanh = np.tanh(0.8 * X @ X.T - 0.3)
    assert np.linalg.eigvalsh(tanh)[0] < -0.1
    machine = AdaptiveMarginSVC(0.5, kernel="precomputed").fit(tanh, y)
    best = conic(tanh, y, 0.5)
    assert machine.solution_.objective == pytest.approx(best, abs=1e-5)


def test_narrow_kernels_keep_the_cap_and_their_certificate():
    X, y = overlap(60)
    machine = AdaptiveMarginSVC(1.0, kernel=Gaussian(0.05), tol=1e-3).fit(X, y)
    assert machine.cap_active_
    assert np.max(machine.pairs_[0].alpha) <= 1e4 * (1 + 1e-9)
    assert machine.solution_.gap <= 1e-3 * len(y)


def test_few_columns():
    X, y = overlap(80)
    machine = AdaptiveMarginSVC(1.0, kernel=KERNEL, columns=20, random_state=0).fit(X, y)
    whole = AdaptiveMarginSVC(1.0, kernel=KERNEL).fit(X, y)
    assert len(machine.support_) <= 20
    assert machine.solution_.objective >= whole.solution_.objective - 1e-9
    assert machine.solution_.gap < 1e-6
    every = AdaptiveMarginSVC(1.0, kernel=KERNEL, columns=80, random_state=0).fit(X, y)
    assert every.solution_.objective == pytest.approx(whole.solution_.objective, abs=1e-9)


def test_several_classes_vote():
    X, y = load_iris(return_X_y=True)
    X = X[::3, 2:]
    y = y[::3]
    machine = LeaveOneOutSVC(kernel=Gaussian(1.0)).fit(X, y)
    f = clone(machine).set_params(decision_function_shape="ovo").fit(X, y).decision_function(X)
    for k, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        two = np.isin(y, (i, j))
        pair = LeaveOneOutSVC(kernel=Gaussian(1.0)).fit(X[two], np.where(y[two] == i, 1, -1))
        np.testing.assert_allclose(pair.decision_function(X), f[:, k], atol=1e-6)
        np.testing.assert_allclose(np.sort(pair.slack_), np.sort(machine.slack_[two, k]), atol=1e-7)
        np.testing.assert_allclose(pair.slack_, machine.slack_[two, k], atol=1e-7)
        assert np.all(np.isnan(machine.slack_[~two, k]))
        assert machine.lambda_max_[k] == pytest.approx(pair.lambda_max_)
    assert machine.outlier_scores_.shape == (50,)
    assert machine.score(X, y) > 0.9


def test_class_weights_are_sample_weights():
    X, y = overlap()
    by_class = AdaptiveMarginSVC(1.0, kernel=KERNEL, class_weight={1.0: 3.0}).fit(X, y)
    by_sample = AdaptiveMarginSVC(1.0, kernel=KERNEL).fit(X, y, np.where(y > 0, 3.0, 1.0))
    np.testing.assert_allclose(by_class.decision_function(X), by_sample.decision_function(X))


def test_linear_kernels_have_weights():
    X, y = overlap()
    machine = AdaptiveMarginSVC(1.0, kernel=Linear(), null_space=Constant()).fit(X, y)
    f = X @ machine.coef_.T + machine.intercept_
    np.testing.assert_allclose(f[:, 0], machine.decision_function(X), atol=1e-9)


def test_refusals():
    X, y = overlap()
    with pytest.raises(ValueError, match="'lam'"):
        AdaptiveMarginSVC(-1.0).fit(X, y)
    with pytest.raises(ValueError, match="same class"):
        AdaptiveMarginSVC().fit(X, y, np.where(y > 0, 1.0, 0.0))
    with pytest.raises(ValueError, match="two classes"):
        adaptive_margin_path(AdaptiveMarginSVC(), X, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="negative"):
        adaptive_margin_path(AdaptiveMarginSVC(), X, y, [-1.0])
