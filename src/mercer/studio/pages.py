"""The steps on the screen: each changes settings of a session and shows what stages gave."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import panel as pn
from sklearn.base import ClassifierMixin, RegressorMixin

from mercer.cli import quantities
from mercer.cli.picking import MACHINES, MAPS
from mercer.cli.refusals import Refusal
from mercer.kernels.named import NAMES as KERNELS
from mercer.reporting.page import Section, number
from mercer.reporting.words import percent
from mercer.studio.advice import advised
from mercer.studio.drawing import VIEWS, available
from mercer.studio.files import ENDINGS, MAX_UPLOAD, listed
from mercer.studio.look import CONTENT, NATURAL, WIDGET
from mercer.studio.parts import (
    Deck,
    StagePane,
    beside,
    button,
    chooser,
    field,
    form,
    halves,
    html,
    line,
    many,
    progress,
    stack,
    whole,
)
from mercer.studio.playground import DARK, LIGHT
from mercer.studio.playground.view import playground_view
from mercer.studio.session import STEPS, Session
from mercer.studio.stages import State

__all__ = ["PAGES", "SCHEME", "Desk", "Step"]

EXAMPLES = {
    "Concrete: strength of mixtures": "concrete",
    "Cars: miles per gallon, with gaps": "auto_mpg",
    "Abalone: age of shellfish": "abalone",
    "Credit: good and bad risks": "german_credit",
    "Haberman: survival after surgery": "haberman",
}
"""Tables that come with the library, by what they are about."""

SCHEME = "mercer-scheme"
"""Title of the field through which the browser tells whether it is light or dark."""

# Parameters that have a field of their own, in this order.
COMMON = (
    *("loss", "kernel", "C", "gamma", "epsilon", "nu", "degree", "coef0", "n_components", "latent"),
    *("lam", "width", "n_nodes", "length", "log", "cv", "optimize", "nugget", "codes"),
    *("standardize", "tol", "max_time", "random_state"),
)

AUTOMATIC = "chosen by the data"
ITSELF, NONE = "what matters most", "nothing else"

SEARCHES: dict[str, float | None] = {
    "no search": None,
    "5 seconds": 5.0,
    "20 seconds": 20.0,
    "1 minute": 60.0,
    "5 minutes": 300.0,
}
COVERAGES: dict[str, float | None] = {"no intervals": None, "80 %": 0.8, "90 %": 0.9, "95 %": 0.95}

TASKS: dict[str, str | None] = {
    "Predict a number or a class": None,
    "Predict a time, not always seen": "survival",
    "Map the rows, without a target": "structure",
}
KINDS: dict[str, str | None] = {
    "found by itself": None,
    "numbers": "regression",
    "classes": "classification",
}


class Desk(Protocol):
    """What a step asks of the screen that it is on."""

    session: Session
    folder: Path | None

    @property
    def task(self) -> str | None:
        """The task, once the question is prepared."""

    @property
    def busy(self) -> bool:
        """Whether a fit is going on."""

    def say(self, sentence: str) -> None:
        """Say what is wrong, or nothing."""

    def open(self, name: str) -> None:
        """Take a table of the folder."""

    def receive(self, name: str, content: bytes) -> None:
        """Take a table that the browser sent."""

    def example(self, name: str) -> None:
        """Take a table that comes with the library."""

    def reopen(self, how: dict[str, Any]) -> None:
        """Read the same file in another way."""

    def fit(self) -> None:
        """Fit, then predict rows that were left out."""

    def cancel(self) -> None:
        """End the search or fit that is going on."""

    def restore(self, number: int) -> None:
        """Go back to a run."""


class Step(ABC):
    """A step on the screen.

    Parameters
    ----------
    screen : Desk
        Where it is shown.
    """

    title: str
    said: str
    stages: tuple[str, ...] = ()

    def __init__(self, screen: Desk) -> None:
        self.screen, self.quiet = screen, False
        self.head = html(f'<h1>{escape(self.title)}</h1><p class="quiet">{escape(self.said)}</p>')
        self.view = whole(self.head, self.build())

    @property
    def session(self) -> Session:
        """What is worked on."""
        return self.screen.session

    @abstractmethod
    def build(self) -> Any:
        """Return the parts of the step."""

    def wants(self) -> list[str]:
        """Return the stages that are computed while the step is shown."""
        return []

    @abstractmethod
    def refresh(self) -> None:
        """Show what stages gave since the last time."""

    def loaded(self, columns: list[str]) -> None:  # noqa: B027, most steps offer none
        """Offer the columns of a new table."""

    @contextmanager
    def silent(self) -> Any:
        """Let widgets change without changing settings."""
        old, self.quiet = self.quiet, True
        try:
            yield
        finally:
            self.quiet = old

    def told(self, change: Callable[[Any], Any]) -> Callable[[Any], None]:
        """Return a listener to a widget that is silent while widgets are set by the program."""

        def listen(value: Any) -> None:
            if not self.quiet:
                change(value)

        return listen


class Data(Step):
    """Choose and see a table."""

    title = "Data"
    said = "Choose a table: CSV, Parquet or Arrow. It stays on this machine."
    stages = ("data",)

    def build(self) -> Any:
        """Return the parts of the step."""
        folder = self.screen.folder
        files = [] if folder is None else listed(folder)
        self.files = chooser("In this folder", ["", *files], self.told(self.screen.open), value="")
        self.sent = pn.widgets.FileInput(
            accept=",".join(ENDINGS), stylesheets=[WIDGET], sizing_mode="stretch_width"
        )
        self.sent.param.watch(lambda event: self._sent(event.new), "value")
        self.example = chooser(
            "An example", {"": "", **EXAMPLES}, self.told(self._example), value=""
        )
        self.delimiter = field("Between values", self.told(self._how), "found by itself")
        self.encoding = field("Encoding", self.told(self._how), "recognized by itself")
        self.comment = field("Lines to skip begin with", self.told(self._how), "such as #")
        self.table = StagePane(self.session, "table", "No table yet.")
        words = f'<p class="quiet">or send one, up to {MAX_UPLOAD / 1e6:.0f} MB:</p>'
        settings = stack(
            self.files,
            html(words),
            self.sent,
            self.example,
            html("<p class='quiet'>Of a text file:</p>"),
            self.delimiter,
            self.encoding,
            self.comment,
        )
        return beside(settings, self.table.pane)

    def _sent(self, content: bytes | None) -> None:
        if content:
            self.screen.receive(str(self.sent.filename or "table.csv"), content)

    def _example(self, name: str) -> None:
        if name:
            self.screen.example(name)

    def _how(self, _: str) -> None:
        how = {
            "delimiter": self.delimiter.value,
            "encoding": self.encoding.value,
            "comment": self.comment.value,
        }
        self.screen.reopen({key: value for key, value in how.items() if value})

    def wants(self) -> list[str]:
        """Return the stages that are computed while the step is shown."""
        return [] if self.session.stages.settings("data")["source"] is None else ["table"]

    def refresh(self) -> None:
        """Show what stages gave since the last time."""
        self.table.refresh()


class Question(Step):
    """Say what is predicted from what."""

    title = "Question"
    said = "What do you want to know, and which columns may be used for it?"
    stages = ("preparation",)
    looks = ("columns", "gaps", "cloud", "differogram")

    def build(self) -> Any:
        """Return the parts of the step."""
        self.task = pn.widgets.RadioBoxGroup(
            options=list(TASKS),
            value=next(iter(TASKS)),
            stylesheets=[WIDGET],
            sizing_mode="stretch_width",
        )
        self.task.param.watch(lambda event: self.told(self._changed)(event.new), "value")
        change = self.told(self._changed)
        self.target = chooser("Target", [""], change, value="")
        self.kind = chooser("Its values are", list(KINDS), change)
        self.event = chooser("Column that is 1 where it was seen", [""], change, value="")
        self.drop = many("Leave out", [], change, 4)
        self.names = many("Numbers that are names", [], change, 4)
        self.gaps = many("Columns in which a number stands for a gap", [], change, 4)
        self.gap = field("That number", change, value="0")
        self.looking = pn.widgets.RadioButtonGroup(
            options={VIEWS[name].title: name for name in self.looks},
            value="columns",
            stylesheets=[WIDGET],
        )
        self.panes = {
            name: StagePane(self.session, name, "Choose a target.") for name in self.looks
        }
        self.place = Deck()
        self.place.show(self.panes["columns"].pane)
        self.looking.param.watch(lambda event: self._look(event.new), "value")
        settings = stack(
            self.task,
            self.target,
            self.kind,
            self.event,
            self.drop,
            self.gaps,
            self.gap,
            self.names,
        )
        return beside(settings, stack(self.looking, self.place.box))

    def loaded(self, columns: list[str]) -> None:
        """Offer the columns of a new table."""
        with self.silent():
            for one in (self.target, self.event):
                kept = one.value if one.value in columns else ""
                one.options, one.value = ["", *columns], kept
            for one in (self.drop, self.names, self.gaps):
                one.options, one.value = columns, []
            table = self.session.value("data")
            frame = None if table is None else table.frame
            if frame is not None:
                numeric = [str(c) for c in frame.columns if frame[c].dtype.kind in "iuf"]
                self.names.options, self.gaps.options = numeric, numeric
            asked = self.session.stages.settings("preparation")
            if asked["target"] in columns:
                self.target.value = asked["target"]
        self._changed(None)

    def _changed(self, _: Any) -> None:
        task = TASKS[self.task.value]
        self.target.label = {"structure": "Do not use (to colour by later)"}.get(
            task or "", "Time" if task == "survival" else "Target"
        )
        self.event.visible, self.kind.visible = task == "survival", task is None
        try:
            value = float(self.gap.value or 0.0)
        except ValueError:
            self.screen.say("The number that stands for a gap must be a number.")
            return
        self.session.prepare(
            target=self.target.value or None,
            task=task
            if task == "structure"
            else (KINDS[self.kind.value] if task is None else None),
            event=(self.event.value or None) if task == "survival" else None,
            drop=tuple(self.drop.value),
            categorical=tuple(self.names.value),
            gaps=dict.fromkeys(self.gaps.value, value),
        )
        self.screen.say("")

    def _look(self, name: str) -> None:
        self.place.show(self.panes[name].pane)

    def wants(self) -> list[str]:
        """Return the stages that are computed while the step is shown."""
        asked = self.session.stages.settings("preparation")
        ready = asked["target"] is not None or asked["task"] == "structure"
        if TASKS[self.task.value] == "survival":
            ready = ready and asked["event"] is not None
        if not ready or not self.session.columns:
            return []
        task = self.screen.task
        shown = self.looking.value
        return ["preparation", *([shown] if shown in available(task) else [])]

    def refresh(self) -> None:
        """Show what stages gave since the last time."""
        task = self.screen.task
        offered = {VIEWS[name].title: name for name in self.looks if name in available(task)}
        if offered and offered != self.looking.options:
            self.looking.options = offered
            if self.looking.value not in offered.values():
                self.looking.value = "columns"
        failed = self.session.state("preparation") is State.FAILED
        pane = self.panes[self.looking.value]
        if failed:
            outcome = self.session.stages.outcome("preparation")
            words = "" if outcome is None else outcome.problem or ""
            pane.pane.object = f'<p class="warn">{escape(words)}</p>'
            pane._shown = None
        else:
            pane.refresh()


class Machine(Step):
    """Be helped to choose a machine, or choose and set one."""

    title = "Machine"
    said = "What do you know, and what do you need? The machine follows, with its reason."
    stages = ("machine", "tuning")

    def build(self) -> Any:
        """Return the parts of the step."""
        self.known = pn.widgets.RadioBoxGroup(
            options=[""], stylesheets=[WIDGET], sizing_mode="stretch_width"
        )
        self.known.param.watch(lambda event: self.told(self._advised)(event.new), "value")
        change = self.told(self._changed)
        self.machine = chooser("Machine", [AUTOMATIC], self.told(self._machine))
        self.coverage = chooser("Prediction intervals", list(COVERAGES), change)
        self.up = many("The prediction rises with", [], change, 4)
        self.down = many("The prediction falls with", [], change, 4)
        self.seconds = chooser(
            "Search hyperparameters for", list(SEARCHES), change, value="5 seconds"
        )
        self.fields: dict[str, Any] = {}
        self.form = form()
        self.why = html()
        self._task: str | None = None
        self._made: str | None = None
        settings = stack(
            html("<h2>What do you know or need?</h2>"),
            self.known,
            self.up,
            self.down,
            self.coverage,
            self.seconds,
        )
        shown = stack(self.why, self.machine, html("<h2>Its settings</h2>"), self.form)
        return beside(settings, shown)

    def loaded(self, columns: list[str]) -> None:
        """Offer the columns of a new table."""
        with self.silent():
            for one in (self.up, self.down):
                one.options, one.value = columns, []
        self._task = None

    def _advised(self, said: str) -> None:
        for one in advised(self._task or ""):
            if one.said == said:
                with self.silent():
                    self.machine.value = one.machine or AUTOMATIC
                self._fill(dict(one.settings))
                self._changed(None)

    def _machine(self, _: str) -> None:
        self._fill({})
        self._changed(None)

    def _fill(self, settings: dict[str, Any]) -> None:
        """Begin the form anew, with some settings in it."""
        self._made, self._start = None, settings
        with self.silent():
            for one in self.fields.values():
                one.value = ""
        self.fields = {}
        self.session.choose(settings=settings)

    _start: dict[str, Any] = {}  # noqa: RUF012, replaced and never changed

    def _changed(self, _: Any) -> None:
        name = self.machine.value
        try:
            typed = {
                key: quantities.setting(f"{key}={one.value}")[1]
                for key, one in self.fields.items()
                if one.value != ""
            }
        except ValueError as error:
            self.screen.say(str(error))
            return
        monotone = {**dict.fromkeys(self.up.value, 1), **dict.fromkeys(self.down.value, -1)}
        task = self.screen.task
        shaped = bool(monotone) and task in ("regression", "classification")
        self.session.choose(
            machine=None if shaped or name == AUTOMATIC else name,
            settings=typed if self.fields else dict(self._start),
            monotone=monotone if shaped else {},
            coverage=COVERAGES[self.coverage.value] if task == "regression" else None,
        )
        self.session.tune(SEARCHES[self.seconds.value])
        self.screen.say("")

    def wants(self) -> list[str]:
        """Return the stages that are computed while the step is shown."""
        return ["machine"] if self.session.state("preparation") is State.FRESH else []

    def refresh(self) -> None:
        """Show what stages gave since the last time."""
        task = self.screen.task
        if task is not None and task != self._task:
            self._offer(task)
        outcome, state = self.session.stages.outcome("machine"), self.session.state("machine")
        if state is State.FAILED and outcome is not None:
            self._tell(f'<p class="warn">{escape(outcome.problem or "")}</p>')
        elif state is State.FRESH and outcome is not None:
            planned = outcome.value
            steps = "".join(f"<li>{escape(step)}</li>" for step in planned.steps)
            self._tell(
                f'<p class="lead">{escape(planned.name)}, because {escape(planned.why)}.</p>'
                f"<p>{escape(planned.said)}</p>"
                f"<p>Before it:</p><ul>{steps}</ul>"
            )
            if planned.name != self._made:
                self._make(planned)
        elif task is None:
            self._tell('<p class="quiet">Ask a question first.</p>')

    def _tell(self, text: str) -> None:
        if self.why.object != text:
            self.why.object = text

    def _offer(self, task: str) -> None:
        """Offer what a task has."""
        self._task = task
        with self.silent():
            self.known.options = [one.said for one in advised(task)]
            self.known.value = self.known.options[0]
            self.machine.options = [AUTOMATIC, *_machines(task)]
            first = advised(task)[0].machine
            self.machine.value = first or AUTOMATIC
            used = self.session.value("preparation").question.plan.used
            numeric = [name for name, kind in used.items() if kind == "number"]
            self.up.options = self.down.options = numeric
            both = task in ("regression", "classification")
            self.up.visible = self.down.visible = both
            self.coverage.visible = task == "regression"
            self.seconds.visible = task != "structure"
        self._fill({})
        self._changed(None)

    def _make(self, planned: Any) -> None:
        """Make a field for every common setting of a machine."""
        self._made = planned.name
        self.fields = {}
        parts = []
        change = self.told(self._changed)
        for key in [one for one in COMMON if one in planned.settings]:
            default = planned.settings[key]
            start = self._start.get(key, "")
            if key == "kernel":
                one = chooser(key, ["", *sorted(KERNELS)], change, value=str(start))
                one.label = f"kernel ({default} by default)"
            else:
                one = field(key, change, str(default), str(start) if start != "" else "")
            self.fields[key] = one
            parts.append(one)
        self.form[:] = parts


def _machines(task: str) -> list[str]:
    """Return machines of a task that can be made without settings of their own."""
    if task == "structure":
        return sorted(MAPS)
    if task == "survival":
        return ["CensoredRegressor"]
    wanted = RegressorMixin if task == "regression" else ClassifierMixin
    found = []
    for name, kind in MACHINES.items():
        try:
            kind()
        except TypeError:
            continue
        if issubclass(kind, wanted):
            found.append(name)
    return sorted(found)


class Fit(Step):
    """Fit, see the gap fall, cancel."""

    title = "Fit"
    said = "The fit runs in a process of its own: everything else goes on, and it can be ended."
    stages = ("fit",)

    def build(self) -> Any:
        """Return the parts of the step."""
        self.go = button("Fit", self.screen.fit, "primary")
        self.stop = button("Cancel", self.screen.cancel)
        self.cluster = field(
            "Dask scheduler (optional)",
            self.told(lambda text: self.session.change_fit(cluster=text.strip() or None)),
            "tcp://…:8786",
        )
        self.now, self.done = html(), html()
        return stack(line(self.go, self.stop), self.now, self.done, self.cluster)

    def refresh(self) -> None:
        """Show how far the fit is, and what it gave."""
        session = self.session
        running = [n for n in STEPS if session.state(n) is State.RUNNING]
        self.stop.disabled = not any(n in running for n in ("tuning", "fit", "judgement"))
        self.go.disabled = self.screen.busy
        name = next((n for n in ("tuning", "fit", "judgement") if n in running), None)
        text = ""
        if name is not None:
            title = {"tuning": "Search", "fit": "Fit", "judgement": "Validation"}[name]
            text = progress(session.job(name), session.state(name), title)
        elif self.screen.busy:
            text = '<p class="quiet">preparing …</p>'
        if text != self.now.object:
            self.now.object = text
        said = self._result()
        if said != self.done.object:
            self.done.object = said

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
        judged = session.value("judgement")
        if judged is not None and session.state("judgement") is State.FRESH:
            tiles = "".join(
                f"<div><dt>{escape(k)}</dt><dd>{escape(number(v))}</dd></div>"
                for k, v in judged.scores.items()
            )
            section.parts.append(f'<dl class="tiles">{tiles}</dl>')
            section.say(f"On {judged.said}.")
        job = session.job("fit")
        if job is not None and job.done and len(job.shown.values) > 1:
            section.parts.append(progress(job, session.state("fit"), "Last fit"))
        note = '<p class="warn">Settings have changed since: this is the last model.</p>'
        return f"{note if stale else ''}{''.join(section.parts)}"


class Understand(Step):
    """See the pictures of a model."""

    title = "Understand"
    said = "The picture that belongs to the machine, its errors, effects, kernel and certificate."
    first = "picture"

    def build(self) -> Any:
        """Return the parts of the step."""
        fits = [name for name, view in VIEWS.items() if "fit" in view.inputs]
        self.looking = pn.widgets.RadioButtonGroup(
            options={VIEWS[name].title: name for name in fits},
            value=self.first,
            stylesheets=[WIDGET],
        )
        self.looking.param.watch(lambda event: self._look(event.new), "value")
        self.along = chooser("Draw along", [ITSELF], self.told(self._inputs))
        self.across = chooser("and", [NONE], self.told(self._inputs))
        self.colour = chooser("Colour by", [""], self.told(self._colour), value="")
        self.panes = {
            name: StagePane(self.session, name, "Fit a machine to see this.") for name in fits
        }
        self.said_of = html()
        self.place = Deck()
        self.place.show(self.panes[self.first].pane)
        options = halves(self.along, self.across, self.colour)
        return stack(self.looking, self.said_of, options, self.place.box)

    def loaded(self, columns: list[str]) -> None:
        """Offer the columns of a new table."""
        with self.silent():
            self.colour.options, self.colour.value = ["", *columns], ""
            self.along.options, self.along.value = [ITSELF], ITSELF
            self.across.options, self.across.value = [NONE], NONE

    def _inputs(self, _: str) -> None:
        chosen = (self.along.value, self.across.value)
        names = tuple(dict.fromkeys(one for one in chosen if one not in (ITSELF, NONE)))
        for view in ("picture", "uncertainty"):
            self.session.show(view, inputs=names)

    def _colour(self, name: str) -> None:
        self.session.show("picture", colour=name or None)

    def _look(self, name: str) -> None:
        self.place.show(self.panes[name].pane)

    def wants(self) -> list[str]:
        """Return the stages that are computed while the step is shown."""
        if self.session.state("fit") is not State.FRESH:
            return []
        return [self.looking.value] if self.looking.value in available(self.screen.task) else []

    def refresh(self) -> None:
        """Show what stages gave since the last time."""
        task = self.screen.task
        offered = {
            VIEWS[name].title: name
            for name in self.panes
            if task is None or name in available(task)
        }
        if offered != self.looking.options:
            self.looking.options = offered
            if self.looking.value not in offered.values():
                self.looking.value = self.first
        name = self.looking.value
        both = task in ("regression", "classification")
        self.along.visible = name in ("picture", "uncertainty") and both
        self.across.visible = name == "picture" and both
        self.colour.visible = name == "picture" and task == "structure"
        said = f'<p class="quiet">{escape(VIEWS[name].said)}</p>'
        if self.said_of.object != said:
            self.said_of.object = said
        prepared = self.session.value("preparation")
        if prepared is not None and len(self.along.options) == 1:
            used = prepared.question.plan.used
            numeric = [n for n, kind in used.items() if kind == "number"]
            with self.silent():
                self.along.options, self.across.options = [ITSELF, *numeric], [NONE, *numeric]
        self.panes[name].refresh()


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
        return stack(
            self.table,
            halves(self.left, self.right, self.looking),
            line(self.back, self.drop),
            halves(*self.panes),
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
        if text != self.table.object:
            self.table.object = text
        for one, pane in zip((self.left, self.right), self.panes, strict=True):
            chosen = self._number(one)
            run = next((run for run in runs if run.number == chosen), None)
            if run is None:
                said = ""
            else:
                said = f"<h2>{escape(one.value)}</h2>{self._drawn(run)}"
            if said != pane.object:
                pane.object = said

    def _drawn(self, run: Any) -> str:
        view = self.looking.value
        task = run.prepared.question.task
        if view not in available(task):
            return '<p class="quiet">There is no such view of this task.</p>'
        key = (run.number, view, run.judged is not None)
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
    measures = list(dict.fromkeys(k for run in runs if run.judged for k in run.judged.scores))[:4]
    section = Section("", "runs")
    rows = []
    for run in runs:
        asked = {**run.settings["machine"]["settings"]}
        if run.settings["machine"]["monotone"]:
            asked["monotone"] = run.settings["machine"]["monotone"]
        if run.settings["tuning"]["seconds"]:
            asked["search"] = f"{run.settings['tuning']['seconds']:g} s"
        words = ", ".join(f"{k}={v}" for k, v in asked.items()) or "as it is"
        scores = run.judged.scores if run.judged else {}
        gap = "" if run.fitted.gap is None else percent(run.fitted.gap)
        target = run.prepared.question.target or "map"
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
        return stack(line(*self.files.values(), self.wish), self.said_of, self.script)

    def _download(self, name: str, give: Callable[[], Any], label: str) -> Any:
        return pn.widgets.FileDownload(
            callback=give,
            filename=name,
            label=label,
            color="primary",
            stylesheets=[WIDGET, NATURAL],
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
        return io.BytesIO(self.session.stages.value("report").encode())

    def _predictions(self) -> Any:
        return io.BytesIO(self.session.predictions().to_csv(index=False).encode())

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
        if words != self.said_of.object:
            self.said_of.object = words
        text = session.value("script") if session.state("script") is State.FRESH else None
        shown = "" if text is None else f'<pre tabindex="0"><code>{escape(text)}</code></pre>'
        if shown != self.script.object:
            self.script.object = shown


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
        self.place = whole(self.scheme)
        return self.place

    def _coloured(self) -> None:
        if self.drawing is not None:
            self.drawing.use(DARK if self.scheme.value == "dark" else LIGHT)

    def refresh(self) -> None:
        """Begin when it is first seen."""
        if self.drawing is not None:
            return
        self.drawing = playground_view(theme=DARK if self.scheme.value == "dark" else LIGHT)
        view = self.drawing.__panel__()
        for one in view.select(pn.widgets.Widget):
            one.stylesheets = [*one.stylesheets, WIDGET]
        for one in view.select(pn.pane.HTML):
            one.stylesheets = [CONTENT, *one.stylesheets]
        self.place.append(self.drawing)


PAGES: tuple[type[Step], ...] = (
    *(Data, Question, Machine, Fit, Understand, Compare, Take),
    Playground,
)
"""The steps, in their order."""
