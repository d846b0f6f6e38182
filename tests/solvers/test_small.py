"""Many small problems at once against the same problems one after the other."""

import itertools
import warnings
from dataclasses import fields

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import mercer.solvers.minimizing as machines
from mercer._deadline import deadline
from mercer.estimators import SVC, NuSVC
from mercer.gram import Dense
from mercer.gram.indexed import Indexed
from mercer.kernels.radial_tiles import quick_square
from mercer.losses import EpsilonInsensitive, Hinge, Pinball, SquaredHinge
from mercer.machines.one_vs_one import _laid_pairs
from mercer.machines.subproblems import prepare
from mercer.problems import RegularizedRisk
from mercer.problems.nu import nu_classification, nu_regression, one_class
from mercer.solvers import SMO, Auto, InteriorPoint, Status, minimize
from mercer.solvers.rounding import gap_resolution, negligible_gap, rounding_of
from mercer.solvers.small import SolutionBatch, minimize_small
from mercer.solvers.solution import join

CLASSES, ROWS = 12, 3


def sample(duplicates=False):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(CLASSES * ROWS, 2))
    if duplicates:
        X[1::4] = X[0]
    return X, np.arange(len(X)) % CLASSES, rng


def pairs(loss, C=3.0, seed=0, sizes=(2, 3, 5, 30)):
    """Sixty problems of several sizes over one kernel matrix, with weights, some of them zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3))
    K = Dense(np.exp(-0.3 * np.sum((X[:, None] - X[None]) ** 2, axis=2)))
    risks = []
    for _, m in zip(range(60), itertools.cycle(sizes), strict=False):
        y = np.where(np.arange(m) < m // 2, 1.0, -1.0)
        c = C * rng.uniform(0.1, 2.0, size=m)
        if m == 30:
            c[::7] = 0.0
        index = rng.permutation(40)[:m]
        risks.append(RegularizedRisk(loss, Indexed(K, index), y, c, np.ones((m, 1))))
    return risks


def one_by_one(monkeypatch, machine, *given):
    with monkeypatch.context() as patch:
        patch.setattr(machines, "minimize_small", lambda risks, solver: [None] * len(risks))
        patch.setattr(machines, "minimize_batch", lambda parts, solver: None)
        return machine.fit(*given)


@pytest.mark.parametrize("solver", [Auto(), SMO(tol=1e-6)], ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("C", [0.05, 3.0])
def test_solutions_are_those_of_minimize(solver, C):
    risks = pairs(Hinge(), C)
    found = minimize_small(risks, solver)
    assert sum(solution is not None for solution in found) > 50
    for risk, solution in zip(risks, found, strict=True):
        if solution is None:
            continue
        alone = minimize(risk, solver)
        for name in ("n_iter", "n_free", "n_bound", "evaluations", "status", "solver", "reason"):
            assert getattr(solution, name) == getattr(alone, name), name
        assert set(solution.times) == set(alone.times)
        for name in ("a", "b", "f", "objective", "dual", "b_interval"):
            np.testing.assert_allclose(
                getattr(solution, name), getattr(alone, name), rtol=1e-9, atol=1e-9 * C
            )
        # Losses inherit the rounding of decision values, times the weights.
        rounding = 1e-12 * np.sum(risk.c)
        np.testing.assert_allclose(
            np.stack(solution.terms), np.stack(alone.terms), rtol=1e-9, atol=rounding
        )


@pytest.mark.parametrize("C", [1e3, 1e4])
def test_large_weights_get_small_gaps_too(C):
    """A lower tolerance, where the one asked for leaves a gap that says little."""
    risks = pairs(Hinge(), C, seed=2)
    found = minimize_small(risks, Auto())
    assert sum(solution is not None for solution in found) > 50
    assert any(len(solution.history) > 1 for solution in found if solution is not None)
    for risk, solution in zip(risks, found, strict=True):
        if solution is None:
            continue
        assert solution.relative_gap <= 1e-2
        assert solution.history[-1].iteration == solution.n_iter
        exact, alone = risk.certificate(solution.a, solution.b), minimize(risk, Auto())
        assert exact.violation <= 1e-3
        # Rounding of decision values is part of the gap, and the order of sums here is another.
        slack = 1e-12 * np.sum(risk.c)
        above = solution.gap - exact.gap
        assert -slack <= above <= 4.0 * rounding_of(risk, solution) + slack
        # Neither value lies below the other's bound.
        assert solution.dual <= alone.objective + 1e-9
        assert alone.dual <= solution.objective + 1e-9


def test_gaps_that_rounding_can_make_are_not_called_small():
    """A gap below the hundredth of an objective of order one, by weights of 1e16, is chance.

    Unless no sample is within rounding of its margin.
    """
    taken = {}
    for C in (1e10, 1e12, 1e16):
        risks = pairs(Hinge(), C)
        found = minimize_small(risks, SMO())
        taken[C] = sum(solution is not None for solution in found)
        for risk, solution in zip(risks, found, strict=True):
            if solution is not None:
                gap = risk.certificate(solution.a, solution.b).gap
                assert gap <= 1e-2 * abs(solution.objective)
                assert rounding_of(risk, solution) <= 1e-2 * abs(solution.objective)
    assert taken[1e10] > 50 > taken[1e12] >= taken[1e16]


def test_a_margin_that_is_nothing_is_found_at_once():
    # The origin is inside of the points, and labels are drawn: no plane has a margin.
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(80, 2)), rng.choice([-1.0, 1.0], 80)
    K = Dense(X @ X.T)
    risks = [one_class(K, np.ones(80), 0.3), nu_classification(K, labels, np.ones(80), 0.2)]
    for risk in risks:
        (found,) = minimize_small([risk], Auto())
        assert found is not None
        assert found.status is Status.CONVERGED
        assert found.relative_gap > 0.1  # beside nothing, so that it is judged by these
        assert found.gap <= gap_resolution(risk, found.a, found.b, found.f, found.objective)
        assert found.gap <= negligible_gap(risk, found.f)
        # Rounding of decision values is part of the gap; every row counts as the largest here.
        gap, ratio = risk.certificate(found.a, found.b).gap, risk.roots.max() / risk.roots.min()
        assert gap - 1e-12 <= found.gap <= gap + 2.0 * ratio * rounding_of(risk, found) + 1e-12


@pytest.mark.parametrize("B", [np.eye(2), np.eye(2)[::-1]], ids=["in order", "in reverse"])
def test_coefficients_of_groups_of_one_are_their_sums(B):
    """B'a = d leaves no choice, and intercepts meet both targets, an epsilon off."""
    K, y, d = np.array([[1.0, 0.3], [0.3, 2.0]]), np.array([1.0, -2.0]), np.array([-0.2, 0.7])
    risk = RegularizedRisk(EpsilonInsensitive(0.1), Dense(K), y, np.array([1.0, 3.0]), B, d)
    [solution] = minimize_small([risk], SMO())
    np.testing.assert_allclose(B.T @ solution.a, d, rtol=1e-15)
    np.testing.assert_allclose(K @ solution.a + B @ solution.b, solution.f, rtol=1e-15)
    np.testing.assert_allclose(solution.f, y - 0.1 * np.sign(solution.a), rtol=1e-12)


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), EpsilonInsensitive(0.3)])
def test_certificates_are_those_of_the_problem(loss):
    risks = pairs(loss, seed=1)
    found = minimize_small(risks, SMO(tol=1e-4))
    assert sum(solution is not None for solution in found) > 50
    for risk, solution in zip(risks, found, strict=True):
        if solution is None:
            continue
        exact = risk.certificate(solution.a, solution.b)
        assert exact.violation <= 1e-4
        assert exact.residual <= 1e-12
        rounding = 1e-12 * (1.0 + abs(exact.primal))
        told = solution.objective, solution.dual, solution.gap, solution.violation
        truth = exact.primal, exact.dual, exact.gap, exact.violation
        np.testing.assert_allclose(told, truth, rtol=0, atol=rounding)
        # And another solver, to more digits, finds nothing below the bound.
        best = minimize(risk, InteriorPoint(tol=1e-8)).objective
        assert solution.dual - rounding <= best <= solution.objective + 1e-6


