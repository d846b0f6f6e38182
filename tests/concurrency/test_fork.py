"""A process that was forked from one that had already fitted can fit."""

import os
import subprocess
import sys

import pytest

from concurrency.workloads import environment

# In an interpreter of its own: forking a process full of other tests' threads is not the question.
FORK = """
import multiprocessing
import numpy as np
from concurrency.workloads import same, tasks

def fit(k):
    machine, X, y = tasks()[k]
    return machine.fit(X, y)

if __name__ == "__main__":
    expected = [fit(k) for k in range(8)]
    A = np.random.default_rng(0).standard_normal((800, 800))
    np.linalg.cholesky(A @ A.T)  # the threads of BLAS exist in the parent and not in the child
    with multiprocessing.get_context("fork").Pool(2) as pool:
        fitted = pool.map(fit, range(8))
    assert all(map(same, fitted, expected))
    assert all(map(same, [fit(k) for k in range(8)], expected))  # the parent is as it was
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_forked_children_find_what_their_parent_found():
    run = subprocess.run(
        [sys.executable, "-c", FORK],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment(),
    )
    assert run.returncode == 0, run.stderr
