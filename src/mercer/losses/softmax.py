r"""The softmax loss: several decision values a sample, one for each class, that are one cost.

.. math:: l(y, f) = \log \sum_c e^{f_c} - f_y, \qquad
          l^*(y, v) = \sum_c p_c \log p_c, \quad p = v + e_y \in \Delta

The slope is :math:`q - e_y` with the probabilities :math:`q = \operatorname{softmax}(f)`, and the
curvature :math:`\operatorname{diag}(q) - qq'`. Slopes :math:`p - e_y` that belong to other
probabilities miss the inequality of Fenchel and Young by a divergence,

.. math:: l(y, f) + l^*(y, p - e_y) - (p - e_y)'f = \sum_c p_c \log \frac{p_c}{q_c} \ge 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp, softmax, xlog1py, xlogy

from mercer._typing import Array

__all__ = ["Softmax"]

Labels = NDArray[np.intp]


@dataclass(frozen=True)
class Softmax:
    """The multinomial logistic loss of labels 0, ..., k - 1 and decision values (n, k).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses.softmax import Softmax
    >>> y, f = np.array([0, 2]), np.array([[2.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    >>> Softmax().value(y, f).round(4)
    array([0.2395, 1.0986])
    >>> Softmax().slope(y, f).round(4)
    array([[-0.213 ,  0.1065,  0.1065],
           [ 0.3333,  0.3333, -0.6667]])
    """

    def value(self, y: Labels, f: Array) -> Array:
        """Return the loss of each sample, (n,)."""
        f, rows = _limit(f), np.arange(len(y))
        with np.errstate(invalid="ignore"):
            others = np.where(np.isneginf(f), -np.inf, f - f[rows, y][:, None])
            others[rows, y] = -np.inf
            # As the logarithm of one and a sum it keeps the digits of losses near zero.
            return np.asarray(np.logaddexp(0.0, logsumexp(others, axis=1)))

    def probability(self, f: Array) -> Array:
        """Return the probabilities of the classes, (n, k)."""
        return np.asarray(softmax(_limit(f), axis=1))

    def slope(self, y: Labels, f: Array) -> Array:
        """Return the derivatives by the decision values, (n, k)."""
        q = self.probability(f)
        q[np.arange(len(y)), y] -= 1.0
        return q

    def conjugate(self, p: Array) -> Array:
        """Return the conjugate at the slopes that belong to probabilities (n, k): (n,).

        The largest probability is one minus the sum of the others, whose digits it has lost.
        """
        others, missed = _others(p)
        return np.asarray(xlogy(others, others).sum(axis=1) + xlog1py(1.0 - missed, -missed))

    def young_gap(self, p: Array, f: Array) -> Array:
        r"""Return by how much slopes of probabilities (n, k) miss Fenchel-Young's equality, (n,).

        Term by term :math:`p \log (p / q) - p + q`, none of which is negative, so that nothing
        cancels.
        """
        log_q = log_softmax(_limit(f), axis=1)
        q = np.exp(log_q)
        terms = xlogy(p, p) - p * log_q - p + q
        (_, s), top = _others(p), (np.arange(len(p)), np.argmax(p, axis=1))
        q[top], log_top = 0.0, log_q[top]
        r = q.sum(axis=1)
        log_top = np.where(r < 0.5, np.log1p(-np.minimum(r, 0.5)), log_top)
        terms[top] = xlog1py(1.0 - s, -s) - (1.0 - s) * log_top + s - r
        return np.asarray(np.maximum(terms, 0.0).sum(axis=1))


def _others(p: Array) -> tuple[Array, Array]:
    """Return probabilities without the largest of each sample, (n, k), and their sums."""
    others = p.copy()
    others[np.arange(len(p)), np.argmax(p, axis=1)] = 0.0
    return others, others.sum(axis=1)


def _limit(f: Array) -> Array:
    """Return decision values, with zero for infinity and then minus infinity for all others."""
    top = np.isposinf(f)
    if not np.any(top):
        return f
    others = np.minimum(f, 0.0) - np.inf
    return np.where(np.any(top, axis=1, keepdims=True), np.where(top, 0.0, others), f)
