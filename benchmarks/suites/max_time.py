"""How far fits overrun their max_time or budget of a second: every export; some minutes.

The samples are so large that a fit without a limit takes longer; loops are compiled before. Clocks
count the processor's seconds, as if nothing else ran. ``--short`` takes five machines.
"""

import inspect
import time
import warnings
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

import mercer
from benchmarks.store import Record
from mercer.local import Local

LIMIT = 1.0
# An overrun of a fifth of the limit or of half a second is allowed.
ALLOWED = LIMIT + max(0.2 * LIMIT, 0.5)
ROOMS = (
    *("mercer", "mercer.estimators", "mercer.manifold", "mercer.selection"),
    *("mercer_research.density", "mercer_research.estimators", "mercer_research.fusion"),
    *("mercer_research.linear", "mercer_research.manifold", "mercer_research.selection"),
)
# Rows with which a fit takes several seconds.
MANY = 6000
ROWS = (
    {"KernelCDF": 400, "PrincipalManifoldCV": 400, "MultiOutputSVR": 800, "AdditiveRegressor": 5000}
    | dict.fromkeys(("HardTubeSVR", "MissingInputClassifier", "MissingInputRegressor"), 600)
    | dict.fromkeys(("NuSparseRegressor",), 600)
    | dict.fromkeys(("NuSparseClassifier", "SparseClassifier", "SparseRegressor"), 1500)
    | dict.fromkeys(("HardMarginSVC",), 2000)
    | dict.fromkeys(("HeteroscedasticNuSVR", "HuberSVR", "LSSVCCV", "LSSVRCV", "SVCCV"), 3000)
    | dict.fromkeys(("RobustLSSVR", "SVRCV", "ShapeConstrainedClassifier"), 3000)
    | dict.fromkeys(("AutoClassifier", "AutoRegressor", "PrincipalManifold"), 4000)
    | dict.fromkeys(("GenerativeTopographicMap", "HeteroscedasticSVR", "NuSVC", "NuSVR"), 20_000)
    | dict.fromkeys(("QuantileSVR", "SVC", "SVR"), 20_000)
    | dict.fromkeys(("OneClassSVM", "SupportVectorTube"), 40_000)
)
SHORT = ("SVC", "HuberSVR", "AutoRegressor", "QuantileBand", "SVC, Local(300)")


@lru_cache(maxsize=1)
def machines() -> dict[str, tuple[Any, int]]:
    """Return the exported estimators that have a limit in seconds, and three approximations."""
    found: dict[str, tuple[Any, int]] = {}
    for room in ROOMS:
        module = import_module(room)
        for name in module.__all__:
            value = getattr(module, name)
            if not (inspect.isclass(value) and issubclass(value, BaseEstimator)):
                continue
            # The budget of other estimators counts evaluations.
            seconds = "budget" if name.startswith("Auto") else "max_time"
            if seconds in inspect.signature(value).parameters:
                settings = {"kernel": "rbf", "gamma": 1.0} if name == "HardMarginSVC" else {}
                found[name] = value(**settings, **{seconds: LIMIT}), ROWS.get(name, MANY)
    local, few = Local(300), mercer.Nystrom(2000)
    found["LSSVR, Local(300)"] = mercer.LSSVR(C=1e5, approximation=local, max_time=LIMIT), MANY
    found["SVC, Local(300)"] = mercer.SVC(approximation=local, max_time=LIMIT), 20_000
    found["SVR, Nystrom"] = mercer.SVR(approximation=few, max_time=LIMIT), 20_000
    return found


def cases(short: bool) -> list[dict[str, Any]]:
    return [{"machine": name} for name in (SHORT if short else machines())]


def contenders(case: dict[str, Any]) -> list[str]:
    return ["mercer"]


def sample(machine: Any, n: int) -> tuple[Any, Any]:
    """Return points and targets of a kind that a machine takes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    name = type(machine).__name__
    if name.startswith("MissingInput"):
        X[rng.random(X.shape) < 0.1] = np.nan
    if name == "CensoredRegressor":
        times = np.exp(f + 0.3 * rng.normal(size=n))
        return X, np.rec.fromarrays([rng.random(n) < 0.7, times], names="event,time")
    if name == "MultiOutputSVR":
        return X, np.c_[f, -f] + 0.3 * rng.normal(size=(n, 2))
    if is_classifier(machine):
        noise = 0.0 if name == "HardMarginSVC" else 0.5
        return X, (f + noise * rng.normal(size=n) > 0).astype(int)
    return X, f + 0.3 * rng.normal(size=n)


def run(case: dict[str, Any], name: str, repeat: int) -> dict[str, Any]:
    """Return the seconds of a fit, and how it ended: without a machine in time is an end, too."""
    time.perf_counter = time.process_time
    machine, n = machines()[case["machine"]]
    data, seconds, end = sample(machine, n), 0.0, ""
    # Loops of few rows and of many are compiled, which no limit ends.
    for again in (sample(machine, 60), data, data):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            begun, end = time.process_time(), "fitted"
            try:
                type(machine)(**machine.get_params(deep=False)).fit(*again)
            except Exception as error:  # what counts is when
                end = f"{type(error).__name__}: {error}"[:100]
            seconds = time.process_time() - begun
    return {"seconds": seconds, "end": end}


def line(values: dict[str, Any]) -> str:
    return str(values.get("failure") or f"{values['seconds']:.2f} s, {values['end']}")


# What is known to take longer, and is said on the page of promises.
LONGER = {"AdditiveClassifier": 2.0, "SparseRegressor": 2.0, "HardTubeSVR": 3.5}


def claims(records: list[Record], short: bool) -> list[str]:
    return [
        f"{r.case['machine']}: {r.get('failure') or r['seconds']}"
        for r in records
        if "failure" in r or r["seconds"] > LONGER.get(r.case["machine"], ALLOWED)
    ]
