"""Results of suites: where they are kept, and processes in which they are measured.

A suite has one file of lines, ``results/SUITE.jsonl``. A line with ``about`` says when, where and
by which commit a run was made; a line with ``case`` is what one contender did on one case in that
run. A run appends to the file, so that one which was cut short goes on; of a repeated measurement
the last line counts.
"""

import datetime
import importlib
import importlib.metadata
import json
import math
import os
import pickle
import platform
import re
import select
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
PACKAGES = ("mercer", "scikit-learn", "numpy", "scipy")
DIGITS = 7


@dataclass(frozen=True)
class Record:
    """What a contender did on a case: the values of each repetition, and about the last run."""

    case: dict[str, Any]
    contender: str
    runs: tuple[dict[str, Any], ...]
    about: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.runs[0][name]

    def __contains__(self, name: str) -> bool:
        return name in self.runs[0]

    def get(self, name: str, default: Any = None) -> Any:
        """Return a value of the first repetition."""
        return self.runs[0].get(name, default)

    def all(self, name: str) -> list[Any]:
        """Return a value of every repetition, None where there is none."""
        return [run.get(name) for run in self.runs]


def key_of(case: Mapping[str, Any], contender: str) -> str:
    return json.dumps([case, contender], sort_keys=True)


class Store:
    """The lines of one suite, in a file or, without a path, in memory."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.abouts: list[dict[str, Any]] = []
        self.rows: dict[str, dict[int, dict[str, Any]]] = {}
        self.keys: dict[str, tuple[dict[str, Any], str]] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                self._take(json.loads(line))

    def _take(self, line: dict[str, Any]) -> None:
        if "about" in line:
            self.abouts.append(line["about"])
            return
        case, contender, repeat = line.pop("case"), line.pop("contender"), line.pop("repeat", 0)
        key = key_of(case, contender)
        self.keys[key] = (case, contender)
        rows = self.rows.setdefault(key, {})
        if isinstance(repeat, list):
            run = line.pop("run")
            for i, number in enumerate(repeat):
                values = {name: column[i] for name, column in line.items()}
                rows[number] = {"run": run} | {k: v for k, v in values.items() if v is not None}
        else:
            rows[repeat] = line

    def _write(self, line: dict[str, Any]) -> None:
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as out:
                out.write(json.dumps(line) + "\n")

    def put(
        self,
        case: Mapping[str, Any],
        contender: str,
        values: Mapping[str, Any],
        about: Mapping[str, Any],
        repeat: int = 0,
    ) -> None:
        """Append a measurement, after a line about its run where that is another one."""
        if about not in self.abouts:
            self._write({"about": about})
            self.abouts.append(dict(about))
        line = {"case": dict(case), "contender": contender, "run": self.abouts.index(dict(about))}
        line |= ({"repeat": repeat} if repeat else {}) | json.loads(json.dumps(values, default=str))
        self._write(line)
        self._take(line)

    def known(self, case: Mapping[str, Any], contender: str, repeat: int = 0) -> bool:
        return repeat in self.rows.get(key_of(case, contender), {})

    def records(self) -> list[Record]:
        """Return what is known; repetitions count from the first, a gap ends them."""
        found = []
        for key, (case, contender) in self.keys.items():
            rows = self.rows[key]
            runs = [rows[k] for k in range(len(rows)) if k in rows]
            if 0 in rows:
                about = self.abouts[runs[-1]["run"]]
                found.append(Record(case, contender, tuple(runs), about))
        return found

    def tidy(self) -> None:
        """Write the file anew: without lines that others replaced, repetitions in one line."""
        if self.path is None:
            return
        used = sorted({row["run"] for rows in self.rows.values() for row in rows.values()})
        place = {run: k for k, run in enumerate(used)}
        self.abouts = [self.abouts[run] for run in used]
        lines = [{"about": about} for about in self.abouts]
        for key, (case, contender) in self.keys.items():
            rows = self.rows[key]
            for row in rows.values():
                row["run"] = place[row["run"]]
            head = {"case": case, "contender": contender}
            for run in sorted({row["run"] for row in rows.values()}):
                some = {k: row for k, row in sorted(rows.items()) if row["run"] == run}
                if list(some) == [0]:
                    lines.append(head | rounded(some[0]))
                    continue
                names = dict.fromkeys(
                    name for row in some.values() for name in row if name != "run"
                )
                columns = {name: [row.get(name) for row in some.values()] for name in names}
                lines.append(head | {"run": run, "repeat": list(some)} | rounded(columns))
        self.path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def rounded(value: Any) -> Any:
    """Return numbers to few digits, those of objectives to more: they are compared."""
    if isinstance(value, dict):
        return {k: v if "objective" in k or k == "dual" else rounded(v) for k, v in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return (
        float(f"{value:.{DIGITS}g}") if isinstance(value, float) and math.isfinite(value) else value
    )


def stored(suite: str) -> list[Record]:
    """Return the committed results of a suite."""
    return Store(RESULTS / f"{suite}.jsonl").records()


# What a measurement rests on ----------------------------------------------------------------------


def version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def environment(packages: Iterable[str] = PACKAGES, **conditions: Any) -> dict[str, Any]:
    """Return date, commit, machine, versions and conditions of a run."""
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude", "*"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    affinity = getattr(os, "sched_getaffinity", None)
    return {
        "date": datetime.date.today().isoformat(),
        "commit": commit,
        "python": platform.python_version(),
        "processor": processor(),
        "cores": len(affinity(0)) if affinity else os.cpu_count(),
        "versions": {name: found for name in packages if (found := version(name))},
        "conditions": conditions,
    }


def processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


# Clock and memory ---------------------------------------------------------------------------------


def memory(name: str = "VmRSS") -> float:
    """Return a line of the process's memory status in bytes; nan where there is none."""
    status = Path("/proc/self/status")
    found = re.search(rf"{name}:\s+(\d+)", status.read_text()) if status.exists() else None
    return 1024.0 * int(found[1]) if found else float("nan")


