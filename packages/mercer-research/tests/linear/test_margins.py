"""Margins in every norm: distances of hulls, other programs, and what is promised of the ends."""

import contextlib

import cvxpy as cp
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from mercer_research.estimators import HardMarginSVC, NotSeparable
from mercer_research.linear import LpMarginSVC, OneNormSVC, dual_norm

POWERS = (1.0, 1.5, 2.0, 3.0, np.inf)


def apart(n=24, d=4, seed=0, shift=0.4):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    y = np.where(X @ w > 0, 1.0, -1.0)
    return X + shift * y[:, None] * w, y


def hulls(X, y, q):
    """Return the distance of convex hulls in a norm, as another program states it."""
    alpha = cp.Variable(len(y), nonneg=True)
    sums = [cp.sum(alpha[y > 0]) == 1, cp.sum(alpha[y < 0]) == 1]
    length = cp.norm(X.T @ cp.multiply(y, alpha), q)
    return cp.Problem(cp.Minimize(length), sums).solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("p", POWERS)
def test_twice_the_margin_is_the_distance_of_the_hulls(p):
    for seed in range(2):
        X, y = apart(seed=seed)
        model = LpMarginSVC(p, C=np.inf).fit(X, y)
        # Both programs stop at eight digits or better of numbers of size one.
        assert 2 * model.margins_[0] == pytest.approx(hulls(X, y, dual_norm(p)), rel=1e-6)
        assert np.min(y * model.decision_function(X)) == pytest.approx(1.0)
        (proof,) = model.certificates_
        assert proof.lower <= proof.distance * (1 + 1e-12)
        assert proof.lower == pytest.approx(proof.distance, rel=1e-6)
        assert proof.margin == pytest.approx(model.margins_[0], rel=1e-6)
        assert abs(model.solutions_[0].gap) < 1e-6 * model.solutions_[0].objective


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("constant", [True, False])
def test_soft_margins_are_those_of_a_conic_solver(p, constant):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30, 3)), np.repeat([-1.0, 1.0], 15)
    X += 0.5 * y[:, None]
    s = rng.uniform(0.5, 2.0, 30)
    model = LpMarginSVC(p, C=0.4, fit_intercept=constant).fit(X, y, s)
    w, b = cp.Variable(3), cp.Variable() if constant else 0.0
    cost = cp.norm(w, p) + 0.4 * s @ cp.pos(1 - cp.multiply(y, X @ w + b))
    best = cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL)
    (optimum,) = model.solutions_
    assert optimum.objective == pytest.approx(best, rel=1e-6)
    assert -1e-9 <= optimum.gap <= 1e-6 * optimum.objective
    # The bound is a proof on its own: multipliers that are feasible for the dual.
    beta = y * optimum.multipliers
    assert np.all((beta >= 0) & (beta <= 0.4 * s * (1 + 1e-12)))
    assert np.linalg.norm(optimum.multipliers @ X, dual_norm(p)) <= 1 + 1e-12
    assert optimum.bound == pytest.approx(beta.sum())
    if constant:
        assert optimum.multipliers.sum() == pytest.approx(0.0, abs=1e-12)


def test_the_euclidean_margin_is_that_of_the_kernel_machine():
    X, y = apart()
    ours, machine = LpMarginSVC(2.0, C=np.inf).fit(X, y), HardMarginSVC().fit(X, y)
    np.testing.assert_allclose(ours.coef_, machine.coef_, rtol=1e-4)
    assert ours.margins_[0] == pytest.approx(machine.margins_[0], rel=2e-6)


def test_one_norm_machines_agree():
    X, y = apart(shift=-0.3)
    ours, other = LpMarginSVC(1.0, C=2.0).fit(X, y), OneNormSVC(C=2.0).fit(X, y)
    assert ours.solutions_[0].objective == pytest.approx(other.solutions_[0].objective, rel=1e-7)


def test_distances_to_the_plane():
    X, y = apart()
    model = LpMarginSVC(np.inf, C=np.inf).fit(X, y)
    distance = np.abs(model.decision_function(X[:1])[0]) / np.linalg.norm(model.coef_[0], np.inf)
    move = cp.Variable(4)
    on_plane = (X[0] + move) @ model.coef_[0] + model.intercept_[0] == 0
    best = cp.Problem(cp.Minimize(cp.norm(move, 1)), [on_plane]).solve(solver=cp.CLARABEL)
    assert distance == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("p", [1.0, 2.0, np.inf])
