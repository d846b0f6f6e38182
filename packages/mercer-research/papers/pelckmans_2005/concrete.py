"""Strength of concrete that must rise with cement and age, and fall with water.

Learning curves: 50 to 500 mixtures to train and tune on, all others to test, random splits that
all machines share. Every machine is tuned by three-fold cross-validation on the training rows: ours
over nine pairs of width and weight, boosting over four settings. The shaped machine takes the pair
of the one without knowledge, so that all it has more is the knowledge. Age enters as its logarithm,
which trees do not see.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import StandardScaler

from mercer import KernelRegressor, ShapeConstrainedRegressor
from mercer.kernels import Gaussian
from mercer.regularizers import Decreasing, Increasing
from papers.study import Table
from papers.tables import load

try:
    from lightgbm import LGBMRegressor
except ImportError:
    LGBMRegressor = None

SIZES = (50, 100, 200, 500)
CEMENT, WATER, AGE = 0, 3, 7
SIGNS = [1, 0, 0, -1, 0, 0, 0, 1]
COLUMNS = {
    **{f"n={n}": f"root mean squared test error in MPa, {n} mixtures to train on" for n in SIZES},
    "wrong": "share of the test mixtures, n = 50, whose predicted strength falls with a tenth more "
    "of the range of cement or log age, or rises with as much more water",
    "fit": "seconds to tune and fit 500 mixtures, by the clock of a machine that was shared",
}

Predictor = Callable[[Any], Any]


def kernel_pair(X: Any, y: Any) -> dict[str, Any]:
    """Return width and weight of the machine without knowledge."""
    grid = {
        "kernel": [Gaussian(width) for width in (1.5, 3.0, 6.0)],
        "C": [1.0, 10.0, 100.0],
    }
    search = GridSearchCV(KernelRegressor(), grid, cv=FOLDS, scoring="neg_mean_squared_error")
    return dict(search.fit(X, y).best_params_)


FOLDS = KFold(3, shuffle=True, random_state=0)


def scaled(X: Any, y: Any) -> tuple[StandardScaler, Any, float, float]:
    scaler = StandardScaler().fit(X)
    return scaler, scaler.transform(X), float(y.mean()), float(y.std())


def plain(X: Any, y: Any) -> Predictor:
    """Fit a kernel machine without knowledge."""
    scaler, Z, centre, size = scaled(X, y)
    machine = KernelRegressor(**kernel_pair(Z, (y - centre) / size)).fit(Z, (y - centre) / size)
    return lambda new: centre + size * machine.predict(scaler.transform(new))


def shaped(X: Any, y: Any) -> Predictor:
    """Fit one that rises and falls where engineers say so."""
    scaler, Z, centre, size = scaled(X, y)
    target = (y - centre) / size
    known = [Increasing(CEMENT), Increasing(AGE), Decreasing(WATER)]
    options = {"lines": 16, "grid": 12, "tol": 2e-2, **kernel_pair(Z, target)}
    machine = ShapeConstrainedRegressor(known, **options).fit(Z, target)
    return lambda new: centre + size * machine.predict(scaler.transform(new))


def boosted(kind: str, monotone: bool) -> Callable[[Any, Any], Predictor]:
    """Return a fit of trees, with directions or without."""

    def fit(X: Any, y: Any) -> Predictor:
        if kind == "lightgbm":
            options = {"monotone_constraints": SIGNS} if monotone else {}
            machine = LGBMRegressor(n_jobs=1, verbose=-1, min_child_samples=5, **options)
            grid = {"n_estimators": [100, 400], "num_leaves": [7, 31], "learning_rate": [0.1]}
        else:
            machine = HistGradientBoostingRegressor(
                monotonic_cst=SIGNS if monotone else None, min_samples_leaf=5, random_state=0
            )
            grid = {"max_iter": [100, 300], "max_leaf_nodes": [7, 31], "learning_rate": [0.1]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # names of columns that it invents itself
            search = GridSearchCV(machine, grid, cv=FOLDS, scoring="neg_mean_squared_error")
            search.fit(X, y)
        return lambda new: search.predict(new)

    return fit


def wrong(predict: Predictor, X: Any, span: Any) -> float:
    """Return the share of mixtures that go the wrong way in one of the three directions."""
    here, bad = predict(X), np.zeros(len(X), dtype=bool)
    for j, sign in ((CEMENT, 1), (WATER, -1), (AGE, 1)):
        there = X.copy()
        there[:, j] += 0.1 * span[j]
        # Only inside of the range, and by more than a tenth of a megapascal.
        inside = there[:, j] <= span[j] + X[:, j].min()
        bad |= inside & (sign * (predict(there) - here) < -0.1)
    return float(bad.mean())


def machines() -> dict[str, Callable[[Any, Any], Predictor]]:
    found: dict[str, Callable[[Any, Any], Predictor]] = {
        "shaped machine": shaped,
        "kernel machine without knowledge": plain,
        "HistGradientBoosting, monotone": boosted("hist", True),
        "HistGradientBoosting": boosted("hist", False),
    }
    if LGBMRegressor is not None:
        found["LightGBM, monotone"] = boosted("lightgbm", True)
        found["LightGBM"] = boosted("lightgbm", False)
    return found


def run(short: bool = False) -> Table:
    data = load("concrete")
    X, y = np.array(data.X, dtype=float), np.asarray(data.y, dtype=float)
    X[:, AGE] = np.log(X[:, AGE])
    span = np.ptp(X, axis=0)
    repeats, sizes = (1, (50, 100)) if short else (3, SIZES)
    table = Table(
        "Strength of concrete that rises with cement and age",
        "Does it pay to say what every engineer knows, and when?",
        f"1030 mixtures of eight features, {repeats} random splits for each size of training set, "
        "the others to test; tuned by three-fold cross-validation. Known: strength rises with "
        "cement and age and falls with water, all else equal.",
        COLUMNS,
    )
    for name, fit in machines().items():
        errors: dict[str, Any] = {}
        spreads: dict[str, Any] = {}
        for n in sizes:
            found, shares, clock = [], [], []
            for seed in range(repeats):
                order = np.random.default_rng(seed).permutation(len(y))
                train, test = order[:n], order[n:]
                began = time.perf_counter()
                predict = fit(X[train], y[train])
                clock.append(time.perf_counter() - began)
                found.append(float(np.sqrt(np.mean((predict(X[test]) - y[test]) ** 2))))
                shares.append(wrong(predict, X[test], span))
            errors[f"n={n}"] = round(float(np.mean(found)), 2)
            spreads[f"n={n}"] = [round(error, 3) for error in found]
            if n == 50:
                errors["wrong"] = round(float(np.mean(shares)), 3)
            if n == sizes[-1]:
                errors["fit"] = round(float(np.mean(clock)), 2)
        table.row(name, **errors)
        table.extra[name] = spreads
    return table
