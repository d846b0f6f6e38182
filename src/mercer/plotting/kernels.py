"""A kernel drawn as a function of the distance, and functions that are typical for it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer.inspect.prior import sample_paths
from mercer.kernels.base import Kernel
from mercer.kernels.points import Array
from mercer.plotting.base import Axes, Display


class KernelDisplay(Display):
    r"""The values of a kernel of one feature against the second argument.

    Parameters
    ----------
    x : (n,) array
        The second argument.
    values : (n,) array
        Kernel values against `at`.
    at : float, default=0.0
        The first argument.

    Attributes
    ----------
    line_ : matplotlib Line2D

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.plotting import KernelDisplay
    >>> display = KernelDisplay.from_kernel(Gaussian(), np.linspace(-3, 3, 7))
    >>> display.values.round(3)
    array([0.011, 0.135, 0.607, 1.   , 0.607, 0.135, 0.011])
    """

    x: Array
    values: Array
    at: float = 0.0

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the values.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        name : str, optional
            Label of the curve.
        **kwargs
            For ``Axes.plot``.
        """
        ax = self._draw_on(ax)
        (self.line_,) = ax.plot(self.x, self.values, label=name, **kwargs)
        return self._finish(xlabel="$x$", ylabel=f"$k({self.at:g}, x)$")

    @classmethod
    def from_kernel(
        cls,
        kernel: Kernel,
        x: Array | None = None,
        *,
        at: float = 0.0,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Evaluate a kernel and draw it.

        Parameters
        ----------
        kernel : Kernel
            Of one feature.
        x : (n,) array, optional
            Where to evaluate it; one period, or four units to each side, if not given.
        at : float, default=0.0
            The first argument.
        """
        if x is None:
            reach = 4.0 if kernel.period is None else 0.5 * kernel.period
            x = at + np.linspace(-reach, reach, 401)
        x = np.asarray(x, dtype=float)
        values = kernel(x[:, None], np.array([[at]]))[:, 0]
        return cls(x=x, values=values, at=at).plot(ax, **kwargs)


class PriorDisplay(Display):
    r"""Functions that the penalty of a kernel considers typical.

    Parameters
    ----------
    x : (n,) array
    paths : (n, m) array
        From :func:`mercer.inspect.sample_paths`.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D

    Examples
    --------
    >>> from mercer.kernels import Matern
    >>> from mercer.plotting.kernels import PriorDisplay
    >>> display = PriorDisplay.from_kernel(Matern(), np.linspace(0, 5, 100), random_state=0)
    >>> len(display.lines_)
    3
    """

    x: Array
    paths: Array

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the paths by ``Axes.plot``."""
        ax = self._draw_on(ax)
        self.lines_ = ax.plot(self.x, self.paths, **kwargs)
        return self._finish(xlabel="$x$", ylabel="typical functions")

    @classmethod
    def from_kernel(
        cls,
        kernel: Kernel,
        x: Array,
        n_paths: int = 3,
        *,
        random_state: int | np.random.Generator | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw sample paths of a kernel of one feature.

        Parameters
        ----------
        kernel : Kernel
        x : (n,) array
        n_paths, random_state :
            As in :func:`mercer.inspect.sample_paths`.
        """
        x = np.asarray(x, dtype=float)
        paths = sample_paths(kernel, x[:, None], n_paths, random_state)
        return cls(x=x, paths=paths).plot(ax, **kwargs)
