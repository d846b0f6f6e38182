"""Sparse Grams against the dense matrix, memory that grows with neighbours, who chooses them."""

import pickle
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from mercer.gram import Dense, Tiled, row_store
from mercer.gram.banded import narrowed
from mercer.gram.base import positions
from mercer.gram.factor import Indefinite
from mercer.gram.indexed import Indexed
from mercer.gram.make import make
from mercer.gram.remembered import FactorizedGram
from mercer.gram.row_store import RowStore
from mercer.gram.sparse import Sparse
from mercer.kernels import BSpline, Gaussian, Linear, Wendland
from mercer.kernels.neighbours import Neighbours
from mercer.kernels.products import products
from mercer_research.kernels import RadialBSpline

EPS = np.finfo(np.float64).eps
N = 90
KERNELS = [
    Wendland(0.4),
    RadialBSpline(0.1),
    BSpline(0.1),
    BSpline([0.1, 0.3], degree=1),
    2.0 * BSpline(0.15, degree=5),
    BSpline(0.1) * Gaussian(1.0),
    BSpline(0.05) + BSpline(0.1),
    Wendland(0.3) ** 2,
    BSpline(0.02).on([1]) * Linear(),
    BSpline(100.0),  # everybody is a neighbour
    BSpline(1e-9),  # nobody is
]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)
INDICES = [
    slice(None),
    slice(3, 17, 2),
    np.array([4, 0, 30]),
    [-1, 5],
    np.array([7, 7, 2, 7]),
    np.arange(N) % 3 == 0,
    [],
]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def points(n=N, p=2, seed=0):
    X = np.random.default_rng(seed).uniform(size=(n, p))
    X[1] = X[0]  # neighbours at no distance
    return X


def neighbours(k, n):
    """Return a kernel that sees k of n points in the unit square: its box has sides of 4 units."""
    return BSpline(np.sqrt(k / n) / 4.0)


def rounding(kernel, K):
    """Return how far a value computed from its pair may be from the same one in a block.

    A few dozen roundings; blocks of radial kernels subtract squares of points, which are about one,
    and divide by the square of the length.
    """
    magnified = 1.0 / np.min(kernel.support.scale) ** 2 if kernel.radial else 1.0
    return 60 * float(np.finfo(K.dtype).eps) * K.max() * max(1.0, magnified)


@every_kernel
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_entries_are_those_of_the_dense_matrix(kernel, dtype):
    X = points().astype(dtype)
    gram, K = Sparse.from_kernel(kernel, X), kernel(X)
    close = {"rtol": 0, "atol": rounding(kernel, K)}
    assert gram.shape == (N, N)
    assert gram.dtype == gram.diag().dtype == gram.dense().dtype == dtype
    np.testing.assert_allclose(gram.dense(), K, **close)
    np.testing.assert_array_equal(gram.dense(), gram.dense().T)
    np.testing.assert_array_equal(gram.diag(), kernel.diag(X))
    assert gram.nnz == np.count_nonzero(gram.dense())
    assert gram.K.indices.dtype == np.int32
    for r in INDICES:
        np.testing.assert_allclose(gram.rows(r), K[positions(r, N)], **close)
        for c in INDICES:
            expected = K[np.ix_(positions(r, N), positions(c, N))]
            np.testing.assert_allclose(gram.block(r, c), expected, **close)


@every_kernel
@pytest.mark.parametrize("shape", [(N,), (N, 1), (N, 4)])
def test_products_are_those_of_the_dense_matrix(kernel, shape, rng):
    X, v = points(), rng.normal(size=shape)
    gram, K = Sparse.from_kernel(kernel, X), kernel(X)
    atol = N * rounding(kernel, K) * np.abs(v).max()
    found = gram.matvec(v)
    assert found.shape == shape
    np.testing.assert_allclose(found, K @ v, rtol=0, atol=atol)
    # The same float32 values are added in float64.
    single = Sparse.from_kernel(kernel, X.astype(np.float32))
    exact = single.dense().astype(np.float64) @ v
    np.testing.assert_allclose(single.matvec(v), exact, rtol=0, atol=atol)
    assert single.matvec(v).dtype == np.float64


@every_kernel
def test_rows_are_added(kernel, rng):
    X, index, t = points(), np.array([4, 8, 77]), rng.normal(size=3)
    gram, K = Sparse.from_kernel(kernel, X), kernel(X)
    F, out = np.ones(N), np.empty((3, N))
    gram.add_rows(F, index, t, out)
    np.testing.assert_allclose(F, 1.0 + t @ K[index], atol=10 * rounding(kernel, K))
    np.testing.assert_allclose(out, K[index], atol=rounding(kernel, K))


