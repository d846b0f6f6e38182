"""A shape is said to be proved everywhere only where a fine grid shows no violation."""

import numpy as np
import pytest

from mercer import ShapeConstrainedRegressor
from mercer.kernels import Gaussian, Matern, RationalQuadratic
from mercer.regularizers import At, Bounded, Convex, Increasing

KNOWN = [
    [Increasing(0)],
    [Convex(0)],
    [Increasing(0), Bounded(-0.5, 0.5)],
    [Bounded(at_least=-0.3), At(2.0, 0.1)],
]


def _violation(known, f):
    """Return the largest violation on a grid: differences of values need no derivative."""
    worst = 0.0
    for piece in known:
        if isinstance(piece, Increasing):
            worst = max(worst, -np.diff(f).min())
        if isinstance(piece, Convex):
            worst = max(worst, -np.diff(f, 2).min() / 4)
        if isinstance(piece, Bounded):
            worst = max(worst, (piece.walls[0] - f).max(), (f - piece.walls[1]).max())
    return worst


@pytest.mark.parametrize("seed", range(12))
def test_everywhere_is_said_where_a_fine_grid_agrees(seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 4, (rng.integers(20, 60), 1))
    y = np.sin(rng.uniform(1, 3) * x[:, 0]) + rng.uniform(0.05, 0.5) * rng.normal(size=len(x))
    known = KNOWN[seed % 4]
    width = rng.uniform(0.3, 1)
    kernel = [Gaussian(width), RationalQuadratic(width), Matern(width, nu=2.5)][seed % 3]
    C, grid = float(10 ** rng.uniform(-1, 2)), int(rng.integers(10, 60))
    Z = np.linspace(x.min(), x.max(), 5001)[:, None]
    told = []
    for prove in (False, True):
        machine = ShapeConstrainedRegressor(known, kernel=kernel, C=C, grid=grid, prove=prove).fit(
            x, y
        )
        certificate, f = machine.shape_certificate_, machine.predict(Z)
        rounding = 64 * 2.0**-52 * (np.abs(machine.dual_coef_).sum() + np.abs(f).max())
        if certificate.everywhere:
            assert certificate.holds
            assert certificate.proved == 0.0
            assert _violation(known, f) <= rounding
        for piece in certificate.knowledge:
            assert ("proved everywhere" in piece.words) == (piece.proved == 0.0)
        told.append(certificate.everywhere)
    # Asked for, it is proved for all kernels whose functions have derivatives enough.
    assert told[1] == (not (seed % 3 == 2 and isinstance(known[0], Convex)))


def test_a_slope_that_is_left_is_not_proved_away():
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 4, (40, 1))
    y = np.sin(2 * x[:, 0]) + 0.3 * rng.normal(size=40)
    machine = ShapeConstrainedRegressor(
        [Increasing(0)], kernel=Gaussian(0.3), C=100.0, grid=12
    ).fit(x, y)
    f = machine.predict(np.linspace(x.min(), x.max(), 5001)[:, None])
    assert np.diff(f).min() < -1e-6
    certificate = machine.shape_certificate_
    assert not certificate.everywhere
    assert not certificate.holds
    assert "not proved; violations above" in certificate.words
    assert certificate.proved > 0


def test_a_shape_without_a_proof_is_not_covered_by_another_one():
    x = np.linspace(0, 4, 40)[:, None]
    known = [Bounded(-2.0, 2.0), Convex(0)]
    rough = ShapeConstrainedRegressor(known, kernel=Matern(0.5, nu=2.5), C=10.0, prove=True)
    certificate = rough.fit(x, (x[:, 0] - 2) ** 2 / 4).shape_certificate_
    assert certificate.proved == 0.0  # of the first piece, the only one that can be proved
    assert not certificate.holds
    assert not certificate.everywhere


def test_a_proof_that_does_not_succeed_is_said():
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 4, (30, 1)), axis=0)
    machine = ShapeConstrainedRegressor(
        [Increasing(0)], kernel=Gaussian(0.002), C=100.0, prove=True
    )
    with pytest.warns(UserWarning, match="prove=True does not succeed"):
        machine.fit(x, rng.normal(size=30))
    assert not machine.shape_certificate_.everywhere
    # What is left is the machine of the steps, and not of walls moved without end.
    assert np.abs(machine.predict(x)).max() < 10
