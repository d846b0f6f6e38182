"""Checks of rows before a machine reads them, with the place of the first offence."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._typing import PointsLike
from mercer.data.table import DataError, Table

__all__ = ["Check", "Places"]


@dataclass(frozen=True)
class Places:
    """Which file the rows of a source lie in.

    Parameters
    ----------
    starts : tuple of int
        Number of the first row of every file.
    names : tuple of str

    Examples
    --------
    >>> Places((0, 10), ("a.parquet", "b.parquet")).of(12)
    'b.parquet, row 2 (row 12 in all)'
    """

    starts: tuple[int, ...]
    names: tuple[str, ...]

    def of(self, row: int) -> str:
        """Return in words where a row is.

        Parameters
        ----------
        row : int
        """
        k = bisect_right(self.starts, row) - 1
        return f"{self.names[k]}, row {row - self.starts[k]} (row {row} in all)"


@dataclass(frozen=True)
class Check:
    """Blocks as a machine takes them: numbers, all of them finite; others are refused in words.

    Parameters
    ----------
    names : tuple of str, optional
        Names of the features.
    places : Places, optional
        Where rows are.

    Examples
    --------
    >>> from mercer.data.base import Block
    >>> Check(("age",))(Block(np.array([[1.0], [np.nan]])))
    Traceback (most recent call last):
    mercer.data.table.DataError: row 1: 'age' is missing (NaN); fill it in with ...
    """

    names: tuple[str, ...] | None = None
    places: Places | None = None

    def __call__(self, block: Any) -> Any:
        """Return a block of finite numbers.

        Parameters
        ----------
        block : Block
        """
        X: PointsLike = block.X.numbers() if isinstance(block.X, Table) else block.X
        sparse = sp.issparse(X)
        values: Any = X.data if sparse else X
        if values.dtype.kind not in "biuf":
            raise DataError(f"{self._where(block, 0)}: features are numbers, not {values.dtype}")
        # One sum tells of anything that is not finite, unless it overflows: then look closer.
        with np.errstate(over="ignore", invalid="ignore"):
            suspicious = not np.isfinite(np.sum(values))
        if suspicious and not (finite := np.isfinite(values)).all():
            first = int(np.argmin(finite.ravel()))
            if sparse:
                i, j = int(np.searchsorted(X.indptr, first, side="right")) - 1, X.indices[first]
            else:
                i, j = divmod(first, X.shape[1])
            name = repr(self.names[j]) if self.names else f"feature {j}"
            raise DataError(f"{self._where(block, i)}: {name} is {_fault(values.flat[first])}")
        for what, others in (("the target", block.y), ("the weight", block.s)):
            if others is not None:
                self._check_others(block, what, np.asarray(others))
        weights = np.asarray([] if block.s is None else block.s)
        if weights.dtype != object and (negative := weights < 0).any():
            where = self._where(block, int(np.argmax(negative)))
            raise DataError(f"{where}: the weight is negative; use 0 to leave a row out")
        return block._replace(X=X)

    def _check_others(self, block: Any, what: str, values: Any) -> None:
        if values.dtype == object:
            bad = np.array([item is None or item != item for item in values.ravel().tolist()])
        elif values.dtype.kind == "f":
            bad = ~np.isfinite(values.ravel())
        else:
            return
        if bad.any():
            first = int(np.argmax(bad))
            i = first // (values.shape[1] if values.ndim == 2 else 1)
            value = values.flat[first]
            fault = "missing" if values.dtype == object else _fault(value).split(";")[0]
            raise DataError(f"{self._where(block, i)}: {what} is {fault}; leave such rows out")

    def _where(self, block: Any, i: int) -> str:
        row = block.start + i
        return f"row {row}" if self.places is None else self.places.of(row)


def _fault(value: Any) -> str:
    if np.isnan(value):
        return "missing (NaN); fill it in with mercer.preprocessing.Imputer, or leave such rows out"
    return "infinite; clip or leave out such rows"
