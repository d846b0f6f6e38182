"""What may be claimed of a machine, drawn: the ladder of bounds, and how rich its class is."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer.plotting.base import Axes, AxesLike, Display, Factory
from mercer_research.risk_bounds.all_bounds import Rung
from mercer_research.risk_bounds.capacity_report import CapacityReport, capacity_report

__all__ = ["CapacityDisplay"]

# Green is what may be quoted; nothing else is.
COLOURS = {"holds": "#2e7d32", "unproved": "#ef6c00", "says nothing": "0.72"}
COLOURS |= {"estimate": "#1565c0", "refused": "#b71c1c"}

# Words are readable where lines cross them.
PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.85}


class CapacityDisplay(Display):
    r"""What may be claimed of a machine: bounds on its error, and how rich its class is.

    On the left every bound on the error of new rows. A green bar may be quoted with what it
    assumes, an orange one rests on something unknown, a grey one says no more than what is known
    without any machine (the dashed line), a refused one has no bar. On the right the eigenvalues of
    the kernel matrix.

    Parameters
    ----------
    report : CapacityReport
        From :func:`mercer_research.risk_bounds.capacity_report`.

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
    >>> from mercer_research.plotting import CapacityDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = X[:, 0] + 0.3 * rng.normal(size=300) > 0
    >>> machine = SVC(gamma=0.5).fit(X[:200], y[:200])
    >>> display = CapacityDisplay.from_estimator(machine, X[:200], y[:200], X[200:], y[200:])
    >>> display.axes_[0].get_title(loc="left")
    'may be claimed: error rate at most 0.14'
    """

    report: CapacityReport
    from_estimator = Factory(capacity_report)

    def plot(self, ax: AxesLike = None) -> Self:
        """Draw the report.

        Parameters
        ----------
        ax : sequence of two matplotlib Axes, optional
            One for machines without a kernel; new ones if not given.
        """
        count = 1 if self.report.size is None else 2
        shape: dict[str, Any] = {"cell": (4.8, 4.2), "width_ratios": (1.5, 1)}
        self._draw_on_each(ax, count, 2, **(shape if count == 2 else {}))
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
            colour = "0.35" if rung.status == "says nothing" else colour
            inside = at > 0.55 * top
            style = {"color": "black"} if inside else {"color": colour, "bbox": PAPER}
            shift = (-5 if inside else 5, 0)
            note(ax, text, (at, i), inside, xytext=shift, va="center", **style)
        ax.set_yticks(range(len(rungs)), [rung.name for rung in rungs])
        ax.set(xlim=(0, top), ylim=(len(rungs) - 0.4, -1.4))
        self._line(ax, "known", report.trivial, "--", report.without)
        if report.test_error is not None:
            self._line(ax, "held out", report.test_error, ":", "seen on held-out rows")
        claim = report.claim
        said = "nothing may be claimed"
        if claim is not None and claim.bound is not None:
            may = "not proved" if claim.status == "unproved" else "may be claimed"
            said = f"{may}: {report.unit.split(' (')[0]} at most {claim.bound.value:.3g}"
        _entitle(ax, said)
        sure = f"{100 * (1 - report.delta):g} %"
        ax.set_xlabel(f"{report.unit} of new rows is at most (probability {sure})")

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
        at, left = (value, -1.35 if name == "known" else -0.85), value > 0.5 * ax.get_xlim()[1]
        note(ax, f"{words} {value:.3g}", at, left, va="top", color="0.2", bbox=PAPER)

    def _eigenvalues(self, ax: Axes) -> None:
        size = self.report.size
        assert size is not None
        values = size.eigenvalues[size.eigenvalues > 1e-12 * size.eigenvalues[0]]
        x, rank = np.arange(1, len(values) + 1), size.effective_rank
        (self.lines_["eigenvalues"],) = ax.loglog(x, values, ".-", color="C0", lw=0.8, ms=4)
        ax.axvline(rank, color="0.2", lw=1, ls=":")
        words, left = f"as spread as {rank:.3g}\nequal ones", rank > np.sqrt(len(values))
        note(ax, words, (rank, 0.03), left, xycoords=("data", "axes fraction"), color="0.2")
        ax.set(xlabel="number", ylabel="of the kernel matrix / rows")
        _entitle(ax, "to compare kernels: eigenvalues")


def _entitle(ax: Axes, words: str) -> None:
    """Write the title of a panel, and take away the frame above it."""
    ax.set_title(words, loc="left", fontsize=10)
    ax.spines[["top", "right"]].set_visible(False)


def _cut(words: str, most: int = 66) -> str:
    """Return the first words, as many as fit beside a bar."""
    words = words.rstrip(".")
    return words if len(words) <= most else words[:most].rsplit(" ", 1)[0] + " ..."


def note(ax: Axes, text: str, at: tuple[float, float], left: bool, **style: Any) -> None:
    """Write small words beside a point: on its left, or on its right."""
    side, shift = ("right", -4) if left else ("left", 4)
    own = {"ha": side, "xytext": (shift, 0), "textcoords": "offset points", "fontsize": 8}
    ax.annotate(text, at, **{**own, **style})
