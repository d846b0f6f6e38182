"""Parts of machines of tables: weights, samples left out, metrics, scales of errors."""

import itertools
import time

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone

from mercer import KernelLogisticRegression
from mercer.kernels import Gaussian, Laplacian, Matern
from mercer.machines.folds import copies_of
from mercer.tabular import AutoRegressor, regressor
from mercer.tabular.automatic import PROOF, LeftOutPredictions, _single
from mercer.tabular.candidates import CANDIDATES, Features
from mercer.tabular.members import Cost, TableSample, judge, predicted_by_folds
from mercer.tabular.metric import gradients, normalized, outer_product, root
from mercer.tabular.spread import ErrorScales
from mercer.tabular.stacking import (
    convex_weights,
    log_odds,
    logistic_weights,
    probabilities,
    without_negligible,
)
from mercer.tabular.tasks import (
    Logistic,
    SquaredSigns,
    Squares,
    left_out_decisions,
    signs,
    soft_odds,
    spread,
)

# Weights ------------------------------------------------------------------------------------------


def test_weights_minimize_the_error_without_a_price():
    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    F = y + rng.normal(size=(3, 200)) * np.array([[0.3], [0.5], [2.0]])
    w = convex_weights(F, y, np.ones(200), tau=1e-9)

    def error(v):
        return np.mean((y - v @ F) ** 2)

    best = minimize(
        error,
        np.full(3, 1 / 3),
        bounds=[(0, 1)] * 3,
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-12},
    )
    assert w.sum() == pytest.approx(1.0)
    assert w == pytest.approx(best.x, abs=1e-3)


def test_weights_that_hardly_count_are_left_out_where_errors_stay():
    rng = np.random.default_rng(0)
    y, s = rng.normal(size=200), rng.uniform(0.5, 2.0, size=200)
    F = y + rng.normal(size=(3, 200)) * 0.3
    F[2] = 0.5 * (F[0] + F[1])
    w = np.array([0.5, 0.48, 0.02])
    assert without_negligible(w, F, y, s) == pytest.approx([0.5 / 0.98, 0.48 / 0.98, 0.0])
    # The others lack what only the last machine knows.
    F[2] = y - 49.0 * (w[:2] @ F[:2] / 0.98 - y)
    assert without_negligible(w, F, y, s) is w
    # No machine counts more than others of forty.
    even = np.full(40, 1 / 40)
    assert without_negligible(even, np.tile(F, (14, 1))[:40], y, s) is even


def test_price_draws_weights_to_equal_ones():
    rng = np.random.default_rng(0)
    y = rng.normal(size=10)
    F = y + rng.normal(size=(4, 10))
    spreads = [np.ptp(convex_weights(F, y, np.ones(10), tau)) for tau in (0.01, 5.0, 50.0, 5000.0)]
    assert np.all(np.diff(spreads) < 0)
    assert spreads[-1] < 0.01


def test_sample_weights_are_repetitions():
    rng = np.random.default_rng(0)
    y, labels = rng.normal(size=50), rng.integers(0, 3, size=50)
    F, D = y + rng.normal(size=(2, 50)), rng.normal(size=(2, 50, 3))
    counts = rng.integers(1, 4, size=50)
    rows = np.repeat(np.arange(50), counts)
    # The price is per row, so that it must be the same in all.
    once = convex_weights(F, y, counts.astype(float), tau=5.0 * 50 / len(rows))
    assert once == pytest.approx(convex_weights(F[:, rows], y[rows], np.ones(len(rows))), abs=1e-4)
    w, b = logistic_weights(D, labels, counts.astype(float), tau=1e-9)
    w2, b2 = logistic_weights(D[:, rows], labels[rows], np.ones(len(rows)), tau=1e-9)
    # Decisions are scaled by their unweighted size, which changes the search and not the optimum.
    assert log_odds(D, w, b) == pytest.approx(log_odds(D, w2, b2), abs=2e-3)


