"""Steps on the screen that ask: each changes settings of a session and shows what they give."""

from __future__ import annotations

import dataclasses
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import panel as pn
from sklearn.base import ClassifierMixin, RegressorMixin

from mercer.kernels.named import NAMES as KERNELS
from mercer_studio.browser.parts import (
    Looks,
    StagePane,
    box,
    chooser,
    css,
    field,
    html,
    listened,
    many,
    put,
)
from mercer_studio.browser.session import ENDINGS, MAX_UPLOAD, Session, listed
from mercer_studio.browser.stages import State
from mercer_studio.cli.models import MACHINES

if TYPE_CHECKING:
    from mercer_studio.browser.screen import Screen
from mercer_studio.cli.text import setting

EXAMPLES = {
    "Concrete: strength of mixtures": "concrete",
    "Cars: miles per gallon, with gaps": "auto_mpg",
    "Abalone: age of shellfish": "abalone",
    "Credit: good and bad risks": "german_credit",
    "Haberman: survival after surgery": "haberman",
}
"""Tables that come with the library, by what they are about."""

# Parameters that have a field of their own, in this order.
COMMON = (
    *("loss", "kernel", "C", "gamma", "epsilon", "nu", "degree", "coef0", "n_components", "latent"),
    *("lam", "width", "n_nodes", "length", "log", "cv", "optimize", "nugget", "codes"),
    *("standardize", "budget", "tol", "max_time", "random_state"),
)

AUTOMATIC = "chosen by the data"

SEARCHES: dict[str, float | None] = {
    "no search": None,
    "5 seconds": 5.0,
    "20 seconds": 20.0,
    "1 minute": 60.0,
    "5 minutes": 300.0,
}
COVERAGES: dict[str, float | None] = {"no intervals": None, "80 %": 0.8, "90 %": 0.9, "95 %": 0.95}

KINDS: dict[str, str | None] = {
    "found by itself": None,
    "numbers": "regression",
    "classes": "classification",
}


@dataclass(frozen=True)
class Advice:
    """Something that a person may know or need, and the machine that follows, with the reason.

    Parameters
    ----------
    task : str
        The task that it is about.
    said : str
        In the words of the person.
    why : str
        The reason.
    machine : str, optional
        What is fitted; by default the machine that reads tables and chooses by itself.
    settings : dict
        Parameters of the machine.
    """

    task: str
    said: str
    why: str
    machine: str | None = None
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)


ADVICE = [
    Advice(**one)
    for one in tomllib.loads(Path(__file__).with_name("advice.toml").read_text(encoding="utf-8"))[
        "advice"
    ]
]
"""What may be known or needed; the first of a task stands if nobody says anything."""


