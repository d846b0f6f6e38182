"""What an installation weighs, and the first programs of a new user, from the wheel; ten minutes.

The wheels are built and installed into a new environment. Programs of README and of the tour run in
processes of their own with nothing compiled, again, and after ``mercer warm``. ``--short`` runs
README as one program, in a minute.
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

from benchmarks.store import ONE_THREAD, ROOT, Record
from snippets import python_blocks

DISTRIBUTIONS = runpy.run_path(str(ROOT / "tools" / "distributions.py"))
# Seconds of the processor that a program may take once it is compiled, and README as a whole.
AGAIN, WHOLE = 5.0, 30.0
RUNS = ("first run", "second run", "after warm")
FIRST_FIT = """
from sklearn.datasets import load_iris
from mercer import SVC
SVC().fit(*load_iris(return_X_y=True))
"""
WARM = "import mercer_studio.cli as c; assert c.main(['warm']) == 0"
PAGES = {"README": ROOT / "README.md", "tour": ROOT / "docs" / "tour.md"}
PROGRAMS = {"`SVC` on iris": FIRST_FIT} | {
    f"{name}, example {k}": source
    for name, page in PAGES.items()
    for k, (_, source) in enumerate(python_blocks(page), start=1)
}
IMPORTS = {"mercer": "from mercer import SVC", "scikit-learn": "from sklearn.svm import SVC"}


def cases(short: bool) -> list[dict[str, Any]]:
    """Return README as one program; or weights, imports, programs without and with warming up."""
    if short:
        return [{"program": "README", "run": "whole"}]
    found: list[dict[str, Any]] = [{"program": "weights", "run": "none"}]
    found += [{"program": name, "run": "import"} for name in IMPORTS]
    found += [{"program": name, "run": run} for name in PROGRAMS for run in RUNS[:2]]
    found += [{"program": "mercer warm", "run": run} for run in RUNS[:2]]
    return found + [{"program": name, "run": RUNS[2]} for name in PROGRAMS]


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
    if run == RUNS[0]:
        forget_compiled(python)
    if run == "whole":
        blocks = [source for _, source in python_blocks(PAGES["README"])]
        code = "\n".join(f"exec({source!r}, {{}})" for source in blocks)
    elif run == "import":
        code = IMPORTS[name]
    else:
        code = WARM if name == "mercer warm" else PROGRAMS[name]
    return {"mercer": timed(python, code, Path(held.name))}


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


def forget_compiled(python: str) -> None:
    """Delete the compiled loops of an environment."""
    code = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    for path in (Path(done.stdout.strip()) / "mercer").rglob("*.nb[ic]"):
        path.unlink()


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
    """Name programs that fail, or take long although they are compiled."""
    wrong = [f"{r.case}: {r['failure']}" for r in records if "failure" in r]
    for r in records:
        most = WHOLE if r.case["run"] == "whole" else AGAIN
        if r.case["program"] != "mercer warm" and r.case["run"] in (*RUNS[1:], "whole"):
            wrong += [f"{r.case}: {r['cpu']:.1f} s"] * (r["cpu"] > most)
    return wrong
