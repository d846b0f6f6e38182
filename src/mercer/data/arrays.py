"""Arrays as sources: in memory, mapped from a file, or sparse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.data.base import Block, Source

__all__ = ["Arrays"]


class Arrays(Source):
    """A source over arrays that can be sliced: NumPy's, memory maps, CSR matrices.

    Parameters
    ----------
    X : (n, p) array or sparse matrix
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
        self, X: Any, y: Any = None, s: Any = None, feature_names: list[str] | None = None
    ) -> None:
        self.X = sp.csr_array(X) if sp.issparse(X) else X
        if not sp.issparse(self.X) and not isinstance(self.X, np.ndarray):
            self.X = np.asarray(X)
        if self.X.ndim != 2:
            raise ValueError(f"a source has rows and columns; got an array of shape {X.shape}")
        self.y, self.s = y, s
        self.n_rows, self.n_features = (int(k) for k in self.X.shape)
        self.feature_names = feature_names
        for name, other in (("y", y), ("weights", s)):
            if other is not None and len(other) != self.n_rows:
                raise ValueError(f"X has {self.n_rows} rows, {name} has {len(other)}")

    def blocks(self, rows: int) -> Iterator[Block]:
        assert self.n_rows is not None
        for start in range(0, self.n_rows, rows):
            part = slice(start, start + rows)
            y = None if self.y is None else np.asarray(self.y[part])
            s = None if self.s is None else np.asarray(self.s[part])
            yield Block(self.X[part], y, s, start)
