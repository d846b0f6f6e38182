"""Principal manifolds: descent, oracles of special cases, and coordinates of new points."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.manifold import (
    Circle,
    PrincipalManifold,
)

QUIET = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
pytestmark = pytest.mark.filterwarnings("ignore:the manifold explains")


def wave(n=100, noise=0.1, seed=0):
    """Points around a sine, as in the experiments of the paper."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1, 1, n)
    return np.c_[t, np.sin(np.pi * t)] + noise * rng.normal(size=(n, 2))


def ring(n=100, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 2 * np.pi, n)
    return np.c_[np.cos(t), np.sin(t)] + noise * rng.normal(size=(n, 2))


# Rounding grows from one iteration to the next, and the nearest image of some rows is flat.
WEIGHTS = {"check_sample_weight_equivalence_on_dense_data": "seven digits of a local minimum"}


@parametrize_with_checks(
    [
        PrincipalManifold(max_iter=9, tol=0.1),
        PrincipalManifold(Circle(6), max_iter=9, tol=0.1, cost="huber"),
    ],
    expected_failed_checks=lambda made: {} if made.cost == "squared" else WEIGHTS,
)
def test_scikit_learn_compatible(estimator, check):
    check(estimator)
