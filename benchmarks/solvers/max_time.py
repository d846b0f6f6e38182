"""How far fits overrun the seconds they were given: every export with ``max_time`` or ``budget``.

The samples are so large that a fit without a limit takes longer. A fit may end with an error that
says that no machine was found in time; what counts here is when it ends. Loops are compiled before.
"""

from __future__ import annotations

import argparse
import inspect
import time
import warnings
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

import mercer
from mercer.local import Local

# An overrun of a fifth of the limit or of half a second is allowed.
SHARE, SECONDS = 0.2, 0.5

ROOMS = ("mercer", "mercer.estimators", "mercer.manifold", "mercer.selection",
         "mercer_research.density", "mercer_research.estimators", "mercer_research.fusion",
         "mercer_research.linear", "mercer_research.manifold",
         "mercer_research.selection")  # fmt: skip

# Rows with which a fit takes several seconds.
ROWS = {
    "AdditiveClassifier": 6000,
    "AdditiveRegressor": 5000,
    "AutoClassifier": 4000,
    "AutoRegressor": 4000,
    "GenerativeTopographicMap": 20_000,
    "HardMarginSVC": 2000,
    "HardTubeSVR": 600,
    "HeteroscedasticNuSVR": 3000,
    "HeteroscedasticSVR": 20_000,
    "HuberSVR": 3000,
    "KernelCDF": 400,
    "LSSVCCV": 3000,
    "LSSVRCV": 3000,
    "MissingInputClassifier": 600,
    "MissingInputRegressor": 600,
    "MultiOutputSVR": 800,
    "NuSVC": 20_000,
    "NuSVR": 20_000,
    "NuSparseClassifier": 1500,
    "NuSparseRegressor": 600,
    "OneClassSVM": 40_000,
    "PrincipalManifold": 4000,
    "PrincipalManifoldCV": 400,
    "QuantileSVR": 20_000,
    "RobustLSSVR": 3000,
    "SVC": 20_000,
    "SVCCV": 3000,
    "SVR": 20_000,
    "SVRCV": 3000,
    "ShapeConstrainedClassifier": 3000,
    "SparseClassifier": 1500,
    "SparseRegressor": 1500,
    "SupportVectorTube": 40_000,
}
MANY = 6000


def limited() -> dict[str, tuple[Any, str]]:
    """Return the exported estimators that have a limit in seconds, with its name."""
    found: dict[str, tuple[Any, str]] = {}
    for room in ROOMS:
        module = import_module(room)
        for name in module.__all__:
            value = getattr(module, name)
            if not (inspect.isclass(value) and issubclass(value, BaseEstimator)):
                continue
            own = inspect.signature(value).parameters
            # The budget of other estimators counts evaluations.
            seconds = "budget" if name.startswith("Auto") else "max_time"
            if seconds in own:
                found[name] = value, seconds
    return found


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


def measure(machine: Any, X: Any, y: Any) -> tuple[float, float, str]:
    """Return the seconds of a fit by the clock and of the processor, and how it ended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begun, used = time.perf_counter(), time.process_time()
        try:
            machine.fit(X, y)
            end = "fitted"
        except Exception as error:  # what counts is when
            end = f"{type(error).__name__}: {error}"
        return time.perf_counter() - begun, time.process_time() - used, end


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=1.0, help="seconds")
    parser.add_argument("names", nargs="*", help="estimators; all by default")
    parser.add_argument(
        "--processor",
        action="store_true",
        help="let limits count the processor's seconds, as if nothing else ran on the machine",
    )
    options = parser.parse_args()
    if options.processor:
        time.perf_counter = time.process_time
    limit, machines = options.limit, {}
    for name, (kind, seconds) in limited().items():
        settings = {"kernel": "rbf", "gamma": 1.0} if name == "HardMarginSVC" else {}
        machines[name] = kind(**settings, **{seconds: limit}), ROWS.get(name, MANY)
    machines["LSSVR, C=1e5, Local(300)"] = (
        mercer.LSSVR(C=1e5, approximation=Local(300), max_time=limit), MANY,
    )  # fmt: skip
    machines["SVC, Local(300)"] = mercer.SVC(approximation=Local(300), max_time=limit), 20_000
    machines["SVR, Nystrom"] = (
        mercer.SVR(approximation=mercer.Nystrom(2000), max_time=limit), 20_000,
    )  # fmt: skip
    print(f"limit {limit:g} s\n{'':32} clock  processor")
    for name, (machine, n) in machines.items():
        if options.names and name.split(",")[0] not in options.names:
            continue
        data = sample(machine, n)
        # Loops of few rows and of many are compiled, which no limit ends.
        for again in (sample(machine, 60), data):
            measure(type(machine)(**machine.get_params(deep=False)), *again)
        clock, used, end = measure(machine, *data)
        over = used > limit + max(SHARE * limit, SECONDS)
        print(
            f"{name:32} {clock:5.2f} {used:7.2f} {'over' if over else '':5} {end[:70]}", flush=True
        )


if __name__ == "__main__":
    main()
