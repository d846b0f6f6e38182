"""What single samples do to a machine, and what it says of itself along a grid."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer._typing import PointsLike, TargetsLike
from mercer.machines.base import KernelMachine
from mercer.plotting.base import Axes, Display
from mercer.selection.leave_one_out_errors import Influence, influence
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
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
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

    def __init__(self, *, influence: Influence) -> None:
        self.influence = influence

    def plot(self, ax: Axes | None = None, *, x: Any = None, **kwargs: Any) -> Self:
        """Draw the stems.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        x : (n,) array-like, optional
            Where to draw each sample; its number by default.
        **kwargs
            For the points, as in ``Axes.plot``.

        Returns
        -------
        InfluenceDisplay
        """
        ax = self._draw_on(ax)
        size = self.influence.size
        places = np.arange(len(size)) if x is None else np.ravel(np.asarray(x, dtype=float))
        if places.shape != size.shape:
            raise ValueError(f"x must have one place for each of the {len(size)} samples.")
        (self.points_,) = ax.plot(places, size, **{"ls": "", "marker": "o", "ms": 4, **kwargs})
        self.stems_ = ax.vlines(places, 0.0, size, color=self.points_.get_color(), lw=1)
        ax.set(xlabel="sample" if x is None else "", ylabel="influence")
        return self

    @classmethod
    def from_estimator(
        cls,
        machine: KernelMachine,
        X: PointsLike,
        y: TargetsLike,
        *,
        points: Any = None,
        ax: Axes | None = None,
        **kw: Any,
    ) -> Self:
        """Leave out the samples of a fitted machine and draw what each does.

        Parameters
        ----------
        machine, X, y, points :
            As in :func:`mercer.selection.influence`.
        ax : matplotlib Axes, optional
        **kw
            As in :meth:`plot`.

        Returns
        -------
        InfluenceDisplay
        """
        return cls(influence=influence(machine, X, y, points)).plot(ax, **kw)


class StatisticsDisplay(Display):
    """Support vectors, errors, slacks and estimates along a grid, with the smallest of each.

    Parameters
    ----------
    statistics : SelectionStatistics
        From :func:`mercer.selection.protocols.selection_statistics`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : dict of matplotlib Line2D
        By statistic.
    """

    def __init__(self, *, statistics: SelectionStatistics) -> None:
        self.statistics = statistics

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        **kwargs
            For ``Axes.plot``.

        Returns
        -------
        StatisticsDisplay
        """
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
        ax.set(xscale="log", xlabel=s.parameter, ylabel="share of the sample")
        ax.legend()
        return self
