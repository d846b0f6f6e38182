"""Rows that come in blocks, as often as one asks, sums over them, and checks of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer._threads import stream_blocks
from mercer._typing import PointsLike, TargetsLike, WeightsLike
from mercer.data.spill import MAX_HELD_BYTES, Groups, Sort, Spill
from mercer.data.table import DataError, Table

__all__ = [
    "Block",
    "Check",
    "Keeping",
    "Mapped",
    "Part",
    "PerColumn",
    "Places",
    "Source",
    "Step",
    "Sums",
    "Work",
    "kept_sums",
]


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


@dataclass(frozen=True)
class Places:
    """Which file the rows of a source lie in.

    Parameters
    ----------
    starts : tuple of int
        Number of the first row of every file.
    names : tuple of str

    Examples
    --------
    >>> Places((0, 10), ("a.parquet", "b.parquet")).of(12)
    'b.parquet, row 2 (row 12 in all)'
    """

    starts: tuple[int, ...]
    names: tuple[str, ...]

    def of(self, row: int) -> str:
        """Return in words where a row is.

        Parameters
        ----------
        row : int
        """
        k = bisect_right(self.starts, row) - 1
        return f"{self.names[k]}, row {row - self.starts[k]} (row {row} in all)"


@dataclass(frozen=True)
class Check:
    """Blocks as a machine takes them: numbers, all of them finite; others are refused in words.

    Parameters
    ----------
    names : tuple of str, optional
        Names of the features.
    places : Places, optional
        Where rows are.

    Examples
    --------
    >>> Check(("age",))(Block(np.array([[1.0], [np.nan]])))
    Traceback (most recent call last):
    mercer.data.table.DataError: row 1: 'age' is missing (NaN); fill it in with ...
    """

    names: tuple[str, ...] | None = None
    places: Places | None = None

    def __call__(self, block: Any) -> Any:
        """Return a block of finite numbers.

        Parameters
        ----------
        block : Block
        """
        X: PointsLike = block.X.numbers() if isinstance(block.X, Table) else block.X
        sparse = sp.issparse(X)
        values: Any = X.data if sparse else X
        if values.dtype.kind not in "biuf":
            raise DataError(f"{self._where(block, 0)}: features are numbers, not {values.dtype}")
        # One sum tells of anything that is not finite, unless it overflows: then look closer.
        with np.errstate(over="ignore", invalid="ignore"):
            suspicious = not np.isfinite(np.sum(values))
        if suspicious and not (finite := np.isfinite(values)).all():
            first = int(np.argmin(finite.ravel()))
            if sparse:
                i, j = int(np.searchsorted(X.indptr, first, side="right")) - 1, X.indices[first]
            else:
                i, j = divmod(first, X.shape[1])
            name = repr(self.names[j]) if self.names else f"feature {j}"
            raise DataError(f"{self._where(block, i)}: {name} is {_fault(values.flat[first])}")
        for what, others in (("the target", block.y), ("the weight", block.s)):
            if others is not None:
                self._check_others(block, what, np.asarray(others))
        weights = np.asarray([] if block.s is None else block.s)
        if weights.dtype != object and (negative := weights < 0).any():
            where = self._where(block, int(np.argmax(negative)))
            raise DataError(f"{where}: the weight is negative; use 0 to leave a row out")
        return block._replace(X=X)

    def _check_others(self, block: Any, what: str, values: Any) -> None:
        if values.dtype == object:
            bad = np.array([item is None or item != item for item in values.ravel().tolist()])
        elif values.dtype.kind == "f":
            bad = ~np.isfinite(values.ravel())
        else:
            return
        if bad.any():
            first = int(np.argmax(bad))
            i = first // (values.shape[1] if values.ndim == 2 else 1)
            value = values.flat[first]
            fault = "missing" if values.dtype == object else _fault(value).split(";")[0]
            raise DataError(f"{self._where(block, i)}: {what} is {fault}; leave such rows out")

    def _where(self, block: Any, i: int) -> str:
        row = block.start + i
        return f"row {row}" if self.places is None else self.places.of(row)


def _fault(value: Any) -> str:
    if np.isnan(value):
        return "missing (NaN); fill it in with mercer.preprocessing.Imputer, or leave such rows out"
    return "infinite; clip or leave out such rows"


Step = Callable[[Any, Any, Any, Any], tuple[dict[str, Any], Any]]
"""A function of a block, or None where rows are not read, of what is the same in all requests, of
the request, and of what was kept, None at first. It returns its summand and what is kept."""

MIN_SHARED_BLOCKS = 8
"""Blocks from which requests that read nothing are worth several threads."""

Kept = dict[int, Any]
"""What is kept of a part: of every block, by the number of its first row."""


class Part(NamedTuple):
    """Some rows of a whole, with their place in it."""

    source: Any
    """The rows; None if there are none."""

    number: int = 0
    """Of the part, counted from zero."""

    start: int = 0
    """Number of its first row in the whole."""


def kept_sums(
    step: Step,
    parts: Sequence[Part],
    shared: Any,
    request: Any,
    kept: Sequence[Kept],
    *,
    read: bool,
    rows: int,
    n_jobs: int | None,
) -> Iterator[tuple[int, Any]]:
    """Yield numbers of parts and the sums over their blocks, added in order; None if empty.

    Parameters
    ----------
    step : callable
    parts : sequence of Part
    shared, request : object
    kept : sequence of dict
        Of every part; changed.
    read : bool
        Whether blocks are read, or called with nothing but what they kept.
    rows : int
        Largest number of rows in a block.
    n_jobs : int, optional
        Number of threads.
    """

    def blocks() -> Iterator[tuple[int, int, Any]]:
        for k, part in enumerate(parts):
            if not read:
                yield from ((k, start, None) for start in sorted(kept[k]))
            elif part.source is not None:
                for block in part.source.blocks(rows):
                    start = block.start + part.start
                    yield k, start, block._replace(start=start)

    def summand(item: tuple[int, int, Any]) -> tuple[int, int, Any, Any]:
        k, start, block = item
        return (k, start, *step(block, shared, request, kept[k].get(start)))

    if not read and sum(map(len, kept)) < MIN_SHARED_BLOCKS:
        n_jobs = 1
    done, total = 0, None
    for k, start, value, left in stream_blocks(summand, blocks(), n_jobs):
        kept[k][start] = left
        while done < k:
            yield parts[done].number, total
            done, total = done + 1, None
        if total is None:
            total = value
            continue
        # The first summand is nobody else's: others are added to where it is.
        for name, summed in value.items():
            total[name] += summed
    while done < len(parts):
        yield parts[done].number, total
        done, total = done + 1, None


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
            See :data:`mercer.data.base.Step`; a function of a module.
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

    n_rows, memory, places, reading_bytes = map(
        _of_source, ("n_rows", "memory", "places", "reading_bytes")
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


class Keeping:
    """Blocks of a source in this process, with what they keep.

    Parameters
    ----------
    source : Source
    step : callable
    shared : object
        What is the same in all requests.
    rows : int
        Largest number of rows in a block.
    n_jobs : int, optional
        Number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import Arrays
    >>> from mercer.data.base import Sums
    >>> def step(block, shared, request, kept):
    ...     values = block.X[:, 0] if kept is None else request * kept
    ...     return Sums(total=float(np.sum(values))), values
    >>> with Keeping(Arrays(np.arange(5.0)[:, None]), step, None, rows=2) as keeping:
    ...     [keeping(2.0, read=True)["total"], keeping(3.0)["total"]]
    [10.0, 30.0]
    """

    def __init__(
        self, source: Any, step: Step, shared: Any, rows: int, n_jobs: int | None = None
    ) -> None:
        self.step, self.shared, self.rows, self.n_jobs = step, shared, rows, n_jobs
        self.parts, self.kept = [Part(source)], [Kept()]

    def __enter__(self) -> Keeping:
        return self

    def __exit__(self, *_: object) -> None:
        self.kept = [Kept()]

    def __call__(self, request: Any, read: bool = False) -> Any:
        """Return the sum of what all blocks answer.

        Parameters
        ----------
        request : object
        read : bool, default=False
            Whether blocks need their rows; the first time they do.
        """
        sums = kept_sums(
            self.step,
            self.parts,
            self.shared,
            request,
            self.kept,
            read=read,
            rows=self.rows,
            n_jobs=self.n_jobs,
        )
        ((_, total),) = sums
        if total is None:
            raise ValueError("the source has no rows")
        return total
