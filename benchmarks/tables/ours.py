"""This library's contenders on tables: the recommended estimators untouched, and two older ways."""

from collections.abc import Callable
from typing import Any

import pandas as pd

import mercer
from benchmarks.tables.columns import columns
from benchmarks.tables.sets import Split

Predict = Callable[[pd.DataFrame], Any]
RECOMMENDED = ("AutoRegressor", "AutoClassifier")
PACKAGES = ("mercer", "numpy", "scipy", "scikit-learn", "pandas")


def recommended(data: Split) -> tuple[Predict, dict[str, Any]]:
    """Fit the estimator that the documentation recommends first to the table as it is."""
    machine = getattr(mercer, RECOMMENDED[0 if data.regression else 1])()
    machine.fit(data.X, data.y)
    return machine.predict if data.regression else machine.predict_proba, {}


def least_squares(data: Split) -> tuple[Predict, dict[str, Any]]:
    """Fit the least-squares machine that tunes itself, with a single length scale."""
    change = columns(data).transform
    machine = mercer.selection.LSSVRCV() if data.regression else mercer.selection.LSSVCCV()
    machine.fit(change(data.X), data.y)
    return answers(machine, data, change), {"C": machine.C_, "kernel": str(machine.kernel_)}


def ard(data: Split) -> tuple[Predict, dict[str, Any]]:
    """Fit the least-squares machine with a length scale a column."""
    change = columns(data).transform
    kind = mercer.LSSVR if data.regression else mercer.LSSVC
    found = mercer.tune(kind(standardize=True), change(data.X), data.y, ard=True)
    chosen = {"C": found.best_params_["C"], "status": found.status_}
    return answers(found.best_estimator_, data, change), chosen


def answers(machine: Any, data: Split, change: Any) -> Predict:
    wanted = machine.predict if data.regression else machine.predict_proba
    return lambda X: wanted(change(X))


METHODS: dict[str, Any] = {"mercer least squares": least_squares, "mercer ARD": ard}
if all(hasattr(mercer, name) for name in RECOMMENDED):
    METHODS["mercer recommended"] = recommended
