"""Rows with gaps: expected, embedded and worst risks against enumeration and conic programs."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from mercer import KernelClassifier, KernelRegressor, MissingInputRegressor
from mercer.estimators import ExpectedRisk, MeanEmbedding, MissingInputClassifier
from mercer.kernels import Gaussian, Linear
from mercer.losses import Huber, LogCosh
from mercer.machines.completion import LAWS, Marginals, Normal
from mercer_research.estimators import WorstCase

K = Gaussian(0.8)
TWO = K.on([0]) + K.on([1])


def with_gaps(n=30, d=3, share=0.2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    g = np.sin(2 * X[:, 0]) + X[:, 1]
    y = g + 0.3 * rng.normal(size=n)
    X[rng.uniform(size=X.shape) < share] = np.nan
    return X, y, np.where(y > 0, 1, -1)


def completions(X, s):
    """Every way to fill the gaps with values of their columns, with its probability."""
    rows, source, weight = [], [], []
    for i, x in enumerate(X):
        gaps = np.flatnonzero(np.isnan(x))
        there = [np.flatnonzero(~np.isnan(X[:, j])) for j in gaps]
        for chosen in product(*there):
            z = x.copy()
            z[gaps] = X[chosen, gaps]
            rows.append(z)
            source.append(i)
            shares = [s[k] / s[seen].sum() for k, seen in zip(chosen, there, strict=True)]
            weight.append(s[i] * np.prod(shares))
    return np.array(rows), np.array(source), np.array(weight)


# The expected risk ------------------------------------------------------------------------------


def test_expected_squared_loss_is_that_of_every_completion():
    X, y, _ = with_gaps(12, 2, 0.3)
    s = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    ours = MissingInputRegressor(kernel=K, C=2.0, tol=1e-10).fit(X, y, s)
    Z, source, weight = completions(X, s)
    whole = KernelRegressor(kernel=TWO, C=2.0, tol=1e-10).fit(Z, y[source], weight)
    grid = np.random.default_rng(2).normal(size=(20, 2))
    # Centres that add less than 1e-12 to the diagonal are left out, which is 1e-6 of a value.
    np.testing.assert_allclose(ours.predict(grid), whole.predict(grid), atol=2e-6)
    # A new row with a gap has the mean over the law of its column.
    there = ~np.isnan(X[:, 1])
    mean = np.average(
        whole.predict(np.column_stack([np.full(there.sum(), 0.3), X[there, 1]])), weights=s[there]
    )
    np.testing.assert_allclose(ours.predict([[0.3, np.nan]])[0], mean, atol=2e-6)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_draws_that_exhaust_a_column_are_every_completion(loss):
    X, _, y = with_gaps(15, 2, 0.0)
    X[:5, 1] = np.nan
    strategy = ExpectedRisk(draws=10)
    ours = MissingInputClassifier(loss, K, strategy=strategy, C=3.0, tol=1e-9).fit(X, y)
    Z, source, weight = completions(X, np.ones(len(y)))
    whole = KernelClassifier(loss, TWO, C=3.0, tol=1e-9).fit(Z, y[source], weight)
    grid = np.random.default_rng(2).normal(size=(20, 2))
    np.testing.assert_allclose(
        ours.decision_function(grid), whole.decision_function(grid), atol=1e-5
    )


def test_expected_squared_loss_by_draws_converges_to_the_system():
    X, y, _ = with_gaps(25, 2, 0.2)
    exact = MissingInputRegressor(kernel=K).fit(X, y)
    # One component of two columns is drawn; its kernel is the same sum.
    errors = []
    for draws in (4, 400):
        drawn = MissingInputRegressor(
            kernel=TWO, components="joint", strategy=ExpectedRisk(draws=draws), tol=1e-9
        ).fit(X, y)
        grid = np.random.default_rng(2).normal(size=(30, 2))
        errors.append(np.abs(drawn.predict(grid) - exact.predict(grid)).max())
    # Errors of stratified draws fall at least like the root of their number: ten times here.
    assert errors[1] < errors[0] / 5
    assert errors[1] < 5e-3


def test_shrinkage_towards_the_mean_is_the_share_of_gaps():
    rng = np.random.default_rng(0)
    x = rng.normal(size=4000)
    X = np.where(rng.uniform(size=4000) < 0.25, np.nan, x)[:, None]
    slope = {
        name: np.diff(
            MissingInputRegressor(kernel=Linear(), strategy=name, C=1e4)
            .fit(X, 2 * x)
            .predict([[0.0], [1.0]])
        )[0]
        for name in ("expected", "embedded")
    }
    # Least squares on complete rows; the covariance of 3000 rows has errors of a few hundredths.
    assert slope["embedded"] == pytest.approx(2.0, abs=0.02)
    assert slope["expected"] == pytest.approx(2.0 * 0.75, abs=0.04)


def test_embedding_is_a_machine_of_mean_kernels():
    X, _, labels = with_gaps(20, 2, 0.25)
    there = ~np.isnan(X)
    gram = np.zeros((20, 20))
    for j in range(2):
        S = np.where(there[:, [j]], np.eye(20), there[:, j] / there[:, j].sum())
        gram += S @ K(np.where(there, X, 0.0)[:, [j]]) @ S.T
    whole = KernelClassifier("hinge", "precomputed", C=2.0, tol=1e-9).fit(gram, labels)
    ours = MissingInputClassifier(kernel=K, strategy="embedded", C=2.0, tol=1e-9).fit(X, labels)
    np.testing.assert_allclose(ours.decision_function(X), whole.decision_function(gram), atol=1e-5)
    assert ours.solution_.objective == pytest.approx(whole.solution_.objective, rel=1e-6)


def test_mean_loss_is_at_least_that_of_the_mean():
    """Jensen: of the same function; so of the minima."""
    X, _, labels = with_gaps(40, 3, 0.25)
    embedded, expected, worst = (
        MissingInputClassifier(kernel=K, strategy=s, tol=1e-8).fit(X, labels).solution_.objective
        for s in ("embedded", "expected", WorstCase())
    )
    assert embedded < expected < worst


# The law of the gaps ----------------------------------------------------------------------------


def test_normal_law_of_a_monotone_pattern_is_two_regressions():
    rng = np.random.default_rng(0)
    x = rng.normal(1.0, 2.0, 60)
    z = 0.7 * x + rng.normal(size=60)
    z[x > 1.5] = np.nan
    law = Normal(np.column_stack([x, z]), np.ones(60))
    there = ~np.isnan(z)
    slope, level = np.polyfit(x[there], z[there], 1)
    left = np.mean((z[there] - slope * x[there] - level) ** 2)
    mean = np.array([x.mean(), level + slope * x.mean()])
    covariance = np.array([[x.var(), slope * x.var()], [0.0, left + slope**2 * x.var()]])
    # The sweeps end at steps of 1e-6, with a ridge of 1e-6 of the variances.
    np.testing.assert_allclose(law.mean, mean, rtol=1e-4)
    np.testing.assert_allclose(np.triu(law.covariance), covariance, rtol=1e-3)


@pytest.mark.parametrize("law", [Marginals, Normal])
def test_copies_keep_what_is_there_and_have_the_law(law):
    X, _, _ = with_gaps(400, 3, 0.3)
    copies = law(X, np.ones(400)).copies(X, 20, seed=0)
    original = X[copies.source]
    there = ~np.isnan(original)
    assert np.array_equal(copies.X[there], original[there])
    assert np.bincount(copies.source, copies.share) == pytest.approx(np.ones(400))
    for j in range(3):
        seen, drawn = X[~np.isnan(X[:, j]), j], copies.X[~there[:, j], j]
        # Columns are independent here: two means, three standard errors.
        error = 3 * seen.std() * np.sqrt(1 / len(seen) + 20 / len(drawn))
        assert abs(drawn.mean() - seen.mean()) < error


def test_a_normal_law_uses_what_correlated_columns_say():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    X = np.column_stack([x, x + 0.1 * rng.normal(size=300)])
    X[::3, 0] = np.nan
    machine = MissingInputRegressor(strategy=MeanEmbedding(law="normal"), C=100.0).fit(X, 3 * x)
    new = np.array([[np.nan, 1.0]])
    marginal = MissingInputRegressor(strategy="embedded", C=100.0).fit(X, 3 * x)
    assert machine.predict(new)[0] == pytest.approx(3.0, abs=0.3)
    assert np.ptp(machine.predict_interval(new)) < 0.5 * np.ptp(marginal.predict_interval(new))


@pytest.mark.parametrize("strategy", ["expected", "embedded", WorstCase()])
def test_without_gaps_every_strategy_is_the_additive_machine(strategy):
    X, y, labels = with_gaps(40, 2, 0.0)
    given = {"kernel": K, "strategy": strategy, "C": 2.0, "tol": 1e-8}
    ours = MissingInputClassifier(**given).fit(X, labels)
    twin = KernelClassifier("hinge", TWO, C=2.0, tol=1e-8).fit(X, labels)
    np.testing.assert_allclose(ours.decision_function(X), twin.decision_function(X), atol=1e-4)
    ours = MissingInputRegressor(Huber(0.5), **given).fit(X, y)
    twin = KernelRegressor(Huber(0.5), TWO, C=2.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), twin.predict(X), atol=1e-4)
    low, high = ours.predict_interval(X).T
    assert np.array_equal(low, high)


# What a user meets ------------------------------------------------------------------------------


def test_what_gaps_leave_open_is_not_decided():
    X, _, y = with_gaps(80, 3, 0.1)
    machine = MissingInputClassifier(kernel=K, strategy=WorstCase(), C=3.0).fit(X, y)
    new, _, _ = with_gaps(200, 3, 0.3, seed=1)
    low, high = machine.decision_interval(new)
    doubtful = (low < 0) & (high > 0)
    assert 0 < doubtful.sum() < 200
    labels = clone(machine).set_params(abstain=0).fit(X, y).predict(new)
    assert np.array_equal(labels == 0, doubtful)
    assert np.array_equal(labels[~doubtful], machine.predict(new)[~doubtful])


def test_several_classes_and_probabilities():
    X, y, _ = with_gaps(90, 3, 0.1)
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [-0.7, 0.7])]
    for machine in (
        MissingInputClassifier(strategy=WorstCase(), abstain="?"),
        MissingInputClassifier("logistic"),
    ):
        machine.fit(X, labels)
        assert machine.decision_function(X).shape == (90, 3)
        predicted = machine.predict(X)
        decided = predicted != "?"
        assert np.mean(predicted[decided] == labels[decided]) > 0.6
    p = machine.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert np.array_equal(machine.classes_[p.argmax(axis=1)], machine.predict(X))


def test_components_by_names_of_a_frame_with_kernels_of_their_own():
    X, y, _ = with_gaps(60, 3, 0.1)
    frame = pd.DataFrame(X, columns=["dose", "age", "noise"])
    machine = MissingInputRegressor(
        kernel={"age": "linear", "both": Gaussian(1.0)},
        components={"age": "age", "both": ["dose", "noise"]},
        strategy=WorstCase(),
    ).fit(frame, y)
    assert machine.component_names_ == ["age", "both"]
    assert isinstance(machine.kernels_["age"], Linear)
    parts = machine.predict_components(frame)
    assert np.array_equal(np.isnan(parts["both"]), frame[["dose", "noise"]].isna().any(axis=1))
    whole = frame.notna().all(axis=1).to_numpy()
    total = parts["age"] + parts["both"] + machine.intercept_[0]
    np.testing.assert_allclose(total[whole], machine.predict(frame)[whole])
    for wrong, message in (
        ({"components": ["height"]}, "name the column 'height'"),
        ({"components": [[0, 0]]}, "different columns"),
        ({"components": [0, [0]]}, "read the same columns"),
        ({"kernel": {"height": "linear"}}, "no components"),
        ({"kernel": "thin_plate"}, "positive definite"),
    ):
        with pytest.raises(ValueError, match=message):
            MissingInputRegressor(**wrong).fit(frame, y)


@pytest.mark.parametrize("strategy", ["expected", "embedded", WorstCase()])
def test_empty_rows_and_columns(strategy):
    X, y, _ = with_gaps(40, 3, 0.05)
    X[0] = np.nan
    X = np.column_stack([X, np.full(40, np.nan)])
    with pytest.warns(UserWarning, match="columns without any value are left out: ..x3"):
        machine = MissingInputRegressor(strategy=strategy).fit(X, y)
    assert machine.component_names_ == ["x0", "x1", "x2"]
    new = np.vstack([X[1:4], np.full(4, np.nan)])
    filled = new.copy()
    filled[:, 3] = 7.0
    np.testing.assert_array_equal(machine.predict(new), machine.predict(filled))
    assert np.isfinite(machine.predict(new)).all()


@pytest.mark.parametrize("components", ["pairs", "joint"])
@pytest.mark.parametrize("law", ["marginal", "normal"])
def test_functions_of_several_columns_are_drawn(components, law):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = X[:, 0] * X[:, 1]
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    given = {"components": components, "C": 20.0}
    machine = MissingInputRegressor(strategy=MeanEmbedding(20, law), **given).fit(X, y)
    new = rng.normal(size=(200, 2))
    error = np.mean((machine.predict(new) - new.prod(axis=1)) ** 2) / np.var(new.prod(axis=1))
    assert error < 0.2
    new[0, 0] = np.nan
    low, high = machine.predict_interval(new).T
    assert low[0] < machine.predict(new)[0] < high[0]
    np.testing.assert_allclose(low[1:], high[1:])


def test_infinite_cells_are_refused():
    X, y, _ = with_gaps()
    X[0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        MissingInputRegressor().fit(X, y)


def dense_mean(law, row, g, size=200):
    """Integrate over the normal law of two missing cells by a dense rule of its own."""
    gap = np.isnan(row)
    slope = np.linalg.solve(law.covariance[np.ix_(~gap, ~gap)], law.covariance[np.ix_(~gap, gap)])
    mean = law.mean[gap] + (row[~gap] - law.mean[~gap]) @ slope
    left = law.covariance[np.ix_(gap, gap)] - law.covariance[np.ix_(gap, ~gap)] @ slope
    # The trapezoidal rule over eight standard deviations has no error to speak of.
    z = np.linspace(-8.0, 8.0, size)
    w = np.exp(-0.5 * z**2)
    first, second = np.meshgrid(z, z, indexing="ij")
    cells = mean + np.stack([first.ravel(), second.ravel()], axis=1) @ np.linalg.cholesky(left).T
    rows = np.tile(row, (size**2, 1))
    rows[:, gap] = cells
    return np.average(g(rows), weights=np.outer(w, w).ravel())


def test_quadrature_is_the_integral():
    """Expected losses of a curved function over one and two missing cells."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 3)) @ np.array([[1.0, 0.5, 0.2], [0.0, 1.0, -0.3], [0.0, 0.0, 0.7]])
    row = np.array([0.4, np.nan, np.nan])
    law = LAWS["normal"](X, np.ones(200))

    def g(x):
        return LogCosh(0.5).value(
            np.full(len(x), 0.3), np.sin(x[:, 0]) + x[:, 1] * np.tanh(x[:, 2])
        )

    expected = dense_mean(law, row, g)
    errors = {}
    for nodes in (3, 5, 7):
        copies = law.grid(row[None], nodes, draws=10, seed=0)
        assert len(copies.X) == nodes**2
        assert copies.share.sum() == pytest.approx(1.0, abs=1e-14)
        errors[nodes] = abs(copies.share @ g(copies.X) / expected - 1.0)
    drawn = [law.copies(row[None], draws=49, seed=seed) for seed in range(20)]
    by_draws = np.std([copies.share @ g(copies.X) / expected for copies in drawn])
    # This loss bends within half a standard deviation: two nodes more are a factor of three.
    assert errors[7] < 0.5 * errors[5] < 0.25 * errors[3]
    assert errors[7] < 0.5 * by_draws  # at as many copies


