"""Machines for tables with gaps: no cell is made up, and none is thrown away."""

from __future__ import annotations

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._fitting import AllOrNothing
from mercer._params import check_sample_weight
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions, fit_context
from mercer._typing import Array, Constraints, PointsLike, TargetsLike, WeightsLike
from mercer.estimators.missing_risks import STRATEGIES, GapStrategy, Reading, named
from mercer.kernels.base import Kernel
from mercer.kernels.named import FREE, NAMES
from mercer.losses.base import Loss
from mercer.losses.named import CLASSIFICATION, REGRESSION, resolve
from mercer.machines.base import finite_weight
from mercer.machines.blocks import refuse_blocks
from mercer.machines.classifier import chosen, encode_classes, signs
from mercer.machines.framing import framed, set_output
from mercer.machines.missing_cells import COMPONENT_WORDS, Components, groups
from mercer.machines.one_vs_rest import has_probabilities, probabilities
from mercer.machines.solving import EarlyStop
from mercer.solvers import Solution
from mercer.solvers.solution import join

__all__ = ["BreakdownWarning", "MissingInputClassifier", "MissingInputRegressor"]

# Components that together move less than this part of the spread of the targets are none: what an
# interior point leaves of zeros is smaller.
MIN_COMPONENT_SHARE = 1e-3


class BreakdownWarning(UserWarning):
    """So many cells are missing that nothing is left but a constant."""


@settings
class MissingInputs(AllOrNothing, BaseEstimator, ABC):  # type: ignore[misc]
    """A sum of functions of columns that is fitted to, and evaluated at, rows with gaps."""

    _: KW_ONLY
    components: str | Sequence[Any] | Mapping[str, Any] = "each"
    strategy: str | GapStrategy = "expected"
    C: float = 1.0
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    tol: float = 1e-5
    max_time: float | None = None

    _parameter_constraints: ClassVar[Constraints] = {
        "kernel": [StrOptions({*FREE, *NAMES} - {"precomputed"}), Kernel, callable, dict],
        "components": [StrOptions(COMPONENT_WORDS), list, tuple, dict],
        "strategy": [StrOptions(set(STRATEGIES)), GapStrategy],
        "C": [Interval(Real, 0.0, None, closed="right")],
        "gamma": [
            StrOptions({"scale", "auto", "median"}),
            Interval(Real, 0.0, None, closed="left"),
        ],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "max_time": [Interval(Real, 0.0, None, closed="neither"), None],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @abstractmethod
    def _encode(self, y: TargetsLike) -> tuple[Array, Array]:
        """Return the targets of the problems, (n, m), and factors of the weights."""

    @abstractmethod
    def _loss(self) -> Loss:
        """Return the loss."""

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike = None) -> Self:
        """Fit the machine to a sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs, nan where a cell is missing.
        y : array-like of shape (n_samples,)
            Targets, or class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples' losses, not negative; a sample of weight zero is left out.
        """
        refuse_blocks(self, X)
        X, y = self._check(X, y)
        s = check_sample_weight(sample_weight, X.shape[0])
        live = s > 0
        Y, factors = self._encode(y[live])
        X, c = X[live], finite_weight(self.C) * s[live] * factors
        names = getattr(self, "feature_names_in_", None)
        columns = self._columns(X, names)
        settings = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        make = partial(Components, columns=columns, kernel=self.kernel, settings=settings)
        strategy, loss = named(copy.deepcopy(self.strategy)), copy.deepcopy(self._loss())
        self._reading, solutions = strategy.solve(
            self._known(X), make, loss, Y, c, float(self.tol), self.max_time
        )
        self._record(X, Y, loss, solutions)
        return self

    def _check(self, X: PointsLike, y: TargetsLike) -> tuple[Array, Any]:
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        if np.isinf(X).any():
            raise ValueError("X contains infinity; give nan where a cell is missing.")
        return X, y

    def _columns(self, X: Array, names: Any) -> dict[str, tuple[int, ...]]:
        """Return the columns of the components, without those that were never observed."""
        columns = groups(self.components, X.shape[1], names)
        if isinstance(self.kernel, dict) and not set(self.kernel) <= set(columns):
            raise ValueError(
                f"kernel names {sorted(set(self.kernel) - set(columns))}, which are no "
                f"components; there are {sorted(columns)}."
            )
        self._seen = np.asarray(~np.isnan(X).all(axis=0))
        if not self._seen.all():
            titles = [f"x{j}" for j in range(X.shape[1])] if names is None else names
            never = [str(titles[j]) for j in np.flatnonzero(~self._seen)]
            warnings.warn(f"columns without any value are left out: {never}", stacklevel=6)
        live = {name: tuple(j for j in group if self._seen[j]) for name, group in columns.items()}
        return {name: group for name, group in live.items() if group}

    def _known(self, X: Array) -> Array:
        """Return rows whose never observed columns hold a number, which no component reads."""
        return X if self._seen.all() else np.where(self._seen, X, 0.0)

    def _record(self, X: Array, Y: Array, loss: Loss, solutions: list[Solution]) -> None:
        reading = self._reading
        self.loss_, self.solution_ = loss, join(solutions)
        self.n_iter_ = int(self.solution_.n_iter)
        self.intercept_ = reading.b.copy()
        self.component_names_ = reading.parts.names
        self.kernels_ = {part.name: part.functions.kernel for part in reading.parts.parts}
        f = np.abs(reading.parts.values(self._known(X), reading.W))
        self.component_size_ = np.max(np.where(np.isnan(f), 0.0, f), axis=(0, 2), initial=0.0)
        self.missing_share_ = np.isnan(X).mean(axis=0)
        if not self.solution_.converged:
            warnings.warn(
                f"{self.solution_.status.value}, with a relative duality gap of "
                f"{self.solution_.relative_gap:.1e}",
                EarlyStop,
                stacklevel=6,
            )
        spread, share = np.ptp(Y, axis=0).max(), float(np.isnan(X).mean())
        if share > 0 and spread > 0 and self.component_size_.sum() <= MIN_COMPONENT_SHARE * spread:
            warnings.warn(
                f"nothing but the constant is left: {share:.0%} of the cells are missing, and what "
                "every component may cost outweighs what it explains. Use another strategy, a "
                "smaller variation, or a larger C.",
                BreakdownWarning,
                stacklevel=6,
            )

    def _between(self, X: PointsLike) -> tuple[Array, Array, Array]:
        """Return values and what the gaps leave open, (n, m) each."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        if np.isinf(X).any():
            raise ValueError("X contains infinity; give nan where a cell is missing.")
        reading: Reading = self._reading
        return reading.between(self._known(X))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "solution_")

    def predict_components(self, X: PointsLike) -> dict[str, Array]:
        """Evaluate the functions whose sum, with the intercept, is the machine.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        dict of ndarray of shape (n_samples,) or (n_samples, n_classes)
            One entry for each of ``component_names_``, nan where it is not observed.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        f = self._reading.parts.values(self._known(X), self._reading.W)
        f = f[:, :, 0] if f.shape[2] == 1 else f
        return {name: f[:, p] for p, name in enumerate(self.component_names_)}


