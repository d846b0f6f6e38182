"""Newton's method for the softmax loss against a conic solver, the binary machine and bounds."""

import cvxpy as cp
import numpy as np
import pytest

from mercer.gram import Dense
from mercer.losses import Logistic
from mercer.problems import RegularizedRisk
from mercer.problems.multinomial import MultinomialRisk
from mercer.solvers import Newton, Status
from mercer.solvers import minimize as solve
from mercer.solvers.coupled_newton import CoupledNewton


def drawn(n=30, k=3, C=1.0, q=1, seed=0, weights=True, rank=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    K = np.exp(-0.5 * np.sum((X[:, None] - X) ** 2, axis=2)) if rank is None else X @ X.T
    y = np.r_[np.arange(k), rng.integers(0, k, n - k)]
    c = C * 10 ** rng.uniform(-1.0, 0.0, n) if weights else np.full(n, C)
    if weights:
        c[rng.integers(k, n, 2)] = 0.0
    B = np.column_stack([np.ones(n), X])[:, :q]
    return MultinomialRisk(Dense(K), y, k, c, B)


def by_cones(risk):
    """Return objective and decision values of the same problem in exponential cones."""
    values, vectors = np.linalg.eigh(risk.K.dense())
    G = vectors * np.sqrt(np.maximum(values, 0.0))
    U, b = cp.Variable((risk.n, risk.k)), cp.Variable((risk.q, risk.k))
    F = G @ U + (risk.B @ b if risk.q else 0.0)
    live = np.flatnonzero(risk.c)
    losses = [risk.c[i] * (cp.log_sum_exp(F[i]) - F[i, risk.y[i]]) for i in live]
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(U) + sum(losses)))
    problem.solve(solver=cp.CLARABEL, tol_gap_rel=1e-10, tol_feas=1e-10, tol_gap_abs=1e-10)
    return problem.value, F.value


@pytest.mark.parametrize("q", [0, 1, 2])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_a_conic_solver_agrees(q, C):
    risk = drawn(n=14, k=3, C=C, q=q)
    found = CoupledNewton(tol=1e-9).minimize(risk)
    objective, F = by_cones(risk)
    assert found.objective == pytest.approx(objective, rel=1e-6)
    assert found.dual <= objective * (1 + 1e-8)
    ours, theirs = found.f.reshape(3, -1).T, F - F.mean(axis=1, keepdims=True)
    # The excess of a conic objective of 1e-8 leaves its root in the values.
    np.testing.assert_allclose(ours[risk.c > 0], theirs[risk.c > 0], atol=2e-3)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("rank", [None, 3])
def test_the_certificate_closes(C, rank):
    found = CoupledNewton(tol=1e-8).minimize(drawn(n=60, k=4, C=C, rank=rank))
    assert found.status is Status.CONVERGED
    assert found.relative_gap < 1e-7
    assert found.residual < 1e-14
    assert found.violation < 1e-8


def test_two_classes_are_the_binary_machine_of_twice_the_weight():
    """With f_2 = -f_1 = g / 2 the penalty is |g|^2 / 4, half of that of g: C counts twice."""
    risk = drawn(k=2, C=3.0)
    found = CoupledNewton(tol=1e-11).minimize(risk)
    labels = np.where(risk.y == 1, 1.0, -1.0)
    binary = solve(
        RegularizedRisk(Logistic(), risk.K, labels, 2.0 * risk.c, risk.B), Newton(tol=1e-11)
    )
    first, second = found.f.reshape(2, -1)
    np.testing.assert_allclose(second - first, binary.f, atol=1e-9)
    np.testing.assert_allclose(first + second, 0.0, atol=1e-12)
    assert found.objective == pytest.approx(0.5 * binary.objective, rel=1e-12)


@pytest.mark.parametrize("steps", range(6))
def test_a_gap_bounds_the_excess_after_every_step(steps):
    risk = drawn(n=40, C=100.0)
    least = CoupledNewton(tol=1e-11).minimize(risk)
    found = CoupledNewton(tol=1e-11, max_iter=steps).minimize(risk)
    assert found.status is Status.MAX_ITER
    assert found.n_iter == steps
    excess = found.objective - least.objective
    assert 0.0 < excess <= found.gap * (1 + 1e-12)
    assert found.dual <= least.objective
    if steps > 2:  # a bound that says something: none is the objective itself
        assert found.gap < 0.5 * found.objective


