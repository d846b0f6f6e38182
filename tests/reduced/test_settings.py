"""Settings that share passes are the machines they would be alone."""

import pickle

import numpy as np
import pytest
from sklearn.utils.multiclass import _ovr_decision_function

from mercer.data import as_source, draw
from mercer.data.base import Block, Sums
from mercer.kernels import Gaussian
from mercer.losses import Absolute, EpsilonInsensitive, Hinge, Huber, Pinball, Squared
from mercer.reduced import Nystrom
from mercer.reduced.grid import examine_settings
from mercer.reduced.nystrom import NystromMap
from mercer.reduced.passes import Passes
from mercer.reduced.problem import Problem
from mercer.reduced.settings import Errors, FoldTargets, Mistakes, Split, Tiled, joined
from mercer.reduced.solve import Task, minimize_reduced
from mercer.reduced.targets import Codes, Values
from mercer.reduced.together import together
from mercer.regularizers.null_space import Constant

N = 200


def sample(d=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (N, 2))
    Y = np.sin(3 * X[:, :1]) * np.arange(1, d + 1) + 0.2 * rng.standard_normal((N, d))
    return X, Y, rng.choice([0.0, 0.5, 1.0, 2.0], N)


# Running side by side ----------------------------------------------------------------------------


def power(block, shared, state):
    return Sums(sum=np.sum(block.X**shared) + state)


def rows(block, shared, state):
    return np.array([block.n])


def test_runs_share_passes_and_end_one_after_the_other():
    X, *_ = sample()
    passes = Passes(as_source(X), rows=30)
    blocks = 7

    def run(times):
        def steps(own):
            total = [float(own("power", power, times, j)["sum"]) for j in range(times)]
            return [*total, int(own("count", rows)[0])]

        return steps

    results = together(passes, [run(times) for times in (1, 4, 2)])
    assert passes.count == 5
    for times, result in zip((1, 4, 2), results, strict=True):
        expected = [np.sum(X**times) + blocks * j for j in range(times)]
        np.testing.assert_allclose(result, [*expected, N], rtol=1e-12)


def test_what_is_shared_is_the_same_object_while_the_same_runs_ask():
    seen = []

    class Watched(Passes):
        def __call__(self, name, work, shared=None, state=None):
            seen.append(shared)
            return super().__call__(name, work, shared, state)

    passes = Watched(as_source(np.ones((3, 1))))
    together(passes, [lambda own: [own("p", power, 2, j) for j in range(3)]] * 2)
    assert seen[0] is seen[1] is seen[2]


def test_an_error_of_one_run_ends_all():
    passes = Passes(as_source(np.ones((3, 1))))

    def bad(own):
        own("power", power, 1, 0)
        raise ArithmeticError("no")

    def good(own):
        return [own("power", power, 1, 0) for _ in range(100)]

    with pytest.raises(ArithmeticError, match="no"):
        together(passes, [good, bad])
    assert passes.count <= 2


def test_an_error_of_a_pass_reaches_the_caller():
    def broken(block, shared, state):
        raise ValueError("row 2 is not finite")

    passes = Passes(as_source(np.ones((3, 1))))
    with pytest.raises(ValueError, match="row 2"):
        together(passes, [lambda own: own("broken", broken)] * 2)


def test_passes_of_several_are_kept_in_a_directory(tmp_path):
    X, *_ = sample()

    def run(own):
        return [float(own("power", power, 2, j)["sum"]) for j in range(3)]

    first = Passes(as_source(X), directory=tmp_path)
    again = Passes(as_source(X), directory=tmp_path)
    assert together(first, [run, run]) == together(again, [run, run])
    assert (first.read, again.read) == (3, 0)


# Columns -----------------------------------------------------------------------------------------


def test_split_depends_on_rows_only():
    X, *_ = sample()
    order = np.random.default_rng(0).permutation(N)
    for split in (Split(share=0.3, seed=5), Split(folds=4, seed=5)):
        fold = split(X)
        np.testing.assert_array_equal(split(X[order]), fold[order])
        assert set(fold) == (set(range(4)) if split.folds > 1 else {-1, 0})
    # A binomial share: five standard deviations.
    assert abs(np.mean(Split(share=0.3)(X) == 0) - 0.3) < 5 * np.sqrt(0.21 / N)


