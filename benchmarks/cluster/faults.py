"""What a fault costs a fit on a Dask cluster: a worker killed, a worker frozen, the client killed.

Two worker processes of one thread each, on this machine, hold the rows. In the middle of the fit
one fault happens; the fit goes on, and must end with the same bits. `python faults.py full` takes
two million rows, writes faults.json and the table of docs/how-to/fit-on-a-cluster.md; `python
faults.py short` takes 100,000 and writes nothing.
"""

import json
import os
import re
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

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from mercer import SVC
from mercer.distributed import as_source
from mercer.distributed.cluster import Cluster
from mercer.kernels import Gaussian
from mercer.reduced import Nystrom

RESULTS = Path(__file__).with_name("faults.json")
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "fit-on-a-cluster.md"
BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"
PARTITIONS, FEATURES, CENTRES, PATIENCE = 16, 4, 100, 10.0


def machine(checkpoint: Any = None) -> SVC:
    """Return an unfitted classifier, whose fit makes some twenty passes."""
    how = Nystrom(CENTRES, n_jobs=1, checkpoint=checkpoint)
    return SVC(C=1.0, kernel=Gaussian(1.5), approximation=how)


def rows(n: int, client: Client) -> Any:
    """Return rows that are results of tasks, so that they can be made again."""
    rng = da.random.default_rng(0)
    X = rng.normal(size=(n, FEATURES), chunks=(n // PARTITIONS, FEATURES))
    y = (da.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] > 0).astype(int)
    return as_source(X, y, client=client, patience=PATIENCE)


@contextmanager
def cluster() -> Iterator[Client]:
    """Yield the client of two worker processes."""
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0,
            silence_logs=50,
        ) as local,
        Client(local) as client,
    ):  # fmt: skip
        yield client


@contextmanager
def in_pass(number: int, harm: Callable[[], None]) -> Iterator[list[float]]:
    """Have something happen in the middle of a pass, and yield the seconds of all passes."""
    total, seconds = Cluster.total, []

    def counted(self: Any, *args: Any, **how: Any) -> Any:
        timer = None
        if len(seconds) == number:
            timer = threading.Timer(0.5 * float(np.median(seconds)), harm)
            timer.start()
        start = time.perf_counter()
        result = total(self, *args, **how)
        seconds.append(time.perf_counter() - start)
        if timer is not None:
            timer.join()
        return result

    Cluster.total = counted  # type: ignore[method-assign]
    try:
        yield seconds
    finally:
        Cluster.total = total  # type: ignore[method-assign]


def fitted(client: Client, n: int, fault: int | None, at: int) -> tuple[SVC, float, list[float]]:
    """Return a machine, the seconds of its fit and of its passes; a fault is a signal."""
    source = rows(n, client)
    pid = next(iter(client.run(os.getpid).values()))
    harm = (lambda: None) if fault is None else (lambda: os.kill(pid, fault))
    with in_pass(at, harm) as seconds:
        start = time.perf_counter()
        found = machine().fit(source)
        return found, time.perf_counter() - start, seconds


CHILD = """
import sys
sys.path.insert(0, sys.argv[1])
from benchmarks.cluster import faults
from distributed import Client
with Client(sys.argv[2]) as client:
    faults.machine(sys.argv[3]).fit(faults.rows(int(sys.argv[4]), client))
"""


def client_killed(n: int, at: int) -> tuple[SVC, float, int]:
    """Return a machine gone on with after its client was killed, the seconds, and passes kept."""
    with tempfile.TemporaryDirectory() as folder, cluster() as client:
        here, address = str(Path(__file__).resolve().parents[2]), client.scheduler.address
        command = [sys.executable, "-c", CHILD, here, address, folder, str(n)]
        with subprocess.Popen(command) as child:
            while len(list(Path(folder).glob("pass-*.npz"))) <= at and child.poll() is None:
                time.sleep(0.02)
            child.send_signal(signal.SIGKILL)
        kept = len(list(Path(folder).glob("pass-*.npz")))
        start = time.perf_counter()
        found = machine(folder).fit(rows(n, client))
        return found, time.perf_counter() - start, kept


