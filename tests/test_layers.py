"""Imports point down: the rooms of the packages form layers, read from their source."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "mercer"
ABOVE = ROOT / "packages" / "mercer-research" / "src" / "mercer_research"

# From the bottom up. A room imports rooms of lower rows only, so neighbours in a row are strangers.
# The private modules beside the rooms (`_linalg`, `_params`) lie below the first row.
ROWS = (
    ("losses", "kernels", "data"),
    ("regularizers", "gram"),
    ("problems",),
    ("solvers", "smoothing"),
    ("reduced", "programs", "local"),
    ("machines", "preprocessing", "datasets"),
    ("estimators",),
    ("selection", "inspect", "compression", "risk_bounds"),
    ("manifold", "tabular"),
    ("distributed", "plotting", "io"),
)
# The rooms of `mercer_research`, above all of these, in the same way.
RESEARCH = (
    ("kernels", "programs"),
    ("estimators",),
    ("risk_bounds",),
    (
        *("linear", "series", "density", "operators", "diagnostics", "selection", "manifold"),
        *("compression", "noise"),
    ),
    ("fusion", "covering"),
    ("plotting",),
)
LEVEL = {room: level for level, row in enumerate(ROWS, start=1) for room in row} | {
    f"research.{room}": level
    for level, row in enumerate(RESEARCH, start=len(ROWS) + 2)
    for room in row
}
# The library itself imports any room of its own; research is above it.
BOTTOM, FRONT, LEVEL["research"] = 0, len(ROWS) + 0.5, len(ROWS) + 1

# Where a third-party package may appear: the rooms allowed to import it.
FROM_MACHINES_UP = {room for room, level in LEVEL.items() if level >= LEVEL["machines"]}
# The one module that imports private names of scikit-learn, for the rooms that may import any.
DOOR = "_sklearn"
HOMES = {
    "sklearn": FROM_MACHINES_UP | {DOOR, "reduced"},  # k-means for centres
    "pyarrow": {"data"},
    "h5py": {"data"},
    "zarr": {"data"},
    "matplotlib": {"plotting", "research.plotting"},
    "skops": {"io"},
    "onnx": {"io"},
    "skl2onnx": {"io"},
    "onnxruntime": set(),
    "dask": {"distributed"},
    "distributed": {"distributed"},
    "ray": {"distributed"},
    "cvxpy": set(),
    "clarabel": {"programs"},
    # Nobody else asks another machine for anything, or tells it.
    "urllib": {"datasets"},
    "http": {"datasets"},
    **{
        one: set()
        for one in (
            "mercer_studio",
            "socket",
            "ftplib",
            "requests",
            "smtplib",
            "ssl",
            "urllib3",
            "xmlrpc",
        )
    },
}


# Private modules of a room that another room imports all the same, each with its reason.
BORROWED = {
    ("gram.row_store", "kernels._tiles_numba"): "compiled loops live in modules named for numba",
}


class Import(NamedTuple):
    """One imported module: `mercer.losses.base` or `numpy`, where it is imported and how."""

    target: str
    line: int
    inside: tuple[str, ...]  # the functions around it, outermost first


def modules(package: Path) -> dict[str, Path]:
    """Map the dotted name of every module under a package to its file."""
    names = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def imports(
    name: str, path: Path, known: dict[str, Path], *, names: bool = False
) -> Iterator[Import]:
    """Yield what a module imports; `from package import submodule` counts as the submodule.

    With `names`, private names follow the module that they are imported from.
    """
    anchor = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]

    def walk(node: ast.AST, inside: tuple[str, ...]) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(alias.name, child.lineno, inside)
            elif isinstance(child, ast.ImportFrom):
                start = anchor[: len(anchor) - child.level + 1] if child.level else []
                base = ".".join(start + (child.module.split(".") if child.module else []))
                for alias in child.names:
                    longer = f"{base}.{alias.name}"
                    taken = longer in known or (names and alias.name.startswith("_"))
                    yield Import(longer if taken else base, child.lineno, inside)
            elif isinstance(child, ast.Call) and _imports_by_name(child):
                named = child.args[0]
                # A name that is computed, or relative, is taken for one of the same package.
                target = named.value if isinstance(named, ast.Constant) else "."
                target = ".".join(anchor) if target.startswith(".") else target
                yield Import(target, child.lineno, inside)
                yield from walk(child, inside)
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from walk(child, (*inside, child.name))
            else:
                yield from walk(child, inside)

    yield from walk(ast.parse(path.read_text(encoding="utf-8")), ())


def _imports_by_name(call: ast.Call) -> bool:
    name = getattr(call.func, "attr", getattr(call.func, "id", None))
    return name in {"import_module", "__import__", "lazily"} and bool(call.args)


def room_of(name: str) -> str:
    """Return the room of a module: `losses` for `mercer.losses.base`, "" for the package.

    Rooms of `mercer_research` begin with `research`.
    """
    package, room = [*name.split("."), ""][:2]
    return f"research.{room}".rstrip(".") if package == "mercer_research" else room


def level_of(name: str) -> float | None:
    """Return the row of a module's room, and None if the map has no such room."""
    room = room_of(name)
    if room in {"", "__main__"}:
        return FRONT
    return LEVEL.get(room, BOTTOM if room.startswith("_") else None)