def test_probabilities_are_calibrated():
    rng = np.random.default_rng(0)
    odds = rng.normal(size=4000) * 2
    labels = (rng.random(4000) < 1 / (1 + np.exp(-odds))).astype(int)
    # Twice as certain as it should be, and shifted.
    w, b = logistic_weights((2 * odds + 3)[None, :, None], labels, np.ones(4000))
    assert w[0] == pytest.approx(0.5, abs=0.05)
    assert b[0] == pytest.approx(-1.5, abs=0.2)
    P = probabilities(log_odds((2 * odds + 3)[None, :, None], w, b))
    assert P.sum(axis=1) == pytest.approx(np.ones(4000))
    assert P[:, 1].mean() == pytest.approx(labels.mean(), abs=0.02)


# Samples left out ---------------------------------------------------------------------------------


def test_left_out_decisions_are_close_to_refits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    labels = (X[:, 0] + 0.7 * rng.normal(size=80) > 0).astype(int)
    task = Logistic(labels, 2, rng.uniform(0.5, 2.0, size=80))
    machine = KernelLogisticRegression(kernel=Gaussian(1.5), C=3.0, tol=1e-8)
    whole = clone(machine).fit(X, labels, sample_weight=task.weights)
    found = task.left_out(whole, X, slice(0, 80))[:, 0]
    f = whole.decision_function(X)
    refits = []
    for i in range(0, 80, 4):
        rest = np.delete(np.arange(80), i)
        part = clone(machine).fit(X[rest], labels[rest], sample_weight=task.weights[rest])
        refits.append(part.decision_function(X[[i]])[0])
    error, change = found[::4] - refits, f[::4] - refits
    # One Newton step removes nearly all of the difference that leaving out makes.
    assert np.sqrt(np.mean(error**2)) < 0.15 * np.sqrt(np.mean(change**2))


def test_left_out_scores_of_several_classes_are_close_to_refits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    labels = np.argmax(np.c_[X, -X.sum(axis=1)] + 0.7 * rng.normal(size=(80, 3)), axis=1)
    task = Logistic(labels, 3, rng.uniform(0.5, 2.0, size=80))
    machine = task.machine(Gaussian(1.5)).set_params(C=3.0, tol=1e-8)
    assert machine.multi_class == "multinomial"
    whole = clone(machine).fit(X, labels, sample_weight=task.weights)
    found = task.left_out(whole, X, slice(0, 80))
    refits = []
    for i in range(0, 80, 4):
        rest = np.delete(np.arange(80), i)
        part = clone(machine).fit(X[rest], labels[rest], sample_weight=task.weights[rest])
        refits.append(part.decision_function(X[[i]])[0])
    error, change = found[::4] - refits, whole.decision_function(X)[::4] - refits
    assert np.sqrt(np.mean(error**2)) < 0.15 * np.sqrt(np.mean(change**2))


@pytest.mark.parametrize(("n", "k", "how"), [(60, 3, "multinomial"), (2000, 3, "ovr")])
def test_classes_of_many_rows_are_fitted_against_the_rest(n, k, how):
    task = Logistic(np.arange(n) % k, k, np.ones(n))
    assert task.machine(Gaussian(1.0)).multi_class == how
    # Parts of a sample are fitted as the sample is.
    assert task.of(slice(0, 30)).machine(Gaussian(1.0)).multi_class == how


def test_left_out_decisions_without_weight_are_predictions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 1))
    y, s = np.where(X[:, 0] > 0, 1.0, -1.0), np.ones(30)
    s[:3] = 0.0
    f = rng.normal(size=30)
    found = left_out_decisions(Gaussian(1.0)(X), f, y, s, 2.0)
    assert found[:3] == pytest.approx(f[:3])
    assert np.all(np.sign(f[3:] - found[3:]) == y[3:])


def test_classes_that_a_fold_lacks_have_no_say():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(40, 2)), np.arange(40) % 3
    some = labels != 1
    machine = KernelLogisticRegression(kernel=Gaussian(1.0)).fit(X[some], labels[some])
    found = Logistic.says(machine, X, 3)
    assert found.shape == (40, 3)
    assert np.all(found[:, 1] < found[:, [0, 2]].min(axis=1))
    assert found[:, 0] == pytest.approx(-found[:, 2])


