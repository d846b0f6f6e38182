"""Laws of the minimizer: weights and repeated rows, order, scale and shift of the targets.

Two answers to one problem are compared by what their certificates promise. Objectives differ by at
most the larger gap; and as the penalty is strongly convex, the penalized parts of two minimizers up
to gaps e and e' satisfy ``|g - g'| <= sqrt(2 e) + sqrt(2 e')`` in the norm of the kernel, so that
``|g(x) - g'(x)| <= sqrt(2 k(x, x)) (sqrt(e) + sqrt(e'))``.
"""

import copy
from dataclasses import replace

import numpy as np
import pytest

from cases import LOSSES, REGRESSION, pairs, random_risk
from mercer.gram import Dense
from mercer.gram.indexed import Indexed
from mercer.problems import RegularizedRisk
from mercer.solvers import minimize

EPS = np.finfo(float).eps
TOL = 1e-9
# Parameters of losses that are lengths in units of the target.
WIDTHS = ("epsilon", "delta", "sigma", "below", "above")
every_pair = pytest.mark.parametrize(("loss", "solver"), pairs(LOSSES), ids=repr)


def solve(risk, solver):
    solution = minimize(risk, replace(solver, tol=TOL))
    # Rounding of the sums that make up an objective counts like a gap.
    gap = solution.gap + 16 * EPS * risk.n * (1 + abs(solution.objective))
    return solution, gap, np.asarray(risk.K.matvec(solution.a))


def assert_same(one, other, diagonal, scale=1.0):
    """Compare two answers, the second in units of which the first has ``scale``."""
    (first, gap, g), (second, other_gap, h) = one, other
    assert abs(first.objective - scale**2 * second.objective) <= max(gap, scale**2 * other_gap)
    reach = np.sqrt(2 * diagonal) * (np.sqrt(gap) + scale * np.sqrt(other_gap))
    assert np.all(np.abs(g - scale * h) <= reach)
    # The promise says something: gaps are at most TOL times about 30 weights times slopes up to 2.
    assert np.max(reach) <= 1e-3 * max(scale, 1.0)


@every_pair
def test_weight_two_is_the_row_twice(loss, solver):
    risk = random_risk(loss, seed=5, n=24, weights=False)
    twice = np.array([0, 3, 7, 7])  # the last one three times
    c = risk.c + np.bincount(twice, minlength=risk.n)
    rows = np.concatenate([np.arange(risk.n), twice])
    weighted = RegularizedRisk(loss, risk.K, risk.y, c, risk.B)
    repeated = RegularizedRisk(loss, Indexed(risk.K, rows), risk.y[rows], 1.0, risk.B[rows])
    one, (other, gap, h) = solve(weighted, solver), solve(repeated, solver)
    assert_same(one, (other, gap, h[: risk.n]), risk.K.diag())


@every_pair
def test_weight_zero_is_the_row_left_out(loss, solver):
    risk = random_risk(loss, seed=6, n=24, weights=False)
    keep = np.arange(risk.n) % 4 > 0
    weighted = RegularizedRisk(loss, risk.K, risk.y, keep * 1.0, risk.B)
    index = np.flatnonzero(keep)
    reduced = weighted.take(index, Dense(risk.K.block(index, index)))
    one, other = solve(weighted, solver), solve(reduced, solver)
    assert not np.any(one[0].a[~keep])
    assert_same((*one[:2], one[2][keep]), other, risk.K.diag()[keep])


@every_pair
def test_order_does_not_matter(loss, solver):
    risk = random_risk(loss, seed=7, n=24, duplicates=True)
    order = np.random.default_rng(0).permutation(risk.n)
    shuffled = risk.take(order, Dense(risk.K.block(order, order)))
    one, (other, gap, h) = solve(risk, solver), solve(shuffled, solver)
    back = np.argsort(order)
    assert_same(one, (other, gap, h[back]), risk.K.diag())


@pytest.mark.parametrize(("loss", "solver"), pairs(REGRESSION), ids=repr)
def test_scale_and_shift_of_the_targets(loss, solver):
    # l(s y, s f) with widths s wide is s^k l(y, f); so C s^(2 - k) scales the risk by s^2.
    s, shift = 3.0, 5.0
    risk = random_risk(loss, seed=8, n=24)
    widths = {
        name: s * value
        for name, value in loss.get_params().items()
        if name.rpartition("__")[2] in WIDTHS
    }
    scaled = copy.copy(loss).set_params(**widths)
    # The degree k, from a residual on either side that no tube hides.
    y, f = np.array([1.5, -1.5]), np.zeros(2)
    degrees = np.log(scaled.value(s * y, s * f) / loss.value(y, f)) / np.log(s)
    degree = degrees[0]
    assert degrees[1] == pytest.approx(degree), (
        f"{loss!r} does not scale with its widths: if a parameter of it is a length in units of "
        "the target, add its name to WIDTHS in tests/laws/test_invariance.py"
    )
    moved = RegularizedRisk(scaled, risk.K, s * risk.y + shift, s ** (2 - degree) * risk.c, risk.B)
    assert_same(solve(moved, solver), solve(risk, solver), risk.K.diag(), scale=s)


@every_pair
def test_flipping_the_labels_flips_the_function(loss, solver):
    risk = random_risk(loss, seed=9, n=24)
    flipped = RegularizedRisk(loss.mirrored(), risk.K, -risk.y, risk.c, risk.B)
    one, (other, gap, h) = solve(risk, solver), solve(flipped, solver)
    assert_same(one, (other, gap, -h), risk.K.diag())
