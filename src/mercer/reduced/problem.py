"""The low-rank problem as blocks of rows see it: targets, weights, unpenalized columns and loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from mercer._params import check_weights
from mercer._typing import Array, PointsLike
from mercer.data.base import Block
from mercer.data.sampling import fingerprints
from mercer.losses.base import Loss
from mercer.losses.regression import Pinball
from mercer.reduced.base import FeatureMap
from mercer.regularizers.null_space import NullSpace


@dataclass
class Problem:
    """All that blocks of rows need to know, the same in every pass.

    Parameters
    ----------
    map : FeatureMap
    null_space : NullSpace
        Unpenalized functions.
    targets : Targets
        What the problems see of a row.
    loss : Loss
        Parameters are numbers, or one for each problem as arrays of shape (1, k), or one for each
        row.
    C : (k,) array
        Weight of the summed loss, for each problem.
    p : int
        Number of features.
    seed : int
        Of the fingerprints that pick rows for a part of the curvature.
    held_out : float
        Share of the rows, by another fingerprint, that are left out.
    walls : VariableWidth, optional
        A margin or tube whose width is a variable: columns that depend on targets, at a price.
    direct : bool
        Sum curvature over raw functions, and make features of the sum: half of the work, where that
        loses no digits that are needed.
    """

    map: FeatureMap
    null_space: NullSpace
    targets: Targets
    loss: Loss
    C: Array
    p: int
    seed: int = 0
    held_out: float = 0.0
    walls: VariableWidth | None = None
    direct: bool = False

    @property
    def k(self) -> int:
        """Number of problems."""
        return self.targets.k

    @property
    def free(self) -> int:
        """Number of unpenalized columns."""
        q = self.null_space.size(self.p)
        return q if self.walls is None else self.walls.size(q)

    @property
    def views(self) -> int:
        """How often a row is seen."""
        return 1 if self.walls is None else self.walls.views

    def admit(self, block: Block, rows: Any = None) -> tuple[Any, Array, Array, Array, Loss]:
        """Return points, and the targets, weights, free columns and loss of their copies.

        Rows that are not one after the other have their numbers in `rows`.
        """
        X = as_rows(block)
        Y, s = self.targets(block)
        if self.held_out:
            s = s * ~held_out(X, self.seed, self.held_out)[:, None]
        P = self.null_space(X)
        if not np.all(np.isfinite(P)):
            row = block.start + int(np.flatnonzero(~np.isfinite(P).all(axis=1))[0])
            raise ValueError(f"an unpenalized function is not finite at row {row}")
        loss = loss_of(self.loss, block, rows)
        if self.walls is None:
            return X, Y, s, P, loss
        P, loss = self.walls.columns(P, Y, block), self.walls.loss(loss, block.n)
        Y, s = (np.repeat(part, self.views, axis=0) for part in (Y, s))
        return X, Y, s, P, loss

    def sweep(
        self,
        X: PointsLike,
        A: Array,
        slopes: Callable[[Array, slice, Any], Array],
        single: bool = False,
        rows: int | None = None,
    ) -> Array:
        """Sweep over points by the map; their values are made once for all that is seen of them.

        Slices that `slopes` is given are of what is seen, as :meth:`admit` returns it.
        """
        views = self.views
        if views == 1:
            return self.map.sweep(X, A, slopes, single, rows)

        def summed(F: Array, part: slice, R: Any) -> Array:
            ends = views * part.start, views * part.stop
            each = [slopes(F, slice(ends[0] + j, ends[1], views), R) for j in range(views)]
            return np.asarray(np.sum(each, axis=0))

        return self.map.sweep(X, A, summed, single, rows)


@dataclass(eq=False)
class Whole:
    """A problem whose map keeps, when it travels, the factor that makes features of raw values."""

    problem: Problem

    def __getstate__(self) -> dict[str, Any]:
        phi = self.problem.map
        return {"problem": self.problem, "factor": {k: getattr(phi, k) for k in phi.left_behind}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.problem = state["problem"]
        vars(self.problem.map).update(state["factor"])


def as_rows(block: Block) -> Any:
    """Return the points of a block, which was checked, in float64."""
    X: PointsLike = block.X
    if hasattr(X, "tocsr"):
        return X.tocsr().astype(np.float64)
    return np.ascontiguousarray(X, dtype=np.float64) if X.dtype != object else X


def held_out(X: PointsLike, seed: int, share: float) -> NDArray[np.bool_]:
    """Answer which rows are held out: a share of those that differ, whoever asks."""
    return fingerprints(X, seed + 1) < np.uint64(share * 2.0**64)


def loss_of(loss: Loss, block: Block, rows: Any = None) -> Loss:
    """Return the loss of a block of rows, its parameters as columns where each row has its own."""
    if not any(np.ndim(value) == 1 for value in loss.per_sample().values()):
        return loss
    rows = slice(block.start, block.start + block.n) if rows is None else rows
    return _replaced(loss, lambda x: np.asarray(x)[rows, None] if np.ndim(x) == 1 else x)


def at_rows(loss: Loss, rows: Any) -> Loss:
    """Return the loss of some of all rows, where each has parameters of its own."""
    if not any(np.ndim(value) == 1 for value in loss.per_sample().values()):
        return loss
    return _replaced(loss, lambda x: np.asarray(x)[rows] if np.ndim(x) == 1 else x)


def rows_of(loss: Loss, rows: slice) -> Loss:
    """Return the loss of some of the rows of a block, where each has parameters of its own."""
    params = loss.get_params().values()
    if not any(np.ndim(value) == 2 and np.shape(value)[0] > 1 for value in params):
        return loss
    return _replaced(loss, lambda x: np.asarray(x)[rows] if np.ndim(x) == 2 and len(x) > 1 else x)


def columns_of(loss: Loss, columns: NDArray[np.intp]) -> Loss:
    """Return the loss of some of the problems, where each has parameters of its own."""
    params = loss.get_params().values()
    if not any(np.ndim(value) == 2 and np.shape(value)[1] > 1 for value in params):
        return loss
    return _replaced(loss, lambda x: np.asarray(x)[:, columns] if np.ndim(x) == 2 else x)


def single_problem(loss: Loss) -> Loss:
    """Return the loss of an only problem, its parameters as numbers or one for each row."""
    return _replaced(loss, lambda x: np.ravel(x)[0] if np.size(x) == 1 else np.ravel(x))


def _replaced(loss: Loss, pick: Callable[[Any], Any]) -> Loss:
    """Return a loss with some of its parameters in place of all, and of losses inside of it."""
    return type(loss)(
        **{
            name: _replaced(value, pick) if isinstance(value, Loss) else pick(value)
            for name, value in loss.get_params(deep=False).items()
        }
    )


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


@dataclass(eq=False)
class VariableWidth(ABC):
    r"""Columns and costs of a margin or tube whose width is a variable.

    Their width is an unpenalized column that depends on the targets, with a linear cost:

    .. math:: \tfrac12 |w|^2 + \sum_i c_i\, l(y_i, \phi_i'w + p_i'b) + d'b, \qquad B'a = d

    as in :mod:`mercer.problems.nu`, whose columns, costs and ways back are those here. With
    :math:`a_i = -c_i v_i` the slope in b is :math:`d - B'a`, so that the gap is the same sum.

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