def same(one: SVC, other: SVC) -> bool:
    names = ("dual_coef_", "intercept_", "support_vectors_")
    return all(np.array_equal(getattr(one, k), getattr(other, k)) for k in names)


def measure(n: int) -> dict[str, Any]:
    """Return seconds and passes of a fit that nothing disturbs, and of those with faults."""
    load = [os.getloadavg()[0]]
    with cluster() as client:
        machine().fit(rows(10_000, client))  # compiled code is there, here and in the workers
        whole, seconds, each = fitted(client, n, None, -1)
    passes, typical = len(each), float(np.median(each[1:]))
    result: dict[str, Any] = {
        "rows": n, "passes": passes, "seconds": seconds, "pass": typical, "faults": {},
    }  # fmt: skip
    for name, fault in (("killed", signal.SIGKILL), ("frozen", signal.SIGSTOP)):
        with cluster() as client:
            machine().fit(rows(10_000, client))
            found, taken, times = fitted(client, n, fault, passes // 2)
        result["faults"][name] = {
            "seconds": taken,
            "pass": times[passes // 2],
            "after": float(np.median(times[passes // 2 + 1 :])),
            "more passes": (times[passes // 2] - typical) / typical,
            "same bits": same(found, whole),
        }
        load.append(os.getloadavg()[0])
        print(name, result["faults"][name], flush=True)
    found, taken, kept = client_killed(n, passes // 2)
    result["faults"]["client"] = {
        "seconds": taken,
        "kept": kept,
        "more passes": 2,  # the count of the rows, to see that they are the same, and the one lost
        "same bits": same(found, whole),
    }
    result["load"] = [*load, os.getloadavg()[0]]
    return result


def page(result: dict[str, Any]) -> str:
    """Return the table of the page."""
    faults = result["faults"]
    lines = [
        f"Measured on {result['rows']:,} rows in {PARTITIONS} partitions, two workers of one "
        f"thread, {CENTRES} centres, {result['passes']} passes of {result['pass']:.1f} s, "
        f"{result['seconds']:.0f} s undisturbed, on a machine whose load was "
        f"{min(result['load']):.0f} to {max(result['load']):.0f} on two cores "
        "(`make bench-faults`):",
        "",
        "| in the middle of the fit | fit | pass that was hit | passes more | same bits |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, words in (("killed", "a worker was killed"),
                        ("frozen", f"a worker froze, `patience={PATIENCE:.0f}`")):  # fmt: skip
        one = faults[name]
        lines.append(
            f"| {words} | {one['seconds']:.0f} s | {one['pass']:.1f} s | "
            f"{one['more passes']:.1f} | {'yes' if one['same bits'] else 'no'} |"
        )
    one = faults["client"]
    lines.append(
        f"| the client was killed after {one['kept']} passes, and the fit started again | "
        f"{one['seconds']:.0f} s for the rest | | {one['more passes']} | "
        f"{'yes' if one['same bits'] else 'no'} |"
    )
    return "\n".join(lines)


def main() -> None:
    n = {"full": 2_000_000, "short": 100_000}[sys.argv[1]]
    result = measure(n)
    print(json.dumps(result, indent=1))
    print(page(result))
    if sys.argv[1] == "full":
        RESULTS.write_text(json.dumps(result, indent=1) + "\n")
        pattern = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
        text = f"{BEGIN}\n{page(result)}\n{END}"
        PAGE.write_text(pattern.sub(lambda _: text, PAGE.read_text()))
    if not all(fault["same bits"] for fault in result["faults"].values()):
        raise SystemExit("a fault changed the answer")


if __name__ == "__main__":
    main()
