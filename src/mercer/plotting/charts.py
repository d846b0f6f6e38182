"""Charts of latent sets: where their coordinates are drawn, and which lines show their shape."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from mercer.kernels.points import Array
from mercer.manifold.latent import Latent, Sphere

__all__ = ["Chart", "chart_of"]

TURN = 2.0 * np.pi

# Points of a line that stands for a curve.
N_POINTS = 200

# Lines in both directions that show a sheet without rows and columns of nodes.
MERIDIANS = 12

# Distance of two rings of classes, in radii of the circle.
RING_DISTANCE = 0.18


class Chart(ABC):
    """Places on the page of the points of a latent set.

    Parameters
    ----------
    names : tuple of str
        Names of the axes.
    """

    space: bool = False
    lanes: bool = False
    equal: bool = True

    def __init__(self, *names: str) -> None:
        self.names = names

    @abstractmethod
    def place(self, Z: Array, lane: Array) -> Array:
        """Return places (n, 2 or 3) of coordinates; curves have lanes beside each other."""

    def outline(self) -> list[tuple[Array, bool]]:
        """Return lines around the set, and whether a set goes on beyond them at the other side."""
        return []

    def cells(self, n: int) -> tuple[Array, Array, Array]:
        """Return coordinates (a b, D) of cells that fill the set, and places of their corners."""
        raise ValueError("there is no latent set of one or two dimensions to fill with colours.")

    def lines(self) -> list[Array]:
        """Return lines in the set, (k, D) each, whose images show a manifold."""
        raise ValueError("a manifold is drawn by lines of its latent set; there is none.")


class Plain(Chart):
    """Coordinates without a set around them, such as scores of components."""

    equal = False

    def __init__(self, dim: int) -> None:
        super().__init__(*(f"component {j + 1}" for j in range(dim)))
        self.space, self.lanes = dim == 3, dim == 1

    def place(self, Z: Array, lane: Array) -> Array:
        return np.column_stack([Z[:, 0], lane]) if self.lanes else Z


class Strip(Chart):
    """An interval from left to right, with lanes above each other."""

    lanes = True
    equal = False

    def __init__(self, low: float, high: float) -> None:
        super().__init__("latent coordinate")
        self.low, self.high = low, high

    def place(self, Z: Array, lane: Array) -> Array:
        return np.column_stack([Z[:, 0], lane])

    def cells(self, n: int) -> tuple[Array, Array, Array]:
        Z, edges = _cells(self.low, self.high, n)
        X, Y = np.meshgrid(edges, [0.0, 1.0])
        return Z[:, None], X, Y

    def lines(self) -> list[Array]:
        return [np.linspace(self.low, self.high, N_POINTS)[:, None]]


class Ring(Chart):
    """A circle, with lanes around each other; angles turn against the clock from the right."""

    lanes = True

    def __init__(self) -> None:
        super().__init__("", "")

    def place(self, Z: Array, lane: Array) -> Array:
        return _polar(1.0 + RING_DISTANCE * lane, Z[:, 0])

    def outline(self) -> list[tuple[Array, bool]]:
        return [(_polar(np.ones(N_POINTS), np.linspace(0.0, TURN, N_POINTS)), False)]

    def cells(self, n: int) -> tuple[Array, Array, Array]:
        Z, edges = _cells(0.0, TURN, n)
        inner, outer = (_polar(np.full(len(edges), r), edges) for r in (0.6, 0.8))
        X, Y = np.stack([inner, outer], axis=2).transpose(1, 2, 0)
        return Z[:, None], X, Y

    def lines(self) -> list[Array]:
        return [np.linspace(0.0, TURN, N_POINTS)[:, None]]


class Sheet(Chart):
    """A square of two coordinates; the sides of a torus are drawn dashed, because it has none."""

    def __init__(self, low: float, high: float, counts: tuple[int, ...], periodic: bool) -> None:
        super().__init__("first latent coordinate", "second latent coordinate")
        self.low, self.high, self.counts, self.periodic = low, high, counts, periodic

    def place(self, Z: Array, lane: Array) -> Array:
        return Z

    def outline(self) -> list[tuple[Array, bool]]:
        a, b = self.low, self.high
        return [(np.array([[a, a], [b, a], [b, b], [a, b], [a, a]]), self.periodic)]

    def cells(self, n: int) -> tuple[Array, Array, Array]:
        Z, edges = _cells(self.low, self.high, n)
        X, Y = np.meshgrid(edges, edges)
        return np.stack([axis.ravel() for axis in np.meshgrid(Z, Z)], axis=1), X, Y

    def lines(self) -> list[Array]:
        return _lattice(self.low, self.high, self.counts, self.periodic)


class Globe(Chart):
    """The sphere by longitude and height, which keeps areas; left and right sides are the same."""

    equal = False

    def __init__(self) -> None:
        super().__init__("longitude", "height")

    def place(self, Z: Array, lane: Array) -> Array:
        return np.column_stack([np.arctan2(Z[:, 1], Z[:, 0]), Z[:, 2]])

    def outline(self) -> list[tuple[Array, bool]]:
        sides = [np.array([[x, -1.0], [x, 1.0]]) for x in (-np.pi, np.pi)]
        poles = [np.array([[-np.pi, y], [np.pi, y]]) for y in (-1.0, 1.0)]
        return [*((line, True) for line in sides), *((line, False) for line in poles)]

    def cells(self, n: int) -> tuple[Array, Array, Array]:
        angle, angles = _cells(-np.pi, np.pi, n)
        height, heights = _cells(-1.0, 1.0, n)
        X, Y = np.meshgrid(angles, heights)
        A, H = np.meshgrid(angle, height)
        return _on_sphere(A.ravel(), H.ravel()), X, Y

    def lines(self) -> list[Array]:
        turn = np.linspace(0.0, TURN, N_POINTS)
        rise = np.sin(np.linspace(-0.5, 0.5, N_POINTS) * np.pi)
        around = [
            _on_sphere(turn, np.full(N_POINTS, h))
            for h in np.sin(np.linspace(-0.5, 0.5, MERIDIANS // 2 + 1)[1:-1] * np.pi)
        ]
        upward = [
            _on_sphere(np.full(N_POINTS, a), rise) for a in np.arange(MERIDIANS) * TURN / MERIDIANS
        ]
        return around + upward


class Cube(Chart):
    """Three coordinates in space."""

    space = True

    def __init__(self, low: float, high: float, counts: tuple[int, ...]) -> None:
        super().__init__(*(f"latent coordinate {j + 1}" for j in range(3)))
        self.low, self.high, self.counts = low, high, counts

    def place(self, Z: Array, lane: Array) -> Array:
        return Z

    def outline(self) -> list[tuple[Array, bool]]:
        edges = _lattice(self.low, self.high, (2, 2, 2), False)
        return [(edge[[0, -1]], False) for edge in edges]

    def lines(self) -> list[Array]:
        return _lattice(self.low, self.high, self.counts, False)


def chart_of(latent: Latent | None, dim: int) -> Chart:
    """Return the chart of a latent set, or of as many coordinates without one."""
    if latent is None:
        if not 1 <= dim <= 3:
            raise ValueError(f"a map has one, two or three coordinates, got {dim}; choose columns.")
        return Plain(dim)
    if isinstance(latent, Sphere):
        return Globe()
    axes: Any = latent
    counts = axes.counts
    if len(counts) == 1:
        return Ring() if axes.periodic else Strip(axes.low, axes.high)
    low, high = (0.0, TURN) if axes.periodic else (axes.low, axes.high)
    if len(counts) == 2:
        return Sheet(low, high, counts, axes.periodic)
    return Cube(low, high, counts)


def _cells(low: float, high: float, n: int) -> tuple[Array, Array]:
    """Return centres and edges of n cells."""
    edges = np.linspace(low, high, n + 1)
    return 0.5 * (edges[1:] + edges[:-1]), edges


def _polar(radius: Array, angle: Array) -> Array:
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def _on_sphere(angle: Array, height: Array) -> Array:
    radius = np.sqrt(np.maximum(1.0 - height**2, 0.0))
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), height])


def _lattice(low: float, high: float, counts: tuple[int, ...], periodic: bool) -> list[Array]:
    """Return the lines of a lattice through nodes, along every coordinate."""
    nodes = [np.linspace(low, high, n, endpoint=not periodic) for n in counts]
    found = []
    for axis in range(len(counts)):
        others = [nodes[j] for j in range(len(counts)) if j != axis]
        for fixed in np.stack([g.ravel() for g in np.meshgrid(*others, indexing="ij")], axis=1):
            along, still = np.linspace(low, high, N_POINTS), np.tile(fixed, (N_POINTS, 1))
            found.append(np.insert(still, axis, along, axis=1))
    return found
