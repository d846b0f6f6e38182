"""Parameters by name, by value, and through scikit-learn."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.model_selection import GridSearchCV

from cases_kernels import KERNELS, NULL_SPACES
from mercer._params import (
    Params,
    check_nonnegative,
    check_positive,
    check_sample_weight,
    check_weights,
    is_integer,
    same,
)
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


@pytest.mark.parametrize("check", [check_positive, check_nonnegative])
@pytest.mark.parametrize("value", [-1.0, np.inf, np.nan, True, "1", None, 1j])
def test_numbers_that_are_no_sizes_are_named(check, value):
    with pytest.raises(ValueError, match=r"width must be .*finite"):
        check(height=1, width=value)


@pytest.mark.parametrize("value", [1e-300, 1, np.float32(0.5), 1e300])
def test_sizes(value):
    check_positive(width=value)
    check_nonnegative(width=value)


def test_zero_is_not_negative_and_not_positive():
    check_nonnegative(width=0.0)
    with pytest.raises(ValueError, match="width must be positive and finite, got 0"):
        check_positive(width=0)


def test_weights_are_numbers_one_a_sample():
    np.testing.assert_array_equal(check_weights([0, 1, 0.5], 3), [0.0, 1.0, 0.5])
    np.testing.assert_array_equal(check_sample_weight(None, 3), np.ones(3))
    np.testing.assert_array_equal(check_sample_weight([0, 2], 2), [0.0, 2.0])


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ([1.0, 1.0], r"incompatible shapes: \(2,\) against 3 samples"),
        (1.0, r"incompatible shapes: \(\) against 3 samples"),
        (["a", "b", "c"], "must be numbers, one a sample"),
        ([1.0, -2.0, -3.0], "got -2 for sample 11; use 0"),
        ([1.0, 1.0, np.nan], "got NaN for sample 12"),
        ([np.inf, 1.0, np.nan], "got infinity for sample 10"),
    ],
)
def test_weights_of_no_use_are_named(weights, sentence):
    with pytest.raises(ValueError, match=f"^prior.*{sentence}"):
        check_weights(weights, 3, first=10, name="prior")


def test_weights_that_are_all_zero():
    check_weights([0.0, 0.0], 2)
    with pytest.raises(ValueError, match="prior is zero for all samples"):
        check_sample_weight([0.0, 0.0], 2, name="prior")


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
