"""Reductions: the same objective in other variables, and the way back to the same function."""

import numpy as np
import pytest

from cases import LOSSES, random_risk
from mercer.gram import Dense, Tiled
from mercer.gram.indexed import Indexed
from mercer.gram.low_rank import LowRank
from mercer.kernels import Gaussian
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Huber,
    Logistic,
    PiecewisePolynomial,
    Pinball,
    PolynomialLoss,
    QuadraticDualLoss,
    Squared,
    SquaredHinge,
)
from mercer.problems import RegularizedRisk
from mercer.problems.box_qp import BoxQP
from mercer.problems.nu import nu_regression, one_class
from mercer.problems.reductions import (
    BoxDual,
    box_program,
    box_qp,
    infeasible,
    linear_system,
    resident,
)

N = 30
QUADRATIC = [loss for loss in LOSSES if isinstance(loss, QuadraticDualLoss)]
GENERAL = [loss for loss in LOSSES if not isinstance(loss, QuadraticDualLoss)]


def inside(risk, rng):
    """Draw coefficients inside the box, some of them zero."""
    lower, upper = (np.clip(bound, -2.0, 2.0) for bound in risk.box())
    a = lower + rng.uniform(0.05, 0.95, risk.n) * (upper - lower)
    return np.where(rng.random(risk.n) < 0.2, 0.0, a)


def apart(reduction, a):
    """Write coefficients in the variables of a box program, none of them on both sides."""
    index = np.zeros(len(reduction.problem.lower), dtype=int)
    signs = np.zeros(len(index))
    for j, e in enumerate(np.eye(len(index))):
        unit, _ = reduction.back(e, np.zeros(reduction.problem.A.shape[1]))
        index[j] = np.flatnonzero(unit)[0]
        signs[j] = unit[index[j]]
    return np.clip(signs * a[index], reduction.problem.lower, reduction.problem.upper)


