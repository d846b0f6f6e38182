"""Parts of compression: values that are not held, cells, draws, and kernels in other units."""

import numpy as np
import pytest

from mercer.compression._functions import KernelFunctions, Terms
from mercer.compression.preimage import Slopes, _gains, _next
from mercer.compression.stratified import Strata, _kmeans, draw_terms
from mercer.compression.supremum import sup_terms
from mercer.kernels import Gaussian, Laplacian, Matern


@pytest.mark.parametrize("step", ["exact", "fixed"])
def test_terms_are_the_same_where_values_are_not_held(step, monkeypatch):
    X = np.linspace(-3.0, 3.0, 80)[:, None]
    a = np.sin(9 * X[:, 0]) / 20
    held = sup_terms(Laplacian(1.0), X, a, 0.01, step=step)
    monkeypatch.setattr("mercer.compression.supremum.HELD", 0.0)
    fresh = sup_terms(Laplacian(1.0), X, a, 0.01, step=step)
    assert len(held.index) > 3
    np.testing.assert_array_equal(fresh.index, held.index)
    np.testing.assert_allclose(fresh.coef, held.coef, rtol=1e-10)


def plain(n=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1))
    return KernelFunctions(
        Gaussian(), X, rng.normal(size=(n, 1)), np.zeros(n, dtype=np.intp), np.ones((1, 1), bool)
    )


def test_cells_are_numbered_from_zero():
    f = plain()
    positive = f.coef[:, 0] > 0
    labels = _kmeans(f.points, np.abs(f.coef[:, 0]), positive, 5, 0)
    assert sorted(np.unique(labels)) == list(range(len(np.unique(labels))))
    for label in np.unique(labels):
        assert len(np.unique(positive[labels == label])) == 1


def test_no_draw_is_one_draw():
    f = plain()
    cells = np.zeros(f.n, dtype=np.intp), np.array([4])
    strata = Strata(*cells, total=1.0, radius=1.0, expected=1.0, bound=1.0)
    none, one = (draw_terms(f, strata, draws, True, 0) for draws in (0, 1))
    np.testing.assert_array_equal(none[0].index, one[0].index)
    assert none[1] == one[1]


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
