"""10^7 rows on a Dask cluster, from files to predictions, workers and client killed; half an hour.

Worker processes of one thread each fit a classifier (hinge loss, landmarks). In the middle of a fit
a worker is killed or frozen, or the client is killed. The fit goes on, and must end with the same
bits. ``--short`` takes 100,000 rows and two minutes.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client, LocalCluster

import mercer.data
from benchmarks.store import ROOT, Record
from mercer import SVC
from mercer.distributed import as_source
from mercer.distributed.cluster import Cluster
from mercer.kernels import Gaussian
from mercer.reduced import Nystrom

FRESH = True
FILES, FEATURES, LANDMARKS, PATIENCE = 16, 10, 300, 10.0
NAMES = [f"x{j}" for j in range(FEATURES)]
FAULTS = {"killed": signal.SIGKILL, "frozen": signal.SIGSTOP}


def cases(short: bool) -> list[dict[str, Any]]:
    most, n = (10**5, 10**5) if short else (10**7, 10**6)
    workers = [{"workers": k, "rows": n} for k in ((1, 2) if not short else ())]
    faults = [{"fault": "killed", "rows": most}, {"fault": "frozen", "rows": n}]
    return [*workers, *faults, {"fault": "client", "rows": n}]


def contenders(case: dict[str, Any]) -> list[str]:
    return ["mercer"]


def run(case: dict[str, Any], name: str, repeat: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as held:
        folder = write_rows(Path(held), case["rows"])
        if "workers" in case:
            with cluster(case["workers"]) as client:
                machine().fit(rows(write_rows(Path(held), 16_000), client))
                return {"seconds": fitted(client, folder)[1]}
        if case["fault"] == "client":
            return client_killed(folder)
        return disturbed(folder, FAULTS[case["fault"]], write_rows(Path(held), 16_000))


def machine(checkpoint: Any = None) -> SVC:
    """Return an unfitted classifier."""
    how = Nystrom(LANDMARKS, n_jobs=1, checkpoint=checkpoint)
    return SVC(C=1.0, kernel=Gaussian(3.0), approximation=how)


def write_rows(folder: Path, n: int) -> Path:
    """Write rows to Parquet files."""
    target = folder / f"rows-{n}"
    target.mkdir()
    rng = np.random.default_rng(0)
    for k in range(FILES):
        X = rng.normal(size=(n // FILES, FEATURES))
        y = (np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] > 0).astype(np.int64)
        table = pa.table([*X.T, y], names=[*NAMES, "y"])
        pq.write_table(table, target / f"part-{k:02d}.parquet", row_group_size=65_536)
    return target


def rows(folder: Path, client: Client) -> Any:
    """Return rows that workers read and hold."""
    source = mercer.data.open(str(folder / "*.parquet"), target="y")
    return as_source(source, client=client, patience=PATIENCE)


@contextmanager
def cluster(workers: int = 2) -> Iterator[Client]:
    """Yield the client of worker processes."""
    settings = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": "8GB"}
    with (
        LocalCluster(n_workers=workers, silence_logs=50, **settings) as local,
        Client(local) as client,
    ):
        yield client


@contextmanager
def after(requests: int, harm: Callable[[], None]) -> Iterator[list[float]]:
    """Have something happen in the middle of a request, and yield the seconds of all requests."""
    ask, seconds = Cluster.ask, []

    def counted(self: Any, *args: Any, **how: Any) -> Any:
        timer = None
        if len(seconds) == requests:
            timer = threading.Timer(0.5 * float(np.median(seconds)), harm)
            timer.start()
        start = time.perf_counter()
        result = ask(self, *args, **how)
        seconds.append(time.perf_counter() - start)
        if timer is not None:
            timer.join()
        return result

    Cluster.ask = counted  # type: ignore[method-assign]
    try:
        yield seconds
    finally:
        Cluster.ask = ask  # type: ignore[method-assign]


def fitted(
    client: Client, folder: Path, fault: int | None = None, at: int = -1
) -> tuple[SVC, float, list[float]]:
    """Return a machine, the seconds of its fit and of its requests; a fault is a signal."""
    source = rows(folder, client)
    pid = next(iter(client.run(os.getpid).values()))
    harm = (lambda: None) if fault is None else (lambda: os.kill(pid, fault))
    with after(at, harm) as seconds:
        start = time.perf_counter()
        found = machine().fit(source)
        return found, time.perf_counter() - start, seconds


def disturbed(folder: Path, fault: int, small: Path) -> dict[str, Any]:
    """Return seconds of a fit that nothing disturbs, and of one with a fault in its middle."""
    with cluster() as client:
        machine().fit(rows(small, client))  # compiled code is there, here and in the workers
        whole, seconds, each = fitted(client, folder)
    with cluster() as client:
        machine().fit(rows(small, client))
        found, taken, _ = fitted(client, folder, fault, len(each) // 2)
        out = {"undisturbed": seconds, "seconds": taken, "same": same(found, whole)}
        if fault == signal.SIGKILL:
            with tempfile.TemporaryDirectory() as target:
                out |= predicted(found, folder, Path(target))
    return out


def predicted(found: SVC, folder: Path, out: Path) -> dict[str, Any]:
    """Write the predictions of all rows to Parquet files, and return seconds and mistakes."""
    start = time.perf_counter()
    frame = dd.read_parquet(str(folder))
    answers = found.predict(frame[NAMES]).to_frame("predicted")
    answers.assign(y=frame["y"]).to_parquet(str(out))
    seconds = time.perf_counter() - start
    table = pq.read_table(str(out), columns=["predicted", "y"]).to_pandas()
    mistakes = float(np.mean(table["predicted"] != table["y"]))
    return {"predictions": seconds, "predicted": len(table), "mistakes": mistakes}


CHILD = """
import sys
from pathlib import Path
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/tests"]
from benchmarks.suites import faults
from distributed import Client
with Client(sys.argv[2]) as client:
    faults.machine(sys.argv[3]).fit(faults.rows(Path(sys.argv[4]), client))
