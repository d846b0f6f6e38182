"""A fitted machine drawn with its sample: a curve, a surface, or regions of classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mercer._typing import PointsLike, Predictor, TargetsLike
from mercer.kernels.points import Array
from mercer.plotting._sections import Section, positions
from mercer.plotting.base import Axes, Display, chosen_of

__all__ = ["FitDisplay"]

# Values of a feature along a curve, and along each of the two sides of a surface.
MAX_VALUES = {1: 300, 2: 120}


class FitDisplay(Display):
    """What a machine has learned, along one or two features, with the sample.

    A regression along one feature is a curve with its tube, interval or quantiles; along two it is
    a surface. A classifier along two features is a picture of the regions of its classes, with
    the lines on which the decision function is one in size where it has margins. Features that are
    not drawn are held at their medians.

    Parameters
    ----------
    grid : tuple of array
        Values of the features that are drawn.
    values : array
        Predictions at them, of shape (m,) or (m1, m2); for classes their positions.
    band : (m, 2) array, optional
        Ends of an interval or a tube around a curve.
    lines : (m, k) array, optional
        Quantiles beside a curve.
    decision : (m1, m2) array, optional
        Values of the decision function of two classes.
    points : tuple of array, optional
        Features of the sample that are drawn, and its targets or the positions of its classes.
    support : array of int, optional
        Samples that are support vectors.
    classes : array, optional
        Labels of classes.
    names : tuple of str
        Names of the features and the target.

    Attributes
    ----------
    line_ : matplotlib Line2D or None
        The curve.
    surface_ : matplotlib QuadContourSet or None
        The surface, or the regions.
    points_ : matplotlib PathCollection or None
        The sample.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVR
    >>> from mercer.plotting import FitDisplay
    >>> X = np.linspace(0.0, 6.0, 60)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> display = FitDisplay.from_estimator(SVR(C=10.0).fit(X, y), X, y)
    >>> display.ax_.get_xlabel(), display.band.shape
    ('x0', (300, 2))
    """

    grid: tuple[Array, ...]
    values: Array
    band: Array | None = None
    lines: Array | None = None
    decision: Array | None = None
    points: tuple[Array, ...] | None = None
    support: Array | None = None
    classes: Array | None = None
    names: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.line_: Any = None
        self.surface_: Any = None
        self.points_: Any = None

    def plot(self, ax: Axes | None = None, *, colour: object = None, size: float = 14.0) -> Self:
        """Draw the machine and its sample.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        colour : colour or colormap, optional
            Of the curve, or of the surface.
        size : float, default=14
            Of the points.
        """
        ax = self._draw_on(ax)
        draw = self._draw_curve if len(self.grid) == 1 else self._draw_plane
        draw(ax, colour, size)
        if self.points is not None and self.support is not None and len(self.support):
            across, up = (part[self.support] for part in self.points[:2])
            ax.scatter(across, up, s=3.0 * size, fc="none", ec="0.2", lw=0.7, zorder=4)
        return self._finish(xlabel=self.names[0], ylabel=self.names[1])

    def _draw_curve(self, ax: Axes, colour: object, size: float) -> None:
        (x,) = self.grid
        (self.line_,) = ax.plot(x, self.values, color=colour, lw=2.0, zorder=3)
        shade = self.line_.get_color()
        if self.band is not None:
            ax.fill_between(x, *self.band.T, color=shade, alpha=0.2, lw=0.0)
        if self.lines is not None:
            ax.plot(x, self.lines, color=shade, lw=0.8, ls="--")
        if self.points is not None:
            across, up = self.points
            self.points_ = ax.scatter(across, up, s=size, color="0.45", lw=0.0, zorder=2)

    def _draw_plane(self, ax: Axes, colour: object, size: float) -> None:
        x, y = self.grid
        if self.classes is None:
            self.surface_ = ax.contourf(x, y, self.values.T, 20, cmap=colour or "viridis")
            self.figure_.colorbar(self.surface_, ax=ax, label=self.names[2])
        else:
            levels = np.arange(len(self.classes) + 1) - 0.5
            shades = [f"C{i}" for i in range(len(self.classes))]
            self.surface_ = ax.contourf(x, y, self.values.T, levels, colors=shades, alpha=0.25)
            if self.decision is not None:
                dashes, widths = ["--", "-", "--"], [0.8, 1.6, 0.8]
                style: dict[str, Any] = {"linestyles": dashes, "linewidths": widths}
                ax.contour(x, y, self.decision.T, [-1.0, 0.0, 1.0], colors="0.2", **style)
        if self.points is None:
            return
        across, up, target = self.points
        if self.classes is None:
            style = {"c": target, "cmap": self.surface_.get_cmap(), "norm": self.surface_.norm}
            self.points_ = ax.scatter(across, up, s=size, ec="white", lw=0.5, **style)
        else:
            for i, label in enumerate(self.classes):
                x, y, style = across[target == i], up[target == i], {"label": str(label)}
                self.points_ = ax.scatter(x, y, s=size, color=f"C{i}", ec="white", lw=0.4, **style)
            ax.legend()

    @classmethod
    def from_estimator(
        cls,
        machine: Predictor,
        X: PointsLike,
        y: TargetsLike = None,
        *,
        features: Sequence[int | str] | None = None,
        support: bool = True,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Evaluate a fitted machine along one or two features, and draw it.

        Parameters
        ----------
        machine : fitted regressor or classifier
            Of this library or any other that predicts.
        X : (n, p) array or data frame
            The sample, or part of it.
        y : (n,) array, optional
            Its targets, to be drawn too.
        features : list of int or str, optional
            One or two features; by default all if there are one or two.
        support : bool, default=True
            Draw rings around support vectors, where `X` is the sample of the fit.
        """
        machine, section = chosen_of(machine), Section(X)
        p = len(section.names)
        if features is None and p > 2:
            raise ValueError(
                f"the table has {p} features: name one or two of them, features=[...]; "
                "EffectDisplay draws the effect of each."
            )
        drawn = positions(section.X, range(p) if features is None else features)
        if len(drawn) not in (1, 2) or len(set(drawn)) < len(drawn):
            raise ValueError("a fit is drawn along one or two different features.")
        names = [section.names[j] for j in drawn]
        target = getattr(y, "name", None) or "prediction"
        vectors = _support(machine, len(section.column(0))) if support and p <= 2 else None
        classes = getattr(machine, "classes_", None)
        if classes is not None and len(drawn) == 1:
            raise ValueError("regions of classes are drawn along two features.")
        points = None
        if y is not None:
            known = np.asarray(y) if classes is None else np.searchsorted(classes, np.asarray(y))
            points = (*(section.column(j) for j in drawn), known)
        sides = tuple(section.grid(j, MAX_VALUES[len(drawn)]) for j in drawn)
        shape = tuple(len(side) for side in sides)
        mesh = [side.ravel() for side in np.meshgrid(*sides, indexing="ij")]
        rows = section.rows(dict(zip(drawn, mesh, strict=True)))
        values = np.asarray(machine.predict(rows))
        found: dict[str, Any] = {"support": vectors, "classes": classes, "points": points}
        if len(drawn) == 1:
            found["band"], found["lines"] = _around(machine, rows)
        elif classes is not None:
            values = np.searchsorted(classes, values)
            if len(classes) == 2 and hasattr(machine, "decision_function"):
                found["decision"] = np.asarray(machine.decision_function(rows)).reshape(shape)
        found["names"] = (*names, target)
        return cls(grid=sides, values=values.reshape(shape), **found).plot(ax, **kwargs)


def _support(machine: Predictor, n: int) -> Array | None:
    """Return which samples are support vectors, unless all are or others were fitted."""
    found = getattr(machine, "support_", None)
    if found is None or len(found) >= n or np.max(found, initial=-1) >= n:
        return None
    return np.asarray(found)


def _around(machine: Predictor, rows: PointsLike) -> tuple[Array | None, Array | None]:
    """Return the interval, else the tube, and the quantiles of a regression."""
    lines = None
    if hasattr(machine, "predict_quantiles"):
        lines = np.asarray(machine.predict_quantiles(rows))
    if hasattr(machine, "predict_interval"):
        return np.asarray(machine.predict_interval(rows)), lines
    width = getattr(machine, "epsilon_", getattr(machine, "epsilon", None))
    if isinstance(width, float | int) and width > 0.0:
        f = np.ravel(machine.predict(rows))
        return np.column_stack([f - width, f + width]), lines
    return None, lines
