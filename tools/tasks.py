"""Run tasks by name: parts of the site, steps of the night, other environments; or list them.

``make docs PART=check`` and ``make night STEPS="fuzz law"`` call this program. A task is a list of
commands, which run from the root of the repository, one after the other, until one fails.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
SHORT = (
    "certificate-short compact-short least-squares-short local-short tuning-short large-short "
    "landmarks-short linear-short kernels-short hour-short intervals-short faults-short"
)
# What there was at the time of 1.6, which gives SciPy an option that is deprecated, asks polars by
# such a protocol, and hands its checks to pytest as an iterator. Fewer checks may fail.
OLDER = '"numpy<2.5" "scipy<1.18" "polars<1.40" "pytest<9"'
EXTRAS = "test,plot,cluster,data,io,onnx"


class Task(NamedTuple):
    """What a task does, its commands, and the folder that they run in."""

    words: str
    commands: tuple[str, ...]
    folder: str = "."


TASKS = {
    "site": Task(
        "the site in docs/_build/html, examples executed, warnings as errors",
        ("python -m sphinx -W --keep-going -b html docs docs/_build/html",),
    ),
    "check": Task(
        "the built site in Chromium: no request to elsewhere, answers found by its search",
        ("python tools/site.py check",),
    ),
    "versions": Task(
        "the built site beside others in dist/site, with a menu of versions",
        ("python tools/site.py versions dist/site",),
    ),
    "tests": Task(
        "the tests of the night",
        (
            "python -m pytest -n 2 --dist worksteal -m nightly tests",
            "python -m pytest -n 2 --dist worksteal packages/mercer-research",
        ),
    ),
    "sanitize": Task(
        "the tests of compiled loops with sanitizers of addresses and undefined behavior",
        ("python tools/sanitize.py",),
    ),
    "instructions": Task(
        "instructions of compiled loops under callgrind, beside those committed; two minutes",
        ("python tools/instructions.py",),
    ),
    "fuzz": Task(
        "two thousand hostile fits beyond those of the tests, some minutes",
        ("python -m hostile.fuzz 10000 2000 all",),
        "tests",
    ),
    "fuzz-long": Task(
        "a hundred thousand of them, counted by how they end; an hour and a half",
        ("python -m hostile.fuzz 10000 100000 all",),
        "tests",
    ),
    "law": Task(
        "5,000 fits whose predictions cost what their certificates allow",
        ("python -m hostile.predictions 0 5000 every",),
        "tests",
    ),
    "hostile-files": Task(
        "300 model files and 200 data files made to do harm: how they end, memory, time",
        ("python -m hostile_files.sweep",),
        "tests",
    ),
    "reproduce": Task(
        "the experiments of the documents with few data sets, two minutes",
        ("python packages/mercer-research/papers/run.py --short",),
    ),
    "benchmarks": Task("short benchmarks", (f"python benchmarks/run.py {SHORT}",)),
    "twice": Task(
        "sdists and wheels built twice from this commit; fails if a byte differs",
        ("make --no-print-directory release STEP=build",),
    ),
    "matrix": Task("each Python, lowest and newest releases", ("make matrix",)),
    "mlflow": Task(
        "an environment with MLflow, and the recipe of the guide in it; two minutes",
        (
            f"{sys.executable} -m venv build/mlflow",
            'build/mlflow/bin/pip install --quiet ".[io,onnx]" mlflow-skinny pandas pytest '
            "hypothesis pytest-timeout",
            "env PYTHONPATH=tests build/mlflow/bin/python -m pytest -q -p no:cacheprovider "
            "tests/test_mlflow.py",
        ),
    ),
    "sbom": Task(
        "dist/sbom.json: what the installed library needs, with licences, as CycloneDX",
        ("python tools/release.py sbom",),
    ),
    **{
        f"sklearn-{release}": Task(
            f"the quick tests with scikit-learn {release}, in an environment of its own",
            (
                'env PYTEST_ADDOPTS="-o xfail_strict=false '
                '-W ignore:scipy.optimize:DeprecationWarning" '
                f"make --no-print-directory test VENV=build/sklearn-{release} EXTRAS={EXTRAS} "
                f"PIN='\"scikit-learn=={release}.*\" {OLDER}'",
            ),
        )
        for release in ("1.6", "1.7", "1.8")
    },
}


def run(name: str) -> int:
    """Run the commands of a task, and return the status of the first that fails."""
    task = TASKS[name]
    for command in task.commands:
        first, *rest = shlex.split(command)
        print(f"== {command}", flush=True)
        program = [sys.executable if first == "python" else first, *rest]
        done = subprocess.run(program, cwd=ROOT / task.folder, env=os.environ | ONE_THREAD)
        if done.returncode:
            return done.returncode
    return 0


def main(names: list[str]) -> int:
    """Run all tasks, and return how many failed; without names, list them."""
    if unknown := [name for name in names if name not in TASKS]:
        print(f"no task {', '.join(unknown)}; there are {', '.join(TASKS)}")
        return 2
    for name, task in ({} if names else TASKS).items():
        print(f"  {name:16} {task.words}")
    failed = [name for name in names if run(name)]
    for name in failed:
        print(f"FAILED: {name}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
