"""Conjugate gradients against the factorization, closed forms, and their own promises."""

import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator
from scipy.sparse.linalg import spsolve

from cases import LOSSES, random_risk
from gram_spy import Spy
from mercer.gram import Dense, Tiled
from mercer.gram.indexed import Indexed
from mercer.gram.low_rank import LowRank
from mercer.gram.sparse import Sparse
from mercer.kernels import BSpline, Gaussian, Laplacian
from mercer.losses import Expectile, Huber, Logistic, Squared, SquaredHinge
from mercer.problems import RegularizedRisk
from mercer.regularizers import Constant, Empty
from mercer.regularizers import Polynomial as Trend
from mercer.solvers import (
    Auto,
    ConjugateGradient,
    ConvergenceWarning,
    Direct,
    Newton,
    Status,
    minimize,
)
from mercer.solvers.minimizing import alike, minimize_together

EPS = np.finfo(float).eps
N = 60
PRECONDITIONERS = ["auto", "low_rank", "nystrom", "cholesky", "jacobi", None]
every_preconditioner = pytest.mark.parametrize("kind", PRECONDITIONERS)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def sample(rng, n=N):
    X = rng.normal(size=(n, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=n)


def plane(n, seed=0, k=25):
    """Return points of the unit square, a kernel that sees k of them from each, and targets."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    y = np.sin(9 * X[:, 0]) * np.cos(7 * X[:, 1]) + 0.3 * rng.normal(size=n)
    return X, BSpline(np.sqrt(k / n) / 4.0), y


def thin_plate(X):
    r2 = np.sum((X[:, None] - X[None]) ** 2, axis=-1)
    return 0.5 * r2 * np.log(np.where(r2 > 0, r2, 1.0))


@every_preconditioner
@pytest.mark.parametrize("space", [Empty(), Constant(), Trend(1)], ids=repr)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_agrees_with_the_factorization(kind, space, C):
    """To the tolerance; two weights are zero, points repeat."""
    risk = random_risk(Squared(), null_space=space, seed=1, n=N, C=C, duplicates=True)
    solver = ConjugateGradient(tol=1e-9, preconditioner=kind)
    found, exact = minimize(risk, solver), minimize(risk, Direct())
    assert found.converged
    assert found.violation <= 1e-9
    assert found.residual <= 1e-12
    # a = c (y - f), and |df| <= |K (K + 1/c)^-1| |residual| in the norm of the weights.
    np.testing.assert_allclose(found.a, exact.a, atol=C * np.sqrt(N) * 1e-9 * 2)
    np.testing.assert_allclose(found.f, exact.f, atol=1e-8)
    np.testing.assert_allclose(found.b, exact.b, atol=1e-8)
    assert not np.any(found.a[risk.c == 0])


@every_preconditioner
@pytest.mark.parametrize("q", [1, 3])
def test_costs_of_the_unpenalized_part(kind, q, rng):
    X, y = sample(rng)
    K, B, d = Gaussian(1.0)(X), np.column_stack([np.ones(N), X])[:, :q], rng.normal(size=q)
    c = rng.uniform(0.1, 10.0, N)
    risk = RegularizedRisk(Squared(), Dense(K), y, c, B, d)
    found = minimize(risk, ConjugateGradient(tol=1e-10, preconditioner=kind))
    M = np.block([[K + np.diag(1 / c), B], [B.T, np.zeros((q, q))]])
    expected = np.linalg.solve(M, np.concatenate([y, d]))
    np.testing.assert_allclose(found.a, expected[:-q], atol=1e-10 * 10 * N)
    np.testing.assert_allclose(found.b, expected[-q:], atol=1e-10 * 10 * N)


def test_reports_are_those_of_the_certificate(rng):
    X, y = sample(rng)
    d = np.array([0.7])
    risk = RegularizedRisk(Squared(), Dense(Gaussian(1.0)(X)), y, 3.0, np.ones((N, 1)), d)
    best = minimize(risk, Direct()).objective
    solution = minimize(risk, ConjugateGradient(tol=1e-8, preconditioner=None))
    history = solution.history
    assert [line.iteration for line in history] == list(range(1, len(history) + 1))
    assert solution.n_iter == len(history)
    for line in history:
        # The gap is the excess of the objective over a lower bound, at every iterate.
        assert line.objective - line.gap <= best + 1e-12 <= line.objective + 2e-12
    last = history[-1]
    certificate = risk.certificate(solution.a, solution.b)
    assert last.objective == pytest.approx(certificate.primal, rel=1e-12)
    assert last.gap == pytest.approx(certificate.gap, rel=1e-3)
    assert last.violation == pytest.approx(certificate.violation, rel=1e-3)


def test_one_product_an_iteration(rng):
    X, y = sample(rng)
    gram = Spy(Gaussian(1.0)(X))
    B = np.column_stack([np.ones(N), X])
    solution = minimize(
        RegularizedRisk(Squared(), gram, y, 1.0, B), ConjugateGradient(preconditioner="jacobi")
    )
    whole = [rows for rows, _ in gram.asked if isinstance(rows, slice)]
    # One to begin with (at zero, which reads nothing), one at the end, one for each iteration.
    assert len(whole) <= solution.n_iter + 2


def test_a_thin_factor_saves_iterations(rng):
    X, y = sample(rng, 400)
    risk = RegularizedRisk(Squared(), Dense(Gaussian(1.0)(X)), y, 1e3, np.ones((400, 1)))
    counts = [
        minimize(risk, ConjugateGradient(preconditioner=kind, rank=rank)).n_iter
        for kind, rank in ((None, 1), ("low_rank", 20), ("auto", 400))
    ]
    assert counts[0] > 2 * counts[1] > 2 * counts[2]


@every_preconditioner
@pytest.mark.parametrize("smoothing", [0.01, 1.0])
def test_thin_plate_splines(kind, smoothing, rng):
    """A kernel that is positive definite only where B'a = 0."""
    X, y = sample(rng)
    spline = RBFInterpolator(X, y, kernel="thin_plate_spline", smoothing=smoothing, degree=1)
    K, B = thin_plate(X), np.column_stack([np.ones(N), X])
    assert np.linalg.eigvalsh(K)[0] < -1
    risk = RegularizedRisk(Squared(), Dense(K), y, 1.0 / smoothing, B)
    found = minimize(risk, ConjugateGradient(tol=1e-9, preconditioner=kind))
    assert found.converged
    np.testing.assert_allclose(found.f, spline(X), atol=1e-8)
    np.testing.assert_allclose(B.T @ found.a, 0.0, atol=1e-12 * np.sum(np.abs(found.a)))


def test_a_thin_factor_off_the_border_helps_splines_too(rng):
    X, y = sample(rng, 300)
    B = np.column_stack([np.ones(300), X])
    risk = RegularizedRisk(Squared(), Dense(thin_plate(X)), y, 1e3, B)
    plain, thin = (
        minimize(risk, ConjugateGradient(preconditioner=kind, rank=100)).n_iter
        for kind in ("jacobi", "low_rank")
    )
    assert plain > 4 * thin


def test_every_way_of_holding_the_matrix(rng):
    X, y = sample(rng)
    kernel, index = Gaussian(1.0), rng.integers(0, N, 2 * N)
    K = kernel(X)
    values, vectors = np.linalg.eigh(K)
    half = vectors * np.sqrt(np.maximum(values, 0.0))
    expected = minimize(RegularizedRisk(Squared(), Dense(K), y, 2.0), Direct()).a
    for gram in (Tiled(kernel, X, max_bytes=6000), LowRank(half), Sparse(K)):
        solution = minimize(RegularizedRisk(Squared(), gram, y, 2.0), ConjugateGradient(tol=1e-9))
        np.testing.assert_allclose(solution.a, expected, atol=2e-9 * 2 * np.sqrt(N))
    twice = RegularizedRisk(Squared(), Indexed(Dense(K), index), y[index], 2.0)
    found, exact = minimize(twice, ConjugateGradient(tol=1e-9)), minimize(twice, Direct())
    np.testing.assert_allclose(found.a, exact.a, atol=2e-9 * 2 * np.sqrt(2 * N))


def test_a_plane_of_points_by_neighbours():
    X, kernel, y = plane(2000)
    gram, c = Sparse.from_kernel(kernel, X), np.full(2000, 4.0)
    c[:5] = 0.0
    risk = RegularizedRisk(Squared(), gram, y, c, np.column_stack([np.ones(2000), X]))
    found, exact = minimize(risk, ConjugateGradient(tol=1e-9)), minimize(risk, Direct())
    np.testing.assert_allclose(found.a, exact.a, atol=4 * 1e-9 * np.sqrt(2000) * 2)
    np.testing.assert_allclose(found.b, exact.b, atol=1e-8)
    # Without unpenalized columns SciPy's own sparse solver says the same.
    alone = minimize(RegularizedRisk(Squared(), gram, y, 4.0), ConjugateGradient(tol=1e-9))
    M = gram.K.tolil()
    M.setdiag(gram.diag() + 0.25)
    np.testing.assert_allclose(alone.a, spsolve(M.tocsc(), y), atol=4e-9 * np.sqrt(2000) * 2)


@pytest.mark.parametrize("loss", [Huber(0.3), Logistic(), SquaredHinge()], ids=repr)
def test_newton_over_neighbours(loss):
    X, kernel, y = plane(500)
    y = y if isinstance(loss, Huber) else np.sign(y)
    gram, B = Sparse.from_kernel(kernel, X), np.ones((500, 1))
    risk = RegularizedRisk(loss, gram, y, 5.0, B)
    iterative = minimize(risk, Newton(tol=1e-6, max_bytes=1e4))
    banded = minimize(risk, Newton(tol=1e-6))
    dense = minimize(RegularizedRisk(loss, Dense(gram.dense()), y, 5.0, B), Newton(tol=1e-6))
    for solution in (iterative, banded):
        assert solution.converged
        gap = solution.gap + dense.gap + 64 * EPS * risk.n * (1 + abs(dense.objective))
        assert abs(solution.objective - dense.objective) <= gap


def test_who_is_chosen_for_neighbours():
    X, kernel, y = plane(2000)
    gram = Sparse.from_kernel(kernel, X)

    def name(loss, target, **settings):
        risk = RegularizedRisk(loss, gram, target, 1.0, np.ones((2000, 1)))
        return type(Auto(**settings).choose(risk)[0]).__name__

    assert name(Squared(), y) == "Direct"
    assert name(Squared(), y, max_dense=100) == "ConjugateGradient"
    assert name(Huber(), y, max_dense=100) == "Newton"
    line = Sparse.from_kernel(BSpline(0.001), X[:, :1])
    risk = RegularizedRisk(Squared(), line, y, 1.0)
    assert type(Auto(max_dense=1000).choose(risk)[0]).__name__ == "Direct"


def test_warm_start_continues(rng):
    X, y = sample(rng)
    K, B = Dense(Gaussian(1.0)(X)), np.column_stack([np.ones(N), X])
    risk = RegularizedRisk(Squared(), K, y, 1.0, B)
    solver = ConjugateGradient(tol=1e-8, preconditioner=None)
    cold = minimize(risk, solver)
    assert minimize(risk, solver, cold).n_iter == 0
    nearby = RegularizedRisk(Squared(), K, y + 1e-4 * rng.normal(size=N), 1.0, B)
    warm, again = minimize(nearby, solver, cold), minimize(nearby, solver)
    assert warm.n_iter < again.n_iter
    np.testing.assert_allclose(warm.a, again.a, atol=2e-8 * np.sqrt(N))


def test_stops_when_told(rng):
    X, y = sample(rng, 300)
    risk = RegularizedRisk(Squared(), Dense(Gaussian(0.5)(X)), y, 1e4, np.ones((300, 1)))
    solver = {"tol": 1e-8, "preconditioner": None}
    with pytest.warns(ConvergenceWarning, match="stopped at max_iter after 3 "):
        solution = minimize(risk, ConjugateGradient(max_iter=3, **solver))
    assert (solution.status, solution.n_iter) == (Status.MAX_ITER, 3)
    assert solution.residual <= 1e-12  # early or not, B'a = d
    stopped = minimize(risk, ConjugateGradient(**solver), listener=lambda line: line.iteration == 5)
    assert (stopped.status, stopped.n_iter) == (Status.STOPPED, 5)
    with pytest.warns(ConvergenceWarning, match="stopped at max_time"):
        late = minimize(risk, ConjugateGradient(max_time=0.0, **solver))
    assert late.n_iter == 0
    # Every line is the best so far, and its gap is to the best bound so far.
    for early in (solution, stopped):
        lines = early.history
        assert early.objective == pytest.approx(lines[-1].objective, rel=1e-9)
        assert np.all(np.diff([line.objective for line in lines]) <= 0)
        assert early.gap >= lines[-1].gap * (1 - 1e-9)


@pytest.mark.parametrize("max_bytes", [2e4, 1e9])
def test_an_early_stop_in_float32_has_an_honest_gap(max_bytes, rng):
    """The optimum of the factorization lies inside the gap of every early stop."""
    X, y = sample(rng, 700)
    gram, B = Tiled(Laplacian(2.0), X), np.ones((700, 1))
    risk = RegularizedRisk(Squared(), gram, y, 100.0, B)
    best = minimize(risk, Direct()).objective
    gaps = []
    for steps in (1, 4, 8):
        solver = ConjugateGradient(tol=1e-8, max_iter=steps, rank=10, max_bytes=max_bytes)
        with pytest.warns(ConvergenceWarning, match=f"stopped at max_iter after {steps} "):
            early = minimize(risk, solver)
        assert early.status is Status.MAX_ITER
        assert -1e-9 * best <= early.objective - best <= early.gap * (1 + 1e-9)
        # Measured from outside, with a matrix in float64.
        f = Laplacian(2.0)(X) @ early.a
        value = 0.5 * early.a @ f + 50.0 * np.sum((y - f - early.b) ** 2)
        assert early.objective == pytest.approx(value, rel=1e-10)
        gaps.append(early.gap)
    assert np.all(np.diff(gaps) < 0)


def test_memory_and_rank_do_not_change_the_answer(rng):
    X, y = sample(rng, 900)
    risk = RegularizedRisk(Squared(), Tiled(Laplacian(1.0), X), y, 10.0, np.ones((900, 1)))
    exact = minimize(risk, Direct())
    for settings in ({"max_bytes": 1e5}, {"max_bytes": 2e6}, {}, {"rank": 700}):
        found = minimize(risk, ConjugateGradient(tol=1e-7, **settings))
        assert found.converged
        # An error of the residuals of at most tol, times the weight.
        np.testing.assert_allclose(found.a, exact.a, atol=1e-7 * 10.0 * np.sqrt(900))


def test_does_not_reach_what_rounding_forbids(rng):
    X, y = sample(rng)
    risk = RegularizedRisk(Squared(), Dense(Gaussian(1.0)(X)), y, 10.0, np.ones((N, 1)))
    with pytest.warns(ConvergenceWarning, match="no further progress"):
        solution = minimize(risk, ConjugateGradient(tol=0.0))
    assert solution.status is Status.STALLED
    assert solution.violation <= 1e-13


@pytest.mark.parametrize("C", [1e-3, 1e4, 1e8])
def test_singular_matrices_at_any_weight(C, rng):
    X = np.repeat(rng.normal(size=(N // 2, 2)), 2, axis=0)
    risk = RegularizedRisk(
        Squared(), Dense(Gaussian(1.0)(X)), rng.normal(size=N), C, np.ones((N, 1))
    )
    found, exact = minimize(risk, ConjugateGradient(tol=1e-6)), minimize(risk, Direct(tol=1e-6))
    assert found.converged
    np.testing.assert_allclose(found.f, exact.f, atol=1e-5)


def test_dependent_columns_share_their_coefficient(rng):
    X, y = sample(rng)
    K = Dense(Gaussian(1.0)(X))
    once, twice = (
        minimize(RegularizedRisk(Squared(), K, y, 1.0, np.ones((N, q))), ConjugateGradient(1e-10))
        for q in (1, 2)
    )
    np.testing.assert_allclose(twice.a, once.a, atol=1e-9)
    np.testing.assert_allclose(twice.b, np.repeat(once.b / 2, 2), atol=1e-9)


def test_what_is_refused(rng):
    X, y = sample(rng)
    for loss in LOSSES:
        assert ConjugateGradient().accepts(random_risk(loss)) == (loss == Squared())
    assert ConjugateGradient().accepts(random_risk(Expectile(0.5)))
    nothing = np.zeros((N, 1))
    unbounded = RegularizedRisk(Squared(), Dense(np.eye(N)), y, 1.0, nothing, np.ones(1))
    with pytest.raises(ValueError, match="unbounded below"):
        minimize(unbounded, ConjugateGradient())
    for kind in PRECONDITIONERS:
        risk = RegularizedRisk(Squared(), Dense(thin_plate(X)), y, 1e6)
        with pytest.raises(ValueError, match="conditionally positive definite"):
            minimize(risk, ConjugateGradient(preconditioner=kind))
    with pytest.raises(ValueError, match="preconditioner must be"):
        ConjugateGradient(preconditioner="ilu")
    with pytest.raises(ValueError, match="rank must be"):
        ConjugateGradient(rank=0)


class Counted(Tiled):
    """Tiles that count their products, and those of their copy in float32."""

    def __init__(self, *args):
        super().__init__(*args)
        self.products = []

    def matvec(self, v):
        self.products.append((self.dtype, np.shape(v)[1]))
        return super().matvec(v)

    def single(self):
        copy = Counted(self.kernel, self.X.astype(np.float32), 2**26)
        copy.products = self.products
        return copy


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_rounds_in_float32_end_at_the_residual_of_float64(C, rng):
    X, y = sample(rng, 700)
    gram = Counted(Gaussian(1.0), X)
    risk = RegularizedRisk(Squared(), gram, y, C, np.ones((700, 1)))
    found = minimize(risk, ConjugateGradient(tol=1e-9, rank=15))
    assert found.converged
    K = Gaussian(1.0)(X)
    left = y - K @ found.a - found.a / C - found.b
    # The product of the certificate is that of an independent matrix, to rounding.
    assert np.max(np.abs(left)) <= 1e-9 + 700 * EPS * np.sum(np.abs(found.a))
    dear = sum(dtype == np.float64 for dtype, _ in gram.products)
    # Each round gains five digits or more: at zero, after two rounds, and the border's.
    assert dear <= 5
    assert found.n_iter > 3 * dear
    assert len(gram.products) <= found.n_iter + 2 * dear


def test_float32_is_given_up_where_it_cannot_help(rng):
    """A shift below the rounding of K: the matrix in float32 is not positive definite."""
    X, _ = sample(rng, 600)
    gram = Counted(Gaussian(3.0), X)
    risk = RegularizedRisk(Squared(), gram, np.sin(X[:, 0]), 1e9, np.ones((600, 1)))
    found = minimize(risk, ConjugateGradient(tol=1e-6))
    assert found.converged
    exact = minimize(risk, Direct())
    np.testing.assert_allclose(found.f, exact.f, atol=1e-5)


@every_preconditioner
@pytest.mark.parametrize("q", [0, 2])
def test_several_targets_share_every_product(kind, q, rng):
    X, y = sample(rng, 400)
    K, B = Gaussian(0.7)(X), np.column_stack([np.ones(400), X])[:, :q]
    Y = np.column_stack([y, rng.normal(size=(400, 3))])
    Y = np.column_stack([Y, np.ones(400), Y[:, 0] - Y[:, 1]])  # a constant, and one that depends
    c = rng.uniform(1.0, 9.0, 400)
    c[:3] = 0.0
    gram = Spy(K)
    risks = [RegularizedRisk(Squared(), gram, target, c, B) for target in Y.T]
    assert alike(risks)
    solver = ConjugateGradient(tol=1e-8, preconditioner=kind, rank=30)
    together = minimize_together(risks, solver)
    products = sum(isinstance(rows, slice) for rows, _ in gram.asked)
    alone = [minimize(risk, solver) for risk in risks]
    for one, risk in zip(together, risks, strict=True):
        exact = minimize(risk, Direct())
        assert one.converged
        assert one.residual <= 1e-12
        # a = c (r - left): both residuals are at most the tolerance.
        np.testing.assert_allclose(one.a, exact.a, atol=9 * np.sqrt(400) * 1e-8 * 2)
        assert not np.any(one.a[:3])
    # One space for all has the space of each: never more steps, up to what rounding costs.
    assert together[0].n_iter <= max(s.n_iter for s in alone) + 2
    assert products <= together[0].n_iter + 8
    assert together[0].n_iter < sum(s.n_iter for s in alone) / 2


def test_direct_factorizes_once_for_all_targets(rng):
    X, y = sample(rng, 50)
    Y = np.column_stack([y, rng.normal(size=(50, 2))])
    gram = Spy(Gaussian(1.0)(X))
    risks = [RegularizedRisk(Squared(), gram, t, 3.0, np.ones((50, 1))) for t in Y.T]
    for one, risk in zip(minimize_together(risks, Direct()), risks, strict=True):
        np.testing.assert_allclose(one.a, minimize(risk, Direct()).a, atol=1e-12)
    other = RegularizedRisk(Squared(), gram, y, 2.0, np.ones((50, 1)))
    assert not alike([risks[0], other])


def test_one_listener_stops_all(rng):
    X, y = sample(rng, 300)
    K = Dense(Gaussian(0.5)(X))
    risks = [RegularizedRisk(Squared(), K, t, 1e4) for t in (y, X[:, 0])]
    stop = [lambda line: line.iteration == 4, None]
    solver = ConjugateGradient(tol=1e-8, preconditioner=None)
    for solution in minimize_together(risks, solver, listeners=stop):
        assert (solution.status, solution.n_iter) == (Status.STOPPED, 4)