def violations(*packages: Path) -> list[str]:
    """List every import that does not point down."""
    known = {name: path for package in packages for name, path in modules(package).items()}
    own = {package.name for package in packages}
    found: list[str] = []
    graph: dict[str, set[str]] = {name: set() for name in known}
    for name, path in known.items():
        if level_of(name) is None:
            found.append(f"{name}: the map has no room {room_of(name)!r}")
            continue
        for target, line, inside in imports(name, path, known):
            where = f"{name}:{line}"
            top = target.split(".")[0]
            if top not in own:
                found += _stranger(name, path, top, where)
                continue
            lazy = path.name == "__init__.py" and inside == ("__getattr__",)
            # What leans on packages of the extras, or takes long to import, is loaded by name, each
            # in one place; whoever asks there is seen as the importer.
            loader = name in {"mercer._optional", "mercer._lazily"}
            lazy |= loader
            if inside and not lazy:
                found.append(f"{where}: {target} is imported inside {inside[-1]}()")
            if not lazy:
                graph[name].add(target)
            if room_of(target) == DOOR and room_of(name) not in FROM_MACHINES_UP:
                found.append(f"{where}: {target} brings scikit-learn to {name}")
            if not loader:
                found += _upward(name, target, where)
    return found + [f"cycle: {' -> '.join(cycle)}" for cycle in _cycles(graph)]


def borrowed(*packages: Path) -> set[tuple[str, str]]:
    """Return the private modules and names that modules import from other rooms."""
    known = {name: path for package in packages for name, path in modules(package).items()}
    own, found = {package.name for package in packages}, set()
    for name, path in known.items():
        for target, _, _ in imports(name, path, known, names=True):
            top, room, *inside = f"{target}.".split(".")
            if top not in own or room.startswith("_") or room_of(target) == room_of(name):
                continue
            if any(part.startswith("_") for part in inside):
                found.add((name.removeprefix("mercer."), target.removeprefix("mercer.")))
    return found


def private(package: Path) -> list[str]:
    """List imports of private modules and names of scikit-learn outside of the one module for them.

    Names of its callbacks, which not every version has, count as private.
    """
    known, found = modules(package), []
    for name, path in known.items():
        for target, line, _ in imports(name, path, known, names=True):
            top, *inside = target.split(".")
            hidden = any(part.startswith("_") for part in inside) or inside[:1] == ["callback"]
            if top == "sklearn" and hidden and room_of(name) != DOOR:
                found.append(f"{name}:{line}: {target}")
    return found


def _stranger(name: str, path: Path, top: str, where: str) -> list[str]:
    if top == "numba":
        home = path.stem.startswith("_") and path.stem.endswith("_numba")
    else:
        home = top not in HOMES or room_of(name) in HOMES[top]
    return [] if home else [f"{where}: {top} does not belong in {name}"]


def _upward(name: str, target: str, where: str) -> list[str]:
    here, there = level_of(name), level_of(target)
    if there is None:
        return [f"{where}: the map has no room {room_of(target)!r}"]
    same_room = room_of(name) == room_of(target) or here == there == BOTTOM
    return [] if same_room or there < here else [f"{where}: {target} is not below {name}"]


