"""The first hour of a new user, again: a fresh environment, README, lessons, mistakes, seven tasks.

``first_hour.py run`` builds the wheel, installs it into a new environment and does there what a new
user does, each step in a process of its own; ``--here`` uses this interpreter instead. It prints a
table of processor seconds beside those of the first trial, and fails where a step fails, a message
does not help, README takes five seconds or more, or a lesson thirty. ``first_hour.py short`` ends
after README, with the compiler's time inside.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from snippets import python_blocks

ROOT = Path(__file__).resolve().parents[2]
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
# Seconds of one thread in the first trial, where it was measured.
BEFORE = {
    "import": 2.4,
    "README": 3.8,
    "drop-in in a pipeline with grid search": 2.3,
    "90 % intervals": 1.4,
    "two million rows from a file": 95.0,
}


def fresh(folder: Path, extras: str = "plot,data") -> str:
    """Return the interpreter of a new environment with the wheel of this tree."""
    wheels = folder / "wheels"
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(wheels)]
    subprocess.run([*pip, str(ROOT)], check=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder / "env")], check=True)
    python = str(folder / "env" / "bin" / "python")
    (wheel,) = wheels.glob("mercer-*.whl")
    install = [python, "-m", "pip", "install", "--quiet", f"{wheel}[{extras}]"]
    subprocess.run(install, check=True)
    return python


def timed(python: str, code: str, folder: Path) -> tuple[float, subprocess.CompletedProcess[str]]:
    """Run code in a new process, away from the tree, and return its processor seconds.

    On one thread they are what a user waits on a quiet machine.
    """
    environment = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "MERCER_DATA"}}
    environment |= ONE_THREAD | {"MPLBACKEND": "agg", "XDG_CACHE_HOME": str(folder / "caches")}

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    began = used()
    done = subprocess.run(
        [python, "-c", code], env=environment, cwd=folder, capture_output=True, text=True
    )
    return used() - began, done


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


def hour(python: str, folder: Path, short: bool) -> tuple[dict[str, float], list[str]]:
    """Return the seconds of every step, and what went wrong; the short form ends after README."""
    seconds: dict[str, float] = {}
    wrong: list[str] = []

    def step(name: str, code: str, most: float = float("inf")) -> None:
        took, done = timed(python, code, folder)
        seconds[name] = took
        print(f"{name}: {took:.1f} s", flush=True)
        if done.returncode:
            wrong.append(f"{name}: {done.stderr.strip().splitlines()[-1]}")
        elif took > most:
            wrong.append(f"{name} took {took:.1f} s, more than {most:.0f}")

    step("scikit-learn's import", "from sklearn.svm import SVC")
    step("import", "from mercer import SVC")
    step("first fit, to be compiled", FIRST_FIT)
    step("first fit, compiled", FIRST_FIT)
    # Waiting once for the compiler is a step of its own.
    if not short:
        step("python -m mercer warm", "import mercer.cli as c; assert c.main(['warm']) == 0")
    blocks = [source for _, source in python_blocks(ROOT / "README.md")]
    step(
        "README",
        "\n".join(f"exec({source!r}, {{}})" for source in blocks),
        README if not short else LESSON,
    )
    if short:
        return seconds, wrong
    for page in sorted((ROOT / "docs" / "tutorials").glob("*.md")):
        if python_blocks(page):
            step(f"tutorial {page.stem}", session(page), LESSON)
    for name, code in TASKS.items():
        step(name, code)
    tries = json.dumps(list(MISTAKES))
    code = START + (
        f"import copy, json\nout = []\nfor line in {tries}:\n"
        "    here = {**globals(), 'X': X.copy(), 'y': y.copy()}\n"
        "    try:\n        exec(line, here); out.append('')\n"
        "    except Exception as error:\n        out.append(str(error))\nprint(json.dumps(out))"
    )
    took, done = timed(python, code, folder)
    seconds["mistakes"] = took
    if done.returncode:
        wrong.append(f"mistakes: {done.stderr.strip().splitlines()[-1]}")
    else:
        for (line, word), message in zip(MISTAKES.items(), json.loads(done.stdout), strict=True):
            if word.lower() not in message.lower():
                wrong.append(f"{line}: {message[:200]!r} does not say {word!r}")
    return seconds, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["run", "short"])
    parser.add_argument("--here", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        began = time.perf_counter()
        python = sys.executable if options.here else fresh(folder)
        installed = time.perf_counter() - began
        seconds, wrong = hour(python, folder, options.action == "short")
    print("\n| step | s | first trial, s |\n| --- | ---: | ---: |")
    if not options.here:
        print(f"| wheel and environment | {installed:.0f} | 79 |")
    for step, took in seconds.items():
        print(f"| {step} | {took:.1f} | {BEFORE.get(step, '')} |")
    met = "" if options.action == "short" else f", {len(MISTAKES)} mistakes were met with a remedy"
    print("\n".join(wrong) or f"\nnothing went wrong{met}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
