"""What single samples do to a machine, and what it says of itself along a grid."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer.plotting.base import Axes, Display, Factory
from mercer.selection.leave_one_out_errors import Influence
from mercer.selection.leave_one_out_errors import influence as compute_influence
from mercer.selection.protocols import SelectionStatistics

__all__ = ["InfluenceDisplay", "StatisticsDisplay"]


class InfluenceDisplay(Display):
    """The size of every sample's sensitivity curve, as stems; who has none carries nothing.

    Parameters
    ----------
    influence : Influence
        From :func:`mercer.selection.influence`.

    Attributes
    ----------
    stems_ : matplotlib LineCollection
    points_ : matplotlib Line2D

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVR
    >>> from mercer.plotting import InfluenceDisplay
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> machine = SVR(epsilon=0.2).fit(X, np.sin(X[:, 0]))
    >>> display = InfluenceDisplay.from_estimator(machine, X, np.sin(X[:, 0]))
    >>> display.ax_.get_ylabel()
    'influence'
    """

    influence: Influence
    from_estimator = Factory(compute_influence)

    def plot(self, ax: Axes | None = None, *, x: object = None, **kwargs: Any) -> Self:
        """Draw the stems.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        x : (n,) array-like, optional
            Where to draw each sample; its number by default.
        **kwargs
            For the points, as in ``Axes.plot``.
        """
        ax = self._draw_on(ax)
        size = self.influence.size
        places = np.arange(len(size)) if x is None else np.ravel(np.asarray(x, dtype=float))
        if places.shape != size.shape:
            raise ValueError(f"x must have one place for each of the {len(size)} samples.")
        (self.points_,) = ax.plot(places, size, **{"ls": "", "marker": "o", "ms": 4, **kwargs})
        self.stems_ = ax.vlines(places, 0.0, size, color=self.points_.get_color(), lw=1)
        return self._finish(xlabel="sample" if x is None else "", ylabel="influence")


class StatisticsDisplay(Display):
    """Support vectors, errors, slacks and estimates along a grid, with the smallest of each.

    Parameters
    ----------
    statistics : SelectionStatistics
        From :func:`mercer.selection.protocols.selection_statistics`.

    Attributes
    ----------
    lines_ : dict of matplotlib Line2D
        By statistic.
    """

    statistics: SelectionStatistics

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the curves by ``Axes.plot``."""
        ax = self._draw_on(ax)
        s = self.statistics
        curves = {
            "support vectors": s.support,
            "training error": s.training_error,
            "mean slack": s.slack,
            "Jaakkola-Haussler": s.jaakkola_haussler,
        }
        if s.test_error is not None:
            curves["test error"] = s.test_error
        self.lines_ = {}
        for name, curve in curves.items():
            (line,) = ax.plot(s.values, curve, label=name, **kwargs)
            k = int(np.argmin(curve))
            ax.plot(s.values[k], curve[k], "o", color=line.get_color())
            self.lines_[name] = line
        labels: dict[str, Any] = {"xlabel": s.parameter, "ylabel": "share of the sample"}
        return self._finish(xscale="log", **labels, legend={})
