"""Compiled loops beside NumPy in extended precision, at every level that this processor has."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mercer import _native

F, D, L = np.float32, np.float64, np.longdouble
EPS = {F: 2.0**-24, D: 2.0**-53}
# Two levels with fused products; their sums have one order, and so their bits agree.
FUSED = [level for level in _native.levels if level != "v2"]
LOG2_E = 1.4426950408889634


@pytest.fixture(params=_native.levels)
def level(request):
    """One level of the processor, until the end of the test."""
    before = _native.level
    _native.use_level(request.param)
    yield request.param
    _native.use_level(before)


def at_levels(names, compute):
    """Return what a computation gives at several levels."""
    before = _native.level
    results = []
    for name in names:
        _native.use_level(name)
        results.append(compute())
    _native.use_level(before)
    return results


def unaligned(x, offset=1):
    """Return a copy that begins at an odd place of memory, with numbers around it."""
    room = np.full(x.size + 2 * offset + 1, 7.0, dtype=x.dtype)
    inside = room[offset : offset + x.size].reshape(x.shape)
    inside[...] = x
    return inside


def points(n, m, p, dtype, seed=0):
    """Return points, half their squared norms, and their products."""
    rng = np.random.default_rng(seed)
    X, Z = rng.normal(size=(n, p)).astype(dtype), rng.normal(size=(m, p)).astype(dtype)
    return X, Z, (0.5 * X**2).sum(axis=1), (0.5 * Z**2).sum(axis=1), X @ Z.T


LENGTHS = [*range(71), 255, 256, 257, 2047, 2048, 2051]


@pytest.mark.parametrize("dtype", [F, D])
def test_powers_of_every_length_are_those_of_numpy(level, dtype):
    rng = np.random.default_rng(1)
    for m in LENGTHS:
        t = unaligned(-rng.exponential(3.0, size=(2, m)).astype(dtype))
        hx, hz = rng.random(2).astype(dtype), unaligned(rng.random(m).astype(dtype))
        exact = np.exp2(((t - hz) - hx[:, None]).astype(L))
        _native.raise_two(t, hx, hz)
        # One unit in the last place of float32, one and a quarter of float64.
        assert (np.abs(t - exact) <= 2.5 * EPS[dtype] * exact).all()


@pytest.mark.parametrize("dtype", [F, D])
def test_powers_of_what_is_no_number(level, dtype):
    low = -125.95 if dtype is F else -1021.95
    tiny = np.finfo(dtype).smallest_subnormal
    t = np.array([[0.0, -0.0, low, -3e38, -np.inf, np.nan, -tiny]], dtype=dtype)
    _native.raise_two(t, np.zeros(1, dtype), np.zeros(7, dtype))
    np.testing.assert_array_equal(t, [[1.0, 1.0, 0.0, 0.0, 0.0, np.nan, 1.0]])


@pytest.mark.parametrize("dtype", [F, D])
@pytest.mark.parametrize("twice", [3, 5])
def test_matern_kernels_of_every_length_are_those_of_numpy(level, dtype, twice):
    rng = np.random.default_rng(8)
    for m in LENGTHS:
        t = unaligned(-rng.exponential(3.0, size=(2, m)).astype(dtype))
        hx, hz = rng.random(2).astype(dtype), unaligned(rng.random(m).astype(dtype))
        a = np.sqrt(L(2 * twice) * (hx.astype(L)[:, None] + hz - t))
        exact = (1 + a + (a**2 / 3 if twice == 5 else 0)) * np.exp(-a)
        _native.matern(t, hx, hz, twice)
        # Rounding of a, by two units relative to itself, is one of the value times a.
        assert (
            np.abs(t - exact) <= EPS[dtype] * (8.0 + 4.0 * a) * exact + np.finfo(dtype).tiny
        ).all()
    special = np.array([[0.0, 1.0, np.nan, -np.inf]], dtype=dtype)
    _native.matern(special, np.zeros(1, dtype), np.zeros(4, dtype), twice)
    np.testing.assert_array_equal(special, [[1.0, 1.0, np.nan, 0.0]])


@settings(max_examples=50)
@given(st.data(), st.sampled_from([F, D]))
def test_any_numbers_give_the_same_bits_at_fused_levels(data, dtype):
    width = np.dtype(dtype).itemsize * 8
    m = data.draw(st.integers(0, 70))
    numbers = st.floats(width=width)
    t = data.draw(arrays(dtype, (1, m), elements=numbers))
    hz = data.draw(arrays(dtype, m, elements=numbers))

    if dtype is D:
        # Differences exceed zero by rounding only.
        t, hz = -np.abs(t), np.abs(hz)

    def compute():
        raised, cut = t.copy(), t.copy()
        with np.errstate(all="ignore"):
            _native.raise_two(raised, np.zeros(1, dtype), hz)
            _native.exponents(cut, np.zeros(1, dtype), hz)
        return np.concatenate([raised, cut])

    with np.errstate(all="ignore"):
        difference = t - hz
    first, *others = at_levels(FUSED or _native.levels, compute)
    for other in others:
        np.testing.assert_array_equal(first, other)
    # A NaN stays one, and nothing else becomes one.
    np.testing.assert_array_equal(np.isnan(first[0]), np.isnan(difference[0]))
    np.testing.assert_array_equal(first[1], np.where(difference[0] > 0, 0.0, difference[0]))


def sums_of_values():
    """Yield the name, arguments and the exact sums of loops that weigh kernel values."""
    for n, m, p in [(1, 1, 1), (3, 17, 2), (5, 300, 7), (4, 2050, 3)]:
        X, Z, hx, hz, products = points(n, m, p, D)
        a = np.random.default_rng(2).normal(size=m)
        q = np.maximum(hx[:, None] + hz - products, 0.0).astype(L)
        values = {"weigh_powers": np.exp2(-q)}
        for twice in (3, 5):
            r = np.sqrt(2 * twice * q)
            values[twice] = (1 + r + (r**2 / 3 if twice == 5 else 0)) * np.exp(-r)
        yield _native.weigh_powers, (products, hx, hz, a), (), values["weigh_powers"], a
        yield _native.weigh_matern, (products, hx, hz, a), (3,), values[3], a
        yield _native.weigh_matern, (products, hx, hz, a), (5,), values[5], a
        distance = np.abs(X[:, None].astype(L) - Z).sum(axis=2)
        columns = np.ascontiguousarray(Z.T)
        before = X, np.ones(p), p, columns, 0, a
        yield _native.weigh_laplace, before, (), np.exp2(-distance), a


def test_weighted_sums_of_kernel_values(level):
    for loop, before, after, values, a in sums_of_values():
        f = np.full(len(values), 2.0)
        loop(*before, f, *after)
        exact = 2.0 + values @ a
        # Errors of squared distances of some 20 units, of roots near zero, and of sums of m terms.
        bound = 1e-7 if loop is _native.weigh_matern else 1e-13
        assert np.max(np.abs(f - exact)) <= bound * (1.0 + np.abs(a).sum())


@pytest.mark.parametrize("dtype", [F, D])
@pytest.mark.parametrize(("n", "m"), [(0, 3), (1, 1), (3, 7), (4, 70), (9, 2051)])
def test_sums_of_rows_and_columns(level, dtype, n, m):
    rng = np.random.default_rng(3)
    room = rng.random((n, m + 3)).astype(dtype)
    K, a, b = room[:, :m], unaligned(rng.normal(size=m)), rng.normal(size=n)
    f, g, e = np.ones(n), np.ones(m), np.ones(n)
    _native.weigh(K, a, e)
    _native.weigh_both(K, a, f, b, g)
    exact = K.astype(L)
    allowed = 2.0**-52 * (m + n) * (1.0 + np.abs(a).sum() + np.abs(b).sum())
    for found, sums in ((e, exact @ a), (f, exact @ a), (g, exact.T @ b)):
        assert np.max(np.abs(found - (1.0 + sums)), initial=0.0) <= allowed
    flat, starts = room.reshape(-1), np.arange(n) * (m + 3)
    F1, F2 = np.ones(m), np.ones((2, m))
    _native.add_rows(F1, flat, starts, b)
    _native.add_rows(F2, flat, starts, np.stack([b, -b]))
    # Weights are rounded to the precision of the rows, and four products are summed in it.
    allowed = 8.0 * EPS[dtype] * (np.abs(b) @ np.abs(exact)) + 2.0**-50
    assert (np.abs(F1 - (1.0 + exact.T @ b)) <= allowed).all()
    np.testing.assert_array_equal(F2[0], F1)
    assert (np.abs(F2[1] - (1.0 - exact.T @ b)) <= allowed).all()
    if dtype is F:
        w = rng.random(m).astype(F)
        f, e = np.zeros(n), np.zeros(n)
        _native.weigh_and_bound(K, a, w, f, e)
        assert np.max(np.abs(f - exact @ a), initial=0.0) <= 2.0**-52 * m * (1 + np.abs(a).sum())
        np.testing.assert_allclose(e, (exact @ w).astype(D), rtol=2.0**-24 * (m + 2))


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 100])
def test_squares_are_symmetric_kernel_matrices(level, n):
    X, _, half, _, _ = points(n, 1, 3, D)
    q = 0.5 * ((X[:, None] - X) ** 2).sum(axis=2)
    for loop, after, exact in (
        (_native.raise_two_square, (), np.exp2(-q)),
        (_native.matern_square, (3,), (1 + np.sqrt(6 * q)) * np.exp(-np.sqrt(6 * q))),
    ):
        K = X @ X.T
        loop(K, half, *after)
        np.testing.assert_array_equal(K, K.T)
        np.testing.assert_array_equal(np.diag(K), 1.0)
        np.testing.assert_allclose(K, exact, rtol=0, atol=1e-7)


@pytest.mark.parametrize("dtype", [F, D])
@pytest.mark.parametrize(("p", "numbers"), [(1, 1), (3, 0), (4, 4), (9, 7)])
def test_distances_of_numbers_and_categories(level, dtype, p, numbers):
    rng = np.random.default_rng(4)
    X = rng.integers(3, size=(5, p)).astype(dtype)
    columns = rng.integers(3, size=(p, 1100)).astype(dtype)
    factor = rng.random(p).astype(dtype)
    apart = np.abs(X[:, :, None] - columns.astype(L))
    apart[:, numbers:] = apart[:, numbers:] > 0
    t = -(factor.astype(L)[:, None] * apart).sum(axis=1)
    out = np.full((5, 1060), -1.0, dtype=dtype)
    _native.laplace(X, factor, numbers, columns, 30, 1050, out.reshape(-1), 1060)
    exact = np.exp2(t[:, 30:1080])
    allowed = EPS[dtype] * exact * (3.0 + (p + 4.0) * np.abs(t[:, 30:1080]))
    assert (np.abs(out[:, :1050] - exact) <= allowed).all()
    np.testing.assert_array_equal(out[:, 1050:], -1.0)


@pytest.mark.parametrize("twice", [0, 3, 5])
def test_slopes_are_differences_of_values(level, twice):
    _, _, hx, hz, products = points(3, 40, 4, D)
    G = np.random.default_rng(5).normal(size=(3, 40))
    q = hx[:, None] + hz - products

    def profile(q):
        a = np.sqrt(2.0 * twice * q)
        if twice == 0:
            return np.exp(-q)
        return (1 + a + (a**2 / 3 if twice == 5 else 0)) * np.exp(-a)

    H = products.copy()
    _native.weigh_slopes(H, hx, hz, G, 20, twice)
    h = 1e-6
    # Minus twice the derivative by the squared distance 2 q.
    slope = -(profile(q + h) - profile(q - h)) / (2.0 * h)
    lower = np.arange(40) < 20 + np.arange(3)[:, None]
    np.testing.assert_allclose(H, np.where(lower, 2.0 * G * slope, 0.0), rtol=1e-7, atol=1e-8)


@pytest.mark.skipif(len(FUSED) < 2, reason="this processor has one level with fused products")
@pytest.mark.parametrize("dtype", [F, D])
def test_fused_levels_agree_to_the_bit(dtype):
    X, Z, hx, hz, products = points(37, 301, 9, dtype)
    rng = np.random.default_rng(6)
    a, b = rng.normal(size=301), rng.normal(size=37)

    def compute():
        K, units, half = products.copy(), np.empty_like(X), np.empty_like(hx)
        _native.in_units(X, np.full(9, 0.1), np.full(9, 0.3), units, half)
        _native.raise_two(K, hx, hz)
        f, g, e = np.zeros(37), np.zeros(301), np.zeros(37)
        _native.weigh(K, a, e)
        _native.weigh_both(K, a, f, b, g)
        F2 = np.zeros((2, 301))
        _native.add_rows(F2, K.reshape(-1), np.arange(37) * 301, np.stack([b, b**2]))
        out = np.empty(37 * 301, dtype=dtype)
        columns = np.ascontiguousarray(Z.T)
        _native.laplace(X, np.ones(9, dtype), 7, columns, 0, 301, out, 301)
        S, moved, state, steps = pair_problem(dtype)
        whole = np.array([0, 0, 1], np.uint64), np.array([0, 120], np.uint64)
        taken = _native.pair_loop(S, moved, steps, state, *whole, 1e-3, 9999, 99)
        sums = np.array(taken)
        return [x.ravel() for x in (K, units, half, f, g, e, F2, out, moved, sums)]

    for other in at_levels(FUSED[1:], compute):
        for x, y in zip(at_levels(FUSED[:1], compute)[0], other, strict=True):
            np.testing.assert_array_equal(x, y)


def pair_problem(dtype, n=120):
    """Return matrix, coefficients, state and terms of a soft margin."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, 3))
    y = np.sign(np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n))
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2)).astype(dtype)
    terms = np.zeros((n + 1, 8))
    terms[:n, :2] = -y[:, None]
    terms[:n, 4:6] = np.minimum(0.0, 5.0 * y)[:, None]
    terms[:n, 6:] = np.maximum(0.0, 5.0 * y)[:, None]
    terms[n] = 0.0, 0.0, 0.0, 0.0, -np.inf, -np.inf, np.inf, np.inf
    state = np.zeros((5, n + 1), dtype=dtype)
    state[0, :n] = np.where(y > 0, -y, np.inf)
    state[1, :n] = np.where(y > 0, -np.inf, -y)
    state[2:4, :n] = 1.0
    return K, np.zeros(n + 1), state, terms


