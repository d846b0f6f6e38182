"""A kernel, the samples that carry a machine, and the function they make of new points."""

from __future__ import annotations

import copy
import math
from abc import ABC
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from mercer._fitting import AllOrNothing
from mercer._settings import fixed, settings
from mercer._sklearn import InvalidParameterError, align_api_if_sparse, num_samples
from mercer._typing import Array, PointsLike, TargetsLike
from mercer.gram.base import Gram
from mercer.gram.make import make as make_gram
from mercer.gram.precomputed import Precomputed as PrecomputedGram
from mercer.kernels.base import Kernel
from mercer.kernels.dot_product import Linear
from mercer.kernels.named import resolve
from mercer.kernels.points import count, scale_features, take
from mercer.kernels.stretched import Stretched
from mercer.machines.definiteness import (
    FEWEST_WITNESSES,
    FIRST_WITNESSES,
    WITNESSES,
    IndefiniteKernel,
    chosen_points,
    warn_if_indefinite,
)
from mercer.machines.evaluating import kernel_matrix
from mercer.machines.explaining import explained, explaining_data
from mercer.machines.kernel_kinds import compares_objects, is_function, is_precomputed
from mercer.machines.plain_arrays import is_plain_points, is_plain_targets
from mercer.machines.subproblems import Rows
from mercer.machines.unpenalized import intercept_of
from mercer.machines.warm_matrices import take_matrix, to_last

__all__ = [
    "Expansion",
    "IndefiniteKernel",
    "bind_names",
    "in_precision",
    "store",
    "store_nonzero",
]

# Parameters that are compared by value, and so many settings of them that were found valid.
SIMPLE = frozenset([bool, int, float, str, type(None)])
VALID: set[Any] = set()
MAX_VALID_SETTINGS = 1024


def as_objects(X: PointsLike) -> NDArray[np.object_]:
    """Return arbitrary objects as an array of shape (n,)."""
    objects = np.empty(num_samples(X), dtype=object)
    objects[:] = list(X)
    return objects


def with_short_indices(X: PointsLike) -> Any:
    """Return sparse rows with indices of 32 bits where they suffice; others are as they were.

    scikit-learn's reader of svmlight files returns indices of 64 bits, which its checks refuse.
    """
    if getattr(X, "format", None) != "csr" or X.indices.dtype != np.int64:
        return X
    if max(*X.shape, X.nnz) > np.iinfo(np.int32).max:
        return X
    parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return type(X)(parts, shape=X.shape)


OVERFLOW = (
    "The dual coefficients or intercepts are not finite: the squares of X overflow. Scale the "
    "inputs (StandardScaler, MinMaxScaler)."
)


