"""Parametric tubes, whose width is a combination of known functions with free coefficients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import null_space

from mercer._typing import Array
from mercer.gram.base import Gram
from mercer.gram.combined import extend
from mercer.gram.indexed import Indexed
from mercer.losses.regression import Pinball
from mercer.problems.risk import RegularizedRisk

__all__ = ["ParametricTube", "parametric_tube", "parametric_tube_back"]


@dataclass(frozen=True)
class ParametricTube:
    """Coefficients of a machine and of the widths of its tube.

    Parameters
    ----------
    a : ndarray of shape (n,)
        Expansion coefficients.
    b : ndarray of shape (q,)
        Coefficients of the unpenalized columns.
    widths : ndarray of shape (k,)
        Coefficients of the functions that make the width; not negative.
    """

    a: Array
    b: Array
    widths: Array


def parametric_tube(
    K: Gram,
    y: Array,
    c: ArrayLike,
    nu: ArrayLike,
    above: Array,
    below: Array | None = None,
    B: Array | None = None,
) -> RegularizedRisk:
    r"""Write a tube of parametric width as a risk over doubled samples, one for each wall.

    .. math::

        \min_{f, b, \epsilon \ge 0}\; \tfrac12 \|f\|^2 + \sum_q \nu_q \epsilon_q \sum_i c_i
        \tfrac{\zeta_{iq} + \zeta^*_{iq}}2 + \sum_i c_i \bigl[\max(0, r_i - \zeta_i'\epsilon)
        + \max(0, -r_i - \zeta_i^{*\prime} \epsilon)\bigr]

    with residuals :math:`r_i = y_i - f(x_i) - b' p(x_i)`. Every :math:`\epsilon_q` is an
    unpenalized column with a linear cost, and not negative by a one-sided loss of its own, exact
    because its multiplier cannot exceed that cost. Optimality in :math:`\epsilon_q` says that the
    share of samples outside, weighted with :math:`\zeta_q`, is at most :math:`\nu_q`, and that of
    samples outside or on a wall at least that, if :math:`\epsilon_q > 0`.

    Parameters
    ----------
    K : Gram
        Kernel matrix of the sample.
    y : ndarray of shape (n,)
        Targets.
    c : float or ndarray of shape (n,)
        Weights of the samples.
    nu : float or ndarray of shape (k,)
        Shares outside, in (0, 1], for all functions or for each.
    above, below : ndarray of shape (n, k)
        The functions :math:`\zeta \ge 0` for the distance of the upper wall and
        :math:`\zeta^* \ge 0` for that of the lower one; the same by default.
    B : ndarray of shape (n, q), optional
        Unpenalized columns; a constant by default.

    Returns
    -------
    RegularizedRisk
        The problem over ``2 n + k`` samples; :func:`parametric_tube_back` reads its solution.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, section 2.3.2, which notes that such tubes
    exist; for :math:`\zeta = 1` it is eq. (2.34).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.problems.parametric_tube import parametric_tube
    >>> x = np.linspace(0, 1, 5)
    >>> risk = parametric_tube(Dense(np.eye(5)), x, 1.0, 0.4, np.column_stack([np.ones(5), x]))
    >>> risk.n, risk.d
    (12, array([0., 2., 1.]))
    """
    n = len(y)
    below = above if below is None else below
    B = np.ones((n, 1)) if B is None else B
    c = np.broadcast_to(np.asarray(c, dtype=np.float64), (n,))
    k = above.shape[1]
    nu = np.broadcast_to(np.asarray(nu, dtype=np.float64), (k,))
    if above.shape != (n, k) or below.shape != (n, k) or np.any(above < 0) or np.any(below < 0):
        raise ValueError(
            f"a tube around {n} samples needs functions of shape ({n}, k), the same number for "
            "both walls, and none of them negative"
        )
    if not np.all((nu > 0) & (nu <= 1)):
        raise ValueError(f"nu must be above 0 and at most 1, got {nu}")
    price = nu * (0.5 * c @ (above + below))
    if np.any(price == 0):
        j = int(np.flatnonzero(price == 0)[0])
        raise ValueError(
            f"function {j} of the tube is zero on the whole sample, so that nothing is known of "
            "its coefficient; leave it out"
        )
    q = B.shape[1]
    columns = np.block([[B, above], [B, -below], [np.zeros((k, q)), np.eye(k)]])
    # Widths that must not be negative are samples at which every function of the kernel vanishes.
    padded = extend(K, np.zeros((n, 1)), np.zeros((1, 1)))
    index = np.concatenate([np.tile(np.arange(n), 2), np.full(k, n)])
    return RegularizedRisk(
        Pinball(np.repeat([1.0, 0.0, 1.0], [n, n, k])),
        Indexed(padded, index),
        np.concatenate([y, y, np.zeros(k)]),
        np.concatenate([c, c, 2.0 * price]),
        columns,
        np.concatenate([np.zeros(q), price]),
    )


def parametric_tube_back(a: Array, b: Array, k: int) -> ParametricTube:
    """Return the machine of a solved problem.

    Parameters
    ----------
    a, b : ndarray
        Solution of :func:`parametric_tube`.
    k : int
        Number of functions of the tube.
    """
    n, q = (len(a) - k) // 2, len(b) - k
    # What a solver leaves of the bound is of the size of its tolerance.
    return ParametricTube(a[:n] + a[n : 2 * n], b[:q], np.maximum(b[q:], 0.0))


def centred(tube: ParametricTube, B: Array, zeta: Array) -> ParametricTube:
    r"""Put the middle of a tube whose walls have coefficients of their own halfway between them.

    Where a combination of the functions of the width is one of unpenalized columns,
    :math:`\zeta s = B t`, it can be moved from one wall to the other through the middle,
    :math:`b + t`, :math:`\epsilon_\uparrow - s`, :math:`\epsilon_\downarrow + s`, and no wall
    moves. Of all these machines this is the one with the most similar walls.

    Parameters
    ----------
    tube : ParametricTube
        With widths :math:`(\epsilon_\uparrow, \epsilon_\downarrow)`.
    B : ndarray of shape (n, q)
        Unpenalized columns.
    zeta : ndarray of shape (n, k)
        Functions of the width, the same for both walls.
    """
    q, k = B.shape[1], zeta.shape[1]
    moves = null_space(np.hstack([B, -zeta]), rcond=1e-10)
    t, s = moves[:q], moves[q:]
    up, down = tube.widths[:k], tube.widths[k:]
    if not np.any(s):
        return tube
    g = np.linalg.lstsq(2.0 * s, up - down, rcond=None)[0]
    shift = s @ g
    with np.errstate(divide="ignore", invalid="ignore"):
        # As far as widths stay positive.
        room = np.concatenate(
            [np.where(shift > 0, up / shift, 1.0), np.where(shift < 0, -down / shift, 1.0)]
        )
    share = min(1.0, float(np.min(room)))
    widths = np.maximum(np.concatenate([up - share * shift, down + share * shift]), 0.0)
    return ParametricTube(tube.a, tube.b + share * (t @ g), widths)
