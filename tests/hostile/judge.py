"""What becomes of a hostile fit: an answer, an explained refusal, or a failure with its kind.

An *answer* has finite predictions at the points it was fitted on and, where the machine has a
certificate that can be recomputed, a bound that holds (see `hostile.certificate`). A *refusal* is a
`ValueError` or a `TypeError`, raised by a ``raise`` statement of this library or within
scikit-learn's validation: an error that NumPy or SciPy raised inside our own arithmetic explains
nothing, whatever its type. After a refusal the machine is what it was before the fit, bit by bit.
Everything else is a failure: other errors, NaN, warnings of arithmetic, and fits that take longer
than their limit of processor time.
"""

import linecache
import os
import pickle
import signal
import sys
import traceback
import warnings
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import scipy.sparse as sp
import sklearn
from sklearn.utils.validation import has_fit_parameter

import mercer
import mercer_research
from hostile.certificate import recompute
from hostile.generator import Case, good
from hostile.machines import kind, make
from mercer.machines.ls_report import UnavailableError

LIMIT = 5.0
"""Seconds of processor time that a fit and its predictions may take."""

OURS = tuple(os.path.dirname(one.__file__) + os.sep for one in (mercer, mercer_research))
THEIRS = os.path.dirname(sklearn.__file__) + os.sep


class Outcome(NamedTuple):
    """How a case ended, in a word or two, and what there is to say about it."""

    kind: str
    detail: str = ""

    @property
    def failed(self) -> bool:
        return self.kind not in ("answer", "refusal")


class TimedOut(BaseException):
    """The limit of processor time is over."""


@contextmanager
def limited(seconds: float) -> Any:
    """Raise TimedOut when the process has computed for so long."""

    def ring(signum: int, frame: Any) -> None:
        raise TimedOut

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


