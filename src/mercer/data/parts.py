"""Sums over rows that lie in parts, with the same bits whoever adds what to what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from itertools import accumulate, pairwise
from operator import add
from typing import Any

from mercer._threads import stream_blocks
from mercer.data.base import Block, Part, Source, Work

__all__ = ["PartialSums", "Parts", "map_blocks"]


class PartialSums:
    """Sums over some of `count` summands, as nodes of one binary tree.

    The node (l, i) is the sum over the summands i 2^l to (i + 1) 2^l - 1, made of the nodes
    (l - 1, 2 i) and (l - 1, 2 i + 1) in this order. A node is made as soon as both of its parts are
    there, so the total has the same bits however the summands were distributed, in whatever order
    they came; and neighbouring summands are few nodes, which is what has to be sent.

    Parameters
    ----------
    count : int
        Number of summands of the whole.

    Examples
    --------
    >>> first, second = PartialSums(3), PartialSums(3)
    >>> first.put(1, 0.2)
    >>> second.put(2, 0.3)
    >>> second.put(0, 0.1)
    >>> (first + second).total == (0.1 + 0.2) + 0.3
    True
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.height = max(0, count - 1).bit_length()
        self.nodes: dict[tuple[int, int], Any] = {}

    def put(self, number: int, value: Any) -> None:
        """Add a summand.

        Parameters
        ----------
        number : int
            From 0 to `count` - 1, each once.
        value : object
            Whatever can be added; None for a summand that is empty.
        """
        self._put(0, number, value)

    def _put(self, level: int, index: int, value: Any) -> None:
        while level < self.height:
            other = index ^ 1
            if other << level < self.count:  # otherwise it has no summands
                if (level, other) not in self.nodes:
                    break
                there = self.nodes.pop((level, other))
                value = _sum(there, value) if other < index else _sum(value, there)
            level, index = level + 1, index >> 1
        self.nodes[level, index] = value

    def __add__(self, other: PartialSums) -> PartialSums:
        joined = PartialSums(self.count)
        joined.nodes = dict(self.nodes)
        for (level, index), value in other.nodes.items():
            joined._put(level, index, value)
        return joined

    @property
    def total(self) -> Any:
        """The sum over all summands; None if all of them are empty.

        Raises
        ------
        ValueError
            If summands are missing.
        """
        if (self.height, 0) not in self.nodes:
            raise ValueError(f"some of {self.count} summands are missing")
        return self.nodes[self.height, 0]


