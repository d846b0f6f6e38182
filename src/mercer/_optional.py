"""What is loaded when it is first needed: modules that lean on packages of the extras.

Rooms below do not import them, so the core needs none of those packages; a name leads to the module
and, where the package is missing, to a sentence that says how to get it.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

from mercer._version import PUBLISHED, installation

__all__ = ["application", "how_to_install", "plugin"]

PLUGINS = {
    "column_files": ("mercer.data.column_files", "pyarrow", "data"),
    "pyarrow": ("pyarrow", "pyarrow", "data"),
    "parquet": ("pyarrow.parquet", "pyarrow", "data"),
    "csv": ("pyarrow.csv", "pyarrow", "data"),
    "pandas": ("pandas", "pandas", "data"),
    "polars": ("polars", "polars", "data"),
    "hdf5": ("h5py", "h5py", "data"),
    "zarr": ("zarr", "zarr", "data"),
    "plotting": ("mercer.plotting", "matplotlib", "plot"),
    "dask": ("mercer.distributed", "dask", "cluster"),
    "column_types": ("mercer.io.column_types", "skl2onnx", "onnx"),
    "onnx": ("mercer.io.onnx_converters", "skl2onnx", "onnx"),
    "skops": ("skops.io", "skops", "io"),
    "research": ("mercer_research", "mercer_research", "research"),
}
"""The module, the package it needs, and the extra of this library that brings the package."""


def how_to_install(extra: str) -> str:
    """Return the words of a message that say how an extra is installed."""
    where = "" if PUBLISHED else ", in a clone of mercer's repository"
    return f"install it with: {installation(extra)}{where}"


def plugin(name: str) -> ModuleType:
    """Return the module behind a name.

    Parameters
    ----------
    name : str
        A key of `PLUGINS`.

    Examples
    --------
    >>> plugin("parquet").__name__
    'pyarrow.parquet'
    """
    module, package, extra = PLUGINS[name]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "mercer":
            raise
        raise ImportError(f"this needs {error.name or package}; {how_to_install(extra)}") from error


def application(name: str) -> Any:
    """Return what an installed application of this library registers under a name.

    Parameters
    ----------
    name : {"main", "report"}
        The command line, or the function that writes a report.
    """
    registered = entry_points(group="mercer.application", name=name)
    if not registered:
        raise ImportError(f"this needs the package mercer-studio; {how_to_install('cli')}")
    return next(iter(registered)).load()
