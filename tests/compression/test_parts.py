"""Parts of compression: values that are not held, cells, draws, and kernels in other units."""

import numpy as np
import pytest

from mercer.compression.expansions import KernelFunctions, Terms
from mercer.compression.preimage import Slopes, _gains, _next
from mercer.kernels import Gaussian, Matern


def plain(n=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1))
    return KernelFunctions(
        Gaussian(), X, rng.normal(size=(n, 1)), np.zeros(n, dtype=np.intp), np.ones((1, 1), bool)
    )


@pytest.mark.parametrize("scale", [1.0, 1e-12])
def test_gains_are_squares_over_diagonals_in_any_units(scale):
    f = plain()
    small = KernelFunctions(scale * Gaussian(), f.points, f.coef, f.groups, f.allowed)
    terms = Terms(np.zeros((0, 1)), np.zeros((0, 1)), np.zeros(0, dtype=np.intp), None)
    Z = np.array([[-1.0], [0.2], [3.0]])
    found = _gains(small, small, terms, Z, np.zeros(3, dtype=np.intp))
    values = (Gaussian()(Z, f.points) @ f.coef)[:, 0]
    np.testing.assert_allclose(found, scale * values**2, rtol=1e-10)


@pytest.mark.parametrize("kernel", [Gaussian(), Matern(nu=2.5)], ids=repr)
def test_the_next_point_is_uphill_from_the_old_ones(kernel):
    # Two equal bumps that overlap: one term does best halfway between them, where no point is.
    X = np.array([[-0.5], [0.5]])
    f = KernelFunctions(
        kernel, X, np.ones((2, 1)), np.zeros(2, dtype=np.intp), np.ones((1, 1), bool)
    )
    none = Terms(np.zeros((0, 1)), np.zeros((0, 1)), np.zeros(0, dtype=np.intp), None)
    slopes = Slopes(kernel, np.array([[-0.5], [0.5]]))
    point, group = _next(f, none, slopes)
    grid = np.linspace(-0.5, 0.5, 1001)[:, None]
    best = np.argmax((kernel(grid, X) @ f.coef)[:, 0] ** 2)
    assert group == 0
    assert abs(point[0] - grid[best, 0]) < 0.05
