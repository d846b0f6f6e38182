"""Machines with several outputs, and with errors that hang together."""

import pickle

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV

from mercer import KernelClassifier, KernelRegressor
from mercer.gram import Dense
from mercer.gram.remembered import FactorizedGram
from mercer.gram.sparse import Sparse
from mercer.kernels import BSpline, Gaussian, Laplacian
from mercer.losses import Absolute, EpsilonInsensitive, Huber, Pinball
from mercer.losses.named import REGRESSION
from mercer.regularizers import (
    ARMA,
    AutoRegressive,
    Constant,
    Covariance,
    Empty,
    MovingAverage,
    Polynomial,
    Precision,
)
from mercer.regularizers.errors import Independent

RNG = np.random.default_rng(2)
N, C = 30, 4.0
T = np.sort(RNG.uniform(0, 10, N))[:, None]
Y = np.sin(T[:, 0]) + 0.3 * RNG.normal(size=N)
NEW = np.linspace(-1, 11, 7)[:, None]
KERNEL = Gaussian(1.0)
K = KERNEL(T)
ERRORS = [
    Independent(RNG.uniform(0.5, 2.0, N)),
    AutoRegressive(0.6),
    AutoRegressive(0.6, time=0),
    MovingAverage([0.5, 0.2]),
    ARMA(0.6, -0.3, start="zero"),
    Covariance(Laplacian(3.0), nugget=0.2),
]


FORMS = {
    "tiled": "tiled",
    "sparse": lambda kernel, X: Sparse(sparse.csr_array(kernel(X))),
}


def short(value):
    return repr(value)[:50]


def all_coefficients(machine):
    a = np.zeros((N, len(machine.dual_coef_)))
    a[machine.support_] = machine.dual_coef_.T
    return a if machine._n_outputs else a[:, 0]


# Errors that hang together --------------------------------------------------------------------


@pytest.mark.parametrize("errors", ERRORS, ids=short)
def test_squared_loss_is_generalized_least_squares(errors):
    """The bordered system with the covariance of the errors in place of the identity."""
    machine = KernelRegressor(kernel=KERNEL, null_space=Polynomial(1), errors=errors, C=C)
    machine.fit(T, Y)
    B = np.c_[np.ones(N), T]
    system = np.block([[K + errors.matrix(T) / C, B], [B.T, np.zeros((2, 2))]])
    expected = np.linalg.solve(system, np.r_[Y, 0.0, 0.0])
    np.testing.assert_allclose(all_coefficients(machine), expected[:N], rtol=0, atol=1e-10)
    np.testing.assert_allclose(machine.null_space_coef_, expected[N:], rtol=0, atol=1e-10)
    f = KERNEL(NEW, T) @ expected[:N] + np.c_[np.ones(7), NEW] @ expected[N:]
    np.testing.assert_allclose(machine.predict(NEW), f, rtol=0, atol=1e-10)
    W = errors.whitening(T)
    np.testing.assert_allclose(machine.innovations_, W @ (Y - machine.predict(T)), atol=1e-10)


def test_the_corrected_moving_average_of_the_example():
    errors = MovingAverage(0.5, start="zero")
    machine = KernelRegressor(kernel=KERNEL, null_space=Empty(), errors=errors, C=C).fit(T, Y)
    B = np.eye(N) + 0.5 * np.eye(N, k=-1)
    a = np.linalg.solve(K + B @ B.T / C, Y)
    np.testing.assert_allclose(all_coefficients(machine), a, rtol=0, atol=1e-11)
    # The conditions of the primal problem: a_t + 0.5 a_{t+1} = C e_t, errors y - f = B e.
    e = np.linalg.solve(B, Y - K @ a)
    np.testing.assert_allclose(B.T @ a, C * e, rtol=0, atol=1e-10)


