"""Restricted problems of curved losses under a 1-norm, by the interior point of the functional."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.problems.sparse_risk import SparseRisk
from mercer.solvers import ConvergenceWarning, InteriorPoint, minimize

__all__ = ["curved_master"]

# A coefficient whose price is this far below its weight, relatively, is zero at the optimum.
PRICE_SLACK = 1e-6
# Slopes of the walls that keep coefficients to their signs, in units of their weights.
FIRST_WALL_SLOPE, MAX_WALL_SLOPE = 10.0, 1e7


def curved_master(
    risk: SparseRisk, tol: float
) -> Callable[[Array, NDArray[np.intp]], tuple[Array, Array, Array]]:
    """Return the solver of restricted problems: functions to coefficients and multipliers.

    Parameters
    ----------
    risk : SparseRisk
    tol : float
        Relative gap of the answers.
    """
    solver = InteriorPoint(tol=min(tol, 1e-6))
    steep = FIRST_WALL_SLOPE

    def solve(GJ: Array, J: NDArray[np.intp], gap: float = 0.0) -> tuple[Array, Array, Array]:
        nonlocal steep
        n, k, signs = len(risk.y), len(J), risk.signs[J]
        while True:
            with warnings.catch_warnings():
                # What counts is the gap over the whole dictionary, which is measured afterwards.
                warnings.simplefilter("ignore", ConvergenceWarning)
                found = minimize(risk.restricted(J, steep), solver)
            a, b, u = found.b[:k], found.b[k:], found.a[:n]
            price = GJ.T @ u / risk.weights[J]
            # A wall that holds is not pushed as hard as it stands.
            if steep >= MAX_WALL_SLOPE or np.all(-signs * price < 0.99 * steep):
                break
            steep *= 100.0
        idle = np.where(signs == 0, np.abs(price), signs * price) < 1.0 - PRICE_SLACK
        return np.where(idle | (signs * a < 0), 0.0, a), b, u

    return solve
