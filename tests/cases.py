"""What the suites run over: an entry here joins every suite that applies."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cases_kernels import GRAMS, KERNELS, NULL_SPACES
from mercer.gram import Dense
from mercer.kernels import Gaussian, Kernel
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Huber,
    HuberHinge,
    LogCosh,
    Logistic,
    Loss,
    PiecewisePolynomial,
    Pinball,
    PolynomialLoss,
    PowerHinge,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from mercer.losses.interval import within
from mercer.problems import RegularizedRisk
from mercer.regularizers import Constant, NullSpace
from mercer.regularizers.null_space import complete
from mercer.solvers import (
    SMO,
    ConjugateGradient,
    CoordinateDescent,
    Direct,
    InteriorPoint,
    Newton,
    Solver,
)
from mercer.solvers.primal_newton import PrimalNewton
from mercer.solvers.reweighting import Reweighting
from mercer.solvers.row_descent import RowDescent
from mercer.solvers.thin import ThinInteriorPoint

__all__ = [
    "CLASSIFICATION",
    "GRAMS",
    "KERNELS",
    "LOSSES",
    "NULL_SPACES",
    "REGRESSION",
    "SOLVERS",
    "accepted",
    "pairs",
    "random_risk",
    "targets",
]

REGRESSION: list[Loss] = [
    Squared(),
    Absolute(),
    EpsilonInsensitive(0.2),
    SquaredEpsilonInsensitive(0.2),
    Huber(0.5),
    LogCosh(0.6),
    Pinball(0.3),
    Expectile(0.8),
    PolynomialLoss(1.5),
    PolynomialLoss(3.0, 0.1),
    PiecewisePolynomial(1.3, 0.5, 0.1),
    PiecewisePolynomial(2.5, 0.7),
    within(Huber(0.5), 0.1, 0.3),
    within(LogCosh(0.6), -0.2, 0.4),
]
CLASSIFICATION: list[Loss] = [
    Hinge(),
    SquaredHinge(),
    HuberHinge(0.5),
    Logistic(),
    PowerHinge(1.5),
    PowerHinge(3.0),
]
LOSSES = REGRESSION + CLASSIFICATION

SOLVERS: list[Solver] = [
    Direct(),
    ConjugateGradient(),
    ConjugateGradient(preconditioner="jacobi"),
    CoordinateDescent(),
    InteriorPoint(),
    Newton(),
    PrimalNewton(),
    Newton(max_bytes=3000.0, rank=8),  # too little to factorize more than 19 samples
    Reweighting(),
    RowDescent(),
    SMO(),
    ThinInteriorPoint(),
]


def targets(loss: Loss, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw targets for a loss of the residual, labels for one of the margin."""
    y = rng.normal(size=n)
    return np.where(y > 0, 1.0, -1.0) if type(loss) in map(type, CLASSIFICATION) else y


def random_risk(
    loss: Loss,
    kernel: Kernel | None = None,
    null_space: NullSpace | None = None,
    n: int = 30,
    seed: int = 0,
    C: float = 1.0,
    *,
    weights: bool = True,
    duplicates: bool = False,
    tiny_class: bool = False,
) -> RegularizedRisk:
    """Draw a problem.

    Parameters
    ----------
    loss, kernel, null_space
        Its parts; a Gaussian kernel and an intercept unless told.
    n, seed, C
        Its size, its random numbers, and the largest weight of a loss.
    weights : bool
        Whether weights vary over a factor of ten, two of them being zero.
    duplicates : bool
        Whether a quarter of the points occurs twice, with targets of their own.
    tiny_class : bool
        Whether all labels but two are equal.
    """
    rng = np.random.default_rng(seed)
    kernel, null_space = kernel or Gaussian(1.0), null_space or Constant()
    X = rng.normal(size=(n, 3))
    if duplicates:
        X[-(n // 4) :] = X[: n // 4]
    y = targets(loss, n, rng)
    if tiny_class and type(loss) in map(type, CLASSIFICATION):
        y = np.where(np.arange(n) < 2, -1.0, 1.0)
    c = np.full(n, C)
    if weights:
        c = C * 10 ** rng.uniform(-1.0, 0.0, n)
        c[rng.integers(0, n, 2)] = 0.0
    B = complete(null_space, kernel.unpenalized(3), 3)(X)
    return RegularizedRisk(loss, Dense(kernel(X)), y, c, B)


def accepted(risk: RegularizedRisk, tol: float) -> list[Solver]:
    """Return the solvers that take a problem, at a tolerance."""
    return [replace(solver, tol=tol) for solver in SOLVERS if solver.accepts(risk)]


def pairs(losses: list[Loss]) -> list[tuple[Loss, Solver]]:
    """Return every loss with every solver that takes it, with an intercept."""
    return [
        (loss, solver)
        for loss in losses
        for solver in SOLVERS
        if solver.accepts(random_risk(loss, n=4))
    ]
