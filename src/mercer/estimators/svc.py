"""Support vector classification: one problem per pair of classes, over one kernel matrix."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import combinations
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, _fit_context, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.callback import with_callbacks
from sklearn.exceptions import NotFittedError
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import Hidden, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _ovr_decision_function, check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer.estimators.base import Array, KernelMachine
from mercer.gram.base import Gram
from mercer.gram.indexed import Indexed
from mercer.losses.classification import Hinge
from mercer.problems.nu import nu_classification, nu_classification_back
from mercer.problems.risk import RegularizedRisk
from mercer.solvers import Solution, Status, join

__all__ = ["SVC", "NuSVC"]


def _has_probabilities(machine: Any) -> bool:
    if machine.probability == "deprecated" or not machine.probability:
        raise AttributeError("predict_proba is not available when probability=False")
    return True


class PairwiseClassifier(ClassifierMixin, KernelMachine):  # type: ignore[misc]
    """A machine that votes between classes, one binary problem a pair."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **KernelMachine._parameter_constraints,
        "shrinking": ["boolean"],
        "probability": ["boolean", Hidden(StrOptions({"deprecated"}))],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
        "random_state": ["random_state"],
    }

    def _problem(self, K: Gram, y: Array, c: Array) -> RegularizedRisk:
        """Return the problem of one pair, labels plus and minus one."""
        raise NotImplementedError

    def _read(self, solution: Solution) -> tuple[Array, float]:
        """Return expansion and intercept of a solved pair."""
        return solution.a, float(solution.b[0])

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
        codes = self._encode(y)
        weights = self._check_weights(sample_weight, len(codes))
        pairs = list(combinations(range(len(self.classes_)), 2))
        context = self._init_callback_context(max_subtasks=len(pairs))
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        c = self._weight() * weights * self.class_weight_[codes]
        K = self._make_gram(X)
        index = [np.flatnonzero((codes == i) | (codes == j)) for i, j in pairs]
        self._solutions = self._minimize(
            self._risks(K, codes, c, pairs, index), len(pairs), context
        )
        self.solution_ = join(self._solutions)
        self._store_pairs(X, codes, pairs, index)
        self._fit_probabilities(X, y, sample_weight)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _encode(self, y: Any) -> NDArray[np.intp]:
        """Return each sample's class number, and remember classes and their weights."""
        labels = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                "The number of classes has to be greater than one; got "
                f"{len(self.classes_)} class"
            )
        self.class_weight_ = compute_class_weight(
            self.class_weight, classes=self.classes_, y=labels
        )
        return np.asarray(codes)

    def _risks(
        self,
        K: Gram,
        codes: NDArray[np.intp],
        c: Array,
        pairs: list[tuple[int, int]],
        index: list[NDArray[np.intp]],
    ) -> Iterator[tuple[str, RegularizedRisk]]:
        """Yield the problem of each pair; the positive class is the first, the second if only two.

        Two classes speak of the second as positive, several of the first of each pair: that is how
        scikit-learn's users read decision values and coefficients.
        """
        binary = len(pairs) == 1
        for (i, j), rows in zip(pairs, index, strict=True):
            positive = j if binary else i
            y = np.where(codes[rows] == positive, 1.0, -1.0)
            block = K if binary else Indexed(K, rows)
            title = "" if binary else f"{self.classes_[i]} or {self.classes_[j]}"
            yield title, self._problem(block, y, c[rows])

    def _store_pairs(
        self,
        X: Any,
        codes: NDArray[np.intp],
        pairs: list[tuple[int, int]],
        index: list[NDArray[np.intp]],
    ) -> None:
        """Lay the coefficients out as scikit-learn does: rows of a class facing each other class."""
        n_classes = len(self.classes_)
        coef = np.zeros((len(codes), n_classes - 1))
        intercept = np.zeros(len(pairs))
        for k, ((i, j), rows) in enumerate(zip(pairs, index, strict=True)):
            a, intercept[k] = self._read(self._solutions[k])
            first, second = codes[rows] == i, codes[rows] == j
            coef[rows[first], j - 1] = a[first]
            coef[rows[second], i] = a[second]
        support = np.flatnonzero(np.any(coef != 0, axis=1))
        support = support[np.argsort(codes[support], kind="stable")]
        self._store(X, support, coef[support])
        self._n_support = np.bincount(codes[support], minlength=n_classes).astype(np.int32)
        self.intercept_ = intercept
        # Two classes: the private pair speaks of the first class as positive, like LIBSVM.
        sign = -1.0 if n_classes == 2 else 1.0
        self._dual_coef_, self._intercept_ = sign * self.dual_coef_, sign * intercept
        self.n_iter_ = np.array([s.n_iter for s in self._solutions], dtype=np.int32)
        self.fit_status_ = int(self.solution_.status is not Status.CONVERGED)

    def _fit_probabilities(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Compose Platt's sigmoid from scikit-learn's calibration, if the old parameter asks for it."""
        self._calibrated = None
        if self.probability == "deprecated":
            return
        name = type(self).__name__
        warnings.warn(
            f"The `probability` parameter is deprecated as in scikit-learn 1.9; use "
            f"CalibratedClassifierCV({name}(), ensemble=False) for probabilities",
            FutureWarning,
            stacklevel=2,
        )
        if self.probability:
            plain = clone(self).set_params(probability="deprecated")
            self._calibrated = CalibratedClassifierCV(plain, ensemble=False).fit(
                X, y, sample_weight=sample_weight
            )

    # Prediction ----------------------------------------------------------------------------------

    def _pairs(self, X: Any) -> Array:
        """Evaluate the pairs' decision functions; positive speaks for the first class of a pair."""
        X = self._check_new(X)
        if self.support_vectors_.shape[0] and self._n_support.sum() != len(self.support_):
            raise ValueError(f"The internal representation of {type(self).__name__} was altered")
        n_classes = len(self.classes_)
        coef = self._dual_coef_.toarray() if sp.issparse(self._dual_coef_) else self._dual_coef_
        ends = np.concatenate([[0], np.cumsum(self._n_support)])
        columns = np.zeros((len(self.support_), n_classes * (n_classes - 1) // 2))
        for k, (i, j) in enumerate(combinations(range(n_classes), 2)):
            first, second = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
            columns[first, k] = coef[j - 1, first]
            columns[second, k] = coef[i, second]
        return self._expand(X, columns, self._intercept_, None)

    def decision_function(self, X: Any) -> Array:
        """Evaluate the decision function.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
            For two classes positive speaks for ``classes_[1]``; for more, one column per class
            (``"ovr"``) or per pair (``"ovo"``).
        """
        f = self._pairs(X)
        if len(self.classes_) == 2:
            return -f[:, 0]
        if self.decision_function_shape == "ovr":
            return np.asarray(_ovr_decision_function(f < 0, -f, len(self.classes_)))
        return f

    def predict(self, X: Any) -> Any:
        """Predict the class of new points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels: the class most pairs vote for, the first of those tied.
        """
        check_is_fitted(self)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        if self.break_ties and len(self.classes_) > 2:
            return self.classes_[np.argmax(self.decision_function(X), axis=1)]
        f = self._pairs(X)
        votes = np.zeros((f.shape[0], len(self.classes_)), dtype=np.intp)
        for k, (i, j) in enumerate(combinations(range(len(self.classes_)), 2)):
            votes[:, i] += f[:, k] > 0
            votes[:, j] += f[:, k] <= 0
        return self.classes_[np.argmax(votes, axis=1)]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Predict class probabilities, by calibration; only with ``probability=True``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, columns in the order of ``classes_``.
        """
        check_is_fitted(self)
        if self._calibrated is None:
            raise NotFittedError("predict_proba is not available when fitted with probability=False")
        return np.asarray(self._calibrated.predict_proba(X))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Array:
        """Predict logarithms of class probabilities; only with ``probability=True``.

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

    @property
    def n_support_(self) -> Any:
        """Number of support vectors of each class."""
        if not hasattr(self, "support_"):
            raise AttributeError("n_support_ is available after fit")
        return self._n_support

    def _linear_coef(self) -> Any:
        if len(self.classes_) == 2:
            return self.dual_coef_ @ self.support_vectors_
        ends = np.concatenate([[0], np.cumsum(self._n_support)])
        coef, vectors = self.dual_coef_, self.support_vectors_
        rows = []
        for i, j in combinations(range(len(self.classes_)), 2):
            first, second = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
            rows.append(coef[[j - 1], first] @ vectors[first] + coef[[i], second] @ vectors[second])
        return sp.vstack(rows).tocsr() if sp.issparse(coef) else np.vstack(rows)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "support_")


class SVC(PairwiseClassifier):
    r"""Support vector classification, a drop-in replacement for scikit-learn's.

    .. math:: \min_f \tfrac12 \|f\|^2 + C \sum_i s_i \max(0, 1 - y_i (f(x_i) + b))

    Several classes are decided by a vote of one machine per pair.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the summed loss against the penalty.
    kernel : {"linear", "poly", "rbf", "sigmoid", "laplacian", "matern", "rational_quadratic", \
"precomputed"}, Kernel or callable, default="rbf"
        Reproducing kernel of the penalty; parameters of a :class:`~mercer.kernels.Kernel` are reached
        as ``kernel__length_scale``.
    degree, gamma, coef0 : int, {"scale", "auto"} or float, float
        Parameters of the named kernels, as in scikit-learn.
    shrinking : bool, default=True
        Leave samples that rest on their bounds aside while solving.
    probability : bool, default="deprecated"
        As in scikit-learn 1.9: deprecated. True composes scikit-learn's ``CalibratedClassifierCV``.
    tol : float, default=1e-3
        Largest violation of an optimality condition, in units of the decision function.
    cache_size : float, default=200
        Memory for kernel values, in MB.
    class_weight : dict or "balanced", optional
        Factors of ``C`` by class.
    verbose : bool or int, default=False
        Show a line with the gap falling.
    max_iter : int, default=-1
        Largest number of solver iterations a pair, -1 for no limit.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Columns of ``decision_function`` for more than two classes: classes or pairs.
    break_ties : bool, default=False
        Decide tied votes by the decision values.
    random_state : int or RandomState, optional
        Accepted for compatibility; the fit is deterministic.
    max_time : float, optional
        Largest number of seconds in the solver, a pair; the best machine so far is kept, with a
        warning.
    gram : {"auto", "dense", "tiled"} or callable, default="auto"
        How the kernel matrix is held; a callable maps ``(kernel, X)`` to a Gram.
    solver : str or Solver, default="auto"
        How the functional is minimized; a Solver brings its own tolerance and budget.
    warm_start : bool, default=False
        Start from the last fit's coefficients where the sample has the same size.

    Attributes
    ----------
    classes_, class_weight_, support_, support_vectors_, n_support_, dual_coef_, intercept_ :
        As in scikit-learn.
    solution_ : Solution
        Objective, duality gap, status, iterations and timings; sums over the pairs.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = SVC().fit(X, y)
    >>> round(machine.score(X, y), 2)
    0.97
    >>> machine.solution_.gap < 1e-2
    True
    """

    def __init__(
        self,
        *,
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        probability="deprecated",
        tol=1e-3,
        cache_size=200,
        class_weight=None,
        verbose=False,
        max_iter=-1,
        decision_function_shape="ovr",
        break_ties=False,
        random_state=None,
        max_time=None,
        gram="auto",
        solver="auto",
        warm_start=False,
    ):
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.max_time = max_time
        self.gram = gram
        self.solver = solver
        self.warm_start = warm_start

    def _problem(self, K: Gram, y: Array, c: Array) -> RegularizedRisk:
        if len(np.unique(y[c > 0])) < 2:
            raise ValueError(
                "Invalid input - all samples with positive weights belong to the same class."
            )
        return RegularizedRisk(Hinge(), K, y, c, np.ones((len(y), 1)))


class NuSVC(PairwiseClassifier):
    r"""Nu-support vector classification: the width of the margin is chosen by the data.

    .. math::

        \min_{f, \rho} \tfrac12 \|f\|^2 + \sum_i s_i \bigl(\max(0, \rho - y_i (f(x_i) + b))
        - \nu \rho\bigr)

    The fitted function is divided by :math:`\rho`, so that its margin is one.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the fraction of margin errors and lower bound on the fraction of support
        vectors, in (0, 1].
    kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size, class_weight, verbose :
        As in :class:`SVC`.
    max_iter, decision_function_shape, break_ties, random_state :
        As in :class:`SVC`.
    max_time, gram, solver, warm_start :
        As in :class:`SVC`.

    Attributes
    ----------
    classes_, class_weight_, support_, support_vectors_, n_support_, dual_coef_, intercept_ :
        As in scikit-learn.
    solution_ : Solution
        Objective, duality gap, status, iterations and timings; sums over the pairs.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import NuSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> round(NuSVC(nu=0.2).fit(X, y).score(X, y), 2)
    0.97
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **PairwiseClassifier._parameter_constraints,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }
    _parameter_constraints.pop("C")

    def __init__(
        self,
        *,
        nu=0.5,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        probability="deprecated",
        tol=1e-3,
        cache_size=200,
        class_weight=None,
        verbose=False,
        max_iter=-1,
        decision_function_shape="ovr",
        break_ties=False,
        random_state=None,
        max_time=None,
        gram="auto",
        solver="auto",
        warm_start=False,
    ):
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.max_time = max_time
        self.gram = gram
        self.solver = solver
        self.warm_start = warm_start

    def _weight(self) -> float:
        return 1.0

    def _problem(self, K: Gram, y: Array, c: Array) -> RegularizedRisk:
        return nu_classification(K, y, c, self.nu)

    def _read(self, solution: Solution) -> tuple[Array, float]:
        machine = nu_classification_back(solution.a, solution.b)
        return machine.a, machine.b
