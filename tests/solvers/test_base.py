"""The one door: pairing, honesty, the support threshold, joined certificates."""

import dataclasses
import time

import numpy as np
import pytest

from mercer.gram import Dense, Tiled
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Hinge, Squared
from mercer.problems import RegularizedRisk
from mercer.regularizers import Polynomial
from mercer.solvers import SMO, ConvergenceWarning, Direct, Solver, Status, certify, minimize
from mercer.solvers.base import Answer
from mercer.solvers.certify import SUPPORT_THRESHOLD, snap_to_box
from mercer.solvers.monitor import Monitor
from mercer.solvers.solution import join


@dataclasses.dataclass(eq=False)
class Canned(Solver):
    """A solver that answers what it was told to."""

    answer: Answer | None = None

    def refuses(self, risk):
        return ""

    def solve(self, risk, start, monitor):
        monitor.report(1, 0.0)
        return self.answer


@pytest.fixture
def risk():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=40) > 0, 1.0, -1.0)
    return RegularizedRisk(Hinge(), Dense(Gaussian(1.0)(X)), y, 2.0, np.ones((40, 1)))


def test_a_false_claim_of_convergence_is_not_believed(risk):
    lie = Answer(np.zeros(40), np.zeros(1), 3)
    with pytest.warns(ConvergenceWarning, match="no further progress"):
        solution = minimize(risk, Canned(answer=lie))
    assert solution.status is Status.STALLED
    # Nothing worse than a constant is returned: losses of two in the smaller class, weight two.
    fewer = min(np.sum(risk.y > 0), np.sum(risk.y < 0))
    assert solution.gap == pytest.approx(4.0 * fewer)
    assert solution.gap < 80.0  # 40 losses of one, weight two


def test_answers_that_are_not_finite_are_refused(risk):
    broken = Answer(np.full(40, np.nan), np.zeros(1), 1)
    with pytest.raises(FloatingPointError, match="scale the inputs"):
        minimize(risk, Canned(answer=broken))


def test_refusal_names_solver_and_reason(risk):
    with pytest.raises(ValueError, match="Direct cannot take this problem: "):
        minimize(risk, Direct())


def test_settling_is_relative_to_the_box_and_keeps_the_rows(risk):
    exact = minimize(risk, SMO(tol=1e-9))
    lower, upper = risk.box()
    noise = np.where(
        exact.a == 0, 0.5 * SUPPORT_THRESHOLD * (upper - lower) * np.sign(upper + lower), 0.0
    )
    noise += np.where(exact.a == upper, -0.5 * SUPPORT_THRESHOLD * upper, 0.0)
    a = snap_to_box(risk, exact.a + noise)
    np.testing.assert_array_equal(a == 0, exact.a == 0)
    np.testing.assert_array_equal(a == upper, exact.a == upper)
    assert risk.residual(a) <= 1e-15
    for factor in (1e-3, 1e3):
        other = RegularizedRisk(risk.loss, risk.K, risk.y, factor * risk.c, risk.B)
        scaled = snap_to_box(other, factor * (exact.a + noise))
        np.testing.assert_array_equal(scaled == 0, a == 0)


def test_settling_moves_nothing_past_the_box(risk):
    lower, upper = risk.box()
    a = snap_to_box(risk, np.full(40, 5.0))
    assert np.all((a >= lower) & (a <= upper))


def test_settling_without_box_is_relative_to_the_largest_coefficient():
    y = np.array([1.0, -1.0, 1e-14])
    risk = RegularizedRisk(Squared(), Dense(np.eye(3)), y, 1.0)
    np.testing.assert_array_equal(snap_to_box(risk, np.array([0.5, -0.5, 5e-15])), [0.5, -0.5, 0.0])


@pytest.mark.parametrize("seed", range(5))
def test_coefficients_that_were_snapped_stay_where_they_are(seed):
    # Sums of 20,000 coefficients round: restored again, all of them moved by that, and a product
    # with K that was known no longer was.
    rng = np.random.default_rng(seed)
    n = 20_000
    B = np.eye(2)[rng.integers(0, 2, n)]
    y = rng.normal(size=n)
    risk = RegularizedRisk(EpsilonInsensitive(0.1), Tiled(Gaussian(1.0), y[:, None]), y, 1.0, B)
    once = snap_to_box(risk, rng.uniform(-1.0, 1.0, n))
    assert risk.residual(once) < 1e-13
    np.testing.assert_array_equal(snap_to_box(risk, once), once)


def test_joined_solutions_add_up(risk):
    one, other = minimize(risk, SMO()), minimize(risk, SMO(tol=1e-6))
    both = join([one, other])
    assert both.gap == one.gap + other.gap
    assert both.objective == one.objective + other.objective
    assert both.n_iter == one.n_iter + other.n_iter
    assert both.violation == max(one.violation, other.violation)
    assert both.times["solve"] == one.times["solve"] + other.times["solve"]
    assert join([one]) is one
    failed = dataclasses.replace(other, status=Status.MAX_ITER)
    assert join([one, failed]).status is Status.MAX_ITER


def test_solution_speaks_for_itself(risk):
    solution = minimize(risk, SMO())
    np.testing.assert_array_equal(solution.support, np.flatnonzero(solution.a))
    assert solution.relative_gap == solution.gap / abs(solution.objective)
    assert solution.objective - solution.dual == pytest.approx(solution.gap, rel=1e-8)
    assert set(solution.times) == {"solve", "certify"}
    assert solution.reason == "asked for"


