r"""Hyperparameters of local machines, from parts of the sample that are as dense as their leaves.

Rows drawn at random from a large sample lie further apart than the rows of a leaf, so what they
say of length scales holds for a function seen from afar. Here some parts of neighbouring rows are
tuned one by one. Leave-one-out errors of all parts then decide between what each of them found and
the medians. A second round divides the sample again, in the metric that was found.

What parts of a leaf say about length scales holds for parts: of categories with many values, and of
features that few rows tell of, a leaf knows more. So the last word have parts as large as leaves.
The sum of the logarithms of their exact leave-one-out errors decides, by pattern search: C, all
length scales, and those of categories are doubled or halved for as long as that helps, then every
length scale by itself. A step needs one Cholesky factorization a part and no gradient, and only
that of the first part unless it gains half of its share there.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import indexable

from mercer._sklearn import safe_indexing
from mercer._threads import map_blocks
from mercer._typing import Array, PointsLike, Seed, TargetsLike, WeightsLike
from mercer.kernels.base import Kernel
from mercer.kernels.points import take
from mercer.local import Local
from mercer.local.tree import equality_columns, grow, sensitivity
from mercer.machines.base import KernelMachine
from mercer.machines.leaf_settings import left_out
from mercer.selection.least_squares_problem import (
    Statement,
    is_least_squares,
    prepare_statement,
    state,
)
from mercer.selection.objective import Pace, Trial
from mercer.selection.space import Space, features_of
from mercer.smoothing import Spectral
from mercer.smoothing.criteria import Criterion

__all__ = ["is_local", "polish", "tune_in_parts"]


# Trials in all: those of some thirty length scales.
TRIALS = 80
# Logarithm of a likelihood by which a trial must be better.
BETTER = 1.0


def polish(
    space: Space,
    C: float,
    parts: Sequence[Statement],
    until: float = np.inf,
    again: set[int] | None = None,
) -> tuple[Kernel, float, set[int]]:
    """Return a kernel and a weight whose left-out errors in all parts are smaller, and what moved.

    Parameters
    ----------
    space : Space
        Around the kernel to begin with.
    C : float
        The weight of the squared loss to begin with.
    parts : sequence of Statement
    until : float
        Time by ``time.perf_counter`` at which no further trial is begun.
    again : set of int, optional
        Length scales that are tried one by one, all by default; others move together only.
    """
    theta, trials, moved = space.start(C), 1, set[int]()

    def score(at: Array, most: float) -> list[float]:
        kernel, weight = space.at(at)

        def one(part: Statement) -> float:
            K = np.asarray(kernel.symmetric(part.X), dtype=np.float64)
            return left_out(K, part.B, part.weights, weight, part.Y)

        first = one(parts[0])
        # Most steps are worse in every part: the first one is asked before the others.
        return [first, *map_blocks(one, parts[1:])] if first <= most else [np.inf]

    best = score(theta, np.inf)
    share = 0.5 * BETTER / len(parts)
    for move in moves(space, int(parts[0].X.shape[1])):
        alone = len(move) == 1 and int(move[0]) < len(theta) - 1
        if alone and again is not None and int(move[0]) not in again:
            continue
        for step in (np.log(2.0), -np.log(2.0)):
            found = False
            while trials < TRIALS and time.perf_counter() < until:
                trial = theta.copy()
                trial[move] += step
                values, trials = score(trial, best[0] - share), trials + 1
                if not sum(values) < sum(best) - BETTER:
                    break
                theta, best, found = trial, values, True
            if found:
                moved.update(map(int, move))
                break
    return (*space.at(theta), moved)


def moves(space: Space, p: int) -> list[NDArray[np.intp]]:
    """Return what is moved together: C, length scales of categories, all of them, and each.

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> kernel = Laplacian([1.0, 2.0, 3.0], categories=(1, 2))
    >>> [list(map(int, move)) for move in moves(Space.of(kernel, 3, ard=True), 3)]
    [[3], [1, 2], [0, 1, 2], [0], [1], [2]]
    """
    categories = equality_columns(space.kernel, p)
    widths: list[int] = []
    of_categories: list[int] = []
    size = len(space.start(1.0)) - 1
    for name, part, tied in space.parts():
        if name not in space.widths:
            continue
        entries = list(range(part.start, part.stop))
        widths += entries
        seen = features_of(space.kernel, name, p)
        if len(tied) == len(seen):
            alike = np.isin(seen, categories)
            of_categories += [entry for j, entry in enumerate(entries) if np.all(alike[tied == j])]
    groups = [[size], of_categories, widths, *([entry] for entry in range(size))]
    distinct = [group for i, group in enumerate(groups) if group and group not in groups[:i]]
    return [np.asarray(group, dtype=np.intp) for group in distinct]


# Parts in a round, their rows, and rounds: about a second each for ten features.
PARTS, ROWS, ROUNDS = 6, 1000, 2
# Parts that scales are polished by, and their rows at most: a third of a second for each trial.
LAST, WHOLE = 4, 1500
# Points that a tree is grown from, where there are more.
POINTS = 100_000
# Share of the variance of the targets that a part must have to tell much.
TELLING = 0.25
# Rows of a part by which parameters are compared, and weights C that are tried, in units of the
# inverse variance of the function.
JUDGED, WEIGHTS = 600, 10.0 ** np.arange(-2, 8)


def is_local(estimator: KernelMachine) -> bool:
    """Return whether a machine is divided into local ones."""
    how = getattr(estimator, "approximation", None)
    return isinstance(how, Local) or (isinstance(how, str) and how == "local")


@dataclass(frozen=True)
class Wishes:
    """What is asked of a search: arguments of :func:`~mercer.selection.tune`."""

    criterion: Criterion | str
    parameters: Sequence[str] | None
    ard: Any
    fixed: Sequence[str]
    refine: bool
    budget: int
    max_time: float | None
    max_rows: int
    starts: int
    prior: float
    refit: bool
    random_state: Seed
    callback: Callable[[Trial], object]


def tune_in_parts(
    search: Callable[..., Any],
    estimator: KernelMachine,
    X: PointsLike,
    y: TargetsLike,
    sample_weight: WeightsLike,
    wishes: Wishes,
) -> Any:
    """Return the tuning of a local machine.

    Parameters
    ----------
    search : callable
        Tunes a machine to a sample, ``search(machine, X, y, sample_weight, wishes)``.
    estimator : KernelMachine
        With ``approximation=Local(...)``.
    X, y, sample_weight :
        As in :func:`mercer.selection.tune`.
    wishes : Wishes
    """
    max_time, seed = wishes.max_time, wishes.random_state
    pace = Pace(max_time)
    asked = estimator.approximation
    how = asked if isinstance(asked, Local) else Local()
    whole = state(estimator, X, y, sample_weight)
    X, y = indexable(X, y)
    given = {} if sample_weight is None else {"sample_weight": sample_weight}
    rows = min(wishes.max_rows, ROWS, int(how.leaf_size))
    machine = clone(estimator).set_params(approximation=None, kernel=whole.kernel)
    if "standardize" in machine.get_params(deep=False):
        machine.set_params(standardize=False)
    found: list[Any] = []
    trials: list[Any] = []
    parameters: dict[str, Any] = {}
    for _ in range(ROUNDS):
        found, parts = [], _parts(whole, machine.kernel, rows, np.random.default_rng(seed))
        for part in parts:
            if found and pace.late:
                break
            left = None if max_time is None else max_time - pace.elapsed
            index = whole.rows[part]
            weights = None if sample_weight is None else np.asarray(sample_weight)[index]
            sample = safe_indexing(X, index), safe_indexing(y, index), weights
            found.append(search(machine, *sample, replace(wishes, max_time=left, refit=False)))
            trials += found[-1].trials_
            if found[-1].status_ == "stopped":
                break
        parameters = _best([one.best_params_ for one in found], [whole.of(part) for part in parts])
        machine.set_params(**parameters)
        if found[-1].status_ == "stopped":
            break
    until = np.inf if max_time is None else pace.began + max_time
    large = min(WHOLE, int(how.leaf_size))
    if rows < large and found[-1].status_ != "stopped":
        moved: set[int] | None = None
        for _ in range(ROUNDS):
            if pace.late:
                break
            parts = _parts(whole, machine.kernel, large, np.random.default_rng(seed))
            last = [whole.of(part) for part in parts[:LAST]]
            squared = is_least_squares(prepare_statement(machine, X, y, sample_weight, last[0]))
            weight = float(machine.C) if squared else _left_out(machine.kernel, last[0])[1]
            space = Space.of(machine.kernel, whole.p, wishes.parameters, wishes.ard)
            kernel, weight, moved = polish(space, weight, last, until, moved)
            parameters["kernel"] = kernel
            if squared and "C" not in wishes.fixed:
                parameters["C"] = weight
            machine.set_params(**parameters)
    seconds = pace.elapsed
    best = clone(estimator).set_params(**parameters)
    if "standardize" in best.get_params(deep=False):
        best.set_params(standardize=False)
        parameters["standardize"] = False
    if wishes.refit:
        with pace.last_fit():
            best.fit(X, y, **given)
    return replace(
        found[-1],
        best_estimator_=best,
        best_params_=parameters,
        best_value_=float(np.mean([one.best_value_ for one in found])),
        trials_=trials,
        seconds_=seconds,
        notes_=[f"Chosen from {len(found)} parts of about {rows} neighbouring rows of {whole.n}."],
    )


def _parts(
    whole: Statement, kernel: Kernel, rows: int, rng: np.random.Generator
) -> list[NDArray[np.intp]]:
    """Return some parts of the sample, those first whose targets vary."""
    order = rng.permutation(whole.n)
    points = take(whole.X, order[:POINTS])
    p = int(points.shape[1])
    categories = equality_columns(kernel, p)
    scales = sensitivity(kernel, points, categories)
    leaf = grow(points, -(-whole.n // rows), scales, categories).route(whole.X)
    variance = float(np.sum(np.var(whole.Y, axis=0)))
    drawn = rng.permutation(int(leaf.max()) + 1)[: 4 * PARTS]
    parts = [order[leaf[order] == number][:rows] for number in drawn]
    parts = [part for part in parts if len(part) > 1]
    parts.sort(key=lambda part: np.sum(np.var(whole.Y[part], axis=0)) < TELLING * variance)
    return [np.sort(part) for part in parts[:PARTS]]


def _best(found: Sequence[dict[str, Any]], parts: Sequence[Statement]) -> dict[str, Any]:
    """Return those parameters, or the medians, whose kernel leaves rows of all parts out best."""
    candidates = [*found, middle(found)]
    if len(found) == 1:
        return candidates[0]
    scores = [sum(_left_out(one["kernel"], part)[0] for part in parts) for one in candidates]
    return candidates[int(np.argmin(scores))]


def _left_out(kernel: Kernel, part: Statement) -> tuple[float, float]:
    """Return half the rows times the logarithm of the least left-out error, and its weight C."""
    some = part.of(np.arange(part.n)[:: -(-part.n // JUDGED)])
    K = np.asarray(kernel.symmetric(some.X), dtype=np.float64)
    variance = float(np.mean(np.sum((some.Y - np.mean(some.Y, axis=0)) ** 2, axis=1)))
    size = float(np.mean(np.diag(K)))
    weights = WEIGHTS / size if size > 0 else WEIGHTS
    if variance == 0.0:
        return 0.0, float(weights[len(weights) // 2])
    left = Spectral(K, some.B, some.weights).leave_one_out(some.Y, weights)
    errors = np.average(np.sum(left**2, axis=2), axis=1, weights=some.weights)
    best = int(np.argmin(errors))
    # Errors that vanish to rounding are no infinite evidence.
    return 0.5 * some.n * float(np.log(errors[best] + 1e-9 * variance)), float(weights[best])


def middle(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the median of every parameter, of its logarithm; what is no number is the last one.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> middle([{"C": 1.0, "kernel": Gaussian(2.0)}, {"C": 4.0, "kernel": Gaussian(8.0)}])
    {'C': 2.0, 'kernel': Gaussian(length_scale=4.0)}
    """
    out = {}
    for name, value in found[-1].items():
        if isinstance(value, Kernel):
            each = [one[name].get_params() for one in found]
            kernel = copy.deepcopy(value)
            kernel.set_params(**{k: _middle([one[k] for one in each]) for k in each[-1]})
            out[name] = kernel
        else:
            out[name] = _middle([one[name] for one in found])
    return out


def _middle(values: Sequence[Any]) -> Any:
    last = values[-1]
    if isinstance(last, bool | str) or last is None or isinstance(last, Kernel):
        return last
    numbers = np.asarray(values)
    if numbers.dtype.kind != "f" or not np.all(numbers > 0) or np.all(numbers == numbers[0]):
        return last
    found = np.exp2(np.median(np.log2(numbers), axis=0))
    return float(found) if found.ndim == 0 else found
