"""Inner products and distances: every layout, and the accuracy that the formulas promise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist

from mercer.kernels import distances, points
from mercer.kernels.distances import Points
from mercer.kernels.roundoff import precision_of

EPS = np.finfo(np.float64).eps
LAYOUTS = [np.asarray, sparse.csr_matrix, sparse.csr_array]


def sparse_points(rng, n, p, density=0.4):
    return np.where(rng.random((n, p)) < density, rng.normal(size=(n, p)), 0.0)


def exact_squared_distances(X, Z):
    """Differences first, in extended precision."""
    X, Z = X.astype(np.longdouble), Z.astype(np.longdouble)
    return ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2).astype(np.float64)


@pytest.mark.parametrize("of_X", LAYOUTS)
@pytest.mark.parametrize("of_Z", LAYOUTS)
@pytest.mark.parametrize("density", [0.02, 0.4])
def test_products_and_distances_of_every_layout(of_X, of_Z, density):
    rng = np.random.default_rng(0)
    X, Z = sparse_points(rng, 70, 6, density), sparse_points(rng, 30, 6, density)
    # A sum of p products has an error of at most p eps times the sum of their sizes.
    scale = 6 * EPS * max(1.0, (X**2).sum(1).max() + (Z**2).sum(1).max())
    np.testing.assert_allclose(points.dot(of_X(X), of_Z(Z)), X @ Z.T, rtol=0, atol=scale)
    np.testing.assert_allclose(
        distances.squared_distances(Points(of_X(X)), Points(of_Z(Z))),
        exact_squared_distances(X, Z),
        rtol=0,
        atol=4 * scale,
    )
    np.testing.assert_allclose(
        distances.manhattan_distances(of_X(X), of_Z(Z)),
        cdist(X, Z, "cityblock"),
        rtol=0,
        atol=4 * scale,
    )


def test_distances_of_sparse_points_with_few_features_in_common():
    rng = np.random.default_rng(6)
    X, Z = sparse_points(rng, 7, 50), sparse_points(rng, 5, 50)
    X[:, 30:], Z[:, :20] = 0.0, 0.0
    S, T = sparse.csr_array(X), sparse.csr_array(Z)
    np.testing.assert_allclose(
        distances.manhattan_distances(S, T), cdist(X, Z, "cityblock"), rtol=50 * EPS
    )
    np.testing.assert_allclose(points.dot(S, T), X @ Z.T, rtol=0, atol=500 * EPS)


def test_products_and_distances_in_pieces(monkeypatch):
    """More points than fit one block or chunk."""
    for module in (points, distances):
        monkeypatch.setattr(module, "BLOCK_BYTES", 2000)
        monkeypatch.setattr(module, "CHUNK_BYTES", 600)
    rng = np.random.default_rng(1)
    for density in (0.02, 0.4):
        X, Z = sparse_points(rng, 600, 5, density), sparse_points(rng, 530, 5, density)
        S, T = sparse.csr_array(X), sparse.csr_array(Z)
        np.testing.assert_allclose(points.dot(S, T), X @ Z.T, atol=1e-13)
        np.testing.assert_allclose(
            distances.manhattan_distances(S, T, finish=lambda block: np.negative(block, out=block)),
            -cdist(X, Z, "cityblock"),
            atol=1e-13,
        )
        np.testing.assert_allclose(
            distances.squared_distances(Points(X), Points(Z), exact_near=True),
            exact_squared_distances(X, Z),
            atol=1e-13,
        )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_near_pairs_far_from_the_origin_do_not_cancel(layout):
    """Two clusters a million widths apart: within one, the formula alone would lose everything."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20, 3)) + np.repeat([[1e6], [-1e6]], 10, axis=0)
    exact = exact_squared_distances(X, X)
    near = exact < 1e6
    naive = (X**2).sum(1)[:, None] + (X**2).sum(1) - 2 * X @ X.T
    assert np.abs(naive - exact)[near].max() > 1e-4
    found = distances.squared_distances(Points(layout(X)), Points(layout(X)))
    np.testing.assert_allclose(found, exact, rtol=precision_of(X.dtype, X.shape[1]).digits, atol=0)


def test_few_near_pairs_among_many():
    """One pair in fifty is computed again one by one, half of them all at once; see above."""
    rng = np.random.default_rng(5)
    X = 1e6 * rng.normal(size=(50, 3))
    Z = X + rng.normal(size=X.shape)
    exact = exact_squared_distances(X, Z)
    found = distances.squared_distances(Points(X), Points(Z))
    np.testing.assert_allclose(found, exact, rtol=precision_of(X.dtype, X.shape[1]).digits, atol=0)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_float32_far_from_the_origin_is_multiplied_in_float64(layout):
    rng = np.random.default_rng(3)
    X = (30.0 * rng.normal(size=(50, 4))).astype(np.float32)
    found = distances.squared_distances(Points(layout(X)), Points(layout(X)))
    assert found.dtype == np.float32
    # All that is lost is the rounding of the answer.
    exact = exact_squared_distances(X, X)
    np.testing.assert_allclose(found, exact, rtol=np.finfo(np.float32).eps, atol=1e-10)


