"""Rows that lie in partitions: those of a Dask collection, delayed ones, pieces of files.

What a worker holds is a shard: neighbouring partitions, which a pass asks together.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, islice, pairwise, repeat
from typing import Any
from uuid import uuid4

import numpy as np
from dask.delayed import Delayed
from dask.sizeof import sizeof
from distributed import get_worker
from distributed.protocol.pickle import dumps, loads

from mercer._typing import PointsLike, TargetsLike, WeightsLike
from mercer.data import Arrays, Source, as_source
from mercer.data.base import Block, Part, Places
from mercer.data.table import stack

__all__ = [
    "Graph",
    "Key",
    "Parcel",
    "PartitionRows",
    "Partitions",
    "Shard",
    "counts",
    "intervals",
    "join_shard",
    "make_shard",
    "nth_block",
    "pick",
    "settled",
    "worker_threads",
]

Graph = dict[Any, Any]
"""Tasks of Dask by their keys."""

Key = Any
"""What gives the result of a task: a name, a tuple that begins with one, a future, or None."""


GRAINS_PER_SHARD = 8
"""Cuts between shards are at multiples of about this part of a shard, a power of two: so that the
sum over a shard is a few nodes of the tree of all partitions."""


def settled(values: WeightsLike) -> Any:
    """Return an array in C order at a proper address, itself if it is that already.

    Arrays that came over the network may begin at any byte, and say that they are aligned. Products
    with them are summed in another order, so have other bits, and compiled loops may fail.

    Parameters
    ----------
    values : object
        Returned as it is if it is no array of NumPy.
    """
    if not isinstance(values, np.ndarray):
        return values
    address = int(values.__array_interface__["data"][0])
    if values.flags.c_contiguous and address % values.dtype.alignment == 0:
        return values
    return np.array(values, order="C")


@dataclass
class Parcel:
    """A value that travels as bytes and is unpacked where it arrives.

    Nobody on the way looks into it, and its arrays are where arrays should be.

    Parameters
    ----------
    data : bytes
    """

    data: bytes

    @classmethod
    def of(cls, value: Any) -> Parcel:
        """Return a value packed up."""
        return cls(dumps(value, protocol=pickle.HIGHEST_PROTOCOL))

    @cached_property
    def value(self) -> Any:
        """What is in it."""
        return loads(self.data)

    def __reduce__(self) -> Any:
        return Parcel, (self.data,)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + len(self.data)


def n_rows(source: Source | None) -> int:
    """Return the number of rows of a partition, counted if they must be."""
    if source is None:
        return 0
    if source.n_rows is not None:
        return source.n_rows
    return sum(block.n for block in source.blocks(65536))


def arrived(source: Source | None, nbytes: int) -> PartitionRows:
    """Return a partition that was sent, its arrays settled."""
    if isinstance(source, Arrays):
        source.X, source.y, source.s = (settled(v) for v in (source.X, source.y, source.s))
    return PartitionRows(source, nbytes)


@dataclass(frozen=True)
class PartitionRows:
    """The rows of one partition where they are.

    Parameters
    ----------
    source : Source or None
        None if the partition is empty.
    nbytes : int
        What it takes to send the rows elsewhere.
    """

    source: Source | None
    nbytes: int = 0

    def __reduce__(self) -> Any:
        return arrived, (self.source, self.nbytes)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes


def read(X: PointsLike, y: TargetsLike, s: WeightsLike, number: int, load: bool) -> PartitionRows:
    """Return a partition from what it was computed as: a task of the cluster.

    Parameters
    ----------
    X : array, frame, Source, or a tuple or block of inputs, targets and weights
    y, s : array-like or None
    number : int
        Of the partition, for whoever reads an error.
    load : bool
        Read the rows of a file now, to keep them in memory.
    """
    try:
        if isinstance(X, tuple):
            X, y, s = (*X, None, None)[:3]
        if isinstance(X, Source):
            source = X
        elif X.shape[0] == 0:
            return PartitionRows(None)
        else:
            source = as_source(X, *(None if v is None else np.asarray(v) for v in (y, s)))
            load = True
        return _in_memory(source) if load else PartitionRows(source)
    except Exception as error:
        error.add_note(f"in partition {number}")
        raise


def _in_memory(source: Source) -> PartitionRows:
    """Return rows as arrays."""
    blocks = list(source.blocks(source.n_rows or 65536))
    if not blocks:
        return PartitionRows(None)
    X, y, s = (
        None if parts[0] is None else stack(parts)
        for parts in zip(*((block.X, block.y, block.s) for block in blocks), strict=True)
    )
    X, y, s = (settled(v) for v in (X, y, s))
    return PartitionRows(Arrays(X, y, s), nbytes=sizeof(X) + sizeof(y) + sizeof(s))


class Partitions(Source):
    """Partitions that Dask computes one after the other on this machine.

    This is what a Dask collection is without a cluster; :class:`Cluster` is the same with one.

    Parameters
    ----------
    graph : dict
        Tasks that compute the partitions.
    keys : sequence of (X, y, s)
        Names of the tasks that give inputs, targets and weights of each partition, or None.
    n_features : int
    sizes : sequence of int, optional
        Rows of every partition, where they are known.
    feature_names : list of str, optional
    places : Places, optional
        Which files rows lie in.

    Examples
    --------
    >>> import dask.array as da
    >>> from mercer.distributed import as_source
    >>> source = as_source(da.ones((10, 2), chunks=(4, 2)))
    >>> [block.n for block in source.blocks(3)]
    [3, 1, 3, 1, 2]
    """

    def __init__(
        self,
        graph: Graph,
        keys: Sequence[tuple[Key, Key, Key]],
        n_features: int,
        sizes: Sequence[int] | None = None,
        feature_names: list[str] | None = None,
        places: Places | None = None,
    ) -> None:
        self.graph, self.keys, self.places = graph, keys, places
        self.n_features, self.feature_names = n_features, feature_names
        self.sizes = None if sizes is None else [int(n) for n in sizes]
        self.name = uuid4().hex

    @property
    def n_rows(self) -> int | None:  # type: ignore[override]
        """Number of rows; None before they were counted."""
        return None if self.sizes is None else sum(self.sizes)

    def task(self, i: int) -> tuple[Any, ...]:
        """Return the task that reads a partition."""
        return (read, *self.keys[i], i, False)

    def partition(self, i: int) -> PartitionRows:
        """Return a partition, computed here and now.

        Parameters
        ----------
        i : int
        """
        key = f"mercer-rows-{self.name}-{i}"
        held: PartitionRows = Delayed(key, {**self.graph, key: self.task(i)}).compute()
        return held

    def blocks(self, rows: int) -> Iterator[Block]:
        start = 0
        for i in range(len(self.keys)):
            held = self.partition(i)
            if held.source is None:
                continue
            n = 0
            for block in held.source.blocks(rows):
                yield block._replace(start=start + n)
                n += block.n
            start += n


# Shards -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shard:
    """Partitions that lie on one worker, by their numbers.

    Parameters
    ----------
    rows : dict from int to PartitionRows
    shared : dict
        What passes share, by a token of its content; it stays here and does not travel.
    """

    rows: dict[int, PartitionRows]
    shared: dict[str, Any] = field(default_factory=dict)

    def __reduce__(self) -> Any:
        return Shard, (self.rows,)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + sum(one.nbytes for one in self.rows.values())

    def parts(self, starts: list[int]) -> list[Part]:
        """Return the partitions, given the number of the first row of each in the whole."""
        places = zip(self.rows.items(), starts, strict=True)
        return [Part(rows.source, number, start) for (number, rows), start in places]


def intervals(sizes: Sequence[float], weights: Sequence[float]) -> list[range]:
    """Return the neighbouring partitions of every worker, in proportion to its weight.

    Parameters
    ----------
    sizes : sequence of float
        Rows of every partition.
    weights : sequence of float
        Threads of every worker.

    Examples
    --------
    >>> intervals([1.0] * 16, [1.0, 3.0])
    [range(0, 4), range(4, 16)]
    >>> intervals([1.0] * 2, [1.0] * 3)
    [range(0, 1), range(1, 1), range(1, 2)]
    """
    n = len(sizes)
    grain = 1
    while 2 * grain * GRAINS_PER_SHARD * len(weights) <= n:
        grain *= 2
    rows = np.concatenate([[0.0], np.cumsum(sizes)])
    if rows[-1] == 0.0:
        rows = np.arange(n + 1.0)
    # Of the cuts that are allowed, the nearest to where a worker's share ends.
    allowed = [*range(0, n, grain), n]
    wanted = rows[-1] * np.array([0.0, *accumulate(weights)]) / sum(weights)
    cuts = [allowed[int(np.argmin(np.abs(rows[allowed] - cut)))] for cut in wanted]
    return [range(a, b) for a, b in pairwise(cuts)]


def worker_threads() -> int:
    """Return the number of threads of the worker that a task runs on."""
    return int(get_worker().state.nthreads)


def make_shard(raw: list[Any], numbers: list[int], load: bool) -> Shard:
    """Return the shard of some partitions, read by all threads of the worker: a task.

    Parameters
    ----------
    raw : list of (X, y, s)
        What each partition was computed as; see :func:`read`.
    numbers : list of int
        Of the partitions.
    load : bool
        Read the rows of files now, to keep them in memory.
    """
    with ThreadPoolExecutor(min(worker_threads(), max(1, len(raw)))) as pool:
        rows = pool.map(read, *zip(*raw, strict=True), numbers, repeat(load))
        return join_shard(list(rows), numbers)


def join_shard(rows: list[PartitionRows], numbers: list[int]) -> Shard:
    """Return the shard of partitions that were held elsewhere: a task."""
    return Shard(dict(zip(numbers, rows, strict=True)))


def counts(shard: Shard) -> list[int]:
    """Return the number of rows of every partition: a task."""
    return [n_rows(one.source) for one in shard.rows.values()]


def pick(shard: Shard, number: int) -> PartitionRows:
    """Return one of the partitions, for another shard: a task."""
    return shard.rows[number]


def nth_block(shard: Shard, number: int, rows: int, k: int) -> Block:
    """Return one block of a partition: a task."""
    source = shard.rows[number].source
    assert source is not None
    return next(islice(source.blocks(rows), k, None))
