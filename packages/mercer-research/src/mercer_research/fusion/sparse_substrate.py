"""Machines of few kernels: a substrate whose coefficients, not errors, are penalized."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._fitting import AllOrNothing, ending
from mercer._params import check_sample_weight
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions, fit_context
from mercer._typing import (
    AnyArray,
    Array,
    Constraints,
    Function,
    PointsLike,
    Seed,
    SplitterLike,
    TargetsLike,
    WeightsLike,
)
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.losses.named import CLASSIFICATION, REGRESSION, resolve
from mercer.machines.classifier import chosen, signs
from mercer.machines.subproblems import Rows
from mercer.machines.unpenalized import unpenalized_columns
from mercer.regularizers.null_space import Constant, NullSpace
from mercer.smoothing import Spectral
from mercer_research.fusion.dictionary import Sparse, largest_penalty, sparse_fit, sparse_path
from mercer_research.fusion.machine import Found
from mercer_research.selection.folds import Folds

__all__ = ["SparseSubstrate", "SparseSubstrateClassifier"]

# Weights of the loss among which a refit chooses by exact leave-one-out.
REFIT = np.geomspace(1e-4, 1e8, 61)

Cost = Callable[[Array, Array], Array]


@settings
class SparseSubstrate(Found):
    r"""Fit a function of few kernels.

    .. math:: \min_{a, b} \sum_i s_i\, l(y_i, f_i) + \zeta \|a\|_1, \qquad f = Ka + Bb

    A least-squares machine whose additive constants are free has any coefficients
    (:class:`~mercer_research.fusion.System`), so that a penalty on these is all that restricts it:
    the lasso over the kernels at the samples. Coefficients are the sensitivities of the machine to
    its targets, and most of them are zero. Other than support vectors, the samples that are left
    are spread over the inputs. The kernel need be neither symmetric nor positive definite.

    The penalty is chosen by cross-validation along a path: the best one, or the largest within a
    standard error of it (``"1se"``), which has far fewer kernels.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        The functions, one at every sample.
    zeta : float, "1se" or "min", default="1se"
        The penalty, or how to choose it.
    loss : Loss or str, default="squared"
        What a residual costs: squared (half of it), any smooth loss, or a piecewise linear one.
    n_zetas : int, default=30
        Penalties of the path.
    smallest : float, default=1e-4
        The least penalty of the path, relative to the largest.
    cv : int, splitter or iterable, default=10
        Folds as in :func:`~mercer.machines.folds.as_splitter`, or a splitter that holds every
        sample out once.
    refit : {"ols", "tikhonov"} or None, default=None
        Fit the kernels that are left again, without penalty or with that of their norm, by squared
        residuals; a penalty of the norm is weighed by exact leave-one-out.
    null_space : NullSpace, optional
        Unpenalized functions; an intercept by default.
    random_state : int, RandomState or None, default=0
        Seed of the folds where `cv` is a number.
    degree, gamma, coef0 :
        Of named kernels, as in :class:`~mercer.SVR`.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    zeta_ : float
        The penalty that was used.
    zetas_ : ndarray of shape (n_zetas,) or None
        The path, descending; None for a given penalty.
    cv_errors_, cv_standard_errors_ : ndarray of shape (n_zetas,) or None
        Mean losses of samples left out, and their standard errors over folds.
    n_kernels_ : ndarray of shape (n_zetas,) or None
        How many kernels the machines of the path have.
    sparsity_ : float
        The share of samples whose kernel is used.
    coherence_ : float
        The largest cosine between two functions of the dictionary, off the unpenalized ones. Close
        to one, it is chance which of several neighbours is used.
    gap_ : ndarray of shape (n_outputs,)
        Differences of objective and dual objective before a refit, which bound what could be
        gained.
    dual_coef_, support_, support_vectors_, intercept_, null_space_coef_ :
        As in :class:`~mercer.KernelRegressor`.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 8.4.1, eq. (8.38), with the
    constant b, and table 8.2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer_research.fusion import SparseSubstrate
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (80, 1))
    >>> y = np.sinc(X[:, 0]) + 0.1 * rng.normal(size=80)
    >>> machine = SparseSubstrate(Gaussian(0.6)).fit(X, y)
    >>> machine.sparsity_ < 0.2, machine.score(X, y) > 0.85
    (True, True)
    """

    kernel: Kernel | str | Function = "rbf"
    _: KW_ONLY
    zeta: float | str = "1se"
    loss: Loss | str = "squared"
    n_zetas: int = 30
    smallest: float = 1e-4
    cv: SplitterLike = 10
    refit: str | None = None

    _parameter_constraints: ClassVar[Constraints] = {
        "zeta": [StrOptions({"1se", "min"}), Interval(Real, 0.0, None, closed="neither")],
        "n_zetas": [Interval(Integral, 2, None, closed="left")],
        "smallest": [Interval(Real, 0.0, 1.0, closed="neither")],
        "refit": [StrOptions({"ols", "tikhonov"}), None],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: PointsLike,
        y: TargetsLike,
        sample_weight: WeightsLike = None,
        *,
        groups: Any = None,
    ) -> Self:
        """Choose the penalty and fit the machine.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs; the square matrix of similarities for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the losses.
        groups : array-like of shape (n_samples,), optional
            What a splitter of groups asks for.
        """
        X, y = self._check_X(X, y)
        loss = resolve(self.loss, REGRESSION | CLASSIFICATION)
        return self._fit_targets(X, self._targets(y), sample_weight, groups, loss, loss.value)

    def _warn_if_indefinite(self, X: PointsLike) -> None:
        """Take similarities as they are: the functions of a dictionary are any."""

    def _fit_targets(
        self,
        X: PointsLike,
        Y: Array,
        sample_weight: WeightsLike,
        groups: Any,
        loss: Loss,
        cost: Cost,
        classes: NDArray[np.intp] | None = None,
    ) -> Self:
        """Fit checked data, with a cost of samples left out in folds that hold all classes."""
        weights, live = self._weights(sample_weight, len(Y))
        self._make_gram(Rows(X))
        # Not the Gram of the machine: similarities need not be symmetric.
        K = self._cross(X, X)[np.ix_(live, live)]
        if not np.all(np.isfinite(K)):
            raise ValueError(
                "The kernel overflows on these samples: scale X, or choose a smaller gamma."
            )
        B = unpenalized_columns(
            self, X, Constant() if self.null_space is None else self.null_space
        )[live]
        s, Y_live = weights[live], Y[live]
        self.zetas_: Array | None = None
        self.cv_errors_: Array | None = None
        self.cv_standard_errors_: Array | None = None
        self.n_kernels_: NDArray[np.intp] | None = None
        if isinstance(self.zeta, str):
            targets, known = (Y, False) if classes is None else (classes, True)
            labels = Folds.split(
                self.cv, X, targets, groups, self.random_state, classifier=known
            ).labels
            folds = Folds(np.unique(labels[live], return_inverse=True)[1])
            found = self._choose_penalty(K, B, Y_live, s, loss, cost, folds)
        else:
            self.zeta_ = float(self.zeta)
            found = [sparse_fit(K, B, t, s, loss, self.zeta_) for t in Y_live.T]
        a, b = (np.stack([fit[k] for fit in found], axis=1) for k in (0, 1))
        self.gap_ = np.array([fit.gap for fit in found])
        self.coherence_ = _coherence(K, B, s)
        if self.refit is not None:
            a, b = self._refit_support(K, B, Y_live, s, a)
        whole = np.zeros_like(Y)
        whole[live] = a
        self._expand_to(X, whole, b)
        self.sparsity_ = len(self.support_) / len(live)
        return self

    def _choose_penalty(
        self, K: Array, B: Array, Y: Array, s: Array, loss: Loss, cost: Cost, folds: Folds
    ) -> list[Sparse]:
        """Follow the paths of all folds and of the sample, and take the penalty they prefer."""
        largest = max(largest_penalty(K, B, t, s, loss) for t in Y.T) or 1.0
        zetas = largest * np.geomspace(1.0, self.smallest, self.n_zetas)
        errors, shares = np.empty((folds.n_folds, len(zetas))), np.empty(folds.n_folds)
        for fold in range(folds.n_folds):
            T, V = folds.outside(fold), folds.inside(fold)
            shares[fold] = s[V].sum()
            # A penalty weighs against as many losses as there are.
            scaled = zetas * (s[T].sum() / s.sum())
            paths = [sparse_path(K[np.ix_(T, T)], B[T], t[T], s[T], loss, scaled) for t in Y.T]
            for k in range(len(zetas)):
                f = [K[np.ix_(V, T)] @ path[k].a + B[V] @ path[k].b for path in paths]
                errors[fold, k] = np.average(cost(Y[V].T, np.array(f)), axis=1, weights=s[V]).mean()
        mean = np.average(errors, axis=0, weights=shares)
        spread = np.average((errors - mean) ** 2, axis=0, weights=shares)
        # Of the mean of L folds, from their spread with L - 1 degrees of freedom.
        error = np.sqrt(spread / (folds.n_folds - 1))
        self.zetas_, self.cv_errors_, self.cv_standard_errors_ = zetas, mean, error
        k = int(np.argmin(mean))
        if self.zeta == "1se":
            k = int(np.argmax(mean <= mean[k] + error[k]))
        paths = [sparse_path(K, B, t, s, loss, zetas) for t in Y.T]
        self.n_kernels_ = np.array(
            [np.any([path[j].a != 0 for path in paths], axis=0).sum() for j in range(len(zetas))]
        )
        self.zeta_ = float(zetas[k])
        return [path[k] for path in paths]

    def _refit_support(
        self, K: Array, B: Array, Y: Array, s: Array, a: Array
    ) -> tuple[Array, Array]:
        """Fit the kernels that are left without the penalty."""
        left = np.flatnonzero(a.any(axis=1))
        whole, root = np.zeros_like(a), np.sqrt(s)[:, None]
        if self.refit == "ols" or not len(left):
            design = root * np.concatenate([K[:, left], B], axis=1)
            z = np.linalg.lstsq(design, root * Y, rcond=None)[0]
            whole[left] = z[: len(left)]
            return whole, z[len(left) :]
        inner = K[np.ix_(left, left)]
        values, vectors = np.linalg.eigh(0.5 * (inner + inner.T))
        if (
            np.max(np.abs(inner - inner.T)) > 1e-8 * np.max(np.abs(inner))
            or values[0] < -1e-8 * (values[-1])
        ):
            raise ValueError(
                "refit='tikhonov' penalizes a norm, which similarities that are not symmetric and "
                "positive definite do not have; use refit='ols'."
            )
        keep = values > len(left) * np.finfo(np.float64).eps * values[-1]
        half = vectors[:, keep] / np.sqrt(values[keep])
        features = K[:, left] @ half
        spectral = Spectral(features @ features.T, B, s)
        errors = np.square(spectral.leave_one_out(Y, REFIT))
        C = float(REFIT[int(np.argmin(np.einsum("kid,i->k", errors, s)))])
        dual, b = spectral.coefficients(Y, C)
        whole[left] = half @ (features.T @ dual)
        return whole, b


def _coherence(K: Array, B: Array, s: Array) -> float:
    """Return the largest cosine of two columns, off those without penalty."""
    root = np.sqrt(s)[:, None]
    columns = root * B
    off = root * K - columns @ np.linalg.lstsq(columns, root * K, rcond=None)[0]
    length = np.linalg.norm(off, axis=0)
    some = length > 1e-12 * max(float(np.max(length, initial=0.0)), 1e-300)
    if some.sum() < 2:
        return 0.0
    unit = off[:, some] / length[some]
    return float(min(1.0, np.max(np.abs(unit.T @ unit - np.eye(int(some.sum()))))))


@settings
class SparseSubstrateClassifier(ClassifierMixin, AllOrNothing, BaseEstimator):  # type: ignore[misc]
    r"""Classify by the sign of a function of few kernels.

    .. math:: \min_{a, b} \sum_i s_i\, l(y_i, f_i) + \zeta \|a\|_1, \qquad f = Ka + Bb, \qquad
              y_i = \pm 1

    :class:`SparseSubstrate` of labels plus and minus one; more than two classes are divided each
    from the rest, with one penalty for all. Cross-validation counts mistakes, of the function of a
    class against the rest.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        The functions, one at every sample.
    zeta : float, "1se" or "min", default="1se"
        The penalty, or how to choose it.
    loss : Loss or str, default="squared"
        What a decision value costs: ``"squared"`` (half of it), ``"hinge"``, ``"logistic"``,
        ``"squared_hinge"``, ``"huber_hinge"``, or a loss of margins.
    class_weight : dict or "balanced", optional
        Factors of the weights for the classes.
    n_zetas, smallest, cv, refit, null_space, random_state, degree, gamma, coef0 :
        As in :class:`SparseSubstrate`.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    machine_ : SparseSubstrate
        The function, or functions, with everything that was found about the penalty.
    support_, dual_coef_, intercept_, zeta_, sparsity_ :
        As in ``machine_``.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, table 8.2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer_research.fusion import SparseSubstrateClassifier
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> y = np.where(X[:, 0] ** 2 + X[:, 1] ** 2 > 1, "out", "in")
    >>> machine = SparseSubstrateClassifier(Gaussian(1.0)).fit(X, y)
    >>> machine.sparsity_ < 0.2, machine.score(X, y) > 0.85
    (True, True)
    """

    kernel: Kernel | str | Function = "rbf"
    _: KW_ONLY
    zeta: float | str = "1se"
    loss: Loss | str = "squared"
    class_weight: Any = None
    n_zetas: int = 30
    smallest: float = 1e-4
    cv: SplitterLike = 10
    refit: str | None = None
    null_space: NullSpace | None = None
    random_state: Seed = 0
    degree: int = 3
    gamma: float | str = "scale"
    coef0: float = 0.0

    _parameter_constraints: ClassVar[Constraints] = {
        **SparseSubstrate._parameter_constraints,
        "loss": [Loss, StrOptions({*CLASSIFICATION})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self._inner().__sklearn_tags__().input_tags
        tags.input_tags.pairwise, tags.input_tags.sparse = inner.pairwise, inner.sparse
        return tags

    def _inner(self) -> SparseSubstrate:
        names = SparseSubstrate._get_param_names()
        return SparseSubstrate(**{name: getattr(self, name) for name in names})

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: PointsLike,
        y: TargetsLike,
        sample_weight: WeightsLike = None,
        *,
        groups: Any = None,
    ) -> Self:
        """Choose the penalty and fit the machine.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs; the square matrix of similarities for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the losses.
        groups : array-like of shape (n_samples,), optional
            What a splitter of groups asks for.
        """
        machine = self._inner()
        X, y = machine._check_X(X, y)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"The sample has one class only, {classes[0]!r}; a classifier needs two."
            )
        s = check_sample_weight(sample_weight, len(y))
        s = s * compute_class_weight(self.class_weight, classes=classes, y=y)[codes]
        labels = signs(codes, len(classes))
        machine._targets(labels[:, 0] if len(classes) == 2 else labels)
        loss = resolve(self.loss, CLASSIFICATION)
        machine._fit_targets(X, labels, s, groups, loss, _mistakes, codes)
        self.machine_, self.classes_ = machine, classes
        self.n_features_in_ = getattr(machine, "n_features_in_", None)
        if hasattr(machine, "feature_names_in_"):
            self.feature_names_in_ = machine.feature_names_in_
        for name in ("support_", "dual_coef_", "intercept_", "zeta_", "sparsity_"):
            setattr(self, name, getattr(machine, name))
        return self

    def _ending(self) -> str:
        return ending(self.machine_)

    def decision_function(self, X: PointsLike) -> Array:
        """Return the functions whose signs tell classes apart.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self.machine_.predict(X)

    def predict(self, X: PointsLike) -> AnyArray:
        """Return the labels of new inputs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.
        """
        best = chosen(self.decision_function(X))
        return np.asarray(self.classes_[best])


def _mistakes(y: Array, f: Array) -> Array:
    """Return the loss of signs: 1 for a wrong sign, 1/2 for a value of zero."""
    return np.asarray(0.5 * (1.0 - np.sign(y * f)))
