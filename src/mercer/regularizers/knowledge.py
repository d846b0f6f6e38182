"""Knowledge of single values of a function, of their differences, means and integrals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._typing import Array, PointsLike, TargetsLike
from mercer.regularizers.constraints import (
    Constraint,
    Domain,
    Feature,
    Region,
    Rows,
    TwoSided,
    along,
    few,
    spread_points,
    values_at,
)
from mercer.regularizers.shape import Decreasing, Increasing

__all__ = [
    "At",
    "AtLeast",
    "AtMost",
    "Difference",
    "Integral",
    "Mean",
    "Order",
    "Periodic",
    "as_constraints",
]

# Nodes of the quadrature of an integral over a line, and points of one over a box.
LINE_NODES, BOX_POINTS = 64, 1024


def _points(x: PointsLike, p: int, who: Constraint) -> Array:
    """Return points given as one point or several, (m, p)."""
    Z = np.asarray(x, dtype=np.float64)
    if Z.ndim < 2:
        Z = Z.reshape(-1, 1) if p == 1 else Z.reshape(1, -1)
    if Z.ndim != 2 or Z.shape[1] != p or not np.all(np.isfinite(Z)):
        raise ValueError(
            f"{type(who).__name__} needs points of {p} finite features, got shape {np.shape(x)}."
        )
    return Z


@dataclass(eq=False)
class At(Constraint):
    r"""Known values, :math:`f(x) = y`.

    Parameters
    ----------
    x : array-like of shape (p,) or (m, p)
        Where; numbers are points of one feature.
    y : float or array-like of shape (m,)
        The values there.

    Examples
    --------
    >>> At([0.0, 1.0], [2.0, 3.0]).rows(Domain(np.zeros((1, 1)))).lower
    array([2., 3.])
    """

    x: PointsLike
    y: TargetsLike

    def rows(self, domain: Domain) -> Rows:
        return values_at(_points(self.x, domain.p, self), self.y, self.y)


@dataclass(eq=False)
class AtLeast(Constraint):
    r"""Known lower bounds, :math:`f(x) \ge y`.

    Parameters
    ----------
    x, y :
        As in :class:`At`.
    """

    x: PointsLike
    y: TargetsLike

    def rows(self, domain: Domain) -> Rows:
        return values_at(_points(self.x, domain.p, self), self.y, np.inf)


@dataclass(eq=False)
class AtMost(Constraint):
    r"""Known upper bounds, :math:`f(x) \le y`.

    Parameters
    ----------
    x, y :
        As in :class:`At`.
    """

    x: PointsLike
    y: TargetsLike

    def rows(self, domain: Domain) -> Rows:
        return values_at(_points(self.x, domain.p, self), -np.inf, self.y)


@dataclass(eq=False)
class Difference(Constraint):
    r"""Bounds on differences of two values, :math:`l \le f(x_1) - f(x_0) \le u`.

    Parameters
    ----------
    x1, x0 : array-like of shape (p,) or (m, p)
        The points, in pairs.
    at_least, at_most : float or array-like of shape (m,)
        The bounds; infinite by default.
    """

    x1: PointsLike
    x0: PointsLike
    at_least: TargetsLike = -np.inf
    at_most: TargetsLike = np.inf

    def rows(self, domain: Domain) -> Rows:
        above, below = (_points(x, domain.p, self) for x in (self.x1, self.x0))
        if len(above) != len(below):
            raise ValueError(f"{len(above)} points x1 need as many x0, got {len(below)}.")
        m = len(above)
        eye = sp.eye_array(m)
        walls = [
            np.array(np.broadcast_to(np.asarray(w, float), m))
            for w in (self.at_least, self.at_most)
        ]
        return Rows(np.concatenate([above, below]), sp.csr_array(sp.hstack([eye, -eye])), *walls)


@dataclass(eq=False)
class Order(Constraint):
    r"""Ranked points, :math:`f(x_j) \ge f(x_i) + m` for pairs (i, j).

    Parameters
    ----------
    points : array-like of shape (m, p)
        The points.
    pairs : array-like of shape (k, 2)
        Positions (i, j) of the lower and the higher point of each pair.
    margin : float, default=0.0
        By how much at least.

    Examples
    --------
    >>> Order([[0.0], [1.0]], [[0, 1]]).rows(Domain(np.zeros((1, 1)))).G.toarray()
    array([[-1.,  1.]])
    """

    points: PointsLike
    pairs: Any
    margin: float = 0.0

    def rows(self, domain: Domain) -> Rows:
        Z = _points(self.points, domain.p, self)
        pairs = np.asarray(self.pairs, dtype=np.intp).reshape(-1, 2)
        k = len(pairs)
        if k and (pairs.min() < 0 or pairs.max() >= len(Z)):
            raise ValueError(f"pairs must be positions among the {len(Z)} points.")
        at = np.tile(np.arange(k), 2)
        signs = np.repeat([-1.0, 1.0], k)
        G = sp.csr_array((signs, (at, pairs.T.ravel())), shape=(k, len(Z)))
        return Rows(Z, G, np.full(k, float(self.margin)), np.full(k, np.inf))


@dataclass(eq=False)
class Periodic(Constraint):
    r"""A period along a feature, :math:`f(x + T e_j) = f(x)`.

    Parameters
    ----------
    period : float
        The period T.
    feature : int or str, default=0
        Position or name of the feature.
    over : dict, optional
        Where, as in :class:`Slope`; the feature's interval is where x and x + T lie.
    n_points : int, default=16
        Points a line at which it is asked for.
    """

    period: float
    feature: Feature = 0
    over: Region = None
    n_points: int = 16

    def rows(self, domain: Domain) -> Rows:
        over: Any = self.over or {}
        j = int(self.feature)
        low, high = domain.span(j, over)
        if not 0 < self.period <= high - low:
            raise ValueError(
                f"period must be positive and at most the range {high - low:.6g} of the feature, "
                f"got {self.period}; give a larger range with over=."
            )
        bases = np.array([[low]]) if domain.p == 1 else domain.bases(over, j)
        Z = along(bases, j, low, high - self.period, self.n_points - 1).reshape(-1, domain.p)
        ahead = Z.copy()
        ahead[:, j] += self.period
        rows = Difference(ahead, Z, 0.0, 0.0).rows(domain)
        return rows if domain.p == 1 else replace(rows, first=few(rows.r))


@dataclass(eq=False)
class Mean(TwoSided):
    r"""Bounds on the mean of the values at some points, :math:`l \le \frac1m \sum_k f(z_k) \le u`.

    Parameters
    ----------
    at_least, at_most : float
        The bounds; equal for a known mean.
    points : array-like of shape (m, p), optional
        The points; those of the sample by default.
    """

    at_least: float = -np.inf
    at_most: float = np.inf
    points: PointsLike = None

    def rows(self, domain: Domain) -> Rows:
        Z = domain.X if self.points is None else _points(self.points, domain.p, self)
        G = sp.csr_array(np.full((1, len(Z)), 1.0 / len(Z)))
        return Rows(Z, G, *np.reshape(self.walls, (2, 1)))


@dataclass(eq=False)
class Integral(TwoSided):
    r"""Bounds on the integral over a region, :math:`l \le \int f(x) \, dx \le u`.

    By Gauss and Legendre's nodes on a line, by the mean over points spread over a box otherwise.

    Parameters
    ----------
    at_least, at_most : float
        The bounds; equal for a known integral.
    over : dict, optional
        The region, as in :class:`Slope`.

    Examples
    --------
    >>> rows = Integral(1.0, 1.0, over={0: (0.0, 2.0)}).rows(Domain(np.zeros((2, 1))))
    >>> float(rows.G.sum().round(12))
    2.0
    """

    at_least: float = -np.inf
    at_most: float = np.inf
    over: Region = None

    def rows(self, domain: Domain) -> Rows:
        over: Any = self.over or {}
        free = [j for j in range(domain.p) if not isinstance(over.get(j), Real)]
        spans = np.array([domain.span(j, over) for j in free])
        if len(free) == 1:
            t, w = np.polynomial.legendre.leggauss(LINE_NODES)
            unit, weights = 0.5 * (t[:, None] + 1.0), 0.5 * w
        else:
            unit = spread_points(BOX_POINTS, len(free))
            weights = np.full(BOX_POINTS, 1.0 / BOX_POINTS)
        Z = np.empty((len(unit), domain.p))
        for j, place in over.items():
            Z[:, j] = place if isinstance(place, Real) else 0.0
        Z[:, free] = spans[:, 0] + unit * np.ptp(spans, axis=1)
        G = sp.csr_array((weights * np.prod(np.ptp(spans, axis=1)))[None, :])
        return Rows(Z, G, *np.reshape(self.walls, (2, 1)))


def as_constraints(given: Any, names: Sequence[str] | None, p: int) -> list[Constraint]:
    """Return knowledge as a list, bound to positions.

    Parameters
    ----------
    given : Constraint, sequence of them, dict or array-like of shape (p,), or None
        A dict from features, or one entry a feature, with 1 for increasing, -1 for decreasing and 0
        for neither, is short for :class:`Increasing` and :class:`Decreasing`: the ``monotonic_cst``
        of scikit-learn's trees.
    names : sequence of str or None
        Names of the features.
    p : int
        Number of features.

    Examples
    --------
    >>> as_constraints({"dose": 1, "age": -1}, ["age", "dose"], 2)
    [Increasing(feature=1, over=None), Decreasing(feature=0, over=None)]
    >>> as_constraints([0, 1], None, 2)
    [Increasing(feature=1, over=None)]
    """
    if given is None:
        return []
    if isinstance(given, Constraint):
        return [given.bind(names, p)]
    if isinstance(given, Mapping):
        return _signs(given.items(), names, p)
    items = list(given)
    if all(isinstance(item, Constraint) for item in items):
        return [item.bind(names, p) for item in items]
    if len(items) != p or not all(isinstance(item, Real) for item in items):
        raise ValueError(
            "constraints must be pieces of knowledge such as Increasing('dose'), a dict from "
            f"features to 1, 0 or -1, or one such number for each of the {p} features."
        )
    return _signs(enumerate(items), names, p)


def _signs(items: Any, names: Sequence[str] | None, p: int) -> list[Constraint]:
    kinds: dict[int, type[Constraint]] = {1: Increasing, -1: Decreasing}
    found = []
    for feature, sign in items:
        if sign not in (-1, 0, 1):
            raise ValueError(f"the direction of a feature is 1, 0 or -1, got {sign!r}.")
        if sign:
            found.append(kinds[int(sign)](feature).bind(names, p))  # type: ignore[call-arg]
    return found
