"""Print what the library weighs: lines, names, types, hooks, and the way through a fit.

``python docs/structure.py`` prints the table of decision 16. Code is counted without blank lines,
comments,
docstrings and imports.
"""

import ast
import io
import re
import sys
import tokenize
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "mercer"
RESEARCH = ROOT / "packages" / "mercer-research" / "src" / "mercer_research"
PRIVATE = re.compile(
    r"^\s*(from sklearn[\w.]*\._|from sklearn[\w.]* import .*\b_|import sklearn[\w.]*\._)", re.M
)


def sources(*packages: Path) -> dict[Path, str]:
    """Return the modules of packages."""
    paths = (path for package in packages for path in sorted(package.rglob("*.py")))
    return {path: path.read_text(encoding="utf-8") for path in paths}


def code_lines(text: str) -> int:
    """Count lines that hold code, but no import."""
    left_out = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom) or (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            left_out.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    silent = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in silent:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - left_out)


def rooms() -> Iterator[str]:
    """Return the rooms of the library."""
    yield from sorted(found.name for found in iter_modules([str(PACKAGE)]) if found.name[0] != "_")


def public_names() -> dict[str, list[str]]:
    """Return the names that each room exports."""
    named = {}
    for room in rooms():
        module = import_module(f"mercer.{room}")
        named[room] = sorted(getattr(module, "__all__", ()))
    return named


def hooks() -> list[str]:
    """Return the underscore methods and properties of the base classes of machines."""
    from mercer.machines.base import KernelMachine

    found = set()
    for cls in KernelMachine.__mro__:
        if cls.__module__.startswith("mercer.machines"):
            for name, own in vars(cls).items():
                if re.match(r"_[a-z]", name) and (
                    callable(own) or isinstance(own, property | classmethod | staticmethod)
                ):
                    found.add(name)
    return sorted(found)


def way(fit: Callable[[], object]) -> tuple[int, int]:
    """Return how many functions of the library, in how many files, a call passes."""
    passed = set()

    def trace(frame: object, event: str, argument: object) -> None:
        code = frame.f_code  # type: ignore[attr-defined]
        own = event == "call" and code.co_filename.startswith(str(PACKAGE))
        if own and not code.co_name.startswith("<"):
            passed.add((code.co_filename, code.co_qualname))

    sys.setprofile(trace)
    try:
        fit()
    finally:
        sys.setprofile(None)
    return len(passed), len({name for name, _ in passed})


def ways() -> dict[str, tuple[int, int]]:
    """Return the ways of three fits, each traced the second time in a process."""
    import numpy as np

    from mercer import SVC, SVR
    from mercer.local import Local

    rng = np.random.default_rng(0)

    def sample(n: int) -> tuple[object, object]:
        X = rng.uniform(size=(n, 2))
        return X, np.sin(6.0 * X[:, 0]) + 0.1 * rng.standard_normal(n)

    X, y = sample(60)
    Z, z = sample(1500)
    U, u = sample(400)
    fits = {
        "SVR().fit, 60 rows": lambda: SVR().fit(X, y),
        "SVR().fit, 1,500 rows": lambda: SVR().fit(Z, z),
        "SVC(approximation=Local(100)), 400 rows": lambda: SVC(approximation=Local(100)).fit(
            U, u > 0
        ),
    }
    counted = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, fit in fits.items():
            fit()
            counted[name] = way(fit)
    return counted


def count() -> dict[str, object]:
    """Return the figures of the table, by what they count."""
    core, whole = sources(PACKAGE), sources(PACKAGE, RESEARCH)
    classes = defaultdict(set)
    for path, text in core.items():
        room = path.relative_to(PACKAGE).parts[0]
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].add(room)
    text = "\n".join(core.values())
    named = public_names()
    import mercer

    return {
        "lines": sum(len(text.splitlines()) for text in whole.values()),
        "lines of code": sum(map(code_lines, whole.values())),
        "lines of code outside research": sum(map(code_lines, core.values())),
        "modules outside research": len(core),
        "public names of rooms outside research": sum(map(len, named.values())),
        "names of the front door": len(mercer.__all__),
        "Any": len(re.findall(r"\bAny\b", text)),
        "machine: Any": len(re.findall(r"\bmachine: Any\b", text)),
        "underscore hooks of the base classes": len(hooks()),
        "files that import private names of scikit-learn": sum(
            bool(PRIVATE.search(text)) for text in whole.values()
        ),
        "class names of three rooms or more": len([n for n, r in classes.items() if len(r) > 2]),
    }


if __name__ == "__main__":
    for what, figure in count().items():
        print(f"{what:50} {figure:>8,}")
    for what, (functions, files) in ways().items():
        print(f"{what:50} {functions:>8} functions in {files} files")
