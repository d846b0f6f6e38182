"""Compiling ahead compiles everything, is kept where the user may write, and is announced."""

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mercer
from snippets import python_blocks

NAMES = """
import json, sys
from numba.core import event

class Names(event.Listener):
    def __init__(self):
        self.names = []
    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        if function.__module__.startswith("mercer"):
            self.names.append(f"{function.__module__}.{function.__name__}")
    def on_end(self, event):
        pass

names = Names()
"""
WARM = """
from importlib import import_module
from pathlib import Path
import mercer
from mercer_studio.cli.warming import compiled, warm

# Also those that no fit of the warming asks for.
root = Path(mercer.__file__).parent
for file in root.rglob("_*_numba.py"):
    import_module(".".join(["mercer", *file.relative_to(root).with_suffix("").parts]))

with event.install_listener("numba:compile", names):
    warm(verbose=False)
public = {name: n for name, n in compiled().items() if not name.split(".")[-1].startswith("_")}
print(json.dumps([names.names, public]))
"""
PROGRAM = """
import contextlib, io
with event.install_listener("numba:compile", names), contextlib.redirect_stdout(io.StringIO()):
    exec(sys.argv[1], {})
print(json.dumps(names.names))
"""


def run(code, folder, *arguments):
    """Run code in a fresh process that keeps what it compiles in a folder, and read its answer."""
    found = subprocess.run(
        [sys.executable, "-c", NAMES + code, *arguments],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder)},
    )
    return json.loads(found.stdout)


@pytest.mark.timeout(900)  # it compiles everything, and starts a process a program
def test_after_warm_neither_it_nor_a_program_of_the_front_door_compiles(tmp_path):
    first, loops = run(WARM, tmp_path)
    assert first
    assert all(loops.values()), [name for name, n in loops.items() if not n]
    again, _ = run(WARM, tmp_path)
    assert again == []
    root = Path(__file__).parents[3]
    programs = [
        source
        for page in (root / "README.md", root / "docs" / "tour.md")
        for _, source in python_blocks(page)
    ]
    assert len(programs) > 5
    assert [run(PROGRAM, tmp_path, source) for source in programs] == [[]] * len(programs)


@pytest.mark.skipif(os.name != "posix", reason="needs a terminal")
@pytest.mark.parametrize("terminal", [True, False])
def test_the_first_compilation_says_one_line_on_a_terminal(tmp_path, terminal):
    code = (
        "from mercer import SVC; import numpy as np; X = np.arange(40.0).reshape(20, 2); "
        "SVC(gamma=1.0, solver='smo').fit(X, X[:, 0] > 19)"
    )
    ours, theirs = pty.openpty()
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment,
        stderr=theirs if terminal else subprocess.PIPE,
    ) as child:
        os.close(theirs)
        if terminal:
            lines = os.read(ours, 10_000).decode().splitlines()
            assert [line.startswith("mercer: compiling loops") for line in lines] == [True]
        else:
            assert child.stderr.read() == b""
    os.close(ours)
    assert child.returncode == 0


def test_an_install_that_cannot_be_written_keeps_its_cache_with_the_user(tmp_path):
    package = tmp_path / "site" / "mercer"
    shutil.copytree(
        Path(mercer.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    for module in package.rglob("_*_numba.py"):
        # Where a file is, no folder can be made: also not by a user who may write everywhere.
        (module.parent / "__pycache__").touch()
    home = tmp_path / "home"
    home.mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment |= {"PYTHONPATH": str(package.parent), "HOME": str(home)}
    environment.pop("XDG_CACHE_HOME", None)
    code = (
        "from mercer import SVC; import mercer, numpy as np; X = np.arange(40.0).reshape(20, 2); "
        "SVC(gamma=1.0, solver='smo').fit(X, X[:, 0] > 19); print(mercer.__file__)"
    )
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert Path(found.stdout.strip()).parent == package
    assert list(home.rglob("_smo_numba.*.nbc"))
