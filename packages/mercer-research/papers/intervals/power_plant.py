"""Intervals for the output of a power plant: coverage and width beside forests and boosting.

Random halves of 9568 hours: 4784 rows to train, tune and calibrate, the others to test. Intervals
promise 90 per cent. Peers set a quarter of the training rows aside for calibration, as ours do;
boosting chooses among four settings, forests among two sizes of leaves, by the loss they minimize
on a fifth of what is left. Groups are deciles of the temperature.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.preprocessing import StandardScaler

from mercer import ConformalRegressor
from mercer.smoothing.coverage import coverage_of
from papers.study import Table
from papers.tables import load

try:
    from lightgbm import LGBMRegressor
except ImportError:
    LGBMRegressor = None

LEVEL = 0.9
TAILS = (0.05, 0.95)
COLUMNS = {
    "coverage": "share of the test rows inside their interval; 0.9 was asked for",
    "width": "mean width of the intervals, in the unit of the target",
    "score": "mean interval score: width, plus 20 times the distance of rows outside; low is good",
    "worst": "coverage in the group where it is lowest",
    "best": "coverage in the group where it is highest; far above 0.9 is wasted width",
    "RMSE": "root mean squared error of the predictions",
    "fit": "seconds of one processor to tune, fit and calibrate",
    "predict": "seconds of one processor to predict the test rows",
}
PROCESS_ROWS = 600


class Rows:
    """Training rows, some of them set aside, and test rows with their groups."""

    def __init__(self, X: Any, y: Any, new: Any, truth: Any, groups: Any, ordered: bool) -> None:
        self.X, self.y, self.new, self.truth, self.groups = X, y, new, truth, groups
        self.ordered = ordered
        order = np.arange(len(y)) if ordered else np.random.default_rng(1).permutation(len(y))
        m = len(y) // 4
        self.fit, self.aside = order[:-m], order[-m:]
        k = len(self.fit) // 5
        self.small, self.validation = self.fit[:-k], self.fit[-k:]


Found = tuple[Any, Any, Any]
"""Lower and upper ends, and predictions."""


def ours(**options: Any) -> Callable[[Rows], Callable[[Any], Found]]:
    """Return a fit of our intervals."""

    def fit(rows: Rows) -> Callable[[Any], Found]:
        machine = ConformalRegressor(
            coverage=LEVEL, shuffle=not rows.ordered, random_state=0, **options
        ).fit(rows.X, rows.y)

        def predict(new: Any) -> Found:
            low, high = machine.predict_interval(new).T
            return low, high, machine.predict(new)

        return predict

    return fit


def moved(rows: Rows, low: Any, high: Any) -> float:
    """Return by how much intervals of the rows set aside must be widened."""
    y = rows.y[rows.aside]
    scores = np.sort(np.maximum(low - y, y - high))
    return float(scores[int(np.ceil(LEVEL * (len(scores) + 1))) - 1])


def boosting(conformal: bool) -> Callable[[Rows], Callable[[Any], Found]]:
    """Return a fit of LightGBM's quantiles, as they are or moved by rows set aside."""

    def pinball(tau: float, y: Any, f: Any) -> float:
        return float(np.mean(np.maximum(tau * (y - f), (tau - 1) * (y - f))))

    def fit(rows: Rows) -> Callable[[Any], Found]:
        part = rows.fit if conformal else np.arange(len(rows.y))
        machines = []
        for tau in (*TAILS, 0.5):
            settings = [
                {"n_estimators": n, "num_leaves": leaves, "min_child_samples": 20}
                for n in (200, 600)
                for leaves in (7, 31)
            ]

            def made(setting: dict[str, int], tau: float = tau) -> Any:
                return LGBMRegressor(
                    objective="quantile",
                    alpha=tau,
                    learning_rate=0.05,
                    verbose=-1,
                    n_jobs=1,
                    **setting,
                )

            losses = [
                pinball(
                    tau,
                    rows.y[rows.validation],
                    made(s)
                    .fit(rows.X[rows.small], rows.y[rows.small])
                    .predict(rows.X[rows.validation]),
                )
                for s in settings
            ]
            best = settings[int(np.argmin(losses))]
            machines.append(made(best).fit(rows.X[part], rows.y[part]))
        lower, upper, middle = machines
        q = 0.0
        if conformal:
            q = moved(rows, *(m.predict(rows.X[rows.aside]) for m in (lower, upper)))

        def predict(new: Any) -> Found:
            low, high = lower.predict(new), upper.predict(new)
            return np.minimum(low, high) - q, np.maximum(low, high) + q, middle.predict(new)

        return predict

    return fit


