"""Small problems on which pair steps creep: another solver takes over, or a sentence ends them."""

import re

import numpy as np
import pytest
from scipy.optimize import linprog

from mercer import SVC, SVR, OneClassSVM
from mercer.kernels import Gaussian
from mercer.solvers import ConvergenceWarning, Status
from mercer.solvers.auto import THRESHOLDS

rng = np.random.default_rng(0)
X, y = rng.normal(size=(40, 2)), rng.normal(size=40)


def few_steps(machine, n):
    """Answer whether so many pair steps as factorizations are worth were followed by few of these.

    A step over 40 samples takes 0.2 us, a path of the interior point is cut after 100.
    """
    steps = re.search(r"(\d+) steps did not converge", machine.solution_.reason)
    limit = THRESHOLDS.max_pair_steps + THRESHOLDS.pair_steps_per_row * n
    said = steps is not None and int(steps[1]) <= limit
    return said and machine.solution_.n_iter <= 100


def test_large_weights_on_few_samples_converge_to_the_linear_program():
    """As C grows only the loss counts, and its least sum over lines is a linear program."""
    C, epsilon, n = 1e6, 0.1, len(y)
    machine = SVR(kernel="linear", C=C, epsilon=epsilon).fit(X, y)
    assert machine.solution_.converged
    assert machine.solution_.solver == "InteriorPoint"
    assert few_steps(machine, n)
    F = np.column_stack([X, np.ones(n)])
    program = linprog(
        np.r_[np.zeros(3), np.ones(n)],
        A_ub=np.block([[F, -np.eye(n)], [-F, -np.eye(n)]]),
        b_ub=np.r_[y + epsilon, epsilon - y],
        bounds=[(None, None)] * 3 + [(0, None)] * n,
    )
    least, w = C * program.fun, program.x[:2]
    # The optimum lies between the program's and what the program's line costs here.
    assert least * (1 - 1e-9) <= machine.solution_.objective <= least * (1 + 1e-9) + w @ w


def test_large_weights_on_few_labels_converge():
    machine = SVC(kernel="poly", C=1e6).fit(X, y > 0)
    assert machine.solution_.converged
    assert few_steps(machine, len(y))
    a, b = np.zeros(len(y)), machine.intercept_[0]
    a[machine.support_] = machine.dual_coef_[0]
    K = (X @ X.T / (2 * X.var())) ** 3
    labels = np.where(y > 0, 1.0, -1.0)
    primal = 0.5 * a @ K @ a + 1e6 * np.sum(np.maximum(0.0, 1.0 - labels * (K @ a + b)))
    dual = np.sum(np.abs(a)) - 0.5 * a @ K @ a
    assert np.all(a * labels >= 0)
    assert np.max(np.abs(a)) <= 1e6
    assert abs(np.sum(a)) < 1e-4
    assert 0 <= primal - dual <= 1e-7 * primal


def test_smooth_targets_at_a_tight_tolerance_converge():
    x = np.linspace(0.0, 6.0, 60)[:, None]
    machine = SVR(epsilon=0.0, C=1.0, tol=1e-10).fit(x, 1e-4 * np.sin(x[:, 0]))
    assert machine.solution_.converged
    assert few_steps(machine, len(x))
    # Free coefficients say where the function is: at its target, without a tube.
    free = np.abs(machine.dual_coef_[0]) < 1.0 - 1e-9
    inside = machine.support_[free]
    assert len(inside) > 5
    error = machine.predict(x[inside]) - 1e-4 * np.sin(x[inside, 0])
    assert np.max(np.abs(error)) <= 2e-10


@pytest.mark.parametrize("solver", ["auto", "smo"])
def test_a_tolerance_below_the_resolution_of_the_targets_ends_with_a_sentence(solver):
    with pytest.warns(ConvergenceWarning, match=r"Rounding errors .* 4\.4e-01 here"):
        machine = SVR(C=10, solver=solver).fit(X, y + 1e15)
    assert machine.solution_.status is Status.STALLED
    # Three seconds of steps, at 0.2 us each.
    assert few_steps(machine, len(y)) if solver == "auto" else machine.solution_.n_iter < 15e6


def test_decomposition_of_many_samples_ends_at_the_resolution_too():
    many = np.random.default_rng(1).normal(size=(2500, 2))
    machine = SVR(kernel=Gaussian(0.5), C=10.0, solver="smo")
    with pytest.warns(ConvergenceWarning, match="Subtract the mean"):
        machine.fit(many, many[:, 0] + 1e14)
    assert machine.solution_.status is Status.STALLED
    assert machine.solution_.n_iter < 5e6  # ten seconds of steps, at 2 us each


def test_weights_whose_objective_overflows_are_refused():
    with pytest.raises(ValueError, match=r"objective overflows.*sample_weight"):
        OneClassSVM().fit(X, sample_weight=np.full(40, 1e300))
