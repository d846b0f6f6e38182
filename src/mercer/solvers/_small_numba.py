"""Pair steps of small problems over parts of one kernel matrix, in one compiled call.

For each problem: its square of the matrix, pair steps, coefficients snapped to their box, and their
products from scratch; then its intercepts and its certificate, for which NumPy would take a hundred
calls of two microseconds each. Indices are unsigned and rows are taken before their entries, as in
the pair steps: that is less to compile.
"""

import numpy as np

from mercer._compile_numba import compile_formula, njit
from mercer.losses import fenchel_young
from mercer.problems import risk
from mercer.solvers import status
from mercer.solvers._smo_numba import BARE, pair_loop
from mercer.solvers.rounding import (
    NEGLIGIBLE_LOSS_PART,
    NEGLIGIBLE_TARGET_PART,
    RELATIVE_ROUNDING,
    SUMMATION_ROUNDING,
)
from mercer.solvers.status import GAP_ROUNDING, MAX_RELATIVE_GAP

__all__ = ["measure_parts", "solve_parts", "start_parts"]

# The certificate of larger problems is made of the same lines, which NumPy evaluates.
conjugate_slopes = compile_formula(fenchel_young.conjugate_slopes, **BARE)
loss_value = compile_formula(fenchel_young.loss_value, **BARE)
violation_of = compile_formula(fenchel_young.violation, **BARE)
young_gap = compile_formula(fenchel_young.young_gap, **BARE)
coefficient_size = compile_formula(risk.coefficient_size, **BARE)
is_met = compile_formula(status.is_met, **BARE)
relative_gap = compile_formula(status.relative_gap, **BARE)


@njit(cache=True, **BARE)
def _multiply(S, x, F):
    """Write ``S x`` to F for a symmetric S, row by row of it where x is not zero."""
    m = np.uint64(F.shape[0])
    for s in range(m):
        F[s] = 0.0
    for s in range(m):
        t = x[s]
        if t != 0.0:
            row = S[s]
            for r in range(m):
                F[r] += t * row[r]


@njit(cache=True, **BARE)
def solve_parts(
    K,
    whole,
    index,
    ends,
    cuts,
    d,
    terms,
    tols,
    most,
    support,
    steps,
    a,
    f,
    square,
    lines,
    stops,
    runs,
):
    """Solve problem k over the samples from ``ends[k]`` to ``ends[k + 1]``, for all k.

    ``index`` says which point of K a sample is (``whole``: the samples are the points); runs of
    points that follow each other are copied in one piece. Group g of
    problem k is its samples from ``cuts[k, g]`` to ``cuts[k, g + 1]``, which sum to ``d[k, g]``.
    Rows of ``terms`` are those of the pair steps, with the box in columns 4 and 7.

    Coefficients begin as they are in ``a``; they and their products ``f`` are written. Those within
    ``support`` of zero or of their box are put there, and the sums of groups are restored.
    """
    one, eight = np.uint64(1), np.uint64(8)
    phantom, q = np.uint64(terms.shape[0] - 1), np.uint64(d.shape[1])
    for k in range(np.uint64(steps.shape[0])):
        first = ends[k]
        m = ends[k + one] - first
        width = m + one
        F, S = f[first : first + m], K
        if not whole:
            S = square[: m * m].reshape(m, m)
            points, n_runs = index[first : first + m], np.uint64(0)
            for s in range(m):
                if s == 0 or points[s] != points[s - one] + one:
                    runs[n_runs] = s
                    n_runs += one
            runs[n_runs] = m
            for r in range(m):
                row, source = S[r], K[points[r]]
                if 4 * n_runs > m:
                    # Points in no order: a run of one or two takes longer than its points.
                    for s in range(m):
                        row[s] = source[points[s]]
                    continue
                for t in range(n_runs):
                    into = row[runs[t] : runs[t + one]]
                    piece = source[points[runs[t]] :]
                    for s in range(np.uint64(into.shape[0])):
                        into[s] = piece[s]
        T, rows = lines[: 8 * width].reshape(width, 8), lines[8 * width : 14 * width]
        rows, x = rows.reshape(6, width), lines[14 * width : 15 * width]
        for s in range(width):
            row, source = T[s], terms[first + s if s < m else phantom]
            for r in range(eight):
                row[r] = source[r]
            x[s] = a[first + s] if s < m else 0.0
        _multiply(S, x, F)
        up, down, grown, shrunk, place = rows[0], rows[1], rows[2], rows[3], rows[5]
        largest = 0.0
        for s in range(width):
            v, row = x[s], T[s]
            place[s] = s
            if s < m:
                right, left = (1, 3) if v >= 0.0 else (0, 2), (1, 3) if v > 0.0 else (0, 2)
                up[s] = F[s] + row[right[0]] + row[right[1]] * v if v < row[7] else np.inf
                down[s] = F[s] + row[left[0]] + row[left[1]] * v if v > row[4] else -np.inf
                grown[s], shrunk[s] = S[s, s] + row[right[1]], S[s, s] + row[left[1]]
        stops[0] = 0
        for g in range(q + one):
            stops[g + one] = cuts[k, g]
        taken, _ = pair_loop(S, x, T, rows, stops, tols[k], most[k], 100)
        steps[k] += taken
        for s in range(m):
            largest = max(largest, abs(x[s]))
        for g in range(q):
            total = space = 0.0
            for s in range(cuts[k, g], cuts[k, g + one]):
                low, high = T[s, 4], T[s, 7]
                near = support * min(high - low, largest)
                v = min(max(x[s], low), high)
                v = 0.0 if abs(v) <= near else v
                v = low if v <= low + near else high if v >= high - near else v
                x[s] = v + 0.0  # no negative zero
                total += v
                space += min(min(v - low, high - v), abs(v))
            missing = d[k, g] - total
            if missing != 0.0 and space > 0.0:
                for s in range(cuts[k, g], cuts[k, g + one]):
                    v = x[s]
                    v += min(min(v - T[s, 4], T[s, 7] - v), abs(v)) / space * missing
                    x[s] = min(max(v, T[s, 4]), T[s, 7]) + 0.0
        _multiply(S, x, F)
        for s in range(m):
            a[first + s] = x[s]