def test_without_memory_nothing_changes():
    plain = KernelRegressor("huber", KERNEL, C=C, tol=1e-9).fit(T, Y)
    for errors in (Independent(), AutoRegressive(0.0), MovingAverage(0.0), Covariance(np.eye(N))):
        machine = KernelRegressor("huber", KERNEL, errors=errors, C=C, tol=1e-9).fit(T, Y)
        np.testing.assert_allclose(machine.predict(NEW), plain.predict(NEW), rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("loss", "cost"),
    [
        (EpsilonInsensitive(0.2), lambda r: cp.sum(cp.pos(cp.abs(r) - 0.2))),
        (Absolute(), lambda r: cp.norm1(r)),
        (Huber(0.3), lambda r: 0.5 * cp.sum(cp.huber(r, 0.3))),
        (Pinball(0.3), lambda r: cp.sum(cp.maximum(0.3 * r, -0.7 * r))),
    ],
    ids=lambda value: short(value) if not callable(value) else "",
)
@pytest.mark.parametrize("errors", [AutoRegressive(0.6), Covariance(Laplacian(3.0))], ids=short)
def test_any_loss_of_whitened_errors_against_a_conic_solver(errors, loss, cost):
    machine = KernelRegressor(loss, KERNEL, errors=errors, C=C, tol=1e-9).fit(T, Y)
    L = np.linalg.cholesky(K + 1e-12 * np.eye(N))
    w, b = cp.Variable(N), cp.Variable()
    W = np.linalg.inv(np.linalg.cholesky(errors.matrix(T)))
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cost(W @ (Y - L @ w - b))))
    problem.solve(solver="CLARABEL")
    # Clarabel stops at a relative gap of 1e-8; the minimum is between 1 and 100.
    assert machine.solution_.objective == pytest.approx(problem.value, rel=1e-6)
    # Half the squared distance of two functions is at most the sum of their gaps.
    np.testing.assert_allclose(machine.predict(T), L @ w.value + b.value, rtol=0, atol=5e-3)


def test_sizes_of_errors_stretch_the_loss():
    s = RNG.uniform(0.5, 2.0, N)
    settings = {"kernel": KERNEL, "C": C, "tol": 1e-9}

    def same(loss, plain, weights):
        stretched = KernelRegressor(loss, errors=Independent(s), **settings).fit(T, Y)
        weighted = KernelRegressor(plain, **settings).fit(T, Y, sample_weight=weights)
        np.testing.assert_allclose(stretched.predict(NEW), weighted.predict(NEW), atol=1e-7)

    same("squared", "squared", 1 / s**2)
    same(Absolute(), Absolute(), 1 / s)
    same(EpsilonInsensitive(0.2), EpsilonInsensitive(0.2 * s), 1 / s)
    same(Huber(0.3), Huber(0.3 * s), 1 / s**2)


