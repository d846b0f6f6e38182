"""Which Gram to use for a kernel and a sample."""

from __future__ import annotations

from collections.abc import Callable

from mercer.gram.base import Gram
from mercer.gram.dense import Dense
from mercer.gram.held import LazyGram
from mercer.gram.precomputed import Precomputed
from mercer.gram.sparse import Sparse
from mercer.gram.tiled import Tiled
from mercer.kernels.base import Kernel
from mercer.kernels.neighbours import worthwhile
from mercer.kernels.points import Data, count, float_dtype

KINDS = ("auto", "dense", "sparse", "tiled")
# A matrix of this size is computed faster than anyone could decide not to.
SMALL_BYTES = 8 * 512**2
# Rows up to which nothing is gained by the factor of a matrix.
FEW_ROWS = 64


def make(
    kernel: Kernel,
    X: Data,
    kind: str | Callable[[Kernel, Data], Gram] = "auto",
    cache_bytes: int = 200 * 2**20,
) -> Gram:
    """Return the Gram of a kernel on the points `X`.

    Parameters
    ----------
    kernel : Kernel
        If it is precomputed, `X` is the matrix itself and only read.
    X : (n, p) points
    kind : {"auto", "dense", "sparse", "tiled"} or callable, default="auto"
        ``auto`` is dense for small samples, sparse if the support of the kernel is compact and
        holds few of the points, held once a solver asks for the whole matrix while that takes at
        most `cache_bytes`, and tiled otherwise; a callable maps ``(kernel, X)`` to a Gram.
    cache_bytes : int, default=200 * 2**20
        Memory granted to the matrix; tiles take at most this, between 1 and 64 MiB.

    Returns
    -------
    Gram

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import BSpline, Gaussian
    >>> type(make(Gaussian(), np.ones((100, 2)))).__name__
    'Dense'
    >>> type(make(Gaussian(), np.ones((1000, 2)))).__name__
    'LazyGram'
    >>> type(make(Gaussian(), np.ones((100, 2)), cache_bytes=1000)).__name__
    'Tiled'
    >>> type(make(BSpline(0.01), np.linspace(0, 1, 1000)[:, None])).__name__
    'Sparse'
    """
    if callable(kind):
        return kind(kernel, X)
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)} or a callable, got {kind!r}.")
    if kernel.precomputed:
        return Precomputed(X)
    made = _make(kernel, X, kind, cache_bytes)
    made.kernel_error = kernel.value_error(X)
    return made


def _make(kernel: Kernel, X: Data, kind: str, cache_bytes: int) -> Gram:
    size = count(X) ** 2 * float_dtype(X).itemsize
    small = size <= min(SMALL_BYTES, cache_bytes)
    # A kernel matrix of few columns is solved by them, if anyone has a use for it at all.
    if small and kind == "auto" and count(X) > FEW_ROWS and kernel.root(X) is not None:
        return LazyGram(kernel, X)
    if kind == "dense" or (kind == "auto" and small):
        return Dense.from_kernel(kernel, X)
    if kind == "sparse" or (kind == "auto" and worthwhile(kernel, X) is not None):
        return Sparse.from_kernel(kernel, X)
    form = LazyGram if kind == "auto" and size <= cache_bytes else Tiled
    return form(kernel, X, max_bytes=max(2**20, min(2**26, cache_bytes)))