def test_steps_do_not_make_it_worse():
    history = CoupledNewton(tol=1e-10).minimize(drawn(C=1e4)).history
    objectives = [line.objective for line in history]
    assert np.all(np.diff(objectives) <= 1e-9 * objectives[0])


def test_a_perturbed_answer_has_a_larger_gap():
    risk = drawn(C=10.0, weights=False)
    found = CoupledNewton(tol=1e-11).minimize(risk)
    b = found.b.reshape(3, -1).T
    P = risk.probabilities(found.a.reshape(3, -1).T)
    rng, last = np.random.default_rng(0), found.gap
    for size in (1e-6, 1e-4, 1e-2, 1.0):
        scores = np.log(P) + size * rng.normal(size=P.shape)
        A = risk.coefficients(risk.balanced(scores)[1])
        moved = risk.certificate(A, b)
        assert moved.gap > max(last, moved.primal - found.objective)
        last = moved.gap


def test_samples_without_weight_do_not_count():
    risk = drawn()
    live = np.flatnonzero(risk.c)
    part = MultinomialRisk(
        Dense(risk.K.dense()[np.ix_(live, live)]), risk.y[live], 3, risk.c[live], risk.B[live]
    )
    whole, alone = (CoupledNewton(tol=1e-11).minimize(one) for one in (risk, part))
    assert whole.objective == pytest.approx(alone.objective, rel=1e-12)
    np.testing.assert_allclose(whole.f.reshape(3, -1)[:, live], alone.f.reshape(3, -1), atol=1e-9)
    assert not whole.a.reshape(3, -1)[:, risk.c == 0].any()


def test_a_class_without_weight_becomes_impossible():
    risk = drawn(k=4)
    risk.c = np.where(risk.y == 2, 0.0, 1.0)
    found = CoupledNewton(tol=1e-8).minimize(risk)
    assert found.converged
    P = risk.loss.probability(found.f.reshape(4, -1).T)
    assert P[:, 2].max() < 1e-12
    others = np.flatnonzero(risk.y != 2)
    part = MultinomialRisk(
        Dense(risk.K.dense()[np.ix_(others, others)]),
        np.searchsorted([0, 1, 3], risk.y[others]), 3, 1.0, risk.B[others],
    )  # fmt: skip
    alone = CoupledNewton(tol=1e-8).minimize(part)
    assert found.objective == pytest.approx(alone.objective, rel=1e-10)


def test_a_conditionally_positive_definite_kernel_needs_its_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    distance = np.sqrt(np.sum((X[:, None] - X) ** 2, axis=2))
    y = np.argmax(np.c_[X, -X.sum(axis=1)] + 0.5 * rng.normal(size=(40, 3)), axis=1)
    one = np.ones((40, 1))
    found = CoupledNewton(tol=1e-9).minimize(MultinomialRisk(Dense(-distance), y, 3, 1.0, one))
    # The same functions: k(x, z) - k(x, 0) - k(z, 0) is positive definite.
    length = np.linalg.norm(X, axis=1)
    K = length[:, None] + length - distance
    twin = CoupledNewton(tol=1e-9).minimize(MultinomialRisk(Dense(K), y, 3, 1.0, one))
    assert found.objective == pytest.approx(twin.objective, rel=1e-9)
    np.testing.assert_allclose(found.f, twin.f, atol=1e-6)


def test_a_start_from_the_answer_is_the_answer():
    risk = drawn(C=10.0)
    found = CoupledNewton(tol=1e-6).minimize(risk)
    start = found.a.reshape(3, -1).T, found.b.reshape(3, -1).T
    assert CoupledNewton(tol=1e-6).minimize(risk, start).n_iter == 0


def test_a_listener_stops_it():
    seen = []
    found = CoupledNewton(tol=1e-12).minimize(
        drawn(C=100.0), listener=lambda line: seen.append(line) or len(seen) == 3
    )
    assert found.status is Status.STOPPED
    assert len(seen) == 3
    assert np.isfinite(found.gap)


def test_too_many_samples_for_the_memory_are_refused():
    with pytest.raises(ValueError, match="Fit fewer samples"):
        CoupledNewton(max_bytes=1e4).minimize(drawn())
