"""Compiled passes over distances that are sums over the features: values and their slopes.

Points on the right are kept feature by feature, so that every loop runs over many of them in all
lanes of the processor; the sums of a run of columns stay in the fastest cache. The first `numbers`
features are subtracted, the others are categories, equal or not. A NaN stays a NaN.
"""

import numpy as np

from mercer._compile_numba import njit
from mercer.kernels._tiles_numba import _power, _power_double
from mercer.kernels._wide_numba import wide
from mercer.kernels.tile_sizes import RUN

__all__ = ["laplace", "laplace_double", "pull_back", "weigh_laplace"]

# Columns whose sums are held at once: enough for loops to pay, and with ten features in the cache.
COLUMNS = 1024


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _clear(t):
    """Set all sums to zero."""
    wide()
    zero = t.dtype.type(0.0)
    for j in range(t.shape[0]):
        t[j] = zero


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _subtract_both(x, y, factor, fours, columns, begin, t, u):
    """Subtract ``sum_q factor[q] |x[q] - z[q]|`` from t and the same of y from u.

    Four features of two rows at a time, because reading columns and sums costs as much as adding:
    with 50 features in float32 that saves a quarter of the time.
    """
    wide()
    m = t.shape[0]
    for q in range(0, fours, 4):
        x0, x1, x2, x3 = x[q], x[q + 1], x[q + 2], x[q + 3]
        y0, y1, y2, y3 = y[q], y[q + 1], y[q + 2], y[q + 3]
        f0, f1, f2, f3 = factor[q], factor[q + 1], factor[q + 2], factor[q + 3]
        z0, z1 = columns[q, begin : begin + m], columns[q + 1, begin : begin + m]
        z2, z3 = columns[q + 2, begin : begin + m], columns[q + 3, begin : begin + m]
        for j in range(m):
            s = t[j] - f0 * abs(x0 - z0[j])
            s = s - f1 * abs(x1 - z1[j])
            s = s - f2 * abs(x2 - z2[j])
            t[j] = s - f3 * abs(x3 - z3[j])
            r = u[j] - f0 * abs(y0 - z0[j])
            r = r - f1 * abs(y1 - z1[j])
            r = r - f2 * abs(y2 - z2[j])
            u[j] = r - f3 * abs(y3 - z3[j])


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _subtract(x, factor, first, numbers, columns, begin, t):
    """Subtract ``sum_q factor[q] |x[q] - z[q]|`` over the features from `first` on."""
    wide()
    p, m = x.shape[0], t.shape[0]
    zero = t.dtype.type(0.0)
    fours = numbers - numbers % 4
    for q in range(first, fours, 4):
        x0, x1, x2, x3 = x[q], x[q + 1], x[q + 2], x[q + 3]
        f0, f1, f2, f3 = factor[q], factor[q + 1], factor[q + 2], factor[q + 3]
        z0, z1 = columns[q, begin : begin + m], columns[q + 1, begin : begin + m]
        z2, z3 = columns[q + 2, begin : begin + m], columns[q + 3, begin : begin + m]
        for j in range(m):
            s = t[j] - f0 * abs(x0 - z0[j])
            s = s - f1 * abs(x1 - z1[j])
            s = s - f2 * abs(x2 - z2[j])
            t[j] = s - f3 * abs(x3 - z3[j])
    for q in range(fours, numbers):
        x0, f0, z0 = x[q], factor[q], columns[q, begin : begin + m]
        for j in range(m):
            t[j] = t[j] - f0 * abs(x0 - z0[j])
    for q in range(numbers, p):
        x0, f0, z0 = x[q], factor[q], columns[q, begin : begin + m]
        for j in range(m):
            d = abs(x0 - z0[j])
            t[j] = t[j] - (f0 if d > zero else d)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _distances(X, i, factor, numbers, columns, begin, t, u):
    """Write minus the distances of rows i and i + 1; of the last row only t."""
    wide()
    _clear(t)
    first = 0
    if i + 1 < X.shape[0]:
        _clear(u)
        first = numbers - numbers % 4
        _subtract_both(X[i], X[i + 1], factor, first, columns, begin, t, u)
        _subtract(X[i + 1], factor, first, numbers, columns, begin, u)
    _subtract(X[i], factor, first, numbers, columns, begin, t)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def laplace(X, factor, numbers, columns, start, m, flat, step):
    """Write ``2^(-sum_q factor[q] |x[q] - z[q]|)`` for m columns from `start` on, in float32.

    Row i of the result begins at ``flat[i step]``.
    """
    wide()
    t = np.empty((2, min(m, COLUMNS)), dtype=columns.dtype)
    for begin in range(0, m, COLUMNS):
        end = min(begin + COLUMNS, m)
        n = X.shape[0]
        for i in range(0, n, 2):
            _distances(
                X,
                i,
                factor,
                numbers,
                columns,
                start + begin,
                t[0, : end - begin],
                t[1, : end - begin],
            )
            for k in range(min(2, n - i)):
                s, out = t[k], flat[(i + k) * step + begin : (i + k) * step + end]
                for j in range(end - begin):
                    out[j] = _power(s[j])


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def laplace_double(X, factor, numbers, columns, start, m, flat, step):
    """Write the same in float64."""
    wide()
    t = np.empty((2, min(m, COLUMNS)), dtype=columns.dtype)
    for begin in range(0, m, COLUMNS):
        end = min(begin + COLUMNS, m)
        n = X.shape[0]
        for i in range(0, n, 2):
            _distances(
                X,
                i,
                factor,
                numbers,
                columns,
                start + begin,
                t[0, : end - begin],
                t[1, : end - begin],
            )
            for k in range(min(2, n - i)):
                s, out = t[k], flat[(i + k) * step + begin : (i + k) * step + end]
                for j in range(end - begin):
                    out[j] = _power_double(s[j])


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})
def _sum_powers(t, a):
    wide()
    total = 0.0
    for j in range(t.shape[0]):
        total += _power_double(t[j]) * a[j]
    return total


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def weigh_laplace(X, factor, numbers, columns, start, a, f):
    """Add kernel values of columns from `start` on, times weights a, to f without writing them.

    In float64, and so few columns at a time that they stay in the fastest cache with their sums.
    """
    wide()
    n, m = X.shape[0], a.shape[0]
    t = np.empty((2, min(m, RUN)), dtype=columns.dtype)
    for begin in range(0, m, RUN):
        b = a[begin : begin + RUN]
        t0, t1 = t[0, : b.shape[0]], t[1, : b.shape[0]]
        for i in range(0, n, 2):
            _distances(X, i, factor, numbers, columns, start + begin, t0, t1)
            f[i] += _sum_powers(t0, b)
            if i + 1 < n:
                f[i + 1] += _sum_powers(t1, b)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})
