"""Machines with every part left open: any loss, any kernel, anything unpenalized."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.callback import with_callbacks
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer.estimators._regression import Regression
from mercer.estimators.base import Array, KernelMachine
from mercer.losses.base import Loss
from mercer.losses.classification import Logistic
from mercer.losses.named import CLASSIFICATION, REGRESSION, resolve
from mercer.problems.risk import RegularizedRisk
from mercer.regularizers.null_space import Constant, NullSpace
from mercer.solvers import Status, join

__all__ = ["KernelClassifier", "KernelLogisticRegression", "KernelRegressor"]


class KernelRegressor(Regression):
    r"""Minimize a regularized risk for any convex loss, kernel and unpenalized part.

    .. math:: \min_{f, b} \tfrac12 \|f\|^2 + C \sum_i s_i\, l(y_i, f(x_i) + b' p(x_i))

    Parameters
    ----------
    loss : Loss or str, default="squared"
        What an error costs; parameters of a :class:`~mercer.losses.Loss` are reached as
        ``loss__epsilon``.
    kernel : Kernel, str or callable, default="rbf"
        Reproducing kernel of the penalty.
    null_space : NullSpace, optional
        Unpenalized functions :math:`p`; an intercept by default.
    C : float, default=1.0
        Weight of the summed loss against the penalty.
    degree, gamma, coef0, tol, cache_size, verbose, max_iter :
        As in :class:`SVR`.
    max_time, gram, solver, warm_start :
        As in :class:`SVR`.

    Attributes
    ----------
    null_space_coef_ : ndarray of shape (q,)
        Coefficients of the unpenalized functions.
    support_, support_vectors_, dual_coef_, intercept_, n_support_, solution_ :
        As in :class:`SVR`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import EpsilonInsensitive
    >>> from mercer.regularizers import Polynomial
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> y = 3.0 * X[:, 0] + np.sin(9 * X[:, 0])
    >>> machine = KernelRegressor(
    ...     loss=EpsilonInsensitive(0.01), kernel=Gaussian(0.2), null_space=Polynomial(1), C=10.0
    ... ).fit(X, y)
    >>> machine.null_space_coef_.shape, machine.solution_.solver
    ((2,), 'InteriorPoint')
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelMachine._parameter_constraints,
        "loss": [Loss, StrOptions(set(REGRESSION))],
        "null_space": [NullSpace, None],
    }

    def __init__(
        self,
        loss="squared",
        kernel="rbf",
        *,
        null_space=None,
        C=1.0,
        degree=3,
        gamma="scale",
        coef0=0.0,
        tol=1e-3,
        cache_size=200,
        verbose=False,
        max_iter=-1,
        max_time=None,
        gram="auto",
        solver="auto",
        warm_start=False,
    ):
        self.loss = loss
        self.kernel = kernel
        self.null_space = null_space
        self.C = C
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.max_time = max_time
        self.gram = gram
        self.solver = solver
        self.warm_start = warm_start

    def _loss(self) -> Loss:
        return resolve(self.loss, REGRESSION)

    def _null_space(self) -> NullSpace:
        return Constant() if self.null_space is None else self.null_space


class OneVsRest(ClassifierMixin, KernelMachine):  # type: ignore[misc]
    """A classifier for a declared loss, one problem a class against the rest."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelMachine._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def _loss(self) -> Loss:
        """Return the loss that defines the machine."""
        raise NotImplementedError

    def _null_space(self) -> NullSpace:
        """Return what stays unpenalized."""
        return Constant()

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the machine to a labelled sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs; the kernel matrix (n_samples, n_samples) for ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples' losses.

        Returns
        -------
        self
            The fitted machine.
        """
        X, y = self._check_X(X, y)
        labels = column_or_1d(y, warn=True)
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(self.classes_)} class"
            )
        factors = compute_class_weight(self.class_weight, classes=self.classes_, y=labels)
        c = self._weight() * self._check_weights(sample_weight, len(codes)) * factors[codes]
        positives = [1] if len(self.classes_) == 2 else list(range(len(self.classes_)))
        context = self._init_callback_context(max_subtasks=len(positives))
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        K = self._make_gram(X)
        null_space = self._null_space()
        B, loss = null_space(X), self._loss()
        risks = (
            (
                "" if len(positives) == 1 else str(self.classes_[p]),
                RegularizedRisk(loss, K, np.where(codes == p, 1.0, -1.0), c, B),
            )
            for p in positives
        )
        self._solutions = self._minimize(risks, len(positives), context)
        self.solution_ = join(self._solutions)
        self.null_space_ = null_space
        coef = np.column_stack([s.a for s in self._solutions])
        index = np.flatnonzero(np.any(coef != 0, axis=1))
        self._store(X, index, coef[index])
        self.null_space_coef_ = np.array([s.b for s in self._solutions])
        if isinstance(null_space, Constant):
            self.intercept_ = self.null_space_coef_[:, 0]
        self.n_iter_ = int(self.solution_.n_iter)
        self.fit_status_ = int(self.solution_.status is not Status.CONVERGED)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def decision_function(self, X: Any) -> Array:
        """Evaluate the decision function.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes positive speaks for ``classes_[1]``; for more, one column per class.
        """
        X = self._check_new(X)
        f = self._expand(X, self.dual_coef_.T, self.null_space_coef_.T, self.null_space_)
        return f[:, 0] if len(self.classes_) == 2 else f

    def predict(self, X: Any) -> Any:
        """Predict the class of new points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels.
        """
        check_is_fitted(self)
        f = self.decision_function(X)
        return self.classes_[(f > 0).astype(np.intp) if f.ndim == 1 else np.argmax(f, axis=1)]

    def _probabilities(self, X: Any) -> Array:
        """Read a loss's probabilities off the decision values, normalized over classes."""
        f = self.decision_function(X)
        f = np.column_stack([-f, f]) if f.ndim == 1 else f
        p = self._loss().probability(f)  # type: ignore[attr-defined]
        total = p.sum(axis=1, keepdims=True)
        return np.where(total > 0, p / np.where(total > 0, total, 1.0), 1.0 / p.shape[1])

    @property
    def n_support_(self) -> Any:
        """Number of support vectors."""
        if not hasattr(self, "support_"):
            raise AttributeError("n_support_ is available after fit")
        return np.array([len(self.support_)], dtype=np.int32)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "support_")


