"""One person's table, from file to model: files that may be opened, stages, processes, runs."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pandas as pd

from mercer_studio.browser import steps
from mercer_studio.browser.stages import Stages, State
from mercer_studio.browser.steps import (
    FitResult,
    MachinePlan,
    Preparation,
    SearchResult,
    ValidationResult,
)
from mercer_studio.browser.taking import model_file, model_script
from mercer_studio.browser.views import VIEWS, draw
from mercer_studio.browser.working import CachedValue, Cancelled, Job, Worker
from mercer_studio.cli.models import Wishes
from mercer_studio.cli.tables import Memory, Read
from mercer_studio.cli.text import Refusal

ENDINGS = (".csv", ".tsv", ".txt", ".parquet", ".arrow", ".feather")
"""Endings of tables."""

MAX_UPLOAD = 64_000_000
"""Bytes of a file that is sent by the browser; larger ones are opened from the folder."""

MAX_LISTED = 300
"""Files of a folder that are offered."""


def listed(folder: Path) -> list[str]:
    """Return the tables in a folder and two levels below it, as names relative to it.

    Parameters
    ----------
    folder : Path
        Where to look. What begins with a dot is not looked at.
    """
    found = []
    for pattern in ("*", "*/*", "*/*/*"):
        for path in sorted(folder.glob(pattern)):
            name = path.relative_to(folder)
            hidden = any(part.startswith(".") for part in name.parts)
            if not hidden and path.suffix.lower() in ENDINGS and path.is_file():
                found.append(name.as_posix())
            if len(found) >= MAX_LISTED:
                return found
    return found


def inside(folder: Path, name: str) -> Path:
    """Return the file of a name, if it is a table in the folder, whatever links lead to.

    Parameters
    ----------
    folder : Path
        Where files may be opened.
    name : str
        Relative to it, or absolute.

    Examples
    --------
    >>> inside(Path("."), "../secret.csv")
    Traceback (most recent call last):
    mercer_studio.cli.text.Refusal: ../secret.csv is not in the folder that the studio ...
    """
    root = folder.resolve()
    path = (root / name).resolve()
    if not path.is_relative_to(root):
        raise Refusal(f"{name} is not in the folder that the studio was started in.")
    if path.suffix.lower() not in ENDINGS:
        raise Refusal(f"{name} is no table: its name must end in {', '.join(ENDINGS)}.")
    if not path.is_file():
        raise Refusal(f"there is no file {name}.")
    return path


def stored(folder: Path, name: str, content: bytes) -> Path:
    """Write what a browser sent into a folder of its visitor, and return the file.

    Parameters
    ----------
    folder : Path
        Of the visitor.
    name : str
        As the browser says; only its last part and plain signs are kept.
    content : bytes
        The file.
    """
    if len(content) > MAX_UPLOAD:
        raise Refusal(
            f"the file has {len(content) / 1e6:.0f} MB; at most {MAX_UPLOAD / 1e6:.0f} can be "
            "sent. Put it into the folder of the studio and choose it there."
        )
    plain = re.sub(r"[^\w.-]", "_", Path(name.replace("\\", "/")).name)[-80:] or "table.csv"
    if Path(plain).suffix.lower() not in ENDINGS:
        raise Refusal(f"{plain} is no table: its name must end in {', '.join(ENDINGS)}.")
    path = folder / plain.lstrip(".")
    path.write_bytes(content)
    return path


MAX_RUNS = 20
"""Runs that are kept; the oldest makes room."""

GRAPH: dict[str, tuple[str, ...]] = {
    "data": (),
    "preparation": ("data",),
    "machine": ("preparation",),
    "tuning": ("machine",),
    "fit": ("tuning",),
    "validation": ("fit",),
    **{name: view.inputs for name, view in VIEWS.items()},
    "script": ("preparation", "fit"),
    "model file": ("preparation", "fit"),
    "report": ("preparation", "fit"),
}
"""Stages, and those whose values each takes."""

SETTINGS: dict[str, dict[str, Any]] = {
    "data": {"source": None, "how": {}},
    "preparation": {
        "target": None,
        "task": None,
        "drop": (),
        "categorical": (),
        "gaps": {},
    },
    "machine": {"machine": None, "settings": {}, "monotone": {}, "coverage": None},
    "tuning": {"seconds": None},
    "fit": {},
    "validation": {},
    **{name: {} for name in ("script", "model file", "report")},
    **{name: dict(view.options) for name, view in VIEWS.items()},
}
"""Settings of every stage at the beginning."""

STEPS = ("data", "preparation", "machine", "tuning", "fit", "validation")
"""The stages on the way to a model, in their order."""

TITLES = {
    "data": "reading the table",
    "preparation": "preparing the columns",
    "machine": "choosing the machine",
    "tuning": "tuning",
    "fit": "fitting",
    "validation": "predicting rows that were left out",
    "script": "writing the script",
    "model file": "writing the model",
    "report": "writing the report",
}


@dataclass(frozen=True, eq=False)
class Run:
    """A fit that was made, kept to be compared with others.

    Parameters
    ----------
    number : int
        From 1 on.
    settings : dict
        Settings of all stages when it was made.
    prepared, searched, fitted, validated :
        Values of its stages.
    """

    number: int
    settings: dict[str, dict[str, Any]]
    prepared: Preparation
    searched: SearchResult
    fitted: FitResult
    validated: ValidationResult | None = None

    @property
    def name(self) -> str:
        """The machine; what gives it intervals is around it."""
        machine = self.fitted.model.machine
        return type(getattr(machine, "estimator", machine)).__name__


class Session:
    """Stages of one person's work, over the preparation and the fits of the command line.

    Verbs change settings; :meth:`bring` computes whatever is stale on the way to a stage, in
    processes that :meth:`cancel` ends. What a stage gave last stays until it gives something new.

    Parameters
    ----------
    memory : Memory, optional
        What every process may take.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0.0, 6.0, 60)[:, None]
    >>> with Session() as session:
    ...     fitted = (
    ...         session.load(X, np.sin(X[:, 0]))
    ...         .prepare(target="target")
    ...         .choose(machine="LSSVR", settings={"C": 1e6})
    ...         .bring("fit")
    ...     )
    ...     before = str(session.state("fit"))
    ...     _ = session.choose(settings={"C": 10.0})
    ...     after = str(session.state("fit")), str(session.state("preparation"))
    >>> before, after
    ('fresh', ('stale', 'fresh'))
    >>> bool(np.max(np.abs(fitted.predictions - np.sin(X[:, 0]))) < 0.01)
    True
    """

    def __init__(self, memory: Memory | None = None) -> None:
        self.memory = Memory() if memory is None else memory
        self.stages = Stages(GRAPH, SETTINGS)
        self.runs: list[Run] = []
        self.problem = ""
        self._given: Read | None = None
        self._count = 0
        self._fitting = Worker(self.memory, patient=True)
        self._seeing = Worker(self.memory)
        self._jobs: dict[str, Job] = {}
        self._locks = {name: threading.RLock() for name in GRAPH}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def start(self) -> None:
        """Begin the processes, which import libraries while nobody waits for them."""
        for worker in (self._seeing, self._fitting):
            threading.Thread(target=worker.start, daemon=True).start()

    def close(self) -> None:
        """End the processes."""
        self._fitting.close()
        self._seeing.close()

    # Verbs ----------------------------------------------------------------------------------------

    def load(self, source: Any, y: Any = None, **how: Any) -> Self:
        """Take a table: a file, a data frame, or features and targets.

        Parameters
        ----------
        source : str, path, data frame or array
            What to take.
        y : array, optional
            Targets.
        **how : object
            How a file is read: delimiter, encoding, comment, format.
        """
        if isinstance(source, str | Path):
            path = Path(source)
            self._given = None
            # A file that was written again is another source.
            stamp = path.stat().st_mtime_ns if path.is_file() else 0
            self.stages.change("data", source=(str(path), stamp), how=how)
        else:
            self._given = steps.tabled(source, y)
            self._count += 1
            self.stages.change("data", source=("given", self._count), how={})
        return self

    def prepare(self, **settings: Any) -> Self:
        """Say what is predicted from what.

        Parameters
        ----------
        **settings : object
            Of `target`, `task`, `drop`, `categorical` and `gaps`, see
            :class:`~mercer_studio.cli.models.Wishes`.
        """
        return self._change("preparation", settings)

    def choose(self, **settings: Any) -> Self:
        """Say which machine is fitted.

        Parameters
        ----------
        **settings : object
            Of `machine`, `settings`, `monotone` and `coverage`.
        """
        return self._change("machine", settings)

    def tune(self, seconds: float | None) -> Self:
        """Say how long hyperparameters are searched.

        Parameters
        ----------
        seconds : float or None
            None for not at all.
        """
        return self._change("tuning", {"seconds": seconds})

    def show(self, view: str, **options: Any) -> Self:
        """Change what a view shows.

        Parameters
        ----------
        view : str
            A key of :data:`~mercer_studio.browser.views.VIEWS`.
        **options : object
            Its options.
        """
        return self._change(view, options)

    def _change(self, name: str, settings: dict[str, Any]) -> Self:
        known = SETTINGS[name]
        if wrong := [one for one in settings if one not in known]:
            raise ValueError(f"{name} has no setting {wrong[0]!r}; it has: {', '.join(known)}.")
        self.stages.change(name, **settings)
        return self

    # State ----------------------------------------------------------------------------------------

    def state(self, name: str) -> State:
        """Return the state of a stage."""
        return self.stages.state(name)

    def value(self, name: str) -> Any:
        """Return what a stage gave last, be it stale; None if nothing yet."""
        found = self.stages.outcome(name)
        return None if found is None else found.value

    def job(self, name: str) -> Job | None:
        """Return the call that computes a stage, or that computed it last."""
        return self._jobs.get(name)

    def wishes(self, upto: str = "tuning") -> Wishes:
        """Return what was asked of a fit, of all stages up to one and no further.

        Parameters
        ----------
        upto : {"preparation", "machine", "tuning"}
            A stage must not see settings that come after it, or it would be stale unnoticed.
        """
        asked: dict[str, Any] = {}
        for name in ("preparation", "machine", "tuning"):
            asked |= self.stages.settings(name)
            if name == upto:
                break
        asked.pop("target")
        return Wishes(**asked)

    @property
    def columns(self) -> list[str]:
        """Names of the columns of the table."""
        table = self.value("data")
        return [] if table is None else [str(name) for name in table.frame.columns]

    # Work -----------------------------------------------------------------------------------------

    def bring(self, goal: str) -> Any:
        """Compute whatever is stale up to a stage, and return its value.

        Parameters
        ----------
        goal : str
            The stage.

        Raises
        ------
        Refusal
            If it is not possible, with a sentence.
        Cancelled
            If it was ended by :meth:`cancel`.
        """
        for name in (*self.stages.above(goal), goal):
            with self._locks[name]:
                if self.stages.state(name) is not State.FRESH:
                    self._compute(name)
        return self.stages.value(goal)

    def begin(self, goal: str, then: Callable[[], None] | None = None) -> threading.Thread:
        """Do :meth:`bring` in another thread.

        Parameters
        ----------
        goal : str
            The stage.
        then : callable, optional
            Called at the end, however it ends.
        """

        def work() -> None:
            try:
                self.bring(goal)
                self.problem = ""
            except Cancelled:
                self.problem = ""
            except (Refusal, LookupError) as error:
                self.problem = str(error)
            finally:
                if then is not None:
                    then()

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        return thread

    def cancel(self) -> bool:
        """End the search or fit that is going on; the last model stays.

        Returns
        -------
        bool
            Whether there was any.
        """
        return self._fitting.cancel()

    def _compute(self, name: str) -> None:
        begun = self.stages.begin(name)
        try:
            worker, call = self._call(name)
        except Refusal as error:
            self.stages.fail(begun, str(error))
            raise
        title = TITLES.get(name, "drawing")
        job = self._jobs[name] = worker.submit(title, *call)
        try:
            value = job.result()
        except Cancelled:
            self.stages.cancel(begun)
            raise
        except Refusal as error:
            self.stages.fail(begun, str(error))
            raise
        self.stages.finish(begun, value)
        if name == "fit":
            self._remember()
        elif name == "validation":
            self._validated(value)

    def _call(self, name: str) -> tuple[Worker, tuple[Any, ...]]:
        """Return where a stage is computed, the function, and its arguments."""
        wishes, memory, kept = self.wishes(), self.memory, self._kept
        if name == "data":
            return self._seeing, self._reading()
        if name == "preparation":
            target = self.stages.settings("preparation")["target"]
            if target is None:
                raise Refusal("choose the column to predict.")
            return self._seeing, (steps.prepare, kept("data"), target, self.wishes(name))
        if name == "machine":
            return self._seeing, (steps.plan, kept("preparation"), self.wishes(name), memory)
        if name == "tuning":
            planned: MachinePlan = self.stages.value("machine")
            if not (planned.tunable or wishes.monotone):
                wishes = steps.without_time(wishes)
            return self._fitting, (steps.search, kept("preparation"), wishes, memory)
        if name == "fit":
            # The time is for the search, which is over; a fit that it cut would not come again.
            wishes = steps.without_time(wishes)
            given = (kept("preparation"), self.stages.value("tuning"), wishes, memory)
            return self._fitting, (steps.fit, *given)
        if name == "validation":
            return self._fitting, (steps.validate_model, kept("preparation"), kept("fit"))
        if name == "script":
            source = self._source()
            how = self.stages.settings("data")["how"]
            return self._seeing, (model_script, kept("preparation"), kept("fit"), source, how)
        if name == "model file":
            return self._seeing, (model_file, kept("preparation"), kept("fit"))
        if name == "report":
            return self._seeing, (steps.report_page, kept("preparation"), kept("fit"))
        view = VIEWS[name]
        options = self.stages.settings(name)
        return self._seeing, (draw, name, options, *(kept(one) for one in view.inputs))

    def _source(self) -> str:
        """Return the name of the file that scripts open."""
        source = self.stages.settings("data")["source"]
        return "table.csv" if source is None or source[0] == "given" else Path(source[0]).name

    def _reading(self) -> tuple[Any, ...]:
        settings = self.stages.settings("data")
        if settings["source"] is None:
            raise Refusal("there is no table yet; choose a file.")
        if self._given is not None:
            return (_same, self._given)
        return (steps.load, settings["source"][0], settings["how"], self.memory)

    def _kept(self, name: str) -> CachedValue:
        key: Hashable = (name, self.stages.key(name))
        return CachedValue(key, self.stages.value(name))

    def _remember(self) -> None:
        """Keep a fit as a run."""
        number = self.runs[-1].number + 1 if self.runs else 1
        settings = {name: self.stages.settings(name) for name in STEPS}
        try:
            values = [self.stages.value(name) for name in ("preparation", "tuning", "fit")]
        except LookupError:  # settings changed meanwhile: the run belongs to none that are there
            return
        self.runs = [*self.runs, Run(number, settings, *values)][-MAX_RUNS:]

    def _validated(self, validated: ValidationResult) -> None:
        if self.runs and self.runs[-1].fitted is self.value("fit"):
            last = self.runs[-1]
            found = Run(
                last.number, last.settings, last.prepared, last.searched, last.fitted, validated
            )
            self.runs = [*self.runs[:-1], found]

    def restore(self, number: int) -> None:
        """Bring back the settings of a run; its values need not be computed again if unchanged.

        Parameters
        ----------
        number : int
            Of the run.
        """
        run = next((one for one in self.runs if one.number == number), None)
        if run is None:
            raise ValueError(f"there is no run {number}.")
        for name, settings in run.settings.items():
            self.stages.change(name, **settings)
        for name, value in (
            ("preparation", run.prepared),
            ("tuning", run.searched),
            ("fit", run.fitted),
        ):
            if name == "tuning":
                self.bring("machine")
            if self.state(name) is not State.FRESH and self._above_fresh(name):
                self.stages.finish(self.stages.begin(name), value)
        if run.validated is not None and self.state("validation") is not State.FRESH:
            self.stages.finish(self.stages.begin("validation"), run.validated)

    def _above_fresh(self, name: str) -> bool:
        return all(self.state(one) is State.FRESH for one in self.stages.above(name))

    def picture_of(self, run: Run, view: str) -> Job:
        """Return the call that draws a view of a run, whatever the settings are now.

        Parameters
        ----------
        run : Run
            The run.
        view : {"picture", "errors", "effects"}
            What to draw.
        """
        values = {
            "data": self.stages.outcome("data").value,  # type: ignore[union-attr]
            "preparation": run.prepared,
            "tuning": run.searched,
            "fit": run.fitted,
            "validation": run.validated or ValidationResult(),
        }
        found = VIEWS[view]
        given = (CachedValue(("run", run.number, one), values[one]) for one in found.inputs)
        return self._seeing.submit("drawing", draw, view, dict(found.options), *given)

    def drop_run(self, number: int) -> None:
        """Forget a run."""
        self.runs = [run for run in self.runs if run.number != number]

    def predictions(self) -> pd.DataFrame:
        """Return predictions of the rows of the fit beside what was observed."""
        return steps.cells(self.stages.value("preparation"), self.stages.value("fit"))


def _same(value: Any) -> Any:
    return value
