"""Sums over blocks are those of all rows written out, and the gap is one of primal and dual."""

from collections.abc import Callable

import numpy as np
import pytest

from mercer.data import as_source, draw
from mercer.data.base import Block
from mercer.kernels import Gaussian
from mercer.losses import (
    Expectile,
    Huber,
    Logistic,
    Loss,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from mercer.reduced.nystrom import NystromMap
from mercer.reduced.oracle import Oracle, evaluate
from mercer.reduced.passes import Passes
from mercer.reduced.problem import Problem, Values
from mercer.regularizers.null_space import Constant

Array = np.ndarray
# More rows than are summed at once.
N, M, K = 2500, 12, 2
EPS = np.finfo(float).eps

LOSSES: dict[str, Callable[[], Loss]] = {
    "squared": Squared,
    "logistic": Logistic,
    "hinge": SquaredHinge,
    "straight arms": Huber,
    "tube for each problem": lambda: SquaredEpsilonInsensitive(np.array([[0.1, 0.4]])),
    "level for each row": lambda: Expectile(np.linspace(0.1, 0.9, N)),
}


def at_rows(loss: Loss) -> Loss:
    """Return the loss with parameters of rows as columns."""
    params = loss.get_params(deep=False)
    return type(loss)(
        **{k: np.reshape(v, (-1, 1)) if np.ndim(v) == 1 else v for k, v in params.items()}
    )


@pytest.fixture
def sample() -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    Y = np.where(X[:, :K] + 0.3 * rng.normal(size=(N, K)) > 0, 1.0, -1.0)
    return X, Y, rng.uniform(0.5, 2.0, N)


def problem(X: Array, loss: Loss) -> Problem:
    phi = NystromMap(Gaussian(1.5), X[:M])
    return Problem(phi, Constant(), Values(K), loss, np.array([0.5, 2.0]), 3)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("points", [1, 3])
def test_sums_written_out(name: str, points: int, sample: tuple[Array, Array, Array]) -> None:
    X, Y, s = sample
    asked = problem(X, LOSSES[name]())
    loss = at_rows(asked.loss)
    rng = np.random.default_rng(1)
    A, b = rng.normal(size=(M, points * K)), rng.normal(size=(1, points * K))
    sums = evaluate(Block(X, Y, s, 0), asked, {"A": A, "b": b, "dense": points == 1})

    R, c = asked.map.raw(X), s[:, None] * asked.C
    expected: dict[str, list[Array]] = {key: [] for key in ("raw", "free", "loss")}
    for p in range(points):
        columns = slice(p * K, (p + 1) * K)
        f = R @ A[:, columns] + b[:, columns]
        v = loss.gradient(Y, f)
        expected["raw"].append(R.T @ (c * v))
        expected["free"].append(np.sum(c * v, axis=0, keepdims=True))
        expected["loss"].append(np.sum(c * loss.value(Y, f), axis=0))
    for key, parts in expected.items():
        # Sums of N terms in another order, of numbers of about 10.
        exact = np.concatenate(parts, axis=-1)
        np.testing.assert_allclose(sums[key], exact, rtol=1e-11, atol=N * 100 * EPS)
    if points == 1:
        D = np.broadcast_to(loss.curvature(Y, f), f.shape)
        U = np.hstack([asked.map.features(R), np.ones((N, 1))])
        for j, H in enumerate(sums["H"]):
            quadratic = asked.loss.quadratic
            w = s if quadratic else c[:, j] * np.where(D[:, j] > 0, D[:, j] + 1e-8, 0.0)
            np.testing.assert_allclose(H, (U.T * w) @ U, rtol=1e-9, atol=1e-9 * np.abs(H).max())


@pytest.mark.parametrize("name", [name for name in LOSSES if name != "squared"])
def test_slopes_that_were_changed_are_beside_the_losses(
    name: str, sample: tuple[Array, Array, Array]
) -> None:
    """What losses and conjugates exceed the products by, of slopes changed by their curvature."""
    X, Y, s = sample
    asked = problem(X, LOSSES[name]())
    loss = at_rows(asked.loss)
    rng = np.random.default_rng(1)
    A, b, tilt = rng.normal(size=(M, K)), rng.normal(size=(1, K)), np.array([[0.05, -0.02]])
    state = {"A": A, "b": b, "dense": False, "tilt": tilt}
    sums = evaluate(Block(X, Y, s, 0), asked, state)
    f = asked.map.raw(X) @ A + b
    low, high = loss.slopes(Y)
    v = np.clip(loss.gradient(Y, f) - loss.curvature(Y, f) * tilt, low, high)
    excess = loss.value(Y, f) + loss.conjugate(Y, v) - v * f
    assert excess.min() >= -1e-12  # Fenchel and Young
    exact = np.sum(s[:, None] * asked.C * np.maximum(excess, 0.0), axis=0)
    np.testing.assert_allclose(sums["young"], exact, rtol=1e-11, atol=N * 100 * EPS)
    assert np.all(exact > 0)


def test_parts_of_the_rows_add_up(sample: tuple[Array, Array, Array]) -> None:
    X, Y, s = sample
    asked = problem(X, SquaredHinge())
    rng = np.random.default_rng(1)
    given = {"A": rng.normal(size=(M, K)), "b": rng.normal(size=(1, K)), "dense": True}
    whole = evaluate(Block(X, Y, s, 0), asked, given)
    halves = [
        evaluate(Block(X[part], Y[part], s[part], part.start), asked, given)
        for part in (slice(0, 999), slice(999, N))
    ]
    both = halves[0] + halves[1]
    for key, value in whole.items():
        np.testing.assert_allclose(both[key], value, rtol=1e-10, atol=N * 100 * EPS)


@pytest.mark.parametrize("name", LOSSES)
def test_products_with_the_curvature_are_differences_of_slopes(
    name: str, sample: tuple[Array, Array, Array]
) -> None:
    X, Y, s = sample
    asked = problem(X, LOSSES[name]())
    passes = Passes(as_source(X, Y, s), n_jobs=1)
    oracle = Oracle(asked, passes, draw(as_source(X, Y, s), N, 0))
    rng = np.random.default_rng(2)
    r = asked.map.r
    W, b = rng.normal(size=(r, K)), rng.normal(size=(1, K))
    V, vb = rng.normal(size=(r, K)), rng.normal(size=(1, K))
    columns = np.arange(K)
    Hw, Hb = oracle.product(W, b, V, vb, columns, single=False)
    t = 1e-5
    up, down = (oracle.evaluate(W + d * V, b + d * vb) for d in (t, -t))
    slope_w, slope_b = (up.gw - down.gw) / (2 * t), (up.gb - down.gb) / (2 * t)
    # Slopes of N rows of weight 4 are known to 1e-16 of their sizes, over t; 1e-8 of the weights
    # counts as curvature. Of the rows 3 N t cross a border between pieces of a loss, where the
    # curvature jumps by one or two and the values change by 3 or so.
    bound = 1e-3 if name in ("squared", "logistic") else 2.0
    np.testing.assert_allclose(Hw, slope_w, rtol=0, atol=bound)
    np.testing.assert_allclose(Hb, slope_b, rtol=0, atol=bound)
    single = oracle.product(W, b, V, vb, columns, single=True)
    # float32 values are off by 1e-6 of at most M numbers, lowered by features of length one.
    assert np.abs(single[1] - Hb).max() <= 1e-5 * np.abs(Hb).max() + N * 1e-5


@pytest.mark.parametrize("width", [0.5, 12.0])
@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=repr)
def test_curvature_of_raw_functions_where_features_can_be_made_of_it(
    width: float, loss: Loss, sample: tuple[Array, Array, Array]
) -> None:
    X, Y, s = sample
    phi = NystromMap(Gaussian(width), X[:M])
    given = Problem(phi, Constant(), Values(K), loss, np.array([0.5, 2.0]), 3)
    source = as_source(X, Y, s)
    oracle = Oracle(given, Passes(source, n_jobs=1), draw(source, N, 0))
    # The smallest eigenvalue of the kernel matrix tells how large coefficients are.
    steep = 1.0 / np.sqrt(np.linalg.eigvalsh(Gaussian(width)(X[:M]))[0])
    assert phi.steepness == pytest.approx(steep, rel=0.2)
    assert oracle.problem.direct == (width == 0.5)
    rng = np.random.default_rng(1)
    W, b = rng.normal(size=(phi.r, K)), rng.normal(size=(1, K))
    U = np.hstack([phi.features(phi.raw(X)), np.ones((N, 1))])
    D = np.broadcast_to(loss.curvature(Y, U @ np.vstack([W, b])), Y.shape)
    for dense in (True, False):
        oracle.dense = dense
        curved = oracle.evaluate(W, b).H
        assert curved is not None
        assert curved.exact.all()
        for j, H in enumerate(curved.H):
            w = s if loss.quadratic else s * given.C[j] * (D[:, j] + 1e-8)
            # To a thousandth of the penalty's, beside the rounding of the features themselves.
            bound = 1e-3 + 1e-10 * N
            np.testing.assert_allclose(H, (U.T * w) @ U, rtol=0, atol=bound)
