"""Decision values of many new points, in blocks."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from mercer import SVC
from mercer.kernels import Gaussian, products
from mercer.machines import one_vs_one
from mercer.machines.evaluating import expand, expand_by_class

X, Y = make_classification(
    1500, 6, n_informative=5, n_redundant=0, n_classes=3, flip_y=0.2, random_state=0
)
MANY = np.random.default_rng(1).normal(size=(4000, 6))


def test_prediction_in_blocks(monkeypatch):
    machines = [SVC().fit(X[:90], Y[:90]), SVC(kernel="precomputed").fit(X[:90] @ X[:90].T, Y[:90])]
    points = [X[90:200], X[90:200] @ X[:90].T]
    whole = [m.decision_function(p) for m, p in zip(machines, points, strict=True)]
    monkeypatch.setattr(products, "BLOCK_BYTES", 1000)
    for machine, p, expected in zip(machines, points, whole, strict=True):
        found = machine.decision_function(p)
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


def test_products_by_class_add_up_to_the_whole():
    machine = SVC().fit(X, Y)
    coef = np.random.default_rng(2).normal(size=(len(machine.support_), 2))
    by_class = expand_by_class(machine, MANY[:50], machine.n_support_, coef)
    ends = np.cumsum(machine.n_support_)
    assert by_class.shape == (3, 50, 2)
    K = Gaussian.from_gamma(machine._gamma)(MANY[:50], machine.support_vectors_)
    for product, a, b in zip(by_class, [0, *ends], ends, strict=False):
        np.testing.assert_allclose(product, K[:, a:b] @ coef[a:b], rtol=0, atol=1e-10)
    np.testing.assert_allclose(by_class.sum(axis=0), expand(machine, MANY[:50], coef), atol=1e-10)


def on_the_boundary(machine, n):
    """Return points at which two classes are nearly level, by halving, some of them to rounding."""
    rng = np.random.default_rng(5)
    left, right = rng.normal(size=(2, 4000, 6))
    other = machine.predict(left) != machine.predict(right)
    left, right = left[other][:n], right[other][:n]
    label, steps = machine.predict(left), rng.integers(5, 50, size=(len(left), 1))
    for step in range(50):
        middle = 0.5 * (left + right)
        same = (machine.predict(middle) == label)[:, None]
        going = steps > step
        left = np.where(going & same, middle, left)
        right = np.where(going & ~same, middle, right)
    return np.concatenate([left, right])


@pytest.mark.parametrize("classes", [2, 3])
def test_labels_from_float32_are_those_of_float64(classes, monkeypatch):
    """Float32 decides only where its error cannot; the others are asked again."""
    machine = SVC(C=10.0, decision_function_shape="ovo").fit(X, np.minimum(Y, classes - 1))
    points = np.concatenate([on_the_boundary(machine, 600), MANY])
    asked = []
    real = SVC._pairs_at
    monkeypatch.setattr(SVC, "_pairs_at", lambda self, X: asked.append(len(X)) or real(self, X))
    found = machine.predict(points)
    assert len(asked) == 1
    assert 100 < asked[0] < len(points) / 2
    monkeypatch.setattr(one_vs_one, "bounded_products", lambda *args: None)
    np.testing.assert_array_equal(found, machine.predict(points))
