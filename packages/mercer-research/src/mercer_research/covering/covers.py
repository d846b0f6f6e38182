r"""Covering and packing numbers of a set of points: the referee of every bound in this room.

Farthest-point traversal takes the point farthest from those taken before, again and again. The
points taken until everything is within :math:`\varepsilon` form a cover, and they are farther than
:math:`\varepsilon` from each other. With g of them, one pass brackets the covering number N
(centres anywhere) for all radii at once,

.. math:: g(2\varepsilon) \le M(2\varepsilon) \le N(\varepsilon) \le M(\varepsilon), \qquad
          N(\varepsilon) \le g(\varepsilon)

where M(r) is the size of the largest subset with distances above r.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.spatial.distance import cdist
from scipy.special import gammaln, logsumexp

from mercer._linear_program import linear_program
from mercer._params import check_integer, check_nonnegative, check_positive, is_integer
from mercer.kernels.base import Kernel
from mercer.kernels.points import BLOCK_BYTES, Array, row_slices
from mercer.risk_bounds import Assumption
from mercer_research.covering.base import SLACK, Covering

__all__ = [
    "Box",
    "PointCover",
    "count_sign_patterns",
    "exact_cover",
    "exact_packing",
    "log_sign_patterns",
]

Metric = float | Kernel

TINY = 20
"""Points up to which subsets are enumerated."""


def _checked(points: ArrayLike, metric: Metric) -> Array:
    X = np.asarray(points, dtype=np.float64)
    X = X[:, None] if X.ndim == 1 else X
    if X.ndim != 2 or not len(X) or not np.isfinite(X).all():
        raise ValueError(
            f"give at least one point as an (n, p) array of finite numbers, got shape {X.shape}"
        )
    if not isinstance(metric, Kernel) and not metric >= 1:
        raise ValueError(
            f"metric={metric!r} is no metric: below 1 the triangle inequality fails, on which "
            "both sides of the bracket rest. Give a power of at least 1, infinity, or a kernel."
        )
    return X


def _distances(X: Array, Z: Array, metric: Metric) -> Array:
    """Return distances between all rows, in a power norm or in the feature space of a kernel."""
    if isinstance(metric, Kernel):
        square = metric.diag(X)[:, None] + metric.diag(Z)[None, :] - 2.0 * metric(X, Z)
        return np.asarray(np.sqrt(np.maximum(square, 0.0)))
    return np.asarray(cdist(X, Z, "minkowski", p=metric))


class PointCover(Covering):
    r"""Covers and packings of a finite set of points, for all radii, by farthest-point traversal.

    :meth:`log_covering` is an upper bound and :meth:`log_lower` a lower bound on the logarithm of
    the covering number with centres anywhere. Costs one row of distances for every point taken,
    in blocks of bounded memory.

    Parameters
    ----------
    points : (n, p) array
    metric : float or Kernel, default=2
        Power of the norm, at least 1 (infinity for the largest difference), or a kernel, whose
        feature space measures the distances.
    start : int, optional
        The first point; the one nearest to the middle of the smallest box by default, which makes
        the first ball a good one. For large packings begin at a corner.
    max_points : int, optional
        Where to stop; below the radius reached the upper bound is n, the lower one stays.
    smallest : float, default=0
        Radius at which to stop.

    Attributes
    ----------
    order : ndarray of int
        The points taken, first to last.
    radii : ndarray
        Distance of each from those before it, never rising; infinite for the first.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (7.7) to (7.15), the last corrected: a
    packing has its centres in the set, its balls need not lie inside.

    Examples
    --------
    >>> cover = PointCover(np.arange(9.0))
    >>> [round(float(np.exp(cover.log_covering(r))), 9) for r in (8, 4, 1, 0.5)]
    [1.0, 1.0, 5.0, 9.0]
    >>> [round(float(np.exp(cover.log_lower(r))), 9) for r in (8, 4, 1, 0.5)]
    [1.0, 1.0, 3.0, 5.0]
    """

    name = "farthest points"
    data_dependent = True

    def __init__(
        self,
        points: ArrayLike,
        metric: Metric = 2.0,
        *,
        start: int | None = None,
        max_points: int | None = None,
        smallest: float = 0.0,
    ) -> None:
        X = _checked(points, metric)
        self.n = len(X)
        check_nonnegative(smallest=smallest)
        if max_points is not None:
            check_integer("max_points", max_points, 1)
        if start is not None and not (is_integer(start) and 0 <= start < self.n):
            raise ValueError(f"start must number one of {self.n} points from 0 on, got {start!r}.")
        if start is None:
            middle = (X.min(axis=0) + X.max(axis=0)) / 2
            start = int(np.argmin(np.linalg.norm(X - middle, axis=1)))
        order, radii = [start], [np.inf]
        away = self._row(X, start, metric)
        most = self.n if max_points is None else min(max_points, self.n)
        while len(order) < most and away[far := int(np.argmax(away))] > smallest:
            order.append(far)
            radii.append(float(away[far]))
            np.minimum(away, self._row(X, far, metric), out=away)
        self.order: NDArray[np.intp] = np.array(order, dtype=np.intp)
        self.radii: Array = np.array(radii)
        self.reached = float(np.max(away))
        self.assumptions = (Assumption("the class is this set of points", "given"),)

    @staticmethod
    def _row(X: Array, i: int, metric: Metric) -> Array:
        away = np.empty(len(X))
        for rows in row_slices(len(X), 16 * X.shape[1], BLOCK_BYTES):
            away[rows] = _distances(X[rows], X[i : i + 1], metric)[:, 0]
        away[i] = 0.0
        return away

    @property
    def norm(self) -> float:
        return float(self.radii[1]) if len(self.radii) > 1 else self.reached

    def count(self, radius: float) -> int:
        """Return how many points of the traversal are farther apart than the radius."""
        return int(np.searchsorted(-self.radii, -radius, side="left"))

    def _log_covering(self, radius: float) -> float:
        return float(np.log(self.count(radius) if radius >= self.reached else self.n))

    def log_lower(self, radius: float) -> float:
        """Return a lower bound on the natural logarithm of the covering number."""
        check_positive(radius=radius)
        # No ball of this radius holds two points farther apart than twice the radius; rounding of
        # distances must not separate points that touch one ball from both sides.
        return float(np.log(self.count(2 * radius * (1 + SLACK))))

    def bracket(self, radii: ArrayLike) -> tuple[Array, Array]:
        """Return lower and upper bounds on ln N for every radius of a grid."""
        grid = np.atleast_1d(np.asarray(radii, dtype=np.float64))
        lower = [self.log_lower(radius) for radius in grid]
        return np.array(lower), np.array([self.log_covering(radius) for radius in grid])


def _enclosing_radius(X: Array, power: float) -> float:
    """Return the radius of the smallest ball around a few points, in the power 1, 2 or infinity."""
    if len(X) == 1:
        return 0.0
    if np.isinf(power):
        return float(np.max(np.ptp(X, axis=0)) / 2)
    if power == 1:
        n, d = X.shape
        # Least r with u_i >= |x_i - c| and sum u_i <= r; variables are c, u, r.
        eye, many = np.tile(np.eye(d), (n, 1)), np.eye(n * d)
        above = np.hstack([-eye, -many, np.zeros((n * d, 1))])
        below = np.hstack([eye, -many, np.zeros((n * d, 1))])
        sums = np.hstack([np.zeros((n, d)), np.kron(np.eye(n), np.ones(d)), -np.ones((n, 1))])
        cost = np.append(np.zeros(d + n * d), 1.0)
        found = linear_program(
            cost,
            A_ub=np.vstack([above, below, sums]),
            b_ub=np.concatenate([-X.ravel(), X.ravel(), np.zeros(n)]),
            bounds=[(None, None)] * d + [(0, None)] * (n * d + 1),
        )
        return float(found.x[-1])
    # Some subset of at most p + 1 points lies on the sphere of the smallest ball.
    best = np.inf
    for size in range(2, min(len(X), X.shape[1] + 1) + 1):
        for part in combinations(range(len(X)), size):
            base, edges = X[part[0]], X[list(part[1:])] - X[part[0]]
            centre = (
                base
                + edges.T
                @ np.linalg.lstsq(edges @ edges.T, (edges**2).sum(axis=1) / 2, rcond=None)[0]
            )
            reach = float(np.max(np.linalg.norm(X - centre, axis=1)))
            best = min(best, reach)
    return best


def _fewest_balls(X: Array, radius: float, power: float) -> int:
    """Return the least number of balls by branch and bound over the ball of every point."""
    reach = radius * (1 + SLACK)
    # Points far from each other first: most of them have no choice then.
    X = X[PointCover(X, power).order]
    D = _distances(X, X, power)
    known: dict[tuple[int, ...], bool] = {}

    def fits(part: tuple[int, ...]) -> bool:
        if part not in known:
            index = list(part)
            apart = float(np.max(D[np.ix_(index, index)]))
            near = bool(np.any(np.all(D[np.ix_(index, index)] <= reach, axis=1)))
            known[part] = near or (
                apart <= 2 * reach and _enclosing_radius(X[index], power) <= reach
            )
        return known[part]

    # No ball holds two points of a packing, and a ball around each point is a cover.
    least = exact_packing(X, 2 * reach, power)
    best = len(X)

    def place(i: int, parts: tuple[tuple[int, ...], ...]) -> None:
        nonlocal best
        if len(parts) >= best or best == least:
            return
        if i == len(X):
            best = len(parts)
            return
        for j, part in enumerate(parts):
            if fits((*part, i)):
                place(i + 1, (*parts[:j], (*part, i), *parts[j + 1 :]))
        place(i + 1, (*parts, (i,)))

    place(0, ())
    return best


def exact_cover(
    points: ArrayLike, radius: float, metric: Metric = 2.0, *, centres: str = "anywhere"
) -> int:
    """Return the covering number of a tiny set, by solving the set cover problem exactly.

    Parameters
    ----------
    points : (n, p) array
        At most 20 of them for centres anywhere; a few hundred for centres among them.
    radius : float
        Of closed balls.
    metric : float or Kernel, default=2
        As in :class:`PointCover`; 1, 2 or infinity for centres anywhere.
    centres : {"anywhere", "points"}, default="anywhere"

    Examples
    --------
    >>> square = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> exact_cover(square, 0.5), exact_cover(square, 0.71), exact_cover(square, 0.5, np.inf)
    (2, 1, 1)
    >>> exact_cover(square, 0.71, centres="points")
    4
    """
    X = _checked(points, metric)
    check_nonnegative(radius=radius)
    if centres == "points":
        sets = _distances(X, X, metric) <= radius * (1 + SLACK)
    elif centres != "anywhere":
        raise ValueError(f"centres={centres!r} is not known; give 'anywhere' or 'points'")
    elif isinstance(metric, Kernel) or metric not in (1, 2, np.inf):
        raise ValueError(
            f"smallest balls are known for the metrics 1, 2 and infinity, not {metric!r}; "
            "centres='points' brackets the number from both sides, at radius and twice the radius"
        )
    elif len(X) > TINY:
        raise ValueError(
            f"{len(X)} points have too many subsets; use PointCover, which brackets the number"
        )
    else:
        return _fewest_balls(X, radius, metric)
    found = milp(
        np.ones(len(sets)),
        constraints=LinearConstraint(sets.T.astype(float), lb=1),
        integrality=np.ones(len(sets), dtype=np.intp),
        bounds=Bounds(0, 1),
    )
    assert found.x is not None  # every point by itself is a solution
    return round(float(np.sum(found.x)))


def exact_packing(points: ArrayLike, radius: float, metric: Metric = 2.0) -> int:
    """Return the size of the largest subset with all distances above a radius.

    Parameters
    ----------
    points : (n, p) array
        A few hundred at most.
    radius : float
    metric : float or Kernel, default=2
        As in :class:`PointCover`.

    Examples
    --------
    >>> exact_packing(np.arange(9.0), 2.0)
    3
    """
    X = _checked(points, metric)
    check_nonnegative(radius=radius)
    close = np.triu(_distances(X, X, metric) <= radius, 1)
    first, second = np.nonzero(close)
    if not len(first):
        return len(X)
    pairs = np.zeros((len(first), len(X)))
    pairs[np.arange(len(first)), first] = pairs[np.arange(len(first)), second] = 1.0
    found = milp(
        -np.ones(len(X)),
        constraints=LinearConstraint(pairs, ub=1),
        integrality=np.ones(len(X), dtype=np.intp),
        bounds=Bounds(0, 1),
    )
    assert found.x is not None  # every point by itself is a solution
    return round(float(np.sum(found.x)))


class Box(Covering):
    r"""A box, such as the domain of the inputs: a grid of cells, each inside a ball.

    .. math:: N(\varepsilon) \le \prod_i \bigl\lceil w_i d^{1/p} / 2\varepsilon \bigr\rceil

    Parameters
    ----------
    widths : float or (d,) array
        Edges.
    power : float, default=2
        Of the norm that measures distances.

    Examples
    --------
    >>> round(float(np.exp(Box([6.0, 3.0], np.inf).log_covering(0.5))))
    18
    """

    name = "grid of cells"

    def __init__(self, widths: ArrayLike, power: float = 2.0) -> None:
        self.widths = np.atleast_1d(np.asarray(widths, dtype=np.float64))
        if not np.all((self.widths >= 0) & np.isfinite(self.widths)):
            raise ValueError("a box needs finite edges to be covered")
        if not power >= 1:
            raise ValueError(f"power must be at least 1, got {power!r}: below, there is no norm")
        # A cell of half-edges h fits in a ball of radius h d^(1/p).
        self.stretch = float(len(self.widths) ** (1.0 / power))
        self.power = power

    @property
    def norm(self) -> float:
        half = self.widths / 2
        return float(np.linalg.norm(half, self.power))

    def _log_covering(self, radius: float) -> float:
        cells = np.ceil(self.widths * self.stretch / (2 * radius) * (1 - SLACK))
        return float(np.sum(np.log(np.maximum(cells, 1.0))))


def count_sign_patterns(values: ArrayLike) -> int:
    """Return the number of different sign vectors of a class of functions on a sample.

    That is the covering number of their signs in the sup norm at every radius below 1; at radius 1
    zero alone would cover all of them. The sign of 0 is +1.

    Parameters
    ----------
    values : (k, m) array
        Values of k functions on m points.

    Examples
    --------
    >>> count_sign_patterns([[1.0, -2.0], [0.5, -0.1], [3.0, 4.0]])
    2
    """
    numbers = np.asarray(values, dtype=float)
    if numbers.ndim != 2 or not numbers.size or np.isnan(numbers).any():
        raise ValueError(
            "values must be numbers, a row for each function and a column for each point, got "
            f"shape {numbers.shape}"
        )
    signs = numbers >= 0
    return len(np.unique(signs, axis=0))


def log_sign_patterns(n_samples: int, rank: int) -> float:
    r"""Return ln of the number of sign vectors of linear functions on points in general position.

    .. math:: \pi = 2 \sum_{i < r} \binom{m-1}{i}

    with r the rank of the Gram matrix: never more, and this many if every r of the points are
    independent in the feature space. Full rank gives :math:`2^m` whatever the bound on the norm.

    Parameters
    ----------
    n_samples : int
        The number m.
    rank : int
        The number r.

    References
    ----------
    T. M. Cover (1965), Geometrical and statistical properties of systems of linear inequalities,
    IEEE Transactions on Electronic Computers 14, theorem 1; A. J. Smola, *Learning with Kernels*,
    TU Berlin 1998, eq. (7.16).

    Examples
    --------
    >>> round(float(np.exp(log_sign_patterns(4, 2))))
    8
    """
    check_integer("n_samples", n_samples, 1)
    check_integer("rank", rank, 0)
    if rank > n_samples:
        raise ValueError(f"the rank lies between 0 and n_samples = {n_samples}, not at {rank}")
    if rank == 0:
        return 0.0
    i = np.arange(rank)
    choose = gammaln(n_samples) - gammaln(i + 1) - gammaln(n_samples - i)
    return float(np.log(2) + logsumexp(choose))
