"""Sparse expansions against a conic solver, and what their certificates say."""

import cvxpy as cp
import numpy as np
import pytest

from mercer.gram.dictionary import CombinedDictionary, DenseDictionary, KernelColumns
from mercer.kernels import Gaussian
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Pinball,
    Squared,
    SquaredHinge,
)
from mercer.problems.sparse_risk import SparseRisk
from mercer.programs import columns as engine
from mercer.programs import linear_master
from mercer.programs.columns import generate_columns, threshold
from mercer.solvers import InteriorPoint, Status, minimize

TOL = 1e-7


@pytest.fixture(autouse=True)
def small_rounds(monkeypatch):
    """Let small dictionaries take several rounds."""
    monkeypatch.setattr(engine, "MAX_WHOLE_FUNCTIONS", 0)
    monkeypatch.setattr(engine, "FIRST_FUNCTIONS", 5)
    monkeypatch.setattr(engine, "MIN_ADDED_FUNCTIONS", 4)


def sample(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 2))
    y = np.sinc(X[:, 0]) * np.cos(X[:, 1]) + 0.1 * rng.normal(size=n)
    return X, y, np.where(y > np.median(y), 1.0, -1.0), rng.uniform(0.5, 1.5, n)


CONIC = {
    "absolute": (Absolute(), lambda y, f: cp.abs(y - f)),
    "tube": (EpsilonInsensitive(0.1), lambda y, f: cp.pos(cp.abs(y - f) - 0.1)),
    "quantile": (Pinball(0.3), lambda y, f: cp.maximum(0.3 * (y - f), -0.7 * (y - f))),
    "hinge": (Hinge(), lambda y, f: cp.pos(1 - cp.multiply(y, f))),
    "squared": (Squared(), lambda y, f: 0.5 * cp.square(y - f)),
    "huber": (Huber(0.2), lambda y, f: 0.5 * cp.huber(y - f, 0.2)),
    "squared hinge": (SquaredHinge(), lambda y, f: 0.5 * cp.square(cp.pos(1 - cp.multiply(y, f)))),
    "logistic": (Logistic(), lambda y, f: cp.logistic(-cp.multiply(y, f))),
}
LABELS = {"hinge", "squared hinge", "logistic"}
LINEAR = ["absolute", "tube", "quantile", "hinge"]


def conic(name, G, y, c, B, w, signs, radius=None):
    a, b = cp.Variable(G.shape[1]), cp.Variable(B.shape[1])
    loss = c @ CONIC[name][1](y, G @ a + B @ b)
    norm = w @ cp.abs(a)
    held = [cp.multiply(signs, a) >= 0]
    if radius is None:
        problem = cp.Problem(cp.Minimize(norm + loss), held)
    else:
        problem = cp.Problem(cp.Minimize(loss), [*held, norm <= radius])
    return problem.solve(solver=cp.CLARABEL)


def problem(name, C=2.0, positive=False, q=1, n=40, seed=0):
    X, y, labels, s = sample(n, seed)
    # Neither square nor symmetric, with weights: any dictionary will do.
    G = np.random.default_rng(seed + 1).normal(size=(n, 50)) * 0.3
    G[:, :n] += Gaussian(0.7)(X, X[:50])
    w = np.random.default_rng(seed).uniform(0.5, 2.0, 50)
    signs = np.where(np.arange(50) % 3 == 0, -1.0, 1.0) * positive
    signs[::5] = 0.0
    target = labels if name in LABELS else y
    B = np.column_stack([np.ones(n), X[:, 0]])[:, :q]
    return SparseRisk(CONIC[name][0], DenseDictionary(G), target, C * s, B, None, w, signs)


@pytest.mark.parametrize("name", CONIC)
@pytest.mark.parametrize(("positive", "q"), [(False, 2), (True, 1), (False, 0)])
def test_agrees_with_a_conic_solver(name, positive, q):
    risk = problem(name, positive=positive, q=q)
    found = generate_columns(risk, tol=TOL)
    s = found.solution
    expected = conic(name, risk.G.G, risk.y, risk.c, risk.B, risk.weights, risk.signs)
    assert s.status is Status.CONVERGED
    # The conic solver stops at relative gaps of 1e-8, the exponential cone at a hundred times that.
    assert s.objective == pytest.approx(expected, abs=1e-6 * (1 + expected))
    assert s.objective - s.dual <= TOL * (1 + s.objective)
    assert np.all(risk.signs * s.a >= 0)
    # The multipliers are feasible for the whole dictionary, and prove the bound by themselves.
    price = risk.G.G.T @ found.u
    assert np.max(risk.excess(price)) <= 1 + 1e-12
    assert -risk.free.conjugate(found.u) == pytest.approx(s.dual, rel=1e-12)
    assert np.max(np.abs(risk.B.T @ found.u), initial=0.0) <= 1e-9 * np.sum(np.abs(found.u))


