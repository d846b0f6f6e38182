"""Search from starts on a part of the rows to an optimum on all rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.selection._statement import Statement
from mercer.selection.limits import FAR
from mercer.selection.objective import SHORT, Search
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
    length scale for every feature or group. Where these descents end is compared on all rows, and
    the descent goes on from the best end. A part of the rows shows the way as well as all of them,
    but two optima may change places.

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
        ends = [theta for _, theta in begun[: max(starts, 1)]]
        ends, status = _descend(shared, part, ends, budget, "descent" if part is whole else "part")
        if single is not None:
            search, budget = single(), 2 * budget
            searches.append(search)
            ends = [search.space.read(*shared.space.at(theta)) for theta in ends]
            stage = "scales" if part is whole else "part, scales"
            ends, status = _descend(search, part, ends, budget, stage)
        last = searches[-1]
        if part is not whole:
            if len(ends) > 1:
                scores = [last.score(whole, theta, "comparison") for theta in ends]
                ends = [ends[int(np.argmin(scores))]]
            stage = "descent" if single is None else "scales"
            _, _, status = last.descend(whole, ends[0], budget, stage, SHORT)
    except Stop:
        status = "stopped"
    return [search for search in searches if search.trials] or [shared], status


def _descend(
    search: Search, statement: Statement, thetas: list[Array], budget: int, stage: str
) -> tuple[list[Array], str]:
    """Return the different ends of descents, the best first, and why the best one ended."""
    found: list[tuple[float, Array, str]] = []
    for theta in thetas:
        end, score, status = search.descend(statement, theta, budget, stage)
        if not any(np.max(np.abs(end - other)) < SAME for _, other, _ in found):
            found.append((score, end, status))
    found.sort(key=lambda one: one[0])
    return [end for _, end, _ in found], found[0][2]


def _widths(space: Space, few: Statement) -> list[Array]:
    """Return the kernel with length scales for which the median pair is so much correlated."""
    rest = space.start(1.0)
    if not space.widths:
        return [rest]
    some = few.of(np.arange(min(few.n, PAIRS)))

    def correlation(log_factor: float) -> float:
        kernel, _ = space.at(space.wider(rest, log_factor))
        K, root = kernel(some.X), np.sqrt(np.abs(kernel.diag(some.X)))
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
