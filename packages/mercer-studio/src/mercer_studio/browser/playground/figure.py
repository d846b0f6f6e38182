"""The playground's figure: sources of data that are replaced, never the figure itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
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

from mercer_studio.browser.playground.model import Drawing
from mercer_studio.browser.playground.picture import Lines, Picture
from mercer_studio.browser.playground.point_sets import WINDOW
from mercer_studio.browser.playground.theme import Theme

__all__ = ["ASPECT", "PlaygroundFigure"]

ASPECT = 1.3
"""Width of the figure over its height: a little less than that of the window, for the axes."""

# Labels as the browser knows them; the last one is a point of a curve.
FACTORS = ("0", "1", "2", "y")
MARKERS = ("circle", "square", "triangle", "circle")
Columns = dict[str, dict[str, Any]]
"""Columns of sources, by the name of the part and of the column."""
EMPTY: dict[str, list[Any]] = {"xs": [], "ys": [], "color": []}

# A picture comes as one message with two arrays, which the browser hands to the parts: parts that
# come one by one are painted one by one, every array takes a millisecond, and nothing is told back.
RECEIVE = """
const {image, numbers, columns, colours} = picture.data;
const data = {values: {image: image[0]}};
let at = 0;
for (const [part, column, length, many] of columns[0]) {
  const values = numbers[0].slice(at, at += length);
  data[part] ??= {};
  if (many) { (data[part][column] ??= []).push(values); }
  else { data[part][column] = values; }
}
for (const part in colours[0]) { data[part].color = colours[0][part]; }
for (const part in data) { parts[part].setv({data: data[part]}, {sync: false}); }
"""


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
        self.rings = ColumnDataSource({"x": [], "y": []})
        self.values = ColumnDataSource({"image": []})
        self.boundary = ColumnDataSource(EMPTY)
        self.margins = ColumnDataSource(EMPTY)
        self.curve = ColumnDataSource({"x": [], "y": [], "low": [], "high": []})
        self._parts = {
            "rings": self.rings,
            "values": self.values,
            "boundary": self.boundary,
            "margins": self.margins,
            "curve": self.curve,
        }
        self.picture = ColumnDataSource({"n": [0]})
        receive = CustomJS(args={"picture": self.picture, "parts": self._parts}, code=RECEIVE)
        self.picture.js_on_change("data", receive)
        # A source that no glyph draws goes to the browser with an event that does not occur.
        f.js_on_event("reset", receive)
        self._colours = LinearColorMapper(palette=["#000000"], low=-0.5, high=254.5)
        self._image = f.image(
            "image",
            x=left,
            y=low,
            dw=right - left,
            dh=high - low,
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
        marks: dict[str, Any] = {
            "x": "x",
            "y": "y",
            "size": 8,
            "marker": factor_mark("label", MARKERS, FACTORS),
            "line_width": 1,
        }
        self._points = f.scatter(source=self.points, **marks)
        self._points.nonselection_glyph = None
        self._rings = f.scatter(
            "x", "y", source=self.rings, marker="circle", size=14, fill_color=None, line_width=1.6
        )
        self.tool = PointDrawTool(renderers=[self._points])
        f.add_tools(self.tool)
        f.toolbar.active_drag = f.toolbar.active_tap = self.tool
        f.xgrid.visible = f.ygrid.visible = False
        f.xaxis.ticker, f.yaxis.ticker = (
            FixedTicker(ticks=[*range(-3, 4)]),
            FixedTicker(ticks=[*range(-2, 3)]),
        )
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
