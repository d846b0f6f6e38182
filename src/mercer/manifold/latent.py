"""Latent sets of principal manifolds: intervals, boxes, circles, tori and the sphere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer._params import Params, check_integer
from mercer.kernels.base import Kernel
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.periodic import PeriodicGaussian, PeriodicSpline
from mercer.kernels.points import Array
from mercer.kernels.spline import Spline

__all__ = ["Circle", "Grid", "Interval", "Latent", "Sphere", "Torus", "as_latent"]

# Points at which a projection starts, over all axes: enough that the nearest image of a smooth map
# lies in the basin of the nearest point.
STARTS = {1: 400, 2: 1600, 3: 2744}

TURN = 2.0 * np.pi


class Latent(Params, ABC):
    """A compact set of latent coordinates, with nodes at which kernels are placed.

    Compact, because a linear map of an unbounded set has no smallest regularized error: stretched
    coordinates allow coefficients, and so a penalty, as small as one likes.
    """

    @property
    @abstractmethod
    def dim(self) -> int:
        """Number D of coordinates."""

    @property
    @abstractmethod
    def nodes(self) -> Array:
        """Points of the set that carry kernels, (M, D)."""

    @property
    @abstractmethod
    def spacing(self) -> Array:
        """Distance of neighbouring nodes along every coordinate, (D,)."""

    @property
    @abstractmethod
    def directions(self) -> int:
        """Number of principal directions of the data that :meth:`shape` uses."""

    @abstractmethod
    def samples(self, density: float = 1.0) -> Array:
        """Return points that fill the set evenly, (G, D), for the start of projections.

        Parameters
        ----------
        density : float, default=1.0
            Factor by which there are more than by default, along every coordinate.
        """

    @abstractmethod
    def embed(self, Z: Array) -> Array:
        """Return points of a Euclidean space whose neighbours are neighbours in the set."""

    @abstractmethod
    def clip(self, Z: Array) -> Array:
        """Return the nearest coordinates inside the set; those of a circle wrap around."""

    @abstractmethod
    def shape(self, Z: Array) -> Array:
        """Return coordinates along principal directions of the data at which a fit starts.

        Every column has mean zero and variance one where latent coordinates are uniform.

        Parameters
        ----------
        Z : (n, D) array

        Returns
        -------
        (n, directions) array
        """

    @abstractmethod
    def kernel(self, width: float) -> Kernel:
        """Return the Gaussian kernel of the set, its width given in spacings of the nodes."""

    @property
    def intrinsic(self) -> int:
        """Dimension of the set, which may have more coordinates."""
        return self.dim

    @property
    def closed(self) -> bool:
        """Whether the set has no boundary."""
        return False

    @property
    def ends(self) -> tuple[float, float]:
        """First and last coordinate of a curve."""
        raise ValueError(f"{type(self).__name__} has {self.intrinsic} dimensions and no ends.")

    def on_boundary(self, Z: Array) -> NDArray[np.bool_]:
        """Return which coordinates lie on the boundary; closed sets have none."""
        return np.zeros(len(Z), dtype=bool)

    def blocked(self, Z: Array, g: Array) -> NDArray[np.bool_]:
        """Return which coordinates, (n, D), lie on the boundary and would leave along g."""
        return np.zeros(Z.shape, dtype=bool)

    def tangent(self, Z: Array, J: Array) -> Array:
        """Return derivatives (n, D, s) along the set alone."""
        return J

    def length_kernel(self) -> Kernel:
        """Return the kernel whose squared norm is the integral of the squared speed."""
        raise ValueError(
            f"penalty='length' is the integral of a squared speed, which {type(self).__name__} has "
            "no kernel for in more than one dimension; use Interval or Circle, or penalty='kernel'."
        )


@dataclass(eq=False)
class Axes(Latent):
    """Sets that are a product of intervals or of circles, all of one kind."""

    periodic: ClassVar[bool] = False
    low, high = -1.0, 1.0

    def __post_init__(self) -> None:
        for axis in fields(self):
            if (n := getattr(self, axis.name)) is not None:
                check_integer(axis.name, n, 3 if self.periodic else 2)

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of nodes along every axis, which the fields of a set say."""
        given = (getattr(self, axis.name) for axis in fields(self))
        return tuple(int(n) for n in given if n is not None)

    @property
    def dim(self) -> int:
        return len(self.counts)

    @property
    def extent(self) -> float:
        """Length of every axis."""
        return TURN if self.periodic else self.high - self.low

    def _axis(self, n: int) -> Array:
        if self.periodic:
            return np.arange(n) * (TURN / n)
        return np.linspace(self.low, self.high, n) if n > 1 else np.zeros(1)

    def _product(self, counts: tuple[int, ...]) -> Array:
        axes = np.meshgrid(*map(self._axis, counts), indexing="ij")
        return np.stack([axis.ravel() for axis in axes], axis=1)

    @property
    def nodes(self) -> Array:
        return self._product(self.counts)

    @property
    def spacing(self) -> Array:
        gaps = [n if self.periodic else max(n - 1, 1) for n in self.counts]
        return self.extent / np.asarray(gaps, dtype=np.float64)

    def samples(self, density: float = 1.0) -> Array:
        least = STARTS.get(self.dim, 4096) ** (1.0 / self.dim)
        # Three starts between two nodes follow every bend that their kernels can make.
        per = [round(density * max(least, 3 * n)) for n in self.counts]
        return self._product(tuple(max(2, n) for n in per))

    def embed(self, Z: Array) -> Array:
        return np.hstack([np.cos(Z), np.sin(Z)]) if self.periodic else Z

    def clip(self, Z: Array) -> Array:
        return np.mod(Z, TURN) if self.periodic else np.clip(Z, self.low, self.high)

    @property
    def closed(self) -> bool:
        return self.periodic

    @property
    def ends(self) -> tuple[float, float]:
        return (0.0, TURN) if self.periodic else (self.low, self.high)

    def on_boundary(self, Z: Array) -> NDArray[np.bool_]:
        outside = (self.low >= Z) | (self.high <= Z)
        return np.asarray(outside.any(axis=1) & (not self.periodic))

    def blocked(self, Z: Array, g: Array) -> NDArray[np.bool_]:
        outward = ((self.low >= Z) & (g < 0.0)) | ((self.high <= Z) & (g > 0.0))
        return np.asarray(outward & (not self.periodic))

    @property
    def directions(self) -> int:
        return 2 * self.dim if self.periodic else self.dim

    def shape(self, Z: Array) -> Array:
        if self.periodic:
            turns = np.stack([np.cos(Z), np.sin(Z)], axis=2)
            return np.asarray(np.sqrt(2.0) * turns.reshape(len(Z), -1))
        half = 0.5 * self.extent
        return np.asarray(np.sqrt(3.0) * (Z - (self.low + half)) / half)

    def kernel(self, width: float) -> Kernel:
        scale = width * self.spacing
        length = float(scale[0]) if np.ptp(scale) == 0.0 else scale
        if self.periodic:
            return PeriodicGaussian(length, period=TURN, normalize="diagonal")
        return Gaussian(length)

    def length_kernel(self) -> Kernel:
        if self.dim > 1:
            return super().length_kernel()
        if self.periodic:
            return PeriodicSpline(1, period=TURN)
        # Left of the first node the slope is zero, so that the end of the axis does not matter.
        return Spline(order=1, lower=self.low - self.extent)


