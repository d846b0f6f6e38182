"""A fit takes the memory it was granted for kernel values, not the kernel matrix's."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads peak memory from /proc")

# The whole kernel matrix would take 20 GB. The peak counts, not the answer, so the fit ends early,
# long after the cache has been filled and overwritten many times.
FIT = """
import json, re, warnings
from pathlib import Path

import numpy as np
from mercer import SVC

def memory(name):
    return 1024 * int(re.search(name + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

rng = np.random.default_rng(0)
X = rng.standard_normal((50_000, 20))
y = np.sign(np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(len(X)))
before = memory("VmRSS")
warnings.simplefilter("ignore")  # stopped at max_iter
machine = SVC(cache_size=200, max_iter=3000).fit(X, y)
after_fit = memory("VmHWM")
machine.predict(X[:10_000])
print(json.dumps({
    "fit": after_fit - before,
    "predict": memory("VmHWM") - before,
    "support": len(machine.support_),
}))
"""


def test_fifty_thousand_rows_stay_under_a_gigabyte_above_the_data():
    # A fresh process: the high-water mark of this one belongs to other tests.
    run = subprocess.run([sys.executable, "-c", FIT], check=True, capture_output=True, text=True)
    peak = json.loads(run.stdout)
    assert peak["support"] > 1000  # the fit went somewhere
    assert 100e6 < peak["fit"] < 1e9
    assert peak["predict"] < 1e9
