"""LinearSVC and LinearSVR beside scikit-learn's at equal objectives; forty minutes.

Both take turns, each in a process of its own. Objectives are computed from the weights alone, in
float64. ``two threads`` is our fit on two threads by the clock. ``--short`` takes a minute and
fails if scikit-learn is faster or an objective is more than 1e-5 above the other.
"""

import time
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_classification, make_regression

from benchmarks.store import NoAnswerError, Record, Worker

TARGET = "benchmarks.suites.linear_text:Fits"
SQUARED, HINGE = {"loss": "squared_hinge"}, {"loss": "hinge"}
# Documents, words and classes of samples of text, and the largest part of scikit-learn's time.
TEXT = (
    (6_000, 20_000, 20, 0.3),
    (20_000, 50_000, 100, 0.3),
    (100_000, 100_000, 20, 0.3),
    (100_000, 100_000, 100, 0.3),
    (6_000, 20_000, 2, 0.65),
    (300_000, 100_000, 2, 0.65),
    (1_000_000, 100_000, 2, 0.65),
)
ROUNDS, SHORT_ROUNDS = 3, 1
# Processor seconds that a fit may take.
LIMIT = 900.0
# Relative to the other objective.
SAME_OBJECTIVE = 1e-5
CONDITIONS = {"threads": 1, "rounds": ROUNDS, "limit": LIMIT}
PACKAGES = {"": ("mercer", "scikit-learn", "numpy", "scipy")}


def cases(short: bool) -> list[dict[str, Any]]:
    sizes = [TEXT[0], TEXT[4]] if short else list(TEXT)
    found = [
        {"data": "text", "rows": n, "columns": d, "classes": k, "most": most, "settings": loss}
        for n, d, k, most in sizes
        for loss in (SQUARED, HINGE)
        if not (n == 1_000_000 and loss is HINGE)
    ]
    size = {"rows": 20_000, "columns": 50} if short else {"rows": 100_000, "columns": 50}
    text = {"rows": 20_000, "columns": 50_000}
    smooth = {"loss": "squared_epsilon_insensitive", "dual": False, "epsilon": 0.1}
    tube = {"loss": "epsilon_insensitive", "epsilon": 0.1}
    return [
        *found,
        {"data": "dense", **size, "classes": 2, "most": 0.8, "settings": SQUARED},
        {"data": "dense", **size, "classes": 0, "most": 0.8, "settings": smooth},
        {"data": "text", **text, "classes": 0, "most": 0.8, "settings": tube},
    ]


def contenders(case: dict[str, Any]) -> list[str]:
    return ["mercer", "scikit-learn"]