@pytest.mark.parametrize("constant", [True, False])
def test_classes_that_meet_are_refused_with_the_proof(p, constant):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 2)), np.repeat([-1.0, 1.0], 20)
    with pytest.raises(NotSeparable, match="finite C") as caught:
        LpMarginSVC(p, C=np.inf, fit_intercept=constant).fit(X, y)
    proof = caught.value.certificate
    assert np.linalg.norm((y * proof.weights) @ X) < 1e-6 * proof.radius
    assert proof.weights.sum() == pytest.approx(2.0)
    assert np.all(proof.weights >= 0)


def test_few_inputs_and_their_report():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 10))
    y = np.where(X[:, 3] - 0.5 * X[:, 7] > 0, "up", "down")
    model = LpMarginSVC(1.0, C=0.5).fit(X, y)
    report = model.feature_report()
    assert {share.name for share in report[:2]} == {"x3", "x7"}
    for share in report:
        # An input is used only where its pull is one; the simplex method is exact at a vertex.
        assert share.pull <= 1 + 1e-9
        assert not share.used or share.pull == pytest.approx(1.0, abs=1e-6)
    assert sum(share.used for share in report) < 10
    dense = LpMarginSVC(np.inf, C=0.5).fit(X, y)
    assert np.all(dense.coef_ != 0)


def test_units_of_the_inputs():
    X, y = apart()
    one = LpMarginSVC(1.5, C=np.inf).fit(X, y)
    for unit in (1e-5, 1e5):
        other = LpMarginSVC(1.5, C=np.inf).fit(unit * X, y)
        assert other.margins_[0] == pytest.approx(unit * one.margins_[0], rel=1e-6)
        np.testing.assert_allclose(unit * other.coef_, one.coef_, rtol=1e-4, atol=1e-5)


def test_weights_and_classes():
    X, y = apart(shift=-0.2)
    heavy = LpMarginSVC(2.0, C=0.1, class_weight={1.0: 5.0}).fit(X, y)
    same = LpMarginSVC(2.0, C=0.1).fit(X, y, np.where(y > 0, 5.0, 1.0))
    np.testing.assert_allclose(heavy.coef_, same.coef_, rtol=1e-6)
    three = np.arange(24) % 3
    model = LpMarginSVC(2.0).fit(X, three)
    assert model.coef_.shape == (3, 4)
    assert model.decision_function(X).shape == (24, 3)
    with pytest.raises(ValueError, match="two classes"):
        model.feature_report()
    with pytest.raises(ValueError, match="same class"):
        LpMarginSVC().fit(X, y, (y > 0).astype(float))
    with pytest.raises(NotFittedError):
        LpMarginSVC().feature_report()


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("offset", [1e3, 1e7, 1e9])
def test_classes_far_from_zero_are_divided(p, offset):
    X, y = apart()
    model = LpMarginSVC(p, C=np.inf).fit(X + offset, y)
    (proof,) = model.certificates_
    # Adding the offset rounded four coordinates by half a unit in its last place each.
    moved = 8 * offset * np.finfo(float).eps
    near = LpMarginSVC(p, C=np.inf).fit(X, y)
    assert model.margins_[0] == pytest.approx(near.margins_[0], rel=1e-6, abs=moved)
    assert 0 < proof.lower <= proof.distance
    assert np.all(model.predict(X + offset) == y)


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("distance", [1e-5, 1e-7, 1e-9])
@pytest.mark.filterwarnings("ignore:The margin of")  # of 1e-9 a millionth is rounding
def test_classes_that_nearly_touch_are_divided(p, distance):
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, distance], [1.0, distance]])
    model = LpMarginSVC(p, C=np.inf).fit(X, [-1, -1, 1, 1])
    (proof,) = model.certificates_
    assert proof.separable
    # The nearest points of two parallel lines, in every norm.
    assert 0 < proof.lower <= distance * (1 + 1e-9)
    assert proof.lower == pytest.approx(distance, rel=1e-5)
    assert np.all(model.predict(X) == [-1, -1, 1, 1])


@pytest.mark.parametrize("seed", range(6))
def test_a_plane_that_divides_in_no_rounded_coordinates_is_an_error(seed):
    """Units in the last place of 1e15 are as large as the distance of the classes."""
    X, y = apart(seed=seed)
    far = X + 1e15
    with contextlib.suppress(ValueError):
        assert np.all(LpMarginSVC(2.0, C=np.inf).fit(far, y).predict(far) == y)
