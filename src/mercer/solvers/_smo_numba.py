"""The compiled inner loop of decomposition: pairs of coefficients, one loop for all losses.

It minimizes ``1/2 a'Ka + sum_i g_i(a_i)`` where ``g_i`` is two parabolas that meet at zero, over a
box and one equality row per group of samples. ``F = Ka`` is kept up to date. With ``up`` the
derivative of the objective when ``a_i`` grows and ``down`` when it shrinks, a group is optimal
when no ``up`` of a coefficient that may grow lies below a ``down`` of one that may shrink.
"""

import numpy as np
from numba import njit

__all__ = ["pair_steps", "refresh", "slopes"]

# Curvature below which a direction counts as flat: LIBSVM's constant, there for duplicate rows and
# kernels that are not positive definite.
FLAT = 1e-12


# Scalars in, scalar out: passing arrays to small functions costs a reference count each.
@njit(cache=True, nogil=True, error_model="numpy")
def _up(F, a, p_pos, p_neg, q_pos, q_neg, upper):
    """Return the derivative when the coefficient grows, infinite if it may not."""
    if a >= upper:
        return np.inf
    return F + p_pos + q_pos * a if a >= 0.0 else F + p_neg + q_neg * a


@njit(cache=True, nogil=True, error_model="numpy")
def _down(F, a, p_pos, p_neg, q_pos, q_neg, lower):
    """Return the derivative when the coefficient shrinks, minus infinity if it may not."""
    if a <= lower:
        return -np.inf
    return F + p_pos + q_pos * a if a > 0.0 else F + p_neg + q_neg * a


@njit(cache=True, nogil=True, error_model="numpy")
def slopes(F, a, p_pos, p_neg, q_pos, q_neg, lower, upper):
    """Return the derivatives upwards and downwards, infinite where the box forbids the move."""
    n = a.shape[0]
    up = np.empty(n)
    down = np.empty(n)
    for i in range(n):
        up[i] = _up(F[i], a[i], p_pos[i], p_neg[i], q_pos[i], q_neg[i], upper[i])
        down[i] = _down(F[i], a[i], p_pos[i], p_neg[i], q_pos[i], q_neg[i], lower[i])
    return up, down


@njit(cache=True, nogil=True, error_model="numpy")
def _walk(slope, curvature, room, zero_i, jump_i, bend_i, zero_j, jump_j, bend_j):
    """Minimize along a line: slope and curvature change where a coefficient passes zero.

    ``zero_i`` is the step at which coefficient i passes zero (infinite if it does not), where the
    slope jumps by ``jump_i`` and the curvature changes by ``bend_i``.
    """
    t = 0.0
    for _ in range(3):
        stop = min(room, zero_i, zero_j)
        step = -slope / max(curvature, FLAT)
        if step <= stop - t:
            return t + step
        slope += curvature * (stop - t)
        t = stop
        if t >= room:
            return t
        if zero_i <= t:
            slope += jump_i
            curvature += bend_i
            zero_i = np.inf
        if zero_j <= t:
            slope += jump_j
            curvature += bend_j
            zero_j = np.inf
        if slope >= 0.0:
            return t
    return t


@njit(cache=True, nogil=True, error_model="numpy")
def _move(row_i, t_i, row_j, t_j, F, up, down, active, n_active):
    """Carry a change of two coefficients over to the products and derivatives."""
    n = F.shape[0]
    if n_active == n:
        for s in range(n):
            change = t_i * row_i[s] + t_j * row_j[s]
            F[s] += change
            up[s] += change
            down[s] += change
    else:
        for k in range(n_active):
            s = active[k]
            change = t_i * row_i[s] + t_j * row_j[s]
            F[s] += change
            up[s] += change
            down[s] += change


