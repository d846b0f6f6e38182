"""Weighted sums of rows by compiled loops, beside those of NumPy."""

import numpy as np
import pytest

from mercer.kernels import Gaussian, Matern, radial_tiles
from mercer.kernels.kept_rows import KeptRows
from mercer.kernels.roundoff import ALLOWED
from mercer.kernels.tiles import add_rows, weigh, weigh_both


@pytest.mark.parametrize("m", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("n", [5, 3000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weighted_rows_are_added(m, n, dtype):
    rng = np.random.default_rng(m)
    # Powers of two times small integers: no sum is rounded, in whatever order.
    flat = rng.integers(-8, 9, 10 * n + 3).astype(dtype)
    starts = rng.choice(9 * n, m, replace=False)
    rows = np.stack([flat[s : s + n] for s in starts]).astype(float)
    t = rng.integers(-4, 5, (2, m)) / 4.0
    F = rng.integers(-9, 10, (2, n)).astype(float)
    both, one = F.copy(), F[0].copy()
    add_rows(one, flat, starts, t[0])
    add_rows(both, flat, starts, t)
    np.testing.assert_array_equal(one, F[0] + t[0] @ rows)
    np.testing.assert_array_equal(both, F + t @ rows)


@pytest.mark.parametrize("n", [1, 4, 7])
@pytest.mark.parametrize("m", [1, 6, 2500])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_both_sides_are_added(n, m, dtype):
    rng = np.random.default_rng(n)
    K = rng.integers(-8, 9, (n, m + 2)).astype(dtype)
    a, b = rng.integers(-4, 5, m) / 4.0, rng.integers(-4, 5, n) / 4.0
    f, g = rng.integers(-9, 10, n).astype(float), rng.integers(-9, 10, m).astype(float)
    left, right, alone = f.copy(), g.copy(), f.copy()
    weigh_both(K, a, left, b, right)
    weigh(np.ascontiguousarray(K[:, :m]), a, alone)
    np.testing.assert_array_equal(left, f + K[:, :m].astype(float) @ a)
    np.testing.assert_array_equal(alone, left)
    np.testing.assert_array_equal(right, g + K[:, :m].astype(float).T @ b)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Matern(1.0, 1.5)])
@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("share", [0.0, 0.3, 2.0])
def test_products_of_mirrored_tiles_whatever_is_kept(kernel, q, share, monkeypatch):
    monkeypatch.setattr("mercer.kernels.tiles.TILE", 2**15)  # several tiles in a row of them
    rng = np.random.default_rng(5)
    n = 1100
    X = rng.normal(size=(n, 3)).astype(np.float32)
    coef = rng.normal(size=(n, q))
    tiles = kernel.against(X).tiles
    kept = KeptRows(n, share * n * n * 4, tiles.dtype, tiles.height)
    exact = kernel(X.astype(float)) @ coef
    error = ALLOWED[np.dtype(np.float32)][0] + 512 * radial_tiles.UNIT_ROUNDOFF
    bound = error * np.abs(coef).sum(axis=0)
    for _ in range(2):  # the second time from what is kept
        assert (np.abs(tiles.mirrored(X, coef, 2, kept) - exact) <= bound).all()
