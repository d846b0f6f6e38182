"""Manifolds in data space: a curve or the mesh of a sheet among the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mercer._typing import AnyArray, PointsLike, TargetsLike
from mercer.kernels.points import Array
from mercer.manifold.latent import as_latent
from mercer.plotting.base import Axes, Display, chosen_of, floats
from mercer.plotting.charts import chart_of
from mercer.plotting.marks import Marks, mark

__all__ = ["ManifoldDisplay"]


class ManifoldDisplay(Display):
    """A manifold in data space: a curve, or the mesh of a sheet, among the rows.

    Parameters
    ----------
    lines : list of (k, q) arrays
        Lines of the manifold in two or three features.
    rows : (n, q) array, optional
        The data.
    images : (n, q) array, optional
        Nearest images of the rows.
    labels : (n,) array, optional
        Classes of the rows, or numbers.
    names : sequence of q str, optional
        Names of the features.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        The manifold.
    points_ : list of matplotlib PathCollection
        The data, one collection for each class.
    residuals_ : matplotlib Line2D or None
        From every row to its image, with NaN in between.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.manifold import Circle, PrincipalManifold
    >>> from mercer.plotting import ManifoldDisplay
    >>> t = np.linspace(0, 6, 50)
    >>> X = np.c_[np.cos(t), np.sin(t), t]
    >>> curve = PrincipalManifold(Circle(8), lam=0.01, tol=1e-3).fit(X)
    >>> display = ManifoldDisplay.from_estimator(curve, X, features=[0, 1])
    >>> len(display.lines_), display.ax_.get_xlabel()
    (1, 'feature 0')
    """

    lines: Sequence[Array]
    rows: Array | None = None
    images: Array | None = None
    labels: AnyArray | None = None
    names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        self.lines = [floats(line) for line in self.lines]
        self.rows, self.images = floats(self.rows), floats(self.images)
        self.labels = None if self.labels is None else np.asarray(self.labels)
        parts = (*self.lines, self.rows, self.images)
        widths = {part.shape[-1] for part in parts if part is not None}
        if widths not in ({2}, {3}):
            raise ValueError(f"a manifold is drawn in two or in three features, got {widths}.")
        if self.images is not None and (self.rows is None or len(self.rows) != len(self.images)):
            raise ValueError("images are joined to rows: give as many rows.")

    def plot(
        self,
        ax: Axes | None = None,
        *,
        residuals: bool = True,
        legend: bool = True,
        line_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the rows and the manifold among them.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones if not given; ``projection="3d"`` for three features.
        residuals : bool, default=True
            Join every row to its image.
        legend : bool, default=True
            Name the classes, or show the scale of numbers.
        line_kwargs : dict, optional
            For ``Axes.plot``, which draws the manifold.
        **kwargs
            For ``Axes.scatter``, which draws the rows.
        """
        space = self.lines[0].shape[1] == 3
        ax = self._draw_on(ax, space)
        self.points_: list[Any] = []
        self.residuals_: Any = None
        if self.rows is not None:
            marks = Marks.of(self.labels, len(self.rows))
            plain = {} if marks.names or marks.numeric else {"color": "0.6"}
            self.points_ = mark(ax, self.rows, marks, legend=legend, **{**plain, **kwargs})
        if residuals and self.images is not None and self.rows is not None:
            pairs = np.stack([self.rows, self.images], axis=1)
            known = pairs[~np.isnan(pairs).any(axis=(1, 2))]
            # A line breaks at NaN, in the plane and in space alike.
            broken = np.pad(known, ((0, 0), (0, 1), (0, 0)), constant_values=np.nan)
            path = broken.reshape(-1, known.shape[2])
            (self.residuals_,) = ax.plot(*path.T, color="0.75", lw=0.6, zorder=1)
        thin = 2.0 if len(self.lines) == 1 else 0.9
        style = {"color": "black", "lw": thin, "zorder": 3, **(line_kwargs or {})}
        self.lines_ = [line for path in self.lines for line in ax.plot(*path.T, **style)]
        names = () if self.names is None else self.names
        sides = ("xlabel", "ylabel", "zlabel")
        labels: dict[str, Any] = dict(zip(sides, names, strict=False))
        return self._finish(**labels)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: PointsLike = None,
        y: TargetsLike = None,
        *,
        features: Sequence[int | str] = (0, 1),
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a fitted manifold.

        Parameters
        ----------
        estimator : estimator
            With a ``latent`` set and ``inverse_transform``, such as ``PrincipalManifold(1)``.
        X : (n, d) array-like, optional
            Rows to draw with their images; a row with a missing cell among the features drawn is
            left out.
        y : (n,) array-like, optional
            Labels of the rows.
        features : sequence of two or three int or str, default=(0, 1)
            Columns of the data, or their names.
        """
        estimator = chosen_of(estimator)
        latent = as_latent(estimator.latent)
        names = getattr(estimator, "feature_names_in_", None)
        chosen = [_position(feature, names, estimator.n_features_in_) for feature in features]
        lines = [
            np.asarray(estimator.inverse_transform(line))[:, chosen]
            for line in chart_of(latent, latent.dim).lines()
        ]
        rows = images = None
        if X is not None:
            images = np.asarray(estimator.inverse_transform(estimator.transform(X)))[:, chosen]
            rows = np.asarray(X, dtype=np.float64)[:, chosen]
        labels = [f"feature {j}" if names is None else str(names[j]) for j in chosen]
        display = cls(lines=lines, rows=rows, images=images, labels=y, names=labels)
        return display.plot(ax, **kwargs)


def _position(feature: int | str, names: Any, d: int) -> int:
    """Return the column of a feature that is given by its number or its name."""
    if isinstance(feature, str):
        if names is None or feature not in names:
            raise ValueError(f"{feature!r} is no feature of the fit.")
        return int(np.flatnonzero(np.asarray(names) == feature)[0])
    if not -d <= feature < d:
        raise ValueError(f"feature {feature} is beyond the {d} features of the fit.")
    return int(feature) % d
