"""Targets and weights of a row for each problem of a machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mercer._params import check_weights
from mercer._typing import Array
from mercer.data.base import Block

__all__ = ["Codes", "Ones", "Some", "Targets", "Values"]


class Targets(Protocol):
    """From a block to its targets (n, k) and weights (n, 1) or (n, k), a column a problem."""

    @property
    def k(self) -> int:
        """Number of problems."""

    def __call__(self, block: Block) -> tuple[Array, Array]: ...


def weights_of(block: Block) -> Array:
    """Return the weights of a block, (n, 1)."""
    if block.s is None:
        return np.ones((block.n, 1))
    return check_weights(block.s, block.n, block.start)[:, None]


@dataclass
class Values:
    """Numbers as targets, one problem an output.

    Parameters
    ----------
    k : int
        Number of outputs.
    turn : (k, k) array, optional
        Directions among the outputs that the problems look into.
    """

    k: int = 1
    turn: Array | None = None

    def __call__(self, block: Block) -> tuple[Array, Array]:
        Y = np.asarray(block.y, dtype=np.float64).reshape(block.n, -1)
        if Y.shape[1] != self.k:
            raise ValueError(f"rows have {Y.shape[1]} targets; the machine has {self.k}")
        if not np.all(np.isfinite(Y)):
            row = block.start + int(np.flatnonzero(~np.isfinite(Y).all(axis=1))[0])
            raise ValueError(f"the target of row {row} is NaN or infinite")
        return (Y if self.turn is None else Y @ self.turn), weights_of(block)


@dataclass
class Ones:
    """Nothing but weights: every row is a member, in one problem."""

    k: int = 1

    def __call__(self, block: Block) -> tuple[Array, Array]:
        return np.ones((block.n, 1)), weights_of(block)


@dataclass
class Codes:
    """Classes as targets: every problem sets some classes against others.

    Parameters
    ----------
    classes : array
        Labels, ascending.
    book : (n_classes, k) array
        Plus and minus one; classes coded 0 stay out of a problem.
    class_weight : (n_classes,) array
        Factors of the weights.
    """

    classes: Any
    book: Array
    class_weight: Array

    @property
    def k(self) -> int:
        """Number of problems."""
        return int(self.book.shape[1])

    def index(self, block: Block) -> NDArray[np.intp]:
        """Return which class each row has."""
        labels = np.asarray(block.y).reshape(-1)
        index = np.minimum(np.searchsorted(self.classes, labels), len(self.classes) - 1)
        if not np.all(self.classes[index] == labels):
            row = int(np.flatnonzero(self.classes[index] != labels)[0])
            raise ValueError(f"row {block.start + row} has the unknown class {labels[row]!r}")
        return index

    def __call__(self, block: Block) -> tuple[Array, Array]:
        index = self.index(block)
        s = weights_of(block) * self.class_weight[index, None]
        Y = self.book[index]
        if np.all(self.book != 0):
            return Y, s
        return np.where(Y == 0, 1.0, Y), s * (Y != 0)


@dataclass
class Some:
    """Some of the problems of a machine.

    Parameters
    ----------
    targets : Targets
    columns : (k,) array of int
    """

    targets: Targets
    columns: Any

    @property
    def k(self) -> int:
        """Number of problems."""
        return len(self.columns)

    def __call__(self, block: Block) -> tuple[Array, Array]:
        Y, s = self.targets(block)
        return Y[:, self.columns], s if s.shape[1] == 1 else s[:, self.columns]