@njit(cache=True, **BARE)
def start_parts(ends, cuts, d, terms, a):
    """Fill the boxes of each group in their order until they sum to ``d``, beginning at zero."""
    one = np.uint64(1)
    for k in range(np.uint64(d.shape[0])):
        for g in range(np.uint64(d.shape[1])):
            missing, before = d[k, g], 0.0
            if missing == 0.0:
                continue
            for s in range(ends[k] + cuts[k, g], ends[k] + cuts[k, g + one]):
                room = terms[s, 7] if missing > 0.0 else -terms[s, 4]
                v = min(max(abs(missing) - before, 0.0), room)
                a[s] = v if missing > 0.0 else -v
                before += room


@njit(cache=True, **BARE)
def measure_parts(ends, cuts, d, terms, c, tols, largest, value_error, a, f, b, intervals, values):
    """Write intercepts, the intervals they may lie in, and the certificate of each problem.

    Products with K are in ``f`` before, decision values after. Row k of ``values`` is: penalty,
    losses, gap, objective, dual value, violation, residual, coefficients inside their box and on
    its ends, weights, and a verdict: 0 for a tolerance that is not met, 1 next to a gap that is not
    small (beside the objective, or beside nothing where a margin is), 2 otherwise. Where rounding
    can make a gap that is not small the verdict is 0.
    ``largest`` is the largest kernel value, and ``value_error`` the part of it that values are off
    by.
    """
    one = np.uint64(1)
    for k in range(np.uint64(d.shape[0])):
        penalty = losses = gap = conjugates = weights = cost = violation = residual = 0.0
        n_free = n_bound = 0.0
        target = reach = squares = 0.0
        for s in range(ends[k], ends[k + one]):
            v, row = a[s], terms[s]
            target = max(target, abs(row[0]), abs(row[1]))
            reach = max(reach, abs(v))
            squares += v * v
        unit = max(reach, target / largest if largest > 0.0 else np.inf)
        untargeted, price = target == 0.0, 0.0
        for g in range(np.uint64(d.shape[1])):
            first, last = ends[k] + cuts[k, g], ends[k] + cuts[k, g + one]
            bottom, top, total, inside, unique = -np.inf, np.inf, 0.0, 0.0, False
            for s in range(first, last):
                v, row = a[s], terms[s]
                _, left, right = conjugate_slopes(v, row[1], row[0], row[3], row[2])
                low, high = -f[s] - right, -f[s] - left
                penalty += 0.5 * v * f[s]
                if v < row[7]:
                    bottom = max(bottom, low)
                if v > row[4]:
                    top = min(top, high)
                    if v < row[7]:
                        unique = unique or low == high
                        if v != 0.0:
                            total += low
                            inside += 1.0
            # Where coefficients inside their bounds determine an intercept it is their average.
            middle = 0.5 * (bottom + top) if top < np.inf else bottom
            middle = middle if bottom > -np.inf else top if top < np.inf else 0.0
            beta = total / inside if inside > 0.0 else middle
            unique = unique or bottom > top
            b[k, g] = beta
            intervals[k, g, 0] = beta if unique else bottom
            intervals[k, g, 1] = beta if unique else top
            sums, size = 0.0, abs(d[k, g])
            for s in range(first, last):
                v, row, value = a[s], terms[s], f[s] + beta
                conjugate, left, right = conjugate_slopes(v, row[1], row[0], row[3], row[2])
                loss = loss_value(value, row[1], row[0], row[3], row[2], row[4], row[7])
                losses += loss
                conjugates += conjugate
                gap += young_gap(loss, conjugate, v, value)
                off = violation_of(value, left, right, v <= row[4], v >= row[7])
                violation = max(violation, off)
                sums += v
                size += coefficient_size(v, c[s], unit)
                target = max(target, abs(value))
                weights += c[s]
                n_bound += 1.0 if v != 0.0 else 0.0
                f[s] = value
            residual = max(residual, abs(sums - d[k, g]) / (size if size > 0.0 else 1.0))
            cost += d[k, g] * beta
            price += abs(d[k, g])
            n_free += inside
        row, primal, dual = values[k], penalty + losses + cost, -(penalty + conjugates)
        row[0], row[1], row[2], row[3], row[4] = penalty, losses, gap, primal, dual
        row[5], row[6] = violation, residual
        row[7], row[8], row[9] = n_free, n_bound - n_free, weights
        # Decision values that are off by rounding, and what that can do to objective and gap.
        spread = largest * np.sqrt(squares)
        delta = (SUMMATION_ROUNDING + value_error) * spread + RELATIVE_ROUNDING * target
        doubt = size = 0.0
        for s in range(ends[k], ends[k + one]):
            part, value = terms[s], f[s]
            here = loss_value(value, part[1], part[0], part[3], part[2], part[4], part[7])
            above = loss_value(value + delta, part[1], part[0], part[3], part[2], part[4], part[7])
            below = loss_value(value - delta, part[1], part[0], part[3], part[2], part[4], part[7])
            doubt += max(above, below) - here + abs(a[s]) * delta
            size += abs(a[s])
        doubt = np.inf if np.isnan(doubt) else doubt
        if doubt > GAP_ROUNDING * abs(primal):
            gap, dual = gap + doubt, dual - 0.5 * delta * size
            row[2], row[4] = gap, dual
        if untargeted:
            # What `negligible_gap` takes for the size of a region's decision values.
            target = max(target, min(1.0, NEGLIGIBLE_TARGET_PART * price * largest))
        proof = (NEGLIGIBLE_TARGET_PART * target) ** 2
        sure = (
            doubt <= MAX_RELATIVE_GAP * max(abs(primal), abs(dual))
            or 2.0 * largest * doubt <= proof
        )
        close = abs(primal) < np.inf and is_met(violation, residual, tols[k])
        small = relative_gap(primal, dual, gap) <= MAX_RELATIVE_GAP
        if untargeted and not small:
            # A margin that is nothing, as `gap_resolution` has it.
            none = MAX_RELATIVE_GAP * NEGLIGIBLE_LOSS_PART * 0.5 * price**2 * largest
            small = gap <= none and 2.0 * largest * gap <= proof
        row[10] = 0.0 if not (close and sure) else 2.0 if small else 1.0
