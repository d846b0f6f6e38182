"""Decomposition: against its plain twin, in working sets, from warm starts, within its budget."""

import dataclasses
import itertools

import numpy as np
import pytest

import data
from mercer._threads import one_thread
from mercer.gram import Dense, Tiled
from mercer.gram.indexed import Indexed
from mercer.kernels import Gaussian, Linear, Matern, Polynomial, RationalQuadratic
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
from mercer.solvers import SMO, ConvergenceWarning, InteriorPoint, Status, minimize
from mercer.solvers._pairs import pack, slopes, survey
from mercer.solvers._pairs import pair_steps as compiled_steps
from mercer.solvers.monitor import Monitor
from mercer.solvers.smo import _entering, _State
from mercer.solvers.solution import join
from solvers.plain_smo import derivatives, dual, pair_steps

LOSSES = [
    Squared(),
    Absolute(),
    EpsilonInsensitive(0.2),
    SquaredEpsilonInsensitive(0.2),
    Huber(0.5),
    Pinball(0.3),
    Expectile(0.8),
    Hinge(),
    SquaredHinge(),
    HuberHinge(0.5),
]


def sample(n, loss, seed=0, C=2.0, kernel=None, groups=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n)
    if "inge" in type(loss).__name__:
        y = np.where(y > 0, 1.0, -1.0)
    group = rng.integers(0, max(groups, 1), size=n) if groups else np.full(n, -1)
    B = np.eye(max(groups, 1))[group][:, :groups]
    K = (kernel or Gaussian(1.0))(X)
    return RegularizedRisk(loss, Dense(K), y, C * rng.uniform(0.5, 2.0, n), B), K, X, group


def assert_same_optimum(one, other):
    """Each objective exceeds the optimum by its gap at most, and by the rounding of the sums."""
    rounding = 1e-12 * (1.0 + abs(one.objective))
    assert abs(one.objective - other.objective) <= one.gap + other.gap + rounding


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("groups", [0, 1, 2])
def test_compiled_loop_equals_plain_numpy(loss, groups):
    risk, K, _, group = sample(16, loss, groups=groups)
    terms = loss.dual_terms(risk.y, np.asarray(risk.c))
    a, steps = pair_steps(K, np.zeros(16), terms, group, groups, 1e-4, 2000)
    assert steps < 2000
    solution = minimize(risk, SMO(tol=1e-4))
    # The same rule from the same start takes the same steps, until rounding tells ties apart.
    assert 0.5 * steps <= solution.n_iter <= 2.0 * steps
    # Each point is within tol * |a|_1 of the optimum of a convex function.
    slack = 1e-4 * (np.abs(a).sum() + np.abs(solution.a).sum())
    assert abs(dual(K, solution.a, terms) - dual(K, a, terms)) <= slack


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("groups", [0, 1, 2])
def test_the_first_steps_are_those_of_plain_numpy(loss, groups):
    risk, K, _, group = sample(16, loss, seed=1, groups=groups)
    terms = loss.dual_terms(risk.y, np.asarray(risk.c))
    for steps in (1, 2, 3):
        a, taken = pair_steps(K, np.zeros(16), terms, group, groups, 1e-4, steps)
        assert taken == steps
        # The answer before it is judged: minimize returns no machine worse than a constant.
        answer = SMO(tol=1e-4).solve(risk, None, Monitor(max_iter=steps))
        # The plain line search fits parabolas through values, which keeps half of the digits.
        np.testing.assert_allclose(answer.a, a, atol=1e-7 * np.max(np.abs(a)))


def anywhere(loss, n, seed, n_groups):
    """Return kernel values, terms and coefficients of either sign, at zero and on bounds.

    Samples are ordered by group, the first of them are in none (-1).
    """
    risk, K, *_ = sample(n, loss, seed=seed)
    terms = loss.dual_terms(risk.y, np.asarray(risk.c))
    rng = np.random.default_rng(seed)
    a = np.clip(rng.normal(size=n) * rng.choice([0.0, 1.0, 4.0], n), terms.lower, terms.upper)
    return K, terms, a, np.sort(rng.integers(-1, n_groups, n))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("n_groups", [0, 1, 2])
