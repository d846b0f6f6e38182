"""The path from data to solver and back, shared by every machine.

A machine declares a loss (or a problem), a kernel, an unpenalized part and its weights. Here the
kernel becomes a Gram operator, the declaration a :class:`~mercer.problems.RegularizedRisk`, and the
solution a function of new points. Nothing here depends on which loss it is.
"""

from __future__ import annotations

import copy
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, _fit_context
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning as SklearnWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils._sparse import _align_api_if_sparse
from sklearn.utils.validation import (
    _num_samples,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from mercer import gram as grams
from mercer.estimators._progress import watched
from mercer.gram.base import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.dot_product import Linear
from mercer.kernels.named import FREE, NAMES, resolve
from mercer.losses.base import Loss
from mercer.problems.risk import RegularizedRisk
from mercer.regularizers.null_space import NullSpace
from mercer.solvers import (
    SOLVERS,
    ConvergenceWarning,
    Solution,
    Solver,
    Status,
    join,
    minimize,
)

__all__ = ["EarlyStop", "KernelMachine"]

Array: TypeAlias = NDArray[np.float64]
Function: TypeAlias = Callable[..., Any]

# Kernel values evaluated at once in prediction: small enough to stay near the processor.
BLOCK_BYTES = 2**25

# C = inf asks for a hard margin or tube: a finite weight beyond which double precision sees no
# difference for data of ordinary scale, and which keeps the certificate finite where none exists.
HARD = 1e10


class EarlyStop(ConvergenceWarning, SklearnWarning):  # type: ignore[misc]
    """A fit stopped before its tolerance: caught as this library's warning or as scikit-learn's."""


def dense(values: Any) -> Any:
    """Return an array of what may be sparse."""
    return values.toarray() if hasattr(values, "toarray") else values


def all_or_nothing(fit: Function) -> Function:
    """Leave a machine exactly as it was if its fit fails or is interrupted."""

    @functools.wraps(fit)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).update(before)
            for name in vars(self).keys() - before.keys():
                delattr(self, name)
            raise

    return guarded


