"""How many functions of a machine's class differ on its sample, drawn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer.plotting.base import Axes, Display, Factory
from mercer_research.covering.report import CoveringReport, covering_report
from mercer_research.plotting.capacity import note

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
        From :func:`mercer_research.covering.covering_report`.

    Attributes
    ----------
    lines_ : dict of str to matplotlib Line2D
        "lower", and the stretches of ln N by the argument that is active.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer_research.plotting import CoveringDisplay
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> display = CoveringDisplay.from_estimator(SVC().fit(X, X[:, 0] > 0), X, X[:, 0] > 0)
    >>> display.ax_.get_ylabel()
    '$\\ln N(\\varepsilon)$'
    """

    report: CoveringReport
    from_estimator = Factory(covering_report)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curve."""
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
            style: dict[str, Any] = {"color": "0.5", "lw": 1, "label": "at least so many"}
            (self.lines_["lower"],) = ax.plot(x, report.log_lower, "--", **style)
        words = "training error" if report.bound is None else "margin"
        at = np.log(1 / report.size.precision)
        ax.axvline(at, color="0.2", lw=1, ls=":")
        where: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "va": "top", "color": "0.2"}
        note(ax, f"the {words}", (at, 0.97), True, **where)
        ax.set_yscale("symlog", linthresh=10)
        ax.set_ylim(bottom=0)
        ax.set_title("to compare kernels: functions told apart", loc="left", fontsize=10)
        legend = {"title": "at most, by", "title_fontsize": 8, "fontsize": 8, "edgecolor": "none"}
        ax.spines[["top", "right"]].set_visible(False)
        return self._finish(
            xlabel=r"$\ln 1/\varepsilon$ (finer to the right)",
            ylabel=r"$\ln N(\varepsilon)$",
            legend={**legend, "loc": "lower right", "framealpha": 0.85},
        )
