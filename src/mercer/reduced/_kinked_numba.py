"""Compiled loops over the losses of rows whose conjugates are two parabolas that meet at zero.

Arrays have one number for each row: slopes of the conjugate above and below zero, its curvatures
there (``flat``, because the loss is as flat), and the smallest and largest slope of the loss.
"""

from mercer._compile_numba import njit

# Sums in any order, so that several rows are added at once; no assumption about infinities.
FAST = {"reassoc", "contract", "nsz"}
BARE = {"_nrt": False, "no_cfunc_wrapper": True, "nogil": True, "error_model": "numpy"}


@njit(cache=True, fastmath=FAST, **BARE)
def rounded(t, v0, mu, c, above, below, flat_above, flat_below, low, high, v, bent):
    """Write slopes of rounded losses and their weighted curvatures; return sums.

    The loss at t is the largest of ``v t - l*(v) - mu / 2 (v - v0)^2``, l* the conjugate. The sums
    are of losses, of weighted slopes and their sizes, of curvatures, and of rows that have one.
    """
    total, slopes, sizes, curvatures, active = 0.0, 0.0, 0.0, 0.0, 0
    for i in range(t.shape[0]):
        up, down = above[i], below[i]
        q = flat_above[i] + mu
        r = flat_below[i] + mu
        z = t[i] + mu * v0[i]
        right, left = max(z - up, 0.0), min(z - down, 0.0)
        smallest, largest = low[i], high[i]
        free = right / q + left / r
        slope = min(max(free, smallest), largest)
        v[i] = slope
        inside = (free > smallest) & (free < largest) & (right > left)
        curved = (c[i] / (q if right > 0.0 else r)) if inside else 0.0
        bent[i] = curved
        slopes += c[i] * slope
        sizes += c[i] * abs(slope)
        curvatures += curved
        active += curved > 0.0
        conjugate = max(slope, 0.0) * (up + 0.5 * (q - mu) * slope)
        conjugate += min(slope, 0.0) * (down + 0.5 * (r - mu) * slope)
        step = slope - v0[i]
        total += c[i] * (slope * t[i] - conjugate - 0.5 * mu * step * step)
    return total, slopes, sizes, curvatures, active


@njit(cache=True, fastmath=FAST, **BARE)
def along(g, c, v, bent):
    """Return sums of weighted slopes, curvatures and curvatures again along a step g."""
    slopes, squares, curvatures = 0.0, 0.0, 0.0
    for i in range(g.shape[0]):
        slopes += c[i] * v[i] * g[i]
        squares += bent[i] * g[i] * g[i]
        curvatures += bent[i] * g[i]
    return slopes, squares, curvatures


@njit(cache=True, fastmath=FAST, **BARE)
def fenchel_young(t, v, c, above, below, flat_above, flat_below, low, high):
    """Return the sums of losses, of conjugates, and of losses and conjugates less ``v t``.

    Summands of the last are not negative, and lose no digits by a difference of sums. A value that
    is NaN has a cost that is NaN: comparisons are such that it takes neither side.
    """
    losses, conjugates, young = 0.0, 0.0, 0.0
    for i in range(t.shape[0]):
        up, down = above[i], below[i]
        q = flat_above[i]
        r = flat_below[i]
        right = 0.0 if t[i] <= up else t[i] - up
        left = 0.0 if t[i] >= down else t[i] - down
        largest, smallest = high[i], low[i]
        rise = min(right / q, largest) if q > 0.0 else largest
        fall = max(left / r, smallest) if r > 0.0 else smallest
        loss = 0.0 if right <= 0.0 else rise * (right - 0.5 * q * rise)
        loss += 0.0 if left >= 0.0 else fall * (left - 0.5 * r * fall)
        conjugate = max(v[i], 0.0) * (up + 0.5 * q * v[i])
        conjugate += min(v[i], 0.0) * (down + 0.5 * r * v[i])
        losses += c[i] * loss
        conjugates += c[i] * conjugate
        gap = loss + conjugate - v[i] * t[i]
        young += 0.0 if gap <= 0.0 else c[i] * gap
    return losses, conjugates, young


@njit(cache=True, fastmath=FAST, **BARE)
def add_rows(values, rows, weights, total):
    """Add rows of a matrix, times their weights, to a sum in float64."""
    for j in range(rows.shape[0]):
        row, weight = values[rows[j]], weights[j]
        for k in range(total.shape[0]):
            total[k] += weight * row[k]
