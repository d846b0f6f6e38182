"""Ellipsoids: worked numbers, lower bounds below upper bounds, and what repeated axes do."""

import numpy as np
import pytest

from mercer_research.covering import DiagonalOperator, Ellipsoid, PointCover, VolumetricEllipsoid


@pytest.mark.parametrize(
    ("axes", "radius", "lower", "volumes", "six"),
    [
        ((1, 0.5, 0.2), 0.1, 4.605, 7.354, 9.980),
        ((1, 0.5, 0.2), 0.25, 2.079, 4.767, 7.232),
        ((1, 0.9, 0.8), 0.1, 6.579, 8.841, 11.955),
    ],
)
def test_worked_ellipsoids(axes, radius, lower, volumes, six):
    # Printed to three decimals.
    operator, volume = DiagonalOperator(np.log(axes)), VolumetricEllipsoid(np.log(axes))
    assert operator.log_lower(radius) == pytest.approx(lower, abs=5e-4)
    assert volume.log_covering(radius) == pytest.approx(volumes, abs=5e-4)
    assert operator.log_covering(radius) == pytest.approx(six, abs=5e-4)
    both = Ellipsoid(np.log(axes))
    assert both.log_covering(radius) == volume.log_covering(radius)
    # What no ball can share needs a ball each: points farther apart than twice the radius.
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(20000, 3))
    draws *= np.array(axes) * rng.random((20000, 1)) ** (1 / 3)
    draws /= np.linalg.norm(draws / np.array(axes), axis=1, keepdims=True)
    packed = PointCover(draws, start=0, smallest=2 * radius).log_lower(radius)
    assert packed <= both.log_covering(radius)
    assert packed >= lower - 3 * np.log(2)  # no idle test: a packing at 2r fills r-balls


def test_one_axis_is_an_interval():
    operator = Ellipsoid([0.0])
    for radius in (0.9, 0.5, 0.3, 0.01):
        exact = np.log(np.ceil(1 / radius - 1e-9))
        assert operator.log_lower(radius) <= exact <= operator.log_covering(radius)
    assert operator.log_covering(1.0) == 0.0


@pytest.fixture(params=range(6))
def axes(request):
    rng = np.random.default_rng(request.param)
    return np.log(rng.exponential(size=rng.integers(2, 40)) * np.exp(rng.normal()))


def test_both_readings_of_the_bound_agree(axes):
    operator = DiagonalOperator(axes)
    ordered = np.sort(axes)[::-1]
    for log_n in (0.0, 0.5, 3.0, 40.0):
        means = [(ordered[:j].sum() - log_n) / j for j in range(1, len(axes) + 1)]
        scale = operator.log_scale(log_n)
        assert scale == pytest.approx(max(means), rel=1e-12, abs=1e-12)
        # The best index has the scale between its axis and the next.
        best = int(np.argmax(means))
        assert scale <= ordered[best] + 1e-9
        assert best + 1 == len(axes) or ordered[best + 1] <= scale + 1e-9
        # The number of balls for this radius, one rounded up to an integer.
        assert operator.log_lower(np.exp(scale)) == pytest.approx(log_n, abs=1e-9)
        entropy = operator.log_entropy(log_n)
        assert entropy <= np.log(operator.norm)
        assert operator.log_covering(np.exp(entropy) * (1 + 1e-9)) <= np.log(np.exp(log_n) + 1)


def test_volumes_by_a_loop(axes):
    s = np.exp(np.sort(axes)[::-1])
    for radius in s[0] * np.array([0.9, 0.5, 0.1, 1e-3]):
        values = []
        for k in range(1, len(s) + 1):
            after = s[k] if k < len(s) else 0.0
            if after < radius:
                r = np.sqrt(radius**2 - after**2)
                values.append(np.log(s[:k]).sum() + k * np.log(2 / r + 1 / s[k - 1]))
        found = VolumetricEllipsoid(axes).log_covering(radius)
        assert found == pytest.approx(min(values), rel=1e-9)
        both = Ellipsoid(axes)
        assert both.log_lower(radius) <= both.log_covering(radius) <= found


def test_brackets_are_monotone_and_homogeneous(axes):
    both = Ellipsoid(axes)
    radii = both.norm * np.geomspace(1e-4, 1.5, 50)
    for bound in (both.log_lower, both.log_covering, DiagonalOperator(axes).log_covering):
        values = [bound(radius) for radius in radii]
        assert np.all(np.diff(values) <= 1e-9)
        assert values[-1] == 0.0
    twice = Ellipsoid(axes + np.log(2))
    for radius in radii[::10]:
        assert twice.log_covering(2 * radius) == pytest.approx(both.log_covering(radius), rel=1e-9)


def test_the_first_block_counts():
    # One ball for one long axis: the product lower bound of n = 1 is the norm itself.
    operator = DiagonalOperator(np.log([1.0, 1e-9, 1e-9]))
    assert operator.log_scale(0.0) == pytest.approx(0.0)
    assert DiagonalOperator([0.0, 0.0, 0.0]).log_scale(0.0) == pytest.approx(0.0)
    # Splitting a block of equal axes is no different from listing it, and zero axes are none.
    with np.errstate(divide="ignore"):
        assert DiagonalOperator(np.log([0.5, 0, 1.0, 0.5])).log_covering(0.2) == pytest.approx(
            DiagonalOperator(np.log([1.0, 0.5, 0.5])).log_covering(0.2)
        )


def test_axes_that_are_not_listed_are_paid_for(axes):
    ordered = np.sort(axes)[::-1]
    half = len(ordered) // 2
    for kind in (DiagonalOperator, VolumetricEllipsoid):
        known, part = kind(ordered), kind(ordered[:half], log_next=ordered[half])
        for radius in known.norm * np.array([0.9, 0.3, 0.1, 0.01]):
            assert part.log_covering(radius) >= known.log_covering(radius) - 1e-9
        assert part.log_covering(np.exp(ordered[half]) * 0.99) == np.inf
    with pytest.raises(ValueError, match="below infinity"):
        DiagonalOperator([np.inf])
