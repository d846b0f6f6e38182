"""Tables as they are, and their splits, for the contest on tables; this library is not needed."""

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from data import BUNDLED, FOLDER, table

PLAN: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parent / "plan.json").read_text(encoding="utf-8")
)
SETS: dict[str, tuple[str, ...]] = {
    task: (*kinds["developed"], *kinds["fresh"]) for task, kinds in PLAN["sets"].items()
}
UNSEEN: dict[str, tuple[str, ...]] = {
    task: tuple(kinds["unseen"]) for task, kinds in PLAN["sets"].items()
}
EVERY = {task: (*SETS[task], *UNSEEN[task]) for task in SETS}
FRESH = frozenset(name for kinds in PLAN["sets"].values() for name in kinds["fresh"])
# Unseen sets have a size of their own, which is at most a share of their rows.
(UNSEEN_SIZE,) = (int(size) for size, how in PLAN["sizes"].items() if how.get("unseen"))
SIZES = tuple(int(size) for size in PLAN["sizes"] if int(size) != UNSEEN_SIZE)
# Those that come with scikit-learn, for a machine without the folder of data.
SHORT = ("diabetes", "breast_cancer")
RARE, FLOOR, BINS = 5, 1e-6, 15
Metrics = dict[str, float]


@dataclass(frozen=True)
class Split:
    """Rows to learn from and rows to be judged by; classes are 0, 1, ..., k - 1."""

    X: pd.DataFrame
    y: NDArray[Any]
    X_test: pd.DataFrame
    y_test: NDArray[Any]
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

    def judge(self, predicted: NDArray[Any]) -> Metrics:
        """Return the metrics of predicted targets (m,) or probabilities (m, k)."""
        if not np.all(np.isfinite(predicted)):
            raise ValueError("predictions are not finite")
        if self.regression:
            squares = (self.y_test - np.ravel(predicted)) ** 2
            spread = np.var(self.y_test)
            rmse, r2 = np.sqrt(squares.mean()), 1 - squares.mean() / spread
            return {"rmse": float(rmse), "r2": float(r2)}
        return _of_classes(self.y_test, np.asarray(predicted, dtype=float))


def _of_classes(y: NDArray[Any], P: NDArray[np.float64]) -> Metrics:
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
def frame(name: str) -> tuple[pd.DataFrame, NDArray[Any], bool]:
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


def fits(name: str, size: int) -> bool:
    """Return whether the plan has this size for a set."""
    if size == UNSEEN_SIZE or any(name in sets for sets in UNSEEN.values()):
        return size == UNSEEN_SIZE and any(name in sets for sets in UNSEEN.values())
    without = PLAN["sizes"][str(size)].get("without", ())
    return name not in without and size <= PLAN["share"] * len(frame(name)[1])


def planned_splits(how: dict[str, Any], size: int) -> int:
    """Return how many splits of a size the plan has for a contender."""
    if size not in how.get("sizes", map(int, PLAN["sizes"])):
        return 0
    planned: int = (PLAN["subset"] if how["group"] == "subset" else PLAN["sizes"][str(size)])[
        "splits"
    ]
    return min(planned, how.get("splits", {}).get(str(size), planned))


def split(name: str, number: int, rows: int, test: int | None = None) -> Split:
    """Return a random partition of a set, by classes where there are any.

    A regression's target has mean 0 and variance 1 on the rows to learn from.
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