@njit(cache=True, nogil=True, error_model="numpy")
def _extremes(up, down, group, n_groups, active, n_active, low, high, best):
    """Find the smallest ``up`` (with its sample) and the largest ``down`` of every group."""
    low[:] = np.inf
    high[:] = -np.inf
    best[:] = -1
    if n_groups == 1:
        least = np.inf
        most = -np.inf
        at = -1
        for k in range(n_active):
            s = active[k]
            if group[s] == 0:
                if up[s] < least:
                    least = up[s]
                    at = s
                most = max(most, down[s])
        low[0] = least
        high[0] = most
        best[0] = at
        return
    for k in range(n_active):
        s = active[k]
        g = group[s]
        if g >= 0:
            if up[s] < low[g]:
                low[g] = up[s]
                best[g] = s
            high[g] = max(high[g], down[s])


@njit(cache=True, nogil=True, error_model="numpy")
def _partner(up_i, q_i, i, row_i, diagonal, down, q_down, group, g, active, n_active):
    """Find the sample whose descent against i's ascent gains most in the quadratic model."""
    j = -1
    best = -1.0
    for k in range(n_active):
        s = active[k]
        b = down[s] - up_i
        if b > 0.0 and group[s] == g:
            eta = diagonal[i] + diagonal[s] - 2.0 * row_i[s] + q_i + q_down[s]
            gain = b * b / max(eta, FLAT)
            if gain > best:
                best = gain
                j = s
    return j


@njit(cache=True, nogil=True, error_model="numpy")
def _single(up, down, a, diagonal, q_pos, q_neg, group, active, n_active):
    """Find the sample under no equality row that gains most alone, and the largest violation."""
    worst = 0.0
    best = 0.0
    at = -1
    for k in range(n_active):
        s = active[k]
        if group[s] < 0:
            excess = max(-up[s], down[s])
            if excess > 0.0:
                worst = max(worst, excess)
                positive = a[s] > 0.0 or (a[s] == 0.0 and up[s] < 0.0)
                eta = diagonal[s] + (q_pos[s] if positive else q_neg[s])
                gain = excess * excess / max(eta, FLAT)
                if gain > best:
                    best = gain
                    at = s
    return at, worst


@njit(cache=True, nogil=True, error_model="numpy")
def refresh(K, F, a, active, n_active):
    """Recompute F where shrinking let it go stale: on the samples after the first ``n_active``."""
    n = a.shape[0]
    support = np.flatnonzero(a)
    for k in range(n_active, n):
        i = active[k]
        row = K[i]
        total = 0.0
        for j in support:
            total += row[j] * a[j]
        F[i] = total


