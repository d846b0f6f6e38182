"""What a bound on stability does to residuals."""

from __future__ import annotations

from typing import Any, Self

from mercer.plotting.base import Axes, Display, Factory
from mercer_research.fusion.stable import stability_curve
from mercer_research.fusion.stable_folds import StabilityCurve

__all__ = ["StabilityDisplay"]


class StabilityDisplay(Display):
    r"""Residuals of samples trained on and left out against the bound on their difference.

    Parameters
    ----------
    curve : StabilityCurve
        From :func:`mercer_research.fusion.stability_curve`.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        Of samples trained on, and left out.
    corner_ : matplotlib Line2D
        The bound with the largest curvature.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, figure 8.4.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer_research.fusion import StableLSSVR
    >>> from mercer_research.plotting import StabilityDisplay
    >>> x = np.linspace(-3, 3, 30)[:, None]
    >>> y = np.sinc(x[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(30)
    >>> display = StabilityDisplay.from_estimator(StableLSSVR(Gaussian(0.7), cv=5), x, y)
    >>> display.ax_.get_xscale()
    'log'
    """

    curve: StabilityCurve
    from_estimator = Factory(stability_curve)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw both curves by ``Axes.loglog``."""
        ax = self._draw_on(ax)
        curve = self.curve
        self.lines_ = [
            *ax.loglog(curve.alpha_s, curve.residuals, label="trained on", **kwargs),
            *ax.loglog(curve.alpha_s, curve.left_out, label="left out", **kwargs),
        ]
        (self.corner_,) = ax.plot(curve.best, curve.left_out[curve.corner], "o", color="0.2")
        labels: dict[str, Any] = {"xlabel": r"bound $\alpha_S$", "ylabel": "mean squared residual"}
        return self._finish(**labels, legend=True)
