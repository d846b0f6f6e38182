"""The method of multipliers for losses with kinks, beside a cone solver and plain formulas."""

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from mercer import SVC, NuSVR
from mercer._native import along, fenchel_young, rounded
from mercer.data import as_source, draw
from mercer.kernels import Gaussian
from mercer.losses import Absolute, EpsilonInsensitive, Hinge, Loss, Pinball
from mercer.losses.base import Conjugate, MarginLoss, ResidualLoss
from mercer.reduced import Nystrom, RandomFeatures, multipliers, row_state
from mercer.reduced.multipliers import holding, minimize_kinked
from mercer.reduced.newton import Minimum, Newton
from mercer.reduced.nystrom import NystromMap
from mercer.reduced.oracle import Oracle
from mercer.reduced.passes import Passes
from mercer.reduced.problem import Problem, Values
from mercer.reduced.row_state import BlockRows, Held
from mercer.regularizers.null_space import Constant, Empty, Polynomial
from mercer.solvers.monitor import Progress
from mercer.solvers.status import Status

cp = pytest.importorskip("cvxpy")

N, M, P = 400, 20, 3
ROOM = 2.0**30
CONSTANT = Constant()


@dataclass(eq=False)
class HalfSquared(ResidualLoss):
    """Squared above zero up to slope 2, absolute below: a kink and a parabola in one loss."""

    def terms(self) -> Conjugate:
        return Conjugate(quad=1.0, quad_negative=0.0, lower=-1.0, upper=2.0)


class RoundedTerms:
    """The conjugate of a loss and a parabola: the loss with its kinks rounded."""

    def terms(self) -> Conjugate:
        terms, mu = self.loss.terms(), self.mu  # type: ignore[attr-defined]
        below = terms.quad if terms.quad_negative is None else terms.quad_negative
        return replace(terms, quad=terms.quad + mu, quad_negative=below + mu)


@dataclass(eq=False)
class RoundedMargin(RoundedTerms, MarginLoss):
    loss: MarginLoss
    mu: float


@dataclass(eq=False)
class RoundedResidual(RoundedTerms, ResidualLoss):
    loss: ResidualLoss
    mu: float


LOSSES = [Hinge(), EpsilonInsensitive(0.2), Pinball(0.2), Absolute(), HalfSquared()]
SPACES = [Empty(), Constant(), Polynomial(1)]


