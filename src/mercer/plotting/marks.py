"""Marks of rows: colours of classes and of numbers, with a legend or a scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mercer.kernels.points import Array
from mercer.plotting.base import Axes, plt

__all__ = ["BESIDE", "Marks", "mark"]

# More different numbers than this are drawn on a scale of colours, fewer as classes.
MAX_CLASSES = 12

# A legend beside the axes, because rows may lie anywhere in them.
BESIDE: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}


@dataclass(frozen=True)
class Marks:
    """Labels of rows as classes or as numbers.

    Parameters
    ----------
    codes : (n,) array of int
        Class of every row; zero everywhere if there are none.
    names : list
        Labels of the classes.
    values : (n,) array or None
        Numbers, if the labels are numbers and too many to be classes.
    """

    codes: NDArray[np.int64]
    names: list[Any]
    values: Array | None

    @property
    def numeric(self) -> bool:
        """Whether the labels are drawn on a scale."""
        return self.values is not None

    @classmethod
    def of(cls, labels: object, n: int = 0) -> Self:
        """Return the marks of labels, or of n rows without any."""
        if labels is None:
            return cls(np.zeros(n, dtype=np.int64), [], None)
        labels = np.asarray(labels)
        names, codes = np.unique(labels, return_inverse=True)
        if np.issubdtype(labels.dtype, np.number) and len(names) > MAX_CLASSES:
            return cls(np.zeros(len(labels), dtype=np.int64), [], labels.astype(np.float64))
        return cls(codes.astype(np.int64), list(names), None)


def mark(ax: Axes, places: Array, marks: Marks, *, legend: bool, **kwargs: Any) -> list[Any]:
    """Draw rows at places (n, 2 or 3) and return their collections, one for each class."""
    style: dict[str, Any] = {"s": 14, "alpha": 0.8, "linewidths": 0.0, "zorder": 2, **kwargs}
    if marks.numeric:
        style["c"] = marks.values
        drawn = ax.scatter(*places.T, **style)
        if legend:
            ax.figure.colorbar(drawn, ax=ax)
        return [drawn]
    if not marks.names:
        return [ax.scatter(*places.T, **style)]
    # The cycle of colours of a style may be short, and would give two classes the same one.
    tab = plt.get_cmap("tab10" if len(marks.names) <= 10 else "tab20")
    few = len(marks.names) <= 6
    found = []
    for code, name in enumerate(marks.names):
        colour = {"color": f"C{code}" if few else tab(code), "label": str(name)}
        found.append(ax.scatter(*places[marks.codes == code].T, **{**colour, **style}))
    if legend:
        ax.legend(frameon=False, **BESIDE)
    return found
