"""Kernel matrices of points that are fitted again and again, kept in bounded memory.

A search fits the same folds once for every setting of its grid, and most settings (C, epsilon, nu,
class weights) do not change the kernel matrix. ``GridSearchCV`` clones the machine and cuts the
folds out anew each time, so that no object lasts from one fit to the next; their bytes do. Hence
matrices are kept by a digest of the points and by the parameters of the kernel, from the second
time on that the same points are seen: who fits a machine once keeps nothing.
"""

from __future__ import annotations

import os
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import fields
from functools import cached_property
from hashlib import blake2b

import numpy as np

from mercer.kernels.base import Kernel
from mercer.kernels.points import Array, Data

__all__ = ["SharedMatrices", "share_matrices", "shared"]

# Points below this number are multiplied faster than they are found again.
MIN_SHARED_ROWS = 128
# Samples that are remembered at a time, as many as the folds of a repeated cross-validation.
MAX_SAMPLES = 32
# Memory for matrices by default, and the variable of the environment that sets another, which
# worker processes read.
MAX_BYTES, BYTES_VARIABLE = 64 * 2**20, "MERCER_SHARED_BYTES"


class SharedMatrices:
    """Kernel matrices by the bytes of their points and the parameters of their kernel.

    A matrix is kept from the second time on that its points are seen, whatever the kernel was
    before. What does not fit is computed and forgotten, because a grid comes back to its matrices
    in turns: making room for the next one would drop each just before it is needed. Room is made by
    points that are no longer among the last `recent` samples.

    Threads may use it together; of two that lack a matrix each computes it. A process that is
    forked takes over what is known.

    Parameters
    ----------
    max_bytes : float, optional
        Memory for matrices; 0 to keep none. What the environment grants by default, read when it
        is first needed: an import does not fail of a variable.
    recent : int, default=32
        How many samples are remembered.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X, known = np.random.default_rng(0).normal(size=(200, 3)), SharedMatrices(1e6)
    >>> K = [known.matrix(Gaussian(), X.copy(), Gaussian().symmetric) for _ in range(3)]
    >>> K[0] is K[1], K[1] is K[2], known.nbytes
    (False, True, 320000)
    """

    def __init__(self, max_bytes: float | None = None, recent: int = MAX_SAMPLES) -> None:
        self.recent, self.nbytes = recent, 0
        if max_bytes is not None:
            self.max_bytes = max_bytes
        self._known: OrderedDict[Hashable, dict[Hashable, Array]] = OrderedDict()
        self._renew()
        if hasattr(os, "register_at_fork"):
            # A thread that holds the lock while another forks does not exist in the child.
            os.register_at_fork(after_in_child=self._renew)

    @cached_property
    def max_bytes(self) -> float:
        """Memory for matrices."""
        return _granted()

    def clear(self) -> None:
        """Forget all matrices and points."""
        with self._lock:
            self._known, self.nbytes = OrderedDict(), 0

    def _renew(self) -> None:
        self._lock = threading.Lock()

    def matrix(
        self, kernel: Kernel, X: Data, compute: Callable[[Data], Array], how: str = "symmetric"
    ) -> Array:
        """Return ``compute(X)``, or what it returned before; the caller must not write to it.

        Parameters
        ----------
        kernel : Kernel
            What is computed, together with the dtype of the points.
        X : (n, p) points
        compute : callable
            Returns the (n, n) matrix of points.
        how : str, default="symmetric"
            Name of the way in which it is computed; two ways may round differently.
        """
        if not self.max_bytes or not _is_plain(X) or X.nbytes > self.max_bytes:
            return compute(X)
        name = key(kernel)
        if name is None:
            return compute(X)
        # A checksum tells points that are new, which is nearly all that it ever has to.
        seen = X.shape, X.dtype.str, zlib.crc32(X)
        with self._lock:
            new = seen not in self._known
            matrices = self._known.setdefault(seen, {})
            self._known.move_to_end(seen)
            while len(self._known) > self.recent:
                _, old = self._known.popitem(last=False)
                self.nbytes -= sum(K.nbytes for K in old.values())
        if new:
            return compute(X)
        place = blake2b(X, digest_size=32).digest(), name, how
        known = matrices.get(place)
        if known is not None:
            return known
        K = compute(X)
        with self._lock:
            lasting = self._known.get(seen) is matrices and place not in matrices
            if lasting and self.nbytes + K.nbytes <= self.max_bytes:
                matrices[place] = K
                self.nbytes += K.nbytes
        return K


def _is_plain(X: Data) -> bool:
    return (
        type(X) is np.ndarray
        and X.dtype in (np.float32, np.float64)
        and X.ndim == 2
        and len(X) >= MIN_SHARED_ROWS
        and X.flags.c_contiguous
    )


def key(value: object) -> Hashable | None:
    """Return what tells a pure kernel, or a parameter, from another; None if in doubt.

    A function, or a kernel of a user that does not say ``pure = True``, may compute something else
    tomorrow.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> key(Gaussian(2.0)) == key(Gaussian(2.0)), key(Gaussian(2.0)) == key(Gaussian(2))
    (True, False)
    >>> key(np.sin) is None
    True
    """
    kind = type(value)
    if value is None or kind in (bool, int, float, str) or isinstance(value, np.generic):
        return kind, repr(value)
    if isinstance(value, np.ndarray) and kind is np.ndarray and value.dtype.kind in "biuf":
        return value.shape, value.dtype.str, value.tobytes()
    if isinstance(value, list | tuple) and kind in (list, tuple):
        parts = [key(part) for part in value]
    elif isinstance(value, Kernel) and value.pure:
        parts = [key(getattr(value, field.name)) for field in fields(value)]  # type: ignore[arg-type]
    else:
        return None
    return None if None in parts else (kind, *parts)


def _granted() -> float:
    """Return the memory that the environment grants, or the default."""
    given = os.environ.get(BYTES_VARIABLE, str(MAX_BYTES))
    try:
        granted = float(given)
    except ValueError:
        granted = np.nan
    if not granted >= 0:
        raise ValueError(
            f"the environment has {BYTES_VARIABLE}={given!r}, which is no number of bytes; set "
            f"one, such as {MAX_BYTES}, or 0 to keep no kernel matrices, or unset it."
        )
    return granted


shared = SharedMatrices()


def share_matrices(max_bytes: float) -> float:
    """Set how much memory kernel matrices of repeated fits to the same points may take.

    Machines keep the kernel matrix of up to a few thousand samples from the second fit to the same
    points on, whether by the same machine or not, so that a grid of C computes it once a fold. What
    is fitted and predicted is the same, bit by bit. The default is 64 MB in each process; worker
    processes read theirs from the variable ``MERCER_SHARED_BYTES`` of the environment.

    Parameters
    ----------
    max_bytes : float
        Memory; 0 keeps nothing. What is kept at the moment is forgotten.

    Returns
    -------
    float
        What it was before.

    Examples
    --------
    >>> before = share_matrices(0)
    >>> share_matrices(before)
    0.0
    """
    if not max_bytes >= 0:
        raise ValueError(f"max_bytes must be at least 0, got {max_bytes!r}.")
    before, shared.max_bytes = shared.max_bytes, float(max_bytes)
    shared.clear()
    return before