@pytest.fixture
def central(monkeypatch):
    """Let the central path solve small programs too; answer how it ended."""
    monkeypatch.setattr(linear_master, "MIN_CENTRAL_WORK", 1)
    ends = []

    def watch(end):
        solve = getattr(linear_master.LinearMaster, end)

        def counted(self, *rest):
            found = solve(self, *rest)
            ends.append((end, found is not None))
            return found

        monkeypatch.setattr(linear_master.LinearMaster, end, counted)

    for end in ("_vertex", "_face", "_simplex"):
        watch(end)
    return ends


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize(("positive", "q"), [(False, 2), (True, 1), (False, 0)])
def test_the_central_path_ends_at_the_vertex_of_the_simplex_method(name, positive, q, central):
    risk = problem(name, positive=positive, q=q, C=5.0)
    path = generate_columns(risk, tol=TOL).solution
    assert central[-1] == ("_vertex", True)
    expected = conic(name, risk.G.G, risk.y, risk.c, risk.B, risk.weights, risk.signs)
    assert path.status is Status.CONVERGED
    assert path.objective == pytest.approx(expected, abs=1e-6 * (1 + expected))
    whole = np.ones(len(risk.y), dtype=bool)
    J = np.arange(50)
    vertex = linear_master.restricted_program(risk, risk.G.G, J, whole, np.zeros(len(risk.y)))
    # Random numbers leave one vertex, which the simplex method finds to its tolerance of 1e-10.
    assert np.array_equal(path.a != 0, vertex.a != 0)
    assert np.allclose(path.a, vertex.a, atol=1e-8)


def test_a_search_that_is_stopped_on_the_way_is_certified_in_double(monkeypatch):
    """Prices in single precision choose functions; a bound that they overstate proves nothing."""
    X, y, _, s = sample(300)
    G = KernelColumns(Gaussian(0.7), X, None, 0)
    price = KernelColumns.rough_price
    monkeypatch.setattr(KernelColumns, "rough_price", lambda self, u: 0.9 * price(self, u))
    risk = SparseRisk(Absolute(), G, y, 5.0 * s, np.ones((300, 1)))
    found = generate_columns(risk, tol=TOL, max_iter=3)
    assert found.solution.status is Status.MAX_ITER
    exact = Gaussian(0.7)(X).T @ found.u
    assert np.max(risk.excess(exact)) <= 1 + 1e-12
    assert -risk.free.conjugate(found.u) == pytest.approx(found.solution.dual, rel=1e-12)
    assert found.solution.gap == pytest.approx(found.solution.objective - found.solution.dual)
    optimum = generate_columns(risk, tol=TOL).solution
    assert found.solution.dual <= optimum.objective <= found.solution.objective


@pytest.mark.parametrize("name", LINEAR)
def test_copies_of_functions_and_samples_end_at_a_vertex_too(name, central):
    """On the path copies share a coefficient, so that more functions are used than at a vertex."""
    one = problem(name, C=5.0)
    twice = np.tile(np.arange(40), 2)
    G = np.hstack([one.G.G, one.G.G[:, :25]])[twice]
    w = np.append(one.weights, one.weights[:25])
    risk = SparseRisk(one.loss, DenseDictionary(G), one.y[twice], 0.5 * one.c[twice],
                      one.B[twice], None, w)  # fmt: skip
    s = generate_columns(risk, tol=TOL).solution
    free = SparseRisk(one.loss, one.G, one.y, one.c, one.B, None, one.weights)
    assert s.status is Status.CONVERGED
    expected = generate_columns(free, tol=TOL).solution
    assert s.objective == pytest.approx(expected.objective, rel=2 * TOL)
    assert np.count_nonzero(s.a) <= np.count_nonzero(expected.a)
    assert ("_face", True) in central


@pytest.mark.parametrize("name", LINEAR)
def test_vertices_are_sparse_and_complementary(name):
    risk = problem(name, C=5.0)
    found = generate_columns(risk, tol=TOL)
    s, u = found.solution, found.u
    # At a vertex of the dual as many multipliers are off their bounds as there are tight prices;
    # so there are at most as many coefficients as samples on a kink of their loss.
    terms = risk.free.terms
    kinks = np.minimum(np.abs(s.f + terms.p_pos), np.abs(s.f + terms.p_neg)) < 1e-6
    assert np.count_nonzero(s.a) + risk.B.shape[1] <= np.count_nonzero(kinks)
    price = risk.G.G.T @ u / risk.weights
    tight = s.a != 0
    # Complementary: these products are terms of the gap, none of them negative.
    assert np.sum(risk.weights * np.abs(s.a) * (1 - np.sign(s.a) * price)) <= s.gap + 1e-12
    assert np.all(np.sign(price[tight]) == np.sign(s.a[tight]))