def test_singular_weights_of_errors():
    """(Omega H + 1) e = Y and f = Omega(x)' H e, also for a singular H."""
    G = RNG.normal(size=(N - 5, N))
    for H in (G.T @ G, np.diag(np.r_[np.zeros(4), np.ones(N - 4)])):
        machine = KernelRegressor(kernel=KERNEL, null_space=Empty(), errors=Precision(C * H))
        machine.fit(T, Y)
        e = np.linalg.solve(C * K @ H + np.eye(N), Y)
        expected = KERNEL(NEW, T) @ (C * H @ e)
        np.testing.assert_allclose(machine.predict(NEW), expected, rtol=0, atol=1e-8)
    # The last one ignores four samples, as a weight of zero and leaving them out do.
    weights = np.r_[np.zeros(4), np.ones(N - 4)]
    plain = KernelRegressor(kernel=KERNEL, null_space=Empty(), C=C)
    for other in (clone(plain).fit(T, Y, sample_weight=weights), clone(plain).fit(T[4:], Y[4:])):
        np.testing.assert_allclose(other.predict(NEW), expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("loss", ["squared", "epsilon_insensitive", "pinball"])
@pytest.mark.parametrize("errors", [AutoRegressive(0.6, time=0), Covariance(Laplacian(3.0))])
def test_observations_are_predicted_where_they_were_made(errors, loss):
    machine = KernelRegressor(loss, KERNEL, errors=errors, C=C).fit(T, Y)
    np.testing.assert_allclose(machine.predict_observation(T), Y, rtol=0, atol=1e-10)
    assert np.max(np.abs(machine.predict(T) - Y)) > 0.1


def test_prediction_of_observations_is_that_of_a_gaussian_process():
    errors = Covariance(Gaussian(0.3))
    machine = KernelRegressor(kernel=KERNEL, null_space=Empty(), errors=errors, C=C).fit(T, Y)
    process = GaussianProcessRegressor(
        RBF(1.0, "fixed") + (1 / C) * RBF(0.3, "fixed"), alpha=0.0, optimizer=None
    ).fit(T, Y)
    # The covariance of all observations has a condition of some 1e8.
    expected = process.predict(NEW)
    np.testing.assert_allclose(machine.predict_observation(NEW), expected, rtol=0, atol=1e-6)
    a = all_coefficients(machine)
    by_hand = (KERNEL(NEW, T) + Gaussian(0.3)(NEW, T) / C) @ a
    np.testing.assert_allclose(machine.predict_observation(NEW), by_hand, rtol=0, atol=1e-9)


def test_independent_errors_are_not_predicted():
    for errors in (None, Independent()):
        machine = KernelRegressor(kernel=KERNEL, errors=errors, C=C).fit(T, Y)
        np.testing.assert_allclose(machine.predict_observation(NEW), machine.predict(NEW))
    smooth = KernelRegressor(kernel=KERNEL, errors=Covariance(Laplacian(3.0), nugget=1.0)).fit(T, Y)
    assert np.max(np.abs(smooth.predict_observation(T) - Y)) > 0.1


def test_one_step_ahead():
    """An autoregression fades from the last error: f + phi^k (y_n - f_n)."""
    machine = KernelRegressor(kernel=KERNEL, errors=AutoRegressive(0.6), C=C).fit(T, Y)
    ahead = machine.predict_observation(NEW) - machine.predict(NEW)
    last = Y[-1] - machine.predict(T)[-1]
    np.testing.assert_allclose(ahead, last * 0.6 ** np.arange(1, 8), rtol=1e-9)


def test_a_kernel_like_its_noise_is_called_so():
    with pytest.warns(UserWarning, match="data cannot tell the function"):
        KernelRegressor(kernel=KERNEL, errors=Covariance(KERNEL, nugget=1e-8)).fit(T, Y)


def test_time_is_a_feature_in_any_order():
    frame = pd.DataFrame({"x": RNG.normal(size=N), "t": np.arange(N) / 12.0})
    kernel = Gaussian(1.0).on(["x"])
    errors = AutoRegressive(0.5, time="t", step=1 / 12)
    machine = KernelRegressor(kernel=kernel, errors=errors, C=C).fit(frame, Y)
    order = RNG.permutation(N)
    shuffled = clone(machine).fit(frame.iloc[order], Y[order])
    by_place = KernelRegressor(kernel=Gaussian(1.0).on([0]), errors=AutoRegressive(0.5), C=C)
    by_place.fit(frame.to_numpy(), Y)
    expected = machine.predict(frame)
    np.testing.assert_allclose(shuffled.predict(frame), expected, atol=1e-10)
    np.testing.assert_allclose(by_place.predict(frame.to_numpy()), expected, atol=1e-10)
    assert machine.errors == errors
    assert machine.errors_ == AutoRegressive(0.5, time=1, step=1 / 12)


@pytest.mark.parametrize("loss", ["squared", "huber", "epsilon_insensitive"])
@pytest.mark.parametrize("gram", ["tiled", "sparse"])
def test_however_the_matrix_is_held(gram, loss):
    kernel, errors = BSpline(0.4), AutoRegressive(0.6)
    settings = {"errors": errors, "C": C, "tol": 1e-8}
    dense = KernelRegressor(loss, kernel, gram=lambda k, X: Dense(k(X)), **settings).fit(T, Y)
    form = KernelRegressor(loss, kernel, gram=FORMS[gram], **settings).fit(T, Y)
    np.testing.assert_allclose(form.predict(NEW), dense.predict(NEW), rtol=0, atol=1e-6)


def test_copies_and_parameters():
    machine = KernelRegressor(kernel=KERNEL, errors=ARMA(0.5, 0.2), C=C).fit(T, Y)
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.predict_observation(NEW), machine.predict_observation(NEW))
    assert clone(machine).set_params(errors__phi=0.1).errors == ARMA(0.1, 0.2)
    assert machine.errors == ARMA(0.5, 0.2)
    search = GridSearchCV(
        KernelRegressor(kernel=KERNEL, errors=AutoRegressive(0.5, time=0)),
        {"errors__phi": [0.1, 0.6]},
        cv=3,
    )
    search.fit(T, Y)
    assert search.best_estimator_.errors.phi in (0.1, 0.6)


def test_a_new_fit_forgets_the_old_errors():
    machine = KernelRegressor(kernel=KERNEL, errors=AutoRegressive(0.6, time=0)).fit(T, Y)
    machine.set_params(errors=None).fit(T, Y)
    np.testing.assert_array_equal(machine.predict_observation(T), machine.predict(T))
    assert not hasattr(machine, "innovations_")


# Several outputs ------------------------------------------------------------------------------

OUTPUTS = np.c_[Y, np.cos(T[:, 0]), RNG.normal(size=N)]