class KernelMachine(CallbackSupportMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """What every machine has: a kernel, a Gram, a solver, and the expansion they lead to."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [StrOptions({*FREE, *NAMES}), callable],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "C": [Interval(Real, 0.0, None, closed="right")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "max_time": [Interval(Real, 0.0, None, closed="neither"), None],
        "gram": [StrOptions({"auto", "dense", "tiled"}), callable],
        "solver": [StrOptions({*SOLVERS}), Solver],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = not self._precomputed
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "support_")

    @property
    def _precomputed(self) -> bool:
        kernel = self.kernel
        return bool(kernel.precomputed if isinstance(kernel, Kernel) else kernel == "precomputed")

    @property
    def _function(self) -> bool:
        """Whether the kernel is a plain function, called on whole samples of whatever they are."""
        return callable(self.kernel) and not isinstance(self.kernel, Kernel)

    @property
    def _definite(self) -> bool:
        """Whether the kernel is known to be positive definite."""
        return not self._function and self.kernel_.positive_definite

    # What a kind of machine declares --------------------------------------------------------------

    @abstractmethod
    def _encode(self, y: Any) -> tuple[Array | NDArray[np.intp], float | Array]:
        """Return the targets, or the class of each sample, and the factors of the weights."""

    @abstractmethod
    def _n_problems(self) -> int:
        """Return how many problems the machine solves."""

    @abstractmethod
    def _problems(self, X: Any, K: Gram, y: Any, c: Array) -> Sequence[tuple[str, RegularizedRisk]]:
        """Return the problems with their names."""

    @abstractmethod
    def _assemble(self, X: Any, y: Any, solutions: list[Solution]) -> None:
        """Make the machine of the solved problems."""

    def _weight(self) -> float:
        """Return the weight of the summed loss, ``C``; a high wall stands for infinity."""
        return float(min(self.C, HARD))

    def _complete(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Fit what a machine has beside its expansion; by default nothing."""

    # Fitting -------------------------------------------------------------------------------------

    @all_or_nothing
    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the machine to a sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs; the kernel matrix (n_samples, n_samples) for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Targets, or class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples' losses; a sample whose weight is not positive is left out.

        Returns
        -------
        self
            The fitted machine. If the fit fails or is interrupted it stays what it was before.
        """
        given = (X, y, sample_weight)
        X, y = self._check_X(X, y)
        y, factors = self._encode(y)
        c = self._weight() * factors * self._check_weights(sample_weight, len(y))
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        task = {"estimator": self, "X": given[0], "y": given[1], "metadata": metadata}
        context = self._init_callback_context(max_subtasks=self._n_problems())
        context.call_on_fit_task_begin(**task)
        problems = self._problems(X, self._make_gram(X), y, c)
        solutions = self._minimize(problems, context)
        self._last = (self._weight(), solutions)
        self.solution_ = join(solutions)
        self.fit_status_ = int(self.solution_.status is not Status.CONVERGED)
        self._assemble(X, y, solutions)
        self._complete(*given)
        context.call_on_fit_task_end(**task, reconstruction_attributes={})
        return self

    def _check_X(self, X: Any, y: Any = "no_validation", reset: bool = True) -> Any:
        """Validate training data, or new points with ``reset=False``."""
        if self._function:
            if reset:
                check_consistent_length(X, y)
            X = X.tocsr() if hasattr(X, "tocsr") else X
            return (X, y) if reset else X
        if reset and sp.issparse(X) and self._precomputed:
            raise TypeError("Sparse precomputed kernels are not supported.")
        return validate_data(
            self,
            X,
            y,
            reset=reset,
            dtype=np.float64,
            order="C",
            accept_sparse="csr",
            accept_large_sparse=False,
        )

    def _check_weights(self, sample_weight: Any, n: int) -> Array:
        """Return the weights, one by default; refuse a sample without any."""
        if sample_weight is None:
            return np.ones(n)
        weights = np.asarray(sample_weight, dtype=np.float64)
        if weights.shape != (n,):
            raise ValueError(
                f"sample_weight and X have incompatible shapes: {weights.shape} against {n} samples"
            )
        if not np.all(np.isfinite(weights)):
            raise ValueError("sample_weight contains NaN or infinity")
        if not np.any(weights > 0):
            raise ValueError("Invalid input - all samples have zero or negative weights.")
        return np.maximum(weights, 0.0)

    def _check_loss(self, loss: Loss, n: int) -> Loss:
        """Refuse parameters given per sample for another number of samples."""
        for name, value in loss.get_params().items():
            if np.ndim(value) and np.shape(value) != (n,):
                raise ValueError(
                    f"{name} of {type(loss).__name__} has shape {np.shape(value)}; give one "
                    f"number, or one per sample: ({n},)"
                )
        return loss

    def _make_gram(self, X: Any) -> Gram:
        """Resolve the kernel on the training data and lay its matrix out."""
        self._sparse = sp.issparse(X) and not self._function
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (_num_samples(X),)
        if self._precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                "Precomputed matrix must be a square matrix."
                f" Input is a {X.shape[0]}x{X.shape[1]} matrix."
            )
        self._X_fit = X if self._function else None
        if self._function:
            return grams.Precomputed(self._kernel_matrix(X, X))
        values = X.data if self._sparse else X
        with np.errstate(over="ignore", invalid="ignore"):
            if not (self._precomputed or np.isfinite(np.vdot(values, values))):
                raise ValueError(
                    "The dual coefficients or intercepts are not finite: the squares of X "
                    "overflow. Scale the inputs (StandardScaler, MinMaxScaler)."
                )
            # A copy: parameters set after the fit must not reach into the fitted machine.
            kernel = copy.deepcopy(self.kernel)
            self.kernel_ = resolve(
                kernel, X, gamma=self.gamma, degree=self.degree, coef0=self.coef0
            )
            kind, n = self.gram, self.shape_fit_[0]
            K = grams.make(self.kernel_, X, kind=kind, cache_bytes=int(self.cache_size * 2**20))
            if not isinstance(K, Gram) or K.shape != (n, n):
                raise ValueError(f"gram must make a Gram of shape {(n, n)} from (kernel, X)")
            if not np.all(np.isfinite(K.diag())):
                raise ValueError(
                    "The dual coefficients or intercepts are not finite: the kernel overflows. "
                    "Scale the inputs (StandardScaler, MinMaxScaler), or lower gamma or degree."
                )
        return K

    def _kernel_matrix(self, X: Any, Z: Any) -> Array:
        """Call a plain kernel function on whole samples, as scikit-learn does."""
        K = np.asarray(dense(self.kernel(X, Z)), dtype=np.float64)
        if K.shape != (_num_samples(X), _num_samples(Z)):
            raise ValueError(
                f"the kernel function returned an array of shape {K.shape} for {_num_samples(X)} "
                f"and {_num_samples(Z)} samples; it must return one value per pair"
            )
        return K

    def _make_solver(self) -> Solver:
        """Return the solver asked for, with the machine's tolerance and budget if it is a name."""
        if isinstance(self.solver, Solver):
            return self.solver
        solver = SOLVERS[self.solver]()
        own = solver.get_params()
        wanted: dict[str, Any] = {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "max_time": self.max_time,
            "cache_bytes": self.cache_size * 2**20,
            "shrinking": getattr(self, "shrinking", True),
        }
        if not self._definite:
            wanted["max_stiff"] = 0  # only decomposition survives an indefinite matrix
        return solver.set_params(**{key: value for key, value in wanted.items() if key in own})

    def _minimize(
        self, problems: Sequence[tuple[str, RegularizedRisk]], context: Any
    ) -> list[Solution]:
        """Solve the problems of a machine one after the other, telling whoever listens.

        A callback that stops after a problem ends those that are left at their first report,
        because a machine needs all of them.
        """
        solver, stop, solutions = self._make_solver(), False, []
        for k, (title, risk) in enumerate(problems):
            task = context.subcontext(task_name=title or "problem", max_subtasks=None)
            task.call_on_fit_task_begin(estimator=self)
            with watched(self, title, task, stop) as listener:
                try:
                    solution = minimize(
                        risk,
                        solver,
                        self._start(k, len(problems), risk),
                        listener=listener,
                        warning=EarlyStop,
                    )
                except FloatingPointError as error:
                    raise ValueError(
                        f"The dual coefficients or intercepts are not finite: {error}"
                    ) from error
            solutions.append(solution)
            stop |= bool(task.call_on_fit_task_end(estimator=self))
        return solutions

    def _start(self, k: int, n_problems: int, risk: RegularizedRisk) -> Solution | None:
        """Return the last solution of problem ``k`` if it can start this one and that is wanted.

        Coefficients grow in proportion to a new ``C``, which keeps those on their bounds there and
        the equality rows satisfied.
        """
        weight, solutions = getattr(self, "_last", (1.0, ()))
        if not self.warm_start or len(solutions) != n_problems:
            return None
        last: Solution = solutions[k]
        ratio = self._weight() / weight
        if last.a.shape != (risk.n,) or last.b.shape != (risk.q,):
            return None
        return replace(last, a=ratio * last.a, b=ratio * last.b)

    def _store(self, X: Any, index: NDArray[np.intp], coef: Array) -> None:
        """Keep the samples ``index`` and their coefficients (n_support, m): the machine itself."""
        self.support_ = index.astype(np.int32)
        coef = np.ascontiguousarray(coef.T)
        self.dual_coef_ = _align_api_if_sparse(sp.csr_array(coef)) if self._sparse else coef
        self._dual_coef_ = self.dual_coef_
        if self._function or self._precomputed:
            self.support_vectors_ = np.empty((0, 0))
        else:
            self.support_vectors_ = _align_api_if_sparse(self.kernel_.points(X, index))

    # Prediction ----------------------------------------------------------------------------------

    def _check_new(self, X: Any) -> Any:
        """Validate new points against what the machine was fitted on."""
        check_is_fitted(self)
        X = self._check_X(X, reset=False)
        if self._function:
            return X
        if sp.issparse(X) and not self._sparse:
            name = type(self).__name__
            raise ValueError(f"cannot use sparse input in {name!r} trained on dense data")
        if self._sparse and not sp.issparse(X):
            X = sp.csr_array(X)
        return X

    def _expand(self, X: Any, coef: Any) -> Array:
        """Evaluate ``k(X, support) coef`` block by block, for several columns at once."""
        coef = dense(coef)
        f = np.zeros((_num_samples(X), coef.shape[1]))
        if not coef.shape[0]:
            return f
        if self._function:
            return np.asarray(self._kernel_matrix(X, self._X_fit)[:, self.support_] @ coef)
        if self._precomputed:
            evaluate: Function = lambda block: block[:, self.support_]  # noqa: E731
        else:
            evaluate = self.kernel_.against(self.support_vectors_)
        step = max(1, BLOCK_BYTES // (8 * coef.shape[0]))
        for first in range(0, len(f), step):
            rows = slice(first, first + step)
            f[rows] = evaluate(X[rows]) @ coef
        return f

    def _intercept(self, null_space: NullSpace, b: Array) -> Array:
        """Return the coefficients of the constant column, zero without one."""
        names = null_space.names(self.shape_fit_[-1])
        return b[..., names.index("1")] if "1" in names else np.zeros(b.shape[:-1])

    @property
    def coef_(self) -> Any:
        """Weights of the features, for the linear kernel: ``dual_coef_ @ support_vectors_``."""
        check_is_fitted(self)
        if not isinstance(getattr(self, "kernel_", None), Linear):
            raise AttributeError("coef_ is only available when using a linear kernel")
        coef = self._linear_coef()
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
