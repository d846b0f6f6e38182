"""Exact machines against their peers and against the bare cost of kernel values.

``bench.py exact`` measures every problem that has no result yet, ``growth`` one problem in six
sizes, ``hard`` badly posed ones, ``path`` ten values of C; each then writes the page of the
documentation anew, as ``report`` does alone. ``short`` is a test of three minutes that fails if
Mercer is slow or wrong, and ``grid`` repeats the search behind the settings.
"""

import argparse
import sys
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

# Data and the reading of fitted machines are shared with the tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.common.environment import environment, share_threads
from benchmarks.svm import grid, path, report
from benchmarks.svm.claims import disagreements, failing
from benchmarks.svm.libraries import LIBRARIES, installed
from benchmarks.svm.measure import Conditions, measure
from benchmarks.svm.problems import EXACT, GROWTH, HARD, PATH, SHORT, Problem
from benchmarks.svm.store import Store, startup
from data import MISSING


@dataclass(frozen=True)
class Suite:
    """Problems, who takes part, and what differs from the usual conditions."""

    problems: list[Problem]
    libraries: tuple[str, ...] = tuple(LIBRARIES)
    conditions: Conditions = field(default_factory=Conditions)


# Where problems are only compared with few, these are the ones that matter.
FEW = ("mercer", "scikit-learn", "scikit-learn-intelex", "bare")

SUITES = {
    "exact": Suite(EXACT),
    "short": Suite(SHORT, FEW, Conditions(rounds=2, limit=60.0)),
    # Time grows like the square of the rows: 400,000 take sixteen times as long as 100,000.
    "growth": Suite(GROWTH, FEW, Conditions(rounds=1, limit=3600.0)),
    "hard": Suite(HARD, ("mercer", "scikit-learn", "LIBSVM"), Conditions(limit=120.0, once=20.0)),
    "path": Suite(PATH, ("mercer",)),
}


def excuses(problem: Problem, before: list[dict[str, Any]]) -> dict[str, str]:
    """Return who took too long for fewer rows of the same problem."""
    return {
        library: f"{why.split(' at ')[0]} at {earlier['problem']['n']:,} rows"
        for earlier in before
        if Problem(**earlier["problem"]).family() == problem.family()
        and earlier["problem"]["n"] < problem.n
        for library, why in earlier["failures"].items()
        if why.startswith("over ")
    }


def run(name: str, suite: Suite, fresh: bool, only: str) -> list[dict[str, Any]]:
    """Measure what has no result, and return all results."""
    libraries = installed(list(suite.libraries))
    conditions = suite.conditions
    told = asdict(conditions) | {"libraries": libraries}
    store = Store(name, told)
    about = environment(told)
    if fresh or not store.about.exists():
        timed = [] if suite.problems is SHORT else [lib for lib in libraries if lib != "bare"]
        store.describe(about | {"startup": startup(timed, conditions.threads)})
    results: list[dict[str, Any]] = []
    for problem in suite.problems:
        result = None if fresh else store.get(problem.name, problem.key())
        if result is None:
            if only not in problem.name:
                continue
            if suite.problems is PATH:
                result = path.measure(problem, conditions)
            else:
                result = measure(problem, libraries, conditions, excuses(problem, results))
            store.put(problem.name, result)
        print(report.line(result), flush=True)
        results.append(result)
    # Only whole suites have a section of the page.
    if name in report.COMMANDS and len(results) == len(suite.problems):
        store.finish(results)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", choices=[*SUITES, "report", "grid"])
    parser.add_argument("--fresh", action="store_true", help="measure again what has a result")
    parser.add_argument("--threads", type=int, default=1, help="threads of every contender")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--limit", type=float, help="seconds a fit or a prediction may take")
    parser.add_argument("--only", default="", help="part of the names of the problems to measure")
    parser.add_argument("--contenders", help="names, with commas between them")
    options = parser.parse_args()
    share_threads(options.threads)
    if options.suite == "grid":
        grid.main()
        return 0
    if options.suite == "report":
        report.publish()
        return 0
    if MISSING and options.suite != "short":
        print(f"bench: {MISSING}")
        return 1
    suite = SUITES[options.suite]
    changes = {k: getattr(options, k) for k in ("threads", "rounds", "limit")}
    conditions = replace(suite.conditions, **{k: v for k, v in changes.items() if v is not None})
    chosen = options.contenders.split(",") if options.contenders else suite.libraries
    suite = Suite(suite.problems, tuple(chosen), conditions)
    # What only some contenders were asked is kept, but apart from what a page may show.
    name = options.suite + ("-trial" if options.contenders else "")
    results = run(name, suite, options.fresh or options.suite == "short", options.only)
    if options.suite == "short":
        wrong = failing(results, "cpu" if options.threads == 1 else "wall")
        print("\n".join(wrong) or "fast enough, and all contenders agree on every objective")
        return int(bool(wrong))
    if options.suite != "path":
        print("\n".join(disagreements(results)) or "all contenders agree on every objective")
    if not (options.only or options.contenders):
        report.publish()
    return 0


if __name__ == "__main__":
    sys.exit(main())
