r"""A small system of the squared loss, solved off its unpenalized columns for every C."""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from mercer._typing import Array

__all__ = ["System"]

# Free columns of unit length count as dependent where a combination of them is shorter than the
# root of this: sums of squares in double precision cannot tell.
DEPENDENT_SQUARE = 1e-12


class System:
    r"""One system of equations for several targets, solved for every C.

    With A, D, E the parts of G among features, between features and free columns, and among these,
    :math:`M = A - D E^+ D'` and :math:`h = g_w - D E^+ g_b` leave :math:`(M + 1/C) w = h`.

    Parameters
    ----------
    G : (size, size) array
    g : (size, k) array
    square : (k,) array
    r : int
        Number of features; free columns follow.
    """

    def __init__(self, G: Array, g: Array, square: Array, r: int) -> None:
        A, D, E = G[:r, :r], G[:r, r:], G[r:, r:]
        root = self._root(E)
        self.rank = int(root.shape[1])
        across = D @ root
        self.inverse: Array = root @ root.T
        self.back: Array = root @ across.T
        self.b: Array = root @ (root.T @ g[r:])
        values, self.vectors = la.eigh(A - across @ across.T, driver="evd", check_finite=False)
        # What is below this is rounding of the sums.
        self.floor = r * float(np.finfo(np.float64).eps) * (float(np.max(np.diag(A))) or 1.0)
        self.values: Array = np.where(values > self.floor, values, 0.0)
        self.z: Array = self.vectors.T @ (g[:r] - across @ (root.T @ g[r:]))
        explained = np.sum((root.T @ g[r:]) ** 2, axis=0)
        some = self.values > 0
        fitted = np.sum(self.z[some] ** 2 / self.values[some, None], axis=0)
        self.least: Array = np.maximum(square - explained - fitted, 0.0)

    @staticmethod
    def _root(E: Array) -> Array:
        """Return a root of the pseudo-inverse of the sums of free columns, (q, rank)."""
        scale = np.sqrt(np.diag(E))
        scale = np.where(scale > 0, scale, 1.0)
        values, vectors = la.eigh(E / np.outer(scale, scale), check_finite=False)
        kept = values > DEPENDENT_SQUARE * max(float(np.max(values, initial=0.0)), 1e-300)
        return np.asarray(vectors[:, kept] / np.sqrt(values[kept]) / scale[:, None])

    def shift(self, C: Array) -> Array:
        """Return 1/C, no smaller than the rounding error of the eigenvalues."""
        return np.asarray(np.maximum(1.0 / C, self.floor))

    def shrunk(self, C: Array) -> Array:
        r"""Return :math:`1/(\sigma_j + 1/C)`, (number of C, r)."""
        return np.asarray(1.0 / (self.values + self.shift(C)[:, None]))

    def coefficients(self, C: Array) -> tuple[Array, Array]:
        """Return w (number of C, r, k) and b (number of C, q, k)."""
        W = self.vectors @ (self.shrunk(C)[:, :, None] * self.z)
        return W, self.b - self.back @ W

    def residual_sum(self, C: Array) -> Array:
        """Return the weighted sum of squared residuals, (number of C, k)."""
        shift, some = self.shift(C), self.values > 0
        factor = (shift[:, None] * self.shrunk(C)[:, some]) ** 2 / self.values[some]
        return np.asarray(self.least + factor @ self.z[some] ** 2)

    def square_norm(self, C: Array) -> Array:
        """Return the squared norm of the functions, (number of C, k)."""
        return np.asarray(self.shrunk(C) ** 2 @ self.z**2)

    def degrees_of_freedom(self, C: Array) -> Array:
        r"""Return :math:`\operatorname{rank} + \sum_j \sigma_j / (\sigma_j + 1/C)`."""
        return np.asarray(self.rank + self.shrunk(C) @ self.values)

    def log_det(self, C: Array) -> Array:
        r"""Return :math:`\sum_j \log(1 + C \sigma_j)`."""
        return np.asarray(np.sum(np.log1p(self.values / self.shift(C)[:, None]), axis=1))
