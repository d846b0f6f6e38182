"""The first hour of a new user, again: a fresh environment, README, lessons, mistakes, tasks.

``first_hour.py run`` builds the wheel, installs it into a new environment and does there what a new
user does, each step in a process of its own; ``--here`` uses this interpreter instead. It prints a
table of processor seconds beside those of the first trial, and fails where a step fails, a message
does not help, a program of README or of the tour takes five seconds or more once it is compiled, or
a lesson thirty. ``--output hour.json`` keeps the figures, and beside them what the page about the
installation shows. ``first_hour.py short`` ends after README, with the compiler's time inside.
"""

import argparse
import json
import os
import resource
import runpy
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(1, str(Path(__file__).resolve().parents[2]))

from benchmarks.common.environment import environment
from data import FOLDER
from snippets import python_blocks

ROOT = Path(__file__).resolve().parents[2]
DISTRIBUTIONS = runpy.run_path(str(ROOT / "tools" / "distributions.py"))
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
README, LESSON = 5.0, 30.0
FIRST_FIT = """
from sklearn.datasets import load_iris
from mercer import SVC
SVC().fit(*load_iris(return_X_y=True))
"""

START = """
import numpy as np
import pandas as pd
from mercer import *
import mercer
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
y = np.sin(X[:, 0])
"""
# What people type, and a word that a helpful message has.
MISTAKES = {
    "SVR(kernel='gausian').fit(X, y)": "Did you mean 'gaussian'",
    "SVR(loss='mse')": "loss",
    "KernelRegressor(loss='quantil').fit(X, y)": "Did you mean 'quantile'",
    "SVR(approximation='nystroem').fit(X, y)": "Did you mean 'nystrom'",
    "mercer.LinearSVC": "SVC(kernel='linear')",
    "mercer.KernelRidge": "LSSVR",
    "mercer.IsotonicRegression": "ShapeConstrainedRegressor",
    "X[0, 1] = np.nan; SVR().fit(X, y)": "MissingInputRegressor",
    "SVR().fit(pd.DataFrame({'a': ['x', 'y'] * 30, 'b': y}), y)": "AutoRegressor",
    "SVR().fit(pd.DataFrame({'t': pd.date_range('2026', periods=60), 'b': y}), y)": "date",
    "SVR().predict(X)": "not fitted",
    "SVR().fit(X, y[:10])": "inconsistent numbers of samples",
    "SVC().fit(X, np.ones(60))": "number of classes has to be greater than one",
    "QuantileSVR(1.5).fit(X, y)": "quantile",
    "ShapeConstrainedRegressor({0: 1}, C=-1.0).fit(X, y)": "'C'",
    "SVR(solver='cg').fit(X, y)": "solver",
}
TASKS = {
    "drop-in in a pipeline with grid search": """
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from mercer import SVC
X, y = load_breast_cancer(return_X_y=True)
grid = {"svc__C": [0.1, 1, 10, 100], "svc__gamma": [0.001, 0.01, 0.1, "scale", 1.0, 10.0]}
search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid).fit(X, y)
assert search.best_score_ > 0.97
""",
    "a table without knowledge": """
from mercer import AutoRegressor
from mercer.datasets import load_concrete
from sklearn.model_selection import train_test_split
X, y = load_concrete(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, train_size=700, random_state=0)
assert AutoRegressor().fit(X, y).score(X_new, y_new) > 0.9
""",
    "90 % intervals": """
import numpy as np
from mercer import SVR, ConformalRegressor
from mercer.datasets import load_abalone
snails = load_abalone()
X, y = snails.data[:, 1:].astype(float), snails.target
rows = np.random.default_rng(0).permutation(len(y))
some = rows[:700]
machine = ConformalRegressor(SVR(standardize=True), random_state=0).fit(X[some], y[some])
low, high = machine.predict_interval(X[rows[700:]]).T
assert 0.87 < np.mean((low <= y[rows[700:]]) & (y[rows[700:]] <= high)) < 0.94
""",
    "a monotone dose-response": """
import numpy as np
from mercer import ShapeConstrainedRegressor
from mercer.regularizers import Increasing
rng = np.random.default_rng(0)
dose = rng.uniform(0, 4, (90, 1))
effect = 1 / (1 + np.exp(4 - 2 * dose[:, 0])) + 0.1 * rng.normal(size=90)
curve = ShapeConstrainedRegressor([Increasing(0)], prove=True, gamma=1.0, C=10.0).fit(dose, effect)
seen = np.linspace(dose.min(), dose.max(), 1000)[:, None]
assert np.diff(curve.predict(seen)).min() > -1e-9
""",
    "two million rows from a file": """
import tempfile, numpy as np, pyarrow as pa, pyarrow.parquet as pq
import mercer.data
from mercer import LSSVR, Nystrom
rng = np.random.default_rng(0)
path = tempfile.mkdtemp() + "/rows.parquet"
columns = {f"x{j}": rng.normal(size=2_000_000) for j in range(5)}
columns["y"] = np.sin(columns["x0"]) + columns["x1"] * columns["x2"]
pq.write_table(pa.table(columns), path, row_group_size=100_000)
source = mercer.data.open(path, target="y")
machine = LSSVR(C=10.0, approximation=Nystrom(300, random_state=0)).fit(source)
assert machine.score(source) > 0.9
""",
    "save, and load in another process": """
import pickle, subprocess, sys, tempfile, numpy as np
from mercer import SVR
from mercer.datasets import load_concrete
X, y = load_concrete(return_X_y=True)
machine = SVR(standardize=True).fit(X, y)
folder = tempfile.mkdtemp()
pickle.dump((machine, X[:5], machine.predict(X[:5])), open(folder + "/m.pickle", "wb"))
code = (
    "import pickle, sys, numpy as np; m, X, f = pickle.load(open(sys.argv[1], 'rb')); "
    "assert np.array_equal(m.predict(X), f)"
)
subprocess.run([sys.executable, "-c", code, folder + "/m.pickle"], check=True)
""",
    "a plot for a colleague": """
import tempfile
import matplotlib; matplotlib.use("agg")
from mercer import SVR
from mercer.datasets import load_abalone
from mercer.plotting import FitDisplay
snails = load_abalone(as_frame=True).frame.sample(300, random_state=0)
X, y = snails[["shell_weight"]], snails["rings"]
display = FitDisplay.from_estimator(SVR(C=10.0).fit(X, y), X, y)
display.figure_.savefig(tempfile.mkdtemp() + "/fit.png")
""",
}
MADE = """
import numpy as np
from mercer import AutoRegressor
rng = np.random.default_rng(0)
X = rng.normal(size=({}, 49))
y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=len(X))
AutoRegressor().fit(X, y)
"""
# What took minutes in the first trial.
SLOW = {
    "AutoRegressor, 500 rows and 49 columns": MADE.format(500),
    "AutoRegressor, 20,000 rows and 49 columns": MADE.format(20_000),
    "mercer fit --tune 20s, 48,842 rows of adult": """
import contextlib, io
import pandas as pd
from mercer_studio.cli import main
pd.read_parquet({adult!r}).drop(columns="split").to_csv("adult.csv", index=False)
with contextlib.redirect_stdout(io.StringIO()):
    assert main(["fit", "adult.csv", "--target", "income", "--tune", "20s"]) == 0
""",
}
ADULT = FOLDER / "classification" / "adult.parquet"
# Seconds of one thread in the first trial, where it was measured; slow ones by the clock.
BEFORE = {
    "AutoRegressor, 500 rows and 49 columns": 90.0,
    "AutoRegressor, 20,000 rows and 49 columns": 881.0,
    "mercer fit --tune 20s, 48,842 rows of adult": 100.0,
    "import": 2.4,
    "README": 3.8,
    "drop-in in a pipeline with grid search": 2.3,
    "90 % intervals": 1.4,
    "two million rows from a file": 95.0,
}


