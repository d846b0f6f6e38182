"""Which tests run which lines of a room, and in how much time of the processor."""

from __future__ import annotations

import hashlib
import json
import signal
import time
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import coverage

__all__ = ["Mapper", "Reach", "measure"]

SLOW = 0.7
"""Seconds after which a test is stopped; it is asked only about lines that no other test runs."""
SLOW_OF = {"io": 10.0, "tabular": 5.0, "reporting": 5.0}
"""The same where tests take long: files hold every machine, tables take several, reports fit."""


class Reach:
    """Tests with their seconds and the lines they run, kept from run to run by the test's file."""

    def __init__(self, cache: Path, sources: Sequence[Path]) -> None:
        self.cache = cache
        self.state = _digest(sources)
        kept = json.loads(cache.read_text()) if cache.exists() else {}
        self.files = kept.get("files", {}) if kept.get("state") == self.state else {}
        self.digests: dict[str, str] = {}

    def lacks(self, path: str) -> bool:
        """Return whether the tests of a file have changed since they were measured."""
        self.digests[path] = _digest([Path(path)])
        return self.files.get(path, {}).get("digest") != self.digests[path]

    def update(self, measured: dict[str, dict[str, object]]) -> None:
        """Take the tests that were measured, by their file."""
        for path, tests in measured.items():
            self.files[path] = {"digest": self.digests[path], "tests": tests}
        self.cache.parent.mkdir(parents=True, exist_ok=True)
        self.cache.write_text(json.dumps({"state": self.state, "files": self.files}))

    def tests(self, file: str, first: int, last: int) -> dict[str, float]:
        """Return the tests that run one of these lines, with their seconds."""
        found: dict[str, float] = {}
        for entry in self.files.values():
            for name, (seconds, lines) in entry["tests"].items():
                if any(first <= line <= last for line in lines.get(file, ())):
                    found[name] = seconds
        return found


def _digest(paths: Sequence[Path]) -> str:
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in sorted(paths))).hexdigest()


class Mapper:
    """A plugin that keeps, for each test and each fixture that tests share, the lines they run."""

    def __init__(self, watched: coverage.Coverage, slow: float) -> None:
        self.watched, self.slow = watched, slow
        self.now = "between"
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.now = item.nodeid
        self.watched.switch_context(self.now)
        began = time.process_time()
        self.seconds[item.nodeid] = 0.0
        try:
            return (yield)
        finally:
            if self.seconds[item.nodeid] == 0.0:
                self.seconds[item.nodeid] = time.process_time() - began
            self.watched.switch_context("between")

    # Reports are written outside of these two, and nothing may be stopped in them.

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        return (yield from self._bounded())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        return (yield from self._bounded())

    def _bounded(self) -> Iterator[None]:
        signal.signal(signal.SIGPROF, _stop)
        signal.setitimer(signal.ITIMER_PROF, self.slow)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)
        self.watched.switch_context(_shared(fixturedef))
        try:
            return (yield)
        finally:
            self.watched.switch_context(self.now)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and "too slow" in str(report.longrepr):
            self.seconds[report.nodeid] = float("inf")
        elif not report.passed:
            self.seconds[report.nodeid] = -1.0


def _stop(_: int, frame: types.FrameType | None) -> None:
    while frame is not None:
        if frame.f_globals.get("__name__", "").split(".")[0] == "importlib":
            # What is stopped halfway there fails in every test that follows.
            signal.setitimer(signal.ITIMER_PROF, 0.1)
            return
        frame = frame.f_back
    pytest.fail("too slow")


def _shared(fixturedef: pytest.FixtureDef[object]) -> str:
    return f"fixture {fixturedef.baseid} {fixturedef.argname}"


def measure(
    items: Sequence[pytest.Item], folder: Path, root: Path
) -> dict[str, dict[str, tuple[float, dict[str, list[int]]]]]:
    """Run tests with their lines counted; those that fail are left out."""
    import coverage  # is not in every environment that collects this module

    watched = coverage.Coverage(
        data_file=None, include=[str(folder), f"{folder}/*"], config_file=False
    )
    mapper = Mapper(watched, SLOW_OF.get(folder.name, SLOW))
    manager = items[0].config.pluginmanager
    manager.register(mapper)
    watched.start()
    for item, after in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
    watched.stop()
    manager.unregister(mapper)
    data = watched.get_data()
    by_context: dict[str, dict[str, list[int]]] = {}
    for path in data.measured_files():
        name = str(Path(path).relative_to(root))
        for line, contexts in data.contexts_by_lineno(path).items():
            for context in contexts:
                by_context.setdefault(context, {}).setdefault(name, []).append(line)
    found: dict[str, dict[str, tuple[float, dict[str, list[int]]]]] = {}
    for item in items:
        if mapper.seconds[item.nodeid] < 0:
            found.setdefault(str(item.path), {})
            continue
        lines = {file: set(kept) for file, kept in by_context.get(item.nodeid, {}).items()}
        for fixtures in getattr(item, "_fixtureinfo", None).name2fixturedefs.values():
            for fixturedef in fixtures:
                for file, kept in by_context.get(_shared(fixturedef), {}).items():
                    lines.setdefault(file, set()).update(kept)
        found.setdefault(str(item.path), {})[item.nodeid] = (
            mapper.seconds[item.nodeid],
            {file: sorted(kept) for file, kept in lines.items()},
        )
    return found