def test_columns_of_folds():
    X, Y, s = sample(2)
    block = Block(X, Y, s)
    split = Split(folds=3)
    targets = FoldTargets(Tiled(Values(2), 2), split)
    values, weights = targets(block)
    assert targets.k == values.shape[1] == weights.shape[1] == 12
    np.testing.assert_array_equal(values, np.tile(Y, 6))
    for f in range(3):
        inside = s * (split(X) != f)
        np.testing.assert_array_equal(
            weights[:, 4 * f : 4 * f + 4], np.repeat(inside[:, None], 4, axis=1)
        )
    _, one = FoldTargets(Values(2), Split(share=0.3))(block)
    np.testing.assert_array_equal(one[:, 0], s * (Split(share=0.3)(X) < 0))


def test_losses_are_joined_by_what_differs():
    assert joined([Huber(0.5), Huber(0.5)], 3) == Huber(0.5)
    both = joined([EpsilonInsensitive(0.1), EpsilonInsensitive(0.2)], 1)
    y, f = np.zeros((1, 2)), np.ones((1, 2))
    np.testing.assert_allclose(both.value(y, f), [[0.9, 0.8]])
    with pytest.raises(ValueError, match="different kinds"):
        joined([Squared(), Absolute()], 1)
    with pytest.raises(ValueError, match="one number"):
        joined([Pinball(np.full(3, 0.5)), Pinball(0.4)], 1)


def test_decisions_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    F = rng.standard_normal((500, 6))
    book = np.zeros((4, 6))
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    for k, (i, j) in enumerate(pairs):
        book[i, k], book[j, k] = 1.0, -1.0
    codes = Codes(np.arange(4), book, np.ones(4))
    # Their pairs are positive for the second class.
    expected = np.argmax(_ovr_decision_function(F < 0, -F, 4), axis=1)
    np.testing.assert_array_equal(Mistakes(codes, sure=True).decide(F), expected)
    votes = np.array([[np.sum(f * book[c] > 0) for c in range(4)] for f in F])
    np.testing.assert_array_equal(Mistakes(codes).decide(F), np.argmax(votes, axis=1))
    rest = Mistakes(Codes(np.arange(6), 2.0 * np.eye(6) - 1.0, np.ones(6)))
    np.testing.assert_array_equal(rest.decide(F), np.argmax(F, axis=1))


# Fitted settings ---------------------------------------------------------------------------------


def study(losses, Cs, split, *, d=1, scorer=None, tol=1e-4, memory="1GB", targets=None, y=None):
    X, Y, s = sample(d)
    Y = Y if y is None else y(Y)
    phi = NystromMap(Gaussian(0.8), X[:15])
    source = as_source(X, Y, s)
    passes = Passes(source, rows=N, n_jobs=1)
    targets = Values(d) if targets is None else targets
    task = Task(Gaussian(0.8), Constant(), targets, losses[0], np.ones(targets.k), tol=tol)
    pool = draw(source, N)
    scorer = Errors() if scorer is None else scorer
    weights = np.repeat(np.asarray(Cs, dtype=float)[:, None], targets.k, axis=1)
    how = Nystrom(15, memory_limit=memory)
    found = examine_settings(task, losses, weights, phi, passes, pool, split, scorer, how)
    return found, passes, (X, Y, s, phi, task, pool)


def alone(loss, C, inside, X, Y, s, phi, task, pool):
    """Fit one setting to some of the rows."""
    source = as_source(X[inside], Y[inside], s[inside])
    passes = Passes(source, rows=N, n_jobs=1)
    problem = Problem(phi, Constant(), task.targets, loss, np.full(task.targets.k, C), X.shape[1])
    _, found = minimize_reduced(task, problem, passes, draw(source, N))
    return found, passes.count


