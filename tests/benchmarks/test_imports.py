"""Imports among the benchmarks: absolute, without circles, and never mistaken for a library."""

import ast
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): path
    for path in (ROOT / "benchmarks").glob("*/*.py")
}


def imported(source):
    """Yield modules that a source imports, by their names in strings too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and str(node.value).startswith("benchmarks."):
            yield node.value


def order(sources):
    """Return modules after what they import; refuse a circle."""
    graph = {name: set(imported(source)) & set(sources) for name, source in sources.items()}
    return list(TopologicalSorter(graph).static_order())


@pytest.fixture(scope="module")
def sources():
    return {name: path.read_text(encoding="utf-8") for name, path in MODULES.items()}


def test_no_import_leads_back(sources):
    found = order(sources)
    places = [found.index(f"benchmarks.reduced.{name}") for name in ("runs", "page", "quality")]
    assert places == sorted(places)


def test_folders_import_each_other_in_one_direction(sources):
    folders = {}
    for name, source in sources.items():
        used = {module.rpartition(".")[0] for module in imported(source) if module in MODULES}
        folders.setdefault(name.rpartition(".")[0], set()).update(used)
    folders = {folder: used - {folder} for folder, used in folders.items()}
    assert not folders["benchmarks.common"]
    assert next(iter(TopologicalSorter(folders).static_order())) == "benchmarks.common"


def test_a_circle_is_found():
    with pytest.raises(CycleError):
        order({"benchmarks.a": "from b import c", "b": "importlib.import_module('benchmarks.a')"})


def test_no_module_hides_a_library(sources):
    """The folder of a program comes before libraries on its path: ``mercer.py`` would hide ours."""
    names = {path.stem for path in MODULES.values()}
    libraries = {module.split(".")[0] for text in sources.values() for module in imported(text)}
    assert {"data", "mercer", "sklearn"} <= libraries
    assert not names & (libraries | set(sys.stdlib_module_names))
