"""One contender in a process of its own, which times itself: both ends of the pipe."""

import importlib
import multiprocessing
import sys
import warnings
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.clock import mark, timed
from benchmarks.svm.bare import Bare
from benchmarks.svm.libraries import LIBRARIES
from benchmarks.svm.problems import Problem
from data import Sample

# Rows and cache sizes in MB of the fits before the measured ones: whatever compiles does it here.
WARM_UP = ((300, 200.0), (300, 0.2), (2_000, 2000.0))


class NoAnswerError(Exception):
    """A contender did not answer: what it said, or how long it was given."""


class Contender:
    """A library in its own process, started when first asked."""

    def __init__(self, library: str, threads: int) -> None:
        self.library = library
        self.threads = threads
        self.process: Any = None

    def ask(self, action: str, argument: Any = None, limit: float = 600.0) -> Any:
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.pipe, theirs = context.Pipe()
            arguments = (theirs, self.library, self.threads)
            self.process = context.Process(target=serve, args=arguments, daemon=True)
            self.process.start()
            theirs.close()
        self.pipe.send((action, argument))
        if not self.pipe.poll(limit):
            self.close()
            raise NoAnswerError(f"over {limit:.0f} s")
        try:
            good, answer = self.pipe.recv()
        except EOFError:
            self.close()
            raise NoAnswerError("its process ended") from None
        if not good:
            raise NoAnswerError(answer)
        return answer

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None


def serve(pipe: Connection, library: str, threads: int) -> None:
    """Answer requests ``(action, argument)`` until the other end closes."""
    # A problem that stops early shows in its violation; the warning would only clutter the run.
    warnings.simplefilter("ignore")
    server = None
    while True:
        try:
            action, argument = pipe.recv()
        except EOFError:
            return
        try:
            # Made when first asked, so that a library that cannot be imported can say why.
            server = server or Server(LIBRARIES[library][1](threads))
            pipe.send((True, getattr(server, action)(argument)))
        except Exception as error:
            pipe.send((False, f"{type(error).__name__}: {error}"))


class Server:
    """What a contender can be asked."""

    def __init__(self, library: Any) -> None:
        self.library = library

    def start(self, _: None) -> dict[str, float]:
        """Return what the first fit of this process costs beyond the second, on a tiny sample.

        An import is no compilation: that of the machine's modules and of those that Numba imports
        when it is first used, with the tables it fills from them, is told apart.
        """
        rng = np.random.default_rng(0)
        X = rng.standard_normal((300, 4))
        y = (X[:, 0] * X[:, 1] > 0).astype(float)
        problem = Problem("SVC", "", len(X), len(X), 0.25)
        marks = [mark()]
        self.library.prepare(problem, Sample(X, y, X, y))
        if "numba" in sys.modules:
            importlib.import_module("numba.core.registry").cpu_target.target_context.refresh()
        marks.append(mark())
        for _repeat in range(2):
            self.library.fit()
            marks.append(mark())
        imports, first, second = np.diff(marks, axis=0)
        (wall, cpu), (import_wall, import_cpu) = (first - second).tolist(), imports.tolist()
        return {"wall": wall, "cpu": cpu, "import_wall": import_wall, "import_cpu": import_cpu}

    def load(self, argument: tuple[Problem, str, dict[str, Any]]) -> None:
        """Read the sample and warm up on a few rows of it; ``bare`` is given a support set."""
        self.problem, folder, given = argument
        self.sample = read(folder)
        if isinstance(self.library, Bare):
            self.library.prepare(self.problem, self.sample, given)
            return
        for n, cache_size in WARM_UP:
            few = Sample(*(part[:n] for part in self.sample))
            small = replace(self.problem, n=len(few.X))
            self.library.prepare(small, few, cache_size=cache_size)
            self.library.fit()
            self.library.predict()
        self.library.prepare(self.problem, self.sample)

    def fit(self, _: None) -> dict[str, float]:
        wall, cpu, held, peak = timed(self.library.fit)
        return {"fit_wall": wall, "fit_cpu": cpu, "held": held, "peak": peak}

    def predict(self, _: None) -> dict[str, float]:
        answers = []
        timing = timed(lambda: answers.append(self.library.predict()))
        times = {"predict_wall": timing.wall, "predict_cpu": timing.cpu}
        if not isinstance(self.library, Bare):
            times["score"] = score(self.problem, self.sample.y_test, answers[-1])
        return times

    def learned(self, _: None) -> dict[str, Any]:
        return dict(self.library.learned())

    def path(self, values: list[float]) -> dict[str, Any]:
        """Fit at the largest C from nothing, and then at all of them, each from the last."""
        machine = self.library.machine
        X, y = self.library.X, self.library.y
        machine.set_params(C=values[-1], warm_start=False)
        marks = [mark()]
        machine.fit(X, y)
        marks.append(mark())
        cold = self.library.learned()
        # A new machine does not know the coefficients that a warm start would begin with.
        self.library.prepare(self.problem, self.sample, warm_start=True)
        machine = self.library.machine
        marks.append(mark())
        for C in values:
            machine.set_params(C=C).fit(X, y)
        marks.append(mark())
        (cold_wall, cold_cpu), _, (path_wall, path_cpu) = np.diff(marks, axis=0).tolist()
        times = {
            "cold_wall": cold_wall,
            "cold_cpu": cold_cpu,
            "path_wall": path_wall,
            "path_cpu": path_cpu,
        }
        return {"times": times, "cold": cold, "path": self.library.learned()}


def write(folder: str, sample: Sample) -> None:
    """Leave a sample where the contenders find it, drawn and scaled once for all of them."""
    for name, part in sample._asdict().items():
        np.save(Path(folder) / f"{name}.npy", part)


def read(folder: str) -> Sample:
    return Sample(*(np.load(Path(folder) / f"{name}.npy") for name in Sample._fields))


def score(problem: Problem, y: np.ndarray, prediction: np.ndarray) -> float:
    """Return accuracy, the share of variance explained, or the share of test points inside."""
    if problem.machine.endswith("SVC"):
        return float(np.mean(prediction == y))
    if problem.machine == "OneClassSVM":
        return float(np.mean(prediction > 0))
    return float(1.0 - np.sum((y - prediction) ** 2) / np.sum((y - y.mean()) ** 2))
