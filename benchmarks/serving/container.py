"""The steps of the Dockerfile in a fresh environment, where no container can be run.

Wheels are downloaded to a folder, the instructions of the Dockerfile are carried out one after the
other with an empty virtual environment in the place of the image, the health check is asked before,
while and after the service runs, and an answer is compared with the model. ``image.py`` builds and
runs the image itself.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from pathlib import Path

import numpy as np

from mercer import AutoRegressor, io
from mercer.datasets import load_auto_mpg

HERE = Path(__file__).parent


def instructions(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile with their arguments, lines joined."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ").splitlines()
    return [tuple(line.split(None, 1)) for line in joined]


def command(arguments: str) -> list[str]:
    """Return the command that a RUN, CMD or HEALTHCHECK runs, without options of the build."""
    words = arguments.partition("[")
    if words[1]:
        return json.loads("[" + words[2])
    return [word for word in shlex.split(arguments) if not word.startswith("--mount")]


class Image:
    """A folder that stands for an image: its files, and an environment with its packages."""

    def __init__(self, folder: Path, python: Path, wheels: Path) -> None:
        self.folder, self.python, self.wheels = folder, python, wheels
        self.check: list[str] = []
        self.start: list[str] = []

    def here(self, words: list[str]) -> list[str]:
        """Return a command with the paths and names of this machine."""
        known = {"python": [str(self.python)], "pip": [str(self.python), "-m", "pip"]}
        first, *rest = words
        return known[first] + [str(self.wheels) if word == "/wheels" else word for word in rest]

    def run(self, words: list[str]) -> int:
        # Neither an index nor links of this machine's settings: wheels of the folder alone.
        clean = {"PATH": os.environ["PATH"], "PIP_CONFIG_FILE": os.devnull}
        done = subprocess.run(self.here(words), cwd=self.folder, env=clean, capture_output=True)
        return done.returncode

    def carry_out(self, name: str, arguments: str, context: Path) -> None:
        """Carry out an instruction."""
        if name == "COPY":
            for source in shlex.split(arguments)[:-1]:
                shutil.copy(context / source, self.folder)
        elif name == "RUN":
            assert self.run(command(arguments)) == 0, arguments
        elif name == "HEALTHCHECK":
            self.check = command(arguments)
        elif name == "CMD":
            self.start = command(arguments)
        else:
            assert name in ("FROM", "WORKDIR", "ENV", "USER", "EXPOSE"), name
        print(name, arguments.split("[")[0][:70], flush=True)


def fitted(context: Path):
    """Fit a model, write its graph and what the image needs, and return model and rows."""
    cars = load_auto_mpg(as_frame=True)
    model = AutoRegressor(members=["laplacian", "gaussian"]).fit(cars.data, cars.target)
    graph = io.to_onnx(model, cars.data.head())
    (context / "model.onnx").write_bytes(graph.SerializeToString())
    for name in ("server.py", "requirements.txt"):
        shutil.copy(HERE / name, context)
    return model, cars.data


def asked(rows) -> dict:
    """Ask the service for predictions."""
    body = json.dumps({"rows": rows}).encode()
    request = urllib.request.Request("http://127.0.0.1:8000/predict", body)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read())


def compare(model, X) -> None:
    """Ask the service for every row, and compare its answers with the model's."""
    rows = json.loads(X.to_json(orient="records"))
    answer = asked(rows)
    for name, true in (
        ("predictions", model.predict(X)),
        ("lower", model.predict_interval(X)[:, 0]),
        ("upper", model.predict_interval(X)[:, 1]),
    ):
        apart = np.max(np.abs(np.array(answer[name]) - true)) / np.std(true)
        print(f"{name}: {len(rows)} rows, at most {apart:.1e} deviations apart")
        assert apart < 1e-10, name


def download(folder: Path, *options: str) -> None:
    """Fill a folder with the wheels that the service needs."""
    wanted = ("--only-binary", ":all:", "--requirement", str(HERE / "requirements.txt"))
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(folder))
    subprocess.run([*pip, *wanted, *options], check=True)


def serve_and_compare(image: Image, model, X) -> None:
    """Start the service, ask it and its health check, end it."""
    assert image.run(image.check) != 0, "the health check passes without a service"
    process = subprocess.Popen(image.here(image.start), cwd=image.folder, stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline().strip() == b"8000"
        assert image.run(image.check) == 0, "the health check fails"
        compare(model, X)
    finally:
        process.terminate()
    assert process.wait(timeout=20) == 0, "the service does not end when it is asked to"
    assert image.run(image.check) != 0, "the health check passes after the end"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheels", type=Path, help="a folder of wheels instead of a download")
    wheels = parser.parse_args().wheels
    with tempfile.TemporaryDirectory() as name:
        context, root = Path(name) / "context", Path(name) / "image"
        context.mkdir(), root.mkdir()
        if wheels is None:
            wheels = context / "wheels"
            download(wheels)
        print(f"{len(list(wheels.glob('*.whl')))} wheels")
        model, X = fitted(context)
        venv.create(Path(name) / "venv", with_pip=True)
        image = Image(root, Path(name) / "venv" / "bin" / "python", wheels.resolve())
        began = time.perf_counter()
        for one, arguments in instructions((HERE / "Dockerfile").read_text()):
            image.carry_out(one, arguments, context)
        print(f"built in {time.perf_counter() - began:.0f} s")
        serve_and_compare(image, model, X)


if __name__ == "__main__":
    main()
