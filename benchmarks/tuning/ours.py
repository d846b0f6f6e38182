"""This library's ways: one call that tunes, and automatic settings."""

from typing import Any

from sklearn.base import clone

from benchmarks.tuning.sets import Split
from mercer import LSSVC, LSSVR, SVC, SVR
from mercer.selection import tune


def tuned(machine: Any, **options: Any) -> Any:
    """Return the fit by one call, on features as they are: the machine standardizes them."""

    def fit(data: Split) -> tuple[Any, dict[str, Any]]:
        found = tune(machine, data.X, data.y, **options)
        return found.best_estimator_, {
            "C": found.best_params_["C"],
            "kernel": str(found.best_params_["kernel"]),
            "trials": len(found.trials_),
            "status": found.status_,
        }

    return fit


def automatic(machine: Any) -> Any:
    """Return the fit with what the machine finds by itself."""

    def fit(data: Split) -> tuple[Any, dict[str, Any]]:
        fitted = clone(machine).fit(data.X, data.y)
        return fitted, {"C": fitted.C_, "kernel": str(fitted.kernel_)}

    return fit


SELF: dict[str, Any] = {"standardize": True, "C": "auto", "gamma": "tuned"}
REGRESSORS = {
    "mercer LSSVR tuned": tuned(LSSVR(standardize=True)),
    "mercer LSSVR tuned ARD": tuned(LSSVR(standardize=True), ard=True),
    "mercer SVR tuned": tuned(SVR(standardize=True)),
    "mercer LSSVR auto": automatic(LSSVR(**SELF)),
    "mercer SVR auto": automatic(SVR(**SELF, epsilon="auto")),
}
CLASSIFIERS = {
    "mercer LSSVC tuned": tuned(LSSVC(standardize=True)),
    "mercer LSSVC tuned ARD": tuned(LSSVC(standardize=True), ard=True),
    "mercer SVC tuned": tuned(SVC(standardize=True)),
    "mercer LSSVC auto": automatic(LSSVC(**SELF)),
    "mercer SVC auto": automatic(SVC(**SELF)),
}
