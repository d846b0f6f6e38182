"""Squared loss by one factorization: closed forms, other people's code, and what is refused."""

import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator
from sklearn.kernel_ridge import KernelRidge

from cases import LOSSES, random_risk
from mercer.gram import Dense, Tiled
from mercer.gram.indexed import Indexed
from mercer.gram.low_rank import LowRank
from mercer.kernels import Gaussian
from mercer.losses import Expectile, Squared
from mercer.problems import RegularizedRisk
from mercer.solvers import Direct, Status, minimize
from mercer.solvers.rounding import rounding_of

N = 40
SOLVER = Direct(tol=1e-9)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def sample(rng, n=N):
    X = rng.normal(size=(n, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=n)


def thin_plate(X):
    r2 = np.sum((X[:, None] - X[None]) ** 2, axis=-1)
    return np.where(r2 > 0, 0.5 * r2 * np.log(np.where(r2 > 0, r2, 1.0)), 0.0)


def test_identities_of_the_least_squares_machine(rng):
    """(K + 1/C) a = y; a is C times the residual; primal = dual = y'a / 2."""
    X, y = sample(rng)
    K, C = Gaussian(1.0)(X), 3.0
    s = minimize(RegularizedRisk(Squared(), Dense(K), y, C), SOLVER)
    np.testing.assert_allclose(s.a, np.linalg.solve(K + np.eye(N) / C, y), atol=1e-11)
    np.testing.assert_allclose(s.a, C * (y - s.f), atol=1e-12)
    assert s.objective == pytest.approx(0.5 * y @ s.a, rel=1e-12)
    assert s.dual == pytest.approx(0.5 * y @ s.a, rel=1e-12)
    assert s.gap <= 1e-14
    assert s.status is Status.CONVERGED
    assert s.n_iter == 1
    # The derivative of the optimal value in y_i is a_i.
    h = 1e-4
    moved = minimize(RegularizedRisk(Squared(), Dense(K), y + h * np.eye(N)[0], C), SOLVER)
    assert (moved.objective - s.objective) / h == pytest.approx(s.a[0] + 0.5 * h, abs=10 * h)


def test_kernel_ridge_regression(rng):
    X, y = sample(rng)
    weights = rng.uniform(0.5, 2.0, N)
    ridge = KernelRidge(alpha=0.5, kernel="rbf", gamma=0.5).fit(X, y, sample_weight=weights)
    K = Dense(Gaussian(1.0)(X))
    s = minimize(RegularizedRisk(Squared(), K, y, 2.0 * weights), SOLVER)
    np.testing.assert_allclose(s.f, ridge.predict(X), atol=1e-10)


@pytest.mark.parametrize("q", [1, 3])
def test_the_bordered_system_with_weights_some_of_them_zero(q, rng):
    X, y = sample(rng)
    K, B, d = Gaussian(1.0)(X), np.column_stack([np.ones(N), X])[:, :q], rng.normal(size=q)
    c = rng.uniform(0.1, 10.0, N)
    c[:3] = 0.0
    s = minimize(RegularizedRisk(Squared(), Dense(K), y, c, B, d), SOLVER)
    live = c > 0
    full = np.block(
        [[K[np.ix_(live, live)] + np.diag(1 / c[live]), B[live]], [B[live].T, np.zeros((q, q))]]
    )
    expected = np.linalg.solve(full, np.concatenate([y[live], d]))
    np.testing.assert_allclose(s.a[live], expected[:-q], atol=1e-10)
    np.testing.assert_allclose(s.b, expected[-q:], atol=1e-10)
    assert np.all(s.a[~live] == 0)


def test_dependent_columns_share_their_coefficient(rng):
    X, y = sample(rng)
    K = Dense(Gaussian(1.0)(X))
    once = minimize(RegularizedRisk(Squared(), K, y, 1.0, np.ones((N, 1))), SOLVER)
    twice = minimize(RegularizedRisk(Squared(), K, y, 1.0, np.ones((N, 2))), SOLVER)
    np.testing.assert_allclose(twice.a, once.a, atol=1e-12)
    np.testing.assert_allclose(twice.b, np.repeat(once.b / 2, 2), atol=1e-12)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4, 1e8])
