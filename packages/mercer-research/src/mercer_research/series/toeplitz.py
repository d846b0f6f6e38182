"""Matrices of stationary kernels on equally spaced points: one row says it all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import fft, linalg

from mercer._typing import Seed
from mercer.kernels.points import Array


@dataclass(frozen=True, eq=False)
class Toeplitz:
    r"""A symmetric Toeplitz matrix :math:`T_{ij} = v_{|i-j|}`, held by its first row.

    Products cost O(n log n) by the circulant matrix around it, solutions of definite systems
    O(n^2) by Levinson's recursion.

    Parameters
    ----------
    values : (n,) array
        Its first row: a kernel at the lags 0 to n - 1.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (9.61)-(9.64).

    Examples
    --------
    >>> T = Toeplitz([2.0, 1.0, 0.0])
    >>> (T @ [1.0, 0.0, 0.0]).round(12) + 0.0
    array([2., 1., 0.])
    >>> T.smooth([1.0, 1.0, 1.0]).round(4)
    array([0.7143, 0.8571, 0.7143])
    """

    values: ArrayLike

    def __post_init__(self) -> None:
        row = np.asarray(self.values, dtype=float)
        if row.ndim != 1 or not row.size or not np.isfinite(row).all():
            raise ValueError("values must be the first row of the matrix, finite numbers.")

    @property
    def row(self) -> Array:
        """The first row."""
        return np.asarray(self.values, dtype=float)

    def __len__(self) -> int:
        return len(self.row)

    def dense(self) -> Array:
        """Return the matrix."""
        return np.asarray(linalg.toeplitz(self.row))

    def __matmul__(self, V: ArrayLike) -> Array:
        """Return the product with a vector or a matrix of columns."""
        return np.asarray(linalg.matmul_toeplitz(self.row, np.asarray(V, dtype=float)))

    def solve(self, y: ArrayLike, shift: float = 0.0) -> Array:
        """Return the x with ``(T + shift I) x = y``, by Levinson's recursion.

        Parameters
        ----------
        y : (n,) or (n, q) array
        shift : float, default=0.0
        """
        row = self.row
        row = np.concatenate([row[:1] + shift, row[1:]])
        return np.asarray(linalg.solve_toeplitz(row, np.asarray(y, dtype=float)))

    def smooth(self, y: ArrayLike, gamma: float = 1.0) -> Array:
        r"""Smooth a series by the matrix.

        With :math:`(\gamma T + I) e = y` the smooth part is :math:`\gamma T e = y - e`.

        Parameters
        ----------
        y : (n,) array
        gamma : float, default=1.0
            Weight of the kernel against unit noise.
        """
        y = np.asarray(y, dtype=float)
        return np.asarray(y - Toeplitz(gamma * self.row).solve(y, 1.0))

    def circulant(self) -> Array:
        """Return the eigenvalues of the smallest circulant matrix that embeds this matrix."""
        row = self.row
        ring = np.concatenate([row, row[-2:0:-1]])
        return np.asarray(fft.fft(ring).real)

    def is_positive_semidefinite(self, tol: float = 1e-10) -> bool:
        """Whether no eigenvalue is below minus `tol` times the bound of the largest eigenvalue.

        By Durbin's recursion in O(n^2): a matrix is positive definite if, and only if, all errors
        of prediction from 1, 2, ... values before are positive.

        Parameters
        ----------
        tol : float, default=1e-10
        """
        row = self.row
        if not row.any():
            return True
        error = row[0] + tol * len(row) * abs(row[0])
        a = np.empty(0)
        for k in range(1, len(row)):
            if not error > 0.0:
                return False
            reflection = (row[k] - a @ row[k - 1 : 0 : -1]) / error
            a = np.append(a - reflection * a[::-1], reflection)
            error *= 1.0 - reflection**2
        return bool(error >= 0.0)

    def sample(self, size: int = 1, *, random_state: Seed = None) -> Array:
        r"""Return Gaussian series with this covariance matrix, in O(n log n).

        The rows and columns of a larger circulant matrix that is positive semidefinite contain
        the matrix; a sample of it is a Fourier transform of white noise.

        Parameters
        ----------
        size : int, default=1
            Number of series.
        random_state : int, Generator or None

        Returns
        -------
        (size, n) array
        """
        rng = np.random.default_rng(random_state)
        power = self.circulant()
        if power.min() < -1e-10 * power.max():
            raise ValueError(
                "The matrix does not begin a circulant one that is positive semidefinite: pass "
                "more lags, until the values are small, or "
                "np.append(nearest_moving_average(values), 0.0)."
            )
        n, length = len(self), len(power)
        amplitude = np.sqrt(np.maximum(power, 0.0) / length)
        noise = rng.normal(size=(size, length)) + 1j * rng.normal(size=(size, length))
        return np.asarray(fft.fft(amplitude * noise, axis=1).real[:, :n])
