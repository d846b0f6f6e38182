"""Bounds on lines, beside values on fine grids and a bump between the cells."""

import numpy as np
import pytest

from mercer.kernels import Gaussian, Matern
from mercer.problems.proof import TERM_ROUNDING, Curve, bounds_on_lines
from mercer.regularizers import Constant, Empty, Polynomial

LOW, HIGH = -3.0, 3.0


def curve(p, kernel=None, null_space=None, b=(), seed=0):
    kernel = Gaussian(0.7) if kernel is None else kernel
    rng = np.random.default_rng(seed)
    P, coef = rng.uniform(-2.0, 2.0, (9, p)), rng.normal(size=9)
    norm = float(np.sqrt(coef @ kernel(P) @ coef))
    return Curve(kernel, P, coef, norm, null_space or Empty(), np.array(b, dtype=float))


def on_grid(found, base, feature, order, count=6001):
    Z = np.repeat(base[None, :], count, axis=0)
    Z[:, feature] = np.linspace(LOW, HIGH, count)
    return Z, found.derivative(Z, feature, order)[order]


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize(("p", "feature"), [(1, 0), (2, 1)])
@pytest.mark.parametrize("kernel", [Gaussian(0.7), Matern(0.9, nu=2.5)], ids=repr)
def test_bounds_hold_and_are_as_sharp_as_walls_ask(p, feature, order, kernel):
    found = curve(p, kernel)
    bases = np.random.default_rng(1).uniform(-2.0, 2.0, (3, p))
    values = np.concatenate([on_grid(found, base, feature, order)[1] for base in bases])
    worst = values.min(), values.max()
    spread = worst[1] - worst[0]
    # Walls that hold are proved.
    walls = worst[0] - 0.1 * spread, worst[1] + 0.1 * spread
    least, most = bounds_on_lines(found, bases, feature, order, LOW, HIGH, walls)
    assert walls[0] <= least <= worst[0]
    assert worst[1] <= most <= walls[1]
    # Where they do not hold the bounds are off by a hundredth of the excess and the slack at most.
    slack = 1e-3 * spread
    walls = worst[0] + 0.3 * spread, worst[1] - 0.2 * spread
    least, most = bounds_on_lines(found, bases, feature, order, LOW, HIGH, walls, slack)
    grid = 1e-5 * spread  # what 6,001 points may miss of an extremum
    assert worst[0] - 0.003 * spread - slack - grid <= least <= worst[0]
    assert worst[1] <= most <= worst[1] + 0.002 * spread + slack + grid


@pytest.mark.parametrize("place", np.linspace(LOW, HIGH, 17)[1:-1])
def test_a_bump_between_the_middles_of_cells_is_found(place):
    # Forty lines have 8 cells each; the bump is a fiftieth of a cell wide.
    bump = Curve(Gaussian(0.015), np.array([[place, 0.0]]), np.ones(1), 1.0, Empty(), np.zeros(0))
    bases = np.c_[np.zeros(40), np.linspace(0.0, 1.0, 40)]
    least, most = bounds_on_lines(bump, bases, 0, 0, LOW, HIGH, (-np.inf, 0.5))
    assert most >= 1.0
    assert least <= 0.0


def test_derivatives_are_differences():
    found = curve(2, null_space=Polynomial(1), b=[0.3, -0.5, 0.8])
    Z, h = np.random.default_rng(2).uniform(-2.0, 2.0, (20, 2)), 1e-5
    value, slope, bend = found.derivative(Z, 1, 2)
    K = np.exp(-0.5 * np.square((Z[:, None] - found.P) / 0.7).sum(axis=2))
    np.testing.assert_allclose(value, K @ found.coef + Polynomial(1)(Z) @ found.b, rtol=1e-12)
    step = np.array([0.0, h])
    ahead, behind = (found.derivative(Z + side * step, 1, 1) for side in (1, -1))
    np.testing.assert_allclose(slope, (ahead[0] - behind[0]) / (2 * h), atol=1e-8)
    np.testing.assert_allclose(bend, (ahead[1] - behind[1]) / (2 * h), atol=1e-8)


@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_rounding_grows_with_the_terms(scale):
    found = curve(2, null_space=Constant(), b=[2.0 * scale])
    found = Curve(
        found.kernel, found.P, scale * found.coef, scale * found.norm, Constant(), found.b
    )
    Z, total = np.zeros((3, 2)), np.abs(found.coef).sum()
    # A Gaussian is 1 at 0; its derivatives are at most those there, of order 2q, by the root.
    assert found.rounding(Z, 0, 0) == pytest.approx(
        TERM_ROUNDING * (total + 2.0 * scale), rel=1e-12
    )
    assert found.rounding(Z, 0, 1) == pytest.approx(
        TERM_ROUNDING * (total / 0.7 + 2.0 * scale), rel=1e-9
    )
    norm = np.sqrt(found.norm**2 + TERM_ROUNDING * total**2)
    assert found.largest_norm() == pytest.approx(norm, rel=1e-15)


@pytest.mark.parametrize("p", [1, 2])
def test_what_cannot_be_bounded_is_said(p):
    assert [curve(p).obstacle(order) for order in range(3)] == ["", "", ""]
    rough = curve(p, Matern(1.0, nu=1.5))
    assert rough.obstacle(0) == ""
    assert "too few derivatives" in rough.obstacle(1) or "not known" in rough.obstacle(1)
    bent = curve(p, null_space=Polynomial(2), b=np.ones(Polynomial(2)(np.zeros((1, p))).shape[1]))
    assert "Polynomial" in bent.obstacle(0)
