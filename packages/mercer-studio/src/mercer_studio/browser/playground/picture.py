"""A fitted machine as it is drawn: values on a grid, lines, support vectors, words."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import cast

import numpy as np
from contourpy import contour_generator
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.solvers import Solution
from mercer_studio.browser.playground.point_sets import WINDOW, Labels
from mercer_studio.browser.playground.script import write_script
from mercer_studio.browser.playground.settings import Recipe, Settings
from mercer_studio.browser.playground.words import (
    certificate,
    class_counts,
    curve_counts,
    explanation,
)

__all__ = ["CURVE_POINTS", "GRID", "Picture", "draw", "grid_axes"]

GRID = (97, 73)
"""Columns and rows of the grid of decision values: squares of 1/16 in the window."""

CURVE_POINTS = 401
"""Inputs at which a curve is evaluated."""

# Pixels of an image for every square of the grid, by linear interpolation.
PIXELS = 3
# Colours of a class, and the decision value that has the last of them.
STEPS, FULL = 85, 2.0

Lines = tuple[Array, ...]


def grid_axes() -> tuple[Array, Array]:
    """Return the coordinates of the columns and of the rows of the grid."""
    left, right, low, high = WINDOW
    return np.linspace(left, right, GRID[0]), np.linspace(low, high, GRID[1])


@dataclass(frozen=True, eq=False)
class Picture:
    """All that is drawn of a playground, without a browser.

    Parameters
    ----------
    points, labels : ndarray of shape (n, 2) and (n,)
        What was fitted.
    settings : Settings
        By which settings.
    message : str
        Why there is no machine; empty if there is one.
    recipe : Recipe, optional
        The estimator.
    values : ndarray
        Decision values on the grid, of shape (73, 97), or (73, 97, 3) for three classes; of a
        curve, its values at 401 inputs, of shape (401,).
    classes : tuple of int
        Labels in the order of the decision values; positive speaks for the second of two.
    support : ndarray
        Indices of the support vectors.
    gap : float
        Relative duality gap.
    counts, certificate, explanation : str
        Support vectors and training errors, how exact the fit is, and what one sees.
    """

    points: Array
    labels: Labels
    settings: Settings
    message: str = ""
    recipe: Recipe | None = None
    values: Array = field(default_factory=lambda: np.zeros(0))
    classes: tuple[int, ...] = ()
    support: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    gap: float = np.nan
    counts: str = ""
    certificate: str = ""
    explanation: str = ""

    @property
    def half_width(self) -> float:
        """Half-width of the band around a curve, 0 for losses without one."""
        s = self.settings
        return {"epsilon_insensitive": s.epsilon, "huber": s.delta}.get(s.loss, 0.0)

    @property
    def ringed(self) -> NDArray[np.intp]:
        """Support vectors that are marked: none where the loss makes one of every point."""
        every = len(self.support) == len(self.points)
        return self.support[:0] if every and not self.settings.is_sparse else self.support

    @cached_property
    def script(self) -> str:
        """The lines that repeat the fit, to the last bit."""
        if self.recipe is None:
            return ""
        return write_script(self.points, self.labels, self.settings.task, self.recipe)

    @cached_property
    def short_script(self) -> str:
        """The same lines with the points left out, to be read."""
        if self.recipe is None:
            return ""
        return write_script(self.points, self.labels, self.settings.task, self.recipe, short=True)

    def boundary(self) -> Lines:
        """Return the lines on which the decision changes, each of shape (k, 2)."""
        if self.values.ndim == 2:
            return _contours(self.values, 0.0)
        # Two classes of three are on one side of every boundary.
        lead = [
            self.values[..., k] - np.delete(self.values, k, axis=-1).max(axis=-1) for k in (0, 1)
        ]
        return tuple(line for values in lead for line in _contours(values, 0.0))

    def margins(self) -> tuple[Lines, ...]:
        """Return the lines at decision value 1 of every class, each of shape (k, 2).

        Of two classes the first has value -1 there; of three, each has its own decision function.
        """
        if self.values.ndim == 2:
            return _contours(self.values, -1.0), _contours(self.values, 1.0)
        return tuple(_contours(self.values[..., k], 1.0) for k in range(3))

    def image(self) -> NDArray[np.uint8]:
        """Return colours of decision values, interpolated, as numbers in the ramps of a theme.

        The ramp is that of the class, and the step within it is how far the decision value leads,
        up to 2.
        """
        rows, columns = _interpolation(GRID[1]), _interpolation(GRID[0])
        if self.values.ndim == 2:
            values = rows @ self.values @ columns.T
            codes = np.asarray(self.classes)[(values > 0).astype(np.intp)]
            lead = np.abs(values)
        else:
            layers = rows @ np.moveaxis(self.values, -1, 0) @ columns.T
            codes = np.asarray(self.classes)[layers.argmax(axis=0)]
            # The largest less the second of three: their sum less the other two is the second.
            upper, lower = layers.max(axis=0), layers.min(axis=0)
            lead = np.maximum(2.0 * upper + lower - layers.sum(axis=0), 0.0)
        steps = np.minimum(lead * ((STEPS - 1) / FULL), STEPS - 1)
        return (codes * STEPS + steps).astype(np.uint8)

    def curve_inputs(self) -> Array:
        """Return the inputs at which a curve is evaluated."""
        return np.linspace(WINDOW[0], WINDOW[1], CURVE_POINTS)


def draw(points: Array, labels: Labels, settings: Settings) -> Picture:
    """Fit the machine that settings name to points, and return what is drawn of it.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
    labels : ndarray of shape (n,)
        Read if the task is one of classes.
    settings : Settings

    Examples
    --------
    >>> from mercer_studio.browser.playground import POINT_SETS, Settings
    >>> from mercer_studio.browser.playground.picture import draw
    >>> points, labels = POINT_SETS["sine with noise"].points(60)
    >>> picture = draw(points, labels, Settings(task="curve", C=10.0, epsilon=0.4))
    >>> picture.values.shape, picture.gap < 0.01
    ((401,), True)
    """
    message = _missing(points, labels, settings)
    if message:
        return Picture(points, labels, settings, message)
    if settings.task == "curve":
        return _draw_curve(points, labels, settings)
    classes = tuple(np.unique(labels).tolist())
    recipe = settings.recipe(len(classes))
    machine = recipe.make().fit(points, labels)
    x, z = grid_axes()
    grid = np.stack(np.meshgrid(x, z), axis=-1)
    found = machine.decision_function(np.vstack([grid.reshape(-1, 2), points]))
    values, own = found[: -len(points)], found[-len(points) :]
    values = values.reshape(*grid.shape[:2], *values.shape[1:])
    codes = own.argmax(axis=1) if own.ndim == 2 else (own > 0).astype(np.intp)
    wrong = int(np.count_nonzero(np.asarray(classes)[codes] != labels))
    return _told(
        Picture(points, labels, settings, "", recipe, values, classes, machine.support_),
        machine.solution_,
        class_counts(len(labels), len(machine.support_), wrong),
        wrong / len(labels),
    )


def _draw_curve(points: Array, labels: Labels, settings: Settings) -> Picture:
    recipe = settings.recipe()
    X, y = np.ascontiguousarray(points[:, :1]), np.ascontiguousarray(points[:, 1])
    machine = recipe.make().fit(X, y)
    inputs = np.linspace(WINDOW[0], WINDOW[1], CURVE_POINTS)
    values = machine.predict(inputs[:, None])
    residuals = y - machine.predict(X)
    picture = Picture(points, labels, settings, "", recipe, values, (), machine.support_)
    error = float(np.sqrt(np.mean(residuals**2)))
    counts = curve_counts(len(y), len(machine.support_), error)
    return _told(picture, machine.solution_, counts, error / max(float(y.std()), 1e-12))


def _told(picture: Picture, solution: Solution, counts: str, error: float) -> Picture:
    """Return the picture with its words."""
    support = len(picture.support) / len(picture.points)
    return replace(
        picture,
        gap=solution.relative_gap,
        counts=counts,
        certificate=certificate(solution),
        explanation=explanation(picture.settings, len(picture.classes), support, error),
    )


def _missing(points: Array, labels: Labels, settings: Settings) -> str:
    """Return a sentence on what a fit lacks, empty if nothing."""
    if settings.task == "curve":
        return "" if len(points) >= 2 else "Tap into the picture to draw points: a curve needs two."
    n = len(np.unique(labels))
    if n == 0:
        return "Tap into the picture to draw points of two classes."
    return "" if n > 1 else "Draw points of a second class: a classifier needs two."


def _contours(values: Array, level: float) -> Lines:
    x, y = grid_axes()
    lines = contour_generator(x, y, values, line_type="Separate").lines(level)
    return tuple(cast("list[Array]", lines))


@lru_cache
def _interpolation(n: int) -> Array:
    """Return the matrix that interpolates n values linearly at the middles of pixels."""
    at = (np.arange(PIXELS * (n - 1)) + 0.5) / PIXELS
    left = at.astype(np.intp)
    matrix = np.zeros((len(at), n))
    rows = np.arange(len(at))
    matrix[rows, left], matrix[rows, left + 1] = 1.0 - (at - left), at - left
    return matrix
