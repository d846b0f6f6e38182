"""Seconds of one thread to predict: a graph of plain operators, SVMRegressor and the library."""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import onnxruntime
import sklearn.svm
from skl2onnx import to_onnx as by_sklearn
from threadpoolctl import threadpool_limits

from mercer import SVR
from mercer.io import to_onnx

RESULTS = Path(__file__).parent / "results" / "onnx_speed.json"


def session(graph):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(graph.SerializeToString(), options)


def best(call, seconds):
    """Return the least processor time of a call that is repeated, the first time not counted."""
    call()
    times, began = [], time.perf_counter()
    while not times or time.perf_counter() - began < seconds:
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def measure(n_support, p, rows, seconds):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_support, p))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(n_support)
    ours, theirs = SVR(epsilon=0.0, C=1.0).fit(X, y), sklearn.svm.SVR(epsilon=0.0, C=1.0).fit(X, y)
    new = rng.standard_normal((rows, p))
    single = new.astype(np.float32)
    ways = {"mercer predict": (ours.predict, new)}
    for precision, points in (("float32", single), ("float64", new)):
        run = session(to_onnx(ours, precision=precision)).run
        ways[f"plain operators, {precision}"] = (lambda Z, run=run: run(None, {"X": Z})[0], points)
    operator = session(by_sklearn(theirs, single[:1])).run
    ways["SVMRegressor operator, float32"] = (lambda Z: operator(None, {"X": Z})[0], single)
    true, table = ours.predict(new), {}
    with threadpool_limits(1):
        for name, (call, points) in ways.items():
            table[name] = {
                "rows": best(lambda call=call, points=points: call(points), seconds),
                "one": _one(call, points[:1]),
                "error": float(np.max(np.abs(np.ravel(call(points)) - true)) / np.std(true)),
            }
    return {"support": len(ours.support_), "features": p, "rows": rows, "table": table}


def _one(call, point, repeats=200):
    """Return processor seconds of one row, the mean of many calls."""

    def many():
        for _ in range(repeats):
            call(point)

    return best(many, 0.5) / repeats


def show(found):
    lines = ["| way | 10,000 rows, s | one row, us | error, std |", "| --- | --- | --- | --- |"]
    for name, row in found["table"].items():
        lines.append(
            f"| {name} | {row['rows']:.3f} | {1e6 * row['one']:.0f} | {row['error']:.0e} |"
        )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["full", "short"])
    short = parser.parse_args().what == "short"
    found = measure(2000, 50, 2000 if short else 10_000, 1.0 if short else 5.0)
    print(show(found))
    table = found["table"]
    plain, operator = table["plain operators, float32"], table["SVMRegressor operator, float32"]
    assert plain["error"] < 1e-4
    assert 5.0 * plain["rows"] < operator["rows"], "less than five times as fast as the operator"
    ratio = plain["rows"] / table["mercer predict"]["rows"]
    print(f"many rows take {ratio:.2f} of the library's own time")
    if not short:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
