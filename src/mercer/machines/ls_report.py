r"""The factorization of a least-squares machine and its diagnostics, computed on first use.

With the covariance :math:`V = K + E` of the observations in units of the kernel, E that of their
errors (:math:`\operatorname{diag}(1/c)` if they are independent), and the block Q of the inverse of
the bordered matrix,

.. math:: a = Qy, \qquad \frac{\partial f(x)}{\partial y} = w(x), \qquad S = 1 - EQ, \qquad
          y_i - \hat y_i^{(-i)} = \frac{a_i}{Q_{ii}}.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._typing import Array, Function, PointsLike
from mercer.gram.factor import MAX_BYTES
from mercer.gram.make import make as make_gram
from mercer.kernels.base import Kernel
from mercer.machines.best_linear import BestLinear
from mercer.machines.evaluating import dense
from mercer.machines.protocol import LeastSquaresMachine
from mercer.regularizers.errors import ErrorModel
from mercer.smoothing.eigendecomposition import Spectral
from mercer.solvers import Solution

__all__ = ["Report", "UnavailableError", "kept", "quick_listing", "report_of"]

# Matrices of the size of K that are alive at once: K, V, its factor, Q and a copy.
LIVE_MATRICES = 5
# A listing of attributes reads them all; for larger samples it leaves out what costs seconds.
MAX_LISTED_ROWS = 1000


class UnavailableError(ValueError, AttributeError):
    """A machine that cannot tell: an error of methods, and an attribute that is not there."""


@dataclass(eq=False)
class Report:
    """The sample that a machine was fitted to, with the diagnostics of one factorization.

    Parameters
    ----------
    kernel : Kernel or callable
        What compares points; a plain function compares samples.
    X : array, sparse array or objects
        The sample; its kernel matrix if the kernel is precomputed.
    B : (n, q) array
        Unpenalized columns.
    y : (n, d) array
        Targets.
    c : (n,) array
        Weights of the losses.
    errors : ErrorModel, optional
        Covariance of the errors.
    turn, shares : (d, d) and (d,) arrays
        Directions among outputs that do not know of each other, and the factors of their weights.
    kind : str or callable
        How the machine held its kernel matrix.
    """

    kernel: Kernel | Function
    X: PointsLike
    B: Array
    y: Array
    c: Array
    errors: ErrorModel | None
    turn: Array
    shares: Array
    kind: str | Function = "auto"

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key in self.__annotations__}

    # The matrix and its factorizations -----------------------------------------------------------

    @property
    def n(self) -> int:
        return len(self.c)

    @property
    def known(self) -> bool:
        """Whether the factorization is there."""
        return "factors" in vars(self)

    @cached_property
    def live(self) -> Any:
        """Samples that have a weight."""
        return np.flatnonzero(self.c > 0)

    @cached_property
    def dead(self) -> Any:
        """Samples that are predicted only."""
        return np.flatnonzero(self.c == 0)

    def check_size(self) -> None:
        """Refuse a sample whose matrices exceed the memory."""
        need = 8.0 * LIVE_MATRICES * self.n**2
        if need > MAX_BYTES:
            raise UnavailableError(
                f"diagnostics of {self.n} samples take {need:.1e} bytes, more than {MAX_BYTES:.0e}:"
                " they read the whole inverse. Fit a part of the sample to learn about it."
            )

    @cached_property
    def K(self) -> Array:
        """The kernel matrix of the sample as the machine saw it."""
        self.check_size()
        if not isinstance(self.kernel, Kernel):
            return np.asarray(dense(self.kernel(self.X, self.X)), dtype=np.float64)
        kind = self.kind if callable(self.kind) else "dense"
        return make_gram(self.kernel, self.X, kind=kind).dense().astype(np.float64, copy=False)

    @cached_property
    def E(self) -> Array | None:
        """The covariance of correlated errors; None for independent errors."""
        if self.errors is None:
            return None
        if np.any(self.c != self.c[0]):
            raise UnavailableError(
                "weights act on whitened errors, which mix samples; with correlated errors "
                "diagnostics need equal weights."
            )
        return np.asarray(self.errors.matrix(self.X))

    def cross(self, X: PointsLike) -> Array:
        """Return kernel values of new points, (m, n)."""
        if not isinstance(self.kernel, Kernel):
            return np.asarray(dense(self.kernel(X, self.X)), dtype=np.float64)
        Z = np.arange(self.n) if self.kernel.precomputed else self.X
        return np.asarray(self.kernel(X, Z), dtype=np.float64)

    @cached_property
    def factors(self) -> list[BestLinear]:
        """The factorized problem of every direction; directions of one weight share it."""
        index = np.ix_(self.live, self.live)
        K, done = self.K[index] if len(self.dead) else self.K, {}
        for share in self.shares:
            if share not in done:
                V = K.copy()
                if self.E is None:
                    V[np.diag_indices(len(V))] += 1.0 / (share * self.c[self.live])
                else:
                    V += self.E[index] / (share * self.c[0])
                try:
                    done[share] = BestLinear(V, self.B[self.live])
                except ValueError as error:
                    raise UnavailableError(f"the machine cannot tell: {error}") from error
        return [done[share] for share in self.shares]

    @cached_property
    def spectral(self) -> Spectral:
        """The machine for every C."""
        self.check_size()
        return Spectral(self.K, self.B, self.c / np.max(self.c))

    @property
    def coupled(self) -> bool:
        """Whether outputs know of each other."""
        return bool(np.any(self.shares != 1.0))

    # What they tell, output by output ------------------------------------------------------------

    def _noise(self, k: int, v: Array) -> Array:
        """Return ``E v`` of direction k for live samples."""
        if self.E is None:
            return np.asarray((v.T / (self.shares[k] * self.c[self.live])).T)
        E = self.E[np.ix_(self.live, self.live)]
        return np.asarray(E @ v / (self.shares[k] * self.c[0]))

    @cached_property
    def turned(self) -> Array:
        """Targets of live samples along the directions, (m, d)."""
        return np.asarray(self.y[self.live] @ self.turn)

    @cached_property
    def coefficients(self) -> Array:
        """Coefficients along the directions, (m, d)."""
        return np.column_stack(
            [best.coefficients(self.turned[:, k])[0] for k, best in enumerate(self.factors)]
        )

    @cached_property
    def slopes(self) -> Array:
        """Derivatives of the optimal value by the targets, (n, d)."""
        out = np.zeros(self.y.shape)
        out[self.live] = (self.coefficients / self.shares) @ self.turn.T
        return out

    def shares_of_smoother(self, k: int) -> Array:
        """Return the diagonal of the smoother of direction k, (n,)."""
        best = self.factors[k]
        if self.E is None:
            kept = best.diagonal / (self.shares[k] * self.c[self.live])
        else:
            kept = np.einsum("ij,ji->i", self._noise(k, np.eye(len(self.live))), best.inverse)
        out = np.zeros(self.n)
        out[self.live] = 1.0 - kept
        return out

    @cached_property
    def leverages(self) -> Array:
        """Return ``df_k(x_i) / dy_ik``, (n, d)."""
        S = np.column_stack([self.shares_of_smoother(k) for k in range(len(self.shares))])
        return np.asarray(S @ (self.turn.T**2))

    @cached_property
    def fitted(self) -> Array:
        """Values of the machine at the sample, (n, d)."""
        out = np.empty(self.y.shape)
        noise = [self._noise(k, a) for k, a in enumerate(self.coefficients.T)]
        out[self.live] = self.y[self.live] - np.column_stack(noise) @ self.turn.T
        if len(self.dead):
            out[self.dead] = self._dead_values()
        return out

    def _dead_values(self) -> Array:
        K, B = self.K[np.ix_(self.dead, self.live)], self.B[self.dead]
        values = [best.weights(K, B) @ self.turned[:, k] for k, best in enumerate(self.factors)]
        return np.column_stack(values) @ self.turn.T

    @cached_property
    def left_out(self) -> Array:
        """Errors of observations predicted by the others, (n, d)."""
        out = self.y - self.fitted
        errors = [best.left_out(self.turned[:, k]) for k, best in enumerate(self.factors)]
        out[self.live] = np.column_stack(errors) @ self.turn.T
        return out

    def read_left_out(self, solutions: Sequence[Solution]) -> None:
        """Read left-out errors of outputs off their solutions, if these know their precisions."""
        q = solutions[0].precisions
        if q is None:
            return
        out = self.y - np.column_stack([one.f for one in solutions])
        A = np.column_stack([one.a for one in solutions])
        out[self.live] = A[self.live] / q[self.live, None]
        self.left_out = out

    @cached_property
    def left_out_function(self) -> Array:
        """Deviations of targets from the function of the others, (n, d)."""
        if self.E is None:
            return self.left_out
        # The prediction of an observation contains what is known of its error: take it out.
        errors = [best.left_out(self.turned[:, k]) for k, best in enumerate(self.factors)]
        own = [self.shares_of_smoother(k)[self.live] * error for k, error in enumerate(errors)]
        return np.asarray(self.y - self.fitted + np.column_stack(own) @ self.turn.T)

    def weights(self, k: int, K: Array, B: Array) -> Array:
        """Return the weights of targets in the function of direction k at new points, (m, n)."""
        out = np.zeros((len(K), self.n))
        out[:, self.live] = self.factors[k].weights(K[:, self.live], B)
        return out

    def influence(self, K: Array, B: Array) -> Array:
        """Return the derivative of the function by the targets, (m, n), or (m, d, n, d)."""
        if not self.coupled:
            return self.weights(0, K, B)
        W = np.stack([self.weights(k, K, B) for k in range(len(self.shares))])
        return np.asarray(np.einsum("gk,kmi,hk->mgih", self.turn, W, self.turn))

    # What they say of chance ---------------------------------------------------------------------

    @property
    def contrasts(self) -> int:
        """Degrees of freedom left beside the unpenalized functions."""
        return int(len(self.live) - self.factors[0].U.shape[1])

    @cached_property
    def scales(self) -> Array:
        """The most likely variance of the process in units of the kernel, (d,)."""
        if not self.contrasts:
            raise UnavailableError(
                "the unpenalized functions explain all samples; take more samples."
            )
        squares = [
            np.sum(best.whitened(self.turned[:, k]) ** 2) / (share * self.contrasts)
            for k, (best, share) in enumerate(zip(self.factors, self.shares, strict=True))
        ]
        # Outputs of one covariance have one scale; others may have units of their own.
        return np.full(len(squares), np.mean(squares)) if self.coupled else np.array(squares)

    def likelihood(self, scales: Array) -> float:
        """Return the restricted likelihood of all outputs at variances of the process."""
        total = 0.0
        for k, (best, share) in enumerate(zip(self.factors, self.shares, strict=True)):
            size = share * scales[k]
            square = np.sum(best.whitened(self.turned[:, k]) ** 2) / size
            total += best.log_det + self.contrasts * np.log(2 * np.pi * size) + square
        return -0.5 * float(total)

    def variances(self, K: Array, B: Array, diagonal: Array) -> Array:
        """Return variances of the function in units of the process, (m, d)."""
        V = [
            share * best.variance(K[:, self.live], B, diagonal)
            for best, share in zip(self.factors, self.shares, strict=True)
        ]
        return np.column_stack(V) @ (self.turn.T**2)


def kept(X: PointsLike, vectors: Any) -> Any:
    """Return a sample in memory of the machine's own, which often has it already.

    Parameters
    ----------
    X : array, sparse array or objects
        The sample.
    vectors : array or sparse array
        What the machine keeps of it.
    """
    same = isinstance(vectors, np.ndarray) and isinstance(X, np.ndarray)
    if same and vectors.shape == X.shape and np.array_equal(vectors, X):
        return vectors
    return copy.copy(X)


def report_of(machine: LeastSquaresMachine) -> Report:
    """Return the report of a fitted machine; refuse a machine without a factorization."""
    check_is_fitted(machine)
    if machine._local is not None:
        raise UnavailableError(
            "a local machine has one factorization in every leaf and none of all rows; ask the "
            "machines of its leaves, such as leaves_[0].machine, or for intervals fit "
            "ConformalRegressor(machine)."
        )
    if machine._report is None:
        raise UnavailableError(
            "a mean of machines, a compressed machine and a low-rank approximation have no "
            "factorization of their own; fit with std=0, ask the machine before compression, "
            "or fit without approximation."
        )
    report: Report = machine._report
    return report


def quick_listing(machine: LeastSquaresMachine) -> Iterable[str]:
    """List the attributes of a machine without diagnostics that are not computed yet and slow.

    scikit-learn's listing, and the page that shows an estimator, read every attribute.
    """
    report = vars(machine).get("_report")
    quick = report is None or report.n <= MAX_LISTED_ROWS or report.known
    names = [name for name in object.__dir__(machine) if quick or name not in machine._lazy]
    return [name for name in names if hasattr(machine, name)]