def test_significant_figures_are_those_that_agree_with_the_optimum(risk):
    best = minimize(risk, SMO(tol=1e-10)).objective
    for tol in (1e-1, 1e-3, 1e-5):
        rough = minimize(risk, SMO(tol=tol))
        error = abs(rough.objective - best) / (1 + abs(rough.objective))
        part = rough.gap / (1 + abs(rough.objective))
        assert rough.significant_figures == pytest.approx(-np.log10(part))
        assert error <= 10**-rough.significant_figures * (1 + 1e-9)
    # No more digits than numbers have, whatever the gap.
    assert dataclasses.replace(rough, gap=0.0).significant_figures == pytest.approx(15.65, abs=0.01)


def test_gap_is_what_an_outsider_computes(risk):
    solution = minimize(risk, SMO(tol=1e-2))
    K, y = risk.K.dense(), risk.y
    f = K @ solution.a + solution.b[0]
    primal = 0.5 * solution.a @ K @ solution.a + 2.0 * np.maximum(0, 1 - y * f).sum()
    dual = (y * solution.a).sum() - 0.5 * solution.a @ K @ solution.a
    assert solution.gap == pytest.approx(primal - dual, rel=1e-9)
    best = minimize(risk, SMO(tol=1e-10))
    assert solution.gap >= solution.objective - best.objective


def test_monitor_counts_iterations_and_time():
    monitor = Monitor(max_iter=10)
    assert monitor.left(4, 100) == 6
    assert monitor.left(12, 100) == 0
    assert not monitor.report(5, 1.0)
    assert monitor.report(10, 1.0)
    assert monitor.status is Status.MAX_ITER
    assert Monitor().left(4, 100) == 100
    late = Monitor(max_time=1e-9)
    assert late.report(1, 1.0)
    assert late.status is Status.MAX_TIME


def test_an_iteration_that_would_end_too_late_is_not_begun(monkeypatch):
    ticks = iter([0.0, 1.0, 4.0, 7.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(ticks))
    monitor = Monitor(max_time=9.0)
    # The first may compile, and says nothing of the others.
    assert not monitor.report(0, 1.0, undivided=True)
    assert not monitor.report(1, 1.0, undivided=True)
    assert monitor.report(2, 1.0, undivided=True)
    assert monitor.status is Status.MAX_TIME
    ticks = iter([0.0, 4.0, 8.0, 9.0])
    divided = Monitor(max_time=9.0)
    assert [divided.report(k, 1.0) for k in range(3)] == [False, False, True]


def test_no_product_of_all_rows_is_begun_that_would_end_too_late(risk, monkeypatch):
    found = minimize(risk, SMO(tol=1e-8))
    # As of products in single precision: it is not known whether the tolerance is met.
    error = np.full(risk.n, 0.1)
    answer = Answer(found.a, found.b, 1, risk.K.matvec(found.a), error)
    now, products, product, believed = [0.0], [], Dense.product, certify.believed

    def slow(*given):
        now[0] += 0.064  # for 64 rows
        return believed(*given)

    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(certify, "believed", slow)
    monkeypatch.setattr(
        Dense, "product", lambda self, *given: products.append(1) or product(self, *given)
    )
    # All 40 rows take 0.04 s after 0.064 s.
    assert minimize(risk, Canned(tol=1e-6, max_time=0.105, answer=answer)).converged
    assert len(products) == 1
    now[0] = 0.0
    with pytest.warns(ConvergenceWarning, match="max_time"):
        late = minimize(risk, Canned(tol=1e-6, max_time=0.1, answer=answer))
    assert late.status is Status.MAX_TIME
    assert len(products) == 1
    assert late.gap >= found.gap


def test_per_sample_tubes_and_weights():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 1))
    y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=50)
    K = Gaussian(0.7)(X)
    width = rng.uniform(0.0, 0.3, 50)
    risk = RegularizedRisk(EpsilonInsensitive(width), Dense(K), y, 3.0, np.ones((50, 1)))
    solution = minimize(risk, SMO(tol=1e-8))
    # Shifting a tube is shifting the target: widen by t, both walls.
    wide = width.copy()
    wide[0] = 100.0
    without = np.arange(1, 50)
    one = minimize(
        RegularizedRisk(EpsilonInsensitive(wide), Dense(K), y, 3.0, np.ones((50, 1))), SMO(tol=1e-8)
    )
    part = risk.take(without, Dense(K[np.ix_(without, without)]))
    assert one.objective == pytest.approx(minimize(part, SMO(tol=1e-8)).objective, rel=1e-7)
    assert one.a[0] == 0.0
    inside = np.abs(y - solution.f) < width - 1e-6
    assert np.all(solution.a[inside] == 0)


def test_sums_of_many_columns_are_restored_at_the_size_of_the_sample(monkeypatch):
    """2,556 columns of three points are three unknowns, not a square of columns."""
    X, y = np.random.default_rng(0).normal(size=(3, 70)), np.array([1.0, -2.0, 0.5])
    B = Polynomial(2)(X)
    risk = RegularizedRisk(Squared(), Dense(Gaussian(1.0)(X)), y, 1.0, B)
    work, solve = [], np.linalg.lstsq

    def counted(A, b, rcond=None):
        work.append(A.size * min(A.shape))
        return solve(A, b, rcond=rcond)

    monkeypatch.setattr(np.linalg, "lstsq", counted)
    a = snap_to_box(risk, np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(B.T @ a, 0.0, atol=1e-12)
    assert B.shape == (3, 2556)
    assert 0 < max(work) <= B.size * 3
