r"""Pre-images: points whose images are near a point of feature space that scores describe.

.. math:: \min_x \|\tilde\Phi(x) - \textstyle\sum_j z_j v_j\|^2 + \frac{\mu}{p} \|x - x_0\|^2
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as la
from scipy.spatial.distance import cdist

from mercer.compression.slopes import STEP, Slopes
from mercer.kernels.base import Kernel
from mercer.kernels.dot_product import Linear, Polynomial
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.named import median_distance
from mercer.kernels.points import BLOCK_BYTES, Array, row_slices
from mercer.reduced.random_features import Waves
from mercer.regularizers.null_space import NullSpace

__all__ = ["Distance", "Preimages", "Reference", "descend", "fixed_point", "ridge"]

NEAREST = 2
"""Training points, nearest in their scores, from which a pre-image is looked for."""

CROWD = 10
"""Training points whose mean is another start."""

HALVINGS = 8
"""Most halvings of a step of the fixed-point iteration that goes uphill."""

DECREASE = 1e-4
"""Part of the expected decrease that a step must bring (Armijo)."""


class Preimages(NamedTuple):
    """Points whose images are near points of feature space."""

    points: Array
    """Pre-images, (n, p)."""

    distances: Array
    """Distances in feature space between their images and the points that scores describe, (n,)."""

    spread: Array
    """Root mean square, over starts, of the distance between a search's end and the pre-image."""

    converged: Any
    """Which searches converged, (n,)."""


@dataclass(frozen=True)
class Reference:
    """Rows of the sample with their scores, from which the way back is learned.

    Parameters
    ----------
    X : (m, p) array
        The rows.
    scores : (m, k) array
        Their scores.
    weights : (m,) array
        Their weights.
    """

    X: Array
    scores: Array
    weights: Array

    @property
    def mean(self) -> Array:
        """Weighted mean of the rows."""
        return np.asarray(self.weights @ self.X / self.weights.sum())

    @property
    def scale(self) -> Array:
        """Standard deviations of the features; one for a constant feature."""
        deviation = np.sqrt(self.weights @ (self.X - self.mean) ** 2 / self.weights.sum())
        return np.where(deviation > 0.0, deviation, 1.0)

    def near(self, scores: Array) -> list[Array]:
        """Return starts: the rows of the nearest scores, and the mean of some that are near."""
        D = cdist(scores, self.scores)
        crowd = min(CROWD, len(self.X))
        order = np.argsort(D, axis=1, kind="stable")[:, :crowd]
        d = np.take_along_axis(D, order, axis=1)
        width = np.maximum(d[:, -1:], np.finfo(float).tiny)
        weights = np.exp(-0.5 * (d / width) ** 2) * self.weights[order]
        mean = np.einsum("ij,ijp->ip", weights, self.X[order]) / weights.sum(axis=1)[:, None]
        return [*(self.X[order[:, j]] for j in range(min(NEAREST, crowd))), mean]


def ridge(reference: Reference, scores: Array, alpha: float) -> Array:
    r"""Return the inputs that kernel ridge regression predicts from scores.

    .. math:: \hat x(z) = \bar x + k_\sigma(z, Z) (k_\sigma(Z, Z) + \alpha S^{-1})^{-1} (X - \bar x)

    with a Gaussian kernel of scores, whose width is the median distance of two of them.

    Parameters
    ----------
    reference : Reference
        Inputs and scores of the sample.
    scores : (n, k) array
        Scores of new points.
    alpha : float
        Weight of the penalty.
    """
    width = median_distance(reference.scores)
    kernel = Gaussian(width)
    K = np.asarray(kernel(reference.scores), dtype=np.float64)
    K[np.diag_indices_from(K)] += alpha / reference.weights
    C = la.solve(K, reference.X - reference.mean, assume_a="pos")
    return np.asarray(reference.mean + kernel(scores, reference.scores) @ C)


