"""Kernel values in parts are the kernel's, and a sweep is two products with them."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

from mercer.kernels import Gaussian, Kernel, Linear, Matern, Polynomial
from mercer.reduced.nystrom import Panel

EPS64, EPS32 = np.finfo(np.float64).eps, np.finfo(np.float32).eps

KERNELS: list[Kernel] = [
    Gaussian(1.5),
    Gaussian(np.linspace(0.5, 3.0, 5)),
    Matern(2.0, nu=0.5),
    Matern(2.0, nu=2.5),
    Polynomial(degree=2, gamma=0.2, coef0=1.0),
    2.0 * Gaussian(1.5) + Linear(),
]


@pytest.fixture
def points() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(733, 5)), rng.normal(size=(41, 5))


def by_hand(kernel: Kernel, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Return kernel values pair by pair, from differences and products of the points."""
    i, j = np.divmod(np.arange(len(X) * len(Z)), len(Z))
    return kernel.paired(X[i], Z[j]).reshape(len(X), len(Z))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("single", [False, True])
def test_values(kernel: Kernel, single: bool, points: tuple[np.ndarray, np.ndarray]) -> None:
    X, Z = points
    K = Panel(kernel, Z).values(X, single=single)
    expected = by_hand(kernel, X, Z)
    assert K.dtype == (np.float32 if single else np.float64)
    # float32 promises 5e-6 of a Gaussian and 1e-5 of squared distances; near zero distance
    # the root in Matern 1/2 turns 1e-5 of the square into half of that. The quadratic
    # kernel's values are up to 9 here, each with a few roundings of its own.
    error = 1e-5 if single else 1e-13
    np.testing.assert_allclose(K, expected, rtol=error, atol=error * np.abs(expected).max())


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("rows", [None, 100])
def test_a_sweep_is_two_products(
    kernel: Kernel, columns: int, rows: int | None, points: tuple[np.ndarray, np.ndarray]
) -> None:
    X, Z = points
    rng = np.random.default_rng(1)
    A, y = rng.normal(size=(len(Z), columns)), rng.normal(size=(len(X), columns))
    K = by_hand(kernel, X, Z)
    expected = K.T @ np.tanh(K @ A - y)
    for single, u in ((False, EPS64), (True, EPS32)):
        R = Panel(kernel, Z).sweep(X, A, lambda F, part, K: np.tanh(F - y[part]), single, rows)
        # Each value is off by at most 100 u of the largest (see test_values), F by that times the
        # norms of m coefficients; slopes at most as much; R sums over n rows.
        largest = np.abs(K).max()
        off_F = 100.0 * u * largest * np.abs(A).sum(axis=0).max()
        bound = len(X) * largest * (off_F + 100.0 * u)
        assert np.abs(R - expected).max() <= bound
        assert R.dtype == np.float64


@pytest.mark.parametrize("single", [False, True])
def test_sparse_rows(single: bool, points: tuple[np.ndarray, np.ndarray]) -> None:
    X, Z = points
    X, Z = np.where(X > 1.0, X, 0.0), np.where(Z > 0.5, Z, 0.0)
    A = np.random.default_rng(1).normal(size=(len(Z), 2))
    kernel = Gaussian(1.5)
    dense = Panel(kernel, Z).sweep(X, A, lambda F, part, K: F, single)
    error = 1e-4 if single else 1e-12
    for centres in (Z, sparse.csr_array(Z)):
        R = Panel(kernel, centres).sweep(sparse.csr_array(X), A, lambda F, part, K: F, single)
        np.testing.assert_allclose(R, dense, rtol=error, atol=error * np.abs(dense).max())


