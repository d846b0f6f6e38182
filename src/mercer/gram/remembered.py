"""K that remembers its last factorization, for problems that differ in their targets only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mercer._typing import DType
from mercer.gram.base import Gram, Index
from mercer.gram.factor import MAX_BYTES, Solve
from mercer.kernels.points import Array
from mercer.kernels.roundoff import Roundoff


class FactorizedGram(Gram):
    """A Gram that is factorized once for one shift, however many ask.

    Parameters
    ----------
    gram : Gram
        The matrix itself.

    Examples
    --------
    >>> from mercer.gram import Dense
    >>> gram = FactorizedGram(Dense(np.eye(2)))
    >>> gram.shifted(np.ones(2)) is gram.shifted(np.ones(2))
    True
    """

    def __init__(self, gram: Gram) -> None:
        self.gram = gram
        self._last: tuple[Array, Solve] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.gram.shape

    @property
    def dtype(self) -> DType:
        return self.gram.dtype

    @property
    def in_memory(self) -> bool:
        return self.gram.in_memory

    @property
    def sparse(self) -> bool:
        return self.gram.sparse

    @property
    def resident(self) -> bool:
        return self.gram.resident

    @property
    def factor_bytes(self) -> float:
        return self.gram.factor_bytes

    def block(self, rows: Index, columns: Index) -> Array:
        return self.gram.block(rows, columns)

    def diag(self) -> Array:
        return self.gram.diag()

    def rows(self, index: Index, out: Array | None = None) -> Array:
        return self.gram.rows(index, out)

    def add_rows(
        self, F: NDArray[np.float64], index: Index, t: Array, out: Array | None = None
    ) -> None:
        self.gram.add_rows(F, index, t, out)

    def restrict(self, index: NDArray[np.intp]) -> Gram | None:
        return self.gram.restrict(index)

    def dense(self) -> Array:
        return self.gram.dense()

    def matvec(self, v: Array) -> Array:
        return self.gram.matvec(v)

    def product(self, v: Array, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        return self.gram.product(v, rows)

    def roundoff(self) -> Roundoff | None:
        return self.gram.roundoff()

    def value_error(self) -> float:
        return self.gram.value_error()

    def single(self) -> Gram:
        return self.gram.single()

    def shifted(self, e: Array, max_bytes: float = MAX_BYTES) -> Solve:
        if self._last is None or not np.array_equal(self._last[0], e):
            self._last = (np.array(e), self.gram.shifted(e, max_bytes))
        return self._last[1]
