"""Imports, help, first fits, busy neighbours and Ctrl-C in seconds; some minutes.

Tests hold what can be counted (modules, steps); what takes time is measured here.
The limit of each is a promise of the documentation. ``--short`` leaves out neighbours and Ctrl-C.
"""

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

from benchmarks.store import Record

IMPORT = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
HELP = """
import contextlib, io, time
t = time.process_time()
from mercer_studio.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    main(["fit", "--help"])
print(time.process_time() - t)
"""
FIRST = """
import sys, time
import numpy as np
from mercer import SVC
X = np.random.default_rng(0).standard_normal((int(sys.argv[1]), 4))
y, seconds = X[:, 0] * X[:, 1] > 0, []
for _ in range(2):
    begin = time.process_time()
    SVC(gamma=0.25).fit(X, y)
    seconds.append(time.process_time() - begin)
print(seconds[0] - seconds[1])
"""
NEIGHBOURS = """
import json, time
import numpy as np
import mercer
from mercer import LSSVR, ConformalRegressor
rng = np.random.default_rng(0)
X = rng.normal(size=(2200, 6))
y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=2200)
few = X[:300], y[:300]
fits = {
    "tune": lambda: mercer.tune(LSSVR(), *few, budget=5),
    "ConformalRegressor": lambda: ConformalRegressor(LSSVR()).fit(*few),
    "Local": lambda: LSSVR(approximation=mercer.local.Local(250)).fit(X[:1000], y[:1000]),
    "LSSVR": lambda: LSSVR().fit(X, y).predict(X[:50]),
}
LSSVR().fit(*few)
seconds = {}
for name, fit in fits.items():
    start = time.process_time()
    fit()
    seconds[name] = time.process_time() - start
print(json.dumps(seconds))
"""
# Processor seconds after which an interrupt comes, and until it is heard.
MOMENT, HEARD = 0.2, 2.0


def cases(short: bool) -> list[dict[str, Any]]:
    names = ["imports", "help", "first fits", "classes"]
    return [{"part": name} for name in names + (["neighbours", "interrupts"] if not short else [])]


def contenders(case: dict[str, Any]) -> list[str]:
    return ["mercer"]


def run(case: dict[str, Any], name: str, repeat: int) -> dict[str, Any]:
    """Return seconds and limit of everything in a part."""
    part = {
        "imports": imports,
        "help": lambda: {"mercer fit --help": (float(said(HELP)), 0.5)},
        "first fits": first_fits,
        "classes": classes,
        "neighbours": neighbours,
        "interrupts": interrupts,
    }
    return {"seconds": {what: list(pair) for what, pair in part[case["part"]]().items()}}


Found = dict[str, tuple[float, float]]


def said(program: str, *arguments: str, **settings: str) -> str:
    """Return what a program in a fresh interpreter prints."""
    command = [sys.executable, "-W", "ignore", "-c", program, *arguments]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env=os.environ | settings
    )
    return done.stdout


def imports() -> Found:
    """Return the seconds of an import; the best of several, in turns."""
    names = ("mercer", "sklearn.svm")
    rounds = [[float(said(IMPORT.format(name))) for name in names] for _ in range(5)]
    ours, theirs = (min(times) for times in zip(*rounds, strict=True))
    return {"import mercer, beside sklearn.svm": (ours, 1.2 * theirs)}


def first_fits() -> Found:
    """Return what the first fit of a process takes beyond the second."""
    return {
        f"first SVC of {rows} rows": (float(said(FIRST, str(rows))), 0.3) for rows in (300, 2000)
    }


def classes() -> Found:
    """Return the seconds of 19,900 pairs of classes; one by one they take 25."""
    import numpy as np

    from mercer import SVC

    X, y = np.random.default_rng(0).normal(size=(400, 2)), np.arange(400) % 200
    SVC().fit(X[:20], y[:20])
    begin = time.process_time()
    SVC().fit(X, y)
    return {"SVC of 200 classes": (time.process_time() - begin, 8.0)}


def neighbours() -> Found:
    """Return processor seconds of fits beside busy processes, and twice those on one thread."""
    command, count = [sys.executable, "-c", "while True: pass"], os.cpu_count() or 1
    busy = [subprocess.Popen(command) for _ in range(count)]
    try:
        one = json.loads(said(NEIGHBOURS))
        free = {f"{name}_NUM_THREADS": str(count) for name in ("OMP", "OPENBLAS", "MKL")}
        default = json.loads(said(NEIGHBOURS, **free))
    finally:
        for process in busy:
            process.kill()
            process.wait()
    return {f"{k} beside busy neighbours": (v, 2.0 * one[k] + 0.1) for k, v in default.items()}


def interrupts() -> Found:
    """Return the seconds that every estimator of the tests takes to hear an interrupt."""
    import test_interrupt as tests
    from hostile.generator import good
    from hostile.judge import fit
    from hostile.machines import MACHINES, make

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    found = {}
    for name, rows in tests.ROWS.items():
        fit(make(name), *good(name))
        machine = make(name) if name in tests.GIVEN else MACHINES[name]()
        X, y = good(name, seed=1, n=rows)
        before, begun = signal.signal(signal.SIGPROF, interrupt), time.process_time()
        signal.setitimer(signal.ITIMER_PROF, MOMENT)
        try:
            fit(machine, X, y)
        except KeyboardInterrupt:
            pass
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            signal.signal(signal.SIGPROF, before)
        found[f"Ctrl-C, {name}"] = (time.process_time() - begun - MOMENT, HEARD)
    return found


def line(values: dict[str, Any]) -> str:
    return ", ".join(f"{k}: {s:.2f} s of {most:.2f}" for k, (s, most) in values["seconds"].items())


def claims(records: list[Record], short: bool) -> list[str]:
    return [
        f"{what}: {seconds:.2f} s of {limit:.2f}"
        for r in records
        for what, (seconds, limit) in r["seconds"].items()
        if seconds > limit
    ]
