"""What few functions cost: the quadratic form written out, and what samples say of it."""

from typing import Any

import numpy as np
import pytest

from mercer.data import as_source, draw
from mercer.data.sampling import FingerprintSample
from mercer.kernels import Gaussian, ThinPlate
from mercer.losses import Hinge, Logistic, Loss, Squared
from mercer.reduced import approximation_error as cost_module
from mercer.reduced.approximation_error import approximation_cost
from mercer.reduced.nystrom import NystromMap
from mercer.reduced.problem import Problem, Values
from mercer.regularizers import Constant

N, M = 800, 10
KERNEL = Gaussian(1.0)


def rows() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(N) > 0, 1.0, -1.0)
    return X, y, rng.uniform(0.2, 1.0, N)


def slopes_of(some: Any) -> Any:
    """Return slopes of the hinge at some rows."""
    return -(rows()[1] * np.linspace(0.0, 1.0, N))[some]


def asked(loss: Loss, pool: FingerprintSample) -> tuple[Problem, dict[str, Any]]:
    phi = NystromMap(KERNEL, pool.X[:M], np.arange(M))
    rng = np.random.default_rng(1)
    state: dict[str, Any] = {"A": 0.1 * rng.normal(size=(M, 1)), "b": np.array([[0.2]])}
    if not loss.smooth:  # slopes at the rows of the pool are known
        state |= {"slopes": slopes_of(pool.rows)[None, :, None], "rows": pool.rows}
    return Problem(phi, Constant(), Values(1), loss, np.array([0.7]), 2), state


def written_out(loss: Loss, problem: Problem, state: dict[str, Any]) -> float:
    X, y, s = rows()
    f = (problem.map.raw(X) @ state["A"] + state["b"])[:, 0]
    slope = loss.gradient(y, f) if loss.smooth else slopes_of(np.arange(N))
    a = -0.7 * s * slope
    phi = problem.map.features(problem.map.raw(X))
    return 0.5 * float(a @ ((KERNEL(X) - phi @ phi.T) @ a))


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Hinge()], ids=repr)
def test_all_rows_give_the_form_itself(loss: Loss) -> None:
    X, y, s = rows()
    pool = draw(as_source(X, y, s), N)
    problem, state = asked(loss, pool)
    found = approximation_cost(KERNEL, problem, state, pool)
    np.testing.assert_allclose(found.value, written_out(loss, problem, state), rtol=1e-9)
    assert found.error == 0.0


@pytest.mark.parametrize("loss", [Squared(), Hinge()], ids=repr)
def test_samples_estimate_it_within_their_errors(
    loss: Loss, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cost_module, "COST_ROWS", 300)
    X, y, s = rows()
    estimates, errors, truths = [], [], []
    for seed in range(30):
        pool = draw(as_source(X, y, s), 400, seed)
        problem, state = asked(loss, pool)
        found = approximation_cost(KERNEL, problem, state, pool)
        estimates.append(found.value)
        errors.append(found.error)
        truths.append(written_out(loss, problem, state))
    off = np.array(estimates) - np.array(truths)
    # Each within four of its standard errors, and all of them on average within four of theirs.
    assert np.all(np.abs(off) <= 4 * np.array(errors))
    assert abs(off.mean()) <= 4 * np.sqrt(np.mean(np.square(errors)) / len(off))
    # The errors are those of the estimates, within a factor that 30 of them let tell.
    ratio = np.sqrt(np.mean(off**2) / np.mean(np.square(errors)))
    assert 0.3 < ratio < 2.0


def test_nothing_is_said_where_nothing_is_known() -> None:
    X, y, s = rows()
    pool = draw(as_source(X, y, s), N)
    problem, state = asked(Squared(), pool)
    assert np.isnan(approximation_cost(ThinPlate(), problem, state, pool).value)
    few = draw(as_source(X, y, s), M + 8)
    assert np.isnan(approximation_cost(KERNEL, problem, state, few).value)
