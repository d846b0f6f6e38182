"""Shards: the partitions that one worker holds, so that a pass asks it once for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import accumulate, islice, pairwise, repeat
from typing import Any

import numpy as np
from distributed import get_worker

from mercer.data.base import Block
from mercer.data.parts import Part
from mercer.distributed.partitions import Parcel, PartitionRows, n_rows, read, settle

__all__ = [
    "Shard",
    "bind",
    "counts",
    "intervals",
    "locate",
    "make_shard",
    "nth_block",
    "pick",
    "worker_threads",
]

GRAINS_PER_SHARD = 8
"""Cuts between shards are at multiples of about this part of a shard, a power of two: so that the
sum over a shard is a few nodes of the tree of all partitions."""


@dataclass(frozen=True)
class Shard:
    """Partitions that lie on one worker, maybe with what all passes share.

    Parameters
    ----------
    parts : tuple of Part
    nbytes : int
        What it takes to send the rows elsewhere. What is shared is not counted: a worker keeps it
        once.
    shared : Parcel, optional
    """

    parts: tuple[Part, ...]
    nbytes: int = 0
    shared: Parcel | None = None

    def __reduce__(self) -> Any:
        return arrived, (self.parts, self.nbytes, self.shared)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes


def arrived(parts: tuple[Part, ...], nbytes: int, shared: Parcel | None) -> Shard:
    """Return a shard that was sent, its arrays settled."""
    return Shard(tuple(part._replace(source=settle(part.source)) for part in parts), nbytes, shared)


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
    cuts = [allowed[int(np.argmin(np.abs(rows[allowed] - one)))] for one in wanted]
    return [range(a, b) for a, b in pairwise(cuts)]


def worker_threads() -> int:
    """Return the number of threads of the worker that a task runs on."""
    return int(get_worker().state.nthreads)


def make_shard(raw: list[Any], numbers: list[int], starts: list[int] | None, load: bool) -> Shard:
    """Return the shard of some partitions, read by all threads of the worker: a task.

    Parameters
    ----------
    raw : list of (X, y, s)
        What each partition was computed as; see :func:`read`.
    numbers : list of int
        Of the partitions.
    starts : list of int, optional
        Number of the first row of each, if known.
    load : bool
        Read the rows of files now, to keep them in memory.
    """
    with ThreadPoolExecutor(min(worker_threads(), max(1, len(raw)))) as pool:
        columns = zip(*raw, strict=True)
        loaded = pool.map(read, *columns, numbers, repeat(load))
        return _shard(list(loaded), numbers, starts or [0] * len(numbers))


def join_shard(rows: list[PartitionRows], numbers: list[int], starts: list[int]) -> Shard:
    """Return the shard of partitions that were held elsewhere: a task."""
    return _shard(rows, numbers, starts)


def _shard(rows: list[PartitionRows], numbers: list[int], starts: list[int]) -> Shard:
    places = zip(rows, numbers, starts, strict=True)
    parts = tuple(Part(one.source, number, start) for one, number, start in places)
    return Shard(parts, sum(one.nbytes for one in rows))


def locate(shard: Shard, starts: list[int]) -> Shard:
    """Return a shard that knows where its partitions begin in the whole."""
    places = zip(shard.parts, starts, strict=True)
    return replace(shard, parts=tuple(part._replace(start=start) for part, start in places))


def bind(shard: Shard, shared: Parcel) -> Shard:
    """Return a shard together with what all passes share."""
    return replace(shard, shared=shared)


def counts(shard: Shard) -> list[int]:
    """Return the number of rows of every partition."""
    return [n_rows(part.source) for part in shard.parts]


def pick(shard: Shard, number: int) -> PartitionRows:
    """Return one of the partitions, for another shard."""
    for part in shard.parts:
        if part.number == number:
            n = sum(counts(shard))
            share = shard.nbytes * n_rows(part.source) // n if n else 0
            return PartitionRows(part.source, share)
    raise KeyError(number)


def nth_block(shard: Shard, number: int, rows: int, k: int) -> Block:
    """Return one block of a partition."""
    source = pick(shard, number).source
    assert source is not None
    return next(islice(source.blocks(rows), k, None))
