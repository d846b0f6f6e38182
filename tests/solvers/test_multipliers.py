"""Columns that pair steps cannot keep: multipliers meet them, also for indefinite matrices."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from cases import CLASSIFICATION, REGRESSION, random_risk, targets
from mercer.gram import Dense, Tiled
from mercer.gram.indexed import Indexed
from mercer.gram.projected import Projected
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Hinge, Pinball, QuadraticDualLoss
from mercer.problems import RegularizedRisk
from mercer.problems.nu import nu_regression
from mercer.regularizers import Constant, Functions, Polynomial
from mercer.solvers import SMO, InteriorPoint, Status, minimize
from mercer.solvers._multipliers import Multipliers, kept

QUADRATIC = [loss for loss in REGRESSION + CLASSIFICATION if isinstance(loss, QuadraticDualLoss)]
SPACES = [Polynomial(1), Polynomial(2), Functions([lambda X: np.sin(X[:, 0])])]


def thin_plate(X):
    r = cdist(X, X)
    return r**2 * np.log(np.where(r > 0, r, 1.0))


@pytest.mark.parametrize("loss", QUADRATIC, ids=repr)
@pytest.mark.parametrize("space", SPACES, ids=["line", "parabola", "sine"])
def test_the_optimum_is_that_of_the_interior_point(loss, space):
    for C in (0.1, 30.0):
        risk = random_risk(loss, null_space=space, seed=5, n=40, C=C, duplicates=True)
        ours = minimize(risk, SMO(tol=1e-7))
        exact = minimize(risk, InteriorPoint(tol=1e-9))
        assert ours.converged
        # The gap bounds the excess of ours, that of the other solver its own.
        assert abs(ours.objective - exact.objective) <= ours.gap + exact.gap + 1e-12 * risk.n * C
        assert ours.gap <= 1e-7 * 10 * risk.c.sum()


@pytest.mark.parametrize("loss", QUADRATIC, ids=repr)
def test_matrices_that_are_positive_definite_off_the_columns_only(loss):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 2))
    K = thin_plate(X)
    assert np.linalg.eigvalsh(K)[0] < -0.1
    risk = RegularizedRisk(loss, Dense(K), targets(loss, 60, rng), 5.0, Polynomial(1)(X))
    ours, exact = minimize(risk, SMO(tol=1e-7)), minimize(risk, InteriorPoint(tol=1e-9))
    assert ours.converged
    assert abs(ours.objective - exact.objective) <= ours.gap + exact.gap + 1e-12 * 60 * 5.0


def test_walls_of_a_tube_beside_a_trend():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 1))
    y = 2.0 * X[:, 0] + np.sin(3.0 * X[:, 0]) + 0.1 * rng.normal(size=60)
    risk = nu_regression(Dense(Gaussian(0.5)(X)), y, np.full(60, 3.0), 0.3, Polynomial(1)(X))
    ours, exact = minimize(risk, SMO(tol=1e-7)), minimize(risk, InteriorPoint(tol=1e-9))
    assert ours.converged
    assert abs(ours.objective - exact.objective) <= ours.gap + exact.gap + 1e-9


def test_a_warm_start_is_used():
    risk = random_risk(EpsilonInsensitive(0.1), null_space=Polynomial(1), n=80, C=10.0)
    first = minimize(risk, SMO(tol=1e-6))
    again = minimize(risk, SMO(tol=1e-6), first)
    assert again.converged
    assert again.n_iter < 0.5 * first.n_iter


def test_rows_in_pieces_and_in_single_precision_end_in_the_same_place():
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(700, 2))
    y = X[:, 0] + np.sin(6.0 * X[:, 1]) + 0.1 * rng.normal(size=700)
    tiled = Tiled(Gaussian(0.3), X, max_bytes=200_000)
    risk = RegularizedRisk(EpsilonInsensitive(0.1), tiled, y, 1.0, Polynomial(1)(X))
    solution = minimize(risk, SMO(tol=1e-3, cache_bytes=1e6))
    exact = minimize(risk, InteriorPoint(tol=1e-8))
    assert solution.converged
    assert solution.objective - exact.objective <= solution.gap + exact.gap


@pytest.mark.parametrize("limit", [{"max_iter": 50}, {"max_time": 1e-9}])
def test_budgets_are_kept(limit):
    risk = random_risk(EpsilonInsensitive(0.0), null_space=Polynomial(1), n=200, C=100.0)
    with pytest.warns(UserWarning, match="terminated early"):
        solution = minimize(risk, SMO(tol=1e-9, **limit))
    assert solution.status in (Status.MAX_ITER, Status.MAX_TIME)
    assert solution.n_iter <= 50


def test_who_listens_sees_the_true_gap_and_can_stop():
    risk = random_risk(Pinball(0.3), null_space=Polynomial(1), n=200, C=100.0)
    seen = []

    def listener(progress):
        seen.append(progress)
        return len(seen) == 4

    solution = minimize(risk, SMO(tol=1e-9), listener=listener)
    assert solution.status is Status.STOPPED
    assert all(progress.gap >= 0.0 for progress in seen)


def test_products_and_coefficients_of_the_problem_itself():
    """What the rounds return is K a and b of the problem they stand for, at any a."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 2))
    risk = RegularizedRisk(Hinge(), Dense(thin_plate(X)), np.ones(30), 1.0, Polynomial(1)(X))
    rows = Multipliers(risk)
    rows.t = rng.normal(size=2)
    a = rng.normal(size=30)
    F = rows.K.matvec(a) + rows.offset
    scale = np.abs(risk.K.K).sum() * np.abs(a).max() + rows.K.rho * np.abs(a).sum()
    rounding = 30 * np.finfo(float).eps * scale
    np.testing.assert_allclose(rows.product(F, a), risk.K.matvec(a), rtol=0, atol=rounding)
    a -= risk.B @ np.linalg.lstsq(risk.B, a, rcond=None)[0]
    F, b = rows.K.matvec(a) + rows.offset, rng.normal(size=1)
    f = risk.K.matvec(a) + risk.B @ rows.coefficients(b, a)
    np.testing.assert_allclose(F + b[0], f, rtol=0, atol=rounding)