def test_gauss_rules_are_exact_for_polynomials():
    rng = np.random.default_rng(5)
    X, s = rng.exponential(size=(60, 1)), rng.uniform(0.5, 2.0, size=60)
    v, w = LAWS["marginal"](X, s).rule(0, 4)
    for degree in range(8):
        moment = np.average(X[:, 0] ** degree, weights=s)
        assert w @ v**degree == pytest.approx(moment, rel=1e-9)
    assert X.min() <= v.min() <= v.max() <= X.max()
    # As few values as nodes are their own rule.
    v, w = LAWS["marginal"](np.array([[1.0], [1.0], [2.0], [np.nan]]), np.ones(4)).rule(0, 4)
    np.testing.assert_allclose([*v, *w], [1.0, 2.0, 2 / 3, 1 / 3])


@pytest.mark.parametrize("law", ["normal", "marginal"])
def test_the_risk_that_is_minimized_is_the_integral(law):
    """The objective of a fit by quadrature is the integrated risk of its function."""
    X, y, _ = with_gaps(40, 2, 0.0)
    X[:12, 1] = np.nan
    loss = LogCosh(0.5)
    strategy = ExpectedRisk(law=law, rule="quadrature", nodes=25)
    machine = MissingInputRegressor(loss, TWO, components="joint", strategy=strategy, tol=1e-9)
    machine.fit(X, y)
    risk = np.sum(loss.value(y[12:], machine.predict(X[12:])))
    if law == "normal":
        known = LAWS["normal"](X, np.ones(40))
        slope = known.covariance[0, 1] / known.covariance[0, 0]
        sigma = np.sqrt(known.covariance[1, 1] - slope * known.covariance[0, 1])
    for x, target in zip(X[:12, 0], y[:12], strict=True):
        if law == "marginal":
            cells, w = X[12:, 1], np.ones(28)
        else:
            z = np.linspace(-8.0, 8.0, 401)
            cells = known.mean[1] + slope * (x - known.mean[0]) + sigma * z
            w = np.exp(-0.5 * z**2)
        f = machine.predict(np.column_stack([np.full(len(cells), x), cells]))
        risk += np.average(loss.value(np.full(len(f), target), f), weights=w)
    penalty = 0.5 * np.sum(machine._reading.W**2)
    assert machine.solution_.objective == pytest.approx(penalty + risk, rel=2e-4)


def test_rows_with_many_gaps_are_drawn():
    X = np.random.default_rng(0).normal(size=(30, 4))
    X[0, :3], X[1, :2], X[2, 0] = np.nan, np.nan, np.nan
    copies = LAWS["normal"](X, np.ones(30)).grid(X, 7, draws=10, seed=0)
    np.testing.assert_array_equal(np.bincount(copies.source)[:4], [10, 49, 7, 1])
    np.testing.assert_allclose(np.bincount(copies.source, copies.share), np.ones(30))
    assert np.isfinite(copies.X).all()
    with pytest.raises(ValueError, match="rule"):
        ExpectedRisk(rule="simpson")
