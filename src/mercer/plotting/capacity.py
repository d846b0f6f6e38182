"""What may be claimed of a machine, drawn: the ladder of bounds, and how rich its class is."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer._typing import PointsLike, TargetsLike
from mercer.claims.ladder import Rung
from mercer.claims.report import CapacityReport, capacity_report
from mercer.plotting.base import Axes, Figure, axes_of, figure_of, plt

__all__ = ["CapacityDisplay"]

# Green is what may be quoted; nothing else is.
COLOURS = {"holds": "#2e7d32", "unproved": "#ef6c00", "says nothing": "0.72"}
COLOURS |= {"estimate": "#1565c0", "refused": "#b71c1c"}

# Words are readable where lines cross them.
PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.85}


class CapacityDisplay:
    r"""What may be claimed of a machine: bounds on its error, and how rich its class is.

    On the left every bound on the error of new rows. A green bar may be quoted with what it
    assumes, an orange one rests on something unknown, a grey one says no more than what is known
    without any machine (the dashed line), a refused one has no bar. On the right the eigenvalues of
    the kernel matrix.

    Parameters
    ----------
    report : CapacityReport
        From :func:`mercer.claims.capacity_report`.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        Ladder and eigenvalues; the ladder alone for machines without a kernel.
    figure_ : matplotlib Figure
    bars_ : dict of str to matplotlib Rectangle
        By the names of the bounds.
    lines_ : dict of str to matplotlib Line2D
        By what they show: "known", "held out", "eigenvalues".

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.plotting import CapacityDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = X[:, 0] + 0.3 * rng.normal(size=300) > 0
    >>> machine = SVC(gamma=0.5).fit(X[:200], y[:200])
    >>> display = CapacityDisplay.from_estimator(machine, X[:200], y[:200], X[200:], y[200:])
    >>> display.axes_[0].get_title(loc="left")
    'may be claimed: error rate at most 0.14'
    """

    def __init__(self, *, report: CapacityReport) -> None:
        self.report = report

    def plot(self, ax: Any = None) -> Self:
        """Draw the report.

        Parameters
        ----------
        ax : sequence of two matplotlib Axes, optional
            One for machines without a kernel; new ones if not given.

        Returns
        -------
        CapacityDisplay
        """
        count = 1 if self.report.size is None else 2
        if ax is None:
            wide: dict[str, Any] = {"figsize": (9.6, 4.2), "width_ratios": (1.5, 1)}
            wide = wide if count == 2 else {}
            _, ax = plt.subplots(1, count, squeeze=False, layout="constrained", **wide)
        self.axes_: list[Axes] = axes_of(ax, count)
        self.figure_: Figure = figure_of(self.axes_[0])
        self.lines_: dict[str, Any] = {}
        self.bars_: dict[str, Any] = {}
        self._ladder(self.axes_[0])
        if count == 2:
            self._eigenvalues(self.axes_[1])
        return self

    def _ladder(self, ax: Axes) -> None:
        report = self.report
        rungs = [rung for rung in report.rungs if rung.bound is not None]
        top = 1.0 if report.unit == "error rate" else 2.2 * report.trivial
        for i, rung in enumerate(rungs):
            assert rung.bound is not None
            value = min(rung.bound.value, top)
            text, at, colour = self._words(rung), value, COLOURS[rung.status]
            if rung.status == "refused":
                at = 0.0
            elif rung.status == "estimate":
                ax.plot(value, i, "o", mfc="none", color=colour)
            else:
                (self.bars_[rung.name],) = ax.barh(i, value, color=colour, height=0.6, zorder=2)
            inside = at > 0.55 * top
            ax.annotate(
                text,
                (at, i),
                xytext=(-5 if inside else 5, 0),
                textcoords="offset points",
                va="center",
                ha="right" if inside else "left",
                fontsize=8,
                color="black" if inside else colour if rung.status != "says nothing" else "0.35",
                bbox=None if inside else PAPER,
            )
        ax.set_yticks(range(len(rungs)), [rung.name for rung in rungs])
        ax.set_ylim(len(rungs) - 0.4, -1.4)
        ax.set_xlim(0, top)
        self._line(ax, "known", report.trivial, "--", report.without)
        if report.test_error is not None:
            self._line(ax, "held out", report.test_error, ":", "seen on held-out rows")
        claim = report.claim
        if claim is None or claim.bound is None:
            ax.set_title("nothing may be claimed", loc="left", fontsize=10)
        else:
            may = "not proved" if claim.status == "unproved" else "may be claimed"
            said = f"{may}: {report.unit.split(' (')[0]} at most {claim.bound.value:.3g}"
            ax.set_title(said, loc="left", fontsize=10)
        sure = f"{100 * (1 - report.delta):g} %"
        ax.set_xlabel(f"{report.unit} of new rows is at most (probability {sure})")
        ax.spines[["top", "right"]].set_visible(False)

    @staticmethod
    def _words(rung: Rung) -> str:
        assert rung.bound is not None
        if rung.status == "refused":
            return "refused: " + _cut(rung.why.rpartition(", but ")[2] or rung.why)
        number = f"{rung.bound.value:.3g}"
        told = {"holds": "", "unproved": " unproved", "says nothing": " says nothing"}
        told |= {"estimate": " estimate, no guarantee"}
        return number + told[rung.status]

    def _line(self, ax: Axes, name: str, value: float, style: str, words: str) -> None:
        self.lines_[name] = ax.axvline(value, ls=style, color="0.2", lw=1.2, zorder=1)
        right = value > 0.5 * ax.get_xlim()[1]
        ax.annotate(
            f"{words} {value:.3g}",
            (value, -1.35 if name == "known" else -0.85),
            xytext=(-4 if right else 4, 0),
            textcoords="offset points",
            ha="right" if right else "left",
            va="top",
            fontsize=8,
            color="0.2",
            bbox=PAPER,
        )

    def _eigenvalues(self, ax: Axes) -> None:
        size = self.report.size
        assert size is not None
        values = size.eigenvalues[size.eigenvalues > 1e-12 * size.eigenvalues[0]]
        (self.lines_["eigenvalues"],) = ax.loglog(
            np.arange(1, len(values) + 1), values, ".-", color="C0", lw=0.8, ms=4
        )
        ax.axvline(size.effective_rank, color="0.2", lw=1, ls=":")
        right = size.effective_rank > np.sqrt(len(values))
        ax.annotate(
            f"as spread as {size.effective_rank:.3g}\nequal ones",
            (size.effective_rank, 0.03),
            xycoords=("data", "axes fraction"),
            xytext=(-4 if right else 4, 0),
            textcoords="offset points",
            ha="right" if right else "left",
            fontsize=8,
            color="0.2",
        )
        ax.set(xlabel="number", ylabel="of the kernel matrix / rows")
        ax.set_title("to compare kernels: eigenvalues", loc="left", fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: PointsLike,
        y: TargetsLike,
        X_test: PointsLike = None,
        y_test: TargetsLike = None,
        *,
        ax: Any = None,
        **how: Any,
    ) -> Self:
        """Make the report of a fitted machine and draw it.

        Parameters
        ----------
        model, X, y, X_test, y_test :
            As in :func:`mercer.claims.capacity_report`.
        ax : sequence of matplotlib Axes, optional
        **how
            For :func:`mercer.claims.capacity_report`.

        Returns
        -------
        CapacityDisplay
        """
        return cls(report=capacity_report(model, X, y, X_test, y_test, **how)).plot(ax)


def _cut(words: str, most: int = 66) -> str:
    """Return the first words, as many as fit beside a bar."""
    words = words.rstrip(".")
    return words if len(words) <= most else words[:most].rsplit(" ", 1)[0] + " ..."