@pytest.mark.parametrize("dtype", [F, D])
def test_pair_steps_end_where_no_pair_gains(level, dtype):
    K, a, state, terms = pair_problem(dtype)
    ends, runs = np.array([0, 0, 1], np.uint64), np.array([0, 120], np.uint64)
    steps, violation = _native.pair_loop(K, a, terms, state, ends, runs, 1e-4, 10**6, 100)
    assert 0 < steps < 10**6
    assert violation <= 1e-4
    x, low, high = a[:120], terms[:120, 4], terms[:120, 7]
    assert ((low <= x) & (x <= high)).all()
    assert abs(x.sum()) <= 1e-12
    slope = K.astype(D) @ x + terms[:120, 0]
    worst = np.max(slope[x > low]) - np.min(slope[x < high])
    assert worst <= 1e-4 + (1e-3 if dtype is F else 1e-12)
    # The same steps in another process or thread: they depend on nothing else.
    again = np.zeros(121)
    assert _native.pair_loop(
        K, again, terms, pair_problem(dtype)[2], ends, runs, 1e-4, 10**6, 100
    ) == (
        steps,
        violation,
    )
    np.testing.assert_array_equal(a, again)
    few, moved, fresh, _ = pair_problem(dtype)
    assert _native.pair_loop(few, moved, terms, fresh, ends, runs, 1e-4, 3, 100)[0] == 3


