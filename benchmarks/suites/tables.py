"""Recommended estimators, untouched, beside boosted trees on 54 tables; 18 hours with peers.

``tables.json`` has sets, sizes, splits and contenders as they were decided before the first line
was measured, and what was decided after which numbers. This module needs this library only to fit
it. ``--short`` takes half a minute: are the recommended estimators good on few rows, and in time?
"""

import importlib
import json
import resource
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.ranking import Duel, Ranking, duel, geometric, holm, rank
from benchmarks.store import Record
from data import BUNDLED, FOLDER, table

Array = NDArray[Any]
Predict = Callable[[pd.DataFrame], Any]

PLAN: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
SETS: dict[str, tuple[str, ...]] = {
    task: (*kinds["developed"], *kinds["fresh"]) for task, kinds in PLAN["sets"].items()
}
UNSEEN = {task: tuple(kinds["unseen"]) for task, kinds in PLAN["sets"].items()}
FRESH = frozenset(name for kinds in PLAN["sets"].values() for name in kinds["fresh"])
# Unseen sets have a size of their own, which is at most a share of their rows.
(UNSEEN_SIZE,) = (int(size) for size, how in PLAN["sizes"].items() if how.get("unseen"))
SIZES = tuple(int(size) for size in PLAN["sizes"] if int(size) != UNSEEN_SIZE)
HOW = {m: how for family in PLAN["contenders"].values() for m, how in family.items()}
OURS, USUAL, BASE = "mercer recommended", "mercer least squares", "CatBoost"
PEERS = [m for m in HOW if not m.startswith("mercer")]
FEW = PLAN["subset"]["sets"]
# Those by which methods are ranked; smaller is better.
JUDGED = {"regression": ("rmse",), "classification": ("error", "log_loss")}
# Those that come with scikit-learn, for a machine without the folder of data.
SHORT = ("diabetes", "breast_cancer")
RARE, FLOOR, BINS = 5, 1e-6, 15

MODULES = {"PEERS": "benchmarks.contenders.table_peers", "AUTOGLUON": "benchmarks.contenders.gluon"}
INTERPRETERS = {
    method: variable
    for family, variable in (("peers", "PEERS"), ("autogluon", "AUTOGLUON"))
    for method in PLAN["contenders"][family]
}
PACKAGES = {
    "": ("mercer", "numpy", "scipy", "scikit-learn", "pandas"),
    "PEERS": (
        *("catboost", "lightgbm", "xgboost", "xrfm", "pytabkit", "interpret-core"),
        "scikit-learn",
    ),
    "AUTOGLUON": ("autogluon.tabular", "catboost", "lightgbm", "xgboost-cpu", "scikit-learn"),
}


@dataclass(frozen=True)
class Split:
    """Rows to learn from and rows to be judged by; classes are 0, 1, ..., k - 1."""

    X: pd.DataFrame
    y: Array
    X_test: pd.DataFrame
    y_test: Array
    regression: bool

    @property
    def categories(self) -> list[str]:
        return [c for c in self.X.columns if isinstance(self.X[c].dtype, pd.CategoricalDtype)]

    @property
    def numbers(self) -> list[str]:
        categories = set(self.categories)
        return [c for c in self.X.columns if c not in categories]

    @property
    def classes(self) -> int:
        return 0 if self.regression else int(self.y.max()) + 1

    def judge(self, predicted: Array) -> dict[str, float]:
        """Return the metrics of predicted targets (m,) or probabilities (m, k)."""
        if not np.all(np.isfinite(predicted)):
            raise ValueError("predictions are not finite")
        if self.regression:
            squares = (self.y_test - np.ravel(predicted)) ** 2
            return {"rmse": float(np.sqrt(squares.mean()))}
        return _of_classes(self.y_test, np.asarray(predicted, dtype=float))


