"""Fit and predict times against scikit-learn and scikit-learn-intelex, measured fairly.

``make bench`` measures every problem of ``problems.FULL`` that has no result yet and writes
``docs/explanation/benchmark.md``; ``make bench-short`` runs three small ones and only checks that
all contenders find the same objective.
"""

import argparse
import datetime
import importlib.metadata
import json
import multiprocessing
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# Data and the reading of fitted machines are shared with the tests.
sys.path.insert(0, str(HERE.parent / "tests"))

import report  # noqa: E402
from contender import LIBRARIES, serve  # noqa: E402
from judge import disagreement, judge  # noqa: E402

from data import MISSING, draw  # noqa: E402
from problems import COMMON, FULL, SHORT, Problem  # noqa: E402

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class NoAnswerError(Exception):
    """A contender did not answer: what it said, or how long it was given."""


class Contender:
    """A library in its own process, started when first needed and again after a time limit."""

    def __init__(self, library: str, threads: int) -> None:
        self.library = library
        self.threads = threads
        self.process: Any = None

    def ask(self, action: str, argument: Any = None, limit: float = 600.0) -> Any:
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.pipe, theirs = context.Pipe()
            arguments = (theirs, self.library, self.threads)
            self.process = context.Process(target=serve, args=arguments, daemon=True)
            self.process.start()
            theirs.close()
        self.pipe.send((action, argument))
        if not self.pipe.poll(limit):
            self.close()
            raise NoAnswerError(f"over {limit:.0f} s")
        try:
            good, answer = self.pipe.recv()
        except EOFError:
            self.close()
            raise NoAnswerError("its process ended") from None
        if not good:
            raise NoAnswerError(answer)
        return answer

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None


def available(library: str, problem: Problem) -> bool:
    """Say whether a library has a machine of its own; the accelerated one-class falls back."""
    return not (library == "scikit-learn-intelex" and problem.machine == "OneClassSVM")


def measure(
    problem: Problem, contenders: list[Contender], rounds: int, limit: float
) -> dict[str, Any]:
    """Let contenders take turns on one problem, each round in another order."""
    runs: dict[str, Any] = {c.library: [] for c in contenders}
    failures: dict[str, str] = {}
    learned = {}
    for turn in range(rounds):
        shift = turn % len(contenders)
        for contender in contenders[shift:] + contenders[:shift]:
            if contender.library in failures:
                continue
            try:
                if turn == 0:
                    contender.ask("warm", problem)
                runs[contender.library].append(contender.ask("run", problem, limit))
                if turn == 0:
                    learned[contender.library] = contender.ask("model")
            except NoAnswerError as failure:
                failures[contender.library] = str(failure)
    sample = draw(problem.data, problem.n, problem.n_test)
    verdicts = {library: judge(problem, sample, model) for library, model in learned.items()}
    result: dict[str, Any] = {
        "problem": problem.key(),
        "n_features": sample.X.shape[1],
        "failures": failures,
        "contenders": {},
    }
    for library, verdict in verdicts.items():
        model = learned[library]
        result["contenders"][library] = {
            "runs": runs[library],
            "peak": peak(library, contenders[0].threads, problem, limit),
            "support": len(model["support_"]),
            "objective": verdict.objective,
            "violation": verdict.violation,
            "disagreement": max(disagreement(verdict, other) for other in verdicts.values()),
            "own_objective": -model["own_dual"] if "own_dual" in model else None,
        }
    return result


def peak(library: str, threads: int, problem: Problem, limit: float) -> float:
    """Measure the memory of a fit in a new process, where no allocator has kept any from before."""
    contender = Contender(library, threads)
    try:
        contender.ask("warm", problem)
        return float(contender.ask("run", problem, limit)["peak"])
    except NoAnswerError:
        return float("nan")
    finally:
        contender.close()


