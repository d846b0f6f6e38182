r"""Support vector tubes: two parallel walls around a function, as near as their price allows.

The distance of a wall from the function is an unpenalized column with a linear cost, as in
:mod:`mercer.problems.nu`. What is new here is that walls may be hard, may be priced and guarded
differently, and may stand around targets that are known as intervals only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._typing import Array
from mercer.gram.base import Gram
from mercer.problems.nu import nu_regression_back, two_walls
from mercer.problems.risk import RegularizedRisk

__all__ = ["Walls", "tube", "tube_back"]

# A wall may stand anywhere between two targets if as much lies beyond it as it may: how near to
# equality, as a part of the price, that is.
EQUAL_WEIGHT_TOL = 1e-9


def tube(
    K: Gram,
    y: Array | tuple[Array, Array],
    c: Array | tuple[Array, Array],
    mu: float | tuple[float, float],
    B: Array | None = None,
    one: int | None = 0,
) -> RegularizedRisk:
    r"""Write a tube as a risk over doubled samples, one for each wall.

    .. math::

        \min_{f, u, v}\; \tfrac12 \|f\|^2 + \mu_\uparrow u + \mu_\downarrow v
        + \sum_i c^\uparrow_i \max(0, y_i^- - f(x_i) - u)
        + \sum_i c^\downarrow_i \max(0, f(x_i) - v - y_i^+)

    between the lower wall :math:`f - v` and the upper one :math:`f + u`. One price for both asks
    for :math:`u = v = t`, half of it for each wall if there is an intercept. Its dual

    .. math:: \max_a\; a'y - \tfrac12 a'Ka, \qquad -c^\downarrow \le a \le c^\uparrow, \quad
              |a|_1 \le \mu, \quad B'a = 0

    shows that a weight of :math:`\mu` on every sample is as good as an infinite one: the walls are
    then hard, and every target lies inside.

    Parameters
    ----------
    K : Gram
        Kernel matrix of the sample.
    y : ndarray of shape (n,) or pair of these
        Targets; or lower and upper ends of what is known of them, which the tube has to meet.
    c : ndarray of shape (n,) or pair of these
        Weights of what lies outside; below and above if they differ.
    mu : float or pair of float
        Price of the half-width, or of the distances of the lower and of the upper wall.
    B : ndarray of shape (n, q), optional
        Unpenalized columns; a constant by default.
    one : int, optional
        Which of them is the constant; None if none is.

    Returns
    -------
    RegularizedRisk
        The problem over ``2 n`` samples; :func:`tube_back` reads its solution.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (3.52) to (3.57) and (3.67) to
    (3.70), where :math:`\nu\mu` is the price and :math:`\nu` the weight.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.problems.support_vector_tube import tube, tube_back
    >>> from mercer.solvers import SMO, minimize
    >>> y = np.array([0.0, 1.0, 5.0])
    >>> solution = minimize(tube(Dense(np.eye(3)), y, np.full(3, 2.0), 2.0), SMO(tol=1e-9))
    >>> walls = tube_back(solution.a, solution.b, y, solution.f, np.full(3, 2.0), 2.0)
    >>> walls.a.round(6), walls.halfwidth
    (array([-1.,  0.,  1.]), 1.5)
    """
    low, high = y if isinstance(y, tuple) else (y, y)
    below, above = c if isinstance(c, tuple) else (c, c)
    down, up = mu if isinstance(mu, tuple) else (0.5 * mu, 0.5 * mu)
    n = len(low)
    if np.any(low > high):
        raise ValueError("a target ends before it begins; give lower ends that are not above.")
    for price, weights in ((down, below), (up, above)):
        if not 0 < price <= float(np.sum(weights)) * (1.0 + EQUAL_WEIGHT_TOL):
            raise ValueError(
                f"a wall at the price {price:.3g} with samples that weigh {np.sum(weights):.3g} "
                "would go through all of them; ask for fewer exceptions, or a lower price."
            )
    if one is None and isinstance(mu, tuple):
        raise ValueError(
            "walls of different prices shift the function; keep a constant unpenalized, or give "
            "one price."
        )
    outside = np.broadcast_to(below, n), np.broadcast_to(above, n)
    return two_walls(K, (low, high), outside, (down, up), B, one)


@dataclass(frozen=True, eq=False)
class Walls:
    """A tube: the function in its middle and how far away its walls are."""

    a: Array
    """Coefficients of the expansion, (n,)."""

    b: Array
    """Coefficients of the unpenalized columns, (q,)."""

    halfwidth: float
    """Half the distance of the walls, the smallest that is optimal."""

    widest: float
    """The largest that is: another one where exactly as much lies outside as may."""


def tube_back(
    a: Array,
    b: Array,
    y: Array | tuple[Array, Array],
    f: Array,
    c: Array | tuple[Array, Array],
    mu: float | tuple[float, float],
    one: int | None = 0,
) -> Walls:
    r"""Return the tube, with walls at targets and not where the solver left them.

    Given the function, the best walls are order statistics of its residuals. Where targets that
    weigh exactly the price lie beyond a wall, every place up to the next target costs the same: the
    nearer is taken, and the farther told; up to the precision of the solution they are the same if
    several targets lie on the wall, as they do unless the price is a multiple of the weights.

    Parameters
    ----------
    a, b, f
        Solution of :func:`tube` over doubled samples and its decision values.
    y, c, mu, one
        As there.
    """
    n = len(a) // 2
    machine = nu_regression_back(a, b, one)
    low, high = y if isinstance(y, tuple) else (y, y)
    below, above = c if isinstance(c, tuple) else (c, c)
    # Both walls are at the same distance of the middle, whose values are the mean of theirs.
    middle = 0.5 * (f[:n] + f[n:])
    over, under = low - middle, middle - high
    weights = np.broadcast_to(above, n), np.broadcast_to(below, n)
    if isinstance(mu, tuple):
        down, up = mu
        u, v = _nearest(over, weights[0], up), _nearest(under, weights[1], down)
    else:
        live = [w > 0 for w in weights]
        hard = all(
            np.all(w[on] >= mu * (1.0 - EQUAL_WEIGHT_TOL))
            for w, on in zip(weights, live, strict=True)
        )
        if one is not None and hard:
            u = (float(np.max(over[live[0]])),) * 2
            v = (float(np.max(under[live[1]])),) * 2
        else:
            t = _nearest(np.append(over, under), np.concatenate(weights), mu)
            u = v = (max(t[0], 0.0), max(t[1], 0.0))
    b = machine.b.copy()
    shift, half = 0.5 * (u[0] - v[0]), 0.5 * (u[0] + v[0])
    if one is not None:
        b[one] += shift
    return Walls(machine.a, b, max(half, 0.0), max(0.5 * (u[1] + v[1]), 0.0))


def _nearest(r: Array, c: Array, price: float) -> tuple[float, float]:
    r"""Return the ends of the minimizers of :math:`\sum_i c_i \max(0, r_i - t) + pt`."""
    order = np.argsort(-r, kind="stable")
    r, c = r[order], c[order]
    beyond = np.append(0.0, np.cumsum(c[:-1]))  # what lies beyond a wall at each target
    slack = EQUAL_WEIGHT_TOL * price
    allowed = np.flatnonzero(beyond <= price + slack)
    strictly = np.flatnonzero(beyond < price - slack)
    return float(r[allowed[-1]]), float(r[strictly[-1]])
