"""How long a user waits: imports, the first fit, help, Ctrl-C, busy neighbours, many classes.

Tests hold what can be counted (modules, compiled loops, steps); what takes time by the clock is
measured here. A limit is a promise of the documentation; ``over`` says which is not kept now.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

Line = tuple[str, float, float]

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
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
from numba import njit
from mercer import SVC
njit(lambda x: x)(1.0)  # Numba's own start
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
LSSVR().fit(*few)  # compiled
seconds = {}
for name, fit in fits.items():
    start = time.process_time()
    fit()
    seconds[name] = time.process_time() - start
print(json.dumps(seconds))
"""
# Processor seconds after which an interrupt comes, and until it is heard.
MOMENT, HEARD = 0.2, 2.0


def said(program: str, *arguments: str, **settings: str) -> str:
    """Return what a program in a fresh interpreter prints."""
    command = [sys.executable, "-W", "ignore", "-c", program, *arguments]
    environment = os.environ | ONE_THREAD | settings
    return subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment
    ).stdout


def imports() -> Iterator[Line]:
    """Yield the seconds of an import; the best of several, in turns."""
    names = ("mercer", "sklearn.svm")
    ours, theirs = (
        min(times)
        for times in zip(
            *([float(said(IMPORT.format(name))) for name in names] for _ in range(5)), strict=True
        )
    )
    yield "import mercer, beside sklearn.svm", ours, 1.2 * theirs


def commands() -> Iterator[Line]:
    """Yield the seconds of the help of a command."""
    yield "mercer fit --help", float(said(HELP)), 0.5


def first_fits() -> Iterator[Line]:
    """Yield what compiling adds to a first fit, and to the first of a later process."""
    for rows in (300, 2000):
        with tempfile.TemporaryDirectory() as folder:
            for name, limit in (("compiled", 4.5), ("read from the disk", 0.3)):
                seconds = float(said(FIRST, str(rows), NUMBA_CACHE_DIR=folder))
                yield f"first SVC of {rows} rows, {name}", seconds, limit


def interrupts() -> Iterator[Line]:
    """Yield the seconds that every estimator of the tests takes to hear an interrupt."""
    import test_interrupt as tests
    from hostile.generator import good
    from hostile.judge import fit
    from hostile.machines import MACHINES, make

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

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
        yield f"Ctrl-C, {name}", time.process_time() - begun - MOMENT, HEARD


def neighbours() -> Iterator[Line]:
    """Yield processor seconds of fits beside busy processes, and twice those on one thread."""
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(os.cpu_count() or 1)
    ]
    try:
        one = json.loads(said(NEIGHBOURS))
        free = {name: str(os.cpu_count() or 1) for name in ONE_THREAD}
        default = json.loads(said(NEIGHBOURS, **free))
    finally:
        for process in busy:
            process.kill()
            process.wait()
    for name, seconds in default.items():
        yield f"{name} beside busy neighbours", seconds, 2.0 * one[name] + 0.1


def classes() -> Iterator[Line]:
    """Yield the seconds of 19,900 pairs of classes; one by one they take 25."""
    import numpy as np

    from mercer import SVC

    X, y = np.random.default_rng(0).normal(size=(400, 2)), np.arange(400) % 200
    SVC().fit(X[:20], y[:20])
    begin = time.process_time()
    SVC().fit(X, y)
    yield "SVC of 200 classes", time.process_time() - begin, 8.0


PARTS: dict[str, Callable[[], Iterator[Line]]] = {
    one.__name__: one for one in (imports, commands, first_fits, classes, neighbours, interrupts)
}


def main(names: list[str]) -> int:
    """Print a line for each promise, and return how many are not kept."""
    warnings.simplefilter("ignore")
    over = 0
    for name in names or PARTS:
        for what, seconds, limit in PARTS[name]():
            late = seconds > limit
            over += late
            end = "over" if late else ""
            print(f"{what:44} {seconds:6.2f} s of {limit:5.2f} {end}", flush=True)
    return over


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
