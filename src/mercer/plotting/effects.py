"""The effect of each feature on what any machine predicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Classifier, PointsLike, Predictor
from mercer.kernels.points import Array
from mercer.plotting._sections import Section, positions
from mercer.plotting.base import AxesLike, Display, Factory, chosen_of

__all__ = ["Effect", "EffectDisplay", "effects_of"]

# Values of a feature at which its effect is measured, and rows over which it is averaged there.
MAX_VALUES, MAX_ROWS = 40, 300
# A call of a pipeline costs as much as the prediction of a hundred rows: many rows at once.
MAX_ROWS_PER_CALL = 4000


class Effect(NamedTuple):
    """The effect of one feature."""

    name: str
    values: Array
    """Values of the feature (m,)."""

    mean: Array
    """Mean prediction (m,) of rows with the feature at each value, less the mean of all."""

    low: Array
    high: Array
    """Ends of the middle four fifths of the changes of single rows."""

    sample: Array
    """Values in the sample."""

    @property
    def size(self) -> float:
        """Standard deviation of the mean effect over the sample."""
        if self.values.dtype.kind in "iuf":
            known = self.sample[np.isfinite(self.sample.astype(float))].astype(float)
            return float(np.std(np.interp(known, self.values, self.mean)))
        known = self.sample[np.isin(self.sample, self.values)]
        return float(np.std(self.mean[np.searchsorted(self.values, known)]))


def effects_of(
    machine: Predictor,
    X: PointsLike,
    *,
    features: Sequence[int | str] | None = None,
    most: int = 9,
    label: object = None,
    random_state: int = 0,
) -> list[Effect]:
    """Measure the effects of features on what a fitted machine predicts.

    Parameters
    ----------
    machine : fitted regressor or classifier
        Of this library or any other. For classes the effect is that on the probability of one
        of them, or on the decision function where there are no probabilities.
    X : (n, p) array or data frame
        The sample, or part of it; at most 300 of its rows are used.
    features : list of int or str, optional
        Those to draw, in this order; by default those of the largest effects.
    most : int, default=9
        How many are drawn by default.
    label : object, optional
        The class; the last one by default.
    random_state : int, default=0
        What rows are drawn by.

    Returns
    -------
    list of Effect
        The largest first, or in the order of `features`.
    """
    section = Section(X)
    n = len(section.column(0))
    rows = np.arange(n)
    if n > MAX_ROWS:
        rows = np.sort(np.random.default_rng(random_state).choice(n, MAX_ROWS, replace=False))
    predict = _prediction(chosen_of(machine), label)
    chosen = positions(section.X, range(len(section.names)) if features is None else features)
    found = [_effect(predict, section, rows, j) for j in chosen]
    if features is None:
        found = sorted(found, key=lambda effect: -effect.size)[:most]
    return found


def _effect(
    predict: Callable[[PointsLike], Array], section: Section, rows: NDArray[np.intp], j: int
) -> Effect:
    values = section.grid(j, MAX_VALUES)
    parts = np.array_split(values, -(-len(values) * len(rows) // MAX_ROWS_PER_CALL))
    found = [predict(section.crossed(rows, j, part)) for part in parts]
    table = np.concatenate(found).reshape(len(values), len(rows))
    change = table - table.mean(axis=0)
    low, high = np.quantile(change, [0.1, 0.9], axis=1)
    return Effect(section.names[j], values, change.mean(axis=1), low, high, section.column(j))


def _prediction(machine: Classifier, label: object) -> Callable[[PointsLike], Array]:
    """Return the function of rows whose changes are effects."""
    classes = getattr(machine, "classes_", None)
    if classes is None:
        return lambda rows: np.ravel(machine.predict(rows))
    k = len(classes) - 1 if label is None else int(np.flatnonzero(np.asarray(classes) == label)[0])
    if hasattr(machine, "predict_proba"):
        return lambda rows: np.asarray(machine.predict_proba(rows))[:, k]

    def decide(rows: PointsLike) -> Array:
        f = np.asarray(machine.decision_function(rows))
        return f[:, k] if f.ndim == 2 else (f if k == 1 else -f)

    return decide


class EffectDisplay(Display):
    r"""The mean prediction along each feature, largest effects first.

    .. math:: e_j(t) = \frac1n \sum_i f(x_i^{(1)}, \dots, t, \dots, x_i^{(p)}) - \bar f

    the partial dependence; of an additive machine it is the term of the feature. The band holds the
    middle four fifths of the changes of single rows: where it is wide, other features have a say
    in what this one does.

    Parameters
    ----------
    effects : list of Effect
        What is drawn.
    target : str
        What is predicted.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR
    >>> from mercer.plotting import EffectDisplay
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> machine = LSSVR(C=100.0).fit(X, X[:, 1] ** 2 + 0.1 * X[:, 2])
    >>> display = EffectDisplay.from_estimator(machine, X)
    >>> [effect.name for effect in display.effects][:1]
    ['x1']
    """

    effects: Sequence[Effect]
    target: str = "prediction"
    from_estimator = Factory(effects_of)

    def plot(self, ax: AxesLike = None, *, columns: int = 3, colour: object = "C0") -> Self:
        """Draw the effects, all to one scale.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, optional
            As many as there are effects.
        columns : int, default=3
            Of new axes.
        colour : colour, default="C0"
        """
        self._draw_on_each(ax, len(self.effects), columns, (3.2, 2.6), sharey=True)
        for k, (axes, effect) in enumerate(zip(self.axes_, self.effects, strict=True)):
            numbers = effect.values.dtype.kind in "iuf"
            x = effect.values if numbers else np.arange(len(effect.values))
            if numbers:
                axes.fill_between(x, effect.low, effect.high, color=colour, alpha=0.2, lw=0.0)
                axes.plot(x, effect.mean, color=colour, lw=2.0)
                deciles = np.nanquantile(effect.sample.astype(float), np.linspace(0.1, 0.9, 9))
                bottom = axes.get_xaxis_transform()
                axes.plot(deciles, np.zeros(9), "|", color="0.3", ms=7, transform=bottom)
            else:
                ends = np.vstack([effect.mean - effect.low, effect.high - effect.mean])
                axes.errorbar(x, effect.mean, np.maximum(ends, 0.0), fmt="o", color=colour)
                words = [str(word)[:12] for word in effect.values]
                axes.set_xticks(
                    x, words, rotation=30, ha="right", rotation_mode="anchor", parse_math=False
                )
            axes.axhline(0.0, color="0.7", lw=0.8, zorder=0)
            axes.set_xlabel(effect.name, parse_math=False)
            if k % columns == 0:
                axes.set_ylabel(f"change of {self.target}", parse_math=False)
        return self
