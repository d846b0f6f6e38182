r"""How far targets are from predictions, here and there, from errors of samples left out.

Roots of absolute left-out errors :math:`r_i` have a mean that a least-squares machine learns, whose
square is the local scale :math:`\sigma(x)`. Errors in its units are as good as exchangeable with
the error of a new sample, so that their quantiles make the ends

.. math:: f(x) + q_\alpha \sigma(x), \qquad
          q_\alpha = \text{quantile}_\alpha \{ r_i / \sigma^{(-i)}(x_i) \}.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._deadline import time_left
from mercer._typing import Array
from mercer.estimators.ls_svm import LSSVR
from mercer.selection.tuning import tune
from mercer.solvers import Direct

__all__ = ["ErrorScales"]


# Scales are not smaller than this share of their mean.
LEAST = 0.05
# The coverage by which constant and local scales are compared.
COVERAGE = 0.9


@dataclass(frozen=True, eq=False)
class ErrorScales:
    """Scales of errors, and the errors of left-out samples in these units."""

    machine: LSSVR | None
    """Predicts roots of absolute errors; None where the scale is the same everywhere."""

    least: float
    """Its predictions are not smaller."""

    errors: Array
    """Left-out errors in units of the scale, in order, (m,)."""

    weights: Array
    """Weights of these samples."""

    @classmethod
    def of(
        cls,
        kernel: Any,
        Z: Array,
        errors: Array,
        weights: Array,
        tuned: int,
        seed: int,
        seconds: float = 0.0,
    ) -> ErrorScales:
        """Learn scales from left-out errors.

        The local scale is used if intervals of 90 % with it have a smaller interval score on the
        left-out samples than intervals of a constant width. Where time is limited and does not
        suffice for its machine, the width is constant.

        Parameters
        ----------
        kernel : Kernel or None
            Kernel whose length scales are multiplied by a common factor; the width is constant
            where there is none.
        Z : (m, p) array
            Points.
        errors : (m,) array
            Left-out errors.
        weights : (m,) array
            Weights of the samples.
        tuned : int
            Rows by which the factor and C are chosen.
        seed : int
            For the search.
        seconds : float, default=0.0
            Time that fitting a machine to the points takes, where it is limited.
        """
        constant = cls._sorted(None, 0.0, errors, weights)
        roots = np.sqrt(np.abs(errors))
        left = time_left() - seconds
        if kernel is None or len(errors) < 50 or not np.ptp(roots) > 0 or left <= 0.0:
            return constant
        few = slice(0, tuned)
        found = tune(
            LSSVR(kernel=kernel),
            Z[few],
            roots[few],
            sample_weight=weights[few],
            criterion="evidence",
            max_rows=tuned,
            max_time=None if left == np.inf else left,
            refit=False,
            verbose=False,
            random_state=seed,
        )
        machine = found.best_estimator_.set_params(solver=Direct(precisions=True))
        machine.fit(Z, roots, sample_weight=weights)
        least = LEAST * float(np.average(roots, weights=weights))
        scale = np.maximum(machine.loo_predictions_, least) ** 2
        local = cls._sorted(machine, least, errors / scale, weights)
        better = local._score(errors, scale) < constant._score(errors, np.ones_like(errors))
        return local if better else constant

    @classmethod
    def _sorted(
        cls, machine: LSSVR | None, least: float, errors: Array, weights: Array
    ) -> ErrorScales:
        order = np.argsort(errors)
        return cls(machine, least, errors[order], weights[order])

    def quantile(self, level: float) -> float:
        """Return the quantile of the errors, with the new sample among them.

        Above the middle it is the smallest error that at least ``level (m + 1)`` of m + 1 samples
        do not exceed if the new one does; below the middle likewise from the other side.
        """
        if level < 0.5:
            flipped = ErrorScales(None, 0.0, -self.errors[::-1], self.weights[::-1])
            return -flipped.quantile(1.0 - level)
        total = np.cumsum(self.weights)
        # The new sample weighs as much as the mean sample.
        wanted = level * (total[-1] + total[-1] / len(total))
        at = int(np.searchsorted(total, wanted * (1.0 - 1e-12)))
        return float(self.errors[min(at, len(total) - 1)])

    def scale(self, Z: Array) -> Array:
        """Return the scale of errors at points, (n,)."""
        if self.machine is None:
            return np.ones(len(Z))
        return np.asarray(np.maximum(self.machine.predict(Z), self.least) ** 2)

    def _score(self, errors: Array, scale: Array) -> float:
        """Return the mean interval score of left-out samples."""
        low, high = (self.quantile(level) * scale for level in (0.05, 0.95))
        outside = np.maximum(low - errors, 0.0) + np.maximum(errors - high, 0.0)
        return float(np.mean(high - low + 2.0 / (1.0 - COVERAGE) * outside))
