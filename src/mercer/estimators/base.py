"""The path from data to solver and back, shared by every machine.

A machine declares a loss (or a problem), a kernel, an unpenalized part and its weights. Here the
kernel becomes a Gram operator, the declaration a :class:`~mercer.problems.RegularizedRisk`, and the
solution a function of new points. Nothing here depends on which loss it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _check_sample_weight,
    _num_samples,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from mercer import gram as grams
from mercer.estimators._progress import Line, Relay, listeners
from mercer.gram.base import Gram
from mercer.gram.indexed import Indexed
from mercer.kernels.base import Kernel
from mercer.kernels.dot_product import Linear
from mercer.kernels.named import resolve
from mercer.problems.risk import RegularizedRisk
from mercer.regularizers.null_space import NullSpace
from mercer.solvers import SOLVERS, Solution, Solver, minimize

__all__ = ["KernelMachine"]

Array = NDArray[np.float64]

# Kernel values evaluated at once in prediction: small enough to stay near the processor.
BLOCK_BYTES = 2**25

# C = inf asks for a hard margin or tube: a finite weight beyond which double precision sees no
# difference for data of ordinary scale, and which keeps the certificate finite where none exists.
HARD = 1e10


class KernelMachine(CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """What every machine has: a kernel, a Gram, a solver, and the expansion they lead to."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "kernel": [
            StrOptions(
                {
                    "linear",
                    "poly",
                    "rbf",
                    "sigmoid",
                    "laplacian",
                    "matern",
                    "rational_quadratic",
                    "precomputed",
                }
            ),
            callable,
        ],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "C": [Interval(Real, 0.0, None, closed="right")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "max_time": [Interval(Real, 0.0, None, closed="neither"), None],
        "gram": [StrOptions({"auto", "dense", "tiled"}), callable],
        "solver": [StrOptions({"auto", *SOLVERS}), Solver],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        tags.input_tags.sparse = not self._precomputed
        return tags

    @property
    def _precomputed(self) -> bool:
        kernel = self.kernel
        return bool(kernel.precomputed if isinstance(kernel, Kernel) else kernel == "precomputed")

    @property
    def _function(self) -> bool:
        """Whether the kernel is a plain function, called on whole samples of whatever they are."""
        return callable(self.kernel) and not isinstance(self.kernel, Kernel)

    # Data in -------------------------------------------------------------------------------------

    def _check_X(self, X: Any, y: Any = "no_validation", reset: bool = True) -> Any:
        """Validate training data, or new points with ``reset=False``."""
        if self._function:
            if not isinstance(y, str):
                check_consistent_length(X, y)
            X = X.tocsr() if sp.issparse(X) else X
            return X if isinstance(y, str) else (X, y)
        if reset and sp.issparse(X) and self._precomputed:
            raise TypeError("Sparse precomputed kernels are not supported.")
        return validate_data(
            self,
            X,
            y,
            reset=reset,
            dtype=[np.float64, np.float32] if not reset else np.float64,
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

    def _weight(self) -> float:
        """Return the weight of the summed loss, ``C``; a wall of this height stands for infinity."""
        return float(min(self.C, HARD))

    # Fitting -------------------------------------------------------------------------------------

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
        self.kernel_ = resolve(
            self.kernel, X, gamma=self.gamma, degree=self.degree, coef0=self.coef0
        )
        if callable(self.gram):
            return self.gram(self.kernel_, X)
        return grams.make(self.kernel_, X, kind=self.gram, cache_bytes=self.cache_size * 2**20)

    def _kernel_matrix(self, X: Any, Z: Any) -> Array:
        """Call a plain kernel function on whole samples, as scikit-learn does."""
        K = self.kernel(X, Z)
        K = K.toarray() if sp.issparse(K) else np.asarray(K, dtype=np.float64)
        if K.shape != (_num_samples(X), _num_samples(Z)):
            raise ValueError(
                f"the kernel function returned a matrix of shape {K.shape} for {_num_samples(X)} and "
                f"{_num_samples(Z)} samples; it must return one value per pair"
            )
        return K

    def _make_solver(self) -> Solver:
        """Return the solver asked for, with the machine's tolerance and budget if it is a name."""
        if isinstance(self.solver, Solver):
            return self.solver
        solver = SOLVERS[self.solver]()
        own = solver.get_params()
        wanted = {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "max_time": self.max_time,
            "cache_bytes": self.cache_size * 2**20,
            "shrinking": getattr(self, "shrinking", True),
        }
        return solver.set_params(**{key: value for key, value in wanted.items() if key in own})

    def _minimize(
        self, risks: Iterable[tuple[str, RegularizedRisk]], n_risks: int, context: Any
    ) -> list[Solution]:
        """Solve the problems of a machine one after the other, telling whoever listens."""
        solver = self._make_solver()
        starts = self._starts(n_risks)
        solutions = []
        for k, (title, risk) in enumerate(risks):
            start = starts[k]
            if start is not None and start.a.shape != (risk.n,):
                start = None
            task = context.subcontext(task_name=title, max_subtasks=None)
            task.call_on_fit_task_begin(estimator=self)
            parts: list[Any] = []
            line = Line(f"{type(self).__name__} {title}".strip()) if self.verbose else None
            if line is not None:
                parts.append(line)
            if getattr(self, "_skl_callbacks", None):
                parts.append(Relay(self, task))
            try:
                solution = minimize(
                    risk,
                    solver,
                    start,
                    listener=listeners(*parts) if parts else None,
                    warning=ConvergenceWarning,
                )
            except FloatingPointError as error:
                raise ValueError(
                    f"The dual coefficients or intercepts are not finite: {error}"
                ) from error
            finally:
                if line is not None:
                    line.close()
            solutions.append(solution)
            if task.call_on_fit_task_end(estimator=self):
                break
        return solutions

    def _starts(self, n_risks: int) -> list[Solution | None]:
        """Return the solutions of the last fit to start from, if that was asked for and there are."""
        last = getattr(self, "_solutions", None) if getattr(self, "warm_start", False) else None
        return list(last) if last is not None and len(last) == n_risks else [None] * n_risks

    def _store(self, X: Any, index: NDArray[np.intp], coef: Array) -> None:
        """Keep the samples ``index`` and their coefficients (n_support, m), the machine's memory."""
        self.support_ = index.astype(np.int32)
        dense = np.ascontiguousarray(coef.T)
        self.dual_coef_ = sp.csr_array(dense) if self._sparse else dense
        if self._function or self._precomputed:
            self.support_vectors_ = np.empty((0, 0))
        else:
            self.support_vectors_ = self.kernel_.points(X, index)

    # Prediction ----------------------------------------------------------------------------------

    def _expand(self, X: Any, coef: Array, b: Array, null_space: NullSpace | None) -> Array:
        """Evaluate ``k(X, support) coef + null_space(X) b`` block by block; several columns at once."""
        n = _num_samples(X)
        f = np.zeros((n, coef.shape[1]))
        if coef.shape[0]:
            step = max(1, BLOCK_BYTES // (8 * coef.shape[0]))
            if self._function:
                f += self._kernel_matrix(X, self._X_fit)[:, self.support_] @ coef
            elif self._precomputed:
                for first in range(0, n, step):
                    rows = slice(first, first + step)
                    f[rows] = X[rows][:, self.support_] @ coef
            else:
                against = self.kernel_.against(self.support_vectors_)
                for first in range(0, n, step):
                    rows = slice(first, first + step)
                    f[rows] = against(X[rows]) @ coef
        return f + (b if null_space is None else null_space(X) @ b)

    @property
    def coef_(self) -> Any:
        """Weights of the features, for the linear kernel: dual_coef_ times support_vectors_."""
        check_is_fitted(self)
        if not isinstance(getattr(self, "kernel_", None), Linear):
            raise AttributeError("coef_ is only available when using a linear kernel")
        coef = self._linear_coef()
        (coef.data if sp.issparse(coef) else coef).flags.writeable = False
        return coef

    def _linear_coef(self) -> Any:
        return self.dual_coef_ @ self.support_vectors_

    def _check_new(self, X: Any) -> Any:
        """Validate new points against what the machine was fitted on."""
        check_is_fitted(self)
        X = self._check_X(X, reset=False)
        if self._function:
            return X
        if sp.issparse(X) and not self._sparse:
            raise ValueError(f"cannot use sparse input in {type(self).__name__!r} trained on dense data")
        if self._sparse and not sp.issparse(X):
            X = sp.csr_array(X)
        if self._precomputed and X.shape[1] != self.shape_fit_[0]:
            raise ValueError(
                f"X.shape[1] = {X.shape[1]} should be equal to {self.shape_fit_[0]}, the number of "
                "samples at training time"
            )
        return X
