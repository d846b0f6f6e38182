"""The convex relaxation of fusion with validation: filters in a polytope around the path."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer._typing import Array
from mercer_research.fusion.filters import Filtered
from mercer_research.linear.constrained import constrained_least_squares

__all__ = ["Relaxed", "relax"]


# Eigenvalues this near to each other have one filter: a polytope would be flat between them.
EQUAL = 1e-7


class Relaxed(NamedTuple):
    """The best filter of a polytope."""

    filter: Array
    """Shrinkage factors, one an eigenvalue, (m,)."""
    cost: float
    """Its sum of squared validation errors."""
    lower_bound: float
    """No filter of the polytope, and so no C, has a lower cost."""


def relax(part: Filtered, *, tight: bool = True) -> Relaxed:
    r"""Minimize validation errors over all filters with the order of Tikhonov's filters.

    .. math:: \min_\mu \|F\mu - t\|^2 \quad\text{subject to}\quad 0 \le \mu_j \le 1, \qquad
              \frac{\mu_j}{\sigma_j} \le \frac{\mu_{j+1}}{\sigma_{j+1}}, \qquad
              \mu_j \ge \mu_{j+1}

    for descending eigenvalues; the last inequality, which every C satisfies as well, is left out
    with ``tight=False``. A convex program: its minimum bounds that over C from below.

    Parameters
    ----------
    part : Filtered
        Errors on validation data as a function of the filter.
    tight : bool, default=True
        Whether shrinkage factors are ordered as well.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, example 7.2, eq. (7.21) to (7.24),
    with :math:`a = \sum_i \lambda_i U_i U_i'y` for the sum of numbers of (7.24a).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.fusion import Filtered, relax
    >>> part = Filtered(np.array([2.0, 1.0]), np.eye(2), np.array([0.9, -1.0]), np.ones(2))
    >>> relax(part).filter.round(6), round(relax(part).cost, 6)
    (array([0.32, 0.16]), 1.682)
    """
    values = part.values
    groups = np.concatenate([[0], np.cumsum(values[1:] < (1.0 - EQUAL) * values[:-1])])
    groups = groups[: len(values)].astype(np.intp)
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    if not len(starts):
        return Relaxed(np.zeros(0), part.cost(np.zeros(0)), part.cost(np.zeros(0)))
    F, sigma = np.add.reduceat(part.F, starts, axis=1), values[starts]
    m = len(sigma)
    one = np.eye(m)
    rows = [one, -one, one[1:] - (sigma[1:] / sigma[:-1])[:, None] * one[:-1]]
    if tight:
        rows.append(one[:-1] - one[1:])
    G = np.concatenate(rows)
    h = np.zeros(len(G))
    h[m : 2 * m] = -1.0
    found = constrained_least_squares(F, part.t, G, h)
    mu = np.clip(found.x, 0.0, 1.0)[groups]
    return Relaxed(mu, 2.0 * found.value, 2.0 * min(found.bound, found.value))
