"""Reduction of several losses at a sample to copies of it with a loss each, and its way back."""

from __future__ import annotations

import numpy as np

from mercer._typing import Array
from mercer.gram.indexed import Indexed
from mercer.losses.stacked import stack
from mercer.problems.risk import RegularizedRisk

__all__ = ["fold", "unfold"]


def unfold(risk: RegularizedRisk) -> RegularizedRisk:
    r"""Return a problem in which every sample has one loss, with the same value and function.

    .. math::

        \sum_i c_i \sum_k w_k\, l_k(y_i, f_i) = \sum_{k,i} c_i w_k\, l_k(y_i, f_{ki}), \qquad
        f_{ki} = f_i

    Parameters
    ----------
    risk : RegularizedRisk
        A problem whose loss may be a sum (:class:`~mercer.losses.Several`).

    Returns
    -------
    RegularizedRisk
        The problem over copies of the samples, those of the first loss first; `risk` itself if its
        loss is no sum. Its duality gap certifies both.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.losses import Absolute, EpsilonInsensitive, Several
    >>> from mercer.problems import RegularizedRisk
    >>> from mercer.problems.copied_samples import unfold
    >>> loss = Several([Absolute(), EpsilonInsensitive(1.0)], [1.0, 2.0])
    >>> risk = unfold(RegularizedRisk(loss, Dense(np.eye(2)), np.zeros(2), 3.0))
    >>> risk.n, risk.c
    (4, array([3., 3., 6., 6.]))
    """
    parts = risk.loss.parts()
    k, n = len(parts), risk.n
    if k == 1:
        return risk
    return RegularizedRisk(
        stack([loss for loss, _ in parts], [n] * k),
        Indexed(risk.K, np.tile(np.arange(n), k)),
        np.tile(risk.y, k),
        np.concatenate([risk.c * w for _, w in parts]),
        np.tile(risk.B, (k, 1)),
        risk.d,
    )


def fold(risk: RegularizedRisk, a: Array) -> Array:
    """Return the coefficients of a problem, the sums of its copies' coefficients.

    Parameters
    ----------
    risk : RegularizedRisk
        What was unfolded.
    a : ndarray of shape (k * n,)
        Coefficients of the copies.
    """
    return np.asarray(a.reshape(-1, risk.n).sum(axis=0))
