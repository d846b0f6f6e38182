"""LAPACK and BLAS on triangles, called without the interpreter's lock.

SciPy's own wrappers of these routines hold the lock, so that of several threads one factorizes and
all others wait, Ctrl-C among them. The same routines of the same library are reached by the
addresses that :mod:`scipy.linalg.cython_lapack` exports, and a foreign call leaves the lock.
Functions have the names, the arguments and the answers of :mod:`scipy.linalg.lapack` and
:mod:`scipy.linalg.blas`, in double precision.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import byref, c_char, c_double, c_int
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_blas, cython_lapack

__all__ = ["dlauum", "dpotrf", "dpotrs", "dtrmm", "dtrsm", "dtrtri"]

Matrix = NDArray[np.float64]

SIZE = np.dtype(np.float64).itemsize


def _routine(module: Any, name: str, arguments: int) -> Callable[..., None]:
    """Return a routine of so many pointers."""
    capsule = module.__pyx_capi__[name]
    named, found = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    named.restype, named.argtypes = ctypes.c_char_p, [ctypes.py_object]
    found.restype, found.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = found(capsule, named(capsule))
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(address)


_potrf = _routine(cython_lapack, "dpotrf", 5)
_potrs = _routine(cython_lapack, "dpotrs", 8)
_trtri = _routine(cython_lapack, "dtrtri", 6)
_lauum = _routine(cython_lapack, "dlauum", 5)
_trmm = _routine(cython_blas, "dtrmm", 11)
_trsm = _routine(cython_blas, "dtrsm", 11)


def _read(a: Any) -> tuple[Matrix, int]:
    """Return a matrix whose columns are contiguous, and how far apart they are; no copy if so."""
    a = np.asarray(a, dtype=np.float64)
    if a.strides[0] == SIZE and a.strides[1] % SIZE == 0 and a.strides[1] >= SIZE * len(a):
        return a, max(a.strides[1] // SIZE, 1)
    return np.asfortranarray(a), max(len(a), 1)


def _own(a: Any, overwrite: int) -> Matrix:
    """Return a matrix by columns that may be written to: the given one, if it may be lost."""
    a = np.asarray(a, dtype=np.float64)
    usable = overwrite and a.flags.f_contiguous and a.flags.writeable and a.flags.aligned
    return a if usable else np.array(a, order="F")


def _letter(lower: int) -> Any:
    return byref(c_char(b"L" if lower else b"U"))


def _flag(given: int, yes: bytes, no: bytes) -> Any:
    return byref(c_char(yes if given else no))


def dpotrf(a: Any, *, lower: int = 0, clean: int = 1, overwrite_a: int = 0) -> tuple[Matrix, int]:
    """Return the Cholesky factor, and 0 or the order of a minor that is not positive definite.

    Examples
    --------
    >>> dpotrf(np.array([[4.0, 2.0], [2.0, 5.0]]), lower=1)
    (array([[2., 0.],
           [1., 2.]]), 0)
    """
    c, info = _own(a, overwrite_a), c_int(0)
    n = c_int(len(c))
    if len(c):
        _potrf(_letter(lower), byref(n), c.ctypes.data, byref(n), byref(info))
    if clean:
        c = np.asfortranarray(np.tril(c) if lower else np.triu(c))
    return c, info.value


def dpotrs(c: Any, b: Any, *, lower: int = 0, overwrite_b: int = 0) -> tuple[Matrix, int]:
    """Return solutions of a system whose Cholesky factor is given, and 0.

    Examples
    --------
    >>> dpotrs(np.array([[2.0, 0.0], [1.0, 2.0]]), np.array([2.0, 5.0]), lower=1)
    (array([0., 1.]), 0)
    """
    factor, lead = _read(c)
    x, info = _own(b, overwrite_b), c_int(0)
    n, columns = c_int(len(factor)), c_int(1 if x.ndim == 1 else x.shape[1])
    if x.size:
        _potrs(
            _letter(lower), byref(n), byref(columns), factor.ctypes.data, byref(c_int(lead)),
            x.ctypes.data, byref(n), byref(info),
        )  # fmt: skip
    return x, info.value


def dtrtri(c: Any, *, lower: int = 0, overwrite_c: int = 0) -> tuple[Matrix, int]:
    """Return the inverse of a triangle, in a copy of its matrix, and 0 or a zero on its diagonal.

    Examples
    --------
    >>> dtrtri(np.array([[2.0, 9.0], [1.0, 4.0]]), lower=1)[0]
    array([[ 0.5  ,  9.   ],
           [-0.125,  0.25 ]])
    """
    out, info = _own(c, overwrite_c), c_int(0)
    n = c_int(len(out))
    if len(out):
        _trtri(
            _letter(lower), byref(c_char(b"N")), byref(n), out.ctypes.data, byref(n), byref(info)
        )
    return out, info.value


def dlauum(c: Any, *, lower: int = 0, overwrite_c: int = 0) -> tuple[Matrix, int]:
    """Return the triangle of ``L'L`` (or ``UU'``), in a copy of the matrix of L, and 0.

    Examples
    --------
    >>> dlauum(np.array([[2.0, 9.0], [1.0, 4.0]]), lower=1)[0]
    array([[ 5.,  9.],
           [ 4., 16.]])
    """
    out, info = _own(c, overwrite_c), c_int(0)
    n = c_int(len(out))
    if len(out):
        _lauum(_letter(lower), byref(n), out.ctypes.data, byref(n), byref(info))
    return out, info.value


def dtrmm(
    alpha: float, a: Any, b: Any, *, side: int = 0, lower: int = 0, trans_a: int = 0,
    overwrite_b: int = 0,
) -> Matrix:  # fmt: skip
    """Return the product of a triangle and a matrix, or with `side` of a matrix and a triangle.

    Examples
    --------
    >>> dtrmm(1.0, np.array([[2.0, 9.0], [1.0, 4.0]]), np.eye(2), lower=1)
    array([[2., 0.],
           [1., 4.]])
    """
    return _by_triangle(_trmm, alpha, a, b, side, lower, trans_a, overwrite_b)


def dtrsm(
    alpha: float, a: Any, b: Any, *, side: int = 0, lower: int = 0, trans_a: int = 0,
    overwrite_b: int = 0,
) -> Matrix:  # fmt: skip
    """Return solutions X of ``AX = B`` for a triangle A, or with `side` of ``XA = B``.

    Examples
    --------
    >>> dtrsm(1.0, np.array([[2.0, 9.0], [1.0, 4.0]]), np.eye(2), lower=1)
    array([[ 0.5  ,  0.   ],
           [-0.125,  0.25 ]])
    """
    return _by_triangle(_trsm, alpha, a, b, side, lower, trans_a, overwrite_b)


def _by_triangle(
    routine: Callable[..., None], alpha: float, a: Any, b: Any, side: int, lower: int, trans_a: int,
    overwrite_b: int,
) -> Matrix:  # fmt: skip
    (triangle, lead), out = _read(a), _own(b, overwrite_b)
    rows, columns = (c_int(size) for size in out.shape)
    if out.size:
        routine(
            _flag(side, b"R", b"L"), _letter(lower), _flag(trans_a, b"T", b"N"),
            byref(c_char(b"N")), byref(rows), byref(columns), byref(c_double(alpha)),
            triangle.ctypes.data, byref(c_int(lead)), out.ctypes.data, byref(rows),
        )  # fmt: skip
    return out
