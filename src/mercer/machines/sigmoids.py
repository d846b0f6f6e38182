r"""Platt's sigmoids: probabilities from decision values that a fit did not see.

.. math:: p(y = k \mid f_k) = 1 / (1 + e^{A_k f_k + B_k})

One sigmoid for each class against the rest, by maximum likelihood of targets that are drawn in from
zero and one (Platt, 1999), and normalized over the classes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from mercer._native import newton_loop
from mercer._typing import Array

__all__ = ["Sigmoids", "fit_sigmoid", "fold_numbers"]


# Newton steps, and the gain a sample at which they end; curvature that is always there.
STEPS, LEVEL, RIDGE = 100, 1e-15, 1e-12


def fold_numbers(y: NDArray[np.intp], folds: int) -> NDArray[np.intp]:
    """Return the fold of each sample: classes are spread evenly, in the order of the samples.

    The folds of scikit-learn's ``StratifiedKFold`` for labels 0, 1, ...

    Parameters
    ----------
    y : (n,) array of int
    folds : int

    Examples
    --------
    >>> fold_numbers(np.array([0, 1, 0, 1, 0, 1, 0, 1]), 2)
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """
    _, first, codes = np.unique(y, return_index=True, return_inverse=True)
    k = len(first)
    # Classes count in the order in which they appear.
    rank = np.empty(k, dtype=np.intp)
    rank[np.argsort(first)] = np.arange(k)
    codes = rank[codes]
    ordered = np.sort(codes)
    share = np.stack([np.bincount(ordered[j::folds], minlength=k) for j in range(folds)])
    number = np.empty(len(y), dtype=np.intp)
    for j in range(k):
        number[codes == j] = np.repeat(np.arange(folds), share[:, j])
    return number


def fit_sigmoid(f: Array, positive: NDArray[np.bool_]) -> tuple[float, float]:
    r"""Return A and B of the sigmoid that decision values make likeliest, by Newton's method.

    Parameters
    ----------
    f : (n,) array
        Decision values.
    positive : (n,) array of bool
        Whether the sample is of the class.

    References
    ----------
    H.-T. Lin, C.-J. Lin, R. C. Weng, A note on Platt's probabilistic outputs for support vector
    machines, Machine Learning 68 (2007).

    Examples
    --------
    >>> a, b = fit_sigmoid(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([False, False, True, True]))
    >>> a < 0, abs(b) < 1e-9
    (True, True)
    """
    size = float(np.max(np.abs(f), initial=0.0)) or 1.0
    n = len(f)
    n1 = int(np.count_nonzero(positive))
    n0 = n - n1
    t = np.where(positive, (n1 + 1.0) / (n1 + 2.0), 1.0 / (n0 + 2.0))
    start = math.log((n0 + 1.0) / (n1 + 1.0))
    a, b = newton_loop(f / size, t, start, STEPS, RIDGE * n, LEVEL * n)
    return a / size, b


@dataclass(frozen=True, eq=False)
class Sigmoids:
    """A sigmoid for each class against the rest; of two classes for the second.

    Parameters
    ----------
    a, b : ndarray of shape (d,)
        Slopes and offsets.

    Examples
    --------
    >>> Sigmoids(np.array([-1.0]), np.array([0.0]))(np.array([0.0]))
    array([[0.5, 0.5]])
    """

    a: Array
    b: Array

    @classmethod
    def of(cls, f: Array, y: NDArray[np.intp]) -> Sigmoids:
        """Fit them to decision values, (n,) or (n, k), and the classes 0, 1, ... of the samples."""
        if f.ndim == 1:
            found = [fit_sigmoid(f, y == 1)]
        else:
            found = [fit_sigmoid(f[:, j], y == j) for j in range(f.shape[1])]
        a, b = np.array(found).T
        return cls(a, b)

    def __call__(self, f: Array) -> Array:
        """Return probabilities of the classes, (n, k)."""
        if f.ndim == 1:
            p = expit(-(self.a[0] * f + self.b[0]))
            return np.stack([1.0 - p, p], axis=1)
        p = expit(-(self.a * f + self.b))
        total = np.sum(p, axis=1, keepdims=True)
        # Where no class has a chance all have the same.
        return np.where(total > 0, p / np.where(total > 0, total, 1.0), 1.0 / p.shape[1])
