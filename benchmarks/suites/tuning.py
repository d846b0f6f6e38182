"""One call that tunes beside grids, defaults and LightGBM on 35 real tables; an hour.

Each method has the same at most 300 rows of ten random splits. ``turns`` are runs of their own in
which a grid and a call take turns, so that their times are those of one machine at one moment.
``--short`` takes a minute: is one call as good as a grid, and faster?
"""

import importlib
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from benchmarks.ranking import Comparison, Ranking, compare, geometric, rank
from benchmarks.store import Record
from data import table

# The same rows for every method, few enough for a grid of 500 support vector machines a split.
SHARE, TRAIN, TEST, SPLITS = 0.7, 300, 2_000, 10
# Measured on something, not simulated; at least 186 rows; of the literature on kernel machines.
REGRESSION = (
    *("abalone", "airfoil", "autompg", "bike_sharing", "bodyfat", "boston", "california"),
    *("concrete", "cpusmall", "diabetes", "house8l", "machine_cpu", "pol", "power_plant"),
    *("protein_casp", "quakes", "stock", "triazines", "wine_quality", "yacht"),
)
CLASSIFICATION = (
    *("australian", "banknote", "german_credit", "glass", "heart", "ionosphere", "musk1"),
    *("phoneme", "pima", "satimage", "segment", "sonar", "spambase", "vehicle", "wdbc"),
)
SETS = {"regression": REGRESSION, "classification": CLASSIFICATION}
# Those that come with scikit-learn, for a machine without the folder of data.
SHORT, SHORT_ROWS = ("diabetes", "friedman1", "breast_cancer"), 150
# Ten values of each: gamma from 1/64 to 8 times 1 / features, which is scikit-learn's own choice
# for standardized features, five decades of C, seven of alpha. LIBSVM's time grows with C: a pilot
# of five sets with C up to 1e4 took a minute a split for regression, hence 1e3.
WIDTHS = 2.0 ** np.arange(-6, 4)
COSTS = np.geomspace(1e-2, 1e3, 10)
RIDGES = np.geomspace(1e-6, 1e1, 10)
# Who is compared with whom. Of least-squares classifiers scikit-learn has none with a kernel.
GRIDS = (
    ("mercer LSSVR tuned", "KernelRidge grid"),
    ("mercer LSSVR tuned ARD", "KernelRidge grid"),
    ("mercer SVR tuned", "SVR grid"),
    ("mercer LSSVC tuned", "SVC grid"),
    ("mercer LSSVC tuned ARD", "SVC grid"),
    ("mercer SVC tuned", "SVC grid"),
)
DEFAULTS = (
    ("mercer LSSVR auto", "KernelRidge rbf scaled"),
    ("mercer SVR auto", "SVR scaled"),
    ("mercer LSSVC auto", "SVC scaled"),
    ("mercer SVC auto", "SVC scaled"),
)
TURNS = tuple(pair for pair in GRIDS if "ARD" not in pair[0])
PEERS = ("LightGBM default", "LightGBM tuned", "xRFM default", "xRFM tuned", "Neo LS-SVM")
INTERPRETERS = dict.fromkeys(PEERS, "PEERS")
PACKAGES = {
    "": ("mercer", "numpy", "scipy", "scikit-learn"),
    "PEERS": ("lightgbm", "xrfm", "neo-ls-svm", "scikit-learn"),
}


