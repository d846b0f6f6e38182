"""Stages of work that know whether they are done: what a change upstream makes stale, and no more.

A stage has settings and takes the values of other stages. Its *key* is made of its settings and of
the keys of what it takes, so two keys are equal exactly if everything upstream is. A stage is fresh
if its value was computed for the key that it has now; nothing has to be marked.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class State(StrEnum):
    """What is known of a stage."""

    FRESH = "fresh"
    STALE = "stale"
    RUNNING = "running"
    FAILED = "failed"


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a stage gave, for the key that it had.

    Parameters
    ----------
    key : hashable
        Of the stage when it was begun.
    value : object
        What it gave.
    problem : str, optional
        Why it gave nothing.
    """

    key: Hashable
    value: Any = None
    problem: str | None = None


class Stages:
    """A graph of stages, in the order in which they are done.

    Parameters
    ----------
    inputs : mapping from str to sequence of str
        The stages that each stage takes values of; those come before it.
    settings : mapping from str to dict, optional
        Settings of stages at the beginning.

    Examples
    --------
    >>> stages = Stages({"data": (), "fit": ("data",), "figure": ("fit",)})
    >>> stages.change("fit", C=10.0)
    >>> for name in stages:
    ...     stages.finish(stages.begin(name), value=name.upper())
    >>> stages.change("fit", C=1.0)
    >>> [str(stages.state(name)) for name in stages]
    ['fresh', 'stale', 'stale']
    >>> stages.change("fit", C=10.0)
    >>> [str(stages.state(name)) for name in stages]
    ['fresh', 'fresh', 'fresh']
    """

    def __init__(
        self,
        inputs: Mapping[str, tuple[str, ...]],
        settings: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self._inputs = {name: tuple(taken) for name, taken in inputs.items()}
        names = list(inputs)
        for k, name in enumerate(names):
            if missing := [one for one in inputs[name] if one not in names[:k]]:
                raise ValueError(f"{name} takes {missing[0]}, which does not come before it.")
        self._settings = {name: dict((settings or {}).get(name, {})) for name in names}
        self._done: dict[str, Outcome] = {}
        self._running: dict[str, Hashable] = {}
        self._lock = threading.RLock()

    def __iter__(self) -> Iterator[str]:
        return iter(self._inputs)

    def settings(self, name: str) -> dict[str, Any]:
        """Return the settings of a stage."""
        return dict(self._settings[name])

    def change(self, name: str, **settings: Any) -> None:
        """Change settings of a stage."""
        with self._lock:
            self._settings[name] = {**self._settings[name], **settings}

    def key(self, name: str) -> Hashable:
        """Return what the value of a stage depends on: all settings upstream and its own."""
        above = tuple(self.key(one) for one in self._inputs[name])
        return (name, frozen(self._settings[name]), above)

    def below(self, name: str) -> list[str]:
        """Return the stages that depend on a stage, itself included."""
        found = {name}
        for one, taken in self._inputs.items():
            if found & set(taken):
                found.add(one)
        return [one for one in self if one in found]

    def above(self, name: str) -> list[str]:
        """Return the stages that a stage depends on, without itself."""
        return [one for one in self if one != name and name in self.below(one)]

    def state(self, name: str) -> State:
        """Return whether the value of a stage is the one that its settings ask for."""
        with self._lock:
            key = self.key(name)
            if name in self._running and self._running[name] == key:
                return State.RUNNING
            done = self._done.get(name)
            if done is None or done.key != key:
                return State.STALE
            return State.FRESH if done.problem is None else State.FAILED

    def outcome(self, name: str) -> Outcome | None:
        """Return what a stage gave last, be it stale; None if it gave nothing yet."""
        return self._done.get(name)

    def value(self, name: str) -> Any:
        """Return the value of a fresh stage.

        Raises
        ------
        LookupError
            If it is not fresh.
        """
        with self._lock:
            if (state := self.state(name)) is not State.FRESH:
                raise LookupError(f"{name} is {state}.")
            return self._done[name].value

    # Work -----------------------------------------------------------------------------------------

    def begin(self, name: str) -> tuple[str, Hashable]:
        """Say that a stage is being computed; what it takes must be fresh.

        Returns
        -------
        tuple
            What :meth:`finish`, :meth:`fail` or :meth:`cancel` is told.
        """
        with self._lock:
            for one in self._inputs[name]:
                if (state := self.state(one)) is not State.FRESH:
                    raise LookupError(f"{name} takes {one}, which is {state}.")
            self._running[name] = self.key(name)
            return name, self._running[name]

    def finish(self, begun: tuple[str, Hashable], value: Any) -> None:
        """Keep the value of a stage that was begun; it is fresh if nothing changed meanwhile."""
        self._end(begun, Outcome(begun[1], value))

    def fail(self, begun: tuple[str, Hashable], problem: str) -> None:
        """Keep why a stage that was begun has no value; its last value stays what it was."""
        last = self._done.get(begun[0])
        self._end(begun, Outcome(begun[1], None if last is None else last.value, problem))

    def cancel(self, begun: tuple[str, Hashable]) -> None:
        """Forget that a stage was begun."""
        self._end(begun, None)

    def _end(self, begun: tuple[str, Hashable], outcome: Outcome | None) -> None:
        name, key = begun
        with self._lock:
            # A later beginning of the same stage, for another key, is not ended by this one.
            if self._running.get(name) == key:
                del self._running[name]
                if outcome is not None:
                    self._done[name] = outcome


def frozen(value: Any) -> Hashable:
    """Return settings as a value that can be compared: dicts and lists become tuples.

    Examples
    --------
    >>> frozen({"b": [1, 2], "a": None})
    (('a', None), ('b', (1, 2)))
    """
    if isinstance(value, Mapping):
        return tuple(sorted((str(key), frozen(one)) for key, one in value.items()))
    if isinstance(value, list | tuple | set | frozenset):
        return tuple(frozen(one) for one in value)
    hash(value)
    found: Hashable = value
    return found
