"""Public names and their signatures, read from the library as a table of strings."""

import contextlib
import enum
import inspect
import json
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

import mercer
import mercer_research

STORED = Path(__file__).with_name("signatures.json")


NEEDED = {
    "mercer.distributed": "dask",
    "mercer.plotting": "matplotlib",
    "mercer_research.plotting": "matplotlib",
}
"""Packages without which a room cannot be loaded."""


def absent() -> list[str]:
    """Return the rooms whose package is not installed."""
    return [room for room, package in NEEDED.items() if find_spec(package) is None]


def rooms() -> list[str]:
    """Return the library and its rooms, new ones too, as far as they can be loaded."""
    inside = ((mercer.__path__, "mercer."), (mercer_research.__path__, "mercer_research."))
    modules = [found.name for place in inside for found in iter_modules(*place)]
    public = [name for name in modules if not name.partition(".")[2].startswith("_")]
    return [name for name in ["mercer", *public] if name not in absent()]


def public_names() -> Iterator[tuple[str, Any]]:
    """Yield every exported name, ``mercer.SVR`` as well as ``mercer.estimators.SVR``."""
    for module in rooms():
        loaded = import_module(module)
        for name in getattr(loaded, "__all__", []):
            yield f"{module}.{name}", getattr(loaded, name)


def estimators() -> dict[type, list[str]]:
    """Return every exported class that can be fitted, with all of its public names."""
    found: dict[type, list[str]] = {}
    for name, value in public_names():
        fits = inspect.isclass(value) and callable(getattr(value, "fit", None))
        if fits and not value.__module__.startswith("mercer.machines."):
            found.setdefault(value, []).append(name)
    return found


def _default(value: Any) -> str:
    """Write a default without a module or an address, which may change."""
    if inspect.isclass(value) or inspect.isroutine(value):
        return value.__name__
    return repr(value)


def _parameter(parameter: inspect.Parameter) -> str:
    if parameter.default is inspect.Parameter.empty:
        return parameter.name
    return f"{parameter.name}={_default(parameter.default)}"


def signature(function: Any) -> str:
    """Write a signature without annotations, its keyword-only parameters in alphabetical order."""
    parameters = list(inspect.signature(function).parameters.values())
    kinds = [parameter.kind for parameter in parameters]
    written = [_parameter(p) for p in parameters if p.kind is p.POSITIONAL_ONLY]
    if written:
        written.append("/")
    written += [_parameter(p) for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    rest = [f"*{p.name}" for p in parameters if p.kind is p.VAR_POSITIONAL]
    if inspect.Parameter.KEYWORD_ONLY in kinds:
        written += rest or ["*"]
        written += sorted(_parameter(p) for p in parameters if p.kind is p.KEYWORD_ONLY)
    else:
        written += rest
    written += [f"**{p.name}" for p in parameters if p.kind is p.VAR_KEYWORD]
    return f"({', '.join(written)})"


def _constructor(cls: type) -> str:
    """Write the constructor of a class; Python's own constructors differ between its versions."""
    if issubclass(cls, enum.Enum):
        return f"enumeration {sorted(cls.__members__)}"
    if getattr(cls, "_is_protocol", False):
        return "protocol"
    if not (inspect.isfunction(cls.__init__) or inspect.isfunction(cls.__new__)):
        return "class"
    return signature(cls)


def describe(value: Any) -> str:
    """Write the kind of a public value, and the signature of a class or a function."""
    if isinstance(value, ModuleType):
        return "module"
    if inspect.isclass(value):
        return _constructor(value)
    if inspect.isroutine(value):
        return signature(value)
    if isinstance(value, dict):
        return f"dict {sorted(value)}"
    return "value"


def _methods(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods of a class that this library defines, inherited or not."""
    for name, method in inspect.getmembers(cls, inspect.isroutine):
        if not name.startswith("_") and (method.__module__ or "").startswith("mercer"):
            yield name, method


def table() -> dict[str, str]:
    """Return the description of every public name and of every method of an estimator."""
    rows = {name: describe(value) for name, value in public_names()}
    for cls, names in estimators().items():
        for method, function in _methods(cls):
            rows[f"{names[0]}.{method}"] = signature(function)
    return dict(sorted(rows.items()))


def _find(name: str) -> Any:
    """Return the object behind a public name, wherever its definition has moved."""
    package, *parts = name.split(".")
    value = import_module(package)
    for part in parts:
        if isinstance(value, ModuleType) and f"{value.__name__}.{part}" in rooms():
            value = import_module(f"{value.__name__}.{part}")
        else:
            value = getattr(value, part)
    return value


def found(names: Iterable[str]) -> dict[str, str]:
    """Return the descriptions of those names that the library still answers to."""
    rows = {}
    for name in names:
        with contextlib.suppress(AttributeError):
            rows[name] = describe(_find(name))
    return rows


def differences(stored: dict[str, str], found: dict[str, str]) -> list[str]:
    """Return a sentence for every stored name that is gone or changed; a new name is no change."""
    lines = []
    for name, before in stored.items():
        now = found.get(name)
        if now is None:
            lines.append(f"{name} is gone")
        elif now != before:
            lines.append(f"{name}{before} is now {now}")
    return lines


def read() -> dict[str, str]:
    """Return the stored table, without the names of rooms that cannot be loaded."""
    out = tuple(f"{room}." for room in absent())
    rows = json.loads(STORED.read_text())
    return {name: row for name, row in rows.items() if not name.startswith(out)}


def write() -> None:
    """Store the library as it is: its names, and former names that it still answers to."""
    rows = dict(sorted((found(read()) | table()).items()))
    STORED.write_text(json.dumps(rows, indent=0, ensure_ascii=False) + "\n")
