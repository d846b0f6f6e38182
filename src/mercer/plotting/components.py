"""Components of additive machines, and how they evolve with the penalty on their variation."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mercer._typing import PointsLike
from mercer.kernels.points import Array
from mercer.machines.base import KernelMachine
from mercer.plotting._sections import Section
from mercer.plotting.base import Axes, AxesLike, Display, floats

__all__ = ["ComponentDisplay", "EvolutionDisplay"]

# Points of a curve, and of each side of a map of two features.
CURVE_POINTS, MAP_SIDE_POINTS = 200, 40

# Axes beside each other in a figure of many components.
MAX_COLUMNS = 4
# A legend of more components than this hides their lines.
MAX_NAMES = 12


class ComponentDisplay(Display):
    r"""Draw the components of an additive machine, each over its own features.

    A component of one feature is a curve with a band of two standard errors, if the machine has
    them, and a rug of the sample below; one of a category is a point for each; one of two features
    is a map with contours. Components are centred, and share one vertical axis, so that what
    matters can be seen at a glance.

    Parameters
    ----------
    names : sequence of str
        Names of the components.
    grids : sequence of ndarray
        Where each component is drawn: values of its feature (m,), or of two features (2, m, m).
    values : sequence of ndarray
        The centred component there.
    errors : sequence of ndarray or None
        Standard errors there.
    rugs : sequence of ndarray
        Values of the features in the sample, (n, 1) or (n, 2).
    labels : sequence of list of str
        Names of the features of each component.
    categorical : sequence of bool
        Whether the component is of categories.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One for each component.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import AdditiveRegressor
    >>> from mercer.plotting import ComponentDisplay
    >>> X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    >>> machine = AdditiveRegressor(C=10.0).fit(X, np.sin(3 * X[:, 0]))
    >>> display = ComponentDisplay.from_estimator(machine, X)
    >>> [ax.get_xlabel() for ax in display.axes_]
    ['x0', 'x1']
    """

    names: Sequence[str]
    grids: Sequence[Array]
    values: Sequence[Array]
    errors: Sequence[Array] | None
    rugs: Sequence[Array]
    labels: Sequence[Sequence[str]]
    categorical: Sequence[bool]

    def plot(
        self, ax: AxesLike = None, *, share: bool = True, rug: bool = True, **kwargs: Any
    ) -> Self:
        """Draw the components.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, optional
            One for each component; a new figure if not given.
        share : bool, default=True
            Give all curves the same vertical axis.
        rug : bool, default=True
            Show where the sample is.
        **kwargs
            For ``Axes.plot``.
        """
        self._draw_on_each(ax, len(self.names), MAX_COLUMNS, (2.8, 2.3))
        low, high = self._limits()
        for p, one in enumerate(self.axes_):
            self._draw(one, p, kwargs)
            if np.ndim(self.values[p]) == 1:
                if rug:
                    where = self.rugs[p][:, 0], np.zeros(len(self.rugs[p]))
                    bottom: dict[str, Any] = {"transform": one.get_xaxis_transform()}
                    one.plot(*where, "|", color="0.4", ms=4, clip_on=False, **bottom)
                if share:
                    one.set_ylim(low, high)
                one.axhline(0.0, color="0.8", linewidth=0.8, zorder=0)
        return self

    def _limits(self) -> tuple[float, float]:
        widths = [0.0] * len(self.values) if self.errors is None else [2 * e for e in self.errors]
        pairs = [(v, w) for v, w in zip(self.values, widths, strict=True) if np.ndim(v) == 1]
        if not pairs:
            return -1.0, 1.0
        low = min(float(np.min(v - w)) for v, w in pairs)
        high = max(float(np.max(v + w)) for v, w in pairs)
        room = 0.05 * (high - low) or 1.0
        return low - room, high + room

    def _draw(self, ax: Axes, p: int, kwargs: dict[str, Any]) -> None:
        grid, value = self.grids[p], self.values[p]
        error = None if self.errors is None else self.errors[p]
        ax.set_title(self.names[p], fontsize="medium")
        if np.ndim(value) == 2:
            largest = float(np.max(np.abs(value))) or 1.0
            ax.pcolormesh(*grid, value, cmap="RdBu_r", vmin=-largest, vmax=largest, shading="auto")
            if np.ptp(value) > 0:
                lines = ax.contour(*grid, value, colors="0.3", linewidths=0.7)
                ax.clabel(lines, fontsize="x-small")
            ax.set(xlabel=self.labels[p][0], ylabel=self.labels[p][1])
            return
        ax.set(xlabel=self.labels[p][0], ylabel="effect")
        if self.categorical[p]:
            ax.errorbar(grid, value, None if error is None else 2 * error, fmt="o", capsize=3)
            ax.set_xticks(grid)
            return
        ax.plot(grid, value, **kwargs)
        if error is not None:
            ax.fill_between(grid, value - 2 * error, value + 2 * error, alpha=0.25, linewidth=0)

    @classmethod
    def from_estimator(
        cls,
        machine: KernelMachine,
        X: PointsLike,
        *,
        components: Sequence[object] | None = None,
        output: int = 0,
        bands: bool | str = "auto",
        ax: AxesLike = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the components of a fitted machine.

        Parameters
        ----------
        machine : AdditiveRegressor, AdditiveClassifier, SparseAdditiveRegressor, ...
            Of sparse ones, the components that were kept.
        X : array-like of shape (n_samples, n_features)
            The sample, for ranges of the features.
        components : sequence of int or str, optional
            Which of them, by position or name; by default all of one or two features.
        output : int, default=0
            Of several outputs or classes, which one.
        bands : bool or "auto", default="auto"
            Show bands of two standard errors; "auto" where the machine has them.
        ax : sequence of matplotlib Axes, optional
        **kwargs
            As in :meth:`plot`.
        """
        inner: Any = getattr(machine, "machine_", machine)
        if inner is None:
            raise ValueError("the machine has no components that could be drawn.")
        points = np.asarray(X, dtype=np.float64)
        chosen = _chosen(inner, components)
        features = getattr(inner, "feature_names_in_", None)
        if features is None:
            features = getattr(machine, "feature_names_in_", None)
        if bands == "auto":
            bands = getattr(inner, "_bayes", None) is not None
        parts: dict[str, list[Any]] = defaultdict(list)
        for p in chosen:
            term = inner.terms_[p]
            grid, new = _grid(points, list(term.columns), term.categorical)
            shape = grid.shape[-len(term.columns) :]
            # Names of the features were checked when the machine was fitted.
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "X does not have valid feature names")
                value = inner.predict_components(new)[:, p]
                if bands:
                    parts["errors"].append(inner.component_errors(new)[:, p].reshape(shape))
            value = value if value.ndim == 1 else value[:, output]
            parts["grids"].append(grid)
            parts["values"].append(value.reshape(shape))
            parts["rugs"].append(points[:, list(term.columns)])
            names = [f"x{j}" if features is None else str(features[j]) for j in term.columns]
            parts["labels"].append(names)
            parts["categorical"].append(term.categorical)
        titles = [inner.component_names_[p] for p in chosen]
        errors = parts.pop("errors", None)
        return cls(names=titles, errors=errors, **parts).plot(ax, **kwargs)