def oracle_of(
    loss: Loss,
    space: Any = CONSTANT,
    C: tuple[float, ...] = (1.0,),
    n: int = N,
    width: float = 1.5,
    room: float = ROOM,
    n_jobs: int = 1,
    rows: int = 128,
    weights: tuple[float, ...] = (0.0, 0.5, 1.0, 1.5),
) -> Oracle:
    """Return a problem of rows with weights, some of which are zero."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, P))
    Y = np.sin(2.0 * X[:, : len(C)]) + X[:, -1:] + 0.4 * rng.standard_t(3, size=(n, len(C)))
    Y = np.where(Y > 0, 1.0, -1.0) if isinstance(loss, Hinge) else Y
    s = rng.choice(weights, size=n)
    source = as_source(X, Y, s)
    phi = NystromMap(Gaussian(width), X[:M])
    passes = Passes(source, rows, n_jobs=n_jobs, room=room)
    problem = Problem(phi, space, Values(len(C)), loss, np.array(C), P)
    return Oracle(problem, passes, draw(source, n, 0))


def minimum(oracle: Oracle, tol: float, **how: Any) -> Minimum:
    problem = oracle.problem
    W, b = np.zeros((problem.map.r, problem.k)), np.zeros((problem.free, problem.k))
    return minimize_kinked(Newton(tol=tol, **how), oracle, W, b)


def plain(oracle: Oracle) -> tuple[Any, ...]:
    """Return features, targets, weights and columns of all rows."""
    problem = oracle.problem
    block = next(oracle.passes.source.blocks(10**6))
    X, Y, s, columns, _ = problem.admit(block)
    phi = problem.map.features(problem.map.raw(X))
    return phi, Y, np.broadcast_to(s * problem.C, Y.shape), columns


def cone_value(loss: Loss, phi: Any, y: Any, c: Any, B: Any) -> float:
    """Return the minimum as Clarabel finds it, each loss written by hand."""
    w, b = cp.Variable(phi.shape[1]), cp.Variable(max(1, B.shape[1]))
    t = phi @ w + (B @ b if B.shape[1] else 0.0)
    r = y - t
    each = {
        Hinge: lambda: cp.pos(1.0 - cp.multiply(y, t)),
        EpsilonInsensitive: lambda: cp.pos(cp.abs(r) - 0.2),
        Pinball: lambda: cp.maximum(0.2 * r, -0.8 * r),
        Absolute: lambda: cp.abs(r),
        HalfSquared: lambda: 0.5 * cp.huber(cp.pos(r), 2.0) + cp.pos(-r),
    }[type(loss)]()
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + c @ each))
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(problem.value)


@pytest.mark.parametrize("space", SPACES, ids=lambda space: type(space).__name__)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_minimum_is_that_of_a_cone_solver(loss: Loss, space: Any) -> None:
    oracle = oracle_of(loss, space)
    found = minimum(oracle, 1e-8)
    assert found.status is Status.CONVERGED
    assert found.value is not None
    phi, Y, c, B = plain(oracle)
    expected = cone_value(loss, phi, Y[:, 0], c[:, 0], B)
    # Ours is above the minimum by at most its gap; the cone solver's by some of its tolerance.
    assert found.value.primal[0] == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_gap_is_what_formulas_of_the_losses_say(loss: Loss) -> None:
    oracle = oracle_of(loss, C=(1.0, 3.0))
    found = minimum(oracle, 1e-4)
    phi, Y, c, B = plain(oracle)
    assert found.slopes is not None
    assert found.value is not None
    # The pool has all rows, in another order.
    v = np.empty(Y.shape)
    v[oracle.pool.rows] = found.slopes[:, :, 0].T
    t = phi @ found.W + B @ found.b
    primal = 0.5 * np.sum(found.W**2, axis=0) + np.sum(c * loss.value(Y, t), axis=0)
    conjugates = np.where(c > 0, c * loss.conjugate(Y, v), 0.0)
    dual = -0.5 * np.sum((phi.T @ (c * v)) ** 2, axis=0) - np.sum(conjugates, axis=0)
    assert np.all(np.isfinite(dual))
    np.testing.assert_allclose(found.value.primal, primal, rtol=1e-12)
    # Equal but for b'B'a, which is rounding.
    np.testing.assert_allclose(found.value.gap, primal - dual, atol=1e-9 * primal.max())
    assert np.all(found.value.gap <= 1e-4 * primal)
    np.testing.assert_allclose(B.T @ (c * v), 0.0, atol=1e-11 * np.sum(c))


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.2)], ids=repr)
@pytest.mark.parametrize("n", [8, 40, 300])
def test_the_bound_holds_for_weights_of_all_sizes(loss: Loss, n: int) -> None:
    """Slopes that do not balance the unpenalized columns would prove too much."""
    oracle = oracle_of(loss, C=(1e4,), n=n, weights=(1e-3, 1.0, 5.0, 1e3))
    found = minimum(oracle, 1e-4)
    assert found.status is Status.CONVERGED
    assert found.value is not None
    phi, Y, c, B = plain(oracle)
    expected = cone_value(loss, phi, Y[:, 0], c[:, 0], B)
    slack = 1e-6 * expected
    assert found.value.primal[0] - found.value.gap[0] - slack <= expected
    assert expected <= found.value.primal[0] + slack


def test_values_kept_and_made_again_and_rows_read_again_lead_to_the_same() -> None:
    # Of a row: f, g, three slopes and a known one, weights, four terms that differ; a column; and
    # its curvature in float32.
    least = N * (8.0 * (6 + 1 + 4 + 1) + 4.0)
    # Of a step: the curvature, two sums of it and two factors.
    least += 5 * 8.0 * M**2
    rooms = {"values": ROOM, "points": least + 8.0 * P * N, "rows": least, "files": least - 1.0}
    found = {}
    for name, room in rooms.items():
        oracle = oracle_of(Hinge(), room=room)
        held = holding(oracle)
        assert held.values == ((True, True) if name == "values" else (False, False))
        assert held.points == (name == "points")
        assert held.reads(True) == (name in ("rows", "files"))
        assert held.in_files == (name == "files")
        found[name] = minimum(oracle, 1e-6).value
    assert all(one is not None for one in found.values())
    one, *others = [one.primal for one in found.values() if one is not None]
    for other in others:
        np.testing.assert_allclose(one, other, rtol=1e-6)
    # Where numbers of rows are changes none of them.
    assert np.array_equal(found["rows"].primal, found["files"].primal)  # type: ignore[union-attr]
    assert np.array_equal(found["rows"].gap, found["files"].gap)  # type: ignore[union-attr]


@pytest.mark.parametrize("views", [1, 2])
def test_numbers_in_files_change_no_bit(views: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one file several arrays have parts, and large ones have a file each."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    f = np.sin(X[:, 0]) + 0.3 * rng.normal(size=3000)
    make, y = (SVC, np.where(f > 0, 1, -1)) if views == 1 else (NuSVR, f)
    here = make(approximation=Nystrom(20, n_jobs=1)).fit(X, y)
    monkeypatch.setattr(multipliers, "_state_bytes", lambda *_: np.inf)
    monkeypatch.setattr(row_state, "FILE_BYTES", 3 * 8 * 3000)
    there = make(approximation=Nystrom(20, n_jobs=1)).fit(X, y)
    assert there.solution_.converged
    # Without room for values they are computed again, in parts of other sizes.
    np.testing.assert_allclose(there.solution_.objective, here.solution_.objective, rtol=1e-4)
    assert there.solution_.gap <= 1e-4 * there.solution_.objective


def test_matrices_that_memory_does_not_hold_are_refused() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=3000) > 0, 1, -1)
    machine = SVC(approximation=Nystrom(1200, memory_limit="100MB", n_jobs=1))
    with pytest.raises(
        ValueError, match=r"5 matrices of 1200 .* use at most (\d+) landmarks"
    ) as no:
        machine.fit(X, y)
    most = int(re.search(r"at most (\d+)", str(no.value))[1])  # type: ignore[index]
    assert 5 * 8 * most**2 <= 0.5 * 100e6 < 5 * 8 * (most + 1) ** 2


def test_threads_change_no_bit() -> None:
    one, two = (minimum(oracle_of(Hinge(), n_jobs=jobs), 1e-5) for jobs in (1, 2))
    assert np.array_equal(one.W, two.W)
    assert np.array_equal(one.b, two.b)


@pytest.mark.parametrize(
    ("C", "width", "single"),
    [
        ((1.0,), 1.5, True),
        ((1.0,), 6.0, False),  # steep features
        ((1e-20,), 1.5, False),
        ((1e20,), 1.5, False),
        ((1.0, 1e-20), 1.5, False),
        ((1e-20,), 6.0, False),
    ],
)
def test_float32_needs_flat_features_and_moderate_weights(
    C: tuple[float, ...], width: float, single: bool
) -> None:
    assert holding(oracle_of(Absolute(), C=C, width=width)).single == single


@pytest.mark.parametrize(("C", "matrices"), [((1.0,), 5), ((1.0, 5.0), 8)])
@pytest.mark.parametrize(("fit", "jobs", "threads"), [(0.1, 8, 1), (2.5, 8, 2), (9.0, 4, 4)])
def test_as_many_threads_as_memory_holds_curvatures(
    C: tuple[float, ...], matrices: int, fit: float, jobs: int, threads: int
) -> None:
    """Of each problem three matrices of float64, and two of a step."""
    room = fit * matrices * 8.0 * M**2
    assert multipliers._threads(oracle_of(Absolute(), C=C, room=room, n_jobs=jobs)) == threads


def test_several_problems_are_those_of_each() -> None:
    both = minimum(oracle_of(Absolute(), C=(1.0, 5.0)), 1e-7)
    assert both.value is not None
    problem = oracle_of(Absolute(), C=(1.0, 5.0))
    phi, Y, c, B = plain(problem)
    for j in range(2):
        expected = cone_value(Absolute(), phi, Y[:, j], c[:, j], B)
        assert both.value.primal[j] == pytest.approx(expected, rel=1e-6)


def precisions_of(oracle: Oracle, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that the precisions of features are written to."""
    found: list[Any] = []
    features = BlockRows._features

    def spy(self: BlockRows, X: Any, rows: Any) -> Any:
        made = features(self, X, rows)
        found.append(made.dtype)
        return made

    monkeypatch.setattr(BlockRows, "_features", spy)
    return found


