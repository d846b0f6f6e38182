"""Machines that tune themselves when they are fitted, named as scikit-learn names such."""

from __future__ import annotations

from inspect import signature
from numbers import Integral, Real
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._fitting import AllOrNothing, ending, say
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions, fit_context
from mercer._typing import (
    AnyArray,
    Constraints,
    Function,
    PointsLike,
    Seed,
    TargetsLike,
    WeightsLike,
)
from mercer.estimators.ls_svc import LSSVC
from mercer.estimators.ls_svm import LSSVR
from mercer.estimators.svc import SVC
from mercer.estimators.svr import SVR
from mercer.kernels.base import Kernel
from mercer.machines.base import KernelMachine
from mercer.machines.framing import framed, set_output
from mercer.regularizers.null_space import NullSpace
from mercer.selection.objective import CRITERIA, listed
from mercer.selection.tuning import tune
from mercer.smoothing.criteria import Criterion

__all__ = ["LSSVCCV", "LSSVRCV", "SVCCV", "SVRCV"]


def _machine_has(name: str) -> Function:
    """Return whether the machine inside can do something."""

    def check(self: Any) -> bool:
        machine = getattr(self, "machine_", None)
        return hasattr(self._machine() if machine is None else machine, name)

    return check


@settings
class SelfTuned(AllOrNothing, BaseEstimator):  # type: ignore[misc]
    """A machine behind :func:`tune`: declare which."""

    _: KW_ONLY
    criterion: Criterion | str = "auto"
    ard: Any = False
    standardize: bool = True
    null_space: NullSpace | None = None
    budget: int = 30
    max_time: float | None = None
    max_rows: int = 2000
    starts: int = 2
    prior: float = 5.0
    random_state: Seed = 0

    _parameter_constraints: ClassVar[Constraints] = {
        "criterion": [StrOptions({"auto", *CRITERIA}), Criterion],
        "ard": ["boolean", "array-like"],
        "refine": ["boolean"],
        "budget": [Interval(Integral, 1, None, closed="left")],
        "max_time": [Interval(Real, 0.0, None, closed="neither"), None],
        "max_rows": [Interval(Integral, 2, None, closed="left")],
        "starts": [Interval(Integral, 1, None, closed="left")],
        "prior": [Interval(Real, 0.0, None, closed="left")],
        "random_state": ["random_state"],
    }

    _kind: ClassVar[type[KernelMachine]]

    def _machine(self) -> KernelMachine:
        """Return the machine that is tuned, with those settings of this one that it has."""
        machine: KernelMachine = self._kind()
        own = self.get_params(deep=False)
        names = machine.get_params(deep=False).keys() & own.keys() - {"max_time", "verbose"}
        machine.set_params(**{name: own[name] for name in names})
        return machine

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), self._machine().__sklearn_tags__()
        tags.input_tags = inner.input_tags
        tags.target_tags = inner.target_tags
        return tags

    _whole_clock = False  # `tune` keeps time for the fit after its search

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "machine_")

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike = None) -> Self:
        """Choose the hyperparameters from the sample, and fit the machine to it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs.
        y : array-like
            Targets, or class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.

        Returns
        -------
        self
        """
        own = self.get_params(deep=False)
        how = {name: own[name] for name in signature(tune).parameters.keys() & own.keys()}
        how["verbose"] = False
        if not isinstance(getattr(self, "epsilon", "auto"), str):
            how["fixed"] = ("epsilon",)
        if self.verbose:
            how["callback"] = lambda trial: say(self, str(trial))
        found = tune(self._machine(), X, y, sample_weight=sample_weight, **how)
        self.tuning_, self.machine_ = found, found.best_estimator_
        self.kernel_ = self.machine_.kernel_
        self.C_ = float(found.best_params_["C"])
        self.solution_ = self.machine_.solution_
        self.n_iter_ = len(found.trials_)
        for name in ("n_features_in_", "feature_names_in_", "classes_"):
            self.__dict__.pop(name, None)
            if hasattr(self.machine_, name):
                setattr(self, name, getattr(self.machine_, name))
        return self

    def _ending(self) -> str:
        found = self.tuning_
        return (
            f"{len(found.trials_)} trials, {found.status_} at {found.best_value_:.5g}, "
            f"{listed(found.best_params_)}; {ending(self.machine_)}"
        )

    def predict(self, X: PointsLike, **how: Any) -> AnyArray:
        """Predict with the tuned machine.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.
        **how
            What the machine's own ``predict`` takes, such as ``return_std``.

        Returns
        -------
        ndarray
            Values, or class labels.
        """
        check_is_fitted(self)
        predicted: AnyArray = self.machine_.predict(X, **how)
        return predicted

    set_output = set_output

    @available_if(_machine_has("predict_interval"))
    @framed()
    def predict_interval(self, X: PointsLike, *args: Any, **how: Any) -> Any:
        """Return intervals of the tuned machine; see :meth:`LSSVR.predict_interval`."""
        check_is_fitted(self)
        return self.machine_.predict_interval(X, *args, **how)

    @available_if(_machine_has("decision_function"))
    def decision_function(self, X: PointsLike) -> Any:
        """Evaluate the decision function of the tuned machine.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.
        """
        check_is_fitted(self)
        return self.machine_.decision_function(X)

    @available_if(_machine_has("predict_proba"))
    def predict_proba(self, X: PointsLike) -> Any:
        """Predict class probabilities with the tuned machine.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.
        """
        check_is_fitted(self)
        return self.machine_.predict_proba(X)


