"""A web page in one file: words, numbers, tables, figures, and no request to anybody."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import numpy as np

from mercer.plotting.base import Axes
from mercer.plotting.inline import inline_svg, new_axes, page_style

CSS = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
"""How the page looks: light, dark, on paper and at the width of a phone."""

CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""What a browser may load for the page: nothing, and it runs no script."""

SMALL, LARGE = (3.6, 2.7), (4.6, 3.2)
"""Inches of a figure, in rows of three, and in rows of two or alone."""

MAX_CELL_LETTERS = 400
"""Letters of a cell of a table beyond which it is cut."""


def number(value: object) -> str:
    """Return a number with four digits, counts with their commas, words as they are.

    Examples
    --------
    >>> number(0.123456), number(100000), number(float("nan")), number("yes"), number(123456.7)
    ('0.1235', '100,000', '', 'yes', '123,457')
    """
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{int(value):,}"
    if isinstance(value, float | np.floating):
        value = float(value)
        if np.isnan(value):
            return ""
        return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"
    return str(value)


@dataclass
class Section:
    """A part of a page, under a heading; everything that is said is escaped.

    Examples
    --------
    >>> section = Section("Data", "data")
    >>> section.say("2 < 3").parts
    ['<p>2 &lt; 3</p>']
    """

    title: str
    anchor: str
    parts: list[str] = field(default_factory=list)

    def say(self, *sentences: str) -> Section:
        """Add a paragraph."""
        self.parts.append(f"<p>{escape(' '.join(sentences))}</p>")
        return self

    def lead(self, sentence: str) -> Section:
        """Add the sentence that a reader in a hurry should take along."""
        self.parts.append(f'<p class="lead">{escape(sentence)}</p>')
        return self

    def warn(self, sentence: str) -> Section:
        """Add something that deserves a second look."""
        self.parts.append(f'<p class="warn">{escape(sentence)}</p>')
        return self

    def code(self, text: str) -> Section:
        """Add a text whose lines stay as they are."""
        self.parts.append(f'<pre tabindex="0"><code>{escape(text)}</code></pre>')
        return self

    def table(
        self, caption: str, head: Sequence[str], rows: Iterable[Sequence[object]], words: int = 1
    ) -> Section:
        """Add a table.

        Parameters
        ----------
        caption : str
        head : sequence of str
            Names of the columns.
        rows : iterable of sequences
        words : int, default=1
            So many columns at the left are words, and the first heads its row.
        """
        kind = ["w" if j < words else "n" for j in range(len(head))]
        top = "".join(
            f'<th scope="col" class="{k}">{escape(name)}</th>'
            for k, name in zip(kind, head, strict=True)
        )
        body = "".join(f"<tr>{_cells(row, kind)}</tr>" for row in rows)
        return self._framed(caption, top, body, "two" if len(head) == 2 else "")

    def matrix(self, caption: str, names: Sequence[str], counts: object) -> Section:
        """Add a confusion matrix, shaded by the shares of its rows."""
        counts = np.asarray(counts)
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        top = "".join(f'<th scope="col" class="n">{escape(_cut(name))}</th>' for name in names)
        body = "".join(
            f'<tr><th scope="row">{escape(_cut(name))}</th>'
            + "".join(
                f'<td class="n shade" style="--share: {100 * share:.0f}%">{number(count)}</td>'
                for count, share in zip(row, part, strict=True)
            )
            + "</tr>"
            for name, row, part in zip(names, counts, shares, strict=True)
        )
        return self._framed(caption, f"<th>observed \\ predicted</th>{top}", body)

    def _framed(self, caption: str, head: str, body: str, kind: str = "") -> Section:
        """Add a table that scrolls by itself where the window is narrower."""
        of = f' class="{kind}"' if kind else ""
        self.parts.append(
            f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}">'
            f"<table{of}><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table></div>"
        )
        return self

    def figures(self, *drawn: tuple[str, str, Callable[[Axes], object]]) -> Section:
        """Add figures side by side, as many as fit.

        Parameters
        ----------
        *drawn : tuple of a caption, a description and a function
            The description is for those who do not see the figure, the function draws on axes.
        """
        made = []
        # Figures in rows of two, or one with its caption beside it, leave no part of a row empty.
        kind = {1: " one", 2: " even", 4: " even"}.get(len(drawn), "")
        inches = LARGE if kind else SMALL
        for k, (caption, alt, draw) in enumerate(drawn):
            with page_style():
                figure, axes = new_axes(*inches)
                draw(axes)
                svg = inline_svg(figure, alt, f"{self.anchor}{len(self.parts)}-{k}")
            made.append(f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>")
        self.parts.append(f'<div class="figures{kind}">{"".join(made)}</div>')
        return self

    @property
    def html(self) -> str:
        """The section as a part of a page."""
        return (
            f'<section id="{self.anchor}" aria-labelledby="{self.anchor}-title">'
            f'<h2 id="{self.anchor}-title">{escape(self.title)}</h2>{"".join(self.parts)}</section>'
        )


@dataclass
class Page:
    """A page with a title, numbers at a glance, and sections."""

    title: str
    under: str
    """What stands below the title."""

    glance: list[tuple[str, str]]
    """Names of numbers, and the numbers."""

    sections: list[Section]

    @property
    def html(self) -> str:
        """The page, with everything in it."""
        tiles = "".join(
            f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
            for name, value in self.glance
        )
        links = "".join(
            f'<li><a href="#{part.anchor}">{escape(part.title)}</a></li>' for part in self.sections
        )
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_POLICY}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="color-scheme" content="light dark">'
            # The address of an icon that holds none, or browsers ask the server for one.
            '<link rel="icon" href="data:,">'
            f"<title>{escape(self.title)}</title><style>{CSS}</style></head><body>"
            f"<header><h1>{escape(self.title)}</h1><p>{escape(self.under)}</p>"
            f'<dl class="tiles">{tiles}</dl></header>'
            f'<nav aria-label="Contents"><ol>{links}</ol></nav>'
            f"<main>{''.join(part.html for part in self.sections)}</main></body></html>\n"
        )