@settings
class MissingInputRegressor(RegressorMixin, MissingInputs):  # type: ignore[misc]
    r"""Regression on rows with gaps, by the expected loss of each.

    .. math:: \min_{f_1, \dots, b} \tfrac12 \sum_p \|f_p\|^2 + C \sum_i s_i\, R_i, \qquad
              f(x) = b + \sum_p f_p(x^{(p)})

    where :math:`R_i` is the loss of a row without gaps, and otherwise its mean
    (:class:`~mercer.estimators.ExpectedRisk`) or the loss of the mean of f
    (:class:`~mercer.estimators.MeanEmbedding`) over what the gaps leave open. No row is dropped,
    and new rows may have gaps as well.

    Parameters
    ----------
    loss : Loss or str, default="squared"
        What an error costs.
    kernel : Kernel, str, callable or dict, default="rbf"
        The kernel of every component, or of each by its name.
    components : {"each", "pairs", "joint"}, list or dict, default="each"
        A function of every column; these and one of every two columns; one of all columns; or
        columns and groups of them, by position or name.
    strategy : {"expected", "embedded"} or GapStrategy, default="expected"
        How a row with gaps is charged: by :class:`~mercer.estimators.ExpectedRisk` or
        :class:`~mercer.estimators.MeanEmbedding`.
    C : float, default=1.0
        Weight of the summed losses against the norms.
    gamma, degree, coef0 :
        Of kernels by name, from the columns of each component.
    tol : float, default=1e-5
        Of optimality conditions, or relative duality gap.
    max_time : float, optional
        Largest number of seconds of a program or solver.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    solution_ : Solution
        Objective, duality gap, status, iterations and timings.
    intercept_ : ndarray of shape (1,)
        The constant b.
    component_names_ : list of str
        Components that were observed at all.
    component_size_ : ndarray of shape (n_components,)
        Largest absolute value of each on the sample.
    kernels_ : dict
        Kernel of each component.
    missing_share_ : ndarray of shape (n_features,)
        Share of missing cells in each column.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 6.4.3, eqs. (6.47) to (6.54).

    Notes
    -----
    Cells are taken to be missing completely at random, or, with ``ExpectedRisk(law="normal")``,
    depending on nothing but cells that are there.

    With ``strategy="expected"`` the mean is exact for the squared loss and functions of single
    columns. For other losses or functions it is that of ten random completions of each row with
    gaps; ``ExpectedRisk(rule="quadrature")`` integrates instead where a row has one or two gaps.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MissingInputRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, (300, 3))
    >>> y = np.sin(2 * X[:, 0]) + X[:, 1]
    >>> X[rng.uniform(size=X.shape) < 0.2] = np.nan
    >>> machine = MissingInputRegressor(C=10.0).fit(X, y)
    >>> low, high = machine.predict_interval([[0.5, 1.0, np.nan], [0.5, np.nan, 0.0]]).T
    >>> (high - low).round(1)
    array([0.2, 2.9])
    """

    loss: Loss | str = "squared"
    kernel: Any = "rbf"

    _parameter_constraints: ClassVar[Constraints] = {
        "loss": [Loss, StrOptions(set(REGRESSION))],
    }

    def _loss(self) -> Loss:
        return resolve(self.loss, REGRESSION)

    def _encode(self, y: TargetsLike) -> tuple[Array, Array]:
        y = np.asarray(y, dtype=np.float64)
        return y[:, None], np.ones(len(y))

    def predict(self, X: PointsLike) -> Array:
        """Predict targets; missing cells contribute their mean.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs, nan where a cell is missing.
        """
        return self._between(X)[0][:, 0]

    set_output = set_output

    @framed()
    def predict_interval(self, X: PointsLike) -> Array:
        """Return the least and largest value that the gaps of each row leave open.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs, nan where a cell is missing.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper ends, equal for a row without gaps. Noise of the targets is not part of
            them.
        """
        _, low, high = self._between(X)
        return np.column_stack([low[:, 0], high[:, 0]])