def _of_classes(y: Array, P: NDArray[np.float64]) -> dict[str, float]:
    """Return error, log loss, Brier score and calibration error of probabilities (m, k)."""
    P = np.clip(P, FLOOR, None)
    P /= P.sum(axis=1, keepdims=True)
    rows = np.arange(len(y))
    guess, confidence = P.argmax(axis=1), P.max(axis=1)
    indicator = np.zeros_like(P)
    indicator[rows, y] = 1.0
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    apart = np.bincount(bins, weights=(guess == y) - confidence, minlength=BINS)
    return {
        "error": float(np.mean(guess != y)),
        "log_loss": float(-np.log(P[rows, y]).mean()),
        "brier": float(np.sum((P - indicator) ** 2, axis=1).mean()),
        "ece": float(np.abs(apart).sum() / len(y)),
    }


@lru_cache(maxsize=2)
def frame(name: str) -> tuple[pd.DataFrame, Array, bool]:
    """Return features, targets and whether these are numbers; rows without a target are dropped."""
    if name in BUNDLED:
        X, y, regression, _ = table(name)
        return pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])]), y, regression
    entry = json.loads((FOLDER / "catalog.json").read_text(encoding="utf-8"))[name]
    stored = pd.read_parquet(FOLDER / entry["file"])
    target = entry["target"]
    stored = stored[stored[target].notna()].reset_index(drop=True)
    left_out = {target, entry["split"], *entry["drop"]}
    X = stored[[c for c in stored.columns if c not in left_out]]
    if name == "covtype":
        X = _gathered(_gathered(X, "Wilderness_Area"), "Soil_Type")
    regression = entry["task"] == "regression"
    return X, stored[target].to_numpy(float if regression else None), regression


def _gathered(X: pd.DataFrame, block: str) -> pd.DataFrame:
    """Return the table with a block of one-hot columns made one category."""
    columns = [c for c in X.columns if c.startswith(block)]
    level = X[columns].to_numpy().argmax(axis=1)
    values = pd.Categorical.from_codes(level, [c.removeprefix(block) for c in columns])
    return X.drop(columns=columns).assign(**{block: values})


def split(name: str, number: int, rows: int, test: int | None = None) -> Split:
    """Return a random partition of a set, by classes where there are any.

    A regression's target has mean 0 and variance 1 on the rows to learn from. A class of which
    fewer than five rows are expected is dropped.
    """
    X, y, regression = frame(name)
    kept = np.arange(len(y))
    if not regression:
        codes, counts = np.unique(y, return_inverse=True, return_counts=True)[1:]
        kept = np.flatnonzero((counts * min(rows / len(y), PLAN["share"]) >= RARE)[codes])
        y = np.zeros(len(y), dtype=int)
        y[kept] = np.unique(codes[kept], return_inverse=True)[1]
    n = min(rows, int(PLAN["share"] * len(kept)))
    test = PLAN["sizes"][str(rows)]["test"] if test is None else test
    first, others = train_test_split(
        kept,
        train_size=n,
        test_size=min(test, len(kept) - n),
        random_state=number,
        stratify=None if regression else y[kept],
    )
    if regression:
        y = (y - y[first].mean()) / y[first].std()
    parts = (X.iloc[rows].reset_index(drop=True) for rows in (first, others))
    return Split(next(parts), y[first], next(parts), y[others], regression)


def columns(data: Split, impute: bool = True, scale: bool = True) -> Any:
    """Return a transformer fitted to the training rows, for methods that know numbers only.

    Medians replace missing numbers; categories are one-hot, a missing cell being a level of its
    own and a level that no training row has being no column at all.
    """
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    numbers = SimpleImputer(strategy="median") if impute else "passthrough"
    parts = [("numbers", numbers, data.numbers), ("categories", levels, data.categories)]
    made = ColumnTransformer(parts)
    return (make_pipeline(made, StandardScaler()) if scale else made).fit(data.X)


def recommended(data: Split) -> tuple[Predict, dict[str, Any]]:
    """Fit the estimator that the documentation recommends first to the table as it is."""
    from mercer import AutoClassifier, AutoRegressor

    machine = (AutoRegressor if data.regression else AutoClassifier)().fit(data.X, data.y)
    return machine.predict if data.regression else machine.predict_proba, {}


def least_squares(data: Split) -> tuple[Predict, dict[str, Any]]:
    """Fit the least-squares machine that tunes itself, with a single length scale."""
    from mercer.selection import LSSVCCV, LSSVRCV

    made = columns(data)
    machine = (LSSVRCV if data.regression else LSSVCCV)().fit(made.transform(data.X), data.y)
    wanted = machine.predict if data.regression else machine.predict_proba
    return lambda X: wanted(made.transform(X)), {}