@every_kernel
def test_parts_are_sparse_again(kernel):
    X, index = points(), np.array([5, 3, 80, 3])
    gram, K = Sparse.from_kernel(kernel, X), kernel(X)
    part, single = gram.restrict(index), gram.single()
    assert part.sparse
    assert single.sparse
    np.testing.assert_allclose(part.dense(), K[np.ix_(index, index)], atol=rounding(kernel, K))
    assert single.dtype == np.float32
    assert np.shares_memory(single.K.indices, gram.K.indices)
    np.testing.assert_array_equal(single.dense(), gram.dense().astype(np.float32))
    assert single.single() is single
    again = pickle.loads(pickle.dumps(gram))
    np.testing.assert_array_equal(again.dense(), gram.dense())


@every_kernel
@pytest.mark.parametrize("live", [1.0, 0.6])
def test_shifted_systems_are_solved(kernel, live, rng):
    gram, K = Sparse.from_kernel(kernel, points()), kernel(points())
    e = rng.uniform(0.5, 2.0, size=N)
    e[rng.random(N) >= live] = np.inf
    r, on = rng.normal(size=(N, 2)), np.isfinite(e)
    x = gram.shifted(e)(r)
    M = K[np.ix_(on, on)] + np.diag(e[on])
    error = np.linalg.cond(M) * N * 100 * EPS  # of a backward stable solution
    np.testing.assert_allclose(x[on], np.linalg.solve(M, r[on]), rtol=0, atol=error)
    np.testing.assert_array_equal(x[~on], 0.0)


def test_a_line_is_a_narrow_band(rng):
    n, h = 5000, 20 / 4 / 5000
    X = rng.permutation(np.linspace(0.0, 1.0, n))[:, None]
    gram = Sparse.from_kernel(BSpline(h), X)
    # In the order of the line a point sees ten others on either side; a search that starts at one
    # end counts levels of the graph, of ten points each, and an entry spans at most two.
    assert gram.factor_bytes <= 8 * n * 21
    e, r = np.full(n, 1e-8), rng.normal(size=n)
    x = gram.shifted(e, max_bytes=1e6)(r)
    # Residual of a backward stable solution: rounding of the terms of K x, 20 in a row.
    assert np.max(np.abs(gram.matvec(x) + e * x - r)) <= 100 * 20 * EPS * np.max(np.abs(x))
    with pytest.raises(ValueError, match="band of 5000 samples"):
        gram.shifted(e, max_bytes=1e5)


def test_the_order_of_a_band_is_a_permutation(rng):
    gram = Sparse.from_kernel(BSpline(0.05), points())
    band = narrowed(gram.K)
    np.testing.assert_array_equal(np.sort(band.order), np.arange(N))
    i, j = np.nonzero(gram.dense()[np.ix_(band.order, band.order)])
    assert np.max(np.abs(i - j)) == band.width


def test_matrices_that_are_not_positive_definite_are_found_out():
    # On a grid of spacing 1/3 the symbol sum_k B_2(k/3) e^(ikt) of the quadratic spline is, at pi,
    # 3/4 - 2 * 23/36 + 2 * 25/72 - 2 * 1/8 + 2 * 1/72 = -1/18, the limit of the eigenvalues.
    gram = Sparse.from_kernel(BSpline(3.0, degree=2), np.arange(801.0)[:, None])
    with pytest.raises(Indefinite):
        gram.shifted(np.full(801, 1 / 19))
    x = gram.shifted(np.full(801, 1 / 17))(np.ones(801))
    np.testing.assert_allclose(gram.matvec(x) + x / 17, 1.0, atol=1e-12)


def test_memory_grows_with_neighbours():
    peaks, counts = [], []
    for n in (10_000, 40_000):
        X, kernel = points(n), neighbours(25, n)
        tracemalloc.start()
        gram = Sparse.from_kernel(kernel, X)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        counts.append(gram.nnz)
        held = gram.K.data.nbytes + gram.K.indices.nbytes + gram.K.indptr.nbytes
        assert held <= 12 * gram.nnz + 4 * (n + 1)
    assert counts[1] <= 4.2 * counts[0]  # edges have fewer neighbours
    # 24 bytes a pair, and a batch of pairs with about a hundred bytes for each.
    assert peaks[1] <= 24 * 1.1 * counts[1] + 110 * 2**19
    assert peaks[1] <= 0.01 * 8 * 40_000**2


def test_what_does_not_fit_is_refused_before_it_is_computed(monkeypatch):
    monkeypatch.setattr(BSpline, "paired", None)
    with pytest.raises(ValueError, match=r"90 neighbours each .* more than max_bytes=1.0e\+05"):
        Sparse.from_kernel(BSpline(100.0), points(), max_bytes=1e5)


def test_a_kernel_without_support_and_sparse_points_are_refused():
    for kernel, X in ((Gaussian(), points()), (BSpline(), sparse.csr_array(points()))):
        with pytest.raises(ValueError, match="compact support, such as BSpline, and a dense array"):
            Sparse.from_kernel(kernel, X)


