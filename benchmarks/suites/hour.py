"""What an installation weighs, and the first programs of a new user, from the wheel; five minutes.

The wheels are built and installed into a new environment. A first fit beside scikit-learn's, and
programs of README and of the tour, run in processes of their own. ``--short`` runs README as one
program, in a minute.
"""

import json
import os
import resource
import runpy
import subprocess
import tempfile
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.store import ONE_THREAD, ROOT, Record
from snippets import python_blocks

DISTRIBUTIONS = runpy.run_path(str(ROOT / "tools" / "distributions.py"))
# Seconds of the processor that a program may take, and README as a whole.
PROGRAM, WHOLE = 8.0, 30.0
# How much more than scikit-learn's a process with a first fit may take, and the import alone.
FIT_RATIO, IMPORT_RATIO = 1.5, 1.3
FIRST_FIT = """
import numpy as np
from {} import SVC
X = np.random.default_rng(0).normal(size=(300, 4))
y = np.sin(X[:, 0]) + X[:, 1] > 0
SVC().fit(X, y).predict(X)
"""
PAGES = {"README": ROOT / "README.md", "tour": ROOT / "docs" / "tour.md"}
PROGRAMS = {
    f"{name}, example {k}": source
    for name, page in PAGES.items()
    for k, (_, source) in enumerate(python_blocks(page), start=1)
}
PACKAGES = {"mercer": "mercer", "scikit-learn": "sklearn.svm"}
# Runs of a short program, of which the fastest counts.
REPEATS = 5


def cases(short: bool) -> list[dict[str, Any]]:
    """Return README as one program; or weights, imports, first fits and programs."""
    if short:
        return [{"program": "README", "run": "whole"}]
    found: list[dict[str, Any]] = [{"program": "weights", "run": "none"}]
    found += [{"program": name, "run": run} for run in ("import", "first fit") for name in PACKAGES]
    return found + [{"program": name, "run": "program"} for name in PROGRAMS]


def contenders(case: dict[str, Any]) -> list[str]:
    return ["mercer"]


@lru_cache(maxsize=2)
def fresh(extras: str) -> tuple[str, Any]:
    """Return the interpreter of a new environment with the wheels of this tree."""
    held = tempfile.TemporaryDirectory()
    folder = Path(held.name)
    wheels = DISTRIBUTIONS["build"](folder / "wheels")
    return DISTRIBUTIONS["environment"](folder / "env", extras, wheels), held


def together(case: dict[str, Any], names: list[str], short: bool) -> dict[str, dict[str, Any]]:
    name, run = case["program"], case["run"]
    if name == "weights":
        return {"mercer": {"megabytes": weights(fresh("")[0])}}
    python, held = fresh("plot,data,cli")
    code, repeats = PROGRAMS.get(name, ""), 1
    if run == "whole":
        blocks = [source for _, source in python_blocks(PAGES["README"])]
        code = "\n".join(f"exec({source!r}, {{}})" for source in blocks)
    elif run == "import":
        code, repeats = f"from {PACKAGES[name]} import SVC", REPEATS
    elif run == "first fit":
        code, repeats = FIRST_FIT.format(PACKAGES[name]), REPEATS
    runs = [timed(python, code, Path(held.name)) for _ in range(repeats)]
    return {"mercer": min(runs, key=lambda values: float(values["cpu"]))}


def timed(python: str, code: str, folder: Path) -> dict[str, Any]:
    """Run code in a new process, away from the tree, on one thread, and return its seconds."""
    settings = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "MERCER_DATA"}}
    settings |= ONE_THREAD | {"MPLBACKEND": "agg", "XDG_CACHE_HOME": str(folder / "caches")}

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    began, clock = used(), time.perf_counter()
    done = subprocess.run(
        [python, "-c", code], env=settings, cwd=folder, capture_output=True, text=True
    )
    found: dict[str, Any] = {"cpu": used() - began, "wall": time.perf_counter() - clock}
    if done.returncode:
        found["failure"] = (done.stderr.strip().splitlines() or ["?"])[-1]
    return found


def weights(python: str) -> dict[str, float]:
    """Return the megabytes of each distribution of an environment, without pip's own."""
    code = (
        "import json; from importlib.metadata import distributions as d; print(json.dumps({"
        "one.metadata['Name']: sum(p.stat().st_size for f in one.files or [] "
        "if (p := f.locate()).exists()) / 1e6 for one in d()}))"
    )
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    found = {k: v for k, v in json.loads(done.stdout).items() if k not in ("pip", "setuptools")}
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def line(values: dict[str, Any]) -> str:
    return str(values.get("failure") or values)


def claims(records: list[Record], short: bool) -> list[str]:
    """Name programs that fail or take long, and first fits that take longer than promised."""
    wrong = [f"{r.case}: {r['failure']}" for r in records if "failure" in r]
    seconds = {(r.case["program"], r.case["run"]): r["cpu"] for r in records if "cpu" in r}
    for (program, run), cpu in seconds.items():
        if cpu > {"whole": WHOLE, "program": PROGRAM}.get(run, np.inf):
            wrong.append(f"{program}: {cpu:.1f} s")
    for run, most in (("import", IMPORT_RATIO), ("first fit", FIT_RATIO)):
        if ("mercer", run) in seconds:
            ratio = seconds["mercer", run] / seconds["scikit-learn", run]
            wrong += [f"{run}: {ratio:.2f} times scikit-learn's"] * (ratio > most)
    return wrong
