"""Error against time on six large tables, beside boosted trees with large trees; two hours.

``large.json`` has sets, settings and limits as they were fixed before the first fit, and what was
decided after which numbers. Each fit has a process of its own, which is stopped when it takes too
much. ``--short`` takes half a minute: are tuned local machines and the pilot good on made rows?
"""

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import make_friedman1, make_moons

from benchmarks.store import Record, taken
from data import load

PLAN = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
SETS, FRESH = tuple(PLAN["sets"]), True
INTERPRETERS = dict.fromkeys(PLAN["peers"], "PEERS")
PACKAGES = {
    "": ("mercer", "numpy", "scipy", "scikit-learn"),
    "PEERS": ("lightgbm", "xgboost", "catboost", "xrfm", "scikit-learn"),
}
# Rows that compile and load what a fit needs, and rows that are predicted at once.
WARM, AT_ONCE = 1_000, 100_000
# The share of rows to learn from where nothing is customary, and the seed of every partition.
SHARES, SEED = {"covtype": 0.8}, 0
CATEGORIES = {
    "flights_nyc13": ("carrier", "origin", "dest"),
    "flights_3m": ("origin", "destination"),
}
MADE = {"friedman1": make_friedman1, "moons": make_moons}
# Settings and the largest error of the short run.
SHORT = {
    "friedman1": ("mercer local", {"leaf_size": 1_000}, 0.12),
    "moons": ("mercer auto", {}, 0.14),
}
# Errors that differ by less than this share are level.
LEVEL = 0.01
# Length scales to begin with, in deviations, and the rows that tell better ones.
SCALE, ROWS = 3.0, 2_000
# Weights of the loss, widths of pixels in units of the mean squared distance, rows to fit and to
# judge them by.
WEIGHTS, WIDTHS, FIT, HELD = (0.3, 1.0, 3.0, 10.0, 30.0), (1.0, 2.0, 4.0, 8.0), 8_000, 4_000

Fitted = tuple[Callable[[Any], Any], dict[str, Any]]


class Table(NamedTuple):
    """Rows to learn from, in random order, and rows to be judged by.

    Numbers are as they are, NaN where missing, behind them codes of categories (columns
    ``categories``). Targets are numbers of mean 0 and variance 1, or classes 0, 1, ...
    """

    name: str
    X: NDArray[np.float64]
    y: NDArray[Any]
    X_test: NDArray[np.float64]
    y_test: NDArray[Any]
    regression: bool
    categories: list[int]

    def first(self, n: int) -> "Table":
        return self._replace(X=self.X[:n], y=self.y[:n])

    def error(self, predicted: Any) -> float:
        """Return the root mean square error, or the share of mistakes."""
        predicted = np.ravel(predicted)
        if self.regression:
            return float(np.sqrt(np.mean((self.y_test - predicted) ** 2)))
        return float(np.mean(predicted != self.y_test))


def table(name: str) -> Table:
    """Return a table, split at random, cod_rna and mnist as customary."""
    codes: list[Any] = []
    if name in MADE:
        X, y = MADE[name](3_000, noise=0.3, random_state=SEED)
        regression, parts = name == "friedman1", None
    else:
        bunch = load(name, binary=name == "covtype")
        X, y, regression = np.asarray(bunch.X, dtype=float), bunch.y, bunch.task == "regression"
        # The official partition of covtype is of the task with seven classes.
        parts = None if name == "covtype" else bunch.get("split")
        codes = [bunch.frame[c].cat.codes.to_numpy() for c in CATEGORIES.get(name, ())]
    if name == "covtype":
        # Ten numbers, four columns of one category and forty of another.
        X, codes = X[:, :10], [X[:, 10:14].argmax(axis=1), X[:, 14:].argmax(axis=1)]
    order = np.random.default_rng(SEED).permutation(len(X))
    if regression:
        order = order[np.isfinite(y[order])]
    n = int(SHARES.get(name, 0.9) * len(order))
    train, test = order[:n], order[n:]
    if parts is not None:
        held = np.asarray(parts) == "test"
        train, test = order[~held[order]], order[held[order]]
    if regression:
        y = (y - y[train].mean()) / y[train].std()
    else:
        y = np.unique(y, return_inverse=True)[1]
    p = X.shape[1]
    X = np.column_stack([X, *(np.where(c < 0, np.nan, c) for c in codes)])
    categories = list(range(p, X.shape[1]))
    return Table(name, X[train], y[train], X[test], y[test], regression, categories)


