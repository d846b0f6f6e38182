"""The minimum of a reduced problem is that of the problem written out, and its gap says so."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, Ridge

import mercer.reduced.oracle as oracle_module
import mercer.reduced.solve as solve_module
from cases import CLASSIFICATION, LOSSES
from mercer.data import as_source
from mercer.gram import Dense
from mercer.kernels import Gaussian, Kernel, Linear, ThinPlate
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Loss,
    Pinball,
    Squared,
    SquaredHinge,
)
from mercer.problems import RegularizedRisk
from mercer.reduced.base import Approximation
from mercer.reduced.nystrom import Nystrom
from mercer.reduced.passes import Passes, take_census
from mercer.reduced.problem import Values
from mercer.reduced.random_features import RandomFeatures
from mercer.reduced.solve import Reduced, Task, solve
from mercer.regularizers import Constant, Empty, NullSpace, Polynomial
from mercer.regularizers.null_space import complete
from mercer.solvers import ConvergenceWarning, InteriorPoint, Status, minimize
from oracles import conic

N, M = 90, 15
# A gap of 1e-7 of the objective whatever the loss: a thousandth or tenth of it is divided out.
SHARP = 1e-7

# Powers below two are infinitely curved at zero, and their conjugates are no parabolas.
POSSIBLE = [loss for loss in LOSSES if not (getattr(loss, "power", 2.0) < 2.0)]


def fit(
    X: Any,
    Y: Any,
    s: Any,
    loss: Loss,
    how: Approximation | None = None,
    kernel: Kernel | None = None,
    null_space: NullSpace | None = None,
    C: Any = 1.0,
    gap: float = SHARP,
    rows: int = 64,
    room: float = 2.0**30,
    **settings: Any,
) -> Reduced:
    """Solve a reduced problem with passes over blocks of a few rows."""
    kernel = kernel or Gaussian(1.0)
    k = 1 if np.ndim(Y) == 1 else np.shape(Y)[1]
    passes = Passes(as_source(X, Y, s), rows=rows, n_jobs=1, room=room)
    census = take_census(passes, 4000, 0, False)
    p = X.shape[1]
    task = Task(
        kernel=kernel,
        null_space=complete(null_space or Constant(), kernel.unpenalized(p), p),
        targets=Values(k),
        loss=loss,
        C=np.broadcast_to(np.asarray(C, dtype=float), (k,)).copy(),
        tol=gap / (1e-3 if loss.smooth else 0.1),
        **settings,
    )
    return solve(task, census, passes, how or Nystrom(M))


def sample(loss: Loss, seed: int = 0, n: int = N) -> tuple[Any, Any, Any]:
    """Draw points, targets and weights, three of which are zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    f = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(n)
    y = np.where(f > 0, 1.0, -1.0) if type(loss) in map(type, CLASSIFICATION) else f
    s = 10 ** rng.uniform(-1.0, 0.0, n)
    s[rng.integers(0, n, 3)] = 0.0
    return X, y, s


def values(found: Reduced, X: Any, null_space: NullSpace) -> Any:
    """Return the decision values of all problems at points, (n, k)."""
    return found.map.raw(X) @ found.A + null_space(X) @ found.b


def reference(found: Reduced, X: Any, y: Any, c: Any, loss: Loss, P: Any) -> conic.Reference:
    """Minimize the problem of one column with explicit features."""
    phi = found.map.features(found.map.raw(X))
    q = P.shape[1]
    return conic.solve(SimpleNamespace(loss=loss, y=y, c=c, B=P, q=q, d=np.zeros(q)), phi)


def objective(found: Reduced, X: Any, Y: Any, c: Any, loss: Loss, P: Any) -> Any:
    """Return the objective of each problem, written out."""
    phi = found.map.features(found.map.raw(X))
    # The coefficients of the features, from those of the functions.
    W = np.linalg.lstsq(phi, found.map.raw(X) @ found.A, rcond=None)[0]
    F = phi @ W + P @ found.b
    Y = np.reshape(Y, (len(F), -1))
    return 0.5 * np.sum(W * W, axis=0) + np.sum(c * loss.value(Y, F), axis=0)


