"""What single samples do to a machine."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer.plotting.base import Axes, Display, Factory
from mercer.selection.leave_one_out_errors import Influence
from mercer.selection.leave_one_out_errors import influence as compute_influence

__all__ = ["InfluenceDisplay"]


class InfluenceDisplay(Display):
    """The size of every sample's sensitivity curve, as stems; who has none carries nothing.

    Parameters
    ----------
    influence : Influence
        From :func:`mercer.selection.influence`.

    Attributes
    ----------
    stems_ : matplotlib LineCollection
    points_ : matplotlib Line2D

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVR
    >>> from mercer.plotting import InfluenceDisplay
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> machine = SVR(epsilon=0.2).fit(X, np.sin(X[:, 0]))
    >>> display = InfluenceDisplay.from_estimator(machine, X, np.sin(X[:, 0]))
    >>> display.ax_.get_ylabel()
    'influence'
    """

    influence: Influence
    from_estimator = Factory(compute_influence)

    def plot(self, ax: Axes | None = None, *, x: object = None, **kwargs: Any) -> Self:
        """Draw the stems.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        x : (n,) array-like, optional
            Where to draw each sample; its number by default.
        **kwargs
            For the points, as in ``Axes.plot``.
        """
        ax = self._draw_on(ax)
        size = self.influence.size
        places = np.arange(len(size)) if x is None else np.ravel(np.asarray(x, dtype=float))
        if places.shape != size.shape:
            raise ValueError(f"x must have one place for each of the {len(size)} samples.")
        (self.points_,) = ax.plot(places, size, **{"ls": "", "marker": "o", "ms": 4, **kwargs})
        self.stems_ = ax.vlines(places, 0.0, size, color=self.points_.get_color(), lw=1)
        return self._finish(xlabel="sample" if x is None else "", ylabel="influence")
