"""Starts on some of the rows, and products in single precision that are noise."""

import time
from typing import Any

import numpy as np
import pytest

from mercer._deadline import deadline
from mercer.data import as_source, draw
from mercer.kernels import Gaussian
from mercer.losses import Huber, Logistic, Loss, Squared, SquaredHinge
from mercer.reduced import newton
from mercer.reduced.newton import MAX_SLOW_STEPS, STILL_STEPS, Minimum, Newton
from mercer.reduced.nystrom import NystromMap
from mercer.reduced.oracle import Oracle
from mercer.reduced.passes import Passes
from mercer.reduced.problem import Problem, Values
from mercer.regularizers.null_space import Constant
from mercer.solvers.monitor import Progress
from mercer.solvers.status import Status

N, M, K = 3000, 25, 2


def oracle_of(
    loss: Loss, width: float, C: float = 1.0, drawn: int = 300, m: int = M
) -> tuple[Oracle, Passes]:
    """Return a problem whose curvature is estimated, from more or fewer of the rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    Y = np.sin(2.0 * X[:, :K]) + 0.3 * rng.normal(size=(N, K))
    if isinstance(loss, SquaredHinge | Logistic):
        Y = np.where(Y > 0, 1.0, -1.0)
    source = as_source(X, Y)
    phi = NystromMap(Gaussian(width), draw(source, m, 0).X)
    passes = Passes(source, n_jobs=1)
    problem = Problem(phi, Constant(), Values(K), loss, np.array([C, 3.0 * C]), 3)
    oracle = Oracle(problem, passes, draw(source, drawn, 0))
    oracle.dense = False
    return oracle, passes


def minimum(oracle: Oracle, tol: float) -> Minimum:
    W, b = np.zeros((oracle.problem.map.r, K)), np.zeros((1, K))
    return Newton(tol=tol).minimize(oracle, W, b)


@pytest.mark.parametrize("loss", [Squared(), Logistic(), SquaredHinge(), Huber(0.2)], ids=repr)
def test_a_start_on_some_rows_changes_nothing(loss: Loss, monkeypatch: pytest.MonkeyPatch) -> None:
    tol = 1e-5
    oracle, passes = oracle_of(loss, 1.5)
    begun = minimum(oracle, tol)
    plain, without = oracle_of(loss, 1.5)
    monkeypatch.setattr(Oracle, "of_pool", lambda self: None)
    found = minimum(plain, tol)
    assert begun.status == found.status == Status.CONVERGED
    if isinstance(loss, Squared):
        # Two passes tell a good start from a bad one; of other losses, many things do.
        assert passes.count < without.count
    assert begun.value is not None
    assert found.value is not None
    for value in (begun.value, found.value):
        assert np.all(value.gap <= tol * value.primal)
    # Both are between the minimum and tol of it above.
    np.testing.assert_allclose(begun.value.primal, found.value.primal, rtol=tol)


def test_no_start_where_rows_of_the_pool_stand_for_few() -> None:
    assert oracle_of(Squared(), 1.5, drawn=1000)[0].of_pool() is None
    few = oracle_of(Squared(), 1.5)[0].of_pool()
    assert few is not None
    np.testing.assert_allclose(few.problem.C, 10.0 * np.array([1.0, 3.0]))


def test_the_start_minimizes_what_the_rows_of_the_pool_stand_for() -> None:
    oracle, _ = oracle_of(Squared(), 1.5)
    few = oracle.of_pool()
    assert few is not None
    found = minimum(few, 1e-9)
    pool, phi = oracle.pool, oracle.problem.map
    U = np.hstack([phi.features(phi.raw(pool.X)), np.ones((300, 1))])
    for j, C in enumerate(10.0 * oracle.problem.C):
        penalty = np.diag([1.0] * phi.r + [0.0])
        exact = np.linalg.solve(penalty + C * U.T @ U, C * U.T @ pool.y[:, j])
        value = np.append(found.W[:, j], found.b[:, j])
        # The gap bounds |w - w*|^2 / 2.
        assert np.linalg.norm(value - exact) <= 1e-3 * np.linalg.norm(exact)


@pytest.mark.parametrize("loss", [Squared(), Huber(0.2)], ids=repr)
def test_noise_of_single_precision_is_noticed(loss: Loss, monkeypatch: pytest.MonkeyPatch) -> None:
    # Centres much nearer to each other than the width: coefficients of 1e5 and more cancel.
    oracle, _ = oracle_of(loss, 4.0, C=30.0, m=80)
    precisions = []
    product = Oracle.product

    def spy(self: Oracle, *args: object) -> object:
        precisions.append(args[-1])
        return product(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Oracle, "product", spy)
    found = minimum(oracle, 1e-4)
    assert found.status == Status.CONVERGED
    assert found.value is not None
    assert np.all(found.value.gap <= 1e-4 * found.value.primal)
    # Had it not been, steps would have been as long as they may, in vain.
    assert precisions[0]
    assert not precisions[-1]
    assert len(precisions) <= newton.MAX_DIRECTIONS


@pytest.mark.parametrize(
    ("fall", "halving", "end"),
    [
        (0.0, STILL_STEPS - 1, None),
        (0.0, STILL_STEPS + 1, STILL_STEPS),
        (1e-3, STILL_STEPS + 1, None),
        (1e-3, MAX_SLOW_STEPS + 1, MAX_SLOW_STEPS),
    ],
)
def test_a_search_ends_where_neither_objective_nor_gap_falls(
    fall: float, halving: int, end: int | None
) -> None:
    """An objective that falls by this part in a step, and a gap that halves in so many steps."""
    oracle, _ = oracle_of(Squared(), 1.5)
    found = Minimum(np.zeros((M, K)), np.zeros((1, K)))
    found.value = oracle.evaluate(found.W, found.b, "start", False)
    descent = newton._Descent(Newton(), oracle, found)
    ended = None
    for step in range(3 * MAX_SLOW_STEPS):
        found.known = np.full((M, K), float(step)), found.b
        now = Progress(step, (1.0 - fall) ** step, 0.5 ** (step // halving), 0.0, 0.0)
        if descent._still(now):
            ended = step
            break
    assert ended == end
    if ended is not None:
        # Back at the first point of the least gap, or of the least objective at this gap.
        np.testing.assert_array_equal(found.W, float(ended if fall else 0))


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Huber(0.2)], ids=repr)
def test_at_most_two_passes_end_after_the_deadline(
    loss: Loss, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock that only passes over the rows move, a second each."""
    now, call = [0.0], Passes.__call__

    def slow(*args: Any, **kwargs: Any) -> Any:
        now[0] += 1.0
        return call(*args, **kwargs)

    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(Passes, "__call__", slow)
    monkeypatch.setattr(Oracle, "of_pool", lambda self: None)
    lowest = []
    for limit in (1.5, 3.5, 6.5, 9.5, 1000.0):
        oracle, _ = oracle_of(loss, 1.5)
        now[0] = 0.0
        with deadline(limit):
            found = minimum(oracle, 1e-9)
        # A product that was begun, the value where it leads, and the balance of its slopes.
        assert now[0] <= limit + 3.0
        assert found.status is (Status.MAX_TIME if limit < 1000.0 else Status.CONVERGED)
        assert found.value is not None
        again = oracle.evaluate(found.W, found.b)
        np.testing.assert_allclose(found.value.primal, again.primal, rtol=1e-9)
        lowest.append(float(np.sum(found.value.primal)))
    assert lowest[-1] < lowest[0]
