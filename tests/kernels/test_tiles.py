"""Kernels of dense float32 points: the compiled passes, and the error that is promised."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mercer import _native
from mercer.kernels import (
    Gaussian,
    Laplacian,
    Matern,
    RationalQuadratic,
    Sigmoid,
    radial_tiles,
)
from mercer.kernels.points import as_single
from mercer.kernels.products import products
from mercer.kernels.radial_tiles import quick_square
from mercer.kernels.roundoff import ALLOWED, precision_of

F = np.float32
U = radial_tiles.UNIT_ROUNDOFF
# Exponents of nearly equal points that rounding makes positive are cut there.
HIGHEST = F(2.0**-7)
ERROR = ALLOWED[np.dtype(F)][0]


def powers(t, hx=None, hz=None):
    """Call the compiled pass on a matrix, into every second column of a larger one's memory."""
    n, m = t.shape
    out = np.full((n, m + 3), -1.0, dtype=F)
    hx = np.zeros(n, dtype=F) if hx is None else hx
    hz = np.zeros(m, dtype=F) if hz is None else hz
    _native.powers_of_two(t, hx, hz, out.reshape(-1), m + 3)
    np.testing.assert_array_equal(out[:, m:], -1.0)
    return out[:, :m]


def test_powers_of_two_to_one_unit_in_the_last_place():
    # All over the range, densely near 0, and on both sides of the points where 2^k changes.
    t = np.concatenate(
        [
            -np.linspace(0.0, 125.9, 400_001),
            -np.geomspace(1e-12, 2.0, 100_001),
            *(np.arange(-125.5, 0.0) + side * 2.0**-18 for side in (-1, 0, 1)),
        ]
    ).astype(F)
    exact = np.exp2(t.astype(np.longdouble))
    error = np.abs(powers(t[None, :])[0] - exact) / np.spacing(exact.astype(F))
    assert error.max() <= 1.0


def test_powers_of_two_end_cleanly():
    t = np.array([[0.0, -0.0, 3.0, np.inf, -125.95, -300.0, -3e38, -np.inf, np.nan]], dtype=F)
    most = np.exp2(HIGHEST)
    expected = [[1.0, 1.0, most, most, 0.0, 0.0, 0.0, 0.0, np.nan]]
    np.testing.assert_array_equal(powers(t), expected)
    odd = np.array([0x7F800001, 0xFFFFFFFF, 0x7FC12345], dtype=np.uint32).view(F)[None, :]
    assert np.isnan(powers(odd)).all()


def test_powers_in_place():
    t = -np.linspace(0.0, 125.9, 10_001)[None, :]
    hx, hz = np.array([0.25]), np.linspace(0.0, 2.0, t.size)
    single = t.astype(F)
    expected = powers(single, hx.astype(F), hz.astype(F))
    _native.raise_two(single, hx.astype(F), hz.astype(F))
    np.testing.assert_array_equal(single, expected)


def test_powers_of_two_in_double_precision():
    t = np.concatenate(
        [
            -np.linspace(0.0, 1021.9, 200_001),
            -np.geomspace(1e-18, 2.0, 100_001),
            *(np.arange(-1021.5, 0.0) + side * 2.0**-40 for side in (-1, 0, 1)),
        ]
    )
    exact = np.exp2(t.astype(np.longdouble))
    found = t[None, :].copy()
    _native.raise_two(found, np.zeros(1), np.zeros(t.size))
    # A half for the last rounding, a half for that of r C1, and 3e-17 of the polynomial.
    assert (np.abs(found[0] - exact) / np.spacing(exact.astype(np.float64))).max() <= 1.25
    ends = np.array([[0.0, -0.0, -1021.95, -3e300, -np.inf, np.nan]])
    _native.raise_two(ends, np.zeros(1), np.zeros(6))
    np.testing.assert_array_equal(ends, [[1.0, 1.0, 0.0, 0.0, 0.0, np.nan]])


def test_passes_are_those_of_numpy():
    rng = np.random.default_rng(0)
    D, hx, hz = (rng.normal(size=s).astype(F) for s in ((7, 37), 7, 37))
    D[3, 5] = np.nan
    t = (D - hz) - hx[:, None]
    powers_expected = np.exp2(np.minimum(t, HIGHEST))
    np.testing.assert_allclose(powers(D, hx, hz), powers_expected, rtol=4 * U)
    _native.exponents(D, hx, hz)
    np.testing.assert_array_equal(D, np.minimum(t, F(0.0)))