def _chosen(machine: KernelMachine, components: Sequence[Any] | None) -> list[int]:
    """Return the components that are meant, of one or two features each."""
    terms = machine.terms_
    if components is None:
        return [p for p, term in enumerate(terms) if len(term.columns) <= 2]
    found = [
        machine.component_names_.index(c) if isinstance(c, str) else int(c) for c in components
    ]
    if any(len(terms[p].columns) > 2 for p in found):
        raise ValueError("components of more than two features have no picture.")
    return found


def _grid(points: Array, columns: list[int], categorical: bool) -> tuple[Array, PointsLike]:
    """Return where a component is drawn, and points with the other features in the middle."""
    own = points[:, columns]
    if categorical and len(columns) == 1:
        sides = [np.unique(own)]
    else:
        n = CURVE_POINTS if len(columns) == 1 else MAP_SIDE_POINTS
        sides = list(np.linspace(own.min(axis=0), own.max(axis=0), n, axis=1))
    mesh = np.array(np.meshgrid(*sides))
    rows = dict(zip(columns, mesh.reshape(len(columns), -1), strict=True))
    return mesh if len(columns) == 2 else mesh[0], Section(points).rows(rows)


class EvolutionDisplay(Display):
    r"""How the variation of components evolves with the weight :math:`\mu` of its penalty.

    Below, errors of samples left out with their standard errors; the weight that was chosen is
    marked in both.

    Parameters
    ----------
    parameters : array-like of shape (k,)
        Values of the weight.
    variation : array-like of shape (k, P)
        Variation of the components there.
    names : sequence of str
        Of the components.
    errors, standard_errors : array-like of shape (k,), optional
        Errors of samples left out.
    chosen : float, optional
        The weight that was chosen.
    selected : sequence of bool, optional
        Components that are kept there, which get colours and names.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        The diagram, and the errors if there are.
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        One for each component.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, figures 6.5, 6.6 and 8.11.

    Examples
    --------
    >>> from mercer.plotting import EvolutionDisplay
    >>> display = EvolutionDisplay(
    ...     parameters=[1.0, 10.0], variation=[[2.0, 0.5], [1.0, 0.0]], names=["a", "b"]
    ... ).plot()
    >>> len(display.lines_), len(display.axes_)
    (2, 1)
    """

    parameters: Array
    variation: Array
    names: Sequence[str]
    errors: Array | None = None
    standard_errors: Array | None = None
    chosen: float | None = None
    selected: Sequence[bool] | None = None

    def __post_init__(self) -> None:
        self.parameters, self.variation = floats(self.parameters), floats(self.variation)
        expected = len(self.parameters), len(self.names)
        if self.variation.shape != expected:
            raise ValueError(f"variation must have shape {expected}, got {self.variation.shape}.")
        self.errors = floats(self.errors)
        self.selected = [True] * expected[1] if self.selected is None else list(self.selected)

    def plot(self, ax: AxesLike = None, **kwargs: Any) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib Axes or two of them, optional
            The second one for errors; new ones if not given.
        **kwargs
            For ``Axes.plot`` of the components.
        """
        kept = self.selected or []
        top, *_ = self._draw_on_each(ax, 1 if self.errors is None else 2, 1, sharex=True)
        self.lines_ = []
        for name, t, keep in zip(self.names, self.variation.T, kept, strict=True):
            style: dict[str, Any] = {} if keep else {"color": "0.75", "linewidth": 0.8, "zorder": 0}
            (line,) = top.plot(self.parameters, t, label=name if keep else None, **style | kwargs)
            self.lines_.append(line)
        if 0 < sum(kept) <= MAX_NAMES:
            top.legend(frameon=False, fontsize="small")
        top.set(xscale="log", ylabel="maximal variation")
        if self.errors is not None:
            low, se = self.axes_[1], self.standard_errors
            low.errorbar(self.parameters, self.errors, se, marker="o", ms=3, capsize=2)
            low.set(xscale="log", ylabel="loss left out")
        self.axes_[-1].set_xlabel(r"$\mu$")
        if self.chosen is not None:
            for one in self.axes_:
                one.axvline(self.chosen, color="0.4", linestyle=":")
        return self

    @classmethod
    def from_estimator(cls, machine: KernelMachine, ax: AxesLike = None, **kwargs: Any) -> Self:
        """Draw the path of a fitted sparse additive machine.

        Parameters
        ----------
        machine : SparseAdditiveRegressor or SparseAdditiveClassifier
            With ``mu="1se"`` or ``"min"``.
        ax : matplotlib Axes or two of them, optional
        **kwargs
            As in :meth:`plot`.
        """
        path = machine.path_
        if path is None:
            raise ValueError("there is a path only where mu was chosen: fit with mu='1se'.")
        found = {k: getattr(path, k) for k in ("parameters", "names", "errors", "standard_errors")}
        kept = list(machine.selected_)
        display = cls(variation=path.coefs, chosen=path.chosen, selected=kept, **found)
        return display.plot(ax, **kwargs)
