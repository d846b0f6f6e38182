"""Quantiles of columns from a random sample of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mercer._typing import Array
from mercer.data.base import Block, Source
from mercer.data.categories import column_of
from mercer.data.sampling import fingerprints
from mercer.data.table import DataError

__all__ = ["quantiles", "sampled_columns"]

SAMPLED_ROWS = 100_000
"""Rows that quantiles are computed from: the standard error of a rank is at most 0.16 % of them."""

SAMPLE_BYTES = 2**27
"""Memory of the columns that are sampled in one pass."""


@dataclass(frozen=True)
class _Sample:
    """Values of the rows with the smallest keys, which are random numbers by the row's place."""

    size: int
    keys: NDArray[np.uint64]
    values: Array

    def __add__(self, other: _Sample) -> _Sample:
        keys = np.concatenate([self.keys, other.keys])
        return _Sample(self.size, keys, np.concatenate([self.values, other.values]))._bounded()

    def _bounded(self) -> _Sample:
        if len(self.keys) <= self.size:
            return self
        kept = np.sort(np.argpartition(self.keys, self.size - 1)[: self.size])
        return _Sample(self.size, self.keys[kept], self.values[kept])


def _work(block: Block, shared: int, columns: Sequence[int]) -> _Sample:
    values = np.empty((block.n, len(columns)))
    for k, j in enumerate(columns):
        column = column_of(block.X, j)
        if column.dtype == object:
            raise DataError(f"column {j} holds words, which have no quantiles")
        values[:, k] = column
    places = np.arange(block.start, block.start + block.n, dtype=np.float64)
    return _Sample(shared, fingerprints(places[:, None]), values)._bounded()


def sampled_columns(
    source: Source, columns: Sequence[int], size: int = SAMPLED_ROWS, **how: Any
) -> list[Array]:
    """Return the values of each column in a random sample of the rows, without missing ones.

    The sample depends on the order of the rows, but not on blocks and threads.

    Parameters
    ----------
    source : Source
    columns : sequence of int
        Numbers of the columns.
    size : int, default=100_000
        Number of rows; all, if there are fewer.
    **how
        Passed to :meth:`Source.total`.

    Examples
    --------
    >>> from mercer.data import as_source
    >>> X = np.array([[1.0, np.nan], [2.0, 3.0]])
    >>> [values.tolist() for values in sampled_columns(as_source(X), [0, 1])]
    [[1.0, 2.0], [3.0]]
    """
    result = []
    together = max(1, SAMPLE_BYTES // (8 * size))
    for first in range(0, len(columns), together):
        part = columns[first : first + together]
        sample: _Sample = source.total(_work, size, part, **({"rows": 65_536} | how))
        result += [values[~np.isnan(values)] for values in sample.values.T]
    return result


def quantiles(
    source: Source,
    q: ArrayLike,
    columns: Sequence[int] | None = None,
    *,
    size: int = SAMPLED_ROWS,
    **how: Any,
) -> Array:
    r"""Return quantiles of columns, exactly if there are at most `size` rows.

    Of more rows `size` are drawn at random, the same whatever the blocks and threads. The standard
    error of the rank of a quantile is then :math:`\sqrt{q (1 - q) / \text{size}}`. One pass reads
    about 160 columns.

    Parameters
    ----------
    source : Source
    q : (k,) array-like
        Between 0 and 1.
    columns : sequence of int, optional
        Numbers of the columns; all by default.
    size : int, default=100_000
    **how
        Passed to :meth:`Source.total`.

    Returns
    -------
    (k, columns) array
        As NumPy's, linear between neighbours; NaN where a column has no value.

    Examples
    --------
    >>> from mercer.data import as_source
    >>> X = np.random.default_rng(0).normal(size=(5000, 2))
    >>> bool((quantiles(as_source(X), [0.25, 0.5]) == np.quantile(X, [0.25, 0.5], 0)).all())
    True
    """
    chosen = list(range(source.n_features) if columns is None else columns)
    levels = np.atleast_1d(np.asarray(q, dtype=np.float64))
    result = np.full((len(levels), len(chosen)), np.nan)
    for k, values in enumerate(sampled_columns(source, chosen, size, **how)):
        if len(values):
            result[:, k] = np.quantile(values, levels)
    return result