def test_rounding_has_no_direction_where_points_are_equal():
    # A value above one is as likely as one below: on average, one, to a tenth of their spread.
    X = np.random.default_rng(8).normal(size=(2000, 30)).astype(F)
    values = np.concatenate(
        [np.diag(Gaussian(2.0).against(X[part])(X[part])) for part in np.split(np.arange(2000), 20)]
    ).astype(np.float64)
    assert values.max() > 1.0 > values.min()
    assert abs(values.mean() - 1.0) <= 0.1 * values.std()


def test_units_are_those_of_numpy():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(5, 301)).astype(F)
    origin, factor = rng.normal(size=(2, 301))
    units, half = np.empty_like(X), np.empty(5, dtype=F)
    _native.in_units(X, origin, factor, units, half)
    np.testing.assert_array_equal(units, ((X - origin) * factor).astype(F))
    # The sums are exact before they are rounded.
    np.testing.assert_array_equal(half, (0.5 * (units.astype(np.float64) ** 2).sum(1)).astype(F))


def test_weighted_sums_are_added_in_double_precision():
    rng = np.random.default_rng(5)
    K, a, f = rng.random((3, 1001)).astype(F), rng.normal(size=1001), rng.normal(size=3)
    expected = f + K.astype(np.float64) @ a
    _native.weigh(K, a, f)
    np.testing.assert_allclose(f, expected, rtol=0, atol=1001 * 2.0**-53 * np.abs(a).sum())


@pytest.mark.parametrize("exponential", [False, True])
def test_repair_computes_what_is_near_and_nothing_else(exponential):
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(6, 5)).astype(F), rng.normal(size=(150, 5)).astype(F)
    factor = rng.random(5).astype(F)
    exact = -0.5 * cdist(X * factor, Z * factor, "sqeuclidean")
    exact = np.exp2(exact) if exponential else exact
    D = np.full((6, 153), -9.0, dtype=F)
    D[1, 3], D[1, 4], D[4, 70], D[4, 90], D[4, 149] = -1.0, np.nan, -1.9, -2.1, -2.0
    D[2, 4] = D[4, 151] = 0.0  # neither a row nor a column of those asked for
    before = D.copy()
    rows, lowest = np.array([1, 4]), np.array([-1.0, -2.0], dtype=F)
    _native.repair(D.reshape(-1), 153, 150, X, Z, factor, rows, lowest, exponential)
    changed = np.argwhere(D.view(np.int32) != before.view(np.int32)).tolist()
    assert changed == [[1, 3], [1, 4], [4, 70], [4, 149]]
    for i, j in changed:
        # 5 squares of one difference each, a handful of roundings; the power's are relative to 1.
        assert D[i, j] == pytest.approx(exact[i, j], rel=12 * U, abs=12 * U)


def clusters(rng, n, p):
    """Groups at distances of thousands of widths, whose members are near each other."""
    return rng.normal(size=(5, p))[rng.integers(5, size=n)] * 300.0 + 0.3 * rng.normal(size=(n, p))


def outliers(rng, n, p):
    X = rng.normal(size=(n, p)) / np.sqrt(p)
    X[::10] *= 1e3
    X[5::10] = X[::10] + 0.5 * rng.normal(size=X[::10].shape) / np.sqrt(p)
    return X