def forget_peak() -> None:
    """Start the high-water mark of memory anew."""
    if os.path.exists("/proc/self/clear_refs"):
        Path("/proc/self/clear_refs").write_text("5")


def taken(call: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    """Return what a call takes, by the clock, of the processor and of memory, and its answer."""
    forget_peak()
    held, wall, cpu = memory(), time.perf_counter(), time.process_time()
    answer = call()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"wall": wall, "cpu": cpu, "held": held, "peak": memory("VmHWM") - held}, answer


def in_turn(
    calls: Mapping[str, Callable[[], Any]], rounds: int, seconds: float = math.inf, least: int = 1
) -> dict[str, list[float]]:
    """Return processor seconds of calls that take turns; a first round compiles and is left out.

    They take ``rounds`` turns, fewer if each has taken ``seconds`` together, but ``least`` at
    least.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    done = 0
    while done < rounds and (done < least or sum(map(sum, times.values())) < seconds * len(calls)):
        order = list(calls)[done % len(calls) :] + list(calls)[: done % len(calls)]
        for name in order:
            start = time.process_time()
            calls[name]()
            times[name].append(time.process_time() - start)
        done += 1
    return times


def middle(times: Mapping[str, list[float]]) -> dict[str, float]:
    return {name: float(median(values)) for name, values in times.items()}


# Processes ----------------------------------------------------------------------------------------


class NoAnswerError(Exception):
    """A process did not answer: what it said, or which limit it passed."""


class Worker:
    """An object in a process of its own, whose methods are asked.

    Parameters
    ----------
    target : str
        ``module:name`` of what makes the object.
    *arguments
        Of that call.
    python : str
        Interpreter; another one may have packages that this one has not.
    threads : int or None
        Threads of everybody in the process; None leaves the settings as they are.
    """

    def __init__(
        self, target: str, *arguments: Any, python: str = "", threads: int | None = 1
    ) -> None:
        free = {k: v for k, v in os.environ.items() if k not in ONE_THREAD}
        settings = free if threads is None else free | dict.fromkeys(ONE_THREAD, str(threads))
        self.process = subprocess.Popen(
            [python or sys.executable, "-m", "benchmarks.store", target],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=settings,
        )
        self._send(arguments)

    def _send(self, what: Any) -> None:
        assert self.process.stdin is not None
        try:
            pickle.dump(what, self.process.stdin, protocol=5)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the end of the process is said when it is read from

    def ask(
        self, method: str, *arguments: Any, seconds: float = math.inf, most: float = math.inf
    ) -> Any:
        """Return the answer of a method; end the process beyond some processor seconds or bytes."""
        if self.process.poll() is not None:
            raise NoAnswerError("its process ended")
        self._send((method, arguments))
        begun, used = time.perf_counter(), self._used()[0]
        assert self.process.stdout is not None
        while not select.select([self.process.stdout], [], [], 0.1)[0]:
            now, held = self._used()
            # Where the system does not tell the processor's time the clock has to do.
            spent = time.perf_counter() - begun if math.isnan(now) else now - used
            if spent > seconds or held > most:
                self.close()
                over = f"{seconds:.0f} s" if spent > seconds else f"{most / 1e9:.0f} GB"
                raise NoAnswerError(f"over {over}")
        try:
            good, answer = pickle.load(self.process.stdout)
        except EOFError:
            self.close()
            raise NoAnswerError("its process ended") from None
        if not good:
            raise NoAnswerError(answer)
        return answer

    def _used(self) -> tuple[float, float]:
        """Return processor seconds, those of ended children included, and bytes."""
        status = Path(f"/proc/{self.process.pid}")
        try:
            ticks = (status / "stat").read_text().rsplit(")", 1)[1].split()[11:15]
            pages = int((status / "statm").read_text().split()[1])
        except (OSError, IndexError):
            return math.nan, 0.0
        used = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
        return used, float(pages * os.sysconf("SC_PAGE_SIZE"))

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


def serve(target: str) -> None:
    """Make an object, and answer what is asked of it until the other end closes."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    sys.path[1:1] = [str(ROOT / "tests")]
    warnings.simplefilter("ignore")
    made: Any = None
    arguments = pickle.load(sys.stdin.buffer)
    while True:
        try:
            method, given = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            # Made when first asked, so that a library that cannot be imported can say why.
            if made is None:
                module, name = target.split(":")
                made = getattr(importlib.import_module(module), name)(*arguments)
            answer = (True, getattr(made, method)(*given))
        except Exception as error:
            answer = (False, f"{type(error).__name__}: {error}"[:300])
        pickle.dump(answer, answers, protocol=5)
        answers.flush()


class Job:
    """What a worker of a suite can be asked: one case, and about its interpreter."""

    def __init__(self, suite: str) -> None:
        self.suite = importlib.import_module(f"benchmarks.suites.{suite}")

    def run(self, case: dict[str, Any], contender: str, repeat: int) -> dict[str, Any]:
        values = self.suite.run(case, contender, repeat)
        return dict(json.loads(json.dumps(values, default=str)))

    def about(self, packages: tuple[str, ...]) -> dict[str, Any]:
        return environment(packages or PACKAGES)


if __name__ == "__main__":
    serve(sys.argv[1])
