"""How many components: a number, a share of the variance, or a criterion."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels.points import Array

__all__ = [
    "CRITERIA",
    "All",
    "BrokenStick",
    "Fixed",
    "Rule",
    "Share",
    "Thresholds",
    "broken_stick",
    "first_run",
]

CRITERIA = ("broken-stick", "parallel", "held-out")

FIRST = 32
"""Eigenvalues that a rule sees first, where it does not say how many it needs."""


class Rule(ABC):
    """Decide from leading eigenvalues how many components are kept."""

    @abstractmethod
    def first(self, n: int) -> int | None:
        """Return how many of n eigenvalues to compute first; None for all."""

    @abstractmethod
    def keep(self, values: Array, trace: float, rank: int) -> int | None:
        """Return how many of some leading eigenvalues are kept; None if more must be known.

        Parameters
        ----------
        values : (k,) array
            Leading eigenvalues, descending.
        trace : float
            Sum of all eigenvalues.
        rank : int
            Number of all eigenvalues that can differ from zero.
        """


@dataclass(frozen=True)
class All(Rule):
    """Every component whose eigenvalue is not zero."""

    def first(self, n: int) -> int | None:
        return None

    def keep(self, values: Array, trace: float, rank: int) -> int | None:
        return len(values)


@dataclass(frozen=True)
class Fixed(Rule):
    """A number of components."""

    number: int

    def first(self, n: int) -> int | None:
        return min(self.number, n)

    def keep(self, values: Array, trace: float, rank: int) -> int | None:
        return min(self.number, len(values))


class _Growing(Rule):
    """Rules that look at eigenvalues from the largest on."""

    def first(self, n: int) -> int | None:
        return min(FIRST, n)


@dataclass(frozen=True)
class Share(_Growing):
    """As many components as explain a share of the variance."""

    share: float

    def keep(self, values: Array, trace: float, rank: int) -> int | None:
        sums = np.cumsum(values)
        # The last eigenvalues are rounding: without them the trace is never reached.
        reached = np.flatnonzero(sums >= self.share * trace * (1.0 - 1e-12))
        if len(reached):
            return int(reached[0]) + 1
        return len(values) if len(values) >= rank else None


@dataclass(frozen=True)
class Thresholds(_Growing):
    """Components as long as their eigenvalues exceed those of data without structure."""

    limits: Array

    def first(self, n: int) -> int | None:
        return min(len(self.limits), n)

    def keep(self, values: Array, trace: float, rank: int) -> int | None:
        k = min(len(values), len(self.limits))
        return first_run(values[:k] > self.limits[:k])


@dataclass(frozen=True)
class BrokenStick(_Growing):
    """Components as long as they explain more than pieces of a stick broken at random."""

    def keep(self, values: Array, trace: float, rank: int) -> int | None:
        k = min(len(values), rank)
        above = values[:k] > trace * broken_stick(rank)[:k]
        return None if np.all(above) and k < rank else first_run(above)


def first_run(above: Any) -> int:
    """Return the length of the first run that is true, at least one."""
    below = np.flatnonzero(~np.asarray(above))
    return max(1, int(below[0]) if len(below) else len(above))


def broken_stick(n: int) -> Array:
    r"""Return the expected lengths of n pieces of a stick broken at random, descending.

    .. math:: \ell_j = \frac1n \sum_{i=j}^n \frac1i

    Parameters
    ----------
    n : int
        Number of pieces.

    Examples
    --------
    >>> broken_stick(3).round(4)
    array([0.6111, 0.2778, 0.1111])
    """
    return np.asarray(np.cumsum(1.0 / np.arange(n, 0, -1))[::-1] / n)