def one_large_column(rng, n, p):
    """Some rows in which a single value is 3e3 or 1e8 times all others."""
    X = rng.normal(size=(n, p))
    X[: n // 8, 0] = rng.choice([3e3, 1e8], n // 8) * (1.0 + rng.random(n // 8))
    return X


DATA = {
    "normal": lambda rng, n, p: rng.normal(size=(n, p)) / np.sqrt(p),
    "ten times too narrow": lambda rng, n, p: 10.0 * rng.normal(size=(n, p)) / np.sqrt(p),
    "positive": lambda rng, n, p: 2.0 * rng.random((n, p)) / np.sqrt(p),
    "rare": lambda rng, n, p: 3.0 * (rng.random((n, p)) < 0.1) / np.sqrt(p),
    "far away": lambda rng, n, p: 1e3 + rng.normal(size=(n, p)) / np.sqrt(p),
    "heavy tails": lambda rng, n, p: rng.standard_cauchy((n, p)) / p,
    "clusters": clusters,
    "outliers": outliers,
    "one large column": one_large_column,
}


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("p", [1, 3, 22, 123, 784])
def test_error_of_a_kernel_value_is_bounded(data, p):
    rng = np.random.default_rng(p)
    X = DATA[data](rng, 700, p).astype(F)
    X[300:350] = X[:50]
    Z = X[250:]
    s = cdist(X.astype(np.float64), Z.astype(np.float64), "sqeuclidean")
    exact = np.exp(-0.5 * s)
    assert exact.max() == 1.0
    found = Gaussian(1.0)(X, Z)
    assert found.dtype == F
    # What is promised of the pairs that are left, and the relative error of those computed again:
    # t e^-t < 0.37 of 3 roundings of the factor and differences, and of a sum of p squares.
    assert np.abs(found - exact).max() <= ERROR + 0.37 * (3.0 + np.sqrt(p)) * 2 * U
    # Of other profiles: at most DIGITS of s where it was computed again, and 2 ERROR elsewhere.
    for kernel in (Matern(1.0, 1.5), RationalQuadratic(1.0, 0.7)):
        exact = kernel(X.astype(np.float64), Z.astype(np.float64))
        assert np.abs(kernel(X, Z) - exact).max() <= 2.0 * 1e-5


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("p", [1, 22, 784])
def test_error_of_a_kernel_value_in_double_precision(data, p):
    rng = np.random.default_rng(p)
    X = DATA[data](rng, 400, p)
    X[300:350] = X[:50]
    Z = X[150:]
    s = cdist(X, Z, "sqeuclidean")
    precision = precision_of(X.dtype, p)
    tiles = Gaussian(1.0).against(Z).prepare(Z)
    strip = np.empty(s.shape)
    tiles.strip(tiles.left(X), strip)
    for found in (tiles(X), strip):
        # As above, and the same roundings of the squares that are taken for exact here.
        bound = precision.error + 0.37 * (3.0 + np.sqrt(p)) * 4 * 2.0**-53
        assert np.abs(found - np.exp(-0.5 * s)).max() <= bound
    for kernel in (Matern(1.0, 0.5), RationalQuadratic(1.0, 0.7)):
        exact = s.copy()
        kernel._profile(exact)
        found = kernel.against(Z).prepare(Z)(X)
        assert np.abs(found - exact).max() <= 2.0 * precision.digits


@pytest.mark.parametrize("data", DATA)
def test_strips_of_double_points_in_single_precision(data):
    rng = np.random.default_rng(3)
    X = DATA[data](rng, 400, 22)
    Z, origin = X[150:], X.mean(axis=0)
    tiles = Gaussian(1.0).against((Z - origin).astype(F)).tiles
    K = np.empty((400, 250), dtype=F)
    tiles.strip(tiles.left(X, origin), K)
    rounded = [(A - origin).astype(F).astype(np.float64) for A in (X, Z)]
    exact = np.exp(-0.5 * cdist(*rounded, "sqeuclidean"))
    # X is rounded after it was divided by the width where all is near, else before: of points h
    # far out, a distance is off by u sqrt(2 h), and exp(-d^2/2) by 0.61 of that, h at most 2 here.
    assert np.abs(K - exact).max() <= 2.0 * ERROR
    X[3] = np.nan
    tiles.strip(tiles.left(X, origin), K)
    np.testing.assert_array_equal(np.isnan(K).all(axis=1), np.arange(400) == 3)


def test_one_point_far_out_costs_one_row(monkeypatch):
    """Not the mean, which it moves, nor all others."""
    rng = np.random.default_rng(2)
    X = (rng.normal(size=(3000, 4)) / 2.0).astype(F)
    X[7] = 1e6
    asked = []
    compiled = radial_tiles.repair

    def spy(*args):
        asked.append(list(args[6]))
        compiled(*args)

    monkeypatch.setattr(radial_tiles, "repair", spy)
    K = Gaussian(1.0)(X[:400], X)
    assert asked
    assert all(rows == [7] for rows in asked)
    exact = np.exp(-0.5 * cdist(X[:400].astype(np.float64), X.astype(np.float64), "sqeuclidean"))
    assert np.abs(K - exact).max() <= ERROR


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Matern(1.0, 0.5), RationalQuadratic(1.0, 0.7)])
def test_squares_beyond_single_precision(kernel):
    X = np.array([[1e25, 0.0], [1e25, 1.0], [-1e38, 0.0], [0.0, 1.0], [0.0, 2.0]], dtype=F)
    exact = kernel(X.astype(np.float64), X.astype(np.float64))
    assert 0.0 < exact[0, 1] < 1.0
    np.testing.assert_allclose(kernel(X, X), exact, rtol=0, atol=4 * U)
    X[1, 1] = np.nan
    bad = np.isnan(X).any(axis=1)
    np.testing.assert_array_equal(np.isnan(kernel(X, X)), bad[:, None] | bad)
    np.testing.assert_array_equal(np.isnan(kernel(X[3:], X)), [bad, bad])


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Gaussian([1.0, 2.0, 0.5]), Matern(1.0, 0.5)])
def test_values_do_not_depend_on_the_tiles(kernel, monkeypatch):
    rng = np.random.default_rng(3)
    X, Z = rng.normal(size=(1100, 3)).astype(F), 9.0 * rng.normal(size=(700, 3)).astype(F)
    whole = kernel(X, Z)
    for module in ("tiles", "radial_tiles"):
        monkeypatch.setattr(f"mercer.kernels.{module}.TILE", 2**30)
    # The product may add in another order; each value stays within its bound.
    np.testing.assert_allclose(kernel(X, Z), whole, rtol=0, atol=2 * ERROR)
    np.testing.assert_allclose(kernel(X[::-3], Z), whole[::-3], rtol=0, atol=2 * ERROR)
    columns = np.asfortranarray(X)
    np.testing.assert_allclose(kernel(columns, Z), whole, rtol=0, atol=2 * ERROR)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Matern(1.0, 1.5), Sigmoid(0.1)])
