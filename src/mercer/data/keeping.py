"""Requests to blocks that keep what they know of their rows from one request to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from mercer._threads import stream_blocks

__all__ = ["Keeping", "Part", "Step", "kept_sums"]

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
