"""Kernels that are computed one feature at a time, in float64 and in blocks of bounded size."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from itertools import accumulate
from operator import mul
from typing import TypeAlias

import numpy as np

from mercer.kernels.base import Evaluator, Kernel
from mercer.kernels.points import (
    BLOCK_BYTES,
    Array,
    Data,
    as_pair,
    as_points,
    is_sparse,
    row_slices,
)

Factor: TypeAlias = Callable[[Array, Array, int], Array]
"""A function of numbers x and z and of the feature whose numbers they are."""


class FeatureColumns:
    """The features of points one by one: dense and in float64, whatever the points are."""

    def __init__(self, X: Data) -> None:
        self.X = X.tocsc() if is_sparse(X) else X

    def __getitem__(self, j: int) -> Array:
        column = self.X[:, [j]].toarray()[:, 0] if is_sparse(self.X) else self.X[:, j]
        return np.asarray(column, dtype=np.float64)


class Featurewise(Kernel):
    r"""A product over the features of functions of two numbers, :math:`\prod_j k_j(x_j, z_j)`."""

    @abstractmethod
    def _factors(self) -> Factor:
        """Return the function of x, z and j that gives the values of feature j.

        The numbers x and z are broadcast against each other; what does not depend on them is
        computed here, once.
        """

    def _derivatives(self, x: Array, z: Array, j: int) -> dict[str, Array]:
        """Return the derivatives of the factor of feature j by the real parameters."""
        return {}

    def _check_features(self, p: int) -> None:
        """Refuse points with a number of features that the kernel does not take."""

    def against(self, Z: Data) -> Evaluator:
        Z = as_points(Z)
        self._check_features(Z.shape[1])
        columns, factor = FeatureColumns(Z), self._factors()

        def evaluate(X: Data, out: Array | None = None) -> Array:
            X, like = as_pair(X, Z)
            (n, p), m = X.shape, Z.shape[0]
            z = columns if like is Z else FeatureColumns(like)
            x = FeatureColumns(X)
            if out is None:
                out = np.empty((n, m), dtype=X.dtype)
            # A block, a factor and what its formula keeps take a few times the rows themselves.
            for rows in row_slices(n, 32 * m, BLOCK_BYTES):
                block = np.ones((rows.stop - rows.start, m))
                for j in range(p):
                    block *= factor(x[j][rows, None], z[j], j)
                out[rows] = block
            return out

        return evaluate

    def paired(self, X: Data, Z: Data) -> Array:
        X, Z = as_pair(X, Z)
        n, p = X.shape
        self._check_features(p)
        x, z, factor = FeatureColumns(X), FeatureColumns(Z), self._factors()
        values = np.ones(n)
        for j in range(p):
            values *= factor(x[j], z[j], j)
        return values.astype(X.dtype)

    def diag(self, X: Data) -> Array:
        return self.paired(X, X)

    def gradient(self, X: Data, Z: Data | None = None) -> dict[str, Array]:
        X, Z = as_pair(X, X if Z is None else Z)
        p = X.shape[1]
        self._check_features(p)
        x, z, factor = FeatureColumns(X), FeatureColumns(Z), self._factors()
        rest = without_one([factor(x[j][:, None], z[j], j) for j in range(p)])
        result: dict[str, Array] = {}
        for j in range(p):
            for name, slope in self._derivatives(x[j][:, None], z[j], j).items():
                part = slope * (rest[j] if slope.ndim == 2 else rest[j][:, :, None])
                if slope.ndim == 2 and np.ndim(getattr(self, name, 0.0)) == 1:
                    part = part[:, :, None] * (np.arange(p) == j)
                result[name] = result[name] + part if name in result else part
        return {name: value.astype(X.dtype) for name, value in result.items()}


class OneFeature(Featurewise):
    """A function of two numbers; more features need to be told how they go together."""

    def _check_features(self, p: int) -> None:
        if p != 1:
            raise ValueError(
                f"{type(self).__name__} is a kernel of one feature but the points have {p}: select "
                "one with .on([j]), or combine all with Tensor, Additive or ANOVA."
            )


def without_one(factors: list[Array]) -> list[Array]:
    """Return, for each factor, the product of all others; no division, a factor may be zero.

    Examples
    --------
    >>> without_one([np.array([2.0]), np.array([0.0]), np.array([5.0])])
    [array([0.]), array([10.]), array([0.])]
    """
    one = np.ones_like(factors[0])
    before = accumulate(factors[:-1], mul, initial=one)
    after = list(accumulate(factors[:0:-1], mul, initial=one))[::-1]
    return [left * right for left, right in zip(before, after, strict=True)]


def scale_of_feature(length_scale: object, j: int) -> float:
    """Return the length scale of feature j, where there is one for all or one for each."""
    scale = np.asarray(length_scale, dtype=float)
    return float(scale if scale.ndim == 0 else scale[j])


def check_length_scale(length_scale: object) -> None:
    """Refuse a length scale that is not a positive number or a positive number per feature."""
    scale = np.asarray(length_scale, dtype=float)
    if scale.ndim > 1 or scale.size == 0 or not ((scale > 0) & (scale < np.inf)).all():
        raise ValueError(
            "length_scale must be a positive number or one positive number per feature, "
            f"got {length_scale!r}."
        )


def check_scale_fits(length_scale: object, p: int) -> None:
    """Refuse points that have more or fewer features than there are length scales."""
    scale = np.asarray(length_scale, dtype=float)
    if scale.ndim and scale.size != p:
        raise ValueError(f"length_scale has {scale.size} entries but the points have {p} features.")
