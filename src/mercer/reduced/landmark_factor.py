r"""A preconditioner of normal equations from the landmarks alone, in single precision.

With :math:`K_{ZZ} = R'R` the features of the landmarks are the columns of R. Landmarks stand for
the rows, whose weights add up to s, so that

.. math:: I + C \sum_i s_i \phi_i \phi_i' \approx I + \frac{C s}{m} R R' = A

of which only the factor is kept: m^2 numbers in float32, written over a copy of R. No row is read
for it. Unpenalized columns are a border, eliminated in double precision.

References
----------
A. Rudi, L. Carratino and L. Rosasco, *FALKON: an optimal large scale kernel method*, NIPS 2017,
sec. 3 (the preconditioner of eq. 13).
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
from scipy.linalg.lapack import slauum, spotrf, spotrs

from mercer._typing import Array

__all__ = ["LandmarkFactor"]

# Part of the diagonal that is added where rounding has made a matrix indefinite, and how much more
# each time that this was not enough.
SINGLE_SLACK, SLACK_FACTOR = 2.0**-22, 8.0


class LandmarkFactor:
    """The curvature of landmarks, factorized in float32, for conjugate gradients.

    Parameters
    ----------
    R : (m, m) array
        Upper triangular, of the kernel matrix R'R of the landmarks.
    P : (m, q) array
        Unpenalized columns at the landmarks.
    weight : float
        C times the sum of the weights of all rows.

    Examples
    --------
    >>> R = np.array([[2.0, 1.0], [0.0, 1.0]])
    >>> factor = LandmarkFactor(R, np.zeros((2, 0)), weight=2.0)
    >>> (np.eye(2) + R @ R.T) @ factor.solve(np.array([7.0, 3.0])).round(6)
    array([7., 3.])
    """

    def __init__(self, R: Array, P: Array, weight: float) -> None:
        self.r, share, slack = R.shape[1], weight / len(P), 0.0
        while True:
            A, _ = slauum(np.asarray(R, dtype=np.float32, order="F"), overwrite_c=1)
            A *= np.float32(share)
            diagonal = np.einsum("ii->i", A)
            diagonal += np.float32(1.0 + slack * float(diagonal.max()))
            self.U, info = spotrf(A, clean=0, overwrite_a=1)
            if info == 0:
                break
            if not np.isfinite(share):
                raise la.LinAlgError("weights of the rows are not finite")
            slack = max(SINGLE_SLACK, SLACK_FACTOR * slack)
        B = share * (R @ P)
        self.across = np.stack([self._inner(b) for b in B.T], axis=1) if B.size else B
        self.B = B
        border = share * P.T @ P - B.T @ self.across
        # Columns that landmarks do not tell from functions of the kernel have nothing left of them.
        least = SINGLE_SLACK * np.einsum("ij,ij->j", P, P) * share
        values, vectors = la.eigh(0.5 * (border + border.T))
        values = np.maximum(values, max(float(np.max(least, initial=0.0)), 1e-300))
        self.border = (vectors / values) @ vectors.T

    def _inner(self, g: Array) -> Array:
        size = float(np.max(np.abs(g), initial=0.0))
        if not size:
            return np.zeros_like(g)
        found, _ = spotrs(self.U, np.asarray(g / size, dtype=np.float32))
        return size * np.asarray(found, dtype=np.float64).reshape(-1)

    def solve(self, g: Array) -> Array:
        """Return a vector of m + q numbers divided by the bordered matrix."""
        w, b = g[: self.r], g[self.r :]
        inner = self._inner(w)
        free = self.border @ (b - self.B.T @ inner)
        return np.concatenate([inner - self.across @ free, free])
