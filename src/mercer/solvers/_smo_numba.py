"""The compiled inner loop of decomposition: pairs of coefficients, one loop for all losses.

It minimizes ``1/2 a'Ka + sum_i g_i(a_i)`` where ``g_i`` is two parabolas that meet at zero, over a
box and one equality row per group of samples. With ``up`` the derivative of the objective when
``a_i`` grows and ``down`` when it shrinks, a group is optimal when no ``up`` of a coefficient that
may grow lies below a ``down`` of one that may shrink.

Every pass over the samples is a plain loop over contiguous arrays without a branch, so that it is
compiled to vector instructions; that is why an extreme value is found first and its place after.
"""

import numpy as np
from llvmlite import ir
from numba import njit
from numba.extending import intrinsic

__all__ = ["pair_steps", "slopes", "survey"]

# Curvature below which a direction counts as flat: LIBSVM's constant, there for duplicate rows and
# kernels that are not positive definite.
FLAT = 1e-12

# No NaN enters: whoever calls looks at the products. Infinities do, they mark the bounds.
FAST = {"nnan", "nsz", "arcp", "contract", "reassoc"}


def _extreme(name):
    """Return the smaller or larger of two numbers as an instruction that loops vectorize over."""

    @intrinsic
    def extreme(context, x, y):
        def generate(context, builder, signature, arguments):
            real = arguments[0].type
            function = builder.module.declare_intrinsic(
                f"llvm.{name}", [real], ir.FunctionType(real, [real, real])
            )
            return builder.call(function, arguments, fastmath=("nnan", "nsz"))

        return x(x, y), generate

    return extreme


