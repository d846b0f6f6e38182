"""Seconds of one thread to predict: a graph of plain operators, SVMRegressor and the library."""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd
import sklearn.svm
from skl2onnx import to_onnx as by_sklearn
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, StringTensorType
from sklearn.base import is_regressor
from threadpoolctl import threadpool_limits

from mercer import SVR, AutoClassifier, AutoRegressor
from mercer.datasets import load_concrete, load_german_credit
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


def measure_tables(rows, seconds):
    """Return the same of the models of tables: numbers, and words beside numbers."""
    X, y = load_concrete(return_X_y=True, as_frame=True)
    W, z = load_german_credit(return_X_y=True, as_frame=True)
    models = {
        "AutoRegressor, concrete": (AutoRegressor(random_state=0), X, y),
        "AutoClassifier, German credit": (AutoClassifier(random_state=0), W, z),
    }
    found = {}
    for name, (model, table, target) in models.items():
        model.fit(table, target)
        new = table.sample(rows, replace=True, random_state=0)
        # The regressor's graph says quantiles beside the prediction, and so does the call.
        ours = model.predict_quantiles if is_regressor(model) else model.predict_proba
        true = np.asarray(ours(new))
        ways = {"mercer predict": (ours, new, new[:1])}
        for precision, kind in (("float32", FloatTensorType), ("float64", DoubleTensorType)):
            words = [not pd.api.types.is_numeric_dtype(table[column]) for column in table]
            types = [
                (column, (StringTensorType if word else kind)([None, 1]))
                for column, word in zip(table, words, strict=True)
            ]
            run = session(to_onnx(model, precision=precision, initial_types=types)).run
            feed = {
                column: new[[column]].to_numpy(object if word else precision)
                for column, word in zip(table, words, strict=True)
            }
            first = {column: cells[:1] for column, cells in feed.items()}
            output = ["quantiles" if is_regressor(model) else "probabilities"]
            ways[f"plain operators, {precision}"] = (
                lambda Z, run=run, output=output: run(output, Z)[0],
                feed,
                first,
            )
        with threadpool_limits(1):
            found[name] = {
                way: {
                    "rows": best(lambda call=call, many=many: call(many), seconds),
                    "one": _one(call, first),
                    "error": float(np.max(np.abs(call(many) - true)) / np.std(true)),
                }
                for way, (call, many, first) in ways.items()
            }
    return found


def _one(call, point, repeats=200):
    """Return processor seconds of one row, the mean of many calls."""

    def many():
        for _ in range(repeats):
            call(point)

    return best(many, 0.5) / repeats


def show(table):
    lines = ["| way | 10,000 rows, s | one row, us | error, std |", "| --- | --- | --- | --- |"]
    for name, row in table.items():
        lines.append(
            f"| {name} | {row['rows']:.3f} | {1e6 * row['one']:.0f} | {row['error']:.0e} |"
        )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["full", "short"])
    short = parser.parse_args().what == "short"
    found = measure(2000, 50, 2000 if short else 10_000, 1.0 if short else 5.0)
    table = found["table"]
    print(show(table))
    found["tables"] = measure_tables(found["rows"], 1.0 if short else 5.0)
    for name, of_name in found["tables"].items():
        print(f"\n{name}\n{show(of_name)}")
        assert of_name["plain operators, float32"]["error"] < 1e-4
    plain, operator = table["plain operators, float32"], table["SVMRegressor operator, float32"]
    assert plain["error"] < 1e-4
    assert 5.0 * plain["rows"] < operator["rows"], "less than five times as fast as the operator"
    ratio = plain["rows"] / table["mercer predict"]["rows"]
    print(f"many rows take {ratio:.2f} of the library's own time")
    if not short:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
