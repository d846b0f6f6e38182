"""Search from starts on a part of the rows to an optimum on all rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.selection._statement import Statement
from mercer.selection.limits import FAR
from mercer.selection.objective import Descent, Search
from mercer.selection.pace import Stop
from mercer.selection.space import Space

__all__ = ["drawn", "optimum"]


# Correlations of the median pair of points that widths are tried for: from every point for itself
# to almost a line.
CORRELATIONS = (0.02, 0.15, 0.45, 0.8, 0.97)
PAIRS = 60
# A part of the rows is worth a descent of its own if all rows are so many times as many.
PART = 1.5
# Optima that are nearer to each other than this, in logarithms, are the same optimum.
SAME = 0.1


def drawn(statement: Statement, rows: int, rng: np.random.Generator) -> Statement:
    """Return the problem of as many rows at most, drawn at random and in their order.

    Parameters
    ----------
    statement : Statement
    rows : int
    rng : Generator
    """
    if statement.n <= rows:
        return statement
    return statement.of(np.sort(rng.permutation(statement.n)[:rows]))


def optimum(
    shared: Search,
    single: Callable[[], Search] | None,
    budget: int,
    starts: int,
    rng: np.random.Generator,
) -> tuple[list[Search], str]:
    """Return the searches that were made, and why the last one ended.

    A grid of widths and weights on a part of the rows shows local minima. From the best of them the
    criterion is minimized on the part, first with one factor for all length scales, then with a
    length scale for every feature or group. Where these descents end is compared on all rows, if
    they are nearly as likely, and the descent goes on from the best end, with the curvatures that
    it has learned. A part of the rows shows the way as well as all of them, but two optima may
    change places.

    Parameters
    ----------
    shared : Search
        With one factor for all length scales.
    single : callable, optional
        Makes the search with a length scale for every feature or group.
    budget : int
        Evaluations of a descent on all rows; twice as many with single length scales.
    starts : int
        Number of starts, if there are so many local minima.
    rng : Generator
        Draws the part.
    """
    whole, searches, status = shared.statement, [shared], "converged"
    few = drawn(whole, shared.few, rng)
    part = few if PART * few.n <= whole.n else whole
    try:
        begun = shared.starts(few, _widths(shared.space, few))
        if not begun:
            raise ValueError(
                "the criterion is not finite for any kernel and weight that was tried: features or "
                "targets are too large or too small for their squares; scale them."
            )
        thetas = [theta for _, theta in begun[: max(starts, 1)]]
        ends = _descend(shared, part, thetas, budget, "descent" if part is whole else "part")
        if single is not None:
            search, budget = single(), 2 * budget
            searches.append(search)
            thetas = [search.space.read(*shared.space.at(end.theta)) for end in ends]
            stage = "scales" if part is whole else "part, scales"
            ends = _descend(search, part, thetas, budget, stage)
        last, stage = searches[-1], "descent" if single is None else "scales"
        for more in _larger(part, whole, rng):
            if len(ends) > 1:
                scores = [last.score(more, one.theta, "comparison") for one in ends]
                ends = [ends[int(np.argmin(scores))]]
            ends = [last.finish(more, ends[0], budget, stage)]
        status = ends[0].status
    except Stop:
        status = "stopped"
    return [search for search in searches if search.trials] or [shared], status


def _larger(part: Statement, whole: Statement, rng: np.random.Generator) -> list[Statement]:
    """Return the problems of more rows that a descent goes on with, the last of all of them."""
    if part is whole:
        return []
    between = int(np.sqrt(part.n * whole.n))
    return [whole] if whole.n < PART**2 * part.n else [drawn(whole, between, rng), whole]


def _descend(
    search: Search, statement: Statement, thetas: list[Array], budget: int, stage: str
) -> list[Descent]:
    """Return the different ends of descents that are still in the race, the best first."""
    found: list[Descent] = []
    for theta in thetas:
        end = search.descend(statement, theta, budget, stage)
        if not any(np.max(np.abs(end.theta - other.theta)) < SAME for other in found):
            found.append(end)
    found.sort(key=lambda one: one.score)
    most = found[0].score + (np.inf if statement is search.statement else search.apart(statement.n))
    return [end for end in found if not end.score > most]


def _widths(space: Space, few: Statement) -> list[Array]:
    """Return the kernel with length scales for which the median pair is so much correlated."""
    rest = space.start(1.0)
    if not space.widths:
        return [rest]
    some = few.of(np.arange(min(few.n, PAIRS)))

    def correlation(log_factor: float) -> float:
        kernel, _ = space.at(space.wider(rest, log_factor))
        K, root = kernel.symmetric(some.X), np.sqrt(np.abs(kernel.diag(some.X)))
        with np.errstate(divide="ignore", invalid="ignore"):
            R: Any = K / np.outer(root, root)
        return float(np.nanmedian(R[np.triu_indices(len(R), 1)]))

    # For a Gaussian log(-log correlation) is a line in the logarithm of the width.
    factors = np.linspace(-FAR / 2, FAR / 2, 16)
    tiny = 1e-12
    found = np.clip([correlation(factor) for factor in factors], tiny, 1 - tiny)
    falling = np.minimum.accumulate(np.log(-np.log(found)))
    wanted = np.log(-np.log(CORRELATIONS))
    at = np.interp(-wanted, -falling, factors)
    return [space.wider(rest, float(factor)) for factor in at]
