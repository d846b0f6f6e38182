"""Vector quantization: clusters around centres of least cost."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_random_state

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions, fit_context
from mercer._typing import Constraints, PointsLike, Seed, TargetsLike, WeightsLike
from mercer.kernels.points import Array
from mercer.manifold.distortions import Distortion
from mercer_research.manifold.centres import centre_of
from mercer_research.manifold.quantizer import Quantizer, best_of, costs_of, known_cells

__all__ = ["VectorQuantizer"]


class Quantized(NamedTuple):
    """Centres that alternating assignment and adaptation arrived at."""

    centres: Array
    labels: NDArray[np.intp]
    objective: list[float]
    """Mean cost after every half step: assignments at even places, centres at odd places."""

    gap: float
    n_iter: int
    converged: bool


@settings
class VectorQuantizer(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    ClusterMixin,  # type: ignore[misc]
    Quantizer,
):
    r"""Vector quantizer: k centres of least mean cost, each row assigned to its cheapest centre.

    .. math:: \min_{f_1, \dots, f_k} \; \frac1m \sum_i \min_j c(x_i, f_j)

    The squared cost gives k-means, the absolute cost k-medians, Huber's cost a k-means that rows
    far away do not move (the geometric median for a small `sigma`), a metric
    k-means in its distance. One cluster gives the mean, the median or Huber's centre. Assignment
    and adaptation never raise the cost. The result is the best of `n_init` local minima.

    Parameters
    ----------
    n_clusters : int, default=8
        Number k of centres.
    cost : Distortion or {"squared", "huber", "absolute"}, default="squared"
        Cost of a distance, e.g. ``HuberDistortion(0.5)`` or ``MetricDistortion(D)``.
    init : {"k-means++", "random"} or array of shape (n_clusters, n_features), default="k-means++"
        First centres: rows drawn with probabilities proportional to their cost at the centres so
        far, rows drawn evenly, or centres given.
    n_init : int, default=10
        Number of starts; one if centres are given.
    max_iter : int, default=300
        Largest number of iterations of each start.
    tol : float, default=1e-6
        Relative fall of the cost in an iteration at which a start ends; 0 goes on until no row
        changes its cluster.
    random_state : int, RandomState or None, default=None
        Draws the starts.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centres.
    labels_ : ndarray of shape (n_samples,)
        Cluster of every row.
    objective_ : float
        Mean cost.
    gap_ : float
        Bound on the excess of the mean cost over the least for the labels of the last adaptation.
    history_ : ndarray
        Mean cost after every half step of the best start.
    local_minima_ : ndarray of shape (n_init,)
        Mean cost at which each start ended.
    n_iter_ : int
        Number of iterations of the best start.

    Notes
    -----
    An empty cluster is placed at the row of largest cost. NaN marks missing cells: they cost
    nothing, and do not pull on centres.

    References
    ----------
    A. J. Smola, S. Mika, B. Schoelkopf and R. C. Williamson, *Regularized principal manifolds*,
    J. Machine Learning Research 1, 2001, examples 1-3, eq. (4)-(8).

    Examples
    --------
    A row far away moves a mean, and not a median.

    >>> import numpy as np
    >>> from mercer_research.manifold import VectorQuantizer
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [90.0]])
    >>> start = [[0.0], [5.0]]
    >>> VectorQuantizer(2, init=start).fit(X).cluster_centers_.ravel().round(2)
    array([ 2.6, 90. ])
    >>> VectorQuantizer(2, cost="absolute", init=start).fit(X).cluster_centers_.ravel()
    array([0.1 , 5.15])
    """

    n_clusters: int = 8
    _: KW_ONLY
    init: Any = "k-means++"
    n_init: int = 10
    random_state: Seed = None

    _parameter_constraints: ClassVar[Constraints] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"k-means++", "random"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None) -> Self:
        """Find the centres.

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
        if np.sum(s > 0) < self.n_clusters:
            raise ValueError(
                f"n_samples={int(np.sum(s > 0))} rows with a weight are too few for "
                f"n_clusters={self.n_clusters}."
            )
        best, self.local_minima_ = best_of(
            (
                descend_clusters(distortion, rows, s, start, self.max_iter, self.tol)
                for start in self._starts(distortion, rows, s)
            ),
            lambda found: found.objective[-1],
        )
        self.cluster_centers_ = distortion.restore(best.centres)
        self.labels_ = best.labels
        self.objective_, self.gap_ = best.objective[-1], best.gap
        self.history_, self.n_iter_ = np.array(best.objective), best.n_iter
        self._warn_unless(best.converged)
        return self

    def _starts(self, distortion: Distortion, rows: Array, s: Array) -> Iterator[Array]:
        """Yield first centres."""
        k = int(self.n_clusters)
        if not isinstance(self.init, str):
            given = np.asarray(self.init, dtype=np.float64)
            if given.shape != (k, rows.shape[1]) or not np.isfinite(given).all():
                raise ValueError(
                    f"init must be {k} finite centres of {rows.shape[1]} features, got shape "
                    f"{given.shape}."
                )
            yield distortion.whiten(given)
            return
        rng = check_random_state(self.random_state)
        means = np.nanmean(rows, axis=0)
        for _ in range(self.n_init):
            if self.init == "random":
                chosen = rng.choice(len(rows), size=k, replace=False, p=s)
            else:
                chosen = _spread(distortion, rows, s, k, rng)
            yield np.where(np.isnan(rows[chosen]), means, rows[chosen])

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _images(self, rows: Array) -> Array:
        centres = self._distortion().whiten(self.cluster_centers_)
        return np.asarray(centres[np.argmin(costs_of(self._distortion(), rows, centres), axis=1)])

    def transform(self, X: PointsLike) -> Array:
        """Return the cost of every row at each centre.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN marks a missing cell.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
        """
        rows = self._rows(X, reset=False)
        distortion = self._distortion()
        return costs_of(distortion, rows, distortion.whiten(self.cluster_centers_))

    def predict(self, X: PointsLike) -> NDArray[np.intp]:
        """Return the cluster of every row: the first of its cheapest centres.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        labels: NDArray[np.intp] = np.argmin(self.transform(X), axis=1)
        return labels


def _spread(
    distortion: Distortion, rows: Array, s: Array, k: int, rng: np.random.RandomState
) -> NDArray[np.intp]:
    """Draw rows with probabilities proportional to their weight and cost at the rows before."""
    chosen = [int(rng.choice(len(rows), p=s))]
    least = np.full(len(rows), np.inf)
    for _ in range(1, k):
        image = np.where(np.isnan(rows[chosen[-1]]), np.nanmean(rows, axis=0), rows[chosen[-1]])
        least = np.minimum(least, costs_of(distortion, rows, image[None])[:, 0])
        pull = s * least
        total = float(pull.sum())
        chosen.append(int(rng.choice(len(rows), p=pull / total if total > 0 else s)))
    return np.array(chosen, dtype=np.intp)


def descend_clusters(
    distortion: Distortion, X: Array, s: Array, centres: Array, max_iter: int, tol: float
) -> Quantized:
    """Alternate between assignment and adaptation until no row changes its cluster.

    Parameters
    ----------
    distortion : Distortion
    X : (n, d) array
        Rows in coordinates of the cost, NaN where a cell is missing.
    s : (n,) array
        Weights, whose sum is one.
    centres : (k, d) array
        First centres.
    max_iter : int
    tol : float
        Relative fall of the mean cost in one iteration at which it ends.
    """
    labels = np.full(len(X), -1, dtype=np.intp)
    objective: list[float] = []
    everything, gap, done, iteration = np.arange(len(X)), 0.0, False, 0
    costs = costs_of(distortion, X, centres)
    while not done and iteration < max_iter:
        iteration += 1
        last, labels = labels, np.argmin(costs, axis=1)
        if iteration > 1:
            # A tie does not move a row, so that the descent ends after finitely many labels.
            stay = costs[everything, last] <= costs[everything, labels]
            labels = np.where(stay, last, labels)
        least = costs[everything, labels]
        before = float(s @ least)
        moved, gap = centres.copy(), 0.0
        empty = []
        for j in range(len(centres)):
            members = (labels == j) & (s > 0)
            if members.any():
                found = centre_of(distortion, X[members], s[members], centres[j])
                moved[j], gap = found.point, gap + found.gap
            else:
                empty.append(j)
        after = float(s @ distortion(known_cells(X - moved[labels])))
        if after > before:
            # Rounding alone: the last centres are among those that were compared.
            moved, after = centres.copy(), before
        # The centre of no row may go anywhere: where rows cost most, it takes their cost away.
        seeds = [i for i in np.argsort(-s * least)[: len(empty)] if s[i] * least[i] > 0]
        for j, i in zip(empty, seeds, strict=False):
            moved[j] = np.where(np.isnan(X[i]), centres[j], X[i])
        fell = objective[-1] - after if objective else np.inf
        centres, objective = moved, [*objective, before, after]
        costs = costs_of(distortion, X, centres)
        same = bool(np.array_equal(labels, last))
        done = not seeds and (same or fell <= tol * abs(after))
    labels = np.argmin(costs, axis=1)
    objective.append(float(s @ costs[everything, labels]))
    return Quantized(centres, labels, objective, gap, iteration, done)
