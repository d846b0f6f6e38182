r"""Cholesky of a sparse matrix as a band, in an order that makes the band narrow.

Points on a line have neighbours nearby, points in the plane about :math:`\sqrt{n}` points away:
after the reversed order of Cuthill and McKee all entries of a row lie within a width w of the
diagonal. The factor stays inside, so its memory, :math:`n (w + 1)` numbers, is known beforehand.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpbtrf, dpbtrs
from scipy.sparse.csgraph import reverse_cuthill_mckee

from mercer._typing import Array, LinearMap
from mercer.gram.factor import JITTERS, Indefinite, Solve, refined

__all__ = ["Band", "by_band", "narrowed"]


class Band(NamedTuple):
    """An order of rows and columns, and the largest distance of an entry from the diagonal."""

    order: NDArray[np.intp]
    width: int

    @property
    def rank(self) -> NDArray[np.intp]:
        """The place of each row in the order."""
        rank = np.empty_like(self.order)
        rank[self.order] = np.arange(len(self.order))
        return rank


def narrowed(K: LinearMap) -> Band:
    """Return an order in which a symmetric matrix is a narrow band.

    Parameters
    ----------
    K : (n, n) CSR array

    Examples
    --------
    >>> from scipy import sparse
    >>> path = sparse.csr_array(np.array([[1, 0, 1], [0, 1, 1], [1, 1, 1]]))  # 0 - 2 - 1
    >>> narrowed(path).width
    1
    """
    if not K.nnz:
        return Band(np.arange(K.shape[0]), 0)
    band = Band(reverse_cuthill_mckee(K, symmetric_mode=True).astype(np.intp), 0)
    rank = band.rank
    rows = np.repeat(rank, np.diff(K.indptr))
    return band._replace(width=int(np.max(np.abs(rows - rank[K.indices]))))


def by_band(
    K: LinearMap, band: Band, matvec: Solve, diagonal: Array, e: Array, eps: float, max_bytes: float
) -> Solve:
    """Solve with ``K + diag(e)`` by Cholesky of the band of its rows and columns with finite ``e``.

    Parameters
    ----------
    K : CSR array
        Those rows and columns, in float64.
    band : Band
        Their order.
    matvec : callable
        Product with the whole matrix, for the residual.
    diagonal, e : ndarray of shape (n,)
        Its diagonal, and the shift.
    eps : float
        Relative rounding error of the entries.
    max_bytes : float
        Memory that the factor may take.
    """
    live, n = np.flatnonzero(np.isfinite(e)), K.shape[0]
    if 8.0 * n * (band.width + 1) > max_bytes:
        raise ValueError(
            f"the band of {n} samples and width {band.width} takes more than "
            f"max_bytes={max_bytes:.1e}; use conjugate gradients, or raise max_bytes"
        )
    top = (diagonal[live] + e[live])[band.order]
    for jitter in JITTERS:
        # The error of a factorization of a band grows with its width, not with n.
        factor, info = _factor(K, band, top * (1.0 + jitter * (band.width + 1) * eps))
        if not info:
            break
    else:
        raise Indefinite("the shifted kernel matrix is not positive definite")
    order = live[band.order]

    def approximate(r: Array) -> Array:
        x = np.zeros_like(r)
        x[order] = dpbtrs(factor, r[order], lower=1)[0]
        return x

    return refined([lambda: approximate], matvec, diagonal, e)


def _factor(K: LinearMap, band: Band, diagonal: Array) -> tuple[Array, int]:
    """Return the Cholesky factor of the band, and where it failed; its diagonal is given."""
    n, rank = K.shape[0], band.rank
    ab = np.zeros((band.width + 1, n), order="F")
    for start in range(0, n, 4096):
        stop = min(start + 4096, n)
        part = slice(K.indptr[start], K.indptr[stop])
        i = np.repeat(rank[start:stop], np.diff(K.indptr[start : stop + 1]))
        j = rank[K.indices[part]]
        below = i >= j
        ab[i[below] - j[below], j[below]] = K.data[part][below]
    ab[0] = diagonal
    factor, info = dpbtrf(ab, lower=1, overwrite_ab=1)
    return factor, int(info)
