"""Optimality conditions and convergence, seen from outside the solvers."""

import inspect
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules

import numpy as np
import pytest

import mercer.solvers
from brute import printed
from cases import CLASSIFICATION, KERNELS, LOSSES, SOLVERS, accepted, pairs, random_risk
from mercer.gram.features import Features
from mercer.losses import EpsilonInsensitive, QuadraticDualLoss
from mercer.problems import RegularizedRisk
from mercer.regularizers import Constant, Empty
from mercer.regularizers import Polynomial as Trend
from mercer.solvers import Auto, InteriorPoint, Solver, minimize
from mercer.solvers.primal_newton import PrimalNewton
from mercer.solvers.row_descent import RowDescent

EPS = np.finfo(float).eps
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


@pytest.mark.parametrize("space", [Empty(), Constant(), Trend(1)], ids=repr)
@every_loss
def test_kkt_conditions(loss, space):
    tol, h = 1e-6, 1e-4
    for C in (0.1, 100.0):
        risk = random_risk(loss, null_space=space, seed=10, n=24, C=C, duplicates=True)
        live = risk.c > 0
        K, y = np.asarray(risk.K.K), risk.y[live]
        for solver in accepted(risk, tol):
            solution = minimize(risk, solver)
            a, b = solution.a, solution.b
            # B'a = 0, and no coefficient without weight.
            scale = np.abs(risk.B).T @ np.abs(a)
            assert np.all(np.abs(risk.B.T @ a) <= 1e-12 * scale + 1e-300)
            assert not np.any(a[~live])
            # -a / c is a slope of the loss at f = K a + B b: at least every quotient to the left,
            # at most every one to the right, if f or the slope itself may be off by the tolerance.
            f = (K @ a + risk.B @ b)[live]
            v = -a[live] / risk.c[live]
            in_slope = loss.smooth and not isinstance(loss, QuadraticDualLoss)
            off, slack = (0.0, tol) if in_slope else (tol, 0.0)
            slack += 16 * EPS * (1 + printed(loss, y, f) + np.abs(y * v)) / h
            low, high = f - off, f + off
            left = (printed(loss, y, low) - printed(loss, y, low - h)) / h
            right = (printed(loss, y, high + h) - printed(loss, y, high)) / h
            assert np.all(left <= v + slack), solver
            assert np.all(v <= right + slack), solver


def test_free_coefficients_sit_on_the_edge_of_the_tube():
    # With b recovered, residuals of free support vectors are plus or minus epsilon.
    risk = random_risk(EpsilonInsensitive(0.2), seed=13, n=40)
    for solver in accepted(risk, 1e-8):
        solution = minimize(risk, solver)
        r = risk.y - solution.f
        free = (solution.a != 0) & (np.abs(solution.a) < risk.c)
        assert free.sum() >= 3
        np.testing.assert_allclose(r[free], 0.2 * np.sign(solution.a[free]), atol=1e-8)


@pytest.mark.parametrize(("loss", "solver"), pairs(LOSSES), ids=repr)
def test_gap_falls_with_the_tolerance(loss, solver):
    risk = random_risk(loss, seed=11, C=5.0)
    solutions = [minimize(risk, replace(solver, tol=tol)) for tol in (1e-2, 1e-5, 1e-8)]
    assert all(solution.converged for solution in solutions)
    # Slopes differ by at most 2 or so and reach a few units of f: 1e-8 of that, for each sample.
    assert solutions[-1].gap <= 1e-8 * 10 * risk.c.sum()
    best = solutions[-1].objective - solutions[-1].gap
    excesses = [solution.objective - best for solution in solutions]
    rounding = 16 * EPS * risk.n * (1 + abs(best))
    assert excesses[2] <= excesses[1] + rounding
    assert excesses[1] <= excesses[0] + rounding


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k.positive_definite], ids=repr)
def test_solvers_agree_for_every_kernel(kernel):
    for loss in LOSSES[:5] + LOSSES[-4:]:
        # Two samples are split off by polynomials that stay free: no risk would have a minimum.
        tiny = kernel.order == 0
        risk = random_risk(loss, kernel, seed=12, n=20 if tiny else 40, C=2.0, tiny_class=tiny)
        found = [(solver, minimize(risk, solver)) for solver in accepted(risk, 1e-7)]
        best = min(solution.objective for _, solution in found)
        for solver, solution in found:
            excess = solution.objective - best
            # Terms of a'Ka cancel where K is large on what stays free.
            size = 1 + abs(best) + np.abs(solution.a) @ np.abs(risk.K.dense()) @ np.abs(solution.a)
            assert excess <= solution.gap + 16 * EPS * risk.n * size, (loss, solver)


@every_loss
def test_some_solver_takes_every_loss(loss):
    for space in (Empty(), Constant(), Trend(1)):
        risk = random_risk(loss, null_space=space, n=12)
        assert accepted(risk, 1e-3)
        assert Auto().accepts(risk)


@every_loss
def test_solvers_of_linear_machines_agree(loss):
    """Over the rows of features, answers of all solvers lie within their gaps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    y = np.where(X[:, 0] > 0, 1.0, -1.0) if loss in CLASSIFICATION else X[:, 0]
    c = rng.uniform(0.1, 2.0, len(y))
    risk = RegularizedRisk(loss, Features(X, 1.0), y, c)
    expected = minimize(risk, InteriorPoint(tol=1e-9))
    for solver in (RowDescent(tol=1e-6), PrimalNewton(tol=1e-9)):
        if solver.accepts(risk):
            solution = minimize(risk, solver)
            assert solution.converged
            difference = abs(solution.objective - expected.objective)
            # Rounding of the sums that make up an objective counts like a gap.
            rounding = 16 * EPS * risk.n * (1 + expected.objective)
            assert difference <= solution.gap + expected.gap + rounding


def test_every_solver_of_the_package_has_a_case():
    for found in iter_modules(mercer.solvers.__path__, "mercer.solvers."):
        import_module(found.name)

    def below(kind):
        return {kind}.union(*(below(one) for one in kind.__subclasses__()))

    own = {kind for kind in below(Solver) if kind.__module__.startswith("mercer.solvers.")}
    concrete = {kind for kind in own if not inspect.isabstract(kind)}
    assert concrete - {Auto} == {type(solver) for solver in SOLVERS}
