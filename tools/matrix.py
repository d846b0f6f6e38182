"""Environments of each Python with the lowest and the newest dependencies, and tests in each.

``matrix.py`` builds the wheels, one for Python 3.11 and one for all later Pythons, or takes those
of a folder (``--wheels``): then no compiler is needed. For each Python it makes an environment from
the lowest releases that `pyproject.toml` allows and one from the newest, installs the wheel, runs
README and the quick tests, and prints a table of what was installed and how each ended. Pythons are
those on the path, a Python that is not there is left out, and so is a dependency without a wheel
for it. Arguments after ``--`` go to pytest instead of the quick tests: ``matrix.py --pythons 3.13
--releases lowest -- tests/losses``. What passed is not run again at the same commit; ``--recorded``
runs nothing, shows what was found last, and writes it to ``tools/matrix.md``, as a run of all
environments does.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from distributions import repair

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "matrix"
TABLE = ROOT / "tools" / "matrix.md"
PYTHONS = ("3.11", "3.12", "3.13", "3.14", "3.15")
RELEASES = {"lowest": "lowest-direct", "newest": "highest"}
OWN = ("mercer", "mercer-studio", "mercer-research")
EXTRAS = ("test", "plot", "cluster", "data", "io", "onnx")
PACKAGES = ("packages/mercer-studio", "packages/mercer-research")
PROJECTS = ("pyproject.toml", *(f"{one}/pyproject.toml" for one in PACKAGES))
QUICK = ("tests", "-m", "not slow and not nightly")  # doctests would import the source
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
# Old releases warn of each other, and fewer of scikit-learn's checks may fail than with the newest.
LENIENT = ("-o", "xfail_strict=false", "-o", "filterwarnings=default")


# A Python that is not here is asked for, not downloaded.
SETTINGS = os.environ | {"UV_PYTHON_DOWNLOADS": "never"}


def uv(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "uv", *arguments], cwd=ROOT, check=True, env=SETTINGS)


def succeeds(*arguments: str) -> bool:
    command = [sys.executable, "-m", "uv", *arguments]
    return not subprocess.run(command, cwd=ROOT, capture_output=True, env=SETTINGS).returncode


def interpreter(place: Path) -> Path:
    return place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def wheels(pythons: list[str]) -> Path:
    """Build the wheels that the environments install, and return their folder."""
    folder = FOLDER / "wheels"
    for old in folder.glob("*.whl"):
        old.unlink()
    what = ("--quiet", "--wheel", "--all-packages", "--out-dir", str(folder))
    # The stable ABI begins with Python 3.12: its wheel serves all that follow.
    later = [python for python in pythons if python != "3.11"]
    for python in dict.fromkeys([*pythons[:1], *later[:1]]):
        uv("build", *what, "--python", python)
    repair(folder)
    return folder


def environment(python: str, releases: str, built: Path) -> tuple[Path, list[str]]:
    """Make one environment; return its interpreter and the dependencies without a wheel for it."""
    place = FOLDER / f"{python}-{releases}"
    uv("venv", "--quiet", "--clear", "--python", python, str(place))
    # Pins are resolved from pyproject.toml, whose bounds they are to show to be true.
    pins = FOLDER / f"{python}-{releases}.txt"
    chosen = ("--resolution", RELEASES[releases], "--only-binary", ":all:")
    bounds = pins.with_suffix(".in")
    asked = ("--quiet", "--no-header", "--no-annotate", "--python-version", python)
    resolve = ("pip", "compile", *asked, *chosen, str(bounds), "-o", str(pins))
    missing = []
    bounds.write_text("\n".join(requirements()), encoding="utf-8")
    if not succeeds(*resolve):
        for requirement in requirements():
            bounds.write_text(requirement, encoding="utf-8")
            if not succeeds(*resolve):
                missing.append(requirement)
        kept = [each for each in requirements() if each not in missing]
        bounds.write_text("\n".join(kept), encoding="utf-8")
        uv(*resolve)
    target = ("--quiet", "--python", str(interpreter(place)))
    uv("pip", "install", *target, "-r", str(pins))
    own = ("--no-deps", "--no-index", "--reinstall", "--find-links", str(built))
    uv("pip", "install", *target, *own, *OWN)
    return interpreter(place), [name_of(each) for each in missing]


def name_of(requirement: str) -> str:
    return re.match(r"[\w-]+", requirement)[0]


def requirements() -> list[str]:
    """Return what the distributions of this tree require of others, the core first."""
    asked = []
    for path in PROJECTS:
        project = tomllib.loads((ROOT / path).read_text(encoding="utf-8"))["project"]
        extras = project["optional-dependencies"]
        asked += project["dependencies"]
        asked += [one for extra in (*EXTRAS, "studio") for one in extras.get(extra, ())]
    return [one for one in dict.fromkeys(asked) if not one.startswith("mercer")]


def names() -> list[str]:
    """Return the distributions that those of this tree require."""
    return list(dict.fromkeys(map(name_of, requirements())))


def installed(python: Path) -> dict[str, str]:
    """Return the versions of an environment, by what its interpreter says."""
    code = (
        "import json, platform, re; from importlib.metadata import distribution, distributions;"
        "found = {d.name.lower().replace('_', '-'): d.version for d in distributions()};"
        "tags = re.findall('Tag: (.*)', distribution('mercer').read_text('WHEEL'));"
        "print(json.dumps(found | {'python': platform.python_version(), 'wheel': tags[0]}))"
    )
    done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def outcome(python: Path, missing: list[str], *arguments: str) -> str:
    """Run tests with the installed wheel, say how they go in a log, and return the last line.

    Modules of tests are skipped that import a dependency without a wheel for this Python.
    """
    command = [python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *arguments]
    place = python.parents[1]
    log = place.with_name(f"{place.name}.log")
    print(f"{place.name}: {log.relative_to(ROOT)}", flush=True)
    with log.open("w") as out:
        settings = os.environ | ONE_THREAD | {"MERCER_WITHOUT": " ".join(missing)}
        done = subprocess.run([*map(str, command)], cwd=ROOT, env=settings, stdout=out)
    printed = log.read_text(encoding="utf-8")
    if done.returncode:
        print(printed)
    *_, last = printed.splitlines() or ["nothing was said"]
    ending = re.sub(r" in [0-9.]+s.*", "", last.strip("= "))
    return f"FAILED: {ending}" if done.returncode else ending


def table(columns: dict[str, dict[str, str]], rows: list[str]) -> str:
    """Return a Markdown table, a column an environment.

    Examples
    --------
    >>> print(table({"a": {"numpy": "2.0"}, "b": {}}, ["numpy"]))
    |  | a | b |
    | --- | --- | --- |
    | numpy | 2.0 |  |
    """
    lines = [["", *columns], ["---"] * (1 + len(columns))]
    lines += [[row, *(found.get(row, "") for found in columns.values())] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def commit() -> str:
    """Return the name of the commit, with a mark if files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def column(
    python: str, releases: str, built: Path, arguments: list[str], key: dict
) -> dict[str, dict]:
    """Make an environment and test in it, or return what was found before if it had passed."""
    before = recorded(python, releases)
    known = before["key"] == key and not key["commit"].endswith("-dirty")
    if known and not failed(before["found"]):
        return before
    place, missing = environment(python, releases, built)
    found = installed(place) | dict.fromkeys(missing, "no wheel")
    lenient = LENIENT if releases == "lowest" else ()
    found["README"] = outcome(place, missing, "tests/test_readme.py", *lenient)
    found["tests"] = outcome(place, missing, *arguments, *lenient)
    record = {"key": key, "found": found}
    text = json.dumps(record, indent=1)
    (FOLDER / f"{python}-{releases}.json").write_text(text, encoding="utf-8")
    return record


