"""Steps on the screen that answer: the fit, its views, runs side by side, what is taken away."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np
import panel as pn

from mercer_studio.browser.pages import Step
from mercer_studio.browser.parts import Looks, box, button, chooser, css, html, progress, put
from mercer_studio.browser.playground import DARK, LIGHT
from mercer_studio.browser.playground.view import PlaygroundView
from mercer_studio.browser.session import STEPS
from mercer_studio.browser.stages import State
from mercer_studio.browser.views import VIEWS
from mercer_studio.cli.text import Refusal
from mercer_studio.reporting.page import Section, number, percent

SCHEME = "mercer-scheme"
"""Title of the field through which the browser tells whether it is light or dark."""

ITSELF, NONE = "what matters most", "nothing else"


class Fit(Step):
    """Fit, see the gap fall, cancel."""

    title = "Fit"
    said = "The fit runs in a process of its own: everything else goes on, and it can be ended."
    stages = ("fit",)

    def build(self) -> Any:
        """Return the parts of the step."""
        self.go = button("Fit", self.screen.fit, "primary")
        self.stop = button("Cancel", self.screen.cancel)
        self.now, self.done = html(), html()
        return box("stack", box("line", self.go, self.stop), self.now, self.done)

    def refresh(self) -> None:
        """Show how far the fit is, and what it gave."""
        session = self.session
        running = [n for n in STEPS if session.state(n) is State.RUNNING]
        self.stop.disabled = not any(n in running for n in ("tuning", "fit", "validation"))
        self.go.disabled = self.screen.busy
        name = next((n for n in ("tuning", "fit", "validation") if n in running), None)
        text = ""
        if name is not None:
            title = {"tuning": "Search", "fit": "Fit", "validation": "Validation"}[name]
            text = progress(session.job(name), session.state(name), title)
        elif self.screen.busy:
            text = '<p class="quiet">preparing …</p>'
        put(self.now, text)
        said = self._result()
        put(self.done, said)

    def _result(self) -> str:
        session = self.session
        for name in STEPS:
            outcome = session.stages.outcome(name)
            if outcome is not None and session.state(name) is State.FAILED:
                return f'<p class="warn">{escape(outcome.problem or "")}</p>'
        fitted, outcome = session.value("fit"), session.stages.outcome("fit")
        if fitted is None or outcome is None:
            return '<p class="quiet">Nothing is fitted yet.</p>'
        stale = session.state("fit") is not State.FRESH
        section = Section("", "done")
        machine = fitted.model.machine
        name = type(getattr(machine, "estimator", machine)).__name__
        section.lead(f"{name}, fitted in {fitted.seconds:.2g} s.")
        for sentence in fitted.certificate[:1]:
            section.say(f"{sentence[:1].upper()}{sentence[1:]}.")
        job = session.job("fit")
        for note in [] if job is None else job.notes[:4]:
            section.warn(note)
        validated = session.value("validation")
        if validated is not None and session.state("validation") is State.FRESH:
            tiles = "".join(
                f"<div><dt>{escape(k)}</dt><dd>{escape(number(v))}</dd></div>"
                for k, v in validated.scores.items()
            )
            section.parts.append(f'<dl class="tiles">{tiles}</dl>')
            section.say(f"On {validated.said}.")
        job = session.job("fit")
        if job is not None and job.done and len(job.shown.values) > 1:
            section.parts.append(progress(job, session.state("fit"), "Last fit"))
        note = '<p class="warn">Settings have changed since: this is the last model.</p>'
        return f"{note if stale else ''}{''.join(section.parts)}"


class Understand(Step):
    """See the pictures of a model."""

    title = "Understand"
    said = "The picture that belongs to the machine, its errors, effects, kernel and certificate."

    def build(self) -> Any:
        """Return the parts of the step."""
        fits = [name for name, view in VIEWS.items() if "fit" in view.inputs]
        self.looks = Looks(self.session, fits, "Fit a machine to see this.")
        self.along = chooser("Draw along", [ITSELF], self.told(self._inputs))
        self.across = chooser("and", [NONE], self.told(self._inputs))
        self.said_of = html()
        options = box("halves", self.along, self.across)
        return box("stack", self.looks.choice, self.said_of, options, self.looks.deck.box)

    def loaded(self, columns: list[str]) -> None:
        """Offer the columns of a new table."""
        with self.silent():
            self.along.options, self.along.value = [ITSELF], ITSELF
            self.across.options, self.across.value = [NONE], NONE

    def _inputs(self, _: str) -> None:
        chosen = (self.along.value, self.across.value)
        names = tuple(dict.fromkeys(one for one in chosen if one not in (ITSELF, NONE)))
        self.session.show("picture", inputs=names)

    def wants(self) -> list[str]:
        """Return the stages that are computed while the step is shown."""
        return [self.looks.choice.value] if self.session.state("fit") is State.FRESH else []

    def refresh(self) -> None:
        """Show what stages gave since the last time."""
        name = self.looks.choice.value
        self.along.visible = self.across.visible = name == "picture"
        said = f'<p class="quiet">{escape(VIEWS[name].said)}</p>'
        if self.said_of.object != said:
            self.said_of.object = said
        prepared = self.session.value("preparation")
        if prepared is not None and len(self.along.options) == 1:
            used = prepared.question.plan.used
            numeric = [n for n, kind in used.items() if kind == "number"]
            with self.silent():
                self.along.options, self.across.options = [ITSELF, *numeric], [NONE, *numeric]
        self.looks.panes[name].refresh()


class Compare(Step):
    """See runs side by side."""

    title = "Compare"
    said = "Every fit is kept. Choose two to see them side by side, or go back to one."
    looks = ("picture", "errors", "effects", "certificate")

    def build(self) -> Any:
        """Return the parts of the step."""
        self.table = html()
        self.left = chooser("Left", [""], self.told(lambda _: None), value="")
        self.right = chooser("Right", [""], self.told(lambda _: None), value="")
        self.looking = chooser(
            "Show", {VIEWS[name].title: name for name in self.looks}, self.told(lambda _: None)
        )
        self.back = button("Go back to the left run", self._back, width=200)
        self.drop = button("Forget the left run", self._drop, width=170)
        self.panes = (html(), html())
        self._jobs: dict[tuple[int, str, bool], Any] = {}
        return box(
            "stack",
            self.table,
            box("halves", self.left, self.right, self.looking),
            box("line", self.back, self.drop),
            box("halves", *self.panes),
        )

    def _number(self, one: Any) -> int | None:
        return int(one.value.split()[1].rstrip(":")) if one.value else None

    def _back(self) -> None:
        if (found := self._number(self.left)) is not None:
            self.screen.restore(found)

    def _drop(self) -> None:
        if (found := self._number(self.left)) is not None:
            self.session.drop_run(found)

    def refresh(self) -> None:
        """Show what runs there are, and the two that were chosen."""
        runs = self.session.runs
        names = [f"run {run.number}: {run.name}" for run in runs]
        if ["", *names] != self.left.options:
            # The last two stand beside each other as soon as there are two.
            for one, last in ((self.left, -2), (self.right, -1)):
                one.options = ["", *names]
                one.value = names[last] if len(names) >= -last else ""
        text = _runs(runs)
        put(self.table, text)
        for one, pane in zip((self.left, self.right), self.panes, strict=True):
            chosen = self._number(one)
            run = next((run for run in runs if run.number == chosen), None)
            said = f"<h2>{escape(one.value)}</h2>{self._drawn(run)}" if run else ""
            put(pane, said)

    def _drawn(self, run: Any) -> str:
        view = self.looking.value
        key = (run.number, view, run.validated is not None)
        if key not in self._jobs:
            self._jobs[key] = self.session.picture_of(run, view)
        job = self._jobs[key]
        if not job.done:
            return '<p class="quiet">drawing …</p>'
        try:
            return str(job.result())
        except Refusal as error:
            return f'<p class="warn">{escape(str(error))}</p>'


def _runs(runs: Sequence[Any]) -> str:
    """Return runs as a table: what was asked, what was reached, at which price."""
    if not runs:
        return '<p class="quiet">No run yet.</p>'
    measures = list(
        dict.fromkeys(k for run in runs if run.validated for k in run.validated.scores)
    )[:4]
    section = Section("", "runs")
    rows = []
    for run in runs:
        asked = {**run.settings["machine"]["settings"]}
        if run.settings["machine"]["monotone"]:
            asked["monotone"] = run.settings["machine"]["monotone"]
        if run.settings["tuning"]["seconds"]:
            asked["search"] = f"{run.settings['tuning']['seconds']:g} s"
        words = ", ".join(f"{k}={v}" for k, v in asked.items()) or "as it is"
        scores = run.validated.scores if run.validated else {}
        gap = "" if run.fitted.gap is None else percent(run.fitted.gap)
        target = run.prepared.question.target
        rows.append(
            (
                *(f"run {run.number}", run.name, target, words),
                *(scores.get(name, np.nan) for name in measures),
                *(gap, round(run.fitted.seconds, 2)),
            )
        )
    head = ("run", "machine", "target", "settings", *measures, "from the optimum", "seconds")
    section.table("Runs, the oldest first", head, rows, 4)
    return "".join(section.parts)


class Take(Step):
    """Leave with a script, a model file, predictions and a report."""

    title = "Take away"
    said = "A script that repeats everything, the model as a file, predictions, and a report."

    def build(self) -> Any:
        """Return the parts of the step."""
        self.files = {
            "script": self._download("fit.py", self._script, "Script"),
            "model file": self._download("model.skops", self._model, "Model"),
            "predictions": self._download("predictions.csv", self._predictions, "Predictions"),
            "report": self._download("report.html", self._report, "Report"),
        }
        self.wish = button("Write the report", self._ask, width=160)
        self._asked = False
        self.said_of, self.script = html(), html()
        return box("stack", box("line", *self.files.values(), self.wish), self.said_of, self.script)

    def _download(self, name: str, give: Callable[[], Any], label: str) -> Any:
        return pn.widgets.FileDownload(
            callback=give,
            filename=name,
            label=label,
            color="primary",
            stylesheets=[css("widget"), css("natural")],
            width=150,
            disabled=True,
        )

    def _ask(self) -> None:
        self._asked = True

    def _script(self) -> Any:
        return io.BytesIO(self.session.stages.value("script").encode())

    def _model(self) -> Any:
        return io.BytesIO(self.session.stages.value("model file"))

    def _report(self) -> Any:
        return io.BytesIO(self.session.stages.value("report").encode(errors="replace"))

    def _predictions(self) -> Any:
        return io.BytesIO(self.session.predictions().to_csv(index=False).encode(errors="replace"))

    def wants(self) -> list[str]:
        """Return the stages that are computed while the step is shown."""
        if self.session.state("fit") is not State.FRESH:
            return []
        return ["script", "model file", *(["report"] if self._asked else [])]

    def refresh(self) -> None:
        """Show the script, and offer files that are ready."""
        session = self.session
        fresh = session.state("fit") is State.FRESH
        for name, one in self.files.items():
            ready = fresh and (name == "predictions" or session.state(name) is State.FRESH)
            if one.disabled == ready:
                one.disabled = not ready
        self.wish.disabled = not fresh or session.state("report") is State.RUNNING
        words = ""
        if not fresh:
            words = '<p class="quiet">Fit a machine first: files belong to a fresh fit.</p>'
        elif session.state("report") is State.RUNNING:
            words = '<p class="quiet">writing the report …</p>'
        for name in ("script", "model file", "report"):
            outcome = session.stages.outcome(name)
            if outcome is not None and session.state(name) is State.FAILED:
                words += f'<p class="warn">{escape(name)}: {escape(outcome.problem or "")}</p>'
        put(self.said_of, words)
        text = session.value("script") if session.state("script") is State.FRESH else None
        shown = "" if text is None else f'<pre tabindex="0"><code>{escape(text)}</code></pre>'
        put(self.script, shown)


class Playground(Step):
    """Points drawn by hand, refitted while a slider moves."""

    title = "Playground"
    said = "Draw points and move the sliders: the machine is fitted again, exactly, as they move."

    def build(self) -> Any:
        """Return the parts of the step."""
        # The browser tells which colours its owner prefers; the page has the function that does.
        self.scheme = pn.widgets.TextInput(label=SCHEME, visible=False)
        self.scheme.param.watch(lambda event: self._coloured(), "value")
        self.drawing: Any = None
        self.place = box("whole", self.scheme)
        return self.place

    def _coloured(self) -> None:
        if self.drawing is not None:
            self.drawing.use(DARK if self.scheme.value == "dark" else LIGHT)

    def refresh(self) -> None:
        """Begin when it is first seen."""
        if self.drawing is not None:
            return
        self.drawing = PlaygroundView(theme=DARK if self.scheme.value == "dark" else LIGHT)
        view = self.drawing.__panel__()
        for one in view.select(pn.widgets.Widget):
            one.stylesheets = [*one.stylesheets, css("widget")]
        for one in view.select(pn.pane.HTML):
            one.stylesheets = [css("content"), *one.stylesheets]
        self.place.append(self.drawing)
