"""Bounds that may be quoted, on ten real sets: what each is worth, and what a certificate costs.

``bounds.py full`` draws 70 % of the rows of each set for training, seed by seed, computes every
bound at delta = 0.05 with scaling inside, and keeps a line for each run in a file, so that a run
that was cut short goes on. It also counts failures of certified machines
where the risk is known exactly. ``report`` writes the page; ``short`` is a test of some seconds.
"""

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_moons

# What the benchmark shares with the tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.claims.page import publish
from benchmarks.common.environment import environment
from data import MISSING, table
from mercer import SVC
from mercer.kernels import Gaussian
from mercer.risk_bounds import error_bound, majority_error
from mercer_research.risk_bounds import CertifiedSVC, capacity_report
from mercer_research.risk_bounds.certified_svc import Scale

RUNS = Path(__file__).resolve().parent / "bounds.jsonl"
ABOUT = RUNS.with_suffix(".json")
SETS = (
    *("wdbc", "banknote", "pima", "ionosphere", "spambase", "mushrooms", "phoneme", "skin"),
    *("phishing", "german_credit"),
)
SEEDS, ROWS, SHARE, DELTA = 20, 6_000, 0.7, 0.05
# A part of the rows fitted, the others tested; and a machine of all rows.
ASIDE, ALL = (0.5, 0.75), (1.0,)


def measured(name: str, seed: int, rows: int = ROWS, **grid: Sequence[float]) -> dict[str, Any]:
    """Split a set, choose machines by bounds and by cross-validation, and judge them."""
    whole = table(name)
    X, y = np.asarray(whole.X, dtype=float), np.unique(whole.y, return_inverse=True)[1]
    order = np.random.default_rng(seed).permutation(len(y))[:rows]
    train, test = np.split(order, [round(SHARE * len(order))])
    begin = time.process_time()
    machine = CertifiedSVC(delta=DELTA, shares=ALL, cv=3, random_state=seed, **grid)
    machine.fit(X[train], y[train])
    aside = CertifiedSVC(delta=DELTA, shares=ASIDE, cv=None, random_state=seed, **grid)
    aside.fit(X[train], y[train])
    seconds = time.process_time() - begin
    # The usual machine: settings by cross-validation, scaler and machine of all training rows.
    usual, scale = machine.cross_validated_, Scale.of(X[train])
    width = usual["width"] / machine._scale.unit * scale.unit
    fitted = SVC(kernel=Gaussian(width), C=usual["C"]).fit(scale(X[train]), y[train])
    wrong = int(np.sum(fitted.predict(scale(X[test])) != y[test]))
    of_all = ("compression", "PAC-Bayes, prior 0", "PAC-Bayes, prior from rows")
    return {
        "set": name,
        "seed": seed,
        "rows": len(train),
        "tested": len(test),
        "majority": majority_error(y[train]),
        "test": error_bound(wrong, len(test), delta=DELTA).value,
        "test error": wrong / len(test),
        "cross-validated": 1.0 - usual["accuracy"],
        "usual bound": usual["bound"].value,
        "bounds": {kind: bound.value for kind, bound in machine.least_bounds_.items()},
        "randomized": {
            kind: machine.least_bounds_[kind].constants["randomized bound"].value
            for kind in of_all[1:]
            if kind in machine.least_bounds_
        },
        "certified": told(machine, X[test], y[test]),
        "aside": told(aside, X[test], y[test]),
        "cost": machine.accuracy_cost_,
        "seconds": seconds,
    }


