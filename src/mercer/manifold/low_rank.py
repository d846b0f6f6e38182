"""Planes of least squared distance: principal axes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg as la

from mercer.kernels.points import Array

__all__ = ["Plane", "principal_plane"]


class Plane(NamedTuple):
    """An affine plane."""

    mean: Array
    """A point of it, (d,)."""

    axes: Array
    """Orthonormal directions, (q, d)."""

    variances: Array
    """Variances along the directions, (q,), the largest first."""


def principal_plane(X: Array, s: Array, q: int, last: Array | None = None) -> Plane:
    """Return the plane of least squared distance.

    Parameters
    ----------
    X : (n, d) array
    s : (n,) array
        Weights.
    q : int
        Number of directions, at most d.
    last : (q, d) array, optional
        Directions that stay where the rows span fewer than q.
    """
    weight = float(s.sum())
    mean = X[0] + s @ (X - X[0]) / weight
    R = np.sqrt(s / weight)[:, None] * (X - mean)
    _, values, axes = la.svd(R, full_matrices=False)
    some = values[:q] > np.finfo(np.float64).eps * max(R.shape) * values[0]
    rank = int(some.sum())
    if rank < q:
        # Orthonormal directions of no variance: the last ones as far as they are new, then any.
        rest = np.eye(X.shape[1]) if last is None else np.vstack([last, np.eye(X.shape[1])])
        axes = la.qr(np.vstack([axes[:rank], rest]).T, mode="economic")[0].T
    axes = axes[:q]
    # A direction and its opposite are both principal: the largest entry is made positive.
    signs = np.sign(axes[range(q), np.abs(axes).argmax(axis=1)])
    variances = np.zeros(q)
    variances[:rank] = values[:rank] ** 2
    return Plane(np.asarray(mean), np.asarray(axes * signs[:, None]), variances)
