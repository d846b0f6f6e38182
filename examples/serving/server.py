"""A small service: one graph of ONNX behind HTTP, with onnxruntime, NumPy and the standard library.

``server.py model.onnx [watch.onnx]`` prints its port, and answers
``POST /predict {"rows": [[...], ...]}`` with ``{"predictions": [...]}``, with ``"lower"`` and
``"upper"`` where the model has intervals and ``"probabilities"`` where it has those, and with
``"unusual"``, the share of the rows unlike those of the fit, if there is a second graph that scores
them. Rows of a graph with one input a column may be objects, ``{"age": 28, "kind": "a"}``.
``GET /health`` says what the process has done and takes. It needs none of the libraries that the
model was fitted with.
"""

import argparse
import json
import os
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np

# From 1.29 on onnxruntime reports its use to its makers unless this is set before it is imported.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
import onnxruntime

TYPES = {
    "tensor(double)": np.float64,
    "tensor(float)": np.float32,
    "tensor(int64)": np.int64,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.object_,
}
# Outputs of a graph, and what they are called in an answer.
ANSWERS = {
    "prediction": "predictions",
    "label": "predictions",
    "lower": "lower",
    "upper": "upper",
    "probabilities": "probabilities",
}


def session(path: str) -> onnxruntime.InferenceSession:
    """Open a graph for one thread a request: requests are what runs side by side."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options)


def feed(inputs: list, rows: list) -> dict[str, np.ndarray]:
    """Return the inputs of a graph for rows; refuse rows of another form."""
    if not isinstance(rows, list) or not rows:
        raise ValueError("a list of rows is expected")
    if len(inputs) == 1:
        width = inputs[0].shape[1]
        table = np.array(rows, dtype=TYPES[inputs[0].type])
        if table.ndim != 2 or table.shape[1] != width or not np.isfinite(table).all():
            raise ValueError(f"rows of {width} finite numbers are expected")
        return {inputs[0].name: table}
    names = {one.name for one in inputs}
    if not all(isinstance(row, dict) and row.keys() == names for row in rows):
        raise ValueError(f"rows with the columns {', '.join(sorted(names))} are expected")
    return {
        one.name: np.array([[cell(row[one.name], one.type)] for row in rows], TYPES[one.type])
        for one in inputs
    }


def cell(value, kind: str):
    """Return a cell as a graph takes it; null is a missing one."""
    if kind == "tensor(string)":
        return "" if value is None else str(value)
    if value is None and kind in ("tensor(double)", "tensor(float)"):
        return np.nan
    if not isinstance(value, int | float):
        raise ValueError(f"a number is expected, not {value!r}")
    if kind in ("tensor(int64)", "tensor(bool)") and value != TYPES[kind](value):
        raise ValueError(f"a whole number is expected, not {value!r}")
    return value


class Service(BaseHTTPRequestHandler):
    """Requests, answered from sessions that all threads share."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    model: onnxruntime.InferenceSession
    inputs: list
    outputs: list[str]
    watch: onnxruntime.InferenceSession | None = None
    answered, counting = 0, threading.Lock()

    def do_GET(self):  # the name that http.server calls
        if self.path != "/health":
            self.say(404, {"error": "ask GET /health or POST /predict"})
            return
        # The peak that the system's call returns counts the process that started this one.
        lines = Path("/proc/self/status").read_text().splitlines()
        held = next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
        fitted_with = sorted({name.split(".")[0] for name in sys.modules} & {"mercer", "sklearn"})
        self.say(200, {"answered": Service.answered, "bytes": held, "fitted_with": fitted_with})

    def do_POST(self):
        try:
            rows = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["rows"]
            given = feed(self.inputs, rows)
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            self.say(400, {"error": str(error)})
            return
        found = zip(self.outputs, self.model.run(self.outputs, given), strict=True)
        answer = {
            ANSWERS[name]: (np.ravel(part) if np.size(part) == len(rows) else part).tolist()
            for name, part in found
        }
        if self.watch is not None:
            (label,) = self.watch.run(["label"], given)
            answer["unusual"] = float(np.mean(np.ravel(label) < 0))
        with Service.counting:
            Service.answered += len(rows)
        self.say(200, answer)

    def say(self, status, answer):
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *words):
        """Say nothing of single requests."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("watch", nargs="?")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    asked = parser.parse_args()
    Service.model = session(asked.model)
    Service.inputs = Service.model.get_inputs()
    Service.outputs = [one.name for one in Service.model.get_outputs() if one.name in ANSWERS]
    Service.watch = None if asked.watch is None else session(asked.watch)
    # The first process of a container is not ended by a signal that it does not handle.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with ThreadingHTTPServer((asked.host, asked.port), Service) as server:
        print(server.server_port, flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
