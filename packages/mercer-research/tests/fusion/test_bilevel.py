"""Two levels in one program, against the closed form of a scalar one and grids."""

import numpy as np
import pytest

from mercer_research.fusion import BilevelProgram


def scalar(Q, q, F, f):
    """Example 2.3: the inner bound c is chosen for the outer errors."""
    one, none = np.ones((1, 1)), np.zeros((1, 1))
    return BilevelProgram(
        G=Q @ Q * one,
        g=-np.array([Q @ q]),
        T=none,
        A=one,
        u=np.zeros(1),
        U=one,
        P=np.diag([F @ F, 0.0]),
        p=np.array([-F @ f, 0.0]),
    )


@pytest.mark.parametrize("strategy", ["bnb", "penalty"])
@pytest.mark.parametrize("seed", range(6))
def test_scalar_reference(seed, strategy):
    rng = np.random.default_rng(seed)
    Q, q, F, f = rng.normal(size=(4, 5))
    found = scalar(Q, q, F, f).solve(strategy)
    x = min(F @ f / (F @ F), Q @ q / (Q @ Q))
    alpha = Q @ q - Q @ Q * x
    # SLSQP's precision of the objective, 1e-13, is its root in a variable.
    assert found.x[0] == pytest.approx(x, abs=1e-5)
    assert found.alpha[0] == pytest.approx(alpha, abs=1e-5 * (1 + Q @ Q))
    assert scalar(Q, q, F, f).inner(found.theta)[0] == pytest.approx(x, abs=1e-5)
    if alpha > 1e-4:
        assert found.theta[0] == pytest.approx(x, abs=1e-5)
    else:
        assert found.theta[0] >= x - 1e-5
    assert found.complementarity < 1e-6
    assert found.residual < 1e-6
    assert found.certified == (strategy == "bnb")


@pytest.mark.parametrize("seed", range(3))
def test_no_point_of_a_grid_is_better(seed):
    rng = np.random.default_rng(seed)
    R, S = rng.normal(size=(2, 4, 3))
    program = BilevelProgram(
        G=R.T @ R,
        g=rng.normal(size=3),
        T=np.zeros((3, 1)),
        A=np.vstack([np.eye(3), -np.eye(3)]),
        u=np.zeros(6),
        U=np.ones((6, 1)),
        P=np.block([[S.T @ S, np.zeros((3, 1))], [np.zeros((1, 3)), 1e-3 * np.ones((1, 1))]]),
        p=np.append(rng.normal(size=3), 0.0),
    )
    found = program.solve()
    grid = np.linspace(0.0, 3.0, 60)
    values = [program.criterion(np.array([c])) for c in grid]
    assert found.certified
    assert found.value <= min(values) + 1e-6
    # The answer is one of the inner program, for the hyperparameter that comes with it.
    np.testing.assert_allclose(program.inner(found.theta), found.x, atol=1e-4)
    assert program.criterion(found.theta) == pytest.approx(found.value, abs=1e-4)
    assert program.solve("relax").lower_bound <= found.value + 1e-9