def check(found: Reduced, least: float, gap: float = SHARP) -> None:
    """The objective is within the gap of the least value, which is known to 1e-8 of itself."""
    solution = found.solution
    assert solution.status is Status.CONVERGED
    excess = solution.objective - least
    slack = 1e-8 * abs(least) + 1e-12
    assert -slack <= excess <= solution.gap + slack
    assert solution.gap <= gap * abs(solution.objective)


@pytest.mark.parametrize("curvature", ["summed", "sampled"])
@pytest.mark.parametrize("loss", POSSIBLE, ids=repr)
def test_every_loss_against_a_conic_solver(
    loss: Loss, curvature: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if curvature == "sampled":
        monkeypatch.setattr(oracle_module, "MAX_DENSE_FEATURES", 4)
        monkeypatch.setattr(oracle_module, "CURVATURE_ROWS_PER_FEATURE", 3)
    X, y, s = sample(loss)
    found = fit(X, y, s, loss, C=3.0)
    P = np.ones((N, 1))
    known = reference(found, X, y, 3.0 * s, loss, P)
    check(found, known.objective)
    np.testing.assert_allclose(
        objective(found, X, y, 3.0 * s[:, None], loss, P), found.solution.objective, rtol=1e-9
    )


def test_powers_below_two_are_refused() -> None:
    refused = [loss for loss in LOSSES if loss not in POSSIBLE]
    assert refused
    for loss in refused:
        with pytest.raises(ValueError, match="write it as a ResidualLoss or a MarginLoss"):
            fit(*sample(loss), loss)


@pytest.mark.parametrize("null_space", [Empty(), Polynomial(1)], ids=repr)
@pytest.mark.parametrize("loss", [Squared(), Absolute(), Huber(0.5), Hinge(), Logistic()], ids=repr)
def test_null_spaces(loss: Loss, null_space: NullSpace) -> None:
    X, y, s = sample(loss, 1)
    found = fit(X, y, s, loss, null_space=null_space, C=2.0)
    check(found, reference(found, X, y, 2.0 * s, loss, null_space(X)).objective)


@pytest.mark.parametrize("loss", [Squared(), EpsilonInsensitive(0.1), Logistic()], ids=repr)
def test_thin_plates_leave_polynomials_free(loss: Loss) -> None:
    X, y, s = sample(loss, 2)
    kernel = ThinPlate()
    found = fit(X[:, :2], y, s, loss, kernel=kernel, null_space=Empty(), C=2.0)
    P = Polynomial(1)(X[:, :2])
    assert found.b.shape == (3, 1)
    check(found, reference(found, X[:, :2], y, 2.0 * s, loss, P).objective)
    # What the kernel takes is orthogonal to the polynomials at the centres.
    moments = Polynomial(1)(found.map.Z).T @ found.A
    assert np.abs(moments).max() <= 1e-12 * np.abs(found.A).max() * M * 10


@pytest.mark.parametrize("loss", [Squared(), Hinge(), Logistic()], ids=repr)
def test_sparse_rows_are_those_of_an_array(loss: Loss) -> None:
    X, y, s = sample(loss, 3)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense, sparse = (fit(rows, y, s, loss) for rows in (X, sp.csr_array(X)))
    check(sparse, reference(dense, X, y, s, loss, np.ones((N, 1))).objective)
    assert sp.issparse(sparse.map.Z)
    np.testing.assert_array_equal(sparse.map.Z.toarray(), dense.map.Z)


def test_random_features_against_a_conic_solver() -> None:
    for loss in (Squared(), Pinball(0.3), SquaredHinge()):
        X, y, s = sample(loss, 4)
        found = fit(X, y, s, loss, RandomFeatures(20))
        check(found, reference(found, X, y, s, loss, np.ones((N, 1))).objective)


@pytest.mark.parametrize(
    "loss",
    [
        Squared(),
        EpsilonInsensitive(np.array([[0.0, 0.1, 0.5]])),
        Huber(np.array([[0.2, 1.0, 9.0]])),
    ],
    ids=["squared", "tubes", "huber"],
)
@pytest.mark.parametrize("curvature", ["summed", "sampled"])
def test_several_problems_are_as_one_each(
    loss: Loss, curvature: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if curvature == "sampled":
        monkeypatch.setattr(oracle_module, "MAX_DENSE_FEATURES", 4)
        monkeypatch.setattr(oracle_module, "CURVATURE_ROWS_PER_FEATURE", 3)
    X, _, s = sample(Squared(), 5)
    Y = np.stack([np.sin(X[:, 0]), X[:, 1] ** 2, 7.0 * X[:, 2] * X[:, 0]], axis=1)
    C = np.array([0.1, 1.0, 10.0])
    gap = SHARP if loss.smooth else 1e-5
    found = fit(X, Y, s, loss, C=C, gap=gap)
    least = 0.0
    for j in range(3):
        params = {
            name: float(np.ravel(value)[j]) if np.ndim(value) else value
            for name, value in loss.get_params(deep=False).items()
        }
        one = type(loss)(**params)
        known = reference(found, X, Y[:, j], C[j] * s, one, np.ones((N, 1)))
        least += known.objective
    # Every problem has its gap within the tolerance, so that their sum has.
    check(found, least, gap)


def test_parameters_of_rows() -> None:
    X, y, s = sample(Squared(), 6)
    epsilon = np.random.default_rng(0).uniform(0.0, 0.5, N)
    found = fit(X, y, s, EpsilonInsensitive(epsilon))
    check(found, reference(found, X, y, s, EpsilonInsensitive(epsilon), np.ones((N, 1))).objective)


def test_ridge_and_logistic_regression_of_scikit_learn() -> None:
    X, y, s = sample(Squared(), 7)
    found = fit(X, y, s, Squared(), C=2.0, gap=1e-12)
    phi = found.map.features(found.map.raw(X))
    ridge = Ridge(alpha=0.5, solver="svd").fit(phi, y, s)
    # The excess of the objective is half the squared error of f, in a metric of at least one.
    scale = np.sqrt(2 * 1e-12 * found.solution.objective)
    np.testing.assert_allclose(
        values(found, X, Constant())[:, 0], ridge.predict(phi), rtol=0, atol=10 * scale
    )
    X, y, s = sample(Logistic(), 7)
    found = fit(X, y, s, Logistic(), C=2.0, gap=1e-12)
    phi = found.map.features(found.map.raw(X))
    logistic = LogisticRegression(C=2.0, solver="newton-cholesky", tol=1e-10).fit(phi, y, s)
    np.testing.assert_allclose(
        values(found, X, Constant())[:, 0], logistic.decision_function(phi), rtol=0, atol=1e-4
    )


@pytest.mark.parametrize(
    "loss", [Squared(), Logistic(), Hinge(), Pinball(0.7), SquaredHinge()], ids=repr
)
def test_centres_everywhere_give_the_exact_machine(loss: Loss) -> None:
    X, y, s = sample(loss, 8)
    found = fit(X, y, s, loss, Nystrom(N), C=1.0)
    K = Dense(Gaussian(1.0)(X))
    exact = minimize(RegularizedRisk(loss, K, y, s, np.ones((N, 1))), InteriorPoint(tol=1e-10))
    check(found, exact.objective)
    # Nothing is lost: every row is a centre.
    assert found.solution.approximation_cost <= 1e-9 * exact.objective


@pytest.mark.parametrize("m", [5, 15, 40])
@pytest.mark.parametrize("loss", [Squared(), Hinge(), Absolute(), Logistic()], ids=repr)
def test_excess_over_the_exact_machine_is_bounded(loss: Loss, m: int) -> None:
    X, y, s = sample(loss, 9)
    found = fit(X, y, s, loss, Nystrom(m), C=1.0)
    K = Dense(Gaussian(1.0)(X))
    exact = minimize(RegularizedRisk(loss, K, y, s, np.ones((N, 1))), InteriorPoint(tol=1e-10))
    excess = found.solution.objective - exact.objective
    bound = found.solution.gap + found.solution.approximation_cost
    assert found.solution.approximation_error == 0.0  # every row was looked at
    assert -1e-8 * exact.objective <= excess <= bound * (1 + 1e-9) + 1e-8 * exact.objective
    # And not by a bound that says nothing.
    assert bound <= 30 * excess + 1e-6 * exact.objective


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Hinge(), Absolute()], ids=repr)
@pytest.mark.parametrize(
    "case",
    ["constant targets", "equal rows", "constant feature", "huge C", "tiny C", "few rows"],
)
def test_odd_problems_end_well(loss: Loss, case: str) -> None:
    X, y, s = sample(loss, 10)
    C, n = 1.0, N
    if case == "constant targets":
        y = np.ones(n)
    elif case == "equal rows":
        X[30:60] = X[:30]
    elif case == "constant feature":
        X[:, 1] = 3.0
    elif case == "huge C":
        C = 1e5
    elif case == "tiny C":
        C = 1e-6
    else:
        X, y, s, n = X[:3], y[:3], np.ones(3), 3
    gap = 1e-5
    if case == "constant targets":
        # The least value is zero or nearly so, and no gap is small beside it.
        found = fit(X, y, s, loss, C=C, gap=gap, max_iter=60)
        assert found.solution.objective <= 1e-6 * C * n
        assert found.solution.passes <= 70
        return
    found = fit(X, y, s, loss, C=C, gap=gap, max_iter=100)
    known = reference(found, X, y, C * s, loss, np.ones((n, 1)))
    assert found.solution.status is Status.CONVERGED
    excess = found.solution.objective - known.objective
    assert -1e-6 * known.objective <= excess <= 1.5 * gap * abs(known.objective) + 1e-9
    assert found.solution.passes <= 100


