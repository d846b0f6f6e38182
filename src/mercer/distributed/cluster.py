"""Sums over partitions on a Dask cluster: where the work of a pass is done.

Every worker holds a shard of neighbouring partitions. A pass is one task of the scheduler, whose
worker asks the others for their sums by a tree of calls (:mod:`mercer.distributed.reduction`); rows
that are not held take a task a partition. Sums are added in an order that depends on the number of
partitions only, so they have the same bits whoever computed their parts, also after workers died
and their parts were computed again. Nothing is tied to a worker, and all that workers hold is the
result of a task, so the scheduler can have whatever was lost made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from uuid import uuid4

from distributed import Client, Future

from mercer.data.base import Block, Step, Work
from mercer.data.memory import machine_bytes
from mercer.data.parts import PartialSums
from mercer.data.spill import Groups, Sort
from mercer.distributed.bundles import Bundles, bounds_of, max_bytes, shards_of
from mercer.distributed.holding import Holding, same, starts_of, submit, token_of
from mercer.distributed.keeping import KeptOrder, KeptShards
from mercer.distributed.partitions import Graph, Key, Parcel, PartitionRows, Partitions
from mercer.distributed.reduction import (
    Answer,
    Member,
    Order,
    add_answers,
    answer_alone,
    answer_as_root,
)
from mercer.distributed.shards import counts, intervals, make_shard, nth_block, pick
from mercer.distributed.watch import Watch

__all__ = ["Cluster"]

ANSWERS_PER_TASK = 8
"""Answers that one task adds: few enough to be in memory, enough for few levels."""

MAX_TRAVELLING_BYTES = 2**16
"""Bytes up to which what is shared travels with every pass; beyond, it stays with the rows."""

MAX_EMBEDDED_BYTES = 2**20
"""Bytes up to which what changes travels with every task of a pass, which saves a round trip."""


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
    A pass ships the state down a tree of workers, and sums up the same tree: a few nodes for every
    worker. What is shared goes once to every worker and stays there, beside the rows.
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
    def keeps(self) -> bool:  # type: ignore[override]
        """Whether workers hold rows, beside which they can keep what is known of them."""
        return self.hold

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
        again: KeptOrder | None = None,
        report: Callable[[int], object] | None = None,
    ) -> Any:
        """Return the sum of what all shards answer.

        Parameters
        ----------
        order : Order or KeptOrder
        shared : object
            What goes to every worker once, if it is large.
        again : KeptOrder, optional
            What shards are asked that miss what they kept.
        report : callable, optional
            Told the number of rows that are done.
        """
        parcel, token = self._packed(shared)
        if parcel is None:
            order = replace(order, shared=shared)
            again = None if again is None else replace(again, shared=shared)
        packed = Parcel.of(order)
        if self.hold:
            shards = list(self.holding.update())
            if parcel is not None:
                shards = list(self.holding.with_shared(token, parcel))
            answer = self._by_tree(shards, packed, again)
            for n in self.holding.sizes if report is not None else ():
                report(n)  # type: ignore[misc]
        else:
            graph, keys = self._unheld()
            large = None if parcel is None else self._send(token, parcel)
            answer = self._by_tasks(graph, keys, packed, large, report)
        total = answer.sums.total
        if total is None:
            raise ValueError("the source has no rows")
        return total

    def _by_tree(
        self, shards: list[Future], order: Parcel, again: KeptOrder | None = None
    ) -> Answer:
        """Return the sums over shards by calls from worker to worker, and by tasks where they fail.

        The scheduler is asked where shards lie, and has one task.
        """
        self.watch.wait(shards)
        # From here on a shard that is lost is made again by whoever has time.
        self.watch.lift()
        where = {key: some[0] for key, some in self.client.who_has(shards).items() if some}
        held: dict[str, list[tuple[int, Key]]] = {}
        missing = []
        for i, shard in enumerate(shards):
            if shard.key in where:
                held.setdefault(where[shard.key], []).append((i, shard.key))
            else:
                missing.append(i)
        answer = Answer(PartialSums(len(self.keys)), missing)
        if held:
            # The root is the worker of the first shard, and goes where that is.
            first, *others = (Member(address, tuple(some)) for address, some in held.items())
            (root, _), rest = first.shards[0], first.shards[1:]
            members = [Member(first.address, rest)] * bool(rest) + others
            key = f"mercer-pass-{uuid4().hex}"
            task = (answer_as_root, shards[root], root, order, Parcel.of((first.address, members)))
            answer += self.watch.result(submit(self.client, {key: task}, [key]))
        if answer.errors:
            raise min(answer.errors, key=lambda one: one[0])[1]
        if answer.missing:
            lost = [shards[i] for i in sorted(answer.missing)]
            answer += self._by_tasks({}, lost, order if again is None else Parcel.of(again))
        return answer

    def _by_tasks(
        self,
        graph: Graph,
        shards: list[Key],
        order: Parcel,
        shared: Future | None = None,
        report: Callable[[int], object] | None = None,
    ) -> Answer:
        """Return the sums over shards by a task for each, added up by further tasks."""
        name = uuid4().hex
        sent: Any = order
        if len(order.data) * len(shards) > MAX_EMBEDDED_BYTES:
            # Too much to go with every task: a task of its own, whose result workers pass on.
            sent = f"mercer-order-{name}"
            graph[sent] = (same, order)
        parts: list[Key] = [(f"mercer-part-{name}", i) for i in range(len(shards))]
        for key, one in zip(parts, shards, strict=True):
            graph[key] = (answer_alone, one, sent, shared)
        root = _tree(graph, parts, f"mercer-sum-{name}")
        futures = submit(self.client, graph, parts if root in parts else [*parts, root])
        answer: Answer = self.watch.result(futures, self.sizes, report)
        return answer

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
        nbytes = 8.0 * sum(self._counted()) * (self.n_features + 3)
        workers = self.watch.workers().values()
        memory = min((float(w["memory_limit"] or 0) for w in workers), default=0.0)
        graph: Graph = {}
        if self.hold:
            shards: list[Key] = list(self.holding.update())
        else:
            # Every shard has a piece for every bundle: as few shards as memory permits.
            graph, shards = self._unheld(shards_of(len(self.keys), nbytes, len(workers), memory))
        bounds = bounds_of(groups, len(shards), nbytes, len(workers), memory)
        threads = sum(int(w["nthreads"]) for w in workers)
        most = max_bytes(memory)
        bundles = Bundles(graph, shards, sort, bounds, rows, threads, self.watch, most)
        try:
            yield bundles
        finally:
            bundles.close()

    def _unheld(self, shards: int | None = None) -> tuple[Graph, list[Key]]:
        """Return tasks that read the partitions: each a shard, or neighbours together."""
        starts, n = starts_of(self._counted()), len(self.keys)
        groups = [range(i, i + 1) for i in range(n)]
        if shards is not None:
            groups = [some for some in intervals(self._counted(), [1.0] * shards) if some]
        return self._shard_tasks(groups, starts)

    def _shard_tasks(self, groups: list[range], starts: list[int]) -> tuple[Graph, list[Key]]:
        name, made = uuid4().hex, {}
        for some in groups:
            raw, begin = [list(self.keys[i]) for i in some], [starts[i] for i in some]
            made[f"mercer-shard-{name}", some[0]] = (make_shard, raw, list(some), begin, self.load)
        return {**self.graph, **made}, list(made)

    def _counted(self) -> list[int]:
        """Return the rows of every partition, counted if they must be."""
        if self.hold:
            return self.holding.sizes
        if self.sizes is None:
            n = len(self.keys)
            graph, keys = self._shard_tasks([range(i, i + 1) for i in range(n)], [0] * n)
            counted: list[Key] = [(f"mercer-count-{uuid4().hex}", i) for i in range(n)]
            graph.update((k, (counts, one)) for k, one in zip(counted, keys, strict=True))
            found = submit(self.client, graph, counted)
            self.sizes = [self.watch.result([future])[0] for future in found]
        return self.sizes

    def _packed(self, shared: Any) -> tuple[Parcel | None, str]:
        """Return what is shared, packed, with its token; None if it is small."""
        if shared is None:
            return None, ""
        if self._last is None or self._last[0] is not shared:
            parcel = Parcel.of(shared)
            large = len(parcel.data) > MAX_TRAVELLING_BYTES
            self._last = (shared, parcel, token_of(parcel) if large else "")
        _, parcel, token = self._last
        return (parcel, token) if token else (None, "")

    def _send(self, token: str, parcel: Parcel) -> Future:
        """Return what is shared as a result that tasks can ask for."""
        if token not in self._sent:
            name = f"mercer-shared-{token}"
            self._sent = {token: submit(self.client, {name: (same, parcel)}, [name])[0]}
        return self._sent[token]


def _tree(graph: Graph, keys: list[Key], name: str) -> Key:
    """Add tasks that sum up the results of others, and return the name of the last one."""
    level = 0
    while len(keys) > 1:
        groups = [keys[j : j + ANSWERS_PER_TASK] for j in range(0, len(keys), ANSWERS_PER_TASK)]
        keys = [(f"{name}-{level}", j) for j in range(len(groups))]
        graph.update((key, (add_answers, group)) for key, group in zip(keys, groups, strict=True))
        level += 1
    return keys[0]
