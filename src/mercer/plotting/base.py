"""What all displays share: axes that are given or made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

try:
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes
    from matplotlib.colors import BoundaryNorm
    from matplotlib.figure import Figure
except ImportError as error:
    raise ImportError("Plots need matplotlib: python -m pip install 'mercer[plot]'.") from error

__all__ = ["Axes", "BoundaryNorm", "Display", "Figure", "axes_of", "chosen_of", "figure_of", "plt"]


def axes_of(ax: Any, count: int = 1, space: bool = False) -> list[Axes]:
    """Return as many axes as a display needs, new ones in one row if none are given.

    Axes in space, of three dimensions, are asked for by ``space=True``.
    """
    if ax is None:
        kind = {"projection": "3d"} if space else {}
        _, ax = plt.subplots(1, count, squeeze=False, subplot_kw=kind)
    given: list[Any] = list(np.ravel(ax)) if isinstance(ax, Sequence | np.ndarray) else [ax]
    if len(given) != count or not all(isinstance(one, Axes) for one in given):
        wanted = "one Axes" if count == 1 else f"a sequence of {count} Axes"
        raise ValueError(f"ax must be {wanted} of matplotlib, got {ax!r}.")
    if space and not all(one.name == "3d" for one in given):
        raise ValueError("three coordinates need axes made with projection='3d'.")
    return given


def chosen_of(estimator: Any) -> Any:
    """Return the estimator that a search chose, or the one that is given."""
    return getattr(estimator, "best_estimator_", estimator)


def figure_of(ax: Axes) -> Figure:
    """Return the figure that axes belong to."""
    figure = ax.get_figure(root=True)
    if figure is None:
        raise ValueError("The axes belong to no figure.")
    return figure


class Display:
    """A display on one pair of axes, which it keeps with their figure."""

    ax_: Axes
    figure_: Figure

    def _draw_on(self, ax: Axes | None, space: bool = False) -> Axes:
        """Return the axes that are given, or new ones, and keep them."""
        (self.ax_,) = axes_of(ax, space=space)
        self.figure_ = figure_of(self.ax_)
        return self.ax_
