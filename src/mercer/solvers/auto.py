"""Choose a solver by the properties of the problem, and give the reason."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._deadline import time_left
from mercer.gram.factor import MAX_BYTES, lacking
from mercer.losses.base import DualTerms
from mercer.problems.risk import RegularizedRisk
from mercer.solvers.base import Answer, Solver
from mercer.solvers.conjugate_gradient import ConjugateGradient
from mercer.solvers.coordinate_descent import CoordinateDescent
from mercer.solvers.direct import Direct
from mercer.solvers.interior_point import InteriorPoint
from mercer.solvers.monitor import Monitor
from mercer.solvers.newton import Newton
from mercer.solvers.smo import SMO
from mercer.solvers.solution import Solution
from mercer.solvers.status import Status
from mercer.solvers.thin import ThinInteriorPoint

__all__ = ["SOLVERS", "THRESHOLDS", "Auto", "Thresholds", "by_factor", "decomposition", "too_late"]


@dataclass(frozen=True)
class Thresholds:
    """From where on another solver takes less time, with the measurements that say so."""

    # Pair steps need a number of iterations that may grow with weight times kernel value; beyond
    # this the few factorizations of the interior point are cheaper on samples where they are
    # cheap at all, unless pair steps are over soon: where classes are nearly separable they need
    # some hundred whatever the weights are, 1 ms for 300 rows instead of 60. They are tried first,
    # up to so many rows over the whole matrix in float64 (:mod:`mercer.solvers.small`), beyond by
    # rows and for fewer steps a row than others.
    stiff_weight: float = 1e5
    max_float64_rows: int = 512
    stiff_steps_per_row: int = 100
    # The whole matrix is computed up to so many rows where one problem is solved, and pair steps
    # are tried over it before a factor or rows in float32 take over: samples times steps of some
    # 15 ms, no more than the interior point over columns takes. A step costs as much as so many
    # samples besides; rows of more samples than these are no longer in the processor's cache.
    max_whole_rows: int = 1024
    trial_work: float = 2.5e7
    step_rows: int = 260
    cached_rows: int = 400
    # Pair steps over so few samples are mostly over before a factorization has begun.
    max_pair_rows: int = 50
    # Pair steps after which the few factorizations of the interior point are cheaper than
    # more of the same: at 0.2 us (40 samples) to 1.5 us (2000) each they take about as long
    # as the path does, so that a problem on which pairs creep costs twice the better solver
    # at most.
    max_pair_steps: int = 50_000
    pair_steps_per_row: int = 1_000
    # Conjugate gradients take about 10 sqrt(weight times kernel value) products with n^2 / 2
    # kernel values of 0.35 ns and as much for their thin factor, a factorization n^3 / 3
    # multiplications at 40 a ns: it takes less time up to 300 samples times that square root,
    # this part of the largest sample that is factorized in any case. On 8,000 rows of
    # protein_casp it takes 4.7 s, conjugate gradients 1.0, 1.8, 5.3 and 7.3 s for C = 10,
    # 100, 1e3 and 1e4.
    factor_break_even: float = 300 / 6000
    # Multiplications of a factorization a second. One that would take more than half of the
    # time left, and longer than a quarter of a second, leaves nothing at its end: conjugate
    # gradients do.
    factor_flops: float = 4e10
    brief_factor_seconds: float = 0.25
    # Conjugate gradients need more memory than decomposition, for a thin factor: so many
    # times the memory for kernel values, up to what a factorization may take, and whatever is
    # granted beyond.
    cg_bytes_ratio: float = 20.0
    # A thin or banded factor of n m numbers takes n m^2 multiplications: so many take about a
    # second.
    thin_factor_flops: float = 1e10
    # Over a factor K = ZZ' the interior point takes ten to twenty steps of n d^2
    # multiplications and a hundred passes over n numbers, about 10 ms for 500 rows whatever
    # the weights are. Pair steps are about as many as rows times the mean of weight times
    # kernel value, over all rows each: they take less while squared rows times that mean are
    # few, up to so many rows; with nearly as many columns as rows a factor saves nothing, and
    # beyond so many multiplications a step sweeps over its rows take less. For 100, 200, 500
    # and 1,000 rows with products of 1.9, 1.4, 4.6 and 6.0 millions pair steps take 2.5, 5.6,
    # 12 and 19 ms, the interior point 18, 9.3, 8.3 and 16 ms.
    easy_pair_work: float = 2e6
    max_easy_pair_rows: int = 4000
    max_factor_columns_part: float = 0.5
    max_step_flops: float = 2e9
    # Sweeps over a sparse factor, from so many rows on: below, a kernel matrix is quick.
    min_sweep_rows: int = 3000


THRESHOLDS = Thresholds()


@dataclass(eq=False)
class Auto(Solver):
    """Pick the first solver that suits the problem.

    A linear system is solved directly while its factor fits and takes less time than conjugate
    gradients would, and by these beyond: with a factor in single precision where the weights are
    large and that one fits, with a thin one otherwise;
    a kernel matrix with a known factor ``K = ZZ'``, such as the data of the linear kernel, goes to
    the interior point over its columns if they are few, and to coordinate descent over its rows if
    these are many and sparse;
    other smooth losses go to Newton's method while it does, or while products are cheap because
    the matrix is sparse; everything with a quadratic dual goes to
    decomposition, which needs no more memory than it is given; the rest to the interior point,
    which also takes over small samples on which decomposition has not converged after
    50,000 steps and 1000 more per sample, fewer where weights are so large that pairs of
    coefficients may creep.

    Parameters
    ----------
    tol : float, default=1e-3
        Largest violation of an optimality condition.
    max_iter : int, default=-1
        Largest number of iterations, in the unit of the solver picked.
    max_time : float, optional
        Largest number of seconds.
    cache_bytes : float, default=2e8
        Memory for kernel rows in decomposition; for kernel values and thin factor of conjugate
        gradients 20 times as much up to 4e9, or as much if that is more.
    max_dense : int, default=6000
        Largest sample for which a matrix is factorized in any case; others are if their factor is
        thin or a narrow band.
    max_stiff : int, default=2000
        Largest sample for which large weights make the interior point the better choice.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.losses import Squared
    >>> from mercer.problems import RegularizedRisk
    >>> from mercer.solvers import Auto
    >>> risk = RegularizedRisk(Squared(), Dense(np.eye(3)), np.arange(3.0), 1.0)
    >>> solver, reason = Auto().choose(risk)
    >>> type(solver).__name__, reason
    ('Direct', 'squared loss: one linear system of 3 samples')
    """

    cache_bytes: float = 2e8
    max_dense: int = 6000
    max_stiff: int = 2000

    def choose(self, risk: RegularizedRisk) -> tuple[Solver, str]:
        budget: dict[str, Any] = {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "max_time": self.max_time,
        }
        room = 8.0 * min(self.max_dense**2, np.sqrt(THRESHOLDS.thin_factor_flops * risk.n))
        fits = risk.n <= self.max_dense or risk.K.factor_bytes <= room
        memory = max(min(THRESHOLDS.cg_bytes_ratio * self.cache_bytes, MAX_BYTES), self.cache_bytes)
        direct = Direct(**budget)
        iterative = ConjugateGradient(**budget, max_bytes=memory)
        newton = Newton(**budget, max_bytes=room) if risk.K.sparse else Newton(**budget)
        if iterative.accepts(risk):
            even = THRESHOLDS.factor_break_even * self.max_dense * np.sqrt(_stiffness(risk))
            slow = not risk.K.sparse and risk.n <= even
            if late := _slow(risk.K.factor_bytes / 8.0, risk.n, self._left()):
                fits = slow = False
            if (fits or slow) and direct.accepts(risk):
                return direct, f"squared loss: one linear system of {risk.n} samples"
            if slow and 4.0 * risk.n**2 <= direct.max_bytes:
                return (
                    replace(iterative, preconditioner="cholesky"),
                    f"squared loss, {risk.n} samples, weights up to {np.max(risk.c):.0e}: a factor "
                    "in single precision as a preconditioner",
                )
            why = ", no time for a factorization" if late else ""
            return iterative, f"squared loss, {risk.n} samples{why}: conjugate gradients"
        linear = by_factor(risk, self)
        if linear is not None:
            return linear
        smo = SMO(**budget, cache_bytes=self.cache_bytes)
        takes = smo.accepts(risk)
        if newton.accepts(risk) and (fits or risk.K.sparse or not takes):
            return newton, f"smooth loss, {risk.n} samples: Newton's method"
        stiff = (
            THRESHOLDS.max_pair_rows < risk.n <= self.max_stiff
            and _stiffness(risk) > THRESHOLDS.stiff_weight
        )
        if takes and (not stiff or risk.n > THRESHOLDS.max_float64_rows):
            # Feasible it is, or decomposition would not take it.
            if risk.n <= self.max_stiff and not lacking(risk.K.origin()[0], MAX_BYTES):
                per_row = THRESHOLDS.stiff_steps_per_row if stiff else THRESHOLDS.pair_steps_per_row
                enough = THRESHOLDS.max_pair_steps + per_row * risk.n
                smo.max_iter = enough if self.max_iter < 0 else min(enough, self.max_iter)
            return smo, decomposition(risk.n, self.cache_bytes)
        kind = f"weights up to {np.max(risk.c):.0e}" if takes else "general loss"
        return InteriorPoint(**budget), f"{kind}, {risk.n} samples: an interior point method"

    def _left(self) -> float:
        """Return the seconds that a solver has."""
        return min(np.inf if self.max_time is None else self.max_time, time_left())

    def instead(self, chosen: Solver, found: Solution, elapsed: float) -> list[tuple[Solver, str]]:
        if isinstance(chosen, ThinInteriorPoint | CoordinateDescent):
            return self._over_kernel(chosen, found, elapsed)
        limited = chosen.max_iter >= 0 and not 0 <= self.max_iter <= chosen.max_iter
        ended = found.status in (Status.MAX_ITER, Status.STALLED, Status.LOOSE)
        if not (limited and ended and isinstance(chosen, SMO)):
            return []
        left = None if self.max_time is None else max(self.max_time - elapsed, 0.0)
        crept = f"{found.reason}; {found.n_iter} steps did not converge:"
        return [
            (InteriorPoint(tol=self.tol, max_time=left), f"{crept} an interior point method"),
            # For a matrix that is not positive definite beyond rounding.
            (replace(chosen, max_iter=self.max_iter, max_time=left), f"{crept} more of them"),
        ]

    def _over_kernel(
        self, chosen: Solver, found: Solution, elapsed: float
    ) -> list[tuple[Solver, str]]:
        """Return what is left where a factor was no help: pair steps over kernel values."""
        if found.status not in (Status.STALLED, Status.LOOSE):
            return []
        left = None if self.max_time is None else max(self.max_time - elapsed, 0.0)
        smo = SMO(self.tol, self.max_iter, left, self.cache_bytes)
        return [(smo, f"{found.reason}, which did not converge: SMO")]

    def refuses(self, risk: RegularizedRisk) -> str:
        return self.choose(risk)[0].refuses(risk)

    def solve(self, risk: RegularizedRisk, start: Solution | None, monitor: Monitor) -> Answer:
        return self.choose(risk)[0].solve(risk, start, monitor)


def by_factor(risk: RegularizedRisk, auto: Auto) -> tuple[Solver, str] | None:
    """Return the solver over a known factor of the kernel matrix, and why; None if others win."""
    Z = risk.K.root()
    if Z is None or risk.n == 0:
        return None
    # Problems with a price of their own and no targets (margins by nu, one class) may have the
    # solution zero, all of whose decision values are rounding: pair steps leave zeros there.
    if np.any(risk.d) and not _has_targets(risk):
        return None
    (n, d), sparse = Z.shape, hasattr(Z, "nnz")
    limits = auto.max_iter, auto.max_time
    few = (
        d <= THRESHOLDS.max_factor_columns_part * n
        and n * (d + risk.q) ** 2 <= THRESHOLDS.max_step_flops
    )
    stiff = float(n) ** 2 * float(np.mean(risk.c * risk.K.diag()))
    if few and (stiff > THRESHOLDS.easy_pair_work or n > THRESHOLDS.max_easy_pair_rows):
        thin = ThinInteriorPoint(auto.tol, 100 if auto.max_iter < 0 else limits[0], limits[1])
        if thin.accepts(risk):
            return thin, f"K = ZZ' with {d} columns, {n} samples: an interior point over columns"
    if sparse and n > THRESHOLDS.min_sweep_rows:
        descent = CoordinateDescent(auto.tol, *limits)
        if descent.accepts(risk):
            kind = f"{Z.nnz / n:.0f} entries a row"
            return descent, f"K = ZZ' with {kind}, {n} samples: coordinate descent over rows"
    return None


def _has_targets(risk: RegularizedRisk) -> bool:
    """Answer whether the conjugates have a linear term, that is whether anything is to be met."""
    t = risk.terms
    return isinstance(t, DualTerms) and bool(np.any(t.p_pos) or np.any(t.p_neg))


def decomposition(n: int | str, cache_bytes: float) -> str:
    """Return why a sample of n goes to decomposition."""
    return f"quadratic dual, {n} samples: SMO with a {cache_bytes / 2**20:.0f} MiB cache"


def too_late(n: int) -> bool:
    """Answer whether a kernel matrix of n samples cannot be factorized before the deadline.

    Examples
    --------
    >>> from mercer._deadline import deadline
    >>> with deadline(1.0):
    ...     too_late(1000), too_late(6000)
    (False, True)
    >>> too_late(6000)
    False
    """
    return _slow(float(n) ** 2, n, time_left())


def _slow(numbers: float, n: int, left: float) -> bool:
    """Answer whether a factorization takes too long, of n m numbers n m^2 / 3 multiplications."""
    return bool(
        numbers**2 / (3.0 * max(n, 1) * THRESHOLDS.factor_flops)
        > max(0.5 * left, THRESHOLDS.brief_factor_seconds)
    )


def _stiffness(risk: RegularizedRisk) -> float:
    """Return the largest weight times the largest kernel value: how far coefficients can reach."""
    return float(np.max(risk.c, initial=0.0) * np.max(np.abs(risk.K.diag()), initial=0.0))


SOLVERS: dict[str, type[Solver]] = {
    "auto": Auto,
    "conjugate_gradient": ConjugateGradient,
    "coordinate_descent": CoordinateDescent,
    "direct": Direct,
    "interior_point": InteriorPoint,
    "newton": Newton,
    "smo": SMO,
    "thin_interior_point": ThinInteriorPoint,
}
"""Solvers by the names that estimators accept."""
