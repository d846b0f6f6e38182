"""Programs of machines: adaptive margins, and a tube around several outputs."""

import cvxpy as cp
import numpy as np
import pytest

from mercer.solvers import Status
from mercer_research.programs.adaptive_margin import MarginProgram
from mercer_research.programs.vector_valued_tube import VectorTube


def test_the_gap_of_a_vector_tube_is_between_its_values():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    Y = X @ rng.normal(size=(2, 2)) + 0.3 * rng.normal(size=(12, 2))
    tube = VectorTube(X @ X.T, Y, np.full(12, 2.0), np.ones((12, 1)), 0.2)
    found = tube.solve()
    assert found.status is Status.CONVERGED
    assert found.gap == pytest.approx(found.objective - found.dual, abs=1e-9)
    assert found.gap <= 1e-5 * found.objective
    assert found.objective > 0.1


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("columns", [0, 1, 2])
@pytest.mark.parametrize("lam", [0.5, 1.5])
def test_of_all_machines_of_least_loss_that_of_smallest_sum_is_returned(seed, columns, lam):
    rng = np.random.default_rng(seed)
    x = np.repeat(rng.integers(0, 6, 7), 2).astype(float)  # repeated points tie
    y = np.where(rng.random(14) < 0.5, 1.0, -1.0)
    K, c = np.exp(-(np.subtract.outer(x, x) ** 2)), np.ones(14)
    B = np.column_stack([np.ones(14), x])[:, :columns]
    program = MarginProgram(K, np.arange(14), np.ones(14), y, c, B)
    answer = program.solve(lam)
    M, N = program.matrix(lam), y[:, None] * B
    alpha, b = cp.Variable(M.shape[1], nonneg=True), cp.Variable(columns) if columns else None
    margins = M @ alpha + (N @ b if columns else 0)
    loss = cp.sum(cp.pos(1 - margins))
    best = cp.Problem(cp.Minimize(loss), [alpha <= program.cap]).solve(solver="CLARABEL")
    assert answer.objective == pytest.approx(best, abs=1e-5)
    least = cp.Problem(cp.Minimize(cp.sum(alpha)), [loss <= best + 1e-7, alpha <= program.cap])
    assert answer.alpha.sum() == pytest.approx(least.solve(solver="CLARABEL"), rel=1e-3, abs=1e-3)
