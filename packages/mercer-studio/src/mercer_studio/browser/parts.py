"""Parts of the screen: widgets in the colours of the page, boxes, and panes that show a stage."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np
import panel as pn

from mercer_studio.browser.look import (
    AWAY,
    CONTENT,
    FIELDS,
    HALVES,
    LINE,
    NATURAL,
    PANE,
    STACK,
    WHOLE,
    WIDGET,
)
from mercer_studio.browser.session import Session
from mercer_studio.browser.stages import State
from mercer_studio.browser.working import Job

__all__ = [
    "Deck",
    "StagePane",
    "beside",
    "button",
    "chooser",
    "field",
    "form",
    "halves",
    "html",
    "line",
    "many",
    "progress",
    "stack",
    "views",
    "whole",
]


def _box(css: str, *parts: Any) -> Any:
    return pn.Column(*parts, stylesheets=[css, AWAY], sizing_mode="stretch_width", margin=0)


def stack(*parts: Any) -> Any:
    """Return parts below each other."""
    return _box(STACK, *parts)


def line(*parts: Any) -> Any:
    """Return parts beside each other, as many as there is room for."""
    return _box(LINE, *parts)


def beside(settings: Any, shown: Any) -> Any:
    """Return settings with what they give beside them, or below on a phone."""
    return _box(PANE, settings, shown)


def form(*parts: Any) -> Any:
    """Return fields in as many columns as there is room for."""
    return _box(FIELDS, *parts)


def halves(*parts: Any) -> Any:
    """Return parts side by side, or below each other on a phone."""
    return _box(HALVES, *parts)


def whole(*parts: Any) -> Any:
    """Return parts over the whole width."""
    return _box(WHOLE, *parts)


class Deck:
    """Several parts in one place, of which one is seen; others are sent when they are first seen.

    Parameters
    ----------
    *parts : object
        Sent at the beginning, so that :meth:`open_by` can show them before the server answers.
    """

    def __init__(self, *parts: Any) -> None:
        self.box = whole(*parts)

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
    return pn.pane.HTML(text, stylesheets=[CONTENT], sizing_mode="stretch_width")


def button(name: str, act: Callable[[], None], kind: str = "default", width: int = 130) -> Any:
    """Return a button."""
    made = pn.widgets.Button(label=name, color=kind, stylesheets=[WIDGET, NATURAL], width=width)
    made.on_click(lambda event: act())
    return made


def chooser(name: str, options: Any, changed: Callable[[Any], None], **how: Any) -> Any:
    """Return a field in which one of several values is chosen."""
    made = pn.widgets.Select(
        label=name, options=options, stylesheets=[WIDGET], sizing_mode="stretch_width", **how
    )
    made.param.watch(lambda event: changed(event.new), "value")
    return made


def many(name: str, options: Sequence[str], changed: Callable[[Any], None], size: int = 5) -> Any:
    """Return a field in which several values are chosen."""
    made = pn.widgets.MultiSelect(
        label=name,
        options=list(options),
        size=size,
        stylesheets=[WIDGET],
        sizing_mode="stretch_width",
    )
    made.param.watch(lambda event: changed(event.new), "value")
    return made


def views(options: dict[str, str], value: str, changed: Callable[[str], None]) -> Any:
    """Return buttons of which one is pressed."""
    made = pn.widgets.RadioButtonGroup(options=options, value=value, stylesheets=[WIDGET])
    made._debounce = 0  # Panel collects changes for 50 ms, and a button has one

    def listen(event: Any) -> None:
        if event.new is not None:  # what was seen is no longer offered
            changed(event.new)

    made.param.watch(listen, "value")
    return made


def field(name: str, changed: Callable[[str], None], placeholder: str = "", value: str = "") -> Any:
    """Return a field for text."""
    made = pn.widgets.TextInput(
        label=name,
        value=value,
        placeholder=placeholder,
        stylesheets=[WIDGET],
        sizing_mode="stretch_width",
    )
    made.param.watch(lambda event: changed(event.new), "value")
    return made


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
