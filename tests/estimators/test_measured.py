"""Norm, penalty and risks of fitted machines against plain NumPy."""

import numpy as np
import pytest

from mercer import (
    LSSVR,
    SVC,
    SVR,
    AdditiveRegressor,
    KernelClassifier,
    KernelLogisticRegression,
    KernelRegressor,
    NuSVC,
    NuSVR,
    OneClassSVM,
)
from mercer.estimators import SparseRegressor
from mercer.inspect.margins import empirical_risk
from mercer.kernels import Gaussian
from mercer.losses import Absolute, EpsilonInsensitive, Hinge, Logistic, Squared
from mercer.reduced import Nystrom
from mercer_research.estimators import HardMarginSVC, RegularizationNetwork

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=40)
TWO, THREE = (Y > 0).astype(int), np.digitize(Y, [-0.4, 0.4])
S = RNG.uniform(0.5, 2.0, size=40)


def norms(machine):
    """Return the norms of expansions over support vectors, a row of coefficients each."""
    K, A = machine.kernel_(machine.support_vectors_), machine.dual_coef_
    return np.sqrt(np.einsum("ki,ij,kj->k", A, K, A))


@pytest.mark.parametrize(
    ("machine", "y"),
    [
        (SVR(), Y),
        (LSSVR(C=10.0), Y),
        (LSSVR(), np.column_stack([Y, Y**2])),
        (KernelRegressor("huber"), Y),
        (NuSVR(), Y),
        (AdditiveRegressor(), Y),
        (SVC(), TWO),
        (NuSVC(nu=0.3), TWO),
        (HardMarginSVC(kernel=Gaussian(0.5)), TWO),
        (KernelClassifier("squared_hinge"), THREE),
        (SVR(approximation=Nystrom(15)), Y),
        (LSSVR(approximation=Nystrom(15)), Y),
        (NuSVC(nu=0.3, approximation=Nystrom(15)), TWO),
        (SVC(approximation=Nystrom(15)), THREE),
    ],
    ids=repr,
)
def test_norm_and_penalty(machine, y):
    expected = norms(machine.fit(X, y))
    # Landmarks that nearly agree leave their matrix rounding of 1e-8 relative to its largest entry.
    np.testing.assert_allclose(np.atleast_1d(machine.norm_), expected, rtol=1e-7)
    np.testing.assert_allclose(np.atleast_1d(machine.penalty_), 0.5 * expected**2, rtol=1e-7)


def test_pairs_of_classes():
    machine = SVC().fit(X, THREE)
    for k, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        rows = np.isin(THREE, [i, j])
        one = SVC(gamma=machine.kernel_.gamma).fit(X[rows], THREE[rows])
        assert machine.norm_[k] == pytest.approx(one.norm_, rel=1e-3)
        assert machine.empirical_risk_[k] == pytest.approx(one.empirical_risk_, abs=1e-3)


@pytest.mark.parametrize(
    ("machine", "loss", "y"),
    [
        (SVR(C=3.0), EpsilonInsensitive(0.1), Y),
        (LSSVR(C=3.0), Squared(), Y),
        (KernelRegressor("absolute", C=3.0), Absolute(), Y),
        (SVC(C=3.0), Hinge(), 2.0 * TWO - 1.0),
        (KernelLogisticRegression(C=3.0), Logistic(), 2.0 * TWO - 1.0),
    ],
    ids=repr,
)
def test_risks_are_the_printed_ones(machine, loss, y):
    """R_emp = sum s l / sum s and R_reg = R_emp + Q / (C sum s)."""
    machine.fit(X, y, sample_weight=S)
    f = machine.predict(X) if y is Y else machine.decision_function(X)
    risk = np.average(loss.value(y, f), weights=S)
    assert machine.empirical_risk_ == pytest.approx(risk, rel=1e-9)
    assert machine.empirical_risk_ == pytest.approx(
        empirical_risk(machine, X, y, loss, sample_weight=S), rel=1e-9
    )
    total = risk + 0.5 * norms(machine)[0] ** 2 / (3.0 * S.sum())
    assert machine.regularized_risk_ == pytest.approx(total, rel=1e-9)
    # Formulations are compared by any other loss.
    other = empirical_risk(machine, X, y, Squared())
    assert other == pytest.approx(0.5 * np.mean((y - f) ** 2), rel=1e-9)


def test_one_class():
    machine = OneClassSVM(nu=0.3).fit(X)
    f, rho = machine.score_samples(X), machine.offset_[0]
    expected = 0.5 * norms(machine)[0] ** 2 + np.sum(np.maximum(rho - f, 0.0)) - 0.3 * 40 * rho
    assert machine.regularized_risk_ == pytest.approx(expected / 40, rel=1e-9)


def test_another_penalty():
    """The norm of a regularization network is that of its operator, here of the coefficients."""
    network = RegularizationNetwork(Gaussian(), "ridge").fit(X, Y)
    assert network.norm_ == pytest.approx(np.linalg.norm(network.dual_coef_), rel=1e-6)


def test_what_has_no_such_value_says_so():
    with pytest.raises(AttributeError, match="no norm of a kernel's space"):
        _ = SparseRegressor().fit(X, Y).norm_
    with pytest.raises(AttributeError, match="empirical_risk"):
        _ = NuSVR().fit(X, Y).empirical_risk_
    with pytest.raises(AttributeError, match="approximation"):
        _ = SVR(approximation=Nystrom(5)).fit(X, Y).regularized_risk_
    assert not hasattr(SVR(), "norm_")
    coupled = KernelRegressor(output_covariance=np.array([[1.0, 0.5], [0.5, 2.0]]))
    assert not hasattr(coupled.fit(X, np.column_stack([Y, Y**2])), "norm_")
