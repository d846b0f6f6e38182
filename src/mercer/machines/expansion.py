"""A kernel, the samples that carry a machine, and the function they make of new points."""

from __future__ import annotations

import copy
import math
import warnings
import weakref
from abc import ABC
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from mercer._fitting import ending, guard_fits, guard_frames
from mercer._params import same
from mercer._settings import KW_ONLY, fixed, settings
from mercer._sklearn import InvalidParameterError, align_api_if_sparse, num_samples
from mercer._typing import Array, Constraints, PointsLike, TargetsLike, WeightsLike
from mercer.gram.base import Gram
from mercer.gram.make import make as make_gram
from mercer.gram.precomputed import Precomputed as PrecomputedGram
from mercer.kernels.base import Kernel
from mercer.kernels.dot_product import Linear
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.named import resolve
from mercer.kernels.points import count, is_sparse, scale_features, take
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.products import FEW, prepared, products
from mercer.kernels.stretched import Stretched
from mercer.machines.definiteness import (
    FEWEST_WITNESSES,
    WITNESSES,
    IndefiniteKernel,
    chosen_points,
    warn_if_indefinite,
)
from mercer.machines.explaining import explained, explaining_data
from mercer.machines.plain_arrays import is_plain_points, is_plain_targets
from mercer.machines.subproblems import Rows
from mercer.machines.warm_matrices import take_matrix, to_last
from mercer.regularizers.null_space import Constant, NullSpace, complete

__all__ = [
    "BLOCK",
    "CollinearColumns",
    "Expansion",
    "Function",
    "IndefiniteKernel",
    "check_weights",
    "dense",
    "in_precision",
]

Function: TypeAlias = Callable[..., Any]


# Rows of new points that are evaluated at once.
BLOCK = 16384


# Condition number from which coefficients of unpenalized functions are said to be undetermined:
# changes of a millionth of the targets change them by their own size.
COLLINEAR = 1e6


# Support vectors still in use, by their id, prepared for predictions of few points; and numbers up
# to which comparing them takes less time than preparing them.
PREPARED: dict[int, tuple[float, Any, Any]] = {}
KEPT = 2**17

# Parameters that are compared by value, and so many settings of them that were found valid.
SIMPLE = frozenset([bool, int, float, str, type(None)])
VALID: set[Any] = set()
REMEMBERED = 1024


class CollinearColumns(UserWarning):
    """Unpenalized functions nearly depend on each other on the sample."""


def condition(B: Array) -> float:
    """Return the condition number of columns of unit length; infinite if they are dependent.

    It bounds by what the coefficients can change relative to a change of the function. Units of
    the columns do not matter, and columns that are zero do not count.
    """
    if B.shape[1] < 2:
        return 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        B = B[:, np.any(B != 0, axis=0)]
        B = B / np.max(np.abs(B), axis=0, initial=0.0)
        B = B / np.linalg.norm(B, axis=0)
    if B.shape[1] < 2:
        return 1.0
    values = np.linalg.svd(np.linalg.qr(B, mode="r"), compute_uv=False)
    dependent = B.shape[0] < B.shape[1] or values[-1] <= len(B) * np.finfo(float).eps * values[0]
    return np.inf if dependent else float(values[0] / values[-1])


def as_objects(X: PointsLike) -> NDArray[np.object_]:
    """Return arbitrary objects as an array of shape (n,)."""
    objects = np.empty(num_samples(X), dtype=object)
    objects[:] = list(X)
    return objects


def dense(values: Any) -> Any:
    """Return a dense array from a dense or sparse array."""
    return values.toarray() if hasattr(values, "toarray") else values


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


def check_weights(sample_weight: WeightsLike, n: int) -> Array:
    """Return the weights, one by default; refuse a sample without any."""
    if sample_weight is None:
        return np.ones(n)
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must be numbers, one a sample: {error}") from error
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight and X have incompatible shapes: {weights.shape} against {n} samples"
        )
    if not np.all(np.isfinite(weights)):
        raise ValueError("sample_weight contains NaN or infinity")
    if not np.any(weights > 0):
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    return np.maximum(weights, 0.0)


