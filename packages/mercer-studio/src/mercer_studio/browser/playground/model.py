"""Points drawn by hand with settings; the fitted machine as it is drawn, in words, as a script."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
from contourpy import contour_generator
from numpy.typing import NDArray

from mercer._threads import one_thread
from mercer._typing import Array
from mercer._words import plural
from mercer.solvers import Solution
from mercer_studio.browser.playground.settings import DECIMALS, POINT_SETS, WINDOW, Labels, Settings
from mercer_studio.reporting.script import script_of


@dataclass(frozen=True)
class Theme:
    """The colours that the playground draws with; backgrounds stay transparent.

    Parameters
    ----------
    classes : tuple of str
        Colours of the three classes as ``#rrggbb``, told apart also without red or green.
    ink : str
        Lines, rings and words.
    soft : str
        Axes and their labels.
    line : str
        Grid lines and frames.
    halo : str
        The colour behind lines and points, that of the page.
    """

    classes: tuple[str, str, str] = ("#0072b2", "#d55e00", "#009e73")
    ink: str = "#1a1a1a"
    soft: str = "#4d4d4d"
    line: str = "#d0d0d0"
    halo: str = "#ffffff"

    def ramps(self, steps: int = 85, darkest: float = 0.62) -> list[str]:
        """Return a ramp from transparent to its colour for every class, one after the other.

        Parameters
        ----------
        steps : int, default=85
            Colours of one ramp; three of them fill the 255 values of a byte.
        darkest : float, default=0.62
            Opacity of the last colour of a ramp.

        Examples
        --------
        >>> from mercer_studio.browser.playground import LIGHT
        >>> LIGHT.ramps(steps=3)[:4]
        ['#0072b200', '#0072b24f', '#0072b29e', '#d55e0000']
        """
        return [
            f"{colour}{round(255 * darkest * k / (steps - 1)):02x}"
            for colour in self.classes
            for k in range(steps)
        ]


LIGHT = Theme()
"""Colours on a light page."""

DARK = Theme(
    classes=("#56b4e9", "#ff9244", "#2fc79a"),
    ink="#f0f0f0",
    soft="#b8b8b8",
    line="#454545",
    halo="#15191e",
)
"""Colours on a dark page."""


EXPLANATIONS = tomllib.loads(
    Path(__file__).with_name("explanations.toml").read_text(encoding="utf-8")
)
# Shares of the sample that count as few and as most.
FEW, MOST = 0.15, 0.6
# Widths of the kernel that count as narrow and as wide, in a window six units across.
NARROW, WIDE = 0.2, 2.0


def class_counts(n: int, support: int, wrong: int) -> str:
    """Return how many points are support vectors, and how many are misclassified.

    Examples
    --------
    >>> class_counts(100, 18, 3)
    '18 of 100 points are support vectors; 3 are misclassified (3.0 %).'
    """
    missed = "none is" if not wrong else f"{wrong} is" if wrong == 1 else f"{wrong} are"
    share = f" ({100 * wrong / n:.1f} %)" if wrong else ""
    return f"{_support(n, support)}; {missed} misclassified{share}."


def curve_counts(n: int, support: int, error: float) -> str:
    """Return how many points are support vectors, and the training error.

    Examples
    --------
    >>> curve_counts(60, 60, 0.25)
    'All 60 points are support vectors; the training error is 0.25 (root mean square).'
    """
    return f"{_support(n, support)}; the training error is {error:.2g} (root mean square)."


def _support(n: int, support: int) -> str:
    if support == n:
        return f"All {plural(n, 'point')} are support vectors"
    verb = "is a support vector" if support == 1 else "are support vectors"
    return f"{support} of {plural(n, 'point')} {verb}"


def certificate(solution: Solution) -> str:
    """Return how far the fit is from the exact optimum.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR, SVR
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> certificate(SVR(gamma=1.0).fit(X, np.sin(X[:, 0])).solution_)
    'Certified: the objective is within 0.033 % of the exact optimum.'
    >>> certificate(LSSVR(gamma=1.0).fit(X, np.sin(X[:, 0])).solution_)
    'Certified: the objective is the exact optimum up to rounding.'
    """
    if not solution.converged:
        return f"Not converged ({solution.status.value}): {solution.summary()[0]}."
    if solution.relative_gap < 1e-12:
        return "Certified: the objective is the exact optimum up to rounding."
    percent = max(100.0 * solution.relative_gap, 0.0001)
    return f"Certified: the objective is within {percent:.2g} % of the exact optimum."


def explanation(settings: Settings, n_classes: int, support: float, error: float) -> str:
    """Return what one sees at these settings, and what a slider would change.

    Parameters
    ----------
    settings : Settings
    n_classes : int
        Classes among the points, 0 for a curve.
    support : float
        Share of support vectors.
    error : float
        Share of misclassified points; of a curve, the root mean square error beside the standard
        deviation of y.

    Examples
    --------
    >>> from mercer_studio.browser.playground import Settings
    >>> print(explanation(Settings(C=0.01), 2, support=0.9, error=0.2))
    Points on the dashed margin, inside it or on the wrong side are support vectors (ringed); the
    others could be removed without changing the boundary. C is small, so the penalty on the norm
    dominates: a smooth boundary with a wide margin that many points are inside of. Raise C and the
    margin narrows.
    """
    words = EXPLANATIONS[settings.task]
    small = settings.C <= 0.1 and (support > MOST or error > FEW)
    kernel = settings.kernel
    if settings.has_width and not NARROW <= settings.width <= WIDE:
        kernel = "narrow" if settings.width < NARROW else "wide"
    parts = [
        words["loss"][settings.loss],
        words["three"] if n_classes == 3 else "",
        words["small_C" if small else "large_C" if settings.C >= 30.0 else "C"],
        words.get(kernel, ""),
    ]
    return " ".join(filter(None, parts)).format(**vars(settings), width=settings.width)


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
    machine : estimator, optional
        Fitted.
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
    machine: Any = None
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
        """The lines that repeat the fit and its values, to the last bit."""
        if self.machine is None:
            return ""
        left, right, low, high = WINDOW
        if self.settings.task == "curve":
            X, y = self.points[:, :1].tolist(), self.points[:, 1].tolist()
            evaluate = [
                "# The curve that is drawn.",
                f"values = model.predict(np.linspace({left}, {right}, {CURVE_POINTS})[:, None])",
            ]
        else:
            X, y = self.points.tolist(), self.labels.tolist()
            evaluate = [
                "# The decision values that are drawn.",
                f"x1, x2 = np.linspace({left}, {right}, 97), np.linspace({low}, {high}, 73)",
                "grid = np.stack(np.meshgrid(x1, x2), axis=-1).reshape(-1, 2)",
                "values = model.decision_function(grid)",
            ]
        # Coordinates have all their digits.
        points = [f"X = np.array({X})", f"y = np.array({y})"]
        after = ["model.fit(X, y)", "print(model.solution_)", "", *evaluate]
        return script_of(self.machine, ["import numpy as np"], points, after)

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
    >>> from mercer_studio.browser.playground.model import draw
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
    machine = settings.machine(len(classes)).fit(points, labels)
    x, z = grid_axes()
    grid = np.stack(np.meshgrid(x, z), axis=-1)
    found = machine.decision_function(np.vstack([grid.reshape(-1, 2), points]))
    values, own = found[: -len(points)], found[-len(points) :]
    values = values.reshape(*grid.shape[:2], *values.shape[1:])
    codes = own.argmax(axis=1) if own.ndim == 2 else (own > 0).astype(np.intp)
    wrong = int(np.count_nonzero(np.asarray(classes)[codes] != labels))
    return _told(
        Picture(points, labels, settings, "", machine, values, classes, machine.support_),
        machine.solution_,
        class_counts(len(labels), len(machine.support_), wrong),
        wrong / len(labels),
    )


def _draw_curve(points: Array, labels: Labels, settings: Settings) -> Picture:
    X, y = np.ascontiguousarray(points[:, :1]), np.ascontiguousarray(points[:, 1])
    machine = settings.machine().fit(X, y)
    values = machine.predict(np.linspace(*WINDOW[:2], CURVE_POINTS)[:, None])
    residuals = y - machine.predict(X)
    picture = Picture(points, labels, settings, "", machine, values, (), machine.support_)
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
