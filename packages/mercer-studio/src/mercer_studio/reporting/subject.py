"""What a report is about: a fitted model, the machine at the heart of it, and its sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

from mercer._sklearn import num_samples, safe_indexing
from mercer._typing import Estimator, PointsLike, TargetsLike
from mercer.kernels.points import Array, to_dense


@dataclass(eq=False)
class Subject:
    """A fitted model with its sample."""

    model: Any
    X: PointsLike
    """A pandas data frame, an array or a sparse matrix."""

    y: Array
    names: list[str]
    """Names of the columns."""

    target: str
    """What is predicted."""

    machine: Estimator
    """The fitted machine inside pipelines, searches and machines that tune themselves."""

    layers: list[Any]
    """What stands around the machine, from the outside."""

    transformers: list[tuple[str, Any]]
    """What rows pass before they reach the machine."""

    seed: int

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.y)

    @property
    def classifies(self) -> bool:
        """Whether classes are predicted."""
        return bool(is_classifier(self.model))

    @property
    def classes(self) -> Array:
        """The classes."""
        return np.asarray(self.model.classes_)

    @property
    def faithful(self) -> bool:
        """Whether the machine was fitted to all these rows and targets, and to nothing else."""
        known = all(
            hasattr(layer, "steps")
            or hasattr(layer, "best_estimator_")
            or hasattr(layer, "tuning_")
            for layer in self.layers
        )
        return known and getattr(self.machine, "shape_fit_", (self.n,))[0] == self.n

    def some(self, most: int) -> NDArray[np.intp]:
        """Return at most so many rows, drawn at random, ascending."""
        if self.n <= most:
            return np.arange(self.n)
        chosen = np.random.default_rng(self.seed).choice(self.n, most, replace=False)
        return np.asarray(np.sort(chosen))

    def rows(self, index: Sequence[int] | NDArray[np.intp]) -> PointsLike:
        """Return some rows, as they are given to the model."""
        return safe_indexing(self.X, index)

    def inside(self, index: Sequence[int] | NDArray[np.intp]) -> PointsLike:
        """Return some rows as the machine sees them."""
        Z = self.rows(index)
        for _, step in self.transformers:
            Z = step.transform(Z)
        return Z

    def column(self, j: int) -> Array:
        """Return a column."""
        if hasattr(self.X, "iloc"):
            return np.asarray(self.X.iloc[:, j])
        return np.ravel(to_dense(self.X[:, [j]]))

    def label(self, i: int) -> str:
        """Return the name of a row: its label in the index of a data frame, or its number."""
        return str(self.X.index[i]) if hasattr(self.X, "index") else str(i)

    def found(self, name: str) -> Any:
        """Return an attribute of the outermost layer that has it, or None."""
        return next(
            (getattr(x, name) for x in (*self.layers, self.machine) if hasattr(x, name)), None
        )


def subject_of(
    model: object, X: PointsLike, y: TargetsLike, target: str | None, seed: int
) -> Subject:
    """Check a model and its sample, and find the machine inside."""
    check_is_fitted(model)
    if not (is_classifier(model) or is_regressor(model)):
        raise ValueError(
            f"report() describes regressors and classifiers; {type(model).__name__} is neither."
        )
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if not (hasattr(X, "iloc") or issparse(X)):
        X = np.asarray(X)
    X = X.tocsr() if hasattr(X, "tocsr") else X
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1 or values.dtype.names:
        raise ValueError(
            f"report() describes one target at a time; y has shape {values.shape}. Fit and report "
            "the outputs one by one."
        )
    if num_samples(X) != len(values):
        raise ValueError(f"X has {num_samples(X)} rows and y has {len(values)}.")
    machine, layers, transformers = _unwrapped(model)
    words = X.columns if hasattr(X, "columns") else [f"x{j}" for j in range(X.shape[1])]
    return Subject(
        model=model,
        X=X,
        y=values,
        names=[str(word) for word in words],
        target=str(target or getattr(y, "name", None) or "target"),
        machine=machine,
        layers=layers,
        transformers=transformers,
        seed=seed,
    )


def _unwrapped(model: object) -> tuple[Any, list[Any], list[tuple[str, Any]]]:
    """Return the machine at the heart of a model, what is around it, and what is before it."""
    layers: list[Any] = []
    transformers: list[tuple[str, Any]] = []
    while True:
        if hasattr(model, "steps"):
            transformers += [step for step in model.steps[:-1] if hasattr(step[1], "transform")]
            inner = model.steps[-1][1]
        else:
            names = ("best_estimator_", "machine_", "estimator_", "regressor_")
            inner = next(
                (v for v in (getattr(model, k, None) for k in names) if _predicts(v)), None
            )
        if inner is None:
            return model, layers, transformers
        layers.append(model)
        model = inner


def _predicts(found: object) -> bool:
    return hasattr(found, "predict")