@cache
def fitted(name: str) -> bytes:
    """Return a machine fitted to a good sample, as bytes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pickle.dumps(fit(make(name), *good(name)))


def fit(machine: Any, X: Any, y: Any, weights: Any = None) -> Any:
    if kind(machine) == "series":
        return machine.fit(y)
    if weights is not None and has_fit_parameter(machine, "sample_weight"):
        return machine.fit(X, y, sample_weight=weights)
    return machine.fit(X, y)


def state(machine: Any) -> dict[str, bytes]:
    """Return everything that a machine holds, bit by bit."""
    return {key: pickle.dumps(value) for key, value in vars(machine).items()}


def content(case: Case) -> bytes:
    """Return the values that a fit is given, without what containers remember of their order."""
    X = case.X
    if sp.issparse(X):
        X = X.toarray()
    elif isinstance(X, pl.DataFrame):
        X = X.to_dict(as_series=False)  # columns of objects have no bytes
    return pickle.dumps((X, case.y, case.weights))


def judge(case: Case, limit: float = LIMIT) -> Outcome:
    """Fit a machine that was fitted before to a hostile sample, and say what becomes of it."""
    machine = pickle.loads(fitted(case.name))
    machine.set_params(**case.settings)
    before, given = state(machine), content(case)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            with limited(limit):
                try:
                    fit(machine, case.X, case.y, case.weights)
                except Exception as error:
                    outcome = refused(error)
                else:
                    outcome = answered(machine, case)
        except TimedOut:
            outcome = Outcome("timeout", f"more than {limit:g} s")
    if outcome.failed:
        return outcome
    leaks = [w for w in heard if issubclass(w.category, RuntimeWarning | DeprecationWarning)]
    if leaks:
        where = f"{os.path.relpath(leaks[0].filename, OURS[0])}:{leaks[0].lineno}"
        return Outcome("leak", f"{leaks[0].category.__name__}: {leaks[0].message} at {where}")
    if outcome.kind == "refusal" and state(machine) != before:
        return Outcome("changed", f"a refused fit changed {differing(before, machine)}")
    if content(case) != given:
        return Outcome("mutated", "a fit changed the arrays it was given")
    return outcome


def interrupted(case: Case, rng: np.random.Generator) -> Outcome:
    """Interrupt a fit to another good sample at some call of a function, reproducibly."""
    machine = pickle.loads(fitted(case.name))
    X, y = good(case.name, seed=1, n=24, p=2)
    before = state(machine)
    stop = int(10.0 ** rng.uniform(0.0, 4.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with interrupting(stop):
                fit(machine, X, y)
                sys.setprofile(None)  # leaving the context is a call after the fit
        except KeyboardInterrupt:
            if state(machine) != before:
                what = differing(before, machine)
                return Outcome("changed", f"an interrupt at call {stop} changed {what}")
            return Outcome("refusal", "interrupted")
        except Exception as error:
            return Outcome("swallowed", f"an interrupt at call {stop} became {error!r}")
    return Outcome("answer", "ended before the interrupt")


@contextmanager
def interrupting(stop: int) -> Any:
    """Count calls of functions, and raise KeyboardInterrupt at the one whose turn it is."""
    calls = 0

    def profile(frame: Any, event: str, arg: Any) -> None:
        nonlocal calls
        calls += event == "call"
        if calls == stop:
            sys.setprofile(None)
            raise KeyboardInterrupt

    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(None)


def differing(before: dict[str, bytes], machine: Any) -> str:
    after = state(machine)
    keys = before.keys() | after.keys()
    return ", ".join(sorted(k for k in keys if before.get(k) != after.get(k)))


def refused(error: Exception) -> Outcome:
    """Judge an error of a fit: a sentence, or a failure."""
    last = None
    frames = traceback.extract_tb(error.__traceback__)
    for k, frame in enumerate(frames):
        if frame.filename.startswith((*OURS, THEIRS)):
            last = k
    if last is None:
        return Outcome(type(error).__name__, str(error)[:200])
    frame, short = frames[last], type(error).__name__
    root = next(root for root in (*OURS, THEIRS) if frame.filename.startswith(root))
    where = f"{os.path.relpath(frame.filename, os.path.dirname(root[:-1]))}:{frame.lineno}"
    words = f"{short}: {str(error)[:150]!r} at {where}"
    named = type(error).__module__.startswith(("mercer", "sklearn"))
    if not isinstance(error, ValueError | TypeError) or (
        type(error) not in (ValueError, TypeError) and not named
    ):
        return Outcome(short, words)
    raised = linecache.getline(frame.filename, frame.lineno).strip().startswith("raise")
    if root in OURS and not (last == len(frames) - 1 and raised):
        return Outcome(f"unexplained {short}", words)
    return Outcome("refusal", words)


def answered(machine: Any, case: Case) -> Outcome:
    """Judge a fitted machine: finite predictions, and a bound that holds."""
    if kind(machine) == "series":
        values = {"forecast": machine.forecast(3)}
    else:
        names = ("predict", "decision_function", "predict_proba", "transform", "score_samples")
        values = {}
        for name in names:
            if hasattr(machine, name):
                try:
                    values[name] = getattr(machine, name)(case.X)
                except UnavailableError:
                    pass  # a report that says why it cannot be made
                except Exception as error:
                    return Outcome(f"{name} fails", refused(error).detail)
    for name, value in values.items():
        if not finite(value) and not may_be_infinite(case, name, value):
            return Outcome("not finite", f"{name}: {np.asarray(value).ravel()[:4]}")
    wrong = recompute(machine, case)
    return Outcome("false bound", wrong) if wrong else Outcome("answer")


def may_be_infinite(case: Case, name: str, value: Any) -> bool:
    """Answer whether that is right: the logarithm of a density that is zero, or a cell let through.

    Encoders and imputers take cells that are not finite, and say so in their tags.
    """
    if name == "transform":
        return "not finite" in str(case) or "scaled" in str(case)
    return name == "score_samples" and not np.any(np.isnan(value)) and np.all(value < np.inf)


def finite(value: Any) -> bool:
    value = value.data if sp.issparse(value) else np.asarray(value)
    return value.dtype.kind not in "fc" or bool(np.all(np.isfinite(value)))
