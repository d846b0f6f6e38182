"""How good predictions are, in the measures that people ask for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics

from mercer._typing import AnyArray

__all__ = ["MAIN", "of_classes", "of_intervals", "of_numbers"]

MAIN = {"regression": "R2", "classification": "accuracy"}
"""The measure that machines are compared by."""


def of_numbers(y: NDArray[np.float64], f: NDArray[np.float64]) -> dict[str, float]:
    """Return measures of predicted numbers.

    Parameters
    ----------
    y, f : (n,) array
        Targets and predictions.

    Examples
    --------
    >>> of_numbers(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0]))["largest error"]
    1.0
    """
    return {
        "R2": float(metrics.r2_score(y, f)) if len(y) > 1 else np.nan,
        "RMSE": float(np.sqrt(np.mean((y - f) ** 2))),
        "mean absolute error": float(np.mean(np.abs(y - f))),
        "largest error": float(np.max(np.abs(y - f))),
        "RMSE of the mean": float(np.std(y)),
    }


def of_intervals(y: NDArray[np.float64], ends: NDArray[np.float64]) -> dict[str, float]:
    """Return how often intervals contain their targets, and how wide they are.

    Parameters
    ----------
    y : (n,) array
        Targets.
    ends : (n, 2) array
        Intervals.
    """
    inside = (ends[:, 0] <= y) & (y <= ends[:, 1])
    return {
        "coverage of intervals": float(np.mean(inside)),
        "mean width of intervals": float(np.mean(ends[:, 1] - ends[:, 0])),
    }


def of_classes(
    y: AnyArray, f: AnyArray, P: NDArray[np.float64] | None, classes: AnyArray
) -> dict[str, float]:
    """Return measures of predicted classes.

    Parameters
    ----------
    y, f : (n,) array
        Classes and predictions.
    P : (n, k) array, optional
        Probabilities of the classes.
    classes : (k,) array
        The classes that the model knows.
    """
    common = np.unique(y, return_counts=True)[1].max() / len(y)
    recalls = [np.mean(f[y == one] == one) for one in np.unique(y)]
    found = {
        "accuracy": float(np.mean(y == f)),
        "balanced accuracy": float(np.mean(recalls)),
    }
    known = np.isin(y, classes)
    if P is not None and known.all():
        at = np.searchsorted(classes, y)
        found["log loss"] = -float(np.mean(np.log(np.maximum(P[np.arange(len(y)), at], 1e-15))))
        if len(classes) == 2 and len(np.unique(y)) == 2:
            found["area under the ROC curve"] = float(metrics.roc_auc_score(at, P[:, 1]))
    found["accuracy of the most frequent class"] = float(common)
    return found
