"""Survival curves of machines, and whether patients lived as long as predicted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from mercer._typing import Array, PointsLike, TargetsLike
from mercer.inspect.survival import SurvivalCalibration, survival_calibration
from mercer.machines.survival_targets import as_intervals
from mercer.plotting.base import Axes, Display, Factory
from mercer.smoothing.survival import SurvivalCurve, turnbull


class SurvivalDisplay(Display):
    """Predicted curves, one a sample, beside the curve of everyone.

    Parameters
    ----------
    times : array-like of shape (m,)
    survival : array-like of shape (n, m)
        Probabilities to exceed the times.
    whole : SurvivalCurve, optional
        Of the sample without its inputs.
    names : sequence of str, optional
        Labels of the curves.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
    whole_ : matplotlib Line2D or None

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import CensoredRegressor
    >>> from mercer.plotting import SurvivalDisplay
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(50, 1)), rng.exponential(size=50)
    >>> machine = CensoredRegressor(log=True).fit(X, y)
    >>> display = SurvivalDisplay.from_estimator(machine, X[:3], y=y)
    >>> len(display.lines_)
    3
    """

    times: Array
    survival: Array
    whole: SurvivalCurve | None = None
    names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        self.times, self.survival = np.asarray(self.times), np.atleast_2d(self.survival)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the curves as steps by ``Axes.step``."""
        ax = self._draw_on(ax)
        names = [None] * len(self.survival) if self.names is None else self.names
        start = min(0.0, float(self.times[0]))
        t = np.append(start, self.times)
        self.lines_ = [
            ax.step(t, np.append(1.0, row), **{"where": "post", "label": name} | kwargs)[0]
            for row, name in zip(self.survival, names, strict=True)
        ]
        self.whole_ = None
        if self.whole is not None:
            style: dict[str, Any] = {"color": "0.5", "ls": ":", "label": "everyone"}
            (self.whole_,) = ax.step(t, self.whole(t), where="post", **style)
        label = "probability to exceed it"
        return self._finish(xlabel="time", ylabel=label, ylim=(-0.02, 1.02))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: PointsLike,
        *,
        times: ArrayLike | None = None,
        y: TargetsLike = None,
        names: Any = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Predict curves and draw them.

        Parameters
        ----------
        estimator : CensoredRegressor
            Or whatever has its ``predict_survival_function``.
        X : array-like of shape (n, p)
        times : array-like of shape (m,), optional
            ``estimator.event_times_`` by default.
        y : array-like, optional
            Targets, whose own curve is drawn as well.
        names : sequence of str, optional
            Labels of the curves.
        """
        times = np.asarray(estimator.event_times_ if times is None else times)
        whole = None if y is None else turnbull(*as_intervals(y))
        survival = estimator.predict_survival_function(X, times)
        return cls(times=times, survival=survival, whole=whole, names=names).plot(ax, **kwargs)


def calibration_at(
    estimator: Any, X: PointsLike, y: TargetsLike, *, time: float, bins: int = 10
) -> SurvivalCalibration:
    """Compare what an estimator predicts for one time with what was observed.

    Parameters
    ----------
    estimator : CensoredRegressor
        Or whatever has its ``predict_survival_function``.
    X : array-like of shape (n, p)
    y : array-like
        Targets that are known or known to exceed a time; of samples that were not fitted.
    time : float
        When.
    bins : int, default=10
        Number of groups.
    """
    predicted = estimator.predict_survival_function(X, [time])[:, 0]
    return survival_calibration(y, predicted, time, bins=bins)


class SurvivalCalibrationDisplay(Display):
    """Observed against predicted probabilities to exceed a time, in groups of like predictions.

    Parameters
    ----------
    calibration : SurvivalCalibration

    Attributes
    ----------
    points_ : matplotlib ErrorbarContainer
    line_ : matplotlib Line2D
        Where both are equal.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import CensoredRegressor
    >>> from mercer.plotting import SurvivalCalibrationDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 1))
    >>> y = np.exp(X[:, 0]) * rng.exponential(size=60)
    >>> machine = CensoredRegressor(log=True, cv=3).fit(X, y)
    >>> display = SurvivalCalibrationDisplay.from_estimator(machine, X, y, time=1.0, bins=3)
    >>> display.calibration.count
    array([20, 20, 20])
    """

    calibration: SurvivalCalibration
    from_estimator = Factory(calibration_at)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw groups with their confidence limits by ``Axes.errorbar``."""
        ax = self._draw_on(ax)
        found = self.calibration
        reach = np.stack([found.observed - found.lower, found.upper - found.observed])
        (self.line_,) = ax.plot([0, 1], [0, 1], color="0.7", lw=0.8, zorder=0)
        style: dict[str, Any] = {"fmt": "o", "capsize": 2} | kwargs
        self.points_ = ax.errorbar(found.predicted, found.observed, np.maximum(reach, 0.0), **style)
        label, ends = f"predicted probability to exceed {found.time:g}", (-0.02, 1.02)
        return self._finish(xlabel=label, ylabel="observed", xlim=ends, ylim=ends)