def _cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return one cycle for every edge that closes one in a depth-first walk."""
    found: list[list[str]] = []
    done: set[str] = set()

    def visit(node: str, path: list[str]) -> None:
        if node in path:
            found.append([*path[path.index(node) :], node])
        elif node not in done:
            for neighbour in sorted(graph.get(node, ())):
                visit(neighbour, [*path, node])
            done.add(node)

    for node in graph:
        visit(node, [])
    return found


def test_imports_point_down():
    assert violations(PACKAGE, ABOVE) == []


def test_the_library_names_research_in_two_modules():
    # By names in strings modules are loaded on first use, which the reader takes for no imports.
    texts = {p.name: p.read_text(encoding="utf-8") for p in PACKAGE.rglob("*.py")}
    named = {name for name, text in texts.items() if "mercer_research" in text}
    assert named == {"_optional.py", "_version.py"}  # attribute `mercer.research`, what is trusted


def test_one_module_imports_private_names_of_scikit_learn():
    assert private(PACKAGE) + private(ABOVE) == []


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("from sklearn.utils._param_validation import Interval", True),
        ("from sklearn.base import BaseEstimator, _fit_context", True),
        ("import sklearn.svm._classes", True),
        ("from sklearn.svm import _classes", True),
        ("def f():\n    from sklearn.utils import _safe_indexing", True),
        ("import_module('sklearn.utils._sparse')", True),
        ("from sklearn.callback import ProgressBar", True),
        ("from sklearn.base import BaseEstimator\nimport sklearn", False),
    ],
)
def test_private_names_of_scikit_learn_are_seen(tmp_path, source, seen):
    package, _ = make_tree(tmp_path, {"machines/base": source, "_sklearn": source})
    assert [found.split(":")[0] for found in private(package)] == ["mercer.machines.base"] * seen


def test_rooms_import_public_modules_of_other_rooms():
    assert borrowed(PACKAGE, ABOVE) == BORROWED.keys()
    assert len(BORROWED) <= 12


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from mercer.losses._tables import HINGE", {("solvers.smo", "losses._tables")}),
        ("import mercer.losses._tables", {("solvers.smo", "losses._tables")}),
        ("from mercer.losses import _tables", {("solvers.smo", "losses._tables")}),
        ("from mercer.losses.base import _slope", {("solvers.smo", "losses.base._slope")}),
        ("from mercer.solvers._loops import f\nfrom mercer._params import _same", set()),
        (
            "from mercer_research.linear import _model",
            {("solvers.smo", "mercer_research.linear._model")},
        ),
        ("from mercer.losses.base import Loss\nfrom mercer import losses", set()),
    ],
)
def test_private_modules_and_names_of_other_rooms_are_seen(tmp_path, source, expected):
    files = {"losses/_tables": "", "losses/base": "", "solvers/_loops": "", "_params": ""}
    files["mercer_research/linear/_model"] = "from mercer_research.linear import _model"
    assert borrowed(*make_tree(tmp_path, files | {"solvers/smo": source})) == expected


def test_reader_sees_the_package():
    assert "mercer._version" in modules(PACKAGE)


def make_tree(root: Path, files: dict[str, str]) -> tuple[Path, Path]:
    """Write modules of `mercer`, or of `mercer_research` by their names, and return both."""
    packages = root / "mercer", root / "mercer_research"
    for package in packages:
        package.mkdir()
        (package / "__init__.py").touch()
    for name, source in files.items():
        path = (root if name.startswith("mercer_research/") else packages[0]) / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
        for folder in path.relative_to(root).parents[:-1]:
            (root / folder / "__init__.py").touch()
    return packages


def test_a_sound_tree_has_no_violations(tmp_path):
    packages = make_tree(
        tmp_path,
        {
            "_linalg": "import numpy as np\nimport scipy.linalg",
            "_sklearn": "from sklearn.base import _fit_context",
            "_params": "from mercer._linalg import solve",
            "losses/base": "from mercer._params import Params",
            "losses/regression": "from .base import Loss\nfrom .._params import Params",
            "solvers/_smo_numba": "import numba",
            "solvers/smo": "from mercer.losses import base\nfrom ._smo_numba import loop",
            "estimators/svr": "from mercer._sklearn import fit_context\nimport mercer.solvers.smo",
            "plotting/path": "def draw():\n    import matplotlib.pyplot",
            "mercer_research/linear/ridge": "from mercer.estimators.svr import SVR\nimport sklearn",
            "mercer_research/fusion/path": "import mercer_research.linear.ridge",
        },
    )
    (packages[0] / "__init__.py").write_text(
        "import importlib\n"
        "def __getattr__(name):\n"
        "    return getattr(importlib.import_module('mercer.estimators'), name)\n"
    )
    assert violations(*packages) == []


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        ({"losses/base": "import mercer.solvers"}, "mercer.solvers is not below"),
        ({"losses/base": "from .. import solvers", "solvers/base": ""}, "mercer.solvers is not"),
        ({"losses/base": "from mercer.kernels import Gaussian"}, "mercer.kernels is not below"),
        ({"gram/dense": "from ..regularizers.rkhs import RKHS"}, "regularizers.rkhs is not below"),
        ({"selection/search": "import mercer.plotting"}, "mercer.plotting is not below"),
        ({"plotting/model": "import mercer.distributed"}, "mercer.distributed is not"),
        ({"_linalg": "import mercer.losses"}, "mercer.losses is not below"),
        ({"solvers/smo": "from mercer import SVC"}, "mercer is not below"),
        ({"losses/base": "if TYPE_CHECKING:\n    import mercer.gram"}, "mercer.gram is not below"),
        ({"rooms/base": ""}, "the map has no room 'rooms'"),
        ({"io/model": "import mercer_research.linear"}, "mercer_research.linear is not below"),
        ({"io/model": "import mercer_studio.cli"}, "mercer_studio does not belong"),
        ({"__main__": "import mercer_research"}, "mercer_research is not below"),
        (
            {
                "__init__": "def __getattr__(n):\n    from mercer_research.linear import Bridge",
                "mercer_research/linear/bridge": "",
            },
            "mercer_research.linear is not below mercer",
        ),
        (
            {"mercer_research/linear/a": "import mercer_research.fusion"},
            "fusion is not below",
        ),
        (
            {"mercer_research/linear/a": "import mercer_research.density"},
            "density is not below",
        ),
        (
            {"mercer_research/operators/a": "import mercer_research.covering"},
            "covering is not below",
        ),
        ({"risk_bounds": "import mercer_research.covering"}, "covering is not below"),
        ({"mercer_research/fusion/a": "import matplotlib"}, "matplotlib does not belong"),
        ({"mercer_research/rooms/a": ""}, "the map has no room 'research.rooms'"),
        ({"losses/base": "import mercer.rooms"}, "the map has no room 'rooms'"),
        ({"solvers/smo": "def f():\n    import mercer.losses"}, "inside f()"),
        ({"solvers/smo": "def __getattr__(n):\n    import mercer.losses"}, "inside __getattr__()"),
        ({"solvers/smo": "def f(n):\n    return import_module(n)"}, "inside f()"),
        ({"solvers/smo": "def f():\n    import_module('.base', __package__)"}, "inside f()"),
        (
            {"losses/__init__": "def __getattr__(n):\n    import_module('mercer.solvers')"},
            "mercer.solvers is not below",
        ),
        ({"solvers/smo": "def f():\n    import_module('mercer.losses')"}, "inside f()"),
        ({"solvers/smo": "import numba"}, "numba does not belong"),
        ({"solvers/smo": "def f():\n    from numba import njit"}, "numba does not belong"),
        ({"solvers/smo": "def f():\n    from urllib.request import urlopen"}, "urllib does not"),
        (
            {"solvers/base": "from sklearn.exceptions import ConvergenceWarning"},
            "sklearn does not",
        ),
        ({"solvers/smo": "from mercer._sklearn import Range", "_sklearn": ""}, "brings scikit-le"),
        ({"_params": "from mercer._sklearn import Range", "_sklearn": ""}, "brings scikit-learn"),
        ({"estimators/svr": "import matplotlib.pyplot"}, "matplotlib does not belong"),
        ({"gram/far": "import dask.array"}, "dask does not belong"),
        ({"plotting/path": "from distributed import Client"}, "distributed does not belong"),
        ({"solvers/oracle": "import cvxpy"}, "cvxpy does not belong"),
        (
            {"losses/a": "import mercer.losses.b", "losses/b": "from .a import A"},
            "cycle: mercer.losses.a -> mercer.losses.b -> mercer.losses.a",
        ),
        ({"_linalg": "import mercer._params", "_params": "import mercer._linalg"}, "cycle: "),
    ],
)
def test_each_rule_can_fail(tmp_path, files, complaint):
    assert any(complaint in violation for violation in violations(*make_tree(tmp_path, files)))
