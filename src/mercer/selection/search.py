"""A surface of a criterion for the price of its widths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mercer._typing import (
    Array,
    PointsLike,
    TargetsLike,
    WeightsLike,
)
from mercer.machines.base import KernelMachine
from mercer.selection._statement import state
from mercer.selection.objective import Objective, criterion_of
from mercer.selection.space import Space
from mercer.smoothing.criteria import Criterion

__all__ = ["Surface", "criterion_surface"]


@dataclass(frozen=True, eq=False)
class Surface:
    """A criterion over widths and weights of the loss."""

    factors: Array
    """What the kernel's length scales were multiplied by, (k,)."""

    Cs: Array
    """Weights of the loss, (m,)."""

    values: Array
    """The criterion, (k, m); smaller is better."""

    kernels: list[Any]
    """The kernel of every row."""

    criterion: Criterion
    """What the values are."""

    @property
    def best(self) -> tuple[int, int]:
        """Where the criterion is least."""
        row, column = np.unravel_index(np.nanargmin(self.values), self.values.shape)
        return int(row), int(column)

    @property
    def best_params(self) -> dict[str, Any]:
        """The kernel and the weight there, for ``set_params``."""
        row, column = self.best
        return {"kernel": self.kernels[row], "C": float(self.Cs[column])}


def criterion_surface(
    estimator: KernelMachine,
    X: PointsLike,
    y: TargetsLike,
    *,
    factors: ArrayLike | None = None,
    Cs: ArrayLike | None = None,
    criterion: Criterion | str = "loo",
    sample_weight: WeightsLike = None,
) -> Surface:
    """Evaluate a criterion of the least-squares machine on a grid of widths and weights.

    Every width takes one eigendecomposition, whatever the number of weights.

    Parameters
    ----------
    estimator : KernelMachine
        Its kernel, free functions and targets are used.
    X, y, sample_weight
        The sample.
    factors : (k,) array, optional
        What the length scales are multiplied by; 25 values from 1/16 to 16 by default.
    Cs : (m,) array, optional
        Weights of the loss; 41 values from 1e-3 to 1e5 by default.
    criterion : Criterion or str, default="loo"
        As in :func:`tune`.

    Returns
    -------
    Surface
        To look at by :class:`~mercer.plotting.CriterionDisplay`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR
    >>> from mercer.selection import criterion_surface
    >>> X = np.linspace(-3, 3, 40)[:, None]
    >>> surface = criterion_surface(LSSVR(), X, np.sinc(X[:, 0]))
    >>> surface.values.shape
    (25, 41)
    """
    statement = state(estimator, X, y, sample_weight)
    space = Space.of(statement.kernel, statement.X.shape[1])
    factors = np.geomspace(1 / 16, 16, 25) if factors is None else np.asarray(factors, dtype=float)
    Cs = np.geomspace(1e-3, 1e5, 41) if Cs is None else np.asarray(Cs, dtype=float)
    if not (np.all(factors > 0) and np.all(Cs > 0)):
        raise ValueError("factors and Cs must be positive.")
    objective = Objective(statement, space, criterion=criterion_of(criterion))
    thetas = [space.wider(space.start(1.0), float(np.log(factor))) for factor in factors]
    values = np.array([objective.curve(statement, theta, Cs, "grid") for theta in thetas])
    kernels = [space.at(theta)[0] for theta in thetas]
    return Surface(factors, Cs, values, kernels, objective.criterion)
