"""The compiled way of points down a tree."""

import numpy as np
from numpy.typing import NDArray

from mercer._compile_numba import njit
from mercer._typing import AnyArray

__all__ = ["descend"]


@njit(cache=True, nogil=True)
def descend(
    X: AnyArray,
    column: NDArray[np.int64],
    cut: NDArray[np.float64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    first: NDArray[np.int64],
    codes: NDArray[np.float64],
    leaf: NDArray[np.int64],
) -> None:
    """Write the leaf of each point: larger values go right, and codes that are not known.

    Codes of node k, in ascending order, are ``codes[first[k]:first[k + 1]]``.
    """
    for i in range(X.shape[0]):
        node = 0
        while column[node] >= 0:
            x = np.float64(X[i, column[node]])
            begin, end = first[node], first[node + 1]
            if begin == end:
                go_right = x > cut[node]
            else:
                at = begin + np.searchsorted(codes[begin:end], x)
                go_right = at == end or codes[at] != x
            node = right[node] if go_right else left[node]
        leaf[i] = left[node]
