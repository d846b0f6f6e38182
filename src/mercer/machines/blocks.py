"""Machines that need all rows at once say so."""

from __future__ import annotations

from mercer._typing import PointsLike
from mercer.data.opening import is_source

__all__ = ["refuse_blocks"]


def refuse_blocks(machine: object, X: PointsLike) -> None:
    """Refuse rows that come in blocks, where a machine is no sum over rows."""
    if is_source(X):
        raise ValueError(
            f"{type(machine).__name__} is no sum over rows, so that they cannot come in blocks: "
            "give an array of some of them (mercer.data.draw), or fit KernelRegressor or LSSVR."
        )