@settings
class MissingInputClassifier(ClassifierMixin, MissingInputs):  # type: ignore[misc]
    r"""Classification of rows with gaps, by the expected loss of each.

    The functional is that of :class:`MissingInputRegressor` with a loss of the margin. Several
    classes are decided by one function a class against the rest.

    Parameters
    ----------
    loss : Loss or str, default="hinge"
        What a wrong or narrow decision costs.
    kernel, components, strategy, C, gamma, degree, coef0, tol, max_time :
        As in :class:`MissingInputRegressor`. The expected loss of a classifier is not known in
        closed form: it is that of ten random completions of each row with gaps, unless
        ``strategy=ExpectedRisk(rule="quadrature")`` integrates.
    class_weight : dict or "balanced", optional
        Factors of C by class.
    abstain : label, optional
        What to predict where the gaps of a row leave its class open.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    solution_, intercept_, component_names_, component_size_, kernels_, missing_share_ :
        As in :class:`MissingInputRegressor`.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, definition 6.3, lemma 6.6, example
    6.3.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators import MissingInputClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, (200, 3))
    >>> y = X[:, 0] ** 2 + X[:, 1] > 1
    >>> X[rng.uniform(size=X.shape) < 0.1] = np.nan
    >>> machine = MissingInputClassifier(C=3.0, abstain="open").fit(X, y)
    >>> machine.predict([[0.0, -1.0, np.nan], [np.nan, np.nan, 0.0]])
    array([False, 'open'], dtype=object)
    """

    loss: Loss | str = "hinge"
    kernel: Any = "rbf"
    _: KW_ONLY
    class_weight: dict[Any, float] | str | None = None
    abstain: Any = None

    _parameter_constraints: ClassVar[Constraints] = {
        "loss": [Loss, StrOptions(set(CLASSIFICATION))],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "abstain": "no_validation",
    }

    def _loss(self) -> Loss:
        return resolve(self.loss, CLASSIFICATION)

    def _encode(self, y: TargetsLike) -> tuple[Array, Array]:
        self.classes_, codes = encode_classes(y)
        factors = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        return signs(codes, len(self.classes_)), factors[codes]

    def decision_function(self, X: PointsLike) -> Array:
        """Evaluate the decision function.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs, nan where a cell is missing.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes positive speaks for ``classes_[1]``; for more, one column per class.
        """
        return _flat(self._between(X)[0])

    def decision_interval(self, X: PointsLike) -> tuple[Array, Array]:
        """Return the least and largest decision values that the gaps of each row leave open.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs, nan where a cell is missing.

        Returns
        -------
        low, high : ndarray of shape (n_samples,) or (n_samples, n_classes)
            As in :meth:`decision_function`; equal for a row without gaps.
        """
        _, low, high = self._between(X)
        return _flat(low), _flat(high)

    def predict(self, X: PointsLike) -> Any:
        """Predict the class of new rows, or ``abstain`` where their gaps leave it open.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs, nan where a cell is missing.
        """
        f, low, high = self._between(X)
        best = chosen(_flat(f))
        labels = self.classes_[best]
        if self.abstain is None:
            return labels
        return np.where(_open(low, high, best), np.asarray(self.abstain, dtype=object), labels)

    @available_if(has_probabilities)
    def predict_proba(self, X: PointsLike) -> Array:
        """Predict class probabilities, for losses that have them, normalized over the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs, nan where a cell is missing.
        """
        f = self.decision_function(X)
        return probabilities(self.loss_, f)


def _flat(f: Array) -> Array:
    return f[:, 0] if f.shape[1] == 1 else f


def _open(low: Array, high: Array, best: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return where another class could win."""
    if low.shape[1] == 1:
        return np.asarray((low[:, 0] < 0) & (high[:, 0] > 0))
    rows = np.arange(len(best))
    least = low[rows, best]
    others = high.copy()
    others[rows, best] = -np.inf
    return np.asarray(others.max(axis=1) > least)
