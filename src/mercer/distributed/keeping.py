"""Requests to blocks on workers, which keep what they know of their rows between them.

A worker keeps this beside its shard, under the name of the fit and not as the result of a task, and
it may be lost: with the worker, or because its partitions went to another. So every request has a
number, and the client a log of all of them. A worker that is asked for the next request answers;
otherwise, also if it is asked the same again, it says that something is missing, and is sent the
log, by which it comes to the same bits.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from mercer.data.base import Part, Step, Sums, kept_sums
from mercer.data.parts import PartialSums

__all__ = ["KeptOrder", "KeptShards", "MissingError"]

MAX_FITS = 8
"""Fits that a worker keeps something for; the oldest is forgotten, and can be made again."""


class MissingError(Exception):
    """What was kept of some partitions is not here."""


_fits: dict[str, dict[int, tuple[int, dict[int, Any]]]] = {}
"""By fits and partitions: how many requests were answered, and what is kept of every block."""

_lock = threading.Lock()


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
    token : str
        Of what is shared, if it stays with the rows.
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
    token: str = ""

    def total(self, parts: list[Part], shared: Any, n_jobs: int) -> PartialSums:
        """Return the sums over partitions, as the number of the request asks for."""
        with _lock:
            while len(_fits) >= MAX_FITS and self.name not in _fits:
                _fits.pop(next(iter(_fits)))
            fit = _fits.setdefault(self.name, {})
        behind = [p for p in parts if fit.get(p.number, (0, {}))[0] != self.number]
        if behind and self.log is None:
            raise MissingError
        for part in behind:
            fit.pop(part.number, None)
        for number, (request, read) in enumerate(self.log or () if behind else ()):
            before = replace(self, request=request, read=read, number=number)
            before._ask(fit, behind, shared, n_jobs)
        return self._ask(fit, parts, shared, n_jobs)

    def _ask(self, fit: dict[int, Any], parts: list[Part], shared: Any, n_jobs: int) -> PartialSums:
        """Have partitions answer; what is kept of one that fails half way is forgotten."""
        blocks = [fit.pop(part.number, (0, {}))[1] for part in parts]
        sums = PartialSums(self.count)
        how: dict[str, Any] = {"read": self.read, "rows": self.rows, "n_jobs": n_jobs}
        for number, value in kept_sums(self.step, parts, shared, self.request, blocks, **how):
            sums.put(number, value)
        fit.update(
            {p.number: (self.number + 1, kept) for p, kept in zip(parts, blocks, strict=True)}
        )
        return sums


class KeptShards:
    """Requests to the blocks of a cluster, in a context.

    Parameters
    ----------
    cluster : Cluster
    step : callable
    shared : object
    rows : int
    n_jobs : int, optional
    """

    def __init__(
        self, cluster: Any, step: Step, shared: Any, rows: int, n_jobs: int | None
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
        sums: Sums = self.cluster.ask(order, self.shared, tuple(self.log))
        self.log.append((request, read))
        return sums
