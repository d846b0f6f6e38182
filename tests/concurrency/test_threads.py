"""Eight fits at once in one process do not disturb each other."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from threadpoolctl import threadpool_limits

from concurrency.workloads import environment, same, tasks


def test_eight_threads_find_what_one_finds(expected):
    start = Barrier(8)

    def fit(task):
        machine, X, y = task
        start.wait()
        return machine.fit(X, y)

    with threadpool_limits(1), ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            fitted = list(pool.map(fit, tasks()))
            assert all(map(same, fitted, expected))


# The first fits of a process, and of a machine: compiled code is not on disk yet.
FIRST = """
from concurrent.futures import ThreadPoolExecutor
from concurrency.workloads import same, tasks

def fit(task):
    machine, X, y = task
    return machine.fit(X, y)

with ThreadPoolExecutor(8) as pool:
    fitted = list(pool.map(fit, tasks()))
assert all(map(same, fitted, map(fit, tasks())))
"""


def test_two_processes_of_eight_threads_compile_at_once(tmp_path):
    variables = environment(NUMBA_CACHE_DIR=str(tmp_path), OPENBLAS_NUM_THREADS="1")
    command = [sys.executable, "-c", FIRST]
    runs = [subprocess.Popen(command, env=variables) for _ in range(2)]
    assert [run.wait(timeout=200) for run in runs] == [0, 0]
    assert any(tmp_path.rglob("*.nbi"))  # and the compiled code is on disk now


def test_eight_threads_share_one_fitted_machine(expected):
    machine, (_, X, _) = expected[0], tasks()[0]
    with threadpool_limits(1), ThreadPoolExecutor(8) as pool:
        alone = machine.decision_function(X)
        answers = list(pool.map(machine.decision_function, [X] * 16))
    assert all((answer == alone).all() for answer in answers)
