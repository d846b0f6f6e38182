"""Reweighted least squares: the minimum of other solvers, falling objectives, honest gaps."""

import numpy as np
import pytest

from cases import random_risk
from mercer.gram import Dense
from mercer.gram.low_rank import LowRank
from mercer.kernels import ThinPlate
from mercer.losses import Absolute, Huber, LogCosh, Squared
from mercer.problems import RegularizedRisk
from mercer.solvers import ConvergenceWarning, InteriorPoint, Newton, Status, minimize
from mercer.solvers import reweighting as module
from mercer.solvers.reweighting import Reweighting

LOSSES = [Huber(0.1345), Huber(np.linspace(0.05, 0.5, 80)), LogCosh(0.12), Squared()]


def sinc(n=80, outliers=8, seed=0):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-3, 3, n))
    y = np.sinc(x) + 0.1 * rng.normal(size=n)
    y[rng.permutation(n)[:outliers]] += rng.uniform(-10, 10, outliers)
    return x, y


def problem(loss, n=80, c=10.0, **options):
    x, y = sinc(n, **options)
    K = Dense(np.exp(-0.5 * (x[:, None] - x) ** 2))
    return RegularizedRisk(loss, K, y, c, np.c_[np.ones(n), x])


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_is_the_minimum(loss, weighted):
    c = np.random.default_rng(1).integers(0, 4, size=80) * 5.0 if weighted else 10.0
    risk = problem(loss, c=c)
    ours = minimize(risk, Reweighting(tol=1e-9))
    other = minimize(risk, Newton(tol=1e-10))
    # Both are within their tolerances of one function, in units of y.
    np.testing.assert_allclose(ours.f, other.f, atol=1e-8)
    assert ours.status is Status.CONVERGED
    assert ours.gap <= 1e-8 * (1 + ours.objective)


def test_is_the_quadratic_program():
    risk = problem(Huber(0.1345))
    ours, qp = minimize(risk, Reweighting(tol=1e-9)), minimize(risk, InteriorPoint(tol=1e-9))
    np.testing.assert_allclose(ours.a, qp.a, atol=1e-7)  # ten times the function, which C scales
    assert np.max(np.abs(ours.a)) == 10.0 * 0.1345


@pytest.mark.parametrize("loss", LOSSES[:3], ids=repr)
@pytest.mark.parametrize("damping", [0.0, 0.5])
def test_objectives_fall_and_gaps_bound_what_is_left(loss, damping):
    risk = problem(loss)
    solution = minimize(risk, Reweighting(tol=1e-8, damping=damping))
    objectives = np.array([progress.objective for progress in solution.history])
    gaps = np.array([progress.gap for progress in solution.history])
    rounding = 1e-13 * solution.objective
    assert np.all(np.diff(objectives) <= rounding)
    assert np.all(gaps >= objectives - solution.objective - rounding)
    assert len(objectives) > 4


def test_damping_does_not_change_the_limit():
    risk = problem(Huber(0.1345))
    one, other = (minimize(risk, Reweighting(tol=1e-9, damping=rho)) for rho in (0.0, 0.7))
    np.testing.assert_allclose(one.f, other.f, atol=1e-8)
    assert other.n_iter > one.n_iter


def test_printed_weights_have_another_limit():
    """Matching the value of the loss, as eq. (3.65) does, is another estimator."""
    risk = problem(Huber(0.1345))
    huber = minimize(risk, Reweighting(tol=1e-9))

    def printed(r):
        value = np.where(np.abs(r) <= 0.1345, r**2 / 2, 0.1345 * np.abs(r) - 0.1345**2 / 2)
        return 2 * value / r**2

    fit = module.reweigh(
        risk.K, risk.B, risk.y, np.asarray(risk.c), printed, lambda fit: fit.violation < 1e-9
    )
    assert np.max(np.abs(risk.y - fit.r - huber.f)) > 1e-3


def weighted_squares(risk, machines, weight):
    """Return coefficients and decision values of reweighted least squares, by dense systems."""
    K, n, q = risk.K.matvec(np.eye(risk.n)), risk.n, risk.q
    w = np.ones(n)
    for _ in range(machines):
        M = np.block([[K + np.diag(1 / (risk.c * w)), risk.B], [risk.B.T, np.zeros((q, q))]])
        x = np.linalg.solve(M, np.r_[risk.y, np.zeros(q)])
        f = K @ x[:n] + risk.B @ x[n:]
        w = weight(risk.y - f)
    return x[:n], f


@pytest.mark.parametrize("machines", [1, 2, 3])
@pytest.mark.parametrize(
    ("loss", "weight"),
    [
        (Huber(0.1345), lambda r: np.minimum(1.0, 0.1345 / np.abs(r))),
        (LogCosh(0.12), lambda r: np.tanh(r / 0.12) / (r / 0.12)),
    ],
)
def test_two_machines_are_the_weighted_one_of_practice(loss, weight, machines):
    risk = problem(loss)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        found = minimize(risk, Reweighting(max_iter=machines))
    a, f = weighted_squares(risk, machines, weight)
    np.testing.assert_allclose(found.a, a, atol=1e-9)
    np.testing.assert_allclose(found.f, f, atol=1e-9)
    assert [p.iteration for p in found.history] == list(range(1, machines + 1))
    # Coefficients leave the slopes of the loss, but objective and bound are those of the machine.
    assert np.max(np.abs(found.a)) > risk.box()[1][0]
    objective = 0.5 * a @ risk.K.matvec(a) + np.sum(risk.c * loss.value(risk.y, f))
    assert found.objective == pytest.approx(objective, rel=1e-10)
    slopes = risk.c * -loss.gradient(risk.y, f)
    assert found.violation == pytest.approx(np.max(np.abs(slopes - a) / risk.c), rel=1e-6)
    minimum = minimize(risk, Newton(tol=1e-10)).objective
    assert found.dual <= minimum <= found.objective == found.dual + found.gap


