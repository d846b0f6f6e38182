"""Fits of 50 to 3,000 rows and one-row predictions beside scikit-learn; three minutes.

Both libraries take turns in one process, times are processor time, and what compiles does so
before. Data are drawn, or shipped with scikit-learn. ``--short`` takes half a minute and fails
where fits are far slower, beside scikit-learn, than the recorded ones.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.svm
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_classification,
    make_moons,
    make_regression,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler, normalize

import mercer
from benchmarks.ranking import geometric
from benchmarks.store import Record, in_turn, middle, stored

CONTENDERS = ("mercer", "scikit-learn")
# Fits in turns for so many seconds of processor time, so many times at least and most; predictions.
SECONDS, LEAST, MOST, ROWS = 0.8, 5, 60, 400
SHORT_SECONDS, SHORT_ROWS = 0.25, 100
# A grid of 24 settings in five folds.
GRID = {"svc__C": [0.1, 1.0, 10.0, 100.0], "svc__gamma": [1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3]}
# The part of the recorded ratio that the short form lets pass. Both libraries take turns, so that
# a busy machine slows both: ratios of the same code were met that differ by a fifth.
LEVEL = 0.6

Sample = tuple[Any, Any]


@dataclass(frozen=True)
class Small:
    """A machine of both libraries with its settings, and the sample that it is fitted to."""

    name: str
    machine: str
    sample: Callable[[], Sample]
    settings: dict[str, Any] = field(default_factory=dict)
    known: bool = False
    grid: bool = False
    fits_only: bool = False


def binary(n: int, p: int = 10) -> Callable[[], Sample]:
    how = {"n_informative": min(p, 5), "n_redundant": 0, "flip_y": 0.05}
    return lambda: make_classification(n, p, random_state=n, **how)


def classes(k: int, n: int) -> Callable[[], Sample]:
    return lambda: make_blobs(n, 8, centers=k, cluster_std=2.5, random_state=k)


def couples(k: int) -> Sample:
    X = np.random.default_rng(k).normal(size=(2 * k, 5))
    return X, np.repeat(np.arange(k), 2)


def regression(n: int) -> Callable[[], Sample]:
    def sample() -> Sample:
        X, y = make_regression(n, 8, noise=10.0, random_state=n)
        return X, y / np.std(y)

    return sample


def text(n: int, p: int, k: int) -> Callable[[], Sample]:
    """Return rows of about 60 words of Zipf's frequencies, of k topics, of unit length."""

    def sample() -> Sample:
        rng = np.random.default_rng(n)
        frequency = 1.0 / np.arange(1.0, p + 1.0)
        topics = frequency * rng.gamma(0.3, size=(k, p))
        y = rng.integers(k, size=n)
        rows = []
        for label in y:
            mixed = 0.5 * frequency / frequency.sum() + 0.5 * topics[label] / topics[label].sum()
            rows.append(rng.choice(p, size=60, p=mixed))
        index = np.repeat(np.arange(n), 60), np.concatenate(rows)
        X = normalize(sp.csr_array((np.ones(60 * n), index), shape=(n, p)))
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        return X, y

    return sample


def plain(load: Callable[..., Sample]) -> Callable[[], Sample]:
    return lambda: load(return_X_y=True)


def scaled(load: Callable[..., Sample], rows: int | None = None) -> Callable[[], Sample]:
    def sample() -> Sample:
        X, y = load(return_X_y=True)
        return StandardScaler().fit_transform(X[:rows]), y[:rows]

    return sample


def given(sample: Callable[[], Sample]) -> Callable[[], Sample]:
    """Return the kernel matrix of a sample instead of its points."""

    def matrix() -> Sample:
        X, y = sample()
        squares = np.sum(X * X, axis=1)
        D = squares[:, None] + squares - 2.0 * X @ X.T
        return np.exp(-D / (X.shape[1] * X.var())), y

    return matrix