def fresh(folder: Path, extras: str = "plot,data,cli") -> str:
    """Return the interpreter of a new environment with the wheels of this tree."""
    folder.mkdir(exist_ok=True)
    wheels = DISTRIBUTIONS["build"](folder / "wheels")
    return DISTRIBUTIONS["environment"](folder / "env", extras, wheels)


class Times(NamedTuple):
    """Seconds of a program from start to end."""

    cpu: float
    clock: float


def timed(python: str, code: str, folder: Path) -> tuple[Times, subprocess.CompletedProcess[str]]:
    """Run code in a new process, away from the tree, on one thread, and return its seconds."""
    environment = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "MERCER_DATA"}}
    environment |= ONE_THREAD | {"MPLBACKEND": "agg", "XDG_CACHE_HOME": str(folder / "caches")}

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    began, clock = used(), time.perf_counter()
    done = subprocess.run(
        [python, "-c", code], env=environment, cwd=folder, capture_output=True, text=True
    )
    return Times(used() - began, time.perf_counter() - clock), done


def site_packages(python: str) -> Path:
    """Return the folder in which an environment keeps what is installed."""
    code = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return Path(done.stdout.strip())


def forget_compiled(python: str) -> None:
    """Delete the compiled loops of an environment."""
    for path in (site_packages(python) / "mercer").rglob("*.nb[ic]"):
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


