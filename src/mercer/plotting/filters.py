"""Kernels drawn as filters: attenuation and penalty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from mercer.inspect.filters import FilterCurve, filter_curve
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array
from mercer.plotting.base import Axes, Display, Factory

FREQUENCY = r"frequency $\omega$"
LABELS = {
    "attenuation": r"attenuation $P(\omega) / P(0)$",
    "power": r"spectrum $P(\omega)$",
    "penalty": r"penalty $1 / P(\omega)$",
    "decibels": "attenuation in dB",
}


def filter_curves(
    kernels: Mapping[str, Kernel], omega: Array | None = None, *, dim: int = 1
) -> dict[str, FilterCurve]:
    """Return the spectra of kernels at the same frequencies.

    Parameters
    ----------
    kernels : dict of Kernel
        Stationary kernels by name.
    omega, dim :
        As in :func:`mercer.inspect.filter_curve`.
    """
    return {name: filter_curve(kernel, omega, dim) for name, kernel in kernels.items()}


class FilterDisplay(Display):
    r"""The spectrum of a kernel against frequency.

    A periodic kernel is drawn as stems at its frequencies. Negative parts, which no kernel may
    have, are drawn by absolute value and dotted.

    Parameters
    ----------
    curve : FilterCurve
        From :func:`mercer.inspect.filter_curve`.

    Attributes
    ----------
    line_ : matplotlib artist
        The curve.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.plotting import FilterDisplay
    >>> display = FilterDisplay.from_kernel(Gaussian(0.5))
    >>> display.ax_.get_yscale()
    'log'
    """

    curve: FilterCurve
    from_kernel = Factory(filter_curve)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        what: str = "attenuation",
        name: str | None = None,
        floor: float = 1e-8,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones if not given.
        what : {"attenuation", "power", "penalty", "decibels"}, default="attenuation"
            All but decibels on a logarithmic axis.
        name : str, optional
            Label of the curve.
        floor : float, default=1e-8
            Attenuations below this are cut off.
        **kwargs
            For ``Axes.plot``, or ``Axes.vlines`` if the spectrum is discrete.
        """
        if what not in LABELS:
            raise ValueError(f"what must be one of {sorted(LABELS)}, got {what!r}.")
        ax = self._draw_on(ax)
        omega, values = self.curve.omega, getattr(self.curve, what)
        shown = np.where(self.curve.attenuation > floor, values, np.nan)
        self.line_: Any
        if self.curve.discrete:
            bases = {
                "attenuation": floor,
                "power": floor * np.nanmax(shown),
                "penalty": 0.1 * np.nanmin(shown),
                "decibels": 10.0 * np.log10(floor),
            }
            self.line_ = ax.vlines(omega, bases[what], shown, label=name or "", **kwargs)
            ax.plot(omega, shown, ".", color=self.line_.get_color()[0])
        else:
            (self.line_,) = ax.plot(omega, shown, label=name, **kwargs)
            if not self.curve.nonnegative and what in ("attenuation", "power"):
                below = np.where(self.curve.attenuation < -floor, -values, np.nan)
                ax.plot(omega, below, ":", color=self.line_.get_color())
        scale = "linear" if what == "decibels" else "log"
        return self._finish(xlabel=FREQUENCY, ylabel=LABELS[what], yscale=scale)


class PenaltyDisplay(Display):
    r"""What each frequency costs under several kernels, as a multiple of the cheapest.

    Parameters
    ----------
    curves : dict of FilterCurve
        By the name of the kernel.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Matern
    >>> from mercer.plotting import PenaltyDisplay
    >>> kernels = {"Gaussian": Gaussian(), "Matern": Matern()}
    >>> display = PenaltyDisplay.from_kernels(kernels, np.linspace(0, 5, 50))
    >>> [line.get_label() for line in display.lines_]
    ['Gaussian', 'Matern']
    """

    curves: Mapping[str, FilterCurve]
    from_kernels = Factory(filter_curves)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the curves by ``Axes.plot``."""
        ax = self._draw_on(ax)
        self.lines_ = []
        for name, curve in self.curves.items():
            cost = np.where(np.isfinite(curve.penalty), curve.penalty, np.nan)
            (line,) = ax.plot(curve.omega, cost / np.nanmin(cost), label=name, **kwargs)
            self.lines_.append(line)
        label = "cost of a unit of it"
        return self._finish(xlabel=FREQUENCY, ylabel=label, yscale="log", legend=True)