@pytest.mark.parametrize("groups", [1, 2])
def test_pair_steps_in_16_bits_and_runs_end_within_their_rounding(level, groups):
    K, _, state, terms = pair_problem(F)
    # The same samples in slots: runs of each group apart, with empty slots between them.
    slots = np.concatenate([np.arange(40), np.arange(50, 90), np.arange(96, 136)])
    short, wide = np.zeros((136, 136), np.uint16), np.zeros((5, 137), F)
    short[np.ix_(slots, slots)] = np.minimum(K * 65535 + 0.5, 65535)
    wide[0], wide[1], wide[2:4] = np.inf, -np.inf, 1.0
    wide[:2, slots] = state[:2, :120]
    rows = np.zeros((137, 8))
    rows[slots], rows[136] = terms[:120], terms[120]
    a = np.zeros(137)
    runs = np.array([0, 40, 50, 90, 96, 136], np.uint64)
    ends = np.array([0, 0, 3] if groups == 1 else [0, 0, 1, 3], np.uint64)
    steps, violation = _native.pair_loop(short, a, rows, wide, ends, runs, 1e-3, 10**6, 100)
    assert 0 < steps < 10**6
    assert violation <= 1e-3
    x = a[slots]
    assert not np.any(np.delete(a, slots))
    low, high = terms[:120, 4], terms[:120, 7]
    slope = K.astype(D) @ x + terms[:120, 0]
    for part in [slice(0, 120)] if groups == 1 else [slice(0, 40), slice(40, 120)]:
        assert abs(x[part].sum()) <= 1e-12
        some, down, up = slope[part], (x > low)[part], (x < high)[part]
        assert np.max(some[down]) - np.min(some[up]) <= 1e-3 + 1e-5 * np.abs(x).sum()


