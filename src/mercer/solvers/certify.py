"""From the answer of a solver to a certified solution: snap to the box, check, measure."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.problems.fallback import pull_back
from mercer.problems.intercept import centre_intercepts
from mercer.problems.risk import Certificate, RegularizedRisk
from mercer.solvers.base import Answer, Solver
from mercer.solvers.monitor import Monitor
from mercer.solvers.rounding import (
    KNOWN_ROUNDING,
    RELATIVE_ROUNDING,
    certify_bound,
    gap_resolution,
    is_moved,
    worst_of_rounding,
)
from mercer.solvers.solution import Solution, Terms
from mercer.solvers.status import MAX_RELATIVE_GAP, Status, check, is_met

__all__ = ["believed", "certify", "count_support", "sharper", "snap_to_box", "status_of"]

# The one support-vector threshold: a coefficient smaller than this fraction of its box (of the
# largest coefficient where the box is wider) is zero, one as close to the box is on it.
SUPPORT_THRESHOLD = 1e-12

# How often the tolerance is lowered where it is met next to a gap that is not small. That may take
# so many times the iterations so far, and as many of n numbers each as a tenth of a second does:
# enough for separable classes and small targets, and an end where problems are stiff.
MAX_TIGHTENINGS, MAX_EXTRA_ITERATIONS_RATIO, MAX_EXTRA_NUMBERS = 4, 10, 3e7

# Entries of a solver's product that are computed again, and by what part of the tolerance they may
# differ, beyond the error that the solver admits, for the product to be believed.
CHECKED_ENTRIES, CHECKED_TOL_PART = 64, 0.25


def certify(
    risk: RegularizedRisk,
    chosen: Solver,
    reason: str,
    monitor: Monitor,
    answer: Answer,
    share: float,
) -> Solution:
    """Measure an answer."""
    if not (np.all(np.isfinite(answer.a)) and np.all(np.isfinite(answer.b))):
        raise FloatingPointError(
            f"{type(chosen).__name__} returned coefficients that are not finite; the data may "
            "contain very large values: scale the inputs and targets, or lower C"
        )
    solved = monitor.elapsed
    a = snap_to_box(risk, answer.a)
    Ka, error = answer.Ka, answer.error
    trusted = believed(risk, answer, chosen.tol)
    # A product of all rows takes longer than that of the rows drawn as there are more of them.
    product = (monitor.elapsed - solved) * risk.n / CHECKED_ENTRIES
    late = monitor.elapsed + product >= monitor.max_time
    if error is not None and late and is_moved(risk, a, answer.a):
        a = answer.a  # for which there is a product
    if Ka is None or not trusted or is_moved(risk, a, answer.a):
        Ka, error = risk.K.matvec(a), None
    b, interval = centre_intercepts(risk, a, answer.b, Ka)
    certificate = risk.certificate(a, b, Ka, error)
    known = error is None or status_of(certificate, monitor, chosen.tol) is Status.CONVERGED
    if not known and late:
        monitor.status = monitor.status or Status.MAX_TIME
    elif not known:
        # Not a word about the worst case where the truth is one product away, and there is time.
        Ka, error = risk.K.product(a, np.arange(risk.n)), None
        b, interval = centre_intercepts(risk, a, answer.b, Ka)
        certificate = risk.certificate(a, b, Ka)
    stopped = status_of(certificate, monitor, chosen.tol) is not Status.CONVERGED
    if stopped and answer.bound is not None:
        a, b = answer.a, answer.b
        certificate = certify_bound(risk, a, b, answer.bound, monitor.history[-1].violation)
    elif stopped:
        a, b, Ka = pull_back(risk, a, b, Ka, certificate.primal)
        certificate = risk.certificate(a, b, Ka, error)
    interval = np.column_stack([b, b]) if stopped else interval
    if not stopped or answer.bound is None:
        certificate = worst_of_rounding(risk, a, b, certificate)
    if not monitor.history or monitor.history[-1].iteration != answer.n_iter:
        monitor.report(answer.n_iter, certificate.primal, certificate.gap, certificate.violation)
    status = status_of(certificate, monitor, chosen.tol)
    if status is Status.MAX_ITER and certificate.violation <= RELATIVE_ROUNDING * risk.size(
        a, b, certificate.f
    ):
        status = Status.STALLED  # more steps would not see the difference
    n_free, n_bound = count_support(risk, a)
    if not np.isfinite(certificate.primal):
        raise FloatingPointError(
            f"the objective of the answer of {type(chosen).__name__} is {certificate.primal}, "
            "beyond the range of floating point: scale the targets and inputs, or lower C"
        )
    values = certificate.primal, certificate.dual, certificate.gap
    part = risk.K.part_of()
    loose = check(status, *values) is Status.LOOSE
    return Solution(
        a=a,
        b=b,
        objective=certificate.primal,
        dual=certificate.dual,
        gap=certificate.gap,
        violation=certificate.violation,
        residual=certificate.residual,
        status=status,
        n_iter=answer.n_iter,
        solver=type(chosen).__name__,
        reason=reason,
        f=certificate.f,
        times={
            "solve": share * (solved - monitor.certified),
            "certify": monitor.elapsed - solved + monitor.certified,
        },
        history=tuple(monitor.history),
        n_free=n_free,
        n_bound=n_bound,
        evaluations=monitor.evaluations,
        b_interval=interval,
        terms=Terms(
            penalties=np.array([0.5 * float(a @ (certificate.f - risk.B @ b))]),
            losses=np.array([risk.risk(certificate.f)]),
            weights=np.array([float(np.sum(risk.c))]),
        ),
        resolution=(
            gap_resolution(risk, a, b, certificate.f, certificate.primal) if loose else 0.0
        ),
        samples=None if part is None else part[1],
        n_samples=None if part is None else part[0].shape[0],
        precisions=answer.precisions,
    )


def believed(risk: RegularizedRisk, answer: Answer, tol: float) -> bool:
    """Answer whether exact entries of ``Ka``, drawn at random, agree with a solver's.

    This is about mistakes, not about rounding: a solver that says how far its product may be off
    is taken at its word, and one that says nothing vouches for float64.
    """
    if answer.Ka is None or answer.measured:
        return answer.measured
    some = _drawn(risk.n)
    support = np.flatnonzero(answer.a)
    exact = risk.K.block(some, support).astype(np.float64, copy=False) @ answer.a[support]
    off = np.abs(exact - answer.Ka[some])
    if answer.error is not None:
        off = np.maximum(off - answer.error[some], 0.0)
    return bool(np.max(off, initial=0.0) <= CHECKED_TOL_PART * tol)


@lru_cache(maxsize=64)
def _drawn(n: int) -> NDArray[np.intp]:
    """Return the samples out of n at which products are checked."""
    some = np.random.default_rng(n).permutation(n)[:CHECKED_ENTRIES]
    some.flags.writeable = False
    return some


def snap_to_box(risk: RegularizedRisk, a: Array) -> Array:
    """Put coefficients within the support threshold on zero or on their box, and restore B'a = d.

    The certificate is measured afterwards, so that nothing hides behind the rounding done here.
    Rows that hold up to the rounding of their sum are left alone: a second restoration would move
    all coefficients by nothing, and cost a product with K that the first one has.
    """
    lower, upper = risk.box()
    near = SUPPORT_THRESHOLD * np.minimum(upper - lower, np.max(np.abs(a), initial=0.0))
    a = np.minimum(np.maximum(a, lower), upper)
    a = np.where(np.abs(a) <= near, 0.0, a)
    a = np.where(a <= lower + near, lower, np.where(a >= upper - near, upper, a))
    if risk.residual(a) > KNOWN_ROUNDING:
        # The least change, scaled by each coefficient's own room, that meets the equality rows.
        room = np.minimum(np.minimum(a - lower, upper - a), np.abs(a))
        if np.any(room):
            room = room / np.max(room)
            missing = risk.d - risk.B.T @ a
            if risk.q <= risk.n:
                square = (risk.B * room[:, None]).T @ risk.B
                move = room * (risk.B @ np.linalg.lstsq(square, missing, rcond=None)[0])
            else:
                # The same change from as many unknowns as samples: 70 features have 2,556 columns
                # of second degree, whose square took ten seconds for three samples.
                root = np.sqrt(room)
                move = root * np.linalg.lstsq((risk.B * root[:, None]).T, missing, rcond=None)[0]
            a = np.clip(a + move, lower, upper)
    return a + 0.0  # no negative zeros


def status_of(certificate: Certificate, monitor: Monitor, tol: float) -> Status:
    """Believe the certificate first, then the monitor."""
    if is_met(certificate.violation, certificate.residual, tol):
        return Status.CONVERGED
    return monitor.status or Status.STALLED


def count_support(risk: RegularizedRisk, a: Array) -> tuple[int, int]:
    """Count the coefficients inside their bounds and on them."""
    lower, upper = risk.box()
    n, n_bound = np.count_nonzero(a), np.count_nonzero((a != 0) & ((a <= lower) | (a >= upper)))
    return int(n - n_bound), int(n_bound)


def sharper(objective: Array | float, gap: Array | float) -> Array:
    """Return the factor of a tolerance that should bring the duality gap below its limit."""
    return np.clip(0.3 * MAX_RELATIVE_GAP * np.abs(objective) / gap, 1e-6, 0.3)
