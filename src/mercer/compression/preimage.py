"""Terms at new points: fewer than any choice among the old ones needs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from mercer.compression.expansions import KernelFunctions, Terms, as_functions
from mercer.compression.pursuit import Pursuit, nearest, projected
from mercer.compression.slopes import Slopes
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array, Data

__all__ = ["Preimages", "preimages"]

STARTS = 3
"""Points from which a new one is looked for: those where the difference weighs most."""

FIXED = 50
"""Most steps of the fixed-point iteration, which is near its end after a few."""

FLAT = 1e-10
"""Part of the largest k(z, z) below which a point has no direction, as at the anchors."""

CLIMB = 15
"""Most iterations in which one new point is moved: all are moved at the end."""


class Preimages(NamedTuple):
    """Terms from :func:`preimages`."""

    points: Array
    coef: Array
    distance: float
    distances: Array
    """Distance for every number of terms on the way, beginning with none."""


def preimages(
    kernel: Kernel,
    X: Data,
    coef: ArrayLike,
    n_centres: int,
    *,
    distance: float = 0.0,
    polish: int = 100,
) -> Preimages:
    r"""Approximate an expansion by terms at new points, a reduced set.

    The next point is looked for uphill on

    .. math:: \sum_d (f_d(z) - f_{m,d}(z))^2 / k(z, z),

    from old points that would help much, for a Gaussian kernel by the fixed point

    .. math:: z = \sum_i w_i z_i / \sum_i w_i, \qquad
              w_i = \sum_d (f_d(z) - f_{m,d}(z)) \beta_{id} k(z_i, z)

    with the coefficients :math:`\beta` of the difference, for others by its gradient. All weights
    are fitted anew, and at the end all points, and as many old ones from :func:`matching_pursuit`,
    are moved together along the gradient of the
    squared distance, :math:`-2 \sum_d b_{jd} \nabla (f_d - f_{m,d})(z_j)`.

    Parameters
    ----------
    kernel : Kernel
        Positive definite, of rows of numbers, and smooth.
    X : (n, p) points
    coef : (n,) or (n, D) array
    n_centres : int
        Largest number of terms.
    distance : float, default=0.0
        Stop when the functions are this near.
    polish : int, default=100
        Most iterations in which all points are moved; zero for none.

    References
    ----------
    C. J. C. Burges, *Simplified support vector decision rules*, ICML 1996; B. Schoelkopf et al.,
    *Input space versus feature space in kernel-based methods*, IEEE T. Neural Networks 10, 1999,
    eq. (18); A. J. Smola, *Learning with Kernels*, TU Berlin 1998, sec. 2.1.2, points to them.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> found = preimages(Gaussian(), np.array([[-0.4], [0.4]]), [1.0, 1.0], 1)
    >>> abs(found.points.item()) < 1e-6, round(found.coef.item(), 3)
    (True, 1.846)
    """
    f = as_functions(kernel, X, coef)
    terms, history = search(f, n_centres, distance, 0.0, polish)
    weights = terms.coef[:, 0] if np.ndim(coef) == 1 else terms.coef
    return Preimages(terms.points, weights, float(history[-1]), history)


def search(
    f: KernelFunctions, n_centres: int, distance: float, error: float, polish: int
) -> tuple[Terms, Array]:
    """Return terms at new points and the distances on the way, the last that of the terms.

    Parameters
    ----------
    f : Functions
    n_centres : int
    distance, error : float
        Stop at a distance, or when the bound of the difference everywhere is below `error`.
    polish : int
    """
    if not f.kernel.numeric or sp.issparse(f.points):
        raise ValueError(
            "Pre-images are new rows of numbers in memory, which a kernel of objects or a sparse "
            "matrix has none of; use method='greedy'."
        )
    X = np.asarray(f.points, dtype=np.float64)
    box = np.stack([X.min(axis=0), X.max(axis=0)])
    slopes = Slopes(f.kernel, box)
    norm = float(np.sum(f.squared_norms()))
    radius = float(np.sqrt(np.max(f.kernel.diag(X), initial=0.0)))
    enough = max(distance, error / radius if radius > 0.0 else 0.0)
    groups: list[int] = []
    Z = np.empty((0, X.shape[1]))
    terms = _fitted(f, Z, groups)
    squares = [norm]
    while len(groups) < n_centres and squares[-1] > enough**2:
        z, group = _next(f, terms, slopes)
        grown = _fitted(f, np.vstack([Z, z]), [*groups, group])
        square = norm - _explained(f, grown)
        if not square < squares[-1]:
            break  # rounding has the word now
        Z, groups, terms = np.vstack([Z, z]), [*groups, group], grown
        squares.append(square)
    if polish and groups:
        # From as many old points too: then new ones are never farther than those.
        pursuit = Pursuit(f)
        while len(pursuit.order) < len(groups) and pursuit.step():
            pass
        ends = [_polished(f, start, slopes, polish) for start in (terms, pursuit.terms())]
        terms = max(ends, key=lambda end: _explained(f, end))
        squares[-1] = norm - _explained(f, terms)
    return terms, np.sqrt(np.maximum(squares, 0.0))


def _fitted(f: KernelFunctions, Z: Array, groups: list[int]) -> Terms:
    m = len(groups)
    return projected(f, Z, np.array(groups, dtype=np.intp), np.full(m, -1, dtype=np.intp))


def _explained(f: KernelFunctions, terms: Terms) -> float:
    """Return the squared norms of the projections, ``b'K_ZX a``."""
    return float(np.sum(terms.coef * f(terms.points)))


