"""Change one operator, constant, comparison or sign of a room at a time, and run the room's tests.

Run from the folder of the tests, ``python -m mutation.run losses --mutants 40 --seed 0``, or
``make mutants ROOM=losses``. The tests of the room are run once with every line counted; then each
change is made in a process of its own, which runs the tests that reach the changed line, those
first that take least. Every change is printed with the test that noticed it.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import importlib.machinery
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import types
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from mutation.coverage_map import Reach, measure
from mutation.sites import Site, find, mutated

ROOT = Path(__file__).parents[2]
BUDGET = 4.0
"""Seconds of tests for one change, if not told otherwise."""
PARAMETERS = 3
"""A test of many parameters is measured at so many of the first, and of the last."""
TESTS = {
    "machines": ["machines", "estimators", "compression/test_machines.py"],
    "solvers": ["solvers", "problems/test_constrained.py", "estimators/test_tube.py"],
    "_params.py": ["test_params.py"],
    "data": ["data_sources"],
    "reporting": ["reporting/test_report.py"],  # without a browser, which cannot be forked
    "research": [""],  # a package, whose tests are all
}
"""Folders of tests of rooms whose tests are not just the folder of the same name."""


def folders_of(room: str) -> tuple[str, str]:
    """Return the folder of a room, or of all of research, and that of its tests."""
    if room == "research":
        return "packages/mercer-research/src/mercer_research", "packages/mercer-research/tests"
    package = "packages/mercer-studio"
    if (ROOT / package / "src/mercer_studio" / room).is_dir():
        return f"{package}/src/mercer_studio/{room}", f"{package}/tests"
    return f"src/mercer/{room}", "tests"


def modules(room: str) -> list[Path]:
    """Return the files of a folder of the library, or its one file."""
    folder = ROOT / folders_of(room)[0]
    return [folder] if folder.is_file() else sorted(folder.rglob("*.py"))


def sample(room: str, count: int, seed: int) -> list[Site]:
    """Draw changes, at most one at a place; a larger sample begins with a smaller one."""
    places = [sites for path in modules(room) for sites in find(path, ROOT)]
    random.Random(f"{room} {seed}").shuffle(places)
    return [random.Random(f"{place[0].key} {seed}").choice(place) for place in places[:count]]


def import_mutated(path: Path, tree: ast.Module) -> None:
    """Let imports of a module from here on run the changed tree."""
    loader = importlib.machinery.SourceFileLoader
    usual = loader.get_code

    def get_code(self: importlib.machinery.SourceFileLoader, name: str) -> types.CodeType | None:
        if Path(self.path) == path:
            return compile(tree, self.path, "exec", dont_inherit=True)
        return usual(self, name)

    loader.get_code = get_code  # type: ignore[assignment, method-assign]


def functions_of(folder: Path) -> list[types.FunctionType]:
    """Return the functions of a room that exist already."""
    functions = (found for found in gc.get_objects() if isinstance(found, types.FunctionType))
    return [found for found in functions if found.__code__.co_filename.startswith(str(folder))]


def replace_functions(functions: list[types.FunctionType], path: Path, tree: ast.Module) -> None:
    """Give functions that exist already the code of the changed tree."""
    codes, left = {}, [compile(tree, str(path), "exec", dont_inherit=True)]
    while left:
        code = left.pop()
        codes[code.co_qualname, code.co_firstlineno] = code
        left += [inner for inner in code.co_consts if isinstance(inner, types.CodeType)]
    for found in functions:
        old = found.__code__
        if old.co_filename == str(path):
            found.__code__ = codes.get((old.co_qualname, old.co_firstlineno), old)


def some_of_each(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return tests to measure: of one function with many parameters the first and the last."""
    functions: dict[tuple[Path, str], list[pytest.Item]] = {}
    for item in items:
        name = f"{item.parent.nodeid if item.parent else ''}{item.name.split('[')[0]}"
        functions.setdefault((item.path, name), []).append(item)
    kept = {
        id(item) for same in functions.values() for item in same[:PARAMETERS] + same[-PARAMETERS:]
    }
    return [item for item in items if id(item) in kept]


class Failures:
    """A plugin that leaves the process at the first test that fails, naming it."""

    def __init__(self, told: Path) -> None:
        self.told = told

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.told.write_text(report.nodeid)
            os._exit(1)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.told.write_text(f"{report.nodeid} cannot be imported")
            os._exit(1)


