r"""Squared loss is a linear system: conjugate gradients need products with K only.

.. math::

    \begin{pmatrix} K + \operatorname{diag}(1/c) & B \\ B' & 0 \end{pmatrix} \binom{a}{b}
    = \binom{y}{d}

The bordered matrix is indefinite, and K perhaps too; on the vectors with :math:`B'x = 0` the matrix
:math:`K + \operatorname{diag}(1/c)` is positive definite, and all steps are taken there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.data.memory import machine_bytes
from mercer.gram.base import Gram
from mercer.gram.factor import MAX_BYTES, Indefinite, Solve, orthonormal
from mercer.gram.pivoted import pivoted_cholesky
from mercer.problems.reductions import LinearSystem, infeasible, linear_system
from mercer.problems.risk import RegularizedRisk
from mercer.solvers._preconditioner import (
    approximately,
    nystrom,
    rounded,
    thin_rank,
    worthwhile,
)
from mercer.solvers._system import iterated
from mercer.solvers.base import Answer, Solver
from mercer.solvers.monitor import Monitor
from mercer.solvers.solution import Solution

__all__ = ["ConjugateGradient"]

# A residual is carried along for half of the tolerance; what rounding has made of the true one is
# measured then, and is the right-hand side of another round if it is too much.
CARRIED_TOL_PART, EPS = 0.5, float(np.finfo(np.float64).eps)
# The error of a product with kernel values in float32, in units of the length of the vector and of
# the largest value: three roundings, with no common sign. A round does not go below it.
FLOAT32_ROUNDING = 3 * 2.0**-24
# Shift, in units of the largest kernel value, beside which a factor in float32 is as good as exact:
# the rounding of 10,000 rows of ones adds up to 2^-24 * 1e4 = 6e-4 at most.
FLOAT32_SHIFT_PART = 1e-3
# The largest part of the memory of a machine that kernel values and factor may take.
MACHINE_BYTES_PART = 0.5
# Columns, in units of sqrt(n), for which memory is left beside the kernel values.
RESERVED_COLUMNS_PER_ROOT = 12.0
# Columns of a thin factor that is made by other rules than random pivots, in units of sqrt(n), and
# the least number of them.
COLUMNS_PER_ROOT, MIN_COLUMNS = 4.0, 256
PRECONDITIONERS = ("auto", "random", "low_rank", "nystrom", "cholesky", "jacobi", None)


@dataclass(eq=False)
class ConjugateGradient(Solver):
    r"""Solve the linear system of a squared loss by preconditioned conjugate gradients.

    One product with K per iteration, whatever the number of unpenalized columns: Grams that
    are tiled or sparse are never held or factorized. Weights may differ and vanish, K may be only
    conditionally positive definite with respect to the columns of B. Where K is computed as it is
    read, the products of a round have kernel values in float32; what they leave is
    measured in float64, and is the right-hand side of the next round, so that the residual is that
    of the matrix in float64. Several targets share every product.

    Parameters
    ----------
    tol : float, default=1e-3
        Largest violation of an optimality condition: the largest residual of the system.
    max_iter : int, default=-1
        Largest number of iterations, -1 for no limit.
    max_time : float, optional
        Largest number of seconds.
    preconditioner : str or None, default="auto"
        The system with a thin factor ``LL'`` in the place of K: a Cholesky factor of rows that are
        drawn at random (``random``) or have the largest remainder (``low_rank``), or one made by
        products with random vectors (``nystrom``, for matrices in memory). Or with a whole
        Cholesky factor in single precision (``cholesky``, half as large as the matrix, for weights
        so large that no thin one helps), or with the diagonal of K (``jacobi``), or None. ``auto``
        is ``jacobi`` for a sparse Gram and else ``random``.
    rank : int, optional
        Largest number of columns of the thin factor. By default random pivots are drawn while the
        products with K that more columns save cost more than the columns do, at least 256 and no
        more than fit; the other kinds have :math:`4 \sqrt n` columns.
    max_bytes : float, default=4e9
        Memory for the thin factor, which is kept in single precision if it would not fit in
        double, and for kernel values: where K is computed as it is read, its first rows are
        computed once and kept in float32 as far as the factor has left memory, two bytes for each
        of the :math:`n^2` entries if all are. Never more than half of the memory of the machine.
    random_state : int, default=0
        Seed of ``random`` and ``nystrom``.

    References
    ----------
    K. Pelckmans, *Primal-dual kernel machines*, K.U. Leuven 2005, algorithm 4.1, solves two
    definite systems instead of the bordered one; here both are one, on the complement of B.
    N. Gould, M. Hribar and J. Nocedal (2001), On the solution of equality constrained quadratic
    programming problems arising in optimization, SIAM J. Scientific Computing 23, algorithm 2.1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.losses import Squared
    >>> from mercer.problems import RegularizedRisk
    >>> from mercer.solvers import ConjugateGradient, minimize
    >>> risk = RegularizedRisk(Squared(), Dense(np.eye(2)), np.array([2.0, 4.0]), 1.0)
    >>> minimize(risk, ConjugateGradient(tol=1e-9)).a
    array([1., 2.])
    """

    preconditioner: str | None = "auto"
    rank: int | None = None
    max_bytes: float = MAX_BYTES
    random_state: int = 0
    joint = True

    def __post_init__(self) -> None:
        if self.preconditioner not in PRECONDITIONERS:
            raise ValueError(
                "preconditioner must be 'auto', 'random', 'low_rank', 'nystrom', 'cholesky', "
                f"'jacobi' or None, got {self.preconditioner!r}"
            )
        if self.rank is not None and not self.rank >= 1:
            raise ValueError(f"rank must be at least 1, or None, got {self.rank!r}")

    def refuses(self, risk: RegularizedRisk) -> str:
        if linear_system(risk) is None:
            return "its loss is not squared, so its solution is not a linear system"
        return infeasible(risk)

    def solve(self, risk: RegularizedRisk, start: Solution | None, monitor: Monitor) -> Answer:
        return self.solve_together([risk], [start], [monitor])[0]

    def solve_together(
        self,
        risks: Sequence[RegularizedRisk],
        starts: Sequence[Solution | None],
        monitors: Sequence[Monitor],
    ) -> list[Answer]:
        systems = [system.problem for system in map(linear_system, risks) if system is not None]
        p, k = systems[0], len(systems)
        if p.K.held:
            p.K.dense()  # a matrix that may be kept is computed once
        live = np.isfinite(p.e)
        U, back = orthonormal(np.where(live[:, None], p.B, 0.0))
        R, e = np.column_stack([system.r for system in systems]), np.where(live, p.e, 0.0)[:, None]
        delta = np.repeat((back.T @ p.d)[:, None], k, axis=1)
        fast: Gram | None = p.K.single()
        if fast is None or fast is p.K or fast.dtype == p.K.dtype:
            fast = None
        room = self._room(p.K)
        often: Gram = (fast or p.K).keeping(room)
        kept = min(room, 0.5 * often.dtype.itemsize * len(p.e) ** 2)
        inverse = self._inverse(p, U, often, self.max_bytes - kept)
        scale = FLOAT32_ROUNDING * float(np.max(np.abs(p.K.diag()), initial=0.0))
        A, T = np.zeros((len(R), k)), np.zeros((U.shape[1], k))
        for j, start in enumerate(starts):
            if start is not None:
                A[:, j], T[:, j] = np.where(live, start.a, 0.0), U.T @ (p.B @ start.b)
        done, size = 0, np.inf
        lowest = _Lowest(p.e[live], U[live], R[live], delta)

        def enough(left: Array, x: Array, s: Array) -> bool:
            nonlocal done
            done += 1
            values, gaps = lowest.offer(A[live] + x, T + s, left)
            violations = np.max(np.abs(left), axis=0)
            stop = [
                monitor.report(done, float(value), float(gap), float(violation))
                for monitor, value, gap, violation in zip(
                    monitors, values, gaps, violations, strict=True
                )
            ]
            noise = 0.0 if fast is None else scale * np.sqrt(np.sum(x**2, axis=0))
            small = np.maximum(max(CARRIED_TOL_PART * self.tol, EPS * size), noise)
            return any(stop) or bool(np.all(violations <= small))

        while True:
            KA = p.K.matvec(A)
            left = np.where(live[:, None], R - KA - e * A - U @ T, 0.0)
            previous, size = size, float(np.max(np.abs(left), initial=0.0))
            idle = not size < 0.5 * previous
            if idle and fast is not None and size > self.tol:
                fast, often, idle = None, p.K, False
            if size <= self.tol or idle:
                return [
                    Answer(a, back @ t, done, Ka)
                    for a, t, Ka in zip(A.T.copy(), T.T, KA.T.copy(), strict=True)
                ]
            if np.allclose(U.T @ A, delta, rtol=0.0, atol=EPS * np.sum(np.abs(A))):
                lowest.offer(A[live], T, left[live])
            if monitors[0].spent(done):
                return lowest.answers(live, back, done)
            try:
                solve = iterated(often, p.e, U, inverse, enough)
                X, S = solve(left, delta - U.T @ A)
            except Indefinite as error:
                if fast is None:
                    raise ValueError(str(error)) from None
                # Rounding to float32 may have cost the matrix its smallest eigenvalues.
                fast, often, size = None, p.K, np.inf
                continue
            if ended := next((m.status for m in monitors if m.status is not None), None):
                for monitor in monitors:
                    monitor.status = monitor.status or ended
                return lowest.answers(live, back, done)
            A, T = A + X, T + S

    def _room(self, K: Gram) -> float:
        """Return the memory for kernel values, beside which a thin factor fits."""
        n = K.shape[0]
        if K.in_memory or self.preconditioner == "cholesky":
            return 0.0
        factor = 4.0 * n * min(float(n), RESERVED_COLUMNS_PER_ROOT * float(np.sqrt(n)))
        return max(0.0, min(self.max_bytes, MACHINE_BYTES_PART * machine_bytes()) - factor)

    def _inverse(self, p: LinearSystem, U: Array, often: Gram, max_bytes: float) -> Solve:
        """Return the preconditioner over the samples with weight, of rows of K in any precision."""
        kind, n = self.preconditioner, len(p.e)
        if kind is None:
            return np.copy
        if kind == "jacobi" or (kind == "auto" and p.K.sparse):
            return approximately(p.e + np.maximum(p.K.diag(), 0.0), np.empty((n, 0)))
        if kind == "cholesky":
            try:
                return rounded(p.K, p.e)
            except Indefinite:
                # Positive definite only off the border, or not beyond rounding: a thin one is.
                kind = "random"
        # In single precision where the shift hides its rounding, or where double does not fit.
        least, top = float(np.min(p.e)), float(np.max(np.abs(p.K.diag()), initial=0.0))
        hides = least >= FLOAT32_SHIFT_PART * top
        wanted = (
            min(n, max(MIN_COLUMNS, int(COLUMNS_PER_ROOT * np.sqrt(n))))
            if self.rank is None
            else self.rank
        )
        double = not hides and wanted <= thin_rank(n, max_bytes, 8)
        most = thin_rank(n, max_bytes, 8 if double else 4)
        if kind == "low_rank":
            L = pivoted_cholesky(p.K, min(wanted, most), U).L
        elif kind == "nystrom":
            L = nystrom(p.K, min(wanted, most), U, self.random_state)
        else:
            rule = worthwhile(n, least, 1.0 if p.K.in_memory else self.max_bytes / (2.0 * n**2))
            L = pivoted_cholesky(
                p.K if double else often,
                most if self.rank is None else self.rank,
                U,
                pivoting="random",
                random_state=self.random_state,
                dtype=np.float64 if double else np.float32,
                more=rule if self.rank is None else None,
            ).L
        return approximately(p.e, L, rough=hides)


class _Lowest:
    r"""The combination of iterates with the lowest objective, for each of several targets.

    Conjugate gradients raise the dual value at every step, but their residuals rise and fall, and
    with large weights the objective is that of the residuals: it may be a thousand times that of
    a constant until the last few steps. What is kept for a run that is stopped begins with the
    constants, and moves towards every iterate as far as lowers the objective (residual smoothing;
    R. Weiss, *Parameter-free iterative linear solvers*, 1996, chapter 5). With residuals
    :math:`\rho = r - Ka - ea - Ut` this takes no product with K.
    """

    def __init__(self, e: Array, U: Array, R: Array, delta: Array) -> None:
        self.e, self.U, self.R, self.delta = e[:, None], U, R, delta
        self.bound = np.full(R.shape[1], -np.inf)
        self.state: tuple[Array, Array, Array] | None = None
        if not np.any(delta):
            root = 1.0 / np.sqrt(self.e)
            T = np.asarray(np.linalg.lstsq(root * U, root * R, rcond=None)[0], dtype=np.float64)
            self.state = np.zeros_like(R), T, R - U @ T

    def offer(self, A: Array, T: Array, left: Array) -> tuple[Array, Array]:
        """Move towards an iterate with ``U'A = delta``; return objectives and gaps there."""
        e, U, R, delta = self.e, self.U, self.R, self.delta
        a, t, rho = self.state = self.state or (A, T, left)
        da, dt, drho = A - a, T - t, left - rho
        Kda, dr = -drho - e * da - U @ dt, drho + e * da
        slope = _dot(da, R - rho - e * a - U @ t) + _dot(rho / e + a, dr) + _dot(delta, dt)
        curvature = _dot(da, Kda) + _dot(dr / e, dr)
        # Nothing is gained on a line whose curvature is rounding.
        step = np.where(curvature > 0, -slope / np.where(curvature > 0, curvature, 1.0), 0.0)
        a, t, rho = self.state = a + step * da, t + step * dt, rho + step * drho
        self.bound = np.maximum(self.bound, 0.5 * (_dot(A, R + left) + _dot(delta, T)))
        self.bound = np.maximum(self.bound, duals := 0.5 * (_dot(a, R + rho) + _dot(delta, t)))
        values = duals + 0.5 * _dot(rho / e, rho)
        return values, np.maximum(values - self.bound, 0.0)

    def answers(self, live: NDArray[np.bool_], back: Array, done: int) -> list[Answer]:
        """Return the answers with the lowest objectives, over all samples."""
        assert self.state is not None
        A = np.zeros((len(live), self.R.shape[1]))
        A[live] = self.state[0]
        return [Answer(a, back @ t, done) for a, t in zip(A.T.copy(), self.state[1].T, strict=True)]


def _dot(X: Array, Y: Array) -> Array:
    """Return the inner products of columns."""
    return np.asarray(np.sum(X * Y, axis=0))