def _cells(row: Sequence[object], kind: Sequence[str]) -> str:
    shown = [escape(_cut(number(cell))) for cell in row]
    first = f'<th scope="row">{shown[0]}</th>'
    return first + "".join(
        f'<td class="{k}">{cell}</td>' for k, cell in zip(kind[1:], shown[1:], strict=True)
    )


def _cut(text: object) -> str:
    words = str(text)
    return words if len(words) <= MAX_CELL_LETTERS else words[: MAX_CELL_LETTERS - 1] + "…"


def plural(count: int, word: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> plural(1, "row"), plural(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number(int(count))} {word}{'' if count == 1 else 's'}"


def percent(share: float) -> str:
    """Return a share in per cent; rounded up to a thousandth of one.

    Examples
    --------
    >>> percent(0.0312), percent(3e-16)
    ('3.1 %', '0.001 %')
    """
    return f"{100.0 * share:.2g} %" if share >= 1e-5 else "0.001 %"


def seconds(value: float) -> str:
    """Return a time in words.

    Examples
    --------
    >>> seconds(0.0021), seconds(0.91), seconds(2.5), seconds(300.0)
    ('2.1 ms', '910 ms', '2.5 s', '5.0 min')
    """
    if value < 1.0:
        return f"{1e3 * value:.{0 if value >= 0.0095 else 1}f} ms"
    return f"{value:.2g} s" if value < 120.0 else f"{value / 60.0:.1f} min"


def size(count: float) -> str:
    """Return a number of bytes in words.

    Examples
    --------
    >>> size(2.5e6), size(80)
    ('2.5 MB', '80 bytes')
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count:.0f} bytes"


def short(value: object) -> str:
    """Return a setting with four digits of its numbers, on one line.

    Examples
    --------
    >>> short(1.23456789), short(np.array([1.0, 2.5]))
    ('1.235', '[1, 2.5]')
    """
    if isinstance(value, np.ndarray):
        some = [short(one) for one in value.ravel()[:8].tolist()]
        return f"[{', '.join(some)}{', …' if value.size > 8 else ''}]"
    if isinstance(value, bool) or not isinstance(value, float | np.floating):
        text = " ".join(repr(value).split())
        text = re.sub(r"\s+(?=[,\])])", "", text)
        return re.sub(r"\d+\.\d{4,}", lambda found: f"{float(found[0]):.4g}", text)
    return f"{value:.4g}"


def first_sentence(found: object) -> str:
    """Return the first sentence of the documentation of an object's class.

    Examples
    --------
    >>> from mercer import LSSVR
    >>> first_sentence(LSSVR())
    'Least-squares support vector regression, also known as kernel ridge with an intercept.'
    """
    lines = (type(found).__doc__ or "").strip().split("\n\n")[0]
    text = " ".join(lines.split()).replace("``", "")
    return re.sub(r":\w+:`~?([^`]*)`", r"\1", text).split(". ")[0].rstrip(".") + "."
