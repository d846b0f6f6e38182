"""The distribution of margins, drawn."""

from __future__ import annotations

from typing import Any, Self

from mercer.inspect.margins import MarginReport, margin_report
from mercer.plotting.base import Axes, Display, Factory

__all__ = ["MarginDisplay"]


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