def session(page: Path) -> str:
    """Return the code of a page whose blocks are a session with prompts."""
    import doctest

    parser = doctest.DocTestParser()
    return "".join(
        example.source
        for _, source in python_blocks(page)
        for example in parser.get_examples(source)
        if doctest.SKIP not in example.options
    )


PROGRAMS = {"`SVC` on iris": FIRST_FIT} | {
    f"{name}, example {k}": source
    for name, page in {"README": ROOT / "README.md", "tour": ROOT / "docs" / "tour.md"}.items()
    for k, (_, source) in enumerate(python_blocks(page), start=1)
}


class Hour:
    """Steps of a user, with the seconds of each and what went wrong."""

    def __init__(self, python: str, folder: Path) -> None:
        self.python, self.folder = python, folder
        self.seconds: dict[str, Times] = {}
        self.wrong: list[str] = []

    def step(self, name: str, code: str, most: float = float("inf")) -> str:
        """Run code, hold it to so many seconds of the processor, and return what it printed."""
        took, done = timed(self.python, code, self.folder)
        self.seconds[name] = took
        print(f"{name}: {took.cpu:.1f} s", flush=True)
        if done.returncode:
            self.wrong.append(f"{name}: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
        elif took.cpu > most:
            self.wrong.append(f"{name} took {took.cpu:.1f} s, more than {most:.0f}")
        return done.stdout

    def start(self) -> None:
        """Import, and fit a first machine twice."""
        self.step("scikit-learn's import", "from sklearn.svm import SVC")
        self.step("import", "from mercer import SVC")
        self.step("first fit, to be compiled", FIRST_FIT)
        self.step("first fit, compiled", FIRST_FIT)

    def short(self) -> None:
        """Run README as one program."""
        blocks = [source for _, source in python_blocks(ROOT / "README.md")]
        self.step("README", "\n".join(f"exec({source!r}, {{}})" for source in blocks), LESSON)

    def programs(self) -> None:
        """Run each program with nothing compiled, again, and after `mercer warm`."""
        for name, code in PROGRAMS.items():
            forget_compiled(self.python)
            self.step(f"{name}: first run", code)
            self.step(f"{name}: second run", code, README)
        forget_compiled(self.python)
        warm = "import mercer_studio.cli as c; assert c.main(['warm']) == 0"
        self.step("mercer warm", warm)
        self.step("mercer warm, again", warm)
        for name, code in PROGRAMS.items():
            self.step(f"{name}: after warm", code, README)

    def lessons(self) -> None:
        for page in sorted((ROOT / "docs" / "tutorials").glob("*.md")):
            if python_blocks(page):
                self.step(f"tutorial {page.stem}", session(page), LESSON)

    def tasks(self) -> None:
        for name, code in TASKS.items():
            self.step(name, code)
        for name, code in SLOW.items():
            if "{adult" not in code or ADULT.exists():
                self.step(name, code.replace("{adult!r}", repr(str(ADULT))))
            else:
                print(f"{name}: left out, {ADULT.name} is not there", flush=True)

    def mistakes(self) -> None:
        """Type what people mistype, and look for a word of help in each answer."""
        tries = json.dumps(list(MISTAKES))
        code = START + (
            f"import copy, json\nout = []\nfor line in {tries}:\n"
            "    here = {**globals(), 'X': X.copy(), 'y': y.copy()}\n"
            "    try:\n        exec(line, here); out.append('')\n"
            "    except Exception as error:\n        out.append(str(error))\nprint(json.dumps(out))"
        )
        if printed := self.step("mistakes", code):
            for (line, word), message in zip(MISTAKES.items(), json.loads(printed), strict=True):
                if word.lower() not in message.lower():
                    self.wrong.append(f"{line}: {message[:200]!r} does not say {word!r}")


def page_of(found: dict[str, Any]) -> str:
    """Return the figures as a part of the page about the installation."""
    seconds, weight = found["seconds"], found["megabytes"]
    named = [name for name in weight if weight[name] >= 10]
    few = sum(weight[name] for name in weight if name not in named)
    lines = [
        f"{len(weight)} distributions, {sum(weight.values()):.0f} MB on disk with Python "
        f"{found['environment']['python']}:",
        "",
        *("| | MB |", "| --- | ---: |"),
        *(f"| {name} | {weight[name]:.0f} |" for name in named),
        f"| the other {len(weight) - len(named)} | {few:.0f} |",
        "",
        "<!-- seconds -->",
        "",
        "Processor seconds of a whole program on one thread, its start and imports included:",
        "",
        "| program | first run | second run | first run after `mercer warm` |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name in PROGRAMS:
        runs = (f"{name}: {run}" for run in ("first run", "second run", "after warm"))
        lines.append(f"| {name} | " + " | ".join(f"{seconds[run][0]:.1f}" for run in runs) + " |")
    warm, again = seconds["mercer warm"], seconds["mercer warm, again"]
    ours, theirs = seconds["import"], seconds["scikit-learn's import"]
    lines += [
        "",
        f"`mercer warm` takes {warm[0]:.0f} s of the processor, {warm[1]:.0f} s by the clock, and "
        f"{again[0]:.0f} s where everything was compiled already; importing `mercer.SVC` is "
        f"{ours[0]:.1f} s of every number, importing scikit-learn's {theirs[0]:.1f} s.",
        "",
        f"Measured on {found['environment']['date']}, {found['environment']['processor']}, commit "
        f"{found['environment']['commit']}, by `make bench SUITE=hour`.",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["run", "short"])
    parser.add_argument("--here", action="store_true")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    found: dict[str, Any] = {"environment": environment({"threads": 1})}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        began = time.perf_counter()
        if options.action == "run" and not options.here:
            found["megabytes"] = weights(fresh(folder / "core", ""))
        python = sys.executable if options.here else fresh(folder)
        found["installation"] = time.perf_counter() - began
        here = Hour(python, folder)
        here.start()
        if options.action == "short":
            here.short()
        else:
            for part in (here.programs, here.lessons, here.tasks, here.mistakes):
                part()
    print("\n| step | processor, s | clock, s | first trial, s |\n| --- | ---: | ---: | ---: |")
    if not options.here:
        print(f"| wheel and environment | | {found['installation']:.0f} | 79 |")
    for step, took in here.seconds.items():
        print(f"| {step} | {took.cpu:.1f} | {took.clock:.1f} | {BEFORE.get(step, '')} |")
    met = "" if options.action == "short" else f", {len(MISTAKES)} mistakes were met with a remedy"
    print("\n".join(here.wrong) or f"\nnothing went wrong{met}")
    if options.output:
        found |= {"seconds": here.seconds, "before": BEFORE, "wrong": here.wrong}
        options.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        if "megabytes" in found:
            options.output.with_suffix(".md").write_text(page_of(found), encoding="utf-8")
    return int(bool(here.wrong))


if __name__ == "__main__":
    sys.exit(main())