def forest(rows: Rows) -> Callable[[Any], Found]:
    """Fit a random forest, with the width that rows set aside ask for."""

    def made(leaf: int) -> Any:
        return RandomForestRegressor(100, min_samples_leaf=leaf, n_jobs=1, random_state=0)

    def error(leaf: int) -> float:
        machine = made(leaf).fit(rows.X[rows.small], rows.y[rows.small])
        residuals = rows.y[rows.validation] - machine.predict(rows.X[rows.validation])
        return float(np.mean(residuals**2))

    best = min((1, 5), key=error)
    machine = made(best).fit(rows.X[rows.fit], rows.y[rows.fit])
    f = machine.predict(rows.X[rows.aside])
    q = moved(rows, f, f)

    def predict(new: Any) -> Found:
        f = machine.predict(new)
        return f - q, f + q, f

    return predict


def process(rows: Rows) -> Callable[[Any], Found]:
    """Fit a Gaussian process to as many rows as take about a minute."""
    some = np.random.default_rng(2).choice(len(rows.y), min(PROCESS_ROWS, len(rows.y)), False)
    scaler, mean, spread = StandardScaler().fit(rows.X), rows.y.mean(), rows.y.std()
    kernel = ConstantKernel() * RBF(np.ones(rows.X.shape[1])) + WhiteKernel(0.1)
    machine = GaussianProcessRegressor(kernel).fit(
        scaler.transform(rows.X[some]), (rows.y[some] - mean) / spread
    )

    def predict(new: Any) -> Found:
        f, s = machine.predict(scaler.transform(new), return_std=True)
        f, half = mean + spread * f, 1.6449 * spread * s
        return f - half, f + half, f

    return predict


def compare(table: Table, rows: Rows, short: bool, only: str = "") -> None:
    """Add a row a machine, or that of one of them."""
    machines: dict[str, Any] = {
        "ConformalRegressor": ours(),
        "ConformalRegressor, constant width": ours(scale="constant"),
        "ConformalRegressor, cqr": ours(method="cqr"),
        "random forest, conformal": forest,
        "Gaussian process, 600 rows": process,
    }
    if LGBMRegressor is not None:
        machines["LightGBM quantiles"] = boosting(False)
        machines["LightGBM quantiles, conformal"] = boosting(True)
    chosen = ["ConformalRegressor", "random forest, conformal"] if short else list(machines)
    for name in [only] if only else chosen:
        fit = machines[name]
        start = time.process_time()
        predict = fit(rows)
        middle = time.process_time()
        low, high, f = predict(rows.new)
        end = time.process_time()
        report = coverage_of(rows.truth, low, high, LEVEL, rows.groups)
        shares = [group.coverage for group in report.groups]
        table.row(
            name,
            coverage=report.coverage,
            width=report.width,
            score=report.score,
            worst=min(shares),
            best=max(shares),
            RMSE=float(np.sqrt(np.mean((rows.truth - f) ** 2))),
            fit=middle - start,
            predict=end - middle,
        )
        table.extra[name] = {
            "groups": [group.group for group in report.groups],
            "coverage": shares,
            "width": [group.width for group in report.groups],
        }


def run(short: bool, only: str = "") -> Table:
    """Compare intervals on a random half of the hours."""
    data = load("power_plant")
    order = np.random.default_rng(0).permutation(len(data.y))
    n = 600 if short else len(order) // 2
    train, test = order[:n], order[n : 2 * n]
    X, y = data.X, data.y
    edges = np.quantile(X[train, 0], np.linspace(0.1, 0.9, 9))
    groups = np.searchsorted(edges, X[test, 0])
    table = Table(
        "Intervals for the output of a power plant",
        "How often do intervals contain the output, how wide are they, and where do they fail?",
        f"{n} random rows to train, {n} to test; 90 per cent promised; groups are deciles of the "
        "temperature. Everyone tunes and calibrates on the training rows alone.",
        COLUMNS,
    )
    compare(table, Rows(X[train], y[train], X[test], y[test], groups, ordered=False), short, only)
    return table
