"""Programs of components: against a conic solver, duals, what was not observed, what vanishes."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import Lasso

from mercer.gram.precomputed import Precomputed
from mercer.kernels import Gaussian, Laplacian
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Huber,
    Logistic,
    Pinball,
    Squared,
    SquaredHinge,
)
from mercer.problems import RegularizedRisk
from mercer.programs import Infeasible
from mercer.programs.program import Program
from mercer.programs.program_losses import add_losses
from mercer.programs.variation import Part, VariationProblem
from mercer.solvers import minimize
from mercer.solvers.interior_point import InteriorPoint

# Programs are solved to a relative gap of 1e-8 here; a strongly convex objective with curvature one
# then leaves functions the root of twice that gap, times the size of the objective, about 1e-3.
TOL = 1e-8

REGRESSION = [
    Squared(),
    Absolute(),
    EpsilonInsensitive(0.2),
    Huber(0.5),
    Pinball(0.3),
    Expectile(0.8),
]
MARGIN = [Hinge(), SquaredHinge()]


def factor(kernel, x):
    values, vectors = np.linalg.eigh(kernel(x[:, None]))
    keep = values > 1e-7 * values[-1]
    return (vectors[:, keep] * np.sqrt(values[keep]))[:, ::-1]


def sample(loss, n=30, P=3, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, P))
    y = 2 * np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n)
    if isinstance(loss, Hinge | SquaredHinge):
        y = np.where(y > 0, 1.0, -1.0)
    parts = []
    for p in range(P):
        seen = np.flatnonzero(rng.uniform(size=n) >= missing)
        index = np.full(n, -1)
        index[seen] = np.arange(len(seen))
        parts.append(Part(factor(Gaussian(0.8), X[seen, p]), index))
    return X, y, rng.uniform(1.0, 3.0, n), parts


def cost(loss, y, f, c):
    """Weighted losses of an expression, written for a modelling language."""
    if isinstance(loss, Squared):
        return cp.sum(cp.multiply(c / 2, cp.square(y - f)))
    if isinstance(loss, Absolute):
        return cp.sum(cp.multiply(c, cp.abs(y - f)))
    if isinstance(loss, EpsilonInsensitive):
        return cp.sum(cp.multiply(c, cp.pos(cp.abs(y - f) - loss.epsilon)))
    if isinstance(loss, Huber):
        return cp.sum(cp.multiply(c / 2, cp.huber(y - f, loss.delta)))
    if isinstance(loss, Pinball):
        r, q = y - f, loss.quantile
        return cp.sum(cp.multiply(c, cp.maximum(q * r, (q - 1) * r)))
    if isinstance(loss, Expectile):
        r, e = y - f, loss.expectile
        both = e * cp.square(cp.pos(r)) + (1 - e) * cp.square(cp.neg(r))
        return cp.sum(cp.multiply(c * expectile_scale(loss), both))
    if isinstance(loss, SquaredHinge):
        return cp.sum(cp.multiply(c / 2, cp.square(cp.pos(1 - cp.multiply(y, f)))))
    return cp.sum(cp.multiply(c, cp.pos(1 - cp.multiply(y, f))))


def expectile_scale(loss):
    """The factor of the library's convention, read off one value."""
    return float(loss.value(np.zeros(1), -np.ones(1))[0]) / loss.expectile


def conic(problem, mu, worst=None):
    ws = [cp.Variable(part.features.shape[1]) for part in problem.parts]
    b = cp.Variable(problem.B.shape[1])
    t = cp.Variable(len(ws))
    f = problem.B @ b + sum(part.design @ w for part, w in zip(problem.parts, ws, strict=True))
    if problem.penalty == "norm":
        rows = [cp.norm(w) <= t[p] for p, w in enumerate(ws)]
    else:
        rows = [
            cp.abs(part.features @ w) <= t[p]
            for p, (part, w) in enumerate(zip(problem.parts, ws, strict=True))
        ]
    ridge = 0.5 * problem.ridge * sum(cp.sum_squares(w) for w in ws)
    if worst is None:
        charged = cost(problem.loss, problem.y, f, problem.c)
    else:
        missing = np.column_stack([~part.observed for part in problem.parts]).astype(float)
        charged, more = worst(problem, f, missing @ t)
        rows += more
    found = cp.Problem(cp.Minimize(ridge + charged + mu * cp.sum(t)), rows)
    found.solve(solver=cp.CLARABEL, tol_gap_abs=1e-7, tol_gap_rel=1e-7, tol_feas=1e-7)
    return found.value, [w.value for w in ws]