def _sum(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else a + b


def map_blocks(
    work: Work,
    parts: Iterable[Part],
    shared: Any = None,
    state: Any = None,
    *,
    count: int,
    rows: int = 4096,
    n_jobs: int | None = 1,
) -> PartialSums:
    """Return the sums of ``work(block, shared, state)`` over the blocks of some parts.

    This is what a worker of any engine does in a pass. Add what all workers return, in any order,
    and take its ``total``: the bits do not depend on which worker had which parts.

    Parameters
    ----------
    work : callable
        As in :meth:`mercer.data.Source.total`.
    parts : iterable of Part
        Those of this worker.
    shared, state : object, optional
        As in :meth:`mercer.data.Source.total`.
    count : int
        Number of parts of the whole.
    rows : int, default=4096
        Largest number of rows in a block.
    n_jobs : int, optional
        Number of threads; those of the machine if None.

    Returns
    -------
    PartialSums

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import Arrays, map_blocks
    >>> from mercer.data.base import Part
    >>> def squares(block, shared, state):
    ...     return float(np.sum(block.X**2))
    >>> X = np.arange(6.0)[:, None]
    >>> mine = map_blocks(squares, [Part(Arrays(X[:4]), 0, 0)], count=2)
    >>> yours = map_blocks(squares, [Part(Arrays(X[4:]), 1, 4)], count=2)
    >>> (yours + mine).total
    55.0
    """
    sums = PartialSums(count)
    parts = list(parts)

    def blocks() -> Iterator[tuple[int, Block]]:
        for k, part in enumerate(parts):
            own = iter(() if part.source is None else part.source.blocks(rows))
            while True:
                with _named(part.number):
                    block = next(own, None)
                if block is None:
                    break
                yield k, block._replace(start=block.start + part.start)

    def summand(item: tuple[int, Block]) -> tuple[int, Any]:
        k, block = item
        with _named(parts[k].number):
            return k, work(block, shared, state)

    found: dict[int, Any] = {}
    done = 0
    for k, value in stream_blocks(summand, blocks(), n_jobs):
        # A part that is complete goes into the tree, where its neighbours wait for it.
        for j in range(done, k):
            sums.put(parts[j].number, found.pop(j, None))
        done = k
        found[k] = found[k] + value if k in found else value
    for j in range(done, len(parts)):
        sums.put(parts[j].number, found.pop(j, None))
    return sums


@contextmanager
def _named(number: int) -> Iterator[None]:
    """Say in which part an error happened: what a user can look at."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in partition {number}")
        raise


class Parts(Source):
    """Rows in several sources, summed over by an engine that has a ``map``.

    The engine keeps nothing of the rows between two passes. Low-rank fits of nondifferentiable
    losses, such as that of :class:`~mercer.SVC`, need state of each row: after the first passes
    this process reads the rows of all sources itself, in blocks.

    Parameters
    ----------
    sources : sequence of Source
        With equal features, and numbers of rows that are known.
    map : callable
        From a function and a list to its results in order, computed anywhere: ``map`` of an
        executor of :mod:`concurrent.futures`, of a pool of Ray, or a function of two arguments
        around joblib, Spark or others. What it is called with can be pickled if `work` can.
    workers : int, optional
        In how many calls the sources are divided; one for each by default.

    Examples
    --------
    >>> import numpy as np
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from mercer import LSSVR
    >>> from mercer.data import Arrays, Parts
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> parts = [Arrays(X[i : i + 100], X[i : i + 100, 0]) for i in (0, 100, 200)]
    >>> with ThreadPoolExecutor(2) as pool:
    ...     machine = LSSVR(approximation="nystrom").fit(Parts(parts, pool.map))
    >>> machine.n_features_in_
    2
    """

    def __init__(
        self,
        sources: Sequence[Source],
        map: Callable[[Callable[[Any], Any], list[Any]], Iterable[Any]],
        workers: int | None = None,
    ) -> None:
        if not sources:
            raise ValueError("there are no parts; give at least one")
        sizes = [source.n_rows for source in sources]
        if any(n is None for n in sizes):
            raise ValueError("the rows of every part must be known; count them before")
        starts = accumulate((n or 0 for n in sizes[:-1]), initial=0)
        self.parts = [Part(*one) for one in zip(sources, range(len(sizes)), starts, strict=True)]
        self.engine, self.workers = map, min(workers or len(sources), len(sources))
        self.n_rows = sum(n or 0 for n in sizes)
        self.n_features, self.feature_names = sources[0].n_features, sources[0].feature_names

    def blocks(self, rows: int) -> Iterator[Block]:
        for part in self.parts:
            assert part.source is not None
            for block in part.source.blocks(rows):
                yield block._replace(start=block.start + part.start)

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
        """Return the sum over all blocks; the parameters are those of :meth:`Source.total`."""
        n = len(self.parts)
        cuts = [j * n // self.workers for j in range(self.workers + 1)]
        task = partial(_mapped, work, shared, state, n, rows, n_jobs or 1)
        shares = [self.parts[a:b] for a, b in pairwise(cuts)]
        total = reduce(add, self.engine(task, shares)).total
        if report is not None:
            report(self.n_rows or 0)
        if total is None:
            raise ValueError("the source has no rows")
        return total


def _mapped(
    work: Work, shared: Any, state: Any, count: int, rows: int, n_jobs: int, parts: list[Part]
) -> PartialSums:
    return map_blocks(work, parts, shared, state, count=count, rows=rows, n_jobs=n_jobs)