def _add_slopes(x, numbers, columns, begin, w, sums):
    """Add ``sum_j w[j] |x[q] - z_j[q]|`` to the sum of each feature."""
    wide()
    m = w.shape[0]
    for q in range(x.shape[0]):
        x0, z0 = x[q], columns[q, begin : begin + m]
        total = 0.0
        if q < numbers:
            for j in range(m):
                total += w[j] * abs(x0 - z0[j])
        else:
            for j in range(m):
                d = abs(x0 - z0[j])
                total += w[j] if d > 0.0 else w[j] * d
        sums[q] += total


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})
def pull_back(X, factor, numbers, columns, G, first, last, tied, sums):
    """Add slopes of ``sum_ij G_ij K_ij`` over the pairs j < i of some rows i, in float64.

    The derivative by minus the factor of each feature; if `tied`, the sum of distances instead,
    in units of all factors.
    """
    wide()
    t = np.empty(COLUMNS)
    for begin in range(0, last, COLUMNS):
        for i in range(max(first, begin + 1), last):
            m = min(COLUMNS, i - begin)
            s, g = t[:m], G[i, begin : begin + m]
            _clear(s)
            _subtract(X[i], factor, 0, numbers, columns, begin, s)
            if tied:
                total = 0.0
                for j in range(m):
                    total -= g[j] * _power_double(s[j]) * s[j]
                sums[0] += total
            else:
                for j in range(m):
                    s[j] = g[j] * _power_double(s[j])
                _add_slopes(X[i], numbers, columns, begin, s, sums)
