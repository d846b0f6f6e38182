"""Which worker holds which partitions, and what passes share beside them."""

from __future__ import annotations

from hashlib import sha256
from itertools import accumulate
from typing import Any
from uuid import uuid4

import dask
from dask.core import get_dependencies
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer
from distributed import Client, Future

from mercer.distributed.partitions import Graph, Key, Parcel
from mercer.distributed.shards import bind, counts, intervals, join_shard, locate, make_shard, pick
from mercer.distributed.watch import Watch

__all__ = ["Holding", "place", "same", "submit"]

MAX_BOUND_OBJECTS = 4
"""Shared objects that stay with the rows at the same time."""

MAX_SCATTERED_PARTITIONS = 256
"""Partitions up to which persisted rows stay where they are, also if a worker's are no neighbours:
then nearly every partition is a summand that travels up to the root."""

MAX_SHARE = 1.25
"""Of the mean, what a worker may hold of persisted rows before some of them are moved."""


def same(value: Any) -> Any:
    """Return a value: a task whose result can be made again."""
    return value


def submit(client: Client, graph: Any, keys: list[Key]) -> list[Future]:
    """Return futures of tasks.

    Parameters
    ----------
    client : distributed.Client
    graph : dict or HighLevelGraph
    keys : list
    """
    # Centres of some megabytes belong into the graph: from there they can be sent again.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "4 GiB"}):
        futures: list[Future] = client.get(graph, keys, sync=False)
    return futures


def place(watch: Watch, tasks: list[tuple[str, Graph]], graph: Graph) -> list[Future]:
    """Have tasks done by the workers they are meant for if they live, with all they need.

    Parameters
    ----------
    watch : Watch
    tasks : list of (address, dict with one task)
        An address that is empty prefers nobody.
    graph : dict
        Tasks that they depend on.
    """
    layers: dict[str, MaterializedLayer] = {}
    taken: set[Key] = set()
    keys = [next(iter(own)) for _, own in tasks]
    for i, (address, own) in enumerate(tasks):
        layer = dict(own)
        todo = list(own.values())
        while todo:
            # What several need is placed with the first of them.
            for key in get_dependencies(graph, task=todo.pop()):
                if key not in taken:
                    taken.add(key)
                    layer[key] = graph[key]
                    todo.append(graph[key])
        prefer = {"workers": [address], "allow_other_workers": True} if address else None
        layers[str(i)] = MaterializedLayer(layer, annotations=prefer)
        if address:
            watch.prefer(address, list(layer))
    whole = HighLevelGraph(layers, {name: set(layers) - {name} for name in layers})
    return submit(watch.client, whole, keys)