def method(name: str) -> Callable[[Split], tuple[Predict, dict[str, Any]]]:
    """Return what fits a contender."""
    if name not in INTERPRETERS:
        return {OURS: recommended, USUAL: least_squares}[name]
    found: Any = importlib.import_module(MODULES[INTERPRETERS[name]]).METHODS[name]
    return found  # type: ignore[no-any-return]


# What is measured ---------------------------------------------------------------------------------


def cases(short: bool) -> list[dict[str, Any]]:
    """Return sets and sizes, small sizes first; a size is left out beyond 0.7 of a set's rows."""
    if short:
        return [{"set": name, "size": 150} for name in SHORT]
    found = []
    for size, how in ((int(size), how) for size, how in PLAN["sizes"].items()):
        for name in (n for sets in (UNSEEN if how.get("unseen") else SETS).values() for n in sets):
            few = name in how.get("without", ())
            if how.get("unseen") or not (few or size > PLAN["share"] * len(frame(name)[1])):
                found.append({"set": name, "size": size})
    return found


def contenders(case: dict[str, Any]) -> list[str]:
    if case["size"] == 150:
        return [OURS, USUAL]
    return [name for name in HOW if repeats(case, name)]


def repeats(case: dict[str, Any], name: str) -> int:
    """Return how many splits the plan has for a contender."""
    how, size = HOW[name], case["size"]
    if size == 150:
        return 2
    if name == USUAL or size not in how.get("sizes", (*SIZES, UNSEEN_SIZE)):
        return 0
    if how["group"] == "subset":
        return int(PLAN["subset"]["splits"]) if case["set"] in FEW else 0
    planned = int(PLAN["sizes"][str(size)]["splits"])
    return min(planned, how.get("splits", {}).get(str(size), planned))


def limits(name: str) -> tuple[float, float]:
    """Return the processor seconds of a fit, with some to read and warm up, and no bytes."""
    return HOW[name].get("limit", PLAN["limit"]) + 60.0, float("inf")


WARM: set[tuple[str, bool]] = set()


def run(case: dict[str, Any], name: str, number: int) -> dict[str, Any]:
    """Return the metrics of a method and its seconds; a cheap one is fitted to few rows before."""
    data = split(case["set"], number, case["size"], 250 if case["size"] == 150 else None)
    if HOW[name]["group"] == "cheap" and (name, data.regression) not in WARM:
        measured(name, split(SHORT[0 if data.regression else 1], 0, 100, 50))
        WARM.add((name, data.regression))
    return measured(name, data)


def measured(name: str, data: Split) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = processor()
        predict, _ = method(name)(data)
        fitted = processor()
        predicted = predict(data.X_test)
        done = processor()
    return data.judge(predicted) | {"seconds": fitted - start, "predict": done - fitted}