def test_objective_falls_from_round_to_round():
    risk = problem("tube", C=20.0)
    history = generate_columns(risk, tol=TOL).solution.history
    objectives = [line.objective for line in history]
    assert len(objectives) > 2
    assert np.all(np.diff(objectives) <= 1e-9 * objectives[0])


@pytest.mark.parametrize("name", CONIC)
def test_collapse_threshold(name):
    risk = problem(name, C=1.0)
    factor = threshold(risk)

    def support(t):
        c = t * factor * risk.c
        near = SparseRisk(risk.loss, risk.G, risk.y, c, risk.B, None, risk.weights, risk.signs)
        return np.count_nonzero(generate_columns(near, tol=1e-9).solution.a)

    assert support(0.99) == 0
    assert support(1.02) > 0


def test_collapse_of_the_classifier_without_threshold_is_the_printed_formula():
    X, _, y, _ = sample()
    K = Gaussian(0.7)(X)
    risk = SparseRisk(Hinge(), DenseDictionary(K), y, np.ones(len(y)), signs=y)
    assert 1 / threshold(risk) == pytest.approx(np.max(y * (K @ y)), rel=1e-12)


def test_scale_of_the_dictionary_is_a_scale_of_the_weights():
    risk = problem("tube")
    one = generate_columns(risk, tol=TOL).solution
    scaled = SparseRisk(
        risk.loss, DenseDictionary(3.0 * risk.G.G), risk.y, risk.c, risk.B, None, 3.0 * risk.weights
    )
    other = generate_columns(scaled, tol=TOL).solution
    # Both objectives are within the relative gap of the same optimum.
    assert other.objective == pytest.approx(one.objective, rel=2 * TOL)
    assert np.allclose(3.0 * other.a, one.a, atol=1e-4)


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("positive", [False, True])
def test_a_bound_on_the_norm(name, positive):
    free = problem(name, positive=positive, q=1)
    risk = SparseRisk(
        free.loss, free.G, free.y, free.c, free.B, None, free.weights, free.signs, radius=0.7
    )
    found = generate_columns(risk, tol=TOL)
    s = found.solution
    expected = conic(name, free.G.G, free.y, free.c, free.B, free.weights, free.signs, 0.7)
    assert s.status is Status.CONVERGED
    assert s.objective == pytest.approx(expected, abs=1e-6 * (1 + expected))
    assert risk.norm(s.a) <= 0.7 * (1 + 1e-9)
    assert s.resolution == 0.0  # errors are no smaller for being those of a margin
    with pytest.raises(ValueError, match="solve it as a program"):
        risk.restricted(np.arange(3))


@pytest.mark.parametrize("radius", [None, 0.7])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_rounding_is_added_at_its_worst(radius, size, monkeypatch):
    """By plain loops: decision values move every absolute error, and prices move the bound."""
    free, rng = problem("absolute"), np.random.default_rng(0)
    G, n, relative = free.G.G, 40, 1e-6
    risk = SparseRisk(
        free.loss, free.G, size * free.y, free.c, free.B, None, free.weights, free.signs, radius
    )
    monkeypatch.setattr(DenseDictionary, "value_error", lambda self: relative)
    monkeypatch.setattr(engine, "SUMMATION_ROUNDING", 1e-4)  # so that none of it is rounding
    a, b = np.zeros(50), size * rng.normal(size=1)
    a[[3, 20, 41]] = size * np.array([1.0, -2.0, 5.0])
    u = rng.normal(size=n)
    f = G @ a + free.B @ b
    value = risk.value(a, b, f)
    columns = [max(abs(G[i, j] * a[j]) for i in range(n)) for j in (3, 20, 41)]
    entries = relative * np.sqrt(sum(x * x for x in columns))
    worst = value
    for i in range(n):
        terms = np.sqrt(sum((G[i, j] * a[j]) ** 2 for j in range(50)))
        largest = max(terms, abs(f[i]), abs(risk.y[i]), abs(free.B[i] @ b))
        worst += risk.c[i] * (engine.SUMMATION_ROUNDING * largest + entries)
    prices = [np.sqrt(sum((G[:, j] * u) ** 2)) / risk.weights[j] for j in (3, 20, 41)]
    norm = value if radius is None else radius  # an optimum costs no more than this function
    sums = max(prices) * norm + sum(abs(u[i] * risk.y[i]) for i in range(n))
    slack = abs(float(b @ (free.B.T @ u)))
    found, moved = engine._rounded(risk, a, b, u, f, value, 0.0)
    # Sums of forty terms, of which differences of a ten thousandth are taken.
    assert moved - value == pytest.approx(worst - value, rel=1e-9)
    assert found + slack == pytest.approx(-1e-4 * sums, rel=1e-9)


