"""Laws of the certificate: what the gap promises, it keeps, for any pair (a, b)."""

import numpy as np
import pytest

from brute import printed, supremum
from cases import LOSSES, accepted, random_risk
from mercer.losses import EpsilonInsensitive, Hinge, QuadraticDualLoss
from mercer.regularizers import Constant, Empty
from mercer.regularizers import Polynomial as Trend
from mercer.solvers import minimize
from oracles import conic

EPS = np.finfo(float).eps
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
every_space = pytest.mark.parametrize("space", [Empty(), Constant(), Trend(1)], ids=repr)


def feasible(risk, rng):
    """Draw coefficients inside the box with B'a = 0."""
    lower, upper = (np.clip(bound, -2 * risk.c, 2 * risk.c) for bound in risk.box())
    # Half of the way from zero to a random point is inside by half of its distance to the walls;
    # that room takes up what B'a = 0 asks for, halved until it does.
    target = rng.uniform(lower, upper)
    live = (risk.c > 0) & (upper > lower)
    one_sided = 0.5 * (lower + upper)
    a = np.where(live, 0.5 * (target + one_sided), 0.0)
    B = np.where(live[:, None], risk.B, 0.0)
    for _ in range(200):
        a = a - B @ np.linalg.lstsq(B.T @ B, B.T @ a, rcond=None)[0] if risk.q else a
        inside = np.clip(a, lower, upper)
        if np.array_equal(inside, a):
            return a
        a = inside
    pytest.fail("alternating projections found no feasible point")


@every_space
@every_loss
def test_gap_recomputed_from_scratch(loss, space):
    risk = random_risk(loss, null_space=space, seed=1, C=2.0)
    rng = np.random.default_rng(0)
    a, b = feasible(risk, rng), rng.normal(size=risk.q)
    K, live = np.asarray(risk.K.K), risk.c > 0
    f = K @ a + risk.B @ b
    primal = 0.5 * a @ K @ a + risk.c @ printed(loss, risk.y, f)
    # The conjugate as the supremum that it is; slopes are at most two, reached well within 60.
    v = np.where(live, -a / np.where(live, risk.c, 1.0), 0.0)
    dual = supremum(
        lambda f: v * f - printed(loss, risk.y, f), np.full(risk.n, -60.0), np.full(risk.n, 60.0)
    )
    dual = -0.5 * a @ K @ a - risk.c @ np.where(live, dual, 0.0)
    certificate = risk.certificate(a, b)
    scale = 1 + abs(primal) + abs(dual)
    assert certificate.residual <= 1e-13
    np.testing.assert_allclose(certificate.f, f, atol=1e-13 * scale)
    assert certificate.primal == pytest.approx(primal, abs=1e-12 * scale)
    assert certificate.dual == pytest.approx(dual, abs=1e-12 * scale)
    assert certificate.gap == pytest.approx(primal - dual, abs=1e-12 * scale)


@every_space
@every_loss
def test_gap_is_never_smaller_than_the_truth(loss, space):
    risk = random_risk(loss, null_space=space, seed=2, C=3.0, duplicates=True)
    values, vectors = np.linalg.eigh(risk.K.K)
    truth = conic.solve(risk, vectors * np.sqrt(np.maximum(values, 0.0)))
    scale = 1 + abs(truth.objective)
    slack = (1e-9 if truth.accurate else 1e-6) * scale
    rng = np.random.default_rng(0)
    for _ in range(5):
        a, b = feasible(risk, rng), rng.normal(size=risk.q)
        certificate = risk.certificate(a, b)
        assert certificate.gap >= certificate.primal - truth.objective - slack
        assert certificate.dual <= truth.objective + slack
    for solver in accepted(risk, tol=0.1):
        solution = minimize(risk, solver)
        assert solution.gap >= solution.objective - truth.objective - slack
        assert solution.dual <= truth.objective + slack
    for solver in accepted(risk, tol=1e-8):
        solution = minimize(risk, solver)
        assert solution.converged, solver
        assert solution.objective == pytest.approx(truth.objective, abs=1e-6 * scale)


@every_loss
def test_a_coefficient_outside_its_box_has_no_certificate(loss):
    risk = random_risk(loss, null_space=Empty(), seed=3)
    upper = risk.box()[1]
    bounded = np.flatnonzero(np.isfinite(upper))
    a = np.zeros(risk.n)
    a[bounded[0]] = upper[bounded[0]] + 1e-6  # among them the samples without weight
    assert risk.certificate(a, np.empty(0)).gap == np.inf
    weightless = np.flatnonzero(risk.c == 0)[0]
    a = np.zeros(risk.n)
    a[weightless] = -1e-6
    assert risk.certificate(a, np.empty(0)).gap == np.inf


@every_loss
def test_the_gap_of_a_violation(loss):
    # The Fenchel-Young term of (f, v), with v a slope at f', is at most |l'(f) - v| |f - f'|.
    risk = random_risk(loss, seed=4, C=10.0)
    for tol in (1e-2, 1e-4, 1e-6, 1e-8):
        for solver in accepted(risk, tol):
            solution = minimize(risk, solver)
            assert solution.converged, solver
            assert solution.violation <= tol
            live = risk.c > 0
            y, c, f, v = risk.y[live], risk.c[live], solution.f[live], risk.slope(solution.a)[live]
            slopes = np.abs(loss.gradient(y, f) - v)
            reach = np.abs(f - loss.conjugate_gradient(y, v))
            # One of the two factors is what violation measures.
            in_slope = loss.smooth and not isinstance(loss, QuadraticDualLoss)
            bound = tol * (reach if in_slope else slopes)
            assert solution.gap <= c @ bound + 64 * EPS * risk.n * (1 + abs(solution.objective))


def test_gap_of_the_tube_from_residuals():
    # A. J. Smola, Learning with Kernels, 1998, with the signs of the last two lines corrected.
    epsilon = 0.2
    risk = random_risk(EpsilonInsensitive(epsilon), seed=5, C=2.0)
    rng = np.random.default_rng(0)
    a, b = feasible(risk, rng), rng.normal(size=risk.q)
    r = risk.y - risk.K.K @ a - risk.B @ b
    up, down = np.maximum(a, 0.0), np.maximum(-a, 0.0)
    gap = (
        (risk.c - up) * np.maximum(0.0, r - epsilon)
        + up * np.maximum(0.0, epsilon - r)
        + (risk.c - down) * np.maximum(0.0, -r - epsilon)
        + down * np.maximum(0.0, epsilon + r)
    )
    assert risk.certificate(a, b).gap == pytest.approx(gap.sum(), rel=1e-12)


def test_gap_of_the_soft_margin_from_margins():
    # A. J. Smola, Learning with Kernels, 1998, eq. (4.7).
    risk = random_risk(Hinge(), seed=6, C=2.0)
    rng = np.random.default_rng(0)
    a, b = feasible(risk, rng), rng.normal(size=risk.q)
    alpha, m = risk.y * a, risk.y * (risk.K.K @ a + risk.B @ b)
    gap = np.maximum(0.0, m - 1) * alpha - np.minimum(0.0, m - 1) * (risk.c - alpha)
    certificate = risk.certificate(a, b)
    assert certificate.gap == pytest.approx(gap.sum(), rel=1e-12)
    assert certificate.primal - certificate.dual == pytest.approx(gap.sum(), rel=1e-12)
