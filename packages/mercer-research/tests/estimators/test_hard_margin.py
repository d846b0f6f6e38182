"""The widest margin against conic programs, closed forms, and what the hulls prove."""

import time
from fractions import Fraction
from itertools import count

import cvxpy as cp
import numpy as np
import pytest

from mercer import SVC
from mercer._deadline import deadline
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer_research.estimators import HardMarginSVC, NotSeparable, hard_margin
from mercer_research.estimators.hard_margin import separability
from mercer_research.estimators.hulls import nearest_points


def apart(n=30, p=3, seed=0, shift=1.0):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, p)), rng.normal(size=p)
    y = np.where(X @ w > 0, 1.0, -1.0)
    return X + shift * y[:, None] * w / np.linalg.norm(w), y


def hulls(Z, y):
    """Return the distance of convex hulls as a conic solver sees it."""
    alpha = cp.Variable(len(y), nonneg=True)
    sums = [cp.sum(alpha[y > 0]) == 1, cp.sum(alpha[y < 0]) == 1]
    problem = cp.Problem(cp.Minimize(cp.norm(Z.T @ cp.multiply(y, alpha))), sums)
    return problem.solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("seed", range(4))
def test_twice_the_margin_is_the_distance_of_the_hulls(seed):
    X, y = apart(seed=seed, shift=0.3)
    machine = HardMarginSVC().fit(X, y)
    # tol is relative; Clarabel has eight digits.
    assert 2 * machine.margins_[0] == pytest.approx(hulls(X, y), rel=2e-6)
    w, f = machine.coef_[0], machine.decision_function(X)
    assert np.min(y * f) == pytest.approx(1.0, abs=1e-9)
    assert 1 / np.linalg.norm(w) == pytest.approx(machine.margins_[0], rel=2e-6)
    # The plane bisects the shortest way: both hull points have decision values of size one.
    alpha = machine.certificates_[0].weights
    for label in (-1, 1):
        point = alpha[y == label] @ X[y == label]
        assert point @ w + machine.intercept_[0] == pytest.approx(label, abs=1e-5)


def test_conditions_of_optimality():
    X, y = apart()
    machine = HardMarginSVC().fit(X, y)
    alpha = np.zeros(len(y))
    alpha[machine.support_] = y[machine.support_] * machine.dual_coef_[0]
    f = machine.decision_function(X)
    assert np.all(alpha >= 0)
    assert alpha @ y == pytest.approx(0.0, abs=1e-12 * alpha.sum())
    # alpha_i (y_i f_i - 1) = 0 up to tol of |w|^2 = sum alpha.
    assert alpha @ (y * f - 1) <= 1e-6 * alpha.sum()
    assert np.sum(machine.coef_**2) == pytest.approx(alpha.sum(), rel=2e-6)
    # Without a sample that carries nothing the plane stays.
    idle = np.setdiff1d(np.arange(len(y)), machine.support_)[:5]
    rest = np.setdiff1d(np.arange(len(y)), idle)
    again = HardMarginSVC().fit(X[rest], y[rest])
    np.testing.assert_allclose(again.coef_, machine.coef_, rtol=1e-4)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Polynomial(degree=2, coef0=1.0)], ids=str)
def test_it_is_the_limit_of_soft_margins(kernel):
    X, y = apart(n=40, p=2, seed=2, shift=0.2)
    machine = HardMarginSVC(kernel=kernel).fit(X, y)
    soft = SVC(C=1e7, kernel=kernel, tol=1e-8).fit(X, y)
    # Margins are known to 1e-6; decision values of the others differ by multiples of it.
    np.testing.assert_allclose(
        machine.decision_function(X), soft.decision_function(X), rtol=1e-3, atol=1e-3
    )
    K = kernel(X)
    root = np.linalg.cholesky(K + 1e-12 * np.eye(len(y)))
    assert 2 * machine.margins_[0] == pytest.approx(hulls(root, y), rel=1e-4)