def recorded(python: str, releases: str) -> dict[str, dict]:
    """Return what was found last in an environment, and what was asked there."""
    record = FOLDER / f"{python}-{releases}.json"
    if not record.exists():
        return {"key": {}, "found": {}}
    return json.loads(record.read_text(encoding="utf-8"))


def failed(found: dict[str, str]) -> bool:
    return any("FAILED" in value for value in found.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pythons", nargs="+", default=PYTHONS)
    parser.add_argument("--releases", nargs="+", choices=RELEASES, default=list(RELEASES))
    parser.add_argument("--jobs", default="2", help="processes of the tests")
    parser.add_argument("--wheels", type=Path, help="a folder of wheels to install")
    parser.add_argument("--recorded", action="store_true", help="run nothing")
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    given = parser.parse_args(sys.argv[1:end])
    FOLDER.mkdir(parents=True, exist_ok=True)
    chosen = sys.argv[end + 1 :] or QUICK
    key = {"commit": commit(), "tests": [*chosen]}
    rows = ["python", "wheel", "commit", *names(), "README", "asked", "tests"]
    columns = {}
    built = given.wheels
    pythons = given.pythons
    if not given.recorded:
        pythons = [python for python in pythons if succeeds("python", "find", python)]
        built = built or wheels(pythons)
    for python in pythons:
        for releases in given.releases:
            if given.recorded:
                record = recorded(python, releases)
            else:
                record = column(python, releases, built, ["-n", given.jobs, *chosen], key)
            if record["found"]:
                asked = " ".join(record["key"]["tests"])
                about = {"commit": record["key"]["commit"], "asked": f"`{asked}`"}
                columns[f"{python} {releases}"] = record["found"] | about
                print(table(columns, rows), flush=True)
    whole = chosen == QUICK and len(columns) == len(PYTHONS) * len(RELEASES)
    if columns and (given.recorded or whole):
        TABLE.write_text(table(columns, rows) + "\n", encoding="utf-8")
    sys.exit(any(map(failed, columns.values())))


if __name__ == "__main__":
    main()