@pytest.mark.parametrize(
    ("losses", "split", "memory"),
    [
        (EpsilonInsensitive, Split(share=0.3), "1GB"),
        (Pinball, Split(folds=2), "1GB"),
        (Huber, Split(folds=3), "1GB"),
        (Huber, Split(folds=3), "20KB"),
        (Huber, Split(share=0.3), "1GB"),
        (Squared, Split(share=0.3), "1GB"),
        (Squared, Split(folds=3), "1GB"),
        (Squared, Split(folds=3), "20KB"),
    ],
)
def test_settings_are_what_they_are_alone(losses, split, memory):
    Cs, d = [3.0, 0.3, 3.0], 2
    losses = [losses()] * 3 if losses is Squared else [losses(0.5), losses(0.2), losses(0.2)]
    if not losses[0].smooth:
        losses, Cs, d = losses[:2], Cs[:2], 1
    found, passes, rest = study(losses, Cs, split, d=d, memory=memory)
    X, Y, s, phi = rest[:4]
    fold, count, folds = split(X), 0, split.folds
    for f in range(folds):
        for j, (loss, C) in enumerate(zip(losses, Cs, strict=True)):
            one, made = alone(loss, C, fold != f, *rest)
            count += made
            # Values are strongly convex in w, |w - w*|^2 <= 2 gap, and gaps were to be so small.
            gap = 1e-4 * (1e-3 if loss.smooth else 0.1) * one.value.primal
            close = 2 * np.sqrt(2 * gap)
            assert np.all(np.linalg.norm(found.W[:, f, j] - one.W, axis=0) < close)
            out = fold == f
            F = phi.features(phi.raw(X[out])) @ found.W[:, f, j] + found.b[:, f, j]
            error = np.sum(s[out, None] * 0.5 * (Y[out] - F) ** 2) / s[out].sum()
            np.testing.assert_allclose(found.scores.error[f, j], error, rtol=1e-10)
    weights = [s[fold == f].sum() for f in range(folds)]
    np.testing.assert_allclose(found.scores.weight, weights)
    mean = weights @ found.scores.error / np.sum(weights)
    np.testing.assert_allclose(found.scores.mean, mean)
    if losses[0].quadratic and memory == "1GB":
        assert passes.count == 2
    elif memory == "1GB":
        # Kinks of different settings are rounded at different passes.
        assert passes.count < (2 * count / (folds * len(losses)) if losses[0].smooth else count)


def test_mistakes_of_classes():
    book = 2.0 * np.eye(3) - 1.0
    codes = Codes(np.array(["a", "b", "c"]), book, np.array([1.0, 2.0, 0.5]))

    def labels(Y):
        return np.array(["a", "b", "c"])[np.digitize(Y[:, 0], [-0.4, 0.4])]

    found, _, (X, y, s, phi, *_) = study(
        [Hinge(), Hinge()],
        [0.1, 10.0],
        Split(share=0.4),
        targets=codes,
        y=labels,
        scorer=Mistakes(codes),
    )
    out = Split(share=0.4)(X) == 0
    for j in range(2):
        F = phi.features(phi.raw(X[out])) @ found.W[:, 0, j] + found.b[:, 0, j]
        wrong = codes.classes[np.argmax(F, axis=1)] != y[out]
        np.testing.assert_allclose(found.scores.error[0, j], s[out] @ wrong / s[out].sum())


def test_outputs_that_were_turned_are_judged_as_they_are():
    X, Y, _ = sample(2)
    turn = np.linalg.qr(np.array([[1.0, 2.0], [3.0, 1.0]]))[0]
    block = Block(X, Y)
    targets = Values(2, turn)
    F = np.random.default_rng(0).standard_normal((N, 4, 2))
    costs = Errors(Absolute(), turn.T)(block, targets(block)[0], F @ turn)
    np.testing.assert_allclose(costs, np.abs(Y[:, None] - F).sum(axis=2))


def test_nothing_left_out_is_refused():
    with pytest.raises(ValueError, match="left out"):
        study([Squared()], [1.0], Split(share=1e-9))


def test_what_travels_can_be_pickled():
    X, Y, s = sample()
    for piece in (
        Errors(),
        FoldTargets(Tiled(Values(), 2), Split(folds=3)),
        Mistakes(Codes(np.arange(2), np.array([[-1.0], [1.0]]), np.ones(2))),
    ):
        assert pickle.loads(pickle.dumps(piece)) is not None
    assert np.array_equal(
        pickle.loads(pickle.dumps(FoldTargets(Values(), Split(folds=3))))(Block(X, Y, s))[1],
        FoldTargets(Values(), Split(folds=3))(Block(X, Y, s))[1],
    )
