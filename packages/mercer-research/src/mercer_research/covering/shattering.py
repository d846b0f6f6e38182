"""Shattering: what a class can label as one pleases, by enumeration and by theory."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls
from scipy.special import gammaln, logsumexp

from mercer._params import check_integer, check_nonnegative, check_positive
from mercer.risk_bounds import Assumption, Bound, Constant
from mercer_research.covering.uniform import FiniteClass
from mercer_research.risk_bounds.concentration import half_digits

__all__ = [
    "GrowthFunction",
    "ShatteringMargin",
    "fat_dimension",
    "fat_dimension_bound",
    "large_margin_dimension",
    "log_growth",
    "shattering_margin",
    "sparse_fat_dimension_bound",
    "vary_levels",
    "vc_dimension",
]

# Up to so many points all labellings are tried: 2^14 small problems, about a second.
EXACT = 15


def log_growth(
    n_points: int, dimension: int, form: Literal["exact", "power", "exponential"] = "exact"
) -> float:
    r"""Return the logarithm of Sauer and Shelah's bound on the number of sign patterns.

    .. math:: \Pi(m) \le \sum_{i \le h} \binom mi \le \frac{2 m^h}{h!} \le
        \Bigl(\frac{e m}{h}\Bigr)^h, \qquad m \ge h \ge 1

    Parameters
    ----------
    n_points : int
        m.
    dimension : int
        The VC dimension h. With fewer points than that, all :math:`2^m` patterns count.
    form : {"exact", "power", "exponential"}, default="exact"
        Which of the three.

    Examples
    --------
    >>> [round(float(np.exp(log_growth(10, 3, f))), 3) for f in ("exact", "power", "exponential")]
    [176.0, 333.333, 743.909]
    """
    check_integer("n_points", n_points, 1)
    check_integer("dimension", dimension, 0)
    m, h = n_points, dimension
    if h == 0:
        return 0.0
    if m <= h:
        return float(m * np.log(2.0))
    if form == "power":
        return float(np.log(2.0) + h * np.log(m) - gammaln(h + 1))
    if form == "exponential":
        return float(h * (1 + np.log(m / h)))
    if form != "exact":
        raise ValueError(f"form={form!r} is not known; give 'exact', 'power' or 'exponential'")
    i = np.arange(h + 1)
    return float(logsumexp(gammaln(m + 1) - gammaln(i + 1) - gammaln(m - i + 1)))


@dataclass(frozen=True)
class GrowthFunction:
    """How many sign patterns a class of some VC dimension has, at most, on so many points.

    Called with a number of points it returns a :class:`FiniteClass`, which is what an
    :class:`Inequality` asks for.

    Examples
    --------
    >>> round(GrowthFunction(10)(2000).log_count, 4)
    60.8871
    """

    dimension: int
    form: Literal["exact", "power", "exponential"] = "exact"

    def __call__(self, n_points: int) -> FiniteClass:
        log_count = log_growth(n_points, self.dimension, self.form)
        return FiniteClass(log_count, f"growth function of VC dimension {self.dimension}")


def vc_dimension(labels: ArrayLike) -> int:
    """Return the VC dimension of a finite class on finitely many points, by enumeration.

    Parameters
    ----------
    labels : array-like of shape (n_functions, n_points)
        Two different values, such as -1 and 1.

    Examples
    --------
    Thresholds on a line shatter one point, intervals two.

    >>> points = np.arange(4)
    >>> vc_dimension([points < t for t in range(5)])
    1
    >>> vc_dimension([(points >= a) & (points < b) for a in range(5) for b in range(5)])
    2
    """
    values = _table(labels, "labels")
    if len(np.unique(values)) > 2:
        raise ValueError("labels must have two values; for real values there is fat_dimension")
    return fat_dimension(values == np.max(values), 0.5)


def fat_dimension(values: ArrayLike, margin: float, *, one_level: bool = False) -> int:
    r"""Return the fat-shattering dimension of a finite class on finitely many points.

    A set of points is shattered with margin :math:`\gamma` if there are levels :math:`s_i` such
    that for all signs y some function has :math:`y_i (f(x_i) - s_i) \ge \gamma`. By enumeration:
    for tests and for teaching.

    Parameters
    ----------
    values : array-like of shape (n_functions, n_points)
    margin : float
        :math:`\gamma > 0`.
    one_level : bool, default=False
        Whether all points share one level.

    Examples
    --------
    >>> corners = [[a, 2 * b] for a in (0, 1) for b in (0, 1)]
    >>> fat_dimension(corners, 0.5), fat_dimension(corners, 0.6)
    (2, 1)
    >>> fat_dimension(np.add(corners, [0, 10]), 0.5, one_level=True)
    1
    """
    f = _table(values, "values")
    check_positive(margin=margin)
    # Lowering a level to the largest value that still lies below it loses no function.
    if one_level:
        return max(
            _deepest([[_split(column, low, margin)] for column in f.T]) for low in np.unique(f)
        )
    return _deepest([[_split(column, low, margin) for low in np.unique(column)] for column in f.T])


def _table(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return values of functions on points, or raise ValueError for others."""
    f = np.atleast_2d(np.asarray(values, dtype=float))
    if f.ndim != 2 or not f.size or not np.isfinite(f).all():
        raise ValueError(
            f"{name} must be finite numbers, a row for each of at least one function and a column "
            f"for each point, got shape {np.shape(values)}"
        )
    return f


