"""Sums over partitions on a Dask cluster: which worker holds which rows, and the tasks of a pass.

Every worker holds a shard of neighbouring partitions. A pass is a task a shard, done where that is,
and a few that add what comes back; rows that are not held take a task a partition. Sums are added
in an order that depends on the number of partitions only (:mod:`mercer.data.parts`), so they have
the same bits whoever computed their parts, also after workers died and their parts were computed
again. Nothing is tied to a worker, and all that workers hold is the result of a task, so the
scheduler can have whatever was lost made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import accumulate
from typing import Any
from uuid import uuid4

from dask.optimization import cull
from distributed import Client, Future

from mercer.data.base import Block, Part, Step, Work
from mercer.data.memory import machine_bytes
from mercer.data.parts import PartialSums, map_blocks
from mercer.data.spill import Groups, Sort
from mercer.distributed.bundles import Bundles, bounds_of, shards_of
from mercer.distributed.keeping import KeptOrder, KeptShards, MissingError
from mercer.distributed.partitions import (
    Graph,
    Key,
    Parcel,
    PartitionRows,
    Partitions,
    Shard,
    counts,
    intervals,
    join_shard,
    make_shard,
    nth_block,
    pick,
    worker_threads,
)
from mercer.distributed.watch import Watch, submit

__all__ = ["Cluster"]

ANSWERS_PER_TASK = 8
"""Answers that one task adds: few enough to be in memory, enough for few levels."""

MAX_TRAVELLING_BYTES = 2**16
"""Bytes up to which what is shared travels with every pass; beyond, it stays with the rows."""

MAX_EMBEDDED_BYTES = 2**20
"""Bytes up to which what changes travels with every task of a pass, which saves a round trip."""

MAX_SHARED_OBJECTS = 4
"""Shared objects that stay with the rows at the same time."""

MAX_SCATTERED_PARTITIONS = 256
"""Partitions up to which persisted rows stay where they are, also if a worker's are no neighbours:
then nearly every partition is a summand that travels."""

MAX_SHARE = 1.25
"""Of the mean, what a worker may hold of persisted rows before some of them are moved."""


# A pass, on a worker ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Order:
    """What a pass asks of every shard."""

    work: Work
    shared: Any
    state: Any
    rows: int
    n_jobs: int | None
    count: int
    """Number of all partitions."""
    token: str = ""
    """Of what is shared, if it stays with the rows."""

    def total(self, parts: list[Part], shared: Any, n_jobs: int) -> PartialSums:
        """Return the sums over partitions."""
        how: dict[str, Any] = {"count": self.count, "rows": self.rows, "n_jobs": n_jobs}
        return map_blocks(self.work, parts, shared, self.state, **how)


@dataclass
class Answer:
    """Sums over some shards, and the places of those that lack what they are asked about."""

    sums: PartialSums
    missing: list[int] = field(default_factory=list)

    def __add__(self, other: Answer) -> Answer:
        return Answer(self.sums + other.sums, self.missing + other.missing)


def answer(
    place: int, shard: Shard, starts: list[int], order: Parcel, shared: Parcel | None
) -> Answer:
    """Return the sums over a shard: a task."""
    asked: Order | KeptOrder = order.value
    value, kept = asked.shared, shard.shared
    try:
        if asked.token and shared is not None and asked.token not in kept:
            while len(kept) >= MAX_SHARED_OBJECTS:
                kept.pop(next(iter(kept)))
            kept[asked.token] = shared.value
        elif asked.token and asked.token not in kept:
            raise MissingError
        value = kept[asked.token] if asked.token else value
        threads = worker_threads()
        return Answer(
            asked.total(shard.parts(starts), value, min(asked.n_jobs or threads, threads))
        )
    except MissingError:
        return Answer(PartialSums(asked.count), [place])


def add_answers(answers: list[Answer]) -> Answer:
    """Return the sum of answers: a task."""
    return sum(answers[1:], answers[0])


def same(value: Any) -> Any:
    """Return a value: a task whose result can be made again."""
    return value


# Where rows are -----------------------------------------------------------------------------------


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
        self.watch, self.keys = watch, keys
        self.groups = self._divide({}, sizes)
        self.shards = [
            self._place(address, graph, (make_shard, [list(keys[i]) for i in some], some, load))
            for address, some in self.groups.items()
        ]
        self.sizes = self._count() if sizes is None else sizes

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
        # From here on a shard that is lost is made again by whoever has time.
        self.watch.lift()
        return self.shards

    def _place(self, address: str, graph: Graph, task: tuple[Any, ...]) -> Future:
        """Have a worker make a shard if it lives, with all that it needs; "" prefers nobody."""
        key = f"mercer-shard-{uuid4().hex}"
        own, _ = cull({**graph, key: task}, [key])
        return self.watch.place({}, [key], {address: own})[0]

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
        """Count the rows of all partitions."""
        sizes: dict[int, int] = {}
        counted = [self.watch.client.submit(counts, shard, pure=False) for shard in self.shards]
        for numbers, future in zip(self.groups.values(), counted, strict=True):
            sizes.update(zip(numbers, self.watch.result([future]), strict=True))
        return [sizes[i] for i in range(len(self.keys))]

    def _move(self) -> None:
        """Divide the rows among the workers that are there now; those they have stay."""
        where = self.watch.client.who_has(self.shards)
        before = list(zip(self.groups.values(), self.shards, strict=True))
        held: dict[str, list[int]] = {}
        for numbers, shard in before:
            for address in where.get(shard.key, ())[:1]:
                held.setdefault(address, []).extend(numbers)
        owner = {i: shard for numbers, shard in before for i in numbers}
        whole = {tuple(numbers): shard for numbers, shard in before}
        self.groups, shards = self._divide(held, self.sizes), []
        for address, numbers in self.groups.items():
            shard = whole.get(tuple(numbers))
            if shard is None or held.get(address) != numbers:
                # Rows are picked where they lie, so these tasks prefer nobody.
                picked = [self.watch.client.submit(pick, owner[i], i, pure=False) for i in numbers]
                shard = self._place(address, {}, (join_shard, picked, numbers))
            shards.append(shard)
        self.shards = shards


def _nearby(places: list[Any], workers: list[str]) -> dict[str, list[int]]:
    """Return partitions by the workers that have them, or by others where these have too many."""
    groups: dict[str, list[int]] = {address: [] for address in workers}
    most = max(1.0, MAX_SHARE * len(places) / len(workers))
    homeless: list[int] = []
    for i, some in enumerate(places):
        home = next((a for a in some if a in groups and len(groups[a]) + 1 <= most), None)
        (homeless if home is None else groups[home]).append(i)
    for i in homeless:
        min(groups.values(), key=len).append(i)
    return {address: sorted(numbers) for address, numbers in groups.items() if numbers}


# The source ---------------------------------------------------------------------------------------


class Cluster(Partitions):
    """Partitions on the workers of a Dask cluster.

    Parameters
    ----------
    graph, keys, n_features, sizes, feature_names, places :
        As in :class:`Partitions`.
    client : distributed.Client
    hold : bool, default=True
        Keep partitions in the memory of the workers after they were first computed; if not, every
        pass computes them again.
    load : bool, default=True
        Whether a partition of a file is kept as its rows; if not, as a note of where they are, and
        every pass reads them.
    patience : float, default=60
        Seconds without a sign of life after which a worker is restarted, or dropped if it has no
        nanny, and its part of a pass is done by others. Twice as long after each time, until a pass
        was made without. Ten times as long without any worker ends the fit.

    Notes
    -----
    What is shared goes once to every worker and stays there, beside the rows.
    """

    def __init__(
        self,
        *args: Any,
        client: Client,
        hold: bool = True,
        load: bool = True,
        patience: float = 60.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        if client.asynchronous:
            raise ValueError("a fit waits for its sums; give it a Client(asynchronous=False)")
        self.client, self.hold, self.load = client, hold, load
        self.watch = Watch(client, patience)
        self._holding: Holding | None = None
        self._sent: dict[str, Future] = {}
        self._last: tuple[Any, Parcel, str] | None = None

    @property
    def holding(self) -> Holding:
        """What workers hold, from the first pass on."""
        if self._holding is None:
            self._holding = Holding(self.watch, self.graph, self.keys, self.sizes, self.load)
            self.sizes = self._holding.sizes
        return self._holding

    def partition(self, i: int) -> PartitionRows:
        if self._holding is None:
            key = f"mercer-rows-{self.name}-{i}"
            held: PartitionRows = self.client.get({**self.graph, key: self.task(i)}, key)
        else:
            held = self.watch.result([self.client.submit(pick, self.holding[i], i, pure=False)])
        return held

    def blocks(self, rows: int) -> Iterator[Block]:
        if not (self.hold and self.load):
            yield from super().blocks(rows)
            return
        sizes = self.holding.sizes
        for i, (start, n) in enumerate(zip(starts_of(sizes), sizes, strict=True)):
            for k in range(-(-n // rows)):
                wanted = self.client.submit(nth_block, self.holding[i], i, rows, k, pure=False)
                block: Block = self.watch.result([wanted])
                yield block._replace(start=start + block.start)

    def total(
        self,
        work: Work,
        shared: Any = None,
        state: Any = None,
        *,
        rows: int = 4096,
        report: Callable[[int], object] | None = None,
        n_jobs: int | None = None,
    ) -> Any:
        """Return the sum of ``work(block, shared, state)`` over all blocks, from the cluster.

        The parameters are those of :meth:`mercer.data.Source.total`; `n_jobs` is the number of
        threads of a worker that work on its rows, by default all of them. Rows that are held are
        told to `report` when the pass ends, others as they are done.
        """
        order = Order(work, None, state, rows, n_jobs, len(self.keys))
        return self.ask(order, shared, report=report)

    @property
    def memory(self) -> float:  # type: ignore[override]
        """Bytes that all workers have beside the rows."""
        limits = [float(worker["memory_limit"] or 0) for worker in self.watch.workers().values()]
        # Workers without a limit are taken to be on this machine, which they share.
        whole = sum(limits) if limits and all(limits) else float(machine_bytes())
        rows = 8.0 * sum(self.sizes or ()) * (self.n_features + 2) if self.load else 0.0
        return max(0.0, whole - rows)

    def keeping(self, step: Step, shared: Any, *, rows: int, n_jobs: int | None = None) -> Any:
        """Return requests to blocks on the workers; see :meth:`mercer.data.Source.keeping`."""
        return KeptShards(self, step, shared, rows, n_jobs)

    def ask(
        self,
        order: Order | KeptOrder,
        shared: Any,
        log: tuple[Any, ...] | None = None,
        report: Callable[[int], object] | None = None,
    ) -> Any:
        """Return the sum of what all shards answer.

        Parameters
        ----------
        order : Order or KeptOrder
        shared : object
            What goes to every worker once, if it is large.
        log : tuple, optional
            Earlier requests, for shards that lack what they kept.
        report : callable, optional
            Told the number of rows that are done.
        """
        parcel, token = self._packed(shared)
        order = replace(order, shared=None if token else shared, token=token)
        fresh = token not in self._sent
        sent = self._send(token, parcel) if parcel is not None else None
        if self.hold:
            graph: Graph = {}
            shards: list[Key] = list(self.holding.update())
            groups = list(self.holding.groups.values())
        else:
            graph, shards, groups = self._unheld()
        starts = starts_of(self._counted())
        begins = [[starts[i] for i in some] for some in groups]
        asked = [*zip(range(len(shards)), shards, begins, strict=True)]
        told = None if self.hold else report
        given = sent if fresh or not self.hold else None
        result = self._by_tasks(graph, asked, Parcel.of(order), given, told)
        if result.missing:
            # Shards that were made again, or are elsewhere, are told all they need to know.
            order = replace(order, log=log) if isinstance(order, KeptOrder) else order
            asked = [asked[i] for i in sorted(result.missing)]
            result.missing = []
            result += self._by_tasks({}, asked, Parcel.of(order), sent)
        for n in self.holding.sizes if self.hold and report is not None else ():
            report(n)  # type: ignore[misc]
        total = result.sums.total
        if total is None:
            raise ValueError("the source has no rows")
        return total

    def _by_tasks(
        self,
        graph: Graph,
        asked: list[tuple[int, Key, list[int]]],
        order: Parcel,
        shared: Future | None,
        report: Callable[[int], object] | None = None,
    ) -> Answer:
        """Return the sums over shards by a task for each, added up by further tasks."""
        name, level = uuid4().hex, 0
        sent: Any = order
        if len(order.data) * len(asked) > MAX_EMBEDDED_BYTES:
            # Too much to go with every task: a task of its own, whose result workers pass on.
            sent = f"mercer-order-{name}"
            graph[sent] = (same, order)
        parts: list[Key] = [(f"mercer-part-{name}", place) for place, _, _ in asked]
        held = [shard for _, shard, _ in asked if isinstance(shard, Future)]
        where = self.client.who_has(held) if held else {}
        placed: dict[str, Graph] = {}
        for key, one in zip(parts, asked, strict=True):
            # Where the shard is: the scheduler would move small ones to what is shared.
            address = next(iter(where.get(getattr(one[1], "key", None), ())), "")
            placed.setdefault(address, {})[key] = (answer, *one, sent, shared)
        keys = parts
        while len(keys) > 1:
            some = [keys[j : j + ANSWERS_PER_TASK] for j in range(0, len(keys), ANSWERS_PER_TASK)]
            keys = [(f"mercer-sum-{name}-{level}", j) for j in range(len(some))]
            graph.update((key, (add_answers, one)) for key, one in zip(keys, some, strict=True))
            level += 1
        futures = self.watch.place(graph, [*parts, *keys] if level else parts, placed)
        result: Answer = self.watch.result(futures, self.sizes, report)
        self.watch.preferred.clear()
        return result

    @contextmanager
    def sorted(
        self,
        sort: Sort,
        groups: int,
        *,
        rows: int = 65_536,
        **local: Any,
    ) -> Iterator[Groups]:
        """Sort the rows to groups on the workers, which hold them, or put them on disk themselves.

        The parameters are those of :meth:`mercer.data.Source.sorted`; where rows are kept on this
        machine has no meaning here.
        """
        sizes = self._counted()
        nbytes = 8.0 * sum(sizes) * (self.n_features + 3)
        workers = self.watch.workers().values()
        memory = min((float(w["memory_limit"] or 0) for w in workers), default=0.0)
        if self.hold:
            graph: Graph = {}
            shards: list[Key] = list(self.holding.update())
            numbers = list(self.holding.groups.values())
        else:
            # Every shard has a piece for every bundle: as few shards as memory permits.
            joined = shards_of(len(self.keys), nbytes, len(workers), memory)
            graph, shards, numbers = self._unheld(intervals(sizes, [1.0] * joined))
        starts = starts_of(sizes)
        begins = [[starts[i] for i in some] for some in numbers]
        bounds = bounds_of(groups, len(shards), nbytes, len(workers), memory)
        threads = sum(int(w["nthreads"]) for w in workers)
        given = list(zip(shards, begins, strict=True))
        bundles = Bundles(self.watch, graph, given, sort, bounds, rows, threads)
        try:
            yield bundles
        finally:
            bundles.futures.clear()

    def _unheld(
        self, groups: list[range] | None = None
    ) -> tuple[Graph, list[Key], list[list[int]]]:
        """Return tasks that read partitions as shards, each alone by default; and their numbers."""
        groups = [range(i, i + 1) for i in range(len(self.keys))] if groups is None else groups
        groups, name, made = [some for some in groups if some], uuid4().hex, {}
        for some in groups:
            raw = [list(self.keys[i]) for i in some]
            made[f"mercer-shard-{name}", some[0]] = (make_shard, raw, list(some), self.load)
        return {**self.graph, **made}, list(made), [list(some) for some in groups]

    def _counted(self) -> list[int]:
        """Return the rows of every partition, counted if they must be."""
        if self.hold:
            return self.holding.sizes
        if self.sizes is None:
            graph, keys, _ = self._unheld()
            counted: list[Key] = [(f"mercer-count-{uuid4().hex}", i) for i in range(len(keys))]
            graph.update((k, (counts, one)) for k, one in zip(counted, keys, strict=True))
            futures = submit(self.client, graph, counted)
            self.sizes = [self.watch.result([future])[0] for future in futures]
        return self.sizes

    def _packed(self, shared: Any) -> tuple[Parcel | None, str]:
        """Return what is shared, packed, with a token of its content; None if it is small."""
        if shared is None:
            return None, ""
        if self._last is None or self._last[0] is not shared:
            parcel = Parcel.of(shared)
            large = len(parcel.data) > MAX_TRAVELLING_BYTES
            self._last = (shared, parcel, sha256(parcel.data).hexdigest() if large else "")
        _, parcel, token = self._last
        return (parcel, token) if token else (None, "")

    def _send(self, token: str, parcel: Parcel) -> Future:
        """Return what is shared as a result that tasks can ask for."""
        if token not in self._sent:
            while len(self._sent) >= MAX_SHARED_OBJECTS:
                self._sent.pop(next(iter(self._sent)))
            name = f"mercer-shared-{token}"
            self._sent[token] = submit(self.client, {name: (same, parcel)}, [name])[0]
        return self._sent[token]


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
