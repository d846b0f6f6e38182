"""The playground in a browser or a notebook: Panel's widgets around one Bokeh figure."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from html import escape
from itertools import count
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import panel as pn
from bokeh.models import (
    ColumnDataSource,
    CustomJS,
    FixedTicker,
    LinearColorMapper,
    PointDrawTool,
    Range1d,
    Scatter,
)
from bokeh.plotting import figure
from bokeh.transform import factor_cmap, factor_mark

from mercer._threads import one_thread
from mercer_studio.browser.playground.model import (
    LIGHT,
    MAX_POINTS,
    Drawing,
    Lines,
    Picture,
    Playground,
    Theme,
)
from mercer_studio.browser.playground.settings import KERNELS, LOSSES, POINT_SETS, TASKS, WINDOW

T = TypeVar("T")


class NewestOnly(Generic[T]):
    """Hand requests to a function in a thread of their own, one at a time, never a queue.

    A slider that is dragged asks more often than a machine is fitted. What was asked while the
    function ran is forgotten, except for the last.

    Parameters
    ----------
    work : callable
        Called with a request; must not raise.

    Examples
    --------
    >>> from mercer_studio.browser.playground.view import NewestOnly
    >>> done = []
    >>> worker = NewestOnly(done.append)
    >>> worker.ask(1)
    >>> worker.join()
    >>> done
    [1]
    """

    def __init__(self, work: Callable[[T], None]) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._waiting: list[T] = []
        self._thread: threading.Thread | None = None

    def ask(self, request: T) -> None:
        """Put a request in the place of the one that waits, and start the thread if none runs."""
        with self._lock:
            self._waiting = [request]
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()

    @property
    def waiting(self) -> bool:
        """Whether a newer request waits."""
        return bool(self._waiting)

    def join(self) -> None:
        """Wait until nothing runs and nothing waits."""
        while (thread := self._thread) is not None:
            thread.join()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                request = self._waiting.pop()
            self._work(request)


ASPECT = 1.3
"""Width of the figure over its height: a little less than that of the window, for the axes."""

# Labels as the browser knows them; the last one is a point of a curve.
FACTORS = ("0", "1", "2", "y")
MARKERS = ("circle", "square", "triangle", "circle")
Columns = dict[str, dict[str, Any]]
"""Columns of sources, by the name of the part and of the column."""
EMPTY: Columns = {
    "rings": {"x": [], "y": []},
    "values": {"image": []},
    "boundary": {"xs": [], "ys": [], "color": []},
    "margins": {"xs": [], "ys": [], "color": []},
    "curve": {"x": [], "y": [], "low": [], "high": []},
}

JS = {file.stem: file.read_text(encoding="utf-8") for file in Path(__file__).parent.glob("*.js")}
"""What runs in the browser, by the name of its file."""


class PlaygroundFigure:
    """A Bokeh figure whose parts are set by :meth:`draw_points` and :meth:`show`.

    Parameters
    ----------
    theme : Theme
        Colours; :meth:`use` changes them.

    Attributes
    ----------
    figure : bokeh.plotting.figure
    points : ColumnDataSource
        Coordinates and labels, which :attr:`tool` edits in the browser.
    picture : ColumnDataSource
        The last picture for the browser, and its number `n`.
    tool : PointDrawTool
        Taps add a point, drags move one.
    """

    def __init__(self, theme: Theme) -> None:
        left, right, low, high = WINDOW
        self.figure = figure(
            x_range=Range1d(left, right),
            y_range=Range1d(low, high),
            aspect_ratio=ASPECT,
            sizing_mode="scale_width",
            toolbar_location=None,
            tools="",
            background_fill_color=None,
            border_fill_color=None,
            min_border_right=6,
            min_border_top=6,
            output_backend="canvas",
        )
        f = self.figure
        self.points = ColumnDataSource({"x": [], "y": [], "label": []})
        self._parts = {name: ColumnDataSource(columns) for name, columns in EMPTY.items()}
        self.rings, self.values, self.boundary, self.margins, self.curve = self._parts.values()
        self.picture = ColumnDataSource({"n": [0]})
        receive = CustomJS(args={"picture": self.picture, "parts": self._parts}, code=JS["receive"])
        self.picture.js_on_change("data", receive)
        # A source that no glyph draws goes to the browser with an event that does not occur.
        f.js_on_event("reset", receive)
        self._colours = LinearColorMapper(palette=["#000000"], low=-0.5, high=254.5)
        self._image = f.image(
            *("image", left, low, right - left, high - low),
            source=self.values,
            color_mapper=self._colours,
        )
        self._band = f.varea("x", "low", "high", source=self.curve, fill_alpha=0.18)
        self._edges = [
            f.line("x", edge, source=self.curve, line_dash="6 4", line_width=1.5)
            for edge in ("low", "high")
        ]
        self._margins = f.multi_line(
            "xs", "ys", color="color", source=self.margins, line_dash="6 4", line_width=2
        )
        self._boundary = f.multi_line("xs", "ys", source=self.boundary, line_width=2.5)
        self._curve = f.line("x", "y", source=self.curve, line_width=3)
        marker: Any = factor_mark("label", MARKERS, FACTORS)
        self._points = f.scatter("x", "y", source=self.points, size=8, marker=marker, line_width=1)
        self._points.nonselection_glyph = None
        self._rings = f.scatter(
            "x", "y", source=self.rings, marker="circle", size=14, fill_color=None, line_width=1.6
        )
        self.tool = PointDrawTool(renderers=[self._points])
        f.add_tools(self.tool)
        f.toolbar.active_drag = f.toolbar.active_tap = self.tool
        f.xgrid.visible = f.ygrid.visible = False
        f.xaxis.ticker = FixedTicker(ticks=[*range(-3, 4)])
        f.yaxis.ticker = FixedTicker(ticks=[*range(-2, 3)])
        self.use(theme)

    def use(self, theme: Theme) -> None:
        """Draw with the colours of a theme."""
        self.theme = theme
        f, first = self.figure, theme.classes[0]
        self._colours.palette = theme.ramps()
        for renderer in (self._boundary, self._rings):
            renderer.glyph.line_color = theme.ink
        for renderer in (self._curve, *self._edges):
            renderer.glyph.line_color = first
        self._band.glyph.fill_color = first
        glyph = self._points.glyph
        assert isinstance(glyph, Scatter)
        glyph.fill_color = factor_cmap("label", [*theme.classes, theme.soft], FACTORS)
        glyph.line_color = theme.halo
        f.outline_line_color = theme.line
        for axis in (f.xaxis, f.yaxis):
            axis.axis_line_color = axis.major_tick_line_color = theme.line
            axis.minor_tick_line_color = None
            axis.major_label_text_color = axis.axis_label_text_color = theme.soft
            axis.axis_label_text_font_style = "normal"
            axis.axis_label_text_font_size = "14px"
            axis.major_label_text_font_size = "12px"

    def draw_points(self, drawing: Drawing, task: str) -> None:
        """Show points, and name the axes for the task."""
        curve = task == "curve"
        self.figure.xaxis.axis_label = "input x" if curve else "first feature x₁"
        self.figure.yaxis.axis_label = "target y" if curve else "second feature x₂"
        labels = ["y"] * len(drawing.labels) if curve else [str(k) for k in drawing.labels]
        x, y = drawing.points.T
        # Lists, which the browser can append to.
        self.points.data = {"x": x.tolist(), "y": y.tolist(), "label": labels}

    def show(self, picture: Picture, number: int = 0, columns: Columns | None = None) -> None:
        """Replace what is drawn of a machine.

        Parameters
        ----------
        picture : Picture
        number : int
            Of the picture, by which the browser says that it is painted.
        columns : dict, optional
            Of :meth:`columns`, computed before.
        """
        curve = picture.settings.task == "curve"
        fitted = not picture.message
        for renderer in (self._image, self._boundary, self._margins):
            renderer.visible = fitted and not curve
        self._curve.visible = fitted and curve
        for renderer in (self._band, *self._edges):
            renderer.visible = fitted and curve and picture.half_width > 0
        columns = self.columns(picture) if columns is None else columns
        if self.figure.document is None:  # nobody looks yet
            for name, data in columns.items():
                self._parts[name].data = data
            return
        self.picture.data = {"n": [number], **_packed(columns)}

    def columns(self, picture: Picture) -> Columns:
        """Return the columns of all parts that a picture has."""
        x, y = picture.points[picture.ringed].T.astype(np.float32)
        found: Columns = {"rings": {"x": x, "y": y}}
        if picture.message:
            return found
        if picture.settings.task == "curve":
            f, half = picture.values, picture.half_width
            inputs = picture.curve_inputs()
            found["curve"] = {"x": inputs, "y": f, "low": f - half, "high": f + half}
            return found
        found["values"] = {"image": [picture.image()]}
        found["boundary"] = _lines([picture.boundary()], [self.theme.ink])
        colours = [self.theme.classes[k] for k in picture.classes]
        found["margins"] = _lines(picture.margins(), colours)
        return found


def _packed(columns: Columns) -> dict[str, list[Any]]:
    """Return columns as two arrays, with the lengths by which they are told apart."""
    numbers: list[Any] = []
    told: list[tuple[str, str, int, bool]] = []
    colours: dict[str, list[str]] = {}
    for part, data in columns.items():
        for name, values in data.items():
            if name == "color":
                colours[part] = values
            elif part != "values":
                many = isinstance(values, list)
                for one in values if many else [values]:
                    numbers.append(one)
                    told.append((part, name, len(one), many))
    return {
        "image": [columns.get("values", {"image": []})["image"]],
        "numbers": [np.concatenate(numbers, dtype=np.float32)],
        "columns": [told],
        "colours": [colours],
    }


def _lines(sides: Sequence[Lines], colours: list[str]) -> dict[str, list[Any]]:
    """Return lines as columns of a source: those of one colour in a row, with gaps between them."""
    gap = np.full((1, 2), np.nan)
    rows = [np.vstack([part for line in lines for part in (line, gap)] or [gap]) for lines in sides]
    xy = [np.ascontiguousarray(one.T, dtype=np.float32) for one in rows]
    return {"xs": [x for x, _ in xy], "ys": [y for _, y in xy], "color": colours}


# Longest wait, in seconds, for a browser to say that it has painted a picture before the next one
# is sent: a tab in the background does not paint.
PAINT_SECONDS = 1.0

SIZES = [30, 100, 300]
SETTINGS = ("loss", "kernel", "C", "gamma", "degree", "epsilon", "delta")

_numbers = count()


def steps(low: float, high: float, per_decade: int = 20) -> list[float]:
    """Return numbers on a logarithmic scale, rounded to two digits.

    Examples
    --------
    >>> from mercer_studio.browser.playground.view import steps
    >>> steps(0.1, 10.0, per_decade=3)
    [0.1, 0.22, 0.46, 1.0, 2.2, 4.6, 10.0]
    """
    n = round(np.log10(high / low) * per_decade)
    values = (float(f"{v:.2g}") for v in np.geomspace(low, high, n + 1))
    return list(dict.fromkeys(values))


CLASS_C, CURVE_C, GAMMAS = steps(0.01, 1000.0), steps(0.01, 100.0), steps(0.02, 50.0)
WEIGHTS = {"classes": CLASS_C, "curve": CURVE_C}


class PlaygroundView(pn.viewable.Viewer):  # type: ignore[misc]
    """Draw points, move sliders, and see the machine refitted while they move.

    A Panel object: it is placed in layouts and templates, served, or displayed in a notebook. Each
    view has its own points; make one for every session.

    Parameters
    ----------
    playground : Playground, optional
        Points and settings to begin with; two moons by default.
    theme : Theme, default=LIGHT
        Colours of the figure; :meth:`use` changes them.

    Attributes
    ----------
    playground : Playground
        What is shown now, with the points that were drawn.
    picture : Picture
        The last fit.

    Examples
    --------
    >>> from mercer_studio.browser.playground import Playground
    >>> from mercer_studio.browser.playground.view import PlaygroundView
    >>> view = PlaygroundView(Playground.from_set("two circles", 60, C=10.0))
    >>> view.picture.machine
    SVC(C=10.0, gamma=1.0)
    """

    def __init__(self, playground: Playground | None = None, theme: Theme = LIGHT) -> None:
        super().__init__()
        self.playground = playground or Playground.from_set("two moons")
        self._figure = PlaygroundFigure(theme)
        self._version = 0
        self._frame, self._painted = 0, threading.Event()
        self._document: Any = None
        self._worker: NewestOnly[Playground] = NewestOnly(self._refit)
        self._make_widgets()
        self._make_channels()
        self._layout = self._make_layout()
        self._on_pen()
        self._draw_points()
        self._show(self.playground.fit())
        self._show_script()

    def __panel__(self) -> Any:
        return self._layout

    def use(self, theme: Theme) -> None:
        """Draw with the colours of a theme."""
        self._figure.use(theme)
        self._show(self.picture)

    # What is there ------------------------------------------------------------------------------

    def _make_widgets(self) -> None:
        s, w = self.playground.settings, pn.widgets
        wide: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": (4, 8)}
        self._task = w.RadioButtonGroup(
            options={word: name for name, word in TASKS.items()}, value=s.task, **wide
        )
        name, n = _recognize(self.playground)
        self._set = w.Select(label="Points", options=self._sets(s.task), value=name, **wide)
        self._size = w.Select(label="How many", options=sorted({*SIZES, n}), value=n, **wide)
        self._loss = w.Select(label="Loss", options=_named(LOSSES[s.task]), value=s.loss, **wide)
        self._kernel = w.Select(label="Kernel", options=_named(KERNELS), value=s.kernel, **wide)
        weights, widths = sorted({*WEIGHTS[s.task], s.C}), sorted({*GAMMAS, s.gamma})
        words = "C, weight of errors"
        self._C = w.DiscreteSlider(label=words, options=weights, value=s.C, **wide)
        words = "gamma, inverse width"
        self._gamma = w.DiscreteSlider(label=words, options=widths, value=s.gamma, **wide)
        self._degree = w.IntSlider(label="Degree", start=2, end=4, value=s.degree, **wide)
        wide |= {"step": 0.01, "end": 1}
        words = "epsilon, half-width of the tube"
        self._epsilon = w.FloatSlider(label=words, start=0, value=s.epsilon, **wide)
        words = "delta of Huber's loss"
        self._delta = w.FloatSlider(label=words, start=0.01, value=s.delta, **wide)
        self._pen = w.RadioButtonGroup(options=self._pens(s.task), value="0", margin=(4, 8))
        self._undo = w.Button(label="Undo", width=70, margin=(4, 4))
        self._clear = w.Button(label="Clear", width=70, margin=(4, 4))
        self._copy = w.Button(label="Copy the script", sizing_mode="stretch_width", margin=(4, 8))
        self._words, self._legend, self._script = (
            pn.pane.HTML(sizing_mode="stretch_width", margin=(0, 8)) for _ in range(3)
        )
        # Widgets that the code sets itself must not answer as if a person had.
        self._setting = False
        self._task.param.watch(self._on_task, "value")
        for widget in (self._set, self._size):
            widget.param.watch(self._on_set, "value")
        self._pen.param.watch(self._on_pen, "value")
        self._undo.on_click(lambda _: self._replace(self.playground.undo()))
        self._clear.on_click(lambda _: self._replace(self.playground.clear()))
        for name in SETTINGS:
            widget = getattr(self, f"_{name}")
            widget.param.watch(self._on_setting, "value")
            _at_once(getattr(widget, "_slider", widget))

    def _make_channels(self) -> None:
        """Make the widgets, not seen, through which the browser speaks, here and in notebooks."""
        number = next(_numbers)
        f = self._figure
        self._text = ColumnDataSource({"text": [""]})
        self._edits = pn.widgets.TextInput(label=f"playground-points-{number}", visible=False)
        self._seen = pn.widgets.TextInput(label=f"playground-painted-{number}", visible=False)
        args = {"points": f.points, "channel": self._edits.label}
        dropped = CustomJS(args={**args, "moving": False}, code=JS["send_points"])
        moving = CustomJS(args={**args, "moving": True}, code=JS["send_points"])
        f.points.js_on_change("data", dropped)
        f.figure.js_on_event("pan", moving)
        erased = CustomJS(args={**args, "tool": f.tool}, code=JS["send_erased"])
        f.points.selected.js_on_change("indices", erased)
        painted = CustomJS(
            args={"picture": f.picture, "channel": self._seen.label}, code=JS["send_painted"]
        )
        f.picture.js_on_change("data", painted)
        self._copy.js_on_click(args={"script": self._text, "button": self._copy}, code=JS["copy"])
        _at_once(self._edits)
        _at_once(self._seen)
        self._edits.param.watch(self._on_points, "value")
        self._seen.param.watch(lambda _: self._painted.set(), "value")

    def _make_layout(self) -> Any:
        self._pane = pn.pane.Bokeh(
            self._figure.figure, sizing_mode="scale_width", aspect_ratio=ASPECT, margin=0
        )
        row: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0}
        steps_back = pn.Row(self._undo, self._clear, margin=0)
        drawing = pn.FlexBox(self._pen, steps_back, **row)
        settings = [getattr(self, f"_{name}") for name in SETTINGS]
        left = [drawing, self._pane, self._legend, self._words]
        right = [self._task, pn.Row(self._set, self._size, **row), *settings]
        right += [self._copy, self._script, self._edits, self._seen]
        wide = {"flex": "3 1 420px", "min-width": "min(100%, 300px)"}
        narrow = {"flex": "1 1 280px", "min-width": "min(100%, 260px)"}
        parts = pn.Column(*left, styles=wide, **row), pn.Column(*right, styles=narrow, **row)
        self._show_controls()
        return pn.FlexBox(*parts, gap="16px", sizing_mode="stretch_width")

    def _sets(self, task: str) -> dict[str, str]:
        named = {name: name for name, one in POINT_SETS.items() if one.task == task}
        return {"drawn by hand": "", **named}

    def _pens(self, task: str) -> dict[str, str]:
        if task == "curve":
            return {"● point": "0", "erase": "erase"}
        return {"● blue": "0", "■ orange": "1", "▲ green": "2", "erase": "erase"}

    def _show_controls(self) -> None:
        """Show the sliders that the loss and the kernel have."""
        s = self.playground.settings
        self._gamma.visible = s.has_width
        self._degree.visible = s.kernel == "poly"
        self._epsilon.visible = s.loss == "epsilon_insensitive"
        self._delta.visible = s.loss == "huber"

    # What a person does --------------------------------------------------------------------------

    def _on_setting(self, *_: Any) -> None:
        if self._setting:
            return
        said = {name: getattr(self, f"_{name}").value for name in SETTINGS}
        self.playground = self.playground.change(**said)
        self._show_controls()
        self._ask()

    def _on_task(self, *_: Any) -> None:
        task = self._task.value
        self._setting = True
        try:
            self._loss.param.update(options=_named(LOSSES[task]), value=next(iter(LOSSES[task])))
            weights = WEIGHTS[task]
            self._C.param.update(options=weights, value=_nearest(self._C.value, weights))
            self._pen.param.update(options=self._pens(task), value="0")
            sets = self._sets(task)
            self._set.param.update(options=sets, value=list(sets)[1])
        finally:
            self._setting = False
        self.playground = self.playground.change(task=task, loss=self._loss.value, C=self._C.value)
        self._on_pen()
        self._on_set()

    def _on_set(self, *_: Any) -> None:
        if self._setting or not self._set.value:
            return
        drawn = POINT_SETS[self._set.value].points(self._size.value)
        self.playground = self.playground.draw(*drawn)
        self._show_controls()
        self._draw_points()
        self._ask()

    def _on_pen(self, *_: Any) -> None:
        pen, tool = self._pen.value, self._figure.tool
        curve = self.playground.settings.task == "curve"
        tool.add = pen != "erase"
        tool.default_overrides = {"label": "y" if curve else pen}

    def _replace(self, playground: Playground) -> None:
        """Show other points, of no set."""
        self.playground = playground
        self._drawn_by_hand()
        self._draw_points()
        self._ask()

    def _on_points(self, event: Any) -> None:
        """Take over the points of the browser."""
        said = json.loads(event.new)
        if said["version"] != self._version:
            return
        if "erase" in said:
            self._replace(self.playground.remove(said["erase"]))
            return
        labels = [0 if label == "y" else int(label) for label in said["label"]]
        points = np.column_stack([said["x"], said["y"]]).astype(float)
        if len(points) > MAX_POINTS:
            self._draw_points()
            words = (
                f"There are {MAX_POINTS:,} points, as many as are refitted while a slider moves."
            )
            self._words.object = f"<p style='{TEXT}'><strong>{words}</strong></p>"
            return
        playground = self.playground.draw(points, labels)
        if playground is self.playground:
            return
        if said["moving"]:
            # Seen while it moves; one step of undo when it is dropped.
            self._ask(playground)
            return
        self.playground = playground
        self._drawn_by_hand()
        self._ask()

    def _drawn_by_hand(self) -> None:
        self._setting = True
        self._set.value = ""
        self._setting = False

    # What is shown -------------------------------------------------------------------------------

    def _draw_points(self) -> None:
        """Send the points to the browser, as a new version."""
        self._version += 1
        self._figure.points.tags = [self._version]
        self._figure.points.selected.indices = []
        self._figure.draw_points(self.playground.drawing, self.playground.settings.task)
        self._push()

    def _ask(self, playground: Playground | None = None) -> None:
        self._document = pn.state.curdoc
        self._worker.ask(playground or self.playground)

    def _refit(self, playground: Playground) -> None:
        """Fit in the worker's thread, and wait until the browser has painted."""
        try:
            with one_thread():
                picture = playground.fit()
                columns = self._figure.columns(picture)
        except Exception as error:
            picture = Picture(
                playground.points, playground.labels, playground.settings, f"No fit: {error}"
            )
            columns = self._figure.columns(picture)
        self._painted.clear()
        document = self._document
        if document is None or document.session_context is None:
            self._show(picture)
            self._show_words()
            self._show_script()
            return
        document.add_next_tick_callback(lambda: self._show(picture, columns))
        # Words come after the picture, whose way to the screen they would make longer.
        self._painted.wait(PAINT_SECONDS)
        document.add_next_tick_callback(self._show_words)
        if not self._worker.waiting:
            document.add_next_tick_callback(self._show_script)

    def _show(self, picture: Picture, columns: Columns | None = None) -> None:
        """Send the picture."""
        self.picture = picture
        self._frame += 1
        self._figure.show(picture, self._frame, columns)
        self._push()

    def _show_words(self) -> None:
        """Send the words of the last picture."""
        self._words.object = _words(self.picture)
        self._legend.object = _legend(self.picture, self._figure.theme)

    def _show_script(self) -> None:
        """Send the script of the last picture."""
        picture = self.picture
        self._script.object = f"<pre style='{PRE}'>{escape(picture.script)}</pre>"
        self._text.data = {"text": [picture.script]}
        self._copy.disabled = not picture.script
        self._push()

    def _push(self) -> None:
        """Send changes of the figure to a notebook, which a server does by itself."""
        pn.io.push_notebook(self._pane)


