"""Tubes of parametric width: a conic solver, the shares they promise, and the constant one."""

import cvxpy as cp
import numpy as np
import pytest

from mercer.gram import Dense
from mercer.kernels import Gaussian
from mercer.problems.nu import nu_regression, nu_regression_back
from mercer.problems.parametric_tube import (
    ParametricTube,
    centred,
    parametric_tube,
    parametric_tube_back,
)
from mercer.solvers import SMO, InteriorPoint, minimize

N, TOL = 40, 1e-8


def sample(seed=0, n=N):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 3, n))
    y = np.sin(2 * x) + (0.1 + 0.3 * x) * rng.normal(size=n)
    c = rng.uniform(0.5, 2.0, n)
    return x, y, c, Dense(Gaussian(0.7)(x[:, None]))


def functions(x):
    # The last one is of no use here, so that its coefficient is zero.
    return np.column_stack([np.ones_like(x), x, (3.0 - x) ** 2])


@pytest.mark.parametrize("nu", [0.2, 0.6, (0.2, 0.5, 0.3)])
@pytest.mark.parametrize("lopsided", [False, True])
@pytest.mark.parametrize("solver", [InteriorPoint(tol=TOL), SMO(tol=TOL)], ids=["path", "pairs"])
def test_optimum_is_that_of_a_conic_solver(nu, lopsided, solver):
    x, y, c, K = sample()
    above = functions(x)
    below = above * np.array([1.0, 0.5, 2.0]) if lopsided else above
    solution = minimize(parametric_tube(K, y, c, nu, above, below), solver)
    found = parametric_tube_back(solution.a, solution.b, 3)
    root = np.linalg.cholesky(K.dense() + 1e-12 * np.eye(N))
    w, b, e = cp.Variable(N), cp.Variable(), cp.Variable(3, nonneg=True)
    r = y - root @ w - b
    price = np.asarray(nu) * (c @ (above + below) / 2)
    outside = cp.pos(r - above @ e) + cp.pos(-r - below @ e)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + price @ e + c @ outside))
    best = problem.solve(solver=cp.CLARABEL)
    assert abs(solution.objective - best) <= 1e-6 * (1 + abs(best))
    assert solution.gap <= 1e-6 * (1 + abs(best))
    # Widths are less determined than the objective, by about the root of its error.
    np.testing.assert_allclose(found.widths, e.value, atol=2e-3)
    assert np.all(found.widths >= 0)


@pytest.mark.parametrize("seed", range(4))
def test_shares_outside_are_what_nu_says(seed):
    x, y, c, K = sample(seed)
    zeta, nu = functions(x), np.array([0.3, 0.4, 0.6])
    solution = minimize(parametric_tube(K, y, c, nu, zeta), InteriorPoint(tol=TOL))
    found = parametric_tube_back(solution.a, solution.b, 3)
    r = np.abs(y - solution.f[:N] + zeta @ found.widths)  # f of the upper wall, less its distance
    width = zeta @ found.widths
    outside, touching = r > width + 1e-6, r >= width - 1e-6
    total = c @ zeta
    assert np.all((c * outside) @ zeta <= nu * total * (1 + 1e-6))
    positive = found.widths > 1e-6
    assert positive.any()
    assert np.all(((c * touching) @ zeta >= nu * total * (1 - 1e-6))[positive])


def test_groups_have_their_shares():
    _, y, _, K = sample(1, 60)
    group = (np.arange(60) % 3)[:, None] == np.arange(3)
    nu = np.array([0.1, 0.3, 0.5])
    zeta = group.astype(float)
    solution = minimize(parametric_tube(K, y, 1.0, nu, zeta), InteriorPoint(tol=TOL))
    found = parametric_tube_back(solution.a, solution.b, 3)
    width = zeta @ found.widths
    outside = np.abs(y - solution.f[:60] + width) > width + 1e-6
    for j in range(3):
        assert np.mean(outside[group[:, j]]) <= nu[j]


