"""Rows that are pictures: originals above what an estimator makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from mercer._typing import PointsLike
from mercer.kernels.points import Array
from mercer.plotting.base import Axes, Display, floats, plt

__all__ = ["PreimageDisplay"]


class PreimageDisplay(Display):
    """Rows as pictures: each original above its reconstructions.

    Parameters
    ----------
    pictures : dict of (n, p) arrays
        Rows by the name of what they are, from top to bottom; missing cells are left blank.
    image_shape : tuple of two int
        Height and width of a picture, with p their product.

    Attributes
    ----------
    image_ : matplotlib AxesImage
        All pictures, one row for each name.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from mercer.manifold import PrincipalManifold
    >>> from mercer.plotting import PreimageDisplay
    >>> X, _ = load_digits(return_X_y=True)
    >>> sheet = PrincipalManifold(2, tol=1e-3).fit(X[:200])
    >>> display = PreimageDisplay.from_estimator(sheet, X[200:210], image_shape=(8, 8))
    >>> display.image_.get_array().shape
    (17, 89)
    """

    pictures: Mapping[str, Array]
    image_shape: tuple[int, int]

    def __post_init__(self) -> None:
        self.pictures = {name: floats(rows) for name, rows in self.pictures.items()}
        self.image_shape = (int(self.image_shape[0]), int(self.image_shape[1]))
        p = self.image_shape[0] * self.image_shape[1]
        shapes = {rows.shape for rows in self.pictures.values()}
        if len(shapes) != 1 or next(iter(shapes))[1:] != (p,):
            raise ValueError(
                f"pictures of shape {self.image_shape} are rows of {p} numbers, as many for every "
                f"name; got arrays of shape {sorted(shapes)}."
            )

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the pictures side by side, one row for each name.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones if not given.
        **kwargs
            For ``Axes.imshow``; all pictures share the scale of the first row.
        """
        tiles = self._tiles()
        if ax is None:
            # As high as the pictures are, and not as a figure is by default.
            width = float(plt.rcParams["figure.figsize"][0])
            _, ax = plt.subplots(figsize=(width, 0.3 + width * tiles.shape[0] / tiles.shape[1]))
        ax = self._draw_on(ax)
        h = self.image_shape[0]
        first = next(iter(self.pictures.values()))
        scale = {"vmin": float(np.nanmin(first)), "vmax": float(np.nanmax(first))}
        style: dict[str, Any] = {"cmap": "gray_r", "interpolation": "nearest", **scale, **kwargs}
        self.image_ = ax.imshow(tiles, **style)
        heights = np.arange(len(self.pictures)) * (h + 1) + 0.5 * (h - 1)
        ax.set_xticks([])
        ax.set_yticks(heights, [*self.pictures])
        ax.tick_params(length=0)
        for spine in ax.spines.values():
            spine.set_visible(False)
        return self

    def _tiles(self) -> Array:
        """Return one large picture, with a blank line between any two."""
        h, w = self.image_shape
        stack = np.stack([rows.reshape(-1, h, w) for rows in self.pictures.values()])
        framed = np.pad(stack, ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=np.nan)
        k, n = framed.shape[:2]
        return framed.transpose(0, 2, 1, 3).reshape(k * (h + 1), n * (w + 1))[:-1, :-1]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: PointsLike,
        *,
        image_shape: tuple[int, int],
        clean: Any = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw rows and their reconstructions ``inverse_transform(transform(X))``.

        Parameters
        ----------
        estimator : estimator or dict of estimators
            Fitted, such as ``KernelPCA(20).fit(X)`` or ``PrincipalManifold(2).fit(X)``; several
            by their names.
        X : (n, p) array-like
            Rows, few enough to stand side by side.
        image_shape : tuple of two int
            Height and width of a picture.
        clean : (n, p) array-like, optional
            What the rows were before noise was added, or cells were lost.
        """
        several = estimator if isinstance(estimator, Mapping) else {"reconstruction": estimator}
        given = {} if clean is None else {"clean": clean}
        given["original" if clean is None else "given"] = X
        made = {name: one.inverse_transform(one.transform(X)) for name, one in several.items()}
        return cls(pictures={**given, **made}, image_shape=image_shape).plot(ax, **kwargs)
