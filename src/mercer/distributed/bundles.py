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
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import getitem
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from mercer._threads import small_algebra
from mercer.data.spill import GroupWork, Sort
from mercer.distributed.holding import submit
from mercer.distributed.leaves import KeptLeaves, LeafShelf, size_of
from mercer.distributed.partitions import Graph, Key, Parcel
from mercer.distributed.shards import Shard
from mercer.distributed.watch import Watch, explained

__all__ = ["Bundles", "bounds_of", "max_bytes", "shards_of", "tasks_of"]

Tables = dict[int, NDArray[np.float64]]
Pieces = dict[int, list[NDArray[np.float64]]]


@dataclass(frozen=True)
class Division:
    """How groups of rows are divided into bundles, and work on them into tasks.

    Every shard has a piece for every bundle. Few pieces cost the scheduler nothing worth
    mentioning; with few bundles, workers have no rows of their own and a bundle may not fit the
    memory. With many tasks all threads end together, and a worker that dies takes little with it.
    """

    cheap_pieces: int = 512
    bundles_per_worker: int = 4
    max_pieces: int = 2**14
    max_bundle_bytes: float = 2**28  # where the memory of workers is not known
    max_memory_share: float = 0.125  # of a worker, for a bundle: it is there twice as it is joined
    min_tasks: int = 64
    tasks_per_thread: int = 8


