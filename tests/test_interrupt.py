"""Ctrl-C returns control within a second and leaves the machine as it was."""

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends SIGINT to another process")

# Fits that would take minutes, and a first one that takes no time.
MACHINES = {
    "decomposition": "SVC(C=1e3, solver='smo'), 20_000",
    "interior point": "SVC(C=1e3, solver='interior_point', tol=1e-13), 2_500",
    "Newton": "KernelLogisticRegression(C=1e6, solver='newton', tol=1e-15), 3_000",
}
# Seconds after which the signal is sent: while the kernel matrix is made, and in the middle.
MOMENTS = [0.05, 0.3, 1.0, 2.5]

CHILD = """
import json, sys, time
import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from mercer import SVC, KernelLogisticRegression

machine, n = MACHINE
rng = np.random.default_rng(0)
X = rng.standard_normal((n, 5))
y = np.where(X[:, 0] * X[:, 1] + rng.standard_normal(n) > 0, 1, -1)
first, labels = X[:200, :3] * 7.0, np.where(y[:200] > 0, "yes", "no")

fitted = clone(machine).set_params(tol=1e-3).fit(first, labels)
expected = fitted.predict(first), fitted.decision_function(first)
fitted.set_params(tol=machine.tol)
for k in range(MOMENTS):
    # In turn a machine that was never fitted, and one that was, on data of another shape and scale.
    subject = fitted if k % 2 else clone(machine)
    print("go", flush=True)
    try:
        subject.fit(X, y)
        raise AssertionError("the fit ended before the signal came")
    except KeyboardInterrupt:
        caught = time.monotonic(), time.process_time()
    if subject is fitted:
        usable = np.array_equal(subject.predict(first), expected[0]) and np.array_equal(
            subject.decision_function(first), expected[1]
        )
    else:
        try:
            subject.predict(X)
            usable = False
        except NotFittedError:
            usable = True
    print(json.dumps([*caught, usable]), flush=True)
# And it can still be fitted.
assert clone(machine).set_params(tol=1e-3).fit(first, labels).score(first, labels) > 0.5
"""


@pytest.mark.parametrize("name", MACHINES)
def test_interrupting_a_fit_is_quick_and_leaves_no_broken_state(name):
    program = CHILD.replace("= MACHINE", f"= {MACHINES[name]}").replace(
        "range(MOMENTS)", f"range({len(MOMENTS)})"
    )
    one_thread = dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"], "1")
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | one_thread,
    )
    with child:
        assert child.stdout is not None
        process = psutil.Process(child.pid)
        for moment in MOMENTS:
            assert child.stdout.readline() == "go\n"
            time.sleep(moment)
            sent, used = time.monotonic(), sum(process.cpu_times()[:2])
            child.send_signal(signal.SIGINT)
            caught, used_when_caught, usable = json.loads(child.stdout.readline())
            # On a busy machine a second of the clock is less than one of the processor.
            assert used_when_caught - used < 1.0
            assert caught - sent < 10.0
            assert usable
    assert child.returncode == 0
