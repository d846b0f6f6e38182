"""What leaving samples out does to their residuals, and the classical L-curve."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer.plotting.base import Axes, Display, Factory
from mercer_research.selection.l_curve import LCurve
from mercer_research.selection.stability_report import Stability
from mercer_research.selection.stability_report import stability as compute_stability

__all__ = ["LCurveDisplay", "StabilityProfileDisplay"]


class LCurveDisplay(Display):
    """Norms of functions against norms of residuals, over all weights of the loss.

    Parameters
    ----------
    curve : LCurve
        From :func:`mercer_research.selection.l_curve`.

    Attributes
    ----------
    line_ : matplotlib Line2D
    corner_ : matplotlib Line2D
        The weight with the largest curvature.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer_research.plotting import LCurveDisplay
    >>> from mercer_research.selection import l_curve
    >>> x = np.linspace(-3, 3, 30)[:, None]
    >>> curve = l_curve(Gaussian(0.7)(x), np.sinc(x[:, 0]), np.geomspace(0.1, 1e3, 9))
    >>> LCurveDisplay(curve=curve).plot().ax_.get_ylabel()
    'norm of the function'
    """

    curve: LCurve

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the curve by ``Axes.loglog``."""
        ax = self._draw_on(ax)
        curve, k = self.curve, self.curve.corner
        (self.line_,) = ax.loglog(curve.residuals, curve.norms, **kwargs)
        (self.corner_,) = ax.plot(curve.residuals[k], curve.norms[k], "o", color="0.2")
        return self._finish(xlabel="norm of the residuals", ylabel="norm of the function")


class StabilityProfileDisplay(Display):
    """Residuals of samples left out against those of the same samples trained on.

    On the diagonal nothing changes; the samples farthest from it are numbered.

    Parameters
    ----------
    stability : Stability
        From :func:`mercer_research.selection.stability_report.stability`, of one output.

    Attributes
    ----------
    points_ : matplotlib Line2D
    labels_ : list of matplotlib Text
        Of the worst samples.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR
    >>> from mercer_research.plotting.stability import StabilityProfileDisplay
    >>> x = np.linspace(-3, 3, 30)[:, None]
    >>> y = np.sinc(x[:, 0])
    >>> display = StabilityProfileDisplay.from_estimator(LSSVR().fit(x, y), x, y, worst=2)
    >>> len(display.labels_)
    2
    """

    stability: Stability
    from_estimator = Factory(compute_stability)

    def __post_init__(self) -> None:
        if self.stability.residuals.ndim != 1:
            raise ValueError("a profile is of one output; take the columns one by one.")

    def plot(self, ax: Axes | None = None, *, worst: int = 3, **kwargs: Any) -> Self:
        """Draw the samples.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        worst : int, default=3
            How many samples are numbered.
        **kwargs
            For ``Axes.plot``.
        """
        ax = self._draw_on(ax)
        e, left_out = self.stability.residuals, self.stability.left_out
        ends = np.array([min(e.min(), left_out.min()), max(e.max(), left_out.max())])
        alpha = self.stability.alpha
        ax.fill_between(ends, ends - alpha, ends + alpha, color="0.93", lw=0)
        ax.plot(ends, ends, color="0.6", lw=0.8)
        style: dict[str, Any] = {"marker": "o", "ls": "", "ms": 4} | kwargs
        (self.points_,) = ax.plot(e, left_out, **style)
        at: dict[str, Any] = {"xytext": (4, 4), "textcoords": "offset points", "size": "small"}
        self.labels_ = [
            ax.annotate(str(k), (e[k], left_out[k]), **at)
            for k in self.stability.worst[:worst].tolist()
        ]
        return self._finish(xlabel="residual", ylabel="residual when left out")
