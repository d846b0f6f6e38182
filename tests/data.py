"""Real data sets for oracles and benchmarks, kept in a folder and not in the repository."""

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sklearn.datasets
from numpy.typing import NDArray

# Interpreters of other libraries read the same tables without having this one installed.
sys.path.append(str(Path(__file__).resolve().parents[1] / "src"))

from mercer.datasets.folder import Folder

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(os.environ.get("MERCER_DATA", ROOT.parent / "shared" / "data"))
MISSING = (
    ""
    if (FOLDER / "catalog.json").exists()
    else "no catalog.json in the folder that MERCER_DATA names (make data fills one)"
)
"""Why there are no data; empty if there are."""

BUNDLED: dict[str, Callable[[], tuple[Any, Any]]] = {
    "breast_cancer": partial(sklearn.datasets.load_breast_cancer, return_X_y=True),
    "diabetes": partial(sklearn.datasets.load_diabetes, return_X_y=True),
    "digits": partial(sklearn.datasets.load_digits, return_X_y=True),
    "friedman1": partial(sklearn.datasets.make_friedman1, 20_000, noise=1.0, random_state=0),
    "hastie": partial(sklearn.datasets.make_hastie_10_2, 20_000, random_state=0),
    "moons": partial(sklearn.datasets.make_moons, 30_000, noise=0.3, random_state=0),
}
"""Sets that come with scikit-learn, stored or generated, and are always there."""

REGRESSIONS = {"diabetes", "friedman1"}
"""Those of them whose targets are numbers to predict."""

BINARY: dict[str, tuple[str, Callable[[NDArray[Any]], NDArray[Any]]]] = {
    "covtype_binary": ("covtype", lambda y: y == 2),
    "mnist_even": ("mnist", lambda y: y % 2 == 0),
}
"""Questions with two answers about a set of several classes, as the literature asks them."""


class Sample(NamedTuple):
    """Rows to fit and rows to predict; a regression's targets are standardized."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.float64]


def load(name: str, **options: Any) -> Any:
    """Return a set of the folder: ``X``, ``y``, ``frame``, and the rows of its published parts."""
    bunch = Folder(FOLDER).read(name, **options)
    bunch.X, bunch.y = bunch.data, bunch.target
    if bunch.split is not None:
        bunch.update({part: np.flatnonzero(bunch.split == part) for part in set(bunch.split)})
    return bunch


class Table(NamedTuple):
    """A whole set: features, targets, whether these are numbers, which rows are for tests."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    regression: bool
    held_out: NDArray[np.bool_] | None


def table(name: str) -> Table:
    """Return a whole set, features as they are."""
    if name in BUNDLED:
        X, y = BUNDLED[name]()
        return Table(X, y, name in REGRESSIONS, None)
    stored, ask = BINARY.get(name, (name, None))
    bunch = load(stored, missing="drop")
    split = bunch.get("split")
    return Table(
        bunch.X,
        bunch.y if ask is None else ask(bunch.y),
        bunch.task == "regression",
        None if split is None else np.asarray(split) == "test",
    )


def draw(
    name: str,
    n: int,
    n_test: int = 0,
    seed: int = 0,
    *,
    scaling: str = "standard",
    official: bool = False,
) -> Sample:
    """Draw ``n`` rows to fit and ``n_test`` others, scaled by what the former say.

    ``scaling`` names a function of ``SCALINGS``; ``official`` keeps to the published partition.
    Class labels become 0, 1, ...; a regression's target is always standardized.
    """
    X, y, regression, held_out = table(name)
    order = np.random.default_rng(seed).permutation(len(X))
    if official:
        if held_out is None:
            raise ValueError(f"{name} has no official partition")
        rows, others = order[~held_out[order]][:n], order[held_out[order]][:n_test]
    else:
        rows, others = order[:n], order[n : n + n_test]
    if len(rows) < n or len(others) < n_test:
        raise ValueError(f"{name} has {len(X)} rows, {n} and {n_test} were asked for")
    chosen = np.r_[rows, others]
    X, y = SCALINGS[scaling](X[chosen], n), y[chosen]
    if regression:
        y = _standardize(y, n)
    else:
        y = np.unique(y, return_inverse=True)[1].astype(float)
    return Sample(X[:n], y[:n], X[n:], y[n:])


def _standardize(x: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    scale = x[:n].std(axis=0)
    return np.asarray((x - x[:n].mean(axis=0)) / np.where(scale > 0, scale, 1.0))


def _to_interval(x: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Move every feature to [-1, 1], as the LIBSVM collection does."""
    low, high = x[:n].min(axis=0), x[:n].max(axis=0)
    return np.asarray(2.0 * (x - low) / np.where(high > low, high - low, 1.0) - 1.0)


def _divide(x: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Divide everything by the largest value, so that grey values end at one."""
    return np.asarray(x / np.abs(x[:n]).max())


SCALINGS: dict[str, Callable[[NDArray[np.float64], int], NDArray[np.float64]]] = {
    "standard": _standardize,
    "interval": _to_interval,
    "largest": _divide,
    "none": lambda x, n: np.asarray(x, dtype=float),
}
"""How features are brought to scale, from the first ``n`` rows alone."""
