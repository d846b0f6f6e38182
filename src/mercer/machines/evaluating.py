"""Values of a fitted expansion at new points, whichever way its kernel was given."""

from __future__ import annotations

import weakref
from typing import Any, Protocol

import numpy as np

from mercer._params import same
from mercer._sklearn import num_samples
from mercer._typing import AnyArray, Array, Function, PointsLike
from mercer.kernels.base import Kernel
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.points import is_sparse
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.products import FEW, prepared, products

__all__ = [
    "PREDICTED_ROWS",
    "dense",
    "expand",
    "expand_by_class",
    "kernel_matrix",
]

# Rows of new points that are evaluated at once.
PREDICTED_ROWS = 16384

# Support vectors still in use, by their id, prepared for predictions of few points; and numbers up
# to which comparing them takes less time than preparing them.
PREPARED: dict[int, tuple[float, Any, Any]] = {}
MAX_COMPARED_NUMBERS = 2**17


class ExpandedMachine(Protocol):
    """A fitted machine: a function ``sum_i a_i k(x, x_i)``, or one of a map of features."""

    kernel_: Kernel
    support_: AnyArray
    support_vectors_: Any
    _X_fit: Any
    _kernel_fit: Any
    _functions: Any
    _kept: AnyArray
    _single: bool


def dense(values: Any) -> Any:
    """Return a dense array from a dense or sparse array."""
    return values.toarray() if hasattr(values, "toarray") else values


def kernel_matrix(function: Function, X: PointsLike, Z: PointsLike) -> Array:
    """Call a plain kernel function on whole samples, as scikit-learn does."""
    K = np.asarray(dense(function(X, Z)), dtype=np.float64)
    if K.shape != (num_samples(X), num_samples(Z)):
        raise ValueError(
            f"the kernel function returned an array of shape {K.shape} for {num_samples(X)} "
            f"and {num_samples(Z)} samples; it must return one value per pair"
        )
    return K


def expand(
    machine: ExpandedMachine, X: PointsLike, coef: Any, kernel: Kernel | None = None
) -> Array:
    """Evaluate ``k(X, support) coef``, for several columns at once."""
    f: Array = expand_by_class(machine, X, [coef.shape[0]], coef, kernel)[0]
    return f


def expand_by_class(
    machine: ExpandedMachine,
    X: PointsLike,
    n_support: Any,
    coef: Any,
    kernel: Kernel | None = None,
) -> Array:
    """Evaluate ``k(X, support of a class) (coefficients of the class)``, for every class.

    Parameters
    ----------
    machine : fitted machine
    X : n points
        Checked.
    n_support : array of int
        Numbers of support vectors of the classes, which lie class by class.
    coef : (n_support_total, q) array
        What each of them weighs in q functions.
    kernel : Kernel, optional
        That of the machine, unless one of its terms is wanted.

    Returns
    -------
    (n_classes, n, q) array
        In float64: a row has the same values alone and in any batch (but for copies that were asked
        for float32).
    """
    coef, ends = np.asarray(dense(coef), dtype=np.float64), np.cumsum(n_support).tolist()
    if machine._functions is not None:
        return _expand_map(machine, X, coef)[None]
    if not coef.shape[0]:
        return np.zeros((len(ends), num_samples(X), coef.shape[1]))
    if kernel is None:
        kernel = Precomputed() if machine._X_fit is not None else machine.kernel_
    if machine._X_fit is not None:
        X = kernel_matrix(machine._kernel_fit, X, machine._X_fit)
    Z = machine.support_ if kernel.precomputed else machine.support_vectors_
    evaluate = None
    if type(kernel) is Gaussian and X.shape[0] * Z.shape[0] <= FEW:
        evaluate = _prepared_values(kernel, Z)
    return products(kernel, Z, X, coef, ends, machine._single, evaluate)


def _prepared_values(kernel: Gaussian, Z: PointsLike) -> Any:
    """Return kernel values with the support vectors, prepared once for few new points.

    They are kept beside the points, as long as these are there and have these values.
    """
    width = kernel.length_scale
    if Z.size > MAX_COMPARED_NUMBERS or type(width) is not float:
        return None
    numbers = (Z.data, Z.indices, Z.indptr) if is_sparse(Z) else (Z,)
    known = PREPARED.get(id(Z))
    if known is None or known[0] != width or not same(known[1], numbers):
        if known is None:
            weakref.finalize(Z, PREPARED.pop, id(Z), None).atexit = False
        known = width, tuple(part.copy() for part in numbers), prepared(kernel, Z)
        PREPARED[id(Z)] = known
    return known[2]


def _expand_map(machine: ExpandedMachine, X: PointsLike, coef: Array) -> Array:
    """Evaluate a machine that is no expansion of its kernel, some rows at a time."""
    A = np.zeros((machine._functions.m, coef.shape[1]))
    A[machine._kept] = coef
    rows = [slice(j, j + PREDICTED_ROWS) for j in range(0, X.shape[0], PREDICTED_ROWS)]
    return np.concatenate([np.asarray(machine._functions.raw(X[part])) @ A for part in rows])
