"""The intercept where no coefficient is free: the middle of the optimal ones, for every solver."""

import numpy as np
import pytest
from sklearn import svm

from mercer import SVC, SVR, KernelClassifier, NuSVC, NuSVR, OneClassSVM, QuantileSVR
from mercer.gram import Dense
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Hinge, Logistic
from mercer.problems import RegularizedRisk
from mercer.reduced import Nystrom
from mercer.regularizers import Empty, Polynomial
from mercer.solvers import SMO, InteriorPoint, minimize

X = 10.0 * np.arange(4.0)[:, None]
Y = np.array([0.0, 1.0, 5.0, 7.0])
LABELS = np.array([-1.0, -1.0, 1.0, 1.0])
PROBLEMS = {
    "tube": (EpsilonInsensitive(0.1), Y),
    "hinge": (Hinge(), LABELS),
}


def objective(risk, a, b):
    """Return the regularized risk as it is printed."""
    f = risk.K.K @ a + risk.B @ b
    return 0.5 * a @ risk.K.K @ a + np.sum(risk.c * risk.loss.value(risk.y, f)) + risk.d @ b


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("solver", [SMO(tol=1e-8), InteriorPoint(tol=1e-8)])
def test_all_of_the_interval_is_optimal_and_nothing_beyond(name, solver):
    loss, y = PROBLEMS[name]
    risk = RegularizedRisk(loss, Dense(Gaussian()(X)), y, 0.01, np.ones((4, 1)))
    solution = minimize(risk, solver)
    assert solution.n_free == 0
    bottom, top = solution.b_interval[0]
    assert top - bottom > 1.0
    np.testing.assert_allclose(solution.b, 0.5 * (bottom + top), rtol=1e-12, atol=1e-12)
    least = objective(risk, solution.a, solution.b)
    for b in np.linspace(bottom, top, 5):
        np.testing.assert_allclose(objective(risk, solution.a, [b]), least, rtol=1e-13)
    for b in (bottom - 1e-3, top + 1e-3):
        assert objective(risk, solution.a, [b]) > least + 1e-6
    assert solution.gap <= 1e-12


def test_solvers_agree_on_the_example():
    """Middle of [1.1, 4.9], as in LIBSVM, for a tube of 0.1 around 1 and 5."""
    found = [SVR(C=0.01, gamma=1.0, solver=s).fit(X, Y) for s in ("smo", "interior_point")]
    expected = svm.SVR(C=0.01, gamma=1.0).fit(X, Y).intercept_
    for machine in found:
        np.testing.assert_allclose(machine.intercept_, expected, atol=1e-9)
        np.testing.assert_allclose(
            machine.intercept_interval_, [[1.1, 4.9]] + 0.01 * np.array([[1.0, -1.0]]), atol=1e-9
        )


@pytest.mark.parametrize("solver", ["smo", "interior_point"])
def test_classifiers_are_those_of_libsvm(solver):
    points, classes = np.vstack([X, X + 3.0, X - 3.0]), np.repeat([0, 1, 2], 4)
    machine = SVC(C=0.01, gamma=1.0, solver=solver, tol=1e-8).fit(points, classes)
    other = svm.SVC(C=0.01, gamma=1.0, tol=1e-8).fit(points, classes)
    np.testing.assert_allclose(machine.intercept_, other.intercept_, atol=1e-6)


@pytest.mark.parametrize("solver", ["smo", "interior_point"])
def test_both_walls_of_a_margin_are_centred(solver):
    """One sample of each class at its bound, the other at zero: LIBSVM has the middle of both."""
    points, labels = np.array([[-5.0], [-1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
    machine = NuSVC(nu=0.5, kernel="linear", solver=solver, tol=1e-8).fit(points, labels)
    other = svm.NuSVC(nu=0.5, kernel="linear", tol=1e-8).fit(points, labels)
    assert machine.solution_.n_free == 0
    np.testing.assert_allclose(machine.intercept_, other.intercept_, atol=1e-9)
    np.testing.assert_allclose(machine.dual_coef_, other.dual_coef_, atol=1e-9)


def test_classifiers_have_an_interval_a_pair():
    classes = np.array([0, 0, 1, 2])
    for machine in (
        SVC(C=0.01, gamma=1.0).fit(X, classes),
        KernelClassifier("hinge", kernel=Gaussian(), C=0.01).fit(X, classes),
    ):
        ends = machine.intercept_interval_
        assert ends.shape == (3, 2)
        assert (ends[:, 0] <= machine.intercept_).all()
        assert (machine.intercept_ <= ends[:, 1]).all()
        assert (ends[:, 1] > ends[:, 0]).any()


@pytest.mark.parametrize("solver", ["smo", "interior_point"])
def test_one_class(solver):
    """Two points on a line, of which nu leaves one out: rho is anything between their values."""
    machine = OneClassSVM(kernel="linear", nu=0.5, solver=solver).fit([[1.0], [2.0]])
    assert machine.solution_.n_free == 0
    np.testing.assert_allclose(-machine.intercept_interval_, [[2.0, 1.0]], atol=1e-9)
    np.testing.assert_allclose(machine.offset_, 1.5, atol=1e-9)
    np.testing.assert_allclose(
        machine.offset_, svm.OneClassSVM(kernel="linear", nu=0.5).fit([[1.0], [2.0]]).offset_
    )


def test_a_half_line_ends_where_it_ends():
    """All samples on one bound: the finite end is the intercept."""
    machine = OneClassSVM(gamma=1.0, nu=1.0).fit(X)
    assert machine.intercept_interval_[0, 0] == -np.inf
    assert machine.intercept_[0] == machine.intercept_interval_[0, 1]


def test_free_coefficients_leave_one_value():
    x = np.linspace(-2, 2, 30)[:, None]
    y = np.sin(x[:, 0])
    for machine in (SVR().fit(x, y), QuantileSVR().fit(x, y)):
        assert machine.solution_.n_free
        np.testing.assert_array_equal(
            machine.intercept_interval_, [[machine.intercept_[0], machine.intercept_[0]]]
        )
    risk = RegularizedRisk(Logistic(), Dense(Gaussian()(x)), np.sign(y), 1.0, np.ones((30, 1)))
    solution = minimize(risk, InteriorPoint())
    np.testing.assert_array_equal(solution.b_interval[0], [solution.b[0]] * 2)


def test_columns_that_share_samples_stay():
    """Without a free coefficient the trend is any of several; the constant has its interval."""
    machine = SVR(C=1e-4, gamma=1.0, null_space=Polynomial(1), epsilon=2.0).fit(X, Y)
    bottom, top = machine.intercept_interval_[0]
    assert bottom <= machine.intercept_[0] <= top
    f, a = machine.predict(X) - machine.intercept_[0], np.zeros(4)
    a[machine.support_] = machine.dual_coef_[0]
    loss = machine._loss()
    costs = [np.sum(loss.value(Y, f + b)) for b in np.linspace(bottom, top, 5)]
    np.testing.assert_allclose(costs, costs[0], atol=1e-12)


def test_no_interval_without_such_an_intercept():
    for machine in (
        SVR(null_space=Empty()).fit(X, Y),
        NuSVR().fit(X, Y),
        SVR(approximation=Nystrom(2)).fit(X, Y),
    ):
        assert not hasattr(machine, "intercept_interval_")