def groups_of(X, half, width):
    """Return points in groups: features side by side, half norms last."""
    count = -(-len(X) // width)
    flat = np.zeros((X.shape[1] + 1, count * width), X.dtype)
    flat[:-1, : len(X)], flat[-1, : len(X)] = X.T, half
    grouped = flat.reshape(X.shape[1] + 1, count, width).swapaxes(0, 1)
    return np.ascontiguousarray(grouped).reshape(count, -1)


def plain_values(X, Z, number, offset):
    """Return kernel values in extended precision."""
    X, Z = X.astype(L), Z.astype(L)
    products = X @ Z.T
    q = 0.5 * (X**2).sum(axis=1)[:, None] + 0.5 * (Z**2).sum(axis=1) - products
    if number == 0:
        return np.exp2(-q)
    if number < 0:
        return (products + offset) ** -number
    a = np.sqrt(2 * number * np.maximum(q, 0))
    return (1 + a + (a * a / 3 if number == 5 else 0)) * np.exp(-a)


KERNELS = [(0, 0.0), (3, 0.0), (5, 0.0), (-1, 0.0), (-3, 0.5)]


@pytest.mark.parametrize("dtype", [F, D])
@pytest.mark.parametrize(("number", "offset"), KERNELS)
@pytest.mark.parametrize(
    ("n", "m", "p"), [(1, 1, 1), (12, 32, 3), (13, 33, 8), (40, 70, 0), (30, 50, 40)]
)
def test_tiles_are_kernel_values_and_their_sums(level, dtype, number, offset, n, m, p):
    X, Z, hx, hz, _ = points(n, m, p, dtype)
    scale = dtype(1 / np.sqrt(max(p, 1)))
    X, Z, hx, hz = X * scale, Z * scale, hx * scale**2, hz * scale**2
    x, z = groups_of(X, hx, 12), groups_of(Z, hz, 128 // X.itemsize)
    K = plain_values(X, Z, number, offset)
    # Products of p terms and two norms, the slope of the kernel, and a few roundings more.
    bound = (p + 20) * 8 * EPS[dtype] * max(1.0, np.abs(K).max())
    out = np.full((n + 3, m), 7.0, dtype)
    places = np.random.default_rng(0).permutation(n + 3)[:n]
    _native.fill_tiles(x, z, places, out, number, offset)
    np.testing.assert_allclose(out[places], K.astype(D), rtol=0, atol=bound)
    assert (np.delete(out, places, axis=0) == 7.0).all()
    if dtype is F and number >= 0:
        short = np.zeros((n + 3, m), np.uint16)
        _native.fill_tiles(x, z, places, short, number, offset)
        np.testing.assert_allclose(short[places] / 65535, K.astype(D), rtol=0, atol=bound + 8e-6)
    for vectors in (1, 2):
        w = np.zeros((vectors, 12 * len(x)), dtype)
        w[:, :n] = np.random.default_rng(1).normal(size=(vectors, n))
        sums = np.ones((vectors, len(z) * 128 // X.itemsize))
        _native.weigh_tiles(x, z, w, sums, number, offset)
        sizes = (np.abs(w[:, :n]) @ np.abs(K)).astype(D) + np.abs(w).sum() * max(
            1.0, np.abs(K).max()
        )
        exact = 1 + (w[:, :n].astype(L) @ K).astype(D)
        assert (np.abs(sums[:, :m] - exact) <= (p + 40) * 8 * EPS[dtype] * sizes + 1e-15).all()


def test_tiles_have_the_same_bits_at_fused_levels():
    X, Z, hx, hz, _ = points(30, 70, 9, F)
    x, z = groups_of(X, hx, 12), groups_of(Z, hz, 32)
    w = np.random.default_rng(1).normal(size=(2, 36)).astype(F)

    def compute():
        results = []
        for number, offset in KERNELS:
            sums, out = np.zeros((2, 96)), np.zeros((30, 70), F)
            _native.weigh_tiles(x, z, w, sums, number, offset)
            _native.fill_tiles(x, z, np.arange(30), out, number, offset)
            results += [sums, out]
        return results

    for other in at_levels(FUSED[1:], compute):
        for one, two in zip(at_levels(FUSED[:1], compute)[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("dtype", [F, D, np.uint16])
def test_new_rows_of_a_square_become_its_columns(level, dtype):
    K = np.arange(50 * 50, dtype=dtype).reshape(50, 50)
    places = np.random.default_rng(2).permutation(50)[:19]
    among = np.zeros(50, dtype=bool)
    among[places] = True
    expected = K.copy()
    for s in np.flatnonzero(~among):
        expected[s, places] = K[places, s]
    for first, last in ((0, 20), (20, 50)):
        _native.mirror_rows(K, places, among, first, last)
    np.testing.assert_array_equal(K, expected)
