"""A small service: one graph of ONNX behind HTTP, with onnxruntime, NumPy and the standard library.

``server.py model.onnx [watch.onnx]`` prints its port, and answers
``POST /predict {"rows": [[...], ...]}`` with ``{"predictions": [...]}``, and with ``"unusual"``,
the share of the rows unlike those of the fit, if there is a second graph that scores them.
``GET /health`` says what the process has done and takes. It needs none of the libraries that the
model was fitted with.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import onnxruntime


def session(path: str) -> onnxruntime.InferenceSession:
    """Open a graph for one thread a request: requests are what runs side by side."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options)


class Service(BaseHTTPRequestHandler):
    """Requests, answered from sessions that all threads share."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    model: onnxruntime.InferenceSession
    watch: onnxruntime.InferenceSession | None = None
    answered, counting = 0, threading.Lock()

    def do_GET(self):  # the name that http.server calls
        # The peak that the system's call returns counts the process that started this one.
        lines = Path("/proc/self/status").read_text().splitlines()
        held = next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
        fitted_with = sorted({name.split(".")[0] for name in sys.modules} & {"mercer", "sklearn"})
        self.say(200, {"answered": Service.answered, "bytes": held, "fitted_with": fitted_with})

    def do_POST(self):
        try:
            text = self.rfile.read(int(self.headers["Content-Length"]))
            name, width = self.model.get_inputs()[0].name, self.model.get_inputs()[0].shape[1]
            rows = np.array(json.loads(text)["rows"], dtype=np.float64)
            if rows.ndim != 2 or rows.shape[1] != width or not np.isfinite(rows).all():
                raise ValueError(f"rows of {width} finite numbers are expected")
        except (KeyError, TypeError, ValueError) as error:
            self.say(400, {"error": str(error)})
            return
        answer = {"predictions": np.ravel(self.model.run(None, {name: rows})[0]).tolist()}
        if self.watch is not None:
            (label,) = self.watch.run(["label"], {name: rows})
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


def main(model: str, watch: str | None = None) -> None:
    Service.model, Service.watch = session(model), None if watch is None else session(watch)
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        print(server.server_port, flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
