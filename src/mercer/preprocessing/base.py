"""What transformers share: they learn from rows in blocks, and transform arrays or streams."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._fitting import AllOrNothing
from mercer._progress import Bar
from mercer._settings import fixed, settings
from mercer._sklearn import check_feature_names_in, fit_context
from mercer._typing import AnyArray, PointsLike, TargetsLike
from mercer.data import Source, as_source
from mercer.data.arrays import Arrays
from mercer.data.base import Block
from mercer.data.opening import is_source
from mercer.data.table import Table, common_type

__all__ = ["Apply", "Streamed", "has_words", "numbered"]

FLOATS = [np.float64, np.float32]
BLOCK_NUMBERS = 2_000_000
"""Numbers in a block of the passes that gather statistics."""


@dataclass(frozen=True)
class Apply:
    """A function of blocks: those that a fitted transformer makes of them.

    Parameters
    ----------
    transformer : Streamed
    method : str
        The method that does it, from an array to an array.
    """

    transformer: Any
    method: str

    def __call__(self, block: Block) -> Block:
        """Return a transformed block.

        Parameters
        ----------
        block : Block
        """
        X = self.transformer._prepared(block.X)
        return block._replace(X=getattr(self.transformer, self.method)(X))


@settings
class Streamed(TransformerMixin, AllOrNothing, BaseEstimator):  # type: ignore[misc]
    """A transformer that is fitted in passes over blocks, wherever they are.

    It takes what scikit-learn's transformers take, and sources (`mercer.data.open`, Dask
    collections), which it transforms as they are read: ``fit_transform`` of a source is a source.
    """

    _names: list[str] | None = fixed(None)
    """Names of the features of the fit, also of those that another transformer made."""

    takes_words = False
    """Whether columns may hold words."""

    takes_sparse = False
    """Whether sparse matrices are taken."""

    # What a transformer declares ------------------------------------------------------------------

    @abstractmethod
    def _learn(self, source: Source) -> None:
        """Fit to the rows of a source."""

    @abstractmethod
    def _applied(self, X: PointsLike) -> PointsLike:
        """Return transformed rows: an array, a CSR matrix, or a table."""

    def _output_names(self, names: list[str]) -> list[str]:
        """Return the names of the features that come out: by default of those that go in."""
        return names

    # What all of them do --------------------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : array-like, frame or source of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,), optional
            Targets; those of a source come with it.
        """
        self._learn(self._admitted(X, y))
        return self

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> AnyArray:
        """Return the names of the features that come out.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of those that go in.
        """
        check_is_fitted(self)
        names = [str(name) for name in check_feature_names_in(self, input_features)]
        return np.array(self._output_names(names), dtype=object)

    def transform(self, X: PointsLike) -> PointsLike:
        """Transform rows.

        Parameters
        ----------
        X : array-like, frame or source of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        array, CSR matrix or source
            A source for a source, whose blocks are transformed as they are read.
        """
        return self._transformed(X, "_applied")

    def _transformed(self, X: PointsLike, method: str) -> PointsLike:
        check_is_fitted(self)
        if is_source(X):
            source = as_source(X)
            self._compare(source)
            names = [str(name) for name in self.get_feature_names_out(self._names)]
            return source.map(Apply(self, method), names)
        found = getattr(self, method)(self._prepared(self._read(X, reset=False)))
        if isinstance(found, Table) and not isinstance(X, Table):
            return np.stack([v.astype(object) for v in found.columns.values()], axis=1)
        return found

    def _admitted(self, X: PointsLike, y: TargetsLike) -> Source:
        """Return checked rows as a source, and remember their features."""
        if is_source(X):
            source = as_source(X, None if isinstance(X, Source) else y)
            self._remember(source.n_features, source.given_names)
            self._names = source.feature_names
            return source
        X = self._read(X, reset=True)
        y = None if y is None else np.asarray(y)
        names = getattr(self, "feature_names_in_", None)
        self._names = None if names is None else list(names)
        return Arrays(X, y, feature_names=self._names)

    def _read(self, X: PointsLike, reset: bool) -> PointsLike:
        """Return what is not a source as an array, a CSR matrix or a table."""
        if isinstance(X, Table):
            if reset:
                self._remember(X.shape[1], list(X.columns))
            else:
                self._compare(Arrays(X))
            return X
        if self.takes_words and has_words(X):
            validate_data(self, X, skip_check_array=True, reset=reset)
            return next(as_source(X).blocks(max(len(X), 1))).X
        return validate_data(
            self,
            X,
            accept_sparse="csr" if self.takes_sparse else False,
            dtype=FLOATS,
            ensure_all_finite="allow-nan",
            reset=reset,
        )

    def _prepared(self, X: PointsLike) -> PointsLike:
        """Return rows as floating-point numbers, or as a table if it may hold words."""
        if isinstance(X, Table):
            return X if self.takes_words and X.text else X.numbers()
        return X.astype(common_type([X.dtype]), copy=False)

    def _remember(self, n_features: int, names: list[str] | None) -> None:
        self.n_features_in_ = n_features
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _compare(self, source: Source) -> None:
        """Refuse a source whose features are not those of the fit."""
        names = self._names
        same = source.n_features == self.n_features_in_
        if names is not None and source.feature_names is not None:
            same = same and names == source.feature_names
        if not same:
            seen = source.n_features if names is None else ", ".join(source.feature_names or [])
            fitted = self.n_features_in_ if names is None else ", ".join(names)
            raise ValueError(
                f"{type(self).__name__} was fitted to other features: {fitted}; it got: {seen}"
            )

    def _ending(self) -> str:
        return f"fitted to {self.n_features_in_} features"

    def _pass(self, title: str, source: Source, work: Callable[..., Any], *args: Any) -> Any:
        """Return what a function finds in a pass over a source, in blocks and with a bar."""
        rows = int(np.clip(BLOCK_NUMBERS // source.n_features, 64, 65_536))
        name = f"{type(self).__name__}: {title}"
        with Bar(name, source.n_rows, show=bool(self.verbose)) as bar:
            return work(*args, rows=rows, report=bar.update)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self.takes_sparse
        tags.input_tags.string = tags.input_tags.categorical = self.takes_words
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def numbered(columns: Iterable[str | int | bool], names: list[str]) -> list[int]:
    """Return the numbers of columns that are given by names, by numbers or by a mask.

    Parameters
    ----------
    columns : sequence of str, int or bool
        A mask has an entry for every column.
    names : list of str
        Names of all columns.

    Examples
    --------
    >>> numbered(["b", 0], ["a", "b", "c"]), numbered([False, False, True], ["a", "b", "c"])
    ([0, 1], [2])
    """
    columns = list(columns)
    if columns and all(isinstance(column, bool | np.bool_) for column in columns):
        if len(columns) != len(names):
            raise ValueError(f"a mask of {len(columns)} entries for {len(names)} columns")
        return [int(j) for j in np.flatnonzero(columns)]
    found = []
    for column in columns:
        known = column in names if isinstance(column, str) else 0 <= column < len(names)
        if not known:
            raise ValueError(f"there is no column {column!r}; there are: {', '.join(names)}")
        found.append(names.index(column) if isinstance(column, str) else int(column))
    return sorted(set(found))


def has_words(X: PointsLike) -> bool:
    """Return whether something tabular may hold words: a frame, or an array of objects."""
    if hasattr(X, "columns"):
        return True
    kind = getattr(getattr(X, "dtype", None), "kind", None)
    if kind is None and isinstance(X, list | tuple):
        kind = np.asarray(X, dtype=object).dtype.kind if _nested_words(X) else None
    return kind in {"O", "U", "S"} and np.ndim(X) == 2


def _nested_words(X: PointsLike) -> bool:
    return any(isinstance(v, str) for row in X if isinstance(row, list | tuple) for v in row)
