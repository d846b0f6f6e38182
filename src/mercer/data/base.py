"""Rows that come in blocks, as often as one asks, and sums over them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import Any, NamedTuple

from mercer._threads import stream_blocks
from mercer._typing import PointsLike, TargetsLike, WeightsLike
from mercer.data.checks import Check, Places
from mercer.data.keeping import Keeping, Step
from mercer.data.spill import MAX_HELD_BYTES, Groups, Sort, Spill
from mercer.data.table import Table

__all__ = ["Block", "Mapped", "PerColumn", "Source", "Sums", "Work"]


class Block(NamedTuple):
    """Some rows of a source."""

    X: PointsLike
    """Inputs (n, p): an array, a CSR matrix, or a table where some features are not numbers."""

    y: TargetsLike = None
    """Targets (n,) or (n, d), or labels; None if the source has none."""

    s: WeightsLike = None
    """Weights (n,); None if all are one."""

    start: int = 0
    """Number of the first row in the source."""

    keep: Table | None = None
    """A table of columns that travel along, to be written beside predictions; or None."""

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])


Work = Callable[[Block, Any, Any], Any]
"""A function of a block, of what is the same in all passes, and of the state of this pass."""


class Sums(dict[str, Any]):
    """Arrays and numbers by name; addition adds the values of each name.

    Examples
    --------
    >>> import numpy as np
    >>> Sums(n=2, x=np.ones(2)) + Sums(n=3, x=np.ones(2))
    {'n': 5, 'x': array([2., 2.])}
    """

    def __add__(self, other: Sums) -> Sums:
        return Sums({name: value + other[name] for name, value in self.items()})


@dataclass(frozen=True)
class PerColumn:
    """A summand for each of several columns, None for columns without."""

    columns: tuple[Any, ...]

    def __add__(self, other: PerColumn) -> PerColumn:
        pairs = zip(self.columns, other.columns, strict=True)
        return PerColumn(tuple(b if a is None else a if b is None else a + b for a, b in pairs))


class Source(ABC):
    """Rows in blocks, again and again.

    A subclass writes :meth:`blocks`. One whose rows live elsewhere also writes :meth:`total` and
    :meth:`sorted`, which are all that a fit asks of it, and so decides where the work is done.
    """

    n_features: int
    n_rows: int | None = None
    """Number of rows; None before they were counted."""

    memory: float | None = None
    """Bytes of memory of the machines that rows lie on; None if that is this machine."""

    feature_names: list[str] | None = None

    places: Places | None = None
    """Which files rows lie in, if they lie in files."""

    digests: dict[str, str] | None = None
    """SHA-256 of the files by name, if they were asked for: ``mercer.data.open(verify=True)``."""

    reading_bytes: int = 0
    """About how much memory reading takes beside the blocks: pages that are unpacked."""

    @property
    def given_names(self) -> list[str] | None:
        """Names the features came with, which an estimator remembers and asks for later.

        Those that a transformation made up are not among them: it would make up none for an array.
        """
        return self.feature_names

    @abstractmethod
    def blocks(self, rows: int) -> Iterator[Block]:
        """Yield the rows in order, at most `rows` of them at once.

        Parameters
        ----------
        rows : int
        """

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
        """Return the sum of ``work(block, shared, state)`` over all blocks.

        Blocks are worked on by several threads, each with one thread of BLAS, and added in their
        order: the result does not depend on the number of threads.

        Parameters
        ----------
        work : callable
            A function of a module, because it may have to travel.
        shared : object, optional
            What is the same in many passes, sent once to where the rows are.
        state : object, optional
            What changes from pass to pass: small.
        rows : int
            Largest number of rows in a block.
        report : callable, optional
            Told the number of rows of every block that is done.
        n_jobs : int, optional
            Number of threads; those of the machine by default.
        """
        result: Any = None
        sizes: deque[int] = deque()

        def sized() -> Iterator[Block]:
            for block in self.blocks(rows):
                sizes.append(block.n)
                yield block

        for part in stream_blocks(lambda block: work(block, shared, state), sized(), n_jobs):
            result = part if result is None else result + part
            n = sizes.popleft()
            if report is not None:
                report(n)
        if result is None:
            raise ValueError("the source has no rows")
        return result

    def keeping(self, step: Step, shared: Any, *, rows: int, n_jobs: int | None = None) -> Any:
        """Return requests to blocks that keep what they know of their rows; a context.

        Parameters
        ----------
        step : callable
            See :data:`mercer.data.keeping.Step`; a function of a module.
        shared : object
            What is the same in all requests.
        rows : int
            Largest number of rows in a block.
        n_jobs : int, optional
            Number of threads.
        """
        return Keeping(self, step, shared, rows, n_jobs)

    def sorted(
        self,
        sort: Sort,
        groups: int,
        *,
        rows: int = 65_536,
        held: float = MAX_HELD_BYTES,
        folder: str | PathLike[str] | None = None,
        report: Callable[[int], object] | None = None,
    ) -> AbstractContextManager[Groups]:
        """Sort the rows to groups in one pass, and enter a context in which they can be worked on.

        Parameters
        ----------
        sort : callable
            From a block to numbers of groups, each with a table of its rows; a function of a
            module, or an object with ``__call__``, because it may have to travel.
        groups : int
            How many there are: they are numbered from 0.
        rows : int
            Largest number of rows in a block.
        held : float
            Bytes that are held before they are written to files.
        folder : path, optional
            Where rows are kept meanwhile; that of temporary files by default.
        report : callable, optional
            Told the number of rows of every block that is sorted.
        """

        @contextmanager
        def on_disk() -> Iterator[Groups]:
            with Spill(folder, held) as spill:
                for block in self.blocks(rows):
                    for group, table in sort(block):
                        spill.add(group, table)
                    if report is not None:
                        report(block.n)
                yield spill

        return on_disk()

    def map(self, function: Callable[[Block], Block], names: list[str] | None = None) -> Source:
        """Return a source whose blocks are transformed as they are read.

        Parameters
        ----------
        function : callable
            From a block to a block with as many rows; a function of a module, or an object with
            ``__call__``, because it may have to travel.
        names : list of str, optional
            Names of the features that come out; those that go in by default.
        """
        return Mapped(self, function, names)

    def checked(self) -> Source:
        """Return a source of finite numbers, which refuses others where it meets them."""
        names = None if self.feature_names is None else tuple(self.feature_names)
        return self.map(Check(names, self.places))


def _then(
    function: Callable[[Block], Block], work: Callable[..., Any], block: Block | None, *rest: Any
) -> Any:
    """Return work on a transformed block, if there is one."""
    return work(None if block is None else function(block), *rest)


def _of_source(name: str) -> Any:
    """Return a property that is the one of the source that is mapped."""
    return property(lambda self: getattr(self.source, name))


class Mapped(Source):
    """A source whose blocks are transformed as they are read.

    Parameters
    ----------
    source : Source
    function : callable
    names : list of str, optional
    """

    n_rows, memory, places, digests, reading_bytes = map(
        _of_source, ("n_rows", "memory", "places", "digests", "reading_bytes")
    )

    def __init__(
        self, source: Source, function: Callable[[Block], Block], names: list[str] | None = None
    ) -> None:
        self.source, self.function, self.renamed = source, function, names is not None
        self.feature_names = source.feature_names if names is None else names
        self.n_features = source.n_features if names is None else len(names)

    @property
    def given_names(self) -> list[str] | None:
        """Names the features came with, unless they were transformed."""
        return None if self.renamed else self.source.given_names

    def checked(self) -> Source:
        return self if isinstance(self.function, Check) else super().checked()

    def blocks(self, rows: int) -> Iterator[Block]:
        return map(self.function, self.source.blocks(rows))

    def total(self, work: Work, shared: Any = None, state: Any = None, **how: Any) -> Any:
        return self.source.total(partial(_then, self.function, work), shared, state, **how)

    def keeping(self, step: Step, shared: Any, **how: Any) -> Any:
        return self.source.keeping(partial(_then, self.function, step), shared, **how)

    def sorted(self, sort: Sort, groups: int, **how: Any) -> AbstractContextManager[Groups]:
        return self.source.sorted(partial(_then, self.function, sort), groups, **how)