def test_steep_features_are_made_in_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = oracle_of(EpsilonInsensitive(0.2), width=6.0)
    assert oracle.problem.map.steepness > multipliers.MAX_SINGLE_STEEPNESS
    precisions = precisions_of(oracle, monkeypatch)
    found = minimum(oracle, 1e-6)
    assert set(precisions) == {np.dtype(np.float64)}
    assert found.status is Status.CONVERGED
    phi, Y, c, B = plain(oracle)
    assert found.value is not None
    expected = cone_value(EpsilonInsensitive(0.2), phi, Y[:, 0], c[:, 0], B)
    assert found.value.primal[0] == pytest.approx(expected, rel=1e-5)


def test_digits_that_float32_does_not_have_come_from_float64(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    oracle = oracle_of(Hinge(), width=0.7)
    precisions = precisions_of(oracle, monkeypatch)
    found = minimum(oracle, 1e-10)
    assert precisions[0] == np.float32
    assert precisions[-1] == np.float64
    assert found.status is Status.CONVERGED


def test_a_start_on_some_rows_is_a_start() -> None:
    """Rows in order of their targets: those that begin are drawn from all of them."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(5000, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=5000)
    order = np.argsort(y)
    found = []
    for rows in (np.arange(5000), order):
        source = as_source(X[rows], y[rows])
        problem = Problem(
            NystromMap(Gaussian(1.0), X[:30]), Constant(), Values(1), Absolute(), np.ones(1), 2
        )
        passes = Passes(source, 1024, n_jobs=1, room=ROOM)
        found.append(minimum(Oracle(problem, passes, draw(source, 100, 0)), 1e-5))
    one, other = (each.value for each in found)
    assert one is not None
    assert other is not None
    np.testing.assert_allclose(one.primal, other.primal, rtol=1e-5)
    assert all(each.n_iter <= 30 for each in found)


def test_who_listens_may_end_it_and_has_a_certificate() -> None:
    lines: list[Progress] = []

    def listener(progress: Progress) -> bool:
        lines.append(progress)
        return len(lines) == 2

    found = minimum(oracle_of(Hinge()), 1e-9, listener=listener)
    assert found.status is Status.STOPPED
    assert found.value is not None
    assert len(found.history) == 2
    assert found.value.gap[0] > 1e-9 * found.value.primal[0]


def test_an_interrupt_leaves_the_best_so_far() -> None:
    def listener(progress: Progress) -> bool:
        if progress.iteration == 2:
            raise KeyboardInterrupt
        return False

    found = minimum(oracle_of(Hinge()), 1e-9, listener=listener)
    assert found.status is Status.INTERRUPTED
    assert found.value is not None
    assert np.isfinite(found.value.gap[0])


def test_a_limit_of_steps_is_kept() -> None:
    found = minimum(oracle_of(Hinge()), 1e-9, max_iter=1)
    assert found.status is Status.MAX_ITER
    assert found.n_iter == 1


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_compiled_loops_are_the_formulas_of_the_losses(loss: Any) -> None:
    rng = np.random.default_rng(0)
    y = (
        np.where(rng.random(60) < 0.5, 1.0, -1.0)
        if isinstance(loss, Hinge)
        else rng.normal(size=60)
    )
    t, c = 2.0 * rng.normal(size=60), rng.random(60)
    terms = loss.dual_terms(y, np.ones(60))
    arrays = (-terms.p_neg, -terms.p_pos, terms.q_neg, terms.q_pos, -terms.upper, -terms.lower)
    v, bent = np.empty(60), np.empty(60)
    total, slopes, sizes, curvatures, active = rounded(t, np.zeros(60), 0.3, c, *arrays, v, bent)
    envelope = (RoundedMargin if isinstance(loss, Hinge) else RoundedResidual)(loss, 0.3)
    np.testing.assert_allclose(v, envelope.gradient(y, t), atol=1e-14)
    np.testing.assert_allclose(bent, c * envelope.curvature(y, t), atol=1e-13)
    assert total == pytest.approx(float(c @ envelope.value(y, t)), rel=1e-12)
    assert slopes == pytest.approx(float(c @ v), rel=1e-12)
    assert sizes == pytest.approx(float(c @ np.abs(v)), rel=1e-12)
    assert curvatures == pytest.approx(float(np.sum(bent)), rel=1e-12)
    assert active == np.count_nonzero(bent)
    g = rng.normal(size=60)
    expected = (g @ (c * v), g @ (bent * g), bent @ g)
    np.testing.assert_allclose(along(g, c, v, bent), expected, rtol=1e-12)
    value, conjugate, young = fenchel_young(t, v, c, *arrays)
    assert value == pytest.approx(float(c @ loss.value(y, t)), rel=1e-12)
    assert conjugate == pytest.approx(float(c @ loss.conjugate(y, v)), rel=1e-12, abs=1e-12)
    assert young == pytest.approx(value + conjugate - float(c @ (v * t)), abs=1e-12)


def test_features_without_room_are_made_again() -> None:
    oracle = oracle_of(Hinge())
    block = next(oracle.passes.source.blocks(N))
    some = np.array([3, 50, 200, 399])
    phi, *_ = plain(oracle)
    made = []
    for room in (4.0 * M, 0.0):
        rows = BlockRows(block, Held(oracle.problem, True, (False, False), True, room))
        rows._prepare(block.X, some)
        assert rows.used == (len(some) if room else 0)
        made.append(rows._features(block.X, some))
        np.testing.assert_allclose(made[-1], phi[some], atol=1e-4)
    assert np.array_equal(*made)


def test_random_features_have_the_same_way() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    machine = SVC(approximation=RandomFeatures(60)).fit(X, y)
    assert machine.solution_.solver == "method of multipliers"
    assert machine.solution_.status is Status.CONVERGED


def test_functions_are_as_many_as_memory_has_room_for() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    machine = SVC(approximation=RandomFeatures(2100)).fit(X, y)
    assert machine.solution_.solver == "method of multipliers"
    assert machine.solution_.status is Status.CONVERGED