def test_an_offset_that_features_do_not_see() -> None:
    """A point that satisfies the penalized equations alone is not taken for a minimum."""
    X = np.array([[-1.0], [1.0], [-2.0], [2.0]])
    y = np.full(4, 3.0)
    for loss in (Squared(), Huber(0.5), Absolute()):
        found = fit(X, y, None, loss, kernel=Linear(), how=Nystrom(2), max_iter=60)
        np.testing.assert_allclose(values(found, X, Constant())[:, 0], 3.0, atol=1e-4)


def test_single_precision_inside_steps_does_not_limit_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(oracle_module, "MAX_DENSE_FEATURES", 4)
    for loss in (Squared(), Logistic(), SquaredHinge()):
        X, y, s = sample(loss, 11, 400)
        found = fit(X, y, s, loss, Nystrom(40), C=100.0, gap=1e-11)
        assert found.solution.status is Status.CONVERGED
        # float32 alone would leave a gap of its precision, 6e-8, times what coefficients of size
        # C make of it.
        assert found.solution.gap <= 1e-11 * found.solution.objective


@pytest.mark.parametrize("how", [Nystrom(M), Nystrom("auto")], ids=["m", "auto"])
@pytest.mark.parametrize("columns", [1, 2])
def test_an_interrupt_ends_the_fit(
    how: Nystrom, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control comes back at once: with a machine if one was found for every problem."""
    X, y, s = sample(Logistic(), 12)
    Y = y if columns == 1 else np.column_stack([y, -y])
    # No memory for the curvature of two problems, so that they are solved one after the other.
    monkeypatch.setattr(solve_module, "FACTOR_MEMORY_SHARE", 0.0)
    whole, stopped = Passes.__call__, False

    def interrupted(self: Passes, *args: Any, **more: Any) -> Any:
        nonlocal stopped
        assert not stopped, "a pass after the interrupt"
        if self.count == 3:
            stopped = True
            raise KeyboardInterrupt
        return whole(self, *args, **more)

    monkeypatch.setattr(Passes, "__call__", interrupted)
    if columns == 2 or how.m == "auto":
        with pytest.raises(KeyboardInterrupt):
            fit(X, Y, s, Logistic(), how)
        return
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        found = fit(X, Y, s, Logistic(), how)
    monkeypatch.undo()
    assert found.solution.status is Status.INTERRUPTED
    # The certificate is that of the coefficients.
    known = objective(found, X, y, s[:, None], Logistic(), np.ones((N, 1)))
    np.testing.assert_allclose(known, found.solution.objective, rtol=1e-9)
    least = reference(found, X, y, s, Logistic(), np.ones((N, 1))).objective
    assert found.solution.objective - least <= found.solution.gap