@settings
class LSSVRCV(RegressorMixin, SelfTuned):  # type: ignore[misc]
    r"""Least-squares support vector regression that tunes itself.

    The weight C and the kernel's length scales minimize the evidence, the exact leave-one-out error
    or another criterion by its gradient; see :func:`tune`.

    Parameters
    ----------
    kernel : Kernel or str, default="rbf"
        Reproducing kernel of the penalty; its positive parameters are tuned.
    criterion : Criterion or {"auto", "loo", "gcv", "aic", "bic", "evidence"}, default="auto"
        What is minimized.
    ard : bool or array-like of shape (n_features,), default=False
        Give every feature a length scale of its own, or every group of features of the same label.
    standardize : bool, default=True
        Start from length scales in units of the features' standard deviations.
    null_space : NullSpace, optional
        Unpenalized functions; an intercept by default.
    budget, max_time, max_rows, starts, prior, random_state :
        As in :func:`tune`.
    verbose : bool or int, default=False
        Write a line for every trial, and how the search and the fit ended, to the standard error.

    Attributes
    ----------
    machine_ : LSSVR
        The tuned and fitted machine.
    C_, kernel_ : float and Kernel
        What was chosen.
    tuning_ : Tuning
        What was tried, with a ``report()``.
    solution_ : Solution
        Objective, duality gap and timings of the last fit.

    See Also
    --------
    sklearn.linear_model.RidgeCV : the same for the linear kernel and a grid of penalties.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection import LSSVRCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(80, 1))
    >>> y = np.sinc(X[:, 0]) + 0.05 * rng.normal(size=80)
    >>> machine = LSSVRCV().fit(X, y)
    >>> machine.score(X, y) > 0.95
    True
    """

    kernel: Kernel | str = "rbf"

    _kind = LSSVR


@settings
class LSSVCCV(ClassifierMixin, SelfTuned):  # type: ignore[misc]
    r"""Least-squares support vector classification that tunes itself.

    Parameters
    ----------
    kernel, criterion, ard, standardize, null_space :
        As in :class:`LSSVRCV`; the criterion scores the targets ±1 of each class against the rest.
    codes : str or array-like, default="one-vs-rest"
        How several classes are told apart, as in :class:`LSSVC`.
    class_weight : dict or "balanced", optional
        Factors of ``C`` by class.
    budget, max_time, max_rows, starts, prior, random_state :
        As in :func:`tune`.
    verbose : bool or int, default=False
        Write a line for every trial, and how the search and the fit ended, to the standard error.

    Attributes
    ----------
    machine_ : LSSVC
        The tuned and fitted machine.
    classes_ : ndarray
        The labels.
    C_, kernel_, tuning_, solution_ :
        As in :class:`LSSVRCV`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer.selection import LSSVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> LSSVCCV().fit(X, y).score(X, y) > 0.95
    True
    """

    kernel: Kernel | str = "rbf"
    _: KW_ONLY
    codes: Any = "one-vs-rest"
    class_weight: dict[Any, float] | str | None = None

    _kind = LSSVC


@settings
class SVRCV(RegressorMixin, SelfTuned):  # type: ignore[misc]
    r"""Support vector regression that tunes itself.

    Kernel and widths are those of the least-squares machine, C and the tube follow from the noise
    that it leaves; see :func:`tune`.

    Parameters
    ----------
    kernel, criterion, ard, standardize, null_space :
        As in :class:`LSSVRCV`.
    epsilon : float or "auto", default="auto"
        Half-width of the tube, as in :class:`SVR`; by the noise if automatic.
    refine : bool, default=False
        Choose C by cross-validation along a path.
    budget, max_time, max_rows, starts, prior, random_state :
        As in :func:`tune`.
    verbose : bool or int, default=False
        Write a line for every trial, and how the search and the fit ended, to the standard error.

    Attributes
    ----------
    machine_ : SVR
        The tuned and fitted machine.
    C_, kernel_, tuning_, solution_ :
        As in :class:`LSSVRCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection import SVRCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(60, 1))
    >>> y = np.sinc(X[:, 0]) + 0.1 * rng.normal(size=60)
    >>> round(SVRCV(epsilon=0.05).fit(X, y).score(X, np.sinc(X[:, 0])), 1)
    1.0
    """

    kernel: Kernel | str = "rbf"
    _: KW_ONLY
    epsilon: float | str = "auto"
    refine: bool = False

    _kind = SVR


@settings
class SVCCV(ClassifierMixin, SelfTuned):  # type: ignore[misc]
    r"""Support vector classification that tunes itself.

    Kernel and widths are those of the least-squares machine of the targets ±1, and C follows from
    its own; see :func:`tune`.

    Parameters
    ----------
    kernel, criterion, ard, standardize, null_space :
        As in :class:`LSSVRCV`.
    class_weight : dict or "balanced", optional
        Factors of ``C`` by class.
    refine : bool, default=False
        Choose C by cross-validation along a path.
    budget, max_time, max_rows, starts, prior, random_state :
        As in :func:`tune`.
    verbose : bool or int, default=False
        Write a line for every trial, and how the search and the fit ended, to the standard error.

    Attributes
    ----------
    machine_ : SVC
        The tuned and fitted machine.
    classes_ : ndarray
        The labels.
    C_, kernel_, tuning_, solution_ :
        As in :class:`LSSVRCV`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer.selection import SVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> SVCCV().fit(X, y).score(X, y) > 0.95
    True
    """

    kernel: Kernel | str = "rbf"
    _: KW_ONLY
    class_weight: dict[Any, float] | str | None = None
    refine: bool = False

    _kind = SVC