def processor() -> float:
    """Return the processor seconds of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def line(values: dict[str, Any]) -> str:
    names = ("failure", "rmse", "error", "log_loss", "seconds")
    return ", ".join(f"{k} {v:.4g}" if k != "failure" else v for k in names if (v := values.get(k)))


def claims(records: list[Record], short: bool) -> list[str]:
    """Say where the recommended estimator is clearly worse than the usual one on few rows, or slow.

    Of a whole run nothing is claimed beforehand: the page says what came out, whatever it is.
    """
    wrong = []
    by = {(r.case["set"], r.contender): r for r in records if short}
    for name in SHORT if short else ():
        ours, usual = by[name, OURS], by[name, USUAL]
        if "failure" in ours:
            wrong.append(f"{name}: {ours['failure']}")
            continue
        metric = "rmse" if "rmse" in ours else "error"
        a, b = (float(np.mean(r.all(metric))) for r in (ours, usual))
        # Two splits of few rows: a tenth is about the spread of such a mean, and a hundredth
        # that of few mistakes.
        if a > 1.1 * b and a > b + 0.01:
            wrong.append(f"{OURS} is worse than {USUAL} on {name}: {a:.3f}, {b:.3f}")
        # The bar is 10 s at 1,000 rows; the first fit compiles.
        if min(ours.all("seconds")) > 10.0:
            wrong.append(f"{OURS} is slow on {name}")
    return wrong


# What the results say -----------------------------------------------------------------------------


class Field:
    """The sets of a task at a size, or at all sizes together, and what methods did there.

    Parameters
    ----------
    records : iterable of Record
        Of this suite.
    metric : str
        What is read; smaller is better. It tells the task.
    size : int or None
        Training rows; None is the mean over all sizes that a set has.
    sets : iterable of str, optional
        Some sets; all that have the size by default, which are others where it is that of unseen
        sets.
    splits : int, optional
        How many splits, from the first; what the plan has by default.
    """

    def __init__(
        self,
        records: Iterable[Record],
        metric: str,
        size: int | None,
        *,
        sets: Iterable[str] = (),
        splits: int | None = None,
    ) -> None:
        self.metric, self.size, self.splits = metric, size, splits
        self.records = {(r.contender, r.case["set"], r.case["size"]): r for r in records}
        task = next(t for t, metrics in JUDGED.items() if metric in metrics)
        self.sizes: dict[str, list[int]] = {}
        for _, name, n in self.records:
            if n not in self.sizes.setdefault(name, []):
                self.sizes[name].append(n)
        every = UNSEEN[task] if size == UNSEEN_SIZE else SETS[task]
        self.sets = [
            name
            for name in (sets or every)
            if name in every and (size in self.sizes.get(name, ()) or size is None)
        ]

    def values(self, method: str, metric: str = "") -> NDArray[np.float64] | None:
        """Return means over splits (sets,), infinite where a fit failed; None if any is missing."""
        found = [self._mean(method, name, metric or self.metric) for name in self.sets]
        return None if not found or None in found else np.array(found, dtype=float)

    def _mean(self, method: str, name: str, metric: str) -> float | None:
        means = []
        for size in self.sizes[name] if self.size is None else [self.size]:
            wanted = self.splits or PLAN["sizes"][str(size)]["splits"]
            record = self.records.get((method, name, size))
            found = record.all(metric)[:wanted] if record else []
            if len(found) < wanted:
                return None
            means.append(np.inf if None in found else float(np.mean(found)))
        return float(np.mean(means))

    def done(self, method: str) -> int:
        """Return how many splits of every set a method has, of those that the plan has."""
        planned = int(PLAN["sizes"][str(self.size)]["splits"])
        found = (self.records.get((method, name, self.size)) for name in self.sets)
        return min([planned, *(len(r.runs) if r else 0 for r in found)])

    def price(self, method: str) -> tuple[float, float] | None:
        """Return geometric means over sets of the error and of the seconds, those of CatBoost 1.

        They are of the splits that both have; None unless these include the first of every set.
        """
        splits = min(self.done(method), self.done(BASE)) if self.sets else 0
        if not splits:
            return None
        both = Field(self.records.values(), self.metric, self.size, sets=self.sets, splits=splits)
        error, seconds = (
            duel(both.values(method, key), both.values(BASE, key)).ratio
            for key in (self.metric, "seconds")
        )
        return error, seconds

    def methods(self) -> list[str]:
        """Return the methods that were measured on all sets and splits of the field."""
        return [m for m in HOW if self.values(m) is not None]

    def ranking(self) -> Ranking | None:
        """Return average ranks with Nemenyi's critical difference, of three methods or more."""
        names = self.methods()
        if len(names) < 3 or len(self.sets) < 2:
            return None
        return rank({name: self.values(name) for name in names})

    def duels(self) -> dict[str, tuple[Duel, float]]:
        """Return the recommended estimator against every other, with p-values after Holm."""
        ours = self.values(OURS)
        if ours is None:
            return {}
        names = [m for m in self.methods() if m in PEERS]
        found = [duel(ours, self.values(name)) for name in names]
        corrected = holm([d.p_value for d in found])
        return {n: (d, float(p)) for n, d, p in zip(names, found, corrected, strict=True)}

    def seconds(self, method: str) -> float:
        values = self.values(method, "seconds")
        return np.nan if values is None else geometric(values)