DIVISION = Division()


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
    shared = min(DIVISION.bundles_per_worker * workers, DIVISION.max_pieces // parts)
    most = max_bytes(memory)
    bundles = min(groups, max(1, DIVISION.cheap_pieces // parts, shared, int(nbytes // most)))
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
    enough = max(1, DIVISION.bundles_per_worker * workers, int(nbytes // max_bytes(memory)))
    return min(partitions, enough)


def max_bytes(memory: float) -> float:
    """Return how many bytes a bundle may have.

    Parameters
    ----------
    memory : float
        Bytes that a worker has; 0 if that is not known.

    Examples
    --------
    >>> max_bytes(64e9), max_bytes(0.0)
    (8000000000.0, 268435456)
    """
    return DIVISION.max_memory_share * memory if memory else DIVISION.max_bundle_bytes


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
    enough = min(DIVISION.tasks_per_thread * threads, DIVISION.max_pieces)
    return min(groups, max(DIVISION.min_tasks, enough))


def split(shard: Shard, sort: Parcel, bounds: list[int], rows: int) -> list[Tables]:
    """Return the rows of a shard by bundles and groups."""
    found: list[Pieces] = [{} for _ in bounds[1:]]
    for part in shard.parts:
        try:
            for block in () if part.source is None else part.source.blocks(rows):
                for group, table in sort.value(block._replace(start=block.start + part.start)):
                    bundle = found[bisect_right(bounds, group) - 1]
                    bundle.setdefault(group, []).append(table)
        except Exception as error:
            error.add_note(f"in partition {part.number}")
            raise
    return [_joined(bundle) for bundle in found]


def gathered(pieces: list[Tables]) -> Tables:
    """Return the rows of a bundle from all partitions."""
    found: Pieces = {}
    for tables in pieces:
        for group, table in tables.items():
            found.setdefault(group, []).append(table)
    return _joined(found)


def _joined(found: Pieces) -> Tables:
    # Also a single table is copied: one that came over the network may begin at any byte.
    return {group: np.concatenate(tables) for group, tables in found.items()}


def on_bundle(bundle: Tables, order: Parcel, states: Parcel) -> Parcel:
    """Return the results of work on some groups of a bundle, each with its number."""
    work, shared = order.value
    empty = np.empty((0, 0))
    # One thread of BLAS, however small or large the groups: a worker has as many tasks as cores.
    with small_algebra(0):
        return Parcel.of(
            [(g, work(bundle.get(g, empty), shared, state)) for g, state in states.value.items()]
        )


class Fitted(NamedTuple):
    """Leaves that stay on a worker, and what the client is told of them."""

    shelf: LeafShelf
    outlines: Parcel


def keep_of_bundle(bundle: Tables, order: Parcel, states: Parcel) -> Fitted:
    """Return the leaves of some groups of a bundle, and outlines of the groups: a task."""
    work, outline, shared = order.value
    empty, outlines = np.empty((0, 0)), []
    leaves: dict[tuple[int, int], Any] = {}
    with small_algebra(0):
        for g, state in states.value.items():
            branch = work(bundle.get(g, empty), shared, state)
            leaves.update(((g, j), leaf) for j, leaf in enumerate(branch.leaves))
            outlines.append((g, len(branch.leaves), outline(branch)))
    nbytes = sum(size_of(leaf) for leaf in leaves.values())
    return Fitted(LeafShelf(leaves, nbytes), Parcel.of((nbytes, outlines)))


class Bundles:
    """Groups of rows on a cluster, which may keep what is fitted to them.

    Parameters
    ----------
    graph : dict
        Tasks that read the partitions.
    shards : list
        What of them, or of what is held, gives each shard.
    sort : callable
        As in :meth:`mercer.data.Source.sorted`.
    bounds : list of int
        First groups of the bundles.
    rows : int
        Largest number of rows in a block.
    threads : int
        Threads of all workers.
    watch : Watch
    most : float
        Bytes of a shelf of leaves that a worker keeps.
    """

    def __init__(
        self,
        graph: Graph,
        shards: list[Key],
        sort: Sort,
        bounds: list[int],
        rows: int,
        threads: int,
        watch: Watch,
        most: float,
    ) -> None:
        self.bounds, self.threads, self.watch, self.most = bounds, threads, watch, most
        self._kept: dict[int, tuple[Future, int, int]] = {}
        name, graph = uuid4().hex, dict(graph)
        order = f"mercer-sort-{name}"
        graph[order] = Parcel.of(sort)
        pieces: list[list[Key]] = [[] for _ in bounds[1:]]
        for i, one in enumerate(shards):
            whole = (f"mercer-split-{name}", i)
            graph[whole] = (split, one, order, bounds, rows)
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
        graph, keys = self._tasks(on_bundle, Parcel.of((work, shared)), states)
        futures = submit(self.watch.client, graph, keys)
        if last:
            self._let_go(states)
        for parcel in self.watch.results(futures):
            yield from parcel.value

    def keep(
        self,
        work: GroupWork,
        outline: Callable[[Any], Any],
        shared: Any,
        states: Mapping[int, Any],
    ) -> Generator[tuple[int, Any]]:
        """Yield outlines of groups whose leaves stay; see :class:`mercer.data.spill.Groups`."""
        graph, keys = self._tasks(keep_of_bundle, Parcel.of((work, outline, shared)), states)
        # A shelf and its outlines are tasks of their own: the first stays, the second travels.
        shelves = [("mercer-shelf-" + str(key[0]), *key[1:]) for key in keys]
        told = [("mercer-told-" + str(key[0]), *key[1:]) for key in keys]
        graph.update((own, (getitem, key, 0)) for own, key in zip(shelves, keys, strict=True))
        graph.update((own, (getitem, key, 1)) for own, key in zip(told, keys, strict=True))
        futures = submit(self.watch.client, graph, shelves + told)
        self._let_go(states)
        here, waiting = futures[: len(keys)], futures[len(keys) :]
        shelf_of = {one.key: shelf for one, shelf in zip(waiting, here, strict=True)}
        del futures, here
        for future in self.watch.finished(waiting):
            with explained():
                nbytes, outlines = future.result().value
            shelf = shelf_of.pop(future.key)
            for g, leaves, found in outlines:
                self._kept[g] = shelf, nbytes, leaves
                yield g, found

    def kept(self, here: Mapping[tuple[int, int], Any]) -> KeptLeaves:
        """Return the leaves that were kept so far, and those that are here."""
        return KeptLeaves(self.watch, self._kept, self.most, here)

    def _tasks(
        self, run: Callable[..., Any], order: Parcel, states: Mapping[int, Any]
    ) -> tuple[Graph, list[Key]]:
        """Return tasks that run something on some groups of a bundle each, and their keys."""
        by_bundle: dict[int, list[tuple[int, Any]]] = {}
        for group, state in states.items():
            by_bundle.setdefault(self._bundle(group), []).append((group, state))
        name = uuid4().hex
        sent = f"mercer-order-{name}"
        graph: Graph = {sent: order}
        size = max(1, len(states) // max(1, tasks_of(len(states), self.threads)))
        for j, own in by_bundle.items():
            for i in range(0, len(own), size):
                some = Parcel.of(dict(own[i : i + size]))
                graph[(f"mercer-groups-{name}", j, i)] = (run, self.futures[j], sent, some)
        return graph, [key for key in graph if key != sent]

    def _bundle(self, group: int) -> int:
        return bisect_right(self.bounds, group) - 1

    def _let_go(self, groups: Iterable[int]) -> None:
        """Let go of the bundles of groups: tasks keep their rows until they are done."""
        for j in {self._bundle(group) for group in groups}:
            del self.futures[j]

    def close(self) -> None:
        """Let go of the rows, and of leaves that nobody asked for."""
        self.futures.clear()
        self._kept.clear()
