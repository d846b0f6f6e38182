r"""Machines of all folds that may differ by so much and no more on their samples.

Both ways to share something between folds (:mod:`mercer_research.fusion.additive_cv`) are linear in
what is shared, so that a bound on how left-out residuals differ from others leaves a convex
program: least squares between parallel hyperplanes, whose matrices are decomposed once for all
bounds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mercer._typing import Array
from mercer.gram.factor import orthonormal
from mercer_research.fusion.additive_cv import FoldedSubstrate
from mercer_research.fusion.slab import Slab, Within
from mercer_research.fusion.substrate import System
from mercer_research.selection.folds import Folds
from mercer_research.selection.l_curve import corner

__all__ = [
    "FastStable",
    "FullStable",
    "StabilityCurve",
    "StableFolds",
]


@dataclass(frozen=True, eq=False)
class StabilityCurve:
    """Residuals along a path of bounds on the stability of a machine.

    Parameters
    ----------
    alpha_s : ndarray of shape (k,)
        The bounds, ascending.
    residuals, left_out : ndarray of shape (k,)
        Mean squares of the residuals of samples trained on, and of samples left out.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.fusion import StabilityCurve
    >>> alpha_s = np.geomspace(0.01, 1.0, 21)
    >>> curve = StabilityCurve(alpha_s, alpha_s, np.maximum(0.1 / alpha_s, 1.0))
    >>> round(float(curve.best), 6)
    0.1
    """

    alpha_s: Array
    residuals: Array
    left_out: Array

    @property
    def corner(self) -> int:
        """Which bound has the largest curvature of left-out residuals in logarithmic axes."""
        return corner(self.alpha_s, self.left_out)

    @property
    def best(self) -> float:
        """The bound at the corner."""
        return float(self.alpha_s[self.corner])

    @property
    def least(self) -> float:
        """The bound with the least residuals of samples trained on.

        Beyond it the fit of samples left out is paid for by the others. It is larger than
        :attr:`best`, and the better guide where targets have little noise.
        """
        return float(self.alpha_s[int(np.argmin(self.residuals))])


class StableFolds(ABC):
    """Machines of all folds, linear in the parameters that they share.

    Parameters
    ----------
    slab : Slab
        The cost and the changes that are bounded, as functions of what is shared.
    mean, left : ndarray of shape (n, m)
        What is shared, to averaged predictions of samples trained on and of samples left out.
    weights : ndarray of shape (n,)
        Weights of the samples.
    """

    def __init__(self, slab: Slab, mean: Array, left: Array, weights: Array) -> None:
        self.slab, self._mean, self._left, self.weights = slab, mean, left, weights

    @abstractmethod
    def _target(self, y: Array) -> Array:
        """Return the targets of the program."""

    @abstractmethod
    def coefficients(self, Z: ArrayLike, final: str) -> tuple[Array, Array]:
        """Return a (n, d) and b (q, d) of the final machine from the shared parameters, (m, d)."""

    def solve(self, y: ArrayLike, alpha_s: float) -> Within:
        """Return the shared parameters of machines that are stable to a bound, for targets (n,).

        Parameters
        ----------
        y : (n,) array
            Targets.
        alpha_s : float
            The bound; zero asks that all machines agree on the sample.
        """
        if not alpha_s >= 0:
            raise ValueError(f"alpha_s must be a bound of at least zero, got {alpha_s!r}.")
        return self.slab.solve(self._target(np.asarray(y, dtype=np.float64)), float(alpha_s))

    def residuals(self, y: ArrayLike, z: ArrayLike) -> tuple[Array, Array]:
        """Return averaged residuals of training samples, and residuals of samples left out."""
        y, z = np.asarray(y, dtype=np.float64), np.asarray(z, dtype=np.float64)
        return np.asarray(y - self._mean @ z), np.asarray(y - self._left @ z)

    def curve(self, y: ArrayLike, alphas: ArrayLike) -> StabilityCurve:
        """Return the residuals of several bounds.

        Parameters
        ----------
        y : (n,) array
            Targets.
        alphas : (k,) array
            The bounds.
        """
        bounds = np.unique(np.asarray(alphas, dtype=np.float64))
        pairs = [self.residuals(y, self.solve(y, float(bound)).z) for bound in bounds]
        e, ev = np.average(np.square(pairs), axis=2, weights=self.weights).T
        return StabilityCurve(bounds, e, ev)


class FastStable(StableFolds):
    r"""Machines that share their coefficients, stable to a bound.

    .. math:: \min_{a, b} \sum_k s_k (e^v_k)^2 \quad\text{subject to}\quad B'a = 0, \quad
              |e_k - e_k^v| \le \alpha_S, \qquad e^v = y - Bb - (K - K^{cv}) a, \quad
              e^v - e = \frac{LK^{cv} - K}{L - 1} a

    The null model satisfies every bound. A small bound is a smooth machine; a large one follows
    the samples left out at the expense of those trained on, so that the cost itself is no guide to
    a good bound.

    Parameters
    ----------
    system : System
        Kernel matrix, unpenalized columns and weights; its constant plays no part.
    folds : Folds
        The partition.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (8.36), which refers to the
    system of machines of all folds where that of shared coefficients is meant.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer_research.fusion import FastStable, System
    >>> from mercer_research.selection.folds import Folds
    >>> x = np.linspace(0, 1, 30)[:, None]
    >>> y = np.sin(6 * x[:, 0])
    >>> system = System(Gaussian(0.2)(x), y, np.ones((30, 1)))
    >>> stable = FastStable(system, Folds(np.arange(30) % 5))
    >>> e, left_out = stable.residuals(y, stable.solve(y, 0.01).z)
    >>> bool(np.max(np.abs(e - left_out)) < 0.01 + 1e-9)
    True
    """

    def __init__(self, system: System, folds: Folds) -> None:
        K, B, self.folds = system.K, system.B, folds
        # All a with B'a = 0.
        basis = orthonormal(B)[0] if B.shape[1] else B
        self._free = np.linalg.qr(basis, mode="complete")[0][:, basis.shape[1] :]
        self._root = np.sqrt(system.weights)
        mean, left, change = (
            np.concatenate([part(K) @ self._free, columns], axis=1)
            for part, columns in (
                (folds.averaged, B),
                (folds.across, B),
                (folds.difference, np.zeros_like(B)),
            )
        )
        super().__init__(Slab(self._root[:, None] * left, change), mean, left, system.weights)

    def _target(self, y: Array) -> Array:
        return np.asarray(self._root * y)

    def coefficients(self, Z: ArrayLike, final: str = "average") -> tuple[Array, Array]:
        """Return a (n, d) and b (q, d) of the final machine from the shared parameters, (m, d).

        Parameters
        ----------
        Z : (m, d) array
            From :meth:`solve`, one column an output.
        final : {"average", "sum"}
            The average of the machines of the folds, or the sum of kernels as printed, which
            counts every coefficient L / (L - 1) times.
        """
        Z, m = np.asarray(Z, dtype=np.float64), self._free.shape[1]
        L = self.folds.n_folds
        share = (L - 1) / L if final == "average" else 1.0
        return share * (self._free @ Z[:m]), Z[m:]


class FullStable(StableFolds):
    r"""Machines that share the additive constants of their samples, stable to a bound.

    .. math:: \min_c \sum_l \sum_{k \in V_l} s_k (e^{(l)v}_k)^2
              + \tau \sum_l \sum_{k \in T_l} s_k (e^{(l)}_k)^2 \quad\text{subject to}\quad
              |e^{(l)}_j - e^{(h)v}_j| \le \alpha_S, \quad j \in V_h,\; l \ne h

    a program in c, of which z = y - c is solved for: zero is the null model. It costs a machine and
    as many bounds as samples for each fold; :class:`FastStable` has as many as samples altogether.

    Parameters
    ----------
    system : System
        The substrate on the whole sample.
    folds : Folds
        The partition.
    training : float, default=1e-3
        The weight :math:`\tau` of residuals of samples trained on. Without it c is determined by
        rounding only.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (8.35).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer_research.fusion import FullStable, System
    >>> from mercer_research.selection.folds import Folds
    >>> x = np.linspace(0, 1, 20)[:, None]
    >>> y = np.sin(6 * x[:, 0])
    >>> system = System(Gaussian(0.2)(x), y, np.ones((20, 1)))
    >>> stable = FullStable(system, Folds(np.arange(20) % 4))
    >>> e, left_out = stable.residuals(y, stable.solve(y, 0.05).z)
    >>> bool(np.max(np.abs(e - left_out)) < 0.05 + 1e-9)
    True
    """

    def __init__(self, system: System, folds: Folds, training: float = 1e-3) -> None:
        if not training >= 0:
            raise ValueError(f"training must be a weight of at least zero, got {training!r}.")
        self.system, self.folded = system, FoldedSubstrate(system, folds)
        Q, D, L, one = system.Q, self.folded.D, folds.n_folds, np.eye(len(system.K))
        DQ, ridge, root = D @ Q, system.ridge[:, None], np.sqrt(system.weights)
        left, mean = one - DQ, one - ridge * (L * Q - Q @ DQ) / (L - 1)
        rows, changes = [root[:, None] * left], []
        for fold in range(L):
            T, V = folds.outside(fold), folds.inside(fold)
            # The machine without V has the coefficients P z of its samples.
            P = Q[T] - Q[np.ix_(T, V)] @ D[np.ix_(V, V)] @ Q[V]
            trained = one[T] - ridge[T] * P
            rows.append(np.sqrt(training) * root[T, None] * trained)
            changes.append(trained - left[T])
        order = [np.arange(len(one)), *(folds.outside(fold) for fold in range(L))]
        self._order = np.concatenate(order)
        self._root = root[self._order]
        self._root[len(one) :] *= np.sqrt(training)
        slab = Slab(np.concatenate(rows), np.concatenate(changes))
        super().__init__(slab, mean, left, system.weights)

    def _target(self, y: Array) -> Array:
        return np.asarray(self._root * y[self._order])

    def coefficients(self, Z: ArrayLike, final: str = "refit") -> tuple[Array, Array]:
        """Return a (n, d) and b (q, d) of the final machine from the shared parameters, (n, d).

        Parameters
        ----------
        Z : (n, d) array
            From :meth:`solve`, one column for each output of the substrate.
        final : {"refit", "average"}
            The machine of the whole sample with the constants found, or the average of those of
            the folds.
        """
        c = self.system.y - np.asarray(Z, dtype=np.float64)
        return self.system.coefficients(c) if final == "refit" else self.folded.average(c)