def test_steps_from_anywhere_are_those_of_plain_numpy(loss, n_groups):
    K, terms, start, group = anywhere(loss, 16, 3, n_groups)
    ends = np.searchsorted(group, np.arange(n_groups + 1))
    up, down = slopes(K @ start, start, terms)
    for steps in range(1, 7):
        plain, _ = pair_steps(K, start, terms, group, n_groups, 0.0, steps)
        a = start.copy()
        slope = up.copy(), down.copy()
        taken, _ = compiled_steps(K, a, *slope, pack(terms), ends, 0.0, steps, 100)
        assert taken == steps
        np.testing.assert_allclose(a, plain, atol=1e-7 * np.max(np.abs(plain)))


def test_a_step_stops_at_a_kink_and_passes_zero_without_one():
    # Two samples with a'K a = |a|^2 that want to trade their signs: a = (-1, 1) to (1, -1).
    K, y, start = np.eye(2), np.array([10.0, -10.0]), np.array([-1.0, 1.0])
    for loss, expected in ((EpsilonInsensitive(0.1), [0.0, 0.0]), (Absolute(), [1.0, -1.0])):
        terms = loss.dual_terms(y, np.ones(2))
        a = start.copy()
        compiled_steps(K, a, *slopes(K @ a, a, terms), pack(terms), np.array([0, 2]), 1e-6, 1, 100)
        assert a.tolist() == expected


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("n_groups", [0, 1, 2])
def test_survey_measures_from_the_middle_of_every_group(loss, n_groups):
    K, terms, a, group = anywhere(loss, 40, 4, n_groups)
    group = np.random.default_rng(0).permutation(group)
    up, down, violation, rise, fall = survey(K @ a, a, terms, group, n_groups)
    expected = derivatives(K @ a, a, terms)
    # The same sums of three terms, in whatever order.
    np.testing.assert_allclose((up, down), expected, rtol=1e-13, atol=1e-13)
    worst = [2.0 * max(0.0, *-up[group == -1], *down[group == -1])]
    for g in range(n_groups):
        low, high = min(up[group == g]), max(down[group == g])
        worst.append(high - low)
        np.testing.assert_allclose(rise[group == g], (low + high) / 2 - up[group == g])
        np.testing.assert_allclose(fall[group == g], down[group == g] - (low + high) / 2)
    assert violation == max(worst)
    np.testing.assert_array_equal(rise[group == -1], -up[group == -1])
    np.testing.assert_array_equal(fall[group == -1], down[group == -1])


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("groups", [0, 1, 2])
def test_agrees_with_interior_point(loss, groups):
    risk, *_ = sample(80, loss, seed=1, C=5.0, groups=groups)
    exact = minimize(risk, InteriorPoint(tol=1e-9))
    solution = minimize(risk, SMO(tol=1e-7))
    assert solution.converged
    assert_same_optimum(solution, exact)
    assert solution.gap <= 1e-7 * np.sum(risk.c) * 2


def contributions(risk, a, f, epsilon):
    """Return the shares of samples in the gap of a tube, by complementary slackness."""
    up, down, over = np.maximum(a, 0.0), np.maximum(-a, 0.0), risk.y - f
    inside = up * np.maximum(epsilon - over, 0.0) + down * np.maximum(epsilon + over, 0.0)
    above = (risk.c - up) * np.maximum(over - epsilon, 0.0)
    return inside + above + (risk.c - down) * np.maximum(-over - epsilon, 0.0)


@pytest.mark.parametrize("steps", [1, 10, 40])
def test_contributions_of_samples_sum_to_the_gap(steps):
    risk, *_ = sample(60, EpsilonInsensitive(0.1), seed=1, C=5.0, groups=1)
    with pytest.warns(ConvergenceWarning):
        solution = minimize(risk, SMO(tol=1e-9, max_iter=steps))
    shares = contributions(risk, solution.a, solution.f, 0.1)
    assert np.all(shares >= 0.0)
    # Both are sums of 60 terms of the size of weights times residuals.
    np.testing.assert_allclose(shares.sum(), solution.gap, rtol=1e-10)


