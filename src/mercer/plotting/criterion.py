"""A criterion over hyperparameters, and the way that tuning took through it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer.plotting.base import Axes, BoundaryNorm, Display, Factory
from mercer.selection.objective import Surface, criterion_surface
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

    surface: Surface
    tuning: Tuning | None = None
    from_estimator = Factory(criterion_surface)

    def plot(self, ax: Axes | None = None, *, levels: Any = None, **kwargs: Any) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        levels : array-like, optional
            Factors above the least value at which lines are drawn.
        **kwargs
            For ``Axes.contourf``.
        """
        ax = self._draw_on(ax)
        surface, values = self.surface, self.surface.values
        above = values / np.nanmin(values) if surface.criterion.positive else values
        if not surface.criterion.positive:
            above = np.exp(np.minimum(above - np.nanmin(above), 50.0))
        levels = [1, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 4, 1e300] if levels is None else levels
        scales = [getattr(kernel, "length_scale", np.ones(2)) for kernel in surface.kernels]
        isotropic = np.ndim(scales[0]) == 0
        widths = np.array(scales) if isotropic else surface.factors
        # Colours change from level to level, however far these are apart.
        norm = BoundaryNorm(np.asarray(levels, dtype=float), 256)
        style: dict[str, Any] = {"levels": levels, "cmap": "viridis_r", "norm": norm, **kwargs}
        above = np.clip(above, levels[0], levels[-1])
        self.map_ = ax.contourf(surface.Cs, widths, above, **style)
        row, column = surface.best
        (self.best_,) = ax.plot(surface.Cs[column], widths[row], "o", color="white", mec="black")
        self.way_ = None
        if self.tuning is not None:
            trials = self.tuning.trials_
            way = [t.parameters for t in trials if t.stage == "descent"]
            way = way or [t.parameters for t in trials]
            Cs = [parameters["C"] for parameters in way]
            width = [np.ravel(parameters["kernel__length_scale"])[0] for parameters in way]
            (self.way_,) = ax.plot(Cs, width, ".-", color="#D55E00", lw=1)
        ax.set(xscale="log", yscale="log", ylim=(widths[0], widths[-1]))
        label = "length scale" if isotropic else "factor of the length scales"
        return self._finish(xlabel="C", ylabel=label, xlim=(surface.Cs[0], surface.Cs[-1]))
