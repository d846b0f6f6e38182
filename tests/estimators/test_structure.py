"""Machines that find their components: what they keep, how they choose, what they refuse."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import ShuffleSplit

from mercer import AdditiveRegressor
from mercer.estimators import (
    Component,
    SparseAdditiveClassifier,
    SparseAdditiveRegressor,
    StructureWarning,
)
from mercer.kernels import Gaussian, Laplacian, Linear
from mercer.losses import EpsilonInsensitive, Huber

FAST = {"n_mus": 6, "smallest": 0.03, "cv": 3}


def draw(n=60, p=5, seed=0, noise=0.2):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, p))
    return X, 2 * np.sin(2 * X[:, 0]) + 2 * X[:, 1] ** 2 + noise * rng.normal(size=n)


def test_the_right_components_are_kept_and_fitted_again():
    X, y = draw()
    machine = SparseAdditiveRegressor(kernel=Gaussian(1.0), **FAST).fit(X, y)
    assert machine.selected_names_ == ["x0", "x1"]
    twin = AdditiveRegressor(["x0", "x1"], Gaussian(1.0), C="auto")
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(5)])
    np.testing.assert_allclose(machine.predict(X), twin.fit(frame, y).predict(frame), atol=1e-6)
    parts = machine.predict_components(X)
    assert not parts[:, 2:].any()
    offset = machine.machine_.component_offset_
    np.testing.assert_allclose(parts.sum(axis=1) + offset, machine.predict(X))
    assert machine.solution_.relative_gap < 1e-4


def test_what_is_known_of_the_path():
    X, y = draw()
    settings = FAST | {"kernel": Gaussian(1.0), "n_mus": 5}
    path = SparseAdditiveRegressor(**settings).fit(X, y).path_
    assert path.parameters.shape == (5,)
    assert path.coefs.shape == path.selected.shape == (5, 5)
    assert np.all(np.diff(path.coefs.sum(axis=1)) > -1e-3)  # less penalty, more variation
    assert path.coefs[0].max() < 0.05 * path.coefs[-1].max()  # hardly anything is left there
    best = np.argmin(path.errors)
    limit = path.errors[best] + path.standard_errors[best]
    assert path.chosen == path.parameters[np.flatnonzero(path.errors <= limit)[0]]
    least = SparseAdditiveRegressor(**settings, mu="min").fit(X, y)
    assert least.mu_ == path.parameters[best]


def test_errors_of_a_single_split_are_those_of_a_refit():
    X, y = draw()
    split = ShuffleSplit(1, test_size=20, random_state=0)
    machine = SparseAdditiveRegressor(kernel=Gaussian(0.7), C=5.0, **(FAST | {"cv": split})).fit(
        X, y
    )
    T, V = next(split.split(X))
    k = 3
    mu = machine.path_.parameters[k] * len(T) / len(y)
    # Largest values are over all inputs: those left out are there, with weight zero.
    s = np.zeros(len(y))
    s[T] = 1.0
    inner = SparseAdditiveRegressor(kernel=Gaussian(0.7), C=5.0, mu=mu).fit(X[T], y[T])
    error = np.mean((inner.predict(X[V]) - y[V]) ** 2) / 2
    assert machine.path_.errors[k] == pytest.approx(error, rel=1e-2)


def test_without_penalty_it_is_the_additive_machine():
    X, y = draw()
    whole = AdditiveRegressor(kernel=Gaussian(0.7), C=5.0).fit(X, y)
    for loss in ("squared", EpsilonInsensitive(0.1), Huber(0.3)):
        free = SparseAdditiveRegressor(kernel=Gaussian(0.7), loss=loss, mu=0.0, C=5.0, refit=False)
        twin = (
            whole
            if loss == "squared"
            else AdditiveRegressor(kernel=Gaussian(0.7), loss=loss, C=5.0, tol=1e-6).fit(X, y)
        )
        # A relative gap of 1e-5 of objectives near ten, of which the root is taken.
        np.testing.assert_allclose(free.fit(X, y).predict(X), twin.predict(X), atol=3e-2)


def test_beyond_all_components_it_is_the_constant():
    X, y = draw()
    for refit in (True, False):
        machine = SparseAdditiveRegressor(mu=1e6, refit=refit).fit(X, y)
        assert not machine.selected_.any()
        np.testing.assert_allclose(machine.predict(X), y.mean(), atol=1e-3)
        assert np.abs(machine.predict_components(X)).max() < 1e-3


@pytest.mark.parametrize("penalty", ["variation", "norm"])
@pytest.mark.parametrize("loss", ["squared", "epsilon_insensitive", "huber", "absolute"])
def test_every_loss_finds_them(loss, penalty):
    X, y = draw()
    mu = {"variation": 90.0, "norm": 25.0}[penalty]
    machine = SparseAdditiveRegressor(
        kernel=Gaussian(1.0), loss=loss, penalty=penalty, C=5.0, mu=mu, refit=False
    ).fit(X, y)
    noise = machine.variation_[2:].max() / machine.variation_[:2].min()
    assert noise < (0.2 if penalty == "variation" else 0.01)


def test_a_substrate_shares_one_expansion():
    X, y = draw()
    machine = SparseAdditiveRegressor(
        kernel=Gaussian(2.0), form="substrate", C=1.0, mu=10.0, rank=4, refit=False
    ).fit(X, y)
    assert machine.selected_names_ == ["x0", "x1"]
    # One expansion a: w_p = Z_p'a for all components, and predictions are those of the sample.
    Z, w = machine._raw, np.concatenate([coef[:, 0] for coef in machine.coefs_])
    a = np.linalg.lstsq(Z.T, w, rcond=None)[0]
    np.testing.assert_allclose(Z.T @ a, w, atol=1e-6 * np.abs(w).max())
    np.testing.assert_allclose(machine.predict(X), machine.solution_.f, atol=1e-6)
    assert machine.predict_components(X).mean(axis=0) == pytest.approx(np.zeros(5), abs=1e-6)
    with pytest.warns(StructureWarning, match="share one expansion"):
        SparseAdditiveRegressor(kernel=Gaussian(0.2), form="substrate", mu=1.0).fit(X, y)


def test_rough_kernels_are_warned_of():
    X, y = draw(40)
    with pytest.warns(StructureWarning, match="vanish together"):
        SparseAdditiveRegressor(kernel=Laplacian(0.02), mu=1.0).fit(X, y)


def test_a_dictionary_of_shapes():
    """Linear and curved terms of every feature: the data decide which of them."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.uniform(-1, 1, (100, 3)), columns=list("abc"))
    y = 3 * frame["a"] + 2 * np.cos(3 * frame["b"]) + 0.1 * rng.normal(size=100)
    shapes = [Component(c, Linear(), f"{c} linear", weight=10.0) for c in "abc"]
    shapes += [Component(c, Gaussian(0.6), f"{c} curved") for c in "abc"]
    machine = SparseAdditiveRegressor(shapes, penalty="norm", C=5.0, mu=60.0).fit(frame, y)
    assert set(machine.selected_names_) == {"a linear", "b curved"}
    # The solver's function is the sum of the components: its residuals balance, and it predicts.
    assert abs(np.sum(y - machine.solution_.f)) < 1e-3 * np.abs(y).sum()
    assert machine.score(frame, y) > 0.9


