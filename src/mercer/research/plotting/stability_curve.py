"""What a bound on stability does to residuals."""

from __future__ import annotations

from typing import Any, Self

from mercer._typing import PointsLike, TargetsLike
from mercer.plotting.base import Axes, Display
from mercer.research.fusion.stable import StableLSSVR, stability_curve
from mercer.research.fusion.stable_folds import StabilityCurve

__all__ = ["StabilityDisplay"]


class StabilityDisplay(Display):
    r"""Residuals of samples trained on and left out against the bound on their difference.

    Parameters
    ----------
    curve : StabilityCurve
        From :func:`mercer.research.fusion.stability_curve`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
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
    >>> from mercer.research.fusion import StableLSSVR
    >>> from mercer.research.plotting import StabilityDisplay
    >>> x = np.linspace(-3, 3, 30)[:, None]
    >>> y = np.sinc(x[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(30)
    >>> display = StabilityDisplay.from_estimator(StableLSSVR(Gaussian(0.7), cv=5), x, y)
    >>> display.ax_.get_xscale()
    'log'
    """

    def __init__(self, *, curve: StabilityCurve) -> None:
        self.curve = curve

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw both curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        **kwargs
            For ``Axes.loglog``.

        Returns
        -------
        StabilityDisplay
        """
        ax = self._draw_on(ax)
        curve = self.curve
        self.lines_ = [
            *ax.loglog(curve.alpha_s, curve.residuals, label="trained on", **kwargs),
            *ax.loglog(curve.alpha_s, curve.left_out, label="left out", **kwargs),
        ]
        (self.corner_,) = ax.plot(curve.best, curve.left_out[curve.corner], "o", color="0.2")
        ax.set(xlabel=r"bound $\alpha_S$", ylabel="mean squared residual")
        ax.legend(frameon=False)
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: StableLSSVR,
        X: PointsLike,
        y: TargetsLike,
        *,
        alphas: Any = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Compute the curve and draw it.

        Parameters
        ----------
        estimator, X, y, alphas :
            As in :func:`mercer.research.fusion.stability_curve`.
        ax : matplotlib Axes, optional
        **kwargs
            As in :meth:`plot`.

        Returns
        -------
        StabilityDisplay
        """
        return cls(curve=stability_curve(estimator, X, y, alphas)).plot(ax, **kwargs)