@pytest.mark.parametrize("q", [1, 2])
def test_products_with_coefficients_are_those_of_the_matrix(kernel, q):
    rng = np.random.default_rng(4)
    X, Z = rng.normal(size=(1300, 3)).astype(F), rng.normal(size=(1000, 3)).astype(F)
    coef = rng.normal(size=(1000, q))
    ends = [300, 300, 1000]
    found = kernel.against(Z).tiles.products(X, coef, ends)
    assert found.dtype == np.float64
    exact, size = kernel(X.astype(float), Z.astype(float)), np.abs(coef)
    parts = [slice(0, 300), slice(300, 300), slice(300, 1000)]
    for product, part in zip(found, parts, strict=True):
        # An error ERROR a value, and of sums of several hundred products half a rounding each.
        bound = (ERROR + 256 * U * (q > 1)) * size[part].sum(axis=0)
        assert (np.abs(product - exact[:, part] @ coef[part]) <= bound).all()


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Matern(1.0, 0.5), Sigmoid(0.1)])
@pytest.mark.parametrize("n", [1, 300, 1100])
def test_the_matrix_of_one_set_is_symmetric(kernel, n):
    X = np.random.default_rng(n).normal(size=(n, 3)).astype(F)
    K = kernel(X)
    assert K.dtype == F
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(K.diagonal(), kernel.diag(X))
    np.testing.assert_allclose(K, kernel(X, X), rtol=0, atol=2 * ERROR)


@pytest.mark.parametrize(("n", "m"), [(0, 3), (3, 0), (0, 0), (1, 1)])
def test_shapes_down_to_nothing(n, m):
    X, Z = np.ones((n, 2), dtype=F), np.ones((m, 2), dtype=F)
    np.testing.assert_array_equal(Gaussian(1.0)(X, Z), np.ones((n, m), dtype=F), strict=True)
    np.testing.assert_array_equal(Gaussian(1.0)(X[:, :0], Z[:, :0]), np.ones((n, m)))


def rough_points(kind, p, rng):
    X = rng.normal(size=(400, p)) * {"narrow": 0.2, "wide": 4.0, "far": 2.0, "outliers": 1.0}[kind]
    if kind == "far":
        X += 1e4
    if kind == "outliers":
        X[::40] *= 1e4
    X[1::7] = X[::7][: len(X[1::7])] * (1.0 + 1e-7 * rng.normal(size=(len(X[1::7]), 1)))
    return X


