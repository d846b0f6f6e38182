"""A first fit compiles few loops, and none where the disk remembers them.

Counted in a fresh process. Each takes about half a second to compile;
``make bench SUITE=promptness`` has the seconds.
"""

import os
import subprocess
import sys

import pytest

COUNT = """
import sys
import numpy as np
from numba.core import event
from mercer import SVC

class Names(event.Listener):
    def __init__(self):
        self.names = []
    def on_start(self, event):
        self.names.append(event.data["dispatcher"].py_func.__module__)
    def on_end(self, event):
        pass

rng = np.random.default_rng(0)
X = rng.standard_normal((int(sys.argv[1]), 4))
y = X[:, 0] * X[:, 1] > 0
compiled = Names()
with event.install_listener("numba:compile", compiled):
    SVC(gamma=0.25).fit(X, y)
ours = [name for name in compiled.names if name.startswith("mercer")]
print(sum(name.endswith("_numba") for name in ours), len(ours))
"""


def compiled(rows: int, folder: str) -> tuple[int, int]:
    """Count loops that the first fit of a fresh process compiles, kept in a folder, and all else.

    All else are formulas of the certificate, which NumPy evaluates elsewhere: some 50 milliseconds
    each.
    """
    command = [sys.executable, "-c", COUNT, str(rows)]
    environment = os.environ | {"NUMBA_CACHE_DIR": folder}
    run = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    loops, everything = map(int, run.stdout.split())
    return loops, everything


# The smaller sample is solved over kernel values in float64, with its certificate compiled too.
# The larger one is solved in float32 and certified in float64, which takes more functions.
@pytest.mark.parametrize(("rows", "most"), [(300, 6), (2000, 10)])
def test_a_first_fit_compiles_little_and_only_once(rows, most, tmp_path):
    loops, everything = compiled(rows, str(tmp_path))
    assert 0 < loops <= most
    assert everything - loops <= 7
    assert compiled(rows, str(tmp_path)) == (0, 0)