LINEAR, MATRIX, SURE = {"kernel": "linear"}, {"kernel": "precomputed"}, {"probability": True}
CANCER = scaled(load_breast_cancer)
PROBLEMS = [
    Small("iris", "SVC", plain(load_iris), known=True),
    Small("wine", "SVC", plain(load_wine), known=True),
    *(Small(f"8 classes, {n:,} rows", "SVC", classes(8, n), known=True) for n in (100, 300, 1000)),
    Small("digits", "SVC", plain(load_digits), known=True),
    *(Small(f"binary, {n} rows", "SVC", binary(n), known=True) for n in (100, 300)),
    Small("linear, 2,000 x 20", "SVC", binary(2000, 20), LINEAR, known=True),
    Small("grid search, 120 fits", "SVC", plain(load_breast_cancer), known=True, grid=True),
    Small("probability, iris", "SVC", plain(load_iris), SURE, known=True),
    Small("probability, cancer", "SVC", CANCER, SURE, known=True),
    Small("200 classes x 2 rows", "SVC", lambda: couples(200), known=True, fits_only=True),
    *(Small(f"binary, {n:,} rows", "SVC", binary(n)) for n in (50, 200, 500, 1000, 2000, 3000)),
    Small("binary, 100 rows, C=100", "SVC", binary(100), {"C": 100.0}),
    Small("binary, 500 rows, C=0.01", "SVC", binary(500), {"C": 0.01}),
    Small("binary, 400 rows, balanced", "SVC", binary(400), {"class_weight": "balanced"}),
    Small("binary, 300 x 2, polynomial", "SVC", binary(300, 5), {"kernel": "poly"}),
    Small("cancer, scaled", "SVC", CANCER),
    Small(
        "moons, 500 rows", "SVC", lambda: make_moons(500, noise=0.2, random_state=0), {"C": 10.0}
    ),
    Small("3 classes, 300 rows", "SVC", classes(3, 300)),
    Small("5 classes, 500 rows", "SVC", classes(5, 500)),
    Small("10 classes, 1,000 rows", "SVC", classes(10, 1000)),
    Small("26 classes, 1,300 rows", "SVC", classes(26, 1300)),
    Small("4 classes, 60 rows", "SVC", classes(4, 60)),
    Small("wine, scaled", "SVC", scaled(load_wine)),
    Small("digits, 500 rows", "SVC", scaled(load_digits, 500)),
    *(Small(f"regression, {n:,} rows", "SVR", regression(n)) for n in (50, 100, 300, 1000, 2000)),
    Small("diabetes, C=100", "SVR", scaled(load_diabetes), {"C": 100.0}),
    *(Small(f"nu, {n:,} rows", "NuSVC", binary(n), {"nu": 0.3}) for n in (100, 300, 1000)),
    Small("nu, iris", "NuSVC", plain(load_iris), {"nu": 0.2}),
    *(Small(f"nu regression, {n} rows", "NuSVR", regression(n)) for n in (100, 300)),
    *(
        Small(f"one class, {n:,} rows", "OneClassSVM", classes(3, n), {"nu": 0.1})
        for n in (100, 300, 1000, 3000)
    ),
    *(Small(f"linear, {n:,} x 10", "SVC", binary(n), LINEAR) for n in (100, 500, 3000)),
    Small("linear regression, 500 rows", "SVR", regression(500), LINEAR),
    *(Small(f"matrix given, {n:,} rows", "SVC", given(binary(n)), MATRIX) for n in (300, 1000)),
    Small("matrix given, 8 classes, 300 rows", "SVC", given(classes(8, 300)), MATRIX),
    Small("text, 500 x 5,000", "SVC", text(500, 5000, 2), LINEAR),
    Small("text, 600 x 5,000, 4 classes", "SVC", text(600, 5000, 4), LINEAR),
    Small("text, 400 x 3,000, Gaussian", "SVC", text(400, 3000, 2)),
]
# One of each kind.
SHORT = (
    *("iris", "8 classes, 300 rows", "binary, 100 rows", "binary, 300 rows", "digits, 500 rows"),
    *("regression, 300 rows", "nu, 300 rows", "one class, 300 rows", "linear, 500 x 10"),
    *("matrix given, 300 rows", "probability, iris", "200 classes x 2 rows"),
)
NAMED = {problem.name: problem for problem in PROBLEMS}


def cases(short: bool) -> list[dict[str, Any]]:
    return [{"problem": name, "known": NAMED[name].known} for name in (SHORT if short else NAMED)]


def contenders(case: dict[str, Any]) -> list[str]:
    return list(CONTENDERS)


def machine(library: Any, problem: Small) -> Any:
    estimator = getattr(library, problem.machine)(**problem.settings)
    if problem.grid:
        return GridSearchCV(Pipeline([("s", StandardScaler()), ("svc", estimator)]), GRID, cv=5)
    return estimator


def together(case: dict[str, Any], names: list[str], short: bool) -> dict[str, dict[str, Any]]:
    """Fit both libraries in turns, then predict one row at a time."""
    problem = NAMED[case["problem"]]
    X, y = problem.sample()
    made = {"mercer": machine(mercer, problem), "scikit-learn": machine(sklearn.svm, problem)}
    calls: dict[str, Callable[[], Any]] = {n: lambda n=n: made[n].fit(X, y) for n in CONTENDERS}
    few = problem.grid or problem.fits_only
    seconds = SHORT_SECONDS if short else SECONDS
    fits = middle(in_turn(calls, MOST, seconds, least=2 if few else LEAST))
    found: dict[str, dict[str, Any]] = {
        name: {"machine": problem.machine, "rows": X.shape[0], "fit": fits[name]}
        for name in CONTENDERS
    }
    if not few:
        some, k = [X[[i]] for i in range(16)], iter(range(10**9))
        calls = {n: lambda n=n: made[n].predict(some[next(k) % 16]) for n in CONTENDERS}
        for name, times in in_turn(calls, SHORT_ROWS if short else ROWS).items():
            found[name] |= dict(zip(("p50", "p99"), np.percentile(times, [50, 99]), strict=True))
    return found


def line(values: dict[str, Any]) -> str:
    return f"fit {1e3 * values['fit']:.2f} ms"


def faster(records: list[Record], key: str = "fit") -> dict[str, float]:
    """Return scikit-learn's time over ours by problem."""
    by = {(r.case["problem"], r.contender): r.get(key) for r in records}
    names = dict.fromkeys(name for name, _ in by)
    return {n: by[n, "scikit-learn"] / by[n, "mercer"] for n in names if by[n, "mercer"]}


def claims(records: list[Record], short: bool) -> list[str]:
    """Name the problems whose ratio is far below the recorded one."""
    found, known = faster(records), faster(stored("small"))
    print(f"geometric mean {geometric(list(found.values())):.2f}")
    return [
        f"{name}: {ratio:.2f} times as fast as scikit-learn, recorded {known[name]:.2f}"
        for name, ratio in found.items()
        if short and ratio < LEVEL * known[name]
    ]
