"""Machines with knowledge: seconds of one core and certificate at 250 to 20,000 rows; an hour.

Each fit has a process of its own with a limit of time. ``--short`` fits 250 rows, half a minute,
and fails where a fit ends without its certificate.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.store import Record, taken
from mercer import (
    AdditiveClassifier,
    AdditiveRegressor,
    CensoredRegressor,
    ConformalRegressor,
    MissingInputRegressor,
    Nystrom,
    QuantileBand,
    ShapeConstrainedRegressor,
)
from mercer.estimators import (
    HeteroscedasticNuSVR,
    HeteroscedasticSVR,
    MissingInputClassifier,
    SparseAdditiveClassifier,
    SparseAdditiveRegressor,
    SparseClassifier,
    SparseRegressor,
    SupportVectorTube,
)
from mercer.kernels import Gaussian
from mercer.regularizers import Constant, Convex, Functions, Increasing
from mercer_research.estimators import (
    AdaptiveMarginSVC,
    HardMarginSVC,
    NuSparseClassifier,
    NuSparseRegressor,
    WorstCase,
)

SIZES = (250, 500, 1000, 2000)
LARGE = (5000, 20000)
# Seconds after which a fit is given up.
LIMIT = 240.0

KERNEL = Gaussian(0.5)
FEW = Nystrom(300)
WIDTH = Constant() + Functions([np.abs], on=[0])


def sample(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points, a noisy surface that increases with the first feature, and noisy labels."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (n, 4))
    f = 2.0 * X[:, 0] + np.sin(4.0 * X[:, 1]) + X[:, 2] ** 2
    y = f + 0.3 * rng.normal(size=n)
    return X, y, np.where(f + 0.6 * rng.normal(size=n) > np.median(f), 1, -1)


def regression(n: int) -> tuple[Any, Any]:
    X, y, _ = sample(n)
    return X, y


def classification(n: int) -> tuple[Any, Any]:
    X, _, labels = sample(n)
    return X, labels


def separated(n: int) -> tuple[Any, Any]:
    """Return two classes with a gap between them."""
    X, _, _ = sample(n)
    f = 2.0 * X[:, 0] + np.sin(4.0 * X[:, 1]) + X[:, 2] ** 2
    keep = np.abs(f - np.median(f)) > 0.2
    return X[keep], np.where(f[keep] > np.median(f), 1, -1)


def censored(n: int) -> tuple[Any, Any]:
    """Return targets of which a third is known only to lie above some value."""
    X, y, _ = sample(n)
    end = np.random.default_rng(1).normal(1.0, 1.5, n)
    return X, np.column_stack([np.minimum(y, end), np.where(y <= end, y, np.inf)])


def holes(X: np.ndarray) -> np.ndarray:
    """Return points of which a tenth of the cells is missing."""
    gone = np.random.default_rng(2).uniform(size=X.shape) < 0.1
    return np.where(gone, np.nan, X)


def gaps(n: int) -> tuple[Any, Any]:
    X, y, _ = sample(n)
    return holes(X), y


def gaps_in_classes(n: int) -> tuple[Any, Any]:
    X, _, labels = sample(n)
    return holes(X), labels


@dataclass(frozen=True)
class Case:
    """A machine, the data it is given, and the sizes at which it is measured."""

    make: Callable[[], Any]
    data: Callable[[int], tuple[Any, Any]]
    sizes: tuple[int, ...] = SIZES


BOTH = (*SIZES, *LARGE)

CASES: dict[str, Case] = {
    "local tube": Case(
        lambda: HeteroscedasticSVR(0.2, 0.4, kernel=KERNEL, cache_size=1000), regression, BOTH
    ),
    "parametric nu-tube": Case(
        lambda: HeteroscedasticNuSVR(WIDTH, nu=0.2, kernel=KERNEL), regression
    ),
    "support vector tube": Case(lambda: SupportVectorTube(KERNEL, mu=50.0), regression),
    "tube with exceptions": Case(
        lambda: SupportVectorTube(KERNEL, mu=50.0, exceptions=20), regression
    ),
    "band of three quantiles": Case(lambda: QuantileBand(kernel=KERNEL), regression, BOTH),
    "band of three expectiles": Case(
        lambda: QuantileBand((0.1, 0.5, 0.9), kind="expectile", kernel=KERNEL), regression
    ),
    "intervals by jackknife+": Case(lambda: ConformalRegressor(method="jackknife+"), regression),
    "intervals, few functions": Case(lambda: ConformalRegressor(method="split"), regression, BOTH),
    "sparse regression, tube": Case(
        lambda: SparseRegressor("epsilon_insensitive", KERNEL), regression, BOTH
    ),
    "sparse regression, squared": Case(lambda: SparseRegressor("squared", KERNEL), regression),
    "sparse classification": Case(lambda: SparseClassifier("hinge", KERNEL), classification, BOTH),
    "sparse nu-regression": Case(lambda: NuSparseRegressor(0.3, KERNEL), regression),
    "sparse nu-classification": Case(lambda: NuSparseClassifier(0.3, KERNEL), classification),
    "hard margin": Case(lambda: HardMarginSVC(kernel=KERNEL), separated, BOTH),
    "adaptive margin": Case(
        lambda: AdaptiveMarginSVC(1.0, kernel=KERNEL), classification, (*SIZES, 5000)
    ),
    "adaptive margin, 300 columns": Case(
        lambda: AdaptiveMarginSVC(1.0, kernel=KERNEL, columns=300), classification, (*SIZES, 5000)
    ),
    "additive, squared": Case(lambda: AdditiveRegressor(kernel=KERNEL), regression),
    "additive, logistic": Case(lambda: AdditiveClassifier(kernel=KERNEL), classification),
    "additive, few functions": Case(
        lambda: AdditiveRegressor(kernel=KERNEL, approximation=FEW), regression, BOTH
    ),
    "structure, squared": Case(
        lambda: SparseAdditiveRegressor(kernel=KERNEL, mu=20.0, C=1.0, refit=False),
        regression,
        BOTH,
    ),
    "structure, hinge": Case(
        lambda: SparseAdditiveClassifier(kernel=KERNEL, mu=20.0, C=1.0, refit=False), classification
    ),
    "increasing": Case(
        lambda: ShapeConstrainedRegressor([Increasing(0)], kernel=KERNEL),
        regression,
        (*SIZES, 5000),
    ),
    "increasing, tube": Case(
        lambda: ShapeConstrainedRegressor([Increasing(0)], "epsilon_insensitive", KERNEL),
        regression,
    ),
    "convex": Case(lambda: ShapeConstrainedRegressor([Convex(2)], kernel=KERNEL), regression),
    "increasing, few functions": Case(
        lambda: ShapeConstrainedRegressor([Increasing(0)], kernel=KERNEL, approximation=FEW),
        regression,
        BOTH,
    ),
    "censored, squared": Case(lambda: CensoredRegressor("squared", KERNEL), censored),
    "censored, tube": Case(
        lambda: CensoredRegressor("epsilon_insensitive", KERNEL, cache_size=1000), censored, BOTH
    ),
    "censored, few functions": Case(
        lambda: CensoredRegressor("squared", KERNEL, approximation=FEW), censored, BOTH
    ),
    "gaps, expected, squared": Case(lambda: MissingInputRegressor(kernel=KERNEL), gaps),
    "gaps, expected, hinge": Case(lambda: MissingInputClassifier(kernel=KERNEL), gaps_in_classes),
    "gaps, worst case, hinge": Case(
        lambda: MissingInputClassifier(kernel=KERNEL, strategy=WorstCase()), gaps_in_classes
    ),
}


def cases(short: bool) -> list[dict[str, Any]]:
    return [
        {"machine": name, "n": n}
        for name, case in CASES.items()
        for n in (case.sizes[:1] if short else case.sizes)
    ]


def contenders(case: dict[str, Any]) -> list[str]:
    return ["mercer"]


def limits(name: str) -> tuple[float, float]:
    return LIMIT, float("inf")


def run(case: dict[str, Any], name: str, repeat: int) -> dict[str, Any]:
    """Fit once, after a fit to few rows that compiles what is compiled."""
    made = CASES[case["machine"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made.make().fit(*made.data(120))
        X, y = made.data(case["n"])
        took, machine = taken(lambda: made.make().fit(X, y))
    solution = getattr(machine, "solution_", None)
    return {
        "seconds": round(took["cpu"], 3),
        "converged": None if solution is None else bool(solution.converged),
        "gap": None if solution is None else float(solution.relative_gap),
    }


def line(values: dict[str, Any]) -> str:
    return str(values.get("failure") or f"{values['seconds']} s, gap {values['gap']}")


def claims(records: list[Record], short: bool) -> list[str]:
    """Name fits that were given up or are not certified."""
    return [
        f"{r.case}: {r.get('failure', 'not converged')}"
        for r in records
        if "failure" in r or r.get("converged") is False
    ]