# This library's machines --------------------------------------------------------------------------


def prepared(data: Table) -> Callable[[Any], Any]:
    """Return what makes points of rows: ranks for numbers as targets, deviations for classes."""
    from mercer.preprocessing import RankNormalizer

    numbers = [j for j in range(data.X.shape[1]) if j not in data.categories]
    known = data.X[:, numbers]
    mean, scale = np.nanmean(known, axis=0), np.nanstd(known, axis=0)
    if data.name == "mnist":
        scale = np.full(len(numbers), np.std(known))
    scale = np.where(scale > 0.0, scale, 1.0)
    ranks = RankNormalizer().fit(np.where(np.isnan(known), mean, known))

    def change(X: Any) -> Any:
        Z = np.where(np.isnan(X[:, numbers]), mean, X[:, numbers])
        Z = ranks.transform(Z) if data.regression else (Z - mean) / scale
        return np.column_stack([Z, np.nan_to_num(X[:, data.categories], nan=-1.0)])

    return change


def start(data: Table, **settings: Any) -> Any:
    """Return a machine of least squares with equal length scales."""
    from mercer import LSSVC, LSSVR
    from mercer.kernels import Laplacian

    kernel = Laplacian(np.full(data.X.shape[1], SCALE), categories=tuple(data.categories))
    return (LSSVR if data.regression else LSSVC)(kernel=kernel, C=10.0, **settings)


def tuned(machine: Any, Z: Any, y: Any, **settings: Any) -> Any:
    """Return the machine with a length scale for each column, by the evidence."""
    from mercer import tune

    settings |= {"ard": True, "criterion": "evidence", "prior": 1.0, "refit": False}
    return tune(machine, Z, y, **settings).best_estimator_


def certificate(machine: Any, change: Callable[[Any], Any]) -> Fitted:
    s = machine.solution_
    found = {"gap": float(s.gap) / max(1.0, abs(float(s.objective)))}
    if hasattr(machine, "approximation_reason_"):
        found["reason"] = machine.approximation_reason_
    return lambda X: machine.predict(change(X)), found