def limit(seconds: float) -> None:
    """Bound the time of the processor, and send what is printed nowhere."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)


def forked(work: Callable[[], None], wall: float) -> int:
    """Run something in a process made from this one; its exit code, negative for a signal."""
    child = os.fork()
    if not child:
        os.setsid()
        try:
            work()
        except BaseException:
            os._exit(2)
        os._exit(0)
    ends = time.monotonic() + wall
    while time.monotonic() < ends:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -signal.SIGKILL


class Mutants:
    """A plugin whose loop, instead of running the tests collected, changes the room under them."""

    def __init__(
        self,
        room: str,
        sites: Sequence[Site],
        budget: float,
        told: Callable[[Site, str, str], None],
    ) -> None:
        self.room, self.sites, self.budget, self.told = room, sites, budget, told
        self.nursery = Nursery(fresh)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        folder = ROOT / folders_of(self.room)[0]
        cache = ROOT / "build/mutants" / f"{self.room}.json"
        self.reach = Reach(cache, modules(self.room))
        new = {item.path: self.reach.lacks(str(item.path)) for item in session.items}
        if todo := [item for item in session.items if new[item.path]]:
            self._measure(some_of_each(todo), folder)
        self.items = {item.nodeid: item for item in session.items}
        self.sound: dict[str, bool] = {}
        self.functions = functions_of(folder)
        gc.freeze()  # so that memory stays shared with the processes made from this one
        for site in self.sites:
            self.told(site, *self.judge(site))
        return True

    def _measure(self, items: list[pytest.Item], folder: Path) -> None:
        with tempfile.NamedTemporaryFile() as kept:

            def work() -> None:
                limit(36000)
                Path(kept.name).write_text(json.dumps(measure(items, folder, ROOT)))

            if forked(work, 36000.0):
                raise RuntimeError("the tests cannot be run with their lines counted")
            self.reach.update(json.loads(Path(kept.name).read_text()))

    def covering(self, site: Site) -> dict[str, float]:
        """Return tests that can see a change, and their seconds."""
        found = self.reach.tests(site.file, *site.scope)
        if not site.late and not found:
            found = self.reach.tests(site.file, 1, 10**6)
        return {name: seconds for name, seconds in found.items() if name in self.items}

    def chosen(self, covering: dict[str, float], budget: float) -> tuple[list[str], float]:
        """Return the tests to run, file by file, and their seconds."""
        names, total = [], 0.0
        for name in sorted(covering, key=covering.__getitem__):
            seconds = min(covering[name], 5.0)  # of those that were stopped it is not known
            if names and total + seconds > budget:
                break
            names.append(name)
            total += seconds
        cost: dict[str, float] = {}
        for name in names:
            file = name.split("::")[0]
            cost[file] = cost.get(file, 0.0) + covering[name]
        names.sort(key=lambda name: (cost[name.split("::")[0]], name.split("::")[0]))
        return names, total

    def judge(self, site: Site) -> tuple[str, str]:
        """Return whether a change is noticed, and by which test."""
        while True:
            status, by = self.once(site)
            if by not in self.items or self.sound.get(by):
                return status, by
            self.sound[by] = self.attempt(None, [by], 60.0)[0] == "survived"
            if not self.sound[by]:
                del self.items[by]  # it fails alone without any change, so it says nothing

    def once(self, site: Site) -> tuple[str, str]:
        """Return the same, trusting every test."""
        covering = self.covering(site)
        if not covering:
            return "survived", "no test runs this line"
        names, seconds = self.chosen(covering, self.budget)
        if site.late and seconds < self.budget:
            # Other parameters of the same tests, and others of their files: a helper that is cached
            # runs a line for the first test only that asks it.
            files = {name.split("::")[0] for name in covering}
            alike = {name.split("[")[0] for name in covering}
            known = {n: t[0] for e in self.reach.files.values() for n, t in e["tests"].items()}
            near = {
                name: known.get(name, 0.1 if name.split("[")[0] in alike else 0.2)
                for name in self.items
                if name.split("::")[0] in files and name not in names
            }
            more, longer = self.chosen(near, self.budget - seconds) if near else ([], 0.0)
            if longer < self.budget:
                names, seconds = names + more, seconds + longer
        status, by = self.attempt(site, names, seconds)
        return (status, by) if status == "killed" else (status, f"{len(names)} tests, {by}")

    def attempt(self, site: Site | None, names: list[str], seconds: float) -> tuple[str, str]:
        """Make a change, or none, in a process of its own and run tests there."""
        with tempfile.TemporaryDirectory() as folder:
            told = Path(folder) / "told"
            bound = 5 * seconds + 60
            if site is None or site.late:

                def work() -> None:
                    limit(bound)
                    if site:
                        path = ROOT / site.file
                        tree = mutated(path, site)
                        import_mutated(path, tree)
                        replace_functions(self.functions, path, tree)
                    run_here([self.items[name] for name in names], told)

                code = forked(work, 900.0)
            else:
                code = self.nursery.run(site, names, bound, told)
            if told.exists():
                return "killed", told.read_text()
            # Too long, or a crash. Any other end is no test that failed: somebody should look.
            return ("killed", f"signal {-code}") if code < 0 else ("survived", f"exit {code}")


def run_here(items: list[pytest.Item], told: Path) -> None:
    """Run tests that are collected already."""
    items[0].config.pluginmanager.register(Failures(told))
    for item, after in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)


class Nursery:
    """A process that has imported what tests need, but not this library, and makes others of it."""

    def __init__(self, work: Callable[[Path], int]) -> None:
        asks, self.asked = os.pipe()
        self.answers, answered = os.pipe()
        if not os.fork():
            os.close(self.asked)
            for name in ("scipy.linalg", "scipy.stats", "sklearn.svm", "hypothesis"):
                importlib.import_module(name)
            with os.fdopen(asks) as lines:
                for line in lines:
                    path = Path(line.strip())
                    code = forked(lambda path=path: os._exit(work(path)), 900.0)  # type: ignore[misc]
                    os.write(answered, f"{code}\n".encode())
            os._exit(0)
        os.close(asks)

    def run(self, site: Site, names: list[str], bound: float, told: Path) -> int:
        """Run tests in a process that imports the changed module; its exit code."""
        return self.ask([vars(site), names, bound, str(told)], told.with_name("asked.json"))

    def ask(self, fields: list[object], asked: Path) -> int:
        """Write what is to be done to a file, and have it done in a new process; its exit code."""
        asked.write_text(json.dumps(fields))
        os.write(self.asked, f"{asked}\n".encode())
        return int(os.read(self.answers, 100))


def fresh(asked: Path) -> int:
    """Do in the new process what the nursery was asked."""
    fields, names, bound, told = json.loads(asked.read_text())
    site = Site(**{**fields, "scope": tuple(fields["scope"])})
    limit(bound)
    import_mutated(ROOT / site.file, mutated(ROOT / site.file, site))
    os.chdir(ROOT)
    # With plain assertions, since pytest rewrites the modules that are named for their doctests.
    options = ["--assert=plain", "-p", "no:cacheprovider"]
    return int(pytest.main([*options, *names], plugins=[Failures(Path(told))]))


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("room", help="a folder of a package")
    parser.add_argument("--mutants", type=int, default=40, help="how many changes are drawn")
    parser.add_argument("--seed", type=int, default=0, help="which changes are drawn")
    parser.add_argument("--budget", type=float, default=BUDGET, help="seconds of tests for each")
    asked = parser.parse_args()
    sites = sample(asked.room, asked.mutants, asked.seed)
    sites.sort(key=lambda site: not site.late)  # those last that take long
    counted = Counter[str]()

    def told(site: Site, status: str, by: str) -> None:
        counted[status] += 1
        sys.__stdout__.write(f"{status:9} {site.file}:{site.line}: {site.change}   [{by}]\n")
        sys.__stdout__.flush()

    os.chdir(ROOT)
    source, tests = folders_of(asked.room)
    folders = [f"{tests}/{name}" for name in TESTS.get(asked.room, [asked.room])]
    where = [name for name in folders if Path(name).exists()]
    arguments = ["-q", "-s", "-p", "no:cacheprovider", *where, source]
    code = pytest.main(arguments, plugins=[Mutants(asked.room, sites, asked.budget, told)])
    print(f"{counted['killed']} of {counted.total()} changes of {asked.room} are noticed")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
