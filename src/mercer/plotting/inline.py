"""Figures inside a web page: SVG without a single request, in the colours of the page."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from io import StringIO
from typing import Any

import matplotlib
from cycler import cycler

from mercer.plotting.base import Axes, Figure

__all__ = ["VARIABLES", "inline_svg", "new_axes", "page_style"]

VARIABLES = {
    "#0072b2": "--blue",
    "#d55e00": "--orange",
    "#009e73": "--green",
    "#000000": "--ink",
    "#333333": "--ink",
    "#4c4c4c": "--soft",
    "#4d4d4d": "--soft",
    "#727272": "--soft",
    "#737373": "--soft",
    "#b2b2b2": "--line",
    "#b3b3b3": "--line",
    "#ffffff": "--paper",
}
"""Colours of a figure that become variables of the page, so that a dark page has dark figures."""

_STYLE: Any = {
    "axes.prop_cycle": cycler(color=["#0072b2", "#d55e00", "#009e73"]),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#4d4d4d",
    "axes.facecolor": "none",
    "axes.labelsize": 10,
    "axes.linewidth": 0.8,
    "figure.facecolor": "none",
    "font.size": 9,
    "legend.frameon": False,
    "savefig.facecolor": "none",
    "svg.fonttype": "none",  # words stay words: small, to be selected and read aloud
    "svg.hashsalt": "mercer",
    "xtick.color": "#4d4d4d",
    "ytick.color": "#4d4d4d",
}


@contextmanager
def page_style() -> Iterator[None]:
    """Draw what is inside for a page: quiet axes, and colours that :func:`inline_svg` knows.

    Examples
    --------
    >>> with page_style():
    ...     matplotlib.rcParams["svg.fonttype"]
    'none'
    """
    # The browser has letters that matplotlib's own font has not.
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        yield


def new_axes(width: float = 3.6, height: float = 2.7) -> tuple[Figure, Axes]:
    """Return a figure with one pair of axes, of which pyplot knows nothing.

    Examples
    --------
    >>> figure, axes = new_axes()
    >>> axes.figure is figure
    True
    """
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def inline_svg(figure: Figure, alt: str, prefix: str) -> str:
    """Return a figure as an SVG element of a page.

    Parameters
    ----------
    figure : matplotlib Figure
        Drawn under :func:`page_style`.
    alt : str
        What is to be seen, for those who do not see it.
    prefix : str
        Put before every id, so that ids of two figures on a page differ.

    Returns
    -------
    str

    Examples
    --------
    >>> with page_style():
    ...     figure = Figure(figsize=(2.0, 1.0))
    ...     _ = figure.subplots().plot([0.0, 1.0])
    ...     text = inline_svg(figure, "a rising line", "f1")
    >>> text[:43], "http" in text, "var(--blue)" in text
    ('<svg role="img" aria-label="a rising line" ', False, True)
    """
    page = StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(page, format="svg", metadata=nothing)
    head, text = page.getvalue().split("<svg", 1)[1].split(">", 1)
    for part in ("<metadata>.*?</metadata>", "<style.*?</style>", "<!--.*?-->"):
        text = re.sub(part, "", text, flags=re.DOTALL)
    box = re.search(r'viewBox="[^"]*"', head)
    # Tags alone: words between them may look like colours or ids, too.
    text = re.sub(r"<[^>]*>", lambda tag: _of_page(tag[0], prefix), text)
    place = box[0] if box else ""
    return f'<svg role="img" aria-label="{escape(alt)}" {place}>{text.strip()}'


def _of_page(tag: str, prefix: str) -> str:
    """Return a tag with ids of its own, and with the colours and the font of the page."""
    tag = re.sub(r'\bid="|\bhref="#|url\(#', lambda found: found[0] + prefix + "-", tag)
    tag = re.sub(r"font-family: [^;\"]*", "font-family: var(--font)", tag.replace("xlink:", ""))
    return re.sub(r"#[0-9a-f]{6}\b", _variable, tag)


def _variable(colour: re.Match[str]) -> str:
    name = VARIABLES.get(colour[0])
    return colour[0] if name is None else f"var({name})"
