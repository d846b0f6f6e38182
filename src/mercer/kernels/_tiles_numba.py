"""Compiled passes over a tile of inner products of points in float32 or float64.

The products ``d = <x, z>`` and half the squared norms ``hx``, ``hz`` make the exponent
``t = d - hx - hz = -1/2 |x - z|^2``. Every pass keeps a NaN a NaN, so that bad input is noticed.
"""

import numpy as np

from mercer._compile_numba import njit
from mercer.kernels._wide_numba import wide
from mercer.kernels.points import Array
from mercer.kernels.tile_sizes import LOWEST, LOWEST_DOUBLE, RUN

__all__ = [
    "add_rows",
    "exponents",
    "in_units",
    "powers_of_two",
    "raise_two",
    "raise_two_double",
    "raise_two_square",
    "repair",
    "weigh",
    "weigh_and_bound",
    "weigh_both",
    "weigh_powers",
]


# Columns summed at once.
COLUMNS = 2048
# Rows and columns of the squares that a symmetric matrix is mirrored in.
ROWS = 32

ZERO, ONE, MINUS_HALF = np.float32(0.0), np.float32(1.0), np.float32(-0.5)

# Adding 1.5 * 2^23 rounds a small number to an integer, which then sits in the last nine bits (all
# others leave at the top when these are moved up to become the exponent of a power of two).
ROUND = np.float32(12582912.0)
BIAS, MANTISSA = np.int32(127), np.int32(23)

# An exponent of nearly equal points that rounding made positive stays so: cut at zero, such errors
# would all have one sign and add up in a quadratic form. Larger ones are not rounding.
HIGHEST = np.float32(2.0**-7)

# 2^r = 1 + C1 r + ... + C6 r^6 for |r| <= 1/2 with the smallest largest relative error, 2e-9.
C1, C2, C3 = np.float32(6.93147203e-01), np.float32(2.40226479e-01), np.float32(5.55033247e-02)
C4, C5, C6 = np.float32(9.61843736e-03), np.float32(1.33988744e-03), np.float32(1.53533619e-04)

# The same for float64: a sum with 1.5 * 2^52 + 1023 ends in the exponent's bits.
ROUND_DOUBLE = 6755399441055744.0 + 1023.0
MANTISSA_DOUBLE = np.int64(52)

# 2^r = 1 + D1 r + ... + D11 r^11 for |r| <= 1/2 with the smallest largest relative error, 3.5e-17.
D1, D2, D3, D4 = (
    6.9314718055994562e-01,
    2.4022650695910093e-01,
    5.5504108664794905e-02,
    9.6181291076100635e-03,
)
D5, D6, D7, D8 = (
    1.3333558152707787e-03,
    1.5403530436684304e-04,
    1.5252727822354072e-05,
    1.3215445517964000e-06,
)
D9, D10, D11 = 1.0180558117345349e-07, 7.0720261628708018e-09, 4.0796368383853598e-10


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})
def in_units(X, origin, factor, units, half):
    """Write the points in units around the origin, and half their squared norms."""
    wide()
    n, p = X.shape
    for i in range(n):
        x, u = X[i], units[i]
        total = 0.0
        for q in range(p):
            u[q] = (x[q] - origin[q]) * factor[q]
            total += np.float64(u[q]) * np.float64(u[q])
        half[i] = 0.5 * total


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"}, inline="always")
def _power(t):
    """Return ``2^min(t, HIGHEST)`` in float32.

    Only additions, products and bits of integers, no table and no branch, so that a loop runs
    on all lanes of the processor. The error is below 1 unit in the last place.
    """
    t = HIGHEST if t > HIGHEST else t
    shifted = np.float32(t + ROUND)
    r = t - (shifted - ROUND)
    fraction = ONE + r * (C1 + r * (C2 + r * (C3 + r * (C4 + r * (C5 + r * C6)))))
    bits = np.int32(np.int32(shifted.view(np.int32) + BIAS) << MANTISSA)
    return ZERO if t < LOWEST else fraction * bits.view(np.float32)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"}, inline="always")
