"""Rows, weights and the kernel of a transformer without labels."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._fitting import AllOrNothing
from mercer._params import check_sample_weight
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions
from mercer._typing import Array, Constraints, PointsLike, WeightsLike
from mercer.data.opening import is_source
from mercer.kernels.base import Kernel
from mercer.kernels.named import FREE, NAMES, resolve
from mercer.kernels.points import BLOCK_BYTES, count, row_slices, take

__all__ = ["Array", "KernelFeatures", "KernelRows"]


class KernelRows:
    """A kernel matrix of a sample, evaluated a block of rows at a time and never held.

    Parameters
    ----------
    kernel : Kernel
    X : (m, p) points
        Training points, or the kernel matrix itself for a precomputed kernel.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> KernelRows(Linear(), np.array([[1.0], [2.0]])).matvec(np.ones(2))
    array([3., 6.])
    """

    def __init__(self, kernel: Kernel, X: PointsLike) -> None:
        self.kernel, self.X, self.m = kernel, X, count(X)
        self._evaluate = kernel.against(kernel.points(X, np.arange(self.m)))

    def diag(self) -> Array:
        """Return k(x, x) of every point, (m,)."""
        return np.asarray(self.kernel.diag(self.X), dtype=np.float64)

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield rows and their kernel values against all points, (rows, m)."""
        for rows in row_slices(self.m, 8 * self.m, BLOCK_BYTES):
            K = np.asarray(self._evaluate(take(self.X, rows)), dtype=np.float64)
            if not np.all(np.isfinite(K)):
                raise ValueError(
                    "The kernel overflows on this sample. Scale the inputs (StandardScaler, "
                    "MinMaxScaler), or lower gamma or degree."
                )
            yield rows, K

    def matvec(self, v: Array) -> Array:
        """Return the kernel matrix times a vector, (m,)."""
        out = np.empty(self.m)
        for rows, K in self.blocks():
            out[rows] = K @ v
        return out


@settings
class KernelFeatures(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    AllOrNothing,
    BaseEstimator,  # type: ignore[misc]
):
    """A transformer whose features are functions of a kernel: checks of rows, weights, kernel."""

    _: KW_ONLY
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "kernel": [StrOptions({*FREE, *NAMES}), callable],
        "gamma": [
            StrOptions({"scale", "auto", "median"}),
            Interval(Real, 0.0, None, closed="neither"),
        ],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
    }

    @property
    def _precomputed(self) -> bool:
        kernel: Any = self.kernel
        return bool(kernel.precomputed if isinstance(kernel, Kernel) else kernel == "precomputed")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = not self._precomputed
        return tags

    def _checked(self, X: PointsLike, reset: bool, least: int = 1) -> Any:
        if not reset:
            check_is_fitted(self)
        if is_source(X):
            raise ValueError(
                f"{type(self).__name__} compares every row with every other, so rows cannot come "
                "in blocks: give an array of some of them (mercer.data.draw)."
            )
        X = validate_data(
            self,
            X,
            reset=reset,
            dtype=np.float64,
            order="C",
            accept_sparse=False if self._precomputed else "csr",
            accept_large_sparse=False,
            ensure_min_samples=least,
        )
        if reset and self._precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(f"A precomputed kernel matrix must be square, got shape {X.shape}.")
        return X

    def _weights(self, sample_weight: WeightsLike, X: PointsLike) -> Array:
        """Return the weights of the rows, whose sum is one, (m,)."""
        w = check_sample_weight(sample_weight, X.shape[0])
        if not np.isfinite(w.sum()):
            raise ValueError("the sum of sample_weight is infinite; scale the weights down")
        return np.asarray(w / w.sum(), dtype=np.float64)

    def _definite_kernel(self, X: PointsLike, order: int = 0) -> Kernel:
        """Return the kernel that is meant; refuse conditional kernels beyond an order."""
        # A copy: parameters set after the fit must not reach into the fitted transformer.
        given = copy.deepcopy(self.kernel)
        values: Any = X.data if hasattr(X, "tocsr") else X
        if not np.isfinite(np.vdot(values, values)):
            raise ValueError("The squares of X overflow. Scale the inputs (StandardScaler).")
        kernel = resolve(given, X, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        names = getattr(self, "feature_names_in_", None)
        kernel = kernel if names is None else kernel.bind(list(names))
        if kernel.order > order:
            raise ValueError(
                f"{kernel!r} is only conditionally positive definite, of order {kernel.order}: "
                f"{'differences of' if order else 'single'} points have no image in its feature "
                "space. Use KernelPCA, or a positive definite kernel."
            )
        return kernel