def _next(f: KernelFunctions, terms: Terms, slopes: Slopes) -> tuple[Array, int]:
    """Return the point at which a term helps most, and its group.

    Old points at which it helps much are moved uphill on the criterion without the pivots, and of
    all of these, moved or not, the best is taken.
    """
    rest, X = f.minus(terms), np.asarray(f.points, dtype=np.float64)
    floor = FLAT * float(np.max(f.kernel.diag(X), initial=0.0))
    starts = np.argsort(-_gains(f, rest, terms, X, f.groups), kind="stable")[:STARTS]
    found, groups = [X[i] for i in starts], [int(f.groups[i]) for i in starts]
    for i in starts:
        mask = f.allowed[f.groups[i]]
        part = KernelFunctions(rest.kernel, rest.points, rest.coef[:, mask], rest.groups, f.allowed)

        def cost(z: Array, part: KernelFunctions = part) -> tuple[float, Array]:
            value, slope = slopes(part, z[None])
            k, dk = slopes.diagonal(z[None])
            if not k[0] > floor:
                return 0.0, np.zeros_like(z)
            gain = float(np.sum(value**2)) / k[0]
            return -gain, -(2.0 * value[0] @ slope[0] - gain * dk[0]) / k[0]

        z = np.clip(_fixed_point(part, X[i]), *slopes.box) if slopes.gaussian else X[i]
        z = z if cost(z)[0] < cost(X[i])[0] else X[i]
        found.append(np.asarray(_descend(cost, z, slopes.box.T, CLIMB).x))
        groups.append(int(f.groups[i]))
    gains = _gains(f, rest, terms, np.array(found), np.array(groups))
    best = int(np.argmax(gains))
    return found[best], groups[best]


def _gains(f: KernelFunctions, rest: KernelFunctions, terms: Terms, Z: Array, groups: Any) -> Array:
    """Return by how much a term at each of some points lowers the squared distance."""
    values, diag = rest(Z), np.asarray(f.kernel.diag(Z), dtype=np.float64)
    floor = FLAT * float(np.max(diag, initial=0.0))
    gains = np.zeros(len(Z))
    masks, of = np.unique(f.allowed, axis=1, return_inverse=True)
    for g, mask in enumerate(masks.T):
        pivot, rows = diag.copy(), np.flatnonzero(mask[terms.groups])
        if len(rows):
            near = np.asarray(terms.points)[rows]
            k = np.asarray(f.kernel(near, Z), dtype=np.float64)
            pivot -= np.sum(k * nearest(np.asarray(f.kernel(near), dtype=np.float64), k), axis=0)
        good = mask[groups] & (pivot > floor)
        left = np.sum(values[:, of.ravel() == g] ** 2, axis=1)
        gains += np.divide(left, pivot, out=np.zeros_like(left), where=good)
    return gains


def _descend(cost: Any, start: Array, bounds: Array, iterations: int) -> Any:
    """Minimize a function with its gradient within bounds."""
    limits: Any = list(map(tuple, bounds))
    return minimize(
        cost,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=limits,
        options={"maxiter": iterations},
    )


def _fixed_point(rest: KernelFunctions, z: Array) -> Array:
    """Return a fixed point of the mean of points under the weights they have at it."""
    X = rest.points
    for _ in range(FIXED):
        k = np.asarray(rest.kernel(z[None], X), dtype=np.float64)[0]
        w = (rest.coef @ (k @ rest.coef)) * k
        total = float(np.sum(w))
        if not total > 1e-12 * float(np.sum(np.abs(w))):
            break  # the mean of weights without a sum is nowhere
        last, z = z, w @ X / total
        if np.max(np.abs(z - last), initial=0.0) <= 1e-8 * np.max(np.abs(z), initial=1.0):
            break
    return z


def _polished(f: KernelFunctions, terms: Terms, slopes: Slopes, iterations: int) -> Terms:
    """Move all points together downhill; weights are always the nearest ones."""
    shape = np.shape(terms.points)
    norm = float(np.sum(f.squared_norms())) or 1.0
    groups = [int(g) for g in terms.groups]

    def cost(flat: Array) -> tuple[float, Array]:
        now = _fitted(f, flat.reshape(shape), groups)
        _, slope = slopes(f.minus(now), np.asarray(now.points))
        gradient = -2.0 * np.einsum("jd,jdp->jp", now.coef, slope)
        return (norm - _explained(f, now)) / norm, gradient.ravel() / norm

    bounds = np.tile(slopes.box.T, (shape[0], 1))
    end = _descend(cost, np.ravel(terms.points), bounds, iterations)
    moved = _fitted(f, end.x.reshape(shape), groups)
    return moved if _explained(f, moved) > _explained(f, terms) else terms
