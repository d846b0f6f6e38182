"""Compact kernels against their definitions, SciPy, and the numbers of the specification."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.interpolate import BSpline as Spline
from scipy.spatial.distance import cdist

from mercer.kernels import BSpline, Wendland, points

EPS = np.finfo(np.float64).eps


rng = np.random.default_rng(0)


X, Z = rng.normal(size=(25, 3)), rng.normal(size=(15, 3))
ORIGIN = np.zeros((1, 1))


def values(kernel, r):
    return kernel(ORIGIN, np.reshape(r, (-1, 1)))[0]


def test_values_of_the_cubic_spline():
    found = values(BSpline(), [0.0, 0.5, 1.0, 1.5, 2.0, 7.0])
    np.testing.assert_allclose(found, [2 / 3, 23 / 48, 1 / 6, 1 / 48, 0.0, 0.0], rtol=0, atol=EPS)
    tops = [float(BSpline(degree=n).diag(ORIGIN)[0]) for n in (1, 3, 5)]
    np.testing.assert_allclose(tops, [1.0, 2 / 3, 0.55], rtol=4 * EPS)
    np.testing.assert_allclose(BSpline().diag(X), (2 / 3) ** 3, rtol=4 * EPS)


@pytest.mark.parametrize("degree", range(10))
def test_a_factor_is_the_spline_of_scipy(degree):
    half = 0.5 * (degree + 1)
    spline = Spline.basis_element(np.arange(degree + 2) - half, extrapolate=False)
    r = np.linspace(-half - 1.0, half + 1.0, 401)[1:-1] + 1e-3
    expected = np.nan_to_num(spline(r / 1.7))
    # Terms of up to 7 are added, see _truncated_powers.
    np.testing.assert_allclose(values(BSpline(1.7, degree), r), expected, rtol=0, atol=100 * EPS)


@pytest.mark.parametrize("degree", range(10))
def test_shifted_splines_sum_to_one(degree):
    x = np.linspace(0.01, 0.99, 38)[:, None]  # none on an edge, where degree 0 is open
    knots = np.arange(-6.0, 8.0)[:, None]
    np.testing.assert_allclose(BSpline(1.0, degree)(x, knots).sum(axis=1), 1.0, rtol=200 * EPS)


def test_several_features_multiply():
    scales = np.array([0.7, 1.5, 2.0])
    factors = [BSpline(s, 5)(X[:, [j]], Z[:, [j]]) for j, s in enumerate(scales)]
    np.testing.assert_allclose(BSpline(scales, 5)(X, Z), np.prod(factors, axis=0), rtol=4 * EPS)


def test_a_common_offset_costs_no_digits():
    """Differences are taken before they are scaled."""
    near = np.round(X * 2.0**20) * 2.0**-30
    kernel = BSpline(2.0**-9)
    np.testing.assert_array_equal(kernel(near + 2.0**20, near + 2.0**20), kernel(near, near))
    assert kernel(near, near)[0, 1] > 0.1


@pytest.mark.parametrize(("degree", "lowest"), [(0, -2.0263), (2, -0.10), (4, -0.0047)])
def test_even_degrees_are_not_positive_definite(degree, lowest):
    """On 121 points, ten to a knot; degree 0 counts distances up to 4, with edges -2.4348."""
    kernel = BSpline(10.0, degree)
    assert not kernel.positive_definite
    grid = np.arange(121.0)[:, None]
    digits = {0: 5e-5, 2: 5e-3, 4: 5e-5}[degree]
    assert np.linalg.eigvalsh(kernel(grid))[0] == pytest.approx(lowest, abs=digits)


@pytest.mark.parametrize("degree", [1, 3, 5, 7, 9])
def test_odd_degrees_are_positive_definite_on_a_fine_grid(degree):
    kernel = BSpline(1.0, degree)
    assert kernel.positive_definite
    eigenvalues = np.linalg.eigvalsh(kernel(np.linspace(-6.0, 6.0, 121)[:, None]))
    assert eigenvalues[0] >= -121 * EPS * eigenvalues[-1]


def test_many_sparse_features_are_made_dense_a_few_at_a_time(monkeypatch):
    monkeypatch.setattr("mercer.kernels.compact.BLOCK_BYTES", 2**14)
    A = sparse.random_array((20, 3000), density=0.01, format="csr", rng=rng)
    kernel = BSpline(400.0)
    expected = kernel(A.toarray())
    np.testing.assert_allclose(kernel(A), expected, rtol=1e-12)
    np.testing.assert_allclose(kernel.paired(A, A[::-1]), np.diag(expected[:, ::-1]), rtol=1e-12)


def test_memory_is_the_result_and_a_few_columns():
    P = rng.normal(size=(2000, 4))
    kernel = BSpline(0.5)
    kernel(P[:10])
    tracemalloc.start()
    K = kernel(P, P)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The points by feature, and a dozen pieces of the size of a cache.
    assert peak <= K.nbytes + 2 * P.nbytes + 12 * points.CHUNK_BYTES


@pytest.mark.parametrize("degree", [-1, 10, 2.5, True])
def test_other_degrees_are_refused(degree):
    with pytest.raises(ValueError, match="from 0 to 9"):
        BSpline(1.0, degree)


R = np.linspace(0.0, 2.5, 26)


@pytest.mark.parametrize("smoothness", range(4))
def test_wendland_in_three_dimensions_as_printed(smoothness):
    r = np.minimum(R / 2, 1.0)
    expected = [
        (1 - r) ** 2,
        (1 - r) ** 4 * (4 * r + 1),
        (1 - r) ** 6 * (35 * r**2 + 18 * r + 3) / 3,
        (1 - r) ** 8 * (32 * r**3 + 25 * r**2 + 8 * r + 1),
    ][smoothness]
    found = values(Wendland(2.0, smoothness), R)
    np.testing.assert_allclose(found, expected, rtol=0, atol=20 * EPS)


@pytest.mark.parametrize("dim", [1, 2, 5, 6])
@pytest.mark.parametrize("smoothness", [1, 2, 3])
def test_wendland_is_an_integral_of_the_one_before(smoothness, dim):
    """In its definition each is int_r^1 t phi(t) dt of the one before, starting from (1 - r)^m."""
    m = dim // 2 + smoothness + 1
    x, w = np.polynomial.legendre.leggauss(20)

    def phi(r, k):
        if k == 0:
            return (1 - r) ** m
        t = r[..., None] + 0.5 * (1 - r[..., None]) * (x + 1)
        return (0.5 * (1 - r[..., None]) * w * t * phi(t, k - 1)).sum(axis=-1)

    r = np.linspace(0.0, 0.99, 12)
    expected = phi(r, smoothness) / phi(np.zeros(1), smoothness)
    found = values(Wendland(1.0, smoothness, dim), r)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


def test_balls_of_a_low_dimension_fail_in_a_higher_one():
    """Why dim is a parameter: the triangle is no kernel in the plane, nor is dim=1 accepted."""
    grid = np.stack(np.meshgrid(*[np.arange(8.0)] * 2), axis=-1).reshape(-1, 2)
    triangle = np.maximum(1.0 - cdist(grid, grid) / 1.5, 0.0)
    assert np.linalg.eigvalsh(triangle)[0] < -0.05
    kernel = Wendland(1.0, dim=1)
    with pytest.raises(ValueError, match="set dim=2, which changes its shape"):
        kernel(grid)
    with pytest.raises(ValueError, match="set dim=2"):
        kernel.paired(grid, grid)
    with pytest.raises(ValueError, match="set dim=2"):
        kernel.spectrum(np.ones(3), 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Wendland(dim=2.0), "dim must be an integer, at least 1"),
        (lambda: Wendland(smoothness=4), "from 0 to 3"),
        (lambda: Wendland(smoothness=1.0), "from 0 to 3"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
