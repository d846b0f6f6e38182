"""Coefficients against what regularizes them: the evolution diagram."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mercer.kernels.points import Array
from mercer.plotting.base import Axes, Display, floats

__all__ = ["PathDisplay"]

# A legend of more coefficients than this hides their lines.
MAX_NAMES = 12


class PathDisplay(Display):
    """How coefficients evolve with a parameter of regularization.

    Parameters
    ----------
    parameters : array-like of shape (k,)
        Values of the parameter.
    coefs : array-like of shape (k, p)
        Coefficients there; between them they are drawn linear.
    names : sequence of str, optional
        Names of the coefficients.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        One for each coefficient.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, figures 6.5, 7.1 and 7.4.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import lasso_homotopy
    >>> from mercer_research.plotting import PathDisplay
    >>> path = lasso_homotopy(np.eye(3), np.array([3.0, -2.0, 1.0]))
    >>> display = PathDisplay.from_path(path)
    >>> len(display.lines_), display.ax_.get_ylabel()
    (3, 'coefficient')
    """

    parameters: Array
    coefs: Array
    names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        self.parameters, self.coefs = floats(self.parameters), floats(self.coefs)
        if self.coefs.ndim != 2 or self.parameters.shape != self.coefs.shape[:1]:
            raise ValueError(
                f"coefs must have one row for each of the {self.parameters.size} parameters, got "
                f"shape {self.coefs.shape}."
            )
        k, count = self.coefs.shape[1], None if self.names is None else len(self.names)
        if count not in (None, k):
            raise ValueError(f"{count} names were given for {k} coefficients.")

    def plot(
        self,
        ax: Axes | None = None,
        *,
        against: str = "parameter",
        log: bool = False,
        chosen: float | None = None,
        xlabel: str | None = None,
        **kwargs: Any,
    ) -> Self:
        r"""Draw one line for each coefficient.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones if not given.
        against : {"parameter", "norm"}, default="parameter"
            The parameter itself, or the 1-norm of the coefficients, which is :math:`\tau` for the
            lasso.
        log : bool, default=False
            Draw the parameter on a logarithmic axis.
        chosen : float, optional
            Value of the parameter to mark.
        xlabel : str, optional
            What the axis says.
        **kwargs
            For ``Axes.plot``.
        """
        if against not in ("parameter", "norm"):
            raise ValueError(f"against must be 'parameter' or 'norm', got {against!r}.")
        ax = self._draw_on(ax)
        norms = np.abs(self.coefs).sum(axis=1)
        x = self.parameters if against == "parameter" else norms
        self.lines_ = ax.plot(x, self.coefs, **kwargs)
        if log:
            ax.set_xscale("log")
        if self.names is not None:
            for line, name in zip(self.lines_, self.names, strict=True):
                line.set_label(name)
        if chosen is not None:
            if against == "norm":
                order = np.argsort(self.parameters)
                chosen = float(np.interp(chosen, self.parameters[order], norms[order]))
            ax.axvline(chosen, color="0.6", linestyle=":")
        ax.axhline(0.0, color="0.8", linewidth=0.8, zorder=0)
        words = {"parameter": "regularization parameter", "norm": r"$\|w\|_1$"}
        few = self.names is not None and len(self.names) <= MAX_NAMES
        label = words[against] if xlabel is None else xlabel
        return self._finish(xlabel=label, ylabel="coefficient", legend=few)

    @classmethod
    def from_path(
        cls, path: Any, *, names: Sequence[str] | None = None, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Draw any object with ``parameters`` (k,) and ``coefs`` (k, p).

        Parameters
        ----------
        path : object
            For example ``LassoConstrained().fit(X, y).path_``, ``FusedRidge().fit(X,
            y).validation_path_``.
        names : sequence of str, optional
            Names of the coefficients.
        """
        display = cls(parameters=path.parameters, coefs=path.coefs, names=names)
        return display.plot(ax, **kwargs)