def test_slopes_see_kernel_values_and_may_have_other_columns(
    points: tuple[np.ndarray, np.ndarray],
) -> None:
    X, Z = points
    A = np.random.default_rng(1).normal(size=(len(Z), 3))
    panel = Panel(Gaussian(), Z)
    K = panel.values(X)
    squares = np.zeros((len(Z), len(Z)))

    def slopes(F: np.ndarray, part: slice, values: np.ndarray) -> np.ndarray:
        nonlocal squares
        squares += values.T @ values
        return F[:, :columns]

    for columns in (0, 1, 2):
        squares[...] = 0.0
        # n terms, each of norm at most that of the row's values, in one order or another
        bound = len(X) * EPS64 * len(Z)
        R = panel.sweep(X, A, slopes)
        assert R.shape == (len(Z), columns)
        np.testing.assert_allclose(R, (K.T @ (K @ A))[:, :columns], rtol=0, atol=100 * bound)
        np.testing.assert_allclose(squares, K.T @ K, rtol=0, atol=bound)


def test_parts_cover_the_rows_in_order(points: tuple[np.ndarray, np.ndarray]) -> None:
    X, Z = points
    seen = []

    def slopes(F: np.ndarray, part: slice, K: np.ndarray) -> np.ndarray:
        seen.append(part)
        return F

    Panel(Gaussian(), Z).sweep(X, np.ones((len(Z), 1)), slopes, rows=200)
    assert [(part.start, part.stop) for part in seen] == [
        (0, 200),
        (200, 400),
        (400, 600),
        (600, 733),
    ]


@pytest.mark.parametrize("single", [False, True])
def test_far_from_the_origin(single: bool, points: tuple[np.ndarray, np.ndarray]) -> None:
    # Squared norms of 5e12 leave no digit of distances of 1, unless the mean is taken off first.
    X, Z = points
    K = Panel(Gaussian(), Z + 1e6).values(X + 1e6, single=single)
    error = 1e-5 if single else 1e-8
    np.testing.assert_allclose(K, by_hand(Gaussian(), X, Z), atol=error)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("kernel", [Gaussian(0.05), Matern(0.05, nu=1.5)], ids=repr)
def test_some_points_many_widths_away(
    kernel: Kernel, single: bool, points: tuple[np.ndarray, np.ndarray]
) -> None:
    X, Z = points
    X, Z = X.copy(), Z.copy()
    X[::7] *= 1e4
    Z[3] = X[14] + 0.02
    Z[5] = X[700] - 0.01
    A = np.random.default_rng(1).normal(size=(len(Z), 2))
    exact = by_hand(kernel, X, Z)
    assert exact.max() > 0.5
    # In float32 points of 1e4 are rounded by 6e-4, a hundredth of the width, once each.
    error = 0.02 if single else 1e-9
    panel = Panel(kernel, Z)
    np.testing.assert_allclose(panel.values(X, single=single), exact, rtol=0, atol=error)
    R = panel.sweep(X, A, lambda F, part, K: F, single, rows=50)
    np.testing.assert_allclose(R, exact.T @ (exact @ A), rtol=0, atol=10 * error)


@pytest.mark.parametrize("single", [False, True])
def test_threads_share_a_panel(single: bool, points: tuple[np.ndarray, np.ndarray]) -> None:
    X, Z = points
    A = np.random.default_rng(1).normal(size=(len(Z), 2))
    panel = Panel(Gaussian(), Z)
    one = panel.sweep(X, A, lambda F, part, K: F, single)
    with ThreadPoolExecutor(4) as pool:
        several = list(
            pool.map(lambda _: panel.sweep(X, A, lambda F, part, K: F, single), range(16))
        )
    for R in several:
        np.testing.assert_array_equal(R, one)


def test_travels_small(points: tuple[np.ndarray, np.ndarray]) -> None:
    X, Z = points
    panel = Panel(Gaussian(2.0), Z)
    K = panel.values(X)
    packed = pickle.dumps(panel)
    assert len(packed) < Z.nbytes + 2000
    np.testing.assert_array_equal(pickle.loads(packed).values(X), K)


def test_nothing_in_nothing_out(points: tuple[np.ndarray, np.ndarray]) -> None:
    X, Z = points
    panel = Panel(Gaussian(), Z)
    assert panel.values(X[:0]).shape == (0, len(Z))
    R = panel.sweep(X[:0], np.ones((len(Z), 2)), lambda F, part, K: F)
    np.testing.assert_array_equal(R, np.zeros((len(Z), 2)))
