"""What the suites run over: an entry here joins every suite that applies."""

import numpy as np
from numpy.typing import NDArray

from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Huber,
    HuberHinge,
    Logistic,
    Loss,
    PiecewisePolynomial,
    Pinball,
    Polynomial,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)

REGRESSION: list[Loss] = [
    Squared(),
    Absolute(),
    EpsilonInsensitive(0.2),
    SquaredEpsilonInsensitive(0.2),
    Huber(0.5),
    Pinball(0.3),
    Expectile(0.8),
    Polynomial(1.5),
    Polynomial(3.0, 0.1),
    PiecewisePolynomial(1.3, 0.5, 0.1),
    PiecewisePolynomial(2.5, 0.7),
]
CLASSIFICATION: list[Loss] = [Hinge(), SquaredHinge(), HuberHinge(0.5), Logistic()]
LOSSES = REGRESSION + CLASSIFICATION


def targets(loss: Loss, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw targets for a loss of the residual, labels for one of the margin."""
    y = rng.normal(size=n)
    return np.where(y > 0, 1.0, -1.0) if type(loss) in map(type, CLASSIFICATION) else y
