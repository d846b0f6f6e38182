"""The compiled inner loop of decomposition: pairs of coefficients, one loop for all losses.

It minimizes ``1/2 a'Ka + sum_i g_i(a_i)`` where ``g_i`` is two parabolas that meet at zero, over a
box and one equality row per group of samples. With ``up`` the derivative of the objective when
``a_i`` grows and ``down`` when it shrinks, a group is optimal when no ``up`` of a coefficient that
may grow lies below a ``down`` of one that may shrink.

Samples under no equality row are a group like the others together with a *phantom*: a coefficient
without bounds, cost and kernel values, that makes up for whatever they sum to.

Every pass over the samples is a plain loop over contiguous arrays without a branch, so that it is
compiled to vector instructions; that is why an extreme value is found first and its place after.
Indices are unsigned: signed ones might count from the end, which is more to compile.
"""

import numpy as np
from llvmlite import ir

from mercer._compile_numba import instruction, njit

__all__ = ["pair_loop", "slopes_loop"]

# Curvature below which a direction counts as flat: LIBSVM's constant, there for duplicate rows and
# kernels that are not positive definite.
FLAT = 1e-12

# No NaN enters: whoever calls looks at the products. Infinities do, they mark the bounds.
FAST = {"nnan", "nsz", "arcp", "contract", "reassoc"}


def _extreme(name, plain):
    """Return the smaller or larger of two numbers as an instruction that loops vectorize over."""

    @instruction(plain)
    def extreme(context, x, y):
        def generate(context, builder, signature, arguments):
            real = arguments[0].type
            function = builder.module.declare_intrinsic(
                f"llvm.{name}", [real], ir.FunctionType(real, [real, real])
            )
            return builder.call(function, arguments, fastmath=("nnan", "nsz"))

        return x(x, y), generate

    return extreme


lesser, greater = _extreme("minnum", min), _extreme("maxnum", max)


# Nothing is allocated, so that views need no reference counts, and nobody calls it from C.
BARE = {"_nrt": False, "no_cfunc_wrapper": True, "nogil": True, "error_model": "numpy"}


@njit(cache=True, **BARE)
def slopes_loop(F, a, p_pos, p_neg, q_pos, q_neg, lower, upper, up, down):
    """Write the derivatives upwards and downwards, infinite where the box forbids the move."""
    for s in range(np.uint64(a.shape[0])):
        x = a[s]
        right, left = F[s] + p_pos[s] + q_pos[s] * x, F[s] + p_neg[s] + q_neg[s] * x
        up[s] = np.inf if x >= upper[s] else right if x >= 0.0 else left
        down[s] = -np.inf if x <= lower[s] else right if x > 0.0 else left


@njit(cache=True, fastmath=FAST, **BARE)
def pair_loop(K, a, terms, state, ends, tol, max_iter, idle):
    """Take steps of maximal second-order gain; return their number and the violation left.

    The phantom comes last in ``a`` and among the rows of ``terms``, which say of a sample: linear
    terms below and above zero, quadratic ones, how far it may shrink from below zero and from
    above, and how far grow. Group g is the samples from ``ends[g]`` to ``ends[g + 1]``, group 0 is
    under no equality row. The rows of ``state`` are named below.
    """
    up, down = state[0], state[1]
    grown, shrunk = state[2], state[3]  # curvature along a coefficient that grows, and shrinks
    gain, order = state[4], state[5]  # places as floats: compared in lanes as wide as the values
    phantom = np.uint64(a.shape[0] - 1)
    beyond = order[phantom]
    real = state.dtype.type
    zero, flat, far = real(0.0), real(FLAT), real(np.inf)
    i = j = np.uint64(0)
    t_i = t_j = zero
    steps = unmoved = 0
    while True:
        # Carry the last step over to all derivatives, and find the group of largest violation.
        violation, lowest, chosen = zero, zero, 0
        for g in range(ends.shape[0] - 1):
            least = far if g else zero
            most = -least
            for s in range(ends[g], ends[g + 1]):
                change = t_i * K[i, s] + t_j * K[j, s]
                up[s] += change
                down[s] += change
                least = lesser(least, up[s])
                most = greater(most, down[s])
            if most - least > violation:
                violation, lowest, chosen = most - least, least, g
        if violation <= tol or steps >= max_iter or unmoved >= idle:
            return steps, violation
        steps += 1
        # The one that gains most by growing, to first order, and its best partner to second.
        first, last = ends[chosen], ends[chosen + 1]
        place = beyond
        for s in range(first, last):
            here = order[s]
            place = lesser(place, here if up[s] == lowest else beyond)
        i = np.uint64(place)
        base = grown[i]
        row, twice = (i, real(2.0)) if i < phantom else (first, zero)
        best = zero if chosen else lowest * lowest / greater(base, flat)
        for s in range(first, last):
            x = greater(down[s] - lowest, zero)
            gain[s] = x * x / greater(base + shrunk[s] - twice * K[row, s], flat)
            best = greater(best, gain[s])
        place = beyond
        for s in range(first, last):
            here = order[s]
            place = lesser(place, here if gain[s] == best else beyond)
        j = np.uint64(place)
        cross = 0.0
        if i < phantom and j < phantom:
            cross = 2.0 * K[i, j]
        elif chosen:
            return steps, far
        # Land exactly on bounds and on zero: support vectors are told apart by equality.
        a_i, a_j = a[i], a[j]
        side_i, side_j = int(a_i >= 0.0), int(a_j > 0.0)
        F_i = up[i] - terms[i, side_i] - terms[i, 2 + side_i] * a_i
        F_j = down[j] - terms[j, side_j] - terms[j, 2 + side_j] * a_j
        end_i, end_j = terms[i, 6 + side_i], terms[j, 4 + side_j]
        room_i, room_j = end_i - a_i, a_j - end_j
        t = (np.float64(down[j]) - up[i]) / greater(np.float64(grown[i]) + shrunk[j] - cross, FLAT)
        t = lesser(t, lesser(room_i, room_j))
        a[i] = end_i if t == room_i else a_i + t
        a[j] = end_j if t == room_j else a_j - t
        unmoved = 0 if a[i] != a_i or a[j] != a_j else unmoved + 1
        t_i, t_j = real(t), real(-t)
        # The two derivatives change their branch as well; the pass above adds the step to them.
        for second in range(2):
            k, F = (j, F_j) if second else (i, F_i)
            if k < phantom:
                x = a[k]
                side_i, side_j = int(x >= 0.0), int(x > 0.0)
                q_i, q_j = terms[k, 2 + side_i], terms[k, 2 + side_j]
                up[k] = F + terms[k, side_i] + q_i * x if x < terms[k, 7] else far
                down[k] = F + terms[k, side_j] + q_j * x if x > terms[k, 4] else -far
                grown[k] = K[k, k] + q_i
                shrunk[k] = K[k, k] + q_j
        # The phantom has no row to add.
        if i == phantom:
            i, t_i = j, zero
        if j == phantom:
            j, t_j = i, zero
