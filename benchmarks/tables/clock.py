"""The recommended estimators by the clock: budgets, threads, predictions.

``clock.py budget`` prints how long fits take that are given 2 to 30 seconds, and ``clock.py jobs``
the time and the processor time of one and of two machines at a time, with the largest difference of
their predictions, and how much faster two threads multiply matrices at that moment: where that is
near 1 there is no second core, and the comparison says nothing. ``clock.py predict`` prints the
processor time of predictions of 1, 100 and 4000 rows, and of each machine for the most rows. On a
busy machine ``--processor`` puts the clock of the processor in the place of the clock on the wall,
which then stands still while others run.
"""

import argparse
import os
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

os.environ |= dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from mercer import AutoClassifier, AutoRegressor

# Columns and classes of made tables; no class is a number.
MADE = {"numbers": (8, 0), "two": (8, 2), "seven": (8, 7), "wide": (49, 0), "wide two": (49, 2)}
BUDGETS = (2.0, 5.0, 10.0, 30.0)
# Real sets and rows.
SETS = (
    "concrete:500", "phoneme:500", "spambase:500", "segment:500", "airfoil:1000", "bank32nh:1000",
    "german_credit:500", "california:2000", "satimage:2000", "adult:2000", "pol:4000",
    "california:10000", "elec2:10000", "kin8nm:1000", "abalone:2000", "phishing:1000",
    "mammography:2000", "power_plant:5000", "pendigits:1000", "elevators:3000",
)  # fmt: skip


def made(kind: str, n: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Return an estimator and a table with interactions and noise."""
    p, classes = MADE[kind]
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) + 0.5 * rng.standard_normal(n)
    if not classes:
        return AutoRegressor, X, f
    cuts = np.quantile(f, np.arange(1, classes) / classes)
    return AutoClassifier, X, np.digitize(f, cuts)


def real(name: str, test: int = 200) -> tuple[Any, Any, Any, Any]:
    from benchmarks.tables.sets import split

    kind, rows = name.split(":")
    data = split(kind, 0, int(rows), test)
    return (AutoRegressor if data.regression else AutoClassifier), data.X, data.y, data.X_test


def timed(machine: Any, X: Any, y: Any) -> tuple[float, float]:
    clock, processor = time.perf_counter(), time.process_time()
    machine.fit(X, y)
    return time.perf_counter() - clock, time.process_time() - processor


def budgets(kinds: list[str], rows: list[int], seconds: list[float]) -> None:
    print(f"{'table':10s}{'rows':>7s}{'budget':>8s}{'clock':>8s}{'ratio':>7s}{'cpu':>7s}  machines")
    worst = 0.0
    for kind in kinds:
        for n in rows:
            estimator, X, y = made(kind, n)
            for budget in seconds:
                machine = estimator(budget=budget)
                clock, processor = timed(machine, X, y)
                worst = max(worst, clock / budget)
                used = len(machine.members_[0].left_out)
                print(
                    f"{kind:10s}{n:7d}{budget:8.0f}{clock:8.2f}{clock / budget:7.2f}"
                    f"{processor:7.2f}  {len(machine.members_)} of {used} rows",
                    flush=True,
                )
    print(f"largest ratio of time and budget {worst:.2f}")


def second_core() -> float:
    """Return how much faster two threads multiply matrices than one: 2 on two idle cores."""
    A, took = np.random.default_rng(0).standard_normal((900, 900)), []

    def work() -> None:
        for _ in range(4):
            A @ A

    for m in (1, 2):
        threads = [threading.Thread(target=work) for _ in range(m)]
        clock = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took.append(time.perf_counter() - clock)
    return 2.0 * took[0] / took[1]


def jobs(names: list[str]) -> None:
    print(f"{'set':18s}{'clock, 1 and 2 jobs':>22s}{'processor':>18s}{'apart':>8s}")
    for name in names:
        estimator, X, y, new = real(name)
        found, answers = {}, []
        for n_jobs in (1, 2):
            machine = estimator(n_jobs=n_jobs)
            found[n_jobs] = timed(machine, X, y)
            answers.append(getattr(machine, "predict_proba", machine.predict)(new))
        (one, work), (two, more) = found[1], found[2]
        print(
            f"{name:18s}{one:10.2f} > {two:5.2f} x{one / two:.2f}{work:10.2f} > {more:5.2f}"
            f"{np.max(np.abs(answers[0] - answers[1])):8.1g}  products x{second_core():.2f}",
            flush=True,
        )


def processor_time(function: Any, *arguments: Any) -> float:
    """Return the least processor seconds of a call among five, the first one not counted."""
    took = []
    for _ in range(6):
        began = time.process_time()
        function(*arguments)
        took.append(time.process_time() - began)
    return min(took[1:])


def predictions(names: list[str]) -> None:
    counts = (1, 100, 4000)
    print(f"{'set':18s}" + "".join(f"{n:>8d} rows" for n in counts) + "  (ms), machines")
    for name in names:
        estimator, X, y, new = real(name, counts[-1])
        machine = estimator().fit(X, y)
        predict = getattr(machine, "predict_proba", machine.predict)
        took = [1e3 * processor_time(predict, new[:n]) for n in counts]
        parts, M = [], machine.encoder_.transform(new)
        for member in machine.members_:
            seconds = processor_time(member.values, M, machine._outputs)
            parts.append(f"{member.name} {1e3 * seconds:.0f}")
        print(f"{name:18s}" + "".join(f"{ms:13.2f}" for ms in took) + f"  {', '.join(parts)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["budget", "jobs", "predict"])
    parser.add_argument("--tables", nargs="+", default=list(MADE))
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 10_000, 50_000])
    parser.add_argument("--seconds", type=float, nargs="+", default=list(BUDGETS))
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--processor", action="store_true")
    asked = parser.parse_args()
    if asked.processor:
        time.perf_counter = time.monotonic = time.process_time
    warnings.simplefilter("ignore")
    for kind in ("numbers", "two"):  # compiles, or reads what was compiled
        estimator, X, y = made(kind, 200)
        estimator().fit(X, y)
    if asked.what == "budget":
        budgets(asked.tables, asked.rows, asked.seconds)
    elif asked.what == "predict":
        predictions(asked.sets)
    else:
        jobs(asked.sets)


if __name__ == "__main__":
    main()