def whole(data: Table, Z: Any) -> Any:
    """Return one machine of all rows, its C, and widths of pixels, by rows that are held out.

    Numbers have least squares, whose evidence would have no noise and an infinite C; classes have
    the hinge.
    """
    from mercer import LSSVR, SVC
    from mercer.kernels import Gaussian

    n = min(FIT, 2 * len(Z) // 3)
    if data.name == "mnist":
        kernels = [Gaussian(np.sqrt(Z.shape[1] / width)) for width in WIDTHS]
    else:
        kernels = [tuned(start(data), Z, data.y, max_rows=ROWS).kernel]
    tried = []
    for kernel in kernels:
        for C in WEIGHTS:
            machine = (LSSVR if data.regression else SVC)(kernel=kernel, C=C, cache_size=1000)
            fitted = clone(machine).fit(Z[:n], data.y[:n])
            tried.append((fitted.score(Z[n : n + HELD], data.y[n : n + HELD]), machine))
    return max(tried, key=lambda one: one[0])[1]


def exact(data: Table, approximation: Any = None) -> Fitted:
    change = prepared(data)
    Z = change(data.X)
    machine = whole(data, Z).set_params(approximation=approximation)
    return certificate(machine.fit(Z, data.y), change)


def nystrom(data: Table, centres: int) -> Fitted:
    from mercer import Nystrom

    change = prepared(data)
    Z = change(data.X)
    machine = tuned(start(data), Z, data.y, max_rows=ROWS)
    machine.set_params(approximation=Nystrom(centres, memory_limit="4GB", n_jobs=1))
    return certificate(machine.fit(Z, data.y), change)


def local(data: Table, chosen: Any = None, **settings: Any) -> Fitted:
    """Fit local machines with length scales of parts as dense as leaves."""
    from mercer.local import Local

    change = prepared(data)
    Z = change(data.X)
    machine = tuned(start(data, approximation=Local(**settings)), Z, data.y)
    if chosen is not None:
        machine.set_params(approximation=chosen)
    return certificate(machine.fit(Z, data.y), change)


def auto(data: Table) -> Fitted:
    """Let a pilot choose; pixels and eight columns have a support vector machine."""
    return exact(data, "auto") if data.name in {"mnist", "cod_rna"} else local(data, "auto")


def recommended(data: Table) -> Fitted:
    from mercer import AutoClassifier, AutoRegressor

    kind = AutoRegressor if data.regression else AutoClassifier
    machine = kind(categorical_features=data.categories or None).fit(data.X, data.y)
    return machine.predict, {}


OURS: dict[str, Callable[..., Fitted]] = {
    "mercer exact": exact,
    "mercer Nystrom": nystrom,
    "mercer local": local,
    "mercer local, blended": local,
    "mercer auto": auto,
    "mercer recommended": recommended,
}


# What is measured ---------------------------------------------------------------------------------


def cases(short: bool) -> list[dict[str, Any]]:
    return [{"set": name} for name in (SHORT if short else SETS)]


def settings_of(case: dict[str, Any], name: str) -> dict[str, Any] | None:
    """Return the settings of a contender on a set; None if it is not planned there."""
    if case["set"] in SHORT:
        method, settings, _ = SHORT[case["set"]]
        return settings if method == name else None
    planned = {**PLAN["mercer"], **PLAN["peers"]}[name]
    return planned.get(case["set"], planned.get("all"))  # type: ignore[no-any-return]


def contenders(case: dict[str, Any]) -> list[str]:
    return [n for n in (*PLAN["mercer"], *PLAN["peers"]) if settings_of(case, n) is not None]


def limits(name: str) -> tuple[float, float]:
    """Return processor seconds and bytes; two minutes more to read rows and compile."""
    return PLAN["seconds"] + 120.0, PLAN["bytes"]


def run(case: dict[str, Any], name: str, repeat: int) -> dict[str, Any]:
    """Return error, processor seconds of fit and prediction, memory, and what was found."""
    methods: dict[str, Callable[..., Fitted]] = OURS
    if name in INTERPRETERS:
        methods = importlib.import_module("benchmarks.contenders.large_peers").METHODS
    data, settings = table(case["set"]), settings_of(case, name) or {}
    if name in OURS:
        methods[name](data.first(WARM), **settings)[0](data.X_test[:10])
    took, (predict, found) = taken(lambda: methods[name](data, **settings))
    parts = np.array_split(data.X_test, -(-len(data.X_test) // AT_ONCE))
    asked, predicted = taken(lambda: np.concatenate([np.ravel(predict(p)) for p in parts]))
    return {
        "error": data.error(predicted),
        "fit": took["cpu"],
        "predict": asked["cpu"],
        "peak": took["peak"],
        "rows": len(data.y),
        "settings": settings,
        **found,
    }


def line(values: dict[str, Any]) -> str:
    return str(values.get("failure") or f"{values['error']:.4f} in {values['fit']:.1f} s")


def claims(records: list[Record], short: bool) -> list[str]:
    """Say where machines break, leave a gap, or are wrong on made rows."""
    found = []
    for r in records:
        if not r.contender.startswith("mercer"):
            continue
        if "failure" in r:
            found.append(f"{r.case['set']}: {r.contender} {r['failure']}")
            continue
        if r.get("gap", 0.0) > 2e-3:
            found.append(f"{r.case['set']}: {r.contender} left a gap of {r['gap']:.1e}")
        if short and not r["error"] < SHORT[r.case["set"]][2]:
            found.append(f"{r.case['set']}: {r.contender} has the error {r['error']:.3f}")
    return found


# What the results say -----------------------------------------------------------------------------


def finished(records: list[Record], name: str) -> list[Record]:
    return [r for r in records if r.case["set"] == name and "failure" not in r]


def best(records: list[Record], name: str) -> tuple[Record, Record]:
    """Return the line of least error of this library and of the others."""
    found = finished(records, name)
    ours = [r for r in found if r.contender in OURS]
    others = [r for r in found if r.contender not in OURS]
    return min(ours, key=lambda r: r["error"]), min(others, key=lambda r: r["error"])


def standing(ours: float, theirs: float) -> str:
    """Say whether an error is below, level with or above another one."""
    if ours < (1.0 - LEVEL) * theirs:
        return "better"
    return "level" if ours <= (1.0 + LEVEL) * theirs else "worse"


def quickest(records: list[Record], name: str) -> Record | None:
    """Return the quickest fit of this library that is level with the best of the others."""
    least = best(records, name)[1]["error"]
    found = finished(records, name)
    enough = [r for r in found if r.contender in OURS and r["error"] <= (1.0 + LEVEL) * least]
    return min(enough, key=lambda r: r["fit"]) if enough else None
