"""What every exported estimator says of some points, and what must not depend on where it runs."""

import warnings
from typing import Any

import numpy as np

from hostile.generator import good
from hostile.judge import fit
from hostile.machines import MACHINES, make

__all__ = ["MACHINES", "answers", "fitted", "same"]

METHODS = ("predict", "cdf", "decision_function", "predict_proba", "predict_interval", "transform",
           "score_samples")  # fmt: skip


def fitted(name: str, seed: int = 0, machine: Any = None) -> Any:
    """Return an estimator fitted to a small sample."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that few rows are few is said elsewhere
        return fit(make(name) if machine is None else machine, *good(name, seed))


def answers(machine: Any, name: str) -> dict[str, Any]:
    """Return what a fitted estimator says of new points, by method."""
    X, _ = good(name, 7, n=40)
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method in METHODS:
            try:
                told = getattr(machine, method)(X)
            except (AttributeError, TypeError, ValueError):
                continue  # not of this estimator, or not of points alone
            found[method] = told.toarray() if hasattr(told, "toarray") else np.asarray(told)
        if hasattr(machine, "forecast"):
            found["forecast"] = machine.forecast(3)
    return found


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether two estimators say the same, bit for bit."""
    try:
        np.testing.assert_equal(one, other)
    except AssertionError:
        return False
    return True
