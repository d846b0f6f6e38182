r"""Deterministic annealing: soft assignments whose temperature falls, as the start of a descent.

.. math:: r_{il} \propto e^{-\|x_i - f(u_l)\|^2 / T}, \qquad
          \min_W \; \frac1\nu \sum_{il} s_i r_{il} \|x_i - f(u_l)\|^2 + \lambda Q(W)

At a high temperature every row pulls at all of the manifold, which has one minimum; as it falls,
the manifold unfolds along the data, and many poor local minima are passed by.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from mercer._params import check_sample_weight
from mercer._typing import PointsLike, WeightsLike
from mercer.data.arrays import Arrays
from mercer.data.base import Sums
from mercer.kernels.points import Array
from mercer.manifold.alternation import Functional
from mercer.manifold.basis import by_chunks
from mercer.manifold.principal_manifold import PrincipalManifold
from mercer.manifold.start import start_from

# First and last temperature in units of the variance of the rows, and steps at each of them.
HOT, COLD, STAGES, STEPS = 1.0, 1e-3, 12, 3

# Points of the latent set among which rows are shared, relative to those of a projection.
DENSITY = 0.5


def annealed_coordinates(
    manifold: PrincipalManifold, X: PointsLike, sample_weight: WeightsLike = None
) -> Array:
    """Return latent coordinates of rows by deterministic annealing, to start a manifold from.

    Slower than the first principal directions, with fewer poor local minima.

    Parameters
    ----------
    manifold : PrincipalManifold
        Its latent set, kernel, penalty and cost.
    X : array-like of shape (n_samples, n_features)
        Rows; NaN marks a missing cell.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of rows.

    Returns
    -------
    (n_samples, D) array

    Examples
    --------
    >>> from mercer.manifold import Interval, PrincipalManifold
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(-1, 1, 100)
    >>> X = np.c_[t, np.sin(np.pi * t)] + 0.1 * rng.normal(size=(100, 2))
    >>> curve = PrincipalManifold(Interval(10), lam=0.01)
    >>> curve = curve.set_params(init=annealed_coordinates(curve, X)).fit(X)
    >>> round(curve.distortion_, 3)
    0.01
    """
    machine = clone(manifold)
    X = machine._check(X, reset=True)
    s = check_sample_weight(sample_weight, X.shape[0])
    functional, directions = machine._centred(Arrays(X, s=s))
    rows = functional.rows(X)
    W = start_from(functional, directions, float(machine.init_scale))
    W = anneal(functional, rows, s, W, directions.variance or 1.0)
    return np.asarray(functional.projector(W)(rows).Z)


def anneal(functional: Functional, X: Array, s: Array, W: Array, variance: float) -> Array:
    """Return coefficients at the end of a falling sequence of temperatures.

    Parameters
    ----------
    functional : Functional
    X : (n, d) array
        Rows, NaN where a cell is missing.
    s : (n,) array
    W : (r + q, d) array
    variance : float
        Of the rows.
    """
    P = by_chunks(functional.basis, functional.basis.latent.samples(DENSITY))
    known = ~np.isnan(X)
    filled, mask = np.where(known, X, 0.0), known.astype(np.float64)
    complete = bool(known.all())
    nu = functional.nu(float(s.sum()))
    for T in np.geomspace(HOT, COLD, STAGES) * variance:
        for _ in range(STEPS):
            F = P @ W
            R = _shares(filled, mask, F, T)
            S = R.T @ (s[:, None] * mask)
            b = P.T @ (R.T @ (s[:, None] * filled))
            weights = S.T[:1] if complete else S.T
            A = np.stack([(P * c[:, None]).T @ P for c in weights])
            A = A[0] if complete else A
            square = s @ filled**2
            W = functional.penalty.minimize(Sums(A=A, b=b, square=square), nu, W).W
    return W


def _shares(X: Array, mask: Array, F: Array, T: float) -> Array:
    """Return the shares of rows among images, (n, G), which sum to one."""
    distances = -2.0 * X @ F.T + mask @ (F**2).T
    distances -= distances.min(axis=1, keepdims=True)
    R = np.exp(-distances / T)
    return np.asarray(R / R.sum(axis=1, keepdims=True))