class Step(ABC):
    """A step on the screen.

    Parameters
    ----------
    screen : Screen
        Where it is shown.
    """

    title: str
    said: str
    stages: tuple[str, ...] = ()

    def __init__(self, screen: Screen) -> None:
        self.screen, self.quiet = screen, False
        self.head = html(f'<h1>{escape(self.title)}</h1><p class="quiet">{escape(self.said)}</p>')
        self.view = box("whole", self.head, self.build())

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
            accept=",".join(ENDINGS), stylesheets=[css("widget")], sizing_mode="stretch_width"
        )
        listened(self.sent, self._sent)
        self.example = chooser(
            "An example", {"": "", **EXAMPLES}, self.told(self._example), value=""
        )
        self.delimiter = field("Between values", self.told(self._how), "found by itself")
        self.encoding = field("Encoding", self.told(self._how), "recognized by itself")
        self.comment = field("Lines to skip begin with", self.told(self._how), "such as #")
        self.table = StagePane(self.session, "table", "No table yet.")
        words = f'<p class="quiet">or send one, up to {MAX_UPLOAD / 1e6:.0f} MB:</p>'
        settings = box(
            "stack",
            self.files,
            html(words),
            self.sent,
            self.example,
            html("<p class='quiet'>Of a text file:</p>"),
            self.delimiter,
            self.encoding,
            self.comment,
        )
        return box("pane", settings, self.table.pane)

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

    def build(self) -> Any:
        """Return the parts of the step."""
        change = self.told(self._changed)
        self.target = chooser("Target", [""], change, value="")
        self.kind = chooser("Its values are", list(KINDS), change)
        self.drop = many("Leave out", change)
        self.names = many("Numbers that are names", change)
        self.gaps = many("Columns in which a number stands for a gap", change)
        self.gap = field("That number", change, value="0")
        self.looks = Looks(self.session, ("columns", "gaps", "cloud"), "Choose a target.")
        fields = [self.target, self.kind, self.drop, self.gaps, self.gap, self.names]
        return box(
            "pane", box("stack", *fields), box("stack", self.looks.choice, self.looks.deck.box)
        )

    def loaded(self, columns: list[str]) -> None:
        """Offer the columns of a new table, and keep what was asked of columns that it has."""
        asked = self.session.stages.settings("preparation")
        with self.silent():
            self.target.options = ["", *columns]
            self.target.value = asked["target"] if asked["target"] in columns else ""
            for one in (self.drop, self.names, self.gaps):
                one.options = columns
            table = self.session.value("data")
            frame = None if table is None else table.frame
            if frame is not None:
                numeric = [str(c) for c in frame.columns if frame[c].dtype.kind in "iuf"]
                self.names.options, self.gaps.options = numeric, numeric
            self.drop.value = [name for name in asked["drop"] if name in columns]
            self.names.value = [name for name in asked["categorical"] if name in self.names.options]
            gaps = {name: value for name, value in asked["gaps"].items() if name in columns}
            self.gaps.value, self.gap.value = list(gaps), f"{next(iter(gaps.values()), 0.0):g}"
            self.kind.value = _label(KINDS, asked["task"])
        self._changed(None)

    def _changed(self, _: Any) -> None:
        try:
            value = float(self.gap.value or 0.0)
        except ValueError:
            self.screen.say("The number that stands for a gap must be a number.")
            return
        self.session.prepare(
            target=self.target.value or None,
            task=KINDS[self.kind.value],
            drop=tuple(self.drop.value),
            categorical=tuple(self.names.value),
            gaps=dict.fromkeys(self.gaps.value, value),
        )
        self.screen.say("")

    def wants(self) -> list[str]:
        """Return the stages that are computed while the step is shown."""
        return ["preparation", self.looks.choice.value] if self.screen.asked else []

    def refresh(self) -> None:
        """Show what stages gave since the last time."""
        pane = self.looks.panes[self.looks.choice.value]
        outcome = self.session.stages.outcome("preparation")
        if self.session.state("preparation") is State.FAILED and outcome is not None:
            pane.warn(outcome.problem or "")
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
            options=[""], stylesheets=[css("widget")], sizing_mode="stretch_width"
        )
        listened(self.known, self.told(self._advised))
        change = self.told(self._changed)
        self.machine = chooser("Machine", [AUTOMATIC], self.told(self._machine))
        self.coverage = chooser("Prediction intervals", list(COVERAGES), change)
        self.up = many("The prediction rises with", change)
        self.down = many("The prediction falls with", change)
        self.seconds = chooser(
            "Search hyperparameters for", list(SEARCHES), change, value="5 seconds"
        )
        self.fields: dict[str, Any] = {}
        self.form = box("fields")
        self.why = html()
        self._task: str | None = None
        self._made: str | None = None
        self._start: dict[str, Any] = {}
        settings = box(
            "stack",
            html("<h2>What do you know or need?</h2>"),
            self.known,
            self.up,
            self.down,
            self.coverage,
            self.seconds,
        )
        shown = box("stack", self.why, self.machine, html("<h2>Its settings</h2>"), self.form)
        return box("pane", settings, shown)

    def loaded(self, columns: list[str]) -> None:
        """Offer the columns of a new table."""
        with self.silent():
            for one in (self.up, self.down):
                one.options, one.value = columns, []
        self._task = None

    def _advised(self, said: str) -> None:
        for one in ADVICE:
            if one.task == self._task and one.said == said:
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

    def _changed(self, _: Any) -> None:
        name = self.machine.value
        try:
            typed = {
                key: setting(f"{key}={one.value}")[1]
                for key, one in self.fields.items()
                if one.value != ""
            }
        except ValueError as error:
            self.screen.say(str(error))
            return
        monotone = {**dict.fromkeys(self.up.value, 1), **dict.fromkeys(self.down.value, -1)}
        task = self.screen.task
        self.session.choose(
            machine=None if monotone or name == AUTOMATIC else name,
            settings=typed if self.fields else dict(self._start),
            monotone=monotone,
            coverage=COVERAGES[self.coverage.value] if task == "regression" else None,
        )
        self.session.tune(SEARCHES[self.seconds.value])
        self.screen.say("")

    def wants(self) -> list[str]:
        """Return the stages that are computed while the step is shown."""
        return ["machine"] if self.screen.asked else []

    def refresh(self) -> None:
        """Show what stages gave since the last time."""
        task = self.screen.task
        if task is not None and task != self._task:
            self._offer(task)
        outcome, state = self.session.stages.outcome("machine"), self.session.state("machine")
        if state is State.FAILED and outcome is not None:
            put(self.why, f'<p class="warn">{escape(outcome.problem or "")}</p>')
        elif state is State.FRESH and outcome is not None:
            planned = outcome.value
            steps = "".join(f"<li>{escape(step)}</li>" for step in planned.steps)
            put(
                self.why,
                f'<p class="lead">{escape(planned.name)}, because {escape(planned.why)}.</p>'
                f"<p>{escape(planned.said)}</p>"
                f"<p>Before it:</p><ul>{steps}</ul>",
            )
            if planned.name != self._made:
                self._make(planned)
            monotone = self.session.stages.settings("machine")["monotone"]
            self.seconds.visible = planned.tunable or bool(monotone)
        elif task is None:
            put(self.why, '<p class="quiet">Ask a question first.</p>')

    def _offer(self, task: str) -> None:
        """Offer what a task has."""
        self._task = task
        with self.silent():
            advice = [one for one in ADVICE if one.task == task]
            self.known.options = [one.said for one in advice]
            self.known.value = self.known.options[0]
            self.machine.options = [AUTOMATIC, *_machines(task)]
            kept = self.session.stages.settings("machine")
            known = kept["machine"] in self.machine.options
            first = kept["machine"] if known else advice[0].machine
            self.machine.value = first or AUTOMATIC
            used = self.session.value("preparation").question.plan.used
            numeric = [name for name, kind in used.items() if kind == "number"]
            self.up.options = self.down.options = numeric
            signs = {name: sign for name, sign in kept["monotone"].items() if name in numeric}
            self.up.value = [name for name, sign in signs.items() if sign > 0]
            self.down.value = [name for name, sign in signs.items() if sign < 0]
            self.coverage.value = _label(COVERAGES, kept["coverage"])
            seconds = self.session.stages.settings("tuning")["seconds"]
            if seconds is not None:
                self.seconds.value = _label(SEARCHES, seconds)
            self.coverage.visible = task == "regression"
        self._fill(dict(kept["settings"]) if known else {})
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


def _label(options: dict[str, Any], value: Any) -> str:
    """Return the label of a value, or the first one."""
    return next((label for label, one in options.items() if one == value), next(iter(options)))


def _machines(task: str) -> list[str]:
    """Return machines of a task that can be made without settings of their own."""
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
