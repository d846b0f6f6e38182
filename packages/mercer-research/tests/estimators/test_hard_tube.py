"""A tolerance that nothing exceeds, the smallest that there is, and the proof of it."""

import cvxpy as cp
import numpy as np
import pytest

from mercer import SVR
from mercer.kernels import Gaussian, Linear
from mercer.machines.solving import EarlyStop
from mercer_research.estimators import HardTubeSVR, InfeasibleTube
from mercer_research.programs import chebyshev
from mercer_research.programs.chebyshev import smallest_tube


@pytest.fixture(scope="module")
def rounded():
    X = np.linspace(0, 6, 40)[:, None]
    return X, np.round(np.sin(X[:, 0]) + 0.3 * X[:, 0], 1)


def test_the_flattest_function_within_the_tolerance(rounded):
    X, y = rounded
    machine = HardTubeSVR(0.05, Gaussian(1.0), tol=1e-7).fit(X, y)
    K = Gaussian(1.0)(X)
    w, b = cp.Variable(40), cp.Variable()
    values, vectors = np.linalg.eigh(K)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    held = [cp.abs(y - root @ w - b) <= 0.05]
    expected = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w)), held).solve(solver=cp.CLARABEL)
    r = y - machine.predict(X)
    assert np.max(np.abs(r)) <= 0.05 + 1e-7
    assert np.allclose(np.abs(r[machine.support_]), 0.05, atol=1e-6)
    # Within the gap, and what the conic solver leaves.
    assert abs(machine.solution_.objective - expected) <= machine.solution_.gap + 1e-7
    assert machine.solution_.relative_gap < 1e-3
    assert np.max(np.abs(machine.dual_coef_)) < machine.C_
    # It is the limit of the soft tube: no smaller norm, and the same from some C on.
    soft = SVR(kernel=Gaussian(1.0), epsilon=0.05, C=machine.C_, tol=1e-7).fit(X, y)
    assert np.allclose(soft.predict(X), machine.predict(X), atol=1e-5)
    loose = SVR(kernel=Gaussian(1.0), epsilon=0.05, C=0.1, tol=1e-7).fit(X, y)
    assert loose.solution_.a @ loose.solution_.f < 2 * machine.solution_.objective


