"""Alternatives: when the product of a pair is convex, and what the strategies find."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import nnls

from mercer_research.fusion import ComplementarityProgram, is_convex_penalty, largest_convex_weight


def test_no_weight_is_small_enough_without_curvature():
    # Example 2.3 of the thesis: (x - c) carries curvature, the multiplier none.
    H = np.diag([4.0, 0.0])
    assert is_convex_penalty(H, [(0, 1)], 0.0)
    assert not any(is_convex_penalty(H, [(0, 1)], 10.0**-k) for k in range(7))
    assert largest_convex_weight(H, [(0, 1)]) == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_largest_weight(seed):
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(4, 6))
    H, pairs = G @ G.T, [(0, 1), (2, 3)]
    weight = largest_convex_weight(H, pairs)
    assert is_convex_penalty(H, pairs, weight * (1 - 1e-9))
    assert not is_convex_penalty(H, pairs, weight * (1 + 1e-6))
    h = H[:2, :2]
    expected = np.sqrt(h[0, 0] * h[1, 1]) - h[0, 1]
    assert largest_convex_weight(h, [(0, 1)]) == pytest.approx(expected)


def brute(H, g, pairs):
    """Minimize over every choice of zeros by non-negative least squares."""
    L = np.linalg.cholesky(H)
    best = np.inf
    for choice in product(*pairs):
        keep = np.setdiff1d(np.arange(len(g)), choice)
        z = np.zeros(len(g))
        # z'Hz/2 + g'z = |L'z + L^-1 g|^2 / 2 up to a constant.
        z[keep], _ = nnls(L.T[:, keep], -np.linalg.solve(L, g))
        best = min(best, 0.5 * z @ H @ z + g @ z)
    return best


@pytest.mark.parametrize("seed", range(8))
def test_strategies(seed):
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(4, 6))
    H, g, pairs = G @ G.T + 0.1 * np.eye(4), rng.normal(size=4) - 1.0, [(0, 1), (2, 3)]
    program = ComplementarityProgram(H, g, pairs)
    truth = brute(H, g, pairs)
    branch, penalty, relaxed = (program.solve(s) for s in ("bnb", "penalty", "relax"))
    # Programs are solved to 1e-8 of their data.
    assert branch.certified
    assert branch.value == pytest.approx(truth, abs=1e-6)
    assert branch.complementarity <= 1e-8 * max(1.0, np.max(branch.z) ** 2)
    assert penalty.value >= truth - 1e-6
    assert penalty.complementarity <= 1e-8 * max(1.0, np.max(penalty.z) ** 2)
    assert not penalty.certified
    assert relaxed.value <= truth + 1e-6
    assert relaxed.certified == (relaxed.complementarity <= 1e-8 * max(1, np.max(relaxed.z) ** 2))


def test_the_convex_penalty_is_exact_above_a_threshold():
    # Four variables, strictly convex: pairs hold from some weight on while the sum stays convex.
    H = np.array(
        [[50.0, 2.0, 1.0, 0.0], [2.0, 60.0, 0.0, 1.0], [1.0, 0.0, 55.0, 3.0], [0.0, 1.0, 3.0, 65.0]]
    )
    g, pairs = -np.array([40.0, 8.0, 10.0, 45.0]), [(0, 1), (2, 3)]
    largest = largest_convex_weight(H, pairs)
    assert largest > 30.0
    assert is_convex_penalty(H, pairs, 0.999 * largest)
    assert not is_convex_penalty(H, pairs, 1.001 * largest)
    N = np.zeros((4, 4))
    N[[0, 1, 2, 3], [1, 0, 3, 2]] = 1.0
    products = []
    for weight in (0.0, 0.3 * largest, 0.9 * largest):
        # Relaxing the program with the penalty in its Hessian is one convex program.
        found = ComplementarityProgram(H + weight * N, g, pairs).solve("relax")
        products.append(found.complementarity)
    assert products[0] > 1e-3
    assert products[-1] < 1e-8


def test_a_hierarchical_program_with_known_answer():
    # Level 1: min |Qx - q|^2 / 2 with x <= c; level 2: min |Fx - f|^2 / 2 over (x, multiplier, c).
    # Its answer is x = min(F'f / F'F, Q'q / Q'Q).
    rng = np.random.default_rng(0)
    for _ in range(6):
        Q, q, F, f = rng.normal(size=(4, 5))
        if min(F @ f / (F @ F), Q @ q / (Q @ Q)) <= 0:
            Q, F = np.sign(Q @ q) * Q, np.sign(F @ f) * F
        # Variables x >= 0 (positive by choice of signs), multiplier, slack c - x; x is not paired.
        H = np.diag([F @ F, 0.0, 0.0])
        g = np.array([-F @ f, 0.0, 0.0])
        A, e = np.array([[Q @ Q, 1.0, 0.0]]), np.array([Q @ q])
        program = ComplementarityProgram(
            H, g, [(1, 2)], A, e, np.array([-10.0, 0.0, 0.0]), np.full(3, 10.0 + abs(Q @ q))
        )
        expected = min(F @ f / (F @ F), Q @ q / (Q @ Q))
        assert program.solve("bnb").z[0] == pytest.approx(expected, abs=1e-5)


def test_an_impossible_program():
    program = ComplementarityProgram(
        np.eye(2), np.zeros(2), [(0, 1)], np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([2.0, 0.0])
    )
    with pytest.raises(ValueError, match="no point meets"):
        program.solve("bnb")