def test_the_largest_contributions_may_hold_no_direction():
    """Why pairs are not chosen by them: both may lie on one side, where any exchange is a loss."""
    y, epsilon = np.array([0.0, 0.0, 0.0, 5.0, 5.0]), 0.1
    K = np.eye(5)
    risk = RegularizedRisk(EpsilonInsensitive(epsilon), Dense(K), y, np.ones(5), np.ones((5, 1)))
    shares = contributions(risk, np.zeros(5), np.full(5, 0.1), epsilon)  # b = 0.1 is the best
    pair = np.argsort(shares)[-2:]
    assert set(pair) == {3, 4}

    def dual_value(a):
        return 0.5 * a @ K @ a - a @ y + epsilon * np.abs(a).sum()

    for t in np.linspace(-1.0, 1.0, 21):
        step = t * (np.eye(5)[pair[0]] - np.eye(5)[pair[1]])
        assert dual_value(step) >= dual_value(np.zeros(5))
    assert dual_value(minimize(risk, SMO(tol=1e-9)).a) < -1.0


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.1), Huber(0.3), Pinball(0.8)])
@pytest.mark.parametrize("groups", [0, 1, 2])
def test_working_sets_reach_the_same_optimum(loss, groups):
    risk, _, X, _ = sample(300, loss, seed=2, groups=groups)
    whole = minimize(risk, SMO(tol=1e-5))
    tiled = RegularizedRisk(loss, Tiled(Gaussian(1.0), X), risk.y, risk.c, risk.B)
    for rows in (20, 150):
        solution = minimize(tiled, SMO(tol=1e-5, cache_bytes=2 * rows * 300 * 8))
        assert solution.converged
        assert_same_optimum(solution, whole)


def test_samples_enter_in_order_of_their_violation_or_are_drawn():
    key = np.array([0.0, 5.0, 0.2, 3.0, 0.3, 4.0, 1.0, 0.4])
    index = np.array([7, 5, 3, 1, 2, 4, 6])
    assert set(_entering(index, key, 3, None)) == {1, 3, 5}
    drawn = [_entering(index, key, 3, np.random.default_rng(seed)) for seed in range(50)]
    assert all(len(set(some)) == 3 for some in drawn)
    # Those below a twentieth of the largest violation are left out.
    assert set(np.concatenate(drawn)) == {1, 3, 4, 5, 6, 7}
    np.testing.assert_array_equal(_entering(index, key, 7, np.random.default_rng(0)), index)


def test_drawn_working_sets_save_kernel_values_where_most_coefficients_are_bounds(monkeypatch):
    # Labels at random: nearly every support vector is at its bound.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 5)), np.where(rng.uniform(size=4000) < 0.4, 1.0, -1.0)
    # A kernel without register tiles, whose rows are dear.
    K = Tiled(RationalQuadratic(3.0), X)
    risk = RegularizedRisk(Hinge(), K, y, 1.0, np.ones((4000, 1)))
    drawn = minimize(risk, SMO())
    monkeypatch.setattr("mercer.solvers.smo.MIN_DRAWN_VIOLATION_PART", np.inf)
    worst = minimize(risk, SMO())
    assert drawn.converged
    assert worst.converged
    assert drawn.n_bound > 5 * drawn.n_free
    assert drawn.evaluations < worst.evaluations
    assert abs(drawn.dual - worst.dual) <= drawn.gap + worst.gap


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.1)])
def test_rows_that_are_computed_at_once_lead_to_the_same_optimum(loss, monkeypatch):
    risk, _, X, _ = sample(2100, loss, seed=5)
    tiled = RegularizedRisk(loss, Tiled(Matern(1.0, nu=0.5), X), risk.y, risk.c, risk.B)
    whole = minimize(tiled, SMO())
    monkeypatch.setattr("mercer.solvers.smo.MAX_STORED_ROWS", 0)
    parts = minimize(tiled, SMO())
    assert whole.converged
    assert parts.converged
    # All rows once, besides those of the first working sets.
    assert 2100**2 <= whole.evaluations < 1.5 * 2100**2
    assert abs(whole.dual - parts.dual) <= whole.gap + parts.gap


def test_few_support_vectors_do_not_need_all_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[:, 0] += 2.0 * y
    risk = RegularizedRisk(Hinge(), Tiled(Gaussian(2.0), X), y, 10.0, np.ones((2500, 1)))
    solution = minimize(risk, SMO())
    assert solution.converged
    assert np.count_nonzero(solution.a) < 0.05 * 2500
    assert solution.evaluations < 0.5 * 2500**2


