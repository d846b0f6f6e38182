r"""Decisions of a softmax machine without each of its samples, by one Newton step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from mercer._typing import Array
from mercer.gram.factor import orthonormal
from mercer.gram.softmax_system import SoftmaxSystem, off_columns

__all__ = ["left_out_scores"]

# Probabilities are not smaller where curvatures are divided by them.
MIN_PROBABILITY = 1e-8


def left_out_scores(
    K: Array, F: Array, y: NDArray[np.intp], c: Array, B: Array | None = None
) -> Array:
    r"""Return the scores of all classes that a softmax machine has without each sample.

    The step is exact for the parabola that the machine's loss is close to. With the slopes
    :math:`g_i = c_i (e_{y_i} - p_i)`, the curvature :math:`W_i = c_i (\operatorname{diag} p_i -
    p_i p_i')` of a sample and the covariance :math:`V_i` of its scores,

    .. math:: f_i^{(-i)} = f_i - V_i (1 - W_i V_i)^{-1} g_i = f_i - (S_{ii}^{-1} - W_i^{-1})\, g_i,

    where :math:`S_{ii}` is the block of a sample of :math:`(1 + WK)^{-1} W` off the unpenalized
    columns, and inverses are those among scores whose sum is zero.

    Parameters
    ----------
    K : (n, n) array
        Kernel matrix.
    F : (n, k) array
        Scores of the machine with all samples.
    y : (n,) array of int
        Classes 0, ..., k - 1.
    c : (n,) array
        Weights of the losses, C times those of the samples.
    B : (n, q) array, optional
        Unpenalized columns; a constant by default.

    Returns
    -------
    (n, k) array
        Sums over the classes are zero; a sample without weight has the scores of the machine.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelLogisticRegression
    >>> from mercer.kernels import Gaussian
    >>> from mercer.smoothing.left_out_classes import left_out_scores
    >>> X, y = np.arange(9.0)[:, None], np.arange(9) // 3
    >>> machine = KernelLogisticRegression(Gaussian(2.0), C=5.0, multi_class="multinomial")
    >>> F = machine.fit(X, y).decision_function(X)
    >>> left_out_scores(Gaussian(2.0)(X), F, y, np.full(9, 5.0))[3].round(1)
    array([ 0.5,  0.6, -1.1])
    """
    live, k = np.flatnonzero(c > 0), F.shape[1]
    out = F - F.mean(axis=1, keepdims=True)
    c, y, E = c[live], y[live], np.eye(k)
    P = softmax(F[live], axis=1)
    g = c[:, None] * (E[y] - P)
    P = np.maximum(P, MIN_PROBABILITY)
    P /= P.sum(axis=1, keepdims=True)
    U, _ = orthonormal(np.ones((len(live), 1)) if B is None else B[live])
    S = SoftmaxSystem(off_columns(K[np.ix_(live, live)], U), c[:, None] * P, U).blocks()
    # A multiple of the matrix of ones, which scores of sum zero do not see, makes it regular.
    size = np.trace(S, axis1=1, axis2=2)[:, None, None]
    x = np.linalg.solve(S + size, g[:, :, None])[:, :, 0]
    change = x - g / (c[:, None] * P)
    out[live] -= change - change.mean(axis=1, keepdims=True)
    return np.asarray(out)