def test_it_is_the_one_functional_without_a_kernel():
    """The functional's own interior point, over all functions at once, certifies the same value."""
    risk = problem("tube", positive=True)
    whole = minimize(risk.restricted(np.arange(50)), InteriorPoint(tol=1e-7))
    assert generate_columns(risk, tol=TOL).solution.objective == pytest.approx(
        whole.objective, rel=1e-6
    )


@pytest.mark.parametrize(
    ("name", "radius"), [("tube", None), ("hinge", None), ("absolute", None), ("hinge", 0.5)]
)
def test_only_samples_near_kinks_are_variables(name, radius, monkeypatch):
    """Row generation takes another way to the same vertex value."""
    risk = problem(name, C=3.0, n=300)
    risk = SparseRisk(risk.loss, risk.G, risk.y, risk.c, risk.B, radius=radius)
    whole = generate_columns(risk, tol=TOL).solution
    monkeypatch.setattr(linear_master, "MAX_WHOLE_SAMPLES", 50)
    monkeypatch.setattr(linear_master, "MIN_SEEN_SAMPLES", 30)
    rows = []
    solve = linear_master.restricted_program

    def watched(risk, GJ, J, near, *rest, **more):
        rows.append(np.sum(near))
        return solve(risk, GJ, J, near, *rest, **more)

    monkeypatch.setattr(linear_master, "restricted_program", watched)
    part = generate_columns(risk, tol=TOL).solution
    assert part.status is Status.CONVERGED
    assert part.objective == pytest.approx(whole.objective, rel=2 * TOL)
    assert max(rows) < 300


@pytest.mark.parametrize(("name", "radius"), [("tube", None), ("squared", None), ("hinge", 0.5)])
def test_a_part_is_solved_first(name, radius, monkeypatch):
    """Rehearsals and pools choose the order in which functions come in, and nothing else."""
    risk = problem(name, C=1.0, n=200)
    risk = SparseRisk(risk.loss, risk.G, risk.y, risk.c, risk.B, radius=radius)
    whole = generate_columns(risk, tol=TOL).solution
    monkeypatch.setattr(engine, "MAX_EXACT_START", 30)
    part = generate_columns(risk, tol=TOL).solution
    assert part.status is Status.CONVERGED
    assert part.n_iter < whole.n_iter
    assert part.objective == pytest.approx(whole.objective, rel=2 * TOL)


def test_dictionaries_agree_with_their_matrix():
    X, _, _, u = sample(30)
    Z = X[:7]
    K = Gaussian(0.7)(X, Z)
    index = np.array([5, 2])
    held, lazy = KernelColumns(Gaussian(0.7), X, Z), KernelColumns(Gaussian(0.7), X, Z, 0)
    square, K_square = KernelColumns(Gaussian(0.7), X, None, 0), Gaussian(0.7)(X)
    S = np.random.default_rng(0).normal(size=(12, 30))
    E = np.ones((12, 2))
    whole = np.hstack([S @ K, E])
    arranged = CombinedDictionary(lazy, S, E)
    matrices = [(held, K, u), (lazy, K, u), (square, K_square, u), (arranged, whole, u[:12])]
    for G, matrix, v in matrices:
        assert G.shape == matrix.shape
        assert np.allclose(G.columns(index), matrix[:, index], rtol=1e-13, atol=1e-14)
        assert np.allclose(G.price(v), matrix.T @ v, rtol=1e-12)
        assert np.allclose(G.price(v, index), (matrix.T @ v)[index], rtol=1e-12)
        # Rounded to single precision, on sums of 30 terms of one size.
        assert np.allclose(G.rough_price(v), matrix.T @ v, atol=1e-5)
        rows, most = np.array([3, 1, 7]), np.array([4, 0, *G.essential])
        part = G.take(rows, most)
        assert part.shape == (3, len(most))
        assert np.allclose(part.columns(np.arange(len(most))), matrix[np.ix_(rows, most)])
    assert np.allclose(arranged.columns(np.array([8, 0])), whole[:, [8, 0]])
    with pytest.raises(ValueError, match="finite"):
        DenseDictionary(np.array([[np.nan]]))


def test_what_cannot_be_is_refused():
    risk = problem("tube")
    with pytest.raises(ValueError, match="positive numbers"):
        SparseRisk(risk.loss, risk.G, risk.y, risk.c, weights=np.zeros(50))
    with pytest.raises(ValueError, match="radius"):
        SparseRisk(risk.loss, risk.G, risk.y, risk.c, radius=0.0)


def test_stops_where_it_is_told():
    risk = problem("tube", C=20.0)
    assert generate_columns(risk, max_iter=1).solution.status is Status.MAX_ITER
    stopped = generate_columns(risk, listener=lambda line: line.iteration == 1).solution
    assert stopped.status is Status.STOPPED
    again = generate_columns(risk, start=generate_columns(risk).columns).solution
    assert again.n_iter == 1
