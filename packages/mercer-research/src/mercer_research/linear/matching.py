"""Location and scale of a mostly normal sample, by matching quantiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from mercer._linear_program import linear_program
from mercer._typing import Array, Seed, TargetsLike

__all__ = ["RobustLocation", "robust_location"]

# The ratio of the standard deviation to the median absolute deviation of a normal law.
NORMAL = 1.482602218505602


@dataclass(frozen=True, eq=False)
class RobustLocation:
    """Location and scale of a sample, with its contamination, from :func:`robust_location`.

    Parameters
    ----------
    location, scale : float
        Mean and standard deviation of the nominal normal law.
    radius : float
        How far corrected samples are from its quantiles at most.
    shifts : ndarray of shape (n,)
        What was taken off each sample.
    corrected : ndarray of shape (n,)
        The samples without it, in the same order among each other as before.
    scores : ndarray of shape (n,)
        The normal score of each sample.
    objective, bound : float
        The value of the program, in units of the sample, and what no other goes below.
    """

    location: float
    scale: float
    radius: float
    shifts: Array
    corrected: Array
    scores: Array
    objective: float
    bound: float

    def quantile(self, p: Any) -> Array:
        """Return quantiles of the nominal law.

        Parameters
        ----------
        p : float or array-like
            Probabilities.
        """
        return np.asarray(self.location + self.scale * ndtri(np.asarray(p, dtype=np.float64)))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the interval that holds a share of the nominal law, around its mean.

        Parameters
        ----------
        level : float, default=0.95
            The share.
        """
        low, high = self.quantile([0.5 - 0.5 * level, 0.5 + 0.5 * level])
        return float(low), float(high)

    def outliers(self, tol: float = 0.5) -> NDArray[np.bool_]:
        """Return which samples were shifted by more than a part of the scale, (n,).

        Parameters
        ----------
        tol : float, default=0.5
            In units of the scale. Where ``lam`` is at least one every sample is shifted a little;
            order statistics of a normal sample stray from their scores by a third of its scale.
        """
        size = np.abs(self.shifts)
        return np.asarray(size > tol * self.scale) & (size > 0)

    def qq(self) -> tuple[Array, Array, Array]:
        """Return scores, samples and corrected samples in ascending order, for a QQ plot."""
        order = np.argsort(self.scores)
        return self.scores[order], (self.corrected + self.shifts)[order], self.corrected[order]


def robust_location(
    y: TargetsLike, lam: float = 1.0, *, scores: str = "expected", random_state: Seed = None
) -> RobustLocation:
    r"""Estimate location and scale by taking off as little as leaves a sample normal.

    .. math::

        \min_{d, \mu, \sigma \ge 0, r \ge 0} \lambda r + \frac1n \sum_i |d_i|
        \quad\text{subject to}\quad |u_{(i)} - \mu - \sigma z_{(i)}| \le r, \quad
        u_{(i)} \le u_{(i+1)}, \quad n\mu = \sum_i u_i, \quad u = y - d

    with the normal scores :math:`z_{(i)} = \Phi^{-1}((i - 3/8) / (n + 1/4))`: a linear program, in
    which the quantiles of the corrected sample match those of a normal law up to r. Off the other
    conditions no more than a share :math:`\lambda` of the samples is shifted, since widening r pays
    beyond; with :math:`\lambda \ge 1` they match exactly, and location and scale are those of the
    least absolute regression of the ordered sample on its scores. With :math:`\lambda \to 0`
    nothing is shifted, and the location is the mean.

    Parameters
    ----------
    y : array-like of shape (n,)
        The sample.
    lam : float, default=1.0
        Weight of the distance of quantiles against the shifts; both in units of the sample, so that
        it does not depend on its scale.
    scores : {"expected", "sample"}, default="expected"
        Expected normal order statistics (by Blom's formula), or those of a normal sample that is
        drawn.
    random_state : int, RandomState or None, default=None
        Seed of that sample.

    Returns
    -------
    RobustLocation
        Location, scale, shifts, quantiles and outliers.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, example 8.1, eq. (8.6) to (8.9).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import robust_location
    >>> y = np.append(np.random.default_rng(0).standard_normal(40), [9.0, 9.5, 10.0])
    >>> found = robust_location(y)
    >>> bool(abs(found.location) < abs(y.mean())), np.flatnonzero(found.outliers(2.0))
    (True, array([40, 41, 42]))
    """
    y = check_array(y, ensure_2d=False, dtype=np.float64)
    if y.ndim != 1:
        raise ValueError(f"y must be one sample of numbers, got an array of shape {y.shape}.")
    if not lam >= 0:
        raise ValueError(f"lam must be a weight of at least zero, got {lam!r}.")
    if scores not in ("expected", "sample"):
        raise ValueError(f"scores must be 'expected' or 'sample', got {scores!r}.")
    n, order = len(y), np.argsort(y, kind="stable")
    if scores == "expected":
        z = ndtri((np.arange(1, n + 1) - 0.375) / (n + 0.25))
    else:
        z = np.sort(check_random_state(random_state).standard_normal(n))
    # Tolerances of the solver are absolute: standardized by median and median deviation.
    middle = float(np.median(y))
    size = NORMAL * float(np.median(np.abs(y - middle))) or float(np.max(np.abs(y - middle))) or 1.0
    t = (y[order] - middle) / size
    x, value, bound = _program(t, z, float(lam))
    rank = np.argsort(order, kind="stable")
    u = middle + size * x[:n]
    corrected = u[rank]
    location, scale, radius = (float(v) for v in x[2 * n :])
    return RobustLocation(
        location=middle + size * location,
        scale=size * scale,
        radius=size * radius,
        shifts=y - corrected,
        corrected=corrected,
        scores=z[rank],
        objective=size * value,
        bound=size * bound,
    )


def _program(t: Array, z: Array, lam: float) -> tuple[Array, float, float]:
    """Return corrected values, sizes of shifts, mean, deviation and radius; value and bound."""
    n = len(t)
    one, nothing = sp.eye_array(n), sp.csr_array((n, n))
    up = sp.diags_array([1.0, -1.0], offsets=[0, 1], shape=(n, n))
    none, law = np.zeros((n, 3)), np.column_stack([np.ones(n), z, np.zeros(n)])
    width = np.column_stack([np.zeros((n, 2)), np.ones(n)])
    rows: list[list[Any]] = [
        [-one, -one, none],  # t - u <= g
        [one, -one, none],
        [one, nothing, -law - width],
        [-one, nothing, law - width],
        [up.tocsr()[: n - 1], nothing[: n - 1], none[: n - 1]],
    ]
    A: Any = sp.vstack([sp.hstack([sp.csr_array(part) for part in row]) for row in rows])
    b = np.concatenate([-t, t, np.zeros(3 * n - 1)])
    mean = np.concatenate([np.ones(n), np.zeros(n), [-float(n), 0.0, 0.0]])
    answer = linear_program(
        np.concatenate([np.zeros(n), np.full(n, 1.0 / n), [0.0, 0.0, lam]]),
        A_ub=A.tocsr(),
        b_ub=b,
        A_eq=mean[None, :],
        b_eq=np.zeros(1),
        bounds=[(None, None)] * n + [(0, None)] * n + [(None, None), (0, None), (0, None)],
    )
    return np.asarray(answer.x), float(answer.fun), float(b @ answer.ineqlin.marginals)
