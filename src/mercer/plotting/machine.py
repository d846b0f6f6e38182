"""A fitted machine drawn as a filter."""

from __future__ import annotations

from typing import Any, Self

from mercer._typing import SupportVectors
from mercer.inspect.machine import MachineReport, machine_report
from mercer.kernels.points import Array, Data
from mercer.plotting.base import Axes, Display


class MachineFilterDisplay(Display):
    r"""What a fitted machine keeps of each frequency: 1 keeps it, 0 removes it.

    The response to waves is drawn as a line where it is known, the share of the data that is left
    as points.

    Parameters
    ----------
    report : MachineReport
        From :func:`mercer.inspect.machine_report`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    points_ : matplotlib Line2D
        The transfer of the data, by bands.
    line_ : matplotlib Line2D or None
        The response.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRegressor
    >>> from mercer.kernels import Gaussian
    >>> from mercer.plotting import MachineFilterDisplay
    >>> X = np.linspace(0, 10, 80)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> machine = KernelRegressor(kernel=Gaussian()).fit(X, y)
    >>> display = MachineFilterDisplay.from_estimator(machine, X, y)
    >>> display.line_.get_label()
    'response to a wave'
    """

    def __init__(self, *, report: MachineReport) -> None:
        self.report = report

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw response and transfer.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        name : str, optional
            Label of the line; of the points if there is no line.
        **kwargs
            For ``Axes.plot``.

        Returns
        -------
        MachineFilterDisplay
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
        ax.set(xlabel=r"frequency $\omega$", ylabel="kept", ylim=(-0.1, 1.1))
        return self

    @classmethod
    def from_estimator(
        cls,
        machine: SupportVectors,
        X: Data,
        y: Array,
        *,
        omega: Array | None = None,
        direction: Array | None = None,
        n_bands: int = 24,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Examine a fitted machine and draw what it keeps.

        Parameters
        ----------
        machine, X, y, omega, direction, n_bands :
            As in :func:`mercer.inspect.machine_report`.
        ax : matplotlib Axes, optional
        **kwargs
            As in :meth:`plot`.

        Returns
        -------
        MachineFilterDisplay
        """
        report = machine_report(machine, X, y, omega=omega, direction=direction, n_bands=n_bands)
        return cls(report=report).plot(ax, **kwargs)
