"""Margins drawn: their distribution, and what each pattern has to reach."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer.estimators.adaptive_margin import AdaptiveMargins, AdaptiveMarginSVC
from mercer.inspect.margins import MarginReport, margin_report
from mercer.plotting.base import Axes, Display, Factory

__all__ = ["AdaptiveMarginDisplay", "MarginDisplay"]


class MarginDisplay(Display):
    r"""The share of samples up to each margin, as steps; those left of zero are mistakes.

    Parameters
    ----------
    report : MarginReport
        From :func:`mercer.inspect.margin_report`.

    Attributes
    ----------
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

    report: MarginReport
    from_estimator = Factory(margin_report)

    def plot(self, ax: Axes | None = None, *, geometric: bool = False, **kwargs: Any) -> Self:
        """Draw the steps.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        geometric : bool, default=False
            Divide by the norm of the function, so that machines of any scale compare.
        **kwargs
            For ``Axes.step``.
        """
        ax = self._draw_on(ax)
        sizes, shares = self.report.distribution()
        sizes = sizes / self.report.norm if geometric else sizes
        (self.line_,) = ax.step(sizes, shares, **{"where": "post", **kwargs})
        ax.axvline(0.0, color="0.7", lw=0.8, zorder=0)
        label = "distance" if geometric else "margin"
        return self._finish(xlabel=label, ylabel="share of the sample")


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

    margins: AdaptiveMargins

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the patterns by ``Axes.scatter``."""
        ax = self._draw_on(ax)
        m, carries = self.margins, self.margins.alpha > 0
        style = {"s": 22, **kwargs}
        self.points_ = ax.scatter(m.left_out[~carries], m.required[~carries], **style)
        self.carriers_ = ax.scatter(m.left_out[carries], m.required[carries], **style)
        ax.axvline(0.0, color="0.7", lw=0.8, zorder=0)
        scale = "log" if np.any(carries) else "linear"
        return self._finish(xlabel="margin without itself", ylabel="required margin", yscale=scale)

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
        """
        return cls(margins=machine.pairs_[pair]).plot(ax, **kwargs)
