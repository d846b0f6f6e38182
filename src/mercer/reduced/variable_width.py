r"""Margins and tubes whose width is a variable, in the reduced problem.

Their width is an unpenalized column that depends on the targets, with a linear cost:

.. math:: \tfrac12 |w|^2 + \sum_i c_i\, l(y_i, \phi_i'w + p_i'b) + d'b, \qquad B'a = d

as in :mod:`mercer.problems.nu`, whose columns, costs and ways back are those here. With
:math:`a_i = -c_i v_i` the slope in b is :math:`d - B'a`, so that the gap is the same sum as ever.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from mercer._typing import Array
from mercer.data.base import Block
from mercer.losses.base import Loss
from mercer.losses.regression import Pinball
from mercer.reduced.targets import Codes

__all__ = ["VariableMargin", "VariableOffset", "VariableTube", "VariableWidth"]


@dataclass(eq=False)
class VariableWidth(ABC):
    """Columns and costs of a margin or tube whose width is a variable.

    Parameters
    ----------
    nu : float
        Upper bound on the share of errors.
    one : int, optional
        Which of the unpenalized functions is the constant; None if none is.
    """

    views: ClassVar[int] = 1
    """How often a row is seen; views of a row follow each other."""

    nu: float
    one: int | None = 0

    @property
    def joint(self) -> bool:
        """Whether problems can have these columns in common."""
        return True

    @abstractmethod
    def size(self, q: int) -> int:
        """Return the number of columns, where there are q unpenalized functions."""

    @abstractmethod
    def columns(self, P: Array, Y: Array, block: Block) -> Array:
        """Return columns (views n, size) from unpenalized functions and targets."""

    @abstractmethod
    def shares(self, q: int, k: int) -> Array:
        """Return linear costs (size, k) in units of the weight of all rows that a problem sees."""

    @abstractmethod
    def start(self, q: int, k: int, Y: Array, width: float) -> Array:
        """Return coefficients (size, k) that put rows between kinks rounded over a width."""

    def loss(self, loss: Loss, n: int) -> Loss:
        """Return the loss of n rows, seen as often as they are."""
        return loss

    def of(self, columns: Any) -> VariableWidth:
        """Return the columns of some of the problems."""
        return self

    @abstractmethod
    def score(self, loss: Array, b: Array) -> Array:
        """Score machines with coefficients b by mean losses (k,) of new rows."""


@dataclass(eq=False)
class VariableOffset(VariableWidth):
    r"""The level of a one-class machine, :math:`\max(0, \rho - f(x_i)) - \nu \rho`, as -b."""

    def size(self, q: int) -> int:
        return q

    def columns(self, P: Array, Y: Array, block: Block) -> Array:
        return P

    def shares(self, q: int, k: int) -> Array:
        return self._constant(q, k, self.nu)

    def start(self, q: int, k: int, Y: Array, width: float) -> Array:
        return self._constant(q, k, -0.5 * width)

    def _constant(self, q: int, k: int, value: float) -> Array:
        d = np.zeros((q, k))
        d[self.one] = value
        return d

    def score(self, loss: Array, b: Array) -> Array:
        # The problem is homogeneous: only errors in units of the level compare.
        return np.asarray(loss / np.maximum(-b[self.one], 1e-300))


@dataclass(eq=False)
class VariableMargin(VariableWidth):
    r"""The margin between classes, :math:`\max(0, \rho - y_i (f(x_i) + b)) - \nu \rho`.

    With a constant among the functions every class has a column of its own, the last class first:
    a problem pays for those of its two, :math:`b \mp \rho`. Without one the labels are a column.

    Parameters
    ----------
    targets : Codes
    """

    targets: Codes = None  # type: ignore[assignment]

    @property
    def joint(self) -> bool:
        return self.one is not None

    def size(self, q: int) -> int:
        return q + 1 if self.one is None else q - 1 + len(self.targets.book)

    def columns(self, P: Array, Y: Array, block: Block) -> Array:
        if self.one is None:
            return np.hstack([Y, P])
        classes = np.arange(len(self.targets.book))[::-1]
        members = self.targets.index(block)[:, None] == classes
        return np.hstack([members, np.delete(P, self.one, axis=1)])

    def shares(self, q: int, k: int) -> Array:
        return self._sides(q, k, self.nu)

    def start(self, q: int, k: int, Y: Array, width: float) -> Array:
        return self._sides(q, k, -0.5 * width if self.one is None else -width)

    def _sides(self, q: int, k: int, value: float) -> Array:
        d = np.zeros((self.size(q), k))
        if self.one is None:
            d[0] = value
        else:
            d[: len(self.targets.book)] = 0.5 * value * self.targets.book[::-1]
        return d

    def of(self, columns: Any) -> VariableMargin:
        return replace(self, targets=replace(self.targets, book=self.targets.book[:, columns]))

    def score(self, loss: Array, b: Array) -> Array:
        # Of a homogeneous problem as well: in units of the margin.
        sides = b[:1] if self.one is None else 0.5 * self.targets.book[::-1] * b[: self._classes]
        return np.asarray(loss / np.maximum(-np.sum(sides, axis=0), 1e-300))

    @property
    def _classes(self) -> int:
        return len(self.targets.book)


@dataclass(eq=False)
class VariableTube(VariableWidth):
    r"""The tube of regression, :math:`\max(0, |y_i - f(x_i) - b| - \epsilon) + \nu \epsilon`.

    A row is seen from below the upper wall :math:`b + \epsilon` and from above the lower one.
    """

    views: ClassVar[int] = 2

    def size(self, q: int) -> int:
        return q + 1

    def columns(self, P: Array, Y: Array, block: Block) -> Array:
        upper = np.tile([1.0, 0.0], len(P))[:, None]
        P = np.repeat(P, 2, axis=0)
        if self.one is None:
            return np.hstack([2.0 * upper - 1.0, P])
        return np.hstack([upper, 1.0 - upper, np.delete(P, self.one, axis=1)])

    def shares(self, q: int, k: int) -> Array:
        # Every row counts twice in the weight of what is seen.
        return self._sides(q, k, np.zeros(k), 0.5 * self.nu)

    def start(self, q: int, k: int, Y: Array, width: float) -> Array:
        value = -0.5 * width if self.one is None else -width
        return self._sides(q, k, np.mean(Y, axis=0), value)

    def _sides(self, q: int, k: int, middle: Array, value: float) -> Array:
        d = np.zeros((q + 1, k))
        if self.one is None:
            d[0] = value
        else:
            d[0], d[1] = middle + 0.5 * value, middle - 0.5 * value
        return d

    def loss(self, loss: Loss, n: int) -> Loss:
        return Pinball(np.tile([1.0, 0.0], n)[:, None])

    def score(self, loss: Array, b: Array) -> Array:
        paid = self.shares(len(b) - 1, b.shape[1]) * b
        return np.asarray(loss + np.sum(paid, axis=0))
