"""Laplacian kernels: compiled tiles and pullbacks against plain NumPy, and categories."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.preprocessing import OneHotEncoder

from mercer import LSSVR, SVR
from mercer.kernels import Gaussian, Laplacian, Matern
from mercer.kernels.laplace_tiles import LaplaceTiles
from mercer.kernels.stretched import stretch
from mercer.reduced.nystrom import Nystrom
from mercer.reduced.random_features import UnknownSpectrumError, frequencies

F, EPS = np.float32, np.finfo(np.float64).eps
rng = np.random.default_rng(0)
CATEGORIES = (1, 4)
SCALES = np.array([0.7, 1.5, 2.0, 5.0, 0.9, 3.0])
NUMBERS = [0, 2, 3, 5]


def points(n, seed):
    """Return four columns of numbers and two of categories."""
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(n, 6))
    X[:, CATEGORIES] = draw.integers(-1, 3, size=(n, 2))
    return X


X, Z = points(190, 1), points(1100, 2)


def plain(X, Z, scale, categories=()):
    """Return the kernel matrix by its formula, and the distance of every feature."""
    D = np.abs(X[:, None, :].astype(np.float64) - Z)
    D[:, :, list(categories)] = X[:, None, list(categories)] != Z[:, list(categories)]
    return np.exp(-(D / scale).sum(axis=2)), D


@pytest.mark.parametrize("categories", [(), CATEGORIES, tuple(range(6))])
@pytest.mark.parametrize("dtype", [F, np.float64])
def test_products_are_sums_of_the_formula(dtype, categories):
    x, z = X[:131].astype(dtype), Z.astype(dtype)
    a = np.random.default_rng(3).normal(size=(len(z), 1))
    exact, D = plain(x, z, SCALES, categories)
    eps, t = np.finfo(dtype).eps, (D / SCALES).sum(axis=2)
    # Errors of values as below, and of sums in float64 of up to 1100 terms.
    bound = (exact * (eps * (1.0 + 5.0 * t) + len(z) * EPS)) @ np.abs(a)
    tiles = LaplaceTiles(z, 1.0 / SCALES, categories)
    found = tiles.products(x, a, [len(z)])[0]
    assert (np.abs(found - exact @ a) <= bound).all()
    # In runs of columns of any length, and a row alone as among others.
    runs = tiles.products(x, a, [300, 301, len(z)])
    assert (np.abs(runs.sum(axis=0) - exact @ a) <= bound).all()
    alone = np.concatenate([tiles.products(x[[i]], a, [len(z)])[0] for i in range(5)])
    np.testing.assert_array_equal(alone, found[:5])
    x[1, 0] = np.nan
    assert np.flatnonzero(np.isnan(tiles.products(x, a, [len(z)])[0, :, 0])).tolist() == [1]


@pytest.mark.parametrize("categories", [(), CATEGORIES, tuple(range(6))])
@pytest.mark.parametrize("scale", [1.3, SCALES], ids=["one", "each"])
@pytest.mark.parametrize("dtype", [F, np.float64])
def test_tiles_are_the_formula(dtype, scale, categories):
    x, z = X.astype(dtype), Z.astype(dtype)
    kernel = Laplacian(scale, categories)
    exact, D = plain(x, z, scale, categories)
    # Roundings of p differences, products and sums, of the exponent in units, and of the power.
    t = (D / scale).sum(axis=2)
    bound = np.finfo(dtype).eps * exact * (1.0 + (0.5 * 6 + 2.0) * t)
    assert (np.abs(kernel(x, z) - exact) <= bound).all()
    # So few rows are one tile, of more columns than a compiled loop takes at once.
    assert (np.abs(kernel(x[:3], z) - exact[:3]) <= bound[:3]).all()
    K = kernel(x)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(K, kernel(x, x))
    assert K.dtype == dtype
    every = np.arange(len(x))
    found, exact = kernel.paired(x, z[: len(x)]), exact[every, every]
    assert (np.abs(found - exact) <= bound[every, every]).all()
    np.testing.assert_array_equal(kernel.diag(x), np.ones(len(x), dtype=dtype))


@pytest.mark.parametrize("dtype", [F, np.float64])
@pytest.mark.parametrize("p", [1, 3, 4, 7, 9])
def test_a_value_does_not_depend_on_its_company(dtype, p):
    """Lanes of the processor and the rest of a loop round alike."""
    Z = rng.normal(size=(1100, p)).astype(dtype)
    tiles = LaplaceTiles(Z, 0.7, [0] if p == 3 else [])
    K = tiles(Z[:150])
    for columns in (slice(0, 1), slice(3, 20), slice(1000, 1100)):
        few = LaplaceTiles(Z[columns], 0.7, [0] if p == 3 else [])
        np.testing.assert_array_equal(few(Z[3:4]), K[3:4, columns])
    into = np.full((150, 1200), -1.0, dtype=dtype)
    tiles(Z[:150], into[:, 50:1150])
    np.testing.assert_array_equal(into[:, 50:1150], K)
    assert (into[:, :50] == -1.0).all()
    assert (into[:, 1150:] == -1.0).all()


@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize("dtype", [F, np.float64])
def test_not_a_number_stays(dtype, column):
    bad = Z[:70].astype(dtype)
    bad[5, column] = np.nan
    K = Laplacian(SCALES, CATEGORIES)(X.astype(dtype), bad)
    assert np.isnan(K[:, 5]).all()
    assert np.isfinite(np.delete(K, 5, axis=1)).all()
    with np.errstate(over="ignore"):
        far = Laplacian(1.0)(np.zeros((1, 1), dtype), np.array([[1e4], [3e38]], dtype))
    np.testing.assert_array_equal(far, 0.0)


def test_points_far_from_zero_keep_their_digits():
    x = rng.integers(0, 64, size=(40, 2)) / 16.0
    np.testing.assert_array_equal(
        Laplacian(0.8)((x + 2.0**17).astype(F)), Laplacian(0.8)(x.astype(F))
    )


@pytest.mark.parametrize("categories", [(), CATEGORIES])
@pytest.mark.parametrize("scale", [1.3, SCALES], ids=["one", "each"])
def test_sparse_points(scale, categories):
    kernel = Laplacian(scale, categories)
    S, T = sparse.csr_array(X), sparse.csr_array(Z)
    exact, _ = plain(X, Z, scale, categories)
    for x, z in ((S, T), (S, Z), (X, T)):
        np.testing.assert_allclose(kernel(x, z), exact, rtol=0, atol=1e-14)
    np.testing.assert_allclose(kernel.paired(S, T[:190]), exact.diagonal(), rtol=0, atol=1e-14)
    for name, slope in kernel.gradient(S, T).items():
        np.testing.assert_allclose(slope, kernel.gradient(X, Z)[name], rtol=0, atol=1e-14)


def test_one_column_of_categories_is_a_block_of_indicators_of_twice_the_scale():
    indicators = OneHotEncoder(sparse_output=False).fit(X[:, CATEGORIES])
    wide = np.hstack([X[:, NUMBERS], indicators.transform(X[:, CATEGORIES])])
    sizes = [len(c) for c in indicators.categories_]
    twice = np.repeat(2.0 * SCALES[list(CATEGORIES)], sizes)
    expected = np.exp(
        -cdist(*[wide / np.concatenate([SCALES[NUMBERS], twice])] * 2, metric="cityblock")
    )
    K = Laplacian(SCALES, CATEGORIES)(X)
    np.testing.assert_allclose(K, expected, rtol=0, atol=1e-14)
    assert np.linalg.eigvalsh(K).min() > -1e-12
    machines = [
        LSSVR(kernel=kernel, approximation=Nystrom(centres=points[::4])).fit(points, X[:, 0])
        for kernel, points in (
            (Laplacian(SCALES, CATEGORIES), X),
            (Laplacian(np.concatenate([SCALES[NUMBERS], twice])), wide),
        )
    ]
    found, expected = (m.predict(points) for m, points in zip(machines, (X, wide), strict=True))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    renamed = X.copy()
    renamed[:, 1] = np.array([900.0, -3.0, 0.5, 7.0])[X[:, 1].astype(int) + 1]
    np.testing.assert_array_equal(Laplacian(SCALES, CATEGORIES)(renamed), K)


@pytest.mark.parametrize("categories", [(), CATEGORIES])
@pytest.mark.parametrize("scale", [1.3, SCALES], ids=["one", "each"])
@pytest.mark.parametrize("n", [1, 2, 190, 1100])
def test_pullback_sums_the_gradient(scale, categories, n):
    x = Z[:n]
    G = np.random.default_rng(n).normal(size=(n, n))
    G = G + G.T
    K, D = plain(x, x, scale, categories)
    slopes = np.einsum("ij,ijq->q", G * K, D)
    size = np.einsum("ij,ijq->q", np.abs(G) * K, D)
    if np.ndim(scale) == 0:
        slopes, size = slopes.sum(), size.sum()
    kernel = Laplacian(scale, categories)
    found = kernel.pullback(x, G)["length_scale"]
    assert np.shape(found) == np.shape(scale)
    assert (np.abs(found - slopes / scale**2) <= 100 * EPS * size / np.square(scale)).all()
    single = kernel.pullback(x.astype(F), G.astype(F))["length_scale"]
    assert (np.abs(single - slopes / scale**2) <= 100 * 2.0**-24 * size / np.square(scale)).all()


@pytest.mark.parametrize("scale", [1.3, SCALES], ids=["one", "each"])
def test_gradient_by_differences(scale):
    kernel, h = Laplacian(scale, CATEGORIES), 1e-6
    found = kernel.gradient(X[:20], Z[:30])["length_scale"]
    if np.ndim(scale) == 0:
        up, down = (Laplacian(scale + s, CATEGORIES)(X[:20], Z[:30]) for s in (h, -h))
        np.testing.assert_allclose(found, (up - down) / (2 * h), rtol=0, atol=1e-9)
        return
    for j in range(6):
        up, down = (
            Laplacian(scale + s * np.eye(6)[j], CATEGORIES)(X[:20], Z[:30]) for s in (h, -h)
        )
        np.testing.assert_allclose(found[:, :, j], (up - down) / (2 * h), rtol=0, atol=1e-9)


@pytest.mark.parametrize("nu", [None, 0.5, 1.5, 2.5])
@pytest.mark.parametrize("scale", [1.3, SCALES], ids=["one", "each"])
def test_pullbacks_of_radial_kernels_sum_their_gradients_block_by_block(nu, scale, monkeypatch):
    kernel = Gaussian(scale) if nu is None else Matern(scale, nu)
    G = rng.normal(size=(190, 190))
    G = G + G.T
    slopes = kernel.gradient(X)["length_scale"]
    size = np.tensordot(np.abs(G), np.abs(slopes), axes=2)
    for budget in (2**19, 40 * 8 * 190):
        monkeypatch.setattr("mercer.kernels.stationary.PULL_BYTES", budget)
        found = kernel.pullback(X, G)["length_scale"]
        assert (np.abs(found - np.tensordot(G, slopes, axes=2)) <= 1000 * EPS * size).all()


def test_stretching_keeps_categories():
    kernel = Laplacian(SCALES, CATEGORIES)
    wide = stretch(kernel, 2.0)
    np.testing.assert_allclose(wide(X, Z), kernel(X / 2.0, Z / 2.0), rtol=1e-13)


def test_parameters():
    kernel = Laplacian(2.0, categories=CATEGORIES)
    assert repr(kernel) == "Laplacian(length_scale=2.0, categories=(1, 4))"
    assert clone(kernel) == kernel != Laplacian(2.0)
    assert kernel.get_params() == {"length_scale": 2.0, "categories": (1, 4)}
    assert not kernel.stationary
    assert Laplacian(2.0).stationary
    named = Laplacian(2.0, categories=["b", "e"]).bind(["a", "b", "c", "d", "e", "f"])
    assert list(named.categories) == [1, 4]
    np.testing.assert_array_equal(named(X), kernel(X))
    np.testing.assert_allclose(kernel.origin(X)[NUMBERS], X[:, NUMBERS].mean(axis=0))
    np.testing.assert_array_equal(kernel.origin(X)[list(CATEGORIES)], 0.0)


@pytest.mark.parametrize("categories", ["ab", [-1], [0.5], [1, 1], [0, "a"], [True]])
def test_columns_that_are_not_columns_are_refused(categories):
    with pytest.raises(ValueError, match="categories must be a list of positions"):
        Laplacian(1.0, categories)


def test_what_categories_have_not_is_refused():
    kernel = Laplacian(2.0, categories=CATEGORIES)
    with pytest.raises(ValueError, match="column 4 but the points have 3 features"):
        kernel(X[:, :3])
    with pytest.raises(ValueError, match="names the column 'b'"):
        Laplacian(2.0, categories=["b"])(X)
    with pytest.raises(NotImplementedError, match="compares categories"):
        kernel.spectrum(np.ones((1, 6)), 6)
    with pytest.raises(UnknownSpectrumError, match="compares categories"):
        frequencies(kernel, 6, 4, "fourier", rng)


@pytest.mark.parametrize("gram", ["dense", "tiled"])
def test_machines_with_categories_are_those_of_the_matrix(gram):
    """Least squares in float64, support vectors by rows in float32, certified in float64."""
    y = np.sin(2.0 * X[:, 0]) + X[:, 2] * (X[:, 1] > 0.0) + X[:, 4]
    kernel = Laplacian(SCALES, CATEGORIES)
    K, Q = kernel(X), kernel(Z, X)
    for machine in (LSSVR, SVR):
        settings = {"C": 5.0, "gram": gram} | ({"tol": 1e-10} if machine is SVR else {})
        found = machine(kernel=kernel, **settings).fit(X, y).predict(Z)
        exact = machine(kernel="precomputed", **(settings | {"gram": "dense"})).fit(K, y).predict(Q)
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-4 * np.abs(exact).max())


@pytest.mark.parametrize("far", [0.0, 30.0, 1e6])
@pytest.mark.parametrize("p", [1, 5, 60])
def test_bounds_on_roundings_hold_and_are_not_vain(p, far):
    draw = np.random.default_rng(p)
    x = draw.normal(size=(300, p)) * draw.uniform(0.01, 4.0, size=(300, 1))
    x[::50] *= 1.0 + far
    x[:, 0] = draw.integers(0, 3, size=300)
    scale = draw.uniform(0.5, 2.0, size=p) * p
    exact, _ = plain(x, x, scale, [0])
    tiles = LaplaceTiles(x.astype(F), 1.0 / scale, [0])
    K, known = tiles(x.astype(F)).astype(np.float64), tiles.roundoff()
    told = np.isfinite(known.rho)
    assert told.mean() > 0.9
    bound = known.rho[told, None] * known.weight * K[told] + known.tail
    assert (np.abs(K - exact)[told] <= bound).all()
    usual = known.rho[1] * known.weight[1]
    assert usual < 1e-3
    assert LaplaceTiles(x, 1.0 / scale).roundoff() is None


def test_bounds_know_that_one_error_is_too_much():
    """A kernel value that is off by a thousandth is seen."""
    x = rng.normal(size=(50, 3)).astype(F)
    tiles = LaplaceTiles(x, 0.3)
    K, known = 1.001 * tiles(x).astype(np.float64), tiles.roundoff()
    exact, _ = plain(x, x, 1.0 / 0.3)
    assert (np.abs(K - exact) > known.rho[:, None] * known.weight * K + known.tail).all()