@njit(cache=True, nogil=True, error_model="numpy")
def pair_steps(
    K,
    F,
    a,
    p_pos,
    p_neg,
    q_pos,
    q_neg,
    lower,
    upper,
    group,
    n_groups,
    active,
    n_active,
    shrink_every,
    tol,
    max_iter,
):
    """Take up to ``max_iter`` steps of maximal second-order gain on ``active[:n_active]``.

    ``group[i] = -1`` marks a coefficient under no equality row. ``active`` is permuted in place;
    ``shrink_every = 0`` keeps all samples active. Returns (steps, violation, n_active), the
    violation being that of the active samples.
    """
    n = a.shape[0]
    singles = False
    diagonal = np.empty(n)
    q_down = np.empty(n)  # curvature of the loss when the coefficient shrinks
    for i in range(n):
        diagonal[i] = K[i, i]
        q_down[i] = q_pos[i] if a[i] > 0.0 else q_neg[i]
        singles = singles or group[i] < 0
    up, down = slopes(F, a, p_pos, p_neg, q_pos, q_neg, lower, upper)
    low = np.empty(max(n_groups, 1))
    high = np.empty(max(n_groups, 1))
    best = np.empty(max(n_groups, 1), dtype=np.int64)
    countdown = shrink_every
    steps = 0
    while True:
        _extremes(up, down, group, n_groups, active, n_active, low, high, best)
        violation = 0.0
        single = -1
        chosen = -1
        if singles:
            single, violation = _single(
                up, down, a, diagonal, q_pos, q_neg, group, active, n_active
            )
            violation *= 2.0  # a pair shares its violation between two coefficients
        for g in range(n_groups):
            if high[g] - low[g] > violation:
                violation = high[g] - low[g]
                chosen = g
        if violation <= tol:
            if n_active == n:
                return steps, violation, n_active
            # Optimal on the active samples: look at all of them before believing it.
            refresh(K, F, a, active, n_active)
            up, down = slopes(F, a, p_pos, p_neg, q_pos, q_neg, lower, upper)
            n_active = n
            countdown = shrink_every
            continue
        if steps >= max_iter:
            return steps, violation, n_active
        countdown -= 1
        if countdown == 0:
            countdown = shrink_every
            k = 0
            while k < n_active:
                i = active[k]
                g = group[i]
                m = low[g] if g >= 0 else 0.0
                M = high[g] if g >= 0 else 0.0
                if up[i] <= M or down[i] >= m:
                    k += 1
                else:
                    n_active -= 1
                    active[k] = active[n_active]
                    active[n_active] = i
        steps += 1
        if chosen < 0:
            # No equality row binds this coefficient: move it alone.
            i = single
            old = a[i]
            rises = up[i] < 0.0
            if rises:
                q = q_pos[i] if old >= 0.0 else q_neg[i]
                zero = -old if old < 0.0 else np.inf
                room = upper[i] - old
                bend = q_pos[i] - q_neg[i]
                slope = up[i]
            else:
                q = q_down[i]
                zero = old if old > 0.0 else np.inf
                room = old - lower[i]
                bend = q_neg[i] - q_pos[i]
                slope = -down[i]
            t = _walk(
                slope, diagonal[i] + q, room, zero, p_pos[i] - p_neg[i], bend, np.inf, 0.0, 0.0
            )
            if t >= room:
                a[i] = upper[i] if rises else lower[i]
            elif t == zero:
                a[i] = 0.0
            else:
                a[i] = old + t if rises else old - t
            _move(K[i], a[i] - old, K[i], 0.0, F, up, down, active, n_active)
            j = i
        else:
            i = best[chosen]
            q_i = q_pos[i] if a[i] >= 0.0 else q_neg[i]
            j = _partner(
                low[chosen], q_i, i, K[i], diagonal, down, q_down, group, chosen, active, n_active
            )
            zero_i = -a[i] if a[i] < 0.0 else np.inf
            zero_j = a[j] if a[j] > 0.0 else np.inf
            room_i = upper[i] - a[i]
            room_j = a[j] - lower[j]
            t = _walk(
                up[i] - down[j],
                diagonal[i] + diagonal[j] - 2.0 * K[i, j] + q_i + q_down[j],
                min(room_i, room_j),
                zero_i,
                p_pos[i] - p_neg[i],
                q_pos[i] - q_neg[i],
                zero_j,
                p_pos[j] - p_neg[j],
                q_neg[j] - q_pos[j],
            )
            # Land exactly on bounds and on zero: support vectors are told apart by equality.
            if t >= room_i:
                a[i] = upper[i]
            elif t == zero_i:
                a[i] = 0.0
            else:
                a[i] += t
            if t >= room_j:
                a[j] = lower[j]
            elif t == zero_j:
                a[j] = 0.0
            else:
                a[j] -= t
            _move(K[i], t, K[j], -t, F, up, down, active, n_active)
        for s in (i, j):
            up[s] = _up(F[s], a[s], p_pos[s], p_neg[s], q_pos[s], q_neg[s], upper[s])
            down[s] = _down(F[s], a[s], p_pos[s], p_neg[s], q_pos[s], q_neg[s], lower[s])
            q_down[s] = q_pos[s] if a[s] > 0.0 else q_neg[s]
