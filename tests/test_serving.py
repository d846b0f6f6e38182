"""The service of a graph: what it answers and refuses, and the commands of its Dockerfile."""

import http.client
import json
import shlex
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mercer import AutoClassifier, AutoRegressor
from mercer.io import to_onnx

HERE = Path(__file__).resolve().parents[1] / "examples" / "serving"


def instructions(text):
    """Return the instructions of a Dockerfile with their arguments, lines joined."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [
        tuple(line.split(None, 1)) for line in "\n".join(lines).replace("\\\n", " ").splitlines()
    ]


def command(arguments):
    """Return the command that a RUN, CMD or HEALTHCHECK runs, without options of the build."""
    words = arguments.partition("[")
    if words[1]:
        return json.loads("[" + words[2])
    return [word for word in shlex.split(arguments) if not word.startswith("--mount")]


RNG = np.random.default_rng(0)
X = pd.DataFrame({"size": RNG.normal(size=60), "kind": RNG.choice(["a", "b"], 60)})
X["count"] = RNG.integers(0, 5, 60)
X.loc[3, "size"] = np.nan
Y = X["size"].fillna(0.0) + (X.kind == "a")
DOCKERFILE = dict(instructions((HERE / "Dockerfile").read_text()))


@contextmanager
def served(model, folder, sample=X, start=("python", "server.py", "model.onnx")):
    """Run the service in a process of its own, and yield its port and a function that asks it."""
    (folder / "model.onnx").write_bytes(to_onnx(model, sample).SerializeToString())
    words = [sys.executable, "-I", str(HERE / start[1]), str(folder / start[2]), *start[3:]]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            port = int(process.stdout.readline())
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

            def ask(rows=None, path="/health"):
                if rows is None:
                    connection.request("GET", path)
                else:
                    connection.request("POST", "/predict", json.dumps({"rows": rows}))
                answer = connection.getresponse()
                return answer.status, json.loads(answer.read())

            with closing(connection):
                yield port, ask
        finally:
            process.terminate()
    assert process.returncode == 0  # ended when it was asked to


def test_a_table_of_words_gaps_and_numbers(tmp_path):
    model = AutoRegressor(members=["gaussian"]).fit(X, Y)
    rows = json.loads(X.to_json(orient="records"))
    assert rows[3]["size"] is None
    with served(model, tmp_path) as (_, ask):
        status, answer = ask(rows)
        assert status == 200
        found = np.column_stack([answer["predictions"], answer["lower"], answer["upper"]])
        true = np.column_stack([model.predict(X), model.predict_interval(X)])
        np.testing.assert_allclose(found, true, rtol=0, atol=1e-9)
        for wrong in (
            [],
            [[1.0, "a", 2]],
            [{"size": 1.0, "kind": "a"}],
            [{"size": "much", "kind": "a", "count": 1}],
            [{"size": 1.0, "kind": "a", "count": 1.5}],
        ):
            status, answer = ask(wrong)
            assert (status, list(answer)) == (400, ["error"]), wrong
        assert ask(path="/elsewhere")[0] == 404
        status, health = ask()
        assert status == 200
        assert (health["answered"], health["fitted_with"]) == (60, [])


def test_the_runtime_is_told_to_report_nothing(tmp_path, monkeypatch):
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    for place in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(place, str(tmp_path / place))
        (tmp_path / place).mkdir()
    with served(AutoRegressor(members=["gaussian"]).fit(X, Y), tmp_path) as (_, ask):
        assert ask()[0] == 200
    # Where it reports, it keeps an identifier of the machine.
    assert [*(tmp_path / "HOME").rglob("*"), *(tmp_path / "XDG_CACHE_HOME").rglob("*")] == []
    assert "ENV ORT_DISABLE_TELEMETRY=1" in (HERE / "Dockerfile").read_text().splitlines()


def test_classes_have_labels_and_probabilities(tmp_path):
    labels = np.where(Y > 0.5, "more", "less")
    model = AutoClassifier(members=["squares-gaussian"]).fit(X, labels)
    with served(model, tmp_path) as (_, ask):
        answer = ask(json.loads(X.head().to_json(orient="records")))[1]
    assert answer["predictions"] == model.predict(X.head()).tolist()
    np.testing.assert_allclose(answer["probabilities"], model.predict_proba(X.head()), atol=1e-9)


def test_the_dockerfile_copies_what_there_is_and_asks_no_network():
    text = (HERE / "Dockerfile").read_text()
    copied = [a.split()[:-1] for name, a in instructions(text) if name == "COPY"]
    made = {"model.onnx"}
    assert all((HERE / one).exists() for part in copied for one in part if one not in made)
    run = command(DOCKERFILE["RUN"])
    assert run[:2] == ["pip", "install"]
    assert {"--no-index", "--find-links"} <= set(run)
    assert int(DOCKERFILE["USER"]) > 0  # not root


def test_its_health_check_tells_a_service_from_none(tmp_path):
    model = AutoRegressor(members=["gaussian"]).fit(X, Y)
    check, start = command(DOCKERFILE["HEALTHCHECK"]), command(DOCKERFILE["CMD"])
    assert start[:3] == ["python", "server.py", "model.onnx"]
    assert start[-1] == DOCKERFILE["EXPOSE"]
    # Any free port instead of the container's, which may be taken here.
    words = [*start[:-1], "0"]

    def healthy(port):
        code = check[2].replace(f":{start[-1]}/", f":{port}/")
        assert str(port) in code
        return subprocess.run([sys.executable, *check[1:2], code], capture_output=True).returncode

    with served(model, tmp_path, start=words) as (port, _):
        assert healthy(port) == 0
    assert healthy(port) != 0


@pytest.mark.parametrize("line", ["RUN a \\\n  b", "# RUN\n\nRUN a  b"])
def test_lines_of_a_dockerfile_are_joined(line):
    assert [(name, a.split()) for name, a in instructions(line)] == [("RUN", ["a", "b"])]
