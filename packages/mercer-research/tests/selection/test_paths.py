"""Exact paths: the same machine as an independent solver at every value, joined without a step."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer import SVC, SVR, KernelClassifier, KernelLogisticRegression, KernelRegressor
from mercer.gram import Dense
from mercer.kernels import Gaussian, Linear
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Huber,
    HuberHinge,
    Logistic,
    Pinball,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from mercer.problems import RegularizedRisk
from mercer.solvers import InteriorPoint, minimize
from mercer_research.selection import svm_path
from mercer_research.selection.paths import solution_path
from oracles import conic

STRAIGHT = [Hinge(), EpsilonInsensitive(0.2), Absolute(), Pinball(0.3)]
CURVED = [
    SquaredHinge(),
    HuberHinge(0.5),
    Huber(0.3),
    SquaredEpsilonInsensitive(0.2),
    Expectile(0.8),
    Squared(),
]


def name(value):
    return type(value).__name__


def problem(loss, n=50, seed=0, kernel=None, lattice=False, intercept=True, weights=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    X = np.round(2 * X) / 2 if lattice else X
    noise = rng.normal(size=n)
    if "Hinge" in name(loss) or isinstance(loss, Logistic):
        y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.7 * noise > 0.5, 1.0, -1.0)
    else:
        y = np.sin(2 * X[:, 0]) + 0.3 * noise
    K = (Gaussian(1.0) if kernel is None else kernel)(X)
    c = rng.uniform(0.2, 3.0, n) if weights else np.ones(n)
    return RegularizedRisk(loss, Dense(K), y, c, np.ones((n, int(intercept))))


def root(K):
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def relative_gap(path, t):
    certificate = path.certificate(t)
    assert certificate.residual < 1e-9
    return certificate.gap / (1.0 + abs(certificate.primal))


@pytest.mark.parametrize("loss", STRAIGHT + CURVED, ids=name)
@pytest.mark.parametrize("weights", [False, True], ids=["alike", "weighted"])
def test_every_value_of_C_is_certified(loss, weights):
    path = solution_path(problem(loss, weights=weights), (1e-2, 1e2))
    values = 10 ** np.random.default_rng(1).uniform(-2, 2, 20)
    # The gap of exact arithmetic is zero; what is left is rounding in a system of condition 1e5.
    assert max(relative_gap(path, C) for C in [*values, *path.domain]) < 1e-10
    assert path.perturbation == 0.0
    assert not path.jumps
    assert path.is_piecewise_linear == (loss in STRAIGHT)
    assert path.is_piecewise_rational


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.2), SquaredHinge()], ids=name)
def test_an_independent_solver_agrees(loss):
    risk = problem(loss, n=30)
    path = solution_path(risk, (1e-2, 1e2))
    G = root(risk.K.dense())
    for C in (0.03, 0.7, 20.0):
        here = path.risk_at(C)
        reference = conic.solve(here, G)
        certificate = path.certificate(C)
        # Clarabel stops at a relative gap of 1e-11, or where it can do no better.
        assert certificate.primal == pytest.approx(reference.objective, rel=1e-7)
        assert certificate.primal - certificate.gap <= reference.objective * (1 + 1e-7)


@pytest.mark.parametrize("loss", STRAIGHT + CURVED, ids=name)
def test_pieces_meet(loss):
    path = solution_path(problem(loss), (1e-2, 1e2))
    assert np.all(np.diff(path.breakpoints) > 0)
    assert np.all((path.breakpoints > 1e-2) & (path.breakpoints < 1e2))
    assert len(path.pieces) == len(path.breakpoints) + 2
    for C in path.breakpoints:
        (a, b), (a_left, b_left) = path.coef(C), path.coef(C * (1 - 1e-14))
        scale = 1.0 + np.max(np.abs(a))
        assert a == pytest.approx(a_left, abs=1e-10 * scale)
        assert b == pytest.approx(b_left, abs=1e-10 * scale)


@pytest.mark.parametrize("loss", STRAIGHT + CURVED, ids=name)
def test_slopes_are_differences(loss):
    path = solution_path(problem(loss), (1e-2, 1e2))
    checked = 0
    for C in 10 ** np.random.default_rng(2).uniform(-1.9, 1.9, 20):
        h = 1e-5 * C
        if np.any(np.abs(path.breakpoints - C) <= h):
            continue
        (da, db), (up, b_up), (down, b_down) = path.dcoef(C), path.coef(C + h), path.coef(C - h)
        # Central differences: the third derivative, of order a / C^3, times h^2, and rounding / h.
        size = np.max(np.abs(up)) / C
        assert da == pytest.approx((up - down) / (2 * h), abs=1e-6 * size)
        assert db == pytest.approx((b_up - b_down) / (2 * h), abs=1e-6 * (size + 1 / C))
        checked += 1
    assert checked > 10


def test_between_breakpoints_all_is_affine():
    path = solution_path(problem(Hinge()), (1e-2, 1e2))
    for left, right in zip(path.pieces, path.pieces[1:], strict=False):
        ends = path.coef(left)[0] + path.coef(right * (1 - 1e-15))[0]
        assert path.coef(0.5 * (left + right))[0] == pytest.approx(0.5 * ends, abs=1e-8 * right)


def test_the_squared_hinge_is_not_affine():
    # Pelckmans says so after (7.28); it is rational.
    path = solution_path(problem(SquaredHinge()), (1e-2, 1e2))
    left, right = max(zip(path.pieces, path.pieces[1:], strict=False), key=lambda p: p[1] - p[0])
    middle = 0.5 * (path.coef(left)[0] + path.coef(right)[0])
    assert np.max(np.abs(path.coef(0.5 * (left + right))[0] - middle)) > 1e-3


def test_ends_are_the_null_model_and_the_hard_margin():
    x = np.array([-2.0, -1.0, 1.0, 3.0])
    risk = RegularizedRisk(Hinge(), Dense(np.outer(x, x)), np.sign(x), np.ones(4), np.ones((4, 1)))
    path = solution_path(risk, (1e-6, 1e4))
    # While all errors are inside the margin, coefficients are C times labels: the null model at 0.
    assert path.coef(1e-6)[0] == pytest.approx(1e-6 * np.sign(x), rel=1e-9)
    # The margin of -1 and 1 is w = 1, b = 0: a = (-1/2, 1/2).
    a, b = path.coef(1e4)
    assert a == pytest.approx([0.0, -0.5, 0.5, 0.0], abs=1e-9)
    assert b == pytest.approx([0.0], abs=1e-9)
    assert path.dcoef(1e4)[0] == pytest.approx(np.zeros(4), abs=1e-12)


def test_ridge_ends_are_interpolation_and_the_mean():
    risk = problem(Squared(), n=15)
    path = solution_path(risk, (1e-9, 1e9))
    a, b = path.coef(1e-9)
    assert np.max(np.abs(a)) < 1e-8
    assert b == pytest.approx([np.mean(risk.y)], abs=1e-6)
    f = path.certificate(1e9).f
    assert f == pytest.approx(risk.y, abs=1e-4)


def test_without_an_intercept_small_C_is_parzens_window():
    risk = problem(Hinge(), intercept=False)
    margin = float(np.max(risk.y * (risk.K.dense() @ risk.y)))
    path = solution_path(risk, (1e-4, 10.0))
    C = 0.99 / margin
    assert path.breakpoints[0] >= C
    assert path.coef(C)[0] == pytest.approx(C * risk.y, rel=1e-12)


@pytest.mark.parametrize(
    ("loss", "parameter", "domain"),
    [
        (EpsilonInsensitive(0.2), "epsilon", (0.0, 2.0)),
        (Pinball(0.3), "quantile", (0.05, 0.95)),
    ],
    ids=["epsilon", "quantile"],
)
def test_paths_in_a_parameter_of_the_loss(loss, parameter, domain):
    risk = problem(loss)
    path = solution_path(risk, domain, parameter=parameter)
    assert path.parameter == parameter
    for t in np.random.default_rng(3).uniform(*domain, 20):
        assert relative_gap(path, t) < 1e-10
    if parameter == "epsilon":
        # A tube as wide as the data leaves a constant.
        wide = 0.51 * np.ptp(risk.y)
        assert not np.any(path.coef(wide)[0])


@pytest.mark.parametrize("kernel", [Linear(), Gaussian(1.0), Gaussian(10.0)], ids=repr)
@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.2), SquaredHinge()], ids=name)
def test_points_that_repeat(loss, kernel):
    path = solution_path(problem(loss, n=60, kernel=kernel, lattice=True), (1e-2, 1e2))
    # A perturbation of 1e-9 of the margin is that much of the losses; more would be reported.
    allowed = 1e-9 + 2 * path.perturbation
    bad = [
        C
        for C in 10 ** np.random.default_rng(4).uniform(-2, 2, 20)
        if relative_gap(path, C) > allowed and not any(s <= C <= t for s, t in path.jumps)
    ]
    assert not bad
    assert path.perturbation <= 1e-7
    assert sum(t - s for s, t in path.jumps) < 1e-3 * 1e2


def test_a_thousand_samples_take_seconds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.7 * rng.normal(size=600) > 0.5, 1.0, -1.0)
    risk = RegularizedRisk(Hinge(), Dense(Gaussian(1.0)(X)), y, np.ones(600), np.ones((600, 1)))
    path = solution_path(risk, (1e-2, 1e2))
    assert len(path.breakpoints) > 600
    assert max(relative_gap(path, C) for C in np.logspace(-2, 2, 9)) < 1e-8


def test_refusals():
    risk = problem(Hinge())
    with pytest.raises(ValueError, match="0 < low < high"):
        solution_path(risk, (0.0, 1.0))
    with pytest.raises(ValueError, match="outside the path"):
        solution_path(risk, (0.5, 1.0)).coef(2.0)
    with pytest.raises(ValueError, match="use svm_path"):
        solution_path(problem(Logistic()))
    with pytest.raises(ValueError, match="has no parameter 'epsilon'"):
        solution_path(risk, (0.1, 1.0), parameter="epsilon")
    with pytest.raises(ValueError, match="only its path in C"):
        solution_path(problem(Huber(0.3)), (0.1, 1.0), parameter="delta")
    with pytest.raises(ValueError, match="Cs must be positive"):
        svm_path(SVC(), [[0.0], [1.0]], [0, 1], Cs=[0.0])
    with pytest.raises(TypeError, match="no kernel machine"):
        svm_path(object(), [[0.0], [1.0]], [0, 1])


MACHINES = [
    SVC(tol=1e-6),
    SVR(tol=1e-6),
    KernelClassifier(loss="squared_hinge", tol=1e-6),
    KernelRegressor(loss="huber", tol=1e-6),
    KernelLogisticRegression(tol=1e-6),
]


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "warm"])
@pytest.mark.parametrize("machine", MACHINES, ids=name)
def test_svm_path(machine, exact):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    kind = getattr(machine, "_estimator_type", None) or machine.__sklearn_tags__().estimator_type
    y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0) if kind == "classifier" else np.sin(X[:, 0])
    weights = rng.uniform(0.5, 2.0, 60)
    Cs = [10.0, 0.1, 1.0]
    if exact and isinstance(machine, KernelLogisticRegression):
        with pytest.raises(ValueError, match="not quadratic"):
            svm_path(machine, X, y, Cs, exact=True)
        return
    path = svm_path(machine, X, y, Cs, sample_weight=weights, exact=exact)
    assert path.Cs == pytest.approx([0.1, 1.0, 10.0])
    assert path.exact is exact
    assert path.coefs.shape == (3, 60)
    assert all(status.value == "converged" for status in path.statuses)
    for k, C in enumerate(path.Cs):
        fitted = clone(machine).set_params(C=C).fit(X, y, weights)
        # Both are within their gaps of the same minimum.
        slack = fitted.solution_.gap + path.gaps[k] + 1e-12
        assert path.objectives[k] == pytest.approx(fitted.solution_.objective, abs=slack)
        assert path.gaps[k] <= 1e-4 * (1 + path.objectives[k])
    assert np.all(path.n_support > 0)


def test_svm_path_of_several_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(45, 2))
    y = np.repeat([0, 1, 2], 15)
    X += 2.0 * np.stack([y == 1, y == 2], axis=1)
    path = svm_path(SVC(), X, y, [0.5, 5.0])
    # Three pairs of thirty samples each.
    assert path.coefs.shape == (2, 90)
    assert path.intercepts.shape == (2, 3)
    assert len(path.paths) == 3
    fitted = SVC(C=5.0, tol=1e-8).fit(X, y)
    assert path.objectives[1] == pytest.approx(fitted.solution_.objective, rel=1e-8)


def test_the_start_may_be_any_solution():
    risk = problem(EpsilonInsensitive(0.2))
    whole, part = solution_path(risk, (1e-2, 1e2)), solution_path(risk, (3.0, 1e2))
    for C in (3.0, 10.0, 90.0):
        assert part.coef(C)[0] == pytest.approx(whole.coef(C)[0], abs=1e-8)
    exact = minimize(whole.risk_at(10.0), InteriorPoint(tol=1e-9))
    assert whole.coef(10.0)[0] == pytest.approx(exact.a, abs=1e-6)