@pytest.mark.parametrize("loss", QUADRATIC, ids=repr)
def test_the_box_qp_is_the_dual(loss):
    risk = random_risk(loss, n=N, seed=1)
    rng = np.random.default_rng(2)
    reduction = box_qp(risk)
    for _ in range(5):
        a = inside(risk, rng)
        z = apart(reduction, a)
        back, _ = reduction.back(z, np.zeros(risk.q))
        np.testing.assert_allclose(back, a, atol=1e-15)
        dual = 0.5 * a @ risk.K.matvec(a) + risk.conjugate(a)
        assert reduction.problem.objective(z) == pytest.approx(dual, rel=1e-10, abs=1e-10)
        np.testing.assert_allclose(reduction.problem.A.T @ z, risk.B.T @ a, atol=1e-12)
        # Minus the Lagrangian dual is the primal value, where no sample is on both sides of zero.
        b = rng.normal(size=risk.q)
        certificate = risk.certificate(a, b)
        if np.all(np.isfinite(risk.box())):
            gap = reduction.problem.objective(z) - reduction.problem.dual_objective(z, b)
            shift = b @ (risk.B.T @ a - risk.d)
            assert gap + shift == pytest.approx(certificate.gap, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize(
    ("loss", "copies"),
    [
        (Squared(), 1),
        (Absolute(), 1),
        (Huber(0.5), 1),
        (Pinball(0.3), 1),
        (Hinge(), 1),
        (SquaredHinge(), 1),
        (Logistic(), 1),
        (Pinball(0.0), 1),
        (EpsilonInsensitive(0.0), 1),
        (EpsilonInsensitive(0.1), 2),
        (Expectile(0.5), 1),
        (Expectile(0.8), 2),
        (PolynomialLoss(1.5), 2),
        (PiecewisePolynomial(3.0), 2),
    ],
    ids=repr,
)
def test_only_a_kink_or_two_curvatures_split_a_coefficient(loss, copies):
    risk = random_risk(loss, n=N, weights=False)
    assert len(box_program(risk).problem.lower) == copies * N


def test_a_sample_without_weight_has_no_variable():
    risk = random_risk(EpsilonInsensitive(0.1), n=N, weights=True)
    assert np.sum(risk.c == 0) == 2
    assert len(box_program(risk).problem.lower) == 2 * (N - 2)


def test_one_sided_samples_have_one_non_negative_variable():
    risk = random_risk(Hinge(), n=N, weights=False)
    problem = box_qp(risk).problem
    assert np.all(problem.lower == 0)
    np.testing.assert_array_equal(problem.upper, risk.c)
    np.testing.assert_array_equal(problem.p, -1.0)
    np.testing.assert_array_equal(problem.H.sign, risk.y)


@pytest.mark.parametrize("loss", GENERAL, ids=repr)
def test_a_general_dual_is_known_by_its_derivatives(loss):
    risk = random_risk(loss, n=N, seed=1)
    reduction = box_program(risk)
    program = reduction.problem
    assert isinstance(program, BoxDual)
    z = np.minimum(program.upper, 2.0) * np.random.default_rng(0).uniform(0.1, 0.9, len(program.p))

    def value(z):
        v = -program.sign * z / program.c
        return program.c * program.loss.conjugate(program.y, v)

    h = 1e-5 * z
    difference = (value(z + h) - value(z - h)) / (2 * h)
    # Central differences of step 1e-5 z: truncation 1e-10 of the third derivative times z^2, which
    # is of the size of the slope, and rounding 1e-16 / 1e-5 of the value over z.
    scale = np.abs(program.slope(z)) + np.abs(value(z)) / z + 1.0
    assert np.max(np.abs(difference - program.slope(z)) / scale) <= 1e-8
    difference = (program.slope(z + h) - program.slope(z - h)) / (2 * h)
    scale = np.abs(program.curvature(z)) + (np.abs(program.slope(z)) + 1.0) / z
    assert np.max(np.abs(difference - program.curvature(z)) / scale) <= 1e-8


def test_slopes_stay_finite_at_the_ends_of_the_box():
    program = box_program(random_risk(Logistic(), n=N)).problem
    for z in (program.lower, program.upper):
        assert np.all(np.isfinite(program.slope(z)))
        assert np.all(np.isfinite(program.curvature(z)))
    assert np.all(np.isfinite(program.corner()))
    assert box_program(random_risk(Hinge(), n=N)).problem.corner() is None


def test_corners_are_beyond_the_kink():
    risk = random_risk(PolynomialLoss(3.0, 0.25), n=N, weights=False)
    program = box_program(risk).problem
    np.testing.assert_allclose(program.corner(), 0.25 - program.sign * program.y, rtol=1e-12)


def test_only_quadratic_conjugates_are_a_box_qp():
    with pytest.raises(ValueError, match="not quadratic"):
        box_qp(random_risk(Logistic(), n=N))
    assert isinstance(box_program(random_risk(Hinge(), n=N)).problem, BoxQP)


def test_repeated_points_are_copies_of_one():
    rng = np.random.default_rng(0)
    K = Dense(Gaussian(1.0)(rng.normal(size=(N, 2))))
    risk = nu_regression(K, rng.normal(size=N), np.ones(N), 0.5)
    problem = box_qp(risk).problem
    assert problem.H.K is K
    assert len(problem.lower) == 2 * N
    z = rng.random(2 * N)
    explicit = Dense(np.tile(K.K, (2, 2)))
    same = box_qp(RegularizedRisk(risk.loss, explicit, risk.y, risk.c, risk.B, risk.d)).problem
    np.testing.assert_allclose(problem.gradient(z, risk.d), same.gradient(z, risk.d), atol=1e-11)


def thin_plate(X):
    r2 = np.sum((X[:, None] - X[None]) ** 2, axis=-1)
    return np.where(r2 > 0, 0.5 * r2 * np.log(np.where(r2 > 0, r2, 1.0)), 0.0)


@pytest.mark.parametrize("loss", [Absolute(), PolynomialLoss(1.5), Squared()], ids=repr)
@pytest.mark.parametrize("seed", range(2))
def test_projection_changes_the_dual_by_a_constant_and_keeps_the_function(loss, seed):
    """Equal up to a constant on B'a = d, for any d, and b recovered for K itself."""
    rng = np.random.default_rng(seed)
    X, c = rng.normal(size=(N, 2)), rng.uniform(0.5, 2.0, N)
    c[3] = 0.0
    B, d = np.column_stack([np.ones(N), X]), 0.1 * rng.normal(size=3)
    K = thin_plate(X)
    risk = RegularizedRisk(loss, Dense(K), rng.normal(size=N), c, B, d)
    assert np.linalg.eigvalsh(K)[0] < -0.1
    projected = box_program(risk, project=True)
    plain = box_program(risk)
    tilde = projected.problem.H.K.K
    assert np.linalg.eigvalsh(tilde[np.ix_(c > 0, c > 0)])[0] >= -1e-11

    live = np.flatnonzero(c)
    differences = []
    for _ in range(3):
        a = np.zeros(N)
        a[live] = 0.1 * rng.normal(size=len(live))
        a[live] += np.linalg.pinv(B[live].T) @ (d - B[live].T @ a[live])
        b = rng.normal(size=3)
        z = apart(plain, a)
        same, recovered = projected.back(z, b)
        np.testing.assert_allclose(same, a, atol=1e-15)
        # The gradient of the projected program at b is that of the plain one at the recovered b.
        left = projected.problem.gradient(z, b)
        np.testing.assert_allclose(left, plain.problem.gradient(z, recovered), atol=1e-9)
        differences.append(0.5 * a @ K @ a - 0.5 * a @ tilde @ a - _offset(projected, plain) @ a)
    np.testing.assert_allclose(differences, differences[0], atol=1e-8)


def _offset(projected, plain):
    """Return the linear term that the projection adds, per coefficient."""
    p, q = projected.problem, plain.problem
    out = np.zeros(p.H.K.shape[0])
    out[p.H.index] = p.H.sign * (p.p - q.p)
    return out


def test_a_squared_loss_is_a_linear_system():
    risk = random_risk(Squared(), n=N)
    system = linear_system(risk).problem
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(system.e, 1.0 / risk.c)
    np.testing.assert_array_equal(system.r, risk.y)
    assert system.K is risk.K
    assert system.B is risk.B
    level = linear_system(random_risk(Expectile(0.5), n=N)).problem
    np.testing.assert_array_equal(level.e, 2.0 * system.e)


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss != Squared()], ids=repr)
def test_no_other_loss_is_a_linear_system(loss):
    assert linear_system(random_risk(loss, n=N)) is None