def alone(kind, n=60, nu=0.4, seed=0):
    """One problem of each machine: an intercept, a price, two sides, doubled samples."""
    rng = np.random.default_rng(seed)
    X, c = rng.normal(size=(n, 3)), rng.uniform(0.5, 2.0, size=n)
    K = Dense(np.exp(-0.3 * np.sum((X[:, None] - X[None]) ** 2, axis=2)))
    y, labels = np.sin(X[:, 0]), np.where(X[:, 0] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    return {
        "svc": lambda: RegularizedRisk(Hinge(), K, labels, 3.0 * c, np.ones((n, 1))),
        "svr": lambda: RegularizedRisk(EpsilonInsensitive(0.1), K, y, 5.0 * c, np.ones((n, 1))),
        "quantile": lambda: RegularizedRisk(Pinball(0.3), K, y, 5.0 * c, np.ones((n, 1))),
        "one_class": lambda: one_class(K, c, nu),
        "nu_svc": lambda: nu_classification(K, labels, c, nu),
        "nu_svr": lambda: nu_regression(K, y, c, nu),
    }[kind]()


@pytest.mark.parametrize("kind", ["svc", "svr", "quantile", "one_class", "nu_svc", "nu_svr"])
@pytest.mark.parametrize("solver", [Auto(), SMO(tol=1e-4)], ids=lambda s: type(s).__name__)
def test_single_problems_of_all_machines_are_certified(kind, solver):
    risk = alone(kind)
    (found,) = minimize_small([risk], solver)
    exact, slow = risk.certificate(found.a, found.b), minimize(risk, solver)
    assert exact.violation <= solver.tol
    assert exact.residual <= 1e-12
    rounding = 1e-11 * (1.0 + abs(exact.primal))
    told = found.objective, found.dual, found.gap, found.violation
    truth = exact.primal, exact.dual, exact.gap, exact.violation
    np.testing.assert_allclose(told, truth, rtol=0, atol=rounding)
    np.testing.assert_allclose(found.f, exact.f, rtol=0, atol=rounding)
    # The same steps from the same start, one more or less where a violation is next to its limit.
    assert found.solver == slow.solver
    assert found.reason == slow.reason
    assert (found.n_free, found.n_bound) == (slow.n_free, slow.n_bound)
    np.testing.assert_allclose(found.objective, slow.objective, rtol=10 * solver.tol)
    best = minimize(risk, InteriorPoint(tol=1e-8)).objective
    assert found.dual - rounding <= best <= found.objective + 1e-6
    np.testing.assert_allclose(np.stack(found.terms), np.stack(slow.terms), rtol=0.02, atol=1e-3)


def test_a_machine_of_pairs_makes_solutions_when_they_are_asked_for():
    X, y, _ = sample()
    machine = SVC(C=5.0).fit(X, y)
    _, found = machine._last
    assert isinstance(found, SolutionBatch)
    again = join(list(found))
    assert len(found[1:4]) == 3
    assert found[-1].n_iter == machine.n_iter_[-1]
    for field in (
        field.name
        for field in fields(again)
        if field.name not in ("history", "times", "precisions")
    ):
        one, other = getattr(again, field), getattr(machine.solution_, field)
        if field in ("resolution", "reason"):
            continue
        if isinstance(one, str | Status) or field == "terms":
            assert field == "terms" or one == other
        else:
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14, err_msg=field)
    np.testing.assert_array_equal(np.stack(again.terms), np.stack(machine.solution_.terms))
    # A pair tells its own samples, the machine all of them.
    assert f", {len(found[0].a)} samples" in again.reason
    assert f", {len(X)} samples" in machine.solution_.reason
    # Each pair, as a problem of its own, has this certificate.
    prepared = prepare(SVC(C=5.0), X, y)
    for subproblem, solution in zip(prepared.subproblems, found, strict=True):
        exact = subproblem.risk.certificate(solution.a, solution.b)
        np.testing.assert_allclose(solution.gap, exact.gap, rtol=0, atol=1e-12)
        assert exact.violation <= 1e-3


