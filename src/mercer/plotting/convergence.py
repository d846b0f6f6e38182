"""Convergence of alternating fits: the objective after every half step, and its terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from mercer.kernels.points import Array
from mercer.plotting.base import Axes, Display, chosen_of, floats

__all__ = ["ConvergenceDisplay"]


class ConvergenceDisplay(Display):
    r"""The objective of a fit against iterations, and the terms that it is the sum of.

    Of a principal manifold only the objective has to fall, at every half step: the distortion may
    rise while the penalty falls, and the other way round.

    Parameters
    ----------
    objective : (T,) or (2 T,) array
        After every iteration, or after both half steps of every one.
    terms : dict of (T,) arrays, optional
        Its terms after every iteration, by their names.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The objective.
    term_lines_ : list of matplotlib Line2D

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifold import PrincipalManifold
    >>> from mercer.plotting import ConvergenceDisplay
    >>> t = np.linspace(-1, 1, 60)
    >>> curve = PrincipalManifold(1, lam=0.01, tol=1e-3).fit(np.c_[t, t**2])
    >>> display = ConvergenceDisplay.from_estimator(curve)
    >>> [line.get_label() for line in display.ax_.lines]
    ['objective', 'distortion', 'penalty']
    """

    objective: Array
    terms: Mapping[str, Array] | None = None

    def __post_init__(self) -> None:
        self.objective = floats(self.objective)
        self.terms = {name: floats(values) for name, values in (self.terms or {}).items()}
        T = {values.shape for values in self.terms.values()}
        if len(T) > 1 or (T and self.objective.size % next(iter(T))[0]):
            raise ValueError(
                f"terms have shapes {sorted(T)}, the objective {self.objective.shape}: give one "
                "value of every term for an iteration."
            )

    def plot(self, ax: Axes | None = None, *, log: bool = True, **kwargs: Any) -> Self:
        """Draw the objective as a line and its terms as thinner lines.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones if not given.
        log : bool, default=True
            Logarithmic scale of the objective, if it is positive.
        **kwargs
            For ``Axes.plot``, which draws the objective.
        """
        ax, terms = self._draw_on(ax), self.terms or {}
        T = next((len(values) for values in terms.values()), len(self.objective))
        steps = max(1, len(self.objective) // T)
        x = np.arange(1, len(self.objective) + 1) / steps
        style = {"color": "black", "lw": 2.0, "label": "objective", **kwargs}
        (self.line_,) = ax.plot(x, self.objective, **style)
        self.term_lines_ = [
            line
            for k, (name, values) in enumerate(terms.items())
            for line in ax.plot(np.arange(1, T + 1), values, color=f"C{k}", lw=1.2, label=name)
        ]
        everything = np.concatenate([self.objective, *terms.values()])
        if log and np.all(everything > 0.0):
            ax.set_yscale("log")
        label = "functional" if terms else "objective"
        return self._finish(xlabel="iteration", ylabel=label, legend=bool(terms))

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the ``history_`` of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Such as ``PrincipalManifold(2).fit(X)``. Its penalty is drawn times ``lam``, so that
            the two terms add up to the objective.
        """
        estimator = chosen_of(estimator)
        history = dict(estimator.history_)
        objective = history.pop("objective")
        if "penalty" in history:
            history["penalty"] = estimator.lam * np.asarray(history["penalty"])
        return cls(objective=objective, terms=history).plot(ax, **kwargs)
