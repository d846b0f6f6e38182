"""Semiparametric and conditionally positive definite machines against a conic solver."""

import numpy as np
import pytest

from cases import CLASSIFICATION, REGRESSION, accepted, targets
from mercer.gram import Dense
from mercer.kernels import Gaussian, Multiquadric, Polyharmonic, ThinPlate
from mercer.losses import Logistic, PolynomialLoss
from mercer.problems import RegularizedRisk
from mercer.regularizers import Breaks, Columns, Constant, Functions
from mercer.regularizers import Polynomial as Polynomials
from mercer.regularizers.null_space import complete
from mercer.solvers import minimize
from oracles.conic import solve

N = 30
KERNELS = [Gaussian(0.5), ThinPlate(), Multiquadric(0.4), Polyharmonic(3.0)]
SPACES = [
    Polynomials(1),
    Constant() + Columns([1]) + Functions([np.sin, np.cos], on=[0]),
    Polynomials(1) + Breaks([0.1]) + Breaks([-0.3], order=1, column=1),
]
# The conic solver has no exponential or power cone at 1e-8; these two are judged by their gap.
LOSSES = [
    loss for loss in REGRESSION + CLASSIFICATION if not isinstance(loss, Logistic | PolynomialLoss)
]


@pytest.mark.parametrize("space", SPACES, ids=["line", "waves", "breaks"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_every_loss_and_solver_agrees_with_a_conic_solver(kernel, space):
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.0, 1.0, (N, 2))
    B = complete(space, kernel.unpenalized(2), 2)(X)
    K = kernel(X)
    # On coefficients with B'a = 0 the matrix is that of its part off B, which has a root.
    U = np.linalg.qr(B)[0]
    P = np.eye(N) - U @ U.T
    values, vectors = np.linalg.eigh(P @ K @ P)
    G = vectors * np.sqrt(np.maximum(values, 0.0))
    for loss in LOSSES:
        y = 2.0 * X[:, 0] + np.sin(5.0 * X[:, 1]) + targets(loss, N, rng)
        y = np.where(y > 0, 1.0, -1.0) if loss in CLASSIFICATION else y
        risk = RegularizedRisk(loss, Dense(K), y, 2.0, B)
        reference = solve(risk, G)
        for solver in accepted(risk, 1e-8):
            solution = minimize(risk, solver)
            error = abs(solution.objective - reference.objective)
            assert error <= 1e-6 * (1.0 + abs(reference.objective)), (loss, solver)
            assert np.abs(B.T @ solution.a).max() <= 1e-8 * (1.0 + np.abs(solution.a).sum())
