r"""Additive constants tuned by cross-validation, without a machine per fold.

With Q of the whole sample, D the inverses of its diagonal blocks :math:`Q_{VV}` fold by fold, and
:math:`P_l = Q - Q_{:V} Q_{VV}^{-1} Q_{V:}`, whose rows and columns of fold l vanish,

.. math:: a^{(l)} = P_l (y - c), \qquad e^v = c + DQ(y - c), \qquad
          \sum_l P_l = LQ - QDQ, \qquad
          \sum_l P_l Z P_l = L\bar Z - \bar Z DQ - QD\bar Z + QD \bar Z^{cv} DQ

with :math:`\bar Z = QZQ` for a diagonal Z: the normal equations of all folds cost a few products
of n x n matrices, whatever the number of folds.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh, lstsq

from mercer._params import check_sample_weight
from mercer._typing import Array
from mercer.gram.factor import orthonormal
from mercer.gram.precomputed import Precomputed
from mercer.losses.base import Loss
from mercer.problems.risk import RegularizedRisk
from mercer.solvers import minimize
from mercer.solvers.auto import Auto
from mercer_research.fusion.substrate import System
from mercer_research.selection.folds import Folds

__all__ = ["FastFusion", "FoldedSubstrate", "fast_fusion"]


# Condition of a block of the inverse beyond which no four digits of a left-out residual are right.
SINGULAR = 1e12


class FoldedSubstrate:
    r"""A substrate whose folds share the additive constants of their samples.

    .. math:: \min_c \sum_l \sum_{k \in V_l} s_k (e_k^{(l)v})^2
              + \sum_l \sum_{k \in T_l} s_k (e_k^{(l)})^2

    Parameters
    ----------
    system : System
        The substrate on the whole sample.
    folds : Folds
        The partition.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (8.17) to (8.21).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer_research.fusion import FoldedSubstrate, System
    >>> from mercer_research.selection.folds import Folds
    >>> x = np.linspace(0, 1, 20)[:, None]
    >>> system = System(Gaussian(0.3)(x), np.sin(6 * x[:, 0]), np.ones((20, 1)))
    >>> folded = FoldedSubstrate(system, Folds(np.arange(20) % 5))
    >>> c = folded.best_shifts()
    >>> bool(folded.cost(c) < folded.cost(np.zeros(20)))
    True
    """

    def __init__(self, system: System, folds: Folds) -> None:
        self.system, self.folds = system, folds
        Q = system.Q
        self.D = np.zeros_like(Q)
        for fold in range(folds.n_folds):
            V = folds.inside(fold)
            block = Q[np.ix_(V, V)]
            # Where a fold alone determines an unpenalized function, nothing of Q is left for it.
            if np.linalg.cond(block) > SINGULAR:
                raise ValueError(
                    f"without fold {fold} the unpenalized functions are not determined; take more "
                    "folds, or fewer functions."
                )
            self.D[np.ix_(V, V)] = np.linalg.inv(block)

    def left_out(self, c: ArrayLike) -> Array:
        """Return the residuals of samples by the machine without their fold, like y."""
        c = np.asarray(c, dtype=np.float64)
        return np.asarray(c + self.D @ (self.system.Q @ (self.system.y - c)))

    def fold_coefficients(self, fold: int, c: ArrayLike) -> tuple[Array, Array]:
        """Return a and b of the machine without one fold; its samples have coefficients zero."""
        system, V = self.system, self.folds.inside(fold)
        z = system.y - np.asarray(c, dtype=np.float64)
        whole = system.Q @ z
        a = whole - system.Q[:, V] @ (self.D[np.ix_(V, V)] @ whole[V])
        a[V] = 0.0
        T = self.folds.outside(fold)
        U, back = orthonormal(system.B[T])
        left = (z - system.K @ a - (a.T * system.ridge).T)[T]
        return a, back @ (U.T @ left)

    def fold_residuals(self, fold: int, c: ArrayLike) -> Array:
        """Return the residuals of the samples that the machine of a fold was trained on."""
        T = self.folds.outside(fold)
        a, _ = self.fold_coefficients(fold, c)
        return np.asarray((a.T * self.system.ridge).T[T] + np.asarray(c, dtype=np.float64)[T])

    def mean_residuals(self, c: ArrayLike) -> Array:
        """Return residuals averaged over the machines that were trained with a sample."""
        c = np.asarray(c, dtype=np.float64)
        a = self._sum_P @ (self.system.y - c)
        return np.asarray((a.T * self.system.ridge).T / (self.folds.n_folds - 1) + c)

    def cost(self, c: ArrayLike) -> float:
        """Return the sum of all squared residuals, left out and not."""
        s = self.system.weights
        total = float(np.sum(s @ self.left_out(c) ** 2))
        for fold in range(self.folds.n_folds):
            T = self.folds.outside(fold)
            total += float(np.sum(s[T] @ self.fold_residuals(fold, c) ** 2))
        return total

    @cached_property
    def _sum_P(self) -> Array:
        Q = self.system.Q
        return np.asarray(self.folds.n_folds * Q - Q @ self.D @ Q)

    @cached_property
    def normal_equations(self) -> tuple[Array, Array]:
        """The matrix and the right side of the equations that the best c satisfies."""
        system, L = self.system, self.folds.n_folds
        Q, s, C0, y = system.Q, system.weights, system.C0, system.y
        DQ = self.D @ Q
        Z = Q @ (system.ridge[:, None] * Q)
        ZDQ = Z @ DQ
        sum_PZP = L * Z - ZDQ - ZDQ.T + DQ.T @ self.folds.within(Z) @ DQ
        M = np.eye(len(Q)) - DQ
        N = M.T @ (s[:, None] * M) + (L - 1) * np.diag(s) + (sum_PZP - 2.0 * self._sum_P) / C0
        g = M.T @ (s * (DQ @ y).T).T + (self._sum_P @ y - sum_PZP @ y) / C0
        return 0.5 * (N + N.T), -g

    def best_shifts(self, penalty: float = 0.0) -> Array:
        r"""Return the c with the least cost, like y; the shortest if there are several.

        Parameters
        ----------
        penalty : float, default=0.0
            The weight of :math:`\sum_i s_i c_i^2` beside the cost.
        """
        N, g = self.normal_equations
        values, vectors = eigh(N + penalty * np.diag(self.system.weights))
        # The rounding of the products: smaller eigenvalues are known to no digit.
        keep = values > len(N) * np.finfo(np.float64).eps * values[-1]
        V = vectors[:, keep]
        return np.asarray(V @ ((V.T @ g).T / values[keep]).T)

    def average(self, c: ArrayLike) -> tuple[Array, Array]:
        """Return a and b of the average of the machines of all folds."""
        machines = [self.fold_coefficients(fold, c) for fold in range(self.folds.n_folds)]
        a, b = (np.mean([machine[k] for machine in machines], axis=0) for k in (0, 1))
        return a, b


class FastFusion(NamedTuple):
    """A vector of coefficients that the machines of all folds share."""

    a: Array
    """Coefficients of the kernel, which every machine uses off its fold, (n, d)."""
    b: Array
    """Coefficients of the unpenalized functions, (q, d)."""
    residuals: Array
    """Residuals averaged over the machines trained with a sample, (n, d)."""
    left_out: Array
    """Residuals of the machine without its fold, (n, d)."""


def fast_fusion(
    K: ArrayLike,
    y: ArrayLike,
    folds: Folds,
    B: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    loss: Loss | None = None,
    penalty: float = 0.0,
) -> FastFusion:
    r"""Fit machines of all folds at once that share their coefficients.

    .. math:: \min_{a, b} \sum_k s_k\, l(e_k) + \tfrac12 \sum_k s_k (e_k - e^v_k)^2
              + \tfrac{\rho}{2} \sum_k \frac{a_k^2}{s_k} \quad\text{subject to}\quad B'a = 0, \qquad
              e = y - Bb - \frac{(L-2)K + K^{cv}}{L-1} a, \quad e^v = y - Bb - (K - K^{cv}) a

    where e averages over the machines trained with a sample: the second term asks that leaving a
    sample out changes little. With half the squared loss this is least squares in n + q unknowns.
    For other losses the second term is the norm of a function, so that any solver of a regularized
    risk applies.

    Parameters
    ----------
    K : (n, n) array
        Kernel matrix.
    y : (n,) or (n, d) array
        Targets.
    folds : Folds
        The partition.
    B : (n, q) array, optional
        Unpenalized columns; none by default.
    weights : (n,) array, optional
        Weights s of the samples; ones by default.
    loss : Loss, optional
        Loss of the averaged residuals; squared by default.
    penalty : float, default=0.0
        The weight :math:`\rho` of the coefficients, which the source does not have. Without it a
        smooth kernel on a large sample is fitted with coefficients of any size.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (8.22) to (8.33); the matrices
    of (8.28) and (8.31) are corrected: a pair of different folds is shared by L - 2 machines.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer_research.fusion import fast_fusion
    >>> from mercer_research.selection.folds import Folds
    >>> x = np.linspace(0, 1, 30)[:, None]
    >>> found = fast_fusion(Gaussian(0.3)(x), x[:, 0], Folds(np.arange(30) % 5), np.ones((30, 1)))
    >>> bool(np.max(np.abs(found.left_out)) < 0.01)
    True
    """
    K, y = np.asarray(K, dtype=np.float64), np.asarray(y, dtype=np.float64)
    Y = y.reshape(len(K), -1)
    B = np.zeros((len(K), 0)) if B is None else np.asarray(B, dtype=np.float64)
    s = check_sample_weight(weights, len(K), "weights")
    q = int(np.linalg.matrix_rank(B)) if B.shape[1] else 0
    basis = orthonormal(B)[0] if q else np.zeros((len(K), 0))
    # All a with B'a = 0.
    free = np.linalg.qr(basis, mode="complete")[0][:, basis.shape[1] :]
    mean, change = folds.averaged(K), folds.difference(K)
    A, move = mean @ free, np.sqrt(s)[:, None] * (change @ free)
    if penalty > 0:
        move = np.concatenate([move, np.sqrt(penalty / s)[:, None] * free])
    if loss is None or loss.quadratic:
        z, b = _least_squares(A, move, B, Y, np.sqrt(s))
    else:
        z, b = _regularized_risk(A, move, B, Y, s, loss)
    a = free @ z
    fitted = B @ b
    return FastFusion(a, b, Y - fitted - mean @ a, Y - fitted - folds.across(K) @ a)


def _least_squares(A: Array, move: Array, B: Array, Y: Array, root: Array) -> tuple[Array, Array]:
    """Return the shortest minimum of squared residuals and squared changes."""
    still = np.zeros((len(move), B.shape[1]))
    rows = np.block([[root[:, None] * A, root[:, None] * B], [move, still]])
    right = np.concatenate([root[:, None] * Y, np.zeros((len(move), Y.shape[1]))])
    found: Any = lstsq(rows, right, lapack_driver="gelsy", check_finite=False)[0]
    return found[: A.shape[1]], found[A.shape[1] :]


def _regularized_risk(
    A: Array, move: Array, B: Array, Y: Array, s: Array, loss: Loss
) -> tuple[Array, Array]:
    """Solve the regularized risk whose kernel is A (move' move)^-1 A'."""
    values, vectors = eigh(move.T @ move)
    keep = values > len(values) * np.finfo(np.float64).eps * values[-1]
    V = vectors[:, keep] / np.sqrt(values[keep])
    still = vectors[:, ~keep]  # these change nothing between folds, and are not penalized
    features, columns = A @ V, np.concatenate([B, A @ still], axis=1)
    gram, z, b = Precomputed(features @ features.T), [], []
    for target in Y.T:
        risk = RegularizedRisk(loss, gram, np.ascontiguousarray(target), s, columns)
        solution = minimize(risk, Auto(tol=1e-8))
        z.append(V @ (features.T @ solution.a) + still @ solution.b[B.shape[1] :])
        b.append(solution.b[: B.shape[1]])
    return np.stack(z, axis=1), np.stack(b, axis=1)