@settings
class Expansion(AllOrNothing, BaseEstimator, ABC):  # type: ignore[misc]
    """A function ``sum_i a_i k(x, x_i)`` of new points, whichever way the kernel was given."""

    _names: ClassVar[list[str]]

    _several: ClassVar[bool] = False
    """Whether there may be several targets a sample."""

    _functions: Any = fixed(None)
    """The functions of a machine that is no expansion of its kernel."""

    _local: Any = fixed(None)
    """The machines that this one is made of, if it is local."""

    _single: bool = fixed(False)
    """Whether kernel values are computed in float32, as a copy of a fitted machine may be asked."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the names of the parameters, read off the constructor once a class."""
        if "_names" not in vars(cls):
            cls._names = super()._get_param_names()
        return list(cls._names)

    def _validate_params(self) -> None:
        """Check the parameters; where a word is unknown, ask for the word that was meant.

        Numbers and words that passed are known: a search or a loop asks a thousand times.
        """
        values = [getattr(self, name) for name in self._get_param_names()]
        kinds = tuple(map(type, values))
        asked = (type(self), kinds, tuple(values)) if SIMPLE.issuperset(kinds) else None
        if asked in VALID:
            return
        try:
            super()._validate_params()
        except InvalidParameterError as error:
            raise InvalidParameterError(explained(self, str(error))) from None
        if asked is not None:
            if len(VALID) >= MAX_VALID_SETTINGS:
                VALID.clear()
            VALID.add(asked)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.sparse = not is_precomputed(self.kernel)
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return self._local is not None or hasattr(self, "support_")

    @property
    def _definite(self) -> bool:
        """Whether the kernel is known to be positive definite."""
        return not is_function(self.kernel) and self.kernel_.positive_definite

    def _check_X(self, X: PointsLike, y: TargetsLike = "no_validation", reset: bool = True) -> Any:
        """Validate training data, or new points with ``reset=False``."""
        if compares_objects(self.kernel):
            if reset:
                check_consistent_length(X, y)
            X = as_objects(X)
            return (X, y) if reset else X
        if is_function(self.kernel) if reset else self._X_fit is not None:
            if reset:
                check_consistent_length(X, y)
            X = X.tocsr() if hasattr(X, "tocsr") else X
            return (X, y) if reset else X
        sparse = sp.issparse(X)
        plain = not (sparse and is_precomputed(self.kernel)) and is_plain_points(X)
        if plain and (y is None or not reset or is_plain_targets(y, X.shape[0])):
            known = self.__dict__
            X = X if sparse else np.ascontiguousarray(X)
            if not reset:
                if "feature_names_in_" not in known and X.shape[1] == known.get("n_features_in_"):
                    return X
            elif y is not None:
                known.pop("feature_names_in_", None)
                self.n_features_in_ = X.shape[1]
                return X, y
        if reset and sparse and is_precomputed(self.kernel):
            raise TypeError("Sparse precomputed kernels are not supported.")
        with explaining_data(self, X):
            return validate_data(
                self,
                with_short_indices(X),
                y,
                reset=reset,
                dtype=np.float64,
                order="C",
                accept_sparse="csr",
                accept_large_sparse=False,
                **({"multi_output": True} if reset and self._several else {}),
            )

    def _make_gram(self, rows: Rows) -> Gram:
        """Resolve the kernel on the training data and lay its matrix out."""
        X = rows.X
        self._sparse = sp.issparse(X) and not is_function(self.kernel)
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (num_samples(X),)
        if is_precomputed(self.kernel) and X.shape[0] != X.shape[1]:
            raise ValueError(
                "Precomputed matrix must be a square matrix."
                f" Input is a {X.shape[0]}x{X.shape[1]} matrix."
            )
        self._X_fit: Any = X if is_function(self.kernel) else None
        self._kernel_fit: Any = self.kernel if is_function(self.kernel) else None
        if is_function(self.kernel):
            self.__dict__.pop("kernel_", None)
            computed = PrecomputedGram(kernel_matrix(self.kernel, X, X))
            self._warn_if_indefinite(computed.K)
            return computed
        values = X.data if self._sparse else X
        if not (
            is_precomputed(self.kernel)
            or compares_objects(self.kernel)
            or math.isfinite(np.vdot(values, values))
        ):
            raise ValueError(OVERFLOW)
        with np.errstate(over="ignore", invalid="ignore"):
            self.kernel_ = self._resolved(rows)
            if is_precomputed(self.kernel) or not self.kernel_.positive_definite:
                self._warn_if_indefinite(X)
            kind, n = self.gram, self.shape_fit_[0]
            cache_bytes = int(self.cache_size * 2**20)
            known = take_matrix(self, self.kernel_, X, cache_bytes)
            warm = getattr(self, "warm_start", False) and kind == "auto"
            if warm and known is not None:
                return known
            K = make_gram(self.kernel_, X, kind=kind, cache_bytes=cache_bytes)
            if warm:
                to_last(K, cache_bytes)
            if not isinstance(K, Gram) or K.shape != (n, n):
                raise ValueError(f"gram must make a Gram of shape {(n, n)} from (kernel, X)")
            if not np.isfinite(K.diag()).all():
                raise ValueError(
                    "The dual coefficients or intercepts are not finite: the kernel overflows. "
                    "Scale the inputs (StandardScaler, MinMaxScaler), or lower gamma or degree."
                )
        return K

    def _resolved(self, rows: Rows) -> Kernel:
        """Return the kernel that is meant, on the training data."""
        # A copy: parameters set after the fit must not reach into the fitted machine.
        kernel = copy.deepcopy(self.kernel)
        return bind_names(
            self, resolve(kernel, rows.X, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        )

    def _warn_if_indefinite(self, X: PointsLike) -> None:
        """Warn if the kernel is indefinite on 200 sample points, or 100 to 200 of its matrix."""
        if is_function(self.kernel) or is_precomputed(self.kernel):
            values = np.asarray(X)
            most = min(max(len(values) // 10, FEWEST_WITNESSES), WITNESSES)
            some = chosen_points(len(values), most)
            name = (
                "The kernel function"
                if is_function(self.kernel)
                else "The precomputed kernel matrix"
            )
            free = getattr(self, "null_space", None) is None
            warn_if_indefinite(values[some][:, some], name, free)
            return
        # An eigenvalue that is negative at few points is so at more.
        for most in (FIRST_WITNESSES, WITNESSES):
            some = chosen_points(count(X), most)
            if warn_if_indefinite(self.kernel_.symmetric(take(X, some)), repr(self.kernel_)):
                break

    def _check_new(self, X: PointsLike) -> Any:
        """Validate new points against what the machine was fitted on."""
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)
        X = self._check_X(X, reset=False)
        if self._X_fit is not None:
            return X
        if sp.issparse(X) and not self._sparse:
            name = type(self).__name__
            raise ValueError(f"cannot use sparse input in {name!r} trained on dense data")
        if self._sparse and not sp.issparse(X):
            X = sp.csr_array(X)
        return X

    @property
    def coef_(self) -> Any:
        """Weights of the features, ``dual_coef_ @ support_vectors_``, for the linear kernel.

        For other kernels, the coefficients of the unpenalized functions ``null_space_names_``, if
        there are more of them than the intercept.
        """
        check_is_fitted(self)
        kernel, units = getattr(self, "kernel_", None), np.ones(())
        if isinstance(kernel, Stretched):
            units, kernel = np.asarray(kernel.scale, dtype=float), kernel.kernel
        if not isinstance(kernel, Linear):
            if set(self.null_space_names_) <= {"1"}:
                raise AttributeError("coef_ is only available when using a linear kernel")
            return self.null_space_coef_
        coef = self._linear_coef()
        if units.ndim:
            # <x/s, z/s> has the weights of the features divided by their scales twice.
            coef = scale_features(coef.tocsr() if hasattr(coef, "tocsr") else coef, units**-2.0)
        (coef if isinstance(coef, np.ndarray) else coef.data).flags.writeable = False
        return coef

    def _linear_coef(self) -> Any:
        return self.dual_coef_ @ self.support_vectors_

    @property
    def n_support_(self) -> Any:
        """Number of support vectors, for a vote of pairs one of each class."""
        if not hasattr(self, "support_"):
            raise AttributeError("n_support_ is available after fit")
        return self._n_support

    @property
    def _gamma(self) -> Any:
        """The number that ``gamma`` was resolved to, under the name of scikit-learn's."""
        return getattr(getattr(self, "kernel_", None), "gamma", 0.0)


def store(machine: Expansion, X: PointsLike, index: NDArray[np.intp], coef: Array) -> None:
    """Keep the samples ``index`` and their coefficients (n_support, m): the machine itself."""
    machine.support_, machine._tol_fit = index.astype(np.int32), float(machine.tol)
    machine._single = False
    coef = np.ascontiguousarray(coef.T)
    machine.dual_coef_ = align_api_if_sparse(sp.csr_array(coef)) if machine._sparse else coef
    machine._dual_coef_ = machine.dual_coef_
    if is_function(machine.kernel) or is_precomputed(machine.kernel):
        machine.support_vectors_ = np.empty((0, 0))
    else:
        machine.support_vectors_ = align_api_if_sparse(machine.kernel_.points(X, index))


def store_nonzero(machine: Expansion, X: PointsLike, coef: Array, free: Array) -> None:
    """Keep the samples with a coefficient (n, m), and free coefficients, (q,) or (m, q)."""
    index = np.flatnonzero(coef.any(axis=1))
    store(machine, X, index, coef[index])
    machine._n_support = np.array([len(index)], dtype=np.int32)
    machine.null_space_coef_ = free
    machine.intercept_ = np.atleast_1d(intercept_of(machine.null_space_names_, free))


def bind_names(machine: Expansion, kernel: Kernel) -> Kernel:
    """Return the kernel with names of features replaced by their positions."""
    names = getattr(machine, "feature_names_in_", None)
    return kernel if names is None else kernel.bind(list(names))


def in_precision(machine: Expansion, single: bool) -> Any:
    """Return a copy of a fitted expansion that computes kernel values in float32, or float64."""
    check_is_fitted(machine)
    new = copy.copy(machine)
    new._single = single
    return new
