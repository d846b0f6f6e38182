"""Imports point down: the rooms of each distribution form layers, read from their source."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "mercer": ROOT / "src" / "mercer",
    "mercer_research": ROOT / "packages" / "mercer-research" / "src" / "mercer_research",
    "mercer_studio": ROOT / "packages" / "mercer-studio" / "src" / "mercer_studio",
}
# From the bottom up. A room imports rooms of lower rows only, so neighbours in a row are strangers.
# Private modules beside the rooms (`_params`) lie below the first row, the package above the last.
ROWS = {
    "mercer": (
        "losses kernels data",
        "regularizers gram",
        "problems",
        "solvers smoothing",
        "reduced programs local",
        "machines preprocessing datasets",
        "estimators",
        "selection inspect compression risk_bounds",
        "manifold tabular",
        "distributed plotting io",
    ),
    "mercer_research": (
        "kernels programs",
        "estimators",
        "risk_bounds",
        "linear series density operators diagnostics selection manifold compression noise",
        "fusion covering",
        "plotting",
    ),
    "mercer_studio": ("reading", "reporting", "cli", "browser"),
}
LEVEL = {
    (package, room): level
    for package, rows in ROWS.items()
    for level, row in enumerate(rows, start=1)
    for room in row.split()
}
# Which packages another one may import: the library stands below both others.
FRONT = 99
BELOW = {"mercer": (), "mercer_research": ("mercer",), "mercer_studio": ("mercer",)}
# Rooms of the library that may import a third-party package, by name; those of research follow, and
# import scikit-learn anywhere. Nobody but `datasets` asks another machine for anything.
FROM_MACHINES_UP = {room for row in ROWS["mercer"][5:] for room in row.split()}
HOMES = {
    "sklearn": FROM_MACHINES_UP | {"_sklearn", "reduced"},  # k-means for centres
    "pyarrow h5py zarr": {"data"},
    "skops onnx skl2onnx": {"io"},
    "dask distributed": {"distributed"},
    "matplotlib": {"plotting"},
    "clarabel": {"programs"},
    "urllib http": {"datasets"},
    "click rich panel bokeh cvxpy onnxruntime ray": set(),
    "socket ssl ftplib smtplib requests urllib3 xmlrpc": set(),
}
HOMES = {name: rooms for names, rooms in HOMES.items() for name in names.split()}
# These load by name, on first use, what leans on packages of the extras or takes long to import.
LOADERS = {"mercer._optional", "mercer._lazily"}


def imports(name: str, tree: ast.AST, package: bool) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what a module imports, `from a import b` as `a.b`, and the functions around it."""
    anchor = name.split(".") if package else name.split(".")[:-1]

    def walk(node: ast.AST, inside: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from ((alias.name, inside) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                start = anchor[: len(anchor) - child.level + 1] if child.level else []
                base = ".".join([*start, *filter(None, [child.module])])
                yield from ((f"{base}.{alias.name}", inside) for alias in child.names)
            elif isinstance(child, ast.Call) and child.args:
                called = getattr(child.func, "attr", getattr(child.func, "id", ""))
                if called in ("import_module", "__import__", "lazily"):
                    named = getattr(child.args[0], "value", ".")
                    target = name if str(named).startswith(".") else str(named)
                    yield target, (*inside, *[called] * (called == "lazily"))
            around = []
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                around = [child.name]
            elif isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                around = ["TYPE_CHECKING"]
            yield from walk(child, (*inside, *around))

    yield from walk(tree, ())


def complaints(packages: dict[str, Path]) -> list[str]:
    """Return every import that does not point down, and every one of what belongs elsewhere."""
    files = {}
    for package, folder in packages.items():
        for path in sorted(folder.rglob("*.py")):
            inside = path.relative_to(folder).with_suffix("").parts
            files[".".join([package, *inside]).removesuffix(".__init__")] = path
    found, graph = [], {name: set() for name in files}
    for name, path in files.items():
        package, room = [*name.split("."), ""][:2]
        here = level(package, room)
        if here == FRONT and room not in ("", "__main__"):
            found.append(f"{name}: the map has no room {room!r}")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for target, inside in imports(name, tree, path.name == "__init__.py"):
            where, (top, *rest) = f"{name} imports {target}", target.split(".")
            other = rest[0] if rest else ""
            lazy = path.name == "__init__.py" and inside == ("__getattr__",)
            lazy |= name in LOADERS or inside == ("lazily",)  # imported on first use
            if top not in ROWS:
                home = room in HOMES.get(top, {room})
                home |= package == "mercer_research" and top == "sklearn"
                hidden = any(part.startswith("_") for part in rest) or other == "callback"
                if package != "mercer_studio" and not home:
                    found.append(f"{where}, which does not belong there")
                if top == "sklearn" and hidden and room != "_sklearn":
                    found.append(f"{where}, which is private")
                continue
            if inside and package == "mercer_studio":
                continue  # a command loads what it needs
            if inside and not lazy and inside != ("TYPE_CHECKING",):
                found.append(f"{where} inside {inside[-1]}()")
            there = level(top, other)
            down = there < here or here == there == 0 or other == room
            if name not in LOADERS and not (down if top == package else top in BELOW[package]):
                found.append(f"{where}, which is not below")
            if target.startswith("mercer._sklearn") and package == "mercer":
                found += [f"{where}: scikit-learn"] * (room not in HOMES["sklearn"])
            foreign = (top, other) != (package, room) and not other.startswith("_")
            if foreign and any(part.startswith("_") for part in rest[1:]):
                found.append(f"{where}, which is private")
            if not lazy:
                graph[name].add(target if target in files else target.rpartition(".")[0])
    while leaves := [name for name, below in graph.items() if not below & graph.keys()]:
        for name in leaves:
            del graph[name]
    return found + [f"a cycle is among {sorted(graph)}"] * bool(graph)


def level(package: str, room: str) -> int:
    """Return the row of a room: 0 for private modules, and the last for the package itself."""
    private = room.startswith("_") and room != "__main__"
    return 0 if private else LEVEL.get((package, room), FRONT)


def test_imports_point_down():
    assert complaints(PACKAGES) == []


def test_the_library_names_research_in_two_modules():
    texts = {p.name: p.read_text(encoding="utf-8") for p in PACKAGES["mercer"].rglob("*.py")}
    named = {name for name, text in texts.items() if "mercer_research" in text}
    assert named == {"_optional.py", "_version.py"}  # attribute `mercer.research`, what is trusted


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        ("mercer/solvers/smo", "from mercer.losses import base\nfrom .base import Solver", ""),
        ("mercer/_linalg", "import numpy\nimport mercer._params", ""),
        ("mercer_research/linear/a", "import sklearn\nfrom mercer import SVC", ""),
        ("mercer/losses/a", "import mercer.solvers", "not below"),
        ("mercer/losses/a", "from ..kernels import Gaussian", "not below"),
        ("mercer/_linalg", "import mercer.losses", "not below"),
        ("mercer/solvers/smo", "from mercer import SVC", "not below"),
        ("mercer/io/a", "import mercer_research.linear", "not below"),
        ("mercer/io/a", "import mercer_studio.cli", "not below"),
        ("mercer_studio/cli/a", "import mercer_studio.browser", "not below"),
        ("mercer_research/linear/a", "import mercer_research.fusion", "not below"),
        ("mercer/rooms/a", "", "the map has no room 'rooms'"),
        ("mercer/solvers/smo", "def f():\n    import mercer.losses", "inside f()"),
        ("mercer/solvers/smo", "def f(n):\n    import_module(n)", "inside f()"),
        ("mercer/solvers/smo", "def f():\n    import_module('mercer.losses')", "inside f()"),
        ("mercer/solvers/smo", "import matplotlib", "does not belong"),
        ("mercer/solvers/smo", "from urllib.request import urlopen", "does not belong"),
        ("mercer/kernels/a", "import sklearn", "does not belong"),
        ("mercer/kernels/a", "from mercer._sklearn import Range", "scikit-learn"),
        ("mercer_research/fusion/a", "import matplotlib", "does not belong"),
        ("mercer/machines/a", "from sklearn.utils import _safe_indexing", "private"),
        ("mercer/solvers/smo", "from mercer.losses._tables import HINGE", "private"),
        ("mercer/losses/a", "import mercer.losses.a", "a cycle"),
    ],
)
def test_each_rule_can_fail(tmp_path, module, source, complaint):
    path = tmp_path / f"{module}.py"
    path.parent.mkdir(parents=True)
    path.write_text(source)
    found = complaints({package: tmp_path / package for package in PACKAGES})
    assert any(complaint in line for line in found) if complaint else found == []
