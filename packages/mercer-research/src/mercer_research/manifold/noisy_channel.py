r"""Robust coding: the cost of rows whose latent coordinates reach the decoder with noise.

.. math:: R_\sigma[f] = \frac1m \sum_i E_\xi\, c\bigl(x_i, f(\zeta_i + \xi)\bigr), \qquad
          \xi \sim N(0, \sigma^2 I)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_random_state

from mercer._typing import PointsLike, Seed
from mercer.kernels.points import Array
from mercer.manifold.principal_manifold import PrincipalManifold

__all__ = ["NoisyDistortion", "noisy_distortion"]


@dataclass(frozen=True)
class NoisyDistortion:
    """Mean cost of rows that are coded by their latent coordinates.

    Parameters
    ----------
    noiseless : float
        Without noise, R.
    noisy : float
        With noise, the mean over draws.
    standard_error : float
        Of that mean, from the draws.
    expected : float
        R plus the squared noise times the mean squared slope of the map: what a squared cost comes
        to for little noise.
    """

    noiseless: float
    noisy: float
    standard_error: float
    expected: float


def noisy_distortion(
    manifold: PrincipalManifold,
    X: PointsLike,
    sigma: float,
    *,
    n_draws: int = 100,
    random_state: Seed = None,
) -> NoisyDistortion:
    r"""Return the mean cost of rows whose latent coordinates are disturbed by Gaussian noise.

    For a squared cost and little noise it is

    .. math:: R_\sigma \approx R + \sigma^2\, \frac1m \sum_i \sum_k \|\partial_k f(\zeta_i)\|^2

    so that a manifold with a small slope, as a penalty of length makes it, codes best for a noisy
    channel.

    Parameters
    ----------
    manifold : PrincipalManifold
        Fitted to a sample.
    X : array-like of shape (n_samples, n_features)
        Rows; NaN marks a missing cell.
    sigma : float
        Standard deviation of the noise, in units of the latent coordinates. Coordinates outside of
        the latent set are moved to its boundary.
    n_draws : int, default=100
        Number of draws of the noise for every row.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    NoisyDistortion

    References
    ----------
    A. J. Smola, S. Mika, B. Schoelkopf and R. C. Williamson, *Regularized principal manifolds*,
    J. Machine Learning Research 1, 2001, eq. (36)-(40), with the square of the noise once instead
    of twice in (39) and (40).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifold import Interval, PrincipalManifold
    >>> from mercer_research.manifold.noisy_channel import noisy_distortion
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(-1, 1, 100)
    >>> X = np.c_[t, t**2] + 0.05 * rng.normal(size=(100, 2))
    >>> curve = PrincipalManifold(Interval(8), lam=0.01, tol=1e-4).fit(X)
    >>> found = noisy_distortion(curve, X, 0.1, random_state=0)
    >>> rise, expected = found.noisy - found.noiseless, found.expected - found.noiseless
    >>> round(rise / expected, 1)
    1.0
    """
    if not 0.0 <= sigma < np.inf:
        raise ValueError(f"sigma must be a finite number that is not negative, got {sigma}.")
    if n_draws < 2:
        raise ValueError(f"n_draws must be at least 2, for a standard error, got {n_draws}.")
    Z = np.asarray(manifold.transform(X))
    rng = check_random_state(random_state)
    means = np.array(
        [_cost(manifold, X, Z + sigma * rng.normal(size=Z.shape)) for _ in range(n_draws)]
    )
    noiseless = _cost(manifold, X, Z)
    fitted = manifold.fitted_
    J = fitted.functional.distortion.whiten(manifold.jacobian(Z).reshape(-1, np.shape(X)[1]))
    slope = float(np.sum(J**2)) / len(Z)
    return NoisyDistortion(
        noiseless,
        float(means.mean()),
        float(means.std(ddof=1) / np.sqrt(n_draws)),
        noiseless + sigma**2 * slope,
    )


def _cost(manifold: PrincipalManifold, X: PointsLike, Z: Array) -> float:
    """Return the mean cost of rows at the images of coordinates."""
    distortion = manifold.fitted_.functional.distortion
    R = np.asarray(X, dtype=np.float64) - manifold.inverse_transform(Z)
    white = distortion.whiten(np.where(np.isnan(R), 0.0, R))
    return float(np.mean(distortion(white)))