def test_two_targets_of_one_point():
    X, y = np.array([[0.0], [1.0], [1.0], [2.0]]), np.array([0.0, 1.0, 1.6, 0.0])
    with pytest.raises(InfeasibleTube, match="smallest tolerance") as failure:
        HardTubeSVR(0.2, Gaussian(1.0)).fit(X, y)
    found = failure.value
    assert found.smallest == pytest.approx(0.3, rel=1e-9)
    beta = found.certificate
    assert np.allclose(Gaussian(1.0)(X) @ beta, 0.0, atol=1e-12)
    assert abs(beta.sum()) < 1e-12
    assert y @ beta - 0.2 * np.abs(beta).sum() > 0
    machine = HardTubeSVR(0.3, Gaussian(1.0), tol=1e-6).fit(X, y)
    assert machine.epsilon_min_ == pytest.approx(0.3, rel=1e-9)
    assert np.max(np.abs(y - machine.predict(X))) <= 0.3 + 1e-5
    # A sample without weight has no tolerance.
    lighter = HardTubeSVR(0.01, Gaussian(1.0), tol=1e-6).fit(X, y, [1.0, 1.0, 0.0, 1.0])
    assert lighter.epsilon_min_ == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_the_smallest_tube_is_the_chebyshev_fit(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    B = np.ones((30, 1))
    found = smallest_tube(Linear()(X), y, B)
    w, b = cp.Variable(3), cp.Variable()
    expected = cp.Problem(cp.Minimize(cp.norm_inf(y - X @ w - b))).solve(solver=cp.CLARABEL)
    assert found.epsilon == pytest.approx(expected, rel=1e-6)
    assert np.abs(found.certificate).sum() == pytest.approx(1.0, rel=1e-12)
    assert np.allclose(X.T @ found.certificate, 0.0, atol=1e-10)
    assert smallest_tube(np.eye(30), y, B).epsilon == 0.0


# Coefficients of 1e11 have no gap.
@pytest.mark.filterwarnings("ignore:.*double precision cannot tell")
@pytest.mark.parametrize("points", ["plane", "line"])
def test_no_proof_is_given_against_a_function_that_exists(points):
    rng = np.random.default_rng(0)
    if points == "plane":
        x, y, width = rng.normal(size=(60, 2)), rng.choice([-1.0, 1.0], 60), 1.0
    else:
        x, y, width = np.linspace(0, 4, 20)[:, None], rng.choice([-1.0, 1.0], 20), 0.6
    K = Gaussian(width)(x)
    assert np.max(np.abs(K @ np.linalg.solve(K, y) - y)) < 1e-3
    machine = HardTubeSVR(epsilon=0.05, kernel=Gaussian(width)).fit(x, y)
    # The solver keeps the walls to tol = 1e-3.
    assert np.max(np.abs(machine.predict(x) - y)) <= 0.05 + 1e-3
    assert machine.epsilon_min_ < 1e-3


def test_a_tube_that_is_reached_needs_no_linear_program(rounded, monkeypatch):
    monkeypatch.setattr(chebyshev, "linear_program", None)
    X, y = rounded
    machine = HardTubeSVR(0.05, Gaussian(1.0)).fit(X, y)
    assert machine.epsilon_min_ <= 0.05


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_proofs_hold_for_conic_programs(seed, offset):
    """Planes through noise: a tube narrower than the Chebyshev fit is refused, a wider one not."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(25, 2)), rng.normal(size=25)
    w, b = cp.Variable(2), cp.Variable()
    best = cp.Problem(cp.Minimize(cp.norm_inf(y - X @ w - b))).solve(solver=cp.CLARABEL)
    with pytest.raises(InfeasibleTube) as caught:
        HardTubeSVR(0.9 * best, Linear(), tol=1e-6).fit(X, y + offset)
    # Squares of the targets' offset take digits of the values: eps times 1e4.
    assert caught.value.smallest == pytest.approx(best, rel=1e-7, abs=1e-11 * offset)
    machine = HardTubeSVR(1.1 * best, Linear(), tol=1e-6).fit(X, y + offset)
    assert np.max(np.abs(machine.predict(X) - y - offset)) <= 1.1 * best + 2e-6


def noisy(n):
    """Noise that a tube of .1 follows from sample to sample."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)


def test_a_narrow_tube_takes_few_steps():
    """Weights grew by a hundred, with half a million pair steps at each and a path after them."""
    X, y = noisy(400)
    machine = HardTubeSVR(0.1, Gaussian(1.58)).fit(X, y)
    a, K = machine.solution_.a, Gaussian(1.58)(X)
    r = y - machine.predict(X)
    # Both values of the problem without a weight, from its own definition: they enclose the norm.
    dual = a @ y - 0.1 * np.abs(a).sum() - 0.5 * a @ K @ a
    assert abs(a.sum()) <= 1e-12 * np.abs(a).sum()
    assert np.max(np.abs(r)) <= 0.1 + 1e-3
    assert 0.5 * a @ K @ a == pytest.approx(dual, rel=1e-6)
    # The trial of pair steps, and one path.
    assert machine.solution_.n_iter <= 50_000 + 50
    assert np.max(np.abs(a)) < machine.C_ < 100 * np.max(np.abs(a))


def test_a_wide_tube_takes_pair_steps_only():
    X, y = noisy(400)
    machine = HardTubeSVR(2.0, Gaussian(1.58)).fit(X, y)
    assert machine.solution_.solver == "SMO"
    assert np.max(np.abs(y - machine.predict(X))) <= 2.0 + 1e-3


def test_a_tube_ends_at_the_limit_of_its_steps():
    X, y = noisy(100)
    with pytest.warns(EarlyStop, match="Solver terminated early"):
        HardTubeSVR(0.2, Gaussian(1.58), solver="smo", max_time=1e-9).fit(X, y)


@pytest.mark.filterwarnings("ignore:Solver terminated early", "ignore:InteriorPoint meets tol")
@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([0.0, 1e-9, 1.0], [-1.0, 1.0, 0.3]),
        ([0.0, 1e-7, 1.0], [-1.0, 1.0, 0.3]),
        (np.linspace(0.0, 0.5, 8), [-1.0, 1.0, 1.0, -1.0, 1.0, -1.0, -1.0, 1.0]),
    ],
    ids=["1e-9", "1e-7", "flat"],
)
def test_a_tube_beyond_double_precision_is_not_decided(x, y):
    """A Gaussian tells distinct points apart, so no proof may be given; nor may a wrong fit."""
    X, y = np.array(x)[:, None], np.array(y)
    with pytest.raises(ValueError, match="is not decided: the fit has errors of up to") as caught:
        HardTubeSVR(0.05, Gaussian(1.0)).fit(X, y)
    assert not isinstance(caught.value, InfeasibleTube)
    # Zero is within 1 of all targets.
    wide = HardTubeSVR(1.0, Gaussian(1.0)).fit(X, y)
    assert np.max(np.abs(wide.predict(X) - y)) <= 1.0 + 1e-3