def _loss_has_probabilities(machine: Any) -> bool:
    if not hasattr(machine._loss(), "probability"):
        raise AttributeError("this loss has no probabilities; use the logistic loss or calibrate")
    return True


class KernelClassifier(OneVsRest):
    r"""Classify by minimizing a regularized risk for any convex loss of the margin.

    .. math:: \min_{f, b} \tfrac12 \|f\|^2 + C \sum_i s_i\, l(y_i, f(x_i) + b' p(x_i))

    Several classes are decided by one machine per class against the rest.

    Parameters
    ----------
    loss : Loss or str, default="squared_hinge"
        What a wrong or narrow decision costs.
    kernel : Kernel, str or callable, default="rbf"
        Reproducing kernel of the penalty.
    null_space : NullSpace, optional
        Unpenalized functions :math:`p`; an intercept by default.
    C : float, default=1.0
        Weight of the summed loss against the penalty.
    class_weight : dict or "balanced", optional
        Factors of ``C`` by class.
    degree, gamma, coef0, tol, cache_size, verbose, max_iter :
        As in :class:`SVC`.
    max_time, gram, solver, warm_start :
        As in :class:`SVC`.

    Attributes
    ----------
    classes_, support_, support_vectors_, dual_coef_ :
        Classes, samples that carry the machine, and their coefficients, a row a class (one row for
        two).
    null_space_coef_ : ndarray of shape (n_machines, q)
        Coefficients of the unpenalized functions.
    solution_ : Solution
        Objective, duality gap, status, iterations and timings; sums over the classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = KernelClassifier(loss="squared_hinge", C=10.0).fit(X, y)
    >>> machine.score(X, y) > 0.95
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OneVsRest._parameter_constraints,
        "loss": [Loss, StrOptions(set(CLASSIFICATION))],
        "null_space": [NullSpace, None],
    }

    def __init__(
        self,
        loss="squared_hinge",
        kernel="rbf",
        *,
        null_space=None,
        C=1.0,
        class_weight=None,
        degree=3,
        gamma="scale",
        coef0=0.0,
        tol=1e-3,
        cache_size=200,
        verbose=False,
        max_iter=-1,
        max_time=None,
        gram="auto",
        solver="auto",
        warm_start=False,
    ):
        self.loss = loss
        self.kernel = kernel
        self.null_space = null_space
        self.C = C
        self.class_weight = class_weight
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.max_time = max_time
        self.gram = gram
        self.solver = solver
        self.warm_start = warm_start

    def _loss(self) -> Loss:
        return resolve(self.loss, CLASSIFICATION)

    def _null_space(self) -> NullSpace:
        return Constant() if self.null_space is None else self.null_space

    @available_if(_loss_has_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Predict class probabilities, for losses that have them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, columns in the order of ``classes_``.
        """
        return self._probabilities(X)


class KernelLogisticRegression(OneVsRest):
    r"""Kernel logistic regression: class probabilities from a smooth machine.

    .. math:: \min_{f, b} \tfrac12 \|f\|^2 + C \sum_i s_i \log(1 + e^{-y_i (f(x_i) + b)})

    Several classes are decided by one machine per class against the rest, whose probabilities are
    normalized.

    Parameters
    ----------
    kernel : Kernel, str or callable, default="rbf"
        Reproducing kernel of the penalty.
    C : float, default=1.0
        Weight of the summed loss against the penalty.
    class_weight : dict or "balanced", optional
        Factors of ``C`` by class.
    degree, gamma, coef0, tol, cache_size, verbose, max_iter :
        As in :class:`SVC`.
    max_time, gram, solver, warm_start :
        As in :class:`SVC`.

    Attributes
    ----------
    classes_, support_, support_vectors_, dual_coef_, intercept_, solution_ :
        As in :class:`KernelClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelLogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = KernelLogisticRegression(C=10.0).fit(X, y)
    >>> machine.predict_proba(X[:1]).argmax()
    np.int64(0)
    """

    def __init__(
        self,
        kernel="rbf",
        *,
        C=1.0,
        class_weight=None,
        degree=3,
        gamma="scale",
        coef0=0.0,
        tol=1e-3,
        cache_size=200,
        verbose=False,
        max_iter=-1,
        max_time=None,
        gram="auto",
        solver="auto",
        warm_start=False,
    ):
        self.kernel = kernel
        self.C = C
        self.class_weight = class_weight
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.max_time = max_time
        self.gram = gram
        self.solver = solver
        self.warm_start = warm_start

    def _loss(self) -> Loss:
        return Logistic()

    def predict_proba(self, X: Any) -> Array:
        """Predict class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, columns in the order of ``classes_``.
        """
        return self._probabilities(X)

    def predict_log_proba(self, X: Any) -> Array:
        """Predict logarithms of class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Logarithms of the probabilities.
        """
        return np.log(self.predict_proba(X))
