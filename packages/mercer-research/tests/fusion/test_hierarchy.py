"""Training fused with selection: global where it says so, and no worse than any grid."""

import numpy as np
import pytest

from mercer import SVC, SVR, KernelClassifier, KernelRegressor
from mercer.gram import Dense
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Hinge, Squared, SquaredHinge
from mercer.problems import RegularizedRisk
from mercer_research.fusion import fuse, fuse_svm, svm_program
from mercer_research.selection.hypergradient import hypergradient
from mercer_research.selection.paths import solution_path
from mercer_research.selection.validation import Validation


def split(n=40, m=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + m, 2))
    noise = rng.normal(size=n + m)
    labels = np.where(X[:, 0] + 0.8 * noise > 0, 1.0, -1.0)
    return X[:n], labels[:n], X[n:], labels[n:], (np.sin(2 * X[:, 0]) + 0.3 * noise)


KERNEL = Gaussian(0.7)
CASES = [
    (Hinge(), "error"),
    (Hinge(), "hinge"),
    (Hinge(), "squared_hinge"),
    (Hinge(), "logistic"),
    (SquaredHinge(), "error"),
    (SquaredHinge(), "hinge"),
    (EpsilonInsensitive(0.1), "squared"),
    (EpsilonInsensitive(0.1), "absolute"),
    (Squared(), "squared"),
]


@pytest.mark.parametrize(("loss", "criterion"), CASES, ids=str)
def test_no_grid_is_better(loss, criterion):
    X, y, X_val, y_val, numbers = split()
    if criterion in ("squared", "absolute"):
        y, y_val = numbers[:40], numbers[40:]
    risk = RegularizedRisk(loss, Dense(KERNEL(X)), y, np.ones(40), np.ones((40, 1)))
    path = solution_path(risk, (1e-2, 1e2))
    validation = Validation(KERNEL(X_val, X), y_val, loss=criterion)
    found = fuse(path, validation)
    grid = [
        validation.value(validation.predict(*path.coef(C))) for C in np.geomspace(0.01, 100, 301)
    ]
    # Brent's method ends within 1e-10 of a piece.
    assert found.value <= min(grid) + 1e-8
    assert found.certified == path.is_piecewise_linear
    a, b = found.coefficients
    assert validation.value(validation.predict(a, b)) == pytest.approx(found.value, abs=1e-8)
    # The inner problem is solved: its certificate says so.
    C = found.hyperparameters["C"]
    certificate = path.risk_at(C).certificate(*path.coef(C))
    assert certificate.gap <= 1e-6 * (1 + certificate.primal)
    if criterion == "error":
        low, high = found.interval
        assert low == C
        for t in np.linspace(low, high, 7)[1:-1]:
            assert validation.value(validation.predict(*path.coef(t))) == found.value
    else:
        assert found.interval == (C, C)


def test_quadratic_criteria_are_minimized_exactly():
    X, _, X_val, _, numbers = split(30, 40, 3)
    risk = RegularizedRisk(
        EpsilonInsensitive(0.05), Dense(KERNEL(X)), numbers[:30], np.ones(30), np.ones((30, 1))
    )
    path = solution_path(risk, (1e-2, 1e2))
    validation = Validation(KERNEL(X_val, X), numbers[30:])
    found = fuse(path, validation)
    C = found.hyperparameters["C"]

    def value(t):
        return validation.value(validation.predict(*path.coef(t)))

    if not found.at_boundary and not np.any(np.isclose(path.breakpoints, C, rtol=1e-9)):
        # Stationary: differences to either side are of second order.
        h = 1e-4 * C
        assert value(C + h) >= found.value - 1e-13
        assert value(C - h) >= found.value - 1e-13
    assert found.lower_bound == found.value


def test_a_function_of_coefficients_is_a_criterion():
    X, y, *_ = split()
    risk = RegularizedRisk(Hinge(), Dense(KERNEL(X)), y, np.ones(40), np.ones((40, 1)))
    path = solution_path(risk, (1e-2, 1e2))
    found = fuse(path, lambda a, b: (np.sum(np.abs(a)) - 3.0) ** 2)
    assert np.sum(np.abs(found.coefficients[0])) == pytest.approx(3.0, abs=1e-4)
    assert not found.certified


