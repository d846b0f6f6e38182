"""Linear support vector machines with a penalized intercept: text, and many rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from mercer._fitting import AllOrNothing
from mercer._params import check_sample_weight
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import (
    Interval,
    InvalidParameterError,
    SparseCoefMixin,
    StrOptions,
    fit_context,
)
from mercer._threads import call_ready, usable_cores
from mercer._typing import (
    Array,
    Constraints,
    PointsLike,
    Seed,
    TargetsLike,
    WeightsLike,
)
from mercer.data.opening import is_source
from mercer.gram.features import Features
from mercer.kernels.points import is_sparse
from mercer.losses.base import Loss
from mercer.losses.classification import Hinge, SquaredHinge
from mercer.losses.regression import EpsilonInsensitive, SquaredEpsilonInsensitive
from mercer.machines.callbacks import SILENT, watched
from mercer.machines.classifier import chosen, encode_classes, refuse_one_class, signs
from mercer.machines.expansion import with_short_indices
from mercer.machines.explaining import explained, explaining_data
from mercer.machines.solving import EarlyStop, finite
from mercer.problems.risk import RegularizedRisk
from mercer.solvers import Solution, Solver
from mercer.solvers.linear_weights import minimize_absolute, minimize_coupled
from mercer.solvers.minimizing import minimize_together
from mercer.solvers.primal_newton import PrimalNewton
from mercer.solvers.row_descent import MAX_CLASSES, RowDescent
from mercer.solvers.solution import join
from mercer.solvers.thin import ThinInteriorPoint

__all__ = ["LinearSVC", "LinearSVR"]

# Dense columns up to which systems over the weights are faster than steps along rows, and how many
# times more rows there have to be.
MAX_FEW_COLUMNS, MIN_ROWS_PER_COLUMN = 300, 5
# Of the square root of a loss: the squared ones of LIBLINEAR have no half.
WHOLE_SQUARE = 2.0
NO_ARRAY: Array = np.empty(0)
# Linear machines have no callbacks.
QUIET: Any = SILENT


@settings
class LinearMachine(SparseCoefMixin, AllOrNothing, BaseEstimator):  # type: ignore[misc]
    """Weights of the features, with a penalized intercept: what both linear machines share."""

    _: KW_ONLY
    dual: bool | str = "auto"
    tol: float = 1e-4
    C: float = 1.0
    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    random_state: Seed = None
    max_iter: int = 1000
    max_time: float | None = None

    _parameter_constraints: ClassVar[Constraints] = {
        "dual": ["boolean", StrOptions({"auto"})],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0.0, None, closed="neither")],
        "random_state": ["random_state"],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "max_time": [Interval(Real, 0.0, None, closed="neither"), None],
    }

    _squared: ClassVar[frozenset[str]] = frozenset()
    """Names of the smooth losses."""

    def _validate_params(self) -> None:
        """Check the parameters; where a word is unknown, suggest the word that was meant."""
        try:
            super()._validate_params()
        except InvalidParameterError as error:
            raise InvalidParameterError(explained(self, str(error))) from None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_X(self, X: PointsLike, y: TargetsLike = None, reset: bool = True) -> Any:
        """Validate training data, or new points with ``reset=False``."""
        name = type(self).__name__
        if is_source(X):
            raise ValueError(
                f"{name} is fitted to rows in memory, dense or sparse; for rows in blocks use "
                "SVC(kernel='linear') or SVR(kernel='linear'), or load them into one array."
            )
        how: dict[str, Any] = {
            "accept_sparse": "csr",
            "accept_large_sparse": False,
            "dtype": [np.float64, np.float32],
            "order": "C",
        }
        with explaining_data(self, X):
            X = with_short_indices(X)
            if not reset:
                return validate_data(self, X, reset=False, **how)
            return validate_data(self, X, y, **how)

    def _seed(self) -> int:
        """Return the seed of the order of rows; the same one if none is given."""
        if self.random_state is None:
            return 0
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _features(self, X: PointsLike) -> Features:
        if is_sparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return Features(X, self.intercept_scaling if self.fit_intercept else 0.0)

    def _weigh(self, weights: Array) -> Array:
        """Return the weights of the losses, for which the squared ones have a half."""
        return self.C * weights * (WHOLE_SQUARE if self.loss in self._squared else 1.0)

    def _solver(self, K: Features, tol: float) -> tuple[Solver, str]:
        """Return the solver of one class, and the reason for it."""
        name, (n, d) = type(self).__name__, K.X.shape
        how = (tol, self.max_iter, self.max_time)
        smooth = self.loss in self._squared
        if self.dual is False and not smooth:
            (squared,) = self._squared
            penalty = f"penalty={self.penalty!r}, " if hasattr(self, "penalty") else ""
            raise ValueError(
                f"Unsupported set of arguments: {name}({penalty}loss={self.loss!r}, dual=False). "
                f"The loss is not smooth. Use dual=True, or loss={squared!r}."
            )
        few = not K.sparse_rows and d <= MAX_FEW_COLUMNS and n >= MIN_ROWS_PER_COLUMN * d
        if self.dual is False or (self.dual == "auto" and smooth and few):
            return PrimalNewton(*how), "few columns" if few else "asked for"
        if self.dual == "auto" and few:
            return ThinInteriorPoint(*how), "few columns"
        return RowDescent(*how, self._seed()), "rows of features"

    def _minimize(
        self, risks: Sequence[RegularizedRisk], titles: Sequence[str], tol: float
    ) -> tuple[Array, list[Solution]]:
        """Return the weights of each problem, and the solutions; groups of them on threads."""
        K = risks[0].K
        assert isinstance(K, Features)
        solver, reason = self._solver(K, tol)
        size = MAX_CLASSES if isinstance(solver, RowDescent) else 1
        groups = [range(k, min(k + size, len(risks))) for k in range(0, len(risks), size)]
        pending = iter(groups)
        if isinstance(solver, RowDescent):
            K.diag(), K.flat(np.float32)  # which threads share

        def solve(group: range) -> list[tuple[Array, Solution]]:
            with finite(), _Listeners(self, [titles[k] for k in group]) as listeners:
                solutions = minimize_together(
                    [risks[k] for k in group], solver, listeners=listeners, warning=EarlyStop
                )
            W = K.weights(np.stack([s.a for s in solutions], axis=1))
            return [(w, _light(s, reason)) for w, s in zip(W.T, solutions, strict=True)]

        done: dict[range, list[tuple[Array, Solution]]] = {}
        for group, solved in call_ready(
            solve, lambda: next(pending, None), self._threads(len(groups))
        ):
            done[group] = solved
        pairs = [pair for group in groups for pair in done[group]]
        return np.stack([w for w, _ in pairs], axis=1), [s for _, s in pairs]

    def _threads(self, parts: int) -> int:
        """Return how many threads share so many parts."""
        return 1

    def _store(self, W: Array, solutions: Sequence[Solution]) -> None:
        """Keep weights (d + 1, k) and how they were found."""
        self.coef_: Any = np.ascontiguousarray(W[:-1].T)
        self.intercept_: Any = self.intercept_scaling * W[-1] if self.fit_intercept else 0.0
        self.solution_: Solution = join(list(solutions))
        self.n_iter_ = max(int(s.n_iter) for s in solutions)

    def _values(self, X: PointsLike) -> Array:
        """Return the decision values of new points, (n, k)."""
        check_is_fitted(self)
        F = self._check_X(X, reset=False) @ np.atleast_2d(self._dense_coef()).T
        return np.asarray(F + self.intercept_)

    def _dense_coef(self) -> Array:
        coef = self.coef_
        return np.asarray(coef.toarray() if is_sparse(coef) else coef)

    @abstractmethod
    def fit(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike = None) -> Self:
        """Fit the weights."""


def _light(solution: Solution, reason: str) -> Solution:
    """Return a solution without numbers of samples, of which there are many beside the weights."""
    return replace(solution, a=NO_ARRAY, f=NO_ARRAY, n_samples=len(solution.a), reason=reason)


class _Listeners:
    """Listeners of some problems of a machine, as long as they are solved."""

    def __init__(self, machine: Any, titles: Sequence[str]) -> None:
        self.contexts = [watched(machine, title, QUIET, False) for title in titles]

    def __enter__(self) -> list[Any]:
        return [context.__enter__() for context in self.contexts]

    def __exit__(self, *error: Any) -> None:
        for context in self.contexts:
            context.__exit__(*error)


@settings
class LinearSVC(ClassifierMixin, LinearMachine):  # type: ignore[misc]
    r"""Linear support vector classification, a drop-in replacement for scikit-learn's.

    .. math::

        \min_{w, b} \tfrac12 (|w|^2 + b^2 / s^2) + C \sum_i s_i\, l(y_i (w'x_i + b)), \qquad
        l(m) = \max(0, 1 - m)^2 \ \text{or} \ \max(0, 1 - m)

    Several classes are decided by one machine per class against the rest. Use it instead of
    ``SVC(kernel="linear")`` for text, and for many samples: up to sixteen classes are fitted in one
    pass over the rows. The intercept is penalized, with `intercept_scaling` s as its unit.

    Parameters
    ----------
    penalty : {"l1", "l2"}, default="l2"
        Norm of the weights; ``"l1"``, :math:`|w|_1 + |b| / s`, makes most of them zero.
    loss : {"hinge", "squared_hinge"}, default="squared_hinge"
        What a wrong or narrow decision costs.
    dual : "auto" or bool, default="auto"
        Solve the dual by coordinate descent, or the primal by Newton's method (squared hinge only).
        ``"auto"`` takes whichever is faster: systems over the weights for dense rows of at most 300
        features, the dual for others. Both answer the same problem.
    tol : float, default=1e-4
        Largest violation of an optimality condition, in units of the decision function.
    C : float, default=1.0
        Weight of the summed loss against the penalty.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        One machine per class, or all classes coupled by one loss of the margin between the class of
        a sample and the best other one. The latter takes the hinge and the ``"l2"`` penalty, and
        `loss` and `dual` are without effect.
    fit_intercept : bool, default=True
        Fit an intercept.
    intercept_scaling : float, default=1.0
        Unit of the intercept; larger values penalize it less.
    class_weight : dict or "balanced", optional
        Factors of C by class. As in scikit-learn, the samples of the rest have factor one where
        there are more than two classes.
    verbose : bool or int, default=False
        Show a line with the gap falling.
    random_state : int or RandomState, optional
        Seed of the order of the rows; the same order by default.
    max_iter : int, default=1000
        Largest number of passes over the rows, or of Newton steps; -1 for no limit.
    max_time : float, optional
        Largest number of seconds; the best machine so far is kept, with a warning.
    n_jobs : int, optional
        Threads that share groups of sixteen classes, one for every usable core by default. The
        fitted weights do not depend on it.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the features.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts; 0.0 without.
    classes_, n_features_in_, feature_names_in_ :
        As in scikit-learn.
    n_iter_ : int
        Largest number of iterations of a class.
    solution_ : Solution
        Objective, duality gap, status, iterations and timings; sums over the classes.

    References
    ----------
    R.-E. Fan, K.-W. Chang, C.-J. Hsieh, X.-R. Wang, C.-J. Lin, LIBLINEAR: a library for large
    linear classification, JMLR 9 (2008), section 2.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from mercer import LinearSVC
    >>> texts = ["sun and rain", "rain and wind", "goals and points", "points and wins"]
    >>> words = TfidfVectorizer().fit(texts)
    >>> machine = LinearSVC().fit(words.transform(texts), ["weather"] * 2 + ["sport"] * 2)
    >>> machine.predict(words.transform(["wind or sun", "many goals"])).tolist()
    ['weather', 'sport']
    >>> machine.solution_.converged
    True
    """

    penalty: str = "l2"
    loss: str = "squared_hinge"
    _: KW_ONLY
    multi_class: str = "ovr"
    class_weight: dict[Any, float] | str | None = None
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[Constraints] = {
        "penalty": [StrOptions({"l1", "l2"})],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "multi_class": [StrOptions({"ovr", "crammer_singer"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "n_jobs": [Integral, None],
    }

    _squared = frozenset({"squared_hinge"})

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike = None) -> Self:
        """Fit the weights of the features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs, in float32 or float64.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        self : LinearSVC
        """
        X, y = self._check_X(X, y)
        y = column_or_1d(y, warn=True)
        self.classes_, codes = encode_classes(y)
        weights = check_sample_weight(sample_weight, X.shape[0])
        refuse_one_class(codes[weights > 0])
        by_class = self._class_weights(y, codes, weights)
        K = self._features(X)
        if self.multi_class == "crammer_singer":
            self._fit_coupled(K, codes, weights * by_class[codes])
            return self
        labels = signs(codes, len(self.classes_)).T
        titles = [""] if len(labels) == 1 else [str(label) for label in self.classes_]
        costs = [weights * by_class[codes]]
        if len(labels) > 1:
            costs = [
                weights * np.where(own > 0, w, 1.0) for own, w in zip(labels, by_class, strict=True)
            ]
        if self.penalty == "l1":
            self._fit_absolute(K, labels, costs, titles)
            return self
        loss: Loss = SquaredHinge() if self.loss in self._squared else Hinge()
        pairs = zip(labels, costs, strict=True)
        risks = [RegularizedRisk(loss, K, own, self._weigh(cost)) for own, cost in pairs]
        self._store(*self._minimize(risks, titles, self.tol))
        return self

    def _threads(self, parts: int) -> int:
        if parts == 1 or self.n_jobs == 1:
            return 1
        wanted = usable_cores() if self.n_jobs is None or self.n_jobs < 1 else int(self.n_jobs)
        return min(wanted, parts)

    def _class_weights(self, y: Any, codes: NDArray[np.intp], weights: Array) -> Array:
        """Return the factors of C by class, balanced ones by the weights of the samples."""
        factors: Array
        if self.class_weight != "balanced":
            factors = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
            return factors
        sizes = np.bincount(codes, weights, minlength=len(self.classes_))
        factors = np.divide(
            sizes.sum() / len(sizes), sizes, out=np.ones_like(sizes), where=sizes > 0
        )
        return factors

    def _fit_absolute(
        self, K: Features, labels: Array, costs: Sequence[Array], titles: Sequence[str]
    ) -> None:
        """Fit weights under the norm that makes most of them zero."""
        if self.loss != "squared_hinge" or self.dual is True:
            raise ValueError(
                f"Unsupported set of arguments: LinearSVC(penalty='l1', loss={self.loss!r}, "
                f"dual={self.dual!r}). The penalty 'l1' takes the squared hinge and its primal. "
                "Use loss='squared_hinge' with dual=False or 'auto', or penalty='l2'."
            )
        numbers, seed = iter(range(len(labels))), self._seed()
        K.root(), K.double  # which threads share

        def solve(k: int) -> tuple[Array, Solution]:
            with finite(), watched(self, titles[k], QUIET, False) as listener:
                return minimize_absolute(
                    *(K, labels[k], self.C * costs[k]),
                    tol=self.tol,
                    max_iter=self.max_iter,
                    max_time=self.max_time,
                    seed=seed,
                    listener=listener,
                    warning=EarlyStop,
                )

        done = dict(call_ready(solve, lambda: next(numbers, None), self._threads(len(labels))))
        pairs = [done[k] for k in range(len(labels))]
        W = np.stack([w for w, _ in pairs], axis=1)
        self._store(W, [_light(s, s.reason) for _, s in pairs])

    def _fit_coupled(self, K: Features, codes: NDArray[np.intp], weights: Array) -> None:
        """Fit all classes together."""
        if self.penalty == "l1":
            raise ValueError(
                "Unsupported set of arguments: LinearSVC(multi_class='crammer_singer', "
                "penalty='l1'). Coupled classes take the penalty 'l2'. Use multi_class='ovr', or "
                "penalty='l2'."
            )
        with finite(), watched(self, "", QUIET, False) as listener:
            W, solution = minimize_coupled(
                *(K, codes, len(self.classes_), self.C * weights),
                tol=self.tol,
                max_iter=self.max_iter,
                max_time=self.max_time,
                seed=self._seed(),
                listener=listener,
                warning=EarlyStop,
            )
        if len(self.classes_) == 2:
            W = W[:, 1:] - W[:, :1]
        self._store(W, [_light(solution, solution.reason)])

    def decision_function(self, X: PointsLike) -> Array:
        """Evaluate the decision functions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes positive speaks for ``classes_[1]``; for more, one column per class.
        """
        F = self._values(X)
        return np.asarray(F[:, 0] if F.shape[1] == 1 else F)

    def predict(self, X: PointsLike) -> Any:
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
        f = self.decision_function(X)
        return self.classes_[chosen(f)]


@settings
class LinearSVR(RegressorMixin, LinearMachine):  # type: ignore[misc]
    r"""Linear support vector regression, a drop-in replacement for scikit-learn's.

    .. math::

        \min_{w, b} \tfrac12 (|w|^2 + b^2 / s^2) + C \sum_i s_i\, l(y_i - w'x_i - b), \qquad
        l(r) = \max(0, |r| - \epsilon) \ \text{or its square}

    Use it instead of ``SVR(kernel="linear")`` for sparse features and many samples. The intercept
    is penalized, with `intercept_scaling` s as its unit.

    Parameters
    ----------
    epsilon : float, default=0.0
        Half-width of the tube inside which errors cost nothing.
    tol : float, default=1e-4
        Largest violation of an optimality condition, in units of the largest absolute target.
    C : float, default=1.0
        Weight of the summed loss against the penalty.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        What an error beyond the tube costs.
    fit_intercept, intercept_scaling :
        As in :class:`LinearSVC`.
    dual : "auto" or bool, default="auto"
        As in :class:`LinearSVC`; the primal takes the squared loss.
    verbose, random_state, max_iter, max_time :
        As in :class:`LinearSVC`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the features.
    intercept_ : ndarray of shape (1,)
        Intercept; 0.0 without.
    n_iter_ : int
        Number of iterations.
    solution_ : Solution
        Objective, duality gap, status, iterations and timings.

    References
    ----------
    C.-H. Ho and C.-J. Lin, Large-scale linear support vector regression, JMLR 13 (2012), eq. (1)
    and (2).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LinearSVR
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> machine = LinearSVR(C=10.0, epsilon=0.1).fit(X, X @ [1.0, -2.0, 0.0] + 3.0)
    >>> machine.coef_.round(1) + 0.0
    array([ 1., -2.,  0.])
    """

    _: KW_ONLY
    epsilon: float = 0.0
    loss: str = "epsilon_insensitive"

    _parameter_constraints: ClassVar[Constraints] = {
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
        "loss": [StrOptions({"epsilon_insensitive", "squared_epsilon_insensitive"})],
    }

    _squared = frozenset({"squared_epsilon_insensitive"})

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike = None) -> Self:
        """Fit the weights of the features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs, in float32 or float64.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        self : LinearSVR
        """
        X, y = self._check_X(X, y)
        y = column_or_1d(y, warn=True).astype(np.float64, copy=False)
        c = self._weigh(check_sample_weight(sample_weight, X.shape[0]))
        K = self._features(X)
        squared = self.loss in self._squared
        loss = (SquaredEpsilonInsensitive if squared else EpsilonInsensitive)(self.epsilon)
        unit = float(np.max(np.abs(y))) or 1.0
        self._store(*self._minimize([RegularizedRisk(loss, K, y, c)], [""], unit * self.tol))
        self.coef_ = self.coef_[0]
        return self

    def predict(self, X: PointsLike) -> Array:
        """Evaluate the fitted function.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted values.
        """
        return np.asarray(self._values(X)[:, 0])
