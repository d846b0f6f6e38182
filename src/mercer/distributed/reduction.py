"""Sums over the shards of all workers, by a tree of calls from worker to worker.

A pass is one task of the scheduler: the root. It and every worker below it pass on what is asked to
at most eight others, go through their own shard meanwhile, add what comes back, and answer. So the
state of a pass goes down the tree that sums come up, and the scheduler has one task a pass however
many workers there are. Nothing that matters is only in the tree: whatever part of it does not
answer is told to the client, which has the scheduler do it by tasks, from rows that are computed
again if they were lost. Sums are nodes of one tree of partitions (:mod:`mercer.data.parts`),
so that their bits do not depend on how a pass was made.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from distributed import Worker, get_worker
from distributed.protocol.pickle import dumps

from mercer.data.base import Work
from mercer.data.parts import PartialSums, map_blocks
from mercer.distributed.keeping import KeptOrder, MissingError
from mercer.distributed.partitions import Key, Parcel
from mercer.distributed.shards import Shard, bind, worker_threads

__all__ = ["Answer", "Member", "Order", "abandon", "add_answers", "answer_alone", "answer_as_root"]

CHILDREN = 8
"""Workers that a worker asks: few enough to wait for, enough for few levels."""


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

    def total(self, shard: Shard, shared: Any, n_jobs: int) -> PartialSums:
        """Return the sums over a shard."""
        return map_blocks(
            self.work,
            shard.parts,
            shared,
            self.state,
            count=self.count,
            rows=self.rows,
            n_jobs=n_jobs,
        )


@dataclass(frozen=True)
class Member:
    """A worker with the numbers and keys of the shards that lie there."""

    address: str
    shards: tuple[tuple[int, Key], ...]


@dataclass
class Answer:
    """Sums over some shards, with the numbers of those that were not found, and errors of work."""

    sums: PartialSums
    missing: list[int] = field(default_factory=list)
    errors: list[tuple[int, Exception]] = field(default_factory=list)

    def __add__(self, other: Answer) -> Answer:
        return Answer(
            self.sums + other.sums, self.missing + other.missing, self.errors + other.errors
        )


_waiting: dict[str, set[asyncio.Task[Any]]] = {}
"""Calls of this process that wait, by the address that they wait for."""


def total_of(shard: Shard, order: Order | KeptOrder, threads: int) -> PartialSums:
    """Return the sums over a shard.

    Parameters
    ----------
    shard : Shard
    order : Order or KeptOrder
    threads : int
        Of the worker.
    """
    shared = order.shared if shard.shared is None else shard.shared.value
    return order.total(shard, shared, min(order.n_jobs or threads, threads))


def answer_alone(shard: Shard, order: Parcel, shared: Parcel | None) -> Answer:
    """Return the sums over a shard, as a task that raises its errors."""
    shard = shard if shared is None else bind(shard, shared)
    return Answer(total_of(shard, order.value, worker_threads()))


def add_answers(answers: list[Answer]) -> Answer:
    """Return the sum of answers, as a task."""
    return sum(answers[1:], answers[0])


def answer_as_root(shard: Shard, number: int, order: Parcel, others: Parcel) -> Answer:
    """Return the sums over a shard and over those of all other workers: the task of a pass.

    Parameters
    ----------
    shard : Shard
        One of the worker that this runs on.
    number : int
        Of the shard.
    order : Parcel
        Holds an Order.
    others : Parcel
        Holds the address of the worker that this was meant for, and a list of Member. Elsewhere,
        because that worker was lost, the others are left to tasks: some may be lost as well.
    """
    worker = get_worker()
    address, members = others.value
    if worker.address != address:
        lost = [one for member in members for one, _ in member.shards]
        return answer_here([(number, shard)], order, worker_threads()) + Answer(
            PartialSums(order.value.count), lost
        )
    loop = worker.loop.asyncio_loop
    calls = [
        asyncio.run_coroutine_threadsafe(ask(worker, order, some), loop) for some in split(members)
    ]
    own = answer_here([(number, shard)], order, worker_threads())
    return add_answers([own, *(call.result() for call in calls)])


def answer_here(shards: list[tuple[int, Shard]], order: Parcel, threads: int) -> Answer:
    """Return the sums over shards of this worker, and errors as part of the answer."""
    asked: Order | KeptOrder = order.value
    answer = Answer(PartialSums(asked.count))
    for number, shard in shards:
        try:
            answer += Answer(total_of(shard, asked, threads))
        except MissingError:
            answer.missing.append(number)
        except Exception as error:
            try:
                Parcel.of(error)
            except Exception:  # it cannot travel: a task tells of it in another way
                answer.missing.append(number)
            else:
                answer.errors.append((number, error))
    return answer


def split(members: list[Member]) -> list[list[Member]]:
    """Return members in as many neighbouring groups as a worker asks others.

    Parameters
    ----------
    members : list of Member

    Examples
    --------
    >>> [len(some) for some in split([Member(str(i), ()) for i in range(17)])]
    [2, 2, 2, 2, 2, 2, 2, 3]
    """
    groups = min(CHILDREN, len(members))
    cuts = [j * len(members) // groups for j in range(groups + 1)] if groups else [0]
    return [members[a:b] for a, b in pairwise(cuts)]


async def ask(worker: Worker, order: Parcel, members: list[Member]) -> Answer:
    """Return the answer of the first of some workers for all of them.

    If it does not answer, its shards are missing, and the others are asked without it.
    """
    first, rest = members[0], members[1:]
    if first.address == worker.address:  # other shards of the root
        return await answer_for(order, members, worker)
    call = asyncio.ensure_future(
        worker.rpc(first.address).run(function=dumps(answer_below), args=dumps((order, members)))
    )
    _waiting.setdefault(first.address, set()).add(call)
    try:
        response = await call
        if response["status"] == "OK":
            answer: Answer = response["result"].value
            return answer
    except (OSError, asyncio.CancelledError):
        pass
    finally:
        _waiting[first.address].discard(call)
        if not _waiting[first.address]:
            del _waiting[first.address]
    lost = Answer(PartialSums(order.value.count), [number for number, _ in first.shards])
    below = await asyncio.gather(*(ask(worker, order, some) for some in split(rest)))
    return add_answers([lost, *below])


async def answer_for(order: Parcel, members: list[Member], worker: Worker) -> Answer:
    """Return the sums over the shards of this worker, the first of some, and of the others."""
    calls = [asyncio.ensure_future(ask(worker, order, some)) for some in split(members[1:])]
    held = [(n, worker.data[key]) for n, key in members[0].shards if key in worker.data]
    there = {number for number, _ in held}
    own = await asyncio.to_thread(answer_here, held, order, int(worker.state.nthreads))
    own.missing += [number for number, _ in members[0].shards if number not in there]
    return await asyncio.to_thread(add_answers, [own, *(await asyncio.gather(*calls))])


async def answer_below(order: Parcel, members: list[Member], dask_worker: Worker) -> Parcel:
    """Answer a worker above: called by rpc."""
    return await asyncio.to_thread(Parcel.of, await answer_for(order, members, dask_worker))


def abandon(addresses: list[str]) -> None:
    """Stop waiting for workers that were given up: run by all others.

    A process that is frozen keeps its connections, so that a call would wait for ever.
    """
    for address in addresses:
        for call in list(_waiting.get(address, ())):
            call.get_loop().call_soon_threadsafe(call.cancel)