def test_working_sets_never_hold_more_rows_than_the_cache():
    risk, _, X, _ = sample(500, Hinge(), seed=3)
    asked = []

    class Counting(Tiled):
        def block(self, rows, columns):
            block = super().block(rows, columns)
            asked.append(block.nbytes)
            return block

    K = Counting(Gaussian(1.0), X)
    cache = 100 * 500 * 8
    solution = minimize(RegularizedRisk(Hinge(), K, risk.y, risk.c, risk.B), SMO(cache_bytes=cache))
    assert solution.converged
    assert max(asked) <= cache


def test_warm_start_keeps_the_optimum_and_saves_steps():
    risk, *_ = sample(200, Hinge(), seed=4, C=10.0)
    cold = minimize(risk, SMO(tol=1e-6))
    again = minimize(risk, SMO(tol=1e-6), start=cold)
    assert again.n_iter <= 2
    near = RegularizedRisk(risk.loss, risk.K, risk.y, 1.1 * risk.c, risk.B)
    # Scaled by the ratio of the weights, the old coefficients are feasible again.
    scaled = dataclasses.replace(cold, a=1.1 * cold.a)
    warm = minimize(near, SMO(tol=1e-6), start=scaled)
    fresh = minimize(near, SMO(tol=1e-6))
    assert_same_optimum(warm, fresh)
    assert warm.n_iter < fresh.n_iter


def test_warm_start_from_an_infeasible_point_is_mended():
    risk, *_ = sample(60, Hinge(), seed=5, C=1.0)
    good = minimize(risk, SMO(tol=1e-6))
    spoiled = dataclasses.replace(good, a=good.a + 3.0)
    solution = minimize(risk, SMO(tol=1e-6), start=spoiled)
    assert solution.residual <= 1e-12
    assert_same_optimum(solution, good)


def test_duplicate_rows_and_zero_weights():
    rng = np.random.default_rng(6)
    X = np.repeat(rng.normal(size=(20, 2)), 3, axis=0)
    y = np.where(rng.normal(size=60) > 0, 1.0, -1.0)
    c = np.ones(60)
    c[::3] = 0.0
    risk = RegularizedRisk(Hinge(), Dense(Gaussian(1.0)(X)), y, c, np.ones((60, 1)))
    solution = minimize(risk, SMO(tol=1e-8))
    kept = np.flatnonzero(c)
    small = RegularizedRisk(Hinge(), Dense(Gaussian(1.0)(X[kept])), y[kept], 1.0, np.ones((40, 1)))
    reference = minimize(small, InteriorPoint(tol=1e-9))
    assert np.all(solution.a[::3] == 0)
    assert solution.objective == pytest.approx(reference.objective, rel=1e-6)


def test_support_vectors_sit_exactly_on_bounds_and_zero():
    risk, *_ = sample(150, EpsilonInsensitive(0.3), seed=7, C=0.5)
    solution = minimize(risk, SMO(tol=1e-6))
    lower, upper = risk.box()
    at_zero, at_bound = solution.a == 0, (solution.a == lower) | (solution.a == upper)
    assert np.sum(at_zero) > 20
    assert np.sum(at_bound) > 20
    r = np.abs(risk.y - solution.f)
    assert np.all(r[at_zero] <= 0.3 + 1e-6)
    assert np.all(r[at_bound] >= 0.3 - 1e-6)


def test_max_iter_and_max_time_stop_with_a_warning():
    risk, *_ = sample(300, Hinge(), seed=8, C=1e4)
    with pytest.warns(ConvergenceWarning, match="max_iter=7"):
        solution = minimize(risk, SMO(tol=1e-8, max_iter=7))
    assert (solution.status, solution.n_iter) == (Status.MAX_ITER, 7)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        solution = minimize(risk, SMO(tol=1e-12, max_time=1e-6))
    assert solution.status is Status.MAX_TIME
    assert np.isfinite(solution.gap)


