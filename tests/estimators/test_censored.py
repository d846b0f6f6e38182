import cvxpy as cp
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import CensoredRegressor, KernelRegressor, Nystrom
from mercer.estimators.censored import neighbours
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Huber
from mercer.losses.interval import within
from mercer.regularizers import Polynomial
from mercer.smoothing.survival import kaplan_meier, turnbull

TOL = 1e-9
EXACT = {"gamma": 0.5, "C": 5.0, "tol": TOL}


def survival(n=60, seed=0, censored=0.4):
    """Draw inputs, times and whether they were seen; censoring does not look at the time."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    T = np.exp(0.5 * X[:, 0] + 0.3 * rng.normal(size=n))
    limit = np.where(rng.random(n) < censored, rng.exponential(1.0, n), np.inf)
    return X, np.minimum(T, limit), limit >= T


def pairs(time, event):
    return np.column_stack([time, np.where(event, time, np.inf)])


def structured(time, event):
    return np.array(list(zip(event, time, strict=True)), dtype=[("event", "?"), ("time", "f8")])


X, TIME, EVENT = survival()
Y = pairs(TIME, EVENT)


@pytest.mark.parametrize("loss", ["squared", EpsilonInsensitive(0.1), "huber", "log_cosh"])
def test_known_targets_are_an_ordinary_machine(loss):
    plain = KernelRegressor(loss, **EXACT).fit(X, TIME).predict(X)
    for y in (TIME, np.column_stack([TIME, TIME]), structured(TIME, np.ones(60, dtype=bool))):
        machine = CensoredRegressor(loss, **EXACT).fit(X, y)
        # Both are within their tolerance, in f, of one function.
        np.testing.assert_allclose(machine.predict(X), plain, atol=10 * TOL)


FORMS = {
    "structured": structured(TIME, EVENT),
    "time first": np.array(
        list(zip(TIME, EVENT, strict=True)), dtype=[("days", "f8"), ("seen", "?")]
    ),
    "frame": pd.DataFrame({"months": TIME, "seen": EVENT}),
    "named events": pd.DataFrame({"status": EVENT.astype(int), "time": TIME}),
    "ends": pd.DataFrame({"upper": Y[:, 1], "lower": Y[:, 0]}),
    "polars": pl.DataFrame({"event": EVENT, "time": TIME}),
    "gaps": np.where(np.isinf(Y), np.nan, Y),
    "lists": Y.tolist(),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_targets_says_the_same(form):
    one = CensoredRegressor(**EXACT).fit(X, Y)
    other = CensoredRegressor(**EXACT).fit(X, FORMS[form])
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    assert one.score(X, Y) == other.score(X, FORMS[form])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.column_stack([TIME, TIME - 0.1]), "row 0 has the lower end"),
        (np.full((60, 2), np.nan), "nothing to learn"),
        (pd.DataFrame({"a": TIME, "b": TIME}), "columns lower and upper"),
        (pd.DataFrame({"time": TIME, "event": TIME}), "must be 0 or 1"),
        (structured(np.where(EVENT, TIME, np.nan), EVENT), "NaN"),
        (np.ones((60, 3)), "pairs"),
    ],
)
def test_targets_that_make_no_sense_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        CensoredRegressor().fit(X, y)


def test_optimality_seen_from_outside():
    rng = np.random.default_rng(3)
    low = TIME - rng.choice([0.0, 0.2, np.inf], 60)
    high = TIME + rng.choice([0.0, 0.3, np.inf], 60)
    machine = CensoredRegressor(**EXACT).fit(X, np.column_stack([low, high]))
    a, f = np.zeros(60), machine.predict(X)
    a[machine.support_] = machine.dual_coef_[0]
    np.testing.assert_allclose(a, 5.0 * (np.clip(f, low, high) - f), atol=1e-7)
    assert machine.solution_.gap < 1e-8
    assert abs(a.sum()) < 1e-9
    exact = low == high
    assert np.all((a != 0)[exact])  # only what is censored can be at rest
    assert np.any((a == 0)[~exact])
    # The active set: a few linear systems, the last of them the least-squares machine on it.
    assert machine.n_iter_ <= 8
    on, target = machine.support_, np.clip(f, low, high)[machine.support_]
    K = Gaussian(1.0)(X[on])  # gamma = 1 / (2 l^2)
    M = np.block([[K + np.eye(len(on)) / 5.0, np.ones((len(on), 1))], [np.ones(len(on)), 0.0]])
    np.testing.assert_allclose(np.linalg.solve(M, np.append(target, 0))[:-1], a[on], atol=1e-6)


@pytest.mark.parametrize("loss", ["squared", "absolute", EpsilonInsensitive(0.1)])
def test_nothing_but_lower_bounds_leaves_a_constant_above_them(loss):
    y = np.column_stack([TIME, np.full(60, np.inf)])
    machine = CensoredRegressor(loss, tol=1e-6).fit(X, y)
    assert len(machine.support_) == 0
    assert machine.solution_.converged
    reach = 0.1 if isinstance(loss, EpsilonInsensitive) else 0.0
    assert machine.predict(X[:1])[0] >= TIME.max() - reach - 1e-5


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_what_all_intervals_share_is_halved(loss):
    y = np.column_stack([TIME - 5.0, np.where(EVENT, TIME + 5.0, np.inf)])
    machine = CensoredRegressor(loss, tol=1e-6).fit(X, y, np.arange(60) > 0)
    middle = 0.5 * (y[1:, 0].max() + y[1:, 1].min())
    np.testing.assert_allclose(machine.predict(X), middle, rtol=1e-14)
    np.testing.assert_allclose(machine.solution_.f, middle, rtol=1e-14)
    assert machine.solution_.objective == 0.0
    assert machine.support_.size == 0


def test_settings_left_to_the_sample():
    machine = CensoredRegressor(EpsilonInsensitive(0.1), C="auto", gamma="median").fit(X, Y)
    assert 1e-3 < machine.C_ < 1e6
    assert machine.score(X, Y) > 0.3


def test_logarithms():
    machine = CensoredRegressor(log=True, **EXACT).fit(X, structured(TIME, EVENT))
    logs = CensoredRegressor(**EXACT).fit(X, np.log(Y))
    np.testing.assert_allclose(machine.predict(X), np.exp(logs.predict(X)), rtol=1e-12)
    assert machine.score(X, Y) == pytest.approx(logs.score(X, np.log(Y)), rel=1e-12)
    np.testing.assert_allclose(
        machine.predict_interval(X), np.exp(logs.predict_interval(X)), rtol=1e-12
    )
    np.testing.assert_allclose(
        machine.predict_survival_function(X, [0.0, 1.0, 2.0])[:, 1:],
        logs.predict_survival_function(X, np.log([1.0, 2.0])),
    )
    np.testing.assert_array_equal(machine.predict_survival_function(X, [-1.0, 0.0]), 1.0)
    # An interval that reaches down to zero has no lower end.
    known = CensoredRegressor(log=True, **EXACT)._scaled([[0.0, 2.0], [1.0, np.nan]])
    np.testing.assert_array_equal(known.lower, [-np.inf, 0.0])
    with pytest.raises(ValueError, match="row 1 is at most 0"):
        CensoredRegressor(log=True).fit(X[:2], [1.0, 0.0])


def test_inverse_probabilities_of_censoring():
    machine = CensoredRegressor(weighting="ipcw", **EXACT).fit(X, Y)
    free = kaplan_meier(TIME, EVENT, reverse=True).before(TIME)
    plain = KernelRegressor(**EXACT).fit(X[EVENT], TIME[EVENT], 1.0 / free[EVENT])
    np.testing.assert_allclose(machine.predict(X), plain.predict(X), atol=1e-7)
    assert np.isin(machine.support_, np.flatnonzero(EVENT)).all()
    with pytest.raises(ValueError, match="known to exceed a time; row 0"):
        CensoredRegressor(weighting="ipcw").fit(X, np.column_stack([TIME - 1.0, TIME]))


def test_weights_are_copies():
    w = np.random.default_rng(0).integers(0, 3, 60)
    one = CensoredRegressor("huber", ranking=0.5, **EXACT).fit(X, Y, w)
    many = CensoredRegressor("huber", ranking=0.5, **EXACT)
    many.fit(np.repeat(X, w, axis=0), np.repeat(Y, w, axis=0))
    np.testing.assert_allclose(one.predict(X), many.predict(X), atol=1e-6)


def test_order_by_a_program():
    n, C, ranking = 30, 5.0, 2.0
    machine = CensoredRegressor("absolute", ranking=ranking, **EXACT).fit(X[:n], Y[:n])
    known = machine._scaled(Y[:n])
    later, earlier = neighbours(known, np.ones(n, dtype=bool))
    # By hand: among values seen before for certain, the one that is the last.
    for i, j in zip(later, earlier, strict=True):
        before = known.upper[known.upper < known.lower[i]]
        assert known.upper[j] == before.max()
    values, vectors = np.linalg.eigh(Gaussian(1.0)(X[:n]))
    G = vectors * np.sqrt(np.maximum(values, 0.0))
    u, b = cp.Variable(n), cp.Variable()
    f = G @ u + b
    cost = cp.sum(cp.pos(TIME[:n] - f)) + cp.sum(cp.pos(f - TIME[:n])[EVENT[:n]])
    gaps = known.lower[later] - known.upper[earlier]
    cost += ranking * cp.sum(cp.pos(gaps - f[later] + f[earlier]))
    program = cp.Problem(cp.Minimize(cp.sum_squares(u) / 2 + C * cost))
    program.solve(solver=cp.CLARABEL)
    assert machine.solution_.objective == pytest.approx(program.value, rel=1e-6)
    np.testing.assert_allclose(machine.predict(X[:n]), f.value, atol=1e-4)
    with pytest.raises(ValueError, match="pairs of rows"):
        CensoredRegressor(ranking=1.0, approximation=Nystrom(10)).fit(X, Y)


@pytest.mark.parametrize("loss", ["squared", EpsilonInsensitive(np.full(60, 0.1))])
def test_few_functions(loss):
    exact = CensoredRegressor(loss, gamma=0.5, C=5.0, tol=1e-7).fit(X, Y)
    among_all = CensoredRegressor(loss, gamma=0.5, C=5.0, tol=1e-5, approximation=Nystrom(60))
    among_all.fit(X, Y)
    np.testing.assert_allclose(among_all.predict(X), exact.predict(X), atol=2e-3)
    np.testing.assert_allclose(among_all.predict_quantile(X), exact.predict_quantile(X), atol=5e-3)


def test_a_constant_machine_has_the_curve_of_the_sample():
    machine = CensoredRegressor(C=1e-9, tol=1e-12).fit(X, Y)
    limit = kaplan_meier(TIME, EVENT)
    grid = np.linspace(0, 5, 40)
    curves = machine.predict_survival_function(X[:3], grid)
    np.testing.assert_allclose(curves, np.tile(limit(grid), (3, 1)), atol=1e-12)
    np.testing.assert_allclose(machine.predict_quantile(X[:3]), limit.quantile(0.5), rtol=1e-6)
    np.testing.assert_array_equal(machine.event_times_, np.unique(TIME[EVENT]))
    assert machine.predict_survival_function(X[:3]).shape == (3, EVENT.sum())


def test_curves_fall_and_quantiles_invert_them():
    machine = CensoredRegressor(**EXACT).fit(X, Y)
    curves = machine.predict_survival_function(X)
    assert np.all(np.diff(curves, axis=1) <= 0)
    levels = [0.1, 0.5]
    values = machine.predict_quantile(X, levels)
    for k, level in enumerate(levels):
        at = machine.residual_curve_(values[:, k] - machine.predict(X) + 1e-9)
        assert np.all(at <= 1 - level + 1e-9)
    interval = machine.predict_interval(X, 0.8)
    assert np.all(interval[:, 0] <= interval[:, 1])
    with pytest.raises(ValueError, match="between 0 and 1"):
        machine.predict_quantile(X, 1.0)
    with pytest.raises(ValueError, match="one-dimensional"):
        machine.predict_survival_function(X, [[1.0]])


def test_residuals_out_of_folds():
    folds = KFold(3, shuffle=True, random_state=0)
    machine = CensoredRegressor(cv=folds, **EXACT).fit(X, structured(TIME, EVENT))
    f = np.empty(60)
    for train, test in folds.split(X):
        f[test] = CensoredRegressor(**EXACT).fit(X[train], Y[train]).predict(X[test])
    expected = turnbull(Y[:, 0] - f, Y[:, 1] - f)
    np.testing.assert_allclose(machine.residual_curve_.times, expected.times, atol=1e-12)
    np.testing.assert_allclose(machine.residual_curve_.survival, expected.survival)
    whole = CensoredRegressor(**EXACT).fit(X, Y)
    np.testing.assert_array_equal(machine.predict(X), whole.predict(X))
    width = [np.ptp(m.residual_curve_.quantile([0.1, 0.6])) for m in (whole, machine)]
    assert width[0] < width[1]


def test_score_is_the_coefficient_of_determination_of_known_targets():
    machine = CensoredRegressor(**EXACT).fit(X, Y)
    s = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    whole = np.column_stack([TIME, TIME])
    assert machine.score(X, whole, s) == pytest.approx(
        r2_score(TIME, machine.predict(X), sample_weight=s)
    )
    assert machine.score(X, TIME) == pytest.approx(r2_score(TIME, machine.predict(X)))
    assert machine.score(X, np.tile([-np.inf, 100.0], (60, 1))) == 1.0


def test_searches_pipelines_and_names():
    y = structured(TIME, EVENT)
    frame = pd.DataFrame(X, columns=["dose", "age"])
    machine = make_pipeline(StandardScaler(), CensoredRegressor(log=True, null_space=Polynomial(1)))
    search = GridSearchCV(machine, {"censoredregressor__C": [0.01, 1.0]}, cv=3).fit(frame, y)
    assert np.all(search.cv_results_["mean_test_score"] > 0)
    scores = cross_val_score(clone(search.best_estimator_), frame, Y, cv=3)
    assert scores.mean() == pytest.approx(search.best_score_)
    plain = CensoredRegressor(Huber(0.3)).fit(frame, y)
    np.testing.assert_array_equal(plain.feature_names_in_, ["dose", "age"])
    assert plain.set_params(loss__delta=0.2).loss == Huber(0.2)


def test_censoring_is_worth_modelling():
    # The bound taken for a value, or left out, bends the function down where much is censored.
    X, time, event = survival(300, seed=1, censored=0.7)
    truth = np.exp(0.5 * X[:, 0])
    machine = CensoredRegressor("absolute", log=True, gamma=0.1, C=1.0)

    def error(fitted):
        return np.mean(np.abs(np.log(fitted.predict(X)) - np.log(truth)))

    errors = [
        error(clone(machine).fit(X, pairs(time, event))),
        error(clone(machine).fit(X, time)),
        error(clone(machine).fit(X[event], time[event])),
    ]
    assert errors[0] < errors[2] < errors[1] / 3


def test_within_and_the_machine_are_one():
    y, below = TIME, np.zeros(60)
    direct = KernelRegressor(within(Huber(0.3), below, np.where(EVENT, 0.0, np.inf)), **EXACT)
    np.testing.assert_allclose(
        direct.fit(X, y).predict(X),
        CensoredRegressor(Huber(0.3), **EXACT).fit(X, Y).predict(X),
        atol=10 * TOL,
    )
