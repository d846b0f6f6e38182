r"""Several functions fitted at once, in an order that they keep.

.. math::

    \min_{f_1, \dots, f_m}\; \sum_k \tfrac12 \|f_k\|^2 + \sum_{k,i} c_i\, l_k(y_i, f_k(x_i))
    \qquad \text{subject to}\quad f_{k+1}(z_j) \ge f_k(z_j)

The functions know of each other through the constraints only. A difference at a point is one more
sample of the functional, with a wall for a loss; see :class:`~mercer.gram.levels.Levels` for its
Gram.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.gram.base import Gram
from mercer.gram.levels import Levels
from mercer.losses.base import Loss
from mercer.losses.regression import Pinball
from mercer.losses.stacked import stack
from mercer.problems.risk import RegularizedRisk

__all__ = ["ordered", "ordered_back"]

Crossings = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Which function k is not to exceed the next, and at which point j."""


def ordered(
    K: Gram,
    y: Array,
    c: Array,
    losses: Sequence[Loss],
    B: Array,
    crossings: Crossings,
    wall: float,
) -> RegularizedRisk:
    r"""Write functions of one kernel, one loss each, that do not cross at some points.

    Parameters
    ----------
    K : Gram
        Kernel matrix of N points, of which the first n are the sample.
    y, c : ndarray of shape (n,)
        Targets and weights.
    losses : sequence of m Loss
        What an error costs each of the functions, from the lowest to the highest.
    B : ndarray of shape (N, q)
        Unpenalized columns; every function has coefficients of its own.
    crossings : pair of integer arrays of shape (J,)
        Where :math:`f_{k+1}(z_j) \ge f_k(z_j)` takes part: k and j.
    wall : float
        Weight of the walls. Exact as soon as it exceeds the multipliers of all of them; for
        quantiles and an intercept these add up to no more than :math:`\sum_k \tau_k \sum_i c_i`.

    Returns
    -------
    RegularizedRisk
        Over ``m n + J`` samples: those of the first function, of the second, ..., differences.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.losses import Squared
    >>> from mercer.problems.non_crossing import ordered
    >>> from mercer.solvers import SMO, minimize
    >>> none = np.empty((1, 0))
    >>> at = np.array([0]), np.array([0])
    >>> risk = ordered(
    ...     Dense(np.eye(1)), np.ones(1), np.ones(1), [Squared(), Squared()], none, at, 9.0
    ... )
    >>> minimize(risk, SMO()).a  # both are one half: the difference costs nothing
    array([0.5, 0.5, 0. ])
    """
    n, m, (k, j) = len(y), len(losses), crossings
    unit = np.eye(m)
    combine = np.concatenate([np.repeat(unit, n, axis=0), unit[k + 1] - unit[k]])
    index = np.concatenate([np.tile(np.arange(n), m), j])
    columns = np.einsum("ik,iq->ikq", combine, B[index]).reshape(len(index), -1)
    return RegularizedRisk(
        stack([*losses, Pinball(1.0)], [*[n] * m, len(j)]),
        Levels(K, index, combine),
        np.concatenate([np.tile(y, m), np.zeros(len(j))]),
        np.concatenate([np.tile(c, m), np.full(len(j), wall)]),
        columns,
    )


def ordered_back(risk: RegularizedRisk, a: Array, b: Array, N: int) -> tuple[Array, Array]:
    """Return expansions over N points (N, m) and unpenalized coefficients (q, m) of the functions.

    Parameters
    ----------
    risk : RegularizedRisk
        Of :func:`ordered`.
    a, b : ndarray
        Its solution.
    N : int
        Number of points of its Gram.
    """
    levels = risk.K
    assert isinstance(levels, Levels)
    A = np.zeros((N, levels.combine.shape[1]))
    np.add.at(A, levels.points.index, levels.combine * a[:, None])
    return A, b.reshape(levels.combine.shape[1], -1).T
