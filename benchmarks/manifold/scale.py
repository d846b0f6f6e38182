"""Principal manifolds of many rows: from files, and on a cluster of two workers.

``scale.py full`` fits a sheet of 7 x 7 nodes to a sample, then to 10,000 to 1,000,000 rows
by sums over blocks, keeps what it measured and writes the page of the documentation. ``short`` does
the same for few rows in seconds.
"""

import argparse
import json
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import mercer.data
from benchmarks.common.clock import forget_peak, memory
from benchmarks.common.environment import environment
from benchmarks.manifold.kernel_pca import alone, here, sample, write
from mercer.manifold import Grid, PrincipalManifold

HERE = Path(__file__).resolve().parent
TABLE = HERE / "scale.json"
PAGE = HERE.parents[1] / "docs" / "explanation" / "manifold-scale.md"
FIRST, PASSES = 2_000, 2
HEAD = """\
# Principal manifolds of many rows

What does a map of a million rows take? A sheet of 7 x 7 nodes in eight features is fitted to
{first:,} rows, and goes on with all rows by sums over blocks (`warm_start`): every iteration is one
pass, in which a row is projected and forgotten. This page is written by
`make bench SUITE=manifold-scale`; do not edit it by hand.
{processor}, {cores} cores, Python {python}, {versions}; {date}, commit `{commit}`.

| rows | where | iterations | seconds | seconds a pass | memory, MB | distortion | difference |
| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |
{rows}

*Memory* is the peak of the process that fits above what it held before, workers not counted;
*difference* is the largest between images of 200 coordinates of this manifold and of the manifold
of the same rows in files on this machine. Sums over blocks are added in the order of the blocks,
and pieces of a cluster are not blocks of a file: the difference is rounding.
"""


def fitted(where: str, folder: str, n: int) -> dict[str, Any]:
    """Fit the sample, then the rows where they are."""
    warnings.simplefilter("ignore")  # two iterations end before the functional stops falling
    machine = PrincipalManifold(Grid(7, 7), lam=1e-3, warm_start=True, tol=1e-4, max_iter=100)
    machine.fit(sample(FIRST, start=98))
    machine.set_params(max_iter=PASSES, tol=0.0)
    source = mercer.data.open(f"{folder}/*.parquet")
    forget_peak()
    held = memory("VmRSS")
    if where == "Dask, 2 workers":
        from distributed import Client, LocalCluster

        how = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "memory_limit": 0}
        cluster = LocalCluster(dashboard_address=":0", silence_logs=50, **how)
        with cluster, Client(cluster):
            start = time.perf_counter()
            machine.fit(source)
            seconds = time.perf_counter() - start
    else:
        start = time.perf_counter()
        machine.fit(source)
        seconds = time.perf_counter() - start
    Z = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    return {
        "n": n,
        "where": where,
        "seconds": seconds,
        "peak": memory("VmHWM") - held,
        "iterations": machine.n_iter_,
        "distortion": machine.distortion_,
        "falls": bool(np.all(np.diff(machine.history_["objective"]) <= 0.0)),
        "images": machine.inverse_transform(Z).tolist(),
    }


def run(short: bool) -> dict[str, Any]:
    """Measure everything."""
    kept: dict[str, Any] = {"about": environment({"short": short}), "rows": []}
    for n in (4_000,) if short else (10_000, 100_000, 1_000_000):
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), n)
            places = ("Parquet",) if short else ("Parquet", "Dask, 2 workers")
            found = [(here if short else alone)(fitted, place, folder, n) for place in places]
        first = np.array(found[0]["images"])
        for row in found:
            row["difference"] = float(np.abs(np.array(row.pop("images")) - first).max())
        kept["rows"] += found
    kept["verdicts"] = {
        "the functional falls": all(row["falls"] for row in kept["rows"]),
        "the same manifold everywhere": all(row["difference"] < 1e-6 for row in kept["rows"]),
        "memory below 2 GB": all(not row["peak"] >= 2e9 for row in kept["rows"]),
    }
    return kept


def publish(kept: dict[str, Any]) -> None:
    """Write the page."""
    about = kept["about"]
    names = ("mercer", "numpy", "scipy")
    versions = ", ".join(f"{name} {about['versions'][name]}" for name in names)
    rows = [
        f"| {r['n']:,} | {r['where']} | {r['iterations']} | {r['seconds']:.1f} | "
        f"{r['seconds'] / (r['iterations'] + 2):.1f} | {r['peak'] / 1e6:.0f} | "
        f"{r['distortion']:.5f} | {r['difference']:.1e} |"
        for r in kept["rows"]
    ]
    values = about | {"versions": versions, "rows": "\n".join(rows), "first": FIRST}
    PAGE.write_text(HEAD.format(**values))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", choices=["full", "short"])
    short = parser.parse_args().suite == "short"
    kept = run(short)
    for name, met in kept["verdicts"].items():
        print(f"{'met   ' if met else 'MISSED'} {name}")
    if not short:
        TABLE.write_text(json.dumps(kept, indent=1) + "\n")
        publish(kept)
    return 0 if all(kept["verdicts"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
