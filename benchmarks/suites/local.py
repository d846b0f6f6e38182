"""Local machines from files and on Dask workers, and their predictions; half an hour.

Fits of 10^6 and 10^7 rows from Parquet, of 10^6 rows on one and two workers and with one of two
killed half way. ``--short`` takes half a minute: is memory flat, is prediction fast?
"""

import hashlib
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import mercer.data
from benchmarks.store import Record, memory, taken
from mercer import LSSVR
from mercer.kernels import Gaussian, Kernel, Laplacian
from mercer.local import Local

FRESH = True
FEATURES, LEAF, BLOCK = 10, 1000, 2**17
# Memory of a fit: leaves of 10^6 rows are beyond their share of it already.
LIMIT = "256MB"
FULL: tuple[dict[str, Any], ...] = (
    {"part": "fit", "rows": 10**6},
    {"part": "fit", "rows": 10**7},
    {"part": "fit", "rows": 2 * 10**5, "leaf": 4000},
    {"part": "cluster", "rows": 10**6, "workers": 1},
    {"part": "cluster", "rows": 10**6, "workers": 2},
    {"part": "cluster", "rows": 10**6, "workers": 2, "kill": True},
    {"part": "predict", "kernel": "gaussian", "rows": 2**18},
    {"part": "predict", "kernel": "laplacian", "rows": 2**18},
)
SHORT: tuple[dict[str, Any], ...] = (
    {"part": "fit", "rows": 15_000},
    {"part": "fit", "rows": 60_000},
    {"part": "predict", "kernel": "gaussian", "rows": 2**16},
)


def cases(short: bool) -> list[dict[str, Any]]:
    return list(SHORT if short else FULL)


def contenders(case: dict[str, Any]) -> list[str]:
    return ["mercer"]


def run(case: dict[str, Any], name: str, repeat: int) -> dict[str, Any]:
    settings = {k: v for k, v in case.items() if k != "part"}
    return {"fit": fit, "cluster": cluster, "predict": predict}[case["part"]](**settings)


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
    }


def fit(rows: int, leaf: int = LEAF) -> dict[str, Any]:
    """Fit rows from a file in this process."""
    machine().fit(*block(0, 3000))  # compiled, loaded, allocated
    with files(rows) as source:
        took, fitted = taken(lambda: machine(leaf).fit(source))
    return {"cpu": took["cpu"], "peak": memory("VmHWM"), "above": took["peak"]} | judged(fitted)


def cluster(rows: int, workers: int, kill: bool = False) -> dict[str, Any]:
    """Fit rows from a file on worker processes of one thread each; kill a worker half way."""
    from distributed import Client, LocalCluster

    from mercer.local.shelf import Shelf

    settings = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 0}
    with (
        files(rows) as source,
        files(40_000) as few,
        LocalCluster(n_workers=workers, silence_logs=50, **settings) as local,
        Client(local) as client,
    ):
        machine().fit(few)  # workers have loaded everything
        pids, put, half = list(client.run(os.getpid).values()), Shelf.put, rows // LEAF // 2

        def killing(self: Any, k: Any, item: Any) -> None:
            if len(self) == half:  # leaves come one by one
                threading.Thread(target=os.kill, args=(pids[0], signal.SIGKILL)).start()
            put(self, k, item)

        if kill:
            Shelf.put = killing  # type: ignore[method-assign]
        start = time.perf_counter()
        fitted = machine().fit(source)
        return {"wall": time.perf_counter() - start} | judged(fitted)


def predict(kernel: str, rows: int) -> dict[str, Any]:
    """Predict by leaves of 4,000 rows and 20 features."""
    rng = np.random.default_rng(0)
    X, new = rng.uniform(-1.0, 1.0, (8000, 20)), rng.uniform(-1.0, 1.0, (rows, 20))
    chosen: Kernel = Gaussian(2.0) if kernel == "gaussian" else Laplacian(2.0)
    how = Local(4000, adapt=False)
    fitted = LSSVR(kernel=chosen, approximation=how).fit(X, np.sin(X.sum(axis=1)))
    fitted.predict(new[:100])
    seconds = min(taken(lambda: fitted.predict(new))[0]["cpu"] for _ in range(3))
    return {"rows_a_minute": 60.0 * rows / seconds, "cpu": seconds}


def line(values: dict[str, Any]) -> str:
    return str({k: v for k, v in values.items() if k != "predictions"})


def claims(records: list[Record], short: bool) -> list[str]:
    """Say whether fits converged and agree, memory grows with the rows, or prediction is slow."""
    wrong = [f"{r.case}: {r['failure']}" for r in records if "failure" in r]
    wrong += [f"{r.case}: not converged" for r in records if r.get("converged") is False]
    fits = [r for r in records if r.case["part"] == "fit" and "leaf" not in r.case]
    above = [r["above"] for r in fits if "above" in r]
    # The pool that grows the tree is 100,000 rows at most: short sizes are both below it.
    if above and max(above) - min(above) > 60 * 2**20:
        wrong.append(f"memory grows with the rows: {[f'{b / 2**20:.0f} MiB' for b in above]}")
    same = {r["predictions"] for r in records if r.case["rows"] == 10**6 and "predictions" in r}
    wrong += ["a cluster or a killed worker changes predictions"] * (len(same) > 1)
    for r in records:
        if r.get("rows_a_minute", np.inf) < 5e5:
            wrong.append(f"{r.case}: {r['rows_a_minute']:.0f} rows a minute")
    return wrong