class Distance:
    r"""The squared distance of images to points of feature space, with its gradient.

    .. math:: k(x, x) - 2 \zeta(x)'H'r(x) + \zeta(x)'Q\zeta(x)
              - 2 z'(A'r(x) + b\,\zeta(x)) + \|z\|^2

    with kernel values r and the functions :math:`\zeta` that are projected out.

    Parameters
    ----------
    rows : callable
        Kernel values or features of points, (n, m).
    diagonal : callable
        Values k(x, x), (n,).
    null_space : NullSpace
        The functions that are projected out.
    A, b, H, Q : arrays
        As in :class:`mercer.manifold.principal.Principal`.
    kernel : Kernel, optional
        The kernel, if scores are sums of it. Radial kernels and polynomials have gradients by a
        formula, others by central differences.
    points : (m, p) array, optional
        Its points on the right, P.
    box : (2, p) array
        Smallest and largest values of every feature; points stay between them.
    waves : FeatureMap, optional
        Random features in the place of kernel values.
    """

    def __init__(
        self,
        rows: Callable[[Array], Array],
        diagonal: Callable[[Array], Array],
        null_space: NullSpace,
        A: Array,
        b: Array,
        H: Array,
        Q: Array,
        kernel: Kernel | None,
        points: Array | None,
        box: Array,
        waves: Any = None,
    ) -> None:
        self.rows, self.diagonal, self.null_space = rows, diagonal, null_space
        self.A, self.b, self.H, self.Q, self.box = A, b, H, Q, box
        self.kernel = kernel
        self.points: Any = points
        self.slopes = Slopes(kernel if kernel is not None else Linear(), box)
        # Other functions have gradients of their own.
        constant = set(null_space.names(box.shape[1])) <= {"1"}
        self.gaussian = kernel is not None and constant and self.slopes.gaussian
        self._slope: Callable[[Array, Array, Array], Array] | None = None
        if self.gaussian:
            self._slope = self._of_gaussian
        elif constant and isinstance(kernel, Linear | Polynomial):
            self._slope = self._of_polynomial
        elif constant and kernel is not None and _has_profile(kernel, points):
            self._slope = self._of_radial
        elif constant and isinstance(waves, Waves):
            self.waves = waves
            self._slope = self._of_waves

    def terms(self, X: Array, Z: Array) -> tuple[Array, Array, Array]:
        """Return kernel values R, their coefficients C and the rest: rest - 2 sum R C."""
        R, B = np.asarray(self.rows(X), dtype=np.float64), self.null_space(X)
        C = B @ self.H.T + Z @ self.A.T
        rest = np.sum((B @ self.Q) * B, axis=1) - 2.0 * np.sum(Z * (B @ self.b.T), axis=1)
        return R, C, rest + np.asarray(self.diagonal(X), dtype=np.float64) + np.sum(Z**2, axis=1)

    def __call__(self, X: Array, Z: Array) -> Array:
        """Return squared distances, (n,).

        Parameters
        ----------
        X : (n, p) array
            Points.
        Z : (n, k) array
            Scores that describe the points of feature space.
        """
        parts = row_slices(len(X), 8 * (3 * len(self.A) + X.shape[1]), BLOCK_BYTES)
        found = [self.terms(X[part], Z[part]) for part in parts]
        return np.concatenate([rest - 2.0 * np.sum(R * C, axis=1) for R, C, rest in found])

    def gradient(self, X: Array, Z: Array) -> tuple[Array, Array]:
        """Return squared distances, (n,), and their gradients, (n, p); parameters as in a call."""
        if self._slope is not None:
            R, C, rest = self.terms(X, Z)
            slope = self._slope(X, R, C)
            if not (self.kernel is None or self.kernel.stationary):
                slope = slope - 0.5 * self.slopes.diagonal(X)[1]
            return rest - 2.0 * np.sum(R * C, axis=1), -2.0 * slope
        moved, apart = self.slopes.moved(X)
        p = X.shape[1]
        J = self(moved, np.tile(Z, (2 * p, 1))).reshape(2, p, len(X))
        return self(X, Z), (J[0] - J[1]).T / apart

    # Gradients of sums of kernel values R with coefficients C -------------------------------------

    def _of_gaussian(self, X: Array, R: Array, C: Array) -> Array:
        W = R * C
        pull = W @ self.points - np.sum(W, axis=1)[:, None] * X
        return np.asarray(pull * self.slopes.metric)

    def _of_radial(self, X: Array, R: Array, C: Array) -> Array:
        r = cdist(X, self.points)
        W = C * _slope_of_profile(self.kernel, r)
        return np.asarray(np.sum(W, axis=1)[:, None] * X - W @ self.points)

    def _of_polynomial(self, X: Array, R: Array, C: Array) -> Array:
        k: Any = self.kernel
        d, gamma, c = (1, 1.0, 0.0) if isinstance(k, Linear) else (k.degree, k.gamma, k.coef0)
        inner = gamma * (X @ self.points.T) + c
        return np.asarray((d * gamma * inner ** max(d - 1, 0) * C) @ self.points)

    def _of_waves(self, X: Array, R: Array, C: Array) -> Array:
        D = len(self.waves.omega)
        # The derivative of a cosine is minus its sine, and of a sine its cosine.
        return np.asarray((C[:, D:] * R[:, :D] - C[:, :D] * R[:, D:]) @ self.waves.omega)


def _profile(kernel: Kernel, r: Array) -> Array:
    """Return the values of a radial kernel at distances."""
    values = kernel(r.reshape(-1, 1), np.zeros((1, 1)))
    return np.asarray(values, dtype=np.float64).reshape(r.shape)


