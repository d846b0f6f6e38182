"""Computations that run side by side and share each pass over the rows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, TypeVar

from mercer.data.base import Block, Sums, Work
from mercer.reduced.passes import Passes

__all__ = ["together"]

T = TypeVar("T")


class _Works(tuple[Work, ...]):
    """Functions of a block, called by names that are the same in every process."""

    def __repr__(self) -> str:
        return str([f"{work.__module__}.{work.__qualname__}" for work in self])


def _all(block: Block, shared: tuple[Any, ...], state: dict[str, Any]) -> Sums:
    """Do all works with a block, one after the other, while it is at hand."""
    sums = Sums()
    for slot, work, own, its in zip(
        state["slots"], state["works"], shared, state["states"], strict=True
    ):
        result = work(block, own, its)
        parts = result if isinstance(result, Sums) else {"": result}
        sums |= {f"{slot}:{name}": value for name, value in parts.items()}
    return sums


def _own(sums: Sums, slot: int) -> Any:
    """Return the result of one function."""
    mine = {
        name.partition(":")[2]: value
        for name, value in sums.items()
        if name.partition(":")[0] == str(slot)
    }
    return mine[""] if "" in mine else Sums(mine)


class _Cancelled(BaseException):
    """Another computation failed."""


@dataclass
class _Asked:
    slot: int
    request: tuple[str, Work, Any, Any]


@dataclass
class _Ended:
    slot: int
    result: Any = None
    error: BaseException | None = None


@dataclass
class _Proxy(Passes):
    """Passes as one of the computations sees them: it asks, and waits for the others."""

    slot: int = 0
    inbox: SimpleQueue[_Asked | _Ended] = field(default_factory=SimpleQueue)
    answers: SimpleQueue[Any] = field(default_factory=SimpleQueue)

    def __call__(
        self, name: str, work: Work, shared: Any = None, state: Any = None, anew: bool = False
    ) -> Any:
        self.count += 1
        self.inbox.put(_Asked(self.slot, (name, work, shared, state)))
        answer = self.answers.get()
        if isinstance(answer, BaseException):
            raise answer
        return answer


def together(passes: Passes, runs: Sequence[Callable[[Passes], T]]) -> list[T]:
    """Run computations that make passes, and make each pass once for all of them.

    A pass is made when every computation that has not ended asks for one; rows are read once, and
    each has its sum of them. Results do not depend on which is first.

    Parameters
    ----------
    passes : Passes
    runs : sequence of callable
        Each is given passes of its own and returns its result.

    Returns
    -------
    list
        Of the results.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.data import as_source
    >>> def total(block, shared, state):
    ...     return Sums(sum=np.sum(block.X**shared))
    >>> passes = Passes(as_source(np.array([[1.0], [2.0], [3.0]])))
    >>> runs = [lambda own, p=p: float(own("power", total, p)["sum"]) for p in (1, 2, 3)]
    >>> together(passes, runs), passes.count
    ([6.0, 14.0, 36.0], 1)
    """
    if len(runs) == 1:
        return [runs[0](passes)]
    inbox: SimpleQueue[_Asked | _Ended] = SimpleQueue()
    proxies = [
        _Proxy(passes.source, passes.rows, passes.n_jobs, n=passes.n, slot=slot, inbox=inbox)
        for slot in range(len(runs))
    ]

    def work(slot: int) -> None:
        try:
            inbox.put(_Ended(slot, runs[slot](proxies[slot])))
        except BaseException as error:
            inbox.put(_Ended(slot, error=error))

    threads = [
        threading.Thread(target=work, args=(slot,), daemon=True) for slot in range(len(runs))
    ]
    for thread in threads:
        thread.start()
    try:
        return _serve(passes, proxies, inbox)
    finally:
        for proxy in proxies:
            proxy.answers.put(_Cancelled())
        for thread in threads:
            thread.join()


def _serve(passes: Passes, proxies: list[_Proxy], inbox: SimpleQueue[_Asked | _Ended]) -> list[Any]:
    """Answer all requests, in the thread that was called: an interrupt arrives there."""
    results: dict[int, Any] = {}
    asked: dict[int, tuple[str, Work, Any, Any]] = {}
    # The same objects in the same order are the same object: it travels once.
    known: dict[tuple[int, ...], tuple[Any, ...]] = {}
    while len(results) < len(proxies):
        message = inbox.get()
        if isinstance(message, _Ended):
            if message.error is not None:
                raise message.error
            results[message.slot] = message.result
        else:
            asked[message.slot] = message.request
        if not asked or len(asked) + len(results) < len(proxies):
            continue
        slots = sorted(asked)
        names, works, shared, states = zip(*(asked[slot] for slot in slots), strict=True)
        shared = known.setdefault(tuple(map(id, shared)), shared)
        state = {"slots": slots, "works": _Works(works), "states": list(states)}
        sums = passes(" and ".join(dict.fromkeys(names)), _all, shared, state)
        asked.clear()
        for slot in slots:
            proxies[slot].n = passes.n
            proxies[slot].answers.put(_own(sums, slot))
    return [results[slot] for slot in range(len(proxies))]