@pytest.mark.parametrize("penalty", ["variation", "norm"])
@pytest.mark.parametrize("loss", REGRESSION + MARGIN, ids=repr)
def test_the_optimum_is_that_of_a_conic_solver(loss, penalty):
    _, y, c, parts = sample(loss)
    problem = VariationProblem(parts, loss, y, c, np.ones((len(y), 1)), penalty=penalty)
    found = problem.solve(2.0, tol=TOL)
    value, ws = conic(problem, 2.0)
    assert found.solution.converged
    assert found.solution.objective == pytest.approx(value, rel=1e-6)
    assert found.solution.dual <= value + 1e-6 * abs(value)
    for part, mine, theirs in zip(parts, found.w, ws, strict=True):
        np.testing.assert_allclose(part.design @ mine, part.design @ theirs, atol=3e-3)


@pytest.mark.parametrize("loss", [Squared(), EpsilonInsensitive(0.1), Hinge()], ids=repr)
def test_duality_with_a_quadratic_form_for_each_component(loss):
    """Lemma 6.5 as it should read: a quadratic form in a + r_p for every component."""
    _, y, c, parts = sample(loss, n=20)
    mu, n = 1.5, 20
    problem = VariationProblem(parts, loss, y, c, np.ones((n, 1)))
    a = cp.Variable(n)
    rs = [cp.Variable(n) for _ in parts]
    forms = sum(cp.sum_squares(part.design.T @ (a + r)) for part, r in zip(parts, rs, strict=True))
    terms = loss.dual_terms(y, c)
    # The three conjugates are one parabola with one kink, which is where the targets are.
    kink = np.broadcast_to(0.5 * (terms.p_pos - terms.p_neg), n)
    conjugate = cp.sum(cp.multiply(0.5 * (terms.p_pos + terms.p_neg), a))
    conjugate += cp.sum(cp.multiply(kink, cp.abs(a)))
    conjugate += 0.5 * cp.sum(cp.multiply(terms.q_pos, cp.square(a)))
    rows = [cp.norm1(r) <= mu for r in rs] + [cp.sum(a) == 0]
    rows += [a[i] <= u for i, u in enumerate(terms.upper) if np.isfinite(u)]
    rows += [a[i] >= u for i, u in enumerate(terms.lower) if np.isfinite(u)]
    dual = cp.Problem(cp.Maximize(-0.5 * forms - conjugate), rows)
    dual.solve(solver=cp.CLARABEL)
    found = problem.solve(mu, tol=TOL)
    assert found.solution.objective == pytest.approx(dual.value, rel=1e-6)
    # Coefficients add up to nothing against the constant.
    assert abs(found.solution.a.sum()) < 1e-4 * np.abs(found.solution.a).sum()


@pytest.mark.parametrize("loss", [Squared(), Huber(0.5), Hinge()], ids=repr)
def test_without_penalty_it_is_the_machine_of_the_summed_kernel(loss):
    _, y, c, parts = sample(loss)
    K = sum(part.design @ part.design.T for part in parts)
    B = np.ones((len(y), 1))
    exact = minimize(RegularizedRisk(loss, Precomputed(K), y, c, B), InteriorPoint(tol=1e-10))
    found = VariationProblem(parts, loss, y, c, B).solve(0.0, tol=TOL)
    assert found.solution.objective == pytest.approx(exact.objective, rel=1e-7)
    np.testing.assert_allclose(found.solution.f, exact.f, atol=1e-3)


def worst_case(problem, f, T):
    y, c, loss = problem.y, problem.c, problem.loss
    e = cp.Variable(len(y))
    if isinstance(loss, Hinge):
        return cp.sum(cp.multiply(c, cp.pos(1 - cp.multiply(y, f) + T))), []
    if isinstance(loss, Squared):
        return cp.sum(cp.multiply(c / 2, cp.square(e))), [e >= cp.abs(y - f) + T]
    if isinstance(loss, Pinball):
        r, q = y - f, loss.quantile
        up, down = q * (r + T), (1 - q) * (T - r)
        return cp.sum(cp.multiply(c, cp.maximum(up, down))), []
    return cp.sum(cp.multiply(c / 2, cp.huber(e, loss.delta))), [e >= cp.abs(y - f) + T]


@pytest.mark.parametrize("loss", [Squared(), Huber(0.5), Pinball(0.3), Hinge()], ids=repr)
@pytest.mark.parametrize("mu", [0.0, 1.0])
def test_values_that_were_not_observed_are_charged_at_their_worst(loss, mu):
    _, y, c, parts = sample(loss, missing=0.2)
    problem = VariationProblem(parts, loss, y, c, np.ones((len(y), 1)))
    found = problem.solve(mu, tol=TOL)
    value, _ = conic(problem, mu, worst_case)
    assert found.solution.converged
    assert found.solution.objective == pytest.approx(value, rel=1e-6)


