r"""Scales of local machines, moved one after the other where rows left out of whole leaves ask.

What parts of a leaf say about length scales holds for parts: of categories with many values, and of
features that few rows tell of, a leaf knows more. So the last word have parts as large as leaves.
The sum of the logarithms of their exact leave-one-out errors decides, by pattern search: C, all
length scales, and those of categories are doubled or halved for as long as that helps, then every
length scale by itself. A step needs one Cholesky factorization a part and no gradient, and only
that of the first part unless it gains half of its share there.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mercer._threads import map_blocks
from mercer._typing import Array
from mercer.kernels.base import Kernel
from mercer.local.tree import equality_columns
from mercer.machines.leaf_settings import left_out
from mercer.selection._statement import Statement
from mercer.selection.space import Space, features_of

__all__ = ["polish"]

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
