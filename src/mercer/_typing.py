"""Types that every room shares: arrays, what a fit accepts, and estimators of anybody.

Shapes stay in words, in docstrings. Protocols are read by the type checker only: nothing asks at
run time whether an object follows one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "AnyArray",
    "Array",
    "Classifier",
    "Constraints",
    "DType",
    "Estimator",
    "Function",
    "IntervalPredictor",
    "LinearMap",
    "PointsLike",
    "Predictor",
    "Seed",
    "SplitterLike",
    "SupportVectors",
    "TargetsLike",
    "WeightsLike",
]

Array: TypeAlias = NDArray[np.float64]
# Numbers of any precision, labels of classes, words.
AnyArray: TypeAlias = NDArray[Any]
# Their precision.
DType: TypeAlias = np.dtype[Any]

# What the methods of scikit-learn's interface accept has no common type, so that these names are
# words for a reader, and the type checker does not tell them apart.

# Rows of numbers: an array, nested lists, a sparse matrix, a data frame, a memory map, a Source or
# a Dask collection; for a precomputed kernel its matrix, for a kernel of objects a list of them.
PointsLike: TypeAlias = Any
# One target a row, or a row of targets: an array, a list, a series, a column of a frame; numbers,
# labels of classes or times with their censoring; None where a source brings them.
TargetsLike: TypeAlias = Any
# One number a row that is not negative: an array, a list, a series; None for ones.
WeightsLike: TypeAlias = Any

# A matrix, an array of SciPy's sparse ones or its LinearOperator: they share ``@``, ``T`` and
# ``shape``, but no type.
LinearMap: TypeAlias = Any

# How samples are split: a number of folds, a splitter of scikit-learn's, pairs of index arrays, or
# None for what the function does by itself.
SplitterLike: TypeAlias = Any
# What is allowed of each parameter, in the form that scikit-learn validates: lists of types,
# intervals, words and callables.
Constraints: TypeAlias = dict[str, Any]

# A kernel, a loss or a metric as a plain function.
Function: TypeAlias = Callable[..., Any]

Seed: TypeAlias = int | np.random.RandomState | np.random.Generator | None


class Estimator(Protocol):
    """An estimator of this library or another: it has parameters, and it is fitted."""

    def fit(self, *args: Any, **kwargs: Any) -> Any: ...

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...

    def set_params(self, **params: Any) -> Self: ...


class Predictor(Estimator, Protocol):
    """An estimator that predicts a target."""

    def predict(self, X: PointsLike) -> Any: ...


class Classifier(Predictor, Protocol):
    """A fitted classifier with decision values."""

    @property
    def classes_(self) -> NDArray[Any]: ...

    def decision_function(self, X: PointsLike) -> Any: ...


class IntervalPredictor(Predictor, Protocol):
    """A regressor that also predicts intervals."""

    def predict_interval(self, X: PointsLike, *args: Any, **kwargs: Any) -> Any: ...


class SupportVectors(Predictor, Protocol):
    """A fitted kernel expansion, of this library or scikit-learn's."""

    @property
    def support_(self) -> NDArray[Any]: ...

    @property
    def support_vectors_(self) -> Any: ...

    @property
    def dual_coef_(self) -> Any: ...
