"""This library's machines on large tables: exact, few functions, local, chosen, recommended."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from benchmarks.large.sets import Table
from mercer import LSSVC, LSSVR, SVC, AutoClassifier, AutoRegressor
from mercer.kernels import Gaussian, Laplacian
from mercer.local import Local
from mercer.preprocessing import RankNormalizer
from mercer.reduced import Nystrom
from mercer.selection import tune

Fitted = tuple[Callable[[Any], Any], dict[str, Any]]
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")

# Length scales to begin with, in deviations, and the rows that tell better ones.
SCALE, ROWS = 3.0, 2_000
# Weights of the loss, widths of pixels in units of the mean squared distance, rows to fit and to
# judge them by.
WEIGHTS, WIDTHS, FIT, HELD = (0.3, 1.0, 3.0, 10.0, 30.0), (1.0, 2.0, 4.0, 8.0), 8_000, 4_000


def prepared(data: Table) -> Callable[[Any], Any]:
    """Return what makes points of rows: ranks for numbers as targets, deviations for classes."""
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
    p = data.X.shape[1]
    kernel = Laplacian(np.full(p, SCALE), categories=tuple(data.categories))
    return (LSSVR if data.regression else LSSVC)(kernel=kernel, C=10.0, **settings)


def tuned(machine: Any, Z: Any, y: Any, **settings: Any) -> Any:
    """Return the machine with a length scale for each column, by the evidence."""
    settings |= {"ard": True, "criterion": "evidence", "prior": 1.0, "refit": False}
    return tune(machine, Z, y, **settings).best_estimator_


def certificate(machine: Any, change: Callable[[Any], Any]) -> Fitted:
    s = machine.solution_
    found = {"gap": float(s.gap), "objective": float(s.objective)}
    if hasattr(machine, "approximation_reason_"):
        found["reason"] = machine.approximation_reason_
    if machine._local is not None:
        found["leaves"] = len(machine.leaves_)
    return lambda X: machine.predict(change(X)), found


def whole(data: Table, Z: Any) -> Any:
    """Return one machine of all rows, its C, and widths of pixels, by rows that are held out.

    Numbers have least squares, whose evidence would have no noise and an infinite C; classes have
    the hinge.
    """
    n = min(FIT, 2 * len(Z) // 3)
    if data.name == "mnist":
        kernels = [Gaussian(np.sqrt(Z.shape[1] / width)) for width in WIDTHS]
    else:
        kernels = [tuned(start(data), Z, data.y, max_rows=ROWS).kernel]
    kind = LSSVR if data.regression else SVC
    tried = []
    for kernel in kernels:
        for C in WEIGHTS:
            machine = kind(kernel=kernel, C=C, cache_size=1000)
            fitted = clone(machine).fit(Z[:n], data.y[:n])
            tried.append((fitted.score(Z[n : n + HELD], data.y[n : n + HELD]), machine))
    return max(tried, key=lambda one: one[0])[1]


def exact(data: Table, approximation: Any = None) -> Fitted:
    change = prepared(data)
    Z = change(data.X)
    machine = whole(data, Z).set_params(approximation=approximation)
    return certificate(machine.fit(Z, data.y), change)


def few(data: Table, centres: int) -> Fitted:
    change = prepared(data)
    Z = change(data.X)
    machine = tuned(start(data), Z, data.y, max_rows=ROWS)
    machine.set_params(approximation=Nystrom(centres, memory_limit="4GB", n_jobs=1))
    return certificate(machine.fit(Z, data.y), change)


def local(data: Table, chosen: Any = None, **settings: Any) -> Fitted:
    """Fit local machines with length scales of parts as dense as leaves."""
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
    kind = AutoRegressor if data.regression else AutoClassifier
    machine = kind(categorical_features=data.categories or None).fit(data.X, data.y)
    return machine.predict, {"members": [m.name for m in machine.members_]}


METHODS: dict[str, Callable[..., Fitted]] = {
    "mercer exact": exact,
    "mercer Nystrom": few,
    "mercer local": local,
    "mercer local, blended": local,
    "mercer auto": auto,
    "mercer recommended": recommended,
}
