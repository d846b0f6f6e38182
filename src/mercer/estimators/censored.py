"""Regression on targets of which only an interval is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import indexable
from sklearn.utils.validation import check_is_fitted

from mercer._params import check_sample_weight
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval as Range
from mercer._sklearn import StrOptions, num_samples, safe_split
from mercer._typing import (
    AnyArray,
    Array,
    Constraints,
    Function,
    PointsLike,
    SplitterLike,
    TargetsLike,
    WeightsLike,
)
from mercer.data.base import Source
from mercer.gram.combined import extend
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.losses.interval import Interval, within
from mercer.losses.named import REGRESSION, resolve
from mercer.losses.stacked import stack
from mercer.machines.callbacks import TaskContext
from mercer.machines.folds import as_splitter
from mercer.machines.framing import framed, set_output
from mercer.machines.low_rank import LowRankProblem, by_blocks
from mercer.machines.regression import Regression
from mercer.machines.subproblems import Coefficients, Rows, Sample, Subproblem
from mercer.machines.survival_targets import Intervals, as_intervals, is_plain
from mercer.problems.risk import RegularizedRisk
from mercer.smoothing.survival import kaplan_meier, turnbull
from mercer.smoothing.widths import Guess
from mercer.solvers import Solution

__all__ = ["CensoredRegressor"]


class Censored(NamedTuple):
    """Censored targets: intervals, and how far they reach around a number in each."""

    intervals: Intervals
    below: Array
    above: Array


@settings
class CensoredRegressor(Regression):
    r"""Regression on targets that are known, or known to lie in an interval.

    .. math:: \min_{f, b} \tfrac12 \|f\|^2 + C \sum_i s_i \min_{t \in [y_i^-, y_i^+]}
              \rho(t - f(x_i) - b' p(x_i))

    A value that is known has :math:`y^- = y^+`; one that is known to exceed a bound (right
    censored, a patient still alive) has :math:`y^+ = \infty`; one below a limit of detection (left
    censored) has :math:`y^- = -\infty`. A prediction inside of its interval costs nothing and is
    not a support vector. With known targets only, this is :class:`KernelRegressor`.

    Censoring must not tell more of the value than its bound does, given the inputs: patients who
    leave a study because they are worse make every method here, and this one, too optimistic. No
    data can show that they did.

    Parameters
    ----------
    loss : Loss or str, default="squared"
        What a distance costs: any loss of the residual. "squared" is the censored least-squares
        machine, "epsilon_insensitive" a support vector machine, "absolute" for medians.
    kernel : Kernel, str or callable, default="rbf"
        Reproducing kernel of the penalty.
    log : bool, default=False
        Fit logarithms of positive targets, and predict their exponential: accelerated failure
        times, where inputs stretch time instead of adding to it.
    weighting : "ipcw" or None
        Leave out what is censored, and weigh each value that is seen by one over the probability
        that it was not censored: unbiased for means where censoring does not depend on the inputs,
        but noisier. Without it censored values take part by their bounds.
    ranking : float, default=0.0
        Weight, in units of C, of the order among samples: the difference between the predictions of
        a sample and of the last value seen before it is to be at least that of their targets, at
        the price of the same loss. For predictions that are to be ranked.
    cv : int, splitter or None
        Folds, as in :func:`~mercer.machines.folds.as_splitter`, out of which the residuals behind
        :meth:`predict_survival_function` and its like come, with a fit for each; None for those of
        the sample itself, which a flexible machine makes too small.
    null_space : NullSpace, optional
        Unpenalized functions :math:`p`; an intercept by default.
    C : float or "auto", default=1.0
        Weight of the summed loss against the penalty; "auto" as in :class:`SVR`, by the middle of
        finite intervals and the one end of others.
    degree, gamma, coef0, tol, cache_size, verbose, max_iter :
        As in :class:`SVR`.
    max_time, gram, solver, warm_start, standardize :
        As in :class:`SVR`.
    approximation : Approximation, Local, "auto" or None
        As in :class:`SVR`: the low-rank approximation of the machine.

    Attributes
    ----------
    residual_curve_ : SurvivalCurve
        Distribution of targets around the fitted function, of logarithms if `log`: Kaplan and
        Meier's estimator, Turnbull's for intervals.
    event_times_ : ndarray
        The finite upper ends of the targets, in ascending order.
    null_space_coef_, support_, support_vectors_, dual_coef_, intercept_, n_support_, solution_ :
        As in :class:`KernelRegressor`.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, section 4.4, Lemmas 4.2 and 4.3.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import CensoredRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (80, 1))
    >>> y = np.sinc(X[:, 0]) + 0.1 * rng.normal(size=80)
    >>> seen = y < 0.6  # the instrument shows no more than 0.6
    >>> pairs = np.column_stack([np.minimum(y, 0.6), np.where(seen, y, np.inf)])
    >>> machine = CensoredRegressor(C=20.0, gamma=1.0).fit(X, pairs)
    >>> bool(machine.predict([[0.0]])[0] > 0.7)
    True
    """

    loss: Loss | str = "squared"
    kernel: Kernel | str | Function = "rbf"
    _: KW_ONLY
    log: bool = False
    weighting: str | None = None
    ranking: float = 0.0
    cv: SplitterLike = None
    C: float | str = 1.0

    _parameter_constraints: ClassVar[Constraints] = {
        "log": ["boolean"],
        "weighting": [StrOptions({"ipcw"}), None],
        "ranking": [Range(Real, 0.0, None, closed="left")],
    }

    # The problem ---------------------------------------------------------------------------------

    def _scaled(self, y: TargetsLike) -> Intervals:
        """Return what is known of the values that are fitted."""
        known = as_intervals(y)
        return known.log() if self.log else known

    def _targets_of(
        self, y: TargetsLike, sample_weight: WeightsLike
    ) -> tuple[Any, Any, Censored | None]:
        """Return a number a sample, weights, and what is known of the targets if not a number."""
        if y is None or (is_plain(y) and not self.log):
            return y, sample_weight, None
        known = self._scaled(y)
        anchors, below, above = known.anchored()
        if self.weighting == "ipcw":
            time, event = known.right_censored("weighting='ipcw'")
            unseen = kaplan_meier(time, event, reverse=True)
            s = check_sample_weight(sample_weight, len(time))
            sample_weight = s * np.where(event, 1.0 / np.where(event, unseen.before(time), 1.0), 0)
        return anchors, sample_weight, Censored(known, below, above)

    def _validate(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike) -> Rows:
        y, sample_weight, known = self._targets_of(y, sample_weight)
        return replace(super()._validate(X, y, sample_weight), known=known)

    def _validate_blocks(
        self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike
    ) -> tuple[Source, Rows]:
        y, sample_weight, known = self._targets_of(y, sample_weight)
        source, rows = super()._validate_blocks(X, y, sample_weight)
        return source, replace(rows, known=known)

    def _loss(self, rows: Rows | None = None) -> Loss:
        if rows is None:
            raise ValueError("what is known of censored targets is part of the loss of a sample.")
        loss = resolve(self.loss, REGRESSION)
        known: Censored | None = rows.known
        return loss if known is None else within(loss, known.below, known.above)

    def _calibrated_loss(self, found: Guess, rows: Rows | None) -> Loss:
        return resolve(self.loss, REGRESSION)

    def _low_rank_problem(self, rows: Rows, labels: AnyArray | None) -> LowRankProblem:
        if self.ranking:
            raise ValueError("ranking compares pairs of rows, which are not looked at in passes.")
        return super()._low_rank_problem(rows, labels)

    def _subproblems(self, sample: Sample) -> Sequence[Subproblem]:
        (whole,) = super()._subproblems(sample)
        if not self.ranking:
            return [whole]
        risk, y, K, B = whole.risk, sample.y, sample.K, sample.B
        known = Intervals(y, y) if sample.known is None else sample.known.intervals
        later, earlier = neighbours(known, risk.c > 0)
        # The difference of two values is known to exceed that of their nearer ends.
        loss = within(resolve(self.loss, REGRESSION), 0.0, np.inf)
        everyone = np.arange(len(y))
        V = K.block(everyone, later) - K.block(everyone, earlier)
        ranked = RegularizedRisk(
            stack([risk.loss, loss], [len(y), len(later)]),
            extend(K, V, V[later] - V[earlier]),
            np.concatenate([y, known.lower[later] - known.upper[earlier]]),
            np.concatenate([risk.c, self.ranking * risk.c[later]]),
            np.concatenate([B, B[later] - B[earlier]]),
        )

        def read(solution: Solution) -> Coefficients:
            a, t = np.split(solution.a, [len(y)])
            sums = np.bincount(later, t, len(y)) - np.bincount(earlier, t, len(y))
            return Coefficients(a + sums, solution.b)

        return [Subproblem("", ranked, read)]

    def _minimize(self, subproblems: Sequence[Subproblem], context: TaskContext) -> list[Solution]:
        solutions = super()._minimize(subproblems, context)
        return [centred(one.risk, found) for one, found in zip(subproblems, solutions, strict=True)]

    # What is left over ---------------------------------------------------------------------------

    def _fit_extras(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike) -> None:
        if y is None or isinstance(X, Source):
            for name in ("residual_curve_", "event_times_"):
                self.__dict__.pop(name, None)
            return
        known = self._scaled(y)
        n = len(known.lower)
        if self.cv is not None:
            f = self._left_out(X, y, sample_weight, n)
        elif len(self.solution_.f) >= n:
            f = self.solution_.f[:n]
        else:
            f = np.asarray(self._evaluate(self._check_new(X)))
        s = check_sample_weight(sample_weight, n)
        self.residual_curve_ = turnbull(known.lower - f, known.upper - f, s)
        ends = np.unique(known.upper[np.isfinite(known.upper)])
        self.event_times_ = np.exp(ends) if self.log else ends

    def _left_out(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike, n: int) -> Array:
        """Return what machines without a fold predict of it."""
        (X, y), f = indexable(X, y), np.empty(n)
        for train, test in as_splitter(self.cv, np.zeros(n)).split(np.zeros(n)):
            machine: Self = clone(self).set_params(cv=None)
            X_train, y_train = safe_split(machine, X, y, train)
            X_test, _ = safe_split(machine, X, y, test, train)
            s = None if sample_weight is None else np.asarray(sample_weight)[train]
            f[test] = machine.fit(X_train, y_train, s)._evaluate(machine._check_new(X_test))
        return f

    # Prediction ----------------------------------------------------------------------------------

    def _back(self, values: Array) -> Array:
        """Return targets from values of the fitted function."""
        return np.exp(values) if self.log else values

    @by_blocks
    def predict(self, X: PointsLike) -> Array:
        """Evaluate the fitted function, on the scale of the targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted values; times if `log`.
        """
        return self._back(self._evaluate(self._check_new(X)))

    def predict_survival_function(self, X: PointsLike, times: ArrayLike | None = None) -> Array:
        r"""Return the probabilities that new targets exceed given values.

        .. math:: P(y > t \mid x) = S(t - f(x))

        with the distribution S of the residuals, which is the same everywhere: inputs shift the
        curve, or stretch it if `log`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.
        times : array-like of shape (n_times,), optional
            Values; ``event_times_`` by default.

        Returns
        -------
        ndarray of shape (n_samples, n_times)
            Rows fall from one; what lies beyond all data stays above zero.
        """
        curve = self._curve()
        t = np.asarray(self.event_times_ if times is None else times, dtype=np.float64)
        if t.ndim != 1:
            raise ValueError(f"times must be one-dimensional, got shape {t.shape}.")
        if self.log:
            with np.errstate(divide="ignore"):
                t = np.log(np.maximum(t, 0.0))
        return np.asarray(curve(t - self._evaluate(self._check_new(X))[:, None]))

    def predict_quantile(self, X: PointsLike, level: ArrayLike = 0.5) -> Array:
        """Return values that new targets do not exceed with a probability; medians by default.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.
        level : float or array-like of shape (n_levels,), default=0.5
            Probabilities.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_levels)
            Infinite where so much of the distribution lies beyond all data.
        """
        levels = np.asarray(level, dtype=np.float64)
        if not np.all((levels > 0) & (levels < 1)):
            raise ValueError(f"level must lie between 0 and 1, got {levels}.")
        shift = self._curve().quantile(levels)
        return self._back(np.add.outer(self._evaluate(self._check_new(X)), shift))

    set_output = set_output

    @framed()
    def predict_interval(self, X: PointsLike, coverage: float = 0.9) -> Array:
        """Return intervals in which new targets lie with a probability.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.
        coverage : float, default=0.9
            The probability; half of the rest lies on either side.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper ends; the upper ones infinite where the data do not reach.
        """
        rest = 0.5 * (1.0 - coverage)
        return self.predict_quantile(X, [rest, 1.0 - rest])

    def _curve(self) -> Any:
        check_is_fitted(self)
        if not hasattr(self, "residual_curve_"):
            raise ValueError(
                "rows that came in blocks left no residuals; fit arrays, or a part of the rows."
            )
        return self.residual_curve_

    def score(
        self, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None
    ) -> float:
        r"""Return the share of the squared distances that is explained.

        .. math:: 1 - \frac{\sum_i s_i\, d_i(f(x_i))^2}{\min_c \sum_i s_i\, d_i(c)^2}, \qquad
                  d_i(c) = |c - \operatorname{clip}(c, y_i^-, y_i^+)|

        the coefficient of determination where all targets are known; of logarithms if `log`. For
        the order of predictions see :func:`mercer.inspect.concordance`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs.
        y : array-like
            Targets, in any form that ``fit`` takes.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        if y is None:
            raise ValueError("known bounds are compared with predictions of arrays: give X and y.")
        if is_plain(y) and not self.log:
            return float(super().score(X, y, sample_weight))
        known = self._scaled(y)
        s = check_sample_weight(sample_weight, num_samples(X))
        own = float(np.sum(s * known.distance(self._evaluate(self._check_new(X))) ** 2))
        least = float(np.sum(s * known.distance(np.full(len(s), _centre(known, s))) ** 2))
        if least == 0.0:
            return float(own == 0.0)
        return 1.0 - own / least


