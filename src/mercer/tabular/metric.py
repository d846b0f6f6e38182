r"""A metric learned from the function itself: the average outer product of its gradients.

.. math:: M = \frac{1}{n} \sum_i \sum_c \nabla f_c(x_i) \nabla f_c(x_i)'

Directions in which the function f does not change get no weight, also where they are no columns.
The new kernel measures :math:`\sqrt{(x - z)' M (x - z)}`: M itself is the metric, and its root maps
points to where that is Euclidean. A metric made from targets knows them, also of samples that are
left out afterwards; so its left-out predictions are made by folds, each with a metric of its own.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from mercer._typing import Array

__all__ = ["gradients", "normalized", "outer_product", "root"]


ROOT_3 = np.sqrt(3.0)


def gradients(X: Array, a: Array, others: Array | None = None) -> Array:
    r"""Return gradients at n points of the functions that they expand with the Matern 3/2 kernel.

    .. math:: \nabla_x (1 + \sqrt3 r) e^{-\sqrt3 r} = -3 (x - z) e^{-\sqrt3 r}, \quad r = |x - z|

    Parameters
    ----------
    X : (n, p) array
        Points.
    a : (n, d) array
        Coefficients of the functions.
    others : (n, n) array, optional
        Factor of the kernel that does not depend on these features.

    Returns
    -------
    (d, n, p) array
    """
    E = np.exp(-ROOT_3 * cdist(X, X))
    if others is not None:
        E *= others
    found = []
    for coefficients in a.T:
        W = E * coefficients
        found.append(-3.0 * (W.sum(axis=1)[:, None] * X - W @ X))
    return np.stack(found)


def outer_product(slopes: Array, weights: Array) -> Array:
    """Return the average outer product of gradients (d, n, p) at weighted points, with trace one.

    Parameters
    ----------
    slopes : (d, n, p) array
        Gradients.
    weights : (n,) array
        Weights of the points.
    """
    p = slopes.shape[2]
    flat = (slopes * np.sqrt(weights)[:, None]).reshape(-1, p)
    M = flat.T @ flat
    trace = float(np.trace(M))
    return M / trace if trace > 0 else np.eye(p) / p


def root(M: Array) -> Array:
    """Return a map R with :math:`RR' = M`."""
    values, vectors = np.linalg.eigh(M)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def normalized(R: Array, X: Array, rng: np.random.Generator, pairs: int = 2000) -> Array:
    """Return the map with mean squared distance two between mapped rows."""
    first, second = rng.integers(0, len(X), size=(2, pairs))
    apart = (X[first] - X[second]) @ R
    mean = float(np.mean(np.sum(apart**2, axis=1)))
    return R * np.sqrt(2.0 / mean) if mean > 0 else R
