"""From a Parquet file to answers over HTTP: two worker processes fit, another process serves.

``production.py short`` fits abalone's 4,177 shells once; ``production.py full`` fits a hundred
copies with noise in the sizes, and asks more often. Both fail where what is served differs from
what the fitted model predicts, or where the service needs a library of the fit.
"""

import argparse
import http.client
import json
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client, LocalCluster
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import LSSVR, OneClassSVM, data, distributed, io
from mercer.datasets import load_abalone
from mercer.preprocessing import Scaler
from mercer.reduced import Nystrom

SERVER = Path(__file__).with_name("server.py")
# Rounding of float64 in a sum of terms a_j k_j, relative to the sum of |a_j|: of each kernel value
# the last few digits are not known.
ROUNDING = 32 * np.finfo(np.float64).eps


class Steps:
    """Seconds of named steps, on the wall: several processes work at them."""

    def __init__(self):
        self.seconds = {}

    @contextmanager
    def __call__(self, name):
        began = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - began
        print(f"{name:<44} {self.seconds[name]:8.2f} s", flush=True)


def write_shells(path: Path, copies: int) -> pd.DataFrame:
    """Write abalone to a Parquet file, 1,000 rows a group, and return some of its rows."""
    frame = load_abalone(as_frame=True).frame
    X = frame.select_dtypes("number").drop(columns="rings")
    rng = np.random.default_rng(0)
    with pq.ParquetWriter(path, _table(X, frame.rings).schema) as writer:
        for k in range(copies):
            noise = 0.01 * X.std().to_numpy() * rng.normal(size=X.shape) if k else 0.0
            writer.write_table(_table(X + noise, frame.rings), row_group_size=1000)
    return X


def _table(X, rings):
    columns = {name: X[name].to_numpy(np.float64) for name in X}
    return pa.table(columns | {"rings": rings.to_numpy(np.float64)})


@contextmanager
def served(*graphs: Path):
    """Start the service in a process of its own and yield a function that asks it."""
    # Without the paths of this process: the service has nothing but its script and two packages.
    command = [sys.executable, "-I", str(SERVER), *map(str, graphs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            port = int(process.stdout.readline())
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            yield lambda body=None: _asked(connection, body)
        finally:
            process.terminate()


def _asked(connection, body):
    if body is None:
        connection.request("GET", "/health")
    else:
        connection.request("POST", "/predict", json.dumps(body))
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def run(copies: int, landmarks: int, requests: int) -> dict[str, float]:
    """Go the whole way once, and return what was measured."""
    step = Steps()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shells = write_shells(folder / "shells.parquet", copies)
        with step("two workers start"):
            cluster = LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
            )
        with cluster, Client(cluster) as client:
            source = data.open(str(folder / "shells.parquet"), target="rings")
            machine = LSSVR(C="auto", approximation=Nystrom(landmarks))
            model = make_pipeline(Scaler(), machine)
            with step("workers read the file and fit"):
                model.fit(source)
            assert len(client.scheduler_info()["workers"]) == 2
            with step("workers predict all rows"):
                batch = distributed.predict(model, dd.from_pandas(shells, npartitions=4)).compute()
        print(f"{'rows of the fit':<44} {source.n_rows:8d}")
        rows = shells.to_numpy()
        with step("save and load"):
            io.save(model, folder / "model.skops")
            again = io.load(folder / "model.skops")
        with step("export model and watch"):
            write_graph(again, folder / "model.onnx")
            # Rows that a service should wonder about: unlike nineteen of twenty rows of the fit.
            few = rows[:: len(rows) // 500]
            watch = make_pipeline(StandardScaler(), OneClassSVM(nu=0.05)).fit(few)
            write_graph(watch, folder / "watch.onnx")
        expected, latency = model.predict(shells), []
        with served(folder / "model.onnx", folder / "watch.onnx") as ask:
            with step("the service answers 1,000 rows at once"):
                found = [ask({"rows": part.tolist()})[1] for part in np.split(rows, [1000])[:1]]
            with step(f"it answers {requests} single rows"):
                for row in rows[:requests]:
                    began = time.perf_counter()
                    status, one = ask({"rows": [row.tolist()]})
                    latency.append(time.perf_counter() - began)
                    assert status == 200
                    found.append(one)
            strange = ask({"rows": (3.0 * rows[:200]).tolist()})[1]["unusual"]
            refused, _ = ask({"rows": [[1.0, 2.0]]})
            health = ask()[1]
        usual = found[0]["unusual"]
        answers = np.concatenate([answer["predictions"] for answer in found])
    asked = np.concatenate([expected[:1000], expected[:requests]])
    close = ROUNDING * float(np.abs(machine.dual_coef_).sum()) / float(np.std(expected))
    apart = float(np.max(np.abs(answers - asked)) / np.std(expected))
    on_workers = float(np.max(np.abs(batch - expected)) / np.std(expected))
    measured = {
        "largest difference that rounding explains": close,
        "largest difference, served": apart,
        "largest difference, on workers": on_workers,
        "median latency of a row, ms": 1e3 * float(np.median(latency)),
        "99 of 100 rows within, ms": 1e3 * float(np.quantile(latency, 0.99)),
        "memory of the service, MB": health["bytes"] / 1e6,
        "unusual rows, as in the fit": usual,
        "unusual rows, three times as large": strange,
    }
    for name, value in measured.items():
        print(f"{name:<44} {value:8.3g}")
    assert apart < close, apart
    assert on_workers < close, on_workers
    assert refused == 400
    assert health["fitted_with"] == []
    assert health["answered"] == 1200 + requests
    assert usual < 0.15 < 0.9 < strange
    return step.seconds | measured


def write_graph(model, path: Path) -> None:
    path.write_bytes(io.to_onnx(model).SerializeToString())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("size", choices=["short", "full"])
    short = parser.parse_args().size == "short"
    run(*((1, 100, 200) if short else (100, 500, 2000)))


if __name__ == "__main__":
    main()
