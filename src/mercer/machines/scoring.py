"""Scores of rows that come in blocks: sums of what scikit-learn's scores are made of."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer._typing import Array, PointsLike, Predictor, TargetsLike, WeightsLike
from mercer.data.base import Block, Sums
from mercer.data.opening import as_source
from mercer.machines.evaluating import PREDICTED_ROWS

__all__ = ["accuracy", "r2"]


@dataclass(frozen=True)
class Explained:
    """Weight, mean, spread of targets and squared errors of rows; addition joins rows."""

    weight: float
    mean: Array
    spread: Array
    error: Array

    def __add__(self, other: Self) -> Explained:
        weight = self.weight + other.weight
        apart = other.mean - self.mean
        share = other.weight / weight if weight else 0.0
        return Explained(
            weight,
            self.mean + share * apart,
            self.spread + other.spread + self.weight * share * apart**2,
            self.error + other.error,
        )

    @property
    def r2(self) -> float:
        """The mean of the coefficients of determination of all outputs."""
        told = np.where(self.error > 0.0, 0.0, 1.0)
        spread = np.where(self.spread > 0.0, self.spread, 1.0)
        return float(np.mean(np.where(self.spread > 0.0, 1.0 - self.error / spread, told)))


def _weights(block: Block) -> Array:
    return np.ones(block.n) if block.s is None else np.asarray(block.s, dtype=float)


def _predicted(machine: Predictor, block: Block) -> Any:
    if block.y is None:
        raise ValueError("the source has no targets to compare predictions with: give y")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return machine.predict(block.X)


def _explained(block: Block, machine: Predictor, _: Any) -> Explained:
    f = np.asarray(_predicted(machine, block), dtype=float).reshape(block.n, -1)
    y, s = np.asarray(block.y, dtype=float).reshape(block.n, -1), _weights(block)
    weight = float(s.sum())
    mean = s @ y / weight if weight else np.zeros(y.shape[1])
    return Explained(weight, mean, s @ (y - mean) ** 2, s @ (y - f) ** 2)


def _right(block: Block, machine: Predictor, _: Any) -> Sums:
    s = _weights(block)
    right = np.ravel(_predicted(machine, block)) == np.ravel(block.y)
    return Sums(weight=float(s.sum()), right=float(s @ right))


def r2(
    machine: Predictor, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None
) -> float:
    r"""Return :math:`R^2 = 1 - \sum_i s_i (y_i - f_i)^2 / \sum_i s_i (y_i - \bar y)^2` by blocks.

    Parameters
    ----------
    machine : fitted estimator
    X : Source, or what ``mercer.data.as_source`` takes
    y, sample_weight : optional
        Where the source has none.
    """
    found: Explained = (
        as_source(X, y, sample_weight).checked().total(_explained, machine, rows=PREDICTED_ROWS)
    )
    return found.r2


def accuracy(
    machine: Predictor, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None
) -> float:
    """Return the share of rows whose class is predicted, by blocks.

    Parameters
    ----------
    machine : fitted estimator
    X : Source, or what ``mercer.data.as_source`` takes
    y, sample_weight : optional
        Where the source has none.
    """
    source = as_source(X, y, sample_weight).checked()
    found: Sums = source.total(_right, machine, rows=PREDICTED_ROWS)
    return float(found["right"] / found["weight"])
