"""The contest on tables: the recommended estimators, untouched, against what others offer.

``contest.py run FAMILY`` measures the methods of a family as ``plan.json`` has decided, one line of
JSON each, and goes on where it was cut short: ``mercer``, ``peers`` (by an interpreter that has
them and need not have this library) and ``autogluon`` (by another one; ``peers.txt`` and
``autogluon.txt`` say what they need). ``gather`` makes the table ``contest.json`` of the lines and
the page of the table, ``report`` the page alone; ``standing`` prints one method against the others
where both are done; ``short`` is a test of half a minute.
"""

import argparse
import datetime
import importlib
import json
import math
import multiprocessing
import os
import platform
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

# One thread for everybody, before a library reads how many it may have.
os.environ |= dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.tables.sets import EVERY, PLAN, SHORT, Split, fits, planned_splits, split

HERE = Path(__file__).resolve().parent
LINES = HERE / "results"
FAMILIES = {
    "mercer": "benchmarks.tables.ours",
    "peers": "benchmarks.tables.peers",
    "autogluon": "benchmarks.tables.gluon",
}


class Job(NamedTuple):
    """A method, a set, a number of training rows and a split."""

    method: str
    set: str
    size: int
    split: int


def measure(fit: Any, data: Split) -> dict[str, Any]:
    """Return the metrics of a method, the seconds it took and its choices."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clock, start = time.perf_counter(), processor()
        predict, chosen = fit(data)
        clock, fitted = time.perf_counter() - clock, processor()
        predicted = predict(data.X_test)
        done = processor()
    found = {"n": len(data.y), **data.judge(predicted)}
    found |= {"seconds": fitted - start, "clock": clock, "predict": done - fitted}
    return found | {"chosen": chosen}


def processor() -> float:
    """Return the processor seconds of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def about(packages: Iterable[str]) -> dict[str, Any]:
    """Return the date, the processor and the versions of a run."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return {
        "date": datetime.date.today().isoformat(),
        "python": platform.python_version(),
        "processor": next(s.split(":")[1].strip() for s in lines if s.startswith("model name")),
        "versions": {name: version(name) for name in packages},
    }


def serve(module_name: str, cheap: Iterable[str], pipe: Any) -> None:
    """Measure the jobs that come through a pipe, in a process that may be ended at any time.

    Cheap methods load and compile beforehand, on few rows: their first fit does not count.
    """
    module = importlib.import_module(module_name)
    methods = module.METHODS
    pipe.send((list(module.METHODS), about(module.PACKAGES)))
    warm: set[tuple[str, str]] = set()
    while (job := pipe.recv()) is not None:
        try:
            data = split(job.set, job.split, job.size)
            cold = job.method, SHORT[0 if data.regression else 1]
            if job.method in cheap and cold not in warm:
                measure(methods[job.method], split(cold[1], 0, 100, 50))
                warm.add(cold)
            pipe.send(("start", None))
            pipe.send(("done", measure(methods[job.method], data)))
        except Exception as error:
            pipe.send(("failed", f"{type(error).__name__}: {error}"[:300]))


class Worker:
    """A process that measures; it is replaced when a fit takes too long or ends it."""

    def __init__(self, family: str) -> None:
        self.family = family
        self.methods, self.about = self.start()

    def start(self) -> tuple[list[str], dict[str, Any]]:
        """Start the process and return its methods and versions."""
        contenders = PLAN["contenders"].get(self.family, {})
        cheap = [method for method, how in contenders.items() if how["group"] == "cheap"]
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: Any = context.Process(
            target=serve, args=(FAMILIES[self.family], cheap, theirs)
        )
        self.process.start()
        theirs.close()
        return self.pipe.recv()

    def __call__(self, job: Job) -> dict[str, Any]:
        if self.process is None:
            self.start()
        contenders = PLAN["contenders"].get(self.family, {})
        limit = contenders.get(job.method, {}).get("limit", PLAN["limit"])
        self.pipe.send(job)
        try:
            state, found = self._wait(math.inf)
            if state == "start":
                state, found = self._wait(limit)
        except EOFError:
            state, found = "failed", "the process ended"
            self.end()
        return found if state == "done" else {"failed": found}

    def _wait(self, limit: float) -> tuple[str, Any]:
        start = self._seconds()
        while not self.pipe.poll(0.5):
            if self._seconds() - start > limit:
                self.end()
                return "failed", f"more than {limit} processor seconds"
        return self.pipe.recv()

    def _seconds(self) -> float:
        """Return the processor seconds of the process and its ended children, by the kernel."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return sum(map(int, stat[11:15])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None


def jobs(family: str) -> Iterator[Job]:
    """Yield everything that the plan has for a family: breadth first, dear methods last."""
    contenders = PLAN["contenders"][family]
    names = [name for sets in EVERY.values() for name in sets]
    for group in PLAN["groups"]:
        few = PLAN["subset"]["sets"] if group == "subset" else names
        for size in map(int, PLAN["sizes"]):
            splits = {
                method: planned_splits(how, size)
                for method, how in contenders.items()
                if how["group"] == group
            }
            for number in range(max(splits.values(), default=0)):
                for name in few:
                    methods = [method for method, some in splits.items() if number < some]
                    if methods and fits(name, size):
                        yield from (Job(method, name, size, number) for method in methods)


