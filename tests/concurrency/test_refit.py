"""While another thread refits an estimator, its methods answer of the old fit or of the new one.

Chance finds a mixture in one call of thirty. Here a thread is halted, by a trace, where it enters
some functions of this library, and another thread does all of its work meanwhile.
"""

import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from threadpoolctl import threadpool_limits

from concurrency.answers import METHODS, same
from exported import estimators
from hostile.generator import good
from hostile.judge import fit
from hostile.machines import MACHINES, make
from mercer import LSSVR, SVC, SVR, Nystrom
from mercer.local import Local
from mercer.manifold import Interval, PrincipalManifold
from mercer_research.risk_bounds import CertifiedSVC

# Where a computation is halted, as shares of the functions that it enters.
SHARES = (0.15, 0.5, 0.85)

# Estimators that the suite of hostile data does not have.
SMALL = PrincipalManifold(Interval(4), max_iter=3)
SEEDED = {"random_state": 0}
SETTINGS: dict[str, dict[str, Any]] = {
    "GenerativeTopographicMap": {"latent": Interval(4), "max_iter": 5},
    "KPlanes": SEEDED,
    "KernelProjectionPursuit": SEEDED,
    "PrincipalCurve": {"max_iter": 3},
    "PrincipalManifold": {"latent": Interval(4), "max_iter": 3},
    "PrincipalManifoldCV": {"estimator": SMALL, "lams": (0.1, 0.01), "cv": 2},
    "VectorQuantizer": SEEDED,
}
OTHERS: dict[str, Any] = {
    cls.__name__: cls(**SETTINGS.get(cls.__name__, {}))
    for cls in estimators()
    if issubclass(cls, BaseEstimator) and cls.__name__ not in MACHINES and cls is not CertifiedSVC
}
OTHERS |= {
    "CertifiedSVC": CertifiedSVC(),
    "local LSSVR": LSSVR(approximation=Local(12)),
    "local SVC": SVC(approximation=Local(12)),
    "local SVR": SVR(approximation=Local(12)),
    "low-rank SVR": SVR(approximation=Nystrom(8)),
}
# Estimators that do nothing to numbers.
ALIKE = {"DateEncoder", "Encoder", "Imputer", "TableEncoder"}
NAMES = sorted([*MACHINES, *OTHERS])


def sample(name: str, seed: int) -> tuple[Any, Any]:
    return good(name if name in MACHINES else "SVC" if "SVC" in name else "SVR", seed)


def ask(machine: Any, name: str, method: str) -> dict[str, Any]:
    """Return what one method says of new points; nothing if it is not of this estimator."""
    call = getattr(machine, method, None)
    if call is None:
        return {}
    X, _ = sample(name, 7)
    try:
        told = call(3) if method == "forecast" else call(X)
    except (AttributeError, TypeError, ValueError) as refusal:
        return {"refused": str(refusal)}
    return {method: told.toarray() if hasattr(told, "toarray") else np.asarray(told)}


def told(machine: Any, name: str) -> dict[str, Any]:
    answers = [ask(machine, name, method) for method in (*METHODS, "forecast")]
    return {key: value for answer in answers for key, value in answer.items() if key != "refused"}


def in_thread(work: Callable[[], Any]) -> Any:
    """Return what a function returns in another thread, and raise what it raises."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append((work(), None))
        except BaseException as failure:  # raised below
            found.append((None, failure))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    answer, failure = found[0]
    if failure is not None:
        raise failure
    return answer


def halted(work: Callable[[], Any], at: Sequence[float], meanwhile: Callable[[], Any]) -> int:
    """Run a computation, halt it at some functions of the library, and return how many it enters.

    Until Python 3.12 a cached property holds a lock of its class: there nobody is made to wait.
    """
    entered, left = 0, list(at)

    def trace(frame: Any, *_: Any) -> None:
        nonlocal entered
        if not frame.f_globals.get("__name__", "").startswith("mercer"):
            return
        entered += 1
        if left and entered >= left[0] and not locked(frame):
            left.pop(0)
            in_thread(meanwhile)

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    assert not left
    return entered


def locked(frame: Any) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__") == "functools" and frame.f_code.co_name == "__get__":
            return True
        frame = frame.f_back
    return False


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # that few rows are few is said elsewhere
        yield


def fitted(name: str, seed: int, machine: Any = None) -> Any:
    if machine is None:
        machine = make(name) if name in MACHINES else clone(OTHERS[name])
    return fit(machine, *sample(name, seed))


@pytest.mark.parametrize("name", NAMES)
def test_methods_in_the_middle_of_a_refit(name):
    machine, seen = fitted(name, 0), []
    old = told(machine, name)
    entered = halted(lambda: fitted(name, 1), (), lambda: None)
    halted(
        lambda: fitted(name, 1, machine),
        [max(2, share * entered) for share in SHARES],
        lambda: seen.append(told(machine, name)),
    )
    assert old
    assert all(same(one, old) for one in seen)
    assert same(told(machine, name), told(fitted(name, 1), name))


@pytest.mark.parametrize("name", NAMES)
def test_a_refit_in_the_middle_of_a_method(name):
    old, new = (told(fitted(name, seed), name) for seed in (0, 1))
    assert name in ALIKE or not same(old, new)
    for method in old:
        before, after = interleaved(name, method)
        assert same(before, {method: old[method]})
        assert same(after, {method: new[method]})


def interleaved(name: str, method: str) -> tuple[Any, Any]:
    """Return what a method answers that is halted for a refit, and what it answers afterwards."""
    machine, found = fitted(name, 0), []
    ask(machine, name, method)  # and what it remembers
    entered = halted(lambda: ask(machine, name, method), (), lambda: None)
    halted(
        lambda: found.append(ask(machine, name, method)),
        [max(3, 0.5 * entered)],
        lambda: fitted(name, 1, machine),
    )
    return found[0], ask(machine, name, method)