def told(machine: CertifiedSVC, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Return the choice of a machine, its bound and its error on the test rows."""
    return {
        "bound": machine.bound_.value,
        "method": machine.bound_.method,
        "C": machine.C_,
        "share": machine.share_,
        "test error": float(np.mean(machine.predict(X) != y)),
    }


def simulated(draws: int) -> dict[str, Any]:
    """Count bounds of certified machines below the risk, on 300 points with known labels' chances.

    Every second draw has labels of pure noise, where any machine has the risk 1/2; half of the
    machines are of all rows.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    smooth = np.clip(0.5 + 0.8 * np.sin(2.0 * X[:, 0]), 0.05, 0.95)
    failed: Counter[str] = Counter()
    for seed in range(draws):
        chance = np.full(300, 0.5) if seed % 2 else smooth
        i = rng.integers(300, size=80)
        y = (rng.random(80) < chance[i]).astype(int)
        if y.min() == y.max():
            continue
        shares = ALL if seed % 4 < 2 else ASIDE
        grid = {"Cs": (1.0, 100.0), "widths": (1.0,), "shares": shares}
        machine = CertifiedSVC(delta=DELTA, **grid, cv=None, random_state=seed)
        predicted = machine.fit(X[i], y).predict(X)
        risk = float(np.mean(np.where(predicted == 1, 1.0 - chance, chance)))
        failed["the least of all"] += machine.bound_.value < risk
        for kind, bound in machine.bounds_.items():
            failed[kind] += bound.value < risk
    return {"draws": draws, "failures": dict(failed)}


def kept() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RUNS.read_text().splitlines()] if RUNS.exists() else []


def full(seeds: int, seconds: float) -> int:
    """Measure what is missing, seed by seed, as long as there is time."""
    if MISSING:
        print(MISSING)
        return 1
    done = {(run["set"], run["seed"]) for run in kept()}
    end = time.monotonic() + seconds
    for seed in range(seeds):
        for name in SETS:
            if (name, seed) in done or time.monotonic() > end:
                continue
            run = measured(name, seed)
            with RUNS.open("a") as file:
                file.write(json.dumps(run) + "\n")
            print(
                f"{name} {seed}: {run['certified']['bound']:.3f} by {run['certified']['method']}, "
                f"{run['usual bound']:.3f} at the usual setting, "
                f"aside {run['aside']['bound']:.3f}, majority {run['majority']:.3f}; "
                f"{run['seconds']:.0f} s",
                flush=True,
            )
    before = json.loads(ABOUT.read_text()) if ABOUT.exists() else {}
    simulation = before.get("simulation") or simulated(1000)
    about = environment({"threads": 1}) | {"simulation": simulation}
    ABOUT.write_text(json.dumps(about, indent=1) + "\n")
    return report()


def report() -> int:
    publish(json.loads(ABOUT.read_text()), kept(), SETS)
    return 0


def short() -> int:
    """Say whether bounds hold and beat the majority on sets that are always there."""
    failed = []
    for name, rows in (("breast_cancer", 569), ("moons", 900)):
        run = measured(name, 0, rows, Cs=(1.0, 100.0), widths=(1.0, 3.0))
        best = min(*run["bounds"].values(), run["aside"]["bound"])
        checks = {
            "a bound below the majority's error": best < run["majority"],
            "no larger bound than that of the usual setting": run["certified"]["bound"]
            <= run["usual bound"],
            "bounds above the errors on test rows": all(
                run[kind]["bound"] > run[kind]["test error"] for kind in ("certified", "aside")
            ),
        }
        print(f"{name}: {json.dumps(run)}")
        failed += [f"{name}: not {what}" for what, holds in checks.items() if not holds]
    X, y = make_moons(6600, noise=0.2, random_state=0)
    machine = SVC(gamma=1.0).fit(X[:6000], y[:6000])
    began = time.process_time()
    capacity_report(machine, X[:6000], y[:6000], X[6000:], y[6000:])
    spent = time.process_time() - began
    print(f"a report on 6,000 rows: {spent:.1f} s")
    failed += [] if spent < 10 else [f"a report on 6,000 rows took {spent:.1f} s, not ten"]
    print("\n".join(failed) or "bounds hold and say something")
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["full", "short", "report"])
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--seconds", type=float, default=np.inf, help="start nothing after these")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    match given.what:
        case "full":
            return full(given.seeds, given.seconds)
        case "short":
            return short()
        case _:
            return report()


if __name__ == "__main__":
    sys.exit(main())
