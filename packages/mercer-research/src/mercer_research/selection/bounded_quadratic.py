"""Quadratic programs in a box, as risks: a linear cost on an interval is a loss like others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._typing import Array
from mercer.gram import Dense
from mercer.losses.base import Conjugate, ResidualLoss
from mercer.problems.risk import RegularizedRisk
from mercer.solvers import InteriorPoint, Solution, minimize

__all__ = ["bounded_quadratic"]


@dataclass(eq=False)
class _Linear(ResidualLoss):
    """The support function of an interval, whose conjugate confines coefficients to a box."""

    lower: Array
    upper: Array

    def terms(self) -> Conjugate:
        return Conjugate(lower=self.lower, upper=self.upper)


def bounded_quadratic(
    H: Array,
    p: Array,
    lower: Array,
    upper: Array,
    B: Array,
    d: Array,
    *,
    tol: float,
    weight: Array | float = 1.0,
) -> Solution | None:
    """Minimize ``z'Hz/2 - p'z`` in a box that holds zero, subject to ``B'z = d``.

    Variables of weight zero stay at zero. None if no point of the box meets the equality rows.
    """
    risk = RegularizedRisk(_Linear(lower, upper), Dense(H), p, weight, B, d)
    scale = max(1.0, float(np.max(np.abs(H), initial=0.0)), float(np.max(np.abs(p), initial=0.0)))
    solver = InteriorPoint(tol=tol * scale)
    return None if solver.refuses(risk) else minimize(risk, solver)
