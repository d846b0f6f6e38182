"""The limit of any exact method: kernel values of the support vectors once, by BLAS and exp alone.

Nothing is selected, updated, stored or checked. Of the exponentials at hand NumPy's was fastest on
float32 (0.57 ns a value on AVX-512, numexpr 4.5 ns), and 16 MB the fastest size of a block among
0.25, 0.5, 1, 2, 4, 16 and 64 MB for 8, 54 and 784 features.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from benchmarks.svm.problems import Problem
from data import Sample

Array = NDArray[np.float32]

BLOCK_BYTES = 16 * 2**20


class Bare:
    """Evaluate ``K[:, support]`` at the price of a product of matrices and an exponential.

    The rows carry two more features, so that one product yields the exponent
    ``2 gamma x's - gamma |x|^2 - gamma |s|^2``. Threads work on row blocks of their own.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        # To look for libraries takes milliseconds, longer than a small problem.
        self.libraries = ThreadpoolController()

    def prepare(self, problem: Problem, sample: Sample, given: dict[str, Any]) -> None:
        """Bring rows to float32 and the coefficients to columns; not timed."""
        support = np.asarray(given["support_"])
        self.coef = np.asarray(given["dual_coef_"], dtype=np.float32)
        self.parts = [slice(0, len(support))]
        if "classes_" in given and len(given["classes_"]) > 2:
            # Support vectors are ordered by class, and each class has columns of its own.
            counts = [np.count_nonzero(sample.y[support] == c) for c in given["classes_"]]
            self.parts = [slice(a, b) for a, b in pairwise(np.cumsum([0, *counts]))]
        gamma = problem.gamma
        self.rows, self.rows_test = (_left(X) for X in (sample.X, sample.X_test))
        self.columns = _right(sample.X[support], gamma)

    def fit(self) -> None:
        self._blocks(self.rows, lambda K, rows: None)

    def predict(self) -> list[Array]:
        """Return the products with the coefficients, one for every part of the support."""
        out = [np.empty((len(self.rows_test), len(self.coef)), np.float32) for _ in self.parts]

        def multiply(K: Array, rows: slice) -> None:
            for target, part in zip(out, self.parts, strict=True):
                np.matmul(K[:, part], self.coef[:, part].T, out=target[rows])

        self._blocks(self.rows_test, multiply)
        return out

    def _blocks(self, X: Array, use: Callable[[Array, slice], None]) -> None:
        step = max(1, BLOCK_BYTES // (4 * max(1, self.columns.shape[1])))
        starts = range(0, len(X), step)

        def work(first: int) -> None:
            buffer = np.empty((min(step, len(X)), self.columns.shape[1]), np.float32)
            for start in starts[first :: self.threads]:
                rows = slice(start, min(start + step, len(X)))
                K = np.matmul(X[rows], self.columns, out=buffer[: rows.stop - start])
                use(np.exp(K, out=K), rows)

        if self.threads == 1:
            work(0)
            return
        with self.libraries.limit(limits=1), ThreadPoolExecutor(self.threads) as pool:
            list(pool.map(work, range(self.threads)))


def _left(X: NDArray[np.float64]) -> Array:
    return np.column_stack([X, np.einsum("ij,ij->i", X, X), np.ones(len(X))]).astype(np.float32)


def _right(S: NDArray[np.float64], gamma: float) -> Array:
    squares = np.einsum("ij,ij->i", S, S)
    columns = np.column_stack([2 * gamma * S, np.full(len(S), -gamma), -gamma * squares])
    return np.ascontiguousarray(columns, dtype=np.float32).T
