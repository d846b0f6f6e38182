"""Arrays in Zarr stores."""

from __future__ import annotations

from typing import Any

import zarr

from mercer.data.table import DataError

__all__ = ["opened"]


def opened(path: str, name: str) -> Any:
    """Return an array in a store; the store itself, or its only array, if no name is given.

    Parameters
    ----------
    path, name : str
    """
    try:
        node = zarr.open(path, mode="r")
    except Exception as error:  # each kind of store has errors of its own
        raise DataError(f"{path} cannot be read as a Zarr store: {error}") from error
    if isinstance(node, zarr.Array):
        if name:
            raise DataError(f"{path} is an array, without others in it such as {name!r}")
        return node
    found = dict(node.arrays())
    if not name and len(found) == 1:
        return next(iter(found.values()))
    if name not in found:
        listed = ", ".join(found) or "no arrays"
        raise DataError(f"{path} holds {listed}; say which: '{path}::name'")
    return found[name]
