"""How many threads an exact fit could use, simulated from the work of its blocks; ten minutes.

One thread fits, and the time of every block that threads would share is kept. Of several threads,
each free one takes the next block, as :func:`mercer._threads.map_blocks` does; all else stays on
one. Memory, which threads share as well, is not simulated: these are bounds from above.
"""

import heapq
import importlib
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.contenders.machines import LIBRARIES, problem_of
from benchmarks.store import Record
from benchmarks.suites.exact import EXACT, SHORT, geometric_mean
from data import MISSING

# Numbers of threads, and seconds that one of them takes to begin with a call's blocks.
THREADS_SIMULATED, BEGIN_SECONDS = (2, 8, 64), 2e-5
MIN_ROWS = 10_000
# Modules whose blocks threads share in an exact fit, and what stays on one of them.
SHARED = ("kernels.packed_tiles", "kernels.tiles", "gram.active_square", "gram.row_store")
SHARED += ("gram.tiled",)
SERIAL = {"pair steps": "pair_steps", "Newton steps": "newton_step"}


def cases(short: bool) -> list[dict[str, Any]]:
    if not short and MISSING:
        raise SystemExit(MISSING)
    problems = SHORT if short else [p for p in EXACT if MIN_ROWS <= p.n < 100_000]
    return [problem.case() for problem in problems]


def contenders(case: dict[str, Any]) -> list[str]:
    return ["mercer"]


def run(case: dict[str, Any], name: str, repeat: int) -> dict[str, Any]:
    """Return the seconds of a fit, of its parts on one thread, and those simulated for several."""
    warnings.simplefilter("ignore")
    problem = problem_of(case)
    sample = problem.sample()
    library = LIBRARIES["mercer"][1](1)
    library.prepare(problem, sample)
    library.fit()  # whatever is looked for or loaded once is, here
    calls: list[list[float]] = []
    serial: Counter[str] = Counter()

    def blocks_timed(function: Callable[[Any], Any], blocks: Iterable[Any]) -> list[Any]:
        answers, seconds = [], []
        for block in blocks:
            begin = time.process_time()
            answers.append(function(block))
            seconds.append(time.process_time() - begin)
        calls.append(seconds)
        return answers

    def timed(function: Callable[..., Any], title: str) -> Callable[..., Any]:
        def measured(*arguments: Any, **options: Any) -> Any:
            begin = time.process_time()
            answer = function(*arguments, **options)
            serial[title] += time.process_time() - begin
            return answer

        return measured

    for module in SHARED:
        importlib.import_module(f"mercer.{module}").map_blocks = blocks_timed
    smo = importlib.import_module("mercer.solvers.smo")
    for title, function in SERIAL.items():
        setattr(smo, function, timed(getattr(smo, function), title))
    begin = time.process_time()
    library.fit()
    total = time.process_time() - begin
    shared = sum(map(sum, calls))
    alone = total - shared
    simulated = {
        str(k): alone + sum(makespan(call, k) for call in calls) for k in THREADS_SIMULATED
    }
    rest = alone - sum(serial.values())
    return {"seconds": total, "shared": shared, "serial": {**serial, "other": rest}} | {
        "simulated": simulated
    }


def makespan(seconds: list[float], threads: int) -> float:
    """Return when the last of some blocks ends, if each free thread takes the next one.

    Examples
    --------
    >>> round(makespan([3.0, 1.0, 1.0, 1.0], 2), 3)
    3.0
    """
    if len(seconds) < 2:
        return sum(seconds)
    free = [0.0] + [BEGIN_SECONDS] * (min(threads, len(seconds)) - 1)
    for block in seconds:
        heapq.heapreplace(free, free[0] + block)
    return max(free)


def line(values: dict[str, Any]) -> str:
    if "failure" in values:
        return str(values["failure"])
    total = values["seconds"]
    times = [f"{k} threads x{total / seconds:.1f}" for k, seconds in values["simulated"].items()]
    parts = [f"{title} {part / total:.0%}" for title, part in values["serial"].items()]
    return f"{total:.2f} s: {', '.join(times)}; on one thread: {', '.join(parts)}"


def claims(records: list[Record], short: bool) -> list[str]:
    """Return problems that failed; print how many times as fast several threads are on average."""
    good = [record for record in records if "failure" not in record]
    for k in map(str, THREADS_SIMULATED):
        if good:
            mean = geometric_mean(r["seconds"] / r["simulated"][k] for r in good)
            print(f"{k} threads: {mean:.2f} times as fast as one (geometric mean, simulated)")
    return [f"{r.case}: {r['failure']}" for r in records if "failure" in r]