def test_pairs_of_nu_machines_are_those_solved_one_by_one(monkeypatch):
    X, y, rng = sample()
    weights = rng.uniform(0.5, 2.0, size=len(y))
    together = NuSVC(nu=0.3, tol=1e-7).fit(X, y % 4, weights)
    assert isinstance(together._last[1], SolutionBatch)
    alone = one_by_one(monkeypatch, NuSVC(nu=0.3, tol=1e-7), X, y % 4, weights)
    assert not isinstance(alone._last[1], SolutionBatch)
    values = [machine.decision_function(X) for machine in (together, alone)]
    np.testing.assert_allclose(*values, atol=1e-5)
    one, other = together.solution_, alone.solution_
    assert abs(one.objective - other.objective) <= one.gap + other.gap
    np.testing.assert_allclose(together.norm_, alone.norm_, rtol=1e-5)
    for machine in (NuSVC(nu=0.9), NuSVC(nu=0.9, solver="smo")):
        with pytest.raises(ValueError, match="specified nu is infeasible"):
            machine.fit(X[:-5], np.where(y < 2, y, 2)[:-5])


def test_a_class_without_weight_is_refused_as_before(monkeypatch):
    X, y, _ = sample()
    weights = np.where(y == 3, 0.0, 1.0)
    for fit in (SVC.fit, lambda m, *given: one_by_one(monkeypatch, m, *given)):
        with pytest.raises(ValueError, match="same class"):
            fit(SVC(), X, y, weights)


