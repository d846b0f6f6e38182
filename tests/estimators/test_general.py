"""Machines with every part left open."""

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import (
    euclidean_distances,
    laplacian_kernel,
    linear_kernel,
    polynomial_kernel,
    rbf_kernel,
    sigmoid_kernel,
)

from estimators.twins import TOL, agree, sample, slack
from mercer import SVC, SVR, KernelClassifier, KernelLogisticRegression, KernelRegressor
from mercer.estimators import IndefiniteKernel
from mercer.gram import Dense
from mercer.kernels import BSpline, Gaussian, Linear, Matern, Sigmoid
from mercer.losses import EpsilonInsensitive, Hinge, Huber, Logistic, Pinball
from mercer.losses.named import CLASSIFICATION, REGRESSION
from mercer.problems import RegularizedRisk
from mercer.regularizers import Constant, Empty, Functions, Polynomial
from mercer.solvers import ConvergenceWarning

X, Y, Z, T = sample()
BINARY = Y == "a"
SPACES = [None, Empty(), Polynomial(1), Constant() + Functions([np.sin], [3])]


def space_id(space):
    return "default" if space is None else type(space).__name__


@pytest.mark.parametrize("space", SPACES, ids=space_id)
@pytest.mark.parametrize("loss", sorted(REGRESSION))
def test_prediction_is_what_the_solution_says(loss, space):
    machine = KernelRegressor(loss, Gaussian(1.5), null_space=space, C=2.0, tol=1e-6).fit(X, Z)
    solution = machine.solution_
    assert solution.converged
    f = machine.predict(X)
    # The same sums in another order.
    np.testing.assert_allclose(f, solution.f, rtol=0, atol=1e-11)
    assert machine.null_space_coef_.shape == solution.b.shape
    assert (machine.intercept_[0] != 0) == (space_id(space) != "Empty")
    # The objective and the gap, from what the machine shows alone.
    a = np.zeros(60)
    a[machine.support_] = machine.dual_coef_[0]
    B = machine.null_space_(X)
    risk = RegularizedRisk(REGRESSION[loss](), Dense(machine.kernel_(X)), Z, 2.0, B)
    certificate = risk.certificate(a, machine.null_space_coef_)
    assert certificate.primal == pytest.approx(solution.objective, rel=1e-10)
    assert certificate.gap == pytest.approx(solution.gap, rel=1e-3, abs=1e-12)
    assert np.max(np.abs(B.T @ a), initial=0.0) <= 1e-9 * np.sum(np.abs(a))


@pytest.mark.parametrize("space", SPACES, ids=space_id)
@pytest.mark.parametrize("loss", sorted(CLASSIFICATION))
@pytest.mark.parametrize("y", [Y, BINARY], ids=["three", "two"])
def test_decisions_are_what_the_solution_says(y, loss, space):
    machine = KernelClassifier(loss, Gaussian(1.5), null_space=space, C=2.0, tol=1e-6).fit(X, y)
    f = machine.decision_function(X)
    by_class = f[:, None] if f.ndim == 1 else f
    np.testing.assert_allclose(by_class.T.ravel(), machine.solution_.f, rtol=0, atol=1e-11)
    n_machines = by_class.shape[1]
    assert n_machines == (1 if y is BINARY else 3)
    assert machine.dual_coef_.shape == (n_machines, len(machine.support_))
    assert machine.intercept_.shape == (n_machines,)
    expected = f > 0 if f.ndim == 1 else machine.classes_[np.argmax(f, axis=1)]
    np.testing.assert_array_equal(machine.predict(X), expected)
    assert machine.score(X, y) > 0.8


def test_squared_loss_is_kernel_ridge():
    machine = KernelRegressor(kernel=Gaussian.from_gamma(0.5), null_space=Empty(), C=4.0).fit(X, Z)
    ridge = KernelRidge(alpha=0.25, kernel="rbf", gamma=0.5).fit(X, Z)
    np.testing.assert_allclose(machine.predict(T), ridge.predict(T), rtol=1e-9)
    np.testing.assert_allclose(machine.dual_coef_[0], ridge.dual_coef_, rtol=1e-8)


