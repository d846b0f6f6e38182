"""The whole way on a Dask cluster, from Parquet to predictions, and what a fault costs it.

Worker processes of one thread each, on this machine, fit a classifier (hinge loss, landmarks) to
made rows in Parquet files, and write its predictions to others. In the middle of a fit one fault
happens: a worker is killed or frozen, or the client is killed. The fit goes on, and must end with
the same bits. `python faults.py full` takes ten million rows for the killed worker and a million
for the others, with one and with two workers; it writes faults.json and the table of
docs/how-to/fit-on-a-cluster.md. `python faults.py short` takes 100,000 and writes nothing.
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

import dask.dataframe as dd
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client, LocalCluster

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import mercer.data
from benchmarks.common.environment import environment
from mercer import SVC
from mercer.distributed import as_source
from mercer.distributed.cluster import Cluster
from mercer.kernels import Gaussian
from mercer.reduced import Nystrom

RESULTS = Path(__file__).with_name("faults.json")
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "fit-on-a-cluster.md"
BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"
FILES, FEATURES, CENTRES, PATIENCE = 16, 10, 300, 10.0
NAMES = [f"x{j}" for j in range(FEATURES)]


def machine(checkpoint: Any = None) -> SVC:
    """Return an unfitted classifier."""
    how = Nystrom(CENTRES, n_jobs=1, checkpoint=checkpoint)
    return SVC(C=1.0, kernel=Gaussian(3.0), approximation=how)


def write_rows(folder: Path, n: int) -> Path:
    """Write rows to Parquet files, unless they are there."""
    target = folder / f"rows-{n}"
    if not target.exists():
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
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0", memory_limit="8GB",
            silence_logs=50,
        ) as local,
        Client(local) as client,
    ):  # fmt: skip
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


CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from benchmarks.cluster import faults
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
        passes = Path(kept_folder) / "passes"
        here, address = str(Path(__file__).resolve().parents[2]), client.scheduler.address
        command = [sys.executable, "-c", CHILD, here, address, str(passes), str(folder)]
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
            "same bits": same(found, whole),
        }


def same(one: SVC, other: SVC) -> bool:
    names = ("dual_coef_", "intercept_", "support_vectors_")
    return all(np.array_equal(getattr(one, k), getattr(other, k)) for k in names)


def predicted(found: SVC, folder: Path, out: Path) -> dict[str, Any]:
    """Write the predictions of all rows to Parquet files, and return seconds and mistakes."""
    start = time.perf_counter()
    frame = dd.read_parquet(str(folder))
    answers = found.predict(frame[NAMES]).to_frame("predicted")
    answers.assign(y=frame["y"]).to_parquet(str(out))
    seconds = time.perf_counter() - start
    table = pq.read_table(str(out), columns=["predicted", "y"]).to_pandas()
    return {
        "seconds": seconds,
        "rows": len(table),
        "mistakes": float(np.mean(table["predicted"] != table["y"])),
    }


def disturbed(folder: Path, name: str, fault: int, small: Path) -> dict[str, Any]:
    """Return seconds of a fit that nothing disturbs, and of one with a fault in its middle."""
    with cluster() as client:
        machine().fit(rows(small, client))  # compiled code is there, here and in the workers
        whole, seconds, each = fitted(client, folder)
        out = {"undisturbed": seconds, "requests": len(each)}
        out |= {"gap": whole.solution_.relative_gap, "steps": whole.solution_.n_iter}
    with cluster() as client:
        machine().fit(rows(small, client))
        found, taken, _ = fitted(client, folder, fault, len(each) // 2)
        out |= {"seconds": taken, "same bits": same(found, whole)}
        if fault == signal.SIGKILL:
            with tempfile.TemporaryDirectory() as target:
                out["predictions"] = predicted(found, folder, Path(target))
    print(name, out, flush=True)
    return out


def measure(most: int, n: int) -> dict[str, Any]:
    """Return what a fault costs: a killed worker at most rows, others at n."""
    result: dict[str, Any] = {"environment": environment({"threads": 1}), "faults": {}}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small, some = write_rows(folder, 16_000), write_rows(folder, n)
        seconds = {}
        for workers in (1, 2):
            with cluster(workers) as client:
                machine().fit(rows(small, client))
                _, seconds[workers], each = fitted(client, some)
            result |= {"requests": len(each)}
        result["workers"] = seconds
        print(seconds, flush=True)
        faults = result["faults"]
        for fault, rows_there, number in (
            ("frozen", n, signal.SIGSTOP), ("killed", most, signal.SIGKILL)
        ):  # fmt: skip
            target = write_rows(folder, rows_there)
            faults[fault] = {"rows": rows_there} | disturbed(target, fault, number, small)
        faults["client"] = {"rows": n} | client_killed(some)
        print("client", faults["client"], flush=True)
    return result


def page(result: dict[str, Any]) -> str:
    """Return the table of the page."""
    faults = result["faults"]
    killed, frozen, client = (faults[name] for name in ("killed", "frozen", "client"))
    one, two = (result["workers"][str(k)] for k in (1, 2))
    lines = [
        f"Measured from Parquet files of {FEATURES} features, hinge loss, {CENTRES} landmarks, "
        "workers of one thread on one machine of two cores (`make bench SUITE=faults`). "
        f"{frozen['rows']:,} rows take one worker {one:.0f} s and two {two:.0f} s, "
        f"{one / two:.2f} times as fast.",
        "",
        "| in the middle of the fit | rows | undisturbed | with the fault | same bits |",
        "| --- | --- | --- | --- | --- |",
    ]
    for words, line in (
        ("a worker was killed", killed),
        (f"a worker froze, `patience={PATIENCE:.0f}`", frozen),
        (f"the client was killed after {client['kept']} of {client['passes']} passes", client),
    ):
        rest = " for the rest" if line is client else ""
        lines.append(
            f"| {words} | {line['rows']:,} | {line['undisturbed']:.0f} s | "
            f"{line['seconds']:.0f} s{rest} | {'yes' if line['same bits'] else 'no'} |"
        )
    wrote = killed["predictions"]
    lines += [
        "",
        f"Predictions of the {wrote['rows']:,} rows were written to Parquet files in "
        f"{wrote['seconds']:.0f} s, {100 * wrote['mistakes']:.1f} % of them wrong on rows without "
        "noise.",
    ]
    return "\n".join(lines)


def main() -> None:
    result = measure(*{"full": (10_000_000, 1_000_000), "short": (100_000, 100_000)}[sys.argv[1]])
    result = json.loads(json.dumps(result))
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