def test_listener_sees_the_gap_fall_and_can_stop():
    # The dual value rises from step to step; the gap, which has the loss in it, falls in the end.
    risk, *_ = sample(2000, Hinge(), seed=9, C=100.0, kernel=Linear())
    seen = []

    def listen(progress):
        seen.append(progress)
        return len(seen) >= 10

    solution = minimize(risk, SMO(tol=1e-9), listener=listen)
    assert solution.status is Status.STOPPED
    assert [p.iteration for p in seen] == sorted({p.iteration for p in seen})
    duals = [p.objective - p.gap for p in seen]
    assert duals == sorted(duals)
    assert seen[-1].gap < seen[0].gap
    assert seen == list(solution.history)


def test_who_listens_is_told_at_doubling_distances():
    risk, *_ = sample(60, Hinge(), seed=9, C=100.0, kernel=Linear())
    seen = []
    solution = minimize(risk, SMO(tol=1e-6), listener=lambda progress: seen.append(progress))
    steps = [progress.iteration for progress in seen]
    assert steps[0] == 0
    assert steps[1] <= 100
    assert all(after <= 2 * before for before, after in itertools.pairwise(steps[1:]))
    assert steps[-1] == solution.n_iter > 1000


@pytest.mark.filterwarnings("ignore::mercer.solvers.ConvergenceWarning")
def test_the_best_answer_before_a_stop_comes_with_its_product(monkeypatch):
    products = []
    matvec = Dense.matvec
    monkeypatch.setattr(Dense, "matvec", lambda self, v: products.append(1) or matvec(self, v))
    earlier = 0
    for reports in range(1, 12):
        risk, *_ = sample(400, Hinge(), seed=9, C=100.0, kernel=Linear())
        assert isinstance(risk.K, Dense)
        seen, counted = [], len(products)
        minimize(
            risk,
            SMO(tol=1e-9),
            listener=lambda line, seen=seen, most=reports: seen.append(line) or len(seen) >= most,
        )
        earlier += min(line.objective for line in seen) < seen[-1].objective
        assert len(products) == counted
    assert earlier


def test_two_samples_take_one_step():
    """The objective of a pair is a parabola: one step is at its vertex, the next look ends."""
    y = np.array([-1.0, 1.0])
    risk = RegularizedRisk(Squared(), Dense(np.eye(2)), y, np.ones(2), np.ones((2, 1)))
    assert minimize(risk, SMO(tol=1e-9)).n_iter == 1


def test_the_run_is_counted():
    risk, *_ = sample(300, EpsilonInsensitive(0.2), seed=2, C=1.0)

    class Counting(Dense):
        asked = 0

        def block(self, rows, columns):
            values = super().block(rows, columns)
            Counting.asked += values.size
            return values

        @property
        def in_memory(self):
            return False

    K = Counting(risk.K.dense())
    solution = minimize(RegularizedRisk(risk.loss, K, risk.y, risk.c, risk.B), SMO(tol=1e-6))
    on_bound = np.abs(solution.a) == risk.c
    assert solution.n_bound == np.count_nonzero(on_bound)
    assert solution.n_free == np.count_nonzero((solution.a != 0) & ~on_bound)
    assert solution.n_free > 0
    assert solution.n_bound > 0
    # Values that the certificate reads come on top of those that steps were taken by.
    assert 0 < solution.evaluations <= Counting.asked
    both = join([solution, solution])
    assert (both.n_free, both.evaluations) == (2 * solution.n_free, 2 * solution.evaluations)


def test_refuses_with_a_sentence():
    risk = RegularizedRisk(Logistic(), Dense(np.eye(5)), np.ones(5), 1.0, np.ones((5, 1)))
    with pytest.raises(ValueError, match="not quadratic"):
        minimize(risk, SMO())


def test_infeasible_equality_row_is_an_error():
    d = np.array([100.0])
    risk = RegularizedRisk(Hinge(), Dense(np.eye(4)), np.ones(4), 1.0, np.ones((4, 1)), d)
    with pytest.raises(ValueError, match="infeasible"):
        minimize(risk, SMO())


def test_scaled_and_unused_columns():
    risk, K, *_ = sample(50, EpsilonInsensitive(0.1), seed=10)
    scaled = RegularizedRisk(risk.loss, Dense(K), risk.y, risk.c, -4.0 * risk.B)
    plain, other = minimize(risk, SMO(tol=1e-8)), minimize(scaled, SMO(tol=1e-8))
    assert other.b[0] * -4.0 == pytest.approx(plain.b[0], abs=1e-7)
    unused = np.column_stack([risk.B, np.zeros(50)])
    third = minimize(RegularizedRisk(risk.loss, Dense(K), risk.y, risk.c, unused), SMO(tol=1e-8))
    assert third.objective == pytest.approx(plain.objective, rel=1e-7)


