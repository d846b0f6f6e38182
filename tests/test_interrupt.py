"""Ctrl-C is heard long before a fit ends and leaves the machine as it was.

How long it takes to be heard is measured by ``make bench SUITE=promptness``.
"""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from hostile.generator import good
from hostile.judge import fit
from hostile.machines import MACHINES, make

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends SIGINT to another process")

# Fits that would take minutes, and a first one that takes no time.
FITS = {
    "decomposition": "SVC(C=1e3, solver='smo'), 20_000",
    "interior point": "SVC(C=1e3, solver='interior_point', tol=1e-13), 2_500",
    "Newton": "KernelLogisticRegression(C=1e6, solver='newton', tol=1e-15), 3_000",
}
# Seconds after which the signal is sent: while the kernel matrix is made, and in the middle.
MOMENTS = [0.05, 0.3, 1.0, 2.5]

CHILD = """
import json
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
        pass
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
    print(json.dumps(usable), flush=True)
# And it can still be fitted.
assert clone(machine).set_params(tol=1e-3).fit(first, labels).score(first, labels) > 0.5
"""


@pytest.mark.parametrize("name", FITS)
def test_interrupting_a_fit_leaves_no_broken_state(name):
    program = CHILD.replace("= MACHINE", f"= {FITS[name]}").replace(
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
        for moment in MOMENTS:
            assert child.stdout.readline() == "go\n"
            time.sleep(moment)
            child.send_signal(signal.SIGINT)
            assert json.loads(child.stdout.readline())  # the fit itself takes minutes
    assert child.returncode == 0


# Rows with which a fit takes at least a second of the processor, for every exported estimator that
# can: others (densities, scalers, linear models of few features) end before anyone would interrupt.
ROWS = {
    "AdaptiveMarginSVC": 1000,
    "AdditiveClassifier": 6000,
    "AdditiveRegressor": 5000,
    "AdditiveRegularization": 2000,
    "CensoredRegressor": 6000,
    "RegimeSwitchingRegressor": 1000,
    "FixedComplexity": 6000,
    "Forecaster": 5000,
    "FusedLSSVR": 1000,
    "HardMarginSVC": 2000,
    "HardTubeSVR": 600,
    "HuberSVR": 3000,
    "ConformalRegressor": 600,
    "KernelCDF": 400,
    "KernelClassifier": 6000,
    "KernelLogisticRegression": 8000,
    "KernelPerceptron": 3000,
    "KernelRegressor": 6000,
    "LSSVC": 5000,
    "LSSVCCV": 1500,
    "LSSVR": 5000,
    "LSSVRCV": 1500,
    "LeaveOneOutSVC": 1000,
    "HeteroscedasticSVR": 20_000,
    "MarginBoost": 30_000,
    "PartiallyLinearRegressor": 6000,
    "NuSVC": 20_000,
    "NuSVR": 20_000,
    "NuSparseClassifier": 1500,
    "NuSparseRegressor": 600,
    "HeteroscedasticNuSVR": 3000,
    "OneClassSVM": 40_000,
    "QuantileBand": 6000,
    "QuantileSVR": 20_000,
    "RBFNetwork": 8000,
    "RegularizationNetwork": 1500,
    "RobustLSSVR": 3000,
    "SVC": 20_000,
    "SVCCV": 1500,
    "SVR": 20_000,
    "SVRCV": 1500,
    "ShapeConstrainedClassifier": 3000,
    "ShapeConstrainedRegressor": 6000,
    "SmoothingSpline": 6000,
    "SparseClassifier": 1500,
    "SparseRegressor": 1500,
    "SparseSubstrate": 400,
    "SparseSubstrateClassifier": 400,
    "StableLSSVR": 400,
    "SupportVectorTube": 40_000,
    "TermSelector": 1500,
    "ThinPlateSpline": 3000,
    "UniversalKriging": 5000,
    "SparseAdditiveClassifier": 400,
    "SparseAdditiveRegressor": 400,
    "MultiOutputSVR": 800,
}
# Those whose defaults cannot be fitted to the data of the suite.
GIVEN = {"FixedComplexity", "Forecaster", "HardMarginSVC"}
# Seconds of the processor after which the signal comes.
MOMENT = 0.2


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ROWS)
def test_every_estimator_hears_an_interrupt(name):
    fit(make(name), *good(name))  # whatever is compiled once
    machine = make(name) if name in GIVEN else MACHINES[name]()
    X, y = good(name, seed=1, n=ROWS[name])

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGPROF, interrupt)
    signal.setitimer(signal.ITIMER_PROF, MOMENT)
    try:
        with pytest.raises(KeyboardInterrupt):
            fit(machine, X, y)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
