"""What an engine below a fit costs: a Dask cluster of two workers, bare futures, and threads.

The same passes, with the same work on the same blocks of rows, are made in three ways that take
turns: by `mercer.distributed`; by futures written by hand, with partitions and centres scattered
and no thought of faults; and by the threads of one process. `python cluster.py full` writes
cluster.json, `python cluster.py short` takes a minute.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import reduce
from itertools import pairwise
from operator import add
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import distributed
import numpy as np

from mercer import LSSVR, SVC
from mercer.data import Arrays, Source
from mercer.data.base import Block, Sums
from mercer.distributed import as_source
from mercer.kernels import Gaussian
from mercer.reduced.nystrom import Nystrom
from mercer.reduced.panel import Panel

RESULTS = Path(__file__).with_name("cluster.json")
WORKERS, FEATURES, BLOCK = 2, 10, 4096
TARGETS = {"bare": 1.25, "threads": 1.35}


def sample(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points and a noisy function of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, FEATURES))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    return X, y


def gradient(block: Block, panel: Panel, A: np.ndarray) -> Sums:
    """Return value and slope of the squared loss over a block: the work of one pass."""
    value = 0.0

    def slopes(F: np.ndarray, part: slice, K: np.ndarray) -> np.ndarray:
        nonlocal value
        G = F - block.y[part, None]
        value += 0.5 * float(np.sum(G * G))
        return G

    return Sums(G=panel.sweep(block.X, A, slopes, single=True), value=value, n=block.n)


def hand_written(part: tuple[Any, Any], work: Any, shared: Any, state: Any, rows: int) -> Any:
    return Arrays(*part).total(work, shared, state, rows=rows, n_jobs=1)


def hand_added(parts: list[Any]) -> Any:
    return reduce(add, parts)


class Bare(Source):
    """The sums as one would write them in an afternoon: scatter, map, add up."""

    def __init__(self, client: Any, X: np.ndarray, y: np.ndarray, partitions: int) -> None:
        self.client, self.n_rows, self.n_features = client, len(X), X.shape[1]
        cuts = np.linspace(0, len(X), partitions + 1).astype(int)
        parts = [(X[a:b], y[a:b]) for a, b in pairwise(cuts)]
        self.parts = client.scatter(parts)
        self.shared: dict[int, Any] = {}

    def blocks(self, rows: int) -> Iterator[Block]:
        raise NotImplementedError

    def total(self, work: Any, shared: Any = None, state: Any = None, **how: Any) -> Any:
        if id(shared) not in self.shared:
            sent = self.client.scatter([shared], broadcast=True)[0] if shared is not None else None
            self.shared[id(shared)] = (sent, shared)
        futures = self.client.map(
            hand_written,
            self.parts,
            work=work,
            shared=self.shared[id(shared)][0],
            state=state,
            rows=how.get("rows", BLOCK),
            pure=False,
        )
        total = self.client.submit(hand_added, futures, pure=False).result()
        if how.get("report") is not None:
            how["report"](self.n_rows)
        return total


def turns(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of calls that take turns, each round in another order."""
    names, times = list(calls), {name: [] for name in calls}
    for name in names:
        calls[name]()
    print(f"{time.ctime()}: {rounds} rounds of {', '.join(names)}", file=sys.stderr, flush=True)
    for k in range(rounds):
        for name in names[k % len(names) :] + names[: k % len(names)]:
            start = time.perf_counter()
            calls[name]()
            times[name].append(time.perf_counter() - start)
    return times


def judged(times: dict[str, list[float]]) -> dict[str, Any]:
    """Return medians, the best times, and ratios of ours within each round."""
    out: dict[str, Any] = {
        name: {"median": statistics.median(t), "best": min(t)} for name, t in times.items()
    }
    for other in TARGETS:
        ratios = [a / b for a, b in zip(times["mercer"], times[other], strict=True)]
        out[f"ratio to {other}"] = statistics.median(ratios)
        out[f"ratio of best to {other}"] = min(times["mercer"]) / min(times[other])
    return out


def sent(dask_worker: Any) -> list[dict[str, int]]:
    return [entry["keys"] for entry in dask_worker.transfer_outgoing_log]


