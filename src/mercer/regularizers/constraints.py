r"""Linear (in)equalities of a function, and the domain that knowledge of it is stated on.

.. math:: l_j \le \sum_k G_{jk} f(z_k) \le u_j

Rows are in the unit of f: a slope counts per range of its feature, a curvature per squared range.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer._params import Params, is_integer
from mercer._typing import Array, LinearMap, TargetsLike

__all__ = ["Array", "Constraint", "Domain", "Feature", "Region", "Rows", "compile_rows"]

Feature: TypeAlias = int | str
Region: TypeAlias = Mapping[Feature, Any] | None


def spread_points(n: int, p: int, shift: float | Array = 0.5) -> Array:
    r"""Return points spread evenly over the unit cube, (n, p): multiples of irrational steps.

    The steps are powers of :math:`1/g` with :math:`g^{p+1} = g + 1`, the golden ratio for p = 1.

    Examples
    --------
    >>> spread_points(3, 1)[:, 0].round(3)
    array([0.5  , 0.118, 0.736])
    """
    g = 2.0
    for _ in range(50):
        g = (1.0 + g) ** (1.0 / (p + 1))
    steps = g ** -np.arange(1.0, p + 1)
    return np.asarray((shift + np.arange(n)[:, None] * steps) % 1.0)


@dataclass(frozen=True)
class Domain:
    """Where knowledge is to hold: the box of the sample, and how densely it is looked at.

    Parameters
    ----------
    X : (n, p) array
        The sample; lines pass through some of its points.
    grid : int
        Steps along a line.
    lines : int
        Lines a shape is looked at along, where there is more than one feature: half of them
        through points of the sample, half spread over the box.
    seed : int
        Of the choice of lines.
    """

    X: Array
    grid: int = 200
    lines: int = 64
    seed: int = 0

    @property
    def p(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    def span(self, j: int, over: Mapping[int, Any]) -> tuple[float, float]:
        """Return the interval of a feature."""
        if j in over and not isinstance(over[j], Real):
            low, high = map(float, over[j])
        else:
            low, high = float(self.X[:, j].min()), float(self.X[:, j].max())
        return (low, high) if high > low else (low - 0.5, low + 0.5)

    def bases(self, over: Mapping[int, Any], seed: int = 0) -> Array:
        """Return points of the region: of the sample, and spread over the box."""
        rng = np.random.default_rng((self.seed, seed))
        half = max(1, self.lines // 2)
        inside = np.ones(len(self.X), dtype=bool)
        for j, place in over.items():
            if not isinstance(place, Real):
                inside &= (self.X[:, j] >= place[0]) & (self.X[:, j] <= place[1])
        rows = np.flatnonzero(inside)
        chosen = self.X[rng.permutation(rows)[:half]]
        spans = np.array([self.span(j, over) for j in range(self.p)])
        unit = spread_points(self.lines - len(chosen), self.p, rng.uniform(size=self.p))
        spread = spans[:, 0] + unit * np.ptp(spans, axis=1)
        points = np.concatenate([chosen, spread])
        for j, place in over.items():
            if isinstance(place, Real):
                points[:, j] = float(place)
        return points


@dataclass(frozen=True)
class Rows:
    """Linear (in)equalities of a function, ``lower <= G f(Z) <= upper``.

    Parameters
    ----------
    Z : (m, p) array
        Points.
    G : (r, m) sparse array
        Weights of the values there.
    lower, upper : (r,) array
        Walls; infinite where there is none, equal for an equality.
    owner : (r,) array of int
        Which piece of knowledge a row belongs to.
    first : (r,) array of bool
        Which rows to begin with; others are added where they are violated.
    """

    Z: Array
    G: LinearMap
    lower: Array
    upper: Array
    owner: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    first: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=bool))

    def __post_init__(self) -> None:
        r = len(self.lower)
        if len(self.owner) != r:
            object.__setattr__(self, "owner", np.zeros(r, dtype=np.intp))
        if len(self.first) != r:
            object.__setattr__(self, "first", np.ones(r, dtype=bool))

    @property
    def r(self) -> int:
        """Number of rows."""
        return len(self.lower)

    def take(self, index: Any) -> Rows:
        """Return some of the rows, over the points that they need."""
        G = sp.csr_array(self.G)[index]
        used = np.unique(G.indices)
        return Rows(
            self.Z[used],
            sp.csr_array(G[:, used]),
            self.lower[index],
            self.upper[index],
            self.owner[index],
            self.first[index],
        )

    def violation(self, values: Array) -> Array:
        """Return by how much each row is violated, not negative."""
        return np.maximum(np.maximum(self.lower - values, values - self.upper), 0.0)

    def shrunk(self, margin: Array | float) -> Rows:
        """Return rows whose walls have come closer by a margin, equalities as they are."""
        margin = np.where(self.lower == self.upper, 0.0, margin)
        lower, upper = self.lower + margin, self.upper - margin
        middle = 0.5 * (self.lower + self.upper)
        crossed = lower > upper
        return replace(
            self,
            lower=np.where(crossed, middle, lower),
            upper=np.where(crossed, middle, upper),
        )


def join_rows(parts: Sequence[Rows]) -> Rows:
    return Rows(
        np.concatenate([part.Z for part in parts]),
        sp.csr_array(sp.block_diag([part.G for part in parts], format="csr")),
        np.concatenate([part.lower for part in parts]),
        np.concatenate([part.upper for part in parts]),
        np.concatenate([part.owner for part in parts]),
        np.concatenate([part.first for part in parts]),
    )


class Constraint(Params, ABC):
    """A piece of knowledge of a function."""

    @abstractmethod
    def rows(self, domain: Domain) -> Rows:
        """Return the rows that state it on a domain; features must be bound to positions."""

    def bind(self, features: Sequence[str] | None, p: int) -> Self:
        """Return the knowledge with names of features replaced by their positions.

        Parameters
        ----------
        features : sequence of str or None
            Names of the features, if they have any.
        p : int
            Number of features.
        """
        changes: dict[str, Any] = {}
        params = self.get_params(deep=False)
        if "feature" in params and params["feature"] is not None:
            changes["feature"] = position(params["feature"], features, p, self)
        if params.get("over"):
            changes["over"] = {
                position(j, features, p, self): place for j, place in params["over"].items()
            }
        return type(self)(**{**params, **changes})


class TwoSided(Constraint):
    """Knowledge of a lower and an upper bound, of which at least one is finite."""

    at_least: float
    at_most: float

    def __post_init__(self) -> None:
        who, low, high = type(self).__name__, self.at_least, self.at_most
        if not low <= high or low == np.inf or high == -np.inf:
            raise ValueError(f"{who} needs at_least <= at_most, got {low} and {high}.")
        if low == -np.inf and high == np.inf:
            raise ValueError(f"{who} says nothing; give at_least, at_most or both.")

    @property
    def walls(self) -> tuple[float, float]:
        """The bounds."""
        return float(self.at_least), float(self.at_most)


def position(feature: Feature, names: Sequence[str] | None, p: int, who: Constraint) -> int:
    if isinstance(feature, str):
        if names is None:
            raise ValueError(
                f"{who!r} names a feature, but the sample has no names: fit a data frame, or give "
                "the position of the feature."
            )
        if feature not in names:
            raise ValueError(
                f"{who!r} names the feature {feature!r}; the sample has {', '.join(names)}."
            )
        return list(names).index(feature)
    if not is_integer(feature) or not -p <= feature < p:
        raise ValueError(
            f"{who!r} needs the name of a feature or a position below {p}, got {feature!r}."
        )
    return int(feature) % p


def few(r: int, count: int = 40) -> NDArray[np.bool_]:
    """Return a mask of about so many of r rows, spread over them."""
    mask = np.zeros(r, dtype=bool)
    mask[np.unique(np.linspace(0, r - 1, min(r, count)).astype(np.intp))] = True
    return mask


def along(bases: Array, j: int, low: float, high: float, grid: int) -> Array:
    """Return grid + 1 points on the line along a feature through each base, (n, grid + 1, p)."""
    Z = np.repeat(bases[:, None, :], grid + 1, axis=1)
    Z[:, :, j] = np.linspace(low, high, grid + 1)
    return Z


def values_at(
    Z: Array, lower: TargetsLike, upper: TargetsLike, first: NDArray[np.bool_] | None = None
) -> Rows:
    m = len(Z)
    walls = [np.array(np.broadcast_to(np.asarray(wall, float), m)) for wall in (lower, upper)]
    mask = np.ones(m, dtype=bool) if first is None else first
    return Rows(Z, sp.csr_array(sp.eye_array(m)), walls[0], walls[1], first=mask)


def compile_rows(constraints: Sequence[Constraint], domain: Domain) -> Rows:
    """Return the rows of several pieces of knowledge; ``owner`` says whose a row is.

    Parameters
    ----------
    constraints : sequence of Constraint
        Bound to positions.
    domain : Domain
    """
    parts = []
    for k, constraint in enumerate(constraints):
        rows = constraint.rows(domain)
        parts.append(replace(rows, owner=np.full(rows.r, k, dtype=np.intp)))
    if not parts:
        empty = np.empty(0)
        return Rows(np.empty((0, domain.p)), sp.csr_array((0, 0)), empty, empty)
    return join_rows(parts)
