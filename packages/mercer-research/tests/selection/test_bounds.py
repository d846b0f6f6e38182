"""Estimates of leave-one-out errors against the errors themselves, sample by sample."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer import SVC, SVR, KernelClassifier
from mercer.kernels import Gaussian, Linear
from mercer.regularizers import Empty
from mercer.selection import leave_one_out
from mercer_research.selection.bounds import (
    jaakkola_haussler,
    radius_margin,
    smallest_ball,
    span_bound,
    span_rule,
    support_vector_bound,
    xi_alpha,
)


def problem(seed, n=25):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1, -1)
    return X, y, SVC(kernel=Gaussian(rng.uniform(0.3, 2.0)), C=10 ** rng.uniform(-1, 2), tol=1e-8)


@pytest.mark.parametrize("seed", range(30))
def test_order_without_threshold_sample_by_sample(seed):
    X, y, machine = problem(seed)
    machine.set_params(null_space=Empty()).fit(X, y)
    wrong = leave_one_out(machine, X, y).errors > 0
    first, second = jaakkola_haussler(machine, X, y), support_vector_bound(machine, X, y)
    assert first.certified
    assert not np.any(wrong & ~first.flagged)
    assert not np.any(first.flagged & ~second.flagged)
    assert wrong.mean() <= first.value <= second.value


@pytest.mark.parametrize("seed", range(12))
def test_bounds_with_a_threshold_hold_sample_by_sample(seed):
    X, y, machine = problem(seed)
    machine.fit(X, y)
    wrong = leave_one_out(machine, X, y).errors > 0
    for estimate in (support_vector_bound, xi_alpha, span_bound):
        bound = estimate(machine, X, y)
        if bound.certified:
            assert not np.any(wrong & ~bound.flagged), estimate.__name__
            assert bound.value >= wrong.mean()
    assert not jaakkola_haussler(machine, X, y).certified


def test_with_a_threshold_jaakkola_and_haussler_only_estimate():
    for seed in range(60):
        X, y, machine = problem(seed)
        machine.fit(X, y)
        wrong = leave_one_out(machine, X, y).errors > 0
        if np.any(wrong & ~jaakkola_haussler(machine, X, y).flagged):
            return
    pytest.fail("no sample is wrong that was not flagged: then it could be certified")


def test_the_span_rule_is_the_closest():
    off = {span_rule: 0.0, xi_alpha: 0.0, span_bound: 0.0, support_vector_bound: 0.0}
    for seed in range(8):
        X, y, machine = problem(seed)
        machine.fit(X, y)
        truth = leave_one_out(machine, X, y).risk
        for estimate in off:
            off[estimate] += abs(estimate(machine, X, y).value - truth)
    assert off[span_rule] < min(value for key, value in off.items() if key is not span_rule)


@pytest.mark.parametrize("threshold", [True, False])
def test_the_span_rule_is_exact_while_kinds_stay(threshold):
    # Two separated pairs on a line: without -1 the margin moves to -3 and 1, all else stays free.
    X, y = np.array([[-3.0], [-1.0], [1.0], [4.0]]), np.array([-1, -1, 1, 1])
    rng = np.random.default_rng(0)
    X = np.concatenate([X, rng.normal(size=(20, 1)) * 2])
    y = np.concatenate([y, np.where(X[4:, 0] > 0, 1, -1)])
    machine = SVC(kernel=Gaussian(0.7), C=1e3, tol=1e-9)
    machine.set_params(null_space=None if threshold else Empty()).fit(X, y)
    left = leave_one_out(machine, X, y)
    K, a = Gaussian(0.7)(X), machine.solution_.a
    F = np.flatnonzero(a)
    border = np.ones((len(F), 1)) if threshold else np.ones((len(F), 0))
    M = np.block([[np.zeros((border.shape[1],) * 2), border.T], [border, K[np.ix_(F, F)]]])
    spans = 1.0 / np.diag(np.linalg.inv(M))[border.shape[1] :]
    moved = y[F] * (machine.solution_.f - left.decision)[F]
    same = [j for j, i in enumerate(F) if moved[j] == pytest.approx(abs(a[i]) * spans[j], rel=1e-4)]
    assert same, "no sample whose removal leaves the others what they are"
    rule = span_rule(machine, X, y)
    flagged = y[F] * machine.solution_.f[F] <= np.abs(a[F]) * spans
    assert np.array_equal(rule.flagged[F], flagged)


def test_only_machines_of_two_classes_with_hinge():
    X, y, _ = problem(0)
    with pytest.raises(ValueError, match="hinge"):
        span_rule(SVR().fit(X, y), X, y)
    y = np.arange(25) % 3
    with pytest.raises(ValueError, match="two classes"):
        xi_alpha(SVC().fit(X, y), X, y)
    X, y, machine = problem(0)
    machine.set_params(null_space=Empty()).fit(X, y)
    with pytest.raises(ValueError, match="intercept and equal weights"):
        span_bound(machine, X, y)


def test_ball_of_a_simplex_and_of_points_in_the_plane():
    n = 6
    R2, beta = smallest_ball(np.eye(n))
    # The vertices of a regular simplex: R^2 = 1 - 1/n, equal weights.
    assert pytest.approx(1 - 1 / n, abs=1e-7) == R2
    assert beta == pytest.approx(np.full(n, 1 / n), abs=1e-5)
    X = np.random.default_rng(0).normal(size=(20, 2))
    R2, beta = smallest_ball(X @ X.T)
    center = beta @ X
    by_hand = minimize(
        lambda z: np.max(np.sum((X - z) ** 2, axis=1)),
        center,
        method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-12, "maxiter": 2000},
    ).fun
    assert pytest.approx(by_hand, rel=1e-6) == R2


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_radius_margin_changes_as_it_says(loss):
    X, y, _ = problem(3, 40)

    def value(log_C, log_width):
        machine = KernelClassifier(
            loss, kernel=Gaussian(float(np.exp(log_width))), C=float(np.exp(log_C)), tol=1e-9
        )
        return radius_margin(machine.fit(X, y), X, y)

    at = value(0.5, 0.2)
    h = 1e-4
    by_C = (value(0.5 + h, 0.2).value - value(0.5 - h, 0.2).value) / (2 * h)
    by_width = (value(0.5, 0.2 + h).value - value(0.5, 0.2 - h).value) / (2 * h)
    # Programs are solved to 1e-8, so differences are good to 1e-4.
    assert at.gradient["log_C"] == pytest.approx(by_C, rel=1e-3, abs=1e-3)
    slope = float(at.gradient["kernel__length_scale"]) * np.exp(0.2)
    assert slope == pytest.approx(by_width, rel=1e-3, abs=1e-3)


def test_radius_margin_bounds_a_hard_margin():
    # The squared hinge is a hard margin in K + 1/c; Vapnik's bound holds for it.
    for seed in range(5):
        X, y, _ = problem(seed)
        machine = KernelClassifier("squared_hinge", kernel=Linear(), C=1.0, tol=1e-8).fit(X, y)
        errors = leave_one_out(machine, X, y).risk
        assert errors <= radius_margin(machine, X, y).value + 1e-9
