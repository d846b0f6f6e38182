"""The way back from scores to inputs, for a fitted kernel PCA."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from mercer._typing import PointsLike
from mercer.kernels.points import Array, take, to_dense
from mercer.machines.expansion import Expansion
from mercer.machines.kernel_kinds import is_function, is_precomputed
from mercer.machines.solving import EarlyStop
from mercer.manifold.preimages import (
    Distance,
    Preimages,
    Reference,
    descend,
    fixed_point,
    ridge,
)

__all__ = ["INVERSES", "find_preimages", "some_rows"]

INVERSES = ("penalized", "ridge", "fixed_point")

ROWS = 2000
"""Rows of the sample, at most, that the way back is learned from."""

STEPS = 500
"""Most steps of a search."""

SHORT = 1e-5
"""Length of a step, in standard deviations of a feature, at which a search ends."""


def some_rows(X: PointsLike, weights: Array) -> tuple[Array, Array] | None:
    """Return at most 2000 rows of a sample and their weights; None if they are not numbers.

    Parameters
    ----------
    X : (n, p) points
        The sample.
    weights : (n,) array
        Weights of the rows, of which some are positive.
    """
    if not hasattr(X, "shape") or len(X.shape) != 2 or X.dtype.kind not in "biuf":
        return None
    heavy = np.flatnonzero(weights > 0.0)
    index = heavy[np.unique(np.linspace(0, len(heavy) - 1, min(len(heavy), ROWS)).astype(int))]
    return np.array(to_dense(take(X, index)), dtype=np.float64), weights[index]


def find_preimages(machine: Expansion, scores: Array) -> Preimages:
    """Return pre-images of points of feature space.

    Parameters
    ----------
    machine : KernelPCA
        Fitted.
    scores : (n, k) array
        Coordinates of the points along the components.
    """
    if is_precomputed(machine.kernel) or machine._reference is None:
        raise ValueError(
            "the way back from scores leads to rows of numbers, which a precomputed kernel or a "
            "kernel of objects has none of."
        )
    X, weights = machine._reference
    # The scores of the rows, not those of the fit: rows may be a part of the sample.
    reference = Reference(X, machine._scores(machine._as_fitted(X)), weights)
    distance = _distance(machine, reference)
    anchor = ridge(reference, scores, machine.alpha)
    if machine.inverse == "ridge":
        d = (
            _root(distance(anchor, scores))
            if distance is not None
            else np.full(len(scores), np.nan)
        )
        return Preimages(anchor, d, np.zeros(len(scores)), np.ones(len(scores), dtype=bool))
    if distance is None:
        raise ValueError(
            "the kernel is indefinite, so that there are no distances in feature space; use "
            "inverse='ridge'."
        )
    starts = [anchor, *reference.near(scores)]
    search = _fixed if machine.inverse == "fixed_point" else _penalized
    ends, values, converged = search(machine, distance, reference, scores, starts)
    best = np.argmin(values, axis=0)
    rows = np.arange(len(scores))
    points = ends[best, rows]
    spread = np.sqrt(np.mean(np.sum((ends - points) ** 2, axis=2), axis=0))
    found = Preimages(points, _root(distance(points, scores)), spread, converged[best, rows])
    if not found.converged.all():
        warnings.warn(
            f"{int(np.sum(~found.converged))} of {len(scores)} pre-images did not converge; use "
            "another `inverse`, or a larger `penalty`.",
            EarlyStop,
            stacklevel=4,
        )
    return found


def _distance(machine: Expansion, reference: Reference) -> Distance | None:
    """Return the distance in feature space; None if the kernel is indefinite."""
    if np.any(machine.signature_ < 0):
        return None
    X = reference.X
    kernel, points = None, None
    if machine._functions is None and not is_function(machine.kernel):
        kernel, points = machine.kernel_, np.asarray(to_dense(machine.support_vectors_))
    box = np.stack([X.min(axis=0), X.max(axis=0)])
    A = np.asarray(to_dense(machine.dual_coef_), dtype=np.float64).T
    H, Q = machine._mean_parts
    return Distance(
        machine._kernel_rows,
        machine._diagonal,
        machine.null_space_,
        A,
        machine.null_space_coef_,
        H,
        Q,
        kernel,
        points,
        box,
        machine._functions,
    )


def _penalized(
    machine: Expansion, distance: Distance, reference: Reference, scores: Array, starts: list[Array]
) -> tuple[Array, Array, Any]:
    """Return the ends of searches from all starts, their values, and whether they converged.

    The distance to the ridge map's answer counts in units of the variance: a pre-image moves by a
    standard deviation of its features for `penalty` times the mean squared norm in feature space.
    """
    scale = reference.scale
    anchor = starts[0] / scale
    total = machine.explained_variance_[0] / machine.explained_variance_ratio_[0]
    mu = machine.penalty * total
    n, p = anchor.shape
    all_scores, anchors = np.tile(scores, (len(starts), 1)), np.tile(anchor, (len(starts), 1))

    def cost(U: Array, rows: Any) -> tuple[Array, Array]:
        value, slope = distance.gradient(U * scale, all_scores[rows])
        off = U - anchors[rows]
        return value + mu / p * np.sum(off**2, axis=1), slope * scale + 2.0 * mu / p * off

    U, values, converged = descend(
        cost, np.vstack(starts) / scale, distance.box / scale, STEPS, SHORT
    )
    shape = (len(starts), n)
    return (U * scale).reshape(*shape, p), values.reshape(shape), converged.reshape(shape)


def _fixed(
    machine: Expansion, distance: Distance, reference: Reference, scores: Array, starts: list[Array]
) -> tuple[Array, Array, Any]:
    """Return the ends of fixed-point iterations; a search that is stuck comes after all others."""
    if not distance.gaussian:
        raise ValueError(
            "inverse='fixed_point' is an iteration for the Gaussian kernel without functions that "
            "are projected out beside the constant; use inverse='penalized'."
        )
    ends = [fixed_point(distance, scores, start, STEPS, SHORT) for start in starts]
    values = np.stack([distance(X, scores) for X, _ in ends])
    converged = np.stack([good for _, good in ends])
    values = np.where(converged | ~converged.any(axis=0), values, np.inf)
    return np.stack([X for X, _ in ends]), values, converged


def _root(squares: Array) -> Array:
    return np.sqrt(np.maximum(squares, 0.0))
