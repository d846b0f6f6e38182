"""A compiled pass of points down the trees of a forest."""

import numpy as np

from mercer._compile_numba import njit

__all__ = ["add_leaves"]

NONE, SOME = np.uint64(0), np.uint64(1)


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _child(node, x):
    """Return the child that a point goes to; a leaf is its own child."""
    return np.uint64(node["left"]) + np.uint64(x[np.uint64(node["feature"])] > node["cut"])


@njit(cache=True, nogil=True, error_model="numpy")
def add_leaves(X, roots, nodes, values, out):
    """Add the values of the leaves that points fall into, tree by tree, to the rows of out.

    Four points go down a tree together: a point waits for the node that it reads, and meanwhile the
    others read theirs, in half the time. Where fewer are left, the last one is read again.
    """
    n, k = out.shape
    for root in roots:
        for i in range(0, n, 4):
            x0, x1 = X[i], X[min(i + 1, n - 1)]
            x2, x3 = X[min(i + 2, n - 1)], X[min(i + 3, n - 1)]
            a0 = a1 = a2 = a3 = np.uint64(root)
            moved = SOME
            while moved != NONE:
                b0, b1 = _child(nodes[a0], x0), _child(nodes[a1], x1)
                b2, b3 = _child(nodes[a2], x2), _child(nodes[a3], x3)
                moved = (b0 ^ a0) | (b1 ^ a1) | (b2 ^ a2) | (b3 ^ a3)
                a0, a1, a2, a3 = b0, b1, b2, b3
            for j in range(k):
                out[i, j] += values[np.uint64(nodes[a0]["leaf"]), j]
                if i + 1 < n:
                    out[i + 1, j] += values[np.uint64(nodes[a1]["leaf"]), j]
                if i + 2 < n:
                    out[i + 2, j] += values[np.uint64(nodes[a2]["leaf"]), j]
                if i + 3 < n:
                    out[i + 3, j] += values[np.uint64(nodes[a3]["leaf"]), j]