def startup(libraries: list[str], threads: int) -> dict[str, list[dict[str, float]]]:
    """Measure what a first fit costs, before anything was compiled on this machine and after."""
    cost = {}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder
        for library in libraries:
            times = []
            for _ in range(2):
                contender = Contender(library, threads)
                times.append(contender.ask("start"))
                contender.close()
            cost[library] = times
        del os.environ["NUMBA_CACHE_DIR"]
    return cost


def environment(threads: int, rounds: int) -> dict[str, Any]:
    packages = ("mercer", "scikit-learn", "scikit-learn-intelex", "numpy", "scipy", "numba")
    git = ["git", "-C", str(HERE), "describe", "--always", "--dirty"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    return {
        "date": datetime.date.today().isoformat(),
        "commit": commit,
        "python": platform.python_version(),
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "threads": threads,
        "rounds": rounds,
        "versions": {name: version(name) for name in packages},
    }


def processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def check(results: list[dict[str, Any]]) -> list[str]:
    """Return what contradicts the claim that all contenders solved the same problems."""
    wrong = []
    for result in results:
        name = "{machine} on {data}".format(**result["problem"])
        wrong += [f"{name}: {library} {why}" for library, why in result["failures"].items()]
        for library, c in result["contenders"].items():
            if c["disagreement"] > 1:
                wrong.append(f"{name}: the objective of {library} is another one's")
            own = c["own_objective"]
            if own is not None and abs(own - c["objective"]) > 1e-9 * (1 + abs(own)):
                wrong.append(f"{name}: {library} certifies {own}, measured {c['objective']}")
            # The spread is twice the tolerance where a solver measures from its intercept.
            if c["violation"] > 2 * COMMON["tol"]:
                wrong.append(f"{name}: {library} stopped at a violation of {c['violation']:.1e}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="three small problems, check, no page")
    parser.add_argument("--fresh", action="store_true", help="measure again what has a result")
    parser.add_argument("--threads", type=int, default=1, help="threads of every library")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds a fit may take")
    parser.add_argument("--only", default="", help="part of the names of the problems to measure")
    options = parser.parse_args()
    # Read by the processes that are started from here.
    os.environ |= dict.fromkeys(THREADS, str(options.threads))

    if MISSING and not options.short:
        print(f"bench: {MISSING}")
        return 1
    libraries = [library for library in LIBRARIES if version(library)]
    contenders = [Contender(library, options.threads) for library in libraries]
    rounds = 1 if options.short else options.rounds
    here = environment(options.threads, rounds)
    # Results belong to a commit: a run that was cut short goes on, another program starts anew.
    run = "short" if options.short else f"{here['commit']}-{options.threads}-{rounds}"
    folder = HERE / "results" / run
    folder.mkdir(parents=True, exist_ok=True)
    again = options.short or options.fresh
    about = folder / "environment.json"
    if again or not about.exists():
        cost = {} if options.short else startup(libraries, options.threads)
        about.write_text(json.dumps(here | {"startup": cost}, indent=1))
    results = []
    for problem in SHORT if options.short else FULL:
        stored = folder / f"{problem.name}.json"
        old = json.loads(stored.read_text()) if stored.exists() else {}
        if again or old.get("problem") != problem.key():
            if options.only not in problem.name:
                continue
            able = [c for c in contenders if available(c.library, problem)]
            old = measure(problem, able, rounds, options.limit)
            stored.write_text(json.dumps(old, indent=1))
        print(report.line(old), flush=True)
        results.append(old)
    for contender in contenders:
        contender.close()
    if not (options.short or options.only):
        page = HERE.parent / "docs" / "explanation" / "benchmark.md"
        page.write_text(report.page(json.loads(about.read_text()), results), encoding="utf-8")
    wrong = check(results)
    print("\n".join(wrong) or "all contenders agree on every objective")
    return int(bool(wrong)) if options.short else 0


if __name__ == "__main__":
    sys.exit(main())
