"""Starts of principal manifolds: a plane, a circle or a sphere along principal directions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as la

from mercer.data.base import Block, Sums, Work
from mercer.kernels.points import Array
from mercer.manifold.alternation import Functional
from mercer.manifold.distortions import Distortion

__all__ = ["Directions", "find_directions", "random_directions", "start_from"]

Total = Callable[[Work, Any, Any], Any]


class Directions(NamedTuple):
    """Mean of rows, and principal directions as long as the deviation along them."""

    mean: Array
    """(d,), in units of the data."""

    axes: Array
    """(number of directions, d), the longest first, in coordinates of the cost."""

    variance: float
    """Total variance of the rows, of a row over its known cells."""

    unit: float
    """Mean variance of the features, of a feature over its known cells."""

    weight: float
    """Sum of the weights."""

    missing: bool
    """Whether some cells are missing."""

    def share(self, left: float) -> float:
        """Return the share of the variance that is explained where some of it is left."""
        return 1.0 - left / self.variance if self.variance else 0.0


def moments_of(block: Block, shared: Any, state: Any) -> Sums:
    """Return sums of rows, of their squares and of their products, around a centre.

    Parameters
    ----------
    block : Block
    shared : Distortion
        In whose coordinates the products are.
    state : (d,) array or None
        The centre; where it is not known, sums for the mean are made.
    """
    X = np.asarray(block.X, dtype=np.float64)
    s = np.ones(len(X)) if block.s is None else np.asarray(block.s, dtype=np.float64)
    known = ~np.isnan(X)
    if state is None:
        return Sums(
            n=s @ known.astype(float),
            total=s @ np.where(known, X, 0.0),
            weight=float(s.sum()),
            missing=int((~known).sum()),
            empty=int((~known).all(axis=1).sum()),
        )
    # A missing cell counts as the mean: that is near enough for a start.
    R = np.where(known, shared.whiten(X - state), 0.0)
    return Sums(C=(s[:, None] * R).T @ R)


def _directions(first: Sums, C: Array, count: int) -> Directions:
    """Return the principal directions of a sample.

    Parameters
    ----------
    first : Sums
        Of :func:`moments_of` without a centre.
    C : (d, d) array
        Sum of products around the mean.
    count : int
        Number of directions.
    """
    weight = float(first["weight"])
    d = len(C)
    values, vectors = la.eigh(C / weight, subset_by_index=[max(0, d - count), d - 1])
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    # A direction and its opposite are both principal: the largest entry is made positive.
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), range(vectors.shape[1])])
    axes = np.zeros((count, d))
    axes[: len(values)] = (vectors * (signs * np.sqrt(values))).T
    known = np.maximum(first["n"], 1e-300)
    return Directions(
        mean=first["total"] / known,
        axes=axes,
        variance=float(np.trace(C)) / weight,
        unit=float(np.mean(np.diag(C) / known)),
        weight=weight,
        missing=bool(first["missing"]),
    )


def find_directions(total: Total, distortion: Distortion, count: int) -> Directions:
    """Return mean and principal directions of rows, by two passes over them.

    Parameters
    ----------
    total : callable
        Sums a function of blocks over the rows, as :meth:`Source.total`.
    distortion : Distortion
        In whose coordinates directions are meant.
    count : int
        Number of directions.
    """
    first = total(moments_of, distortion, None)
    if first["empty"]:
        raise ValueError(
            f"{first['empty']} rows have no known cell, so that they lie nowhere; drop them."
        )
    mean = first["total"] / np.maximum(first["n"], 1e-300)
    C = total(moments_of, distortion, mean)["C"]
    if not np.isfinite(C).all():
        raise ValueError("The squares of X overflow. Scale the inputs (StandardScaler).")
    return _directions(first, C, count)


def random_directions(found: Directions, count: int, rng: np.random.Generator) -> Directions:
    """Return directions in a random rotation of the principal ones."""
    turn = np.linalg.qr(rng.standard_normal((len(found.axes), len(found.axes))))[0]
    return found._replace(axes=(turn @ found.axes)[:count])


def start_from(functional: Functional, directions: Directions, scale: float) -> Array:
    """Return coefficients of a map of the nodes to a figure along principal directions.

    Parameters
    ----------
    functional : Functional
    directions : Directions
    scale : float
        Spread of the figure in deviations of the rows.
    """
    latent = functional.basis.latent
    nodes = latent.nodes
    axes = directions.axes[: latent.directions]
    middle = functional.rows(directions.mean[None])
    targets = middle + scale * latent.shape(nodes) @ axes
    return functional.adapt(functional.basis(nodes), targets, np.ones(len(nodes)), None).W