def _power_double(t):
    """Return ``2^t`` in float64, for t that rounding makes positive by 1e-9 at most."""
    shifted = np.float64(t + ROUND_DOUBLE)
    r = t - (shifted - ROUND_DOUBLE)
    high = D6 + r * (D7 + r * (D8 + r * (D9 + r * (D10 + r * D11))))
    fraction = 1.0 + r * (D1 + r * (D2 + r * (D3 + r * (D4 + r * (D5 + r * high)))))
    bits = np.int64(shifted.view(np.int64) << MANTISSA_DOUBLE)
    return 0.0 if t < LOWEST_DOUBLE else fraction * bits.view(np.float64)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def powers_of_two(D, hx, hz, flat, step):
    """Write ``2^min(D - hx - hz, HIGHEST)``; row i of the result begins at ``flat[i step]``."""
    wide()
    n, m = D.shape
    for i in range(n):
        h = hx[i]
        d = D[i]
        out = flat[i * step : i * step + m]
        for j in range(m):
            out[j] = _power((d[j] - hz[j]) - h)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def raise_two(D, hx, hz):
    """Do the same in place: where memory overlaps, the loop above runs on one lane only."""
    wide()
    n, m = D.shape
    for i in range(n):
        h = hx[i]
        d = D[i]
        for j in range(m):
            d[j] = _power((d[j] - hz[j]) - h)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def raise_two_double(D, hx, hz):
    """Do the same in place in float64, where differences exceed zero by rounding only."""
    wide()
    n, m = D.shape
    for i in range(n):
        h = hx[i]
        d = D[i]
        for j in range(m):
            d[j] = _power_double((d[j] - hz[j]) - h)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def raise_two_square(D, half):
    """Do the same with products of points with themselves, of which one half is read: ``j < i``.

    A few rows at a time, so that they are still in the cache when they are written as columns.
    """
    wide()
    n = D.shape[0]
    for first in range(0, n, ROWS):
        end = min(first + ROWS, n)
        for i in range(first, end):
            h, hz, d = half[i], half[:i], D[i, :i]
            for j in range(i):
                d[j] = _power_double(d[j] - (h + hz[j]))
            D[i, i] = 1.0
        for left in range(0, end, ROWS):
            for j in range(left, min(left + ROWS, end)):
                d = D[j]
                for i in range(max(first, j + 1), end):
                    d[i] = D[i, j]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def exponents(D, hx, hz):
    """Change inner products into exponents, in place."""
    wide()
    n, m = D.shape
    for i in range(n):
        h = hx[i]
        d = D[i]
        for j in range(m):
            t = (d[j] - hz[j]) - h
            d[j] = ZERO if t > ZERO else t


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})
def repair(flat, step, m, X, Z, factor, rows, lowest, exponential):
    """Compute entries not below ``lowest``, one number a row, again from differences ``x - z``.

    Row i of the m exponents, or with ``exponential`` of their powers of two, begins at
    ``flat[i step]``. Few are: 64 at a time are compared in all lanes before one is looked at.
    """
    wide()
    p = X.shape[1]
    for k in range(rows.shape[0]):
        i, low = rows[k], lowest[k]
        values = flat[i * step : i * step + m]
        for start in range(0, m, 64):
            stop = min(start + 64, m)
            found = 0
            for j in range(start, stop):
                found += 0 if values[j] < low else 1
            if found == 0:
                continue
            for j in range(start, stop):
                if not values[j] < low:
                    square = ZERO
                    for q in range(p):
                        difference = (X[i, q] - Z[j, q]) * factor[q]
                        square += difference * difference
                    t = MINUS_HALF * square
                    values[j] = np.exp2(t) if exponential else t


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})
def weigh(K, a, f):
    """Add ``K a`` to f, in float64: the sum of many terms keeps the digits of the values."""
    wide()
    n, m = K.shape
    for i in range(n):
        for start in range(0, m, RUN):
            stop = min(start + RUN, m)
            row, b = K[i, start:stop], a[start:stop]
            total = 0.0
            for j in range(stop - start):
                total += np.float64(row[j]) * b[j]
            f[i] += total


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})
def _sum_powers(d, hz, h, a):
    wide()
    total = 0.0
    for j in range(d.shape[0]):
        total += _power_double((d[j] - hz[j]) - h) * a[j]
    return total


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def weigh_powers(D, hx, hz, a, f):
    """Add ``2^(D - hx - hz) a`` to f, in float64, without writing the powers."""
    wide()
    n, m = D.shape
    for i in range(n):
        for start in range(0, m, RUN):
            stop = min(start + RUN, m)
            f[i] += _sum_powers(D[i, start:stop], hz[start:stop], hx[i], a[start:stop])


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})
def weigh_and_bound(K, a, w, f, e):
    """Add ``K a`` to f, in float64, and ``K w`` to e, summed in float32."""
    wide()
    n, m = K.shape
    for i in range(n):
        row = K[i]
        total, other = 0.0, ZERO
        for j in range(m):
            total += np.float64(row[j]) * a[j]
        for j in range(m):
            other += row[j] * w[j]
        f[i] += total
        e[i] += np.float64(other)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})
