"""Machines over neighbours are the machines over the whole matrix."""

import numpy as np
import pytest

from mercer import SVC, SVR, KernelClassifier, KernelRegressor, NuSVC, OneClassSVM
from mercer.gram.sparse import Sparse
from mercer.kernels import BSpline
from mercer.losses import Huber, Squared
from mercer.machines.subproblems import Rows
from mercer.regularizers import Polynomial
from mercer.solvers import ConjugateGradient

N, TOL = 300, 1e-8
rng = np.random.default_rng(0)
X = rng.uniform(size=(N, 2))
Z = np.sin(9 * X[:, 0]) + 0.3 * rng.normal(size=N)
THREE = np.digitize(Z, [-0.4, 0.4])
NEW = rng.uniform(size=(100, 2))
KERNEL = BSpline(0.05)

MACHINES = [
    (SVC(kernel=KERNEL, tol=TOL), THREE),
    (SVC(kernel=KERNEL, tol=TOL), THREE > 0),
    (NuSVC(kernel=KERNEL, nu=0.3, tol=TOL), THREE > 0),
    (SVR(kernel=KERNEL, tol=TOL), Z),
    (SVR(kernel=KERNEL, tol=TOL, null_space=Polynomial(1)), Z),
    (OneClassSVM(kernel=KERNEL, nu=0.2, tol=TOL), None),
    (KernelRegressor(Squared(), kernel=KERNEL, tol=TOL), Z),
    (KernelRegressor(Squared(), kernel=KERNEL, tol=TOL, solver="conjugate_gradient"), Z),
    (KernelRegressor(Huber(0.2), kernel=KERNEL, tol=TOL, null_space=Polynomial(1)), Z),
    (KernelClassifier("logistic", kernel=KERNEL, tol=TOL), THREE),
]


@pytest.fixture(autouse=True)
def _prediction_looks_for_neighbours(monkeypatch):
    monkeypatch.setattr("mercer.kernels.products.WORTH", 0)


def values(machine):
    decide = getattr(machine, "decision_function", machine.predict)
    return decide(NEW)


@pytest.mark.parametrize(("machine", "y"), MACHINES, ids=lambda m: type(m).__name__)
def test_neighbours_make_the_same_machine(machine, y):
    dense, sparse = (
        machine.__class__(**machine.get_params(deep=False)).set_params(gram=gram).fit(X, y)
        for gram in ("dense", "sparse")
    )
    assert sparse.solution_.converged
    # Both are within their gaps of the optimum, and half of the squared distance is less: the
    # distance of two functions is at least that of their values over the root of k(x, x) = 4/9.
    scale = 1 + abs(dense.solution_.objective)
    excess = dense.solution_.gap + sparse.solution_.gap + 1e-13 * N * scale
    slack = 2 * np.sqrt(2 * excess) + 10 * TOL  # the intercept follows the values
    assert slack < 0.01
    np.testing.assert_allclose(values(sparse), values(dense), atol=slack)


def test_the_matrix_is_chosen_by_itself():
    many = rng.uniform(size=(600, 2))  # fewer are dense in no time
    machine = SVR(kernel=KERNEL).fit(many, many[:, 0])
    assert isinstance(machine._make_gram(Rows(many)), Sparse)


def test_a_machine_never_evaluates_a_block(monkeypatch):
    expected = KernelRegressor(Squared(), kernel=KERNEL, gram="dense").fit(X, Z).predict(NEW)
    monkeypatch.setattr(BSpline, "against", None)
    machine = KernelRegressor(
        Squared(), kernel=KERNEL, gram="sparse", solver=ConjugateGradient(1e-9)
    ).fit(X, Z)
    np.testing.assert_allclose(machine.predict(NEW), expected, atol=1e-7)
