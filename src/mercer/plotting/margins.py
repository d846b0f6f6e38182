"""Margins drawn: their distribution, and what each pattern has to reach."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer._typing import PointsLike, TargetsLike
from mercer.estimators.adaptive_margin import AdaptiveMargins, AdaptiveMarginSVC
from mercer.inspect.margins import MarginReport, Separating, margin_report
from mercer.plotting.base import Axes, Display

__all__ = ["AdaptiveMarginDisplay", "MarginDisplay"]


class MarginDisplay(Display):
    r"""The share of samples up to each margin, as steps; those left of zero are mistakes.

    Parameters
    ----------
    report : MarginReport
        From :func:`mercer.inspect.margin_report`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.plotting import MarginDisplay
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([1, -1], 20)
    >>> X = (y + rng.normal(size=40))[:, None]
    >>> display = MarginDisplay.from_estimator(SVC().fit(X, y), X, y)
    >>> display.ax_.get_xlabel()
    'margin'
    """

    def __init__(self, *, report: MarginReport) -> None:
        self.report = report

    def plot(self, ax: Axes | None = None, *, geometric: bool = False, **kwargs: Any) -> Self:
        """Draw the steps.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        geometric : bool, default=False
            Divide by the norm of the function, so that machines of any scale compare.
        **kwargs
            For ``Axes.step``.

        Returns
        -------
        MarginDisplay
        """
        ax = self._draw_on(ax)
        sizes, shares = self.report.distribution()
        sizes = sizes / self.report.norm if geometric else sizes
        (self.line_,) = ax.step(sizes, shares, **{"where": "post", **kwargs})
        ax.axvline(0.0, color="0.7", lw=0.8, zorder=0)
        ax.set(xlabel="distance" if geometric else "margin", ylabel="share of the sample")
        return self

    @classmethod
    def from_estimator(
        cls,
        machine: Separating,
        X: PointsLike,
        y: TargetsLike,
        *,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Measure the margins of a fitted classifier and draw them.

        Parameters
        ----------
        machine, X, y :
            As in :func:`mercer.inspect.margin_report`.
        ax : matplotlib Axes, optional
        **kwargs
            As in :meth:`plot`.

        Returns
        -------
        MarginDisplay
        """
        return cls(report=margin_report(machine, X, y)).plot(ax, **kwargs)


class AdaptiveMarginDisplay(Display):
    """What each pattern reaches without itself against the margin that is asked of it.

    Patterns that carry the function are asked for more than one; those far on the left are
    contradicted by all others.

    Parameters
    ----------
    margins : AdaptiveMargins
        One of ``pairs_`` of a fitted machine.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    points_ : matplotlib PathCollection
    carriers_ : matplotlib PathCollection
        The patterns with coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators import LeaveOneOutSVC
    >>> from mercer.plotting import AdaptiveMarginDisplay
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([1, -1], 20)
    >>> X = (y + rng.normal(size=40))[:, None]
    >>> display = AdaptiveMarginDisplay.from_estimator(LeaveOneOutSVC().fit(X, y))
    >>> display.ax_.get_ylabel()
    'required margin'
    """

    def __init__(self, *, margins: AdaptiveMargins) -> None:
        self.margins = margins

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the patterns.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        **kwargs
            For ``Axes.scatter``.

        Returns
        -------
        AdaptiveMarginDisplay
        """
        ax = self._draw_on(ax)
        m, carries = self.margins, self.margins.alpha > 0
        style = {"s": 22, **kwargs}
        self.points_ = ax.scatter(m.left_out[~carries], m.required[~carries], **style)
        self.carriers_ = ax.scatter(m.left_out[carries], m.required[carries], **style)
        ax.axvline(0.0, color="0.7", lw=0.8, zorder=0)
        ax.set(xlabel="margin without itself", ylabel="required margin")
        if np.any(carries):
            ax.set_yscale("log")
        return self

    @classmethod
    def from_estimator(
        cls, machine: AdaptiveMarginSVC, *, pair: int = 0, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Draw the margins of a fitted machine.

        Parameters
        ----------
        machine : AdaptiveMarginSVC or LeaveOneOutSVC
        pair : int, default=0
            Which pair of classes.
        ax : matplotlib Axes, optional
        **kwargs
            As in :meth:`plot`.

        Returns
        -------
        AdaptiveMarginDisplay
        """
        return cls(margins=machine.pairs_[pair]).plot(ax, **kwargs)
