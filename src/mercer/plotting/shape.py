"""A function of a known shape, and where the knowledge matters."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._typing import PointsLike
from mercer.kernels.points import Array
from mercer.machines.base import KernelMachine
from mercer.plotting.base import Axes, Display


class ShapeDisplay(Display):
    """A shaped machine along a feature, with marks where what is known changes it.

    Marks stand at the points of knowledge that is active, in a row at the foot for every piece of
    it, with its price in words.

    Parameters
    ----------
    t, f : ndarray of shape (m,)
        Values of the feature, and of the function there.
    active : list of (str, float, ndarray)
        For every piece of knowledge its name, its price, and where along the feature it is active.
    feature : str
        Name of the feature.

    Attributes
    ----------
    line_ : matplotlib Line2D
    marks_ : list of matplotlib Line2D

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ShapeConstrainedRegressor
    >>> from mercer.plotting import ShapeDisplay
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> machine = ShapeConstrainedRegressor({0: 1}, C=100.0).fit(X, np.sin(9 * X[:, 0]))
    >>> len(ShapeDisplay.from_estimator(machine, X).marks_)
    1
    """

    t: Array
    f: Array
    active: list[tuple[str, float, Array]]
    feature: str = "x0"

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the function and the marks.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        name : str, optional
            Label of the line.
        **kwargs
            For ``Axes.plot``.
        """
        ax = self._draw_on(ax)
        (self.line_,) = ax.plot(self.t, self.f, label=name, **kwargs)
        self.marks_ = []
        for k, (words, price, places) in enumerate(self.active):
            foot = np.full(len(places), 0.02 + 0.04 * k)
            style: dict[str, Any] = {"ms": 9, "label": f"{words}: price {price:.3g}"}
            (marks,) = ax.plot(places, foot, "|", transform=ax.get_xaxis_transform(), **style)
            self.marks_.append(marks)
        return self._finish(xlabel=self.feature, ylabel="function")

    @classmethod
    def from_estimator(
        cls,
        machine: KernelMachine,
        X: PointsLike,
        *,
        feature: int | str = 0,
        at: Any = None,
        steps: int = 400,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a fitted machine along a feature.

        Parameters
        ----------
        machine : ShapeConstrainedRegressor or ShapeConstrainedClassifier
        X : array-like of shape (n_samples, n_features)
            A sample, for the range of the feature and the medians of the others.
        feature : int or str, default=0
            Position or name of the feature.
        at : array-like of shape (n_features,), optional
            Values of the other features; medians by default.
        steps : int, default=400
            Points of the line.
        """
        check_is_fitted(machine)
        names = list(getattr(machine, "feature_names_in_", []))
        j = names.index(feature) if isinstance(feature, str) else int(feature)
        sample = np.asarray(X, dtype=float)
        base = np.median(sample, axis=0) if at is None else np.asarray(at, dtype=float)
        t = np.linspace(sample[:, j].min(), sample[:, j].max(), steps)
        Z = np.tile(base, (steps, 1))
        Z[:, j] = t
        active = [
            (repr(piece.constraint), piece.price, np.unique(piece.points[:, j]))
            for piece in machine.shape_certificate_.knowledge
        ]
        label = names[j] if names else f"x{j}"
        display = cls(t=t, f=machine._expansion()(Z)[:, 0], active=active, feature=label)
        return display.plot(ax, **kwargs)
