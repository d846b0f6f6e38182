"""Rows sorted to groups on the workers of a cluster, and work on groups where their rows are.

Every shard, all that a worker holds, is cut into bundles of neighbouring groups, and every bundle
gathers its pieces from all shards. Bundles are few, since each has a piece of every shard, and a
piece is a task: so they are as large as the memory of a worker permits, and so are shards of rows
that nobody holds. Tasks grow with workers, and not with partitions.
Work on some groups of a bundle is one task, whose result goes to the client as soon as it is there.
So a worker that dies takes with it the tasks it worked on and the bundles it had gathered, which
the scheduler has made again, and nothing that was done.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from operator import getitem
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from mercer._threads import small_algebra
from mercer.data.spill import GroupWork, Sort
from mercer.distributed.partitions import Graph, Key, Parcel, Shard
from mercer.distributed.watch import Watch, submit

__all__ = ["Bundles", "bounds_of", "shards_of", "tasks_of"]

Tables = dict[int, NDArray[np.float64]]

BUNDLES_PER_WORKER = 4
"""Every shard has a piece for every bundle; with few bundles, workers have no rows of their own."""

CHEAP_PIECES, MAX_PIECES = 512, 2**14
"""Pieces that cost the scheduler nothing worth mentioning, and that there are at most."""

MAX_BUNDLE_BYTES, MAX_MEMORY_SHARE = 2**28, 0.125
"""Of a bundle, where the memory of workers is not known and where it is: it is there twice."""

MIN_TASKS, TASKS_PER_THREAD = 64, 8
"""With many tasks all threads end together, and a worker that dies takes little with it."""


def bounds_of(
    groups: int, shards: int, nbytes: float, workers: int = 1, memory: float = 0.0
) -> list[int]:
    """Return the first group of every bundle, and the number of groups.

    Parameters
    ----------
    groups, shards : int
    nbytes : float
        Size of all rows.
    workers : int, default=1
    memory : float, default=0.0
        Bytes that a worker has; 0 if that is not known.

    Examples
    --------
    >>> bounds_of(5, 4, 1e3), bounds_of(10_000, 1024, 1e6)
    ([0, 1, 2, 3, 4, 5], [0, 2500, 5000, 7500, 10000])
    >>> len(bounds_of(10**6, 100, 1e12, 100)), len(bounds_of(10**6, 100, 1e12, 100, 64e9))
    (3726, 164)
    """
    parts = max(shards, 1)
    shared = min(BUNDLES_PER_WORKER * workers, MAX_PIECES // parts)
    enough = max(1, CHEAP_PIECES // parts, shared, int(nbytes // _max_bytes(memory)))
    bundles = min(groups, enough)
    return [j * groups // bundles for j in range(bundles + 1)]


def shards_of(partitions: int, nbytes: float, workers: int, memory: float = 0.0) -> int:
    """Return into how many shards partitions that nobody holds are joined before rows are sorted.

    Parameters
    ----------
    partitions : int
    nbytes : float
        Size of all rows.
    workers : int
    memory : float, default=0.0
        Bytes that a worker has; 0 if that is not known.

    Examples
    --------
    A terabyte in a hundred thousand partitions, sorted by a hundred workers with 64 GB each:

    >>> shards = shards_of(100_000, 1e12, 100, 64e9)
    >>> shards, shards * (len(bounds_of(10**6, shards, 1e12, 100, 64e9)) - 1)
    (400, 50000)
    """
    return min(partitions, max(1, BUNDLES_PER_WORKER * workers, int(nbytes // _max_bytes(memory))))


def _max_bytes(memory: float) -> float:
    return MAX_MEMORY_SHARE * memory if memory else MAX_BUNDLE_BYTES


def tasks_of(groups: int, threads: int) -> int:
    """Return in about how many tasks groups are worked on.

    Parameters
    ----------
    groups, threads : int

    Examples
    --------
    >>> tasks_of(1000, 2), tasks_of(1000, 100), tasks_of(10**6, 10**5)
    (64, 800, 16384)
    """
    return min(groups, max(MIN_TASKS, min(TASKS_PER_THREAD * threads, MAX_PIECES)))


def split(
    shard: Shard, starts: list[int], sort: Parcel, bounds: list[int], rows: int
) -> list[list[Tables]]:
    """Return the rows of a shard by bundles, with their groups: a task."""
    bundles: list[list[Tables]] = [[] for _ in bounds[1:]]
    for part in shard.parts(starts):
        try:
            for block in () if part.source is None else part.source.blocks(rows):
                for group, table in sort.value(block._replace(start=block.start + part.start)):
                    bundles[bisect_right(bounds, group) - 1].append({group: table})
        except Exception as error:
            error.add_note(f"in partition {part.number}")
            raise
    return [[gathered([tables])] for tables in bundles]


def gathered(pieces: list[list[Tables]]) -> Tables:
    """Return the rows of a bundle from all shards: a task."""
    rows: dict[int, list[NDArray[np.float64]]] = {}
    for tables in pieces:
        for table in tables:
            for group, some in table.items():
                rows.setdefault(group, []).append(some)
    # Also a single table is copied: one that came over the network may begin at any byte.
    return {group: np.concatenate(some) for group, some in rows.items()}


def on_bundle(bundle: Tables, order: Parcel, states: Parcel) -> Parcel:
    """Return the results of work on some groups of a bundle, each with its number: a task."""
    work, shared = order.value
    empty = np.empty((0, 0))
    # One thread of BLAS, however small or large the groups: a worker has as many tasks as cores.
    with small_algebra(0):
        return Parcel.of(
            [(g, work(bundle.get(g, empty), shared, state)) for g, state in states.value.items()]
        )


class Bundles:
    """Groups of rows on a cluster.

    Parameters
    ----------
    watch : Watch
    graph : dict
        Tasks that read the partitions.
    shards : list of (key, list of int)
        What of them, or of what is held, gives each shard, and the first rows of its partitions.
    sort : callable
        As in :meth:`mercer.data.Source.sorted`.
    bounds : list of int
        First groups of the bundles.
    rows : int
        Largest number of rows in a block.
    threads : int
        Threads of all workers.
    """

    def __init__(
        self,
        watch: Watch,
        graph: Graph,
        shards: list[tuple[Key, list[int]]],
        sort: Sort,
        bounds: list[int],
        rows: int,
        threads: int,
    ) -> None:
        self.watch, self.bounds, self.threads = watch, bounds, threads
        name, graph = uuid4().hex, dict(graph)
        order = f"mercer-sort-{name}"
        graph[order] = Parcel.of(sort)
        pieces: list[list[Key]] = [[] for _ in bounds[1:]]
        for i, (shard, starts) in enumerate(shards):
            whole = (f"mercer-split-{name}", i)
            graph[whole] = (split, shard, starts, order, bounds, rows)
            for j, parts in enumerate(pieces):
                key = (f"mercer-piece-{name}", i, j)
                graph[key] = (getitem, whole, j)
                parts.append(key)
        keys = [(f"mercer-bundle-{name}", j) for j in range(len(pieces))]
        graph.update((key, (gathered, parts)) for key, parts in zip(keys, pieces, strict=True))
        self.futures = dict(enumerate(submit(watch.client, graph, keys)))

    def map(
        self,
        work: GroupWork,
        shared: Any,
        states: Mapping[int, Any],
        n_jobs: int | None = None,
        last: bool = False,
    ) -> Iterator[tuple[int, Any]]:
        """Yield groups with results as they are done; see :class:`mercer.data.spill.Groups`."""
        by_bundle: dict[int, list[tuple[int, Any]]] = {}
        for group, state in states.items():
            by_bundle.setdefault(bisect_right(self.bounds, group) - 1, []).append((group, state))
        name = uuid4().hex
        order = f"mercer-order-{name}"
        graph: Graph = {}
        size = max(1, len(states) // max(1, tasks_of(len(states), self.threads)))
        for j, own in by_bundle.items():
            for i in range(0, len(own), size):
                some = Parcel.of(dict(own[i : i + size]))
                graph[f"mercer-groups-{name}", j, i] = (on_bundle, self.futures[j], order, some)
        keys = list(graph)
        graph[order] = Parcel.of((work, shared))
        futures = submit(self.watch.client, graph, keys)
        if last:
            # Tasks keep the rows of their bundles until they are done.
            for j in by_bundle:
                del self.futures[j]
        for parcel in self.watch.results(futures):
            yield from parcel.value
