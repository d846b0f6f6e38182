r"""Adaptation of a manifold: its coefficients for fixed latent coordinates, a convex problem.

.. math:: \min_W \; \frac1\nu \sum_i s_i\, c(x_i, W'p_i) + \lambda Q(W)

with rows :math:`p_i` of columns, weights s, and :math:`\nu = \sum_i s_i` or one. All that a squared
cost needs are sums over rows, :math:`A = P'SP` and :math:`P'SX`, so that rows may come in blocks.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, MultiTaskLasso

from mercer.data.base import Sums
from mercer.kernels.points import Array

__all__ = ["Adapted", "Penalty", "dual_gap", "normal_sums"]

# Largest number of sweeps of coordinate descent, and its gap relative to the squared targets.
SWEEPS, PRECISE = 1_000, 1e-8


@dataclass(frozen=True)
class Adapted:
    """Coefficients, with what their objective may exceed the minimum by.

    Parameters
    ----------
    W : (s, d) array
    gap : float
        Bound on the excess of the convex problem, in the units of the objective.
    """

    W: Array
    gap: float


def normal_sums(P: Array, X: Array, weights: Array) -> Sums:
    """Return sums over rows that the weighted squared cost depends on.

    Parameters
    ----------
    P : (n, s) array
        Columns at the latent coordinates.
    X : (n, d) array
        Rows, NaN where a cell is missing.
    weights : (n,) or (n, d) array
        Of rows, or of cells.

    Returns
    -------
    Sums
        Under `A` (s, s), or (d, s, s) where cells have weights of their own, `b` (s, d) and
        `square` (d,).
    """
    known = ~np.isnan(X)
    if weights.ndim == 1 and known.all():
        PS = P * weights[:, None]
        return Sums(A=PS.T @ P, b=PS.T @ X, square=np.einsum("n,nd,nd->d", weights, X, X))
    S = (weights[:, None] if weights.ndim == 1 else weights) * known
    X = np.where(known, X, 0.0)
    A = np.stack([(P * s[:, None]).T @ P for s in S.T])
    return Sums(A=A, b=P.T @ (S * X), square=np.einsum("nd,nd,nd->d", S, X, X))


@dataclass(frozen=True)
class Penalty:
    r"""A regularizer of coefficients and its weight.

    Parameters
    ----------
    name : str
        "kernel", "length", "weight decay": half the squared length of the penalized coefficients;
        "l1": the sum of their sizes; "group": the sum of the lengths of their rows.
    lam : float
        Weight :math:`\lambda`.
    r : int
        Number of penalized rows of W; free ones follow.
    """

    name: str
    lam: float
    r: int

    def __call__(self, W: Array) -> float:
        """Return Q."""
        W = W[: self.r]
        if self.name == "l1":
            return float(np.abs(W).sum())
        if self.name == "group":
            return float(np.sqrt(np.einsum("sd,sd->s", W, W)).sum())
        return 0.5 * float(np.sum(W**2))

    @property
    def quadratic(self) -> bool:
        """Whether Q is a sum of squares."""
        return self.name not in ("l1", "group")

    def value(self, sums: Sums, nu: float, W: Array) -> float:
        """Return the objective at coefficients, by the sums of a squared cost."""
        return self.fidelity(sums, nu, W) + self.lam * self(W)

    def fidelity(self, sums: Sums, nu: float, W: Array) -> float:
        """Return the weighted squared cost over nu, by its sums."""
        A = sums["A"]
        product = A @ W if A.ndim == 2 else np.einsum("dst,td->sd", A, W)
        total = sums["square"].sum() + np.sum(W * (product - 2.0 * sums["b"]))
        return max(float(total), 0.0) / nu

    def minimize(self, sums: Sums, nu: float, start: Array | None = None) -> Adapted:
        """Return the best coefficients of a weighted squared cost.

        Parameters
        ----------
        sums : Sums
            From :func:`normal_sums`.
        nu : float
            Divisor of the summed cost.
        start : (s, d) array, optional
            Coefficients that are kept where rounding makes the new ones worse.
        """
        if self.quadratic:
            found = self._ridge(sums, nu)
        elif sums["A"].ndim == 2:
            found = self._sparse(sums["A"], sums["b"], nu, start)
        elif self.name == "l1":
            parts = [
                self._sparse(A, b[:, None], nu, None if start is None else start[:, [j]])
                for j, (A, b) in enumerate(zip(sums["A"], sums["b"].T, strict=True))
            ]
            found = Adapted(np.hstack([p.W for p in parts]), sum(p.gap for p in parts))
        else:
            raise ValueError(
                "penalty='group' ties the features of a node to each other, which missing cells "
                "and absolute costs take apart; use penalty='l1' or 'kernel'."
            )
        if start is not None and self.value(sums, nu, start) < self.value(sums, nu, found.W):
            return Adapted(start, found.gap)
        return found

    def _ridge(self, sums: Sums, nu: float) -> Adapted:
        A, b = sums["A"], sums["b"]
        if A.ndim == 2:
            return self._solved(A, b, nu)
        parts = [self._solved(a, c[:, None], nu) for a, c in zip(A, b.T, strict=True)]
        return Adapted(np.hstack([part.W for part in parts]), sum(part.gap for part in parts))

    def _solved(self, A: Array, b: Array, nu: float) -> Adapted:
        r"""Solve :math:`(A + \tfrac12 \lambda \nu I_r) W = b`, and once more for the residual."""
        H = A.copy()
        H[range(self.r), range(self.r)] += 0.5 * self.lam * nu
        try:
            factor = la.cho_factor(H)
            W = la.cho_solve(factor, b)
            W += la.cho_solve(factor, b - H @ W)
            left = b - H @ W
            excess = float(np.sum(left * la.cho_solve(factor, left))) / nu
        except la.LinAlgError:
            # Free columns that depend on each other, or no penalty: the shortest solution.
            W, _, _, _ = la.lstsq(H, b)
            left = b - H @ W
            excess = float(np.sum(left * la.lstsq(H, left)[0])) / nu
        return Adapted(np.asarray(W), max(excess, 0.0))

    def _sparse(self, A: Array, b: Array, nu: float, start: Array | None) -> Adapted:
        """Solve a lasso by coordinate descent, its free columns eliminated first."""
        r = self.r
        free, cross = A[r:, r:], A[r:, :r]
        back = (
            la.lstsq(free, np.hstack([cross, b[r:]]))[0]
            if len(free)
            else np.zeros((0, r + b.shape[1]))
        )
        M = A[:r, :r] - cross.T @ back[:, :r]
        h = b[:r] - cross.T @ back[:, r:]
        # A root of M stands for all rows: the squared cost is the same up to a constant.
        values, vectors = la.eigh(M)
        some = values > r * np.finfo(float).eps * max(float(values[-1]), 0.0)
        root = np.sqrt(values[some])
        X = root[:, None] * vectors[:, some].T
        Y = (vectors[:, some] / root).T @ h
        n = max(len(X), 1)
        machine = (MultiTaskLasso if self.name == "group" else Lasso)(
            alpha=0.5 * self.lam * nu / n,
            fit_intercept=False,
            tol=PRECISE,
            max_iter=SWEEPS,
            warm_start=start is not None,
        )
        if start is not None:
            machine.coef_ = np.asfortranarray(start[:r].T)
        if not len(X):
            alpha, gap = np.zeros((r, b.shape[1])), 0.0
        else:
            with warnings.catch_warnings():
                # The gap is measured below, and told to whoever asked.
                warnings.simplefilter("ignore", ConvergenceWarning)
                machine.fit(X, Y)
            alpha = np.reshape(machine.coef_, (b.shape[1], r)).T
            gap = self._sparse_gap(X, Y, alpha, nu)
        W = np.vstack([alpha, back[:, r:] - back[:, :r] @ alpha])
        return Adapted(W, gap)

    def _sparse_gap(self, X: Array, Y: Array, alpha: Array, nu: float) -> float:
        r"""Return the duality gap of :math:`|Y - X\alpha|^2/\nu + \lambda Q(\alpha)`.

        The residual, shortened until :math:`2|X'R|/\nu \le \lambda` in the dual norm, is feasible.
        """
        R = Y - X @ alpha
        slope = 2.0 * (X.T @ R) / nu
        columns = self.name == "l1"
        size = np.abs(slope).max(axis=0) if columns else np.linalg.norm(slope, axis=1).max()
        shrink = np.minimum(1.0, self.lam / np.maximum(size, 1e-300))
        norm = np.sum(R**2, axis=0) if columns else np.sum(R**2)
        along = np.sum(R * Y, axis=0) if columns else np.sum(R * Y)
        dual = np.sum(2.0 * shrink * along - shrink**2 * norm) / nu
        return max(float(np.sum(norm)) / nu + self.lam * self(alpha) - float(dual), 0.0)


def dual_gap(
    penalty: Penalty, P: Array, X: Array, SU: Array, conjugate: float, value: float
) -> float:
    r"""Return the duality gap of a cost and a penalty, from slopes of the cost.

    For slopes :math:`u_i` within the domain of the conjugate :math:`c^*`, with
    :math:`P_0'SU = 0` for the free columns,

    .. math:: D = \frac1\nu \sum_i s_i (u_i'x_i - c^*(u_i)) - (\lambda Q)^*\Bigl(\frac1\nu
              P_r'SU\Bigr)

    is below the minimum. The conjugate of a squared length is one again; that of a norm is zero
    where the dual norm is at most :math:`\lambda`, so that slopes are shortened until it is.

    Parameters
    ----------
    penalty : Penalty
    P : (n, s) array
    X : (n, d) array
        Rows, zero where a cell is missing.
    SU : (n, d) array
        Slopes times weights over nu.
    conjugate : float
        Sum of weighted values of the conjugate, over nu; at most quadratic in the slopes.
    value : float
        Objective whose excess is bounded.
    """
    pull = P[:, : penalty.r].T @ SU
    along = float(np.sum(SU * X))
    if penalty.quadratic:
        return value - (along - conjugate - float(np.sum(pull**2)) / (2.0 * penalty.lam))
    size = np.abs(pull).max() if penalty.name == "l1" else np.linalg.norm(pull, axis=1).max()
    shrink = min(1.0, penalty.lam / max(float(size), 1e-300))
    # The conjugate of a shortened slope is at most shrink times the conjugate, as it is convex.
    return value - shrink * (along - conjugate)
