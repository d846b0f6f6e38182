r"""The error of a low-rank approximation, beside the machine with all functions.

The function that was found is one of the whole space, with the same norm, and the dual vector a of
the reduced problem is one of the whole problem, so the value of the whole problem is at most

.. math:: \text{gap} + \tfrac12 a'(K - \hat K) a, \qquad \hat K = \Phi \Phi'

above its minimum. The second term is estimated from a sample of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.data.base import Block
from mercer.data.sampling import FingerprintSample
from mercer.kernels.base import Kernel
from mercer.kernels.points import take
from mercer.reduced.problem import Problem, rows_of

__all__ = ["Cost", "approximation_cost"]

# Groups that the rows of a sample are divided into, for an error of the estimate.
N_GROUPS = 16

# Rows that are looked at, and those whose features are solved for together.
COST_ROWS, SOLVED_ROWS = 2000, 256


@dataclass(frozen=True)
class Cost:
    r"""A bound on the error that the approximation adds to the objective.

    Parameters
    ----------
    value : float
        Estimate of :math:`a'(K - \hat K)a / 2`, summed over the problems; nan where none is known.
    error : float
        Standard error of the estimate; 0 where every row was looked at.
    """

    value: float
    error: float


def taken(sample: FingerprintSample, rows: NDArray[np.intp]) -> FingerprintSample:
    """Return some rows of a sample."""
    y, s = (None if part is None else np.asarray(part)[rows] for part in (sample.y, sample.s))
    return replace(
        sample, keys=sample.keys[rows], X=take(sample.X, rows), y=y, s=s, rows=sample.rows[rows]
    )


def duals(
    problem: Problem, state: dict[str, Any], sample: FingerprintSample
) -> tuple[Array, Array]:
    """Return dual coefficients a (s, k) and features (s, r) of the rows of a sample."""
    block = Block(sample.X, sample.y, sample.s, 0)
    X, Y, s, P, loss = problem.admit(block, sample.rows)
    c = np.broadcast_to(s * problem.C, Y.shape)
    views = problem.views
    a, features = np.zeros(Y.shape), np.zeros((len(Y), problem.map.r))
    if state.get("slopes") is not None:
        order = np.argsort(state["rows"])
        place = order[np.searchsorted(state["rows"], sample.rows, sorter=order)]
        a = -c * state["slopes"][:, place].reshape(problem.k, -1).T
        features = problem.map.features(np.asarray(problem.map.raw(X)))
        return a.reshape(-1, views, problem.k).sum(axis=1), features

    def slopes(F: Array, part: slice, R: Any) -> Array:
        F = F + P[part] @ state["b"]
        a[part] = -c[part] * rows_of(loss, part).gradient(Y[part], F)
        features[part] = problem.map.features(R)
        return F[:, :0]

    # By solves, features of few rows would read the factor too often.
    problem.sweep(X, state["A"], slopes, rows=SOLVED_ROWS if problem.map.low_memory else None)
    return a.reshape(-1, views, problem.k).sum(axis=1), features[::views]


def approximation_cost(
    kernel: Kernel, problem: Problem, state: dict[str, Any], pool: FingerprintSample
) -> Cost:
    r"""Estimate the error of the approximation from a sample of the rows.

    Rows that are centres are represented without error. Of the others, the squares
    :math:`a_i^2 (k - \hat k)(x_i, x_i)` and the products of pairs from two halves of the sample
    are means that stand for those of all rows.

    Parameters
    ----------
    kernel : Kernel
        That of the whole problem.
    problem : Problem
    state : dict
        The point, as passes see it.
    pool : Sample
        Rows drawn at random.
    """
    if kernel.order or not (kernel.positive_definite and problem.map.natural):
        return Cost(np.nan, np.nan)  # the form is positive only for coefficients of all rows
    known = np.zeros(len(pool.keys), dtype=bool)
    if problem.map.index is not None:
        known[problem.map.index] = True
    rows = np.flatnonzero(~known)
    n = pool.n - int(known.sum())
    whole = len(pool.keys) == pool.n and len(rows) <= COST_ROWS
    rows = rows if whole else rows[:COST_ROWS]
    if len(rows) < 2 * N_GROUPS and not whole:
        return Cost(np.nan, np.nan)
    if not len(rows):
        return Cost(0.0, 0.0)
    a, phi = duals(problem, state, taken(pool, rows))
    X = take(pool.X, rows)
    if whole:
        left = kernel(X) - phi @ phi.T
        return Cost(max(0.0, 0.5 * float(np.sum(a * (left @ a)))), 0.0)
    own = np.sum(a * a, axis=1) * (kernel.diag(X) - np.einsum("ij,ij->i", phi, phi))
    odd, even = (np.arange(k, len(rows), 2) for k in (1, 0))
    left = kernel(take(X, odd), take(X, even)) - phi[odd] @ phi[even].T
    groups, others = (np.array_split(np.arange(len(half)), N_GROUPS) for half in (odd, even))
    sums = np.stack([a[odd[i]].T @ left[i] / len(i) for i in groups])
    values = np.stack(
        [np.sum(sums[:, :, j] * a[even[j]].T, axis=(1, 2)) / len(j) for j in others], axis=1
    )
    spread = np.var(values.mean(axis=0), ddof=1) + np.var(values.mean(axis=1), ddof=1)
    value = 0.5 * (n * float(own.mean()) + n * (n - 1.0) * float(values.mean()))
    error = 0.5 * np.hypot(n * np.std(own) / np.sqrt(len(own)), n * n * np.sqrt(spread / N_GROUPS))
    return Cost(max(0.0, value), float(error))
