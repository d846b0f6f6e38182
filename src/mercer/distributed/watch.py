"""Waiting for a Dask cluster: workers that are silent are restarted, lost ones brought back."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any

import dask
from dask.highlevelgraph import HighLevelGraph, MaterializedLayer
from distributed import CancelledError, Client, Future, KilledWorker

from mercer.distributed.partitions import Key

__all__ = ["Watch", "explained", "submit"]

RESTART_SECONDS = 30.0
"""Seconds in which a nanny ends a frozen process and starts another, before both are given up."""

SILENT_LOOKS = 4
"""Times in a row that a worker has given no sign of life before it is restarted."""

STEADY_LOOKS = 2
"""Times in a row that the same workers were there before rows are distributed to them anew."""

ALONE_PATIENCES = 10.0
"""Multiples of the patience after which a pass without any worker is given up."""


def submit(
    client: Client, graph: Any, keys: list[Key], placed: dict[str, Any] | None = None
) -> list[Future]:
    """Return futures of tasks.

    Parameters
    ----------
    client : distributed.Client
    graph : dict
    keys : list
    placed : dict from str to dict, optional
        Further tasks by the address of the worker that does them, if it lives.
    """
    everywhere = {**graph, **(placed or {}).get("", {})}
    layers = {"": MaterializedLayer(everywhere)}
    for address, own in (placed or {}).items():
        if address:
            prefer = {"workers": [address], "allow_other_workers": True}
            layers[address] = MaterializedLayer(own, prefer)
    whole = HighLevelGraph(layers, {name: {*layers} - {name} for name in layers})
    # Centres of some megabytes belong into the graph: from there they can be sent again.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "4 GiB"}):
        futures: list[Future] = client.get(whole, keys, sync=False)
    return futures


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


def lift(keys: list[Key], dask_scheduler: Any) -> None:
    """Let tasks be done by any worker: run by the scheduler.

    Tasks that prefer a worker wait for it if there was none at all when they became ready, also if
    others have come since.

    Parameters
    ----------
    keys : list
    dask_scheduler : distributed.Scheduler
    """
    known = {key for key in keys if key in dask_scheduler.tasks}
    dask_scheduler.set_restrictions(dict.fromkeys(known))
    stuck = {ts.key: "processing" for ts in dask_scheduler.unrunnable if ts.key in known}
    dask_scheduler.transitions(stuck, stimulus_id=f"mercer-lift-{time.time()}")


class Watch:
    """A client that waits for results and looks after the workers meanwhile.

    Parameters
    ----------
    client : distributed.Client
    patience : float
        As in :class:`mercer.distributed.cluster.Cluster`.
    """

    def __init__(self, client: Client, patience: float) -> None:
        self.client, self.patience = client, patience
        self._seen: dict[str, float] = {}
        self._silent: dict[str, int] = {}
        self.preferred: dict[str, list[Key]] = {}
        self._steady = 0
        self._factor = 1.0
        self._alone: float | None = None
        self._checked = time.monotonic()

    def place(self, graph: Any, keys: list[Key], placed: dict[str, Any]) -> list[Future]:
        """Return futures of tasks; see :func:`submit`. Tasks that were placed wait to be lifted."""
        for address, own in placed.items():
            if address:
                self.preferred.setdefault(address, []).extend(own)
        return submit(self.client, graph, keys, placed)

    def lift(self, there: Collection[str] = ()) -> None:
        """Let tasks that prefer a worker be done by any, but for those whose worker is there.

        Parameters
        ----------
        there : collection of str, optional
        """
        lifted = [address for address in self.preferred if address not in there]
        keys = [key for address in lifted for key in self.preferred.pop(address)]
        if keys:
            self.client.run_on_scheduler(lift, keys)

    @property
    def steady(self) -> set[str]:
        """Addresses of the workers, if these have not changed for some time; else none."""
        return set(self._seen) if self._steady >= STEADY_LOOKS else set()

    def result(
        self,
        futures: list[Future],
        sizes: list[int] | None = None,
        report: Callable[[int], object] | None = None,
    ) -> Any:
        """Wait for the last one, tell of the others as they are done, look after silent workers."""
        root, factor = futures[-1].key, self._factor
        left = dict(zip((future.key for future in futures), sizes or (), strict=False))
        waiting = futures[-1:] if report is None else list(futures)
        # What was added up is of no use any more: nobody else refers to a part that is told of, so
        # that workers hold few parts at a time.
        futures.clear()
        result: Any = None
        for future in self.finished(waiting):
            if future.key == root:
                with explained():
                    result = future.result()
            if report is not None and (n := left.get(future.key)):
                report(n)
        if factor == self._factor:
            self._factor = 1.0
        return result

    def finished(self, futures: list[Future]) -> Iterator[Future]:
        """Yield futures as they are done, let go of them, and look after silent workers."""
        done: SimpleQueue[Future] = SimpleQueue()
        left = {future.key: future for future in futures}
        futures.clear()
        for future in left.values():
            future.add_done_callback(done.put)
        with explained():
            while left:
                self.look()
                try:
                    ready = [done.get(timeout=1.0)]
                except Empty:
                    ready = [future for future in left.values() if future.done()]
                for future in ready:
                    if left.pop(future.key, None) is not None:
                        yield future

    def wait(self, futures: list[Future]) -> None:
        """Wait until all are done, and raise the error of one that failed."""
        if all(future.status == "finished" for future in futures):
            return
        for future in self.finished(list(futures)):
            if future.status != "finished":
                with explained():
                    future.result()

    def results(self, futures: list[Future]) -> Iterator[Any]:
        """Yield results as they are there, let go of them, and look after silent workers."""
        for future in self.finished(futures):
            with explained():
                result = future.result()
            yield result

    def workers(self) -> dict[str, Any]:
        """Return what the scheduler knows of its workers, by their addresses."""
        return dict(self.client.scheduler_info(n_workers=-1)["workers"])

    def look(self) -> None:
        """See to it that there are workers: bring back lost ones, restart silent ones.

        Looks four times in the time of one's patience: a worker is silent if none of them finds a
        sign of life.
        """
        now = time.monotonic()
        if now - self._checked < self.patience * self._factor / SILENT_LOOKS:
            return
        refill(self.client.cluster)
        workers = self.workers()
        if workers:
            self.lift(workers)
        self._alone = None if workers else self._alone or now
        if self._alone is not None and now - self._alone > ALONE_PATIENCES * self.patience:
            raise RuntimeError(
                f"the cluster has had no workers for {now - self._alone:.0f} s, so the pass cannot "
                "end. Start workers and fit again; a fit with a checkpoint goes on where it was"
            )
        gone = [address for address in self._seen if address not in workers]
        self._steady = 0 if gone or len(workers) != len(self._seen) else self._steady + 1
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