def test_fuse_svm_equals_refits():
    X, y, X_val, y_val, numbers = split(50, 60, 5)
    (found,) = fuse_svm(SVC(kernel=KERNEL), X, y, X_val, y_val, domain=(0.01, 100.0))
    low, high = found.interval
    inside = float(np.sqrt(low * high))
    machine = SVC(kernel=KERNEL, C=inside, tol=1e-8).fit(X, y)
    assert np.mean(machine.predict(X_val) != y_val) == pytest.approx(found.value)
    for C in np.geomspace(0.01, 100, 25):
        again = SVC(kernel=KERNEL, C=C, tol=1e-8).fit(X, y)
        assert np.mean(again.predict(X_val) != y_val) >= found.value - 1e-12
    (squares,) = fuse_svm(
        SVR(kernel=KERNEL), X, numbers[:50], X_val, numbers[50:], loss="squared", domain=(0.01, 100)
    )
    C = squares.hyperparameters["C"]
    machine = SVR(kernel=KERNEL, C=C, tol=1e-9).fit(X, numbers[:50])
    error = 0.5 * np.mean((machine.predict(X_val) - numbers[50:]) ** 2)
    assert error == pytest.approx(squares.value, rel=1e-5)


def test_one_C_a_class():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=90)
    X = rng.normal(size=(90, 2)) + 1.5 * np.stack([y == 1, y == 2], axis=1)
    found = fuse_svm(
        KernelClassifier("hinge", kernel=KERNEL),
        X[:60],
        y[:60],
        X[60:],
        y[60:],
        domain=(0.01, 10.0),
        loss="logistic",
    )
    assert len(found) == 3
    assert all(f.certified for f in found)
    with pytest.raises(ValueError, match="one class against the rest"):
        fuse_svm(SVC(kernel=KERNEL), X[:60], y[:60], X[60:], y[60:])


def test_branching_finds_what_the_path_finds():
    # Classes of two and three: the intercept is never left open.
    X, y, X_val, y_val, _ = split(5, 8, 2)
    assert abs(np.sum(y)) == 1
    risk = RegularizedRisk(Hinge(), Dense(KERNEL(X)), y, np.ones(5), np.ones((5, 1)))
    validation = Validation(KERNEL(X_val, X), y_val)
    by_path = fuse(solution_path(risk, (1e-3, 20.0)), validation)
    program = svm_program(risk, KERNEL(X_val, X), y_val, C_max=20.0)
    by_branching = fuse(program, strategy="bnb")
    constant = 0.5 * float(y_val @ y_val)
    assert by_branching.certified
    # Half the sum of squares without its constant, against half their mean.
    assert (by_branching.value + constant) / 8 == pytest.approx(by_path.value, abs=1e-5)
    relaxed = fuse(program, strategy="relax")
    assert relaxed.value <= by_branching.value + 1e-6


def test_implicit_descends():
    X, _, X_val, _, numbers = split(40, 30, 7)
    machine = KernelRegressor("squared", kernel=Gaussian(3.0), C=0.1)
    function = hypergradient(machine, X, numbers[:40], X_val, numbers[40:])
    found = fuse(function, function.start, strategy="implicit")
    assert found.value < function(function.start)[0]
    theta = np.log([found.hyperparameters[name] for name in function.names])
    assert function(theta)[0] == pytest.approx(found.value)
    assert np.max(np.abs(function(theta)[1])) < 1e-4
    assert found.coefficients[0].shape == (40,)


def test_refusals():
    X, y, X_val, y_val, _ = split()
    risk = RegularizedRisk(Hinge(), Dense(KERNEL(X)), y, np.ones(40), np.ones((40, 1)))
    path = solution_path(risk, (0.1, 1.0))
    with pytest.raises(ValueError, match="strategy='path'"):
        fuse(path, Validation(KERNEL(X_val, X), y_val), strategy="bnb")
    with pytest.raises(ValueError, match="'bnb', 'penalty' or 'relax'"):
        fuse(svm_program(risk, KERNEL(X_val, X), y_val), strategy="path")
    with pytest.raises(ValueError, match="strategy='implicit'"):
        fuse(lambda theta: (0.0, theta), strategy="reparam")