def test_logistic_loss_is_logistic_regression():
    """With the linear kernel and a free intercept both minimize the same function."""
    machine = KernelLogisticRegression("linear", C=0.7, tol=1e-12).fit(X, BINARY)
    twin = LogisticRegression(C=0.7, tol=1e-12, max_iter=10_000).fit(X, BINARY)
    # The twin stops where its objective no longer changes by 64 units in the last place: half the
    # digits of the coefficients.
    np.testing.assert_allclose(machine.coef_, twin.coef_, rtol=1e-6)
    np.testing.assert_allclose(machine.intercept_, twin.intercept_, rtol=1e-6)
    np.testing.assert_allclose(machine.predict_proba(T), twin.predict_proba(T), rtol=1e-6)
    np.testing.assert_allclose(machine.predict_log_proba(T), twin.predict_log_proba(T), rtol=1e-5)


def test_hinge_of_two_classes_is_the_vote():
    general = KernelClassifier(Hinge(), C=2.0, tol=TOL).fit(X, BINARY)
    machine = SVC(C=2.0, tol=TOL).fit(X, BINARY)
    room = slack(general, machine.solution_.gap, 0.0, 1.0)
    agree(general.decision_function(T), machine.decision_function(T), room)
    np.testing.assert_array_equal(general.support_, np.sort(machine.support_))


class TestProbabilities:
    @pytest.mark.parametrize("y", [Y, BINARY], ids=["three", "two"])
    def test_logistic(self, y):
        machine = KernelClassifier("logistic", C=3.0).fit(X, y)
        p = machine.predict_proba(T)
        assert p.shape == (25, len(machine.classes_))
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        np.testing.assert_array_equal(machine.classes_[p.argmax(axis=1)], machine.predict(T))
        np.testing.assert_array_equal(machine.predict_log_proba(T), np.log(p))
        np.testing.assert_array_equal(p, KernelLogisticRegression(C=3.0).fit(X, y).predict_proba(T))

    def test_only_for_losses_that_have_them(self):
        assert not hasattr(KernelClassifier("hinge").fit(X, Y), "predict_proba")
        assert not hasattr(KernelClassifier("hinge").fit(X, Y), "predict_log_proba")
        with pytest.raises(AttributeError, match="predict_proba"):
            KernelClassifier(Hinge()).fit(X, Y).predict_proba(T)

    def test_far_away_is_certain(self):
        """Where the sigmoid is zero in floating point the logarithm is minus infinity, silently."""
        machine = KernelLogisticRegression("linear", C=1e3).fit(X, BINARY)
        far = 1e6 * machine.coef_
        assert machine.predict_proba(far).max() == 1.0
        assert machine.predict_log_proba(far).min() == -np.inf


@pytest.mark.filterwarnings("ignore:Sigmoid.*is not positive definite")
@pytest.mark.parametrize("gamma", ["scale", "auto", 0.3])
@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("rbf", rbf_kernel),
        ("laplacian", laplacian_kernel),
        ("sigmoid", lambda A, gamma: sigmoid_kernel(A, gamma=gamma, coef0=0.5)),
        ("poly", lambda A, gamma: polynomial_kernel(A, degree=4, gamma=gamma, coef0=0.5)),
        ("linear", lambda A, gamma: linear_kernel(A)),
    ],
)
def test_names_mean_scikit_learns_kernels(name, theirs, gamma):
    width = {"scale": 1 / (3 * X.var()), "auto": 1 / 3}.get(gamma, gamma)
    machine = KernelRegressor(kernel=name, gamma=gamma, degree=4, coef0=0.5, max_time=60)
    if name == "sigmoid":
        machine.set_params(C=1e-3)  # not positive definite: less than its negative eigenvalues
    machine.fit(X, Z)
    np.testing.assert_allclose(machine.kernel_(X), theirs(X, gamma=width), rtol=1e-12, atol=1e-12)
    if name in ("rbf", "poly", "sigmoid"):
        assert machine._gamma == pytest.approx(width)


def test_a_kernel_that_is_none_is_told():
    with pytest.warns(IndefiniteKernel, match=r"Sigmoid.* has the eigenvalue -"):
        SVC(kernel=Sigmoid(1.0, -1.0)).fit(X, Z > 0)
    with pytest.warns(IndefiniteKernel, match="BSpline"):
        SVR(kernel=BSpline(2.0, degree=2)).fit(X, Z)
    SVR(kernel=Sigmoid(1e-3, 1.0)).fit(X[:1], Z[:1])  # nothing negative is seen in one point


