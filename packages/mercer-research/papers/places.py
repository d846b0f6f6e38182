"""Where experiments and studies lie, and their results beside them."""

import importlib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PLACES = {path.stem: path for path in sorted(HERE.glob("*/*.py"))}
"""The file of every module in a folder of this one; no two have the same name."""


def module_of(name: str) -> Any:
    """Return the module of an experiment or study."""
    return importlib.import_module(f"papers.{PLACES[name].parent.name}.{name}")


def results_of(name: str, short: bool = False) -> Path:
    """Return the file of the results of an experiment or study."""
    folder = PLACES[name].parent / "results"
    return (folder / "short" if short else folder) / f"{name}.json"
