"""Pair steps of decomposition around their compiled loop: derivatives, extremes, memory.

It is done once per working set, by NumPy where a pass or two more do not count.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mercer._native import pair_loop, slopes_loop
from mercer._typing import AnyArray, Array
from mercer.losses.base import DualTerms

__all__ = ["pack", "pair_steps", "slopes", "survey"]

# Bytes of a cache line: a vector that lies across two of them is loaded twice.
CACHE_LINE_BYTES = 64


def slopes(F: Array, a: Array, terms: DualTerms) -> tuple[Array, Array]:
    """Return the derivatives upwards and downwards, infinite where the box forbids the move."""
    t, up, down = terms, np.empty(len(a)), np.empty(len(a))
    slopes_loop(F, a, t.p_pos, t.p_neg, t.q_pos, t.q_neg, t.lower, t.upper, up, down)
    return up, down


def survey(
    F: Array,
    a: Array,
    terms: DualTerms,
    group: NDArray[np.intp],
    n_groups: int,
    asleep: NDArray[np.bool_] | None = None,
) -> tuple[Array, Array, float, Array, Array]:
    """Return derivatives, the largest violation, and by how much each sample wants up and down.

    That is measured from the middle of the group's extremes, from zero without a group (-1), and
    negative where a coefficient rests. Those asleep do not move.
    """
    up, down = slopes(F, a, terms)
    if asleep is not None:
        up[asleep], down[asleep] = np.inf, -np.inf
    violation, middle = 0.0, np.zeros(n_groups + 1)
    for g in range(-1, n_groups):
        inside = group == g
        if not np.any(inside):
            continue
        low = float(np.min(np.where(inside, up, np.inf)))
        high = float(np.max(np.where(inside, down, -np.inf)))
        if g < 0:
            # A pair shares its violation between two coefficients.
            violation = 2.0 * max(-low, high, 0.0)
            continue
        violation = max(violation, high - low)
        if low < np.inf and high > -np.inf:
            middle[g] = 0.5 * (low + high)
    rest = middle[group]
    return up, down, violation, rest - up, down - rest


def pack(terms: DualTerms) -> Array:
    """Pack the numbers that a pair step reads of a sample in a cache line, the phantom last.

    Columns 0 and 1 are the linear terms below and above zero, 2 and 3 the quadratic ones. The
    others say how far a step may go before a coefficient meets a bound, or zero if its derivative
    jumps there: shrinking to 4 from below zero and 5 from above, growing to 6 and 7.
    """
    t, n = terms, len(terms.lower)
    rows = np.empty((n + 1, 8))
    columns = t.p_neg, t.p_pos, t.q_neg, t.q_pos, t.lower, t.lower, t.upper, t.upper
    for j, column in enumerate(columns):
        rows[:n, j] = column
    kinked = (t.p_pos != t.p_neg) | (t.q_pos != t.q_neg)
    if kinked.any():
        kink = np.clip(0.0, t.lower, t.upper)
        rows[:n, 5] = np.where(kinked, kink, t.lower)
        rows[:n, 6] = np.where(kinked, kink, t.upper)
    rows[n] = 0.0, 0.0, 0.0, 0.0, -np.inf, -np.inf, np.inf, np.inf  # the phantom
    return rows


def pair_steps(
    K: AnyArray,
    a: Array,
    up: Array,
    down: Array,
    packed: Array,
    ends: NDArray[np.intp],
    tol: float,
    max_iter: int,
    idle: int,
    runs: NDArray[np.uint64] | None = None,
) -> tuple[int, float]:
    """Take up to ``max_iter`` steps of maximal second-order gain.

    ``packed`` holds rows of :func:`pack`, the phantom's last. Samples before ``ends[0]`` are under
    no equality row, those from ``ends[g]`` to ``ends[g + 1]`` under row g; with ``runs`` these are
    numbers of runs, rows of a first sample and the one after the last. The coefficients ``a`` and
    their derivatives ``up`` and ``down`` are changed in place, the latter in the dtype of ``K``, or
    in float32 if that is 16 bits. Stops at the tolerance, or after ``idle`` steps that moved
    nothing. Returns (steps, violation).
    """
    n = len(a)
    short = K.dtype == np.uint16
    state = _aligned(5, n + 1, np.float32 if short else K.dtype)
    state[0, :n] = up
    state[1, :n] = down
    diag = 1.0 if short else K.diagonal()
    q_neg, q_pos = packed[:n, 2], packed[:n, 3]
    state[2, :n] = diag + np.where(a < 0.0, q_neg, q_pos)
    state[3, :n] = diag + np.where(a > 0.0, q_pos, q_neg)
    moved, groups = np.zeros(n + 1), np.zeros(len(ends) + 1, np.uint64)
    moved[:n] = a
    if runs is None:
        runs = np.zeros((len(ends), 2), np.uint64)
        runs[1:, 0], runs[:, 1] = ends[:-1], ends
        groups[1:] = np.arange(1, len(ends) + 1)
    else:
        groups[1:] = ends
    steps, violation = pair_loop(
        K, moved, packed, state, groups, runs.reshape(-1), tol, max_iter, idle
    )
    a[:], up[:], down[:] = moved[:n], state[0, :n], state[1, :n]
    return steps, violation


def _aligned(n_rows: int, n_columns: int, dtype: DTypeLike) -> AnyArray:
    """Return zeros whose rows, at least so long, begin on cache lines."""
    size = np.dtype(dtype).itemsize
    width = -(-n_columns * size // CACHE_LINE_BYTES) * CACHE_LINE_BYTES // size
    zeros = np.zeros(n_rows * width + CACHE_LINE_BYTES // size, dtype)
    first = -zeros.__array_interface__["data"][0] % CACHE_LINE_BYTES // size
    return zeros[first : first + n_rows * width].reshape(n_rows, width)
