"""Small problems: the machines of scikit-learn that most people fit, on 50 to 3,000 rows.

A problem names a machine of both libraries and its settings; data are drawn, or shipped with
scikit-learn, so that nothing has to be downloaded.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
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
from sklearn.preprocessing import StandardScaler, normalize

Sample = tuple[Any, Any]


@dataclass(frozen=True)
class Small:
    """A machine with its settings, and the sample that it is fitted to."""

    name: str
    machine: str
    sample: Callable[[], Sample]
    settings: dict[str, Any] = field(default_factory=dict)
    kind: str = "more"
    grid: bool = False
    fits_only: bool = False


def binary(n: int, p: int = 10, **how: Any) -> Callable[[], Sample]:
    settings = {"n_informative": min(p, 5), "n_redundant": 0, "flip_y": 0.05} | how
    return lambda: make_classification(n, p, random_state=n, **settings)


def classes(k: int, n: int, spread: float = 2.5) -> Callable[[], Sample]:
    return lambda: make_blobs(n, 8, centers=k, cluster_std=spread, random_state=k)


def couples(k: int) -> Sample:
    X = np.random.default_rng(k).normal(size=(2 * k, 5))
    return X, np.repeat(np.arange(k), 2)


def regression(n: int, p: int = 8) -> Callable[[], Sample]:
    def sample() -> Sample:
        X, y = make_regression(n, p, noise=10.0, random_state=n)
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


def plain(load: Callable[..., Sample]) -> Callable[[], Sample]:
    return lambda: load(return_X_y=True)


TABLE = [
    Small("iris", "SVC", plain(load_iris), kind="table"),
    Small("wine", "SVC", plain(load_wine), kind="table"),
    *(
        Small(f"8 classes, {n:,} rows", "SVC", classes(8, n), kind="table")
        for n in (100, 300, 1000)
    ),
    Small("digits", "SVC", plain(load_digits), kind="table"),
    *(Small(f"binary, {n} rows", "SVC", binary(n), kind="table") for n in (100, 300)),
    Small("linear, 2,000 x 20", "SVC", binary(2000, 20), {"kernel": "linear"}, kind="table"),
    Small("grid search, 120 fits", "SVC", plain(load_breast_cancer), kind="table", grid=True),
    Small("probability, iris", "SVC", plain(load_iris), {"probability": True}, kind="table"),
    Small(
        "probability, cancer",
        "SVC",
        scaled(load_breast_cancer),
        {"probability": True},
        kind="table",
    ),
    Small("200 classes x 2 rows", "SVC", lambda: couples(200), kind="table", fits_only=True),
]

MORE = [
    *(Small(f"binary, {n:,} rows", "SVC", binary(n)) for n in (50, 200, 500, 1000, 2000, 3000)),
    Small("binary, 100 rows, C=100", "SVC", binary(100), {"C": 100.0}),
    Small("binary, 500 rows, C=0.01", "SVC", binary(500), {"C": 0.01}),
    Small("binary, 400 rows, balanced", "SVC", binary(400), {"class_weight": "balanced"}),
    Small("binary, 300 x 2, polynomial", "SVC", binary(300, 5), {"kernel": "poly"}),
    Small("cancer, scaled", "SVC", scaled(load_breast_cancer)),
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
    *(
        Small(f"linear, {n:,} x 10", "SVC", binary(n), {"kernel": "linear"})
        for n in (100, 500, 3000)
    ),
    Small("linear regression, 500 rows", "SVR", regression(500), {"kernel": "linear"}),
    *(
        Small(f"matrix given, {n:,} rows", "SVC", given(binary(n)), {"kernel": "precomputed"})
        for n in (300, 1000)
    ),
    Small(
        "matrix given, 8 classes, 300 rows",
        "SVC",
        given(classes(8, 300)),
        {"kernel": "precomputed"},
    ),
    Small("text, 500 x 5,000", "SVC", text(500, 5000, 2), {"kernel": "linear"}),
    Small("text, 600 x 5,000, 4 classes", "SVC", text(600, 5000, 4), {"kernel": "linear"}),
    Small("text, 400 x 3,000, Gaussian", "SVC", text(400, 3000, 2)),
]

# What the short form measures: one of each kind, and how fast it has to be.
SHORT = {
    "iris",
    "8 classes, 300 rows",
    "binary, 100 rows",
    "binary, 300 rows",
    "digits, 500 rows",
    "regression, 300 rows",
    "nu, 300 rows",
    "one class, 300 rows",
    "linear, 500 x 10",
    "matrix given, 300 rows",
    "probability, iris",
    "200 classes x 2 rows",
}

PROBLEMS = TABLE + MORE