def _split(column: NDArray[np.float64], low: float, margin: float) -> tuple[int, int]:
    """Return the functions above and below a level at one point, as bits.

    Both values of a difference are rounded, to half an ulp each. What that hides is granted, up to
    a part of the margin that no equal values reach.
    """
    eps = float(np.finfo(np.float64).eps)
    slack = min(2 * eps * max(float(np.max(np.abs(column))), abs(low)), np.sqrt(eps) * margin)
    above = np.flatnonzero(column - low >= 2 * margin - slack)
    below = np.flatnonzero(column <= low)
    return sum(1 << int(i) for i in above), sum(1 << int(i) for i in below)


def _deepest(splits: list[list[tuple[int, int]]], cells: tuple[int, ...] = (-1,)) -> int:
    """Return how many points can be added, each of which splits all cells of functions."""
    best = 0
    for i, point in enumerate(splits):
        if len(splits) - i <= best:
            break
        for above, below in point:
            finer = tuple(side & cell for cell in cells for side in (above, below))
            if all(finer):
                best = max(best, 1 + _deepest(splits[i + 1 :], finer))
    return best


def fat_dimension_bound(margin: float, norm: float = 1.0, size: float = 1.0) -> Bound:
    r"""Bound the fat-shattering dimension of a ball of functions of a kernel.

    .. math:: \operatorname{fat}(\gamma) \le (R \Lambda / \gamma)^2

    Parameters
    ----------
    margin : float
        :math:`\gamma`.
    norm : float, default=1.0
        :math:`\Lambda`, the largest norm of a function.
    size : float, default=1.0
        R, the largest :math:`\sqrt{k(x, x)}`.

    Examples
    --------
    >>> fat_dimension_bound(0.5).value
    4.0
    """
    check_positive(margin=margin, norm=norm, size=size)
    return Bound(
        (size * norm / margin) ** 2,
        "fat-shattering dimension of a ball in feature space",
        constants={"norm": Constant(norm, "ball"), "size": Constant(size, "points")},
        assumptions=(Assumption(f"k(x, x) is at most {size**2:g}", "given"),),
    )


def sparse_fat_dimension_bound(
    margin: float, n_features: int, *, constant: float, norm: float = 1.0
) -> Bound:
    r"""Bound the fat-shattering dimension where the sum of absolute coefficients is bounded.

    .. math:: \operatorname{fat}(\gamma) \le c\, (\Lambda / \gamma)^2 \ln(2 N + 2), \qquad
        \|x\|_\infty \le 1,\ \|w\|_1 \le \Lambda

    Parameters
    ----------
    margin, norm : float
    n_features : int
        N.
    constant : float
        c, which the theorem does not name: classes may be compared, numbers may not be quoted.

    Examples
    --------
    >>> few, many = (sparse_fat_dimension_bound(0.5, n, constant=1.0) for n in (10, 1000))
    >>> round(many.value / few.value, 2)
    2.46
    """
    check_integer("n_features", n_features, 1)
    check_positive(margin=margin, norm=norm, constant=constant)
    return Bound(
        constant * (norm / margin) ** 2 * float(np.log(2 * n_features + 2)),
        "fat-shattering dimension of linear functions with bounded absolute sums",
        constants={"constant": Constant(constant, "told by the caller: the theorem names none")},
        assumptions=(Assumption("inputs lie in [-1, 1]", "given"),),
    )


def large_margin_dimension(margin: float, n_features: float = np.inf, size: float = 1.0) -> Bound:
    r"""Bound the VC dimension of hyperplanes that keep a margin on all points.

    .. math:: h \le \min(R^2 / \rho^2, N) + 1, \qquad \|w\| \le 1,\ \|x\| \le R,\ |f(x)| \ge \rho

    No error rate follows: new points would have to keep the margin too, and nobody promises that.

    Examples
    --------
    >>> large_margin_dimension(0.25, n_features=100).value
    17.0
    """
    check_positive(margin=margin, size=size)
    if not n_features >= 1:
        raise ValueError(f"n_features must be at least 1, got {n_features!r}.")
    if margin > size:
        raise ValueError(
            f"margin={margin!r} exceeds size={size!r}: no hyperplane with a normal of length 1 "
            "keeps it on points of that length"
        )
    return Bound(
        min((size / margin) ** 2, n_features) + 1,
        "VC dimension of hyperplanes with a margin",
        assumptions=(Assumption("new points keep the margin as well"),),
    )


