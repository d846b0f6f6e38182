"""The influence of single samples on any estimator, by refits.

Least-squares machines know it without: :meth:`~mercer.LSSVR.jackknife` and
:meth:`~mercer.LSSVR.sensitivity_curve`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from mercer._sklearn import num_samples, safe_indexing
from mercer._typing import PointsLike, Predictor, TargetsLike
from mercer.kernels.points import Array


def jackknife(
    estimator: Predictor,
    X: PointsLike,
    y: TargetsLike,
    Z: PointsLike = None,
    method: str = "predict",
) -> Array:
    """Return the predictions of estimators fitted without each sample in turn.

    Parameters
    ----------
    estimator : estimator
        Is cloned, and fitted n times.
    X, y : array-like of n rows
        The sample.
    Z : array-like of m rows, optional
        New points; by default each estimator predicts the sample that it lacks.
    method : str, default="predict"
        What to call: ``"predict"``, ``"decision_function"``, ``"predict_proba"``.

    Returns
    -------
    ndarray of shape (n, ...), or (m, n, ...) with new points

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 3.3.3.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> jackknife(LinearRegression(), X, [0.0, 1.0, 5.0]).round(6)
    array([-3. ,  2.5,  2. ])
    """
    n = num_samples(X)
    found = []
    for i in range(n):
        others = np.delete(np.arange(n), i)
        refit = clone(estimator).fit(safe_indexing(X, others), safe_indexing(y, others))
        at = safe_indexing(X, [i]) if Z is None else Z
        found.append(np.asarray(getattr(refit, method)(at)))
    return np.concatenate(found) if Z is None else np.stack(found, axis=1)


def sensitivity_curve(
    estimator: Predictor,
    X: PointsLike,
    y: ArrayLike,
    i: int,
    values: ArrayLike,
    Z: PointsLike = None,
) -> Array:
    """Return predictions as the target of one sample moves, the empirical influence curve.

    Parameters
    ----------
    estimator : estimator
        Is cloned, and fitted once for every value.
    X, y : array-like of n rows
        The sample.
    i : int
        The sample whose target moves.
    values : (k,) or (k, d) array
        Targets in its place.
    Z : array-like of m rows, optional
        New points; by default the sample that moves.

    Returns
    -------
    ndarray of shape (k, m) or (k, m, d)

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, definition 3.2, eq. (3.29).

    Examples
    --------
    The mean follows an outlier without bounds, the median does not:

    >>> import numpy as np
    >>> from sklearn.dummy import DummyRegressor
    >>> X, y, wild = np.zeros((5, 1)), np.arange(5.0), [4.0, 100.0]
    >>> for strategy in ("mean", "median"):
    ...     print(sensitivity_curve(DummyRegressor(strategy=strategy), X, y, 4, wild)[:, 0])
    [ 2.  21.2]
    [2. 2.]
    """
    Z = safe_indexing(X, [i]) if Z is None else Z
    curve = []
    for value in np.asarray(values, dtype=np.float64):
        targets = np.array(y, dtype=np.float64)
        targets[i] = value
        curve.append(np.asarray(clone(estimator).fit(X, targets).predict(Z)))
    return np.stack(curve)