def test_float32_kernel_values_keep_float64_sums():
    risk, K, *_ = sample(200, Hinge(), seed=11)
    single = RegularizedRisk(Hinge(), Dense(K.astype(np.float32)), risk.y, risk.c, risk.B)
    solution, reference = minimize(single, SMO(tol=1e-4)), minimize(risk, SMO(tol=1e-4))
    assert solution.converged
    assert solution.objective == pytest.approx(reference.objective, rel=1e-3)


def test_kernel_values_that_are_not_numbers_are_refused():
    K = np.eye(30)
    K[3, 5] = K[5, 3] = np.nan
    y = np.where(np.arange(30) % 2, 1.0, -1.0)
    with pytest.raises(FloatingPointError, match="scale the inputs"):
        minimize(RegularizedRisk(Hinge(), Dense(K), y, 1.0, np.ones((30, 1))), SMO())


def test_repeated_samples_through_an_indexed_gram():
    risk, K, *_ = sample(30, Hinge(), seed=12)
    index = np.repeat(np.arange(30), 2)
    twice = RegularizedRisk(
        Hinge(), Indexed(Dense(K), index), risk.y[index], risk.c[index], risk.B[index]
    )
    double = RegularizedRisk(Hinge(), Dense(K), risk.y, 2.0 * risk.c, risk.B)
    left, right = minimize(twice, SMO(tol=1e-8)), minimize(double, SMO(tol=1e-8))
    assert left.objective == pytest.approx(right.objective, rel=1e-6)


@pytest.mark.skipif(bool(data.MISSING), reason=data.MISSING)
def test_weights_beyond_float32_do_not_stall():
    """Rounding of float32 values times C is more than the tolerance: steps go on in float64."""
    X, y, *_ = data.table("airfoil")
    some = np.random.default_rng(0).permutation(len(y))[:800]
    X, y = (X[some] - X[some].mean(axis=0)) / X[some].std(axis=0), y[some]
    risk = RegularizedRisk(
        EpsilonInsensitive(1.397), Tiled(Gaussian(1.43), X), y, 1046.0, np.ones((800, 1))
    )
    solution = minimize(risk, SMO(max_iter=400_000))
    assert solution.status is Status.CONVERGED


def test_nothing_is_multiplied_again_after_the_deadline(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=600) > 0, 1.0, -1.0)
    risk = RegularizedRisk(Hinge(), Tiled(Gaussian(1.0), X), y, 10.0, np.ones((600, 1)))
    # Coefficients near the optimum, but none of their products is known.
    start = dataclasses.replace(minimize(risk, SMO(tol=0.3)), f=np.full(600, 7.0))
    products = []
    for name in ("product", "matvec"):
        monkeypatch.setattr(Tiled, name, lambda *of, name=name, **how: products.append(name))
    with pytest.warns(ConvergenceWarning, match="max_time"):
        found = minimize(risk, SMO(max_time=1e-9), start)
    assert products == []
    monkeypatch.undo()
    assert found.status is Status.MAX_TIME
    exact = risk.certificate(found.a, found.b)
    np.testing.assert_allclose(found.f, exact.f, atol=1e-3)
    # Single precision is accounted for.
    assert found.gap >= exact.gap
    assert found.objective >= exact.primal


EPOCH_LOSSES = [Hinge(), SquaredHinge(), EpsilonInsensitive(0.1), Huber(0.3), Pinball(0.8)]


def in_epochs(monkeypatch):
    """Let decomposition work in epochs from few samples on; return the list of its runs."""
    runs, original = [], SMO._in_epochs
    monkeypatch.setattr("mercer.solvers.smo.MAX_WHOLE_ROWS", 0)

    def counted(self, *arguments):
        runs.append(arguments)
        return original(self, *arguments)

    monkeypatch.setattr(SMO, "_in_epochs", counted)
    return runs


