"""What a pass costs client, scheduler and network, with 1 to 8 worker processes: no speed-up.

A scheduler and workers in processes of their own hold partitions of few rows; passes send m numbers
and sum m numbers. Counted are tasks of the scheduler, bytes that all processes write to
sockets, and processor seconds of scheduler, client and all workers. ``passes.py measure NAME``
measures the library that is imported, a case after the other, and keeps the results under a name,
"before" or "after", in passes.json; cases that are there already are left out.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

# What the benchmark of exact machines shares with the tests.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import dask.array as da
import numpy as np
import psutil
from distributed import Client, SubprocessCluster

from benchmarks.common.environment import environment
from mercer.distributed import as_source

RESULTS = Path(__file__).with_name("passes.json")
WORKERS, PARTITIONS, CENTRES, ROWS, PASSES = (1, 2, 4, 8), (16, 64, 256), 1000, 20, 10


def work(block: Any, shared: Any, state: np.ndarray) -> np.ndarray:
    """Return a summand as large as the state, and as cheap as it can be."""
    return state * float(block.X[0, 0])


def count_bytes() -> None:
    """Have this process count what it writes to sockets."""
    from distributed.comm import tcp  # on a worker or the scheduler, which this file is sent to

    if hasattr(tcp.TCP, "mercer_bytes"):
        return
    write = tcp.TCP.write
    tcp.TCP.mercer_bytes = 0

    async def counted(self: Any, *args: Any, **how: Any) -> int:
        sent: int = await write(self, *args, **how)
        tcp.TCP.mercer_bytes += sent
        return sent

    tcp.TCP.write = counted


def bytes_so_far() -> int:
    """Return what this process has written to sockets."""
    from distributed.comm import tcp

    return int(tcp.TCP.mercer_bytes)


def state_of(dask_scheduler: Any) -> dict[str, Any]:
    """Return how many results and errors there were, transitions, and processor seconds."""
    times = psutil.Process().cpu_times()
    tasks = sum(prefix.state_counts["memory"] for prefix in dask_scheduler.task_prefixes.values())
    return {
        "tasks": tasks,
        "transitions": dask_scheduler.transition_counter,
        "scheduler": times.user + times.system,
    }


def seconds_so_far() -> float:
    """Return processor seconds of this process."""
    return time.process_time()


def so_far(client: Client) -> dict[str, float]:
    """Return all counts of a cluster."""
    workers = sum(client.run(seconds_so_far).values())
    sent = sum(client.run(bytes_so_far).values()) + client.run_on_scheduler(bytes_so_far)
    return client.run_on_scheduler(state_of) | {
        "bytes": sent,
        "client": time.process_time(),
        "in workers": workers,
    }


def one_case(client: Client, partitions: int) -> dict[str, float]:
    """Return costs of a pass over some partitions, after some that are not counted."""
    n = ROWS * partitions
    source = as_source(da.ones((n, 2), chunks=(ROWS, 2)), client=client)
    state = np.random.default_rng(0).normal(size=CENTRES)
    for _ in range(3):
        total = source.total(work, None, state, report=lambda n: None)
    np.testing.assert_allclose(total, partitions * state, rtol=1e-12)
    client.run(count_bytes)
    client.run_on_scheduler(count_bytes)
    nothing = {k: -v for k, v in so_far(client).items()}
    nothing = {k: v + nothing[k] for k, v in so_far(client).items()}  # what counting itself costs
    before, start = so_far(client), time.perf_counter()
    for _ in range(PASSES):
        source.total(work, None, state, report=lambda n: None)
    wall, after = time.perf_counter() - start, so_far(client)
    each = {k: (after[k] - before[k] - nothing[k]) / PASSES for k in after}
    # Workers give signs of life as time goes by, whether there is a pass or not.
    time.sleep(wall)
    idle = {k: (v - after[k] - nothing[k]) / PASSES for k, v in so_far(client).items()}
    return {"partitions": partitions, "wall": wall / PASSES, "idle": idle} | each


def measure(name: str) -> None:
    """Measure passes by workers and partitions, and write each case down."""
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    about = environment({"threads": 1}) | {"load": os.getloadavg()[0]}
    own = kept.setdefault(name, {"about": about, "centres": CENTRES, "passes": []})
    known = {(case["workers"], case["partitions"]) for case in own["passes"]}
    for workers in WORKERS:
        todo = [n for n in PARTITIONS if (workers, n) not in known]
        if not todo:
            continue
        settings = {"memory_limit": 0, "dashboard": False}
        with (
            SubprocessCluster(
                n_workers=workers, threads_per_worker=1, worker_class="distributed.Worker",
                worker_kwargs=settings, scheduler_kwargs={"dashboard": False},
                dashboard_address=":0", silence_logs=50,
            ) as cluster,
            Client(cluster) as client,
        ):  # fmt: skip
            client.wait_for_workers(workers)
            for partitions in todo:
                case = {"workers": workers} | one_case(client, partitions)
                own["passes"].append(case)
                RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
                print(json.dumps(case), flush=True)


if __name__ == "__main__":
    measure(sys.argv[2])
