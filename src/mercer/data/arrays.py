"""Arrays as sources: in memory, mapped from a file, sparse, or held by a library of arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._typing import PointsLike, TargetsLike, WeightsLike
from mercer.data.base import Block, Source
from mercer.data.table import DataError, Table

__all__ = ["Arrays"]


class Arrays(Source):
    """A source over arrays that can be sliced by rows: NumPy, memory maps, CSR matrices, tables.

    Arrays of HDF5 and Zarr are read slice by slice, as the blocks are asked for.

    Parameters
    ----------
    X : (n, p) array, sparse matrix or Table
    y : (n,) or (n, d) array, optional
    s : (n,) array, optional
        Weights.
    feature_names : list of str, optional

    Examples
    --------
    >>> [block.n for block in Arrays(np.zeros((5, 2))).blocks(2)]
    [2, 2, 1]
    """

    def __init__(
        self,
        X: PointsLike,
        y: TargetsLike = None,
        s: WeightsLike = None,
        feature_names: list[str] | None = None,
    ) -> None:
        sparse = sp.issparse(X)
        self.X: Any = sp.csr_array(X) if sparse else _sliceable(X)
        fields = None if isinstance(self.X, Table) else self.X.dtype.names
        if fields:
            self.X = Table({name: np.asarray(X[name]) for name in fields})
        if self.X.ndim != 2:
            hint = "; one feature is a column: X.reshape(-1, 1)" if self.X.ndim == 1 else ""
            raise DataError(
                f"a source has rows and columns; got an array of shape {self.X.shape}{hint}"
            )
        if not isinstance(self.X, Table) and self.X.dtype.kind not in "biuf":
            if self.X.dtype.kind not in "OUS":
                raise DataError(f"features are numbers or categories, not {self.X.dtype}")
            names = feature_names or [f"x{j}" for j in range(self.X.shape[1])]
            self.X = Table({n: _guessed(self.X[:, j]) for j, n in enumerate(names)})
        if isinstance(self.X, Table):
            feature_names = list(self.X.columns)
        self.y = None if y is None else _sliceable(y)
        self.s = None if s is None else _sliceable(s)
        self.n_rows, self.n_features = (int(k) for k in self.X.shape)
        self.feature_names = feature_names
        if self.n_features == 0:
            raise DataError("a source has at least one feature; X has no columns")
        for name, other, most in (("y", self.y, 2), ("weights", self.s, 1)):
            if other is not None and not 1 <= other.ndim <= most:
                raise DataError(f"{name} has shape {other.shape}; give one number a row")
            if other is not None and other.shape[0] != self.n_rows:
                raise DataError(f"X has {self.n_rows} rows, {name} has {other.shape[0]}")

    def blocks(self, rows: int) -> Iterator[Block]:
        assert self.n_rows is not None
        for start in range(0, self.n_rows, rows):
            part = slice(start, start + rows)
            X = self.X[part]
            if not isinstance(X, np.ndarray | Table) and not sp.issparse(X):
                X = np.asarray(X)
            y = None if self.y is None else np.asarray(self.y[part])
            s = None if self.s is None else np.asarray(self.s[part])
            yield Block(X, y, s, start)


def _sliceable(values: Any) -> Any:
    """Return an object with shape, dtype and slices as it is; any other object as an array."""
    if isinstance(values, np.ndarray | Table):
        return values
    home = type(values).__module__.split(".")[0]
    if home in {"h5py", "zarr", "mercer"} and hasattr(values, "shape"):
        return values
    array = np.asarray(values)
    # Words beside numbers in nested lists: NumPy would make words of the numbers.
    mixed = array.ndim == 2 and array.dtype.kind in "US"
    return np.asarray(values, dtype=object) if mixed else array


def _guessed(values: Any) -> Any:
    """Return a column of objects as numbers if it is nothing else."""
    if values.dtype != object or any(isinstance(item, str) for item in values.tolist()):
        return np.array([None if v != v else v for v in values.tolist()], dtype=object)
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"a column holds objects that are neither words nor real numbers: {error}"
        ) from error