def test_hulls_that_meet_are_the_proof():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    y = np.array([1, 1, -1, -1])
    with pytest.raises(NotSeparable, match="finite C") as caught:
        HardMarginSVC().fit(X, y)
    proof = caught.value.certificate
    assert not proof.separable
    # One point of the plane, made of both classes.
    np.testing.assert_allclose(proof.weights[:2] @ X[:2], proof.weights[2:] @ X[2:], atol=1e-5)
    np.testing.assert_allclose(proof.weights[:2].sum(), 1.0)
    assert separability(X, y, kernel=Gaussian(1.0)).separable
    # Exclusive or in four feature vectors of a Gaussian: the nearest points are the middles.
    near, far = np.exp(-0.5), np.exp(-1.0)
    expected = np.sqrt(2 * 0.5 * (1 + far) - 2 * near)
    assert separability(X, y, kernel=Gaussian(1.0)).distance == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_overlap_is_seen(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, 2)), np.repeat([-1, 1], 20)
    found = separability(X, y)
    assert not found.separable
    w = found.weights * np.where(y > 0, 1, -1)
    assert np.linalg.norm(w @ X) <= 1e-6 * found.radius


def test_small_and_large_units():
    X, y = apart(seed=1)
    margin = HardMarginSVC().fit(X, y).margins_[0]
    for unit in (1e-6, 1e6):
        assert HardMarginSVC().fit(unit * X, y).margins_[0] == pytest.approx(
            unit * margin, rel=1e-5
        )


def test_weights_only_choose_samples():
    X, y = apart()
    c = np.random.default_rng(0).uniform(0.1, 9.0, len(y))
    c[:5] = 0.0
    machine = HardMarginSVC(kernel=Linear()).fit(X, y, c)
    other = HardMarginSVC(kernel=Linear()).fit(X[5:], y[5:])
    np.testing.assert_allclose(machine.coef_, other.coef_, rtol=1e-6)


def test_several_classes():
    centres = np.array([[0.0, 4.0], [4.0, 0.0], [-4.0, 0.0]])
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 10)
    X = centres[y] + 0.5 * rng.normal(size=(30, 2))
    machine = HardMarginSVC().fit(X, y)
    assert machine.score(X, y) == 1.0
    assert machine.margins_.shape == (3,)
    with pytest.raises(ValueError, match="two classes"):
        separability(X, y)


def test_many_samples_of_two_classes_are_divided():
    """The first working set had one direction for each class, and nothing could move in it."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 3))
    y = X[:, 0] + 0.3 * rng.normal(size=3000) > 0
    machine = HardMarginSVC(kernel="rbf", gamma=30.0).fit(X, y)
    assert machine.margins_[0] > 0
    assert machine.score(X, y) == 1.0


def test_a_limit_decides_nothing():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3))
    with pytest.raises(ValueError, match=r"is not decided: .* max_iter") as caught:
        HardMarginSVC(kernel="rbf", gamma=10.0, max_iter=1).fit(X, X[:, 0] > rng.normal(size=400))
    assert not isinstance(caught.value, NotSeparable)


def exact_room(X, y, w):
    """Return how far a hyperplane keeps two classes apart, in rational numbers."""
    w = [Fraction(float(value)) for value in w]
    f = [sum(a * Fraction(float(x)) for a, x in zip(w, row, strict=True)) for row in X]
    below = max(value for value, label in zip(f, y, strict=True) if label < 0)
    return min(value for value, label in zip(f, y, strict=True) if label > 0) - below


@pytest.mark.parametrize("offset", [1e3, 1e5, 1e6, 1e9])
@pytest.mark.parametrize("seed", range(3))
def test_classes_far_from_zero_are_divided(seed, offset):
    X, y = apart(n=60, p=4, seed=seed, shift=0.3)
    far = X + offset
    machine = HardMarginSVC().fit(far, y)
    (proof,) = machine.certificates_
    room = exact_room(far, y, machine.coef_[0])
    # What is proven holds in rational numbers, and misses the truth by tol = 1e-6 at most.
    assert proof.lower * np.linalg.norm(machine.coef_) <= room * (1 + 1e-12)
    assert proof.lower >= (1 - 1e-6) * proof.distance
    # Adding the offset rounded the points by half a unit in its last place.
    moved = 4 * offset * np.finfo(float).eps
    margin = HardMarginSVC().fit(X, y).margins_[0]
    assert machine.margins_[0] == pytest.approx(margin, rel=2e-6, abs=moved)
    # The function that predicts is the one that was measured.
    assert np.min(y * machine.decision_function(far)) == pytest.approx(1.0, abs=1e-9)
    assert machine.score(far, y) == 1.0
    assert np.allclose(
        far @ machine.coef_[0] + machine.intercept_[0],
        machine.decision_function(far),
        atol=8 * np.finfo(float).eps * offset * np.abs(machine.coef_).sum(),
    )


@pytest.mark.parametrize("distance", [1e-3, 1e-6, 1e-7])
@pytest.mark.filterwarnings("ignore:The margin is known")  # of 1e-7 a millionth is rounding
@pytest.mark.parametrize("seed", range(3))
def test_classes_that_nearly_touch_are_divided(seed, distance):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 3)), np.repeat([-1.0, 1.0], 15)
    # Faces of both hulls lie on two parallel planes: their distance is known.
    X[:, 0] = y * np.where(np.arange(30) % 3 == 0, 0.5 * distance, 2.0)
    X[y > 0, 1:] -= X[15, 1:] - X[0, 1:]
    machine = HardMarginSVC().fit(X, y)
    (proof,) = machine.certificates_
    room = float(exact_room(X, y, machine.coef_[0]))
    assert 0 < proof.lower * np.linalg.norm(machine.coef_[0]) <= room * (1 + 1e-9)
    assert proof.lower <= distance * (1 + 1e-12) <= proof.distance * (1 + 1e-9)


def test_a_shared_point_is_a_proof_far_from_zero():
    X, y = apart(n=20, p=2, shift=0.5)
    X[1] = X[0]
    y[:2] = 1.0, -1.0
    for offset in (0.0, 1e6):
        with pytest.raises(NotSeparable, match="rounding") as caught:
            HardMarginSVC().fit(X + offset, y)
        proof = caught.value.certificate
        points = X + offset - np.mean(X + offset, axis=0)
        # Sums of twenty terms of size radius round by their number times eps.
        assert np.linalg.norm((y * proof.weights) @ points) <= 50 * 2.3e-16 * proof.radius


def test_what_rounding_hides_is_not_decided():
    """Two classes 1e-11 apart: beyond what distances of hulls are known to, and truly apart."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(60, 4)), np.repeat([-1.0, 1.0], 30)
    X[:, 0] = 0.5e-11 * y
    with pytest.raises(ValueError, match="is not decided") as caught:
        HardMarginSVC().fit(X, y)
    assert not isinstance(caught.value, NotSeparable)


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_few_samples_need_no_solver(monkeypatch):
    """A pair of few samples takes an active set of a few steps: 42 classes have 861 pairs."""
    monkeypatch.setattr(hard_margin, "minimize", None)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(42, 5))
    machine = HardMarginSVC().fit(X, np.arange(42))
    first, second = np.triu_indices(42, 1)
    halves = 0.5 * np.linalg.norm(X[first] - X[second], axis=1)
    np.testing.assert_allclose(machine.margins_, halves, rtol=1e-9)


