"""How many functions of a machine's class differ on its sample, drawn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer._typing import PointsLike, TargetsLike
from mercer.plotting.base import Axes, Display
from mercer.research.covering.report import CoveringReport, covering_report

__all__ = ["CoveringDisplay"]

# Words of the arguments behind covering numbers, for those who never read them.
PLAIN = {
    "greedy terms": "any kernel: few terms suffice",
    "cube": "number of rows",
    "truncation, measured": "few large eigenvalues",
    "best scaling, measured": "decay of the eigenvalues",
    "best scaling, measured then greedy terms": "decay, then few terms",
    "principal directions of the sample": "few large eigenvalues",
}


class CoveringDisplay(Display):
    r"""How many functions of a machine's class can be told apart on its sample.

    ln N against :math:`\ln 1/\varepsilon`, each stretch coloured by the argument that gives the
    bound.

    Parameters
    ----------
    report : CoveringReport
        From :func:`mercer.research.covering.covering_report`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : dict of str to matplotlib Line2D
        "lower", and the stretches of ln N by the argument that is active.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.research.plotting import CoveringDisplay
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> display = CoveringDisplay.from_estimator(SVC().fit(X, X[:, 0] > 0), X, X[:, 0] > 0)
    >>> display.ax_.get_ylabel()
    '$\\ln N(\\varepsilon)$'
    """

    def __init__(self, *, report: CoveringReport) -> None:
        self.report = report

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        CoveringDisplay
        """
        ax, report = self._draw_on(ax), self.report
        self.lines_: dict[str, Any] = {}
        x, y = np.log(1 / report.radii), report.log_covering
        names = list(dict.fromkeys(report.active))
        for k, name in enumerate(names):
            on = np.array([active == name for active in report.active])
            # A stretch reaches to the next point, so that the curve has no holes.
            on[1:] |= on[:-1]
            shown = np.where(on, y, np.nan)
            label = PLAIN.get(name, name)
            (self.lines_[name],) = ax.plot(x, shown, lw=2.2, color=f"C{k}", label=label)
        if np.any(report.log_lower > 0):
            (self.lines_["lower"],) = ax.plot(
                x, report.log_lower, "--", color="0.5", lw=1, label="at least so many"
            )
        words = "training error" if report.bound is None else "margin"
        ax.axvline(np.log(1 / report.size.precision), color="0.2", lw=1, ls=":")
        ax.annotate(
            f"the {words}",
            (np.log(1 / report.size.precision), 0.97),
            xycoords=("data", "axes fraction"),
            xytext=(-4, 0),
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize=8,
            color="0.2",
        )
        ax.set_yscale("symlog", linthresh=10)
        ax.set_ylim(bottom=0)
        ax.set(xlabel=r"$\ln 1/\varepsilon$ (finer to the right)", ylabel=r"$\ln N(\varepsilon)$")
        ax.set_title("to compare kernels: functions told apart", loc="left", fontsize=10)
        ax.legend(
            fontsize=8,
            title="at most, by",
            title_fontsize=8,
            loc="lower right",
            framealpha=0.85,
            edgecolor="none",
        )
        ax.spines[["top", "right"]].set_visible(False)
        return self

    @classmethod
    def from_estimator(
        cls, model: Any, X: PointsLike, y: TargetsLike, *, ax: Axes | None = None, **how: Any
    ) -> Self:
        """Count the functions of a fitted machine's class and draw how many there are.

        Parameters
        ----------
        model, X, y :
            As in :func:`mercer.research.covering.covering_report`.
        ax : matplotlib Axes, optional
        **how
            For :func:`mercer.research.covering.covering_report`.

        Returns
        -------
        CoveringDisplay
        """
        return cls(report=covering_report(model, X, y, **how)).plot(ax)
