"""What compiled loops are called with: wrong arguments are refused before anything is read."""
# ruff: noqa: E501 (tables of arguments)

import itertools

import numpy as np
import pytest

from mercer import _native

INDEX, UNSIGNED, SHORT = np.int64, np.uint64, np.uint32


def parts():
    """Return two problems of three samples each: ends, cuts, d, terms."""
    terms = np.zeros((7, 8))
    terms[:, 7] = 1.0
    cuts = np.array([[0, 3], [0, 3]], UNSIGNED)
    return np.array([0, 3, 6], UNSIGNED), cuts, np.zeros((2, 1)), terms


def tile_rows(T):
    """Return two groups of rows of points with one feature."""
    return np.ones((2, 24), T)


def tile_columns(T):
    """Return one group of columns of such points."""
    return np.ones((1, 256 // T().itemsize), T)


def calls(T):
    """Return right arguments of every loop over numbers of type T."""
    K, f, g = np.ones((4, 5), T), np.zeros(4), np.zeros(5)
    hx, hz, flat = np.ones(4, T), np.ones(5, T), np.zeros(24, T)
    square, rows = np.eye(3, dtype=T), np.array([0, 2])
    terms = np.zeros((4, 8))
    ends, runs = np.array([0, 0, 1], UNSIGNED), np.array([0, 3], UNSIGNED)
    # Rows of a linear machine with their columns, terms of their losses, and where a pass is.
    sparse = np.array([0, 2, 3], UNSIGNED), np.array([0, 1, 1], SHORT), np.ones(3, T)
    margins, place = np.full((2, 6), 0.5), np.array([0, 2, 1, 7, 0], UNSIGNED)
    return {
        "in_units": [K, np.zeros(5), np.ones(5), np.zeros((4, 5), T), np.zeros(4, T)],
        "raise_two": [K.copy(), hx, hz],
        "powers_of_two": [K, hx, hz, flat, 6],
        "exponents": [K.copy(), hx, hz],
        "matern": [K.copy(), hx, hz, 5],
        "repair": [flat, 6, 3, np.ones((4, 2), T), np.ones((3, 2), T), np.ones(2, T), rows, np.ones(2, T), True],
        "laplace": [np.ones((4, 2), T), np.ones(2, T), 1, np.ones((2, 7), T), 1, 6, flat, 6],
        "weigh": [K, np.ones(5), f],
        "weigh_both": [K, np.ones(5), f, np.ones(4), g],
        "add_rows": [np.zeros(5), flat, np.array([0, 19]), np.ones(2)],
        "assemble": [square.copy(), square, rows, rows, np.array([1]), np.array([0]), np.ones((2, 3), T), np.arange(3)],
        "weigh_tiles": [tile_rows(T), tile_columns(T), np.zeros((1, 24), T), np.zeros((1, 128 // T().itemsize)), 0, 0.0],
        "fill_tiles": [tile_rows(T), tile_columns(T), np.arange(13), np.zeros((13, 5), T), 3, 0.0],
        "pair_loop": [square, np.zeros(4), terms, np.zeros((5, 4), T), ends, runs, 1e-3, 9, 9],
        "mirror_rows": [square.copy(), np.array([1]), np.array([False, True, False]), 0, 3],
        "sweep": [
            np.array([0, 2, 3], UNSIGNED), np.array([0, 1, 1], np.uint32), np.ones(3, T), np.ones((2, 1)), np.ones(1),
            np.ones((2, 8)), np.ones(2), np.ones(1), np.arange(2, dtype=UNSIGNED), np.arange(2, dtype=UNSIGNED), 1, 1.0,
            np.zeros(2, bool),
        ],
        "descend_classes": [
            *sparse, 1.0, np.zeros((3, 4)), np.zeros((2, 4)), margins, np.array([1, 2], SHORT), np.full(2, 3, SHORT),
            np.arange(2, dtype=SHORT), np.ones(4), np.zeros(4), place.copy(), 2, 1e-3, 9, 999,
        ],
        "descend_targets": [
            *sparse, 1.0, np.zeros((3, 1)), np.zeros((2, 1)), margins, np.zeros(2, SHORT), np.ones(2, SHORT),
            np.arange(2, dtype=SHORT), np.ones(1), np.zeros(1), place.copy(), 1, 1e-3, 9, 999,
        ],
        "descend_columns": [
            *sparse, np.ones(2), np.ones(2), np.zeros(2), np.arange(2, dtype=SHORT), np.array([0.0, 1.0]),
            place.copy(), 1e-3, 9, 999,
        ],
        "descend_coupled": [
            *sparse, 1.0, np.zeros((3, 3)), np.zeros((2, 3)), np.ones(2), np.full(2, 2.0), np.array([0, 2], SHORT),
            np.arange(2, dtype=SHORT), np.array([0.0, 1.0]), place.copy(), np.zeros(9), 1e-3, 9, 999,
        ],
        "descend": [
            np.ones((3, 2), T), np.array([1, -1, -1]), np.zeros(3), np.array([1, 0, 1]), np.array([2, 0, 0]),
            np.zeros(4, INDEX), np.zeros(0), np.zeros(3, INDEX),
        ],
    }  # fmt: skip


def more_calls():
    """Return right arguments of the loops that know one precision."""
    K, hx, hz, a, f = np.ones((4, 5)), np.ones(4), np.ones(5), np.ones(5), np.zeros(4)
    v = np.ones(3)
    ends, cuts, d, terms = parts()
    box = [v] * 6
    # A leaf: an infinite cut, and itself as its left child.
    leaf = np.array([[np.inf, 0.0, 0.0, 0.0]], np.float32).view(np.uint8)
    return {
        # Squares of values in 16 bits.
        "fill_tiles": [
            tile_rows(np.float32), tile_columns(np.float32), np.arange(13), np.zeros((13, 5), np.uint16), 0, 0.0,
        ],
        "pair_loop": [
            np.full((3, 3), 7, np.uint16), np.zeros(4), np.zeros((4, 8)), np.zeros((5, 4), np.float32),
            np.array([0, 0, 1], UNSIGNED), np.array([0, 3], UNSIGNED), 1e-3, 9, 9,
        ],
        "mirror_rows": [np.arange(9, dtype=np.uint16).reshape(3, 3), np.array([1]), np.array([False, True, False]), 0, 3],
        "raise_two_square": [np.eye(4), hx],
        "matern_square": [np.eye(4), hx, 3],
        "weigh_slopes": [K.copy(), hx, hz, K, 1, 5],
        "weigh_powers": [K, hx, hz, a, f],
        "weigh_matern": [K, hx, hz, a, f, 3],
        "weigh_and_bound": [K.astype(np.float32), a, np.ones(5, np.float32), f, np.zeros(4)],
        "weigh_laplace": [np.ones((4, 2)), np.ones(2), 1, np.ones((2, 7)), 2, a, f],
        "pull_back": [np.ones((4, 2)), np.ones(2), 1, np.ones((2, 4)), np.eye(4), 1, 4, False, np.zeros(2)],
        "slopes_loop": [*[v] * 8, np.zeros(3), np.zeros(3)],
        "solve_parts": [
            np.eye(4), False, np.array([0, 1, 2, 1, 2, 3], UNSIGNED), ends, cuts, d, terms, np.full(2, 1e-3),
            np.full(2, 9), 1e-9, np.zeros(2, INDEX), np.zeros(6), np.zeros(6), np.zeros(9), np.zeros(98),
            np.zeros(7, UNSIGNED), np.zeros(4, UNSIGNED),
        ],
        "start_parts": [ends, cuts, d, terms, np.zeros(6)],
        "measure_parts": [
            ends, cuts, d, terms, np.ones(6), np.full(2, 1e-3), 1.0, 1e-16, np.zeros(6), np.zeros(6), np.zeros((2, 1)),
            np.zeros((2, 2)), np.zeros((2, 11)),
        ],
        "rounded": [v, v, 0.1, v, *box, np.zeros(3), np.zeros(3)],
        "along": [v, v, v, v],
        "fenchel_young": [v, v, v, *box],
        "newton_loop": [np.array([-1.0, 1.0]), np.array([0.2, 0.8]), 0.0, 9, 1e-12, 1e-15],
        "add_leaves": [
            np.ones((2, 16), np.float32), np.zeros(1, np.uint32), leaf, np.ones((1, 1)),
            np.zeros((11, 1)),
        ],
    }  # fmt: skip


CALLS = [
    *((name, given) for T in (np.float32, np.float64) for name, given in calls(T).items()),
    *more_calls().items(),
]
CASES = pytest.mark.parametrize(("name", "given"), CALLS, ids=[name for name, _ in CALLS])


def copies(given):
    return [x.copy() if isinstance(x, np.ndarray) else x for x in given]


def test_every_loop_has_a_call():
    loops = {name for name in dir(_native) if callable(getattr(_native, name))}
    loops = {name for name in loops if not name.startswith("_")} - {"use_level"}
    assert loops == {name for name, _ in CALLS}


@CASES
def test_right_arguments_are_taken(name, given):
    getattr(_native, name)(*copies(given))


def spoiled(x):
    """Yield arrays that are no right argument: other dtypes, axes, steps, lengths, or none."""
    other = {"f": np.int32, "i": np.float64, "u": np.int32, "b": np.int8}[x.dtype.kind]
    yield x.astype(other)
    if x.itemsize > 1:
        yield x.astype(x.dtype.newbyteorder())
    yield x[None]
    yield list(x)
    yield None
    if x.shape[-1] > 1:
        room = np.zeros((*x.shape, 2), x.dtype)
        room[..., 0] = x
        yield room[..., 0]
    if x.ndim == 2 and min(x.shape) > 1:
        yield np.asfortranarray(x)
        yield x[::-1]


@CASES
def test_arrays_of_another_kind_are_no_arguments(name, given):
    loop = getattr(_native, name)
    for k, x in enumerate(given):
        if isinstance(x, np.ndarray):
            for wrong in spoiled(x):
                arguments = copies(given)
                arguments[k] = wrong
                with pytest.raises(TypeError):
                    loop(*arguments)


def shifted(x):
    """Return a copy of an array whose memory is not aligned, as that of an array in a message."""
    room = np.empty(x.nbytes + 1, np.uint8)
    copy = room[1:].view(x.dtype).reshape(x.shape)
    copy[...] = x
    return copy


@CASES
def test_memory_that_is_not_aligned_is_read_and_not_written_to(name, given):
    loop = getattr(_native, name)
    expected = copies(given)
    returned = loop(*expected)
    for k, x in enumerate(given):
        if not isinstance(x, np.ndarray) or x.itemsize == 1 or x.size == 0:
            continue
        arguments = copies(given)
        arguments[k] = shifted(x)
        assert not arguments[k].flags.aligned
        try:
            assert loop(*arguments) == returned
        except TypeError:
            continue  # an array that the loop may write to
        for result, wanted in zip(arguments, expected, strict=True):
            if isinstance(result, np.ndarray):
                np.testing.assert_array_equal(result, wanted)


@CASES
def test_lengths_that_do_not_fit_are_refused(name, given):
    """Every array is cut or longer by one; whatever is not refused does not read beyond its memory."""
    loop = getattr(_native, name)
    refused = 0
    for k, x in enumerate(given):
        if not isinstance(x, np.ndarray):
            continue
        for axis, change in itertools.product(range(x.ndim), (-1, 1)):
            arguments = copies(given)
            shape = list(x.shape)
            shape[axis] = max(0, shape[axis] + change)
            arguments[k] = np.resize(x, shape) if x.size else np.zeros(shape, x.dtype)
            try:
                loop(*arguments)
            except (TypeError, ValueError):
                refused += 1
    assert refused


@CASES
def test_results_are_not_written_to_what_is_read_only(name, given):
    loop = getattr(_native, name)
    before = copies(given)
    loop(*before)
    for k, (x, y) in enumerate(zip(given, before, strict=True)):
        if isinstance(x, np.ndarray) and not np.array_equal(x, y, equal_nan=x.dtype.kind == "f"):
            arguments = copies(given)
            arguments[k].flags.writeable = False
            with pytest.raises(TypeError):
                loop(*arguments)


INDICES = [
    ("repair", 6, [0, 4]), ("repair", 6, [-1, 0]), ("add_rows", 2, [0, 20]), ("add_rows", 2, [-1, 0]),
    ("assemble", 2, [0, 3]), ("assemble", 3, [0, 3]), ("assemble", 4, [3]), ("assemble", 5, [2]),
    ("assemble", 7, [0, 1, 3]), ("pair_loop", 4, [0, 0, 4]), ("pair_loop", 4, [2, 1, 3]), ("sweep", 0, [0, 2, 4]),
    ("pair_loop", 5, [0, 4]), ("pair_loop", 5, [3, 0]), ("mirror_rows", 1, [3]), ("fill_tiles", 2, [*range(12), 13]),
    ("sweep", 8, [0, 2]), ("descend", 1, [2, -1, -1]), ("descend", 3, [0, 0, 0]), ("descend", 4, [3, 0, 0]),
    ("descend_classes", 9, [0, 2]), ("descend_targets", 0, [0, 2, 4]), ("descend_columns", 6, [2, 0]),
    ("descend_coupled", 8, [0, 3]), ("descend_coupled", 9, [0, 2]), ("descend_classes", 12, [3, 2, 1, 7, 0]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "argument", "values"), INDICES)
def test_indices_outside_are_refused(name, argument, values):
    given = copies(calls(np.float64)[name])
    given[argument] = np.array(values).astype(given[argument].dtype)
    with pytest.raises(ValueError, match=r"there is|there are|outside|no parts|come after"):
        getattr(_native, name)(*given)


def test_levels_of_the_processor():
    assert _native.level in _native.levels
    with pytest.raises(ValueError, match="no level v9"):
        _native.use_level("v9")
