"""Measure suites of benchmarks by name, as ``make bench SUITE=exact`` does, or list them.

A suite is a module of ``benchmarks/suites`` with cases, contenders and claims. A run measures what
has no result yet, appends it to ``benchmarks/results/SUITE.jsonl``, writes the tables of the
documentation and fails if a claim does not hold. ``--short``, or ``-short`` behind a name, takes a
minute or two, keeps nothing, and fails likewise. ``--peers`` measures the contenders that cannot be
installed beside this library, by the interpreters that the variables PEERS and AUTOGLUON name.
"""

import argparse
import importlib
import os
import subprocess
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "tests")]

from benchmarks.store import (  # noqa: E402
    ONE_THREAD,
    RESULTS,
    NoAnswerError,
    Store,
    Worker,
    environment,
)

SUITES = {
    path.stem.replace("_", "-"): path.stem
    for path in sorted((HERE / "suites").glob("*.py"))
    if not path.stem.startswith("_")
}


def words(name: str) -> str:
    """Return the first line of a suite's docstring, without importing what it needs."""
    text = (HERE / "suites" / f"{SUITES[name]}.py").read_text(encoding="utf-8")
    return text.split('"""')[1].strip().splitlines()[0]


class Runner:
    """A suite that is measured, with the processes of its contenders."""

    def __init__(self, name: str, options: argparse.Namespace) -> None:
        self.name, self.options, self.suite = name, options, load(name)
        self.store = Store(None if options.short else RESULTS / f"{name}.jsonl")
        self.workers: dict[str, Worker] = {}
        self.abouts: dict[str, dict[str, Any]] = {}

    def interpreter(self, contender: str) -> str:
        """Return the variable that names the interpreter of a contender; empty for this one."""
        return str(getattr(self.suite, "INTERPRETERS", {}).get(contender, ""))

    def wanted(self, case: dict[str, Any]) -> list[str]:
        options = self.options
        names = [
            contender
            for contender in self.suite.contenders(case)
            if bool(self.interpreter(contender)) == options.peers
            and (not options.contenders or contender in options.contenders)
        ]
        return names if not options.only or options.only in str(case) else []

    def about(self, variable: str) -> dict[str, Any]:
        """Return where and when: of the interpreter that measures."""
        if variable not in self.abouts:
            packages = getattr(self.suite, "PACKAGES", {}).get(variable, ())
            if variable:
                self.abouts[variable] = self.worker(variable).ask("about", packages)
            else:
                conditions = getattr(self.suite, "CONDITIONS", {})
                self.abouts[variable] = environment(*([packages] if packages else []), **conditions)
        return self.abouts[variable]

    def worker(self, variable: str) -> Worker:
        if variable not in self.workers:
            self.workers[variable] = Worker(
                "benchmarks.store:Job",
                SUITES[self.name],
                python=os.environ.get(variable, "") if variable else "",
                threads=getattr(self.suite, "THREADS", 1),
            )
        return self.workers[variable]

    def measure(self) -> None:
        """Measure what is missing, one case after the other."""
        for case in self.suite.cases(self.options.short):
            names = self.wanted(case)
            if hasattr(self.suite, "together"):
                todo = [c for c in names if self.options.fresh or not self.store.known(case, c)]
                found = self.suite.together(case, names, self.options.short) if todo else {}
                for contender, values in found.items():
                    self.keep(case, contender, values)
                continue
            for contender in names:
                for repeat in range(getattr(self.suite, "repeats", lambda *_: 1)(case, contender)):
                    if self.options.fresh or not self.store.known(case, contender, repeat):
                        self.keep(case, contender, self.apart(case, contender, repeat), repeat)
        for variable in list(self.workers):
            self.workers.pop(variable).close()

    def apart(self, case: dict[str, Any], contender: str, repeat: int) -> dict[str, Any]:
        """Measure a contender in a process of its own, which is ended when it takes too much."""
        variable = self.interpreter(contender)
        about = self.about(variable)
        seconds, most = getattr(self.suite, "limits", lambda _: (float("inf"),) * 2)(contender)
        try:
            values = self.worker(variable).ask(
                "run", case, contender, repeat, seconds=seconds, most=most
            )
        except NoAnswerError as failure:
            values = {"failure": str(failure)}
        # A process that was ended is started again, and so is one whose memory is measured.
        if getattr(self.suite, "FRESH", False) or self.worker(variable).process.poll() is not None:
            self.workers.pop(variable).close()
        self.abouts[variable] = about
        return dict(values)

    def keep(
        self, case: dict[str, Any], contender: str, values: dict[str, Any], repeat: int = 0
    ) -> None:
        self.store.put(case, contender, values, self.about(self.interpreter(contender)), repeat)
        told = [str(v) for v in case.values() if isinstance(v, str | int | float)]
        print(" ".join(told), contender, self.suite.line(values), flush=True)


def load(name: str) -> ModuleType:
    return importlib.import_module(f"benchmarks.suites.{SUITES[name]}")


def run(name: str, options: argparse.Namespace) -> int:
    """Measure a suite, and say which of its claims do not hold."""
    warnings.simplefilter("ignore")
    suite = load(name)
    runner = Runner(name, options)
    runner.measure()
    records = runner.store.records()
    if not records:
        print(f"{name}: nothing was measured", flush=True)
        return 0
    wrong = suite.claims(records, options.short)
    print("\n".join(wrong) or f"{name}: every claim holds", flush=True)
    if not options.short:
        runner.store.tidy()
        importlib.import_module("benchmarks.page").main()
    return int(bool(wrong))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suites", nargs="*", help="names; without any they are listed")
    parser.add_argument("--short", action="store_true", help="a minute or two, nothing is kept")
    parser.add_argument("--peers", action="store_true", help="contenders of other interpreters")
    parser.add_argument("--fresh", action="store_true", help="measure again what has a result")
    parser.add_argument("--only", default="", help="cases whose text has this part")
    parser.add_argument("--contenders", nargs="*", default=[], help="these alone")
    options = parser.parse_args(arguments)
    names = [name.removesuffix("-short") for name in options.suites]
    if unknown := [name for name in names if name not in SUITES and name != "page"]:
        print(f"no suite {', '.join(unknown)}; there are {', '.join(SUITES)}")
        return 2
    if not names:
        for name in SUITES:
            print(f"  {name:16} {words(name)}")
        print("  page             the tables of the documentation from the results that are there")
        print("NAME-short or --short is a part of a suite of a minute or two")
        return 0
    if names == ["page"]:
        importlib.import_module("benchmarks.page").main()
        return 0
    if len(names) > 1:  # each in a process of its own
        flags = [one for one in arguments if one not in options.suites]
        calls = [[sys.executable, __file__, name, *flags] for name in options.suites]
        return next((s for call in calls if (s := subprocess.run(call).returncode)), 0)
    options.short |= options.suites[0].endswith("-short")
    print(f"== {names[0]}{' (short)' * options.short}", flush=True)
    return run(names[0], options)


if __name__ == "__main__":
    os.environ |= ONE_THREAD
    sys.exit(main(sys.argv[1:]))
