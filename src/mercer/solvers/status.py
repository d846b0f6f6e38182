"""How a minimization ended: the one last check that every answer of every solver passes."""

from __future__ import annotations

import enum

import numpy as np

__all__ = [
    "GAP_ROUNDING",
    "MAX_RELATIVE_GAP",
    "ConvergenceWarning",
    "Status",
    "check",
    "is_met",
    "relative_gap",
]

# The largest relative gap of a fit that counts as converged. Solvers stop at a violation of tol in
# units of the decision function, so that the gap is at most tol sum |a|; for the hinge loss
# sum |a| is at most twice the objective, hence the relative gap at most 2 tol: a fifth of this at
# the default tol of 1e-3. It is exceeded where the targets are no larger than tol, or where the
# loss is so steep beside its value that meeting its slopes says little.
MAX_RELATIVE_GAP = 1e-2

# A relative gap that no sum of terms in double precision is free of.
GAP_ROUNDING = 1e-12

# Below the smallest normal number a quotient has no digits.
MIN_NORMAL = float(np.finfo(np.float64).tiny)

# The equality rows hold to rounding at an answer: sums of n terms, none of them large.
MAX_RESIDUAL = 1e-9


class ConvergenceWarning(UserWarning):
    """A solver stopped before its tolerance was reached; the certificate says how far it came."""


class Status(enum.Enum):
    """How a minimization ended."""

    CONVERGED = "converged"
    MAX_ITER = "stopped at max_iter"
    MAX_TIME = "stopped at max_time"
    STOPPED = "stopped by a callback"
    INTERRUPTED = "interrupted from the keyboard"
    STALLED = "no further progress in floating point"
    LOOSE = "tolerance met, but the duality gap is not small"

    def __reduce__(self) -> tuple[type[Status], tuple[str]]:
        # By its value, which formats that do not trust `object.__reduce_ex__` can write too.
        return Status, (self.value,)


def is_met(violation: float, residual: float, tol: float) -> bool:
    """Answer whether optimality conditions hold to a tolerance, and the equality rows."""
    return violation <= tol and residual <= MAX_RESIDUAL


def relative_gap(objective: float, dual: float, gap: float) -> float:
    """Return the gap divided by the larger magnitude of objective and dual value.

    Zero if the gap is, whatever the values. There is no constant in the denominator: an objective
    of 1e-12, as of targets of 1e-6, has digits of its own, and a gap as large as the objective
    says that nothing is known. An objective of exactly zero with a gap above zero counts as one.

    Parameters
    ----------
    objective, dual, gap : float
        Value of the problem, its lower bound, and the duality gap.

    Examples
    --------
    >>> relative_gap(2e-12, 1e-12, 1e-12)
    0.5
    >>> relative_gap(0.0, 0.0, 0.0)
    0.0
    """
    if gap <= MIN_NORMAL:
        return 0.0
    scale = max(abs(objective), abs(dual)) if np.isfinite(dual) else abs(objective)
    return float(gap / scale) if scale > 0 else np.inf


def check(
    status: Status, objective: float, dual: float, gap: float, resolution: float = 0.0
) -> Status:
    """Return the status of an answer, which is not converged next to a useless gap.

    Every :class:`Solution` passes here when it is made. An objective or a gap that is not finite
    is no convergence but the end of floating point; a relative gap above `MAX_RELATIVE_GAP` = 0.01
    is said.

    Parameters
    ----------
    status : Status
        How the solver says that it ended.
    objective, dual, gap : float
        What was measured at its answer.
    resolution : float, default=0.0
        Gap that counts as none: rounding, or nothing beside the losses of a constant.

    Examples
    --------
    >>> check(Status.CONVERGED, 5106.0, 2576.0, 2530.0)
    <Status.LOOSE: 'tolerance met, but the duality gap is not small'>
    >>> check(Status.CONVERGED, 5106.0, float("-inf"), float("inf"))
    <Status.STALLED: 'no further progress in floating point'>
    """
    if status is not Status.CONVERGED:
        return status
    if not (np.isfinite(objective) and np.isfinite(gap)):
        return Status.STALLED
    loose = gap > resolution and relative_gap(objective, dual, gap) > MAX_RELATIVE_GAP
    return Status.LOOSE if loose else status
