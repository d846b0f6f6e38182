"""This library's machines with few centres, and exact ones where they fit."""

from collections.abc import Callable
from typing import Any

from benchmarks.reduced.sets import Task
from mercer import LSSVC, LSSVR, SVC, SVR, KernelLogisticRegression, QuantileSVR
from mercer.estimators import HuberSVR
from mercer.reduced import Nystrom

Found = tuple[Any, dict[str, Any]]
Method = Callable[[Task, dict[str, float], int], Found]


def machine(kind: Any, weight: str, **options: Any) -> Method:
    """Return a method: a machine with a Gaussian kernel and some centres, or exact with none."""

    def fit(data: Task, settings: dict[str, float], m: int) -> Found:
        approximation = Nystrom(m, n_jobs=1) if m else None
        given = {"gamma": settings["gamma"], "C": settings[weight]}
        fitted = kind(kernel="rbf", **given, approximation=approximation, **options).fit(
            data.X, data.y
        )
        return fitted, certificate(fitted)

    return fit


def certificate(fitted: Any) -> dict[str, Any]:
    """Return what the machine says of its own answer."""
    s = fitted.solution_
    s = s[0] if isinstance(s, list | tuple) else s
    found = {"gap": float(s.gap), "objective": float(s.objective), "iterations": int(s.n_iter)}
    for name in ("passes", "approximation_cost"):
        if getattr(s, name, None) is not None:
            found[name] = float(getattr(s, name))
    return found


MACHINES: dict[str, Method] = {
    "mercer LSSVR": machine(LSSVR, "C"),
    "mercer LSSVC": machine(LSSVC, "C"),
    "mercer SVR": machine(SVR, "C"),
    "mercer HuberSVR": machine(HuberSVR, "C"),
    "mercer QuantileSVR": machine(QuantileSVR, "C", quantile=0.5),
    "mercer SVC": machine(SVC, "C_hinge"),
    "mercer logistic": machine(KernelLogisticRegression, "C_hinge"),
}
