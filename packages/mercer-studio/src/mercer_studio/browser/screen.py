"""The screen: steps on the left with their states, the work of one step on the right."""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from html import escape
from pathlib import Path
from typing import Any

import panel as pn

from mercer import datasets
from mercer_studio.browser.pages import Data, Machine, Question, Step
from mercer_studio.browser.parts import Deck, css, html, put
from mercer_studio.browser.result_pages import Compare, Fit, Playground, Take, Understand
from mercer_studio.browser.session import Session, inside, stored
from mercer_studio.browser.stages import State
from mercer_studio.cli.text import Refusal

PAGES: tuple[type[Step], ...] = (
    *(Data, Question, Machine, Fit, Understand, Compare, Take),
    Playground,
)
"""The steps, in their order."""

PERIOD = 150
"""Milliseconds between two looks at what stages gave."""

MARKS = {State.FRESH: "✓", State.STALE: "·", State.RUNNING: "…", State.FAILED: "!"}
"""A sign beside a step for the state of its stages; the worst of several stands."""


class Screen:
    """What one visitor sees.

    Parameters
    ----------
    session : Session
        What is worked on.
    folder : Path, optional
        Where tables may be opened; None for nowhere.
    """

    def __init__(self, session: Session, folder: Path | None = None) -> None:
        self.session, self.folder = session, folder
        # What the visitor sends goes with them.
        self.own = Path(tempfile.mkdtemp(prefix="mercer-studio-"))
        self._clear = weakref.finalize(self, shutil.rmtree, self.own, ignore_errors=True)
        self.problem = html()
        self._threads: dict[str, threading.Thread] = {}
        self._columns: list[str] | None = None
        self._tried: dict[str, Any] = {}
        self._fitting: threading.Thread | None = None
        self._validate = False
        self.steps: list[Step] = [page(self) for page in PAGES]
        self.here = self.steps[0]
        self.buttons = [self._button(step) for step in self.steps]
        self.stages = pn.Column(*self.buttons, stylesheets=[css("stages")])
        self.deck = Deck(*(step.view for step in self.steps))
        self.deck.show(self.here.view)
        for step, made in zip(self.steps, self.buttons, strict=True):
            self.deck.open_by(made, step.view)
        self.work = pn.Column(self.problem, self.deck.box, stylesheets=[css("work")])
        self.view = pn.Column(
            self.stages, self.work, stylesheets=[css("frame")], sizing_mode="stretch_width"
        )
        self.session.start()
        self.refresh()

    def _button(self, step: Step) -> Any:
        made = pn.widgets.Button(label=step.title, stylesheets=[css("stage")])
        made.on_click(lambda event: self.go(step))
        return made

    def watch(self) -> None:
        """Look at what stages gave, from now on and as long as somebody is there."""
        pn.state.add_periodic_callback(self.refresh, period=PERIOD)

    def close(self) -> None:
        """End what belongs to the visitor."""
        self.session.close()
        self._clear()

    # What is asked --------------------------------------------------------------------------------

    def go(self, step: Step) -> None:
        """Show a step."""
        self.here = step
        self.deck.show(step.view)
        self.refresh()

    def say(self, sentence: str) -> None:
        """Say what is wrong, or nothing."""
        text = f'<p class="warn">{escape(sentence)}</p>' if sentence else ""
        put(self.problem, text)

    def open(self, name: str) -> None:
        """Take a table of the folder."""
        if not name or self.folder is None:
            return
        try:
            path = inside(self.folder, name)
        except Refusal as error:
            self.say(str(error))
            return
        self._take(path)

    def receive(self, name: str, content: bytes) -> None:
        """Take a table that the browser sent."""
        try:
            path = stored(self.own, name, content)
        except Refusal as error:
            self.say(str(error))
            return
        self._take(path)

    def example(self, name: str) -> None:
        """Take a table that comes with the library."""
        path = self.own / f"{name}.csv"
        if not path.exists():
            getattr(datasets, f"load_{name}")(as_frame=True).frame.to_csv(path, index=False)
        self._take(path)

    def reopen(self, how: dict[str, Any]) -> None:
        """Read the same file in another way."""
        source = self.session.stages.settings("data")["source"]
        if source is not None and source[0] != "given":
            self._take(Path(source[0]), **how)

    def _take(self, path: Path, **how: Any) -> None:
        self.say("")
        self.session.load(path, **how)
        self._columns = None

    def fit(self) -> None:
        """Fit, then predict rows that were left out."""
        if self.busy:
            return
        self.say("")
        self._fitting = self.session.begin("fit", self._then)

    def _then(self) -> None:
        self._validate = self.session.state("fit") is State.FRESH

    def cancel(self) -> None:
        """End the search or fit that is going on."""
        self._validate = False
        self.session.cancel()

    def restore(self, number: int) -> None:
        """Go back to a run."""
        try:
            self.session.restore(number)
        except (Refusal, ValueError, LookupError) as error:
            self.say(str(error))

    # What is there --------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether a fit is going on."""
        return self._fitting is not None and self._fitting.is_alive()

    @property
    def asked(self) -> bool:
        """Whether the question says what is predicted from which table."""
        target = self.session.stages.settings("preparation")["target"]
        return target is not None and bool(self.session.columns)

    @property
    def task(self) -> str | None:
        """The task, once the question is prepared."""
        if self.session.state("preparation") is not State.FRESH:
            return None
        return str(self.session.value("preparation").question.task)

    def refresh(self) -> None:
        """Begin what the step wants, and show what stages gave."""
        if self.session.state("data") is State.FRESH and self._columns != self.session.columns:
            self._columns = self.session.columns
            for step in self.steps:
                step.loaded(self._columns)
        if self._validate and not self.busy:
            self._validate = False
            self._fitting = self.session.begin("validation")
        for goal in self.here.wants():
            self._begin(goal)
        self.here.refresh()
        for step, button in zip(self.steps, self.buttons, strict=True):
            name = f"{step.title}  {self._mark(step)}".rstrip()
            if button.label != name:
                button.label = name
            here = ["here"] if step is self.here else []
            if button.css_classes != here:
                button.css_classes = here

    def _begin(self, goal: str) -> None:
        """Compute a stage once for the settings that it has."""
        state, key = self.session.state(goal), self.session.stages.key(goal)
        running = self._threads.get(goal)
        alive = running is not None and running.is_alive()
        if state is not State.STALE or alive or self._tried.get(goal) == key:
            return
        self._tried[goal] = key
        self._threads[goal] = self.session.begin(goal)

    def _mark(self, step: Step) -> str:
        states = {self.session.state(name) for name in step.stages}
        worst = (State.FAILED, State.RUNNING, State.STALE, State.FRESH)
        return next((MARKS[state] for state in worst if state in states), "")
