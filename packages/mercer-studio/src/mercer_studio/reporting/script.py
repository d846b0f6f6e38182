"""The script that repeats the fit, and the versions that it was made with."""

from __future__ import annotations

import ast
import hashlib
import platform
import sys
from collections.abc import Iterator, Sequence
from importlib import metadata
from typing import Any

import numpy as np

from mercer._typing import TargetsLike
from mercer._version import __version__
from mercer_studio.reporting.page import Section, number
from mercer_studio.reporting.subject import Subject

PACKAGES = ("numpy", "scipy", "scikit-learn", "matplotlib", "pandas")


def script_section(subject: Subject) -> Section:
    """Show the script that repeats the fit, with versions and a digest of the data."""
    section = Section("The script that repeats it", "script")
    text = script_of(subject.model)
    section.say(
        f"X has {number(subject.n)} rows and {number(len(subject.names))} columns in this order: "
        f"{', '.join(subject.names[:40])}{', …' if len(subject.names) > 40 else ''}."
    ).code(text)
    if not _is_python(text):
        section.warn(
            "Some settings have no text that Python reads, such as functions; put them in by hand."
        )
    rows = [("Python", platform.python_version()), ("mercer", __version__)]
    rows += [(name, metadata.version(name)) for name in PACKAGES if _loaded(name)]
    rows += [("system", f"{platform.system()} {platform.machine()}")]
    rows += [("digest of the targets", hashlib.sha256(_bytes(subject.y)).hexdigest()[:16])]
    return section.table("Versions", ("", ""), rows, 2)


def script_of(
    model: Any,
    imports: Sequence[str] = (),
    before: Sequence[str] = (),
    after: Sequence[str] = ("model.fit(X, y)",),
) -> str:
    """Return a script that makes and fits a model with the same settings, in all their digits.

    Parameters
    ----------
    model : estimator
    imports, before, after : sequence of str
        Lines above the imports, above the line that makes the model, and below it.

    Examples
    --------
    >>> from mercer import SVR
    >>> print(script_of(SVR(C=10.0)))
    from mercer import SVR
    <BLANKLINE>
    model = SVR(C=10.0)
    model.fit(X, y)
    """
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
        made = model.__repr__(N_CHAR_MAX=10**9)
    names = {type(model).__name__}
    if _is_python(made):
        names = {node.id for node in ast.walk(ast.parse(made)) if isinstance(node, ast.Name)}
    homes = dict(_homes(model, set()))
    lines = [f"from {homes[name]} import {name}" for name in sorted(names) if name in homes]
    if numbers := sorted(names & {"array", "nan", "inf"}):
        lines.insert(0, f"from numpy import {', '.join(numbers)}")
    return "\n".join([*imports, *lines, "", *before, f"model = {made}", *after])


def _homes(found: object, seen: set[int]) -> Iterator[tuple[str, str]]:
    """Yield the classes inside settings, each with the shortest module that has it."""
    if id(found) in seen:
        return
    seen.add(id(found))
    kind = type(found)
    if isinstance(found, list | tuple):
        for one in found:
            yield from _homes(one, seen)
    elif isinstance(found, dict):
        for one in found.values():
            yield from _homes(one, seen)
    elif kind.__module__ != "builtins" and not isinstance(found, np.ndarray | np.generic):
        parts = kind.__module__.split(".")
        modules = [".".join(parts[:k]) for k in range(1, len(parts) + 1)]
        yield kind.__name__, next(m for m in modules if _has(m, kind))
        inner = found.get_params(deep=False) if hasattr(found, "get_params") else vars(found)
        for one in inner.values():
            yield from _homes(one, seen)


def _has(module: str, kind: Any) -> bool:
    # A class that is here was imported, and with it all packages around its module.
    return getattr(sys.modules[module], kind.__name__, None) is kind


def _is_python(text: str) -> bool:
    try:
        compile(text, "script", "exec")
    except SyntaxError:
        return False
    return True


def _loaded(name: str) -> bool:
    return {"scikit-learn": "sklearn"}.get(name, name) in sys.modules


def _bytes(y: TargetsLike) -> bytes:
    y = np.asarray(y)
    return y.tobytes() if y.dtype.kind in "iufb" else "\n".join(map(str, y)).encode()