@pytest.mark.parametrize("loss", sorted(REGRESSION))
def test_outputs_are_machines_of_their_own(loss):
    machine = KernelRegressor(loss, KERNEL, null_space=Polynomial(1), C=C, tol=1e-4)
    several = clone(machine).fit(T, OUTPUTS)
    f = several.predict(NEW)
    assert f.shape == (7, 3)
    assert several.dual_coef_.shape == (3, len(several.support_))
    assert several.null_space_coef_.shape == (3, 2)
    assert several.intercept_.shape == (3,)
    assert np.ndim(several.score(T, OUTPUTS)) == 0
    for k in range(3):
        one = clone(machine).fit(T, OUTPUTS[:, k])
        np.testing.assert_allclose(f[:, k], one.predict(NEW), rtol=0, atol=1e-9)
        np.testing.assert_allclose(several.null_space_coef_[k], one.null_space_coef_, atol=1e-9)


def test_one_column_stays_a_column():
    flat = KernelRegressor(kernel=KERNEL).fit(T, Y)
    column = KernelRegressor(kernel=KERNEL).fit(T, Y[:, None])
    np.testing.assert_allclose(column.predict(NEW), flat.predict(NEW)[:, None], atol=1e-12)
    with pytest.raises(ValueError, match="dim"):
        KernelRegressor(kernel=KERNEL).fit(T, OUTPUTS[:, :, None])


def test_no_direction_among_the_outputs_is_preferred():
    """Q = tr A'KA is invariant, so rotated targets give rotated functions."""
    R = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
    machine = KernelRegressor(kernel=KERNEL, C=C).fit(T, OUTPUTS)
    rotated = clone(machine).fit(T, OUTPUTS @ R)
    np.testing.assert_allclose(rotated.predict(NEW), machine.predict(NEW) @ R, atol=1e-10)
    penalties = [np.trace(A.T @ K @ A) for A in map(all_coefficients, (machine, rotated))]
    assert penalties[0] == pytest.approx(penalties[1], rel=1e-10)
    assert rotated.solution_.objective == pytest.approx(machine.solution_.objective, rel=1e-10)


def test_outputs_with_a_covariance_have_free_constants():
    """The bordered system of n d unknowns and d constants, of which the penalty knows nothing."""
    d, root = 3, np.random.default_rng(4).normal(size=(3, 3))
    S = root @ root.T + np.eye(d)
    machine = KernelRegressor(kernel=KERNEL, output_covariance=S, C=C).fit(T, OUTPUTS)
    both, ones = np.kron(K, S), np.kron(np.ones((N, 1)), np.eye(d))
    system = np.block([[both + np.eye(N * d) / C, ones], [ones.T, np.zeros((d, d))]])
    solved = np.linalg.solve(system, np.append(OUTPUTS.ravel(), np.zeros(d)))
    F = (both @ solved[:-d] + ones @ solved[-d:]).reshape(N, d)
    np.testing.assert_allclose(machine.predict(T), F, rtol=0, atol=1e-9)
    np.testing.assert_allclose(machine.intercept_, solved[-d:], rtol=0, atol=1e-9)


@pytest.mark.parametrize("errors", [None, AutoRegressive(0.6)])
def test_outputs_with_a_covariance(errors):
    """One linear system of n d unknowns; permutations alone also allow a 1 + b J."""
    d = 3
    S = np.linalg.inv(1.0 * np.eye(d) + 0.7 * np.ones((d, d)))
    machine = KernelRegressor(
        kernel=KERNEL, null_space=Empty(), errors=errors, output_covariance=S, C=C
    ).fit(T, OUTPUTS)
    noise = np.eye(N) if errors is None else errors.matrix(T)
    both = np.kron(K, S)
    solved = np.linalg.solve(both + np.kron(noise, np.eye(d)) / C, OUTPUTS.ravel())
    F = (both @ solved).reshape(N, d)
    np.testing.assert_allclose(machine.predict(T), F, rtol=0, atol=1e-10)
    # f = K A with A = a S for the multipliers a of the system.
    A = solved.reshape(N, d) @ S
    np.testing.assert_allclose(all_coefficients(machine), A, rtol=0, atol=1e-9)


def test_a_covariance_of_outputs_with_a_trend():
    S = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 0.7]])
    machine = KernelRegressor(kernel=KERNEL, null_space=Polynomial(1), output_covariance=S, C=C)
    machine.fit(T, OUTPUTS)
    B = np.kron(np.c_[np.ones(N), T], np.eye(3))
    M = np.kron(K, S) + np.eye(3 * N) / C
    system = np.block([[M, B], [B.T, np.zeros((6, 6))]])
    solved = np.linalg.solve(system, np.r_[OUTPUTS.ravel(), np.zeros(6)])
    np.testing.assert_allclose(
        machine.null_space_coef_, solved[3 * N :].reshape(2, 3).T, rtol=0, atol=1e-9
    )
    # With the identity nothing is coupled.
    plain = clone(machine).set_params(output_covariance=None).fit(T, OUTPUTS)
    identity = clone(machine).set_params(output_covariance=np.eye(3)).fit(T, OUTPUTS)
    np.testing.assert_allclose(identity.predict(NEW), plain.predict(NEW), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("loss", "S", "message"),
    [
        ("huber", np.eye(3), "squared loss only"),
        ("squared", np.eye(2), "symmetric matrix"),
        ("squared", np.ones((3, 3)), "positive definite"),
    ],
)
def test_covariances_that_are_none(loss, S, message):
    with pytest.raises(ValueError, match=message):
        KernelRegressor(loss, KERNEL, output_covariance=S).fit(T, OUTPUTS)


