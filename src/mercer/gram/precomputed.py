"""K computed by the user, possibly larger than memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.gram.base import Index, submatrix
from mercer.gram.dense import Matrix, as_square
from mercer.kernels.points import BLOCK_BYTES, Array, row_slices


class Precomputed(Matrix):
    """A kernel matrix computed elsewhere, read a few rows at a time (it may be a memory map).

    Parameters
    ----------
    K : (n, n) array
        Finite, or a ``ValueError`` is raised. Symmetry is assumed; :meth:`asymmetry` measures it.

    Examples
    --------
    >>> gram = Precomputed(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> gram.asymmetry(), gram.matvec(np.array([1.0, 0.0]))
    (0.0, array([2., 1.]))
    """

    def __init__(self, K: Array) -> None:
        self.K = as_square(K)
        for rows in self._slices():
            # A sum reads the matrix once; only where it overflows are entries looked at.
            with np.errstate(over="ignore", invalid="ignore"):
                total = np.sum(self.K[rows])
            if not (np.isfinite(total) or np.isfinite(self.K[rows]).all()):
                raise ValueError("The precomputed kernel matrix holds values that are not finite.")

    def _slices(self) -> Any:
        return row_slices(self.shape[0], self.shape[0] * self.dtype.itemsize, BLOCK_BYTES)

    @property
    def in_memory(self) -> bool:
        return not isinstance(self.K, np.memmap)

    def block(self, rows: Index, columns: Index) -> Array:
        return np.asarray(submatrix(self.K, rows, columns))

    def diag(self) -> Array:
        return np.array(self.K.diagonal())

    def asymmetry(self) -> float:
        r"""Return :math:`\max_{ij} |K_{ij} - K_{ji}|`."""
        return max(
            (float(np.abs(self.K[rows] - self.K[:, rows].T).max()) for rows in self._slices()),
            default=0.0,
        )
