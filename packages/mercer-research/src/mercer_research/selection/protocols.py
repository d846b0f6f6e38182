"""Protocols of the literature: statistics along a grid, and the median of five."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV

from mercer._typing import Array, PointsLike, Predictor, SplitterLike, TargetsLike
from mercer.machines.folds import as_splitter
from mercer.selection.leave_one_out_errors import single
from mercer_research.selection.bounds import jaakkola_haussler, support_vector_bound

__all__ = ["MedianOfFive", "SelectionStatistics", "median_of_five", "selection_statistics"]


@dataclass(frozen=True, eq=False)
class SelectionStatistics:
    """Estimates of the error of a classifier along a grid, from :func:`selection_statistics`."""

    parameter: str
    """The parameter that moves."""

    values: Array
    """Its values, (k,)."""

    support: Array
    """Share of support vectors, (k,)."""

    training_error: Array
    """Share of training samples on the wrong side, (k,)."""

    slack: Array
    """Mean slack of the training sample, (k,)."""

    jaakkola_haussler: Array
    """Share of samples that the Jaakkola-Haussler estimate flags, (k,)."""

    test_error: Array | None
    """Share of test samples on the wrong side, (k,); None without a test sample."""

    def best(self) -> dict[str, float]:
        """Return the value at which each statistic is smallest, by name."""
        curves = {
            "support": self.support,
            "training_error": self.training_error,
            "slack": self.slack,
            "jaakkola_haussler": self.jaakkola_haussler,
        }
        if self.test_error is not None:
            curves["test_error"] = self.test_error
        return {name: float(self.values[int(np.argmin(c))]) for name, c in curves.items()}


def selection_statistics(
    estimator: Predictor,
    X: PointsLike,
    y: TargetsLike,
    parameter: str,
    values: ArrayLike,
    *,
    X_test: PointsLike = None,
    y_test: TargetsLike = None,
) -> SelectionStatistics:
    """Compare estimates of the error without a test sample to the error on a test sample.

    They are reported, not recommended: slack and the Jaakkola-Haussler estimate reward narrow
    kernels, and choose badly on many data sets. Cross-validation remains the default.

    Parameters
    ----------
    estimator : SVC, or a relative with hinge loss
    X, y : array-like
        A sample of two classes.
    parameter : str
        The parameter that moves, such as ``"kernel__length_scale"``.
    values : (k,) array-like
        Its values.
    X_test, y_test : array-like, optional
        A test sample.

    Returns
    -------
    SelectionStatistics

    References
    ----------
    J. Weston, R. Herbrich, Adaptive margin support vector machines, in *Advances in Large
    Margin Classifiers*, figure 2.7.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.kernels import Gaussian
    >>> from mercer_research.selection.protocols import selection_statistics
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> y = X[:, 0] > 0
    >>> widths = [0.1, 1.0, 10.0]
    >>> found = selection_statistics(SVC(kernel=Gaussian()), X, y, "kernel__length_scale", widths)
    >>> found.best()["support"]
    1.0
    """
    grid = np.asarray(values, dtype=np.float64)
    if grid.ndim != 1 or not len(grid):
        raise ValueError(f"values must be a list of numbers, got {values!r}")
    rows: list[list[float]] = []
    for value in grid:
        machine = clone(estimator).set_params(**{parameter: float(value)}).fit(X, y)
        risk, solution = single(machine, X, y, None)
        margin = risk.y * solution.f
        row = [
            support_vector_bound(machine, X, y).value,
            float(np.mean(margin <= 0)),
            float(np.mean(np.maximum(0.0, 1.0 - margin))),
            jaakkola_haussler(machine, X, y).value,
        ]
        if X_test is not None:
            row.append(float(np.mean(machine.predict(X_test) != np.asarray(y_test))))
        rows.append(row)
    columns = np.array(rows).T
    return SelectionStatistics(
        parameter=parameter,
        values=grid,
        support=columns[0],
        training_error=columns[1],
        slack=columns[2],
        jaakkola_haussler=columns[3],
        test_error=columns[4] if X_test is not None else None,
    )


@dataclass(frozen=True, eq=False)
class MedianOfFive:
    """Test errors under parameters that the first few partitions chose."""

    params: dict[str, Any]
    """The median of the parameters chosen."""

    chosen: list[dict[str, Any]]
    """What each of the first partitions chose."""

    errors: Array
    """Test errors of all partitions: mistakes, or mean squares."""

    mean: float
    """Their mean."""

    std: float
    """Their standard deviation."""


def median_of_five(
    estimator: Predictor,
    grid: dict[str, Sequence[float]],
    X: PointsLike,
    y: TargetsLike,
    splits: Iterable[tuple[NDArray[np.intp], NDArray[np.intp]]],
    *,
    first: int = 5,
    cv: SplitterLike = 5,
    n_jobs: int | None = None,
) -> MedianOfFive:
    """Choose by cross-validation on the first five training sets, and test on all partitions.

    Parameters
    ----------
    estimator : estimator
        What is fitted.
    grid : dict of lists of numbers
        As in scikit-learn's GridSearchCV; the median of each parameter over the partitions that
        choose is used for all of them.
    X, y : arrays
        The whole sample.
    splits : iterable of (train, test)
        The partitions, as index arrays.
    first : int, default=5
        How many of them choose.
    cv : int or splitter, default=5
        Folds of the cross-validation, as in :func:`as_splitter`.
    n_jobs : int, optional
        Parallel fits.

    Returns
    -------
    MedianOfFive

    References
    ----------
    J. Weston, R. Herbrich, Adaptive margin support vector machines, in *Advances in Large
    Margin Classifiers*, section 2.6.2, after G. Raetsch, T. Onoda, K.-R. Mueller (1998).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import ShuffleSplit
    >>> from mercer import SVC
    >>> from mercer_research.selection.protocols import median_of_five
    >>> X, y = load_iris(return_X_y=True)
    >>> splits = ShuffleSplit(8, test_size=0.3, random_state=0).split(X)
    >>> result = median_of_five(SVC(), {"C": [0.1, 1.0, 10.0]}, X, y, splits)
    >>> result.params["C"] in (0.1, 1.0, 10.0), len(result.errors)
    (True, 8)
    """
    parts = [(np.asarray(train), np.asarray(test)) for train, test in splits]
    if len(parts) < first or first < 1:
        raise ValueError(f"{len(parts)} partitions cannot give the first {first}")
    chosen: list[dict[str, Any]] = []
    for train, _ in parts[:first]:
        folds = as_splitter(cv, y[train], classifier=is_classifier(estimator))
        search = GridSearchCV(estimator, grid, cv=folds, n_jobs=n_jobs, refit=False)
        chosen.append(search.fit(X[train], y[train]).best_params_)
    params = {name: float(np.median([c[name] for c in chosen])) for name in chosen[0]}
    errors = []
    for train, test in parts:
        machine = clone(estimator).set_params(**params).fit(X[train], y[train])
        prediction = machine.predict(X[test])
        wrong = prediction != y[test] if is_classifier(machine) else (prediction - y[test]) ** 2
        errors.append(float(np.mean(wrong)))
    spread = float(np.std(errors, ddof=1)) if len(errors) > 1 else 0.0
    return MedianOfFive(params, chosen, np.array(errors), float(np.mean(errors)), spread)
