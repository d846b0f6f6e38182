"""Sums over numbered summands whose bits do not depend on who adds what to what."""

from __future__ import annotations

from typing import Any

__all__ = ["PartialSums"]


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
