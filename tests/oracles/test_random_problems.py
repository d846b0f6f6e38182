"""Two hundred random problems: every loss, kernel and null space, against a conic solver.

Sizes up to 400, weights over an order of magnitude, duplicate rows, a class of three samples and C
from 1e-3 to 1e4. Objectives and decision values agree to 1e-6 relative.
"""

import warnings

import numpy as np
import pytest

from cases import CLASSIFICATION, LOSSES
from mercer.gram import Dense
from mercer.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial, RationalQuadratic
from mercer.losses import Loss, QuadraticDualLoss
from mercer.problems import RegularizedRisk
from mercer.regularizers import Constant, Empty
from mercer.regularizers import Polynomial as Trend
from mercer.solvers import (
    SMO,
    ConvergenceWarning,
    Direct,
    InteriorPoint,
    Newton,
    Solver,
    Status,
    minimize,
)
from oracles.conic import solve

KERNELS = [
    Gaussian(1.5),
    Laplacian(2.0),
    Matern(1.0, 1.5),
    RationalQuadratic(1.0, 1.0),
    Linear(),
    Polynomial(2, 0.5, 1.0),
    Gaussian(0.5) + 0.1 * Linear(),
    Gaussian(1.0).on([0]) * Matern(2.0, 2.5).on([1, 2]),
]
NULL_SPACES = [Empty(), Constant(), Trend(1)]
N_PROBLEMS = len(LOSSES) * len(KERNELS)


def problem(seed: int) -> tuple[RegularizedRisk, np.ndarray]:
    """Draw a problem; the loss, kernel and null space run through all pairings."""
    rng = np.random.default_rng(seed)
    loss: Loss = LOSSES[seed % len(LOSSES)]
    kernel = KERNELS[(seed // len(LOSSES)) % len(KERNELS)]
    null_space = NULL_SPACES[(seed + seed // len(LOSSES)) % len(NULL_SPACES)]
    n = int(rng.choice([12, 40, 100, 200, 400], p=[0.2, 0.3, 0.25, 0.15, 0.1]))
    X = rng.normal(size=(n, 3))
    X[n // 2 : n // 2 + n // 8] = X[: n // 8]  # duplicate rows, with targets that disagree
    signal = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1]
    y = signal + 0.3 * rng.normal(size=n)
    if any(isinstance(loss, type(other)) for other in CLASSIFICATION):
        y = np.where(y > 0, 1.0, -1.0)
        if seed % 4 == 0:  # one class tiny
            y = -np.ones(n)
            y[np.argsort(signal)[-3:]] = 1.0
    C = float(10 ** rng.uniform(-3, 4))
    c = C * 10 ** rng.uniform(-0.5, 0.5, size=n)
    K = kernel(X)
    risk = RegularizedRisk(loss, Dense(K), y, c, null_space(X))
    values, vectors = np.linalg.eigh(K)
    keep = values > 1e-14 * values[-1]
    return risk, vectors[:, keep] * np.sqrt(values[keep])


# Pair steps crawl where C is large or the slopes of the loss unbounded (coordinate descent on an
# ill-conditioned parabola): there they may stop and say so, everything else has to arrive.
BUDGET = 400_000


@pytest.mark.parametrize("seed", range(N_PROBLEMS))
def test_agrees_with_conic_solver(seed):
    risk, G = problem(seed)
    reference = solve(risk, G)
    scale = 1.0 + abs(reference.objective)
    # A violation of tol in every decision value may cost tol * sum(c) of the objective.
    tol = float(np.clip(1e-6 * scale / np.sum(risk.c), 1e-10, 1e-7))
    solvers: list[Solver] = [solver(tol=tol) for solver in (Direct, InteriorPoint, Newton)]
    accepted = [solver for solver in solvers if solver.accepts(risk)]
    assert accepted
    for solver in accepted:
        solution = minimize(risk, solver)
        assert solution.converged, (solver, solution.violation)
        compare(risk, solution, reference, scale)
    pairs = SMO(tol=tol, max_iter=BUDGET)
    if pairs.accepts(risk):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            solution = minimize(risk, pairs)
        assert solution.gap >= solution.objective - reference.objective - 1e-9 * scale
        if solution.converged:
            compare(risk, solution, reference, scale)
        else:
            assert solution.status is Status.MAX_ITER
            assert np.max(risk.c) > 100 or not np.all(np.isfinite(risk.box()))


def compare(risk, solution, reference, scale):
    """Hold a solution to the reference, or to its own certificate where that is the sharper one."""
    assert solution.objective <= reference.objective + 1e-6 * scale
    assert solution.gap <= 1e-6 * scale
    assert solution.residual <= 1e-9
    if not reference.accurate:
        return  # cones of powers and exponentials stop early; the certificate is what remains
    assert reference.objective <= solution.objective + 1e-6 * scale
    penalized = solution.f - risk.B @ solution.b
    size = 1.0 + np.max(np.abs(reference.penalized))
    # |f - g|^2 <= 2 k(x, x) (J(f) - J(g)) at a minimum g, and J is known to 1e-12 of itself.
    known = np.sqrt(2e-12 * scale * np.max(risk.K.diag()))
    assert np.max(np.abs(penalized - reference.penalized)) <= max(1e-6 * size, known)
    if risk.q <= 1 and isinstance(risk.loss, QuadraticDualLoss):
        # With more columns a small sample may leave their coefficients undetermined.
        f = reference.penalized + risk.B @ reference.b
        assert np.max(np.abs(solution.f - f)) <= 1e-6 * (1.0 + np.max(np.abs(f)))


def test_every_pairing_occurs():
    pairings = {
        (type(LOSSES[seed % len(LOSSES)]), (seed // len(LOSSES)) % len(KERNELS))
        for seed in range(N_PROBLEMS)
    }
    assert len(pairings) >= len({type(loss) for loss in LOSSES}) * len(KERNELS)