def _has_profile(kernel: Kernel, points: Array | None) -> bool:
    """Return whether values on a line are those at the same distances elsewhere."""
    if points is None or not kernel.radial:
        return False
    some = points[:8]
    return bool(np.allclose(_profile(kernel, cdist(some, some)), kernel(some), rtol=1e-6))


def _slope_of_profile(kernel: Kernel | None, r: Array) -> Array:
    """Return the derivative of a radial kernel by the distance, over the distance."""
    assert kernel is not None
    h = STEP * float(np.mean(r))
    up, down = r + h, np.maximum(r - h, 0.0)
    slope = (_profile(kernel, up) - _profile(kernel, down)) / (up - down)
    return np.asarray(np.divide(slope, r, out=np.zeros_like(r), where=r > h))


def fixed_point(
    distance: Distance, Z: Array, start: Array, max_iter: int, tol: float
) -> tuple[Array, Any]:
    r"""Return fixed points of the mean that kernel values weigh, for a Gaussian kernel.

    .. math:: x = \sum_i w_i k(x, x_i) x_i / \sum_i w_i k(x, x_i), \qquad w = Az + H\zeta(x)

    A step that meets weights without a sum, or goes uphill, is halved towards its start.

    Parameters
    ----------
    distance : Distance
        Of a Gaussian kernel.
    Z : (n, k) array
        Scores.
    start : (n, p) array
        First points.
    max_iter : int
        Most steps.
    tol : float
        Change, in units of the largest of a point's entries, at which a point is fixed.

    References
    ----------
    S. Mika et al., *Kernel PCA and de-noising in feature spaces*, NIPS 11, 1999, eq. (10).
    """
    X, active = start.copy(), np.arange(len(start))
    value, converged = distance(X, Z), np.zeros(len(X), dtype=bool)
    for _ in range(max_iter):
        R, C, _ = distance.terms(X[active], Z[active])
        W = R * C
        total = np.sum(W, axis=1)
        # The mean of weights without a sum is nowhere: such a search is stuck.
        fair = total > 1e-12 * np.sum(np.abs(W), axis=1)
        active, W, total = active[fair], W[fair], total[fair, None]
        if not len(active):
            break
        before, now = X[active], value[active]
        step = (W @ distance.points) / total - before
        for _ in range(HALVINGS):
            after = distance(before + step, Z[active])
            worse = after > now
            if not worse.any():
                break
            step[worse] *= 0.5
        step[after > now] = 0.0
        X[active], value[active] = before + step, np.minimum(after, now)
        small = np.max(np.abs(step), axis=1) <= tol * np.max(np.abs(X[active]), axis=1)
        converged[active[small]] = True
        active = active[~small]
        if not len(active):
            break
    return X, converged


def descend(
    cost: Callable[[Array, Any], tuple[Array, Array]],
    start: Array,
    box: Array,
    max_iter: int,
    tol: float,
) -> tuple[Array, Array, Any]:
    """Minimize a function of every row by projected gradients with Barzilai-Borwein steps.

    Parameters
    ----------
    cost : callable
        From points (n, p) and the numbers of their rows to values (n,) and gradients (n, p).
    start : (n, p) array
        First points, in units in which features are alike.
    box : (2, p) array
        Bounds of the features.
    max_iter : int
        Most steps.
    tol : float
        Mean square root length of a step at which a search ends.

    Returns
    -------
    points : (n, p) array
    values : (n,) array
    converged : (n,) array of bool

    References
    ----------
    J. Barzilai and J. M. Borwein, *Two-point step size gradient methods*, IMA J. Numerical
    Analysis 8, 1988, with the decrease of every step ensured.
    """
    n, p = start.shape
    X = np.clip(start, *box)
    active = np.arange(n)
    value, slope = cost(X, active)
    length = np.sqrt(np.sum(slope**2, axis=1))
    step = 0.1 * np.sqrt(p) / np.maximum(length, np.finfo(float).tiny)
    for _ in range(max_iter):
        trial = np.clip(X[active] - step[active, None] * slope[active], *box)
        move = trial - X[active]
        after, new = cost(trial, active)
        good = after <= value[active] + DECREASE * np.sum(slope[active] * move, axis=1)
        change = np.sum(move * (new - slope[active]), axis=1)
        square = np.sum(move**2, axis=1)
        curved = change > 1e-12 * square
        longer = np.where(curved, square / np.where(curved, change, 1.0), 4.0 * step[active])
        step[active] = np.where(good, longer, 0.25 * step[active])
        kept = active[good]
        X[kept], value[kept], slope[kept] = trial[good], after[good], new[good]
        # A step without a decrease that is this small meets rounding.
        active = active[square > p * tol**2]
        if not len(active):
            break
    converged = np.ones(n, dtype=bool)
    converged[active] = False
    return X, value, converged
