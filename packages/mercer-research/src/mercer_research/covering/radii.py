"""Radius and margin of a sample in feature space, with the smallest ball around it certified."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mercer._params import check_integer, check_nonnegative, check_positive
from mercer._typing import PointsLike
from mercer.data.base import Block
from mercer.data.opening import as_source
from mercer.data.sampling import draw, fingerprints
from mercer.data.table import stack
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array
from mercer.risk_bounds import Assumption
from mercer_research.covering.base import Best, Covering, Interval
from mercer_research.selection.bounds import smallest_ball

ROWS = 4096
FIRST = 32
"""Rows that are added to the core at first; it doubles at most."""


@dataclass(frozen=True, eq=False)
class EnclosingBall:
    r"""The smallest ball around a sample in feature space, between two bounds.

    Attributes
    ----------
    radius : float
        The distance from the centre to the farthest row: a ball that holds all rows.
    lower : float
        No ball that holds all rows has a smaller radius.
    centre_norm : float
        The distance of the centre from the origin.
    points, weights : (m, p) and (m,) arrays
        The centre is :math:`\sum_i \beta_i \Phi(z_i)`.
    """

    radius: float
    lower: float
    centre_norm: float
    points: Any
    weights: Array

    @property
    def gap(self) -> float:
        """How much the squared radius may be above the smallest, as a share of it."""
        return (self.radius**2 - self.lower**2) / max(self.radius**2, np.finfo(float).tiny)


class _Farthest(NamedTuple):
    """The rows farthest from a centre, and the largest norm; the sum is taken of both halves."""

    size: int
    squares: Array
    X: PointsLike
    norm2: float
    n: int

    def __add__(self, other: _Farthest) -> _Farthest:  # type: ignore[override]
        squares = np.concatenate([self.squares, other.squares])
        order = np.argsort(-squares, kind="stable")[: self.size]
        X = stack([self.X, other.X])[order]
        return _Farthest(
            self.size, squares[order], X, max(self.norm2, other.norm2), self.n + other.n
        )


def _farthest(block: Block, kernel: Kernel, state: tuple[int, Any, Array, float]) -> _Farthest:
    size, Z, beta, centre2 = state
    diagonal = np.asarray(kernel.diag(block.X), dtype=float)
    squares = diagonal - 2.0 * kernel(block.X, Z) @ beta + centre2
    order = np.argsort(-squares, kind="stable")[:size]
    return _Farthest(size, squares[order], block.X[order], float(diagonal.max()), block.n)


def enclosing_ball(
    kernel: Kernel, X: PointsLike, tol: float = 1e-8, *, most: int = 1000, n_jobs: int | None = None
) -> EnclosingBall:
    r"""Return the smallest ball around a sample in feature space, certified by its gap.

    .. math:: R^2 = \max_\beta \sum_i \beta_i k(x_i, x_i) - \sum_{ij} \beta_i\beta_j k(x_i, x_j),
              \qquad \beta \ge 0, \quad \sum_i \beta_i = 1

    The ball around a few rows, the core, is found exactly; rows outside are added to the core until
    there are none (Badoiu and Clarkson). The radius of the core bounds the answer from below, the
    distance of the farthest row from above, whatever the solver did. Rows come in blocks, so that
    memory grows with the core only.

    Parameters
    ----------
    kernel : Kernel
    X : (n, p) array, Source, or anything that :func:`mercer.data.as_source` takes
    tol : float, default=1e-8
        Gap to stop at.
    most : int, default=1000
        The largest core; with more, the ball is returned with the gap that it has.
    n_jobs : int, optional

    Returns
    -------
    EnclosingBall

    References
    ----------
    M. Badoiu and K. Clarkson (2003), Smaller core-sets for balls, SODA; A. J. Smola, *Learning with
    Kernels*, TU Berlin 1998, sec. 8.4.1.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> ball = enclosing_ball(Linear(), np.array([[-1.0], [0.0], [3.0]]))
    >>> round(ball.radius, 6), round(ball.centre_norm, 6), ball.gap < 1e-8
    (2.0, 1.0, True)
    """
    check_nonnegative(tol=tol)
    check_integer("most", most, 1)
    source = as_source(X)
    Z = draw(source, 1, n_jobs=n_jobs).X
    best: EnclosingBall | None = None
    lower = 0.0
    while True:
        K = np.asarray(kernel(Z), dtype=float)
        beta, inside, centre2 = _core(K)
        lower = max(lower, inside)
        size = int(min(max(FIRST, len(beta)), most))
        found = source.total(_farthest, kernel, (size, Z, beta, centre2), rows=ROWS, n_jobs=n_jobs)
        top = max(float(found.squares[0]), 0.0)
        if best is None or top < best.radius**2:
            best = EnclosingBall(
                float(np.sqrt(top)), 0.0, float(np.sqrt(max(centre2, 0.0))), Z, beta
            )
        best = replace(best, lower=float(np.sqrt(min(lower, best.radius**2))))
        outside = found.squares > lower + 0.5 * tol * max(top, 1e-300)
        if best.gap <= tol or not outside.any():
            return best
        core = Z[beta > 1e-9 * beta.max()]
        merged = stack([core, found.X[outside]])
        # Each different row once, the core and then the farthest rows first.
        first = np.sort(np.unique(fingerprints(merged), return_index=True)[1])
        # Nothing new: the accuracy of the solver is reached, and the gap says what it is.
        if len(first) <= core.shape[0] or Z.shape[0] >= most:
            return best
        Z = merged[first[:most]]


def _core(K: Array) -> tuple[Array, float, float]:
    """Return weights of the centre, the squared radius that they certify, and the centre's norm."""
    k = np.diagonal(K)
    beta = np.ones(len(K)) / len(K) if len(K) < 3 else smallest_ball(K)[1]
    beta = np.maximum(beta, 0.0)
    beta /= beta.sum()
    best = beta, float(beta @ k - beta @ K @ beta)
    # Rows on the sphere are equally far from the centre, a linear system: digits that the interior
    # method leaves open. Rows that would have negative weight leave.
    on = beta > 1e-6 * beta.max()
    for _ in range(20):
        index = np.flatnonzero(on)
        m = len(index)
        A = np.ones((m + 1, m + 1))
        A[:m, :m], A[m, m] = 2.0 * K[np.ix_(index, index)], 0.0
        z = np.linalg.lstsq(A, np.append(k[index], 1.0), rcond=None)[0][:m]
        if (z >= 0).all():
            polished = np.zeros(len(K))
            polished[index] = z / z.sum()
            value = float(polished @ k - polished @ K @ polished)
            if value > best[1]:
                best = polished, value
            break
        on[index[z < 0]] = False
    beta, value = best
    return beta, max(value, 0.0), float(beta @ K @ beta)


