"""Compile the loops with sanitizers of addresses and undefined behavior, and run their tests.

``sanitize.py [PYTEST ARGUMENTS]`` builds in build/sanitize; the module takes the place of the
installed one in a process that has the sanitizer's library loaded first.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "sanitize"
TOOLS = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}

RUN = """
import importlib.util, sys
import pytest
spec = importlib.util.spec_from_file_location("mercer._native", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules["mercer._native"] = module
spec.loader.exec_module(module)
import mercer
mercer._native = module
sys.exit(pytest.main(sys.argv[2:]))
"""


def build() -> Path:
    """Compile the module with sanitizers, and return its file."""
    options = ["-DMERCER_SANITIZE=ON", "-DCMAKE_BUILD_TYPE=RelWithDebInfo"]
    python = f"-DPython_EXECUTABLE={sys.executable}"
    source = str(ROOT / "src" / "mercer" / "native")
    configure = ["cmake", "-G", "Ninja", "-S", source, "-B", str(BUILD), python, *options]
    for command in (configure, ["cmake", "--build", str(BUILD)]):
        subprocess.run(command, check=True, env=TOOLS)
    return next(BUILD.glob("_native.*"))


def library(name: str) -> str:
    """Return the file of a library of the compiler."""
    command = ["g++", f"-print-file-name={name}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def main() -> int:
    """Run the tests of the loops, or those that are named."""
    module = build()
    # With the library of C++ the sanitizer finds at its start what throws exceptions, which it
    # watches; Python loads it later.
    libraries = " ".join(library(name) for name in ("libasan.so", "libstdc++.so"))
    # Python itself keeps memory until its end; nothing of it is a leak of a loop.
    settings = {"LD_PRELOAD": libraries, "ASAN_OPTIONS": "detect_leaks=0"}
    settings["UBSAN_OPTIONS"] = "halt_on_error=1:print_stacktrace=1"
    # Reports are written below Python, and would be lost with what pytest keeps.
    tests = ["--capture=sys", *(sys.argv[1:] or ["-q", "tests/native"])]
    command = [sys.executable, "-c", RUN, str(module), *tests]
    return subprocess.run(command, env=os.environ | settings, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
