"""Series continued by any machine: delays of the series, and what is known in advance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from mercer._fitting import AllOrNothing, ending, say
from mercer._settings import KW_ONLY, settings
from mercer._typing import Array, PointsLike, TargetsLike
from mercer.estimators.ls_svm import LSSVR

__all__ = ["Backtest", "Forecaster"]


@dataclass(frozen=True)
class Backtest:
    """Forecasts from several origins in the past, beside the observations.

    Parameters
    ----------
    origins : ndarray of shape (k,)
        Positions of the last values that were known.
    forecasts, actual : ndarray of shape (k, steps)
        What was forecast, and what came.
    """

    origins: NDArray[np.intp]
    forecasts: Array
    actual: Array

    @property
    def errors(self) -> Array:
        """Observations minus forecasts."""
        return self.actual - self.forecasts

    @property
    def rmse(self) -> Array:
        """Root of the mean squared error by step."""
        return np.asarray(np.sqrt(np.mean(self.errors**2, axis=0)))

    @property
    def mape(self) -> float:
        """Mean absolute error in percent of the observations."""
        return float(100.0 * np.mean(np.abs(self.errors / self.actual)))

    def halfwidths(self, coverage: float) -> Array:
        r"""Return the order statistic of absolute errors that a new one exceeds rarely, by step.

        The :math:`\lceil (k + 1) \gamma \rceil`-th of k errors is not exceeded by another with
        probability :math:`\gamma` if they are exchangeable; infinite where k is too small.
        """
        sizes = np.sort(np.abs(self.errors), axis=0)
        rank = int(np.ceil((len(sizes) + 1) * coverage))
        return sizes[rank - 1] if rank <= len(sizes) else np.full(sizes.shape[1], np.inf)


@settings
class Forecaster(AllOrNothing, BaseEstimator):  # type: ignore[misc]
    r"""A machine that continues a series.

    .. math:: \hat y_t = f(u_t,\; y_{t-h-d_1}, \dots, y_{t-h-d_q})

    Features of a target are what is known of its time beforehand, :math:`u_t` (calendar, weather
    forecasts, prices), and values of the series at delays :math:`d_j` before the last one known,
    a horizon h earlier. Season and trend belong to the kernel: a periodic kernel on a column of
    the calendar, an unpenalized line on time (``null_space``).

    Parameters
    ----------
    estimator : estimator, optional
        The machine; :class:`LSSVR` with C and width chosen by the sample by default.
    lags : int or sequence of int, default=12
        How many delays, or which, counted from the last value known, 0; 0 or an empty sequence
        for none.
    delay : int, default=1
        Distance of the delays, if their number is given.
    horizon : int, default=1
        How far ahead of the last value in its features a target lies.
    strategy : {"recursive", "direct"}, default="recursive"
        Recursive forecasts feed back what was forecast; direct ones have a machine for each step.
    steps : int, default=1
        For how many steps there are machines, if direct.
    verbose : bool or int, default=False
        Write a line for every machine, and how the fit ended, to the standard error.

    Attributes
    ----------
    estimators_ : list
        The fitted machine, or one a step.
    n_features_in_ : int
        Number of features of the machine: columns known beforehand, then delays.

    Notes
    -----
    Values of a series are not independent, so bounds and intervals that assume it do not hold
    here; :meth:`backtest` measures errors as they come, with nothing of the future in a fit.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, sec. 6.2, eq. (6.5)-(6.8).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR, Forecaster
    >>> y = np.sin(0.3 * np.arange(120))
    >>> machine = Forecaster(LSSVR(C=1e4), lags=4).fit(y[:100])
    >>> bool(np.max(np.abs(machine.forecast(20) - y[100:])) < 0.05)
    True
    """

    estimator: Any = None
    _: KW_ONLY
    lags: int | Sequence[int] = 12
    delay: int = 1
    horizon: int = 1
    strategy: str = "recursive"
    steps: int = 1

    def fit(self, y: TargetsLike, X: PointsLike = None) -> Self:
        """Fit the machine to a series.

        Parameters
        ----------
        y : array-like of shape (n,)
            The series, oldest value first.
        X : array-like or data frame of shape (n, p), optional
            What was known beforehand of the same times.

        Returns
        -------
        self
        """
        y = self._series(y)
        self._delays = self._check_delays()
        if not len(self._delays) and X is None:
            raise ValueError("without lags a forecast needs X: what is known of its time")
        if X is not None and len(X) != len(y):
            raise ValueError(f"X has {len(X)} rows for a series of {len(y)} values")
        horizons = [self.horizon]
        if self.strategy == "direct":
            horizons = [self.horizon + step for step in range(self.steps)]
        self._reach = max(horizons) + max(self._delays) if len(self._delays) else 0
        if len(y) <= self._reach:
            raise ValueError(
                f"a series of {len(y)} values is too short: delays reach {self._reach} back"
            )
        base = LSSVR(C="auto", gamma="tuned") if self.estimator is None else self.estimator
        self.estimators_ = []
        for horizon in horizons:
            first = horizon + max(self._delays) if len(self._delays) else 0
            t = np.arange(first, len(y))
            lagged = y[t[:, None] - horizon - self._delays]
            self.estimators_.append(clone(base).fit(self._join(X, t, lagged, horizon), y[t]))
            if len(horizons) > 1:
                say(self, f"horizon {horizon}: {ending(self.estimators_[-1])}")
        self.n_features_in_ = self.estimators_[0].n_features_in_
        self._last = (y, X)
        return self

    def _ending(self) -> str:
        return f"{type(self.estimators_[-1]).__name__}, {ending(self.estimators_[-1])}"

    def forecast(self, steps: int, X: PointsLike = None, y: TargetsLike = None) -> Array:
        """Continue the series.

        Parameters
        ----------
        steps : int
            How many values.
        X : array-like of shape (steps, p), optional
            What is known of the times to come, if the machine was fitted with such columns.
        y : array-like, optional
            Another past to continue than the series of the fit.

        Returns
        -------
        ndarray of shape (steps,)
        """
        check_is_fitted(self, "estimators_")
        past = self._last[0] if y is None else self._series(y)
        if (self._last[1] is None) != (X is None):
            raise ValueError("X must be given as in fit: what is known of the times to come")
        if X is not None and len(X) < steps:
            raise ValueError(f"X has {len(X)} rows, fewer than {steps} steps")
        if self.strategy == "direct" and steps > self.steps:
            raise ValueError(f"there are machines for {self.steps} steps; fit with steps={steps}")
        if len(past) < self._reach:
            raise ValueError(f"a past of {len(past)} values is too short: {self._reach} are needed")
        rows = np.arange(steps)[None]
        line: Array = self._continue(past[None, len(past) - self._reach :], X, rows)[0]
        return line

    def backtest(
        self,
        y: TargetsLike,
        X: PointsLike = None,
        *,
        start: int,
        steps: int,
        every: int = 1,
        refit: bool = False,
    ) -> Backtest:
        """Forecast from origins in the past and keep the observations beside the forecasts.

        Parameters
        ----------
        y, X : array-like
            The series and what was known beforehand.
        start : int
            Number of values before the first origin; the machine is fitted to these.
        steps : int
            How far to forecast from each origin.
        every : int, default=1
            Distance of the origins.
        refit : bool, default=False
            Whether the machine is fitted again at every origin.

        Returns
        -------
        Backtest
        """
        y = self._series(y)
        origins = np.arange(start, len(y) - steps + 1, every)
        if not len(origins):
            raise ValueError(f"no origin leaves {steps} values after {start} of {len(y)}")
        machine, ahead = clone(self), origins[:, None] + np.arange(steps)
        forecasts = np.empty((len(origins), steps))
        for some in origins[:, None] if refit else [origins]:
            machine.fit(y[: some[0]], self._rows(X, np.arange(some[0])))
            pasts = np.stack([y[origin - machine._reach : origin] for origin in some])
            at = np.isin(origins, some)
            forecasts[at] = machine._continue(pasts, X, ahead[at])
        return Backtest(origins - 1, forecasts, y[ahead])

    def _continue(self, pasts: Array, X: PointsLike, rows: NDArray[np.intp]) -> Array:
        """Continue several pasts at once; ``rows`` of X belong to their steps."""
        reach, steps = pasts.shape[1], rows.shape[1]
        line = np.hstack([pasts, np.full((len(pasts), steps), np.nan)])
        for step in range(steps):
            # Machines of direct forecasts never see what was forecast: their horizon grows.
            later = step if self.strategy == "direct" else 0
            lagged = line[:, reach + step - self.horizon - later - self._delays]
            features = self._join(X, rows[:, step], lagged, self.horizon + later)
            line[:, reach + step] = self.estimators_[later].predict(features)
        return line[:, reach:]

    def _check_delays(self) -> NDArray[np.intp]:
        lags = np.asarray(self.lags, dtype=np.intp)
        delays = self.delay * np.arange(int(lags)) if lags.ndim == 0 else lags
        if self.strategy not in {"recursive", "direct"}:
            raise ValueError(f"strategy must be 'recursive' or 'direct', got {self.strategy!r}")
        if self.horizon < 1 or self.delay < 1 or self.steps < 1 or np.any(delays < 0):
            raise ValueError("horizon, delay and steps must be at least 1, lags not negative")
        return delays.astype(np.intp)

    def _series(self, y: TargetsLike) -> Array:
        series: Array = np.asarray(y, dtype=np.float64)
        if series.ndim != 1 or not np.all(np.isfinite(series)):
            raise ValueError("the series must be one row of finite values, oldest first")
        return series

    def _rows(self, X: PointsLike, index: NDArray[np.intp]) -> Any:
        if X is None:
            return None
        return X.iloc[index] if hasattr(X, "iloc") else np.asarray(X)[index]

    def _join(self, X: PointsLike, index: NDArray[np.intp], lagged: Array, horizon: int) -> Any:
        """Return the features of targets: what was known of them, then the delayed values."""
        known = self._rows(X, index)
        if known is None:
            return lagged
        if hasattr(known, "assign"):
            names = {f"lag{horizon + d}": lagged[:, j] for j, d in enumerate(self._delays)}
            return known.assign(**names)
        return np.column_stack([known, lagged])
