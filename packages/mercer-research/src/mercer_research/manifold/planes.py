"""Principal planes: PCA in a metric or with a robust cost, and k planes."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, fit_context
from mercer._typing import Constraints, PointsLike, Seed, TargetsLike, WeightsLike
from mercer.kernels.points import Array
from mercer.manifold.distortions import AbsoluteDistortion, HuberDistortion, SquaredDistortion
from mercer.manifold.low_rank import Plane, principal_plane
from mercer_research.manifold.quantizer import Quantizer, best_of
from mercer_research.manifold.tilting import nearest_coordinates, spherical_plane, tilt_plane

__all__ = ["KPlanes", "PrincipalPlane"]


@settings
class PrincipalPlane(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    Quantizer,
):
    r"""Principal component analysis by any cost: the plane of least mean cost.

    .. math:: \min_{b, V} \; \frac1m \sum_i \min_z c(x_i, b + V'z)

    The squared cost gives principal components, a metric :math:`(x - f)' D^{-1} (x - f)` gives
    components with :math:`\operatorname{cov} v = \gamma D v`, and absolute or Huber costs give
    robust components, by alternating projection and reweighted least squares, neither of which
    raises the cost. Missing cells are left out of it.

    Parameters
    ----------
    n_components : int, default=2
        Number of directions; 1 is the principal line.
    cost : Distortion or {"squared", "huber", "absolute"}, default="squared"
        Cost of a distance.
    max_iter : int, default=300
        Largest number of iterations for robust costs and missing cells.
    tol : float, default=1e-6
        Relative fall of the cost in an iteration at which the fit ends.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        Point of the plane with coordinates zero, their mean on the sample.
    components_ : ndarray of shape (n_components, n_features)
        Rows v of :math:`z = V(x - b)`; :math:`V D V' = I` in a metric, and orthonormal else.
        Coordinates of rows with missing cells and of absolute costs are not linear.
    directions_ : ndarray of shape (n_components, n_features)
        Rows :math:`f = D v` that span the plane; the components unless there is a metric.
    explained_variance_ : ndarray of shape (n_components,)
        Variances of the coordinates on the sample.
    objective_ : float
        Mean cost.
    history_ : ndarray
        Mean cost after every half step; its last value only for a squared cost of complete rows.
    local_minima_ : ndarray
        Mean cost at which each start ended: principal axes, and principal axes of the directions
        of rows seen from their median, which rows far away hardly turn.
    n_iter_ : int
        Number of iterations.

    References
    ----------
    A. J. Smola, S. Mika, B. Schoelkopf and R. C. Williamson, *Regularized principal manifolds*,
    J. Machine Learning Research 1, 2001, examples 4 and 5, eq. (9)-(10).

    Examples
    --------
    One row far away turns the first principal component, and not the robust one.

    >>> import numpy as np
    >>> from mercer.manifold import HuberDistortion
    >>> from mercer_research.manifold import PrincipalPlane
    >>> t = np.linspace(-1, 1, 21)
    >>> X = np.vstack([np.c_[t, 0.1 * t**2], [[0.0, 8.0]]])
    >>> PrincipalPlane(1).fit(X).components_.round(1) + 0.0
    array([[0., 1.]])
    >>> PrincipalPlane(1, cost=HuberDistortion(0.1)).fit(X).components_.round(1) + 0.0
    array([[1., 0.]])
    """

    n_components: int = 2

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None) -> Self:
        """Find the plane.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN marks a missing cell.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weights of rows.
        """
        rows = self._rows(X, reset=True)
        s = self._weights(sample_weight, rows)
        distortion = self._distortion()
        q, d = int(self.n_components), rows.shape[1]
        if q > d:
            raise ValueError(f"n_components={q} is more than the {d} features.")
        missing = np.isnan(rows)
        means = s @ np.where(missing, 0.0, rows) / np.maximum(s @ ~missing, 1e-300)
        plane = principal_plane(np.where(missing, means, rows), s, q)
        if missing.any() or distortion.weights(np.zeros((1, d))) is not None:
            starts = [plane, spherical_plane(np.where(missing, means, rows), s, q)]
            found, self.local_minima_ = best_of(
                (tilt_plane(distortion, rows, s, one, self.max_iter, self.tol) for one in starts),
                lambda one: one.objective[-1],
            )
            plane, self.n_iter_ = found.plane, found.n_iter
            self.history_ = np.array(found.objective)
            self._warn_unless(found.converged)
        else:
            R = rows - plane.mean
            self.history_ = np.array([s @ distortion(R - R @ plane.axes.T @ plane.axes)])
            self.local_minima_, self.n_iter_ = self.history_, 1
        self._plane = plane
        # Whitening is linear: its matrix is the image of the unit vectors.
        whiten = distortion.whiten(np.eye(d))
        self.mean_ = distortion.restore(plane.mean[None])[0]
        self.components_ = plane.axes @ whiten.T
        self.directions_ = distortion.restore(plane.axes)
        self.explained_variance_ = plane.variances
        self.objective_ = float(self.history_[-1])
        return self

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _images(self, rows: Array) -> Array:
        plane = self._plane
        Z = nearest_coordinates(self._distortion(), rows, plane)
        return np.asarray(plane.mean + Z @ plane.axes)

    def transform(self, X: PointsLike) -> Array:
        """Return the coordinates of the cheapest points of the plane.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN marks a missing cell.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        rows = self._rows(X, reset=False)
        return nearest_coordinates(self._distortion(), rows, self._plane)

    def inverse_transform(self, Z: PointsLike) -> Array:
        """Return points of the plane.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_components)
            Coordinates.
        """
        check_is_fitted(self)
        return np.asarray(self.mean_ + np.asarray(Z, dtype=np.float64) @ self.directions_)


class Planes(NamedTuple):
    """Planes that alternating assignment and refitting arrived at."""

    planes: list[Plane]
    labels: NDArray[np.intp]
    objective: list[float]
    n_iter: int
    converged: bool


@settings
class KPlanes(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    ClusterMixin,  # type: ignore[misc]
    Quantizer,
):
    r"""k planes (local principal component analysis): each row belongs to its nearest plane.

    .. math:: \min_{b, V} \; \frac1m \sum_i \min_j \min_z \|x_i - b_j - V_j'z\|^2

    Rows are assigned to the nearest of k affine planes, and each plane is refitted to its rows by
    principal components, until no row changes its plane: after finitely many steps, because each
    lowers the cost. The result is the best of `n_init` local minima.

    Parameters
    ----------
    n_planes : int, default=2
        Number k of planes.
    n_components : int, default=1
        Dimension of each plane.
    cost : SquaredDistortion, MetricDistortion or "squared", default="squared"
        Squared distance, or squared distance in a metric.
    n_init : int, default=10
        Number of starts: planes through rows drawn at random.
    max_iter : int, default=300
        Largest number of iterations of each start.
    tol : float, default=0.0
        Relative fall of the cost in an iteration at which a start ends; 0 goes on until no row
        changes its plane.
    random_state : int, RandomState or None, default=None
        Draws the starts.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    means_ : ndarray of shape (n_planes, n_features)
        A point of each plane, the mean of its rows.
    directions_ : ndarray of shape (n_planes, n_components, n_features)
        Directions that span each plane; orthonormal unless there is a metric.
    labels_ : ndarray of shape (n_samples,)
        Plane of every row.
    objective_ : float
        Mean cost.
    history_ : ndarray
        Mean cost after every half step of the best start.
    local_minima_ : ndarray of shape (n_init,)
        Mean cost at which each start ended.
    n_iter_ : int
        Number of iterations of the best start.

    References
    ----------
    A. J. Smola, S. Mika, B. Schoelkopf and R. C. Williamson, *Regularized principal manifolds*,
    J. Machine Learning Research 1, 2001, section 2 and footnote 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.manifold import KPlanes
    >>> t = np.linspace(1, 2, 20)
    >>> X = np.vstack([np.c_[t, t], np.c_[t, -t]])
    >>> made = KPlanes(2, random_state=0).fit(X)
    >>> sorted(np.bincount(made.labels_).tolist()), round(made.objective_, 12)
    ([20, 20], 0.0)
    """

    n_planes: int = 2
    n_components: int = 1
    _: KW_ONLY
    n_init: int = 10
    tol: float = 0.0
    random_state: Seed = None

    _parameter_constraints: ClassVar[Constraints] = {
        "n_planes": [Interval(Integral, 1, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None) -> Self:
        """Find the planes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows without missing cells.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weights of rows.
        """
        if isinstance(self._distortion(), AbsoluteDistortion | HuberDistortion):
            raise ValueError(
                "KPlanes refits planes by principal components, which belong to squared costs; use "
                "cost='squared' or MetricDistortion, or PrincipalPlane for one robust plane."
            )
        rows = self._complete(X, reset=True)
        s = self._weights(sample_weight, rows)
        k, q, d = int(self.n_planes), int(self.n_components), rows.shape[1]
        live = int(np.sum(s > 0))
        if live < k:
            raise ValueError(f"n_samples={live} rows with a weight are too few for n_planes={k}.")
        if q > d:
            raise ValueError(f"n_components={q} is more than the {d} features.")
        rng = check_random_state(self.random_state)
        best, self.local_minima_ = best_of(
            (
                descend_planes(rows, s, _drawn(rows, s, k, q, rng), self.max_iter, self.tol)
                for _ in range(self.n_init)
            ),
            lambda found: found.objective[-1],
        )
        distortion = self._distortion()
        self._planes = best.planes
        self.means_ = distortion.restore(np.stack([plane.mean for plane in best.planes]))
        self.directions_ = np.stack([distortion.restore(plane.axes) for plane in best.planes])
        self.labels_, self.objective_ = best.labels, best.objective[-1]
        self.history_, self.n_iter_ = np.array(best.objective), best.n_iter
        self._warn_unless(best.converged)
        return self

    def _complete(self, X: PointsLike, reset: bool) -> Array:
        rows = self._rows(X, reset=reset)
        if np.isnan(rows).any():
            raise ValueError(
                "Input X contains NaN, and planes are refitted to complete rows; impute first, or "
                "fit PrincipalPlane, which takes missing cells."
            )
        return rows

    @property
    def _n_features_out(self) -> int:
        return len(self._planes)

    def _images(self, rows: Array) -> Array:
        labels = np.argmin(_distances(rows, self._planes), axis=1)
        images = np.empty_like(rows)
        for j, plane in enumerate(self._planes):
            R = rows[labels == j] - plane.mean
            images[labels == j] = plane.mean + R @ plane.axes.T @ plane.axes
        return images

    def transform(self, X: PointsLike) -> Array:
        """Return the cost of every row at each plane.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_planes)
        """
        return _distances(self._complete(X, reset=False), self._planes)

    def predict(self, X: PointsLike) -> NDArray[np.intp]:
        """Return the nearest plane of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        labels: NDArray[np.intp] = np.argmin(self.transform(X), axis=1)
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags


def _distances(X: Array, planes: list[Plane]) -> Array:
    """Return squared distances of rows from planes, (n, k)."""
    cost, out = SquaredDistortion(), []
    for plane in planes:
        R = X - plane.mean
        out.append(cost(R - R @ plane.axes.T @ plane.axes))
    return np.stack(out, axis=1)


def _drawn(X: Array, s: Array, k: int, q: int, rng: np.random.RandomState) -> list[Plane]:
    """Return planes through rows drawn at random."""
    planes = []
    for _ in range(k):
        some = rng.choice(len(X), size=q + 1, p=s)
        planes.append(principal_plane(X[some], np.ones(q + 1), q))
    return planes


def descend_planes(X: Array, s: Array, planes: list[Plane], max_iter: int, tol: float) -> Planes:
    """Alternate between assignment and principal components until no row changes its plane.

    Parameters
    ----------
    X : (n, d) array
    s : (n,) array
        Weights, whose sum is one.
    planes : list of Plane
        First planes.
    max_iter : int
    tol : float
        Relative fall of the cost in one iteration at which it ends.
    """
    everything = np.arange(len(X))
    labels = np.full(len(X), -1, dtype=np.intp)
    objective: list[float] = []
    q, done, iteration = len(planes[0].axes), False, 0
    costs = _distances(X, planes)
    while not done and iteration < max_iter:
        iteration += 1
        last, labels = labels, np.argmin(costs, axis=1)
        if iteration > 1:
            # A tie does not move a row, so that the descent ends after finitely many labels.
            stay = costs[everything, last] <= costs[everything, labels]
            labels = np.where(stay, last, labels)
        least = costs[everything, labels]
        before = float(s @ least)
        moved, empty = list(planes), []
        for j, plane in enumerate(planes):
            members = (labels == j) & (s > 0)
            if members.any():
                moved[j] = principal_plane(X[members], s[members], q, plane.axes)
            else:
                empty.append(j)
        after = float(s @ _distances(X, moved)[everything, labels])
        if after > before:
            # Rounding alone: the last planes are among those that were compared.
            moved, after = list(planes), before
        # The plane of no row may go anywhere: where a row costs most, it takes its cost away.
        seeds = [i for i in np.argsort(-s * least)[: len(empty)] if s[i] * least[i] > 0]
        for j, i in zip(empty, seeds, strict=False):
            moved[j] = planes[j]._replace(mean=X[i])
        fell = objective[-1] - after if objective else np.inf
        planes, objective = moved, [*objective, before, after]
        costs = _distances(X, planes)
        same = bool(np.array_equal(labels, last))
        done = not seeds and (same or fell <= tol * abs(after))
    labels = np.argmin(costs, axis=1)
    objective.append(float(s @ costs[everything, labels]))
    return Planes(planes, labels, objective, iteration, done)