def test_float32_error_is_bounded_where_it_stays_float32():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 5)).astype(np.float32)
    found = distances.squared_distances(Points(X), Points(X))
    exact = exact_squared_distances(X, X)
    assert np.abs(found - exact).max() <= 2e-5


@given(st.integers(0, 10), st.integers(0, 10), st.integers(0, 4))
def test_shapes_down_to_nothing(n, m, p):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(n, p)), rng.normal(size=(m, p))
    assert distances.squared_distances(Points(X), Points(Z)).shape == (n, m)
    assert distances.manhattan_distances(X, Z).shape == (n, m)
    S, T = sparse.csr_array(X), sparse.csr_array(Z)
    assert distances.squared_distances(Points(S), Points(T)).shape == (n, m)
    assert distances.manhattan_distances(S, T).shape == (n, m)


def test_points_are_converted_only_if_they_must_be():
    X = np.ones((2, 2), dtype=np.float32)
    assert points.as_points(X) is X
    assert points.as_points([[1, 2]]).dtype == np.float64
    assert points.as_points(np.ones((2, 2), dtype=np.float16)).dtype == np.float64
    S = sparse.csr_array(X)
    assert points.as_points(S) is S
    assert points.as_points(sparse.csr_array(np.ones((2, 2), dtype=int))).dtype == np.float64
    assert points.as_points(sparse.coo_array(X)).format == "csr"


@pytest.mark.parametrize("layout", [*LAYOUTS, sparse.coo_array, np.asfortranarray])
def test_single_precision_is_dense_where_it_fits(layout):
    X = sparse_points(np.random.default_rng(7), 6, 4)
    single = points.as_single(layout(X), max_bytes=4 * X.size)
    assert isinstance(single, np.ndarray)
    assert single.flags.c_contiguous
    np.testing.assert_array_equal(single, X.astype(np.float32), strict=True)
    single = points.as_single(layout(X), max_bytes=4 * X.size - 1)
    assert single.dtype == np.float32
    assert sparse.issparse(single) == sparse.issparse(layout(X))
    np.testing.assert_array_equal(
        single.toarray() if sparse.issparse(single) else single, X.astype(np.float32)
    )


def test_single_precision_copies_nothing_that_is_single_already():
    X = np.ones((2, 2), dtype=np.float32)
    assert points.as_single(X) is X
    S = sparse.csr_array(X)
    assert points.as_single(S, max_bytes=0) is S


def test_single_precision_of_numbers_beyond_it_is_infinite():
    np.testing.assert_array_equal(points.as_single([[1e39, -1e39]]), [[np.inf, -np.inf]])


def test_single_precision_around_an_origin_keeps_the_digits_of_differences():
    rng = np.random.default_rng(8)
    X = 1.7e9 + rng.normal(size=(40_000, 2))
    origin = X.mean(axis=0)
    single = points.as_single(X, origin=origin)
    assert single.dtype == np.float32
    np.testing.assert_array_equal(single, (X - origin).astype(np.float32))
    assert np.ptp(points.as_single(X)) == 0.0  # without: all of them at one point
    S = sparse.csr_array(X[:5])
    np.testing.assert_array_equal(points.as_single(S, origin=origin), points.as_single(X[:5]))


def test_repeated_and_unsorted_entries_are_summed_without_touching_the_data():
    S = sparse.csr_array(
        (np.array([1.0, 2.0, 3.0]), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2)
    )
    np.testing.assert_array_equal(points.as_points(S).toarray(), [[2.0, 4.0]])
    assert S.nnz == 3


def test_wrong_points_are_refused():
    with pytest.raises(ValueError, match="reshape"):
        points.as_points(np.ones(3))
    with pytest.raises(ValueError, match="same features, got 2 and 3"):
        points.as_pair(np.ones((1, 2)), np.ones((1, 3)))


def test_mirror_makes_a_matrix_known_from_the_left_symmetric():
    whole = np.arange(49.0).reshape(7, 7)
    whole = whole + whole.T
    K = np.full((7, 7), np.nan)
    for rows in points.row_slices(7, 1, 3):
        K[rows, : rows.stop] = whole[rows, : rows.stop]
        points.mirror(K, rows)
    np.testing.assert_array_equal(K, whole)
    K[0, 1] = np.nextafter(K[0, 1], 0.0)  # rounding differs between the halves of a block
    points.mirror(K, slice(0, 3))
    assert K[1, 0] == K[0, 1]