PRE = (
    "white-space: pre-wrap; font-size: 12px; line-height: 1.45; margin: 0 0 8px; "
    "max-height: 24em; overflow: auto;"
)
TEXT = "font-size: 14px; line-height: 1.45; margin: 6px 0;"


def _words(picture: Picture) -> str:
    if picture.message:
        return f"<p style='{TEXT}'><strong>{escape(picture.message)}</strong></p>"
    return (
        f"<p style='{TEXT}'><strong>{escape(picture.counts)}</strong> "
        f"{escape(picture.certificate)}</p>"
        f"<p style='{TEXT}'>{escape(picture.explanation)}</p>"
    )


def _legend(picture: Picture, theme: Theme) -> str:
    """Return what lines and marks mean."""
    if picture.message:
        return ""
    line = "width: 22px; border-top: 2.5px {} {};"
    ring = "width: 9px; height: 9px; border-radius: 50%; border: 1.6px solid {};"
    entries: list[tuple[str, str]] = []
    if picture.settings.task == "curve":
        entries.append((line.format("solid", theme.classes[0]), "fitted curve"))
        if picture.half_width:
            band = "tube" if picture.settings.loss == "epsilon_insensitive" else "squared part"
            entries.append((line.format("dashed", theme.classes[0]), band))
    else:
        value = "decision value ±1" if len(picture.classes) == 2 else "decision value 1 of a class"
        entries.append((line.format("solid", theme.ink), "decision boundary"))
        entries.append((line.format("dashed", theme.soft), value))
    if len(picture.ringed):
        entries.append((ring.format(theme.ink), "support vector"))
    items = "".join(
        "<span style='display: inline-flex; align-items: center; gap: 6px'>"
        f"<i style='{mark}'></i>{word}</span>"
        for mark, word in entries
    )
    return (
        "<div style='display: flex; flex-wrap: wrap; gap: 2px 18px; font-size: 13px; "
        f"padding-left: 44px'>{items}</div>"
    )


def _recognize(playground: Playground) -> tuple[str, int]:
    """Return the name and size of the set that the points are, or no name."""
    n = playground.n_points
    for name, one in POINT_SETS.items():
        if one.task == playground.settings.task and playground.drawing.same(
            Drawing(*one.points(n))
        ):
            return name, n
    return "", SIZES[1]


def _at_once(widget: Any) -> None:
    """Hear of changes without the 50 ms for which Panel's server collects them by default."""
    widget._debounce = 0


def _named(words: dict[str, str]) -> dict[str, str]:
    return {word: name for name, word in words.items()}


def _nearest(value: float, values: list[float]) -> float:
    return min(values, key=lambda one: abs(np.log(one / value)))
