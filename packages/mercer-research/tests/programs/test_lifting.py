"""Lifted and relaxed quadratic programs against enumeration."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize, nnls

from mercer_research.programs.lifting import QuadraticConstraint, lift, triangle
from mercer_research.programs.positive_or import PositiveOr


def test_triangles_keep_inner_products():
    rng = np.random.default_rng(0)
    A, B = (M + M.T for M in rng.normal(size=(2, 4, 4)))
    assert triangle(A) @ triangle(B) == pytest.approx(np.sum(A * B))


@pytest.mark.parametrize("seed", range(3))
def test_a_convex_program_is_lifted_exactly(seed):
    rng = np.random.default_rng(seed)
    R = rng.normal(size=(4, 3))
    H, f = R.T @ R, rng.normal(size=3)
    ball = QuadraticConstraint(np.eye(3), np.zeros(3), 0.05)
    found = lift(H, f, [ball])
    twin = minimize(
        lambda x: x @ H @ x + f @ x,
        np.zeros(3),
        constraints=[{"type": "ineq", "fun": lambda x: 0.05 - x @ x}],
        options={"ftol": 1e-14},
    )
    # SLSQP's objective has an error of the order of the root of its tolerance, relative to 1.
    assert found.lower_bound == pytest.approx(twin.fun, abs=1e-6)
    assert found.exact
    assert found.violation < 1e-6
    np.testing.assert_allclose(found.x, twin.x, atol=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_lifting_bounds_what_is_not_convex(seed):
    """One of two signs for each number: the largest cut, by enumeration."""
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(5, 5))
    H = M + M.T
    units = [np.outer(e, e) for e in np.eye(5)]
    signs = [QuadraticConstraint(E, np.zeros(5), 1.0, equation=True) for E in units]
    found = lift(H, np.zeros(5), signs)
    best = min(np.array(x) @ H @ np.array(x) for x in product([-1.0, 1.0], repeat=5))
    assert found.lower_bound <= best + 1e-6
    # x and -x are both best and their mean is zero: the last column says nothing, as is said.
    assert not found.exact
    assert found.tightness > 0.1


def test_a_sphere_without_symmetry_is_lifted_exactly():
    """The trust-region problem has no gap whatever the curvature."""
    rng = np.random.default_rng(1)
    M = rng.normal(size=(4, 4))
    H, f = M + M.T, rng.normal(size=4)
    found = lift(H, f, [QuadraticConstraint(np.eye(4), np.zeros(4), 1.0)])
    starts = rng.normal(size=(20, 4))
    best = min(
        minimize(
            lambda x: x @ H @ x + f @ x,
            x / np.linalg.norm(x),
            constraints=[{"type": "ineq", "fun": lambda x: 1.0 - x @ x}],
            options={"ftol": 1e-14},
        ).fun
        for x in starts
    )
    assert found.exact
    assert found.value == pytest.approx(best, abs=1e-5)
    assert found.lower_bound == pytest.approx(found.value, abs=1e-6)


# Alternatives -----------------------------------------------------------------------------------


def instance(D, pairs, seed):
    rng = np.random.default_rng(seed)
    R = rng.normal(size=(D + 2, D))
    return PositiveOr(R.T @ R, -3.0 * np.abs(rng.normal(size=D)), pairs)


def enumerated(problem):
    """The best over all choices of zeros; each is a non-negative least-squares problem."""
    best = 0.0
    L = np.linalg.cholesky(problem.H)
    for zeros in product(*problem.pairs):
        keep = [i for i in range(len(problem.f)) if i not in zeros]
        # x'Hx + f'x = |L'x - t|^2 - |t|^2 with t = -L^-1 f / 2.
        t = -0.5 * np.linalg.solve(L, problem.f)
        best = min(best, nnls(L.T[:, keep], t)[1] ** 2 - t @ t)
    return best


@pytest.mark.parametrize("seed", range(10))
def test_two_numbers_are_always_exact_at_the_largest_weight(seed):
    problem = instance(2, [(0, 1)], seed)
    h = problem.H
    # A product that H itself rewards cannot be made convex by more than this.
    assert problem.largest_weight() == pytest.approx(np.sqrt(h[0, 0] * h[1, 1]) - h[0, 1])
    found = problem.solve("largest", branch=False)
    assert found.exact
    assert found.value == pytest.approx(enumerated(problem), abs=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_relaxations_that_meet_the_pairs_are_global_and_others_are_branched(seed):
    problem = instance(4, [(0, 1), (2, 3)], seed)
    best = enumerated(problem)
    values = {}
    for weights in ("none", "largest", "sdp"):
        found = problem.solve(weights, branch=False)
        values[weights] = found.lower_bound
        assert found.lower_bound <= best + 1e-6
        if found.exact:
            assert found.value == pytest.approx(best, abs=1e-5)
    assert values["none"] <= values["largest"] + 1e-6
    whole = problem.solve()
    assert whole.exact
    assert whole.value == pytest.approx(best, abs=1e-5)
    assert whole.x[0] * whole.x[1] == 0.0
    assert whole.x[2] * whole.x[3] == 0.0
    assert (whole.nodes > 1) == (whole.method == "branching")


def test_weights_of_their_own_have_at_least_the_sum_of_equal_ones():
    problem = instance(6, [(0, 1), (2, 3), (4, 5), (1, 2)], 0)
    weights = problem.best_weights()
    assert np.linalg.eigvalsh(problem.H + problem.products(weights))[0] > -1e-9
    assert weights.sum() >= 4 * problem.largest_weight() - 1e-6


def test_what_is_no_alternative_is_refused():
    with pytest.raises(ValueError, match="positive definite"):
        PositiveOr(np.zeros((2, 2)), np.zeros(2), [(0, 1)])
    with pytest.raises(ValueError, match="two different numbers"):
        PositiveOr(np.eye(2), np.zeros(2), [(0, 0)])
    with pytest.raises(ValueError, match="not convex"):
        PositiveOr(np.eye(2), -np.ones(2), [(0, 1)]).solve(2.0)


@pytest.mark.parametrize("unit", [1e-10, 1e-5, 1e5, 1e10])
@pytest.mark.parametrize("seed", range(3))
def test_units_of_the_costs_do_not_matter(seed, unit):
    """With H times a and f times b the minimizer is b / a of what it was, the value b^2 / a."""
    plain = instance(4, [(0, 1), (2, 3)], seed)
    best = enumerated(plain)
    # The gap that counts as none, 1e-6 of the value and the squared cost in units of H.
    gap = 1e-6 * (np.max(plain.f**2 / np.diagonal(plain.H)) + abs(best))
    x = plain.solve().x
    for a, b in ((unit, 1.0), (1.0, unit), (unit, unit)):
        other = PositiveOr(a * plain.H, b * plain.f, plain.pairs).solve()
        assert other.exact
        assert other.value * a / b**2 == pytest.approx(best, rel=0, abs=gap)
        # The objective rises at least as the least eigenvalue times the squared distance.
        away = np.sqrt(2 * gap / np.linalg.eigvalsh(plain.H)[0])
        assert np.linalg.norm(other.x * a / b - x) <= away


def test_a_small_hessian():
    found = PositiveOr(1e-10 * np.eye(2), 1e-10 * np.array([-2.0, -3.0]), [(0, 1)]).solve()
    assert found.x == pytest.approx([0.0, 1.5], rel=0, abs=1e-7)
    assert found.value == pytest.approx(-2.25e-10, rel=1e-9)


@pytest.mark.parametrize(
    ("H", "f", "pairs", "words"),
    [
        (np.eye(2), [np.nan, 1.0], [(0, 1)], "finite"),
        (np.diag([np.inf, 1.0]), [1.0, 1.0], [(0, 1)], "finite"),
        (np.eye(2), [1.0, 1.0], [(0, 2)], "pairs must hold numbers of variables from 0 to 1"),
        (np.eye(2), [1.0, 1.0], [(-1, 0)], "pairs must hold"),
        (np.eye(2), [1.0, 1.0, 1.0], [(0, 1)], "a row of D numbers"),
        (np.eye(2), [], [], "a row of D numbers"),
    ],
)
def test_programs_that_are_none(H, f, pairs, words):
    with pytest.raises(ValueError, match=words):
        PositiveOr(H, np.array(f), pairs)