def shipped(client: Any, source: Any, panel: Panel, A: np.ndarray, passes: int) -> dict[str, Any]:
    """Return the bytes that workers sent each other in a pass, and what paper says."""
    source.total(gradient, panel, A, rows=BLOCK)
    before = {worker: len(log) for worker, log in client.run(sent).items()}
    for _ in range(passes):
        source.total(gradient, panel, A, rows=BLOCK)
    bytes_of = {"summands": 0.0, "partitions": 0.0}
    for worker, log in client.run(sent).items():
        for keys in log[before[worker] :]:
            for key, size in keys.items():
                moved = "partitions" if "bound" in str(key) or "rows" in str(key) else "summands"
                bytes_of[moved] += size / passes
    partitions = len(source.keys)
    inner, level = 0, partitions
    while level > 1:
        inner += level
        level = -(-level // 8)
    return {
        "summands, measured": bytes_of["summands"],
        "summands, at most": inner * A.nbytes,
        "summands, expected where partitions lie anywhere": inner * A.nbytes * (1 - 1 / WORKERS),
        "partitions moved by the scheduler to level work": bytes_of["partitions"],
        "a summand": A.nbytes,
    }


def measure(n: int, m: int, partitions: int, rounds: int, fits: int) -> dict[str, Any]:
    """Return times, ratios, agreement and bytes."""
    X, y = sample(n)
    panel = Panel(Gaussian(3.0), X[:m].copy())
    A = np.random.default_rng(1).normal(size=(m, 1))
    cluster = distributed.LocalCluster(
        n_workers=WORKERS,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
        silence_logs=50,
    )
    with cluster, distributed.Client(cluster) as client:
        rows = -(-n // partitions)
        dX, dy = (da.from_array(v, chunks=(rows, *v.shape[1:])).persist() for v in (X, y))
        ours, bare, here = as_source(dX, dy), Bare(client, X, y, partitions), Arrays(X, y)
        calls = {
            "mercer": lambda: ours.total(gradient, panel, A, rows=BLOCK, report=lambda n: None),
            "bare": lambda: bare.total(gradient, panel, A, rows=BLOCK),
            "threads": lambda: here.total(gradient, panel, A, rows=BLOCK, n_jobs=WORKERS),
        }
        sums = {name: call() for name, call in calls.items()}
        scale = float(np.abs(sums["threads"]["G"]).max())
        error = max(float(np.abs(s["G"] - sums["threads"]["G"]).max()) for s in sums.values())
        result: dict[str, Any] = {
            "rows": n,
            "centres": m,
            "partitions": partitions,
            "versions": {"dask": dask.__version__, "distributed": distributed.__version__},
            "pass": judged(turns(calls, rounds)),
            "pass, largest difference": error / scale,
            "empty pass": judged(
                turns(
                    {
                        "mercer": lambda: ours.total(nothing),
                        "bare": lambda: bare.total(nothing),
                        "threads": lambda: here.total(nothing),
                    },
                    rounds,
                )
            ),
            "bytes of a pass": shipped(client, ours, panel, A, 5),
        }
        labels = np.where(y > 0, 1.0, -1.0)
        for machine, t, k, functions in (
            (LSSVR(C=1.0, kernel=Gaussian(3.0)), y, n, m),
            (SVC(C=1.0, kernel=Gaussian(3.0)), labels, n // 8, m // 2),
        ):
            machine.set_params(approximation=Nystrom(functions, n_jobs=WORKERS))
            name = f"fit of {type(machine).__name__}"
            result[name] = {"rows": k, "centres": functions}
            result[name] |= fitted(client, machine, X[:k], t[:k], partitions, fits)
    return result


def fitted(
    client: Any, machine: Any, X: np.ndarray, y: np.ndarray, partitions: int, fits: int
) -> dict[str, Any]:
    """Return times of fits of the same machine to the same rows, and how far they differ."""
    rows = -(-len(X) // partitions)
    dX, dy = (da.from_array(v, chunks=(rows, *v.shape[1:])).persist() for v in (X, y))
    bare = Bare(client, X, y, partitions)
    values: dict[str, float] = {}

    def fit(who: str, *data: Any) -> None:
        values[who] = machine.fit(*data).solution_.objective

    times = turns(
        {
            "mercer": lambda: fit("mercer", dX, dy),
            "bare": lambda: fit("bare", bare),
            "threads": lambda: fit("threads", X, y),
        },
        fits,
    )
    spread = (max(values.values()) - min(values.values())) / abs(values["threads"])
    passes = machine.solution_.passes
    return {**judged(times), "passes": passes, "spread of objectives": spread}


def nothing(block: Block, shared: Any, state: Any) -> Sums:
    return Sums(n=block.n)


def main() -> None:
    """Measure, print, judge."""
    short = sys.argv[1:] == ["short"]
    if short:
        result = measure(40_000, 400, 8, 5, 2)
    else:
        result = measure(1_000_000, 1000, 16, 9, 3)
        RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))
    if result["pass, largest difference"] > 1e-5:
        sys.exit("sums differ by more than float32 kernel values explain")
    fits = [name for name in result if name.startswith("fit of")]
    if max(result[name]["spread of objectives"] for name in fits) > 1e-3:
        sys.exit("fits do not agree within their tolerance")
    for name in ("pass", *fits):
        for other, target in TARGETS.items():
            ratio = result[name][f"ratio to {other}"]
            verdict = "met" if ratio <= target else "MISSED"
            print(f"{name}: {ratio:.2f} of {other}, {target} asked for: {verdict}")


if __name__ == "__main__":
    main()
