"""Threads, forks, spawned processes and joblib give every estimator the same answers."""

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from concurrency.answers import MACHINES, answers, fitted, same
from concurrency.workloads import environment, tasks
from mercer import LSSVR, SVR, KernelLogisticRegression, Nystrom


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Return what functions return that begin at the same time, each on its own thread."""
    start = Barrier(len(calls), timeout=60)

    def run(call: Callable[[], Any]) -> Any:
        start.wait()
        return call()

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # so that threads take turns within a fit of milliseconds
    try:
        with ThreadPoolExecutor(len(calls)) as pool:
            return [future.result() for future in [pool.submit(run, call) for call in calls]]
    finally:
        sys.setswitchinterval(before)


@pytest.mark.parametrize("name", MACHINES)
def test_two_threads(name: str) -> None:
    """They predict with one machine, fit two, and fit one to two samples: it is one of the two."""
    with threadpool_limits(1):
        machine, other = fitted(name), fitted(name, seed=1)
        alone, another = answers(machine, name), answers(other, name)
        told = at_once(*[lambda: answers(machine, name)] * 2)
        assert all(same(one, alone) for one in told)
        made = at_once(lambda: fitted(name), lambda: fitted(name, seed=1))
        assert same(answers(made[0], name), alone)
        assert same(answers(made[1], name), another)
        shared = clone(machine)
        at_once(lambda: fitted(name, 0, shared), lambda: fitted(name, 1, shared))
        last = answers(shared, name)
        assert same(last, alone) or same(last, another)


# In an interpreter of its own: forking a process full of other tests' threads is not the question.
PROCESSES = """
import multiprocessing, sys
import numpy as np
from threadpoolctl import threadpool_limits
from concurrency.answers import MACHINES, answers, fitted, same

def told(name):
    with threadpool_limits(1):
        return answers(fitted(name), name)

if __name__ == "__main__":
    A = np.random.default_rng(0).standard_normal((500, 500))
    np.linalg.cholesky(A @ A.T)  # the threads of BLAS exist in the parent and not in the child
    expected = [told(name) for name in MACHINES]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.map(told, MACHINES, chunksize=8)
    wrong = [name for name, a, b in zip(MACHINES, found, expected) if not same(a, b)]
    assert not wrong, wrong
    assert all(expected), [name for name, a in zip(MACHINES, expected) if not a]
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_forked_children() -> None:
    command = [sys.executable, "-W", "ignore", "-c", PROCESSES]
    run = subprocess.run(command, capture_output=True, text=True, timeout=280, env=environment())
    assert run.returncode == 0, run.stderr


def told(name: str) -> dict[str, Any]:
    with threadpool_limits(1):
        return answers(fitted(name), name)


def test_a_spawned_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in environment().items():
        monkeypatch.setenv(key, value)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.map(told, MACHINES, chunksize=len(MACHINES))
    for name, one in zip(MACHINES, found, strict=True):
        assert same(one, told(name)), name


@pytest.mark.parametrize(
    "machine",
    [LSSVR(), SVR(approximation=Nystrom(20, n_jobs=1)), KernelLogisticRegression()],
    ids=["LSSVR", "Nystrom", "logistic"],
)
def test_a_search_in_two_processes(machine: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=90)
    y = (y > 0).astype(int) if hasattr(machine, "predict_proba") else y
    search = GridSearchCV(machine, {"C": [0.1, 10.0]}, cv=3)
    with threadpool_limits(1):
        one, two = (clone(search).set_params(n_jobs=k).fit(X, y) for k in (1, 2))
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


@pytest.mark.parametrize("k", [2, 5, 6, 7])
def test_one_and_two_threads_of_blas(k: int) -> None:
    """Six hundred rows, so that BLAS divides its work: another order of sums, the same machine."""
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            machine, X, y = tasks()[k]
            machine.fit(X, y)
            tell = getattr(machine, "decision_function", machine.predict)
            found.append(tell(X))
    np.testing.assert_allclose(*found, rtol=0, atol=1e-12 * np.max(np.abs(found[0])))
