"""Sums over partitions on a Dask cluster: where the work of a pass is done.

One task a partition, added up in a tree whose shape depends on the number of partitions only. So a
sum has the same bits whoever computed its parts, also after workers died and their parts were
computed again. Nothing is pinned to a worker, and all that workers hold is the result of a task, so
the scheduler can have whatever was lost made again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial, reduce
from hashlib import sha256
from itertools import accumulate, islice
from operator import add
from queue import Empty, SimpleQueue
from typing import Any
from uuid import uuid4

import dask
from distributed import CancelledError, Client, Future, KilledWorker, get_worker

from mercer.data.base import Block, Work
from mercer.data.spill import Groups, Sort
from mercer.distributed.bundles import Bundles, bounds_of
from mercer.distributed.partitions import Graph, Key, Parcel, PartitionRows, Partitions

__all__ = ["Cluster"]

SUMMANDS_PER_TASK = 8
"""Summands that one task adds: few enough to be in memory, enough for few levels."""

MAX_TRAVELLING_BYTES = 2**16
"""Bytes up to which what is shared travels with every pass; beyond, it stays with the rows."""

RESTART_SECONDS = 30.0
"""Seconds in which a nanny ends a frozen process and starts another, before both are given up."""

MAX_EMBEDDED_BYTES = 2**20
"""Bytes up to which what changes travels with every task of a pass, which saves a round trip."""

SILENT_LOOKS = 4
"""Times in a row that a worker has given no sign of life before it is restarted."""

ALONE_PATIENCES = 10.0
"""Multiples of the patience after which a pass without any worker is given up."""

MAX_BOUND_OBJECTS = 4
"""Shared objects that stay with the rows at the same time."""


@dataclass(frozen=True)
class Order:
    """What a pass asks of every partition."""

    work: Work
    shared: Any
    state: Any
    rows: int
    n_jobs: int


def placed(work: Work, start: int, block: Block, shared: Any, state: Any) -> Any:
    """Return work on a block that knows its place in the whole."""
    return work(block._replace(start=block.start + start), shared, state)


def same(value: Any) -> Any:
    """Return a value: a task whose result can be made again."""
    return value


def bind(held: PartitionRows, shared: Parcel) -> PartitionRows:
    """Return a partition together with what all passes share."""
    return replace(held, shared=shared)


def nth_block(held: PartitionRows, rows: int, k: int) -> Block:
    """Return one block of a partition."""
    assert held.source is not None
    return next(islice(held.source.blocks(rows), k, None))


def counted(held: PartitionRows) -> int:
    """Return the number of rows of a partition."""
    return held.n


def worked(
    held: PartitionRows, shared: Parcel | None, order: Parcel, number: int, start: int
) -> Any:
    """Return the sum over a partition, None if it is empty."""
    if held.source is None:
        return None
    asked: Order = order.value
    parcel = shared or held.shared
    common = asked.shared if parcel is None else parcel.value
    n_jobs = min(asked.n_jobs, int(get_worker().state.nthreads))
    try:
        return held.source.total(
            partial(placed, asked.work, start), common, asked.state, rows=asked.rows, n_jobs=n_jobs
        )
    except Exception as error:
        error.add_note(f"in partition {number}")
        raise


def added(parts: list[Any]) -> Any:
    """Return the sum of what is there, in order."""
    present = [part for part in parts if part is not None]
    return reduce(add, present) if present else None


async def give_up(workers: list[str], dask_scheduler: Any) -> None:
    """Have workers restarted by their nannies, or dropped if they have none: run by the scheduler.

    Parameters
    ----------
    workers : list of str
        Addresses.
    dask_scheduler : distributed.Scheduler
    """
    await dask_scheduler.restart_workers(
        workers,
        timeout=RESTART_SECONDS,
        wait_for_workers=False,
        on_error="return",
        stimulus_id=f"mercer-silent-{time.time()}",
    )


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
    A pass ships the state once to every worker, one summand a partition up the tree, and one to the
    client. What is shared goes once to every worker and stays there, beside the rows.
    """

    here = False

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
        self.client, self.hold, self.load, self.patience = client, hold, load, patience
        self._rows: list[Future] | None = None
        self._bound: dict[str, list[Future]] = {}
        self._last: tuple[Any, Parcel] | None = None
        self._seen: dict[str, float] = {}
        self._silent: dict[str, int] = {}
        self._factor = 1.0
        self._alone: float | None = None
        self._checked = time.monotonic()
        self._threads = 0

    def partition(self, i: int) -> PartitionRows:
        if self._rows is not None:
            held: PartitionRows = self._result([self._rows[i]])
        else:
            key = f"mercer-rows-{self.name}-{i}"
            held = self.client.get({**self.graph, key: self.task(i)}, key)
        return held

    def blocks(self, rows: int) -> Iterator[Block]:
        if not (self.hold and self.load):
            yield from super().blocks(rows)
            return
        _, inputs = self._partitions()
        starts, sizes = self._starts(), self.sizes or []
        for one, start, n in zip(inputs, starts, sizes, strict=True):
            for k in range(-(-n // rows)):
                wanted = self.client.submit(nth_block, one, rows, k, pure=False)
                block: Block = self._result([wanted])
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
        threads on one partition, by default one unless there are fewer partitions than threads.
        """
        graph, inputs = self._partitions()
        starts, sizes = self._starts(), self.sizes
        assert sizes is not None
        large: Future | None = None
        if shared is not None:
            shared, large, inputs = self._share(shared, inputs)
        name = f"mercer-pass-{uuid4().hex}"
        order = Order(work, shared, state, rows, n_jobs or self._jobs())
        sent: Any = Parcel.of(order)
        if len(sent.data) * len(inputs) > MAX_EMBEDDED_BYTES:
            # Too much to go with every task: a task of its own, whose result workers pass on.
            graph[name], sent = (same, sent), name
        parts = [(f"mercer-part-{name[12:]}", i) for i in range(len(inputs))]
        for i, key in enumerate(parts):
            graph[key] = (worked, inputs[i], large, sent, i, starts[i])
        root = _tree(graph, parts, f"mercer-sum-{name[12:]}")
        futures = self._submit(graph, parts if root in parts else [*parts, root])
        result = self._result(futures, sizes, report)
        if result is None:
            raise ValueError("the source has no rows")
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
        graph, inputs = self._partitions()
        starts = self._starts()
        nbytes = 8.0 * sum(self.sizes or ()) * (self.n_features + 3)
        threads = [int(w["nthreads"]) for w in self._workers().values()]
        bounds = bounds_of(groups, len(inputs), nbytes, len(threads))
        bundles = Bundles(
            graph, inputs, starts, sort, bounds, rows, sum(threads), self._submit, self._results
        )
        try:
            yield bundles
        finally:
            bundles.close()

    def _submit(self, graph: Graph, keys: list[Key]) -> list[Future]:
        # Centres of some megabytes belong into the graph: from there they can be sent again.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "4 GiB"}):
            futures: list[Future] = self.client.get(graph, keys, sync=False)
        return futures

    def _partitions(self) -> tuple[Graph, list[Key]]:
        """Return tasks and what of them, or of what is held, gives the partitions."""
        if self._rows is None:
            keys = [f"mercer-rows-{self.name}-{i}" for i in range(len(self.keys))]
            tasks = {key: self.task(i, self.load) for i, key in enumerate(keys)}
            if not self.hold:
                return {**self.graph, **tasks}, keys
            self._rows = self._submit({**self.graph, **tasks}, keys)
        return {}, list(self._rows)

    def _starts(self) -> list[int]:
        """Return the number of the first row of every partition."""
        if self.sizes is None:
            graph, inputs = self._partitions()
            keys = [(f"mercer-count-{uuid4().hex}", i) for i in range(len(inputs))]
            graph.update((key, (counted, one)) for key, one in zip(keys, inputs, strict=True))
            self.sizes = [self._result([future]) for future in self._submit(graph, keys)]
        return list(accumulate(self.sizes, initial=0))[:-1]

    def _share(self, shared: Any, inputs: list[Key]) -> tuple[Any, Future | None, list[Key]]:
        """Return what is small, or what is large, or partitions that have it already."""
        if self._last is None or self._last[0] is not shared:
            self._last = (shared, Parcel.of(shared))
        parcel = self._last[1]
        if len(parcel.data) <= MAX_TRAVELLING_BYTES:
            return shared, None, inputs
        token = sha256(parcel.data).hexdigest()
        if token not in self._bound:
            while len(self._bound) >= MAX_BOUND_OBJECTS:
                self._bound.pop(next(iter(self._bound)))
            name = f"mercer-shared-{token}"
            graph: Graph = {name: (same, parcel)}
            names: list[Key] = [name]
            if self.hold:
                # A copy that no task waits for is dropped by the scheduler; beside rows it stays.
                names = [(f"mercer-bound-{self.name}{token}", i) for i in range(len(inputs))]
                graph.update((k, (bind, one, name)) for k, one in zip(names, inputs, strict=True))
            self._bound[token] = self._submit(graph, names)
        self._bound[token] = futures = self._bound.pop(token)
        return (None, None, list(futures)) if self.hold else (None, futures[0], inputs)

    def _jobs(self) -> int:
        """Return the number of threads on a partition: more than one where partitions are few."""
        if not self._threads:
            self._threads = sum(int(w["nthreads"]) for w in self._workers().values())
        return max(1, self._threads // max(1, len(self.keys)))

    def _result(
        self,
        futures: list[Future],
        sizes: list[int] | None = None,
        report: Callable[[int], object] | None = None,
    ) -> Any:
        """Wait for the last one, tell of the others as they are done, look after silent workers."""
        done: SimpleQueue[Future] = SimpleQueue()
        restarts = self._factor
        root = futures[-1]
        left = {f.key: n for f, n in zip(futures, sizes or (), strict=False)}
        for future in futures if report is not None else [root]:
            future.add_done_callback(done.put)
        # What was added up is of no use any more: only the queue refers to a part, until it is told
        # of, so that workers hold few parts at a time.
        futures.clear()
        with explained():
            for future in _until(root, done, self._look):
                n = left.pop(future.key, 0)
                if report is not None and n:
                    report(n)
            result = root.result()
        if restarts == self._factor:
            self._factor = 1.0
        if report is not None:
            for n in left.values():
                report(n)
        return result

    def _results(self, futures: list[Future]) -> Iterator[Any]:
        """Yield results as they are there, let go of them, and look after silent workers."""
        done: SimpleQueue[Future] = SimpleQueue()
        left = {future.key: future for future in futures}
        futures.clear()
        for future in left.values():
            future.add_done_callback(done.put)
        with explained():
            while left:
                self._look()
                try:
                    ready = [done.get(timeout=1.0)]
                except Empty:
                    ready = [future for future in left.values() if future.done()]
                for future in ready:
                    if left.pop(future.key, None) is not None:
                        yield future.result()

    def _workers(self) -> dict[str, Any]:
        """Return what the scheduler knows of its workers, by their addresses."""
        return dict(self.client.scheduler_info(n_workers=-1)["workers"])

    def _look(self) -> None:
        """See to it that there are workers: bring back lost ones, restart silent ones.

        Looks four times in the time of one's patience: a worker is silent if none of them finds a
        sign of life.
        """
        now = time.monotonic()
        if now - self._checked < self.patience * self._factor / SILENT_LOOKS:
            return
        refill(self.client.cluster)
        workers = self._workers()
        self._alone = None if workers else self._alone or now
        if self._alone is not None and now - self._alone > ALONE_PATIENCES * self.patience:
            raise RuntimeError(
                f"the cluster has had no workers for {now - self._alone:.0f} s, so the pass cannot "
                "end. Start workers and fit again; a fit with a checkpoint goes on where it was"
            )
        seen = {address: float(worker["last_seen"]) for address, worker in workers.items()}
        self._silent = {
            address: self._silent.get(address, 0) + 1 if self._seen.get(address) == when else 0
            for address, when in seen.items()
        }
        self._seen, self._checked = seen, time.monotonic()
        silent = [address for address, looks in self._silent.items() if looks >= SILENT_LOOKS]
        if silent:
            # A machine that is overloaded has workers that live and are silent: to restart them
            # again and again would mean that no pass ever ends, so every time waits twice as long.
            self._factor *= 2.0
            self._silent = {}
            self.client.run_on_scheduler(give_up, silent)


@contextmanager
def explained() -> Iterator[None]:
    """Say what it means that workers died, or that data is lost."""
    try:
        yield
    except KilledWorker as error:
        error.add_note(
            "Several workers died while they worked on this partition: most often it does not "
            "fit into the memory of one. Make partitions smaller or workers larger."
        )
        raise
    except CancelledError as error:
        raise RuntimeError(
            "the cluster lost data that it cannot compute again, or was shut down. Rows that "
            "were only scattered go with their worker: build the collection from tasks."
        ) from error


def refill(cluster: Any) -> None:
    """Have a cluster start again workers that it has given up for lost.

    A LocalCluster closes a worker that was away for `distributed.deploy.lost-worker-timeout`, 15 s.
    On a busy machine a nanny needs longer than that to start a process, and the cluster would go on
    with a worker less for ever.

    Parameters
    ----------
    cluster : distributed.deploy.Cluster or None
        Only one that knows which workers it should have is asked.
    """
    wanted, there = (getattr(cluster, name, None) for name in ("worker_spec", "workers"))
    if wanted and there is not None and len(there) < len(wanted):
        cluster.scale(len(wanted))


def _until(root: Future, done: SimpleQueue[Future], look: Callable[[], None]) -> Iterator[Future]:
    """Yield futures as they are done, up to the last one; look at the start and once a second.

    A pass of less than a second looks too: many short passes would go on with half their workers.
    """
    while True:
        look()
        try:
            future = done.get(timeout=1.0)
        except Empty:
            if root.done():
                return
        else:
            yield future
            if future is root:
                return


def _tree(graph: Graph, keys: list[Key], name: str) -> Key:
    """Add tasks that sum up the results of others, and return the name of the last one."""
    level = 0
    while len(keys) > 1:
        groups = [keys[j : j + SUMMANDS_PER_TASK] for j in range(0, len(keys), SUMMANDS_PER_TASK)]
        keys = [(f"{name}-{level}", j) for j in range(len(groups))]
        graph.update((key, (added, group)) for key, group in zip(keys, groups, strict=True))
        level += 1
    return keys[0]
