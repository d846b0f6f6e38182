"""What the recommended estimators cost, beside CatBoost's defaults and beside an older source.

``price.py --sizes 500 2000 --sets concrete phoneme --against OLD/src`` fits each set by this source
and by the older one in turn, in two processes of one thread, and prints processor seconds of the
fit and of the predictions, the error (or log loss) and the score of 90 % intervals. CatBoost's
seconds are those that the contest has recorded.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

os.environ |= dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.tables.sets import Split, split

HERE = Path(__file__).resolve()
LEARNT = 0.9  # coverage of the intervals
TEST = 2000


def measure(data: Split) -> dict[str, Any]:
    """Return seconds, error and interval score of the recommended estimator."""
    from mercer import AutoClassifier, AutoRegressor

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        machine = (AutoRegressor() if data.regression else AutoClassifier()).fit(data.X, data.y)
        fitted = time.process_time()
        if not data.regression:
            found = data.judge(machine.predict_proba(data.X_test))
            done = time.process_time()
            return {"fit": fitted - start, "predict": done - fitted, "error": found["log_loss"]}
        found = data.judge(machine.predict(data.X_test))
        done = time.process_time()
        low, high = machine.predict_interval(data.X_test, LEARNT).T
    y = data.y_test
    outside = np.maximum(low - y, 0.0) + np.maximum(y - high, 0.0)
    score = float(np.mean(high - low + 2.0 / (1.0 - LEARNT) * outside))
    return {"fit": fitted - start, "predict": done - fitted, "error": found["rmse"], "score": score}


def serve() -> None:
    """Measure what lines of the standard input ask for."""
    measure(split("concrete", 9, 500, 100))  # compiles, or reads what was compiled
    measure(split("phoneme", 9, 500, 100))
    for line in sys.stdin:
        name, number, rows = json.loads(line)
        print(json.dumps(measure(split(name, number, rows, TEST))), flush=True)


def server(source: Path) -> Any:
    """Start a process that measures by a source."""
    return subprocess.Popen(
        [sys.executable, str(HERE), "--serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(source)},
    )


def ask(process: Any, job: list[Any]) -> dict[str, Any]:
    process.stdin.write(json.dumps(job) + "\n")
    process.stdin.flush()
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    return answer


def recorded() -> dict[tuple[str, int], float]:
    """Return CatBoost's mean seconds by set and rows, from the contest."""
    found: dict[tuple[str, int], list[float]] = {}
    for line in (HERE.parent / "results" / "peers.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row["method"] == "CatBoost" and "seconds" in row:
            found.setdefault((row["set"], row["size"]), []).append(row["seconds"])
    return {key: float(np.mean(seconds)) for key, seconds in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 2000])
    parser.add_argument("--sets", nargs="+", default=["concrete", "california", "phoneme"])
    parser.add_argument("--splits", type=int, nargs="+", default=[0])
    parser.add_argument("--against", type=Path)
    parser.add_argument("--serve", action="store_true")
    asked = parser.parse_args()
    if asked.serve:
        return serve()
    sources = [HERE.parents[2] / "src", *([asked.against] if asked.against else [])]
    processes, known = [server(source) for source in sources], recorded()
    ratios: dict[str, list[float]] = {}
    print(
        f"{'set':14s}{'rows':>6s}{'split':>6s}  {'fit':>16s}{'CatBoost':>9s}"
        f"{'predict':>16s}{'error':>20s}{'interval':>18s}"
    )
    for rows in asked.sizes:
        for number in asked.splits:
            for name in asked.sets:
                new, *old = (ask(process, [name, number, rows]) for process in processes)
                before = old[0] if old else new
                cells = {}
                for key in ("fit", "predict", "error", "score"):
                    if key in new:
                        cells[key] = f"{before[key]:.4g} > {new[key]:.4g}"
                        ratios.setdefault(f"{key}, {rows} rows", []).append(new[key] / before[key])
                boost = known.get((name, rows), np.nan)
                if rows == 1000:  # no size of the contest
                    boost = float(
                        np.sqrt(known.get((name, 500), np.nan) * known.get((name, 2000), np.nan))
                    )
                ratios.setdefault(f"fit over CatBoost, {rows} rows", []).append(new["fit"] / boost)
                print(
                    f"{name:14s}{rows:6d}{number:6d}  {cells['fit']:>16s}{boost:9.2f}"
                    f"{cells['predict']:>18s}{cells['error']:>20s}{cells.get('score', ''):>20s}",
                    flush=True,
                )
    for key, each in ratios.items():
        each = [one for one in each if np.isfinite(one)]
        if each:
            print(
                f"{key}: geometric mean {np.exp(np.mean(np.log(each))):.4f}, "
                f"largest {max(each):.4f}"
            )


if __name__ == "__main__":
    main()
