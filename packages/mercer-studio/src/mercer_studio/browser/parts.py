"""Parts of the screen: widgets in the colours of the page, boxes, and panes that show a stage."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import panel as pn

from mercer_studio.browser.session import Session
from mercer_studio.browser.stages import State
from mercer_studio.browser.views import VIEWS
from mercer_studio.browser.working import Job
from mercer_studio.reporting.page import CSS

STYLES = Path(__file__).with_name("styles")
"""Style sheets, one for each kind of part: what a part has inside is reached by its own only."""


@cache
def css(name: str) -> str:
    """Return a style sheet; that of words, tables and figures has the rules of reports in it."""
    text = (STYLES / f"{name}.css").read_text(encoding="utf-8")
    if name != "content":
        return text
    # Rules of the report that are about the page as a whole do not hold inside of a part of it.
    return css("away") + CSS[CSS.index("* { box-sizing") :] + text


def box(kind: str, *parts: Any) -> Any:
    """Return parts in a box.

    Parameters
    ----------
    kind : {"stack", "line", "pane", "fields", "halves", "whole"}
        Below each other; beside each other as there is room; settings beside what they give; in
        as many columns as there is room for; side by side; over the whole width.
    *parts : object
        Of Panel.
    """
    return pn.Column(
        *parts, stylesheets=[css(kind), css("away")], sizing_mode="stretch_width", margin=0
    )


class Deck:
    """Several parts in one place, of which one is seen; others are sent when they are first seen.

    Parameters
    ----------
    *parts : object
        Sent at the beginning, so that :meth:`open_by` can show them before the server answers.
    """

    def __init__(self, *parts: Any) -> None:
        self.box = box("whole", *parts)

    def open_by(self, button: Any, part: Any) -> None:
        """Let a button show a part at once, in the browser."""
        parts = {f"part{k}": one for k, one in enumerate(self.box.objects)}
        show = "{0}.css_classes = {0} === chosen ? [] : ['away'];"
        code = " ".join(show.format(name) for name in parts)
        button.js_on_click(args={**parts, "chosen": part}, code=code)

    def follow(self, choice: Any, parts: dict[str, Any]) -> None:
        """Let buttons of :func:`views` show the part of their title at once, in the browser."""
        named = {f"part{k}": one for k, one in enumerate(parts.values())}
        show = "{0}.css_classes = chosen === {1} ? [] : ['away'];"
        titles = zip(named, map(json.dumps, parts), strict=True)
        lines = [show.format(name, title) for name, title in titles]
        code = "const chosen = cb_obj.labels[cb_obj.active]; " + " ".join(lines)
        choice.jscallback(args=named, value=code)

    def show(self, part: Any) -> None:
        """Show a part, and no other."""
        if part not in self.box.objects:
            self.box.append(part)
        for one in self.box.objects:
            wanted = [] if one is part else ["away"]
            if one.css_classes != wanted:
                one.css_classes = wanted


def html(text: str = "") -> Any:
    """Return words, tables and figures; whoever writes them escapes them."""
    return pn.pane.HTML(text, stylesheets=[css("content")], sizing_mode="stretch_width")


def put(pane: Any, text: str) -> None:
    """Show words in a pane, unless they are there."""
    if pane.object != text:
        pane.object = text


def button(name: str, act: Callable[[], None], kind: str = "default", width: int = 130) -> Any:
    """Return a button."""
    made = pn.widgets.Button(
        label=name, color=kind, stylesheets=[css("widget"), css("natural")], width=width
    )
    made.on_click(lambda event: act())
    return made


def listened(made: Any, changed: Callable[[Any], None]) -> Any:
    """Return a widget that hands new values on."""
    made.param.watch(lambda event: changed(event.new), "value")
    return made


def _field(kind: Any, name: str, changed: Callable[[Any], None], **how: Any) -> Any:
    look = {"stylesheets": [css("widget")], "sizing_mode": "stretch_width"}
    return listened(kind(label=name, **look, **how), changed)


def chooser(name: str, options: Any, changed: Callable[[Any], None], **how: Any) -> Any:
    """Return a field in which one of several values is chosen."""
    return _field(pn.widgets.Select, name, changed, options=options, **how)


def many(name: str, changed: Callable[[Any], None]) -> Any:
    """Return a field in which several values are chosen."""
    return _field(pn.widgets.MultiSelect, name, changed, options=[], size=4)


def field(name: str, changed: Callable[[str], None], placeholder: str = "", value: str = "") -> Any:
    """Return a field for text."""
    return _field(pn.widgets.TextInput, name, changed, value=value, placeholder=placeholder)


def views(options: dict[str, str], value: str, changed: Callable[[str], None]) -> Any:
    """Return buttons of which one is pressed."""
    made = pn.widgets.RadioButtonGroup(options=options, value=value, stylesheets=[css("widget")])
    made._debounce = 0  # Panel collects changes for 50 ms, and a button has one

    return listened(made, changed)


class StagePane:
    """What a stage gave, with words that say whether it is still true.

    Parameters
    ----------
    session : Session
        Whose stage it is.
    name : str
        The stage.
    empty : str
        What is shown before it gave anything.
    """

    def __init__(self, session: Session, name: str, empty: str = "") -> None:
        self.session, self.name, self.empty = session, name, empty
        self.pane = html(f'<p class="quiet">{escape(empty)}</p>')
        self._shown: Any = None

    def warn(self, sentence: str) -> None:
        """Show what is wrong instead."""
        self._shown = None
        self.pane.object = f'<p class="warn">{escape(sentence)}</p>'

    def refresh(self) -> None:
        """Show what there is, if it is not what is shown."""
        state, outcome = self.session.state(self.name), self.session.stages.outcome(self.name)
        job = self.session.job(self.name)
        now = (state, outcome)
        if now == self._shown:
            return
        text = outcome.value if outcome is not None and isinstance(outcome.value, str) else ""
        if state is State.FAILED and outcome is not None:
            self.warn(outcome.problem or "")
        elif state is State.FRESH:
            notes = "" if job is None else _notes(job)
            self.pane.object = notes + text
        else:
            words = "drawing …" if state is State.RUNNING else self.empty
            old = f'<div class="stale">{text}</div>' if text else ""
            self.pane.object = f'<p class="quiet">{escape(words)}</p>{old}'
        self._shown = now


class Looks:
    """Views of which one is seen, chosen by buttons.

    Parameters
    ----------
    session : Session
        Whose views they are.
    names : sequence of str
        Keys of :data:`~mercer_studio.browser.views.VIEWS`, the first of which is seen first.
    empty : str
        What is shown before there is a view.
    """

    def __init__(self, session: Session, names: Sequence[str], empty: str) -> None:
        self.panes = {name: StagePane(session, name, empty) for name in names}
        self.deck = Deck(*(one.pane for one in self.panes.values()))
        titles = {VIEWS[name].title: name for name in names}
        self.choice = views(titles, names[0], lambda name: self.deck.show(self.panes[name].pane))
        self.deck.follow(self.choice, {k: self.panes[name].pane for k, name in titles.items()})
        self.deck.show(self.panes[names[0]].pane)


def _notes(job: Job) -> str:
    return "".join(f'<p class="warn">{escape(note)}</p>' for note in job.notes[:3])


def progress(job: Job | None, state: State, title: str) -> str:
    """Return how far a call is: its time, what it said last, and a number on its way down.

    Parameters
    ----------
    job : Job or None
        The call.
    state : State
        Of its stage.
    title : str
        What is being done.
    """
    if job is None:
        return ""
    said = job.shown.last if not job.done else ""
    values = np.array([v for v in list(job.shown.values) if v > 0.0])
    curve = _curve(values) if len(values) > 1 else ""
    word = str(state)
    return (
        f'<div class="progress"><span class="state {word}">{escape(title)}: {word}</span> '
        f'<span class="time">{job.elapsed:.1f} s</span>'
        f'<div class="last">{escape(said)}</div>{curve}</div>'
    )


def _curve(values: Any) -> str:
    """Return numbers as a line over their logarithms, with the first and the last written."""
    logs = np.log10(values)
    at = np.unique(np.linspace(0, len(logs) - 1, min(len(logs), 300)).astype(int))
    low, high = float(logs.min()), float(logs.max())
    x = 100.0 * at / max(len(logs) - 1, 1)
    y = 90.0 - 80.0 * (logs[at] - low) / ((high - low) or 1.0)
    path = "M" + " L".join(f"{a:.2f} {b:.2f}" for a, b in zip(x, y, strict=True))
    return (
        f'<div class="quiet">gap or criterion, logarithmic: from {values[0]:.3g} to '
        f"<b>{values[-1]:.3g}</b> in {len(values)} reports</div>"
        '<svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" '
        f'aria-label="falling from {values[0]:.3g} to {values[-1]:.3g}"><path d="{path}"/></svg>'
    )