def test_the_active_set_is_as_good_as_a_conic_solver():
    rng = np.random.default_rng(0)
    for _ in range(20):
        n, p = int(rng.integers(4, 50)), int(rng.integers(1, 6))
        X, y = apart(n, p, seed=int(rng.integers(1000)), shift=rng.uniform(0.05, 1.0))
        if np.all(y == y[0]):
            continue
        alpha, _ = nearest_points(y[:, None] * X, (y > 0).astype(np.intp))
        np.testing.assert_allclose([alpha[y > 0].sum(), alpha[y < 0].sum()], 1.0)
        assert np.all(alpha >= 0)
        # Clarabel has eight digits.
        assert np.linalg.norm((y * alpha) @ X) == pytest.approx(hulls(X, y), rel=1e-6)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-120, 1.0, 1e80, 1e140])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_a_fit_ends_at_its_limit(kernel, scale, monkeypatch):
    """By a clock that goes on by a second at each look: no problem is begun after the limit."""
    looks = count()
    calls = []
    original = hard_margin.minimize
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(looks)))
    monkeypatch.setattr(
        hard_margin,
        "minimize",
        lambda *given, **named: calls.append(1) or original(*given, **named),
    )
    rng = np.random.default_rng(0)
    X = scale * rng.normal(size=(100, 3))
    machine = HardMarginSVC(kernel=kernel, gamma=0.01, max_time=1.0)
    with pytest.raises(ValueError, match=r"not decided|meet|overflow|cannot be fitted"):
        machine.fit(X, rng.integers(0, 2, 100))
    assert len(calls) <= 1
    # One step of a path and its certificate look at the clock a dozen times.
    assert next(looks) < 40


def test_an_active_set_ends_at_the_limit():
    rng = np.random.default_rng(0)
    P, group = rng.normal(size=(60, 40)), np.repeat([0, 1], 30)
    with deadline(0.0):
        alpha, n_iter = nearest_points(P, group)
    assert n_iter == 0
    np.testing.assert_allclose([alpha[group == g].sum() for g in (0, 1)], 1.0)