@dataclass(frozen=True)
class Split:
    """Rows to learn from and rows to be judged by; features as they are in the table."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    X_test: NDArray[np.float64]
    y_test: NDArray[Any]
    regression: bool

    def error(self, predicted: NDArray[Any]) -> float:
        """Return the error: RMSE, in standard deviations of the target, or share of mistakes."""
        if self.regression:
            return float(np.sqrt(np.mean((self.y_test - np.ravel(predicted)) ** 2)))
        return float(np.mean(self.y_test != predicted))


def split(name: str, number: int, rows: int = TRAIN) -> Split:
    """Return a random partition of a set, by classes where there are any.

    A regression's target has mean 0 and variance 1 on the rows to learn from.
    """
    X, y, regression, _ = table(name)
    if not regression:
        y = np.unique(y, return_inverse=True)[1]
    n = min(rows, int(SHARE * len(y)))
    first, others = train_test_split(
        np.arange(len(y)),
        train_size=n,
        test_size=min(TEST, len(y) - n),
        random_state=number,
        stratify=None if regression else y,
    )
    if regression:
        y = (y - y[first].mean()) / y[first].std()
    return Split(X[first], y[first], X[others], y[others], regression)


def grid(machine: Any, **values: NDArray[np.float64]) -> Any:
    """Return the fit of a machine by a grid of 10 x 10 on standardized features, 5 folds."""

    def fit(data: Split) -> Any:
        asked = {f"machine__{name}": found for name, found in values.items()}
        asked["machine__gamma"] = WIDTHS / data.X.shape[1]
        pipeline = Pipeline([("scaler", StandardScaler()), ("machine", machine)])
        scoring = "neg_mean_squared_error" if data.regression else "accuracy"
        return GridSearchCV(pipeline, asked, scoring=scoring, cv=5).fit(data.X, data.y)

    return fit


def plain(machine: Any) -> Any:
    return lambda data: clone(machine).fit(data.X, data.y)


def scaled(machine: Any) -> Any:
    return plain(make_pipeline(StandardScaler(), machine))


def tuned(kind: str, **options: Any) -> Any:
    """Return the fit by one call, on features as they are: the machine standardizes them."""

    def fit(data: Split) -> Any:
        import mercer

        machine = getattr(mercer, kind)(standardize=True)
        return mercer.tune(machine, data.X, data.y, **options).best_estimator_

    return fit


def automatic(kind: str, **settings: Any) -> Any:
    """Return the fit with what the machine finds by itself."""

    def fit(data: Split) -> Any:
        import mercer

        machine = getattr(mercer, kind)(standardize=True, C="auto", gamma="tuned", **settings)
        return machine.fit(data.X, data.y)

    return fit


METHODS: dict[str, Any] = {
    "KernelRidge grid": grid(KernelRidge(kernel="rbf"), alpha=RIDGES),
    "SVR grid": grid(SVR(epsilon=0.1, cache_size=500), C=COSTS),
    "SVC grid": grid(SVC(cache_size=500), C=COSTS),
    "KernelRidge rbf scaled": scaled(KernelRidge(kernel="rbf")),
    "SVR default": plain(SVR()),
    "SVR scaled": scaled(SVR()),
    "SVC default": plain(SVC()),
    "SVC scaled": scaled(SVC()),
    "mercer LSSVR tuned": tuned("LSSVR"),
    "mercer LSSVR tuned ARD": tuned("LSSVR", ard=True),
    "mercer SVR tuned": tuned("SVR"),
    "mercer LSSVC tuned": tuned("LSSVC"),
    "mercer LSSVC tuned ARD": tuned("LSSVC", ard=True),
    "mercer SVC tuned": tuned("SVC"),
    "mercer LSSVR auto": automatic("LSSVR"),
    "mercer SVR auto": automatic("SVR", epsilon="auto"),
    "mercer LSSVC auto": automatic("LSSVC"),
    "mercer SVC auto": automatic("SVC"),
}
CLASSIFIERS = ("SVC", "LSSVC")


def cases(short: bool) -> list[dict[str, Any]]:
    if short:
        return [{"set": name, "turns": True, "rows": SHORT_ROWS} for name in SHORT]
    names = (*REGRESSION, *CLASSIFICATION)
    return [{"set": name} for name in names] + [{"set": name, "turns": True} for name in names]


def contenders(case: dict[str, Any]) -> list[str]:
    """Return the methods of a set's task."""
    classes = case["set"] in (*CLASSIFICATION, "breast_cancer")
    own = [m for m in METHODS if any(k in m.split() for k in CLASSIFIERS) == classes]
    if case.get("turns"):
        return [m for m in own if any(m in pair for pair in TURNS)]
    return [*own, *PEERS]


