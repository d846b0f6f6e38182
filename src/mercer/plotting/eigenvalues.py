"""Eigenvalues of kernel principal components, with their error bounds."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from mercer.kernels.points import Array
from mercer.manifold.component_count import broken_stick
from mercer.plotting.base import Axes, Display, floats

__all__ = ["EigenvalueDisplay"]


class EigenvalueDisplay(Display):
    r"""Eigenvalues of kernel principal components with error bounds: a scree plot.

    Parameters
    ----------
    eigenvalues : (k,) array
        Descending.
    errors : (k,) array, optional
        Bounds on their errors.
    trace : float, optional
        Sum of all eigenvalues, of which these may be the first.
    pieces : int, optional
        Number of all eigenvalues. With `trace` it gives the lengths of a stick of that length
        broken at random into so many pieces, which components without structure would explain.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The eigenvalues.
    bars_ : matplotlib LineCollection or None
        The bounds.
    reference_ : matplotlib Line2D or None
        The broken stick.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from mercer.manifold import KernelPCA
    >>> from mercer.plotting import EigenvalueDisplay
    >>> X, _ = load_wine(return_X_y=True)
    >>> display = EigenvalueDisplay.from_estimator(KernelPCA(10).fit(X))
    >>> display.eigenvalues.shape, display.ax_.get_ylabel()
    ((10,), 'eigenvalue')
    """

    eigenvalues: Array
    errors: Array | None = None
    trace: float | None = None
    pieces: int | None = None

    def __post_init__(self) -> None:
        self.eigenvalues, self.errors = floats(self.eigenvalues), floats(self.errors)
        k = len(self.eigenvalues)
        if self.errors is not None and self.errors.shape != (k,):
            raise ValueError(f"{k} eigenvalues need {k} errors, got shape {self.errors.shape}.")
        if self.pieces is not None and self.pieces < k:
            raise ValueError(f"{k} eigenvalues cannot be among {self.pieces}.")

    def plot(
        self, ax: Axes | None = None, *, reference: bool = True, log: bool = True, **kwargs: Any
    ) -> Self:
        """Draw the eigenvalues; negative ones, by absolute value, as crosses.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones if not given.
        reference : bool, default=True
            Draw the broken stick, if trace and number of pieces are known.
        log : bool, default=True
            Logarithmic scale of eigenvalues.
        **kwargs
            For ``Axes.plot``, which draws the eigenvalues.
        """
        ax = self._draw_on(ax)
        x = np.arange(1, len(self.eigenvalues) + 1)
        size = np.abs(self.eigenvalues)
        style = {"marker": "o", "ms": 4, "lw": 0.8, "label": "eigenvalues", **kwargs}
        (self.line_,) = ax.plot(x, size, **style)
        negative = self.eigenvalues < 0.0
        if negative.any():
            ax.plot(x[negative], size[negative], "kx", label="negative")
        self.bars_ = None
        if self.errors is not None and np.isfinite(self.errors).all():
            # A logarithmic scale has no zero, so that a bar down to it would not be drawn.
            low = np.maximum(size - self.errors, 1e-3 * size) if log else size - self.errors
            self.bars_ = ax.vlines(x, low, size + self.errors, color="0.4", label="error bound")
        self.reference_ = None
        if reference and self.trace is not None and self.pieces is not None:
            stick = self.trace * broken_stick(self.pieces)[: len(x)]
            (self.reference_,) = ax.plot(x, stick, "--", color="0.5", lw=1.0, label="broken stick")
        scale = "log" if log else "linear"
        return self._finish(xlabel="component", ylabel="eigenvalue", yscale=scale, legend=True)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, pieces: int | None = None, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Draw the eigenvalues of a fitted :class:`mercer.manifold.KernelPCA`.

        Parameters
        ----------
        estimator : KernelPCA
        pieces : int, optional
            Number of all eigenvalues that can differ from zero. By default as many as samples with
            a weight (or centres of an approximation) less the functions projected out; fewer for
            kernels of finitely many features, such as polynomials.
        """
        values = np.asarray(estimator.eigenvalues_)
        if pieces is None:
            pieces = estimator.dual_coef_.shape[1] - estimator.null_space_coef_.shape[1]
        trace = float(values[0] / estimator.explained_variance_ratio_[0])
        found = {"errors": estimator.eigenvalue_errors_, "trace": trace}
        pieces = max(int(pieces), len(values))
        return cls(eigenvalues=values, pieces=pieces, **found).plot(ax, **kwargs)
