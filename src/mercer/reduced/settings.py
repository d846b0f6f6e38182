r"""Many settings of a machine as columns of one problem, and their errors on rows left out.

Weights and parameters of the loss differ from column to column as targets do, so a grid of them is
fitted, and judged, at the passes of one machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array, PointsLike
from mercer.data.base import Block, Sums
from mercer.data.sampling import fold_of
from mercer.losses.base import Loss
from mercer.losses.regression import Squared
from mercer.reduced.base import FeatureMap
from mercer.reduced.normal_sums import FOLD_SEED_OFFSET
from mercer.reduced.passes import Passes
from mercer.reduced.problem import as_rows, held_out
from mercer.reduced.targets import Codes, Targets
from mercer.regularizers.null_space import NullSpace

__all__ = [
    "Errors",
    "FoldTargets",
    "Mistakes",
    "Scorer",
    "Scores",
    "Split",
    "Tiled",
    "joined",
    "score",
]


@dataclass
class Split:
    """A split of rows into folds by their contents: the same wherever they lie.

    Parameters
    ----------
    folds : int
        Number of parts, each of which is left out once; 1 for one share held out.
    share : float
        The share that is held out if there is one fold.
    seed : int

    Examples
    --------
    >>> X = np.arange(6.0)[:, None]
    >>> sorted(set(Split(folds=2)(X).tolist()) | {0, 1})
    [0, 1]
    """

    folds: int = 1
    share: float = 0.2
    seed: int = 0

    def __call__(self, X: PointsLike) -> NDArray[np.intp]:
        """Return the fold that each row is left out with, -1 for none."""
        if self.folds > 1:
            return fold_of(X, self.folds, self.seed + FOLD_SEED_OFFSET)
        return np.where(held_out(X, self.seed, self.share), 0, -1)


@dataclass
class Tiled:
    """The same targets for several settings, those of one setting together.

    Parameters
    ----------
    targets : Targets
    times : int

    Examples
    --------
    >>> from mercer.reduced.targets import Values
    >>> Tiled(Values(), 3)(Block(np.zeros((2, 1)), np.array([1.0, 2.0])))[0]
    array([[1., 1., 1.],
           [2., 2., 2.]])
    """

    targets: Targets
    times: int

    @property
    def k(self) -> int:
        """Number of problems."""
        return self.times * self.targets.k

    def __call__(self, block: Block) -> tuple[Array, Array]:
        Y, s = self.targets(block)
        return np.tile(Y, self.times), s if s.shape[1] == 1 else np.tile(s, self.times)


@dataclass
class FoldTargets:
    """Targets of machines that each do without one fold; those of one fold together.

    Parameters
    ----------
    targets : Targets
    split : Split
    """

    targets: Targets
    split: Split

    @property
    def k(self) -> int:
        """Number of problems."""
        return self.split.folds * self.targets.k

    def __call__(self, block: Block) -> tuple[Array, Array]:
        Y, s = self.targets(block)
        fold, folds = self.split(as_rows(block)), self.split.folds
        if folds == 1:
            return Y, s * (fold < 0)[:, None]
        inside = fold[:, None] != np.arange(folds)
        weights = inside[:, :, None] * np.broadcast_to(s, Y.shape)[:, None]
        return np.tile(Y, folds), weights.reshape(block.n, -1)


def joined(losses: Sequence[Loss], each: int) -> Loss:
    """Return one loss that has the parameters of several, each for some columns.

    Parameters
    ----------
    losses : sequence of Loss
        Of one kind, with numbers for parameters.
    each : int
        Columns of each loss.

    Examples
    --------
    >>> from mercer.losses import Pinball
    >>> joined([Pinball(0.1), Pinball(0.9)], 2).quantile
    array([[0.1, 0.1, 0.9, 0.9]])
    """
    kinds = {type(loss) for loss in losses}
    if len(kinds) > 1:
        names = sorted(kind.__name__ for kind in kinds)
        raise ValueError(f"losses of different kinds, {names}, cannot be columns of one problem.")
    first = losses[0].get_params(deep=False)
    params: dict[str, Any] = {}
    for name, value in first.items():
        values = [loss.get_params(deep=False)[name] for loss in losses]
        if all(np.array_equal(value, other) for other in values):
            params[name] = value
        elif any(np.ndim(other) for other in values):
            raise ValueError(
                f"{name} is given for each row in some settings; give one number in each."
            )
        else:
            params[name] = np.repeat(np.array(values, dtype=np.float64), each)[None]
    return type(losses[0])(**params)


# Errors of rows left out --------------------------------------------------------------------------


class Scorer(Protocol):
    """Costs of the predictions of a block, by setting."""

    def __call__(self, block: Block, Y: Array, F: Array) -> Array:
        """Return costs (n, settings) from targets Y (n, k) and values F (n, settings, k)."""


@dataclass
class Errors:
    """Losses of residuals or margins, summed over targets.

    Parameters
    ----------
    loss : Loss, default=Squared()
    turn : (k, d) array, optional
        Makes outputs of the directions among them that the problems look into.
    """

    loss: Loss = field(default_factory=Squared)
    turn: Array | None = None

    def __call__(self, block: Block, Y: Array, F: Array) -> Array:
        if self.turn is not None:
            Y, F = Y @ self.turn, F @ self.turn
        costs = self.loss.value(np.broadcast_to(Y[:, None], F.shape), F)
        return np.asarray(np.sum(costs, axis=2))


@dataclass
class Mistakes:
    """Wrong decisions: by sign, by the largest value, or by votes of pairs.

    Parameters
    ----------
    codes : Codes
    sure : bool, default=False
        Break ties of votes by how sure the pairs are; by the order of the classes otherwise.

    Examples
    --------
    >>> codes = Codes(np.array(["a", "b"]), np.array([[-1.0], [1.0]]), np.ones(2))
    >>> block = Block(np.zeros((2, 1)), np.array(["a", "b"]))
    >>> Mistakes(codes)(block, None, np.array([[[-1.0], [1.0]], [[-2.0], [3.0]]]))
    array([[0., 1.],
           [1., 0.]])
    """

    codes: Codes
    sure: bool = False

    def __call__(self, block: Block, Y: Any, F: Array) -> Array:
        labels = np.asarray(block.y).reshape(-1)
        truth = np.searchsorted(self.codes.classes, labels)[:, None]
        return np.asarray(self.decide(F) != truth, dtype=np.float64)

    def decide(self, F: Array) -> NDArray[np.intp]:
        """Return the class, by its number, that values (..., k) decide for."""
        book = self.codes.book
        if book.shape[1] == 1:
            return np.where(F[..., 0] > 0, np.argmax(book[:, 0]), np.argmin(book[:, 0]))
        if np.all(book != 0):
            return np.asarray(np.argmax(F @ book.T, axis=-1))
        votes = np.where(F > 0, 1.0, -1.0) @ book.T
        if self.sure:
            # Between two numbers of votes, as scikit-learn has it.
            sum_of = F @ book.T
            votes = votes + 2.0 * sum_of / (3.0 * (np.abs(sum_of) + 1.0))
        return np.asarray(np.argmax(votes, axis=-1))


@dataclass(frozen=True)
class Scores:
    """Errors of settings on rows that they did not see.

    Parameters
    ----------
    error : (folds, settings) array
        Mean cost of the rows of a fold.
    weight : (folds,) array
        Sum of the weights of these rows.
    """

    error: Array
    weight: Array

    @property
    def mean(self) -> Array:
        """Mean cost of all rows left out, (settings,)."""
        live = self.weight > 0
        return np.asarray(self.weight[live] @ self.error[live] / self.weight.sum())


@dataclass
class Examination:
    """Inputs of blocks that score settings, the same in every pass."""

    map: FeatureMap
    null_space: NullSpace
    targets: Targets
    scorer: Scorer
    split: Split


def examine(block: Block, shared: Examination, state: dict[str, Any]) -> Sums:
    """Return costs and weights of rows left out, (folds, settings) and (folds,)."""
    X, folds, k = as_rows(block), shared.split.folds, shared.targets.k
    fold = shared.split(X)
    rows = np.flatnonzero(fold >= 0)
    if not len(rows):
        settings = state["b"].shape[1] // (folds * k)
        return Sums(cost=np.zeros((folds, settings)), weight=np.zeros(folds))
    some = Block(X[rows], np.asarray(block.y)[rows], None, block.start)
    weights = np.ones(block.n) if block.s is None else np.asarray(block.s, dtype=np.float64)
    fold, s = fold[rows], weights[rows]
    Y, _ = shared.targets(some)
    P = shared.null_space(some.X) @ state["b"]
    settings = P.shape[1] // (folds * k)
    cost, weight = np.zeros((folds, settings)), np.bincount(fold, s, folds)

    def costs(F: Array, part: slice, R: Any) -> Array:
        F = (F + P[part]).reshape(len(F), folds, settings, k)
        own = F[np.arange(len(F)), fold[part]]
        y = None if some.y is None else some.y[part]
        values = shared.scorer(Block(some.X[part], y), Y[part], own)
        np.add.at(cost, fold[part], s[part, None] * values)
        return np.zeros((len(F), 0))

    shared.map.sweep(some.X, state["A"], costs)
    return Sums(cost=cost, weight=weight)


def score(
    passes: Passes,
    map: FeatureMap,
    null_space: NullSpace,
    targets: Targets,
    scorer: Scorer,
    split: Split,
    W: Array,
    b: Array,
) -> Scores:
    """Examine all settings on rows that they did not see, in one pass.

    Parameters
    ----------
    passes : Passes
    map : FeatureMap
    null_space : NullSpace
    targets : Targets
        Of one setting, k of them.
    scorer : Scorer
    split : Split
        Which rows each of the folds did without.
    W, b : (r, folds settings k) and (q, folds settings k) arrays
        Coefficients; targets of a setting together, and settings of a fold.
    """
    shared = Examination(map, null_space, targets, scorer, split)
    sums = passes("score", examine, shared, {"A": map.lift(W), "b": b})
    weight = sums["weight"]
    if not np.any(weight > 0):
        raise ValueError("no row with weight was left out; use more rows, or a larger share.")
    return Scores(sums["cost"] / np.where(weight > 0, weight, np.nan)[:, None], weight)
