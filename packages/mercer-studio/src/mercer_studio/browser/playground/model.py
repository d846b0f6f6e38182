"""Points drawn by hand and settings: a value that is changed by making the next one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from mercer._threads import one_thread
from mercer._typing import Array
from mercer_studio.browser.playground.picture import Picture, draw
from mercer_studio.browser.playground.point_sets import DECIMALS, POINT_SETS, Labels
from mercer_studio.browser.playground.settings import Settings

__all__ = ["MAX_POINTS", "N_CLASSES", "Drawing", "Playground"]

MAX_POINTS = 1000
"""Most points of a drawing: an exact refit of more takes longer than a slider waits."""

N_CLASSES = 3
"""Classes that can be drawn."""

UNDO_STEPS = 100


@dataclass(frozen=True, eq=False)
class Drawing:
    """Points and their labels, checked.

    Parameters
    ----------
    points : array-like of shape (n, 2)
        Coordinates, rounded to three decimals.
    labels : array-like of shape (n,)
        Classes 0, 1 or 2; not read by curves.
    """

    points: Array
    labels: Labels

    def __post_init__(self) -> None:
        points = np.asarray(self.points, dtype=float).reshape(-1, 2).round(DECIMALS) + 0.0
        labels = np.asarray(self.labels, dtype=np.intp).reshape(-1)
        if len(labels) != len(points):
            raise ValueError(f"{len(points)} points have {len(labels)} labels; give one for each.")
        if len(points) > MAX_POINTS:
            raise ValueError(
                f"{len(points):,} points are more than the playground refits while a slider moves; "
                f"it takes up to {MAX_POINTS:,}."
            )
        if not np.isfinite(points).all():
            raise ValueError("coordinates must be finite; some are NaN or infinite.")
        if len(labels) and not (labels.min() >= 0 and labels.max() < N_CLASSES):
            raise ValueError(f"labels must be 0, 1 or 2; got {sorted(set(labels.tolist()))}.")
        for array in (points, labels):
            array.flags.writeable = False
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "labels", labels)

    def same(self, other: Drawing) -> bool:
        """Answer whether another drawing has equal points and labels."""
        return np.array_equal(self.points, other.points) and np.array_equal(
            self.labels, other.labels
        )


NOTHING = Drawing(np.zeros((0, 2)), np.zeros(0, dtype=np.intp))


@dataclass(frozen=True, eq=False)
class Playground:
    r"""Points in the plane with settings of a kernel machine; :meth:`fit` draws the machine.

    .. math:: \min_{f, b} \tfrac12 \|f\|^2 + C \sum_i l(y_i, f(x_i) + b)

    Every change returns the next playground, so that one that is being fitted stays as it is.

    Parameters
    ----------
    drawing : Drawing
        The points and their labels.
    settings : Settings
        What the sliders say.
    earlier : tuple of Drawing
        Drawings that :meth:`undo` returns to, the last one first.

    Examples
    --------
    >>> from mercer_studio.browser.playground import Playground
    >>> sheet = Playground.from_set("two moons", n=100).change(C=10.0)
    >>> picture = sheet.fit()
    >>> picture.counts
    '21 of 100 points are support vectors; 3 are misclassified (3.0 %).'
    >>> sheet.add(0.0, 0.5, label=1).add(2.0, 0.0, label=0).n_points
    102
    >>> Playground().add(0.0, 0.0).fit().message
    'Draw points of a second class: a classifier needs two.'
    """

    drawing: Drawing = NOTHING
    settings: Settings = field(default_factory=Settings)
    earlier: tuple[Drawing, ...] = ()

    @classmethod
    def from_set(cls, name: str, n: int = 100, *, seed: int = 0, **settings: Any) -> Self:
        """Return a playground with a set of points.

        Parameters
        ----------
        name : str
            A key of :data:`~mercer_studio.browser.playground.POINT_SETS`.
        n : int, default=100
            Number of points.
        seed : int, default=0
            Of the random generator.
        **settings
            Of :class:`Settings`, except the task, which is that of the set.
        """
        points = POINT_SETS[name]
        return cls(Drawing(*points.points(n, seed)), Settings(task=points.task, **settings))

    @property
    def points(self) -> Array:
        """Coordinates, of shape (n, 2)."""
        return self.drawing.points

    @property
    def labels(self) -> Labels:
        """Classes, of shape (n,)."""
        return self.drawing.labels

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.points)

    def draw(self, points: Any, labels: Any) -> Self:
        """Return a playground with other points, which can be undone; itself if they are equal.

        Parameters
        ----------
        points : array-like of shape (n, 2)
        labels : array-like of shape (n,)
        """
        drawing = Drawing(points, labels)
        if drawing.same(self.drawing):
            return self
        earlier = (*self.earlier, self.drawing)[-UNDO_STEPS:]
        return replace(self, drawing=drawing, earlier=earlier)

    def add(self, x: float, y: float, label: int = 0) -> Self:
        """Return a playground with one more point."""
        return self.draw(np.vstack([self.points, [x, y]]), np.append(self.labels, label))

    def move(self, index: int, x: float, y: float) -> Self:
        """Return a playground with a point elsewhere."""
        points = self.points.copy()
        points[index] = x, y
        return self.draw(points, self.labels)

    def remove(self, index: int | list[int]) -> Self:
        """Return a playground without a point, or without several."""
        return self.draw(np.delete(self.points, index, axis=0), np.delete(self.labels, index))

    def clear(self) -> Self:
        """Return a playground without points."""
        return self.draw(NOTHING.points, NOTHING.labels)

    def undo(self) -> Self:
        """Return a playground with the points before the last change of points."""
        if not self.earlier:
            return self
        *earlier, drawing = self.earlier
        return replace(self, drawing=drawing, earlier=tuple(earlier))

    def change(self, **settings: Any) -> Self:
        """Return a playground with other settings.

        Parameters
        ----------
        **settings
            Of :class:`Settings`. Another task has its own first loss unless one is given.
        """
        if settings.get("task", self.settings.task) != self.settings.task:
            settings.setdefault("loss", "")
        return replace(self, settings=replace(self.settings, **settings))

    def fit(self) -> Picture:
        """Fit the machine and return all that is drawn of it.

        Returns
        -------
        Picture
            With a sentence instead of a machine where the points do not suffice.
        """
        # Several threads take as long for so few points, and keep the browser from its share.
        with one_thread():
            return draw(self.points, self.labels, self.settings)
