"""Leaves of a local machine that stay on the workers that fitted them, and are asked there.

A worker keeps the leaves of its tasks in shelves, each a result of a task and as large as its
memory permits. The client has the tree, certificates, and where each leaf is. A shelf that is lost
with its worker is made again by the scheduler: rows are sorted again from the partitions, and the
same leaves are fitted to them, which have the same bits.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload
from uuid import uuid4

from distributed import Client, Future

from mercer._threads import small_algebra
from mercer.data.spill import ItemWork
from mercer.distributed.holding import place
from mercer.distributed.partitions import Graph, Parcel
from mercer.distributed.watch import Watch, explained

__all__ = ["KeptLeaves", "LeafShelf"]

LeafKey = tuple[int, int]
"""Number of a group of rows, and of a leaf among those fitted to it."""

MAX_SENT_BYTES = 2**26
"""Bytes of points that are on their way at once."""


class LeafShelf:
    """Fitted leaves in the memory of a worker, by their keys.

    Parameters
    ----------
    leaves : dict
    nbytes : int
        What they take.
    """

    def __init__(self, leaves: dict[LeafKey, Any], nbytes: int) -> None:
        self.leaves, self.nbytes = leaves, nbytes

    def __reduce__(self) -> Any:
        # As bytes, so that arrays are aligned where they arrive, on which bits of products depend.
        return _unpacked, (pickle.dumps(self.leaves, protocol=4), self.nbytes)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes


def _unpacked(data: bytes, nbytes: int) -> LeafShelf:
    return LeafShelf(pickle.loads(data), nbytes)


def size_of(leaf: Any) -> int:
    """Return how many bytes a leaf takes, without copying its arrays.

    Parameters
    ----------
    leaf : object

    Examples
    --------
    >>> import numpy as np
    >>> 8000 <= size_of(np.zeros(1000)) < 8200
    True
    """
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(leaf, protocol=5, buffer_callback=buffers.append)
    return len(data) + sum(buffer.raw().nbytes for buffer in buffers)


def joined(shelves: list[LeafShelf]) -> LeafShelf:
    """Return one shelf with the leaves of several: a task."""
    leaves = {key: leaf for shelf in shelves for key, leaf in shelf.leaves.items()}
    return LeafShelf(leaves, sum(shelf.nbytes for shelf in shelves))


def asked(shelf: LeafShelf, order: Parcel, questions: Parcel) -> Parcel:
    """Return ``work(leaf, shared, points)`` for leaves of a shelf: a task."""
    work, shared = order.value
    with small_algebra(0):
        return Parcel.of([work(shelf.leaves[key], shared, X) for key, X in questions.value])


def taken(shelf: LeafShelf, key: LeafKey) -> Parcel:
    """Return one leaf: a task."""
    return Parcel.of(shelf.leaves[key])


class KeptLeaves(Sequence[Any]):
    """Leaves on the workers of a cluster: a sequence that fetches one at a time.

    Parameters
    ----------
    watch : Watch
    found : dict
        From a group to the future of its shelf, the bytes of that, and the number of its leaves.
    most : float
        Bytes of a shelf, where several become one.
    here : dict
        Leaves that are in this process, of other groups.
    """

    in_memory = False
    """Whether they are in the memory of this process."""

    def __init__(
        self,
        watch: Watch,
        found: Mapping[int, tuple[Future, int, int]],
        most: float,
        here: Mapping[LeafKey, Any],
    ) -> None:
        self.watch, self.here = watch, here
        there = [(g, j) for g, (_, _, leaves) in found.items() for j in range(leaves)]
        self.keys: list[LeafKey] = sorted([*there, *here])
        futures = {future.key: (future, nbytes) for future, nbytes, _ in found.values()}
        place_of = watch.client.who_has([future for future, _ in futures.values()])
        # The shelves of a worker, neighbours together as far as its memory permits.
        shelves: list[tuple[str, list[Future]]] = []
        filled: dict[str, tuple[int, float]] = {}
        of_future: dict[Any, int] = {}
        for key, (future, nbytes) in futures.items():
            address = next(iter(place_of.get(key, ())), "")
            number, held = filled.get(address, (-1, most))
            if held + nbytes > most:
                number, held = len(shelves), 0.0
                shelves.append((address, []))
            shelves[number][1].append(future)
            filled[address] = number, held + nbytes
            of_future[key] = number
        self.shelf_of = {key: of_future[found[key[0]][0].key] for key in there}
        name = uuid4().hex
        tasks: list[tuple[str, Graph]] = [
            (address, {(f"mercer-leaves-{name}", i): (joined, some)})
            for i, (address, some) in enumerate(shelves)
        ]
        self.shelves = place(watch, tasks, {})
        watch.wait(self.shelves)
        # From here on a shelf that is lost is made again by whoever has time.
        watch.lift()

    def __len__(self) -> int:
        return len(self.keys)

    @overload
    def __getitem__(self, k: int) -> Any: ...
    @overload
    def __getitem__(self, k: slice) -> list[Any]: ...
    def __getitem__(self, k: int | slice) -> Any:
        if isinstance(k, slice):
            return [self[j] for j in range(*k.indices(len(self)))]
        if not -len(self) <= k < len(self):
            raise IndexError(f"there are {len(self)} leaves, no number {k}.")
        key = self.keys[k]
        if key in self.here:
            return self.here[key]
        shelf = self.shelves[self.shelf_of[key]]
        wanted = [self._client.submit(taken, shelf, key, pure=False)]
        return next(self.watch.results(wanted)).value

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def ask(
        self, work: ItemWork, shared: Any, questions: Iterable[tuple[int, Any]]
    ) -> Iterator[Any]:
        """Yield ``work(leaf, shared, points)`` in order, computed where the leaves are.

        Parameters
        ----------
        work : callable
            A function of a module.
        shared : object
            The same for all leaves.
        questions : iterable of (number of a leaf, points)
        """
        wave: list[tuple[LeafKey, Any]] = []
        sent = 0
        for k, X in questions:
            wave.append((self.keys[k], X))
            sent += int(getattr(X, "nbytes", 0))
            if sent > MAX_SENT_BYTES:
                yield from self._asked(work, shared, wave)
                wave, sent = [], 0
        yield from self._asked(work, shared, wave)

    def _asked(self, work: ItemWork, shared: Any, wave: list[tuple[LeafKey, Any]]) -> Iterator[Any]:
        order, answers, futures = Parcel.of((work, shared)), {}, []
        by_shelf: dict[int, list[int]] = {}
        for i, (key, X) in enumerate(wave):
            if key in self.here:
                answers[i] = work(self.here[key], shared, X)
            else:
                by_shelf.setdefault(self.shelf_of[key], []).append(i)
        for shelf, some in by_shelf.items():
            questions = Parcel.of([wave[i] for i in some])
            made = self._client.submit(asked, self.shelves[shelf], order, questions, pure=False)
            futures.append(made)
        places = {one.key: some for one, some in zip(futures, by_shelf.values(), strict=True)}
        for future in self.watch.finished(futures):
            with explained():
                found = future.result().value
            answers.update(zip(places[future.key], found, strict=True))
        return (answers[i] for i in range(len(wave)))

    @property
    def _client(self) -> Client:
        client = self.watch.client
        if client.status != "running":
            raise RuntimeError(
                f"the {len(self)} leaves of this machine were kept on the workers of a cluster "
                f"whose client is {client.status}. Fit again, and call "
                "mercer.distributed.gather(machine) before the client is closed."
            )
        return client

    def __deepcopy__(self, memo: Any) -> KeptLeaves:
        return self
