"""Box programs: copies against the matrix they stand for, values and bounds against brute force."""

import cvxpy as cp
import numpy as np
import pytest

from mercer.gram import Dense
from mercer.gram.low_rank import LowRank
from mercer.problems.box_qp import BoxQP, SignedCopies

EPS = np.finfo(float).eps
N, M = 12, 30


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def copies(rng):
    G = rng.normal(size=(N, N))
    K = G @ G.T
    index = np.concatenate([np.arange(N), rng.integers(0, N - 1, M - N)])
    sign = rng.choice([-1.0, 1.0], M)
    S = np.zeros((M, N))
    S[np.arange(M), index] = sign
    return SignedCopies(Dense(K), index, sign), S @ K @ S.T


def random_qp(rng, q=2):
    H, matrix = copies(rng)
    z = rng.uniform(0.2, 0.8, M)
    A = rng.normal(size=(M, q))
    h = np.where(rng.random(M) < 0.5, 0.0, rng.uniform(0.1, 1.0, M))
    upper = np.where((h > 0) & (rng.random(M) < 0.5), np.inf, 1.0)
    lower = np.where(rng.random(M) < 0.3, -0.5, 0.0)
    return BoxQP(H, 5.0 * rng.normal(size=M), A, A.T @ z, lower, upper, h), matrix, z


def by_cvxpy(qp, matrix):
    """Minimize with a conic solver; return the point and the multipliers of ``A'z = e``."""
    z = cp.Variable(M)
    finite = np.isfinite(qp.upper)
    P = cp.psd_wrap(matrix + np.diag(qp.h))
    constraints = [qp.A.T @ z == qp.e, z >= qp.lower, z[finite] <= qp.upper[finite]]
    problem = cp.Problem(cp.Minimize(cp.quad_form(z, P) / 2 + qp.p @ z), constraints)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return z.value, constraints[0].dual_value, problem.value


