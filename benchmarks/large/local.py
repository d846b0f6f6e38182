"""Local machines at size: fits from Parquet, on Dask workers, and prediction.

`python local.py full` fits 10^6 and 10^7 rows from files (processor seconds, memory, the
exponent between the sizes), 10^6 rows on one and on two Dask workers and with one of two killed
half way, and predicts by leaves of 4,000 rows. Every measurement has a process of its own and ends
with a line in local.jsonl, so that a run which was cut short goes on; `fresh` begins anew.
`short` takes small sizes, writes nothing, and fails where something is wrong.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import mercer.data
from benchmarks.common.clock import memory
from mercer import LSSVR
from mercer.kernels import Gaussian, Kernel, Laplacian
from mercer.local import Local
from mercer.local.tree import grow

RESULTS = Path(__file__).with_name("local.jsonl")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
FEATURES, LEAF, BLOCK = 10, 1000, 2**17
LIMIT = "256MB"
"""Memory of a fit: leaves of 10^6 rows are beyond their share of it already."""

FULL: tuple[tuple[str, dict[str, Any]], ...] = (
    ("fit", {"rows": 10**6}),
    ("fit", {"rows": 10**7}),
    ("fit", {"rows": 2 * 10**5, "leaf": 4000}),
    ("cluster", {"rows": 10**6, "workers": 1}),
    ("cluster", {"rows": 10**6, "workers": 2}),
    ("cluster", {"rows": 10**6, "workers": 2, "kill": True}),
    ("predict", {"kernel": "gaussian", "rows": 2**18}),
    ("predict", {"kernel": "laplacian", "rows": 2**18}),
)
SHORT: tuple[tuple[str, dict[str, Any]], ...] = (
    ("fit", {"rows": 15_000}),
    ("fit", {"rows": 60_000}),
    ("predict", {"kernel": "gaussian", "rows": 2**16}),
)


def machine(leaf: int = LEAF) -> LSSVR:
    """Return an unfitted machine whose leaves are alike, so that times tell of rows only."""
    how = Local(leaf, adapt=False, memory_limit=LIMIT if leaf <= LEAF else "2GB")
    return LSSVR(kernel=Gaussian(1.0), C=10.0, approximation=how)


def block(number: int, rows: int) -> tuple[Any, Any]:
    """Return some rows, the same whenever they are made."""
    rng = np.random.default_rng([18, number])
    X = rng.uniform(-1.0, 1.0, (rows, FEATURES))
    y = np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=rows)
    return X, y


def write(path: str, n: int) -> None:
    """Write a Parquet file of that many rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [*(f"x{j}" for j in range(FEATURES)), "y"]
    with pq.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names])) as writer:
        for number, start in enumerate(range(0, n, BLOCK)):
            X, y = block(number, min(BLOCK, n - start))
            table = pa.table(dict(zip(names, [*X.T, y], strict=True)))
            # Row groups are what workers share: eight of them would leave one idle at the end.
            writer.write_table(table, row_group_size=BLOCK // 4)


@contextmanager
def files(rows: int) -> Iterator[Any]:
    """Yield a source of that many rows in a Parquet file, which is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        # By another process: what writing leaves in memory would be counted with the fit.
        child = get_context("fork").Process(target=write, args=(str(path), rows))
        child.start()
        child.join()
        yield mercer.data.open(path, target="y")


def judged(fitted: LSSVR) -> dict[str, Any]:
    """Return the error on new rows, and what tells predictions apart to the last bit."""
    X, _ = block(10**6, 4096)
    truth = np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2]
    predicted = fitted.predict(mercer.data.Arrays(X))
    return {
        "rmse": float(np.sqrt(np.mean((predicted - truth) ** 2))),
        "predictions": hashlib.sha256(predicted.tobytes()).hexdigest()[:16],
        "leaves": len(fitted.leaves_),
        "converged": fitted.solution_.converged,
        "gap": fitted.solution_.gap,
    }


def fit(rows: int, leaf: int = LEAF) -> dict[str, Any]:
    """Fit rows from a file in this process."""
    machine().fit(*block(0, 3000))  # compiled, loaded, allocated
    with files(rows) as source:
        held, wall, cpu = memory("VmRSS"), time.perf_counter(), time.process_time()
        fitted = machine(leaf).fit(source)
        out = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        out |= {"peak_mib": memory("VmHWM") / 2**20, "above_mib": (memory("VmHWM") - held) / 2**20}
    return out | {"on_disk": fitted._local.leaves.on_disk} | judged(fitted)


def counting() -> Any:
    """Return a plugin of the scheduler that counts how often tasks which fit leaves are done.

    A task whose result died with its worker is done again. That it was handed to a worker does not
    count: most tasks wait there, and are handed to another.
    """
    from distributed.diagnostics.plugin import SchedulerPlugin

    class Count(SchedulerPlugin):  # type: ignore[misc]
        name = "count"

        def __init__(self) -> None:
            self.done: list[str] = []

        def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
            if "mercer-groups" in str(key) and (start, finish) == ("processing", "memory"):
                self.done.append(str(key))

    return Count()


def counted(dask_scheduler: Any) -> tuple[int, int]:
    """Return how often tasks that fit leaves were done, and how many there were."""
    done = dask_scheduler.plugins["count"].done
    return len(done), len(set(done))


def cluster(rows: int, workers: int, kill: bool = False) -> dict[str, Any]:
    """Fit rows from a file on worker processes of one thread each; kill a worker half way."""
    from distributed import Client, LocalCluster

    from mercer.local.shelf import Shelf

    with (
        files(rows) as source,
        files(40_000) as few,
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0", memory_limit=0,
            silence_logs=50,
        ) as local,
        Client(local) as client,
    ):  # fmt: skip
        machine().fit(few)  # workers have loaded everything
        client.register_plugin(counting())
        pids, put, half = list(client.run(os.getpid).values()), Shelf.put, rows / LEAF / 2

        def killing(self: Any, k: Any, item: Any) -> None:
            if len(self) == int(half):  # leaves come one by one
                threading.Thread(target=os.kill, args=(pids[0], signal.SIGKILL)).start()
            put(self, k, item)

        if kill:
            Shelf.put = killing  # type: ignore[method-assign]
        start = time.perf_counter()
        fitted = machine().fit(source)
        wall = time.perf_counter() - start
        done, tasks = client.run_on_scheduler(counted)
        out = judged(fitted)
        # A worker of one thread had one task in its hands when it was killed.
        again = done - tasks + int(kill)
        return {
            "wall": wall,
            "tasks": tasks,
            "tasks_again": again,
            "leaves_again": round(again * out["leaves"] / tasks),
        } | out


def predict(kernel: str, rows: int) -> dict[str, Any]:
    """Predict by leaves of 4,000 rows and 20 features, and route in a tree of 1,024 leaves."""
    rng = np.random.default_rng(0)
    X, new = rng.uniform(-1.0, 1.0, (8000, 20)), rng.uniform(-1.0, 1.0, (rows, 20))
    chosen: Kernel = Gaussian(2.0) if kernel == "gaussian" else Laplacian(2.0)
    how = Local(4000, adapt=False)
    fitted = LSSVR(kernel=chosen, approximation=how).fit(X, np.sin(X.sum(axis=1)))
    fitted.predict(new[:100])
    seconds = []
    tree = grow(rng.uniform(-1.0, 1.0, (100_000, 20)), 1024, np.ones(20))
    for _ in range(3):
        marks = [time.process_time()]
        fitted.predict(new)
        marks.append(time.process_time())
        for _, part, _ in tree.parts(new):
            new[part]
        marks.append(time.process_time())
        seconds.append(np.diff(marks))
    whole, routing = np.min(seconds, axis=0)
    # The prediction routes too, in a tree of two leaves: at most what it costs in a large tree.
    return {
        "rows_a_minute": 60.0 * rows / whole,
        "routing_share": routing / (whole - routing),
        "cpu": whole,
    }


TASKS = {"fit": fit, "cluster": cluster, "predict": predict}


def measure(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Return what a process of its own measures."""
    call = [sys.executable, __file__, "one", name, json.dumps(settings)]
    environment = os.environ | dict.fromkeys(THREADS, "1")
    done = subprocess.run(call, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return {"name": name, **settings, **json.loads(done.stdout.splitlines()[-1])}


def known() -> list[dict[str, Any]]:
    """Return what was measured before."""
    return (
        [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []
    )


def exponent(lines: list[dict[str, Any]]) -> float:
    """Return the power of the rows that processor seconds grow with."""
    fits = [line for line in lines if line["name"] == "fit" and "leaf" not in line]
    fits.sort(key=lambda line: line["rows"])
    first, last = fits[0], fits[-1]
    return float(np.log(last["cpu"] / first["cpu"]) / np.log(last["rows"] / first["rows"]))


def run(plan: tuple[tuple[str, dict[str, Any]], ...], keep: bool) -> list[dict[str, Any]]:
    """Measure what is not known yet, and print it."""
    before, lines = known() if keep else [], []
    for name, settings in plan:
        wanted = {"name": name, **settings}
        line = next((old for old in before if wanted.items() <= old.items()
                     and old.keys() & {"kill", "leaf"} <= wanted.keys()), None)  # fmt: skip
        if line is None:
            line = measure(name, settings)
            if keep:
                with RESULTS.open("a") as stream:
                    stream.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)
        lines.append(line)
    print(f"processor seconds grow with the power {exponent(lines):.3f} of the rows")
    return lines


def main() -> None:
    """Measure in full or in short, or one thing for whoever asked."""
    what = sys.argv[1] if len(sys.argv) > 1 else "short"
    if what == "one":
        print(json.dumps(TASKS[sys.argv[2]](**json.loads(sys.argv[3]))))
        return
    if what == "fresh":
        RESULTS.unlink(missing_ok=True)
    if what in ("full", "fresh"):
        lines = run(FULL, keep=True)
        by_workers = [line for line in lines if line["name"] == "cluster"]
        one, two, killed = by_workers
        print(f"two workers are {one['wall'] / two['wall']:.2f} times as fast as one")
        print(f"a killed worker: {killed['leaves_again']} of {killed['leaves']} leaves again")
        same = {line["predictions"] for line in [*by_workers, lines[0]]}
        print("the same predictions" if len(same) == 1 else f"{len(same)} different predictions")
        return
    small, large, predicted = run(SHORT, keep=False)
    assert small["converged"]
    assert large["converged"]
    # The pool that grows the tree is 100,000 rows at most, so both sizes are still below it.
    assert large["above_mib"] < small["above_mib"] + 60, "memory grows with the rows"
    assert predicted["rows_a_minute"] > 5e5, "prediction is slow"
    assert predicted["routing_share"] < 0.10, "routing is slow"


if __name__ == "__main__":
    main()