def vary_levels(dimension: float, margin: float) -> Bound:
    r"""Bound the fat-shattering dimension by that with one level for all points.

    For functions in [0, 1],

    .. math:: \operatorname{fat}_{\text{one level}}(\gamma) \le \operatorname{fat}(\gamma) \le
        (2 \lceil 1 / (2 \gamma) \rceil - 1)\, \operatorname{fat}_{\text{one level}}(\gamma / 2)

    Parameters
    ----------
    dimension : float
        With one level, at half the margin.
    margin : float
        :math:`\gamma`.

    Examples
    --------
    >>> vary_levels(2, 0.25).value
    6.0
    """
    check_positive(margin=margin)
    check_nonnegative(dimension=dimension)
    levels = 2 * np.ceil(1 / (2 * margin)) - 1
    return Bound(
        float(levels * dimension),
        "levels told apart by half the margin",
        constants={"levels": Constant(float(levels), "of functions in [0, 1]")},
        assumptions=(Assumption("functions lie in [0, 1]", "given"),),
    )


@dataclass(frozen=True)
class ShatteringMargin:
    """How far a set of points can be shattered by a ball of functions.

    Parameters
    ----------
    margin : float
        The largest margin with which all labellings are possible.
    lower : float
        A lower bound by the least eigenvalue, for all labellings at once.
    exact : bool
        Whether all labellings were tried. If not, ``margin`` is an upper bound.
    labels : ndarray of shape (n_points,)
        The labelling that is hardest among those tried.
    """

    margin: float
    lower: float
    exact: bool
    labels: NDArray[np.float64]


def shattering_margin(
    K: ArrayLike, norm: float = 1.0, *, n_labellings: int = 2000, random_state: int = 0
) -> ShatteringMargin:
    r"""Return the margin with which functions of bounded norm shatter given points.

    .. math:: \gamma = \Lambda\, \min_{y \in \{-1, 1\}^m}
        \operatorname{dist}(0, \operatorname{conv}\{y_i \Phi(x_i)\})

    That is the hard margin of the worst labelling, around the level 0. Kernels such as the
    Gaussian shatter every set of different points, so that the VC dimension is infinite; but the
    margin shrinks with their number m, and :math:`m \le (R \Lambda / \gamma)^2`.

    Parameters
    ----------
    K : array-like of shape (n_points, n_points)
        The kernel matrix of the points.
    norm : float, default=1.0
        :math:`\Lambda`, the largest norm of a function.
    n_labellings : int, default=2000
        How many labellings are drawn where there are more than 15 points.
    random_state : int, default=0

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> result = shattering_margin(Gaussian(1.0)(np.array([[0.0], [1.0], [2.0]])))
    >>> round(result.margin, 9), result.exact
    (0.26804369, True)
    >>> result.labels
    array([ 1., -1.,  1.])
    """
    half, K = half_digits(K), np.asarray(K, dtype=float)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not K.size or not np.isfinite(K).all():
        raise ValueError(f"K must be a square matrix of finite numbers, got shape {K.shape}")
    check_positive(norm=norm)
    check_integer("n_labellings", n_labellings, 1)
    m = len(K)
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    scale = float(np.max(values))
    if values[0] < -m * half * float(np.max(np.abs(values))):
        raise ValueError(
            f"K has the eigenvalue {values[0]:.6g}: it is not positive semidefinite, and no kernel "
            "has functions with such values"
        )
    if not scale > 0:
        return ShatteringMargin(0.0, 0.0, True, np.ones(m))
    values = np.maximum(values, 0.0) / scale
    root = np.sqrt(values)[:, None] * vectors.T  # root.T @ root = K / scale
    exact = m <= EXACT
    if exact:
        # Up to the sign of all labels at once.
        signs = np.array([(1.0, *rest) for rest in product((1.0, -1.0), repeat=m - 1)])
    else:
        drawn = np.random.default_rng(random_state).choice([-1.0, 1.0], (n_labellings, m))
        # Labels that follow directions of small eigenvalues are hard, so these are tried too.
        signs = np.vstack([np.where(vectors.T > 0, 1.0, -1.0), drawn])
    distances = [_distance(root * y) for y in signs]
    worst = int(np.argmin(distances))
    margin = norm * float(np.sqrt(scale)) * distances[worst]
    lower = norm * float(np.sqrt(scale * values[0] / m))
    return ShatteringMargin(margin, lower, exact, signs[worst])


def _distance(points: NDArray[np.float64]) -> float:
    r"""Return the distance of the origin from the convex hull of columns.

    For weights :math:`s \theta` with :math:`\theta` in the simplex, :math:`s^2 d^2 + (s - 1)^2` is
    least at :math:`d^2 / (1 + d^2)`: least squares with weights that are not negative find it.
    """
    target = np.append(np.zeros(len(points)), 1.0)
    weights, _ = nnls(np.vstack([points, np.ones(points.shape[1])]), target)
    return float(np.linalg.norm(points @ weights) / np.sum(weights))
