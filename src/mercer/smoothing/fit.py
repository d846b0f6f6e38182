"""Fits of least-squares machines as criteria read them, whichever way they were factorized."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array

__all__ = ["Fit"]


@dataclass(frozen=True, eq=False)
class Fit:
    r"""A machine on the m samples with weight, in units in which they all weigh alike.

    With :math:`M = WKW + 1/C` and its inverse Q on the vectors orthogonal to the unpenalized
    columns, the weighted coefficients are :math:`\tilde a = Q W y`, weighted residuals
    :math:`\tilde a / C`, and :math:`1 - S_{ii} = Q_{ii} / C`.
    """

    y: Array
    """Targets, (m, d)."""

    targets: Array
    """Weighted targets off the unpenalized columns, (m, d)."""

    a: Array
    """Weighted coefficients, (m, d)."""

    q: Array
    """The diagonal of Q, (m,)."""

    C: float
    """Weight of the loss."""

    root: Array
    """Roots of the samples' weights, (m,)."""

    rank: int
    """Number of independent unpenalized columns."""

    log_det: float
    """Logarithm of the determinant of M on the vectors orthogonal to the columns."""

    inverse: Callable[[NDArray[np.intp], NDArray[np.intp]], Array]
    """Rows and columns of Q."""

    @property
    def weights(self) -> Array:
        """Weights of the samples, adding up to one."""
        return np.asarray(self.root**2 / np.sum(self.root**2))

    @property
    def residuals(self) -> Array:
        """Weighted residuals, (m, d)."""
        return np.asarray(self.a / self.C)

    @property
    def degrees_of_freedom(self) -> float:
        """The trace of the smoother."""
        return len(self.q) - float(np.sum(self.q)) / self.C

    @property
    def left_out_one(self) -> Array:
        """Weighted residuals of samples that were left out, one at a time."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(self.q[:, None] > 0, self.a / self.q[:, None], np.inf))

    def left_out(self, inside: NDArray[np.intp]) -> Array:
        """Return weighted residuals of a fold that was left out, (len(inside), d).

        Parameters
        ----------
        inside : array of int
            Positions of the samples of the fold.
        """
        return np.asarray(np.linalg.solve(self.inverse(inside, inside), self.a[inside]), np.float64)
