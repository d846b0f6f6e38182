"""Rows along one or two features of a table, the others held where the middle of the sample is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mercer._typing import PointsLike
from mercer.kernels.points import Array

__all__ = ["Section", "is_frame", "names_of", "positions"]

# A feature with at most so many different numbers is drawn at these alone.
MAX_DISTINCT_VALUES = 12


def is_frame(X: PointsLike) -> bool:
    """Return whether a table is a pandas data frame."""
    return hasattr(X, "iloc") and hasattr(X, "columns")


def names_of(X: PointsLike) -> list[str]:
    """Return the names of the features; x0, x1, ... where they have none."""
    if is_frame(X):
        return [str(name) for name in X.columns]
    return [f"x{j}" for j in range(np.shape(X)[1])]


def positions(X: PointsLike, features: Sequence[int | str]) -> list[int]:
    """Return the positions of features that are given by position or name.

    Examples
    --------
    >>> positions(np.zeros((2, 3)), [2, "x0"])
    [2, 0]
    """
    names, found = names_of(X), []
    for feature in features:
        if isinstance(feature, str):
            if feature not in names:
                raise ValueError(f"no feature is called {feature!r}: {', '.join(names)}.")
            found.append(names.index(feature))
        elif not 0 <= feature < len(names):
            raise ValueError(f"there is no feature {feature}; the table has {len(names)}.")
        else:
            found.append(int(feature))
    return found


class Section:
    """Rows of a table that differ in some features only.

    Parameters
    ----------
    X : (n, p) array or data frame
        The sample: other features are its medians, or most frequent words.

    Examples
    --------
    >>> section = Section(np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 8.0]]))
    >>> section.rows({0: np.array([5.0, 6.0])})
    array([[5., 3.],
           [6., 3.]])
    """

    def __init__(self, X: PointsLike) -> None:
        # Frames of other libraries as those of pandas, with their names and words.
        X = X.to_pandas() if hasattr(X, "to_pandas") else X
        self.frame = is_frame(X)
        self.X: PointsLike = X if self.frame else np.asarray(X)
        self.names = names_of(self.X)

    def column(self, j: int) -> Array:
        """Return the values of a feature in the sample."""
        return np.asarray(self.X.iloc[:, j] if self.frame else self.X[:, j])

    def is_words(self, j: int) -> bool:
        """Return whether a feature is no number."""
        return self.column(j).dtype.kind not in "iufb"

    def middle(self, j: int) -> object:
        """Return the median of a feature, or its most frequent word."""
        values = self.column(j)
        if not self.is_words(j):
            return np.nanmedian(values.astype(float))
        words, counts = np.unique([value for value in values if value == value], return_counts=True)
        return words[np.argmax(counts)]

    def grid(self, j: int, size: int) -> Array:
        """Return values of a feature from its least to its largest; all words of a category."""
        values = self.column(j)
        if self.is_words(j):
            return np.unique([value for value in values if value == value])
        known = np.unique(values[np.isfinite(values.astype(float))].astype(float))
        few = len(known) <= MAX_DISTINCT_VALUES
        return known if few else np.linspace(known[0], known[-1], size)

    def rows(self, given: dict[int, Array]) -> PointsLike:
        """Return rows with some features given and the others in the middle.

        Parameters
        ----------
        given : dict
            Values (m,) by position.
        """
        m = len(next(iter(given.values())))
        columns = {j: given.get(j, np.full(m, self.middle(j))) for j in range(len(self.names))}
        return self._table(columns)

    def crossed(self, rows: NDArray[np.intp], j: int, values: Array) -> PointsLike:
        """Return rows of the sample with one feature at each of some values, value by value.

        Parameters
        ----------
        rows : (m,) array of int
        j : int
        values : (k,) array

        Examples
        --------
        >>> section = Section(np.array([[0.0, 1.0], [2.0, 3.0]]))
        >>> section.crossed(np.array([0, 1]), 0, np.array([7.0, 8.0]))
        array([[7., 1.],
               [7., 3.],
               [8., 1.],
               [8., 3.]])
        """
        k = len(values)
        columns = {i: np.tile(self.column(i)[rows], k) for i in range(len(self.names))}
        return self._table(columns | {j: np.repeat(values, len(rows))})

    def _table(self, columns: dict[int, Array]) -> PointsLike:
        if not self.frame:
            rows = np.column_stack([columns[j] for j in sorted(columns)])
            return rows.astype(self.X.dtype) if _keeps(self.X.dtype) else rows
        made = type(self.X)({self.X.columns[j]: values for j, values in columns.items()})
        return made.astype({name: kind for name, kind in self.X.dtypes.items() if _keeps(kind)})


def _keeps(kind: object) -> bool:
    """Return whether values between those of a column are of its type: not those of integers."""
    return getattr(kind, "kind", "O") not in "iub"