def test_parts_of_several_outputs():
    kernel = Gaussian(1.0) + Gaussian(3.0)
    machine = KernelRegressor(kernel=kernel, null_space=Polynomial(1)).fit(T, OUTPUTS)
    parts = machine.predict_parts(NEW)
    assert list(parts) == ["Gaussian(length_scale=1.0)", "Gaussian(length_scale=3.0)", "1", "x0"]
    assert all(part.shape == (7, 3) for part in parts.values())
    np.testing.assert_allclose(sum(parts.values()), machine.predict(NEW), atol=1e-12)


def test_errors_of_several_outputs():
    errors = AutoRegressive(0.6, time=0)
    machine = KernelRegressor(kernel=KERNEL, errors=errors, C=C)
    several = clone(machine).fit(T, OUTPUTS)
    assert several.innovations_.shape == (N, 3)
    np.testing.assert_allclose(several.predict_observation(T), OUTPUTS, atol=1e-10)
    one = machine.fit(T, OUTPUTS[:, 1])
    np.testing.assert_allclose(several.innovations_[:, 1], one.innovations_, atol=1e-10)


def test_warm_start_of_several_outputs():
    machine = KernelRegressor("epsilon_insensitive", KERNEL, C=C, warm_start=True, tol=1e-6)
    machine.fit(T, OUTPUTS)
    machine.set_params(C=2 * C).fit(T, OUTPUTS)
    cold = KernelRegressor("epsilon_insensitive", KERNEL, C=2 * C, tol=1e-6).fit(T, OUTPUTS)
    assert machine.solution_.objective == pytest.approx(cold.solution_.objective, rel=1e-4)


def test_outputs_share_one_factorization():
    class Counting(Dense):
        count = 0

        def shifted(self, e, max_bytes=4e9):
            type(self).count += 1
            return super().shifted(e, max_bytes)

    grams = []

    def make(kernel, X):
        grams.append(Counting(kernel(X)))
        return grams[0]

    KernelRegressor(kernel=KERNEL, gram=make, null_space=Constant()).fit(T, OUTPUTS)
    assert grams[0].count == 1


def test_a_remembered_matrix_is_the_matrix():
    gram = FactorizedGram(Dense(K))
    v = RNG.normal(size=N)
    np.testing.assert_array_equal(gram.matvec(v), Dense(K).matvec(v))
    np.testing.assert_array_equal(gram.dense(), K)
    np.testing.assert_array_equal(gram.rows([1]), K[[1]])
    for shift in (1.0, 2.0, 1.0):
        x = gram.shifted(np.full(N, shift))(v)
        np.testing.assert_allclose(K @ x + shift * x, v, atol=1e-12)
    assert gram.in_memory
    assert gram.resident
    assert not gram.sparse
    assert gram.factor_bytes == 8.0 * N**2


@pytest.mark.parametrize("solver", ["direct", "conjugate_gradient"])
def test_outputs_and_classes_are_solved_together(solver):
    """One factorization or one Krylov space serves all, with the answers of one at a time."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2, rng.normal(size=150)])
    settings = {"kernel": "rbf", "C": 3.0, "tol": 1e-8, "solver": solver}
    both = KernelRegressor(**settings).fit(X, Y)
    for k in range(3):
        one = KernelRegressor(**settings).fit(X, Y[:, k])
        # Residuals of at most the tolerance on both sides.
        np.testing.assert_allclose(both.predict(X)[:, k], one.predict(X), atol=2e-8 * 150)
    y = rng.integers(0, 3, 150)
    machine = KernelClassifier(loss="squared", **settings).fit(X, y)
    for k in range(3):
        one = KernelRegressor(**settings).fit(X, np.where(y == k, 1.0, -1.0))
        np.testing.assert_allclose(
            machine.decision_function(X)[:, k], one.predict(X), atol=2e-8 * 150
        )
    assert machine.solution_.converged