def test_a_constant_width_is_nu_regression():
    _, y, c, K = sample(2)
    here = minimize(parametric_tube(K, y, c, 0.4, np.ones((N, 1))), InteriorPoint(tol=TOL))
    there = minimize(nu_regression(K, y, c, 0.4), InteriorPoint(tol=TOL))
    assert abs(here.objective - there.objective) <= here.gap + there.gap + 1e-9
    mine, known = parametric_tube_back(here.a, here.b, 1), nu_regression_back(there.a, there.b)
    assert mine.widths[0] == pytest.approx(known.width, abs=1e-5)
    # The first samples of both are those of the upper wall.
    np.testing.assert_allclose(here.f[:N], there.f[:N], atol=1e-5)


def test_walls_of_their_own_are_centred_without_moving():
    x, y, c, K = sample(3)
    zeta = functions(x)[:, :2]
    none = np.zeros_like(zeta)
    B = np.column_stack([np.ones(N), x])
    risk = parametric_tube(K, y, c, 0.4, np.hstack([zeta, none]), np.hstack([none, zeta]), B)
    solution = minimize(risk, InteriorPoint(tol=TOL))
    raw = parametric_tube_back(solution.a, solution.b, 4)
    tube = centred(raw, B, zeta)

    def walls(t):
        f = K.matvec(t.a) + B @ t.b
        return f + zeta @ t.widths[:2], f - zeta @ t.widths[2:]

    np.testing.assert_allclose(walls(tube), walls(raw), atol=1e-9)
    # Constant and slope are free in the middle, so that nothing is left to tell the walls apart.
    np.testing.assert_allclose(tube.widths[:2], tube.widths[2:], atol=1e-9)
    assert np.sum(c * (y > walls(tube)[0] + 1e-6)) <= 0.2 * np.sum(c) * (1 + 1e-6)
    assert np.sum(c * (y < walls(tube)[1] - 1e-6)) <= 0.2 * np.sum(c) * (1 + 1e-6)


def test_what_is_no_tube_is_refused():
    x, y, c, K = sample()
    with pytest.raises(ValueError, match="none of them negative"):
        parametric_tube(K, y, c, 0.5, -functions(x))
    with pytest.raises(ValueError, match="nu must be above 0"):
        parametric_tube(K, y, c, 1.5, functions(x))
    with pytest.raises(ValueError, match="zero on the whole sample"):
        parametric_tube(K, y, c, 0.5, np.zeros((N, 1)))


@pytest.mark.parametrize(
    "widths", [[1.0, 2.0, 3.0, 5.0], [3.0, 5.0, 1.0, 2.0], [3.0, 1.0, 1.0, 3.0]]
)
def test_the_middle_moves_to_whichever_side_is_wider(widths):
    x = np.linspace(0.0, 1.0, N)
    zeta = np.column_stack([np.ones(N), x])
    raw = ParametricTube(np.zeros(N), np.array([0.5, -0.25]), np.array(widths))
    tube = centred(raw, zeta, zeta)
    mean = 0.5 * (raw.widths[:2] + raw.widths[2:])
    np.testing.assert_allclose(tube.widths, np.tile(mean, 2), rtol=1e-12)
    # The upper wall, and then the lower one, stay where they were.
    np.testing.assert_allclose(tube.b + tube.widths[:2], raw.b + raw.widths[:2], rtol=1e-12)
    np.testing.assert_allclose(tube.b - tube.widths[2:], raw.b - raw.widths[2:], rtol=1e-12)


def test_one_function_that_is_zero_everywhere_is_named():
    _, y, c, K = sample(0)
    zeta = np.column_stack([np.ones(N), np.zeros(N)])
    with pytest.raises(ValueError, match="function 1 of the tube is zero"):
        parametric_tube(K, y, c, 0.4, zeta, zeta, np.ones((N, 1)))
