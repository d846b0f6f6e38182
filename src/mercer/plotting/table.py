"""What a machine of a table predicts, drawn: rows that it was not fitted to, and effects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mercer._typing import Array, PointsLike, TargetsLike
from mercer.plotting import panels
from mercer.plotting.base import AxesLike, Display
from mercer.plotting.effects import Effect, EffectDisplay, effects_of

__all__ = ["TableDisplay"]

MAX_POINTS = 300
"""Rows of the cloud of predictions."""


class TableDisplay(Display):
    """Predictions beside what was observed, and the largest effects of inputs.

    Numbers are drawn against their predictions with prediction intervals; two classes by how often
    the last one occurs where a probability was predicted, more classes by their confusion.

    Parameters
    ----------
    y : (n,) array
        What was observed.
    predicted : (n,) array or (n, k) array
        Numbers, or probabilities of classes.
    effects : list of Effect
        Effects of inputs, the largest first.
    ends : (n, 2) array, optional
        Ends of prediction intervals.
    classes : (k,) array, optional
        The classes; None for numbers.
    left_out : bool, default=True
        Whether the rows were left out by the fit, or come after it.
    target : str, default="prediction"
        What is predicted.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import AutoRegressor
    >>> from mercer.plotting import TableDisplay
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> machine = AutoRegressor(members=["gaussian"]).fit(X, X[:, 1] ** 2)
    >>> display = TableDisplay.from_estimator(machine, X, X[:, 1] ** 2)
    >>> [effect.name for effect in display.effects], display.left_out
    (['x1', 'x0'], True)
    """

    y: Array
    predicted: Array
    effects: Sequence[Effect]
    ends: Array | None = None
    classes: Array | None = None
    left_out: bool = True
    target: str = "prediction"

    @classmethod
    def from_estimator(
        cls,
        machine: Any,
        X: PointsLike,
        y: TargetsLike,
        *,
        coverage: float = 0.9,
        most: int = 5,
        target: str | None = None,
        random_state: int = 0,
        ax: AxesLike = None,
    ) -> Self:
        """Draw a fitted machine of a table.

        Parameters
        ----------
        machine : AutoRegressor or AutoClassifier
            The fitted machine.
        X, y : data frame or array, and (n,) array
            The rows of the fit, whose left-out predictions are drawn; or other rows.
        coverage : float, default=0.9
            Share of new rows that intervals are to hold.
        most : int, default=5
            How many effects are drawn.
        target : str, optional
            What is predicted; by default the name of `y`.
        random_state : int, default=0
            What rows are drawn by.
        ax : sequence of matplotlib Axes, optional
            One more than there are effects.
        """
        values = np.asarray(y)
        if values.ndim != 1:
            raise ValueError(f"one target is drawn at a time; y has shape {values.shape}.")
        classes = getattr(machine, "classes_", None)
        predicted, ends = _predictions(machine, X, coverage)
        known = _left_out(machine, values)
        if known is not None:
            # Rows have the scale of their errors, around what was predicted without them.
            ends = None if ends is None else ends + (known - predicted)[:, None]
            predicted = known
        there = np.isfinite(predicted if predicted.ndim == 1 else predicted[:, 0])
        name = str(target or getattr(y, "name", None) or "target")
        display = cls(
            y=values[there],
            predicted=predicted[there],
            effects=effects_of(machine, X, most=most, random_state=random_state),
            ends=None if ends is None else ends[there],
            classes=None if classes is None else np.asarray(classes),
            left_out=known is not None,
            target=name,
        )
        return display.plot(ax)

    def plot(self, ax: AxesLike = None, *, columns: int = 3) -> Self:
        """Draw predictions and effects.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, optional
            One more than there are effects.
        columns : int, default=3
            Of new axes.
        """
        first, *others = self._draw_on_each(ax, 1 + len(self.effects), columns, (3.6, 3.0))
        rows = "rows left out by the fit" if self.left_out else "rows that are not of the fit"
        first.set_title(f"{len(self.y)} {rows}", fontsize="medium")
        if self.classes is None:
            some = np.random.default_rng(0).permutation(len(self.y))[:MAX_POINTS]
            names = (f"predicted {self.target}", f"observed {self.target}")
            ends = None if self.ends is None else self.ends[some]
            panels.versus(first, self.predicted[some], self.y[some], names, "equal", ends)
        elif len(self.classes) == 2:
            came = self.y == self.classes[-1]
            panels.calibration(first, *panels.reliability(self.predicted[:, 1], came))
        else:
            found = np.argmax(self.predicted, axis=1)
            counts = np.zeros((len(self.classes), len(self.classes)))
            np.add.at(counts, (np.searchsorted(self.classes, self.y), found), 1)
            panels.confusion(first, [str(label) for label in self.classes], counts)
        if others:
            what = self.target if self.classes is None else f"P({self.target} = {self.classes[-1]})"
            EffectDisplay(effects=self.effects, target=what).plot(others, columns=1)
            low, high = np.transpose([axes.get_ylim() for axes in others])
            for axes in others:
                axes.set_ylim(low.min(), high.max())
        return self


def _predictions(machine: Any, X: PointsLike, coverage: float) -> tuple[Array, Array | None]:
    """Return predictions with their intervals, or probabilities of classes."""
    if hasattr(machine, "classes_"):
        return np.asarray(machine.predict_proba(X)), None
    return np.asarray(machine.predict(X)), np.asarray(machine.predict_interval(X, coverage))


def _left_out(machine: Any, y: Array) -> Array | None:
    """Return left-out predictions if the targets are those of the fit, in their order.

    The left-out error tells: other targets have another one.
    """
    classes = hasattr(machine, "classes_")
    known = machine.left_out_probabilities_ if classes else machine.left_out_predictions_
    if len(known) != len(y):
        return None
    there = np.isfinite(known[:, 0] if classes else known)
    if classes:
        at = np.searchsorted(machine.classes_, y[there])
        if np.any(at >= len(machine.classes_)) or np.any(machine.classes_[at] != y[there]):
            return None
        mine = known[there][np.arange(len(at)), at]
        error = -float(np.mean(np.log(np.maximum(mine, 1e-15))))
    else:
        error = float(np.sqrt(np.mean((y[there].astype(float) - known[there]) ** 2)))
    told = machine.explain().error
    return known if abs(error - told) <= 1e-9 * max(told, 1e-300) else None
