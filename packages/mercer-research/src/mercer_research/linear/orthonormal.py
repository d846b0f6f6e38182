r"""Penalties under an orthonormal design, :math:`X'X = 1`: one formula each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mercer._typing import Array

__all__ = ["OrthonormalFusion", "fuse_orthonormal", "hard_threshold", "shrink", "soft_threshold"]


def shrink(q: ArrayLike, alpha: float) -> Array:
    r"""Shrink coefficients as ridge regression does, :math:`q / (1 + \alpha)`.

    Parameters
    ----------
    q : array-like
        The coefficients :math:`q = X'y` without a penalty.
    alpha : float
        Weight of the penalty :math:`\tfrac{\alpha}{2} \|w\|^2` beside half of the squared errors.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, lemma 6.1.

    Examples
    --------
    >>> from mercer_research.linear import shrink
    >>> shrink([2.0, -1.0], 1.0)
    array([ 1. , -0.5])
    """
    return np.asarray(q, dtype=np.float64) / (1.0 + alpha)


def soft_threshold(q: ArrayLike, lam: float) -> Array:
    r"""Shrink coefficients as the lasso does.

    .. math:: \operatorname{sign}(q_d) \max(|q_d| - \lambda / 2, 0)

    the minimizer of :math:`\|y - Xw\|^2 + \lambda \|w\|_1`: the errors are not halved, so
    :math:`\lambda` is the multiplier of :math:`\|w\|_1 \le \tau` in :class:`LassoConstrained`.

    Parameters
    ----------
    q : array-like
        The coefficients :math:`q = X'y` without a penalty.
    lam : float
        The multiplier :math:`\lambda`.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, lemma 6.1, eq. (6.5), where the
    absolute value and the factor one half are missing.

    Examples
    --------
    >>> from mercer_research.linear import soft_threshold
    >>> soft_threshold([2.0, -1.5, 0.1], 1.0)
    array([ 1.5, -1. ,  0. ])
    """
    q = np.asarray(q, dtype=np.float64)
    return np.asarray(np.sign(q) * np.maximum(np.abs(q) - 0.5 * lam, 0.0))


def hard_threshold(q: ArrayLike, lam: float) -> Array:
    r"""Keep large coefficients as they are and drop the others.

    The minimizer of :math:`\|y - Xw\|^2 + \lambda \|w\|_0`, which keeps :math:`|q_d| >
    \sqrt{\lambda}`: best subset selection.

    Parameters
    ----------
    q : array-like
        The coefficients :math:`q = X'y` without a penalty.
    lam : float
        Price of a coefficient that is not zero.

    Examples
    --------
    >>> from mercer_research.linear import hard_threshold
    >>> hard_threshold([2.0, -1.5, 0.1], 1.0)
    array([ 2. , -1.5,  0. ])
    """
    q = np.asarray(q, dtype=np.float64)
    return np.where(q**2 > lam, q, 0.0)


@dataclass(frozen=True)
class OrthonormalFusion:
    """Ridge regression of an orthonormal design whose penalty was chosen by validation.

    Parameters
    ----------
    shrinkage : float
        By how much the least-squares coefficients are multiplied.
    alpha : float
        The weight of the penalty, infinite if nothing is left.
    coef : ndarray of shape (p,)
        The coefficients.
    """

    shrinkage: float
    alpha: float
    coef: Array


def fuse_orthonormal(X: Array, y: Array, X_val: Array, y_val: Array) -> OrthonormalFusion:
    r"""Choose the ridge penalty of an orthonormal design by validation, in closed form.

    With :math:`X'X = 1` the fit is :math:`w = \mu X'y`, :math:`\mu = 1/(1 + \alpha) \in [0, 1]`,
    and what it costs on other data is a parabola in :math:`\mu`,

    .. math:: \min_{0 \le \mu \le 1} \|\mu z - y^v\|^2, \qquad z = X^v X'y, \qquad
              \mu = \operatorname{clip}(z'y^v / z'z,\, 0,\, 1).

    Parameters
    ----------
    X, y : ndarray of shape (n, p) and (n,)
        Training data; the columns of X are orthonormal.
    X_val, y_val : ndarray of shape (m, p) and (m,)
        Validation data.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (7.5) and (7.6).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import fuse_orthonormal
    >>> fit = fuse_orthonormal(np.eye(2), np.array([2.0, 2.0]), np.eye(2), np.array([1.0, 1.0]))
    >>> fit.shrinkage, fit.alpha, fit.coef
    (0.5, 1.0, array([1., 1.]))
    """
    p = X.shape[1]
    if np.max(np.abs(X.T @ X - np.eye(p)), initial=0.0) > 1e-8:
        raise ValueError("The columns of X are not orthonormal; use FusedRidge.")
    q = X.T @ y
    z = X_val @ q
    size = float(z @ z)
    mu = float(np.clip(z @ y_val / size, 0.0, 1.0)) if size > 0 else 0.0
    return OrthonormalFusion(mu, 1.0 / mu - 1.0 if mu > 0 else np.inf, mu * q)
