"""A criterion over hyperparameters, and the way that tuning took through it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer._typing import PointsLike, TargetsLike
from mercer.plotting.base import Axes, BoundaryNorm, Display
from mercer.selection.search import Surface, criterion_surface
from mercer.selection.tuning import Tuning


class CriterionDisplay(Display):
    """A criterion as a map over the width of the kernel and the weight of the loss.

    Levels are factors above the least value, so that maps of different data compare.

    Parameters
    ----------
    surface : Surface
        From :func:`mercer.selection.criterion_surface`.
    tuning : Tuning, optional
        A search in the same space, whose descent is drawn over the map.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    map_ : matplotlib QuadContourSet
    best_ : matplotlib Line2D
        The least value of the grid.
    way_ : matplotlib Line2D or None
        The descent.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR
    >>> from mercer.plotting import CriterionDisplay
    >>> X = np.linspace(-3, 3, 30)[:, None]
    >>> display = CriterionDisplay.from_estimator(LSSVR(), X, np.sinc(X[:, 0]))
    >>> display.ax_.get_xlabel()
    'C'
    """

    def __init__(self, *, surface: Surface, tuning: Tuning | None = None) -> None:
        self.surface = surface
        self.tuning = tuning

    def plot(self, ax: Axes | None = None, *, levels: Any = None, **kwargs: Any) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        levels : array-like, optional
            Factors above the least value at which lines are drawn.
        **kwargs
            For ``Axes.contourf``.

        Returns
        -------
        CriterionDisplay
        """
        ax = self._draw_on(ax)
        surface, values = self.surface, self.surface.values
        above = values / np.nanmin(values) if surface.criterion.positive else values
        if not surface.criterion.positive:
            above = np.exp(np.minimum(above - np.nanmin(above), 50.0))
        levels = [1, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 4, 1e300] if levels is None else levels
        widths = _widths(surface)
        self.map_ = ax.contourf(
            surface.Cs,
            widths,
            np.clip(above, levels[0], levels[-1]),
            levels=levels,
            **{"cmap": "viridis_r", "norm": _steps(levels)} | kwargs,
        )
        row, column = surface.best
        (self.best_,) = ax.plot(surface.Cs[column], widths[row], "o", color="white", mec="black")
        self.way_ = None
        if self.tuning is not None:
            trials = self.tuning.trials_
            way = [trial for trial in trials if trial.stage == "descent"] or trials
            width = [_width(trial.parameters) for trial in way]
            (self.way_,) = ax.plot(
                [trial.parameters["C"] for trial in way], width, ".-", color="#D55E00", lw=1
            )
        label = "length scale" if _has_width(surface) else "factor of the length scales"
        ax.set(xscale="log", yscale="log", xlabel="C", ylabel=label)
        ax.set_xlim(surface.Cs[0], surface.Cs[-1])
        ax.set_ylim(widths[0], widths[-1])
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: PointsLike,
        y: TargetsLike,
        *,
        factors: Any = None,
        Cs: Any = None,
        criterion: Any = "loo",
        tuning: Tuning | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Evaluate the criterion on a grid and draw it.

        Parameters
        ----------
        estimator, X, y, factors, Cs, criterion :
            As in :func:`mercer.selection.criterion_surface`.
        tuning : Tuning, optional
            A search whose descent is drawn over the map.
        ax : matplotlib Axes, optional
        **kwargs
            As in :meth:`plot`.

        Returns
        -------
        CriterionDisplay
        """
        surface = criterion_surface(estimator, X, y, factors=factors, Cs=Cs, criterion=criterion)
        return cls(surface=surface, tuning=tuning).plot(ax, **kwargs)


def _steps(levels: Any) -> Any:
    """Return colours that change from level to level, however far these are apart."""
    return BoundaryNorm(np.asarray(levels, dtype=float), 256)


def _has_width(surface: Surface) -> bool:
    return np.ndim(getattr(surface.kernels[0], "length_scale", np.ones(2))) == 0


def _widths(surface: Surface) -> Any:
    if not _has_width(surface):
        return surface.factors
    return np.array([kernel.length_scale for kernel in surface.kernels])


def _width(parameters: dict[str, Any]) -> float:
    return float(np.ravel(parameters["kernel__length_scale"])[0])