def test_the_worst_case_of_two_different_sides_is_refused():
    class Lopsided(Huber):
        def dual_terms(self, y, c):
            terms = super().dual_terms(y, c)
            return type(terms)(
                terms.p_pos, terms.p_neg, terms.q_pos, 2 * terms.q_neg, terms.lower, terms.upper
            )

    _, y, c, parts = sample(Huber(), missing=0.2)
    with pytest.raises(ValueError, match="two sides are of a kind"):
        VariationProblem(parts, Lopsided(), y, c, np.ones((len(y), 1))).solve(1.0)


def test_linear_components_are_a_lasso_with_the_largest_entries_as_weights():
    """Without norms the penalty of a linear component is its slope times its largest input."""
    rng = np.random.default_rng(1)
    n = 60
    X = rng.normal(size=(n, 6)) * [1, 2, 3, 1, 5, 1]
    y = X @ [1.0, 0, 0.5, 0, 0, 0] + 0.1 * rng.normal(size=n) + 3
    largest = np.max(np.abs(X), axis=0)
    parts = [Part(X[:, [j]], np.arange(n)) for j in range(6)]
    problem = VariationProblem(parts, Squared(), y, np.ones(n), np.ones((n, 1)), ridge=0.0)
    found = problem.solve(20.0, tol=1e-10)
    lasso = Lasso(alpha=20.0 / n, tol=1e-12, max_iter=100_000).fit(X / largest, y)
    slopes = np.concatenate(found.w)
    # The gap of 1e-10 leaves slopes to the root of it times the inverse curvature, below 1e-5.
    np.testing.assert_allclose(slopes, lasso.coef_ / largest, atol=1e-5)
    np.testing.assert_allclose(found.variation, np.abs(slopes) * largest)


def test_rows_that_are_generated_are_all_that_matter():
    """With thousands of values few rows are kept, and the certificate is that of all."""
    rng = np.random.default_rng(2)
    n = 1500
    X = rng.uniform(-1, 1, (n, 4))
    y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=n)
    parts = []
    for x in X.T:
        Z = x[:, None] ** np.arange(1, 7) * 0.5 ** np.arange(1, 7)
        parts.append(Part(Z, np.arange(n)))
    problem = VariationProblem(parts, Squared(), y, np.ones(n), np.ones((n, 1)))
    found = problem.solve(10.0, tol=1e-7)
    assert found.solution.gap <= 1e-7 * (1 + found.solution.objective)
    assert max(len(rows) for rows in found.working) < 200
    assert found.variation[2:].max() < 1e-2 * found.variation.max()
    whole = problem.solve(
        10.0, type(found)(found.w, found.b, found.variation, found.solution, [np.arange(n)] * 4)
    )
    assert whole.solution.objective == pytest.approx(found.solution.objective, rel=1e-6)


def test_rough_kernels_lose_all_components_at_once():
    """With a matrix of full rank a component vanishes when the 1-norm of a is below mu: all do."""
    rng = np.random.default_rng(0)
    n = 40
    X = rng.uniform(size=(n, 5))
    y = 10 * np.sin(6 * X[:, 0]) + 10 * X[:, 1] + rng.normal(size=n)
    parts = [Part(factor(Laplacian(0.02), x), np.arange(n)) for x in X.T]
    problem = VariationProblem(parts, Squared(), y, np.full(n, 10.0), np.ones((n, 1)))
    norm = np.abs(problem.constant().solution.a).sum()
    before, after = problem.path([0.98 * norm, 1.001 * norm], tol=1e-9)
    assert np.all(before.variation > 1e-3)
    assert np.all(after.variation < 1e-5 * norm)


def test_beyond_the_largest_penalty_nothing_is_seen():
    for penalty in ("variation", "norm"):
        for loss in (Squared(), Hinge()):
            _, y, c, parts = sample(loss)
            problem = VariationProblem(parts, loss, y, c, np.ones((len(y), 1)), penalty=penalty)
            largest = problem.largest_mu()
            spread = np.ptp(problem.solve(0.0).solution.f)
            at, below = problem.path([1.001 * largest, 0.7 * largest])
            assert at.variation.max() < 1e-2 * spread
            assert below.variation.max() > 1e-2 * spread


def test_the_largest_penalty_is_no_larger_than_what_pulls():
    """Functions of rough values in between are not bounded by values at some of them."""
    rng = np.random.default_rng(7)
    n = 600
    x = np.sort(rng.lognormal(size=n))
    y = np.log(x) + 0.1 * rng.normal(size=n)
    part = Part(factor(Gaussian(0.3), x), np.arange(n))
    problem = VariationProblem([part], Squared(), y, np.ones(n), np.ones((n, 1)))
    assert problem.largest_mu() <= np.abs(problem.constant().solution.a).sum()


