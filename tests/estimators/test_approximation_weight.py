"""The weight of an approximated least-squares machine, chosen in the pass that solves it."""

import numpy as np
import pytest

from mercer import LSSVC, LSSVR
from mercer.reduced import Nystrom
from mercer.reduced.nystrom import NystromMap


@pytest.mark.parametrize("machine", [LSSVR(C="auto"), LSSVC(C="auto")])
def test_free_weight_of_the_squared_loss_is_that_of_least_gcv(machine):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(400)
    y = y if isinstance(machine, LSSVR) else y > 0
    machine.set_params(gamma=0.5, approximation=Nystrom(40)).fit(X, y)
    phi = NystromMap(machine.kernel_, machine.support_vectors_)
    F = phi.features(phi.raw(X))
    targets = np.where(y, 1.0, -1.0) if y.dtype == bool else y

    def gcv(C: float) -> float:
        U = np.column_stack([F, np.ones(400)])
        penalty = np.diag(np.r_[np.ones(F.shape[1]), 0.0]) / C
        S = U @ np.linalg.solve(U.T @ U + penalty, U.T)
        r = targets - S @ targets
        return float(np.mean(r**2) / (1 - np.trace(S) / 400) ** 2)

    best = min(gcv(C) for C in np.geomspace(1e-3, 1e6, 181))
    assert gcv(machine.C_) <= best * (1 + 1e-3)
