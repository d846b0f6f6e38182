"""Robust scales: their definitions listed in full, normal values, outliers, and what fails."""

import itertools

import numpy as np
import pytest

from mercer.smoothing.scale import ScaleWarning, robust_scale

METHODS = ("mad", "sn", "qn")


def by_definition(r, method):
    """Write the definitions down, with all pairs."""
    n, h = len(r), len(r) // 2 + 1
    if method == "mad":
        return np.median(np.abs(r - np.median(r))) / 0.6744897501960817
    if method == "sn":
        high = [np.sort(np.abs(x - r))[n // 2] for x in r]
        return 1.1926 * np.sort(high)[(n + 1) // 2 - 1]
    pairs = sorted(abs(x - z) for x, z in itertools.combinations(r, 2))
    return 2.2219 * pairs[h * (h - 1) // 2 - 1]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [2, 3, 4, 7, 10, 51, 100])
def test_is_its_definition(method, n):
    r = np.random.default_rng(n).standard_t(2, size=n)
    # Distances are found by bisection to the last digit, differences are rounded once.
    assert robust_scale(r, method) == pytest.approx(by_definition(r, method), rel=1e-14, abs=1e-15)


@pytest.mark.parametrize("method", METHODS)
def test_of_normal_values_is_their_standard_deviation(method):
    r = 3.0 * np.random.default_rng(0).normal(size=20_000)
    # The least efficient has the standard error 3 / sqrt(2 * 0.37 * n) = 0.025; four of them.
    assert robust_scale(r, method) == pytest.approx(3.0, abs=0.1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("where", [1e9, -1e9])
def test_a_minority_cannot_carry_it_away(method, where):
    r = np.random.default_rng(1).normal(size=101)
    r[:45] = where + np.arange(45)
    assert robust_scale(r, method) < 10.0
    assert np.std(r) > 1e8


@pytest.mark.parametrize("method", METHODS)
def test_shift_and_scale(method):
    r = np.random.default_rng(2).normal(size=40)
    assert robust_scale(5.0 - 4.0 * r, method) == pytest.approx(4.0 * robust_scale(r, method))


def test_weights_are_repetitions():
    rng = np.random.default_rng(3)
    for n in (5, 6, 31):
        r, times = rng.normal(size=n), rng.integers(0, 4, size=n)
        assert robust_scale(r, weights=times) == pytest.approx(
            robust_scale(np.repeat(r, times)), rel=1e-14
        )


def test_equal_values_fall_back_to_quartiles():
    r = np.r_[np.zeros(60), np.linspace(1, 40, 40)]
    with pytest.warns(ScaleWarning, match="quartiles"):
        scale = robust_scale(r)
    # The upper quartile lies between the 75th and 76th value, 15 and 16; the lower is zero.
    assert scale == pytest.approx(15.5 / 1.3489795003921634)


@pytest.mark.parametrize(
    ("r", "floor", "expected"),
    [
        (np.full(10, 7.0), None, 7.0 * 2**-26),
        (np.zeros(4), None, 2**-26),
        (np.full(10, 7.0), 0.25, 0.25),
    ],
)
def test_equal_quartiles_fall_back_to_a_floor(r, floor, expected):
    with pytest.warns(ScaleWarning, match="floor"):
        assert robust_scale(r, floor=floor) == pytest.approx(expected)


def test_one_value_has_a_floor():
    for method in METHODS:
        with pytest.warns(ScaleWarning):
            assert robust_scale([3.0], method) > 0


@pytest.mark.parametrize(
    ("arguments", "options", "complaint"),
    [
        (([],), {}, "one or more finite"),
        (([1.0, np.nan],), {}, "one or more finite"),
        ((np.ones((2, 2)),), {}, "one dimension"),
        (([1.0, 2.0], "range"), {}, "method must be one of"),
        (([1.0, 2.0],), {"weights": [1.0]}, "against 2 samples"),
        (([1.0, 2.0],), {"weights": [0.0, 0.0]}, "zero for all samples"),
        (([1.0, 2.0], "qn"), {"weights": [1.0, 1.0]}, "only method='mad'"),
    ],
)
def test_refusals(arguments, options, complaint):
    with pytest.raises(ValueError, match=complaint):
        robust_scale(*arguments, **options)
