"""Requests to blocks on workers, which keep what they know of their rows between them.

A worker keeps this beside its shard, under the name of the fit and not as the result of a task, and
it may be lost: with the worker, or because its partitions went to another. So every request has a
number, and the client a log of all of them. A worker that is asked for the next request answers; if
it was asked the same before and its answer was lost on the way, it repeats that answer; otherwise
it says that something is missing, and is sent the log, by which it comes to the same bits.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from uuid import uuid4

from mercer.data.base import Part, Step, Sums, kept_sums
from mercer.data.parts import PartialSums
from mercer.distributed.shards import Shard

__all__ = ["KeptOrder", "KeptShards", "MissingError"]

MAX_FITS = 8
"""Fits that a worker keeps something for; the oldest is forgotten, and can be made again."""


class MissingError(Exception):
    """What was kept of some partitions is not here."""


@dataclass
class _Partition:
    """What is kept of a partition, and how many requests it has answered."""

    number: int = 0
    blocks: dict[int, Any] = field(default_factory=dict)


@dataclass
class _Fit:
    """What a worker keeps for a fit."""

    partitions: dict[int, _Partition] = field(default_factory=dict)
    answers: dict[tuple[int, ...], tuple[int, PartialSums]] = field(default_factory=dict)
    """Number and sums of the last request, by the partitions that were asked."""
    lock: threading.Lock = field(default_factory=threading.Lock)


_fits: dict[str, _Fit] = {}
_lock = threading.Lock()


def _fit(name: str) -> _Fit:
    with _lock:
        while len(_fits) >= MAX_FITS and name not in _fits:
            _fits.pop(next(iter(_fits)))
        return _fits.setdefault(name, _Fit())


def forget(name: str) -> None:
    """Let go of what is kept for a fit: run by all workers."""
    with _lock:
        _fits.pop(name, None)


@dataclass(frozen=True)
class KeptOrder:
    """A request to every shard.

    Parameters
    ----------
    name : str
        Of the fit.
    step : callable
    shared : object
    request : object
    read : bool
    number : int
        Of the request.
    rows : int
    n_jobs : int, optional
    count : int
        Number of all partitions.
    log : tuple, optional
        Earlier requests, each with whether it reads.
    """

    name: str
    step: Step
    shared: Any
    request: Any
    read: bool
    number: int
    rows: int
    n_jobs: int | None
    count: int
    log: tuple[tuple[Any, bool], ...] | None = None

    def total(self, shard: Shard, shared: Any, n_jobs: int) -> PartialSums:
        """Return the sums over a shard, as the number of the request asks for."""
        fit, numbers = _fit(self.name), tuple(part.number for part in shard.parts)
        with fit.lock:
            before, sums = fit.answers.get(numbers, (-1, PartialSums(self.count)))
            if before == self.number:
                return sums
            for number in numbers:
                fit.partitions.setdefault(number, _Partition())
            behind = [p for p in shard.parts if fit.partitions[p.number].number != self.number]
            if behind and self.log is None:
                raise MissingError
            for part in behind:
                fit.partitions[part.number] = _Partition()
            for request, read in self.log or () if behind else ():
                self._ask(fit, behind, shared, request, read, n_jobs)
            sums = self._ask(fit, list(shard.parts), shared, self.request, self.read, n_jobs)
            fit.answers[numbers] = self.number, sums
            return sums

    def _ask(
        self, fit: _Fit, parts: list[Part], shared: Any, request: Any, read: bool, n_jobs: int
    ) -> PartialSums:
        """Have partitions answer a request; one that fails half way is forgotten."""
        kept = [fit.partitions.pop(part.number) for part in parts]
        blocks = [one.blocks for one in kept]
        sums = PartialSums(self.count)
        how: dict[str, Any] = {"read": read, "rows": self.rows, "n_jobs": n_jobs}
        for number, value in kept_sums(self.step, parts, shared, request, blocks, **how):
            sums.put(number, value)
        for part, one in zip(parts, kept, strict=True):
            fit.partitions[part.number] = replace(one, number=one.number + 1)
        return sums


class Shards(Protocol):
    """A cluster that can be asked."""

    client: Any
    keys: Any

    def ask(self, order: Any, shared: Any, again: Any = None) -> Any:
        """Return the sum of what all shards answer."""


class KeptShards:
    """Requests to the blocks of a cluster, in a context.

    Parameters
    ----------
    cluster : Shards
    step : callable
    shared : object
    rows : int
    n_jobs : int, optional
    """

    def __init__(
        self, cluster: Shards, step: Step, shared: Any, rows: int, n_jobs: int | None
    ) -> None:
        self.cluster, self.step, self.shared = cluster, step, shared
        self.rows, self.n_jobs = rows, n_jobs
        self.name = f"mercer-fit-{uuid4().hex}"
        self.log: list[tuple[Any, bool]] = []

    def __enter__(self) -> KeptShards:
        return self

    def __exit__(self, *_: object) -> None:
        self.cluster.client.run(forget, self.name, on_error="return")

    def __call__(self, request: Any, read: bool = False) -> Sums:
        """Return the sum of what all blocks answer; see :class:`mercer.data.base.Keeping`."""
        order = KeptOrder(
            self.name,
            self.step,
            None,
            request,
            read,
            len(self.log),
            self.rows,
            self.n_jobs,
            len(self.cluster.keys),
        )
        log = tuple(self.log)
        sums: Sums = self.cluster.ask(order, self.shared, again=replace(order, log=log))
        self.log.append((request, read))
        return sums
