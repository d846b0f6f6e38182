"""Where functions differ most from fewer terms, at points in memory or in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer._typing import PointsLike
from mercer.compression.expansions import (
    KernelFunctions,
    Terms,
    evaluate,
    stack,
)
from mercer.data.base import Block, Source
from mercer.kernels.points import (
    Array,
    Data,
    take,
)

BATCH = 1024
"""Points that violate the error most which a pass over a source brings home."""

SLACK = 1e-3
"""Part of the error that is kept back while points are looked for, for rounding."""


class Shared(NamedTuple):
    """What is the same in all passes."""

    functions: KernelFunctions
    size: int = BATCH
    """Number of rows that are brought home."""

    slack: float = 0.0
    """What is kept back of the error, so that no row is looked at again for rounding."""


@dataclass(frozen=True, eq=False)
class Worst:
    """Rows at which a difference is largest, of all rows that were seen; two of them add up."""

    size: int
    values: Array
    """The largest difference of a function, in falling order."""

    X: PointsLike
    rows: NDArray[np.intp]
    diag: float
    """The largest k(x, x)."""

    n: int

    def __add__(self, other: Worst) -> Worst:
        # In falling order, equal ones by their number: the same whatever the blocks were.
        values = np.concatenate([self.values, other.values])
        rows = np.concatenate([self.rows, other.rows])
        order = np.lexsort((rows, -values))[: self.size]
        return Worst(
            self.size,
            values[order],
            stack(self.X, other.X)[order],
            rows[order],
            max(self.diag, other.diag),
            self.n + other.n,
        )


def worst_of(f: KernelFunctions, terms: Terms, X: Data, size: int = 1, start: int = 0) -> Worst:
    """Return where among some points functions differ most from terms.

    Parameters
    ----------
    f : Functions
    terms : Terms
    X : m points
    size : int, default=1
        Number of points that are returned.
    start : int, default=0
        Number of the first of them.
    """
    rest = f(X) - evaluate(f.kernel, X, terms.points, terms.coef)
    values = np.max(np.abs(rest), axis=1, initial=0.0)
    order = np.lexsort((np.arange(len(values)), -values))[:size]
    diag = float(np.max(f.kernel.diag(X), initial=0.0))
    return Worst(size, values[order], take(X, order), start + order, diag, len(values))


def as_rows(f: KernelFunctions, X: PointsLike) -> Any:
    """Return rows of a source as points like those of the functions."""
    if sp.issparse(f.points):
        return sp.csr_array(X, dtype=np.float64)
    if sp.issparse(X):
        raise ValueError("the machine was fitted to dense rows, and the source has sparse ones.")
    return np.ascontiguousarray(X, dtype=np.float64)


def _look(block: Block, shared: Shared, state: Terms) -> Worst:
    """Return the worst rows of a block: the work of a pass."""
    f = shared.functions
    return worst_of(f, state, as_rows(f, block.X), shared.size, block.start)


def worst_points(shared: Shared, terms: Terms, source: Source, **how: Any) -> Worst:
    """Read a source once; return where functions differ most from terms.

    Parameters
    ----------
    shared : Shared
        One object in all passes, which is sent once to where the rows are.
    terms : Terms
    source : Source
    **how
        Passed to :meth:`Source.total`.
    """
    found: Worst = source.total(_look, shared, terms, **how)
    return found