def centred(risk: RegularizedRisk, solution: Solution) -> Solution:
    """Return the constant in the middle of the intersection of all intervals, if it is not empty.

    Every constant of that kind is a minimum; a solver stops at the first one that it meets.
    """
    live, loss = risk.c > 0, risk.loss
    constant = risk.q == 1 and bool(np.all(risk.B[live] == 1.0))
    if np.any(solution.a) or not (constant and isinstance(loss, Interval)):
        return solution
    low = float(np.max((risk.y - loss.below)[live]))
    high = float(np.min((risk.y + loss.above)[live]))
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        return solution
    b = np.array([0.5 * (low + high)])
    return replace(solution, b=b, f=risk.B @ b)


def neighbours(
    known: Intervals, live: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return for each sample the last observed value that certainly precedes it, if any."""
    seen = np.flatnonzero(np.isfinite(known.upper) & live)
    seen = seen[np.argsort(known.upper[seen], kind="stable")]
    before = np.searchsorted(known.upper[seen], known.lower, side="left")
    later = np.flatnonzero((before > 0) & live)
    return later, seen[before[later] - 1]


def _centre(known: Intervals, s: Array) -> float:
    """Return the constant of least summed squared distance, by halving where its slope changes."""
    ends = np.concatenate([known.lower, known.upper])
    low, high = (float(end(ends[np.isfinite(ends)])) for end in (np.min, np.max))
    for _ in range(200):
        middle = 0.5 * (low + high)
        if np.sum(s * known.distance(np.full(len(s), middle))) > 0:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)
