"""Imports among the modules of the benchmarks: none leads back to where it started."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def order(sources):
    """Return modules after what they import, by name in a function too; refuse a circle."""
    graph = {name: set() for name in sources}
    for name, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                graph[name] |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                graph[name].add(node.module)
            elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "import_module":
                graph[name] |= {getattr(argument, "value", None) for argument in node.args}
    return list(TopologicalSorter(graph).static_order())


def test_no_import_leads_back():
    sources = {path.stem: path.read_text(encoding="utf-8") for path in BENCHMARKS.glob("*.py")}
    found = order(sources)
    assert found.index("scale_runs") < found.index("scale_page") < found.index("scale_quality")


def test_a_circle_is_found():
    with pytest.raises(CycleError):
        order({"a": "from b import c", "b": "importlib.import_module('a')"})
