"""Small figures for a page: one thought each, with both axes named."""

from __future__ import annotations

import numpy as np

from mercer.kernels.points import Array
from mercer.plotting.base import Axes

__all__ = [
    "bars",
    "calibration",
    "confusion",
    "descent",
    "histogram",
    "intervals",
    "kept",
    "reliability",
    "roc",
    "versus",
]


def _label(ax: Axes, x: str, y: str) -> None:
    """Name both axes; a dollar in a name is a dollar, no formula."""
    ax.set_xlabel(x, parse_math=False)
    ax.set_ylabel(y, parse_math=False)


def histogram(ax: Axes, values: Array, name: str, what: str = "rows") -> None:
    """Draw how many values lie where.

    Parameters
    ----------
    ax : matplotlib Axes
    values : (n,) array
    name : str
        What the values are.
    what : str, default="rows"
        What is counted.
    """
    ax.hist(values, bins=min(40, max(8, int(np.sqrt(len(values))))), color="C0", alpha=0.8)
    _label(ax, name, what)


def bars(ax: Axes, names: list[str], values: Array, what: str) -> None:
    """Draw named values as horizontal bars, the first on top.

    Parameters
    ----------
    ax : matplotlib Axes
    names : list of str
    values : (m,) array
    what : str
        What the values are.
    """
    places = np.arange(len(names))
    ax.barh(places, values, color="C0", alpha=0.8)
    ax.set_yticks(places, names, parse_math=False)
    ax.invert_yaxis()
    _label(ax, what, "")


def versus(
    ax: Axes,
    x: Array,
    y: Array,
    names: tuple[str, str],
    line: str,
    ends: Array | None = None,
) -> None:
    """Draw points, and the line on which they would lie without errors.

    Parameters
    ----------
    ax : matplotlib Axes
    x, y : (n,) array
    names : tuple of str
    line : {"equal", "zero"}
        The diagonal, or the horizontal axis.
    ends : (n, 2) array, optional
        Ends of an interval for each y.
    """
    if ends is not None:
        ax.vlines(x, *ends.T, color="C0", alpha=0.2, lw=1.5)
    ax.scatter(x, y, s=9.0, color="C0", alpha=0.6, lw=0.0)
    if line == "equal":
        corners = [min(x.min(), y.min()), max(x.max(), y.max())]
        ax.plot(corners, corners, color="0.3", lw=1.0)
    else:
        ax.axhline(0.0, color="0.3", lw=1.0)
    _label(ax, *names)


def roc(ax: Axes, false: Array, true: Array) -> None:
    """Draw the ROC curve of two classes.

    Parameters
    ----------
    ax : matplotlib Axes
    false, true : (m,) array
        Rates of false and true positives.
    """
    ax.plot([0, 1], [0, 1], color="0.7", lw=1.0)
    ax.plot(false, true, color="C0", lw=2.0)
    ax.set_aspect("equal")
    _label(ax, "false positive rate", "true positive rate")


def calibration(ax: Axes, said: Array, came: Array, counts: Array) -> None:
    """Draw how often the class occurs where a probability was predicted.

    Parameters
    ----------
    ax : matplotlib Axes
    said, came : (m,) array
        Mean predicted probability and observed share of the class, by bins.
    counts : (m,) array
        Rows of each bin, which set the size of its mark.
    """
    ax.plot([0, 1], [0, 1], color="0.7", lw=1.0)
    ax.plot(said, came, color="C0", lw=1.0)
    ax.scatter(said, came, s=12.0 + 120.0 * counts / counts.max(), color="C0", alpha=0.8, lw=0.0)
    ax.set_aspect("equal")
    _label(ax, "predicted probability", "observed share")


def reliability(said: Array, came: Array, bins: int = 10) -> tuple[Array, Array, Array]:
    """Return mean probability, share and count by bins of equally many rows.

    Parameters
    ----------
    said : (n,) array
        Predicted probabilities of a class.
    came : (n,) array of bool
        Whether it was observed.
    bins : int, default=10

    Examples
    --------
    >>> said, came = np.array([0.1, 0.3, 0.6, 0.8]), np.array([False, False, True, True])
    >>> [part.round(1).tolist() for part in reliability(said, came, bins=2)]
    [[0.2, 0.7], [0.0, 1.0], [2, 2]]
    """
    groups = [g for g in np.array_split(np.argsort(said, kind="stable"), bins) if len(g)]
    return (
        np.array([said[g].mean() for g in groups]),
        np.array([came[g].mean() for g in groups]),
        np.array([len(g) for g in groups]),
    )


def confusion(ax: Axes, names: list[str], counts: Array) -> None:
    """Draw the shares of every class that are predicted as each class.

    Parameters
    ----------
    ax : matplotlib Axes
    names : list of str
    counts : (k, k) array
        Rows are observed, columns predicted classes.
    """
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ax.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0)
    if len(names) <= 10:
        for (i, j), share in np.ndenumerate(shares):
            colour = "white" if share > 0.6 else "0.2"
            ax.text(j, i, f"{counts[i, j]:.0f}", ha="center", va="center", color=colour)
    places = np.arange(len(names))
    ax.set_xticks(places, [name[:12] for name in names], rotation=30, parse_math=False)
    ax.set_yticks(places, [name[:12] for name in names], parse_math=False)
    _label(ax, "predicted", "observed")


def intervals(ax: Axes, y: Array, ends: Array, name: str) -> None:
    """Draw intervals in the order of their middles, with what was observed.

    Parameters
    ----------
    ax : matplotlib Axes
    y : (n,) array
    ends : (n, 2) array
    name : str
        What is predicted.
    """
    order = np.argsort(ends.mean(axis=1))
    y, (low, high) = y[order], ends[order].T
    x, inside = np.arange(len(y)), (low <= y) & (y <= high)
    ax.vlines(x, low, high, color="C0", alpha=0.35, lw=3.0)
    ax.scatter(x[inside], y[inside], s=12.0, color="0.3", lw=0.0, zorder=3, label="inside")
    ax.scatter(x[~inside], y[~inside], s=18.0, color="C1", lw=0.0, zorder=3, label="outside")
    ax.legend(loc="upper left", ncols=2)
    _label(ax, "rows, by predicted value", name)


def descent(ax: Axes, values: Array, best: int, name: str) -> None:
    """Draw the criterion of all trials in their order, and the best of them.

    Parameters
    ----------
    ax : matplotlib Axes
    values : (m,) array
    best : int
        Position of the best.
    name : str
        What the values are.
    """
    ax.plot(np.arange(1, len(values) + 1), values, ".-", color="C0", lw=1.0)
    ax.plot(best + 1, values[best], "o", color="C1", ms=7.0)
    _label(ax, "trial", name)


def kept(ax: Axes, share: Array) -> None:
    """Draw the share of every component of the data that a smoother keeps.

    Parameters
    ----------
    ax : matplotlib Axes
    share : (m,) array
        Between 0 and 1, falling.
    """
    x = np.arange(1, len(share) + 1)
    ax.fill_between(x, share, color="C0", alpha=0.2, lw=0.0)
    ax.plot(x, share, color="C0", lw=2.0)
    ax.set_ylim(0.0, 1.02)
    ax.set_xlim(1.0, max(len(share), 2))
    _label(ax, "component, smooth to rough", "share kept")