@pytest.mark.parametrize("loss", EPOCH_LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("groups", [0, 1, 2])
def test_epochs_reach_the_same_optimum(loss, groups, monkeypatch):
    risk, _, X, _ = sample(560, loss, seed=2, groups=groups)
    whole = minimize(risk, SMO())
    runs = in_epochs(monkeypatch)
    # Few samples enter at once, so that there are several rounds and some leave.
    monkeypatch.setattr("mercer.solvers.smo.MAX_ENTERING_ACTIVE_ROWS", 64)
    tiled = RegularizedRisk(loss, Tiled(Gaussian(1.0), X), risk.y, risk.c, risk.B)
    for rows in (8192, 96):
        solution = minimize(tiled, SMO(cache_bytes=4 * 2 * rows**2))
        assert solution.converged
        assert_same_optimum(solution, whole)
    assert len(runs) >= 2


@pytest.mark.parametrize(
    "kernel",
    [Matern(1.5, nu=1.5), Matern(1.5, nu=2.5), Polynomial(3, gamma=0.3, coef0=1.0), Gaussian(1.0)],
    ids=lambda kernel: type(kernel).__name__,
)
@pytest.mark.parametrize("features", [3, 70])
def test_epochs_of_every_kernel_with_tiles(kernel, features, monkeypatch):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(600, features)) / np.sqrt(features / 3)
    y = np.where(np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=600) > 0, 1.0, -1.0)
    B = np.ones((600, 1))
    whole = minimize(RegularizedRisk(Hinge(), Dense(kernel(X)), y, 2.0, B), SMO())
    runs = in_epochs(monkeypatch)
    # Samples that occur twice have one point of the matrix and a slot each.
    for index in (np.arange(600), np.concatenate([np.arange(600), np.arange(0, 600, 5)])):
        c = np.full(len(index), 2.0)
        if len(index) > 600:
            twice = np.isin(index, np.arange(0, 600, 5))
            c[twice] = 1.0
        K = Indexed(Tiled(kernel, X), index) if len(index) > 600 else Tiled(kernel, X)
        solution = minimize(RegularizedRisk(Hinge(), K, y[index], c, B[index]), SMO())
        assert solution.converged
        assert_same_optimum(solution, whole)
    assert len(runs) >= 2


def test_epochs_end_with_true_products_wherever_they_stop(monkeypatch):
    risk, _, X, _ = sample(600, Hinge(), seed=3)
    in_epochs(monkeypatch)
    K = Tiled(Gaussian(1.0), X)
    tiled = RegularizedRisk(Hinge(), K, risk.y, 50.0 * risk.c, risk.B)
    lines = []
    solution = minimize(tiled, SMO(), listener=lines.append)
    assert solution.converged
    assert len(lines) > 3
    for steps in (1, 50, 200):
        with pytest.warns(ConvergenceWarning):
            stopped = minimize(tiled, SMO(max_iter=steps))
        assert stopped.n_iter <= steps
        f = K.matvec(stopped.a) + risk.B @ stopped.b
        np.testing.assert_allclose(stopped.f, f, rtol=0, atol=1e-3)
    # A warm start, and another number of threads, change neither the optimum nor a bit.
    again = minimize(tiled, SMO(), solution)
    assert again.converged
    assert_same_optimum(again, solution)
    with one_thread():
        alone = minimize(tiled, SMO())
    np.testing.assert_array_equal(alone.a, minimize(tiled, SMO()).a)


def test_pairs_that_creep_in_an_epoch_are_helped_by_newton_steps(monkeypatch):
    risk, _, X, _ = sample(600, EpsilonInsensitive(0.01), seed=6, C=300.0)
    whole = minimize(risk, SMO())
    in_epochs(monkeypatch)
    monkeypatch.setattr("mercer.solvers.smo.MAX_CALL_WORK", 1e6)
    taken, original = [], _State.newton_active

    def counted(self, *arguments):
        taken.append(self.steps)
        return original(self, *arguments)

    monkeypatch.setattr(_State, "newton_active", counted)
    tiled = RegularizedRisk(risk.loss, Tiled(Gaussian(1.0), X), risk.y, risk.c, risk.B)
    solution = minimize(tiled, SMO())
    assert solution.converged
    assert taken
    assert_same_optimum(solution, whole)
