"""Matrices of stationary kernels on equally spaced points: one row says it all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import fft, linalg, optimize

from mercer.series.autocovariance import Array


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
        r"""Return what the matrix explains of a series.

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
        """Return the eigenvalues of the smallest circulant matrix that begins with this one."""
        row = self.row
        ring = np.concatenate([row, row[-2:0:-1]])
        return np.asarray(fft.fft(ring).real)

    def is_positive_semidefinite(self, tol: float = 1e-10) -> bool:
        """Whether no eigenvalue is below minus `tol` times the largest possible one.

        By Durbin's recursion in O(n^2): a matrix is positive definite if, and only if, all errors
        of prediction from 1, 2, ... values before are positive.

        Parameters
        ----------
        tol : float, default=1e-10
        """
        row = self.row
        error = row[0] + tol * len(row) * abs(row[0])
        a = np.empty(0)
        for k in range(1, len(row)):
            if not error > 0.0:
                return False
            reflection = (row[k] - a @ row[k - 1 : 0 : -1]) / error
            a = np.append(a - reflection * a[::-1], reflection)
            error *= 1.0 - reflection**2
        return bool(error >= 0.0)

    def sample(self, size: int = 1, *, random_state: Any = None) -> Array:
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
                "more lags, until the values are small, or nearest_definite(values)."
            )
        n, length = len(self), len(power)
        amplitude = np.sqrt(np.maximum(power, 0.0) / length)
        noise = rng.normal(size=(size, length)) + 1j * rng.normal(size=(size, length))
        return np.asarray(fft.fft(amplitude * noise, axis=1).real[:, :n])


def nearest_definite(values: ArrayLike, *, tol: float = 1e-10) -> Array:
    r"""Return the positive definite sequence nearest to a given one, with as many lags.

    Sequences :math:`v_{-m}, \dots, v_m` that are zero beyond and whose spectrum
    :math:`v_0 + 2 \sum_\tau v_\tau \cos \tau\theta` is nowhere negative are the covariances of
    all lengths of series at once. The nearest one in the sum of squares differs by multiples, at
    least 0, of the cosines at some frequencies: a least-squares problem with such coefficients,
    to which the frequencies are added where the spectrum is still negative. A rest of `tol` goes
    to :math:`v_0`.

    Parameters
    ----------
    values : (m + 1,) array
        From lag 0 on.
    tol : float, default=1e-10
        Negative power to be left to :math:`v_0`, in units of its value.

    Returns
    -------
    (m + 1,) array

    Examples
    --------
    >>> nearest_definite([1.0, 0.8]).round(4)
    array([1.2, 0.6])
    """
    v = np.asarray(values, dtype=float)
    root = np.sqrt(np.where(np.arange(len(v)) > 0, 2.0, 1.0))
    theta = np.linspace(0.0, np.pi, 4 * len(v) + 1)
    current = v
    for _ in range(20):
        places, power = _minima(current)
        negative = power < -tol * abs(v[0])
        if not negative.any():
            break
        theta = np.union1d(theta, places[negative])
        waves = root[:, None] * np.cos(np.multiply.outer(np.arange(len(v)), theta))
        multipliers = optimize.nnls(waves, -root * v, maxiter=30 * len(theta))[0]
        current = v + waves @ multipliers / root
    current = current.copy()
    current[0] += max(0.0, -float(_minima(current)[1].min()))
    return current


def _minima(v: Array) -> tuple[Array, Array]:
    """Return where the spectrum of a sequence has its minima, and its values there."""
    lags = np.arange(1, len(v))
    length = fft.next_fast_len(16 * len(v), real=True)
    samples = np.asarray(fft.hfft(np.pad(v, (0, length // 2 + 1 - len(v))), length))
    step = 2.0 * np.pi / length
    theta = step * np.flatnonzero(samples <= np.minimum(np.roll(samples, 1), np.roll(samples, -1)))
    theta = theta[theta <= np.pi]
    for _ in range(5):
        waves = np.exp(1j * np.multiply.outer(theta, lags))
        slope = -2.0 * waves.imag @ (lags * v[1:])
        bend = -2.0 * waves.real @ (lags**2 * v[1:])
        # Newton's method, between the neighbours of the sample.
        move = np.divide(-slope, bend, out=np.zeros_like(slope), where=bend > 0.0)
        theta = theta + np.clip(move, -step, step)
    power = v[0] + 2.0 * np.cos(np.multiply.outer(theta, lags)) @ v[1:]
    return np.append(theta, step * np.argmin(samples)), np.append(power, samples.min())