@pytest.mark.parametrize("unit", [1.0, 1e-12])
@pytest.mark.parametrize("way", ["factors", "thin-factor", "last-factor"])
def test_systems_are_those_of_the_samples_with_weight(way, unit, monkeypatch):
    """Coefficients of the others are zero, however often samples come and go."""
    monkeypatch.setattr(module, "time_left", lambda: 0.5)  # is enough to go on
    if way == "thin-factor":
        monkeypatch.setattr(module, "SAMPLES_A_THIN_ITERATION", 1)
        monkeypatch.setattr(module, "THIN_RANK", 5)
    if way == "last-factor":
        monkeypatch.setattr(module, "SAMPLES_A_FACTOR_ITERATION", 1)
    rng, n, tol = np.random.default_rng(0), 120, 1e-7 * unit
    x, y = np.sort(rng.uniform(-3, 3, n)), unit * rng.normal(size=n)
    K, B = np.exp(-0.5 * (x[:, None] - x) ** 2), np.c_[np.ones(n), x]
    systems = module.WeightedSystems(Dense(K), B, y, module.MAX_BYTES, tol)
    assert systems.thin == (way == "thin-factor")
    for without in ([], [], [3, 50], [3, 7, 90], [], [], [7]):
        g = rng.uniform(5.0, 10.0, n)
        g[without] = 0.0
        a, b, Ka = systems.solve(g)
        live = g > 0
        np.testing.assert_array_equal(a[~live], 0.0)
        np.testing.assert_allclose(Ka, K @ a, atol=1e-12 * unit)
        left = y - Ka - B @ b
        left[live] -= a[live] / g[live]
        # Residuals are a tenth of the tolerance, or twice that after a correction.
        assert np.max(np.abs(left[live])) <= 0.2 * tol
        assert np.max(np.abs(B.T @ a)) <= 1e-11 * unit
    # The last factor is of no use after or before a sample without weight.
    assert systems.factors == {"factors": 7, "thin-factor": 0, "last-factor": 5}[way]


def test_conjugate_gradients_give_what_factors_give(monkeypatch):
    risk = problem(Huber(0.1345), n=120, outliers=6)
    factors = []
    original = module.WeightedSystems._factorize
    monkeypatch.setattr(
        module.WeightedSystems, "_factorize", lambda self, e: factors.append(1) or original(self, e)
    )
    monkeypatch.setattr(module, "SAMPLES_A_FACTOR_ITERATION", 1)
    by_products = minimize(risk, Reweighting(tol=1e-9))
    few = len(factors)
    monkeypatch.setattr(module, "SAMPLES_A_FACTOR_ITERATION", 10**9)
    by_factors = minimize(risk, Reweighting(tol=1e-9))
    np.testing.assert_allclose(by_products.f, by_factors.f, atol=1e-8)
    assert few == 1
    assert len(factors) - few > 3


def test_starts_from_another_solution():
    risk = problem(Huber(0.1345))
    cold = minimize(risk, Reweighting(tol=1e-9))
    warm = minimize(risk, Reweighting(tol=1e-9), cold)
    assert warm.n_iter < cold.n_iter
    np.testing.assert_allclose(warm.f, cold.f, atol=1e-8)


def test_a_kernel_that_is_definite_off_the_columns_only():
    x, y = sinc(40, 4)
    X = x[:, None]
    risk = RegularizedRisk(Huber(0.1345), Dense(ThinPlate(2)(X)), y, 10.0, np.c_[np.ones(40), x])
    ours, other = minimize(risk, Reweighting(tol=1e-8)), minimize(risk, Newton(tol=1e-8))
    np.testing.assert_allclose(ours.f, other.f, atol=1e-6)


def test_low_rank():
    x, y = sinc(60, 5)
    G = np.vander(x, 6)
    risk = RegularizedRisk(Huber(0.1), LowRank(G), y, 1.0)
    dense = RegularizedRisk(Huber(0.1), Dense(G @ G.T), y, 1.0)
    ours, other = minimize(risk, Reweighting(tol=1e-8)), minimize(dense, Newton(tol=1e-8))
    np.testing.assert_allclose(ours.f, other.f, atol=1e-6)


def test_refusals():
    assert "not concave in the square" in Reweighting().refuses(random_risk(Absolute()))
    with pytest.raises(ValueError, match="damping must be at least 0"):
        Reweighting(damping=1.0)


@pytest.mark.parametrize(("width", "smooth"), [(1.0, True), (0.003, False)])
def test_a_thin_factor_replaces_factorizations(width, smooth, monkeypatch):
    """Of a smooth kernel no matrix is factorized; of a narrow one nothing but time is lost."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-3, 3, 1000))
    y = np.sinc(x) + 0.1 * rng.standard_t(1.5, size=1000)
    K = Dense(np.exp(-0.5 * ((x[:, None] - x) / width) ** 2))
    risk = RegularizedRisk(Huber(0.1345), K, y, 10.0, np.ones((1000, 1)))
    calls = []
    for name in ("factorized", "shifted"):
        original = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, f=original: calls.append(1) or f(*given))
    ours = minimize(risk, Reweighting(tol=1e-6))
    assert bool(calls) is not smooth
    other = minimize(risk, InteriorPoint(tol=1e-7))
    # Each decision value is within its tol of where its coefficient says, and K + 1/C contracts.
    np.testing.assert_allclose(ours.f, other.f, atol=2e-6)
    assert ours.status is Status.CONVERGED
    assert ours.gap <= 1e-6 * np.sum(np.abs(ours.a))
