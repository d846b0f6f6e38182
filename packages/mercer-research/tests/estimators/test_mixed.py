"""A 1-norm on parametric terms beside a smooth part, against conic programs and its limits."""

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest

from mercer import KernelRegressor
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Huber, Squared
from mercer.regularizers import Polynomial
from mercer_research.estimators import PartiallyLinearRegressor

COSTS = {
    "tube": (EpsilonInsensitive(0.1), lambda r: cp.pos(cp.abs(r) - 0.1)),
    "squared": (Squared(), lambda r: 0.5 * cp.square(r)),
    "huber": (Huber(0.5), lambda r: 0.5 * cp.huber(r, 0.5)),
}
OMEGA = np.array([0.0, 4.0, 4.0, 4.0, 4.0])


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(3)
    X = rng.uniform(-2, 2, (50, 4))
    return X, 1.5 * X[:, 1] + np.sin(3 * X[:, 0]) + 0.2 * rng.normal(size=50)


@pytest.mark.parametrize("name", COSTS)
def test_agrees_with_a_conic_solver(name, sample):
    X, y = sample
    loss, cost = COSTS[name]
    s = np.random.default_rng(0).uniform(0.5, 1.5, 50)
    machine = PartiallyLinearRegressor(
        loss, Gaussian(1.0), null_space=Polynomial(1), null_space_penalty=OMEGA, tol=1e-8
    ).fit(X, y, s)
    K = Gaussian(1.0)(X)
    L = np.linalg.cholesky(K + 1e-12 * np.eye(50))
    P = np.column_stack([np.ones(50), X])
    w, b = cp.Variable(50), cp.Variable(5)
    value = 0.5 * cp.sum_squares(w) + OMEGA @ cp.abs(b) + s @ cost(y - L @ w - P @ b)
    expected = cp.Problem(cp.Minimize(value)).solve(solver=cp.CLARABEL)
    assert machine.solution_.objective == pytest.approx(expected, rel=1e-6)
    # The curvature of the objective keeps the minimizers together as the root of the gap does.
    assert np.allclose(machine.null_space_coef_, b.value, atol=1e-3)
    # A term has the price of its cost, of the sign of its coefficient, or is not used.
    prices, b = machine.prices_, machine.null_space_coef_
    assert abs(prices[0]) < 1e-7 * np.abs(machine.dual_coef_).sum()
    assert np.all(np.abs(prices[1:]) <= 4.0 * (1 + 1e-9))
    used = b[1:] != 0
    assert np.any(used)
    assert np.any(~used)
    assert np.allclose(prices[1:][used], 4.0 * np.sign(b[1:][used]), rtol=1e-6)
    assert np.all(np.abs(prices[1:][~used]) < 4.0)


def test_without_prices_it_is_the_semiparametric_machine(sample):
    X, y = sample
    free = KernelRegressor("huber", Gaussian(1.0), null_space=Polynomial(1), tol=1e-8).fit(X, y)
    mixed = PartiallyLinearRegressor(
        "huber", Gaussian(1.0), null_space=Polynomial(1), null_space_penalty=0.0, tol=1e-8
    ).fit(X, y)
    assert np.allclose(mixed.predict(X), free.predict(X), atol=1e-6)
    assert np.allclose(mixed.null_space_coef_, free.null_space_coef_, atol=1e-6)


def test_infinite_prices_leave_terms_out(sample):
    X, y = sample
    plain = KernelRegressor("squared", Gaussian(1.0), tol=1e-8).fit(X, y)
    mixed = PartiallyLinearRegressor(
        "squared", Gaussian(1.0), null_space_penalty=[0.0, *[np.inf] * 4], tol=1e-8
    ).fit(X, y)
    assert np.allclose(mixed.predict(X), plain.predict(X), atol=1e-6)
    assert mixed.selected_ == ["1"]


def test_terms_are_named(sample):
    X, y = sample
    frame = pd.DataFrame(X, columns=["wave", "dose", "age", "year"])
    machine = PartiallyLinearRegressor(
        kernel=Gaussian(1.0), null_space_penalty={"age": 30.0, "year": 30.0}, tol=1e-6
    ).fit(frame, y)
    assert machine.selected_ == ["1", "wave", "dose"]
    assert set(machine.predict_parts(frame)) >= {"1", "wave", "dose", "age", "year"}
    for penalty, sentence in [
        ({"weight": 1.0}, "names"),
        ([1.0, 2.0], "prices"),
        ([-1] * 5, "not"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            PartiallyLinearRegressor(null_space_penalty=penalty).fit(frame, y)
