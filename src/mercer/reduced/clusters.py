r"""Centres as means of clusters, by scikit-learn's k-means in the units of a kernel.

Rows near each other have nearly the same kernel functions; the mean of a cluster stands for all of
them, and :math:`\operatorname{tr}(K - \hat K)` is bounded by the sum of squared distances to it.
"""

from __future__ import annotations

import warnings
from functools import singledispatch

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from mercer._lazily import lazily
from mercer._typing import Array
from mercer.kernels.algebra import ActiveDims, Modified, Pair
from mercer.kernels.base import Kernel
from mercer.kernels.points import Data
from mercer.kernels.stationary import Dimensional, Stationary
from mercer.kernels.stretched import Stretched

__all__ = ["means", "units"]

KMeans = lazily("sklearn.cluster", "KMeans")

MAX_ITERATIONS = 20
"""Steps of Lloyd's iteration."""


@singledispatch
def units(kernel: Kernel, p: int) -> Array:
    """Return the factors of the features that turn distances into the kernel's distances.

    Parameters
    ----------
    kernel : Kernel
    p : int
        Number of features.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> units(2.0 * Gaussian([1.0, 4.0]), 2), units(Linear().on([1]), 2)
    (array([1.  , 0.25]), array([0., 1.]))
    """
    return np.ones(p)


@units.register
def _(kernel: Stationary, p: int) -> Array:
    return np.broadcast_to(1.0 / np.asarray(kernel.length_scale, dtype=np.float64), p)


@units.register
def _(kernel: Dimensional, p: int) -> Array:
    return units(kernel._in(p), p)


@units.register
def _(kernel: Modified, p: int) -> Array:
    return units(kernel.kernel, p)


@units.register
def _(kernel: Stretched, p: int) -> Array:
    return np.asarray(units(kernel.kernel, p) / np.asarray(kernel.scale, dtype=np.float64))


@units.register
def _(kernel: Pair, p: int) -> Array:
    return np.hypot(units(kernel.left, p), units(kernel.right, p))


@units.register
def _(kernel: ActiveDims, p: int) -> Array:
    here = np.arange(p)[kernel.dims] if isinstance(kernel.dims, slice) else kernel._positions
    factor = np.zeros(p)
    factor[here] = units(kernel.kernel, len(here))
    return factor


def means(Y: Data, w: Array, m: int, seed: int) -> Array:
    """Return means of clusters.

    Parameters
    ----------
    Y : (n, p) points
    w : (n,) array
        Weights.
    m : int
        Number of clusters; n if there are fewer rows.
    seed : int

    Examples
    --------
    >>> Z = means(np.array([[0.0], [1.0], [9.0]]), np.ones(3), 2, 0)
    >>> sorted(Z[:, 0].tolist())
    [0.5, 9.0]
    """
    clusters = KMeans(min(m, Y.shape[0]), n_init=1, max_iter=MAX_ITERATIONS, random_state=seed)
    # Several threads add to a mean in any order; one gives the same bits each time.
    with threadpool_limits(1, "openmp"), warnings.catch_warnings():
        # Fewer different rows than clusters: equal means are left out by the caller.
        warnings.simplefilter("ignore", ConvergenceWarning)
        clusters.fit(Y, sample_weight=w)
    return np.asarray(clusters.cluster_centers_, dtype=np.float64)