def test_columns_that_pairs_keep():
    B = np.array([[1.0, 0.0, 0.5, 1.0], [1.0, 0.0, 0.7, 0.0], [0.0, 2.0, 0.9, 0.0]])
    assert kept(B) == [0, 1]
    assert kept(B[:, 2:]) == [1]
    assert kept(Constant()(np.zeros((3, 1)))) == [0]


def test_the_projected_matrix():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(12, 2))
    K, U = thin_plate(X), np.linalg.qr(Polynomial(1)(X))[0]
    P = U @ U.T
    exact = K - P @ K - K @ P + P @ K @ P + 3.0 * P
    gram = Projected(Dense(K), U, 3.0)
    rounding = 100 * np.finfo(float).eps * np.abs(K).max()
    close = {"rtol": 0, "atol": rounding}
    np.testing.assert_allclose(gram.dense(), exact, **close)
    np.testing.assert_allclose(gram.block([3, 1], slice(2, 9)), exact[[3, 1], 2:9], **close)
    np.testing.assert_allclose(gram.rows([5]), exact[[5]], **close)
    np.testing.assert_allclose(gram.diag(), exact.diagonal(), **close)
    v = rng.normal(size=(12, 2))
    np.testing.assert_allclose(gram.matvec(v), exact @ v, rtol=0, atol=12 * rounding)
    assert gram.shape == (12, 12)
    assert gram.single() is gram
    tiled = Projected(Tiled(Gaussian(), X), U)
    assert tiled.single().dtype == np.float32
    np.testing.assert_allclose(tiled.single().dense(), tiled.dense(), rtol=0, atol=1e-5)
    assert Projected(Indexed(Dense(K), np.arange(12)), U).dtype == np.float64


@pytest.mark.parametrize("seed", [2, 7])
def test_rows_that_few_free_coefficients_cannot_restore(seed):
    # At the tolerance two coefficients are free, which cannot restore three rows: solve on.
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, 50)
    y = np.sin(x) + np.sinc(2 * (x - 5)) + rng.uniform(-0.2, 0.2, 50)
    fold = {2: 7, 7: 4}[seed]
    out = np.array_split(np.random.default_rng([seed, 1]).permutation(50), 10)[fold]
    x, y = np.delete(x, out), np.delete(y, out)
    B = np.column_stack([np.ones_like(x), np.sin(x), np.cos(x)])
    K = Dense(Gaussian(0.25)(x[:, None]))
    solution = minimize(RegularizedRisk(EpsilonInsensitive(0.05), K, y, 2.0**-7, B), SMO())
    assert solution.converged
