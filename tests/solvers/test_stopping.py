"""A run that is stopped returns the best it has seen, and nothing worse than a constant."""

import numpy as np
import pytest

from cases import CLASSIFICATION, REGRESSION, pairs, random_risk
from mercer.gram import Dense, Tiled
from mercer.kernels import Gaussian, Laplacian
from mercer.losses import EpsilonInsensitive, Squared
from mercer.problems import RegularizedRisk
from mercer.problems.fallback import fit_columns
from mercer.solvers import (
    SMO,
    ConjugateGradient,
    ConvergenceWarning,
    InteriorPoint,
    Status,
    minimize,
)
from mercer.solvers.minimizing import minimize_together

pytestmark = pytest.mark.filterwarnings("ignore::mercer.solvers.ConvergenceWarning")

STEPS = [0, 1, 2, 4, 9, 20]
# Sums of about a hundred terms, none much larger than the objective.
ROUNDING = 1e-10


def value(risk, a, b):
    """Return the objective from scratch."""
    K = risk.K.dense() if isinstance(risk.K, Dense) else risk.K.kernel(risk.K.X)
    losses = risk.c * risk.loss.value(risk.y, K @ a + risk.B @ b)
    return 0.5 * a @ K @ a + np.sum(losses) + risk.d @ b


def constant(risk):
    """Return the lowest objective of a constant, by looking at many."""
    span = 1.0 + np.max(np.abs(risk.y))
    grid = np.linspace(-span, span, 401)
    flat = [np.sum(risk.c * risk.loss.value(risk.y, np.full(risk.n, b))) for b in grid]
    return min(flat)


@pytest.mark.parametrize("C", [1.0, 1e4])
@pytest.mark.parametrize(
    ("loss", "solver"), pairs(REGRESSION + CLASSIFICATION), ids=lambda x: type(x).__name__
)
def test_no_limit_leaves_a_machine_worse_than_a_constant(loss, solver, C):
    risk = random_risk(loss, Gaussian(0.3), C=C)
    alone, last = value(risk, np.zeros(risk.n), fit_columns(risk)), np.inf
    for steps in STEPS:
        solver = type(solver)(**solver.get_params() | {"max_iter": steps, "tol": 1e-9})
        solution = minimize(risk, solver)
        now = value(risk, solution.a, solution.b)
        slack = ROUNDING * (1.0 + abs(alone))
        assert now <= alone + slack
        if not isinstance(solver, SMO):
            assert now <= min(progress.objective for progress in solution.history) + slack
        # Pair steps and the path lower the dual value: where their answer is worse than a constant,
        # what is best on the way to it need not be better after the next step.
        if not isinstance(solver, (SMO, InteriorPoint)):
            assert now <= last + slack
        last = now


@pytest.mark.parametrize("C", [1.0, 1e4])
def test_decomposition_that_is_told_to_stop_returns_the_best_it_has_reported(C):
    risk = random_risk(EpsilonInsensitive(0.2), Gaussian(0.3), n=60, C=C)
    for lines in (1, 2, 4, 8):
        heard = []

        def stop(progress, heard=heard, lines=lines):
            heard.append(progress.objective)
            return len(heard) == lines

        solution = minimize(risk, SMO(tol=1e-12), listener=stop)
        assert solution.objective <= min(heard) * (1 + ROUNDING)


@pytest.mark.parametrize("loss", REGRESSION + CLASSIFICATION, ids=lambda x: type(x).__name__)
def test_columns_alone_are_as_good_as_the_best_constant(loss):
    risk = random_risk(loss, n=12, seed=3)
    b = fit_columns(risk)
    assert value(risk, np.zeros(risk.n), b) <= constant(risk) * (1 + 1e-12)


@pytest.mark.parametrize("gram", [Dense, Tiled])
@pytest.mark.parametrize("columns", [0, 1, 3])
def test_conjugate_gradients_with_large_weights_get_better_with_every_step(gram, columns):
    """The first answer of a thin preconditioner was 2000 times worse than a constant."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=400)
    kernel, B = Laplacian(1.0), np.column_stack([np.ones(400), X])[:, :columns]
    K = Dense(kernel(X)) if gram is Dense else Tiled(kernel, X)
    risk = RegularizedRisk(Squared(), K, y, 300.0, B)
    alone = 150.0 * np.sum((y - B @ np.linalg.lstsq(B, y, rcond=None)[0]) ** 2)
    values = []
    for steps in range(12):
        solution = minimize(risk, ConjugateGradient(max_iter=steps, rank=10, tol=1e-9))
        values.append(value(risk, solution.a, solution.b))
    # Products in single precision are behind the tiled one.
    assert values[0] == pytest.approx(alone, rel=1e-12)
    assert np.all(np.diff(values) <= 1e-6 * alone)
    assert values[-1] < 0.5 * alone
    assert solution.status is Status.MAX_ITER


def test_targets_that_are_stopped_together_are_each_no_worse():
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(200, 3)), rng.normal(size=(3, 200))
    K, B = Dense(Laplacian(1.0)(X)), np.ones((200, 1))
    risks = [RegularizedRisk(Squared(), K, y, 1e3, B) for y in Y]
    for steps in (0, 1, 4):
        solver = ConjugateGradient(max_iter=steps, rank=5, tol=1e-9)
        for risk, solution in zip(risks, minimize_together(risks, solver), strict=True):
            alone = 500.0 * np.sum((risk.y - risk.y.mean()) ** 2)
            assert value(risk, solution.a, solution.b) <= alone * (1 + 1e-12)


def test_a_start_is_not_made_worse():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 3))
    risk = RegularizedRisk(
        Squared(), Dense(Laplacian(1.0)(X)), rng.normal(size=200), 1e3, np.ones((200, 1))
    )
    start = minimize(risk, ConjugateGradient(max_iter=6, rank=5, tol=1e-9))
    for steps in (0, 1, 2):
        solution = minimize(risk, ConjugateGradient(max_iter=steps, rank=5, tol=1e-9), start)
        assert solution.objective <= start.objective * (1 + 1e-9)


def test_the_warning_says_how_far_the_machine_is():
    risk = random_risk(Squared(), C=1e4)
    with pytest.warns(ConvergenceWarning, match=r"Duality gap .* at objective .*violation"):
        minimize(risk, ConjugateGradient(max_iter=1, tol=1e-9, preconditioner=None))
