"""Real data sets for oracles and benchmarks, kept beside the repository rather than in it."""

import importlib.util
import os
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import sklearn.datasets
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(os.environ.get("MERCER_DATA", ROOT.parent / "shared" / "data"))
MISSING = (
    ""
    if (FOLDER / "load.py").exists()
    else "no load.py in ../shared/data nor in the folder that MERCER_DATA names"
)
"""Why there are no data; empty if there are."""

BUNDLED = {"breast_cancer", "diabetes", "digits"}
"""Sets that come with scikit-learn and are always there."""


class Sample(NamedTuple):
    """Rows to fit and rows to predict; features (and a regression's targets) standardized."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.float64]


@cache
def _loader() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mercer_test_data", FOLDER / "load.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _table(name: str) -> tuple[NDArray[np.float64], NDArray[Any], bool]:
    """Return features, targets and whether they are numbers to predict."""
    if name in BUNDLED:
        X, y = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
        return X, y, name == "diabetes"
    bunch = _loader().load(name, missing="drop")
    return bunch.X, bunch.y, bunch.task == "regression"


def draw(name: str, n: int, n_test: int = 0, seed: int = 0) -> Sample:
    """Draw ``n`` rows to fit and ``n_test`` others, scaled by mean and deviation of the former.

    Class labels become 0, 1, ...; a regression's target is standardized like a feature.
    """
    X, y, regression = _table(name)
    chosen = np.random.default_rng(seed).permutation(len(X))[: n + n_test]
    if len(chosen) < n + n_test:
        raise ValueError(f"{name} has {len(X)} rows, {n} and {n_test} were asked for")
    X, y = _standardize(X[chosen], n), y[chosen]
    if regression:
        y = _standardize(y, n)
    else:
        y = np.unique(y, return_inverse=True)[1].astype(float)
    return Sample(X[:n], y[:n], X[n:], y[n:])


def _standardize(x: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    scale = x[:n].std(axis=0)
    return np.asarray((x - x[:n].mean(axis=0)) / np.where(scale > 0, scale, 1.0))
