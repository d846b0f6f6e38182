"""The margins that each pattern has to reach, drawn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer.plotting.base import Axes, Display
from mercer_research.estimators.adaptive_margin import AdaptiveMargins, AdaptiveMarginSVC

__all__ = ["AdaptiveMarginDisplay"]


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
    >>> from mercer_research.estimators import LeaveOneOutSVC
    >>> from mercer_research.plotting import AdaptiveMarginDisplay
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
