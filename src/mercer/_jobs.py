"""Independent calls, in this process or in others, with results in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs

__all__ = ["at_once", "each"]


def at_once(n_jobs: int | None) -> int:
    """Return how many calls of :func:`each` run at the same time.

    Examples
    --------
    >>> at_once(None)
    1
    """
    return int(effective_n_jobs(n_jobs))


def each(
    function: Callable[..., Any], calls: Iterable[tuple[Any, ...]], n_jobs: int | None = None
) -> Iterator[Any]:
    """Yield ``function(*call)`` for each call, in order, by joblib.

    Calls are drawn as jobs become free, so that arguments of few calls are in memory.

    Parameters
    ----------
    function : callable
        A function of a module, because it may have to travel.
    calls : iterable of tuple
        Its arguments.
    n_jobs : int, optional
        As joblib has it: one by default, unless :func:`joblib.parallel_config` says otherwise.

    Examples
    --------
    >>> list(each(pow, [(2, 3), (3, 2)]))
    [8, 9]
    """
    # Arrays are sent as they are: mapped from a file they could not be written to.
    run = Parallel(n_jobs=n_jobs, return_as="generator", max_nbytes=None)
    yield from run(delayed(function)(*call) for call in calls)
