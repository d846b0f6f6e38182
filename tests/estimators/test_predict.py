"""Decision values of many new points: in blocks, in float32 where the tolerance allows it."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from mercer import SVC, SVR
from mercer.kernels import Gaussian, _products

X, Y = make_classification(
    1500, 6, n_informative=5, n_redundant=0, n_classes=3, flip_y=0.2, random_state=0
)
MANY = np.random.default_rng(1).normal(size=(4000, 6))


@pytest.fixture
def double(monkeypatch):
    """Return a function that calls another one with all kernel values in double precision."""

    def call(function, *args):
        with monkeypatch.context() as patch:
            patch.setattr(_products, "WORTH", np.inf)
            return function(*args)

    return call


def test_prediction_in_blocks(monkeypatch):
    machines = [SVC().fit(X[:90], Y[:90]), SVC(kernel="precomputed").fit(X[:90] @ X[:90].T, Y[:90])]
    points = [X[90:200], X[90:200] @ X[:90].T]
    whole = [m.decision_function(p) for m, p in zip(machines, points, strict=True)]
    monkeypatch.setattr(_products, "BLOCK_BYTES", 1000)
    for machine, p, expected in zip(machines, points, whole, strict=True):
        found = machine.decision_function(p)
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_decision_values_agree_with_double_precision_to_a_tenth_of_the_tolerance(tol, double):
    machine = SVC(C=10.0, tol=tol, decision_function_shape="ovo").fit(X, Y)
    assert len(machine.support_) * len(MANY) > _products.WORTH
    found = machine.decision_function(MANY)
    exact = double(machine.decision_function, MANY)
    difference = np.abs(found - exact).max()
    # Twice: the sample of 32 points bounds what is typical, a pair adds two classes.
    assert difference <= 4 * 0.1 * tol
    assert (difference > 0.0) == (tol == 1e-3)


def test_a_row_does_not_depend_on_its_company():
    machine = SVR(C=2.0).fit(X, X[:, 0] ** 2)
    whole = machine.predict(MANY)
    for rows in (slice(0, 1), slice(10, 300), slice(100, 3500), slice(None, None, -1)):
        np.testing.assert_allclose(machine.predict(MANY[rows]), whole[rows], rtol=0, atol=2e-4)


def test_the_tolerance_is_that_of_the_fit():
    machine = SVR(C=2.0, tol=1e-8).fit(X[:600], X[:600, 0])
    exact = machine.predict(MANY)
    machine.set_params(tol=10.0)
    np.testing.assert_array_equal(machine.predict(MANY), exact)


def test_products_by_class_add_up_to_the_whole():
    machine = SVC().fit(X, Y)
    coef = np.random.default_rng(2).normal(size=(len(machine.support_), 2))
    by_class = machine._expand_classes(MANY[:50], machine.n_support_, coef)
    ends = np.cumsum(machine.n_support_)
    assert by_class.shape == (3, 50, 2)
    K = Gaussian.from_gamma(machine._gamma)(MANY[:50], machine.support_vectors_)
    for product, a, b in zip(by_class, [0, *ends], ends, strict=False):
        np.testing.assert_allclose(product, K[:, a:b] @ coef[a:b], rtol=0, atol=1e-10)
    np.testing.assert_allclose(by_class.sum(axis=0), machine._expand(MANY[:50], coef), atol=1e-10)