def minus_gaussian(A, B):
    return -rbf_kernel(A, B, gamma=1.0)


def test_functions_and_matrices_that_are_no_kernels_are_told():
    least = np.linalg.eigvalsh(minus_gaussian(X, X))[0]
    with pytest.warns(IndefiniteKernel, match="kernel function .* has the eigenvalue -") as heard:
        SVC(kernel=minus_gaussian, C=1e-3).fit(X, Z > 0)
    told = float(re.search(r"eigenvalue (\S+)\.", str(heard[0].message))[1])
    assert least <= told < 0.5 * least  # coefficients that sum to zero see a little less
    with pytest.warns(IndefiniteKernel, match="precomputed kernel matrix"):
        SVC(kernel="precomputed", C=1e-3).fit(minus_gaussian(X, X), Z > 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "matrix",
    [
        rbf_kernel,
        linear_kernel,
        lambda A: linear_kernel(A + 1e4),  # of rank three, and rounding of 1e8
        lambda A: -np.sqrt(euclidean_distances(A, squared=True)),  # where coefficients sum to zero
    ],
)
def test_rounding_is_no_negative_eigenvalue(matrix, dtype):
    K = matrix(X).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error", IndefiniteKernel)
        warnings.simplefilter("ignore", ConvergenceWarning)
        SVR(kernel="precomputed", C=1e-6).fit(K, Z)


def test_positional_parameters():
    loss, kernel = Huber(0.3), Matern(2.0)
    assert KernelRegressor(loss, kernel).get_params()["kernel"] is kernel
    assert KernelClassifier(Logistic(), kernel).loss == Logistic()
    assert KernelLogisticRegression(kernel).kernel is kernel


def test_weights_by_class():
    weighted = KernelClassifier(class_weight={"a": 3.0, "b": 1.0, "c": 0.5}).fit(X, Y)
    weights = np.array([3.0, 1.0, 0.5])[np.unique(Y, return_inverse=True)[1]]
    np.testing.assert_array_equal(
        weighted.decision_function(T),
        KernelClassifier().fit(X, Y, sample_weight=weights).decision_function(T),
    )
    np.testing.assert_array_equal(weighted.class_weight_, [3.0, 1.0, 0.5])
    balanced = KernelClassifier(class_weight="balanced").fit(X, Y)
    np.testing.assert_allclose(balanced.class_weight_, 60 / 3 / np.unique(Y, return_counts=True)[1])


@pytest.mark.parametrize("sparse", [sp.csr_array, sp.csr_matrix])
def test_sparse_input_with_components(sparse):
    dense = KernelRegressor(Pinball(0.7), Gaussian(1.5), tol=TOL).fit(X, Z)
    machine = KernelRegressor(Pinball(0.7), Gaussian(1.5), tol=TOL).fit(sparse(X), Z)
    room = slack(dense, machine.solution_.gap, 0.0, 1.0)
    agree(machine.predict(sparse(T)), dense.predict(T), room)
    classifier = KernelClassifier("squared", Linear()).fit(sparse(X), Y)
    np.testing.assert_allclose(
        classifier.coef_.toarray(), KernelClassifier("squared", Linear()).fit(X, Y).coef_, rtol=1e-9
    )


def test_null_space_of_a_trend():
    """A line stays a line whatever the penalty: nothing of it is penalized."""
    line = X @ [1.0, -2.0, 0.5] + 3.0
    machine = KernelRegressor(
        EpsilonInsensitive(0.0), Gaussian(0.3), null_space=Polynomial(1), C=1e-3, tol=1e-8
    ).fit(X, line)
    # Every residual is at most tol, and the columns of B are independent.
    room = np.sqrt(60) * 1e-8 / np.linalg.svd(machine.null_space_(X), compute_uv=False)[-1]
    np.testing.assert_allclose(machine.null_space_coef_, [3.0, 1.0, -2.0, 0.5], rtol=0, atol=room)
    np.testing.assert_array_equal(machine.intercept_, machine.null_space_coef_[:1])