def test_any_sparse_matrix_is_a_gram():
    K = np.array([[2, 1, 0], [1, 2, 0], [0, 0, 3]])
    gram = Sparse(sparse.coo_array(K))
    np.testing.assert_array_equal(gram.matvec(np.arange(3)), K @ np.arange(3))
    assert Sparse(sparse.csr_array((0, 0))).dense().shape == (0, 0)
    with pytest.raises(ValueError, match="square"):
        Sparse(sparse.csr_array((2, 3)))


def test_no_points():
    gram = Sparse.from_kernel(BSpline(), np.empty((0, 2)))
    assert gram.shape == (0, 0)
    assert gram.matvec(np.empty(0)).shape == (0,)


def test_make_chooses_by_neighbours():
    X = points(1000)
    assert isinstance(make(BSpline(0.02), X), Sparse)
    assert isinstance(make(2.0 * BSpline(0.02), X, cache_bytes=1000), Sparse)
    assert not isinstance(make(BSpline(0.3), X), Sparse)  # most of the square is within reach
    assert not isinstance(make(BSpline(0.02), points(1000, 9)), Sparse)  # too many for a tree
    assert not isinstance(make(BSpline(0.02), sparse.csr_array(X)), Sparse)
    assert not isinstance(make(Gaussian(0.02), X), Sparse)
    assert isinstance(make(BSpline(0.02), X[:100]), Dense)
    assert isinstance(make(BSpline(0.3), X[:100], kind="sparse"), Sparse)
    assert isinstance(make(BSpline(0.02), X, kind="tiled"), Tiled)


def test_stored_rows_are_not_copied(rng, monkeypatch):
    monkeypatch.setattr(row_store, "MAX_WHOLE_ROWS", 0)
    X = points()
    gram, K = Sparse.from_kernel(BSpline(0.05), X), BSpline(0.05)(X)
    store, F, a = RowStore(gram, 1e9), np.zeros(N), np.zeros(N)
    for _ in range(5):
        index = np.sort(rng.choice(N, 20, replace=False))
        t = rng.normal(size=20)
        store.add(F, index, t)
        a[index] += t
        np.testing.assert_allclose(store.square(index), K[np.ix_(index, index)], atol=1e-15)
    np.testing.assert_allclose(F, K @ a, atol=1e-13)
    assert store._store.size == 0


def test_views_of_a_sparse_matrix(rng):
    X, index = points(), rng.integers(0, N, 40)
    view, K = Indexed(Sparse.from_kernel(BSpline(0.05), X), index), BSpline(0.05)(X[index])
    v = rng.normal(size=40)
    np.testing.assert_allclose(view.matvec(v), K @ v, atol=1e-13)
    np.testing.assert_allclose(view.single().dense(), K, atol=1e-7)


@every_kernel
def test_neighbours_are_all_that_a_kernel_sees(kernel, monkeypatch):
    monkeypatch.setattr("mercer.kernels.neighbours.PAIRS", 50)
    X, Z = points(60, seed=1), points(N)
    K, near = kernel(X, Z), Neighbours(kernel, Z)
    seen, batches = np.zeros(K.shape, dtype=bool), list(near.pairs(X))
    for pairs in batches:
        assert not np.any(seen[pairs.i, pairs.j])
        seen[pairs.i, pairs.j] = True
        assert np.all((pairs.i >= pairs.rows.start) & (pairs.i < pairs.rows.stop))
        assert len(pairs.i) <= 50 or pairs.rows.stop - pairs.rows.start == 1
    np.testing.assert_array_equal(np.count_nonzero(seen, axis=1), near.counts(X))
    assert not np.any(K[~seen])
    assert near.density(X) == pytest.approx(seen.mean())


@pytest.mark.parametrize("runs", [[N], [30, 30, N]])
def test_new_points_look_at_neighbours_only(runs, rng, monkeypatch):
    monkeypatch.setattr("mercer.kernels.products.WORTH", 0)
    kernel, X, Z, coef = BSpline(0.05), points(70, seed=2), points(), rng.normal(size=(N, 2))
    K, starts = kernel(X, Z), [0, *runs][:-1]
    expected = [K[:, a:b] @ coef[a:b] for a, b in zip(starts, runs, strict=True)]
    monkeypatch.setattr(BSpline, "against", None)  # no block of the matrix is evaluated
    found = products(kernel, Z, X, coef, runs)
    np.testing.assert_allclose(found, expected, atol=N * 60 * EPS * np.abs(coef).max())


def test_a_matrix_that_remembers_its_factor_still_reads_neighbours_only():
    X = np.random.default_rng(5).uniform(size=(50, 2))
    gram = Sparse.from_kernel(BSpline(0.1), X)
    remembered = FactorizedGram(gram)
    index, t = np.array([3, 40]), np.array([1.0, -2.0])
    F, G = np.zeros(50), np.zeros(50)
    remembered.add_rows(F, index, t)
    gram.add_rows(G, index, t)
    np.testing.assert_array_equal(F, G)
    np.testing.assert_array_equal(remembered.rows(index), gram.rows(index))
    assert remembered.sparse
    assert type(remembered.restrict(np.arange(10))) is Sparse