@pytest.mark.parametrize("kind", ["squares", "logistic"])
def test_folds_hold_every_class(kind):
    labels = np.r_[np.zeros(40, int), np.ones(12, int), np.full(10, 2)]
    task = (
        Logistic(labels, 3, np.ones(62))
        if kind == "logistic"
        else Squares(np.ones((62, 1)), np.ones(62))
    )
    fold = task.folds(62, 0)
    assert np.ptp(np.bincount(fold, minlength=5)) <= 1
    if kind == "logistic":
        assert all(np.ptp(np.bincount(fold[labels == k], minlength=5)) <= 1 for k in range(3))
        assert task.divisible(62)
        assert not task.divisible(41)


# Metrics ------------------------------------------------------------------------------------------


def test_gradients_are_differences():
    rng = np.random.default_rng(0)
    X, a = rng.normal(size=(12, 3)), rng.normal(size=(12, 2))
    others = np.exp(-np.abs(rng.normal(size=(12, 1)) - rng.normal(size=12)))
    kernel, h = Matern(1.0, nu=1.5), 1e-6
    found = gradients(X, a, others)
    for j in range(3):
        step = h * np.eye(3)[j]
        up, down = (others * kernel(X + sign * step, X) for sign in (1, -1))
        assert found[:, :, j] == pytest.approx(((up - down) @ a / (2 * h)).T, abs=1e-7)


def test_metric_finds_a_direction():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    direction = np.array([1.0, -1.0, 0.5, 0.0]) / 1.5
    slopes = np.cos(X @ direction)[:, None] * direction
    M = outer_product(slopes[None], np.ones(400))
    assert np.outer(direction, direction) == pytest.approx(M, abs=1e-12)
    assert root(M) @ root(M).T == pytest.approx(M, abs=1e-12)
    for unit in (1e-3, 1.0, 1e3):
        R = normalized(unit * root(M), X, np.random.default_rng(0))
        apart = (X[:200] - X[200:]) @ R
        assert np.mean(np.sum(apart**2, axis=1)) == pytest.approx(2.0, rel=0.2)


# Candidates ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("candidate", CANDIDATES, ids=lambda candidate: candidate.name)
def test_scales_make_all_features_as_important_as_each_other(candidate):
    """Each has a third of the mean distance of one, or of its square."""
    Z = np.random.default_rng(0).normal(size=(300, 3)) * [1.0, 20.0, 0.05]
    none = np.empty(0, dtype=np.intp)
    features = Features.of(Z, np.arange(3), none, candidate.ranks)
    kernel = features.kernel(candidate, Z, np.random.default_rng(0))
    absolute = candidate.name.startswith("laplacian")
    family = {"laplacian": Laplacian, "matern": Matern, "gaussian": Gaussian}
    assert type(kernel) is family[candidate.name.split("-")[0]]
    apart = np.abs(Z[:, None] - Z) / kernel.length_scale
    share = np.mean(apart if absolute else apart**2, axis=(0, 1))
    # Three standard errors of a mean of squares of 1000 normal differences, sqrt(2 / 1000) each.
    np.testing.assert_allclose(share, np.full(3, 1.0 / 3.0), rtol=0.14)


@pytest.mark.parametrize("n", [1, 4, 9, 10, 11])
def test_rows_can_be_divided_if_every_fold_has_two(n):
    task = Squares(np.zeros((n, 1)), np.ones(n))
    assert task.divisible(n) == (np.bincount(task.folds(n, 0), minlength=5).min() >= 2)


def test_the_cost_of_a_machine_is_the_time_it_took(monkeypatch):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(401, 2)), rng.normal(size=(401, 1))
    none = np.empty(0, dtype=np.intp)
    columns = TableSample(X, np.arange(2), none, fitted=401, judged=401, seed=0, names=["a", "b"])
    # By this clock a second passes from one look at it to the next.
    ticks = itertools.count(1_000_000)
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))
    cost = Cost.measured(CANDIDATES[0], columns, Squares(Y, np.ones(401)))
    assert 0.0 < cost.probed < next(ticks) - 1_000_000


