"""Differences of outputs against differences of inputs, drawn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from mercer.plotting.base import Axes, Display
from mercer_research.noise.differogram import DifferogramCloud, DifferogramFit


class DifferogramDisplay(Display):
    r"""The cloud of pairs, boxes of pairs at nearly the same distance, and the fitted curve.

    Where the curve meets the axis is the variance of the noise: all ordinates are half the squared
    differences.

    Parameters
    ----------
    cloud : DifferogramCloud
    fit : DifferogramFit, optional
        Its curve.

    Attributes
    ----------
    points_ : matplotlib Line2D or None
        The cloud.
    boxes_ : matplotlib LineCollection or None
        Quartiles of the groups.
    medians_ : matplotlib Line2D or None
        Means of the groups.
    line_, weights_ : matplotlib Line2D or None
        The curve, and the weights of pairs.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, fig. 6.4b, A.1 and A.2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.plotting import DifferogramDisplay
    >>> x = np.linspace(0, 3, 60)
    >>> y = x + 0.3 * np.random.default_rng(0).normal(size=60)
    >>> display = DifferogramDisplay.from_data(x, y)
    >>> bool(0.04 < display.fit.nugget < 0.2)
    True
    """

    cloud: DifferogramCloud
    fit: DifferogramFit | None = None

    def plot(
        self,
        ax: Axes | None = None,
        *,
        n_bins: int = 12,
        points: bool = True,
        max_points: int = 5000,
        weights: bool = False,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw cloud, groups and curve over the squared distance.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        n_bins : int, default=12
            Groups of distances; 0 for none.
        points : bool, default=True
            Draw the pairs.
        max_points : int, default=5000
            Draw no more than so many, every so many-th.
        weights : bool, default=False
            Draw what a pair weighs in the fit, on an axis of its own.
        name : str, optional
            Label of the curve.
        **kwargs
            For the ``Axes.plot`` of the curve.
        """
        ax = self._draw_on(ax)
        cloud = self.cloud
        self.points_ = self.boxes_ = self.medians_ = self.line_ = self.weights_ = None
        if points:
            some = slice(None, None, max(1, int(np.ceil(len(cloud.squares) / max_points))))
            style: dict[str, Any] = {"color": "0.75", "ms": 2, "zorder": 1}
            (self.points_,) = ax.plot(cloud.squares[some], cloud.halves[some], ".", **style)
        if n_bins:
            bins = cloud.binned(n_bins)
            low, _, high = bins.quartiles.T
            self.boxes_ = ax.vlines(bins.squares, low, high, color="0.4", lw=5, alpha=0.5)
            style = {"color": "0.2", "ms": 4, "label": "mean of the group"}
            (self.medians_,) = ax.plot(bins.squares, bins.halves, "o", **style)
        if self.fit is not None:
            grid = np.linspace(0.0, float(cloud.squares.max()), 200)
            label = f"noise variance {self.fit.nugget:.3g}" if name is None else name
            (self.line_,) = ax.plot(grid, self.fit(grid), label=label, **kwargs)
            if weights:
                other = ax.twinx()
                order = np.argsort(cloud.squares)
                x, weight = cloud.squares[order], self.fit.weights[order]
                (self.weights_,) = other.plot(x, weight, ":", color="0.4")
                other.set(ylabel="weight of a pair", ylim=(0.0, None))
        label = r"half the squared difference $\frac{1}{2}\Delta_y^2$"
        return self._finish(xlabel=r"squared distance $\Delta_x^2$", ylabel=label)

    @classmethod
    def from_data(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        *,
        neighbourhood: float = 1.0,
        degree: int = 1,
        model: str = "polynomial",
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Make the cloud of a sample, fit its closest part and draw both.

        Parameters
        ----------
        X : (n, p) or (n,) array
        y : (n,) array
        neighbourhood : float, default=1.0
            Share of the pairs, the closest, that the curve is fitted to and that are drawn.
        degree : int, default=1
        model : {"polynomial", "gaussian"}, default="polynomial"
            As in :meth:`mercer_research.noise.differogram.DifferogramCloud.fit`.
        """
        cloud = DifferogramCloud.of(X, y).near(neighbourhood)
        return cls(cloud=cloud, fit=cloud.fit(degree, model)).plot(ax, **kwargs)
