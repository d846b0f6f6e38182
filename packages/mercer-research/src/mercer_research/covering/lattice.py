"""How many points of the integer lattice lie at each distance from the origin."""

from __future__ import annotations

import math

import numpy as np

from mercer._params import check_integer
from mercer.kernels.points import Array


def lattice_shells(dim: int, largest: int) -> Array:
    r"""Return how many integer points have the squared length q, for q from 0 on.

    They are the coefficients of a power of Jacobi's theta function,

    .. math:: \Bigl(1 + 2\sum_{j \ge 1} x^{j^2}\Bigr)^d = \sum_{q \ge 0} r_d(q)\, x^q ,

    multiplied out one dimension at a time: a factor has :math:`\sqrt{q}` terms.

    Parameters
    ----------
    dim : int
        The dimension d.
    largest : int
        The largest squared length.

    Returns
    -------
    (largest + 1,) array
        Exact: 64-bit integers where they fit, Python's integers otherwise.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (8.60) and (8.61), whose sum has to
    begin at 0.

    Examples
    --------
    >>> lattice_shells(2, 8)
    array([1, 4, 4, 0, 4, 8, 0, 0, 4])
    >>> int(lattice_shells(4, 100).sum())
    49689
    """
    check_integer("dim", dim, 1)
    check_integer("largest", largest, 0)
    reach = math.isqrt(largest)
    # No shell holds more points than the cube around it.
    fits = (2 * reach + 1) ** dim < 2**63
    counts = np.zeros(largest + 1, dtype=np.int64 if fits else object)
    counts[0] = 1
    for _ in range(dim):
        before, counts = counts, counts.copy()
        for j in range(1, reach + 1):
            counts[j * j :] += 2 * before[: largest + 1 - j * j]
    return counts


def log_lattice_shells(dim: int, largest: int) -> Array:
    r"""Return natural logarithms of :func:`lattice_shells`; minus infinity for empty shells.

    Examples
    --------
    >>> log_lattice_shells(100, 200)[-1].round(3)
    np.float64(172.288)
    """
    counts = lattice_shells(dim, largest)
    return np.array([math.log(count) if count else -math.inf for count in counts])