# Log odds of least squares ------------------------------------------------------------------------


def test_soft_odds_are_log_odds_where_estimates_are_probabilities():
    p = np.array([[0.6, 0.4], [0.9, 0.5]])
    # The soft positive part is off by less than .1 exp(-p / .1).
    assert soft_odds(2.0 * p - 1.0) == pytest.approx(np.log(p), abs=0.1 * np.exp(-4.0) / 0.4)
    one = soft_odds(np.array([[0.0], [0.5], [-0.5]]))
    assert one[0, 0] == pytest.approx(0.0)
    assert one[1, 0] == pytest.approx(-one[2, 0])
    # Outside they go on, and never turn.
    values = np.linspace(-3.0, 3.0, 200)
    assert np.all(np.diff(soft_odds(np.column_stack([values, values]))[:, 0]) > 0)
    assert np.all(np.isfinite(soft_odds(1e3 * values[:, None])))


def test_left_out_odds_of_least_squares_are_those_of_machines_without_the_row():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    labels = np.digitize(X[:, 0] + 0.3 * rng.normal(size=40), [-0.5, 0.5])
    task = SquaredSigns(signs(labels, 3), np.ones(40))
    machine = task.machine(Gaussian(1.0)).fit(X, task.targets(slice(None)))
    left = task.left_out(machine, X, slice(None))
    for i in (0, 7, 39):
        others = np.delete(np.arange(40), i)
        without = task.machine(Gaussian(1.0)).fit(X[others], task.targets(others))
        assert task.says(without, X[[i]], 3)[0] == pytest.approx(left[i], abs=1e-8)


# Features and scales of errors --------------------------------------------------------------------


def test_kernels_treat_features_alike():
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.normal(size=300) * 100, rng.random(300) < 0.1, rng.integers(0, 5, 300)]
    )
    numbers, categories = np.array([0, 1]), np.array([2])
    for candidate in CANDIDATES:
        features = Features.of(X, numbers, categories, candidate.ranks)
        Z = features(X)
        assert np.array_equal(Z[:, 2], X[:, 2])
        K = features.kernel(candidate, Z, np.random.default_rng(0))(Z)
        assert K[0, 0] == pytest.approx(1.0)
        # The median pair is neither equal nor strange.
        assert 0.1 < np.median(K) < 0.9


def test_spread_follows_the_noise():
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(size=400))
    errors = (0.1 + x) * rng.normal(size=400)
    found = ErrorScales.of(Gaussian(0.5), x[:, None], errors, np.ones(400), 400, 0)
    assert found.machine is not None
    scale = found.scale(np.array([[0.1], [0.9]]))
    assert 2.0 < scale[1] / scale[0] < 12.0
    # The truth: errors in units of the scale have the quantile of a normal law.
    ratio = found.quantile(0.95) * scale / np.array([0.2, 1.0])
    assert ratio == pytest.approx([1.645, 1.645], rel=0.3)


def test_spread_is_constant_where_nothing_changes():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(200, 1))
    errors = rng.normal(size=200)
    found = ErrorScales.of(Gaussian(0.5), x, errors, np.ones(200), 200, 0)
    assert np.ptp(found.scale(x)) < 0.35 * np.mean(found.scale(x))


def test_quantiles_count_the_new_sample():
    spread_ = ErrorScales(None, 0.0, np.arange(1.0, 20.0), np.ones(19))
    # Of twenty equally likely ranks the new one is among the last with probability 1/20.
    assert spread_.quantile(0.95) == 19.0
    assert spread_.quantile(0.9) == 18.0
    assert spread_.quantile(0.05) == 1.0
    assert spread_.quantile(0.1) == 2.0


