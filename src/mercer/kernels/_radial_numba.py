"""Compiled passes over inner products of points with themselves: Matern values, and slopes.

As in :mod:`._tiles_numba` the products ``d = <x, z>`` and half the squared norms ``hx`` and ``hz``
make half the squared distance ``q = hx + hz - d``. With ``a = sqrt(2 nu) r`` the Matern kernel is
``(1 + a) e^-a`` for nu = 3/2 and ``(1 + a + a^2/3) e^-a`` for nu = 5/2. Of squares only pairs
``j < i`` are read.
"""

import numpy as np

from mercer._compile_numba import njit
from mercer.kernels._tiles_numba import ROWS, _power_double
from mercer.kernels._wide_numba import wide
from mercer.kernels.tile_sizes import RUN

__all__ = ["matern_square", "weigh_matern", "weigh_slopes"]

LOG2_E = 1.4426950408889634
THIRD, FIVE_THIRDS = 1.0 / 3.0, 5.0 / 3.0


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def matern_square(D, half, twice):
    """Change products of points with themselves into Matern values, for ``twice`` nu of 3 or 5.

    A few rows at a time, so that they are still in the cache when they are written as columns.
    """
    wide()
    n = D.shape[0]
    for first in range(0, n, ROWS):
        end = min(first + ROWS, n)
        for i in range(first, end):
            h, hz, d = half[i], half[:i], D[i, :i]
            if twice == 3:
                for j in range(i):
                    a = np.sqrt(6.0 * max((h + hz[j]) - d[j], 0.0))
                    d[j] = (1.0 + a) * _power_double(-LOG2_E * a)
            else:
                for j in range(i):
                    a = np.sqrt(10.0 * max((h + hz[j]) - d[j], 0.0))
                    d[j] = (1.0 + a + THIRD * a * a) * _power_double(-LOG2_E * a)
            D[i, i] = 1.0
        for left in range(0, end, ROWS):
            for j in range(left, min(left + ROWS, end)):
                d = D[j]
                for i in range(max(first, j + 1), end):
                    d[i] = D[i, j]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def weigh_slopes(D, hx, hz, G, first, twice):
    """Change products of rows, the one numbered `first` and those after it, with all up to them.

    Into ``2 G_ij`` times minus twice the derivative of the kernel by the squared distance for
    ``j < i``, and zero elsewhere: of a Matern kernel for `twice` nu of 3 or 5, of a Gaussian for 0.
    """
    wide()
    n, m = D.shape
    for i in range(n):
        h, d, g, last = hx[i], D[i], G[i], first + i
        if twice == 0:
            for j in range(last):
                q = max((h + hz[j]) - d[j], 0.0)
                d[j] = 2.0 * g[j] * _power_double(-LOG2_E * q)
        elif twice == 3:
            for j in range(last):
                a = np.sqrt(6.0 * max((h + hz[j]) - d[j], 0.0))
                d[j] = 6.0 * g[j] * _power_double(-LOG2_E * a)
        else:
            for j in range(last):
                a = np.sqrt(10.0 * max((h + hz[j]) - d[j], 0.0))
                d[j] = 2.0 * FIVE_THIRDS * g[j] * (1.0 + a) * _power_double(-LOG2_E * a)
        for j in range(last, m):
            d[j] = 0.0


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})
def _sum_three_halves(d, hz, h, w):
    wide()
    total = 0.0
    for j in range(d.shape[0]):
        a = np.sqrt(6.0 * max((h + hz[j]) - d[j], 0.0))
        total += (1.0 + a) * _power_double(-LOG2_E * a) * w[j]
    return total


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})
def _sum_five_halves(d, hz, h, w):
    wide()
    total = 0.0
    for j in range(d.shape[0]):
        a = np.sqrt(10.0 * max((h + hz[j]) - d[j], 0.0))
        total += (1.0 + a + THIRD * a * a) * _power_double(-LOG2_E * a) * w[j]
    return total


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def weigh_matern(D, hx, hz, w, f, twice):
    """Add Matern values times weights to f without writing the values."""
    wide()
    n, m = D.shape
    for i in range(n):
        for start in range(0, m, RUN):
            stop = min(start + RUN, m)
            d, z, b = D[i, start:stop], hz[start:stop], w[start:stop]
            if twice == 3:
                f[i] += _sum_three_halves(d, z, hx[i], b)
            else:
                f[i] += _sum_five_halves(d, z, hx[i], b)
