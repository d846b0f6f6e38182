"""Number of components by parallel analysis and by the error of held-out rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._typing import PointsLike
from mercer.gram.dense import Dense
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array, to_dense
from mercer.manifold.centring import centre
from mercer.manifold.component_count import Thresholds, first_run
from mercer.manifold.eigen import leading
from mercer.manifold.principal import ZERO
from mercer.regularizers.null_space import NullSpace

__all__ = ["ROWS", "held_out", "parallel", "reconstruction_errors"]

ROWS = 1000
"""Rows that a criterion looks at, at most."""

MOST = 200
"""Components that a criterion looks at, at most."""

SHUFFLES = 20
"""Samples without structure that parallel analysis draws."""

SIGMAS = 3.0
"""Standard errors by which a component must do better than a random direction.

Of 200 samples of one or three factors with noise, two standard errors gave a factor too many to 13
and three to 2.
"""

LEVEL = 0.95
"""Share of these whose eigenvalue an eigenvalue must exceed."""


def parallel(
    kernel: Kernel, X: PointsLike, null_space: NullSpace, weights: Array, seed: Any = 0
) -> int:
    """Return how many eigenvalues exceed those of samples whose columns are shuffled.

    Shuffled columns keep the distribution of every feature and lose what joins them.

    Parameters
    ----------
    kernel : Kernel
        The kernel, of rows of numbers.
    X : (n, p) points
        The sample.
    null_space : NullSpace
        Functions that are projected out.
    weights : (n,) array
        Weights of the rows, positive.
    seed : int or Generator, default=0
        Of the shuffles.

    References
    ----------
    J. L. Horn, *A rationale and test for the number of factors in factor analysis*, Psychometrika
    30, 1965, with the quantile of A. Buja and N. Eyuboglu, Multivariate Behavioral Research 27,
    1992.
    """
    X = np.asarray(to_dense(X), dtype=np.float64)
    k, rng = min(MOST, len(X) - 1), np.random.default_rng(seed)

    def eigenvalues(X: Array) -> Array:
        K = Dense(np.asarray(kernel(X), dtype=np.float64))
        spectrum = centre(K, null_space(X), weights, True, kernel.order == 0).spectrum
        return leading(spectrum, k, "dense").values

    drawn = np.stack([eigenvalues(rng.permuted(X, axis=0)) for _ in range(SHUFFLES)])
    limits = np.quantile(drawn, LEVEL, axis=0)
    kept = Thresholds(limits).keep(eigenvalues(X), 0.0, len(X))
    return 1 if kept is None else kept


def held_out(K: Array, B: Array, weights: Array, splitter: Any, strictly: bool) -> int:
    """Return how many components lower the error of held-out rows by more than chance.

    The reconstruction error of a held-out row never rises with the number of components, so its
    least value decides nothing. A component is kept as long as it lowers the error by more than a
    random direction of the space that is left would, by three standard errors.

    Parameters
    ----------
    K, B, weights, splitter, strictly :
        As in :func:`reconstruction_errors`.
    """
    errors, rows, rank = reconstruction_errors(K, B, weights, splitter, strictly)
    left = np.maximum(rank - np.arange(errors.shape[1] - 1), 1)
    gains = (errors[:, :-1] - errors[:, 1:]) - errors[:, :-1] / left
    s = weights[rows] / weights[rows].sum()
    means = s @ gains
    deviations = np.sqrt(np.sum(s[:, None] ** 2 * (gains - means) ** 2, axis=0))
    return first_run(means > SIGMAS * deviations)


def reconstruction_errors(
    K: Array, B: Array, weights: Array, splitter: Any, strictly: bool
) -> tuple[Array, Any, int]:
    r"""Return squared distances of held-out rows to their projections in feature space.

    .. math:: \tilde k(x, x) - \sum_{j \le m} z_j(x)^2, \qquad m = 0, 1, \dots

    with the mean and the components of the other folds.

    Parameters
    ----------
    K : (n, n) array
        Kernel matrix, positive semidefinite off the columns B.
    B : (n, q) array
        Functions that are projected out.
    weights : (n,) array
        Weights of the rows, positive.
    splitter : splitter
        Folds as in scikit-learn.
    strictly : bool
        Whether K is positive semidefinite without the columns.

    Returns
    -------
    errors : (m, k + 1) array
        For every row that was held out, by the number of components.
    rows : (m,) array of int
        Which rows these are.
    rank : int
        Smallest number of components of a fold.
    """
    errors, rows = [], []
    for fit, rest in splitter.split(K):
        centred = centre(Dense(K[np.ix_(fit, fit)]), B[fit], weights[fit], True, strictly)
        pairs = leading(centred.spectrum, None)
        pairs = pairs.first(int(np.sum(pairs.values > ZERO * max(pairs.values[0], 0.0))))
        A, b = centred.coefficients(pairs.values, pairs.vectors)
        k, z = K[np.ix_(rest, fit)], B[rest]
        scores = k @ A + z @ b.T
        own = K[rest, rest] - 2.0 * np.sum(z * (k @ centred.H), axis=1)
        own = own + np.sum((z @ centred.Q) * z, axis=1)
        errors.append(own[:, None] - np.cumsum(np.c_[np.zeros(len(rest)), scores**2], axis=1))
        rows.append(rest)
    rank = min(part.shape[1] for part in errors) - 1
    every = np.concatenate([part[:, : rank + 1] for part in errors])
    return np.maximum(every, 0.0), np.concatenate(rows), rank
