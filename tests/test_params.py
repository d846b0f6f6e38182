"""Parameters by name, by value, and through scikit-learn."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.model_selection import GridSearchCV

from cases_kernels import KERNELS, NULL_SPACES
from mercer._params import Params, is_integer, same
from mercer.kernels import Gaussian, Kernel, Linear


@dataclass(eq=False)
class Inner(Params):
    width: Any = 1.0

    def __post_init__(self):
        if np.any(np.asarray(self.width) <= 0):
            raise ValueError("width must be positive.")


@dataclass(eq=False)
class Outer(Params):
    inner: Any
    other: Any = None
    scale: float = 2.0

    def __post_init__(self):
        if self.scale == 13.0:
            raise ValueError("not 13.")


def test_get_params_is_shallow_or_deep():
    inner = Inner(3.0)
    outer = Outer(inner)
    assert list(outer.get_params(deep=False)) == ["inner", "other", "scale"]
    assert outer.get_params()["inner__width"] == 3.0
    assert outer.get_params()["inner"] is inner


def test_a_class_as_a_value_is_not_a_component():
    assert "inner__width" not in Outer(Inner).get_params()


def test_set_params_reaches_nested_components():
    outer = Outer(Inner(), Outer(Inner()))
    assert outer.set_params(other__inner__width=5.0, scale=3.0) is outer
    assert outer.other.inner.width == 5.0
    assert outer.inner.width == 1.0
    assert outer.scale == 3.0


def test_a_new_component_and_its_parameter_can_be_set_together():
    outer = Outer(Inner())
    outer.set_params(inner__width=7.0, inner=Inner(4.0))
    assert outer.inner.width == 7.0


def test_a_shared_component_is_changed_in_one_place_only():
    shared = Inner()
    outer = Outer(shared, shared).set_params(inner__width=5.0)
    assert (outer.inner.width, outer.other.width, shared.width) == (5.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"missing": 1}, "has no parameter 'missing'; it has"),
        ({"missing__width": 1}, "has no parameter 'missing'"),
        ({"inner__missing": 1}, "Inner has no parameter 'missing'"),
        ({"scale__width": 1}, "which has no parameters"),
        ({"inner__width": -1.0}, "width must be positive"),
        ({"scale": 13.0}, "not 13"),
    ],
)
def test_a_refused_change_changes_nothing(params, message):
    outer = Outer(Inner(), scale=4.0)
    with pytest.raises(ValueError, match=message):
        outer.set_params(other=9, **params)
    assert outer == Outer(Inner(), scale=4.0)


def test_equality_is_by_class_and_value():
    assert Inner(np.array([1.0, 2.0])) == Inner(np.array([1.0, 2.0]))
    assert Inner(np.array([1.0, 2.0])) == Inner([1.0, 2.0])
    assert Inner(np.array([1.0, 2.0])) != Inner(np.array([1.0, 3.0]))
    assert Inner(np.array([1.0])) != Inner(np.array([1.0, 1.0]))
    assert Outer(Inner(2.0), [Inner(), {"a": np.ones(2)}]) == Outer(
        Inner(2.0), [Inner(), {"a": np.ones(2)}]
    )
    assert Outer(Inner(2.0)) != Outer(Inner(3.0))
    assert Inner() != Outer(Inner())
    assert Inner() != "Inner()"
    assert not same({"a": 1}, {"b": 1})
    assert not same([1, 2], [1])


def test_components_are_mutable_and_so_not_hashable():
    with pytest.raises(TypeError, match="unhashable"):
        hash(Inner())


def test_is_integer():
    assert is_integer(2)
    assert is_integer(np.int8(2))
    assert not is_integer(2.0)
    assert not is_integer(False)


@pytest.mark.parametrize("component", [*KERNELS, *NULL_SPACES], ids=repr)
def test_clone_returns_an_equal_component(component):
    copy = clone(component)
    assert copy == component
    assert copy is not component


class Ridge(RegressorMixin, BaseEstimator):
    """The smallest machine that has a kernel as its parameter."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel

    def fit(self, X, y):
        self.X_ = X
        self.a_ = np.linalg.solve(self.kernel(X) + 1e-3 * np.eye(len(X)), y)
        return self

    def predict(self, X):
        return self.kernel(X, self.X_) @ self.a_


def test_grid_search_sets_nested_kernel_parameters():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(60, 1))
    y = np.sin(3 * X[:, 0]) + X[:, 0]
    kernel = Gaussian(1.0) + Linear()
    search = GridSearchCV(
        Ridge(kernel), {"kernel__left__length_scale": [0.01, 0.5, 50.0]}, cv=3
    ).fit(X, y)
    assert search.best_params_ == {"kernel__left__length_scale": 0.5}
    assert search.best_estimator_.kernel == Gaussian(0.5) + Linear()
    assert kernel == Gaussian(1.0) + Linear()
