r"""A sample and prior knowledge (shape constraints) as one regularized risk.

.. math::

    \min_{f, b}\; \tfrac12 \|f\|^2 + \sum_i c_i\, l(y_i, f_i) + d'b
    \qquad \text{subject to} \quad l_j \le L_j (f + b) \le u_j

Each functional :math:`L_j` is one more sample with a steep wall for a loss, the distance of its
value to the interval times a weight. The penalty is exact: as soon as the multiplier of every
functional stays below the weight, the constraints hold and the weight does not matter.

For the squared loss the sample can be eliminated. What is left is a problem of the functionals
alone, whose Gram matrix is the covariance that the sample leaves them:

.. math:: \min_\eta\; \tfrac12 \eta' \bar H \eta + w \sum_j \mathrm{dist}(m_j + (\bar H \eta)_j,
          [l_j, u_j]), \qquad \bar H = H - V' (K + \operatorname{diag}(1/c))^{-1} V
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.gram.base import Gram
from mercer.gram.combined import extend
from mercer.gram.dense import Dense
from mercer.gram.factor import bordered
from mercer.gram.indexed import Indexed
from mercer.gram.low_rank import LowRank
from mercer.kernels.points import row_slices
from mercer.losses.base import Conjugate, Loss, ResidualLoss
from mercer.losses.stacked import stack
from mercer.problems.risk import RegularizedRisk
from mercer.regularizers.constraints import Rows, join_rows

__all__ = ["Between", "ConstrainedRisk", "SampleLosses", "chebychev"]

# Bytes of kernel values between new points and the sample that are held at once.
BLOCK_BYTES = 2**26
# Bytes of kernel values between the points of all rows and the sample that are kept between rounds.
KEPT_BYTES = 2**28


@dataclass(eq=False)
class Between(ResidualLoss):
    r"""The distance to an interval around y, :math:`\max(0, l - f, f - u)`, on one side or both.

    Parameters
    ----------
    half : float or ndarray of shape (n,)
        Half of the width of the interval.
    below, above : float or ndarray of shape (n,)
        1 where falling below or rising above the interval costs something, else 0.

    Examples
    --------
    >>> Between(1.0).value(np.zeros(3), np.array([-3.0, 0.5, 2.0]))
    array([2., 0., 1.])
    """

    half: float | Array = 0.0
    below: float | Array = 1.0
    above: float | Array = 1.0

    def terms(self) -> Conjugate:
        """Return the conjugate, ``half |u|`` on the slopes that cost something."""
        return Conjugate(kink=self.half, lower=-np.asarray(self.above), upper=self.below)

    def mirrored(self) -> Between:
        return replace(self, below=self.above, above=self.below)

    @classmethod
    def walls(cls, lower: Array, upper: Array) -> tuple[Between, Array]:
        """Return the loss of walls, and the targets in the middle of them."""
        low, high = np.isfinite(lower), np.isfinite(upper)
        both = low & high
        with np.errstate(invalid="ignore"):
            half = np.where(both, 0.5 * (upper - lower), 0.0)
            y = np.where(both, 0.5 * (upper + lower), np.where(low, lower, upper))
        return cls(half, low.astype(float), high.astype(float)), y


@dataclass(frozen=True)
class SampleLosses:
    """Losses of a function's values at a sample, beside other columns.

    Parameters
    ----------
    loss : Loss
    y, c : ndarray of shape (n',)
        Targets and weights.
    B : ndarray of shape (n', q')
        Unpenalized columns; those beyond the null space are of the losses alone, such as widths.
    d : ndarray of shape (q',)
        Their linear cost.
    index : ndarray of shape (n',), optional
        Which point of the sample each of them is about; one after the other by default.
    """

    loss: Loss
    y: Array
    c: Array
    B: Array
    d: Array
    index: NDArray[np.intp] | None = None


def chebychev(lower: Array, upper: Array, mu: float, B: Array) -> SampleLosses:
    r"""Say that the largest distance to intervals is to be small.

    .. math:: \mu\, t, \qquad l_i - t \le f(x_i) \le u_i + t, \quad t \ge 0

    Two walls a sample and a column for t, whose coefficient is free to be zero as soon as all
    intervals can be met. No multiplier exceeds :math:`\mu`, which is therefore weight enough.

    Parameters
    ----------
    lower, upper : ndarray of shape (n,)
        Ends of the intervals; both y for the largest residual.
    mu : float
        Price of t.
    B : ndarray of shape (n, q)
        Unpenalized columns.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 4.3 and (4.26)-(4.27).
    """
    n = len(lower)
    sides = np.concatenate([np.ones(n), -np.ones(n), [1.0]])
    q = B.shape[1]
    columns = np.zeros((2 * n + 1, q + 1))
    columns[: 2 * n, :q] = np.tile(B, (2, 1))
    columns[:, q] = sides
    below = np.concatenate([np.ones(n), np.zeros(n), [1.0]])
    d = np.append(np.zeros(q), mu)
    # The last one is t >= 0 itself: a sample of no point, whose weight is the price as well.
    return SampleLosses(
        Between(0.0, below, 1.0 - below),
        np.concatenate([lower, upper, [0.0]]),
        np.full(2 * n + 1, mu),
        columns,
        d,
        np.append(np.tile(np.arange(n), 2), -1),
    )


class ConstrainedRisk:
    """The problem of a sample and of the pieces of knowledge that were found to matter so far.

    Parameters
    ----------
    said : Said
        What the sample says.
    K : Gram
        Of the points of the sample.
    X : (n, p) array
        The points.
    kernel : callable
        ``kernel(Z, X)``, values of pairs of points.
    columns : callable
        Unpenalized functions at points.
    rows : Rows
        All that is known.
    features : callable, optional
        ``features(Z)`` with ``kernel(Z, X) = features(Z) features(X)'`` where the machine is looked
        for among few functions; K is then of low rank.
    """

    def __init__(
        self,
        said: SampleLosses,
        K: Gram,
        X: Array,
        kernel: Callable[[Array, Array], Array],
        columns: Callable[[Array], Array],
        rows: Rows,
        features: Callable[[Array], Array] | None = None,
    ) -> None:
        self.said, self.K, self.X, self.rows = said, K, X, rows
        self.kernel, self.columns, self.features = kernel, columns, features
        self.margin: Array = np.zeros(int(rows.owner.max(initial=-1)) + 1)
        self.chosen: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        n = len(X)
        self._V, self._GB = np.empty((n, 0)), np.empty((0, columns(X[:1]).shape[1]))
        self._AV, self._bV = np.empty((len(said.y), 0)), np.empty((said.B.shape[1], 0))
        self._F, self._H = np.empty((0, 0)), np.empty((0, 0))
        self._kept: list[Array] | None = None

    # Functionals ----------------------------------------------------------------------------------

    @property
    def walls(self) -> Rows:
        """All rows, with their margins."""
        return self.move(self.rows)

    @cached_property
    def _point(self) -> NDArray[np.intp]:
        n = len(self.said.y)
        return np.arange(n) if self.said.index is None else self.said.index

    @cached_property
    def gram(self) -> Gram:
        """The Gram of the sample's losses, with a row of zeros for a loss without a point."""
        if self.said.index is None:
            return self.K
        if isinstance(self.K, LowRank):
            return LowRank(self.at_losses(self.K.G))
        if (self._point >= 0).all():
            return Indexed(self.K, self._point)
        K = self.at_losses(self.at_losses(self.K.dense()).T)
        return Dense(np.ascontiguousarray(K))

    def at_losses(self, values: Array) -> Array:
        """Return the value of its point for each loss, zero for a loss without a point."""
        out = np.asarray(values[self._point], dtype=np.float64)
        out[self._point < 0] = 0.0
        return out

    def add(self, index: NDArray[np.intp]) -> None:
        """Let further rows take part."""
        index = np.setdiff1d(index, self.chosen)
        part = self.rows.take(index)
        self._GB = np.concatenate([self._GB, part.G @ self.columns(part.Z)])
        if self.features is not None:
            F = part.G @ self.features(part.Z)
            self._F = np.concatenate([self._F.reshape(-1, F.shape[1]), F])
            new = np.asarray(self.K.G @ F.T) if isinstance(self.K, LowRank) else F
        else:
            new = np.empty((len(self.X), part.r))
            for some in row_slices(len(self.X), 8 * max(1, len(part.Z)), BLOCK_BYTES):
                new[some] = (part.G @ self.kernel(self.X[some], part.Z).T).T
        self._V = np.concatenate([self._V, new], axis=1)
        if self.features is None:
            cross, own = self._products(part, self.taken), self._products(part, part)
            self._H = np.block([[self._H, cross.T], [cross, 0.5 * (own + own.T)]])
        self.chosen = np.concatenate([self.chosen, index])
        self.__dict__.pop("taken", None)

    def move(self, rows: Rows) -> Rows:
        """Return rows with the margins of their owners."""
        return rows.shrunk(self.margin[rows.owner])

    def append(self, rows: Rows) -> None:
        """Know more: further rows, which take part when they are added."""
        self.rows = join_rows([self.rows, rows])
        if self._kept is not None:
            self._kept.append(self.kernel(rows.Z, self.X))

    def _sample_values(self, alpha: Array) -> Array | None:
        """Return the part of the sample at the points of all rows; None if that is too much memory.

        Every round asks for it: kernel values are kept, which took half of the time of a fit.
        """
        if self.features is not None or 8 * len(self.rows.Z) * len(self.X) > KEPT_BYTES:
            self._kept = None
            return None
        if self._kept is None:
            self._kept = [self.kernel(self.rows.Z, self.X)]
        return np.concatenate([block @ alpha for block in self._kept])

    @cached_property
    def taken(self) -> Rows:
        """The rows that take part, without their margins."""
        return self.rows.take(self.chosen)

    @property
    def H(self) -> Array:
        """The Gram matrix of the functionals that take part."""
        return self._H if self.features is None else np.asarray(self._F @ self._F.T)

    def _products(self, one: Rows, other: Rows) -> Array:
        """Return the inner products of functionals with others."""
        half = one.G @ self.kernel(one.Z, other.Z)
        return np.asarray((other.G @ half.T).T)

    @property
    def _borders(self) -> Array:
        """The functionals of the unpenalized columns, (r, q'), zero for other columns."""
        extra = self.said.B.shape[1] - self._GB.shape[1]
        return np.pad(self._GB, ((0, 0), (0, extra)))

    # Problems -------------------------------------------------------------------------------------

    def risk(self, weight: float) -> RegularizedRisk:
        """Return the problem, a row a sample whose wall has a weight."""
        said, r = self.said, len(self.chosen)
        walls = self.walls
        wall, y = Between.walls(walls.lower[self.chosen], walls.upper[self.chosen])
        if isinstance(self.gram, LowRank):
            K: Gram = (
                LowRank(np.concatenate([self.gram.G, self._F.reshape(r, -1)])) if r else (self.gram)
            )
        else:
            K = extend(self.gram, self.at_losses(self._V), self.H) if r else self.gram
        return RegularizedRisk(
            stack([said.loss, wall], [len(said.y), r]) if r else said.loss,
            K,
            np.concatenate([said.y, y]),
            np.concatenate([said.c, np.full(r, weight)]),
            np.concatenate([said.B, self._borders]),
            said.d,
        )

    @property
    def eliminable(self) -> bool:
        """Whether the sample can be eliminated."""
        return self.said.loss.quadratic and not np.any(self.said.d)

    @cached_property
    def _solve(self) -> Callable[[Array, Array], tuple[Array, Array]]:
        with np.errstate(divide="ignore"):
            e = np.where(self.said.c > 0, 1.0 / self.said.c, np.inf)
        return bordered(self.gram.shifted(e), self.said.B)

    @cached_property
    def free(self) -> tuple[Array, Array]:
        """The coefficients of the squared loss without knowledge."""
        return self._solve(self.said.y, np.zeros(self.said.B.shape[1]))

    def eliminated(self, weight: float) -> RegularizedRisk:
        """Return the problem of the functionals alone, for the squared loss."""
        done = self._AV.shape[1]
        if done < len(self.chosen):
            V, GB = self.at_losses(self._V[:, done:]), self._borders[done:]
            AV, bV = self._solve(V, GB.T)
            self._AV = np.concatenate([self._AV, AV], axis=1)
            self._bV = np.concatenate([self._bV, bV], axis=1)
        V, GB = self.at_losses(self._V), self._borders
        a, b = self.free
        H = self.H - V.T @ self._AV - GB @ self._bV
        # Rounding of two large matrices whose difference may be small in some directions.
        H = 0.5 * (H + H.T) + 1e-13 * float(np.max(np.diag(self.H), initial=0.0)) * np.eye(len(H))
        walls = self.walls
        wall, y = Between.walls(walls.lower[self.chosen], walls.upper[self.chosen])
        return RegularizedRisk(wall, Dense(H), y - V.T @ a - GB @ b, weight)

    def whole(self, eta: Array) -> tuple[Array, Array]:
        """Return all coefficients from the functionals' coefficients, for the squared loss."""
        a, b = self.free
        return np.concatenate([a - self._AV @ eta, eta]), b - self._bV @ eta

    # Functions ------------------------------------------------------------------------------------

    def expansion(self, a: Array) -> tuple[Array, Array]:
        """Return coefficients of the sample's points and of the functionals' points."""
        n, m = len(self.said.y), len(self.X)
        there = self._point >= 0
        alpha = np.zeros(m)
        np.add.at(alpha, self._point[there], a[:n][there])
        return alpha, np.asarray(sp.csr_array(self.taken.G).T @ a[n:])

    def values(self, a: Array, b: Array, rows: Rows | None = None) -> Array:
        """Return the functionals of all rows, or of others, at a solution."""
        rows = self.rows if rows is None else rows
        Z, q = rows.Z, self._GB.shape[1]
        alpha, beta = self.expansion(a)
        # Most rows that take part end without a multiplier.
        active = np.flatnonzero(beta)
        f = np.empty(len(Z))
        if self.features is not None and isinstance(self.K, LowRank):
            w = (
                self.K.G.T @ alpha
                + self._F.reshape(-1, self.K.G.shape[1]).T @ a[len(self.said.y) :]
            )
        known = self._sample_values(alpha) if rows is self.rows else None
        for some in row_slices(len(Z), 8 * (len(self.X) + len(active) + 1), BLOCK_BYTES):
            if self.features is not None:
                f[some] = self.features(Z[some]) @ w
                continue
            if known is None:
                support = np.flatnonzero(alpha)
                f[some] = self.kernel(Z[some], self.X[support]) @ alpha[support]
            else:
                f[some] = known[some]
            if len(active):
                f[some] += self.kernel(Z[some], self.taken.Z[active]) @ beta[active]
        if q:
            f += self.columns(Z) @ b[:q]
        return np.asarray(rows.G @ f)
