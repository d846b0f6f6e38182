"""A first fit compiles in a few seconds, and in a third of one where the disk remembers.

Counted in processor seconds of a fresh process, once its modules are imported. Numba's own start
(it imports a hundred modules of its own when it is first used) comes before the clock, then a loop
of known cost, which tells how slow this machine is at the moment.
"""

import json
import os
import subprocess
import sys

import pytest

MEASURE = """
import json, sys, time
import numpy as np
from numba import njit
from numba.core import event
from mercer import SVC

class Names(event.Listener):
    def __init__(self):
        self.names = []
    def on_start(self, event):
        self.names.append(event.data["dispatcher"].py_func.__module__)
    def on_end(self, event):
        pass

def spent(call, *arguments):
    begin = time.process_time()
    call(*arguments)
    return time.process_time() - begin

@njit
def awake(x):
    return x

@njit
def yardstick(x, low, high):
    best, place = -1.0, -1
    for i in range(x.shape[0]):
        row = x[i]
        for j in range(x.shape[1]):
            row[j] = row[j] * low[i] + high[j] if row[j] > low[j] else high[i] / (1.0 + low[j])
            if row[j] > best:
                best, place = row[j], i
    return best, place

rng = np.random.default_rng(0)
X = rng.standard_normal((int(sys.argv[1]), 4))
y = X[:, 0] * X[:, 1] > 0
awake(1.0)
unit = spent(yardstick, np.ones((3, 3)), np.zeros(3), np.ones(3))
compiled = Names()
with event.install_listener("numba:compile", compiled):
    first, second = (spent(SVC(gamma=0.25).fit, X, y) for _ in range(2))
ours = sum(name.startswith("mercer") for name in compiled.names)
print(json.dumps({"unit": unit, "cost": first - second, "compiled": ours}))
"""

# Processor seconds of the yardstick on an otherwise idle machine of the kind that the promise is
# made for; a slower or busier one is given more time in proportion.
UNIT = 0.15


def first_fit(rows: int, folder: str) -> dict[str, float]:
    """Measure the first fit of a fresh process that keeps what it compiles in a folder."""
    single = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    command = [sys.executable, "-c", MEASURE, str(rows)]
    environment = os.environ | single | {"NUMBA_CACHE_DIR": folder}
    run = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return json.loads(run.stdout)


# The smaller sample is solved over kernel values in float64, with its certificate compiled too.
# The larger one is solved in float32 and certified in float64, which takes more functions.
@pytest.mark.parametrize(("rows", "seconds"), [(300, 4.5), (2000, 4.5)])
def test_a_first_fit_compiles_quickly_and_only_once(rows, seconds, tmp_path):
    def costs(runs, limit):
        """Measure in seconds of the yardstick, again where a neighbour was busy."""
        for _ in range(3):
            found = runs()
            found["cost"] /= max(1.0, found["unit"] / UNIT)
            if found["cost"] <= limit:
                break
        return found

    folders = iter(tmp_path / str(i) for i in range(3))
    new = costs(lambda: first_fit(rows, str(next(folders))), seconds)
    assert new["compiled"] > 0
    assert new["cost"] <= seconds
    again = costs(lambda: first_fit(rows, str(tmp_path / "0")), 0.3)
    assert again["compiled"] == 0
    assert again["cost"] <= 0.3
