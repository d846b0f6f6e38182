"""What a run that was stopped returns, beside minimization by SciPy and over fine grids."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from mercer.gram import Dense
from mercer.kernels import Gaussian
from mercer.losses import Absolute, Hinge, Logistic, Squared
from mercer.problems import RegularizedRisk
from mercer.problems.fallback import fit_columns, pull_back

N = 30


def problem(loss, B=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=N) + 1.0
    if not isinstance(loss, Squared | Absolute):
        y = np.where(y > 0.8, 1.0, -1.0)
    B = np.ones((N, 1)) if B is None else B
    return RegularizedRisk(loss, Dense(Gaussian()(X)), y, rng.uniform(0.5, 2.0, N), B)


@pytest.mark.parametrize("loss", [Squared(), Absolute(), Logistic(), Hinge()], ids=repr)
@pytest.mark.parametrize("scale", [-1e3, 1e-3, 1.0])
def test_one_column_is_fitted_to_the_lowest_risk(loss, scale):
    risk = problem(loss, np.full((N, 1), scale))
    best = minimize_scalar(lambda t: risk.risk(np.full(N, t)), bracket=(-3.0, 3.0), tol=1e-12)
    (b,) = fit_columns(risk)
    assert risk.risk(risk.B[:, 0] * b) <= best.fun * (1 + 1e-12)


@pytest.mark.parametrize("loss", [Squared(), Absolute(), Logistic(), Hinge()], ids=repr)
@pytest.mark.parametrize("size", [0.5, 3.0, 40.0])
def test_the_lowest_point_of_the_segment_is_returned(loss, size):
    risk = problem(loss)
    rng = np.random.default_rng(1)
    a, b = size * (0.1 * risk.y + 0.1 * rng.normal(size=N)), np.array([5.0])
    Ka = risk.K.matvec(a)
    primal = 0.5 * a @ Ka + risk.risk(Ka + risk.B @ b)
    alone = fit_columns(risk)
    assert primal > risk.risk(risk.B @ alone)
    found, c, Kc = pull_back(risk, a, b, Ka, primal)
    t = float(found[0] / a[0])
    np.testing.assert_allclose(found, t * a, rtol=1e-12)
    np.testing.assert_allclose(c, (1 - t) * alone + t * b, rtol=1e-12)
    np.testing.assert_allclose(Kc, risk.K.matvec(found), rtol=1e-9, atol=1e-12)
    value = 0.5 * found @ Kc + risk.risk(Kc + risk.B @ c)
    # 20,001 points: beside the best of them the convex function is at most a little lower.
    grid = [
        s * s * 0.5 * a @ Ka + risk.risk(s * Ka + risk.B @ ((1 - s) * alone + s * b))
        for s in np.linspace(0.0, 1.0, 20001)
    ]
    assert value <= min(grid) * (1 + 1e-9)


def test_what_is_better_than_the_columns_alone_stays():
    risk = problem(Squared())
    alone = fit_columns(risk)
    a = 1e-3 * risk.c * (risk.y - risk.B @ alone)
    Ka = risk.K.matvec(a)
    primal = 0.5 * a @ Ka + risk.risk(Ka + risk.B @ alone)
    assert primal < risk.risk(risk.B @ alone)
    found = pull_back(risk, a, alone, Ka, primal)
    assert all(one is other for one, other in zip(found, (a, alone, Ka), strict=True))