def test_singular_matrices_at_any_weight(C, rng):
    X = np.repeat(rng.normal(size=(N // 2, 2)), 2, axis=0)
    y = rng.normal(size=N)
    risk = RegularizedRisk(Squared(), Dense(Gaussian(1.0)(X)), y, C, np.ones((N, 1)))
    s = minimize(risk, Direct(tol=1e-6))
    assert s.status is Status.CONVERGED
    # Nothing but what rounding of decision values can change, twice.
    assert s.gap <= 2.0 * rounding_of(risk, s) + 1e-12 * s.objective
    # Twins with targets of their own: their mean, twice the weight.
    half = RegularizedRisk(
        Squared(),
        Dense(Gaussian(1.0)(X[::2])),
        0.5 * (y[::2] + y[1::2]),
        2.0 * C,
        np.ones((N // 2, 1)),
    )
    np.testing.assert_allclose(s.f[::2], minimize(half, Direct(tol=1e-6)).f, atol=1e-6)


def test_a_thin_factor_costs_no_square(rng):
    n = 20_000  # squared, it would take 3.2 GB
    G = rng.normal(size=(n, 4))
    y = G @ np.arange(4.0) + rng.normal(size=n)
    risk = RegularizedRisk(Squared(), LowRank(G), y, 0.5, np.ones((n, 1)))
    s = minimize(risk, Direct(tol=1e-9, max_bytes=1e7))
    Z = np.column_stack([G, np.ones(n)])
    ridge = np.diag([1.0, 1.0, 1.0, 1.0, 0.0])
    w = np.linalg.solve(ridge + 0.5 * Z.T @ Z, 0.5 * Z.T @ y)
    np.testing.assert_allclose(s.f, Z @ w, atol=1e-9)


def test_every_way_of_holding_the_matrix(rng):
    X, y = sample(rng)
    kernel = Gaussian(1.0)
    K = kernel(X)
    index = rng.integers(0, N, 2 * N)
    expected = minimize(
        RegularizedRisk(Squared(), Dense(K[np.ix_(index, index)]), y[index], 2.0), SOLVER
    )
    for gram in (Dense(K), Tiled(kernel, X)):
        s = minimize(RegularizedRisk(Squared(), Indexed(gram, index), y[index], 2.0), SOLVER)
        np.testing.assert_allclose(s.a, expected.a, atol=1e-10)


@pytest.mark.parametrize("smoothing", [1e-6, 0.1, 10.0])
def test_thin_plate_splines(smoothing, rng):
    X, y = sample(rng)
    spline = RBFInterpolator(X, y, kernel="thin_plate_spline", smoothing=smoothing, degree=1)
    B = np.column_stack([np.ones(N), X])
    K = thin_plate(X)
    assert np.linalg.eigvalsh(K)[0] < 0
    risk = RegularizedRisk(Squared(), Dense(K), y, 1.0 / smoothing, B)
    s = minimize(risk, Direct(tol=1e-6))
    np.testing.assert_allclose(s.f, spline(X), atol=1e-6)
    np.testing.assert_allclose(B.T @ s.a, 0.0, atol=1e-9 * np.sum(np.abs(s.a)))
    # b belongs to the kernel itself, so new points are predicted by the same expansion.
    Z = rng.normal(size=(20, 2))
    r2 = np.sum((Z[:, None] - X[None]) ** 2, axis=-1)
    new = 0.5 * r2 * np.log(r2) @ s.a + np.column_stack([np.ones(20), Z]) @ s.b
    np.testing.assert_allclose(new, spline(Z), atol=1e-6)


def test_fewer_points_than_columns_is_a_polynomial(rng):
    X, y = sample(rng, 3)
    B = np.column_stack([np.ones(3), X])
    s = minimize(RegularizedRisk(Squared(), Dense(thin_plate(X)), y, 1.0, B), SOLVER)
    np.testing.assert_allclose(s.a, 0.0, atol=1e-12)
    np.testing.assert_allclose(B @ s.b, y, atol=1e-12)


def test_what_is_refused(rng):
    X, y = sample(rng)
    K = thin_plate(X)
    for loss in LOSSES:
        assert Direct().accepts(random_risk(loss)) == (loss == Squared())
    assert Direct().accepts(random_risk(Expectile(0.5)))
    risk = RegularizedRisk(Squared(), Dense(np.eye(N)), y)
    with pytest.raises(ValueError, match=r"max_bytes=1.0e\+02"):
        minimize(risk, Direct(max_bytes=100))
    with pytest.raises(ValueError, match="unbounded below"):
        minimize(
            RegularizedRisk(Squared(), Dense(np.eye(N)), y, 1.0, np.zeros((N, 1)), np.ones(1)),
            Direct(),
        )
    for B in (None, X[:, :1]):
        with pytest.raises(ValueError, match="conditionally positive definite"):
            minimize(RegularizedRisk(Squared(), Dense(K), y, 1e6, B), Direct())


@pytest.mark.parametrize("columns", [0, 1, 2])
def test_precisions_are_the_diagonal_of_the_bordered_inverse(rng, columns):
    X, y = sample(rng)
    K, c = Gaussian(1.0)(X), rng.uniform(0.5, 2.0, N)
    c[[3, 8]] = 0.0
    B = np.column_stack([np.ones(N), X[:, 0]])[:, :columns]
    s = minimize(RegularizedRisk(Squared(), Dense(K), y, c, B), Direct(precisions=True))
    live = np.flatnonzero(c)
    M = K[np.ix_(live, live)] + np.diag(1.0 / c[live])
    whole = np.block([[M, B[live]], [B[live].T, np.zeros((columns, columns))]])
    np.testing.assert_allclose(s.precisions[live], np.diag(np.linalg.inv(whole))[: len(live)])
    assert np.all(s.precisions[[3, 8]] == 0.0)
    plain = minimize(RegularizedRisk(Squared(), Dense(K), y, c, B), Direct())
    assert plain.precisions is None
    np.testing.assert_allclose(s.a, plain.a, atol=1e-13)


def test_precisions_are_left_out_where_they_are_not_known(rng):
    """Of repeated samples, of few columns, and of samples that determine a column alone."""
    X, y = sample(rng)
    K, solver = Dense(Gaussian(1.0)(X)), Direct(precisions=True)
    twice = Indexed(K, np.r_[np.arange(N), 0])
    assert minimize(RegularizedRisk(Squared(), twice, np.r_[y, y[0]]), solver).precisions is None
    few = LowRank(rng.normal(size=(N, 3)))
    assert minimize(RegularizedRisk(Squared(), few, y), solver).precisions is None
    alone = np.eye(N)[:, :1]
    assert minimize(RegularizedRisk(Squared(), K, y, 1.0, alone), solver).precisions is None
