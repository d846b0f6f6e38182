"""A machine whose coefficients were found otherwise than by minimizing a risk."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import column_or_1d

from mercer._params import check_sample_weight
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions
from mercer._typing import Array, Constraints, PointsLike, Seed, TargetsLike, WeightsLike
from mercer.kernels.dot_product import Linear
from mercer.kernels.named import FREE, NAMES
from mercer.losses.base import Loss
from mercer.losses.named import REGRESSION
from mercer.machines.evaluating import dense, expand, kernel_matrix
from mercer.machines.expansion import Expansion, store_nonzero
from mercer.machines.kernel_kinds import is_function, is_precomputed
from mercer.machines.subproblems import Rows
from mercer.machines.unpenalized import unpenalized_columns
from mercer.regularizers.null_space import Constant, NullSpace
from mercer_research.fusion.substrate import System
from mercer_research.kernels.explicit import Explicit
from mercer_research.selection.folds import Folds

__all__ = ["Folded", "Found"]

# The machines that may predict, the first by default: where folds share their coefficients, and
# where they share additive constants.
FINAL = {"fast": ("average", "sum"), "full": ("refit", "average")}


@settings
class Found(RegressorMixin, Expansion):  # type: ignore[misc]
    """An expansion of one or several outputs, ``f = K a + B b``, with coefficients as given."""

    _: KW_ONLY
    null_space: NullSpace | None = None
    random_state: Seed = 0
    degree: int = 3
    gamma: float | str = "scale"
    coef0: float = 0.0

    _parameter_constraints: ClassVar[Constraints] = {
        "kernel": [StrOptions({*FREE, *NAMES}), callable],
        "null_space": [NullSpace, None],
        "loss": [Loss, StrOptions(set(REGRESSION))],
        "cv": ["cv_object"],
        "random_state": ["random_state"],
        "degree": [Interval(Real, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
    }

    _several: ClassVar[bool] = True

    # Dense algebra in double precision: nothing to set about how it is done.
    gram, cache_size, tol = "auto", 200.0, 1e-10

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _targets(self, y: TargetsLike) -> Array:
        """Return the targets of all outputs, (n, d)."""
        y = np.asarray(y)
        self._n_outputs = y.shape[1] if y.ndim == 2 else None
        y = y if y.ndim == 2 else column_or_1d(y, warn=True)[:, None]
        return np.asarray(y, dtype=np.float64)

    def _weights(self, sample_weight: WeightsLike, n: int) -> tuple[Array, NDArray[np.intp]]:
        """Return the weights of the samples, and the samples whose weight is positive."""
        weights = check_sample_weight(sample_weight, n)
        return np.asarray(weights), np.flatnonzero(weights)

    def _cross(self, X_new: PointsLike, X: PointsLike) -> Array:
        """Return the kernel between points that were checked and the sample, (n_new, n)."""
        if is_function(self.kernel):
            return kernel_matrix(self._kernel_fit, X_new, X)
        if is_precomputed(self.kernel):
            return np.asarray(X_new, dtype=np.float64)
        return np.asarray(self.kernel_(X_new, X), dtype=np.float64)

    def _map(self, X: PointsLike) -> Array | None:
        """Return the features of points, for a kernel that is an inner product of few of them."""
        kernel = None if is_function(self.kernel) else self.kernel_
        if isinstance(kernel, Linear):
            return np.asarray(dense(X), dtype=np.float64)
        return np.asarray(kernel.features(X)) if isinstance(kernel, Explicit) else None

    def _expand_to(self, X: PointsLike, a: Array, b: Array) -> None:
        """Make the machine of coefficients a (n, d) and b (q, d)."""
        store_nonzero(self, X, a, b.T if self._n_outputs else b[:, 0])

    def _flat(self, F: Array) -> Array:
        return F if self._n_outputs else F[..., 0]

    def predict(self, X: PointsLike) -> Array:
        """Evaluate the fitted function.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        X = self._check_new(X)
        f = self._flat(expand(self, X, self.dual_coef_.T))
        return np.asarray(f + self.null_space_(X) @ self.null_space_coef_.T)


@settings
class Folded(Found):
    """A least-squares machine whose folds share coefficients or additive constants."""

    _parameter_constraints: ClassVar[Constraints] = {
        "mode": [StrOptions({*FINAL})],
        "C0": [Interval(Real, 0.0, None, closed="neither")],
        "final": [StrOptions({"auto", "refit", "average", "sum"})],
    }

    def _final(self) -> str:
        """Return the machine that predicts; refuse a machine that the mode does not have."""
        defined = FINAL[self.mode]
        final = defined[0] if self.final == "auto" else str(self.final)
        if final not in defined:
            raise ValueError(
                f"final={final!r} is not defined for mode={self.mode!r}; use one of "
                f"{', '.join(map(repr, defined))}."
            )
        return final

    def _folded(
        self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike, groups: Any
    ) -> tuple[Any, Array, NDArray[np.intp], System, Folds]:
        """Return points, targets, and the system and folds of the samples with weight."""
        X, y = self._check_X(X, y)
        Y = self._targets(y)
        weights, live = self._weights(sample_weight, len(Y))
        K = np.asarray(self._make_gram(Rows(X)).dense(), dtype=np.float64)
        B = unpenalized_columns(self, X, Constant() if self.null_space is None else self.null_space)
        labels = Folds.split(self.cv, X, Y, groups, self.random_state).labels
        folds = Folds(np.unique(labels[live], return_inverse=True)[1])
        self.folds_ = np.full(len(weights), -1)
        self.folds_[live] = folds.labels
        system = System(K[np.ix_(live, live)], Y[live], B[live], self.C0, weights[live])
        return X, Y, live, system, folds
