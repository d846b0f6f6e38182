"""Sums of functions of few features: what they are, what they say of themselves, how they tune."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from mercer import (
    LSSVR,
    AdditiveClassifier,
    AdditiveRegressor,
    KernelClassifier,
    KernelRegressor,
    Nystrom,
    RandomFeatures,
)
from mercer._deadline import deadline
from mercer.estimators import Component
from mercer.kernels import ANOVA, Additive, Categorical, Gaussian, Linear, Spline
from mercer.losses.named import REGRESSION
from mercer.machines import additive as additive_machine
from mercer.machines.additive import tune_terms
from mercer.machines.components import Term
from mercer.smoothing.pairs import some_rows


def draw(n=60, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, p))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=n)


def test_linear_components_are_those_of_features_with_variance_one():
    X, y = draw()
    X[:, 1], X[:, 2] = 40.0 * X[:, 1], 3.0
    machine = AdditiveRegressor(kernel="linear", C=0.1).fit(X, y)
    for j, scale in enumerate(
        [np.std(X[:, 0]), np.std(X[:, 1]), 1.0]
    ):  # constants stay as they are
        column = X[:, j] / scale
        kernel = machine.terms_[j].kernel(X)
        np.testing.assert_allclose(kernel, np.outer(column, column), rtol=1e-12)
    twin = LSSVR(Linear(), C=0.1).fit(X[:, :2] / X[:, :2].std(axis=0), y)
    expected = twin.predict(X[:, :2] / X[:, :2].std(axis=0))
    np.testing.assert_allclose(machine.predict(X), expected, atol=1e-6)


@pytest.mark.parametrize("copies", [1, 2])
def test_weights_maximize_the_restricted_likelihood(copies):
    X, y = draw(p=2)
    one, n = np.ones((60, 1)), 60
    kernels = [Gaussian(0.7).on([j]) for j in range(copies)]
    terms = [Term(str(j), (j,), kernel, 1.0, False) for j, kernel in enumerate(kernels)]
    found = tune_terms(terms, X, y[:, None], one, np.ones(n))
    assert [repr(term.kernel) for term in found] == [repr(kernel) for kernel in kernels]

    def likelihood(eta):
        """Minus twice the logarithm, with the variance of the noise at its best."""
        V = np.eye(n) + sum(np.exp(e) * k(X) for e, k in zip(eta, kernels, strict=True))
        inner = np.linalg.inv(V)
        A = one.T @ inner @ one
        P = inner - inner @ one @ one.T @ inner / A
        return np.linalg.slogdet(V)[1] + np.log(A[0, 0]) + (n - 1) * np.log(y @ P @ y)

    eta = np.log([term.weight for term in found])
    best = minimize(likelihood, eta, method="Nelder-Mead", options={"fatol": 1e-10}).fun
    # A search that ends where the evidence a sample changes by less than 1e-8.
    assert likelihood(eta) - best <= 2 * n * 1e-8


def test_it_is_the_machine_of_the_summed_kernel():
    X, y = draw()
    machine = AdditiveRegressor(kernel=Gaussian(0.7), C=10.0).fit(X, y)
    twin = LSSVR(Additive(Gaussian(0.7)), C=10.0).fit(X, y)
    # Both solve one linear system to their tolerance, which is relative to the targets.
    np.testing.assert_allclose(machine.predict(X), twin.predict(X), atol=1e-6)
    parts = machine.predict_components(X, centred=False)
    np.testing.assert_allclose(parts.sum(axis=1) + machine.intercept_, machine.predict(X))
    centred = machine.predict_components(X)
    np.testing.assert_allclose(centred.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(centred.sum(axis=1) + machine.component_offset_, machine.predict(X))
    np.testing.assert_allclose(machine.component_variation_, np.abs(parts).max(axis=0))
    np.testing.assert_allclose(machine.component_range_[:, 0], centred.min(axis=0))


@pytest.mark.parametrize("loss", sorted(REGRESSION))
def test_every_loss(loss):
    X, y = draw(40)
    machine = AdditiveRegressor(loss=loss, kernel=Gaussian(0.7), tol=1e-6).fit(X, y)
    twin = KernelRegressor(loss, Additive(Gaussian(0.7)), tol=1e-6).fit(X, y)
    # Strong convexity in the norm: twice the gap bounds squared distances, for 3 kernels.
    gap = machine.solution_.gap + twin.solution_.gap
    distance = np.abs(machine.predict(X) - twin.predict(X)).max()
    assert distance <= 2 * np.sqrt(3 * 2 * gap) + 1e-6


def test_order_and_number_of_components_do_not_matter():
    X, y = draw()
    one = AdditiveRegressor([0, 1, 2], C=10.0).fit(X, y)
    other = AdditiveRegressor([2, 0, 1], C=10.0).fit(X, y)
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=1e-8)
    assert other.component_names_ == ["x2", "x0", "x1"]
    whole = AdditiveRegressor([(0, 1, 2)], kernel=Gaussian(0.7)).fit(X, y)
    np.testing.assert_allclose(whole.predict(X), LSSVR(Gaussian(0.7)).fit(X, y).predict(X))


def test_pairs_are_analysis_of_variance():
    X, y = draw()
    machine = AdditiveRegressor("pairs", Gaussian(0.7), C=10.0).fit(X, y)
    twin = LSSVR(ANOVA(Gaussian(0.7), 2), C=10.0).fit(X, y)
    np.testing.assert_allclose(machine.predict(X), twin.predict(X), atol=1e-6)
    assert machine.component_names_ == ["x0", "x1", "x2", "x0 × x1", "x0 × x2", "x1 × x2"]
    assert len(AdditiveRegressor(3).fit(X, y).component_names_) == 7


def test_weights_divide_norms():
    """Lemma 9.1 with reciprocal weights: an explicit primal with |w_p|^2 / v_p."""
    X, y = draw()
    machine = AdditiveRegressor(
        [Component(0, Linear(), weight=4.0), Component(1, Linear(), name="b")], C=2.0
    ).fit(X, y)
    A = np.column_stack([X[:, 0], X[:, 1], np.ones(len(y))])
    penalty = np.diag([1 / 4.0, 1.0, 0.0])
    w = np.linalg.solve(2.0 * A.T @ A + penalty, 2.0 * A.T @ y)
    np.testing.assert_allclose(machine.predict(X), A @ w, atol=1e-8)
    parts = machine.predict_components(X, centred=False)
    np.testing.assert_allclose(parts, A[:, :2] * w[:2], atol=1e-8)
    assert machine.component_names_ == ["x0", "b"]


def test_names_groups_and_categories_of_data_frames():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.uniform(size=(80, 3)), columns=["age", "lat", "lon"])
    frame["kind"] = rng.integers(0, 3, 80).astype(float)
    effect = np.array([0.0, 2.0, -1.0])
    y = 3 * frame["age"] + effect[frame["kind"].astype(int)]
    machine = AdditiveRegressor(
        ["age", ("lat", "lon"), "kind"], categorical=["kind"], C=1000.0
    ).fit(frame, y)
    assert machine.component_names_ == ["age", "lat × lon", "kind"]
    parts = machine.predict_components(frame)
    levels = [parts[frame["kind"] == k, 2].mean() for k in range(3)]
    np.testing.assert_allclose(np.diff(levels), np.diff(effect), atol=0.05)
    assert machine.terms_[2].categorical
    assert machine.terms_[2].kernel == Categorical().on([3])
    named = AdditiveRegressor({"place": ["lat", "lon"], "years": "age"}, "linear").fit(frame, y)
    assert named.component_names_ == ["place", "years"]
    mixed = AdditiveRegressor(["age", "lat"], {"age": "linear", "lat": Gaussian(0.3)}).fit(frame, y)
    assert repr(mixed.terms_[1].kernel) == "Gaussian(length_scale=0.3).on([1])"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"components": [0, 7]}, "no feature"),
        ({"components": ["age"]}, "no names"),
        ({"components": []}, "at least one"),
        ({"components": [(0, 0)]}, "each of them once"),
        ({"components": 9}, "cannot act together"),
        ({"kernel": "precomputed"}, "kernel"),
        ({"categorical": [True, False]}, "one entry a feature"),
    ],
)
def test_what_is_refused(settings, words):
    X, y = draw()
    with pytest.raises(ValueError, match=words):
        AdditiveRegressor(**settings).fit(X, y)


def test_unpenalized_slopes_belong_to_their_components():
    X, y = draw()
    X = X + 1.0
    machine = AdditiveRegressor(kernel=Spline(2), C=10.0).fit(X, y)
    assert machine.component_names_ == ["x0", "x1", "x2"]
    parts = machine.predict_components(X)
    np.testing.assert_allclose(parts.sum(axis=1) + machine.component_offset_, machine.predict(X))
    twin = KernelRegressor("squared", Additive(Spline(2)), C=10.0).fit(X, y)
    np.testing.assert_allclose(machine.predict(X), twin.predict(X), atol=1e-6)


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Spline(2)], ids=repr)
def test_freedom_and_errors_of_components(kernel):
    """Traces of the maps from targets to components, and the posterior of a Gaussian process."""
    X, y = draw(30, 2)
    X, C = X + 1.0, 5.0
    machine = AdditiveRegressor(kernel=kernel, C=C).fit(X, y)
    smoothers = np.array(
        [
            AdditiveRegressor(kernel=kernel, C=C).fit(X, unit).predict_components(X)
            for unit in np.eye(30)
        ]
    )
    traces = np.einsum("iip->p", smoothers)
    np.testing.assert_allclose(machine.component_freedom_, traces, rtol=1e-5)
    residuals = y - machine.predict(X)
    noise = residuals @ residuals / (30 - 1 - traces.sum())
    assert machine.noise_variance_ == pytest.approx(noise, rel=1e-5)
    # The free functions as components with a very large prior variance.
    big = 1e4
    Ks = [kernel(X[:, [j]]) for j in range(2)]
    if isinstance(kernel, Spline):
        Ks = [K + big * np.outer(x, x) for K, x in zip(Ks, X.T, strict=True)]
    H = np.eye(30) - 1 / 30
    M = np.linalg.inv(sum(Ks) + np.eye(30) / C + big)
    for p, K in enumerate(Ks):
        cov = H @ (K - K @ M @ K) @ H
        # What is left of a prior of 1e4 in double precision, and for want of a flat one.
        expected = np.sqrt(noise * C * np.diag(cov))
        np.testing.assert_allclose(machine.component_errors(X)[:, p], expected, rtol=1e-3)


def test_errors_are_of_the_squared_loss():
    X, y = draw()
    with pytest.raises(ValueError, match="squared"):
        AdditiveRegressor(loss="absolute").fit(X, y).component_errors(X)


def test_bands_cover():
    rng = np.random.default_rng(5)
    hits = []
    for _ in range(8):
        X = rng.uniform(-1, 1, (100, 2))
        truth = np.sin(3 * X[:, 0])
        y = truth + X[:, 1] + 0.3 * rng.normal(size=100)
        machine = AdditiveRegressor(tune="weights", C="auto").fit(X, y)
        error = machine.component_errors(X)[:, 0]
        miss = machine.predict_components(X)[:, 0] - (truth - truth.mean())
        hits.append(np.mean(np.abs(miss) < 1.96 * error))
    # Hundreds of points, of which those of one sample hang together: about ten effective ones each.
    assert 0.85 < np.mean(hits) < 1.0


def test_evidence_weighs_components():
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (150, 6)) * [1, 10, 0.1, 1, 1, 1]
    y = np.sin(4 * X[:, 0]) + 0.05 * X[:, 1] + 0.1 * rng.normal(size=150)
    machine = AdditiveRegressor(tune="weights", C="auto").fit(X, y)
    weights = np.array([term.weight for term in machine.terms_])
    assert weights[2:].max() < 0.05 * weights[:2].min()
    low, high = machine.component_range_.T
    assert (high - low)[2:].max() < 0.1 * (high - low)[:2].min()
    plain = AdditiveRegressor(C="auto").fit(X, y)
    new = rng.uniform(-1, 1, (500, 6)) * [1, 10, 0.1, 1, 1, 1]
    truth = np.sin(4 * new[:, 0]) + 0.05 * new[:, 1]
    tuned_error = np.mean((machine.predict(new) - truth) ** 2)
    assert tuned_error < 0.7 * np.mean((plain.predict(new) - truth) ** 2)
    # With a given C the products C v are the same.
    given = AdditiveRegressor(tune="weights", C=3.0).fit(X, y)
    np.testing.assert_allclose(given.predict(X), machine.predict(X), atol=1e-3)
    robust = AdditiveRegressor(loss="huber", tune="weights", C="auto").fit(X, y)
    assert np.mean((robust.predict(new) - truth) ** 2) < 2 * tuned_error


def truth(Z):
    return np.sin(3 * Z[:, 0]) + Z[:, 1] ** 2 + Z[:, 2]


def test_additive_beats_radial_where_the_truth_is_additive():
    errors = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, new = rng.uniform(-1, 1, (80, 6)), rng.uniform(-1, 1, (400, 6))
        y = truth(X) + 0.1 * rng.normal(size=80)
        machines = (AdditiveRegressor(C="auto"), LSSVR(gamma="tuned", C="auto"))
        errors.append([np.mean((m.fit(X, y).predict(new) - truth(new)) ** 2) for m in machines])
    additive, radial = np.mean(errors, axis=0)
    assert additive < 0.5 * radial


def test_several_outputs_and_classes():
    X, y = draw()
    Y = np.column_stack([y, X[:, 2]])
    machine = AdditiveRegressor(C=10.0).fit(X, Y)
    parts = machine.predict_components(X)
    assert parts.shape == (60, 3, 2)
    np.testing.assert_allclose(parts.sum(axis=1) + machine.component_offset_, machine.predict(X))
    labels = np.digitize(y, [0.0, 1.0])
    kinds = AdditiveClassifier(kernel=Gaussian(0.7), loss="hinge", tol=1e-6).fit(X, labels)
    twin = KernelClassifier("hinge", Additive(Gaussian(0.7)), tol=1e-6).fit(X, labels)
    np.testing.assert_allclose(kinds.decision_function(X), twin.decision_function(X), atol=1e-2)
    parts = kinds.predict_components(X)
    assert parts.shape == (60, 3, 3)
    np.testing.assert_allclose(
        parts.sum(axis=1) + kinds.component_offset_, kinds.decision_function(X)
    )
    two = AdditiveClassifier(tune="weights", C="auto").fit(X, y > 0)
    total = two.predict_components(X).sum(axis=1) + two.component_offset_
    np.testing.assert_allclose(total, two.decision_function(X))
    assert two.predict_proba(X).shape == (60, 2)


def test_few_functions():
    X, y = draw(200)
    exact = AdditiveRegressor(gamma=1.0, C=10.0).fit(X, y)
    few = AdditiveRegressor(gamma=1.0, C=10.0, approximation=Nystrom(150)).fit(X, y)
    np.testing.assert_allclose(few.predict(X), exact.predict(X), atol=1e-2)
    parts = few.predict_components(X)
    np.testing.assert_allclose(parts.sum(axis=1) + few.component_offset_, few.predict(X), atol=1e-8)
    drawn = AdditiveRegressor(gamma=1.0, approximation=RandomFeatures(20)).fit(X, y)
    with pytest.raises(ValueError, match="components apart"):
        drawn.predict_components(X)


@pytest.mark.filterwarnings("ignore::mercer.solvers.ConvergenceWarning")
def test_components_are_shown_on_fewer_rows_after_a_deadline(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X[:, 0] > np.sin(X[:, 1])
    shown = []
    monkeypatch.setattr(
        additive_machine, "some_rows", lambda n, most: shown.append(most) or some_rows(n, most)
    )
    AdditiveClassifier().fit(X, y)
    with deadline(0.0):
        late = AdditiveClassifier().fit(X, y)
    assert shown == [additive_machine.SHOWN, additive_machine.LATE]
    assert late.component_means_.shape == (2,)