def test_what_is_not_solved_quickly_is_left():
    risks = pairs(Hinge())
    found = minimize_small(risks, SMO(max_iter=1))
    assert any(solution is None for solution in found)
    # Two samples take one step.
    assert all(found[k] is not None for k in range(0, 60, 4))
    with deadline(0.0):
        assert minimize_small(risks, SMO()) == [None] * 60


def test_other_problems_are_left():
    risks = pairs(Hinge())
    nobody = [None] * 60
    assert minimize_small(risks, InteriorPoint()) == nobody
    assert minimize_small(risks, SMO(cache_bytes=1000.0)) == nobody

    def with_one(risk):
        return minimize_small([*risks[:59], risk], SMO()) == nobody

    last = risks[59]
    assert with_one(RegularizedRisk(Hinge(margin=2.0), last.K, last.y, last.c, last.B))
    assert with_one(RegularizedRisk(Hinge(), Dense(last.K.dense()), last.y, last.c, last.B))
    assert with_one(RegularizedRisk(Hinge(), last.K, last.y, last.c, 2.0 * last.B))
    two = np.stack([last.y > 0, np.ones(last.n)], axis=1).astype(float)
    assert with_one(RegularizedRisk(Hinge(), last.K, last.y, last.c, two))
    large = Dense(np.eye(2049))
    y, B = np.where(np.arange(2049) % 2, 1.0, -1.0), np.ones((2049, 1))
    assert minimize_small([RegularizedRisk(Hinge(), large, y, 1.0, B)], SMO()) == [None]
    assert with_one(RegularizedRisk(Hinge(), last.K, last.y, last.c))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"C": 0.01},
        {"class_weight": "balanced"},
        {"class_weight": {0: 5.0, 3: 0.2}},
        {"kernel": "linear"},
        {"kernel": "sigmoid"},
        {"kernel": "precomputed"},
        {"max_iter": 3},
        {"tol": 1e-8},
    ],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_machines_are_the_same(monkeypatch, settings, weighted):
    X, y, rng = sample(duplicates=True)
    if settings.get("kernel") == "precomputed":
        X = X @ X.T
    given = (X, y, rng.uniform(0.2, 3.0, size=len(y))) if weighted else (X, y)
    told = []
    fitted = []
    for fit in (lambda m: m.fit(*given), lambda m: one_by_one(monkeypatch, m, *given)):
        with warnings.catch_warnings(record=True) as record:
            warnings.simplefilter("always")
            fitted.append(fit(SVC(**settings)))
        told.append([str(warning.message) for warning in record])
    quick, slow = fitted
    assert told[0] == told[1]
    tol = settings.get("tol", 1e-3)
    assert quick.fit_status_ == slow.fit_status_
    assert quick.dual_coef_.shape == slow.dual_coef_.shape
    np.testing.assert_array_equal(quick.support_, slow.support_)
    np.testing.assert_array_equal(quick.n_iter_, slow.n_iter_)
    np.testing.assert_allclose(quick.dual_coef_, slow.dual_coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(quick.intercept_, slow.intercept_, atol=tol)
    # Lines of the history come by the clock.
    for field in (field for field in fields(quick.solution_) if field.name != "history"):
        a, b = (getattr(machine.solution_, field.name) for machine in (quick, slow))
        assert np.shape(a) == np.shape(b), field.name
    np.testing.assert_allclose(
        quick.solution_.objective, slow.solution_.objective, rtol=1e-9, atol=1e-9
    )
    # The same functions; where one of them is zero its vote has the sign of rounding.
    f, g = quick._pairs(X), slow._pairs(X)
    np.testing.assert_allclose(f, g, rtol=0, atol=tol)
    if np.all(np.abs(g) > 1e-9):
        np.testing.assert_array_equal(quick.predict(X), slow.predict(X))


def test_starts_are_not_ignored():
    X, y, _ = sample()
    machine = SVC(warm_start=True).fit(X, y)
    steps = machine.n_iter_.sum()
    assert machine.fit(X, y).n_iter_.sum() < 0.1 * steps


def test_failures_are_told_as_before(monkeypatch):
    X, y, _ = sample()
    X[0] = 1e200
    messages = []
    for fit in (SVC.fit, lambda m, *given: one_by_one(monkeypatch, m, *given)):
        with pytest.raises(ValueError, match="finite") as error:
            fit(SVC(kernel="linear"), X, y)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


def test_two_hundred_classes_are_solved_together(monkeypatch):
    rng = np.random.default_rng(0)
    alone = []
    monkeypatch.setattr(machines, "minimize", lambda *given, **how: alone.append(1))
    machine = SVC().fit(rng.normal(size=(400, 2)), np.arange(400) % 200)
    assert not alone  # one by one 19,900 pairs take 25 s
    assert machine.solution_.converged
    assert machine.solution_.gap <= 1e-3 * machine.solution_.objective


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 65, 513])
def test_half_a_gaussian_matrix_and_its_mirror_are_the_whole(n):
    X = np.random.default_rng(n).normal(size=(n, 4))
    K = quick_square(X, 1.0 / 1.3)
    truth = np.exp(-0.5 * cdist(X, X, "sqeuclidean") / 1.3**2)
    np.testing.assert_allclose(K, truth, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(K, K.T)


@pytest.mark.parametrize("ordered", [True, False])
def test_pairs_are_laid_out_class_by_class(ordered):
    y = np.random.default_rng(0).integers(4, size=40)
    y = np.sort(y) if ordered else y
    rows, ends, columns = _laid_pairs(y, 4)
    for k, (i, j) in enumerate(itertools.combinations(range(4), 2)):
        here = slice(ends[k], ends[k + 1])
        first, second = np.flatnonzero(y == i), np.flatnonzero(y == j)
        np.testing.assert_array_equal(rows[here], np.concatenate([first, second]))
        np.testing.assert_array_equal(
            columns[here], np.repeat([j - 1, i], [len(first), len(second)])
        )
