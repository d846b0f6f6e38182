"""Intervals of predictions, drawn: along a feature, and how many observations they hold where."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer._typing import Array, IntervalPredictor, PointsLike, TargetsLike
from mercer.plotting.base import Axes, Display
from mercer.smoothing.coverage import CoverageReport, coverage_of

__all__ = ["IntervalDisplay"]


class IntervalDisplay(Display):
    """Intervals along one quantity, observations inside and outside, and coverage by groups.

    Parameters
    ----------
    x : (n,) array
        What they are drawn along.
    low, high : (n,) array
        Ends of the intervals.
    prediction : (n,) array, optional
        Points between them.
    y : (n,) array, optional
        Observations.

    Attributes
    ----------
    band_ : matplotlib PolyCollection
        The intervals.
    line_ : matplotlib Line2D or None
        Predictions.
    inside_, outside_ : matplotlib Line2D or None
        Observations.
    bars_, promise_ : matplotlib BarContainer and Line2D or None
        Coverage by groups, and what was promised.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ConformalRegressor
    >>> from mercer.plotting import IntervalDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, (200, 1))
    >>> y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=200)
    >>> machine = ConformalRegressor().fit(X[:120], y[:120])
    >>> display = IntervalDisplay.from_estimator(machine, X[120:], y[120:])
    >>> len(display.inside_.get_xdata()) + len(display.outside_.get_xdata())
    80
    """

    x: Array
    low: Array
    high: Array
    prediction: Array | None = None
    y: Array | None = None

    def __post_init__(self) -> None:
        order = np.argsort(np.asarray(self.x), kind="stable")
        for name in ("x", "low", "high", "prediction", "y"):
            if getattr(self, name) is not None:
                setattr(self, name, np.asarray(getattr(self, name))[order])
        self.bars_: Any = None
        self.promise_: Any = None

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw intervals, predictions and observations.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        name : str, optional
            Label of the intervals.
        **kwargs
            For the ``Axes.fill_between`` of the intervals.
        """
        ax = self._draw_on(ax)
        style = {"alpha": 0.25, "lw": 0.0, "label": name, **kwargs}
        self.band_ = ax.fill_between(self.x, self.low, self.high, **style)
        self.line_ = self.inside_ = self.outside_ = None
        if self.prediction is not None:
            colour = np.asarray(self.band_.get_facecolor())[0, :3]
            (self.line_,) = ax.plot(self.x, self.prediction, color=tuple(colour))
        if self.y is not None:
            inside = (self.low <= self.y) & (self.y <= self.high)
            (self.inside_,) = ax.plot(self.x[inside], self.y[inside], ".", color="0.4", ms=4)
            style = {"color": "C3", "ms": 4, "label": "outside"}
            (self.outside_,) = ax.plot(self.x[~inside], self.y[~inside], "x", **style)
        return self._finish(legend={} if name is not None or self.y is not None else False)

    def plot_groups(self, report: CoverageReport, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the coverage of groups beside what was promised.

        Parameters
        ----------
        report : CoverageReport
            With groups.
        ax : matplotlib Axes, optional
        **kwargs
            For ``Axes.bar``.
        """
        if not report.groups:
            raise ValueError("the report has no groups; ask for one with groups.")
        ax = self._draw_on(ax)
        names = [str(group.group) for group in report.groups]
        shares = [group.coverage for group in report.groups]
        self.bars_ = ax.bar(names, shares, **kwargs)
        self.promise_ = ax.axhline(report.test.level, color="k", ls="--", lw=1.0)
        return self._finish(ylabel="coverage", ylim=(min(0.5, *shares), 1.0))

    @classmethod
    def from_estimator(
        cls,
        machine: IntervalPredictor,
        X: PointsLike,
        y: TargetsLike = None,
        *,
        feature: int = 0,
        coverage: float | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the intervals of a machine along one feature.

        Parameters
        ----------
        machine : fitted regressor with ``predict_interval``
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), optional
        feature : int, default=0
            Along which it is drawn. With several features intervals jump from point to point.
        coverage : float, optional
            For machines that take one.
        """
        asked = {} if coverage is None else {"coverage": coverage}
        low, high = np.asarray(machine.predict_interval(X, **asked)).T
        x = np.asarray(X)[:, feature]
        return cls(x=x, low=low, high=high, prediction=machine.predict(X), y=y).plot(ax, **kwargs)

    def report(self, level: float, groups: Any = None) -> CoverageReport:
        """Describe what the intervals did to the observations.

        Parameters
        ----------
        level : float
            The coverage that was promised.
        groups : array-like of shape (n,), optional
            Groups in the order in which points are drawn, by ascending x.
        """
        if self.y is None:
            raise ValueError("there are no observations; give the display some.")
        return coverage_of(self.y, self.low, self.high, level, groups)
