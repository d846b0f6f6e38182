"""The reduced problem as blocks of rows see it: targets, weights, free columns and loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array, PointsLike
from mercer.data.base import Block
from mercer.data.sampling import fingerprints
from mercer.losses.base import Loss
from mercer.reduced.base import FeatureMap
from mercer.reduced.targets import Targets
from mercer.reduced.variable_width import VariableWidth
from mercer.regularizers.null_space import NullSpace

__all__ = [
    "Problem",
    "as_rows",
    "at_rows",
    "columns_of",
    "held_out",
    "loss_of",
    "rows_of",
    "single_problem",
]


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
