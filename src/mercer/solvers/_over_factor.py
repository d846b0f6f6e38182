"""What a problem needs to be solved over a factor of its kernel matrix, K = ZZ'."""

from __future__ import annotations

import numpy as np

from mercer.losses.base import QuadraticDualLoss
from mercer.problems.reductions import infeasible
from mercer.problems.risk import RegularizedRisk

__all__ = ["without_factor"]


def without_factor(risk: RegularizedRisk) -> str:
    """Return why a problem is not solved over a factor, and by what else; empty if it is.

    Parameters
    ----------
    risk : RegularizedRisk
        The problem.
    """
    if not isinstance(risk.loss, QuadraticDualLoss):
        return f"the conjugate of {type(risk.loss).__name__} is not quadratic; use InteriorPoint"
    if risk.K.root() is None:
        return "the kernel matrix knows no factor K = ZZ'; use InteriorPoint or SMO"
    lower, upper = risk.box()
    if np.any(lower > 0) or np.any(upper < 0):
        return "a coefficient may not be zero; use InteriorPoint"
    return infeasible(risk)