def text(n: int, d: int, classes: int, words: int = 120) -> tuple[Any, Any]:
    """Return documents of words by Zipf's law, a tenth of them from the topic of the class.

    Rows are tf-idf of length one; three labels in a hundred are wrong.
    """
    rng = np.random.default_rng(0)
    rank = 1.0 / np.arange(3, d + 3)
    labels = rng.integers(classes, size=n)
    topics = rng.integers(d // 50, d, size=(classes, 200))
    sizes = np.maximum(rng.poisson(words, n), 5)
    word = rng.choice(d, sizes.sum(), p=rank / rank.sum())
    row = np.repeat(np.arange(n), sizes)
    own = rng.random(len(row)) < 0.07
    word[own] = topics[labels[row[own]], rng.integers(200, size=own.sum())]
    X = sp.csr_matrix((np.ones(len(row)), (row, word)), (n, d))
    X.sum_duplicates()
    frequency = np.bincount(X.indices, minlength=d)
    X.data = (1 + np.log(X.data)) * (np.log((1 + n) / (1 + frequency[X.indices])) + 1)
    length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    wrong = rng.random(n) < 0.03
    labels[wrong] = rng.integers(classes, size=wrong.sum())
    return sp.csr_matrix(sp.diags_array(1.0 / length) @ X), labels


def sample(case: dict[str, Any]) -> tuple[Any, Any]:
    n, d, classes = case["rows"], case["columns"], case["classes"]
    if case["data"] == "dense" and classes:
        how = {"n_informative": 15, "flip_y": 0.05, "class_sep": 0.8}
        return make_classification(n, d, random_state=0, **how)
    if case["data"] == "dense":
        X, y = make_regression(n, d, noise=10.0, random_state=0)
        return X, (y - y.mean()) / y.std()
    if classes:
        return text(n, d, classes)
    X, _ = text(n, d, 2)
    rng = np.random.default_rng(1)
    return X, 3.0 * X @ rng.normal(size=d) + 0.1 * rng.normal(size=n)


class Fits:
    """Fits of one contender on one sample, in a process of its own."""

    def __init__(self, case: dict[str, Any], contender: str) -> None:
        if contender == "mercer":
            from mercer import LinearSVC, LinearSVR
        else:
            from sklearn.svm import LinearSVC, LinearSVR
        self.case, self.ours = case, contender == "mercer"
        self.kind = LinearSVC if case["classes"] else LinearSVR
        self.settings = {"max_iter": 5000, "random_state": 0, **case["settings"]}
        if self.ours:
            self.settings |= {"n_jobs": 1}
        elif case["data"] == "text":
            self.settings |= {"dual": True}
        self.X, self.y = sample(case)

    def fit(self) -> dict[str, float]:
        began = time.process_time(), time.perf_counter()
        self.model = self.kind(**self.settings).fit(self.X, self.y)
        return {"seconds": time.process_time() - began[0], "clock": time.perf_counter() - began[1]}

    def threads(self) -> float:
        """Return the seconds by the clock of a fit on two threads."""
        began = time.perf_counter()
        self.kind(**self.settings | {"n_jobs": 2}).fit(self.X, self.y)
        return time.perf_counter() - began

    def objective(self) -> float:
        """Return the objective, summed class by class from the weights."""
        W, b = np.atleast_2d(self.model.coef_), np.atleast_1d(self.model.intercept_)
        settings, total = self.case["settings"], 0.0
        for k, (w, intercept) in enumerate(zip(W, b, strict=True)):
            f = self.X @ w + intercept
            if self.case["classes"]:
                own = self.y == (k if len(W) > 1 else 1)
                cost = np.maximum(1.0 - np.where(own, 1.0, -1.0) * f, 0.0)
            else:
                cost = np.maximum(np.abs(self.y - f) - settings["epsilon"], 0.0)
            cost = cost**2 if "squared" in settings["loss"] else cost
            total += 0.5 * float(w @ w + intercept**2) + float(cost.sum())
        return total


def together(case: dict[str, Any], names: list[str], short: bool) -> dict[str, dict[str, Any]]:
    workers = {name: Worker(TARGET, case, name) for name in names}
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    found: dict[str, dict[str, Any]] = {}
    try:
        for turn in range(SHORT_ROUNDS if short else ROUNDS):
            for name in names if turn % 2 == 0 else names[::-1]:
                if name not in found:
                    try:
                        runs[name].append(workers[name].ask("fit", seconds=LIMIT))
                    except NoAnswerError as failure:
                        found[name] = {"failure": str(failure)}
        for name in names:
            if name in found:
                continue
            found[name] = {
                "seconds": median(run["seconds"] for run in runs[name]),
                "objective": workers[name].ask("objective"),
            }
            if name == "mercer" and case["classes"] > 16:
                clock = median(run["clock"] for run in runs[name])
                two = median(workers[name].ask("threads") for _ in runs[name])
                found[name]["two threads"] = clock / two
    finally:
        for worker in workers.values():
            worker.close()
    return found


def line(values: dict[str, Any]) -> str:
    if "failure" in values:
        return str(values["failure"])
    speed = f", {values['two threads']:.2f} times by two threads" if "two threads" in values else ""
    return f"{values['seconds']:.3f} s, objective {values['objective']:.8g}{speed}"


def claims(records: list[Record], short: bool) -> list[str]:
    """Name problems that are slower than they should be, or whose objective is worse."""
    by = {(str(r.case), r.contender): r for r in records}
    wrong = []
    for (case, name), theirs in by.items():
        ours = by.get((case, "mercer"))
        if name == "mercer" or ours is None or "failure" in theirs:
            continue
        if "failure" in ours:
            wrong.append(f"{case}: {ours['failure']}")
            continue
        ratio, most = ours["seconds"] / theirs["seconds"], 1.0 if short else ours.case["most"]
        excess = ours["objective"] / theirs["objective"] - 1.0
        if ratio > most:
            wrong.append(f"{case}: {ratio:.2f} of scikit-learn's time, not {most:g}")
        if excess > SAME_OBJECTIVE:
            wrong.append(f"{case}: objective {excess:.0e} above scikit-learn's")
    return wrong
