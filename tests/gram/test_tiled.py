"""Tiles: right values, bounded memory, half the evaluations."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from mercer import _threads
from mercer.gram import Tiled, tiled
from mercer.gram.dense import Dense
from mercer.gram.make import make
from mercer.gram.precomputed import Precomputed
from mercer.kernels import Gaussian, Laplacian, Linear, Matern
from mercer.kernels import Precomputed as PrecomputedKernel
from mercer.kernels.callable import Callable

rng = np.random.default_rng(0)


def peak_of(call):
    """Return the result of a call and the most memory it held at a time."""
    tracemalloc.start()
    try:
        result = call()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kernel", [Gaussian(3.0), Laplacian(3.0), Matern(3.0, 0.5)], ids=repr)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_memory_is_bounded(kernel, dtype, layout):
    X = layout(rng.normal(size=(3000, 10)).astype(dtype))
    limit = 2**20
    gram = Tiled(kernel, X, max_bytes=limit)
    # What is loaded on first use, and the scratch tiles of a thread, are not the product's own.
    for v in (np.ones(3000), np.r_[np.ones(500), np.zeros(2500)]):
        gram.matvec(v)
    gram.rows(np.arange(50))
    whole = 3000**2 * X.dtype.itemsize
    for v in (np.ones(3000), np.r_[np.ones(500), np.zeros(2500)]):
        _, peak = peak_of(lambda v=v: gram.matvec(v))
        # Vectors: the product, its accumulation and the positions of the support.
        assert peak <= limit + 8 * v.nbytes
        assert peak < whole / 10
    rows, peak = peak_of(lambda: gram.rows(np.arange(50)))
    assert peak <= limit + rows.nbytes + 8 * 8 * 3000
    _, peak = peak_of(gram.diag)
    assert peak <= limit + 8 * 8 * 3000


class Counting:
    """A kernel function that notes how many values it was asked for, and the largest block."""

    def __init__(self):
        self.values = self.largest = 0

    def __call__(self, X, Z):
        self.values += len(X) * len(Z)
        self.largest = max(self.largest, len(X) * len(Z))
        return np.exp(-((X[:, None, 0] - Z[None, :, 0]) ** 2))


def test_symmetric_products_evaluate_about_half():
    function = Counting()
    X = rng.normal(size=(200, 1))
    gram = Tiled(Callable(function), X, max_bytes=48 * 21**2 + 21 * 8 * 8)
    gram.matvec(np.ones(200))
    assert function.largest <= 21**2
    assert function.values <= 0.5 * 200 * (200 + 21)
    function.values = 0
    gram.matvec(np.r_[np.ones(3), np.zeros(197)])
    assert function.values == 3 * 200


def test_all_rows_are_evaluated_at_once_if_the_points_are_small():
    """The work that concerns the points alone is done once for all requests."""
    calls = []

    class Spy(Gaussian):
        def against(self, Z):
            calls.append(len(Z))
            return super().against(Z)

    X = rng.normal(size=(50, 2))
    gram = Tiled(Spy(), X)
    for i in range(5):
        np.testing.assert_allclose(gram.rows([i]), Gaussian()(X[[i]], X), atol=1e-15)
    assert calls == [50]


def test_points_on_disk(tmp_path):
    X = rng.normal(size=(400, 5))
    np.save(tmp_path / "X.npy", X)
    disk = np.load(tmp_path / "X.npy", mmap_mode="r")
    gram = Tiled(Gaussian(2.0), disk, max_bytes=20_000)
    K = Gaussian(2.0)(X)
    v = rng.normal(size=400)
    np.testing.assert_allclose(gram.matvec(v), K @ v, atol=1e-12)
    np.testing.assert_allclose(gram.block([5, 3], [7]), K[[5, 3]][:, [7]], atol=1e-14)


def test_points_that_are_not_arrays():
    words = ["ab", "bc", "cd"]
    kernel = Callable(lambda A, B: np.array([[len(set(a) & set(b)) for b in B] for a in A]))
    gram = Tiled(kernel, words)
    np.testing.assert_array_equal(gram.rows([1]), [[1.0, 2.0, 1.0]])
    np.testing.assert_array_equal(gram.matvec(np.ones(3)), [3.0, 4.0, 3.0])


def test_tiny_budgets_still_work():
    X = rng.normal(size=(7, 2))
    gram = Tiled(Linear(), X, max_bytes=1)
    np.testing.assert_allclose(gram.matvec(np.ones(7)), X @ X.T @ np.ones(7), atol=1e-14)


def test_a_precomputed_kernel_has_no_tiles():
    with pytest.raises(ValueError, match=r"use the Gram Precomputed"):
        Tiled(PrecomputedKernel(), np.eye(3))


def test_make_chooses_by_memory():
    X = rng.normal(size=(100, 2))
    K = Gaussian()(X)
    assert isinstance(make(Gaussian(), X, cache_bytes=80_000), Dense)
    assert isinstance(make(Gaussian(), X, cache_bytes=79_999), Tiled)
    assert isinstance(make(Gaussian(), X.astype(np.float32), cache_bytes=40_000), Dense)
    assert isinstance(make(Gaussian(), X, kind="tiled"), Tiled)
    assert isinstance(make(Gaussian(), X, kind="dense", cache_bytes=0), Dense)
    assert isinstance(make(PrecomputedKernel(), K), Precomputed)
    own = make(Gaussian(), X, kind=lambda kernel, X: Dense(kernel(X)))
    for gram in (own, make(Gaussian(), X, kind="tiled"), make(PrecomputedKernel(), K)):
        np.testing.assert_allclose(gram.dense(), K, atol=1e-15)
    with pytest.raises(ValueError, match="kind must be one of auto"):
        make(Gaussian(), X, kind="banded")


@pytest.mark.parametrize(
    ("granted", "taken"),
    [(0, 2**20), (2**20, 2**20), (2**23, 2**23), (2**26, 2**26), (2**27, 2**26)],
)
def test_tiles_take_what_is_granted_within_bounds(granted, taken):
    """From one MiB to 64."""
    X = np.zeros((10, 2))
    assert make(Gaussian(), X, kind="tiled", cache_bytes=granted).max_bytes == taken


@pytest.mark.parametrize("kernel", [Gaussian(3.0), Matern(3.0, 1.5), Linear()], ids=repr)
@pytest.mark.parametrize("shape", [(1100,), (1100, 1), (1100, 3)])
def test_mirrored_products_in_single_precision(kernel, shape):
    """Three row blocks, the last one short: each tile off the diagonal serves twice."""
    X = rng.normal(size=(1100, 6))
    v = rng.normal(size=shape)
    gram = Tiled(kernel, X)
    single = gram.single()
    assert single.dtype == np.float32
    K = kernel(X)
    # Values are off by a few units of 2^-24 of the largest, sums of one sign in float32 by as many
    # as they have terms within a tile, 256.
    bound = (8 + 256) * 2.0**-24 * np.max(np.abs(K)) * np.sqrt(1100) * 4
    np.testing.assert_allclose(single.matvec(v), K @ v, rtol=0, atol=bound)
    np.testing.assert_allclose(gram.matvec(v), K @ v, rtol=0, atol=1e-11 * np.max(np.abs(K)))


@pytest.mark.parametrize("precision", ["single", "double"])
def test_products_do_not_depend_on_the_cores(precision, monkeypatch):
    X, v = rng.normal(size=(2500, 4)), rng.normal(size=(2500, 2))
    gram = Tiled(Gaussian(1.0), X)
    gram = gram.single() if precision == "single" else gram
    results = []
    for cores in (1, 2, 3):
        for module in (_threads, tiled):
            monkeypatch.setattr(module, "usable_cores", lambda cores=cores: cores)
        results.append(gram.matvec(v))
    if precision == "single":
        np.testing.assert_array_equal(results[0], results[1])
        np.testing.assert_array_equal(results[0], results[2])
    # Sums of 2500 products in another order.
    bound = 2500 * np.finfo(float).eps * np.max(Gaussian(1.0)(X) @ np.abs(v))
    for other in results[1:]:
        np.testing.assert_allclose(results[0], other, rtol=0, atol=bound)


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize(
    "kernel", [Gaussian(3.0), Laplacian(3.0), Matern(3.0, 1.5), Gaussian(3.0) + Linear()], ids=repr
)
def test_kept_tiles_make_the_same_products(kernel, columns, monkeypatch):
    """The first rows are computed once, the others every time, within the memory granted."""
    monkeypatch.setattr(tiled, "MAX_TILE_SIDE", 256)
    n = 1500
    X, V = rng.normal(size=(n, 4)).astype(np.float32), rng.normal(size=(n, columns))
    plain = Tiled(kernel, X, 2**26)
    wanted = plain.matvec(V)
    for limit in (3e5, 4e6, 4.0 * n**2):
        kept = plain.keeping(limit)
        for _ in range(2):
            np.testing.assert_allclose(kept.matvec(V), wanted, rtol=0, atol=1e-12 * np.abs(V).sum())
        held = kept._kept.nbytes
        assert held <= limit
        # All that there is to keep, or all but one block of 512 rows at most.
        assert held >= min(limit - 4 * 512 * n, 2.0 * n**2)
    assert plain._kept is None


def test_kept_tiles_are_not_evaluated_again():
    calls = []

    def count(X, Z):
        calls.append(len(X) * len(Z))
        return X @ Z.T

    X, v = rng.normal(size=(600, 2)), rng.normal(size=600)
    kept = Tiled(Callable(count), X, 2**20).keeping(8.0 * 600**2)
    first = kept.matvec(v)
    done = len(calls)
    np.testing.assert_array_equal(kept.matvec(v), first)
    assert len(calls) == done