def test_categories_and_groups():
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.uniform(size=(100, 2)), rng.integers(0, 4, (100, 2))])
    y = np.array([0.0, 3.0, -2.0, 1.0])[X[:, 3].astype(int)] + 0.2 * rng.normal(size=100)
    machine = SparseAdditiveRegressor([(0, 1), 2, 3], categorical=[2, 3], **FAST).fit(X, y)
    assert machine.selected_names_ == ["x3"]
    assert machine._functions[2].part.features.shape == (4, 4)


def test_classes():
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (90, 4))
    two = np.where(np.abs(X[:, 1]) > 0.5, "out", "in")
    for loss in ("hinge", "squared_hinge", "squared"):
        machine = SparseAdditiveClassifier(kernel=Gaussian(0.7), loss=loss, C=10.0, mu=80.0).fit(
            X, two
        )
        assert machine.selected_names_ == ["x1"]
        assert machine.score(X, two) > 0.9
    three = np.digitize(X[:, 0] + X[:, 2], [-0.5, 0.5])
    machine = SparseAdditiveClassifier(mu=50.0, C=10.0, class_weight="balanced").fit(X, three)
    assert set(np.argsort(-machine.variation_)[:2]) == {0, 2}
    assert machine.decision_function(X).shape == (90, 3)
    assert machine.predict_components(X).shape == (90, 4, 3)
    with pytest.raises(ValueError, match="quadratic dual"):
        SparseAdditiveClassifier(loss="logistic", mu=1.0).fit(X, two)


def test_weights_are_repetitions():
    X, y = draw(30)
    s = np.random.default_rng(6).integers(0, 3, 30)
    settings = {"kernel": Gaussian(0.7), "C": 5.0, "mu": 20.0, "refit": False, "tol": 1e-8}
    weighted = SparseAdditiveRegressor(**settings).fit(X, y, sample_weight=s)
    repeated = SparseAdditiveRegressor(**settings).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=3e-3)


def test_tuned_refit_and_no_warning_by_default():
    X, y = draw()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine = SparseAdditiveRegressor(mu=30.0, C=5.0, refit="tuned").fit(X, y)
    assert machine.machine_.tune == "weights"
    assert machine.score(X, y) > 0.9
