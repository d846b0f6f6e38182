"""Filters drawn: two kernels against each other, and a fitted machine."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer.plotting.base import Axes, Display, Factory
from mercer.plotting.filters import FREQUENCY, LABELS
from mercer_research.diagnostics.kernel_comparison import Comparison, compare
from mercer_research.diagnostics.machine_report import MachineReport, machine_report


class ComparisonDisplay(Display):
    r"""Two kernels as filters, with the band on which they are compared.

    Parameters
    ----------
    comparison : Comparison
        From :func:`mercer_research.diagnostics.compare`.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        The two attenuations.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Matern
    >>> from mercer_research.plotting import ComparisonDisplay
    >>> display = ComparisonDisplay.from_kernels(Gaussian(), Matern(nu=2.5))
    >>> len(display.lines_)
    2
    """

    comparison: Comparison
    from_kernels = Factory(compare)

    def plot(
        self, ax: Axes | None = None, *, names: tuple[str, str] | None = None, **kwargs: Any
    ) -> Self:
        """Draw both attenuations, the precision, and the frequency where they differ most.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        names : (str, str), optional
            Labels; the kernels' representations if not given.
        **kwargs
            For ``Axes.plot``.
        """
        ax = self._draw_on(ax)
        c = self.comparison
        names = (repr(c.kernel), repr(c.other)) if names is None else names
        self.lines_ = []
        for values, name in zip((c.attenuation, c.other_attenuation), names, strict=True):
            shown = np.where(values > 0.01 * c.precision, values, np.nan)
            self.lines_ += ax.plot(c.omega, shown, label=name, **kwargs)
        ax.axhline(c.precision, color="0.6", lw=0.8, ls="--")
        ax.axvline(c.at, color="0.6", lw=0.8, ls=":")
        label = LABELS["attenuation"]
        return self._finish(xlabel=FREQUENCY, ylabel=label, yscale="log", legend=True)


class MachineFilterDisplay(Display):
    r"""What a fitted machine keeps of each frequency: 1 keeps it, 0 removes it.

    The response to waves is drawn as a line where it is known, the share of the data that is left
    as points.

    Parameters
    ----------
    report : MachineReport
        From :func:`mercer_research.diagnostics.machine_report`.

    Attributes
    ----------
    points_ : matplotlib Line2D
        The transfer of the data, by bands.
    line_ : matplotlib Line2D or None
        The response.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor
    >>> from mercer.kernels import Gaussian
    >>> from mercer_research.plotting import MachineFilterDisplay
    >>> X = np.linspace(0, 10, 80)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> machine = KernelRegressor(kernel=Gaussian()).fit(X, y)
    >>> display = MachineFilterDisplay.from_estimator(machine, X, y)
    >>> display.line_.get_label()
    'response to a wave'
    """

    report: MachineReport
    from_estimator = Factory(machine_report)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw response and transfer.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        name : str, optional
            Label of the line; of the points if there is no line.
        **kwargs
            For ``Axes.plot``.
        """
        ax = self._draw_on(ax)
        report = self.report
        self.line_ = None
        if report.response is not None:
            label = "response to a wave" if name is None else name
            (self.line_,) = ax.plot(report.omega, report.response, label=label, **kwargs)
            kwargs = {**kwargs, "color": self.line_.get_color()}
        label = "share of the data kept" if name is None or self.line_ is not None else name
        (self.points_,) = ax.plot(report.bands, report.transfer, "o", label=label, **kwargs)
        ax.axhline(0.5, color="0.6", lw=0.8, ls="--")
        return self._finish(xlabel=r"frequency $\omega$", ylabel="kept", ylim=(-0.1, 1.1))
