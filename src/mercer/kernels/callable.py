"""Kernels written as Python functions."""

from __future__ import annotations

import collections.abc
from dataclasses import dataclass

import numpy as np

from mercer.kernels.base import Evaluator, Kernel, put
from mercer.kernels.points import (
    Array,
    Data,
    count,
    float_dtype,
    is_sparse,
    mirror,
    row_slices,
    take,
)


@dataclass(eq=False)
class Callable(Kernel):
    """A kernel given by a function of two sets of points.

    It is assumed, not checked, to be positive definite. The points are passed on as they
    are: they may be strings, graphs or whatever the function understands.

    Parameters
    ----------
    function : callable
        Maps ``(X, Z)`` of n and m points to the ``(n, m)`` matrix of kernel values.

    Examples
    --------
    >>> Callable(lambda X, Z: (X @ Z.T) ** 2)(np.array([[1.0], [2.0]]))
    array([[ 1.,  4.],
           [ 4., 16.]])
    """

    function: collections.abc.Callable[[Data, Data], Data]

    def __post_init__(self) -> None:
        _check_callable(self.function)

    def against(self, Z: Data) -> Evaluator:
        return lambda X, out=None: put(self._evaluate(X, Z), out)

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        if Z is not None:
            return self._evaluate(X, Z)
        K = self._evaluate(X, X)
        scale = float(np.abs(K).max(initial=0.0))
        # Rounding of either order of summation is repaired; more than that is a wrong function.
        tolerance = float(np.sqrt(np.finfo(K.dtype).eps)) * scale
        for rows in row_slices(len(K), 1, 512):
            gap = float(np.abs(K[rows, rows.start :] - K[rows.start :, rows].T).max())
            if gap > tolerance:
                raise ValueError(
                    f"The kernel function is not symmetric: k(x, z), k(z, x) differ by {gap:.1e}."
                )
            mirror(K, rows)
        return K

    def _evaluate(self, X: Data, Z: Data) -> Array:
        K = self.function(X, Z)
        if is_sparse(K):
            K = K.toarray()
        K = np.array(K, dtype=np.result_type(float_dtype(X), float_dtype(Z)), order="C")
        expected = (count(X), count(Z))
        if K.shape != expected:
            raise ValueError(
                f"The kernel function returned shape {K.shape} for {expected[0]} and "
                f"{expected[1]} points; it must return {expected}. Wrap a function of two "
                "single samples in mercer.kernels.Pairwise."
            )
        return K

    def diag(self, X: Data) -> Array:
        diagonal = np.empty(count(X), dtype=float_dtype(X))
        # One call per few points: a square block holds as many values that are not needed.
        for rows in row_slices(len(diagonal), 1, 16):
            block = take(X, rows)
            diagonal[rows] = self._evaluate(block, block).diagonal()
        return diagonal


@dataclass(eq=False)
class Pairwise(Kernel):
    """A kernel given by a function of two single samples.

    Simple and slow: one call of the function for every pair. It is assumed, not checked, to
    be symmetric and positive definite.

    Parameters
    ----------
    function : callable
        Maps two samples ``(x, z)``, rows of the data, to a number.

    Examples
    --------
    >>> Pairwise(lambda x, z: len(set(x) & set(z)))(["ab", "bc", "d"])
    array([[2., 1., 0.],
           [1., 2., 0.],
           [0., 0., 1.]])
    """

    function: collections.abc.Callable[[Data, Data], float]

    def __post_init__(self) -> None:
        _check_callable(self.function)

    def against(self, Z: Data) -> Evaluator:
        samples = list(Z)

        def evaluate(X: Data, out: Array | None = None) -> Array:
            dtype = np.result_type(float_dtype(X), float_dtype(Z))
            values = [[self.function(x, z) for z in samples] for x in X]
            return put(np.array(values, dtype=dtype).reshape(count(X), len(samples)), out)

        return evaluate

    def __call__(self, X: Data, Z: Data | None = None) -> Array:
        if Z is not None:
            return self.against(Z)(X)
        samples = list(X)
        K = np.empty((len(samples), len(samples)), dtype=float_dtype(X))
        for i, x in enumerate(samples):
            K[i, i:] = K[i:, i] = [self.function(x, z) for z in samples[i:]]
        return K

    def diag(self, X: Data) -> Array:
        return np.array([self.function(x, x) for x in X], dtype=float_dtype(X))


def _check_callable(function: object) -> None:
    if not callable(function):
        raise ValueError(f"function must be callable, got {function!r}.")
