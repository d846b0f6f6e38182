"""Copies of fitted machines that predict in float32."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import LSSVR, SVC, SVR
from mercer.compression import with_precision
from mercer.kernels import Periodic
from mercer.selection import SVRCV
from mercer_research.linear import NadarayaWatson

rng = np.random.default_rng(0)
X, NEW = rng.normal(size=(200, 3)), rng.normal(size=(700, 3))
Y = np.sin(X[:, 0]) + X[:, 1]


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_values_have_the_digits_of_float32(kernel, layout):
    machine = SVR(kernel=kernel, C=10.0).fit(layout(X), Y)
    double = machine.predict(layout(NEW))
    fast = with_precision(machine)
    single = fast.predict(layout(NEW))
    # The largest value that such coefficients can make.
    largest = np.sqrt(machine.kernel_.diag(NEW).max() * machine.kernel_.diag(X).max())
    size = np.abs(machine.dual_coef_).sum() * largest
    assert 0.0 < np.abs(single - double).max() <= 5e-6 * size
    # The machine itself is as it was, and the way back is open.
    np.testing.assert_array_equal(machine.predict(layout(NEW)), double)
    np.testing.assert_array_equal(with_precision(fast, "double").predict(layout(NEW)), double)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fast)).predict(layout(NEW)), single)
    np.testing.assert_array_equal(fast.fit(layout(X), Y).predict(layout(NEW)), double)


def test_pipelines_and_machines_that_tune_themselves():
    for machine in (make_pipeline(StandardScaler(), LSSVR()), SVRCV(budget=2)):
        double = machine.fit(X, Y).predict(NEW)
        single = with_precision(machine).predict(NEW)
        inner = machine[-1] if hasattr(machine, "steps") else machine.machine_
        size = np.abs(inner.dual_coef_).sum()
        assert 0.0 < np.abs(single - double).max() <= 5e-6 * size
        np.testing.assert_array_equal(machine.predict(NEW), double)


def test_decision_functions_and_labels():
    machine = SVC().fit(X, np.digitize(Y, [-0.5, 0.5]))
    fast = with_precision(machine)
    difference = np.abs(fast.decision_function(NEW) - machine.decision_function(NEW)).max()
    assert 0.0 < difference <= 1e-4


def test_kernels_without_float32_stay_as_they_are():
    machine = SVR(kernel=Periodic(4.0)).fit(X, Y)
    found = with_precision(machine).predict(NEW)
    np.testing.assert_array_equal(found, machine.predict(NEW))


def test_what_has_no_precision():
    with pytest.raises(ValueError, match="'single' or 'double'"):
        with_precision(SVR().fit(X, Y), "half")
    with pytest.raises(TypeError, match="NadarayaWatson is no expansion"):
        with_precision(NadarayaWatson().fit(X, Y))
