"""Warn of kernels that are not positive definite, as every proof about a machine assumes."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from mercer._lapack import dpotrf
from mercer._typing import Array

__all__ = ["IndefiniteKernel", "chosen_points", "negative_eigenvalue", "warn_if_indefinite"]

# Points whose matrix is looked at where a kernel does not promise to be positive definite. Given
# matrices and functions are looked at in every fit: at fewer points of small samples, so that it
# costs some hundredths of one.
WITNESSES, FEWEST_WITNESSES = 200, 100


class IndefiniteKernel(UserWarning):
    """A kernel is not positive definite on the sample it was given."""


def chosen_points(n: int, most: int = WITNESSES) -> NDArray[np.intp]:
    """Return the points out of n, 200 at most, at which a kernel is looked at."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.intp))


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
    shifted = K + np.sqrt(np.finfo(np.float64).eps) * diagonal * np.eye(n)
    if diagonal > 0 and dpotrf(shifted, lower=1, clean=0)[1] == 0 and np.array_equal(K, K.T):
        return 0.0  # as kernels have it, in a fraction of the time
    single = np.array_equal(K, K.astype(np.float32))
    part = np.sqrt(np.finfo(np.float64).eps)
    part = max(part, n * float(np.finfo(np.float32).eps)) if single else part
    K = 0.5 * (K + K.T)
    size = float(np.max(np.abs(K), initial=0.0))  # before means are taken off, whose rounding stays
    if free:
        mean = np.mean(K, axis=0)
        K = K - mean - mean[:, None] + np.mean(mean)
    try:
        # The largest eigenvalue is no smaller than the largest entry of a kernel matrix.
        np.linalg.cholesky(K + part * size * np.eye(n))
        return 0.0
    except np.linalg.LinAlgError:
        values = np.linalg.eigvalsh(K)
    # Sizes are compared: minus a kernel has no positive eigenvalue at all.
    return float(values[0]) if values[0] < -part * max(np.max(np.abs(values)), size) else 0.0


def warn_if_indefinite(K: Array, name: str, free: bool = False, stacklevel: int = 4) -> None:
    """Warn if the matrix of some points of a kernel is indefinite.

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
