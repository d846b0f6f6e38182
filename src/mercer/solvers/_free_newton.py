r"""A Newton step over the free coefficients of a working set.

Pair steps settle soon which coefficients are free, and creep where thousands of them are. Over
those the dual is a quadratic under the equality rows :math:`G't = 0`, whose minimum is one
factorization away. Coefficients C that would leave the box are held at its ends, which adds to the
rows: with :math:`M = (G, E_C)` and the values :math:`e` of the rows

.. math::

    \begin{pmatrix} K_{FF} + Q & M \\ M' & 0 \end{pmatrix}
    \begin{pmatrix} t \\ \lambda \end{pmatrix} = \begin{pmatrix} -\nabla \\ e \end{pmatrix}

is solved by one factor of :math:`K_{FF} + Q` as C grows. The step is as long as the dual value
falls; coefficients that should leave their bounds again are left to pair steps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs, spotrf, spotrs

from mercer._typing import AnyArray, Array

__all__ = ["newton_cost", "newton_step"]

# Multiplications of a factorization in the time of one that a pair step does for a sample, and the
# passes over a matrix of free coefficients besides: 2,500 of them take as long as 40,000 steps.
FACTOR_SPEED, PASSES = 50.0, 8.0
# Largest number of free coefficients: in float32 their factor takes 64 MB, and a third of
# it more what holds some; in float64 twice as much.
MAX_FREE = 4000
# Added to the diagonal, relative to its largest entry, in rounding errors.
JITTER_ROUNDINGS = 30.0
# Rounds in which coefficients are held at bounds, and the part of them that may be.
MAX_ROUNDS, MAX_HELD_PART = 10, 0.3


def newton_cost(n_free: int) -> float:
    """Return the work of a Newton step, in samples times pair steps; infinite if they are many."""
    if n_free > MAX_FREE:
        return np.inf
    return n_free**3 / 3.0 / FACTOR_SPEED + PASSES * n_free**2


def newton_step(K: AnyArray, a: Array, F: Array, packed: Array, ends: NDArray[np.intp]) -> Array:
    """Return coefficients at which the dual value is not larger.

    Parameters
    ----------
    K : (m, m) array
        Kernel matrix of the working set.
    a : (m,) array
        Its coefficients.
    F : (m,) array
        The products of all coefficients with K, at the working set.
    packed : (m + 1, 8) array
        Rows of :func:`~mercer.solvers._pairs.pack`.
    ends : (q + 1,) array of int
        Samples before ``ends[0]`` are under no equality row, those from ``ends[g]`` to
        ``ends[g + 1]`` under row g.
    """
    m = len(a)
    sides = np.where((a > 0.0)[:, None], packed[:m, 1::2], packed[:m, ::2])
    p, q, low, high = sides.T
    free = np.flatnonzero((a > low) & (a < high))
    if not 1 < len(free) <= MAX_FREE:
        return a
    p, q, low, high, before = p[free], q[free], low[free], high[free], a[free]
    group = np.searchsorted(ends, free, side="right") - 1
    gradient = F[free] + p + q * before
    step = _step(K[np.ix_(free, free)], q, gradient, (low - before, high - before), group)
    if step is None:
        return a
    whole = np.zeros(m, K.dtype)
    whole[free] = step
    slope, bend = float(gradient @ step), float(step @ (K @ whole)[free] + q @ step**2)
    if not slope < 0.0 < bend:
        return a
    a = a.copy()
    a[free] = np.clip(before + min(1.0, -slope / bend) * step, low, high)
    return a


def _step(
    K: AnyArray, q: Array, gradient: Array, box: tuple[Array, Array], group: NDArray[np.intp]
) -> Array | None:
    """Return a step to the minimum over free coefficients; None where rounding forbids it.

    The matrix of these is overwritten.
    """
    dtype, n = K.dtype, len(q)
    diag = np.einsum("ii->i", K)
    diag += q + JITTER_ROUNDINGS * float(np.finfo(dtype).eps) * float(np.max(diag))
    potrf, potrs = (dpotrf, dpotrs) if dtype == np.float64 else (spotrf, spotrs)
    # The matrix is symmetric: its transpose is in the order that LAPACK reads.
    factor, info = potrf(K.T, lower=0, clean=0, overwrite_a=1)
    if info:
        return None

    def solve(right: AnyArray) -> AnyArray:
        return np.asarray(potrs(factor, right, lower=0, overwrite_b=1)[0])

    groups = [np.flatnonzero(group == g) for g in np.unique(group[group >= 0])]
    right = np.zeros((n, 1 + len(groups)), dtype, order="F")
    right[:, 0] = -gradient
    for g, inside in enumerate(groups):
        right[inside, 1 + g] = 1.0
    first, most = len(groups), len(groups) + int(MAX_HELD_PART * n)
    V, newton = np.empty((n, most), dtype, order="F"), solve(right)
    V[:, :first], newton = newton[:, 1:], newton[:, 0]
    held, e = np.empty(0, dtype=np.intp), np.zeros(first)
    step = newton.astype(np.float64)
    for _ in range(MAX_ROUNDS):
        k = first + len(held)
        if k:
            # The rows M' of groups are sums, those of held coefficients entries.
            S, s = (
                np.concatenate([*(x[inside].sum(axis=0)[None] for inside in groups), x[held]])
                for x in (V[:, :k], newton[:, None])
            )
            try:
                multipliers = np.linalg.solve(S.astype(np.float64), s[:, 0] - e)
            except np.linalg.LinAlgError:
                return None
            step = newton.astype(np.float64) - V[:, :k] @ multipliers.astype(dtype)
        if not np.all(np.isfinite(step)):
            return None
        step[held] = e[first:]
        cut = np.clip(step, *box)
        leaving = np.flatnonzero(cut != step)
        if not len(leaving) or k + len(leaving) > most:
            break
        E = np.zeros((n, len(leaving)), dtype, order="F")
        E[leaving, np.arange(len(leaving))] = 1.0
        V[:, k : k + len(leaving)] = solve(E)
        held, e = np.concatenate([held, leaving]), np.concatenate([e, cut[leaving]])
    return _inside(step, box, group)


def _inside(step: Array, box: tuple[Array, Array], group: NDArray[np.intp]) -> Array:
    """Cut a step at the box, and restore the sums of the groups."""
    low, high = box
    cut = np.clip(step, low, high)
    for g in np.unique(group[group >= 0]):
        inside = group == g
        missing = -float(np.sum(cut[inside]))
        room = high[inside] - cut[inside] if missing > 0 else cut[inside] - low[inside]
        room = np.minimum(room, np.abs(step[inside]))
        total = float(np.sum(room))
        if total > 0.0:
            part = np.sign(missing) * min(1.0, abs(missing) / total)
            cut[inside] = np.clip(cut[inside] + part * room, low[inside], high[inside])
    return cut
