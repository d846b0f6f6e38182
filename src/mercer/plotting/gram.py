"""A Gram matrix drawn: its values and its eigenvalues."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer.inspect.gram import GramReport, gram_report
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array, Data
from mercer.plotting.base import Axes, axes_of, figure_of


class GramDisplay:
    r"""A Gram matrix as a picture, and its eigenvalues on a logarithmic axis.

    Parameters
    ----------
    K : (n, n) array
    report : GramReport
        From :func:`mercer.inspect.gram_report`.

    Attributes
    ----------
    ax_ : list of two matplotlib Axes
    figure_ : matplotlib Figure
    image_ : matplotlib AxesImage
    line_ : matplotlib Line2D
        The positive eigenvalues.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.plotting import GramDisplay
    >>> display = GramDisplay.from_kernel(Gaussian(), np.linspace(0, 5, 20)[:, None])
    >>> display.report.n, len(display.ax_)
    (20, 2)
    """

    def __init__(self, *, K: Array, report: GramReport) -> None:
        self.K, self.report = K, report

    def plot(self, ax: Any = None, *, order: Array | None = None, **kwargs: Any) -> Self:
        """Draw the matrix and the eigenvalues; negative ones, by absolute value, as crosses.

        Parameters
        ----------
        ax : sequence of two matplotlib Axes, optional
        order : (n,) array of int, optional
            Order of the points in the picture, such as ``np.argsort(y)``.
        **kwargs
            For ``Axes.imshow``.

        Returns
        -------
        GramDisplay
        """
        picture, spectrum = axes_of(ax, 2)
        K = self.K if order is None else self.K[np.ix_(order, order)]
        self.image_ = picture.imshow(K, **kwargs)
        picture.set(xlabel="point", ylabel="point")
        values, index = self.report.eigenvalues, np.arange(1, len(self.report.eigenvalues) + 1)
        positive = values > 0.0
        (self.line_,) = spectrum.plot(index[positive], values[positive], ".")
        if not self.report.ok:
            spectrum.plot(index[~positive], -values[~positive], "x", label="negative")
            spectrum.legend(frameon=False)
        spectrum.set(xlabel="number", ylabel="eigenvalue", yscale="log")
        self.ax_: list[Axes] = [picture, spectrum]
        self.figure_ = figure_of(picture)
        return self

    @classmethod
    def from_kernel(
        cls, kernel: Kernel, X: Data, y: Array | None = None, *, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Compute a Gram matrix and draw it.

        Parameters
        ----------
        kernel : Kernel
        X : (n, p) points
        y : (n,) array, optional
            Targets, for the report.
        ax : sequence of two matplotlib Axes, optional
        **kwargs
            As in :meth:`plot`.

        Returns
        -------
        GramDisplay
        """
        display = cls(K=np.asarray(kernel(X)), report=gram_report(kernel, X, y))
        return display.plot(ax, **kwargs)

    @classmethod
    def from_gram(cls, K: Array, y: Array | None = None, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw a Gram matrix that is given.

        Parameters
        ----------
        K : (n, n) array
        y : (n,) array, optional
            Targets, for the report.
        ax : sequence of two matplotlib Axes, optional
        **kwargs
            As in :meth:`plot`.

        Returns
        -------
        GramDisplay
        """
        return cls(K=np.asarray(K), report=gram_report(K, y=y)).plot(ax, **kwargs)
