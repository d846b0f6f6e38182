"""The law of the family: the more machines a set holds, the less the best of them errs."""

import itertools

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer_research.fusion import (
    Decomposition,
    FusedLSSVR,
    ValidationPath,
    minimize_over_hull,
    relax,
    shrinkage,
)

N, HELD_OUT = 40, 30


def sample(seed, intercept=True):
    """Return targets, what a validation set sees of every filter, and the freest machine's cost."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (N + HELD_OUT, 1))
    y = np.sinc(X) + np.sqrt(0.1) * rng.standard_normal((N + HELD_OUT, 1))
    B = np.ones((N + HELD_OUT, int(intercept)))
    K, T, V = Gaussian(rng.uniform(0.4, 1.2))(X), slice(N), slice(N, None)
    part = Decomposition(K[T, T], B[T]).against(y[T], K[V, T], B[V], y[V])
    rows = np.c_[K[V, T], B[V]]
    left = y[V] - rows @ np.linalg.lstsq(rows, y[V], rcond=None)[0]
    return part, float(np.sum(left**2))


@pytest.mark.parametrize("seed", range(20))
def test_attained_costs_fall_along_the_chain(seed):
    part, free = sample(seed, intercept=seed % 2 == 0)
    path = ValidationPath([part])
    hull, tight, loose = minimize_over_hull(path), relax(part), relax(part, tight=False)
    costs = [path.minimum().cost, hull.cost, tight.cost, loose.cost, free]
    # Each is known up to its certified gap; costs are sums of 30 squares of size 0.1.
    slack = 1e-6 * costs[0]
    assert hull.gap < slack
    assert tight.cost - tight.lower_bound < slack
    assert loose.cost - loose.lower_bound < slack
    assert all(before >= after - slack for before, after in itertools.pairwise(costs))
    # Sets that differ have different minima, so that no two strategies are one.
    assert costs[2] < 0.999 * costs[0]
    assert free < 0.9 * costs[3] < 0.9 * costs[2] * (1 + 1e-6)


def test_mixtures_of_machines_satisfy_both_inequalities():
    part, _ = sample(3)
    hull = minimize_over_hull(ValidationPath([part]))
    mu = hull.weights @ shrinkage(part.values, hull.labels)
    assert len(hull.labels) > 1
    assert np.all(np.diff(mu) <= 0)
    assert np.all(np.diff(mu / part.values) >= 0)


def test_strategies_of_the_estimator_are_ordered_too():
    rng = np.random.default_rng(1)
    X = rng.uniform(-3, 3, (70, 1))
    y = np.sinc(X[:, 0]) + 0.3 * rng.standard_normal(70)
    machines = [
        FusedLSSVR(Gaussian(0.5), strategy=strategy, tight=tight).fit(
            X[:40], y[:40], X_val=X[40:], y_val=y[40:]
        )
        for strategy, tight in (("path", True), ("hull", True), ("spectral", True))
    ]
    attained = [np.sum((y[40:] - m.predict(X[40:])) ** 2) for m in machines]
    np.testing.assert_allclose(attained, [m.cost_ for m in machines], rtol=1e-7)
    assert attained == sorted(attained, reverse=True)
    path, hull, spectral = machines
    assert hull.lower_bound_ <= path.cost_
    assert spectral.lower_bound_ <= path.cost_ <= spectral.upper_bound_
