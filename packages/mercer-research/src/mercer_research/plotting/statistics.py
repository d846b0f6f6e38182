"""What a machine says of itself along a grid."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer.plotting.base import Axes, Display
from mercer_research.selection.protocols import SelectionStatistics

__all__ = ["StatisticsDisplay"]


class StatisticsDisplay(Display):
    """Support vectors, errors, slacks and estimates along a grid, with the smallest of each.

    Parameters
    ----------
    statistics : SelectionStatistics
        From :func:`mercer_research.selection.protocols.selection_statistics`.

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