OVERFLOW = (
    "The dual coefficients or intercepts are not finite: the squares of X overflow. Scale the "
    "inputs (StandardScaler, MinMaxScaler)."
)


@settings
class Expansion(BaseEstimator, ABC):  # type: ignore[misc]
    """A function ``sum_i a_i k(x, x_i)`` of new points, whichever way the kernel was given."""

    _: KW_ONLY
    verbose: bool | int = False

    _parameter_constraints: ClassVar[Constraints] = {"verbose": ["verbose"]}
    _names: ClassVar[list[str]]

    _several: ClassVar[bool] = False
    """Whether there may be several targets a sample."""

    _whole_clock: ClassVar[bool] = True
    """Whether ``max_time`` is a limit for all of a fit, and not for a search before it."""

    _guard_frames = classmethod(guard_frames)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        guard_fits(cls)

    def _ending(self) -> str:
        """Return how the fit ended, for the last line of a ``verbose`` fit."""
        return ending(self)

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
            if len(VALID) >= REMEMBERED:
                VALID.clear()
            VALID.add(asked)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = not self._precomputed
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return self._local is not None or hasattr(self, "support_")

    @property
    def _precomputed(self) -> bool:
        kernel = self.kernel
        if isinstance(kernel, str):
            return kernel == "precomputed"
        return isinstance(kernel, Kernel) and bool(kernel.precomputed)

    @property
    def _function(self) -> bool:
        """Whether the kernel is a plain function, called on whole samples of whatever they are."""
        kernel = self.kernel
        if isinstance(kernel, str):
            return False
        of_kernels = isinstance(kernel, type) and issubclass(kernel, Kernel)
        return callable(kernel) and not (of_kernels or isinstance(kernel, Kernel))

    @property
    def _definite(self) -> bool:
        """Whether the kernel is known to be positive definite."""
        return not self._function and self.kernel_.positive_definite

    @property
    def _objects(self) -> bool:
        """Whether the kernel compares objects that are not rows of numbers."""
        kernel = self.kernel
        return not isinstance(kernel, str) and isinstance(kernel, Kernel) and not kernel.numeric

    def _check_X(self, X: PointsLike, y: TargetsLike = "no_validation", reset: bool = True) -> Any:
        """Validate training data, or new points with ``reset=False``."""
        if self._objects:
            if reset:
                check_consistent_length(X, y)
            X = as_objects(X)
            return (X, y) if reset else X
        if self._function if reset else self._X_fit is not None:
            if reset:
                check_consistent_length(X, y)
            X = X.tocsr() if hasattr(X, "tocsr") else X
            return (X, y) if reset else X
        sparse = sp.issparse(X)
        plain = not (sparse and self._precomputed) and is_plain_points(X)
        if plain and (y is None or not reset or is_plain_targets(y, X.shape[0])):
            known = self.__dict__
            if not reset:
                if "feature_names_in_" not in known and X.shape[1] == known.get("n_features_in_"):
                    return X
            elif y is not None:
                known.pop("feature_names_in_", None)
                self.n_features_in_ = X.shape[1]
                return X, y
        if reset and sparse and self._precomputed:
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
        self._sparse = sp.issparse(X) and not self._function
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (num_samples(X),)
        if self._precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                "Precomputed matrix must be a square matrix."
                f" Input is a {X.shape[0]}x{X.shape[1]} matrix."
            )
        self._X_fit: Any = X if self._function else None
        self._kernel_fit: Any = self.kernel if self._function else None
        if self._function:
            self.__dict__.pop("kernel_", None)
            computed = PrecomputedGram(self._kernel_matrix(X, X))
            self._warn_if_indefinite(computed.K)
            return computed
        values = X.data if self._sparse else X
        if not (self._precomputed or self._objects or math.isfinite(np.vdot(values, values))):
            raise ValueError(OVERFLOW)
        with np.errstate(over="ignore", invalid="ignore"):
            self.kernel_ = self._resolved(rows)
            if self._precomputed or not self.kernel_.positive_definite:
                self._warn_if_indefinite(X)
            kind, n = self.gram, self.shape_fit_[0]
            cache_bytes = int(self.cache_size * 2**20)
            known = take_matrix(self, self.kernel_, X, cache_bytes)
            warm = getattr(self, "warm_start", False) and kind == "auto"
            if warm and known is not None:
                return known
            K = make_gram(self.kernel_, X, kind=kind, cache_bytes=cache_bytes, shared=True)
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
        return self._bound(
            resolve(kernel, rows.X, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
        )

    def _bound(self, kernel: Kernel) -> Kernel:
        """Return the kernel with names of features replaced by their positions."""
        names = getattr(self, "feature_names_in_", None)
        return kernel if names is None else kernel.bind(list(names))

    def _warn_if_indefinite(self, X: PointsLike) -> None:
        """Warn if the kernel is indefinite on 200 sample points, or 100 to 200 of its matrix."""
        if self._function or self._precomputed:
            values = np.asarray(X)
            most = min(max(len(values) // 10, FEWEST_WITNESSES), WITNESSES)
            some = chosen_points(len(values), most)
            name = "The kernel function" if self._function else "The precomputed kernel matrix"
            free = getattr(self, "null_space", None) is None
            warn_if_indefinite(values[some][:, some], name, free)
            return
        some = chosen_points(count(X))
        warn_if_indefinite(self.kernel_(take(X, some)), repr(self.kernel_))

    def _kernel_matrix(self, X: PointsLike, Z: PointsLike) -> Array:
        """Call a plain kernel function on whole samples, as scikit-learn does."""
        K = np.asarray(dense(self._kernel_fit(X, Z)), dtype=np.float64)
        if K.shape != (num_samples(X), num_samples(Z)):
            raise ValueError(
                f"the kernel function returned an array of shape {K.shape} for {num_samples(X)} "
                f"and {num_samples(Z)} samples; it must return one value per pair"
            )
        return K

    def _store(self, X: PointsLike, index: NDArray[np.intp], coef: Array) -> None:
        """Keep the samples ``index`` and their coefficients (n_support, m): the machine itself."""
        self.support_, self._tol_fit = index.astype(np.int32), float(self.tol)
        self._single = False
        coef = np.ascontiguousarray(coef.T)
        self.dual_coef_ = align_api_if_sparse(sp.csr_array(coef)) if self._sparse else coef
        self._dual_coef_ = self.dual_coef_
        if self._function or self._precomputed:
            self.support_vectors_ = np.empty((0, 0))
        else:
            self.support_vectors_ = align_api_if_sparse(self.kernel_.points(X, index))

    def _store_nonzero(self, X: PointsLike, coef: Array, free: Array) -> None:
        """Keep the samples with a coefficient (n, m), and free coefficients, (q,) or (m, q)."""
        index = np.flatnonzero(coef.any(axis=1))
        self._store(X, index, coef[index])
        self._n_support = np.array([len(index)], dtype=np.int32)
        self.null_space_coef_ = free
        self.intercept_ = np.atleast_1d(self._intercept(free))

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

    def _expand(self, X: PointsLike, coef: Any, kernel: Kernel | None = None) -> Array:
        """Evaluate ``k(X, support) coef``, for several columns at once."""
        f: Array = self._expand_classes(X, [coef.shape[0]], coef, kernel)[0]
        return f

    def _expand_classes(
        self, X: PointsLike, n_support: Any, coef: Any, kernel: Kernel | None = None
    ) -> Array:
        """Evaluate ``k(X, support of a class) (coefficients of the class)``, for every class.

        ``n_support`` counts the support vectors of each class, which lie class by class, and
        ``coef`` (n_support_total, q) holds what each of them weighs in q functions. Returns
        (n_classes, n, q), in float64: a row has the same values alone and in any batch (but for
        copies that were asked for float32). ``kernel`` is that of the machine, unless one of its
        terms is wanted.
        """
        coef, ends = np.asarray(dense(coef), dtype=np.float64), np.cumsum(n_support).tolist()
        if self._functions is not None:
            return self._by_map(X, coef)[None]
        if not coef.shape[0]:
            return np.zeros((len(ends), num_samples(X), coef.shape[1]))
        if kernel is None:
            kernel = Precomputed() if self._X_fit is not None else self.kernel_
        if self._X_fit is not None:
            X = self._kernel_matrix(X, self._X_fit)
        Z = self.support_ if kernel.precomputed else self.support_vectors_
        evaluate = None
        if type(kernel) is Gaussian and X.shape[0] * Z.shape[0] <= FEW:
            evaluate = self._prepared(kernel, Z)
        return products(kernel, Z, X, coef, ends, self._single, evaluate)

    def _prepared(self, kernel: Gaussian, Z: PointsLike) -> Any:
        """Return kernel values with the support vectors, prepared once for few new points.

        They are kept beside the points, as long as these are there and have these values.
        """
        width = kernel.length_scale
        if Z.size > KEPT or type(width) is not float:
            return None
        numbers = (Z.data, Z.indices, Z.indptr) if is_sparse(Z) else (Z,)
        known = PREPARED.get(id(Z))
        if known is None or known[0] != width or not same(known[1], numbers):
            if known is None:
                weakref.finalize(Z, PREPARED.pop, id(Z), None).atexit = False
            known = width, tuple(part.copy() for part in numbers), prepared(kernel, Z)
            PREPARED[id(Z)] = known
        return known[2]

    def _by_map(self, X: PointsLike, coef: Array) -> Array:
        """Evaluate a machine that is no expansion of its kernel, some rows at a time."""
        A = np.zeros((self._functions.m, coef.shape[1]))
        A[self._kept] = coef
        rows = [slice(j, j + BLOCK) for j in range(0, X.shape[0], BLOCK)]
        return np.concatenate([np.asarray(self._functions.raw(X[part])) @ A for part in rows])

    def _free_columns(self, X: PointsLike, null_space: NullSpace) -> Array:
        """Settle what stays unpenalized, with what the kernel needs, and return it on the sample.

        Columns that depend on each other leave the function well defined, but not its coefficients:
        of all that give the function, the shortest are returned. Columns that nearly do have
        coefficients that rounding and noise decide, which a warning says.
        """
        features = getattr(self, "feature_names_in_", None)
        # A copy of whatever has parameters: set later, they must not reach into the machine.
        space = null_space if type(null_space) is Constant else copy.deepcopy(null_space)
        space = space if features is None else space.bind(list(features))
        p = self.shape_fit_[-1]
        if not self._function:
            space = complete(space, self.kernel_.unpenalized(p), p)
        if (self._precomputed or self._objects) and not set(space.names(p)) <= {"1"}:
            kind = "a precomputed kernel" if self._precomputed else "a kernel of objects"
            raise ValueError(
                f"With {kind} there are no features that {space!r} could read; only a constant can "
                "stay unpenalized."
            )
        B = space(X)
        if not np.isfinite(B).all():
            j = int(np.flatnonzero(~np.all(np.isfinite(B), axis=0))[0])
            raise ValueError(
                f"The unpenalized function {space.names(p, features)[j]!r} is not finite on the "
                "sample; choose functions that are defined at every point."
            )
        self.null_space_, self.null_space_names_ = space, space.names(p, features)
        self.null_space_condition_ = condition(B)
        if self.null_space_condition_ > COLLINEAR and np.isfinite(self.null_space_condition_):
            warnings.warn(
                f"The unpenalized functions {', '.join(self.null_space_names_)} are nearly "
                f"collinear on the sample (condition number {self.null_space_condition_:.1e}): the "
                "fitted function is well determined, their coefficients are not. Leave out one of "
                "them, or centre and scale the features.",
                CollinearColumns,
                stacklevel=2,
            )
        return B

    @property
    def _one(self) -> int | None:
        """Which of the unpenalized functions is the constant."""
        names = self.null_space_names_
        return names.index("1") if "1" in names else None

    def _intercept(self, b: Array) -> Array:
        """Return the coefficients of the constant column, zero without one."""
        return np.zeros(b.shape[:-1]) if self._one is None else b[..., self._one]

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


def in_precision(machine: Expansion, single: bool) -> Any:
    """Return a copy of a fitted expansion that computes kernel values in float32, or float64."""
    check_is_fitted(machine)
    new = copy.copy(machine)
    new._single = single
    return new