@dataclass(frozen=True, eq=False)
class SampleRadii:
    r"""Radius and margin of a sample, from :func:`sample_radii`.

    Attributes
    ----------
    size : float
        The largest norm of a row in feature space, :math:`\max_s \sqrt{k(x_s, x_s)}`.
    ball : EnclosingBall
        The smallest ball around the rows.
    norm : float or None
        The norm :math:`\Lambda = \sqrt{a'Ka}` of the function given.
    margin : float
    n_samples : int
    """

    size: float
    ball: EnclosingBall
    norm: float | None
    margin: float
    n_samples: int
    data_dependent: bool = True

    @property
    def ratio(self) -> float | None:
        r"""The number :math:`R^2\Lambda^2/\gamma^2`, R that of the smallest ball."""
        return None if self.norm is None else (self.ball.radius * self.norm / self.margin) ** 2

    def covering(self, unit: Covering, norm: float | None = None) -> Covering:
        r"""Return covering numbers of the ball of functions on these rows.

        Functions on the rows are those on points of norm R; and, if the smallest ball has the
        centre c, those on points of norm at most its radius plus a constant of at most
        :math:`\Lambda\|c\|`, since
        :math:`\langle w, \Phi\rangle = \langle w, \Phi - c\rangle + \langle w, c\rangle`.

        Parameters
        ----------
        unit : Covering
            Functions with weights of norm 1 at most, on so many points of norm 1 at most.
        norm : float, optional
            The largest norm of a function; that of the function given by default.
        """
        largest = self.norm if norm is None else norm
        if largest is None:
            raise ValueError("give the largest norm of a function.")
        check_nonnegative(norm=largest)
        around = unit.scaled(largest * self.ball.radius)
        offset = Interval(largest * self.ball.centre_norm, "offset of the centre")
        best = Best([unit.scaled(largest * self.size), around + offset])
        best.data_dependent = True
        best.assumptions += (Assumption("radii were measured on these rows", "checked"),)
        return best


def sample_radii(
    kernel: Kernel,
    X: PointsLike,
    coef: Array | None = None,
    margin: float = 1.0,
    *,
    tol: float = 1e-8,
    n_jobs: int | None = None,
) -> SampleRadii:
    r"""Return radius and margin numbers of a sample in feature space.

    Parameters
    ----------
    kernel : Kernel
    X : (n, p) array or Source
    coef : (n,) array, optional
        Coefficients a of a function :math:`\sum_i a_i k(x_i, \cdot)` on the rows of an array, whose
        norm is computed, in blocks.
    margin : float, default=1.0
        The margin :math:`\gamma`.
    tol : float, default=1e-8
        Gap of the smallest ball.
    n_jobs : int, optional

    Returns
    -------
    SampleRadii

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> radii = sample_radii(Linear(), np.array([[-1.0], [0.0], [3.0]]), np.array([0.0, 0.0, 0.5]))
    >>> round(radii.size, 6), round(radii.ball.radius, 6), round(radii.norm, 6)
    (3.0, 2.0, 1.5)
    >>> round(radii.ratio, 6)
    9.0
    """
    check_positive(margin=margin)
    source = as_source(X)
    ball = enclosing_ball(kernel, source, tol, n_jobs=n_jobs)
    state = (1, ball.points, ball.weights, ball.centre_norm**2)
    far = source.total(_farthest, kernel, state, rows=ROWS, n_jobs=n_jobs)
    norm = None
    if coef is not None:
        points = np.asarray(X)
        some = np.flatnonzero(coef)
        a, points = np.asarray(coef, dtype=float)[some], points[some]
        parts = range(0, len(a), ROWS)
        square = sum(a[i : i + ROWS] @ (kernel(points[i : i + ROWS], points) @ a) for i in parts)
        norm = float(np.sqrt(max(float(square), 0.0)))
    return SampleRadii(float(np.sqrt(far.norm2)), ball, norm, margin, far.n)
