"""Warn of kernels that are not positive definite, as every proof about a machine assumes."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from mercer._lapack import dpotrf
from mercer._typing import Array

__all__ = ["IndefiniteKernel", "chosen_points", "negative_eigenvalue", "warn_if_indefinite"]

# Points whose matrix is looked at where a kernel does not promise to be positive definite, few of
# them first: eigenvalues of 200 points take as long as a fit of 300. Given matrices and functions
# are looked at in every fit: at fewer points of small samples, so that it costs some hundredths of
# one.
FIRST_WITNESSES, WITNESSES, FEWEST_WITNESSES = 25, 200, 100

# Part of the largest eigenvalue that is rounding.
ROUNDING_PART = float(np.sqrt(np.finfo(np.float64).eps))


class IndefiniteKernel(UserWarning):
    """A kernel is not positive definite on the sample it was given."""


def chosen_points(n: int, most: int = WITNESSES) -> NDArray[np.intp]:
    """Return the points out of n, 200 at most, at which a kernel is looked at."""
    m = min(n, most)
    return np.arange(m) * (n - 1) // max(m - 1, 1)


def negative_eigenvalue(K: Array, free: bool = False) -> float:
    r"""Return the least eigenvalue of a kernel matrix if it is negative beyond rounding, else 0.

    Rounding is :math:`\sqrt\epsilon` of the largest eigenvalue, or n roundings of float32 of a
    matrix whose entries are all float32. A Cholesky factorization answers for kernels, at a tenth
    of the price; eigenvalues are computed where it fails.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        The matrix, of which the symmetric part counts.
    free : bool, default=False
        Whether constants are free. Coefficients then sum to zero, and the matrix is only asked to
        be positive definite for those (conditionally, of order one), as minus a distance is.

    Examples
    --------
    >>> import numpy as np
    >>> negative_eigenvalue(np.array([[1.0, 2.0], [2.0, 1.0]]))
    -1.0
    >>> negative_eigenvalue(np.ones((2, 2)))
    0.0
    >>> distance = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    >>> negative_eigenvalue(-distance, free=True)
    0.0
    """
    n, K = len(K), np.asarray(K, dtype=np.float64)
    diagonal = np.max(np.diagonal(K), initial=0.0)
    even, part = np.array_equal(K, K.T), ROUNDING_PART
    if diagonal > 0 and even and _is_definite(K, part * diagonal):
        return 0.0  # as kernels have it, in a fraction of the time
    if np.array_equal(K, K.astype(np.float32)):
        part = max(part, n * float(np.finfo(np.float32).eps))
    K = K if even else 0.5 * (K + K.T)
    size = float(np.max(np.abs(K), initial=0.0))  # before means are taken off, whose rounding stays
    if free:
        mean = np.mean(K, axis=0)
        K = K - mean - mean[:, None] + np.mean(mean)
    # The largest eigenvalue is no smaller than the largest entry of a kernel matrix.
    if _is_definite(K, part * size):
        return 0.0
    values = np.linalg.eigvalsh(K)
    # Sizes are compared: minus a kernel has no positive eigenvalue at all.
    return float(values[0]) if values[0] < -part * max(np.max(np.abs(values)), size) else 0.0


def _is_definite(K: Array, shift: float) -> bool:
    """Answer whether a symmetric matrix with this added to its diagonal has a Cholesky factor."""
    shifted = K.copy()
    np.einsum("ii->i", shifted)[:] += shift
    return bool(dpotrf(shifted, lower=1, clean=0)[1] == 0)


def warn_if_indefinite(K: Array, name: str, free: bool = False, stacklevel: int = 4) -> bool:
    """Warn if the matrix of some points of a kernel is indefinite, and answer whether it is.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    name : str
        What to call the kernel.
    free : bool, default=False
        Whether constants are free.
    stacklevel : int, default=4
        Of the warning.
    """
    least = negative_eigenvalue(K, free)
    if least < 0.0:
        warnings.warn(
            f"{name} is not positive definite on this sample: the matrix of "
            f"{len(K)} points has the eigenvalue {least:.3g}. The machine may be one of "
            "many stationary points, of which the duality gap says little; use another kernel.",
            IndefiniteKernel,
            stacklevel=stacklevel + 1,
        )
    return least < 0.0