@dataclass(eq=False)
class Interval(Axes):
    """The interval from -1 to 1: a curve with two ends.

    Parameters
    ----------
    n : int, default=10
        Number of nodes.

    Examples
    --------
    >>> Interval(3).nodes.ravel()
    array([-1.,  0.,  1.])
    """

    n: int = 10


@dataclass(eq=False)
class Grid(Axes):
    """The square or cube of coordinates from -1 to 1: a sheet or a volume.

    Parameters
    ----------
    rows, columns : int, default=7
        Number of nodes along the first and the second coordinate.
    layers : int, optional
        Number of nodes along a third one.

    Examples
    --------
    >>> Grid(7, 7).nodes.shape, Grid(6, 6, 6).nodes.shape
    ((49, 2), (216, 3))
    """

    rows: int = 7
    columns: int = 7
    layers: int | None = None


@dataclass(eq=False)
class Circle(Axes):
    r"""The circle of angles from 0 to :math:`2\pi`: a closed curve.

    Parameters
    ----------
    n : int, default=20
        Number of nodes.

    Examples
    --------
    >>> Circle(4).clip(np.array([[-0.5 * np.pi]])).round(3)
    array([[4.712]])
    """

    n: int = 20
    periodic: ClassVar[bool] = True


@dataclass(eq=False)
class Torus(Axes):
    """Pairs of angles: a closed sheet with a hole.

    Parameters
    ----------
    rows, columns : int, default=8
        Number of nodes along both angles.

    Examples
    --------
    >>> Torus(5, 6).nodes.shape
    (30, 2)
    """

    rows: int = 8
    columns: int = 8
    periodic: ClassVar[bool] = True