def test_coefficients_of_all_samples():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(40, 2)), np.arange(40) % 2
    machine = KernelLogisticRegression(kernel=Gaussian(1.0)).fit(X, labels)
    a = spread(machine, 40)
    f = Gaussian(1.0)(X) @ a[:, 0] + machine.intercept_[0]
    assert f == pytest.approx(machine.decision_function(X), abs=1e-8)


def test_predictions_by_folds_are_those_of_the_other_folds():
    fold, Y = np.array([0, 1, 0, 2, 2, 1]), np.array([[1.0], [2.0], [3.0], [5.0], [5.0], [4.0]])

    def predict(inside, outside):
        assert not set(inside) & set(outside)
        return np.full((len(outside), 1), Y[inside].sum())

    found = predicted_by_folds(predict, fold, Squares(Y, np.ones(6)))
    expected = [Y[fold != k].sum() for k in fold]
    np.testing.assert_array_equal(found[:, 0], expected)
    # Without two targets of the others there is no machine of them.
    one = predicted_by_folds(predict, np.array([0, 1, 0, 1, 1, 1]), Squares(Y * 0, np.ones(6)))
    np.testing.assert_array_equal(one, 0.0)


@pytest.mark.parametrize("known", [False, True], ids=["row by row", "with copies"])
def test_a_machine_that_predicts_a_row_knows_no_copy_of_it(known):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    X = np.vstack([X, X[:10]])
    Y = X[:, :1] + rng.normal(size=(40, 1))
    copies, none = copies_of(X), np.empty(0, dtype=np.intp)
    names, task = ["a", "b"], Squares(Y, np.ones(40))
    columns = TableSample(
        X, np.arange(2), none, 40, 40, seed=0, names=names, copies=copies if known else None
    )
    member = judge("laplacian", CANDIDATES[0], columns, task)
    fold = columns.folds(task, 40) if known else np.arange(40)
    assert known == all(len(np.unique(fold[copies == group])) == 1 for group in copies)
    Z = member.features(X)
    for k in np.unique(fold):
        others = fold != k
        machine = clone(member.template).fit(Z[others], Y[others, 0])
        # Both solve the same linear systems by factorizations.
        assert machine.predict(Z[~others]) == pytest.approx(member.left_out[~others, 0], abs=1e-8)


def test_copies_of_a_row_are_one_proof():
    """Eight rows prove by 1.5 standard errors, which 32 different rows would do by 3."""
    gain = 1.5 / np.sqrt(8.0) + np.array([1.0, -1.0] * 4)
    copies = np.repeat(np.arange(8), 4)
    rows, values, weights = slice(0, 32), np.zeros((1, 32, 1)), np.ones(32)
    single = _single(copies, rows)
    np.testing.assert_array_equal(single, np.arange(0, 32, 4))
    assert _single(None, rows) is None
    assert 1.5 < PROOF < 3.0
    machine = AutoRegressor()
    machine.notes_ = []
    for positions, proved in ((None, True), (single, False)):
        found = LeftOutPredictions(rows, values, single=positions)
        if proved:
            assert machine._proved(lambda _: gain[copies], found, weights)
        else:
            with pytest.warns(UserWarning, match=f"constant by {PROOF:g} standard errors"):
                assert not machine._proved(lambda _: gain[copies], found, weights)


@pytest.mark.parametrize(
    ("Y", "scale", "raises"),
    [
        ([[1e-200], [2e-200]], [0.0], True),
        ([[1e200], [2e200]], [np.inf], True),
        ([[1.0, 1e-200], [2.0, 2e-200]], [1.0, 0.0], True),
        ([[1.0, 7.0], [2.0, 7.0]], [1.0, 0.0], False),
        ([[7.0], [7.0]], [0.0], False),
    ],
)
def test_targets_whose_squares_are_out_of_range(Y, scale, raises):
    """A constant target has no scale either, and needs none."""
    if not raises:
        return regressor._require_squares(np.array(Y), np.array(scale))
    with pytest.raises(ValueError, match="beyond the range of floating"):
        regressor._require_squares(np.array(Y), np.array(scale))
