"""One contender in a process of its own, which lives through all problems and times itself."""

import importlib
import os
import re
import time
import warnings
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from data import draw
from problems import Problem

LIBRARIES = {
    "mercer": "mercer",
    "scikit-learn": "sklearn.svm",
    "scikit-learn-intelex": "sklearnex.svm",
}


def serve(pipe: Connection, library: str, threads: int) -> None:
    """Answer requests ``(action, argument)`` until the other end closes."""
    # A problem that stops early shows in its violation; the warning would only clutter the run.
    warnings.simplefilter("ignore")
    module = importlib.import_module(LIBRARIES[library])
    if library == "scikit-learn-intelex":
        # Its own thread pool does not read the environment.
        importlib.import_module("daal4py").daalinit(threads)
    actions = {"warm": warm, "start": start, "run": run, "model": model}
    last: dict[str, Any] = {}
    while True:
        try:
            action, argument = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((True, actions[action](module, argument, last)))
        except Exception as error:
            pipe.send((False, f"{type(error).__name__}: {error}"))


def start(module: Any, _: None, last: dict[str, Any]) -> dict[str, float]:
    """Return what the first fit of this process costs beyond the second, on a tiny sample."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    y = X[:, 0] * X[:, 1] > 0
    marks = [mark()]
    for _ in range(2):
        module.SVC(gamma=0.25).fit(X, y)
        marks.append(mark())
    first, second = np.diff(marks, axis=0)
    return dict(zip(("wall", "cpu"), (first - second).tolist(), strict=True))


def warm(module: Any, problem: Problem, last: dict[str, Any]) -> None:
    """Load the data, and meet every branch once on a few rows, so that nothing compiles later."""
    last["sample"] = sample = draw(problem.data, problem.n, problem.n_test)
    few = min(300, problem.n)
    for cache_size in (200, 0.2):
        parameters = problem.parameters(sample.X.shape[1]) | {"cache_size": cache_size}
        machine = getattr(module, problem.machine)(**parameters)
        machine.fit(sample.X[:few], sample.y[:few]).predict(sample.X[:few])


def run(module: Any, problem: Problem, last: dict[str, Any]) -> dict[str, float]:
    """Fit and predict once, with clock, processor time and peak memory."""
    sample = last["sample"]
    machine = getattr(module, problem.machine)(**problem.parameters(sample.X.shape[1]))
    forget_peak()
    resident = memory("VmRSS")
    marks = [mark()]
    machine.fit(sample.X, sample.y)
    marks.append(mark())
    peak = memory("VmHWM")
    marks.append(mark())
    prediction = machine.predict(sample.X_test)
    marks.append(mark())
    last["machine"] = machine
    (fit_wall, fit_cpu), _, (predict_wall, predict_cpu) = np.diff(marks, axis=0)
    return {
        "fit_wall": float(fit_wall),
        "fit_cpu": float(fit_cpu),
        "predict_wall": float(predict_wall),
        "predict_cpu": float(predict_cpu),
        "peak": float(peak - resident),
        "score": score(problem, sample.y_test, prediction),
    }


def model(module: Any, _: None, last: dict[str, Any]) -> dict[str, Any]:
    """Hand out what the last fit learned."""
    machine = last["machine"]
    names = ("support_", "dual_coef_", "intercept_", "classes_")
    learned = {name: getattr(machine, name) for name in names if hasattr(machine, name)}
    if hasattr(machine, "solution_"):
        learned["own_dual"] = machine.solution_.dual
    return learned


def score(problem: Problem, y: np.ndarray, prediction: np.ndarray) -> float:
    """Return accuracy, the share of variance explained, or the share of test points inside."""
    if problem.machine.endswith("SVC"):
        return float(np.mean(prediction == y))
    if problem.machine == "OneClassSVM":
        return float(np.mean(prediction > 0))
    return float(1.0 - np.sum((y - prediction) ** 2) / np.sum((y - y.mean()) ** 2))


def mark() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def memory(name: str) -> float:
    """Return a line of the process's memory status in bytes; nan where there is none."""
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    found = re.search(rf"{name}:\s+(\d+)", status.read_text())
    return 1024.0 * int(found[1]) if found else float("nan")


def forget_peak() -> None:
    """Start the high-water mark of memory anew."""
    if os.path.exists("/proc/self/clear_refs"):
        Path("/proc/self/clear_refs").write_text("5")