@pytest.mark.parametrize("n", [8, 12])
def test_components_that_share_one_expansion(n):
    """(8.39): the same as without sharing where functions are few, a restriction elsewhere."""
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, (n, 4))
    y = 3 * X[:, 0] ** 2 + X[:, 1] + 0.1 * rng.normal(size=n)
    parts = [Part(x[:, None] ** np.arange(1, 4), np.arange(n)) for x in X.T]
    ones, B = np.ones(n), np.ones((n, 1))
    free = VariationProblem(parts, Squared(), y, ones, B, ridge=0.0).solve(1.0, tol=TOL)
    # Coefficients w_p = Z_p'a for one a: the range of Z'.
    _, sizes, V = np.linalg.svd(free_design(parts), full_matrices=False)
    V = V[sizes > 1e-10 * sizes[0]].T
    shared = VariationProblem(parts, Squared(), y, ones, B, ridge=0.0, span=V).solve(1.0, tol=TOL)
    alpha, b = cp.Variable(n), cp.Variable()
    fs = [part.design @ (part.design.T @ alpha) for part in parts]
    penalty = sum(cp.norm_inf(f) for f in fs)
    exact = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(y - b - sum(fs)) + penalty))
    exact.solve(solver=cp.CLARABEL)
    assert shared.solution.objective == pytest.approx(exact.value, rel=1e-6)
    assert (shared.solution.objective > free.solution.objective * (1 + 1e-3)) == (n == 8)
    # No gap: the penalty is what the fitted values gain, f'(y - f) off the constant.
    f = shared.solution.f - shared.b[0]
    assert shared.variation.sum() == pytest.approx(f @ (y - shared.solution.f), rel=1e-4)


def free_design(parts):
    return np.hstack([part.design for part in parts])


def test_losses_that_are_no_parabolas_are_refused():
    _, y, c, parts = sample(Squared())
    with pytest.raises(ValueError, match="quadratic dual"):
        VariationProblem(parts, Logistic(), np.sign(y), c, np.ones((len(y), 1)))
    with pytest.raises(ValueError, match="penalty must be"):
        VariationProblem(parts, Squared(), y, c, np.ones((len(y), 1)), penalty="l2")


@pytest.mark.parametrize("loss", REGRESSION + MARGIN, ids=repr)
def test_coefficients_of_losses_in_programs(loss):
    """The prices of the rows are minus the slopes of the losses, and the value is their sum."""
    rng = np.random.default_rng(3)
    n = 12
    y = np.sign(rng.normal(size=n)) if loss in MARGIN else rng.normal(size=n)
    A, c = rng.normal(size=(n, 2)), rng.uniform(0.5, 2, n)
    program = Program()
    z = program.variable(2)
    program.square(z)
    losses = add_losses(program, loss.dual_terms(y, c), [(A, z)])
    found = program.solve(1e-10)
    # Stationarity of |z|^2/2 + sum c l(y, Az): z = A'a.
    np.testing.assert_allclose(A.T @ losses.coefficients(found), found[z], atol=1e-6)
    value = 0.5 * found[z] @ found[z] + c @ loss.value(y, A @ found[z])
    assert found.objective == pytest.approx(value, rel=1e-7)


def test_bounds_instead_of_penalties():
    """(6.46): its multipliers are the weights of (6.42), whose solution is the same."""
    _, y, _, parts = sample(Squared())
    ones, B = np.ones(len(y)), np.ones((len(y), 1))
    problem = VariationProblem(parts, Squared(), y, ones, B)
    bound = problem.constrained(0.5, 0.3)
    assert bound.mu > 0
    assert bound.C > 0
    assert bound.found.variation.mean() == pytest.approx(0.5, rel=1e-5)
    assert np.mean((y - bound.found.solution.f) ** 2) == pytest.approx(0.3, rel=1e-5)
    same = VariationProblem(parts, Squared(), y, bound.C * ones, B).solve(bound.mu, tol=TOL)
    np.testing.assert_allclose(same.solution.f, bound.found.solution.f, atol=3e-3)
    np.testing.assert_allclose(same.variation, bound.found.variation, atol=3e-3)
    with pytest.raises(Infeasible, match="more variation"):
        problem.constrained(0.01, 0.01)


def test_parts_of_some_samples():
    _, _, _, parts = sample(Squared(), missing=0.3)
    rows = np.array([3, 5, 5, 20, 7])
    for part in parts:
        some = part.restricted(rows)
        np.testing.assert_array_equal(some.design, part.design[rows])
        np.testing.assert_array_equal(some.observed, part.observed[rows])
        assert len(some.features) <= 4
