"""Exported graphs beside the SVMRegressor operator and our own predict; a minute."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import sklearn.svm
from skl2onnx import to_onnx as by_sklearn
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, StringTensorType
from sklearn.base import is_regressor

from benchmarks.store import Record
from mercer import SVR, AutoClassifier, AutoRegressor
from mercer.datasets import load_concrete, load_german_credit
from mercer.io import to_onnx

OURS, SINGLE, DOUBLE = "mercer predict", "plain operators, float32", "plain operators, float64"
OPERATOR = "SVMRegressor operator, float32"
SUPPORT, FEATURES, ROWS = 2000, 50, {True: 2000, False: 10_000}
TABLES = {
    "concrete": (AutoRegressor, load_concrete),
    "german_credit": (AutoClassifier, load_german_credit),
}


def cases(short: bool) -> list[dict[str, Any]]:
    return [{"model": name, "rows": ROWS[short]} for name in ("SVR", *TABLES)]


def contenders(case: dict[str, Any]) -> list[str]:
    return [OURS, SINGLE, DOUBLE] + [OPERATOR] * (case["model"] == "SVR")


def session(graph: Any) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(graph.SerializeToString(), options).run


def best(call: Callable[[], Any], seconds: float) -> float:
    """Return the least processor time of a call that is repeated, the first time not counted."""
    call()
    times, began = [], time.perf_counter()
    while not times or time.perf_counter() - began < seconds:
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


Way = tuple[Callable[[Any], Any], Any, Any]


def machine(rows: int) -> dict[str, Way]:
    """Return ways to predict by a machine of 2,000 support vectors: call, many rows and one."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((SUPPORT, FEATURES))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(SUPPORT)
    ours, theirs = (kind(epsilon=0.0, C=1.0).fit(X, y) for kind in (SVR, sklearn.svm.SVR))
    new = rng.standard_normal((rows, FEATURES))
    single = new.astype(np.float32)
    ways: dict[str, Way] = {OURS: (ours.predict, new, new[:1])}
    for way, precision, points in ((SINGLE, "float32", single), (DOUBLE, "float64", new)):
        run = session(to_onnx(ours, precision=precision))
        ways[way] = (lambda Z, run=run: run(None, {"X": Z})[0], points, points[:1])
    operator = session(by_sklearn(theirs, single[:1]))
    ways[OPERATOR] = (lambda Z: operator(None, {"X": Z})[0], single, single[:1])
    return ways


def table(name: str, rows: int) -> dict[str, Way]:
    """Return the same of a model of a table: quantiles of numbers, probabilities of classes."""
    kind, load = TABLES[name]
    X, y = load(return_X_y=True, as_frame=True)
    model = kind(random_state=0).fit(X, y)
    new = X.sample(rows, replace=True, random_state=0)
    # The regressor's graph says quantiles beside the prediction, and so does the call.
    ours = model.predict_quantiles if is_regressor(model) else model.predict_proba
    ways: dict[str, Way] = {OURS: (ours, new, new[:1])}
    output = ["quantiles" if is_regressor(model) else "probabilities"]
    words = {column: not pd.api.types.is_numeric_dtype(X[column]) for column in X}
    kinds = (SINGLE, "float32", FloatTensorType), (DOUBLE, "float64", DoubleTensorType)
    for way, precision, tensor in kinds:
        types = [(c, (StringTensorType if w else tensor)([None, 1])) for c, w in words.items()]
        run = session(to_onnx(model, precision=precision, initial_types=types))
        feed = {c: new[[c]].to_numpy(object if w else precision) for c, w in words.items()}
        first = {column: cells[:1] for column, cells in feed.items()}
        ways[way] = (lambda Z, run=run: run(output, Z)[0], feed, first)
    return ways


def together(case: dict[str, Any], names: list[str], short: bool) -> dict[str, dict[str, Any]]:
    """Predict many rows at once, and one row many times."""
    ways = machine(case["rows"]) if case["model"] == "SVR" else table(case["model"], case["rows"])
    call, many, _ = ways[OURS]
    true = np.asarray(call(many))
    found = {}
    for way, (call, many, one) in ways.items():
        off = np.max(np.abs(np.reshape(call(many), true.shape) - true)) / np.std(true)
        found[way] = {
            "rows": best(lambda call=call, many=many: call(many), 1.0 if short else 5.0),
            "one": best(lambda call=call, one=one: [call(one) for _ in range(100)], 0.5) / 100,
            "error": float(off),
        }
    return found


def line(values: dict[str, Any]) -> str:
    many, single = f"{values['rows']:.3f} s", f"a row {1e6 * values['one']:.0f} us"
    return f"{many}, {single}, error {values['error']:.0e}"


def claims(records: list[Record], short: bool) -> list[str]:
    """Say whether graphs in single precision are inexact, or slow beside the operator."""
    by = {(r.case["model"], r.contender): r for r in records}
    wrong = [
        f"{model}: error {r['error']:.0e}"
        for (model, way), r in by.items()
        if way == SINGLE and r["error"] > 1e-4
    ]
    if 5.0 * by["SVR", SINGLE]["rows"] > by["SVR", OPERATOR]["rows"]:
        wrong.append("less than five times as fast as the operator")
    return wrong
