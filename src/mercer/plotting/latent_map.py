"""Maps of data: latent coordinates of rows, with labels, new points and magnification."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.stats import qmc

from mercer._typing import AnyArray, PointsLike, TargetsLike
from mercer.kernels.points import Array
from mercer.manifold.latent import Latent, as_latent
from mercer.plotting.base import Axes, Display, chosen_of
from mercer.plotting.charts import chart_of
from mercer.plotting.marks import BESIDE, Marks, mark

__all__ = ["LatentMapDisplay"]

# Half the width in which the rows of a lane are spread, so that they do not hide each other.
LANE_HALF_WIDTH = 0.35

STAR: dict[str, Any] = {"marker": "*", "s": 140, "c": "black", "edgecolor": "white", "zorder": 4}


class LatentMapDisplay(Display):
    r"""A map of data: the latent coordinates of rows, coloured by labels.

    A square, a torus or a sphere (by longitude and height, which keeps areas) is drawn with its
    boundary, which is dashed where the set goes on at the other side; a cube in space. The rows of
    a curve lie on a line or around a circle, in one lane for each class.

    Parameters
    ----------
    coordinates : (n, D) array
        Latent coordinates of rows.
    latent : Latent, optional
        The set that they lie in; without it they are drawn as scores of one to three components.
    labels : (n,) array, optional
        Classes, or numbers of which there are too many to be classes.
    new : (k, D) array, optional
        Coordinates of new rows.
    magnification : array, optional
        Factor by which areas are enlarged, at m cells of a curve or m x m cells of a sheet, the
        second coordinate by rows.

    Attributes
    ----------
    points_ : list of matplotlib PathCollection
        One for each class, or one.
    new_ : matplotlib PathCollection or None
        New rows.
    outline_ : list of matplotlib Line2D
        Boundary of the latent set.
    mesh_ : matplotlib QuadMesh or None
        The magnification.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer.manifold import Grid, PrincipalManifold
    >>> from mercer.plotting import LatentMapDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> sheet = PrincipalManifold(Grid(5, 5), lam=0.01).fit(X)
    >>> display = LatentMapDisplay.from_estimator(sheet, y=y, magnification=True)
    >>> len(display.points_), display.magnification.shape
    (3, (60, 60))
    """

    coordinates: Array
    latent: Latent | None = None
    labels: AnyArray | None = None
    new: Array | None = None
    magnification: Array | None = None

    def __post_init__(self) -> None:
        self.coordinates = _columns("coordinates", self.coordinates)
        self.chart = chart_of(self.latent, self.coordinates.shape[1])
        self.labels = None if self.labels is None else np.asarray(self.labels)
        self.new = None if self.new is None else _columns("new", self.new)
        n, D = self.coordinates.shape
        if self.labels is not None and self.labels.shape != (n,):
            raise ValueError(f"{n} rows need {n} labels, got shape {self.labels.shape}.")
        if self.new is not None and self.new.shape[1] != D:
            raise ValueError(f"new rows have {self.new.shape[1]} coordinates, the others {D}.")

    def plot(
        self, ax: Axes | None = None, *, legend: bool = True, cmap: object = "Greys", **kwargs: Any
    ) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones if not given; ``projection="3d"`` for three coordinates.
        legend : bool, default=True
            Name the classes, or show the scale of numbers.
        cmap : str or Colormap, default="Greys"
            Colours of the magnification.
        **kwargs
            For ``Axes.scatter``.
        """
        ax = self._draw_on(ax, self.chart.space)
        self.mesh_ = None if self.magnification is None else self._shade(ax, cmap)
        self.outline_ = [
            line
            for path, open_ in self.chart.outline()
            for line in ax.plot(*path.T, color="0.5", lw=1.0, ls="--" if open_ else "-", zorder=1)
        ]
        marks = Marks.of(self.labels, len(self.coordinates))
        lane, ticks = self._lanes(marks)
        places = self.chart.place(self.coordinates, lane)
        self.points_ = mark(ax, places, marks, legend=legend and not ticks, **kwargs)
        self.new_ = None
        if self.new is not None:
            below = np.full(len(self.new), min(lane.min(initial=0.0) - 0.5, -1.0))
            at = self.chart.place(self.new, below)
            self.new_ = ax.scatter(*at.T, label="new", **STAR)
            if legend and not marks.numeric:
                ax.legend(frameon=False, **BESIDE)
        self._name(ax, ticks)
        return self

    def _lanes(self, marks: Marks) -> tuple[Array, dict[float, str]]:
        """Return the lane of every row of a curve, and the names of lanes."""
        n = len(self.coordinates)
        if not self.chart.lanes:
            return np.zeros(n), {}
        ring = self.chart.equal
        if marks.numeric and not ring:
            return np.asarray(self.labels, dtype=np.float64), {}
        lane = np.zeros(n)
        for code in range(max(len(marks.names), 1)):
            rows = np.flatnonzero(marks.codes == code)
            order = rows[np.argsort(self.coordinates[rows, 0], kind="stable")]
            # Van der Corput's numbers between 0 and 1, of which any neighbours are far apart.
            apart = qmc.Halton(1, scramble=False).random(len(order) + 1)[1:, 0]
            lane[order] = code + LANE_HALF_WIDTH * (2.0 * apart - 1.0)
        names = {} if ring else {float(j): str(name) for j, name in enumerate(marks.names)}
        return lane, names

    def _shade(self, ax: Axes, cmap: Any) -> Any:
        values = np.asarray(self.magnification)
        _, X, Y = self.chart.cells(values.shape[-1])
        flat = values.reshape(X.shape[0] - 1, X.shape[1] - 1)
        # A strip has no height of its own: it fills the axes.
        strip = self.chart.lanes and not self.chart.equal
        across: dict[str, Any] = {"transform": ax.get_xaxis_transform()} if strip else {}
        mesh = ax.pcolormesh(X, Y, flat, cmap=cmap, alpha=0.6, zorder=0, **across)
        ax.figure.colorbar(mesh, ax=ax, location="bottom", shrink=0.7, label="magnification")
        return mesh

    def _name(self, ax: Any, ticks: dict[float, str]) -> None:
        names = self.chart.names
        ax.set(xlabel=names[0], ylabel=names[1] if len(names) > 1 else "")
        if self.chart.space:
            ax.set(zlabel=names[2])
        elif self.chart.equal:
            ax.set_aspect("equal")
        if self.chart.lanes and self.chart.equal:
            ax.set_axis_off()
        elif self.chart.lanes and (ticks or self.labels is None):
            ax.set_yticks([*ticks], [*ticks.values()])

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: PointsLike = None,
        y: TargetsLike = None,
        *,
        new: Any = None,
        magnification: bool = False,
        cells: int = 60,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the coordinates that a fitted estimator gives to rows.

        Parameters
        ----------
        estimator : estimator
            For example ``PrincipalManifold(2).fit(X)``, or any transformer to at most three
            columns, such as ``KernelPCA(2).fit(X)``.
        X : (n, d) array-like, optional
            Rows; those of the fit if not given and the estimator keeps their coordinates.
        y : (n,) array-like, optional
            Labels.
        new : (k, d) array-like, optional
            New rows, drawn as stars.
        magnification : bool, default=False
            Colour the latent set by the factor by which the map enlarges areas: dark where
            neighbours on the map are far from each other in the data.
        cells : int, default=60
            Number of colours along an edge.
        """
        estimator = chosen_of(estimator)
        if X is None and not hasattr(estimator, "embedding_"):
            raise ValueError(f"{type(estimator).__name__} keeps no coordinates of rows; give X.")
        Z = _columns("coordinates", estimator.embedding_ if X is None else estimator.transform(X))
        given = getattr(estimator, "latent", None)
        latent = None if given is None else as_latent(given)
        factor = None
        if magnification:
            points, _, Y = chart_of(latent, Z.shape[1]).cells(cells)
            factor = np.asarray(estimator.magnification(points))
            factor = factor.reshape(Y.shape[0] - 1, Y.shape[1] - 1)
        placed = None if new is None else estimator.transform(new)
        fields = {"latent": latent, "labels": y, "new": placed, "magnification": factor}
        return cls(coordinates=Z, **fields).plot(ax, **kwargs)


def _columns(name: str, given: object) -> Array:
    Z: Array = np.asarray(given, dtype=np.float64)
    if Z.ndim != 2:
        raise ValueError(f"{name} must have one row for each row of data, got shape {Z.shape}.")
    return Z
