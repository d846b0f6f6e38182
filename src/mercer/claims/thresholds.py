r"""Risk-controlled thresholds: the boldest setting whose risk on new rows is at most a target.

Instead of asking how large the risk of a machine is, fix the risk and ask for the machine: the
cutoff at which at most five in a hundred ill persons are sent home, the width of an interval, the
confidence below which nothing is said.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mercer._params import check_positive
from mercer.claims.quotable import error_bound, mean_bound
from mercer.claims.record import Bound

__all__ = ["ControlledThreshold", "risk_controlled_threshold"]


@dataclass(frozen=True)
class ControlledThreshold:
    """A threshold, and the bound on its risk.

    Parameters
    ----------
    value : float
        The boldest threshold whose risk is at most the target.
    index : int
        Its place among those given.
    target : float
        The risk that was allowed.
    bound : Bound
        On the risk of this threshold.
    """

    value: float
    index: int
    target: float
    bound: Bound

    def __str__(self) -> str:
        return f"threshold {self.value:.4g}: risk {self.bound}"


def risk_controlled_threshold(
    losses: ArrayLike,
    thresholds: ArrayLike,
    *,
    target: float,
    delta: float = 0.05,
    largest: float = 1.0,
) -> ControlledThreshold:
    r"""Choose the boldest threshold whose risk is at most a target, with probability 1 - delta.

    Thresholds are tried in the order given, from the safest on, and the last is taken before one
    whose upper confidence bound exceeds the target:

    .. math:: \hat\jmath = \max\{j : R^+(t_1) \le \alpha, \dots, R^+(t_j) \le \alpha\},
              \qquad \Pr\{R(t_{\hat\jmath}) > \alpha\} \le \delta

    Nothing is paid for the number of thresholds: to go wrong, the walk has to pass the first
    threshold whose risk is too large, and each bound alone fails with probability at most
    :math:`\delta`. Losses need not fall along the thresholds.

    Parameters
    ----------
    losses : array-like of shape (m, n_thresholds)
        Loss of each held-out row under each threshold, in [0, `largest`]. For errors give booleans:
        the binomial tail is sharper than those for numbers. For a rate among some of the rows, as
        of missed cases among the ill, give these rows only.
    thresholds : array-like of shape (n_thresholds,)
        From the safest to the boldest, fixed before the rows were looked at.
    target : float
        The risk that is allowed, :math:`\alpha`.
    delta : float, default=0.05
        Probability that the risk is larger all the same.
    largest : float, default=1.0
        The largest possible loss.

    Returns
    -------
    ControlledThreshold

    References
    ----------
    A. N. Angelopoulos, S. Bates, E. J. Candes, M. I. Jordan and L. Lei, Learn then test:
    calibrating predictive algorithms to achieve risk control, *Annals of Applied Statistics* 19
    (2025); P. Bauer, Multiple testing in clinical trials, *Statistics in Medicine* 10 (1991) 871.

    Examples
    --------
    Scores of 200 ill persons: where may the cutoff be if at most one in ten is to be missed?

    >>> scores = np.random.default_rng(0).normal(1.5, 1.0, size=200)
    >>> cutoffs = np.linspace(-2.0, 2.0, 81)
    >>> print(risk_controlled_threshold(scores[:, None] < cutoffs, cutoffs, target=0.1))
    threshold 0.05: risk at most 0.0894, by binomial tail on held-out rows, assuming that the
    rows are independent draws of the distribution to come and nothing about the machine was
    chosen by looking at these rows
    """
    losses, thresholds = np.asarray(losses), np.asarray(thresholds, dtype=float)
    if losses.ndim != 2 or losses.shape[1:] != thresholds.shape or not losses.size:
        raise ValueError(
            "losses has a row for each held-out row and a column for each threshold; got shape "
            f"{losses.shape} for {thresholds.size} thresholds."
        )
    check_positive(largest=largest)
    if np.isnan(thresholds).any():
        raise ValueError(f"thresholds holds NaN in {int(np.isnan(thresholds).sum())} places.")
    if not 0.0 < target < largest:
        raise ValueError(f"target is a risk between 0 and {largest:g}, not {target:g}.")
    errors = losses.dtype == np.bool_
    found = None
    for j, (threshold, column) in enumerate(zip(thresholds.tolist(), losses.T, strict=True)):
        if errors:
            bound = error_bound(int(column.sum()), len(column), delta=delta)
        else:
            bound = mean_bound(column, largest=largest, delta=delta)
        if not (bound.valid and bound.value <= target):
            break
        found = ControlledThreshold(threshold, j, target, bound)
    if found is None:
        raise ValueError(
            f"The risk of the safest threshold, {thresholds[0]:g}, is not shown to be at most "
            f"{target:g}: {bound}. Begin with a safer one, allow more, or give more than "
            f"{len(losses)} rows."
        )
    return found