def test_resident_problems_hold_each_point_once():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, 2)), rng.normal(size=N)
    kernel = Gaussian(1.0)
    dense = Dense(kernel(X))
    risk = RegularizedRisk(Squared(), dense, y)
    assert resident(risk) is risk
    thin = RegularizedRisk(Squared(), LowRank(X), y)
    assert resident(thin) is thin
    held = resident(RegularizedRisk(Squared(), Tiled(kernel, X), y))
    assert isinstance(held.K, Dense)
    np.testing.assert_allclose(held.K.K, dense.K, rtol=1e-12)
    twice = np.tile(np.arange(N), 2)
    double = resident(RegularizedRisk(Squared(), Indexed(Tiled(kernel, X), twice), np.tile(y, 2)))
    assert isinstance(double.K.gram, Dense)
    np.testing.assert_allclose(double.K.dense(), np.tile(dense.K, (2, 2)), rtol=1e-12)


def test_constraints_beyond_the_box_are_found():
    rng = np.random.default_rng(0)
    K = Dense(Gaussian(1.0)(rng.normal(size=(N, 2))))
    assert infeasible(one_class(K, np.ones(N), 1.0)) == ""
    assert "unbounded below" in infeasible(one_class(K, np.ones(N), 1.01))
    y, B = rng.normal(size=N), np.ones((N, 1))
    assert infeasible(RegularizedRisk(Squared(), K, y)) == ""
    assert infeasible(RegularizedRisk(Squared(), K, y, 1.0, B, np.array([1e6]))) == ""
    assert "range" in infeasible(
        RegularizedRisk(Squared(), K, y, 1.0, np.ones((N, 2)), np.array([1.0, 2.0]))
    )
    # A row that only samples without weight could meet.
    c, B = np.ones(N), np.zeros((N, 1))
    c[0], B[0] = 0.0, 1.0
    assert infeasible(RegularizedRisk(Squared(), K, y, c, B, np.array([1.0])))


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_what_the_box_reaches_is_judged_in_any_units(scale):
    K, y = Dense(np.eye(N)), np.where(np.arange(N) % 3, 1.0, -1.0)

    def posed(d):
        return RegularizedRisk(Hinge(), K, y, scale, np.ones((N, 1)), np.array([d]))

    lower, upper = posed(0.0).box()
    for end, out in ((lower.sum(), -1), (upper.sum(), 1)):
        assert abs(end) > 5 * scale
        assert infeasible(posed(end * (1 - 1e-12))) == ""
        assert "confines entry 0" in infeasible(posed(end + out * 1e-6 * scale))
