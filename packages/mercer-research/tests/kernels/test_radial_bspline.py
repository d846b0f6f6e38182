"""Convolved balls against their definitions and the numbers of the specification."""

import numpy as np
import pytest
from scipy import integrate, special

from mercer.kernels import BSpline
from mercer_research.kernels import RadialBSpline

EPS = np.finfo(np.float64).eps
ORIGIN = np.zeros((1, 1))


def values(kernel, r):
    return kernel(ORIGIN, np.reshape(r, (-1, 1)))[0]


R = np.linspace(0.0, 2.5, 26)


def test_the_common_volume_of_two_balls_as_printed():
    r = np.minimum(R, 2.0)
    printed = {
        1: 1.0 - r / 2,
        2: (np.arccos(r / 2) - r / 2 * np.sqrt(1 - r**2 / 4)) * 2 / np.pi,
        3: 1.0 - 3 * r / 4 + r**3 / 16,
    }
    for dim, expected in printed.items():
        found = values(RadialBSpline(1.0, dim=dim), R)
        np.testing.assert_allclose(found, expected, rtol=0, atol=8 * EPS)
        np.testing.assert_array_equal(found[R >= 2.0], 0.0)
    same = BSpline(2 * 1.7, degree=1)
    np.testing.assert_allclose(values(RadialBSpline(1.7, dim=1), R), values(same, R), atol=8 * EPS)


@pytest.mark.parametrize("dim", range(1, 8))
def test_the_common_volume_of_two_balls_by_slices(dim):
    def volume(d):
        return np.pi ** (d / 2) / special.gamma(d / 2 + 1)

    for r in (0.0, 0.3, 1.1, 1.9):
        # Two caps: slices at height cos(t) are balls of dimension d - 1 and radius sin(t).
        cap, _ = integrate.quad(lambda t: np.sin(t) ** dim, 0.0, np.arccos(r / 2), epsabs=1e-14)
        expected = 2 * volume(dim - 1) * cap / volume(dim)
        assert values(RadialBSpline(1.0, dim=dim), [r])[0] == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("degree", [3, 5])
def test_further_convolutions_of_the_interval(degree):
    """In one dimension they are B-splines with knots at the distance of a diameter."""
    top = BSpline(1.0, degree).diag(ORIGIN)[0]
    expected = values(BSpline(2 * 0.8, degree), R) / top
    found = values(RadialBSpline(0.8, degree, dim=1), R)
    np.testing.assert_allclose(found, expected, rtol=0, atol=100 * EPS)


@pytest.mark.parametrize(("degree", "dim"), [(3, 2), (3, 3), (5, 3), (3, 4)])
def test_further_convolutions_of_the_ball(degree, dim):
    """Degree n is degree n - 2 convolved with degree 1.

    The integral runs over the distance t from one centre and the angle to the other, on 400 Gauss
    points each, 1/200 apart. The other function ends like (2 - r)^((d+1)/2), somewhere between
    them, which costs 200^(-(d+3)/2), at most 2e-6.
    """
    one, rest = RadialBSpline(1.0, 1, dim), RadialBSpline(1.0, degree - 2, dim)
    x, w = np.polynomial.legendre.leggauss(400)
    t, angle = x + 1.0, 0.5 * np.pi * (x + 1.0)
    shell = w[:, None] * w * t[:, None] ** (dim - 1) * np.sin(angle) ** (dim - 2)

    def convolution(r):
        distance = np.sqrt(r**2 + t[:, None] ** 2 - 2 * r * t[:, None] * np.cos(angle))
        first, second = values(one, t)[:, None], values(rest, distance.ravel())
        return (shell * first * second.reshape(shell.shape)).sum()

    r = np.array([0.0, 0.4, 1.1, 2.3, 3.5])
    expected = np.array([convolution(at) for at in r]) / convolution(0.0)
    found = values(RadialBSpline(1.0, degree, dim), r)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6)


def test_balls_of_an_interval_fail_in_the_plane():
    grid = np.stack(np.meshgrid(*[np.arange(8.0)] * 2), axis=-1).reshape(-1, 2)
    assert np.linalg.eigvalsh(RadialBSpline(0.75, dim=2)(grid))[0] > 0.0
    kernel = RadialBSpline(0.75, dim=1)
    with pytest.raises(ValueError, match="set dim=2, which changes its shape"):
        kernel(grid)
    with pytest.raises(ValueError, match="set dim=2"):
        kernel.paired(grid, grid)
    with pytest.raises(ValueError, match="set dim=2"):
        kernel.spectrum(np.ones(3), 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RadialBSpline(degree=2), "degree must be 1, 3 or 5"),
        (lambda: RadialBSpline(dim=0), "dim must be an integer, at least 1"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