"""


def client_killed(folder: Path) -> dict[str, Any]:
    """Kill a client that keeps its passes, go on, and compare with one that was not killed."""
    with tempfile.TemporaryDirectory() as kept_folder, cluster() as client:
        start = time.perf_counter()
        whole = machine(str(Path(kept_folder) / "whole")).fit(rows(folder, client))
        seconds = time.perf_counter() - start
        passes, address = Path(kept_folder) / "passes", client.scheduler.address
        command = [sys.executable, "-c", CHILD, str(ROOT), address, str(passes), str(folder)]
        half = whole.solution_.passes // 2
        with subprocess.Popen(command) as child:
            while len(list(passes.glob("pass-*.npz"))) <= half and child.poll() is None:
                time.sleep(0.02)
            child.send_signal(signal.SIGKILL)
        kept = len(list(passes.glob("pass-*.npz")))
        start = time.perf_counter()
        found = machine(str(passes)).fit(rows(folder, client))
        return {
            "undisturbed": seconds,
            "kept": kept,
            "passes": whole.solution_.passes,
            "seconds": time.perf_counter() - start,
            "same": same(found, whole),
        }


def same(one: SVC, other: SVC) -> bool:
    names = ("dual_coef_", "intercept_", "support_vectors_")
    return all(np.array_equal(getattr(one, k), getattr(other, k)) for k in names)


def line(values: dict[str, Any]) -> str:
    return str(values)


def claims(records: list[Record], short: bool) -> list[str]:
    """Name faults that end a fit or change its answer."""
    return [
        f"{r.case}: {r.get('failure', 'the fault changed the answer')}"
        for r in records
        if "failure" in r or r.get("same") is False
    ]
