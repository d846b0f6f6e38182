r"""Random projections of products: counts of hashed coordinates, multiplied as polynomials.

A count sketch adds the coordinates of x, with random signs, into m places chosen at random; inner
products stay right in the mean. The sketch of :math:`x \otimes z` is the circular convolution of
the two sketches, so that a power of an inner product costs a few fast Fourier transforms and its
:math:`p^q` coordinates are never written down.
"""

from __future__ import annotations

import numpy as np
import scipy.fft
import scipy.sparse as sp

from mercer._typing import PointsLike
from mercer.kernels.points import Array, is_sparse

__all__ = ["CountSketch", "convolve"]


class CountSketch:
    r"""A random map to m places with :math:`E\langle Sx, Sz\rangle = \langle x, z\rangle`.

    Parameters
    ----------
    p : int
        Coordinates.
    m : int
        Places.
    rng : numpy.random.Generator
    constant : float, default=0.0
        One more coordinate, the same for all points.

    References
    ----------
    M. Charikar, K. Chen and M. Farach-Colton (2002), *Finding frequent items in data streams*,
    ICALP 29, sec. 3.

    Examples
    --------
    >>> S = CountSketch(4, 2, np.random.default_rng(0))
    >>> float(np.abs(S(np.eye(4))).sum())
    4.0
    """

    def __init__(self, p: int, m: int, rng: np.random.Generator, constant: float = 0.0) -> None:
        place, sign = rng.integers(m, size=p + 1), rng.choice([-1.0, 1.0], size=p + 1)
        self.S = sp.csr_array((sign[:p], (place[:p], np.arange(p))), shape=(m, p))
        self.shift = np.zeros(m)
        self.shift[place[p]] = constant * sign[p]

    def __call__(self, X: PointsLike) -> Array:
        """Return the sketches of points, ``(n, m)``."""
        S = self.S.astype(X.dtype)
        Y = (X @ S.T).toarray() if is_sparse(X) else np.ascontiguousarray((S @ X.T).T)
        Y += self.shift.astype(X.dtype)
        return np.asarray(Y)


def convolve(sketches: list[Array]) -> Array:
    r"""Return the circular convolutions of rows: the sketches of their tensor products.

    Parameters
    ----------
    sketches : list of (n, m) arrays

    References
    ----------
    N. Pham and R. Pagh (2013), *Fast and scalable polynomial kernels via explicit feature maps*,
    KDD 19, algorithm 1.

    Examples
    --------
    >>> a, b = np.array([[1.0, 2.0, 0.0]]), np.array([[0.0, 1.0, 0.0]])
    >>> convolve([a, b]).round(12) + 0.0
    array([[0., 1., 2.]])
    """
    first, *others = sketches
    if not others:
        return first
    m = first.shape[1]
    product = scipy.fft.rfft(first, axis=1)
    for other in others:
        product *= scipy.fft.rfft(other, axis=1)
    return np.asarray(scipy.fft.irfft(product, n=m, axis=1))