def repeats(case: dict[str, Any], name: str) -> int:
    return (2 if case.get("rows") else 1) if case.get("turns") else SPLITS


WARM: set[str] = set()


def run(case: dict[str, Any], name: str, number: int) -> dict[str, float]:
    """Return the error of a method and what its fit took; what compiles does so before."""
    methods = METHODS
    if name in PEERS:
        methods = importlib.import_module("benchmarks.contenders.tuning_peers").METHODS
    data = split(case["set"], number, case.get("rows", TRAIN))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Of five hundred fits the first does not count.
        if name not in WARM and "grid" not in name:
            methods[name](split(case["set"], number, 100))
            WARM.add(name)
        cpu = time.process_time()
        fitted = methods[name](data)
        cpu = time.process_time() - cpu
        return {"error": data.error(fitted.predict(data.X_test)), "seconds": cpu}


def line(values: dict[str, Any]) -> str:
    return str(values.get("failure") or f"{values['error']:.4f} in {values['seconds']:.3f} s")


def claims(records: list[Record], short: bool) -> list[str]:
    """Say where a call is much worse than the grid beside it, or not several times faster."""
    found = [f"{r.case}: {r.contender} {r['failure']}" for r in records if "failure" in r]
    for ours, theirs in TURNS:
        by = {
            name: {r.case["set"]: r for r in records if r.contender == name and r.case.get("turns")}
            for name in (ours, theirs)
        }
        both = [name for name in by[ours] if name in by[theirs]]
        if not both:
            continue
        error, grids = (
            float(np.mean([np.mean(by[name][s].all("error")) for s in both]))
            for name in (ours, theirs)
        )
        faster = faster_than(records, ours, theirs)[0]
        print(
            f"{ours}: error {error / grids:.3f} times that of {theirs}, {faster:.1f} times as fast"
        )
        # Two splits of a set or two: a tenth is about the spread of such a mean, and a hundredth
        # that of few mistakes. The bars of a whole run are 20 and 5; a machine that does other
        # things as well is granted half.
        if short and error > 1.1 * grids and error > grids + 0.01:
            found.append(f"{ours} is worse than {theirs}")
        least = 10.0 if "LSSV" in ours else 2.5
        if faster < (least if short else 2 * least):
            found.append(f"{ours} is slow beside {theirs}")
    return found


# What the results say -----------------------------------------------------------------------------


def errors(records: list[Record], task: str, *methods: str) -> list[NDArray[np.float64]]:
    """Return errors (sets, splits) of each method on the splits that all of them have."""
    by = {(r.contender, r.case["set"]): r for r in records if not r.case.get("turns")}
    found = [[by[m, name].all("error") for name in SETS[task]] for m in methods]
    splits = min(len(rows) for one in found for rows in one)
    return [np.array([rows[:splits] for rows in one]) for one in found]


def task_of(method: str) -> str:
    classes = any(k in method.split() for k in CLASSIFIERS)
    return "classification" if classes else "regression"


def against(records: list[Record], ours: str, theirs: str) -> Comparison:
    return compare(*errors(records, task_of(ours), ours, theirs))


def ranked(records: list[Record], task: str) -> dict[str, NDArray[np.float64]]:
    """Return errors of all methods on the same splits.

    Defaults on features as they are lose to all others; they are compared with by themselves.
    """
    names = [m for m in METHODS if task_of(m) == task and not m.endswith("default")]
    names += PEERS
    return dict(zip(names, errors(records, task, *names), strict=True))


def ranking(records: list[Record], task: str) -> Ranking:
    return rank({m: e.mean(axis=1) for m, e in ranked(records, task).items()})


def faster_than(records: list[Record], ours: str, theirs: str) -> tuple[float, float, float]:
    """Return by how much the time of a grid exceeds that of a call: mean, least, largest."""
    a, b = (
        {
            r.case["set"]: float(np.median(r.all("seconds")))
            for r in records
            if r.contender == name and r.case.get("turns")
        }
        for name in (ours, theirs)
    )
    both = [b[name] / a[name] for name in a if name in b]
    return (geometric(both), min(both), max(both)) if both else (np.nan,) * 3
