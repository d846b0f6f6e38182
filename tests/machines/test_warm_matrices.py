"""A path of warm fits: the matrix is kept where it is the same, and answers are certified."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import mercer
from mercer.gram.lasting import Products, SolverCache
from mercer.kernels import Gaussian, Laplacian, Linear, Polynomial
from mercer.machines.warm_matrices import _kept, key
from mercer.solvers.smo import MIN_KEPT_FEATURES


@pytest.fixture(scope="module", params=[5, 80])
def sample(request):
    rng = np.random.default_rng(0)
    # Beyond 2,048 points rows are computed as they are needed, and kept from 64 features on.
    X = rng.normal(size=(2200, request.param)) * np.sqrt(5 / request.param)
    return X, (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=2200) > 0).astype(int)


def judged(model, X, y):
    """Return primal and dual value of a machine of two classes from its whole kernel matrix."""
    K = np.exp(-model._gamma * np.sum((X[:, None] - X[model.support_]) ** 2, axis=2))
    a = model.dual_coef_[0]
    f, s = K @ a + model.intercept_, 2.0 * y - 1.0
    quadratic = 0.5 * a @ (K @ a)[model.support_]
    return quadratic + model.C * np.sum(np.maximum(0.0, 1.0 - s * f)), np.sum(np.abs(a)) - quadratic


def test_a_path_meets_the_certificate_of_its_own_matrix(sample):
    X, y = sample
    model, evaluations = mercer.SVC(gamma=0.2, warm_start=True), []
    for C in (0.1, 0.5, 2.0, 10.0, 3.0):
        model.set_params(C=C).fit(X, y)
        primal, dual = judged(model, X, y)
        assert model.solution_.converged
        assert primal == pytest.approx(model.solution_.objective, rel=1e-9)
        assert primal - dual <= model.solution_.gap * (1 + 1e-6) + 1e-9 * primal
        evaluations.append(model.solution_.evaluations)
    cold = mercer.SVC(gamma=0.2, C=3.0).fit(X, y)
    assert abs(cold.solution_.objective - primal) <= cold.solution_.gap + model.solution_.gap
    # Products of the last fit are there, and its rows where they are kept.
    part = 1.0 if X.shape[1] < MIN_KEPT_FEATURES else 0.2
    assert evaluations[-1] < part * cold.solution_.evaluations


def test_points_changed_in_place_are_other_points(sample):
    X, y = sample[0].copy(), sample[1]
    model = mercer.SVC(gamma=0.2, warm_start=True).fit(X, y)
    assert model.solution_ in _kept
    X[:, 0] *= 1.5
    primal, _ = judged(model.fit(X, y), X, y)
    cold = mercer.SVC(gamma=0.2).fit(X, y)
    assert primal == pytest.approx(model.solution_.objective, rel=1e-9)
    assert abs(cold.solution_.objective - primal) <= cold.solution_.gap + model.solution_.gap


def test_what_changes_the_matrix_is_seen(sample):
    X, y = sample
    model = mercer.SVC(gamma=0.2, warm_start=True).fit(X, y)
    first = _kept[model.solution_][0]
    assert model.set_params(C=2.0).fit(X, y).solution_ in _kept
    assert _kept[model.solution_][0] is first
    for change in ({"gamma": 0.3}, {"cache_size": 100}):
        model.set_params(**change).fit(X, y)
        assert _kept[model.solution_][0] is not first
        first = _kept[model.solution_][0]
    model.fit(X[:-1], y[:-1])
    assert _kept[model.solution_][0].shape == (2199, 2199)
    model.set_params(warm_start=False).fit(X, y)
    assert model.solution_ not in _kept


def test_the_matrix_ends_with_its_machine_and_does_not_travel(sample):
    X, y = sample
    given = X.copy()
    model = mercer.SVC(gamma=0.2, warm_start=True).fit(given, y)
    assert _kept[model.solution_][0].X is not given
    gram = weakref.ref(_kept[model.solution_][0])
    assert len(pickle.dumps(model)) < 3 * X.nbytes
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.solution_ not in _kept
    del model, other
    gc.collect()
    assert gram() is None


def test_a_fit_that_is_interrupted_leaves_no_matrix(sample, monkeypatch):
    X, y = sample
    model = mercer.SVC(gamma=0.2, warm_start=True).fit(X, y)

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("mercer.gram.tiled.Tiled.add_rows", interrupt)
        patch.setattr("mercer.gram.tiled.Tiled.product", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.set_params(C=30.0).fit(X, y)
    assert model.solution_ not in _kept
    primal, _ = judged(model.fit(X, y), X, y)
    assert primal == pytest.approx(model.solution_.objective, rel=1e-9)


def test_coefficients_stay_where_scaling_would_be_worse():
    # Separable classes: no coefficient is on its bound, and a larger C changes nothing.
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2200, 2))
    X = X[np.abs(X[:, 0]) > 0.2]
    y = (X[:, 0] > 0).astype(int)
    model = mercer.SVC(gamma=0.5, C=1e4, warm_start=True).fit(X, y)
    assert not model.solution_.n_bound
    steps = model.solution_.n_iter
    model.set_params(C=2e4).fit(X, y)
    assert 10 * model.solution_.n_iter < steps


def test_products_are_those_of_the_nearest_multiple():
    lasting, rng = SolverCache(), np.random.default_rng(2)
    K, a = np.cov(rng.normal(size=(6, 9))), rng.normal(size=6)
    assert lasting.products(a) is None
    lasting.leave(Products(a, K @ a, np.full(6, 0.1)))
    near = lasting.products(-3.0 * a)
    assert near.Ka == pytest.approx(-3.0 * K @ a)
    assert near.error == pytest.approx(np.full(6, 0.3))
    assert not lasting.products(np.zeros(6)).error.any()
    assert lasting.products(a[:5]) is None


def test_keys_tell_parameters_apart_and_doubt_kernels_of_users():
    class Own(Gaussian):
        pass

    different = [
        Gaussian(1.0),
        Gaussian(2.0),
        Gaussian(np.array([1.0, 2.0])),
        Gaussian(np.array([1.0, 3.0])),
        Laplacian(1.0),
        Polynomial(2),
        Polynomial(3),
        2.0 * Gaussian(1.0),
        3.0 * Gaussian(1.0),
        Gaussian(1.0) + Linear(),
        Gaussian(1.0) * Linear(),
        Gaussian(1.0).on([0]),
        Gaussian(1.0).on([1]),
    ]
    assert len({key(kernel) for kernel in different} - {None}) == len(different)
    assert key(Own()) is None
    assert key(Own() + Gaussian()) is None


def test_a_kernel_of_a_user_may_say_that_it_is_pure():
    class Pure(Gaussian):
        pure = True

    class Later(Pure):
        pass

    assert key(Pure(2.0)) == key(Pure(2.0))
    assert len({key(Pure(2.0)), key(Pure(3.0)), key(Gaussian(2.0))}) == 3
    assert key(Pure(2.0) + Linear()) is not None
    assert key(Later(2.0)) is None  # what it computes is not what its base computes
    assert key(mercer.kernels.callable.Callable(np.dot)) is None