def test_copies_are_the_matrix_they_stand_for(rng):
    H, matrix = copies(rng)
    z, Z = rng.normal(size=M), rng.normal(size=(M, 2))
    np.testing.assert_allclose(H.matvec(z), matrix @ z, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(H.matvec(Z), matrix @ Z, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(H.diag(), np.diag(matrix))


@pytest.mark.parametrize("digits", [(-1, 1), (-6, 6)])
def test_the_halved_system_has_the_solution_of_the_whole_one(digits, rng):
    """One matrix of the sample's size gives the Newton step of all copies."""
    H, matrix = copies(rng)
    D = 10.0 ** rng.uniform(*digits, M)
    r = rng.normal(size=(M, 2))
    x = H.shifted(D)(r)
    whole = matrix + np.diag(D)
    scale = np.abs(whole) @ np.abs(x) + np.abs(r)
    assert np.max(np.abs(whole @ x - r) / scale) <= 1e3 * M * EPS
    np.testing.assert_allclose(H.shifted(D)(r[:, 0]), x[:, 0], rtol=1e-6, atol=1e-12)


def test_a_split_sample_is_solved_where_division_would_cancel(rng):
    """One copy free, the other on its bound: shifts sixteen orders of magnitude apart."""
    K = Dense(np.eye(2) + 1.0)
    H = SignedCopies(K, np.array([0, 0, 1, 1]), np.array([1.0, -1.0, 1.0, -1.0]))
    D = np.array([1e-10, 1e6, 1e6, 1e-10])
    r = rng.normal(size=4)
    x = H.shifted(D)(r)
    free = np.linalg.solve(np.array([[2.0, -1.0], [-1.0, 2.0]]), r[[0, 3]])
    np.testing.assert_allclose(x[[0, 3]], free, rtol=1e-5)


def test_an_infinite_shift_pins_a_copy(rng):
    H, matrix = copies(rng)
    D = np.where(np.arange(M) % 2 == 0, np.inf, 0.5)
    live = np.isfinite(D)
    r = rng.normal(size=M)
    x = H.shifted(D)(r)
    assert np.all(x[~live] == 0)
    expected = np.linalg.solve(matrix[np.ix_(live, live)] + 0.5 * np.eye(live.sum()), r[live])
    np.testing.assert_allclose(x[live], expected, atol=1e-10)


def test_copies_of_a_thin_factor(rng):
    G = rng.normal(size=(N, 2))
    index, sign = np.tile(np.arange(N), 2), np.repeat([1.0, -1.0], N)
    D, r = rng.uniform(0.5, 2.0, 2 * N), rng.normal(size=2 * N)
    thin = SignedCopies(LowRank(G), index, sign).shifted(D)(r)
    np.testing.assert_allclose(
        thin, SignedCopies(Dense(G @ G.T), index, sign).shifted(D)(r), atol=1e-12
    )


def test_the_objective_is_the_quadratic_form(rng):
    qp, matrix, z = random_qp(rng)
    expected = 0.5 * z @ (matrix + np.diag(qp.h)) @ z + qp.p @ z
    assert qp.objective(z) == pytest.approx(expected, rel=1e-12)
    g = (matrix + np.diag(qp.h)) @ z + qp.p + qp.A @ np.ones(2)
    np.testing.assert_allclose(qp.gradient(z, np.ones(2)), g, rtol=1e-10)


def test_the_dual_function_is_the_least_value_of_the_lagrangian(rng):
    """Minimized over the box by brute force: a grid fine enough for the bound's second order."""
    qp, matrix, z = random_qp(rng)
    b = rng.normal(size=2)
    s = matrix @ z + qp.p + qp.A @ b
    reach = np.abs(s) / np.where(qp.h > 0, qp.h, 1.0) + 1.0
    high = np.minimum(qp.upper, reach)
    grid = np.linspace(qp.lower, high, 100_001)
    least = np.min(s * grid + 0.5 * qp.h * grid**2, axis=0)
    expected = np.sum(least) - 0.5 * z @ matrix @ z - qp.e @ b
    step = np.max(high - qp.lower) / 100_000
    assert abs(qp.dual_objective(z, b) - expected) <= M * np.max(qp.h) * step**2


def test_the_dual_function_knows_when_it_is_unbounded():
    H = SignedCopies(Dense(np.zeros((1, 1))), np.zeros(1, dtype=int), np.ones(1))
    one, none = np.ones(1), np.zeros((1, 0))
    qp = BoxQP(H, -one, none, np.zeros(0), 0.0 * one, np.inf * one, h=0.0 * one)
    assert qp.dual_objective(one, np.zeros(0)) == -np.inf
    assert qp.residuals(one, np.zeros(0)).gap == np.inf


@pytest.mark.parametrize("seed", range(3))
def test_a_conic_solution_has_no_residual_and_no_gap(seed):
    qp, matrix, z = random_qp(np.random.default_rng(seed))
    best, b, value = by_cvxpy(qp, matrix)
    best = np.clip(best, qp.lower, qp.upper)
    left = qp.residuals(best, b)
    assert left.stationarity <= 1e-6
    assert left.equality <= 1e-8
    assert left.bounds == 0.0
    assert left.complementarity <= 1e-6
    assert abs(left.gap) <= 1e-6
    assert qp.objective(best) == pytest.approx(value, rel=1e-8)
    # Weak duality: no multipliers and no point prove more than the minimum.
    rng = np.random.default_rng(seed)
    for _ in range(20):
        bound = qp.dual_objective(rng.uniform(-1, 1, M), b + rng.normal(size=2))
        assert bound <= value + 1e-8 * abs(value)
    worse = qp.residuals(z, np.zeros(2))
    assert worse.stationarity > 0.1
    assert worse.complementarity > 0.1
    assert worse.gap > 0.1
    outside = qp.residuals(qp.lower - 0.25, np.zeros(2))
    assert outside.bounds == 0.25
    assert outside.equality == pytest.approx(np.max(np.abs(qp.A.T @ (qp.lower - 0.25) - qp.e)))