def weigh_both(K, a, f, b, g):
    """Add ``K a`` to f and ``K' b`` to g, in float64, reading the first columns of K once.

    Four rows at a time, so that reading and writing g costs a quarter, and as many columns as stay
    in the fastest cache while the rows pass by. There are as many columns as entries of a.
    """
    wide()
    n, m = K.shape[0], a.shape[0]
    fours = n - n % 4
    for begin in range(0, m, COLUMNS):
        end = min(begin + COLUMNS, m)
        x, y = a[begin:end], g[begin:end]
        for i in range(0, fours, 4):
            r0, r1 = K[i, begin:end], K[i + 1, begin:end]
            r2, r3 = K[i + 2, begin:end], K[i + 3, begin:end]
            b0, b1, b2, b3 = b[i], b[i + 1], b[i + 2], b[i + 3]
            t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
            for j in range(end - begin):
                v0, v1 = np.float64(r0[j]), np.float64(r1[j])
                v2, v3 = np.float64(r2[j]), np.float64(r3[j])
                t0 += v0 * x[j]
                t1 += v1 * x[j]
                t2 += v2 * x[j]
                t3 += v3 * x[j]
                y[j] += (v0 * b0 + v1 * b1) + (v2 * b2 + v3 * b3)
            f[i] += t0
            f[i + 1] += t1
            f[i + 2] += t2
            f[i + 3] += t3
        for i in range(fours, n):
            row, weight = K[i, begin:end], b[i]
            total = 0.0
            for j in range(end - begin):
                value = np.float64(row[j])
                total += value * x[j]
                y[j] += value * weight
            f[i] += total


def add_rows(F: Array, flat: Array, starts: Array, t: Array) -> None:
    """Add ``sum_k t[k] r_k`` to ``F``, where row ``r_k`` begins at ``flat[starts[k]]``.

    Two vectors of weights make two vectors of sums, and rows are read once.
    """
    if F.ndim == 1:
        _add_rows(F, flat, starts, t)
    else:
        _add_both(F[0], F[1], flat, starts, t[0], t[1])


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "nsz"})
def _add_rows(F, flat, starts, t):
    """Add weighted rows to sums.

    The sums of some columns stay in the fastest cache while many rows pass by, four at a time.
    """
    wide()
    n, m = F.shape[0], starts.shape[0]
    one = flat.dtype.type
    for begin in range(0, n, COLUMNS):
        end = min(begin + COLUMNS, n)
        sums = F[begin:end]
        for k in range(0, m, 4):
            last = m - 1
            s0, s1 = starts[k], starts[min(k + 1, last)]
            s2, s3 = starts[min(k + 2, last)], starts[min(k + 3, last)]
            t0 = one(t[k])
            t1 = one(t[k + 1] if k + 1 < m else 0.0)
            t2 = one(t[k + 2] if k + 2 < m else 0.0)
            t3 = one(t[k + 3] if k + 3 < m else 0.0)
            r0, r1 = flat[s0 + begin : s0 + end], flat[s1 + begin : s1 + end]
            r2, r3 = flat[s2 + begin : s2 + end], flat[s3 + begin : s3 + end]
            for c in range(end - begin):
                sums[c] += np.float64(t0 * r0[c] + t1 * r1[c] + (t2 * r2[c] + t3 * r3[c]))


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "nsz"})
def _add_both(F, G, flat, starts, t, u):
    """Add weighted rows to two vectors of sums."""
    wide()
    n, m = F.shape[0], starts.shape[0]
    one = flat.dtype.type
    for begin in range(0, n, COLUMNS):
        end = min(begin + COLUMNS, n)
        sums, sizes = F[begin:end], G[begin:end]
        for k in range(0, m, 4):
            last = m - 1
            s0, s1 = starts[k], starts[min(k + 1, last)]
            s2, s3 = starts[min(k + 2, last)], starts[min(k + 3, last)]
            t0 = one(t[k])
            t1 = one(t[k + 1] if k + 1 < m else 0.0)
            t2 = one(t[k + 2] if k + 2 < m else 0.0)
            t3 = one(t[k + 3] if k + 3 < m else 0.0)
            u0 = one(u[k])
            u1 = one(u[k + 1] if k + 1 < m else 0.0)
            u2 = one(u[k + 2] if k + 2 < m else 0.0)
            u3 = one(u[k + 3] if k + 3 < m else 0.0)
            r0, r1 = flat[s0 + begin : s0 + end], flat[s1 + begin : s1 + end]
            r2, r3 = flat[s2 + begin : s2 + end], flat[s3 + begin : s3 + end]
            for c in range(end - begin):
                sums[c] += np.float64(t0 * r0[c] + t1 * r1[c] + (t2 * r2[c] + t3 * r3[c]))
                sizes[c] += np.float64(u0 * r0[c] + u1 * r1[c] + (u2 * r2[c] + u3 * r3[c]))
