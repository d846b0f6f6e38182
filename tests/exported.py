"""What the packages export, for suites that run over all estimators.

A suite that gives some machines settings of their own takes the others from here, so that a new
machine is in all of them without being named.
"""

import inspect
from collections.abc import Collection
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules

from sklearn.base import BaseEstimator

import mercer
import mercer_research
from mercer.machines.base import KernelMachine

NEEDED = {
    "mercer.distributed": "dask",
    "mercer.plotting": "matplotlib",
    "mercer_research.plotting": "matplotlib",
}
"""Packages without which a room cannot be loaded."""


def rooms() -> list[str]:
    """Return the library and its rooms as far as they can be loaded, and those of research."""
    inside = ((mercer.__path__, "mercer."), (mercer_research.__path__, "mercer_research."))
    names = [found.name for place in inside for found in iter_modules(*place)]
    public = [name for name in names if not name.partition(".")[2].startswith("_")]
    absent = {room for room, package in NEEDED.items() if find_spec(package) is None}
    return [name for name in ["mercer", *public] if name not in absent]


def estimators() -> dict[type, list[str]]:
    """Return every exported class that can be fitted, with all of its public names."""
    found: dict[type, list[str]] = {}
    for module in map(import_module, rooms()):
        for name in getattr(module, "__all__", []):
            value = getattr(module, name)
            fits = inspect.isclass(value) and issubclass(value, BaseEstimator)
            if (
                fits
                and hasattr(value, "fit")
                and not value.__module__.startswith("mercer.machines.")
            ):
                found.setdefault(value, []).append(f"{module.__name__}.{name}")
    return found


def unlisted(listed: Collection[str]) -> dict[str, KernelMachine]:
    """Return machines with their defaults that a suite does not list, by their public names."""
    return {
        names[0].removeprefix("mercer."): cls()
        for cls, names in estimators().items()
        if issubclass(cls, KernelMachine) and cls.__name__ not in listed
    }
