r"""Shapes of a function: bounds on its values, slopes and curvatures along features.

A shape is a value, ``Increasing("dose")`` or ``Bounded(0, 1)``. It is asked for at the steps of
lines through the domain; what holds between the steps is another matter, which certificates speak
of.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer._typing import Array, LinearMap
from mercer.regularizers.constraints import (
    Constraint,
    Domain,
    Feature,
    Region,
    Rows,
    TwoSided,
    along,
    few,
    join_rows,
    values_at,
)

__all__ = [
    "Bounded",
    "Concave",
    "Convex",
    "Decreasing",
    "Increasing",
    "Lipschitz",
    "Positive",
    "Shape",
    "Slope",
]


# Steps of a range that are narrow enough for differences to stand for derivatives.
FINE_STEPS = 200

# The bounds of a derivative that is not negative, and of a derivative that is not positive.
NOT_NEGATIVE, NOT_POSITIVE = (0.0, np.inf), (-np.inf, 0.0)


class Shape(Constraint):
    r"""Bounds on a derivative along a feature, :math:`l \le \partial_j^q f \le u` on a region."""

    order: ClassVar[int] = 0
    """The derivative q: 0 of bounds, 1 of slopes, 2 of curvatures."""

    over: Any

    @property
    @abstractmethod
    def walls(self) -> tuple[float, float]:
        """The bounds of the derivative."""

    def features(self, p: int) -> list[int]:
        """Return the features along which it is asked for."""
        feature = getattr(self, "feature", None)
        return list(range(p)) if feature is None else [int(feature)]

    def lines(self, domain: Domain, j: int) -> tuple[Array, float, float]:
        """Return base points of the lines along a feature, and their ends."""
        over = self.over or {}
        low, high = domain.span(j, over)
        if domain.p == 1:
            return np.array([[low]]), low, high
        return domain.bases(over, j), low, high

    def rows(self, domain: Domain) -> Rows:
        lower, upper = self.walls
        if self.order == 0 and domain.p > 1:
            points = domain.bases(self.over or {})
            # A bound has no direction: all points of all lines along the features.
            lines = [
                along(points, j, *domain.span(j, self.over or {}), domain.grid)
                for j in range(domain.p)
                if not isinstance((self.over or {}).get(j), Real)
            ]
            Z = np.concatenate([line.reshape(-1, domain.p) for line in lines])
            Z = np.unique(Z, axis=0)
            return values_at(Z, lower, upper, first=few(len(Z)))
        parts = []
        for j in self.features(domain.p):
            bases, low, high = self.lines(domain, j)
            # In the unit of f: the derivative times the range of the feature to its order.
            wall = (high - low) ** self.order
            t, one = _differences(self.order, domain.grid)
            Z = np.repeat(bases[:, None, :], len(t), axis=1)
            Z[:, :, j] = low + t * (high - low)
            G = sp.csr_array(sp.kron(sp.eye_array(len(bases)), one, format="csr"))
            r = G.shape[0]
            first = few(r) if domain.p > 1 else np.arange(r) % max(1, r // 40) == 0
            parts.append(
                Rows(
                    Z.reshape(-1, domain.p),
                    G,
                    np.full(r, lower * wall),
                    np.full(r, upper * wall),
                    first=first,
                )
            )
        return join_rows(parts)


def _differences(order: int, grid: int) -> tuple[Array, LinearMap]:
    """Return points of the unit interval, and the differences that stand for a derivative there."""
    stencil = np.array([[1.0], [-1.0, 1.0], [1.0, -2.0, 1.0]][order])
    if order and grid < FINE_STEPS:
        # Wide steps would average derivatives away, at the ends in particular: narrow ones.
        h, steps = 1.0 / FINE_STEPS, np.arange(order + 1.0)
        t = np.linspace(0.0, 1.0 - order * h, grid + 1 - order)[:, None] + h * steps
        rows = sp.kron(sp.eye_array(len(t)), stencil[None] / h**order, format="csr")
        return np.clip(t.ravel(), 0.0, 1.0), rows
    one = sp.diags_array(
        [value * float(grid) ** order for value in stencil],
        offsets=list(range(len(stencil))),
        shape=(grid + 1 - order, grid + 1),
    )
    return np.linspace(0.0, 1.0, grid + 1), one


@dataclass(eq=False)
class Slope(TwoSided, Shape):
    r"""Bounds on the slope along a feature, :math:`l \le \partial_j f \le u`.

    Parameters
    ----------
    feature : int or str
        Position or name of the feature.
    at_least, at_most : float
        The bounds, in units of f per unit of the feature; infinite by default.
    over : dict, optional
        Where: an interval or a value for some features, ``{"dose": (0, 10), "site": 1}``. The
        ranges of the sample otherwise.

    Examples
    --------
    >>> Slope("dose", at_least=0.0, at_most=2.0)
    Slope(feature='dose', at_least=0.0, at_most=2.0, over=None)
    """

    feature: Feature
    at_least: float = -np.inf
    at_most: float = np.inf
    over: Region = None
    order: ClassVar[int] = 1


@dataclass(eq=False)
class Signed(Shape):
    """A derivative of one sign along a feature."""

    feature: Feature = 0
    over: Region = None


@dataclass(eq=False)
class Increasing(Signed):
    r"""The function does not fall along a feature, :math:`\partial_j f \ge 0`.

    Parameters
    ----------
    feature : int or str
        Position or name of the feature.
    over : dict, optional
        Where, as in :class:`Slope`.

    Examples
    --------
    >>> rows = Increasing(0).rows(Domain(np.array([[0.0], [2.0]]), grid=2))
    >>> rows.Z[:, 0], rows.lower
    (array([0.  , 0.01, 1.99, 2.  ]), array([0., 0.]))
    """

    order: ClassVar[int] = 1
    walls = NOT_NEGATIVE


@dataclass(eq=False)
class Decreasing(Signed):
    r"""The function does not rise along a feature, :math:`\partial_j f \le 0`.

    Parameters
    ----------
    feature, over :
        As in :class:`Increasing`.
    """

    order: ClassVar[int] = 1
    walls = NOT_POSITIVE


@dataclass(eq=False)
class Convex(Signed):
    r"""The function bends upwards along a feature, :math:`\partial_j^2 f \ge 0`.

    Parameters
    ----------
    feature, over :
        As in :class:`Increasing`.
    """

    order: ClassVar[int] = 2
    walls = NOT_NEGATIVE


@dataclass(eq=False)
class Concave(Signed):
    r"""The function bends downwards along a feature, :math:`\partial_j^2 f \le 0`.

    Parameters
    ----------
    feature, over :
        As in :class:`Increasing`.
    """

    order: ClassVar[int] = 2
    walls = NOT_POSITIVE


@dataclass(eq=False)
class Lipschitz(Shape):
    r"""The function is nowhere steeper than a constant, :math:`|\partial_j f| \le L`.

    Parameters
    ----------
    constant : float
        The bound L, in units of f per unit of the feature.
    feature : int or str, optional
        Position or name of the feature; every feature by default.
    over : dict, optional
        Where, as in :class:`Slope`.
    """

    constant: float
    feature: Feature | None = None
    over: Region = None
    order: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not 0.0 <= self.constant < np.inf:
            raise ValueError(f"constant must be a number, at least 0, got {self.constant}.")

    @property
    def walls(self) -> tuple[float, float]:
        return -float(self.constant), float(self.constant)


@dataclass(eq=False)
class Bounded(TwoSided, Shape):
    r"""Values between two bounds, :math:`l \le f \le u`.

    Parameters
    ----------
    at_least, at_most : float
        The bounds; infinite by default.
    over : dict, optional
        Where, as in :class:`Slope`.

    Examples
    --------
    >>> Bounded(0.0, 1.0).rows(Domain(np.array([[0.0], [2.0]]), grid=2)).upper
    array([1., 1., 1.])
    """

    at_least: float = -np.inf
    at_most: float = np.inf
    over: Region = None


@dataclass(eq=False)
class Positive(Shape):
    r"""Values that are not negative, :math:`f \ge 0`.

    Parameters
    ----------
    over : dict, optional
        Where, as in :class:`Slope`.
    """

    over: Region = None
    walls = NOT_NEGATIVE