@dataclass(eq=False)
class Sphere(Latent):
    """The unit sphere, its coordinates three numbers of length one: a closed sheet without a hole.

    Parameters
    ----------
    n : int, default=48
        Number of nodes, on a spiral that covers the sphere evenly.

    Examples
    --------
    >>> Sphere(4).nodes.round(2)
    array([[ 0.66,  0.  ,  0.75],
           [-0.71,  0.65,  0.25],
           [ 0.08, -0.96, -0.25],
           [ 0.4 ,  0.52, -0.75]])
    """

    n: int = 48

    def __post_init__(self) -> None:
        check_integer("n", self.n, 4)

    @property
    def dim(self) -> int:
        return 3

    @property
    def closed(self) -> bool:
        return True

    @property
    def intrinsic(self) -> int:
        return 2

    @property
    def nodes(self) -> Array:
        return _spiral(int(self.n))

    @property
    def spacing(self) -> Array:
        # Every node has the area of a hexagon whose neighbours lie this far apart.
        return np.full(3, np.sqrt(8.0 * np.pi / (np.sqrt(3.0) * self.n)))

    @property
    def directions(self) -> int:
        return 3

    def samples(self, density: float = 1.0) -> Array:
        return _spiral(round(density**2 * max(STARTS[2], 9 * self.n)))

    def embed(self, Z: Array) -> Array:
        return Z

    def clip(self, Z: Array) -> Array:
        size = np.linalg.norm(Z, axis=1, keepdims=True)
        pole = np.tile([0.0, 0.0, 1.0], (len(Z), 1))
        return np.asarray(np.divide(Z, size, out=pole, where=size > 0))

    def shape(self, Z: Array) -> Array:
        return np.asarray(np.sqrt(3.0) * Z)

    def kernel(self, width: float) -> Kernel:
        return Gaussian(width * float(self.spacing[0]))

    def tangent(self, Z: Array, J: Array) -> Array:
        return np.asarray(J - Z[:, :, None] * np.einsum("nk,nks->ns", Z, J)[:, None, :])


def _spiral(n: int) -> Array:
    """Return points on the sphere, each turned from the last by the golden angle."""
    height = 1.0 - (2.0 * np.arange(n) + 1.0) / n
    angle = np.arange(n) * np.pi * (3.0 - np.sqrt(5.0))
    radius = np.sqrt(1.0 - height**2)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), height], axis=1)


def as_latent(latent: Latent | int) -> Latent:
    """Return a latent set: one that was given, or an interval, a square or a cube by dimension."""
    if isinstance(latent, Latent):
        return latent
    named: dict[int, Latent] = {1: Interval(), 2: Grid(), 3: Grid(6, 6, 6)}
    if latent in named:
        return named[latent]
    raise ValueError(
        f"latent must be 1, 2 or 3 dimensions, or a set such as Circle(20), got {latent!r}."
    )