class Holding:
    """The partitions of a source in the memory of workers, one shard on each.

    Shards are results of tasks that prefer a worker and do not insist on it: a lost one is made
    again elsewhere. When workers have come or gone for good, rows are divided anew. Which worker
    has which partitions changes no bit of a sum.

    Parameters
    ----------
    watch : Watch
    graph : dict
        Tasks that compute the partitions.
    keys : sequence of (X, y, s)
        As in :class:`mercer.distributed.partitions.Partitions`.
    sizes : list of int, optional
        Rows of every partition; counted if they are not known.
    load : bool
        Whether rows of files are kept, or a note of where they are.
    """

    def __init__(
        self, watch: Watch, graph: Graph, keys: Any, sizes: list[int] | None, load: bool
    ) -> None:
        self.watch, self.graph, self.keys, self.load = watch, graph, keys, load
        self.groups = self._divide({}, sizes)
        tasks = []
        starts = None if sizes is None else starts_of(sizes)
        for address, numbers in self.groups.items():
            raw = [list(keys[i]) for i in numbers]
            begin = None if starts is None else [starts[i] for i in numbers]
            tasks.append((address, {_name(numbers): (make_shard, raw, numbers, begin, load)}))
        self.shards = place(watch, tasks, graph)
        self.sizes = self._count() if sizes is None else sizes
        self.bound: dict[str, list[Future]] = {}

    def __getitem__(self, i: int) -> Future:
        """Return the shard with a partition."""
        numbers = self.groups.values()
        return next(s for s, some in zip(self.shards, numbers, strict=True) if i in some)

    def update(self) -> list[Future]:
        """Return the shards once all are there, divided anew if workers have changed for good."""
        there = self.watch.steady
        if there and there != set(self.groups):
            self._move()
        self.watch.wait(self.shards)
        return self.shards

    def with_shared(self, token: str, parcel: Parcel) -> list[Future]:
        """Return the shards with what passes share, which is sent to every worker once.

        A copy that no task waits for is dropped by the scheduler; beside the rows it stays.

        Parameters
        ----------
        token : str
            Of the content of the parcel.
        parcel : Parcel
        """
        if token not in self.bound:
            while len(self.bound) >= MAX_BOUND_OBJECTS:
                self.bound.pop(next(iter(self.bound)))
            name = f"mercer-shared-{token}"
            where, own = self.watch.client.who_has(self.shards), uuid4().hex
            tasks: list[tuple[str, Graph]] = []
            for i, shard in enumerate(self.shards):
                address = next(iter(where.get(shard.key, ())), "")
                tasks.append((address, {(f"mercer-bound-{own}", i): (bind, shard, name)}))
            self.bound[token] = place(self.watch, tasks, {name: (same, parcel)})
        self.bound[token] = futures = self.bound.pop(token)
        return futures

    def _divide(self, held: dict[str, list[int]], sizes: list[int] | None) -> dict[str, list[int]]:
        """Return partitions by workers: neighbours, in proportion to threads."""
        n = len(self.keys)
        workers = self.watch.workers()
        if not workers:  # they are about to come; until then there is nobody to prefer
            return {"": list(range(n))}
        # Workers keep their order, so that as few rows move as possible.
        order = sorted(workers, key=lambda address: (min(held.get(address, [n])), address))
        persisted = [key[0] for key in self.keys if isinstance(key[0], Future)]
        if not held and len(persisted) == n <= MAX_SCATTERED_PARTITIONS:
            places = self.watch.client.who_has(persisted)
            return _nearby([places.get(one.key, ()) for one in persisted], order)
        threads = [float(workers[address]["nthreads"]) for address in order]
        ranges = intervals([1.0] * n if sizes is None else sizes, threads)
        return {a: list(some) for a, some in zip(order, ranges, strict=True) if some}

    def _count(self) -> list[int]:
        """Count the rows of all partitions, and let shards know where theirs begin."""
        name = uuid4().hex
        keys = [(f"mercer-count-{name}", i) for i in range(len(self.shards))]
        graph: Graph = {k: (counts, one) for k, one in zip(keys, self.shards, strict=True)}
        found: dict[int, int] = {}
        for numbers, future in zip(
            self.groups.values(), submit(self.watch.client, graph, keys), strict=True
        ):
            found.update(zip(numbers, self.watch.result([future]), strict=True))
        sizes = [found[i] for i in range(len(self.keys))]
        starts = starts_of(sizes)
        keys = [(f"mercer-located-{name}", i) for i in range(len(self.shards))]
        places = zip(keys, self.shards, self.groups.values(), strict=True)
        graph = {k: (locate, one, [starts[i] for i in some]) for k, one, some in places}
        self.shards = submit(self.watch.client, graph, keys)
        return sizes

    def _move(self) -> None:
        """Divide the rows among the workers that are there now; those they have stay."""
        where = self.watch.client.who_has(self.shards)
        before = list(zip(self.groups.values(), self.shards, strict=True))
        held: dict[str, list[int]] = {}
        for numbers, shard in before:
            for address in where.get(shard.key, ())[:1]:
                held.setdefault(address, []).extend(numbers)
        owner = {i: shard for numbers, shard in before for i in numbers}
        self.groups = self._divide(held, self.sizes)
        starts, name = starts_of(self.sizes), uuid4().hex
        picks = {i: (f"mercer-moved-{name}", i) for i in owner}
        kept: dict[str, Future] = {}
        for address, numbers in self.groups.items():
            first = owner[numbers[0]]
            if held.get(address) == numbers and all(owner[i] is first for i in numbers):
                kept[address] = first
        moving = {a: numbers for a, numbers in self.groups.items() if a not in kept}
        some = [i for numbers in moving.values() for i in numbers]
        # Rows are picked where they lie, so these tasks prefer nobody.
        graph: Graph = {picks[i]: (pick, owner[i], i) for i in some}
        picked = dict(zip(some, submit(self.watch.client, graph, list(graph)), strict=True))
        tasks = []
        for address, numbers in moving.items():
            parts, begin = [picked[i] for i in numbers], [starts[i] for i in numbers]
            tasks.append((address, {_name(numbers): (join_shard, parts, numbers, begin)}))
        made = place(self.watch, tasks, {})
        kept |= dict(zip((address for address, _ in tasks), made, strict=True))
        self.shards = [kept[address] for address in self.groups]
        self.bound.clear()


def starts_of(sizes: list[int]) -> list[int]:
    """Return the number of the first row of every partition.

    Parameters
    ----------
    sizes : list of int

    Examples
    --------
    >>> starts_of([3, 0, 2])
    [0, 3, 3]
    """
    return list(accumulate(sizes, initial=0))[:-1]


def token_of(parcel: Parcel) -> str:
    """Return a token of the content of a parcel."""
    return sha256(parcel.data).hexdigest()


def _name(numbers: list[int]) -> Key:
    return (f"mercer-shard-{uuid4().hex}", numbers[0])


def _nearby(places: list[Any], workers: list[str]) -> dict[str, list[int]]:
    """Return partitions by the workers that have them, or by others where these have too many."""
    groups: dict[str, list[int]] = {address: [] for address in workers}
    most = max(1.0, MAX_SHARE * len(places) / len(workers))
    homeless = []
    for i, some in enumerate(places):
        home = next((a for a in some if a in groups and len(groups[a]) + 1 <= most), None)
        if home is None:
            homeless.append(i)
        else:
            groups[home].append(i)
    for i in homeless:
        min(groups.values(), key=len).append(i)
    return {address: sorted(numbers) for address, numbers in groups.items() if numbers}