@pytest.mark.parametrize("kind", ["narrow", "wide", "far", "outliers"])
@pytest.mark.parametrize("p", [1, 5, 60, 800])
@pytest.mark.parametrize("family", [Gaussian, Laplacian])
def test_the_error_that_is_proved_holds(family, kind, p):
    rng = np.random.default_rng(p)
    X = rough_points(kind, p, rng)
    if family is Gaussian:
        kernel, K = Gaussian(np.sqrt(p)), np.exp(-0.5 * cdist(X, X, "sqeuclidean") / p)
    else:
        kernel, K = Laplacian(p), np.exp(-cdist(X, X, "cityblock") / p)
    origin = kernel.origin(X)
    tiles = kernel.against(_single_points(X, origin)).tiles
    proved = tiles.roundoff()
    single = tiles(_single_points(X, origin)).astype(np.float64)
    off = np.abs(single - K)
    # Rows are points on the left, columns those on the right, to which rho belongs.
    with np.errstate(invalid="ignore"):
        bound = proved.rho * proved.weight[:, None] * single + proved.tail
    assert np.all((off <= bound) | np.isinf(proved.rho))
    t = rng.normal(size=len(X))
    sums = np.zeros((2, len(X)))
    tiles.add(sums, _single_points(X, origin), np.stack([t, np.abs(t) * proved.weight]))
    bound = proved.of_sums(sums[1], float(np.abs(t).sum()))
    assert np.all(np.abs(sums[0] - t @ K) <= bound)
    if kind in ("narrow", "wide"):
        assert np.isfinite(bound).all()
        assert bound.max() < 0.05 * np.abs(t).sum()


def _single_points(X, origin):
    return as_single(X, 2.0**28, origin)


def test_other_profiles_prove_nothing():
    X = np.random.default_rng(0).normal(size=(20, 2)).astype(F)
    assert Matern(1.0, 1.5).against(X).tiles.roundoff() is None
    assert Sigmoid().against(X).tiles.roundoff() is None


@pytest.mark.parametrize(("twice", "slope"), [(0, 1.0), (3, 3.0), (5, 5.0 / 3.0)])
@pytest.mark.parametrize("p", [1, 50])
def test_points_are_near_where_products_have_the_digits_allowed(twice, slope, p):
    """A value of opposite points is off by its slope times the error of half a squared distance."""
    precision = precision_of(np.dtype(np.float64), p)
    # Of half squared norms h, (sqrt(h) + sqrt(h))^2 roundings.
    most = precision.error / (slope * precision.rounding * 4.0)
    for part in (0.9, 1.1):
        X = np.zeros((2, p))
        X[:, 0] = np.sqrt(2.0 * part * most) * np.array([-1.0, 1.0])
        found = quick_square(X, 1.0, twice)
        assert (found is not None) == (part < 1.0)


COMPOSED = {
    "product": (Matern(0.9, 1.5).on([0, 2]) * Laplacian(1.5, categories=[0]).on([1])),
    "sum": Gaussian(1.0) + 0.5 * Matern(2.0, 2.5).on([0]),
    "nested": (Gaussian(1.0).on([1, 2]) + Laplacian(2.0).on([0]) * Matern(1.0, 1.5)) ** 2,
}


@pytest.mark.parametrize("q", [1, 3])
@pytest.mark.parametrize("away", [0.0, 1e4])
@pytest.mark.parametrize("name", COMPOSED)
def test_products_with_composed_kernels_are_those_of_pairs(name, away, q):
    """Values of pairs come from differences, and combine one by one."""
    rng, kernel = np.random.default_rng(9), COMPOSED[name]
    X, Z = rng.normal(size=(300, 3)), rng.normal(size=(260, 3))
    for points in (X, Z):
        points[:, 1] = rng.integers(4, size=len(points))
        points[::50] += away
    coef = rng.normal(size=(260, q))
    i, j = np.indices((300, 260)).reshape(2, -1)
    K = kernel.paired(X[i], Z[j]).reshape(300, 260)
    found = products(kernel, Z, X, coef, [170, 260])
    # Each of at most three parts is off by 1e-12 of the largest value that the parts can have.
    allowed = 3e-12 * kernel.diag(X)[:, None] * np.abs(coef).sum(axis=0)
    assert (np.abs(found[0] - K[:, :170] @ coef[:170]) <= allowed).all()
    assert (np.abs(found[1] - K[:, 170:] @ coef[170:]) <= allowed).all()
    if not away:
        # Of three values, each off by ERROR, the largest slope is the four of a squared sum of two.
        single = kernel(X.astype(F), Z.astype(F))
        np.testing.assert_allclose(single, K, rtol=0.0, atol=12.0 * ERROR)
