"""Intervals for the next observation, around any machine."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import (
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
    validate_data,
)

from mercer._fitting import AllOrNothing, ending, say
from mercer._params import check_sample_weight
from mercer._settings import KW_ONLY, fixed, settings
from mercer._sklearn import (
    HasMethods,
    Interval,
    StrOptions,
    fit_context,
    safe_indexing,
)
from mercer._typing import (
    Array,
    Constraints,
    Estimator,
    PointsLike,
    Seed,
    SplitterLike,
    TargetsLike,
    WeightsLike,
)
from mercer.estimators.band import QuantileBand
from mercer.estimators.conformal import (
    Aside,
    LeaveFoldOut,
    Refitted,
    bases,
    conformal_ends,
    has_left_out,
    refit,
)
from mercer.estimators.ls_svm import LSSVR
from mercer.estimators.tube import SupportVectorTube
from mercer.machines.folds import as_splitter, copies_of, same_observations
from mercer.machines.framing import framed, set_output
from mercer.smoothing.coverage import CoverageReport, coverage_of

__all__ = ["ConformalRegressor"]

METHODS = ("auto", "jackknife+", "jackknife-minmax", "cv+", "split", "cqr", "tube")
# Samples up to which a least-squares machine is factorized and leaves each of them out, and up to
# which others are fitted once a fold; beyond, some samples are set aside.
MAX_FACTORED_ROWS, MAX_REFITTED_ROWS = 4000, 2000
# Most samples that are set aside: more make intervals no better, and the machine worse.
MAX_ASIDE_ROWS = 5000
# Samples that a spread is fitted to: it is smoother than the function.
MAX_SPREAD_ROWS = 2000
# Samples up to which there is no telling where errors are large.
MIN_SPREAD_ROWS = 20
# How many standard errors the spread must predict sizes of errors better than their mean does.
PROVEN_STANDARD_ERRORS = 3.0
# Folds in which the spread is tried, and errors for it are found where there is no factorization.
SPREAD_FOLDS = 5


@settings
class ConformalRegressor(RegressorMixin, MetaEstimatorMixin, AllOrNothing, BaseEstimator):  # type: ignore[misc]
    r"""Conformal prediction intervals around any regressor.

    Errors of machines that did not see a sample say how large the next error may be, whatever its
    law (:mod:`conformal prediction <mercer.estimators.conformal>`). The default is a least-squares
    machine that chooses its kernel width and weight, leaves each sample out in closed form, and
    lets widths follow the errors where these are larger in some places than in others, if the
    sample proves that.

    Parameters
    ----------
    estimator : regressor, optional
        What predicts, any of scikit-learn's or this library's. By default ``LSSVR("matern",
        gamma="tuned", C="auto", standardize=True)``, whose functions may be rougher than those of
        "rbf", a low-rank approximation beyond 4000 samples; for ``"cqr"`` a
        :class:`QuantileBand`, for ``"tube"`` a :class:`SupportVectorTube`, which have intervals
        themselves.
    coverage : float, default=0.9
        Probability with which a new observation is to lie inside.
    method : str, default="auto"
        ``"jackknife+"``
            Every sample is left out once: without refits for LSSVR, with n for others. At least
            :math:`2\gamma - 1` is covered for exchangeable data, and :math:`\gamma` where a sample
            changes little.
        ``"jackknife-minmax"``
            The extremes of what those machines predict: wider, and at least :math:`\gamma`.
        ``"cv+"``
            The same with folds.
        ``"split"``
            Samples set aside, at least :math:`\gamma`.
        ``"cqr"``
            Conformalized quantile regression: quantiles, moved by what samples set aside ask for.
        ``"tube"``
            A tube of the narrowest width, moved in the same way.
        ``"auto"``
            ``"jackknife+"`` for LSSVR and up to 4000 samples, ``"cv+"`` for others up to 2000,
            ``"split"`` beyond.
    scale : {"auto", "constant", "local"}, default="auto"
        Whether widths follow a least-squares machine of the logarithms of absolute errors. "auto"
        does if that predicts these better than their mean by three standard errors. Not used by
        ``"cqr"`` and ``"tube"``.
    symmetric : bool, default=True
        Whether both ends are as far from the prediction; else both are as likely to be exceeded,
        for errors that are skewed.
    cv : int or splitter, default=10
        Folds of ``"cv+"``, as in :func:`~mercer.machines.folds.as_splitter`.
    calibration : float, default=0.25
        Share of the samples that ``"split"``, ``"cqr"`` and ``"tube"`` set aside, at most 5000.
    shuffle : bool, default=True
        Whether folds and samples set aside are drawn; else they are consecutive and the last ones,
        for data in the order of time.
    random_state : int, RandomState instance or None, default=None
        By which they are drawn.
    verbose : bool or int, default=False
        Write a line for every fold, and how the fit ended, to the standard error.

    Attributes
    ----------
    estimator_ : regressor
        The machine that predicts: fitted to all samples, or to those that were not set aside.
    method_, scale_ : str
        What was used.
    spread_proof_ : float
        By how many standard errors a local spread predicts sizes of errors better than their mean.
    scores_ : ndarray
        Scores of samples by machines that did not see them.
    n_calibration_ : int
        How many there are.
    n_copies_ : int
        Number of samples that repeat the features of another one. Samples with the same features
        are left out together; those with the same target, too, are one sample of a larger weight
        if the machine takes weights.

    References
    ----------
    R. Barber, E. Candes, A. Ramdas and R. Tibshirani (2021), Predictive inference with the
    jackknife+, Annals of Statistics 49; Y. Romano, E. Patterson and E. Candes (2019), Conformalized
    quantile regression, NeurIPS 32; K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005,
    Example 3.4 and sec. 3.5, for tubes and what they say about new data.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ConformalRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, (600, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * (0.5 + X[:, 0]) * rng.normal(size=600)
    >>> machine = ConformalRegressor(coverage=0.9).fit(X[:300], y[:300])
    >>> machine.method_, machine.scale_
    ('jackknife+', 'local')
    >>> report = machine.coverage_report(X[300:], y[300:])
    >>> bool(0.85 < report.coverage < 0.95)
    True
    """

    estimator: Any = None
    _: KW_ONLY
    coverage: float = 0.9
    method: str = "auto"
    scale: str = "auto"
    symmetric: bool = True
    cv: SplitterLike = 10
    calibration: float = 0.25
    shuffle: bool = True
    random_state: Seed = None

    _parameter_constraints: ClassVar[Constraints] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "coverage": [Interval(Real, 0.0, 1.0, closed="neither")],
        "method": [StrOptions(set(METHODS))],
        "scale": [StrOptions({"auto", "constant", "local"})],
        "symmetric": ["boolean"],
        "cv": ["cv_object"],
        "calibration": [Interval(Real, 0.0, 1.0, closed="neither")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def get_metadata_routing(self) -> Any:
        """Return how weights reach the machine: as scikit-learn's routing asks for."""
        return MetadataRouter(owner=self).add(
            estimator=self.estimator or LSSVR(),
            method_mapping=MethodMapping().add(caller="fit", callee="fit"),
        )

    _held: Any = fixed(None)
    """Machines that did not see something, and what."""

    # Fitting --------------------------------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike = None) -> Self:
        """Fit the machine, and machines that did not see some samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Observations.
        sample_weight : array-like of shape (n_samples,), optional
            How many observations each stands for; none of weight zero take part.

        Returns
        -------
        self
        """
        if self.estimator is not None and is_classifier(self.estimator):
            raise ValueError(
                f"intervals are around numbers, and {type(self.estimator).__name__} predicts "
                "classes; for these take probabilities, as of KernelLogisticRegression or "
                "AutoClassifier."
            )
        given = X
        X, y = validate_data(
            self, X, y, dtype=None, ensure_all_finite=self.estimator is None, y_numeric=True
        )
        # Names of features reach the machine.
        X = given if hasattr(given, "iloc") else X
        y, n = column_or_1d(y, warn=True).astype(np.float64), len(y)
        weight = None
        if sample_weight is not None:
            weight = check_sample_weight(sample_weight, X.shape[0])
        live = np.arange(n) if weight is None else np.flatnonzero(weight > 0)
        copies = copies_of(safe_indexing(X, live))
        self.n_copies_ = 0 if copies is None else len(live) - len(np.unique(copies))
        if copies is not None and (
            self.estimator is None or has_fit_parameter(self.estimator, "sample_weight")
        ):
            first, observation = same_observations(copies, y[live])
            total = np.bincount(observation, None if weight is None else weight[live])
            weight = None if np.all(total == total[0]) else total.astype(np.float64)
            X, y, copies = safe_indexing(X, live[first]), y[live[first]], copies[first]
            n, live = len(y), np.arange(len(y))
        self._copies = np.arange(n)
        if copies is not None:
            self._copies[live] = n + copies
        if len(live) < 2:
            raise ValueError(f"intervals need samples to leave out, got n_samples={len(live)}.")
        self._names = hasattr(given, "iloc")
        rng = check_random_state(self.random_state)
        self.method_ = self._chosen_method(len(live))
        self._band = self.method_ in ("cqr", "tube")
        machine = self._machine(len(live))
        if self._band and not hasattr(machine, "predict_interval"):
            raise ValueError(
                f"method={self.method_!r} moves the intervals of a machine; "
                f"{type(machine).__name__} has none. Use method='split'."
            )
        aside = self.method_ in ("split", "cqr", "tube")
        rows = rng.permutation(live) if aside and self.shuffle else live
        held = (self._aside if aside else self._left_out)(machine, X, y, weight, rows)
        self._held, self._y = held, y[held.index]
        self._calibration_weight: Array | None = None
        if weight is not None and np.any(weight[held.index] != 1.0):
            self._calibration_weight = weight[held.index]
        self._calibrate(X, y, rng)
        return self

    def _chosen_method(self, n: int) -> str:
        if self.method != "auto":
            return self.method
        ours = self.estimator is None or (
            isinstance(self.estimator, LSSVR) and self.estimator.approximation is None
        )
        if ours and n <= MAX_FACTORED_ROWS:
            return "jackknife+"
        return "cv+" if n <= MAX_REFITTED_ROWS else "split"

    def _machine(self, n: int) -> Any:
        """Return the machine that is meant, not yet fitted."""
        if self.estimator is not None:
            return clone(self.estimator)
        free: dict[str, Any] = {"kernel": "matern", "gamma": "tuned", "standardize": True}
        few = "auto" if n > MAX_FACTORED_ROWS else None
        alpha = 1.0 - self.coverage
        if self.method_ == "cqr":
            levels = (0.5 * alpha, 0.5, 1.0 - 0.5 * alpha)
            return QuantileBand(levels, C="auto", approximation=few, **free)
        if self.method_ == "tube":
            exceptions = max(2.0, alpha * (1.0 - self.calibration) * n)
            return SupportVectorTube(exceptions=exceptions, approximation=few, **free)
        return LSSVR(C="auto", approximation=few, **free)

    def _fitted(
        self, machine: Estimator, X: PointsLike, y: Array, weight: Array | None, rows: Any
    ) -> Any:
        extra = {} if weight is None else {"sample_weight": weight[rows]}
        return machine.fit(safe_indexing(X, rows), y[rows], **extra)

    def _aside(
        self,
        machine: Estimator,
        X: PointsLike,
        y: Array,
        weight: Array | None,
        rows: NDArray[np.intp],
    ) -> Aside:
        """Fit to the first of some samples and set the others aside."""
        m = min(max(1, round(self.calibration * len(rows))), MAX_ASIDE_ROWS, len(rows) - 1)
        # Whole groups of copies, the last ones first, until there are enough rows.
        group = self._copies[rows]
        names, last, size = np.unique(group[::-1], return_index=True, return_counts=True)
        order = np.argsort(last)
        most = int(np.searchsorted(np.cumsum(size[order]), m)) + 1
        chosen = np.isin(group, names[order[: min(most, len(names) - 1)]])
        self._fit_rows, aside = np.sort(rows[~chosen]), rows[chosen]
        self.estimator_ = self._fitted(machine, X, y, weight, self._fit_rows)
        ends = bases(self.estimator_, safe_indexing(X, aside), self._band)
        return Aside(self.estimator_, self._band, aside, *ends)

    def _left_out(
        self,
        machine: Estimator,
        X: PointsLike,
        y: Array,
        weight: Array | None,
        live: NDArray[np.intp],
    ) -> Refitted | LeaveFoldOut:
        """Fit to all samples, and know what the machine would be without some."""
        n = len(y)
        self._fit_rows = np.arange(n)
        self.estimator_ = self._fitted(machine, X, y, weight, self._fit_rows)
        if self.method_ == "cv+":
            folds = self._folds(self.cv, X, y, live, self.random_state, self.shuffle)
        else:
            group = self._copies[live]
            at = np.unique(group, return_index=True)[1]
            folds = [(live[group != group[i]], live[group == group[i]]) for i in np.sort(at)]
        if has_left_out(self.estimator_):
            group = np.zeros(n, dtype=np.intp)
            for k, (_, left) in enumerate(folds):
                group[left] = k
            return LeaveFoldOut.of(self.estimator_, group)
        return refit(self.estimator_, X, y, folds, weight, self._band, self._report)

    def _folds(
        self,
        cv: SplitterLike,
        X: PointsLike,
        y: Array,
        rows: NDArray[np.intp],
        seed: Seed = 0,
        shuffle: bool = True,
    ) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Return rows to fit to and rows left out, with all copies of a row in one fold.

        Splits that were given are used without a change.
        """
        drawn = cv is None or isinstance(cv, Integral)
        if not drawn or not self.n_copies_:
            splitter = as_splitter(cv, y[rows], seed, shuffle=shuffle)
            splits = splitter.split(safe_indexing(X, rows), y[rows])
            return [(rows[fit], rows[left]) for fit, left in splits]
        group = np.unique(self._copies[rows], return_inverse=True)[1]
        different = np.arange(group.max() + 1)
        splits = as_splitter(cv, different, seed, shuffle=shuffle).split(different)
        return [(rows[np.isin(group, fit)], rows[np.isin(group, left)]) for fit, left in splits]

    def _report(self, k: int, n: int, machine: object) -> None:
        """Say how the machine of a fold ended, of at most a hundred folds."""
        if (k + 1) % -(-n // 100) == 0:
            say(self, f"fold {k + 1} of {n}: {ending(machine)}")

    def _ending(self) -> str:
        return (
            f"{self.method_}, {self.n_calibration_} scores in units of a {self.scale_} spread"
            f"{f', {self.n_copies_} copies of other rows' if self.n_copies_ else ''}; "
            f"{type(self.estimator_).__name__}, {ending(self.estimator_)}"
        )

    # How large errors are, and where --------------------------------------------------------------

    def _calibrate(self, X: PointsLike, y: Array, rng: Any) -> None:
        """Make scores of the errors, in units of what is expected of them where they are."""
        held = self._held
        below, above = held.low - self._y, self._y - held.high
        self.scale_, self.spread_proof_ = "constant", np.nan
        self._spread: LSSVR | None = None
        size = np.ones(len(self._y))
        if self.scale == "local" and not self._numbers(X):
            raise ValueError("scale='local' needs features that are numbers; use 'constant'.")
        wanted = self.scale != "constant" and not self._band and self._numbers(X)
        if wanted and len(self._fit_rows) > MIN_SPREAD_ROWS:
            spread, proof, known = self._local(X, y, rng)
            self.spread_proof_ = proof
            if self.scale == "local" or proof > PROVEN_STANDARD_ERRORS:
                self.scale_, self._spread = "local", spread
                size = np.exp(spread.predict(self._plain(safe_indexing(X, held.index))))
                # The spread of a sample must not know its own error either.
                at = np.flatnonzero(np.isin(held.index, known[0]))
                place = {int(i): j for j, i in enumerate(known[0])}
                size[at] = np.exp(known[1][[place[int(i)] for i in held.index[at]]])
        if self.symmetric:
            self._below = self._above = self.scores_ = np.maximum(below, above) / size
        else:
            self._below, self._above = below / size, above / size
            self.scores_ = np.column_stack([self._below, self._above])
        self.n_calibration_ = len(self._y)

    def _local(
        self, X: PointsLike, y: Array, rng: Any
    ) -> tuple[LSSVR, float, tuple[NDArray[np.intp], Array]]:
        """Fit the logarithm of absolute errors; return also how surely it beats their mean."""
        index, r = self._errors(X, y, rng)
        if len(index) > MAX_SPREAD_ROWS:
            some = np.sort(rng.choice(len(index), MAX_SPREAD_ROWS, replace=False))
            index, r = index[some], r[some]
        # Logarithms of errors that happen to be tiny say nothing about their size.
        floor = max(float(np.quantile(np.abs(r), 0.05)), np.finfo(np.float64).tiny)
        z = np.log(np.maximum(np.abs(r), floor))
        points, n = self._plain(safe_indexing(X, index)), len(z)
        spread = LSSVR(gamma="tuned", C="auto", standardize=True)
        # In folds that choose width and weight as well: a spread that leaves one sample out with
        # parameters chosen on all of them knows too much, and intervals come out too narrow.
        left_out = np.empty(n)
        place = {int(i): j for j, i in enumerate(index)}
        for rows, others in self._folds(SPREAD_FOLDS, X, y, index):
            fit, left = ([place[int(i)] for i in part] for part in (rows, others))
            left_out[left] = clone(spread).fit(points[fit], z[fit]).predict(points[left])
        spread.fit(points, z)
        mean = (np.sum(z) - z) / (n - 1)
        gain = (z - mean) ** 2 - (z - left_out) ** 2
        error = float(np.std(gain)) / np.sqrt(n)
        proof = float(np.mean(gain)) / error if error > 0 else 0.0
        return spread, proof, (index, left_out)

    def _errors(self, X: PointsLike, y: Array, rng: Any) -> tuple[NDArray[np.intp], Array]:
        """Return samples that intervals are not calibrated by, or all, with errors left out."""
        held = self._held
        if not isinstance(held, Aside):
            return held.index, self._y - held.low
        rows = self._fit_rows
        machine = self.estimator_
        if has_left_out(machine) and not self.n_copies_:
            return rows, np.asarray(machine.loo_residuals_, dtype=np.float64)
        some = rows
        if len(rows) > 2 * MAX_SPREAD_ROWS:
            some = np.sort(rng.choice(rows, 2 * MAX_SPREAD_ROWS, replace=False))
        if getattr(machine, "approximation", None) is not None:
            # Few functions and many samples: what was fitted is nearly what was not.
            return some, y[some] - machine.predict(safe_indexing(X, some))
        folds = self._folds(SPREAD_FOLDS, X, y, some)
        out = refit(machine, X, y, folds, None, False, self._report)
        return out.index, y[out.index] - out.low

    def _plain(self, X: PointsLike) -> Array:
        """Return features without names, as numbers."""
        return np.asarray(X, dtype=np.float64)

    def _numbers(self, X: PointsLike) -> bool:
        """Return whether features are numbers, all of them there."""
        kinds = X.dtypes if hasattr(X, "dtypes") else [np.asarray(X).dtype]
        if not all(getattr(kind, "kind", "O") in "biuf" for kind in kinds):
            return False
        return bool(np.all(np.isfinite(self._plain(X))))

    # What it says ---------------------------------------------------------------------------------

    def _new(self, X: PointsLike) -> Any:
        check_is_fitted(self)
        checked = validate_data(
            self, X, reset=False, dtype=None, ensure_all_finite=self.estimator is None
        )
        return X if self._names and hasattr(X, "iloc") else checked

    def predict(self, X: PointsLike) -> Array:
        """Predict as the machine does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        X = self._new(X)
        return np.asarray(self.estimator_.predict(X))

    set_output = set_output

    @framed()
    def predict_interval(self, X: PointsLike, coverage: float | None = None) -> Array:
        """Return intervals for new observations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs.
        coverage : float, optional
            Another coverage than that of the machine.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper ends; infinite if there are too few samples for the coverage.
        """
        X = self._new(X)
        coverage = self.coverage if coverage is None else coverage
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must be between 0 and 1, got {coverage!r}.")
        m = X.shape[0]
        spread = (
            np.ones(m) if self._spread is None else np.exp(self._spread.predict(self._plain(X)))
        )
        return conformal_ends(
            self._held,
            X,
            self._below,
            self._above,
            coverage,
            spread,
            weight=self._calibration_weight,
            minmax=self.method_ == "jackknife-minmax",
        )

    def coverage_report(
        self, X: PointsLike, y: ArrayLike, groups: Sequence[Any] | ArrayLike | None = None
    ) -> CoverageReport:
        """Count how many new observations lie inside, everywhere and by groups.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Observations that took no part in the fit.
        groups : array-like of shape (n_samples,), optional
            Groups that are counted apart.

        Returns
        -------
        CoverageReport
            Coverage with its exact test, widths, interval score; print it.
        """
        low, high = self.predict_interval(X).T
        return coverage_of(y, low, high, self.coverage, groups)
