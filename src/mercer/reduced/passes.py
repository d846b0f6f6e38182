"""Passes over a source, counted, shown and kept in a checkpoint; the first counts the rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._params import ZERO_WEIGHTS, check_weights
from mercer._typing import PointsLike
from mercer.data.base import Block, Source, Sums, Work
from mercer.data.sampling import GOLDEN, FingerprintSample, fingerprints, sampled
from mercer.data.table import Table
from mercer.reduced.checkpoint import Checkpoint, digest

# More different labels than this mean that a number was given for a class.
MAX_LABELS = 10_000


@dataclass
class Passes:
    """A source, with all that is known of the passes over it.

    Parameters
    ----------
    source : Source
    rows : int
        Largest number of rows in a block.
    n_jobs : int, optional
        Threads on this machine.
    directory : path, optional
        Where results of passes are kept. They are taken from there, in order, as long as passes ask
        for the same: a fit that was interrupted goes on at the pass it was at, to the same bits.
    bar : callable, optional
        From the name of a pass and the number of rows, or None, to a context with a progress bar,
        whose ``update`` is called with the rows of every block that is done.
    """

    source: Source
    rows: int = 16384
    n_jobs: int | None = None
    directory: Any = None
    bar: Callable[[str, int | None], AbstractContextManager[Any]] | None = None
    room: float = 0.0
    """Bytes in which rows may be held from one pass to the next."""

    low_memory: bool = False
    """Whether there is no room for a second matrix of m by m numbers in double precision."""

    refusal: str = ""
    """What a problem is refused with that cannot do without."""

    count: int = 0
    """Passes so far."""

    read: int = 0
    """Those that were made, not taken from the directory."""

    n: int | None = None
    """Rows there are, known after the first pass."""

    seconds: float = 0.0
    times: dict[str, float] = field(default_factory=dict)
    checkpoint: Checkpoint | None = field(default=None, init=False)
    _shared: tuple[Any, str] = (None, "")

    def __post_init__(self) -> None:
        if self.n is None:
            self.n = self.source.n_rows
        self.checkpoint = None if self.directory is None else Checkpoint(self.directory)

    def __call__(
        self, name: str, work: Work, shared: Any = None, state: Any = None, anew: bool = False
    ) -> Any:
        """Return the sum over all rows, made now or kept from before.

        Parameters
        ----------
        name : str
            Shown to whoever watches.
        work, shared, state :
            As in :meth:`Source.total`. If the result is to be kept, it is :class:`Sums`.
        anew : bool, default=False
            Whether the pass is made even if its result was kept.
        """
        number, self.count = self.count, self.count + 1
        done = 0

        def make(told: Callable[[int], object]) -> Any:
            def report(n: int) -> None:
                nonlocal done
                done += n
                told(n)

            return self.source.total(
                work, shared, state, rows=self.rows, report=report, n_jobs=self.n_jobs
            )

        def made() -> Any:
            result = self._shown(name, make)
            self.n = done or self.n
            return result

        if self.checkpoint is None or anew:
            return made()
        return self.checkpoint(number, self.digest(shared), [name, state], made)[0]

    def digest(self, shared: Any) -> str:
        """Return the digest of what is the same in many passes."""
        if shared is not self._shared[0] or not self._shared[1]:
            self._shared = (shared, digest(shared))
        return self._shared[1]

    def answer(
        self, name: str, shared: Any, request: Any, make: Callable[[], Sums]
    ) -> tuple[Sums, bool]:
        """Return what rows answer by the state that they keep, and whether it was made now.

        Parameters
        ----------
        name : str
            Of the pass; empty for a small request, which belongs to the next pass.
        shared, request : object
        make : callable
            Returns the answer.
        """
        number, self.count = self.count, self.count + bool(name)

        def made() -> Sums:
            def told(report: Callable[[int], object]) -> Sums:
                result = make()
                report(self.n or 0)
                return result

            return self._shown(name, told) if name else make()

        if self.checkpoint is None:
            return made(), True
        return self.checkpoint(number, self.digest(shared), request, made, bool(name))

    def _shown(self, name: str, make: Callable[[Callable[[int], object]], Any]) -> Any:
        """Make a pass, shown to whoever watches, and count its seconds."""
        start = time.perf_counter()
        with nullcontext() if self.bar is None else self.bar(name, self.n) as bar:
            result = make(lambda n: None if bar is None else bar.update(n))
        elapsed = time.perf_counter() - start
        self.read += 1
        self.seconds += elapsed
        self.times[name] = self.times.get(name, 0.0) + elapsed
        return result


@dataclass(frozen=True)
class Labels:
    """Labels and how often they occur, in rows and in rows with weight.

    Parameters
    ----------
    values : array
    counts : (k, 2) array
    """

    values: Any
    counts: Any

    def __add__(self, other: Labels) -> Labels:
        values, inverse = np.unique(
            np.concatenate([self.values, other.values]), return_inverse=True
        )
        if len(values) > MAX_LABELS:
            raise ValueError(
                f"more than {MAX_LABELS:,} different classes; for numbers use a machine of "
                "regression."
            )
        counts = np.zeros((len(values), 2), dtype=np.int64)
        np.add.at(counts, inverse, np.concatenate([self.counts, other.counts]))
        return Labels(values, counts)


@dataclass(frozen=True)
class RunningVariance:
    """Mean and variance of numbers, gathered without loss of digits.

    Parameters
    ----------
    n : float
        How many there are.
    mean : float
    square : float
        Sum of squared differences from the mean.

    Examples
    --------
    >>> (RunningVariance.of(np.array([1.0, 2.0])) + RunningVariance.of(np.array([3.0]))).variance
    0.6666666666666666
    """

    n: float
    mean: float
    square: float

    @classmethod
    def of(cls, X: PointsLike) -> RunningVariance:
        """Return what is to be said of all entries of an array or sparse matrix."""
        size = float(np.prod(X.shape))
        values = X.data if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)
        mean = float(values.sum() / size) if size else 0.0
        zeros = size - float(values.size)
        with np.errstate(over="ignore"):
            # Squares that overflow are infinite, which whoever reads the variance refuses.
            square = np.sum((values - mean) ** 2) + zeros * np.square(mean)
        return cls(size, mean, float(square))

    @property
    def variance(self) -> float:
        """Mean squared difference from the mean."""
        return self.square / self.n

    def __add__(self, other: RunningVariance) -> RunningVariance:
        n = self.n + other.n
        step = other.mean - self.mean
        share = other.n / n if n else 0.0
        with np.errstate(over="ignore"):
            between = float(np.square(step)) * self.n * share
        return RunningVariance(n, self.mean + step * share, self.square + other.square + between)


# Seed of the fingerprints that tell rows from others.
MARK = 100


@dataclass(frozen=True)
class Census:
    """Results of the first pass over the rows.

    Parameters
    ----------
    n : int
        Number of rows.
    pool : Sample
        Some of them.
    classes : array or None
        Labels, ascending, if they were asked for.
    counts : array or None
        How many rows have them, and how many of these have weight.
    weight : float
        Sum of the weights.
    variance : float
        Of all entries of the inputs.
    """

    n: int
    pool: FingerprintSample
    classes: Any
    counts: Any
    weight: float
    variance: float


def count(block: Block, shared: tuple[int, int, bool, bool], state: None) -> Sums:
    """Return the census of a block."""
    size, seed, labelled, marked = shared
    s = np.ones(block.n) if block.s is None else check_weights(block.s, block.n, block.start)
    found = Sums(
        n=np.array(block.n),
        weight=np.array(s.sum()),
        pool=sampled(block, size, seed),
        spread=RunningVariance.of(block.X),
    )
    if labelled and block.y is not None:
        values, inverse = np.unique(np.asarray(block.y).reshape(-1), return_inverse=True)
        counts = np.zeros((len(values), 2), dtype=np.int64)
        np.add.at(counts, inverse, np.column_stack([np.ones(block.n), s > 0]).astype(np.int64))
        found["labels"] = Labels(values, counts)
    if marked:
        found["mark"] = mark(block)
    return found


def mark(block: Block) -> Any:
    """Return a digest of the rows that does not depend on their order, of shape (1,)."""
    with np.errstate(over="ignore"):
        rows = fingerprints(block.X, MARK)
        for j, part in enumerate((block.y, block.s)):
            if part is not None:
                values: Any = np.asarray(part).reshape(block.n, -1)
                if values.dtype.kind not in "biuf":
                    values = Table({str(i): v.astype(object) for i, v in enumerate(values.T)})
                # A product with an odd number loses nothing, and tells targets from weights.
                rows = rows * GOLDEN + fingerprints(values, MARK + 1 + j)
        return np.sum(rows * (rows | np.uint64(1)), keepdims=True)


def take_census(passes: Passes, size: int, seed: int, labelled: bool) -> Census:
    """Count the rows of a source, and draw some.

    Parameters
    ----------
    passes : Passes
    size : int
        Number of rows to draw.
    seed : int
    labelled : bool
        Whether targets are classes.
    """
    # Before passes are taken from a directory, the rows are read to see that they are the same.
    marked = passes.checkpoint is not None
    found = passes("count", count, (size, seed, labelled, marked), None, anew=True)
    if passes.checkpoint is not None:
        passes.checkpoint.rows = f"{int(found['n'])} rows {int(found['mark'][0]):016x}"
    labels = found.get("labels")
    if not float(found["weight"]) > 0:
        raise ValueError(ZERO_WEIGHTS)
    return Census(
        int(found["n"]),
        found["pool"],
        None if labels is None else labels.values,
        None if labels is None else labels.counts,
        float(found["weight"]),
        found["spread"].variance,
    )
