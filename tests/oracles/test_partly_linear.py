"""Partly linear machines of the squared loss: bordered systems, elimination, backfitting."""

import numpy as np
import pandas as pd
import pytest

from mercer import KernelRegressor
from mercer.kernels import Gaussian, Linear
from mercer.machines.unpenalized import CollinearColumns
from mercer.regularizers import Columns, Constant, Empty, Functions, Polynomial

RNG = np.random.default_rng(8)
N, GAMMA = 40, 7.0
X = RNG.normal(size=(N, 3))
Y = RNG.normal(size=N) + np.sin(2 * X[:, 0]) + X[:, 2]
NEW = RNG.normal(size=(9, 3))
KERNEL = Gaussian(1.2).on([0, 1])
SPACE = Constant() + Columns([2])
M = KERNEL(X) + np.eye(N) / GAMMA
B = np.c_[np.ones(N), X[:, 2]]


def fitted(space=SPACE, y=Y, C=GAMMA, kernel=KERNEL):
    return KernelRegressor(kernel=kernel, null_space=space, C=C).fit(X, y)


def coefficients(machine):
    a = np.zeros(N)
    a[machine.support_] = machine.dual_coef_[0]
    return a


def test_bordered_system_elimination_and_two_definite_solves_agree():
    """Both solves of (4.10), with alpha = A - B beta, against the system itself."""
    system = np.block([[np.zeros((2, 2)), B.T], [B, M]])
    solved = np.linalg.solve(system, np.r_[0.0, 0.0, Y])
    left, right = np.linalg.solve(M, Y), np.linalg.solve(M, B)
    beta = np.linalg.solve(B.T @ right, right.T @ Y)
    machine = fitted()
    for b, a in ((solved[:2], solved[2:]), (beta, left - right @ beta)):
        np.testing.assert_allclose(machine.null_space_coef_, b, rtol=0, atol=1e-11)
        np.testing.assert_allclose(coefficients(machine), a, rtol=0, atol=1e-11)
    np.testing.assert_allclose(B.T @ coefficients(machine), 0.0, atol=1e-11)
    # alpha is the weight times the error.
    errors = Y - machine.predict(X)
    np.testing.assert_allclose(coefficients(machine), GAMMA * errors, rtol=0, atol=1e-10)


def test_what_is_free_shifts_its_coefficients_only():
    plain, shifted = fitted(), fitted(y=Y + B @ [2.0, -3.0])
    np.testing.assert_allclose(
        shifted.null_space_coef_ - plain.null_space_coef_, [2.0, -3.0], rtol=0, atol=1e-10
    )
    np.testing.assert_allclose(coefficients(shifted), coefficients(plain), rtol=0, atol=1e-10)


def test_recombined_columns_give_the_same_function():
    mixed = Functions([lambda P: 1 + P[:, 2], lambda P: 1 - 5 * P[:, 2]])
    np.testing.assert_allclose(fitted(mixed).predict(NEW), fitted().predict(NEW), atol=1e-10)


def test_columns_that_depend_on_each_other_leave_the_function():
    twice = SPACE + Functions([lambda P: 2 * P[:, 2]])
    with pytest.warns(CollinearColumns, match="are collinear on the sample"):
        machine = fitted(twice)
    np.testing.assert_allclose(machine.predict(NEW), fitted().predict(NEW), rtol=0, atol=1e-10)
    # Of all coefficients with this function the shortest.
    slope = fitted().null_space_coef_[1]
    np.testing.assert_allclose(machine.null_space_coef_[1:], slope * np.array([1, 2]) / 5)


def test_columns_of_a_frame():
    frame = pd.DataFrame(X, columns=["u", "v", "trend"])
    machine = KernelRegressor(
        kernel=Gaussian(1.2).on(["u", "v"]), null_space=Constant() + Columns(["trend"]), C=GAMMA
    ).fit(frame, Y)
    assert machine.null_space_names_ == ["1", "trend"]
    np.testing.assert_allclose(machine.coef_, fitted().coef_, rtol=0, atol=1e-11)


def test_a_machine_is_its_points_and_coefficients():
    """The function is f = sum_i a_i k(x_i, .) + sum_d w_d p_d, from what is stored."""
    machine = fitted()
    f = KERNEL(NEW, machine.support_vectors_) @ machine.dual_coef_[0]
    f += SPACE(NEW) @ machine.null_space_coef_
    np.testing.assert_allclose(machine.predict(NEW), f, rtol=0, atol=1e-12)


def backfit(x, y, C):
    """The constant first, then a linear kernel machine of the residuals without one."""
    constant = y.mean()
    rest = KernelRegressor(kernel=Linear(), null_space=Empty(), C=C).fit(x, y - constant)
    return constant, float(rest.coef_[0, 0])


def test_backfitting_is_not_the_joint_fit():
    """The target y = x on x >= 1 is the line through zero, which backfitting never finds."""
    x = np.linspace(1.0, 3.0, 11)[:, None]
    machine = KernelRegressor(kernel=Linear(), C=1e8).fit(x, x[:, 0])
    # With a penalty of 1e-8 of the weight both are wrong by about as much.
    assert machine.intercept_[0] == pytest.approx(0.0, abs=1e-6)
    assert machine.coef_[0, 0] == pytest.approx(1.0, abs=1e-6)
    constant, slope = backfit(x, x[:, 0], 1e8)
    assert constant >= 1.0
    assert abs(slope - 1.0) > 0.5


def test_backfitting_is_enough_if_nothing_is_shared():
    """Centred, the linear function is orthogonal to the constant on the sample."""
    x = np.linspace(-1.0, 1.0, 11)[:, None]
    y = 2.0 + 3.0 * x[:, 0] + np.cos(9 * x[:, 0])
    machine = KernelRegressor(kernel=Linear(), C=4.0).fit(x, y)
    constant, slope = backfit(x, y, 4.0)
    assert machine.intercept_[0] == pytest.approx(constant, abs=1e-12)
    assert machine.coef_[0, 0] == pytest.approx(slope, abs=1e-12)


def test_more_free_functions_than_samples():
    machine = KernelRegressor(kernel=KERNEL, null_space=Polynomial(2), C=GAMMA)
    with pytest.raises(ValueError, match="need at least as many samples, got n_samples=5"):
        machine.fit(X[:5], Y[:5])