lesser, greater = _extreme("minnum"), _extreme("maxnum")


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


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def pair_steps(K, a, up, down, p_pos, p_neg, q_pos, q_neg, lower, upper, ends, tol, max_iter, idle):
    """Take up to ``max_iter`` steps of maximal second-order gain.

    Samples before ``ends[0]`` are under no equality row, those from ``ends[g]`` to ``ends[g + 1]``
    under row g. ``K``, ``up`` and ``down`` have one dtype, in which the derivatives are kept up to
    date. Stops at the tolerance, or after ``idle`` steps that moved nothing. Returns (steps,
    violation).
    """
    n = a.shape[0]
    real = up.dtype.type
    zero, two, flat, none = real(0.0), real(2.0), real(FLAT), real(np.inf)
    grown = np.empty(n, up.dtype)  # curvature along a coefficient that grows, and that shrinks
    shrunk = np.empty(n, up.dtype)
    gain = np.empty(n, up.dtype)
    for s in range(n):
        grown[s] = K[s, s] + (q_pos[s] if a[s] >= 0.0 else q_neg[s])
        shrunk[s] = K[s, s] + (q_pos[s] if a[s] > 0.0 else q_neg[s])
    n_groups = ends.shape[0] - 1
    singles = ends[0]
    low = np.empty(n_groups + 1, up.dtype)  # of the groups, and last of the samples in none
    high = np.empty(n_groups + 1, up.dtype)
    i = j = 0
    t_i = t_j = zero
    steps = 0
    unmoved = 0
    while True:
        # Carry the last step over to all derivatives, and find the extremes of every group.
        for g in range(-1, n_groups):
            first = ends[g] if g >= 0 else 0
            last = ends[g + 1] if g >= 0 else singles
            row_i, row_j = K[i, first:last], K[j, first:last]
            rise, fall = up[first:last], down[first:last]
            least, most = none, -none
            for s in range(last - first):
                change = t_i * row_i[s] + t_j * row_j[s]
                rise[s] += change
                fall[s] += change
                least = lesser(least, rise[s])
                most = greater(most, fall[s])
            low[g] = least
            high[g] = most
        # The largest violation; a pair shares its violation between two coefficients.
        violation = two * max(-low[n_groups], high[n_groups], zero)
        chosen = -1
        for g in range(n_groups):
            if high[g] - low[g] > violation:
                violation = high[g] - low[g]
                chosen = g
        if violation <= tol or steps >= max_iter or unmoved >= idle:
            return steps, violation
        steps += 1
        first = ends[chosen] if chosen >= 0 else 0
        last = ends[chosen + 1] if chosen >= 0 else singles
        size = last - first
        rise, fall, gains = up[first:last], down[first:last], gain[first:last]
        curved = shrunk[first:last]
        best = zero
        if chosen < 0:
            risen = grown[first:last]
            for s in range(size):
                x, z = greater(-rise[s], zero), greater(fall[s], zero)
                gains[s] = greater(
                    x * x / greater(risen[s], flat), z * z / greater(curved[s], flat)
                )
                best = greater(best, gains[s])
        else:
            least = low[chosen]
            place = size
            for s in range(size):
                place = min(place, s if rise[s] == least else size)
            if place == size:
                return steps, none
            i = first + place
            row = K[i, first:last]
            base = grown[i]
            for s in range(size):
                x = greater(fall[s] - least, zero)
                gains[s] = x * x / greater(base + curved[s] - two * row[s], flat)
                best = greater(best, gains[s])
        place = size
        for s in range(size):
            place = min(place, s if gains[s] == best else size)
        if place == size:
            return steps, none
        j = first + place
        if chosen < 0:
            # No equality row binds this coefficient: move it alone.
            i = j
            old = a[i]
            rises = -up[i] > down[i]
            if rises:
                slope, curvature = up[i], grown[i]
                zero_i = -old if old < 0.0 else np.inf
                room = upper[i] - old
                bend = q_pos[i] - q_neg[i]
                F_i = slope - (
                    p_pos[i] + q_pos[i] * old if old >= 0.0 else p_neg[i] + q_neg[i] * old
                )
            else:
                slope, curvature = -down[i], shrunk[i]
                zero_i = old if old > 0.0 else np.inf
                room = old - lower[i]
                bend = q_neg[i] - q_pos[i]
                F_i = down[i] - (
                    p_pos[i] + q_pos[i] * old if old > 0.0 else p_neg[i] + q_neg[i] * old
                )
            t = _walk(slope, curvature, room, zero_i, p_pos[i] - p_neg[i], bend, np.inf, 0.0, 0.0)
            if t >= room:
                a[i] = upper[i] if rises else lower[i]
            elif t == zero_i:
                a[i] = 0.0
            else:
                a[i] = old + t if rises else old - t
            t_i, t_j = real(a[i] - old), zero
            unmoved = 0 if a[i] != old else unmoved + 1
            F_j = F_i
        else:
            a_i, a_j = a[i], a[j]
            F_i = up[i] - (p_pos[i] + q_pos[i] * a_i if a_i >= 0.0 else p_neg[i] + q_neg[i] * a_i)
            F_j = down[j] - (p_pos[j] + q_pos[j] * a_j if a_j > 0.0 else p_neg[j] + q_neg[j] * a_j)
            zero_i = -a_i if a_i < 0.0 else np.inf
            zero_j = a_j if a_j > 0.0 else np.inf
            room_i = upper[i] - a_i
            room_j = a_j - lower[j]
            t = _walk(
                np.float64(up[i]) - down[j],
                np.float64(grown[i]) + shrunk[j] - 2.0 * K[i, j],
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
            t_i, t_j = real(t), real(-t)
            unmoved = 0 if a[i] != a_i or a[j] != a_j else unmoved + 1
        # The two derivatives change their branch as well; the pass above adds the step to them.
        up[i] = _up(F_i, a[i], p_pos[i], p_neg[i], q_pos[i], q_neg[i], upper[i])
        down[i] = _down(F_i, a[i], p_pos[i], p_neg[i], q_pos[i], q_neg[i], lower[i])
        up[j] = _up(F_j, a[j], p_pos[j], p_neg[j], q_pos[j], q_neg[j], upper[j])
        down[j] = _down(F_j, a[j], p_pos[j], p_neg[j], q_pos[j], q_neg[j], lower[j])
        grown[i] = K[i, i] + (q_pos[i] if a[i] >= 0.0 else q_neg[i])
        shrunk[i] = K[i, i] + (q_pos[i] if a[i] > 0.0 else q_neg[i])
        grown[j] = K[j, j] + (q_pos[j] if a[j] >= 0.0 else q_neg[j])
        shrunk[j] = K[j, j] + (q_pos[j] if a[j] > 0.0 else q_neg[j])


@njit(cache=True, nogil=True, error_model="numpy")
def survey(F, a, p_pos, p_neg, q_pos, q_neg, lower, upper, group, n_groups):
    """Return derivatives, the largest violation, and by how much each sample wants up and down.

    That is measured from the middle of the group's extremes, from zero without a group, and
    negative where a coefficient rests.
    """
    n = a.shape[0]
    up, down = slopes(F, a, p_pos, p_neg, q_pos, q_neg, lower, upper)
    low = np.full(n_groups + 1, np.inf)
    high = np.full(n_groups + 1, -np.inf)
    for i in range(n):
        low[group[i]] = min(low[group[i]], up[i])
        high[group[i]] = max(high[group[i]], down[i])
    violation = 2.0 * max(-low[n_groups], high[n_groups], 0.0)
    middle = np.zeros(n_groups + 1)
    for g in range(n_groups):
        violation = max(violation, high[g] - low[g])
        if low[g] < np.inf and high[g] > -np.inf:
            middle[g] = 0.5 * (low[g] + high[g])
    rise = np.empty(n)
    fall = np.empty(n)
    for i in range(n):
        rise[i] = middle[group[i]] - up[i]
        fall[i] = down[i] - middle[group[i]]
    return up, down, violation, rise, fall
