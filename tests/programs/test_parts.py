"""Certificates of answers that are spoilt, and parts of programs in other units."""

import itertools
import time
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog

from mercer.gram.dictionary import DenseDictionary
from mercer.losses import Absolute
from mercer.problems.sparse_risk import SparseRisk
from mercer.programs import backends
from mercer.programs.columns import MIN_ADDED_FUNCTIONS, _choose_columns, threshold
from mercer.programs.program import Program
from mercer.solvers import Status


@pytest.mark.parametrize(("prices", "sound"), [((0.25, 0.75), True), ((2.0, -1.0), False)])
def test_prices_outside_of_their_cone_certify_nothing(prices, sound, monkeypatch):
    # Twice the same wall: prices that add up to one are stationary, but none may be negative.
    plain = backends.clarabel

    def spoilt(*given):
        return replace(plain(*given), z=np.array(prices))

    monkeypatch.setattr(backends, "clarabel", spoilt)
    program = Program()
    x = program.variable(1)
    program.cost(x, [-1.0])
    program.at_most([(np.ones((2, 1)), x)], np.ones(2))
    found = program.solve(method="conic")
    assert found[x] == pytest.approx([1.0], abs=1e-6)
    assert found.objective == pytest.approx(-1.0, abs=1e-6)
    assert (found.status is Status.CONVERGED) is sound
    assert (found.residual < 1e-5) is sound


def test_every_function_may_be_taken_in():
    excess = np.linspace(1.0, 2.0, MIN_ADDED_FUNCTIONS + 3)
    taken = [
        _choose_columns(excess, MIN_ADDED_FUNCTIONS, np.random.default_rng(seed))
        for seed in range(40)
    ]
    assert {len(one) for one in taken} == {MIN_ADDED_FUNCTIONS}
    assert all(len(np.unique(one)) == MIN_ADDED_FUNCTIONS for one in taken)
    worst = set(np.argsort(-excess)[: MIN_ADDED_FUNCTIONS // 2])
    assert all(worst <= set(one) for one in taken)
    assert set(np.concatenate(taken)) == set(range(len(excess)))


@pytest.mark.parametrize("scale", [1.0, 3e7])
def test_the_threshold_of_an_absolute_loss_does_not_depend_on_the_unit_of_targets(scale):
    rng = np.random.default_rng(0)
    G, y = rng.normal(size=(9, 5)), rng.normal(size=9)
    risk = SparseRisk(Absolute(), DenseDictionary(G), scale * y, np.ones(9), np.ones((9, 1)))
    # At the median the sign of one sample is free between -1 and 1.
    u = np.sign(y - np.median(y))
    at = int(np.argsort(y)[4])
    grid = np.linspace(-1.0, 1.0, 20001)
    prices = np.abs((G.T @ u)[:, None] + G[at][:, None] * grid).max(axis=0)
    u[at] = 0.0
    exact = np.abs(G.T @ u).max()  # the signs of the others add up to zero, so that it is zero
    assert prices.min() <= exact
    assert 1.0 / threshold(risk) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("scale", [1.0, 3e7])
def test_the_threshold_sees_kinks_that_are_met_but_for_rounding(scale, seed):
    rng = np.random.default_rng(seed)
    B, y = rng.normal(size=(9, 2)), rng.normal(size=9)
    # A plane of least absolute errors goes through two samples, here all pairs of them.
    pairs = [list(pair) for pair in combinations(range(9), 2)]
    planes = [(pair, np.linalg.solve(B[pair], y[pair])) for pair in pairs]
    through, b = min(planes, key=lambda plane: float(np.abs(y - B @ plane[1]).sum()))
    # Each of the two comes twice: their multipliers can be shared out, and are not unique.
    B, y = np.vstack([B, B[through]]), np.append(y, y[through])
    G, kinks = rng.normal(size=(11, 5)), [*through, 9, 10]
    u = np.sign(y - B @ b)
    u[kinks] = 0.0
    prices, one = G[kinks].T, np.ones((5, 1))
    lowest = linprog(
        [0.0, 0.0, 0.0, 0.0, 1.0],
        A_ub=np.block([[prices, -one], [-prices, -one]]),
        b_ub=np.concatenate([-G.T @ u, G.T @ u]),
        A_eq=np.hstack([B[kinks].T, np.zeros((2, 1))]),
        b_eq=-B.T @ u,
        bounds=[(-1.0, 1.0)] * 4 + [(0.0, None)],
    ).fun
    risk = SparseRisk(Absolute(), DenseDictionary(G), scale * y, np.ones(11), B)
    assert 1.0 / threshold(risk) == pytest.approx(lowest, rel=1e-9)


def test_no_iteration_of_a_conic_program_is_begun_that_would_end_too_late(monkeypatch):
    rng = np.random.default_rng(0)
    program = Program()
    x = program.variable(8)
    program.square(x)
    program.at_least([(rng.uniform(size=(20, 8)), x)], np.ones(20))
    whole = program.solve(1e-9, method="conic")
    # By this clock a second passes from one look at it to the next: one an iteration.
    ticks = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))
    cut = program.solve(1e-9, method="conic", max_time=5.0)
    assert whole.status is Status.CONVERGED
    assert cut.status is Status.MAX_TIME
    assert cut.n_iter < 5 < whole.n_iter