def commit() -> str:
    """Return the last commit of the library; a plus sign says that it was changed since."""

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        command = ["git", "-C", str(HERE.parents[1]), *words, "--", "src"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    changed = git("diff", "--quiet", "HEAD").returncode == 1
    return git("log", "-1", "--format=%h").stdout.strip() + "+" * changed


def kept(folder: Path, family: str) -> list[dict[str, Any]]:
    """Return what was measured of a family."""
    path = folder / f"{family}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(options: argparse.Namespace) -> None:
    """Measure what is missing and append it to the lines of the family."""
    options.out.mkdir(parents=True, exist_ok=True)
    now = commit()
    lines = kept(options.out, options.family)
    if options.again:
        lines = [r for r in lines if r.get("commit") == now]
    done = {Job(r["method"], r["set"], r["size"], r["split"]) for r in lines}
    worker = Worker(options.family)
    about = options.out / f"{options.family}.json"
    about.write_text(json.dumps(worker.about, indent=1) + "\n")
    for job in jobs(options.family):
        chosen = (
            (options.methods, job.method),
            (options.sets, job.set),
            (options.sizes, job.size),
            (options.splits, job.split),
        )
        unwanted = any(some and value not in some for some, value in chosen)
        # Peers are not there in every interpreter, nor recommended estimators at every commit.
        if job in done or unwanted or job.method not in worker.methods:
            continue
        result = job._asdict() | worker(job) | {"commit": now}
        with (options.out / f"{options.family}.jsonl").open("a") as out:
            out.write(json.dumps(result, default=str) + "\n")
        print(line(result), flush=True)
    worker.end()


def line(result: dict[str, Any]) -> str:
    text = "{set} {size} {split} {method}: ".format_map(result)
    if "failed" in result:
        return text + "failed, " + result["failed"]
    names = (*(("rmse",) if "rmse" in result else ("error", "log_loss")), "seconds", "clock")
    return text + ", ".join(f"{k} {result[k]:.4f}" for k in names if k in result)


def short() -> int:
    """Fit the recommended estimators to few rows and say where they are poor or slow."""
    methods = importlib.import_module(FAMILIES["mercer"]).METHODS
    recommended, usual = PLAN["recommended"], "mercer least squares"
    if recommended not in methods:
        print("left out: this commit has no recommended estimators")
        return 0
    results = []
    for name in SHORT:
        for number in range(2):
            data = split(name, number, 150, 250)
            for method in (recommended, usual):
                found = {"method": method, "set": name, "size": 150, "split": number}
                results.append(found | measure(methods[method], data))
                print(line(results[-1]), flush=True)
    wrong = complaints(results, recommended, usual)
    print("\n".join(wrong) or "at least as good as the machine that tunes itself, and in time")
    return int(bool(wrong))


def complaints(results: list[dict[str, Any]], recommended: str, usual: str) -> list[str]:
    """Say where the recommended estimator is clearly worse than the usual one, or slow."""
    wrong = []
    for name in dict.fromkeys(r["set"] for r in results):
        ours, theirs = (
            [r for r in results if r["set"] == name and r["method"] == m]
            for m in (recommended, usual)
        )
        metric = "rmse" if "rmse" in ours[0] else "error"
        a, b = (sum(r[metric] for r in part) / len(part) for part in (ours, theirs))
        # Two splits of few rows: a tenth is about the spread of such a mean, and a hundredth
        # that of few mistakes.
        if a > 1.1 * b and a > b + 0.01:
            wrong.append(f"{recommended} is worse than {usual} on {name}: {a:.3f}, {b:.3f}")
        # The bar is 10 s at 1,000 rows; the first fit compiles.
        if min(r["seconds"] for r in ours) > 10.0:
            wrong.append(f"{recommended} is slow on {name}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["run", "gather", "report", "standing", "short"])
    parser.add_argument("family", nargs="?", choices=FAMILIES)
    parser.add_argument("--methods", nargs="*", default=[])
    parser.add_argument("--sets", nargs="*", default=[])
    parser.add_argument("--sizes", nargs="*", type=int, default=[])
    parser.add_argument("--splits", nargs="*", type=int, default=[])
    parser.add_argument("--out", type=Path, default=LINES, help="folder of the lines")
    parser.add_argument("--again", action="store_true", help="also what other commits have done")
    parser.add_argument("--developed", action="store_true", help="hide fresh and unseen sets")
    options = parser.parse_args()
    if options.action == "run":
        run(options)
        return 0
    if options.action == "short":
        return short()
    lines = [line for family in FAMILIES for line in kept(options.out, family)]
    if options.action == "standing":
        module = importlib.import_module("benchmarks.tables.standing")
        for method in options.methods or [PLAN["recommended"]]:
            print("\n".join(module.standing(lines, method, options.developed)))
        return 0
    page = importlib.import_module("benchmarks.tables.page")
    if options.action == "gather":
        abouts = {f: options.out / f"{f}.json" for f in FAMILIES}
        about = {f: json.loads(p.read_text()) for f, p in abouts.items() if p.exists()}
        page.TABLE.write_text(page.gather(lines, about))
    page.publish(json.loads(page.TABLE.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
