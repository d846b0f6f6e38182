"""Parametric programs followed along t, beside a conic solver at points of the path."""

import cvxpy as cp
import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer_research.selection.parametric_qp import Affine, ParametricQP

N = 16


def program(seed=0):
    """Return a support vector classifier whose boxes grow with t, and its labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 2))
    y = np.where(X[:, 0] + 0.4 * rng.normal(size=N) > 0, 1.0, -1.0)
    zero, inf = np.zeros(N), np.full(N, np.inf)
    return ParametricQP(
        Gaussian()(X),
        np.ones((N, 1)),
        p_pos=Affine(np.where(y > 0, -1.0, inf), zero),
        p_neg=Affine(np.where(y > 0, -inf, 1.0), zero),
        lower=Affine(zero, np.where(y > 0, 0.0, -1.0)),
        upper=Affine(zero, np.where(y > 0, 1.0, 0.0)),
        d=Affine(np.zeros(1), np.zeros(1)),
    ), y


def exact(qp, y, t):
    a = cp.Variable(N)
    box = [cp.multiply(y, a) >= 0, cp.multiply(y, a) <= t, cp.sum(a) == 0]
    cost = 0.5 * cp.quad_form(a, cp.psd_wrap(qp.K)) - y @ a
    return cp.Problem(cp.Minimize(cost), box).solve(solver="CLARABEL")


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("start", "end"), [(0.3, 5.0), (5.0, 0.05)])
def test_every_point_of_a_path_is_optimal(seed, start, end):
    qp, y = program(seed)
    before = qp.follow(np.zeros(N), np.zeros(1), 10.0, start)[0][-1]
    pieces, shaken, jumps = qp.follow(*qp.coefficients(before, start), start, end)
    assert shaken <= 1e-7
    assert jumps == []
    assert pieces[0].start == pytest.approx(start)
    assert pieces[-1].end == pytest.approx(end)
    for piece in pieces[:: max(1, len(pieces) // 6)]:
        t = 0.5 * (piece.start + piece.end)
        a, _ = qp.coefficients(piece, t)
        assert np.all((y * a >= -1e-9) & (y * a <= t * (1 + 1e-9)))
        assert abs(a.sum()) < 1e-7
        assert 0.5 * a @ qp.K @ a - y @ a == pytest.approx(exact(qp, y, t), rel=1e-6, abs=1e-7)
        # On a piece coefficients move straight on.
        slope = qp.slopes(piece)[0]
        h = 0.25 * (piece.end - piece.start)
        np.testing.assert_allclose(qp.coefficients(piece, t + h)[0] - a, h * slope, atol=1e-9)


def test_costs_are_moved_by_as_much_as_is_asked():
    qp, _ = program()
    assert qp.perturbed(0.0) is qp
    moved = qp.perturbed(1e-3)
    change = np.where(np.isfinite(qp.p_pos.at), moved.p_pos.at, moved.p_neg.at) - np.where(
        np.isfinite(qp.p_pos.at), qp.p_pos.at, qp.p_neg.at
    )
    assert 1e-4 < np.abs(change).max() <= 1e-3 * qp.scale
    assert len(np.unique(change)) == N


@pytest.mark.parametrize("seed", range(5))
def test_ties_are_broken_by_little_or_not_at_all(seed):
    # With all coefficients at zero, where most are on a bound, many samples change at once.
    qp, y = program(seed)
    try:
        pieces, shaken, _ = qp.follow(np.zeros(N), np.zeros(1), 0.05, 5.0)
    except FloatingPointError as error:
        assert "cannot be followed" in str(error)  # noqa: PT017
        return
    assert 0.0 < shaken <= 1e-7
    a, _ = qp.coefficients(pieces[-1], 5.0)
    assert 0.5 * a @ qp.K @ a - y @ a == pytest.approx(exact(qp, y, 5.0), rel=1e-5)
