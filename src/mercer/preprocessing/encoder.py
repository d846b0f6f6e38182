"""Numbers for categories."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial, reduce
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import Tags

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions, check_feature_names_in, fit_context
from mercer._typing import AnyArray, Constraints, PointsLike, TargetsLike
from mercer.data import DataError, Source, categories
from mercer.data.base import Block
from mercer.data.sampling import fold_of
from mercer.data.statistics import Counts, codes_of, column_of, ordered
from mercer.data.table import Table, common_type, factorized
from mercer.preprocessing._groups import FOLD_SEED, grouped, key_of, merged, shrunk
from mercer.preprocessing.base import Streamed, numbered

__all__ = ["Encoder"]


@settings
class Encoder(Streamed):
    r"""Turn categories into numbers, learned in one pass; columns of numbers stay as they are.

    A column of categories becomes one column for each category (``"onehot"``), the number of the
    category (``"ordinal"``), or the mean of the target within the category, drawn towards the mean
    of all as far as it is uncertain (``"target"``):

    .. math:: \lambda \bar y_c + (1 - \lambda) \bar y, \qquad \lambda = \frac{n_c}{n_c + m}.

    What a machine is trained on must not know its own targets. So ``fit_transform`` encodes each
    row by the rows of the other folds, where the fold of a row is a function of what it holds:
    equal rows share one, and neither order nor division of the data matters.

    Parameters
    ----------
    kind : {"onehot", "ordinal", "target"}, default="onehot"
        What a category becomes.
    columns : "all" or list of str or int, optional
        The columns of categories; by default those that hold words.
    max_categories : int, optional
        Most categories of a column, the last of which stands for all that are less frequent.
    handle_unknown : {"ignore", "error"}, default="ignore"
        What to do with a category that the fit has not met. If there is one for less frequent
        categories, it is that; else zeros, -1 (``"ordinal"``) or the mean of all (``"target"``).
    sparse : bool, default=False
        Return CSR matrices.
    smooth : float or "auto", default="auto"
        The number m of rows that the mean of all targets counts for; by default the variance within
        the category over that of all targets.
    cv : int, default=5
        Number of folds of ``fit_transform``.
    target_type : {"auto", "continuous", "classes"}, default="auto"
        Whether targets are numbers, or classes that are encoded by their frequencies: one column
        for the second of two classes, or one for each. By default they are numbers if they have a
        fraction type, which those of CSV files always have.
    verbose : bool, default=False
        Tell how far a pass has come.

    Attributes
    ----------
    columns_ : list of int
        Numbers of the columns of categories.
    categories_ : list of list
        Their categories in order; missing values are the last.
    infrequent_ : list of list
        Categories that one stands for.
    encodings_ : list of ndarray of shape (n_categories, n_targets)
        What categories become, for ``kind="target"``.
    target_mean_ : ndarray of shape (n_targets,)
        Mean of all targets.
    classes_ : list
        Classes whose frequencies are told, if targets are classes.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_columns,)
        Their names, if they have any.

    References
    ----------
    D. Micci-Barreca, A preprocessing scheme for high-cardinality categorical attributes in
    classification and prediction problems, SIGKDD Explorations 3 (2001), eqs. (3)-(5).

    Examples
    --------
    >>> import pandas as pd
    >>> from mercer.preprocessing import Encoder
    >>> frame = pd.DataFrame({"size": [1.5, 2.5], "colour": ["red", "blue"]})
    >>> encoder = Encoder().fit(frame)
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'colour_blue', 'colour_red']
    >>> encoder.transform(frame)
    array([[1.5, 0. , 1. ],
           [2.5, 1. , 0. ]])
    """

    kind: str = "onehot"
    _: KW_ONLY
    columns: Any = None
    max_categories: int | None = None
    handle_unknown: str = "ignore"
    sparse: bool = False
    smooth: float | str = "auto"
    cv: int = 5
    target_type: str = "auto"

    takes_words = True

    _parameter_constraints: ClassVar[Constraints] = {
        "kind": [StrOptions({"onehot", "ordinal", "target"})],
        "columns": [StrOptions({"all"}), list, tuple, None],
        "max_categories": [Interval(Integral, 1, None, closed="left"), None],
        "handle_unknown": [StrOptions({"ignore", "error"})],
        "sparse": ["boolean"],
        "smooth": [StrOptions({"auto"}), Interval(Real, 0.0, None, closed="left")],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "target_type": [StrOptions({"auto", "continuous", "classes"})],
    }

    # Fitting --------------------------------------------------------------------------------------

    def _learn(self, source: Source) -> None:
        p, by_target = source.n_features, self.kind == "target"
        chosen = self._chosen(p)
        classes = by_target and self._has_classes(source)
        columns = "words" if chosen is None else chosen
        found = self._pass(
            "categories", source, partial(categories, targets=classes), source, columns
        )
        counts = found.counts[: len(found.counts) - classes]
        if chosen is None:
            chosen = [j for j in range(p) if counts[j]]
            counts = tuple(counts[j] for j in chosen)
        self.columns_ = chosen
        split = [self._split(count) for count in counts]
        self.categories_ = [frequent for frequent, _ in split]
        self.infrequent_ = [rest for _, rest in split]
        if by_target:
            values = ordered(found.counts[-1]) if classes else None
            if values is not None:
                self.classes_ = values[1:] if len(values) == 2 else values
            self._learn_targets(source, self.classes_ if classes else None)

    def _chosen(self, p: int) -> list[int] | None:
        """Return the numbers of the columns that were asked for."""
        if self.columns is None:
            return None
        if isinstance(self.columns, str):
            return list(range(p))
        return numbered(self.columns, list(check_feature_names_in(self, self._names)))

    def _split(self, counts: Counts) -> tuple[list[Any], list[Any]]:
        """Return the categories of a column, and those that one stands for."""
        values = ordered(counts)
        if self.max_categories is None or len(values) <= self.max_categories or (
            self.kind == "target"
        ):  # fmt: skip
            return values, []
        # Of equally frequent ones the last in order stay.
        order = np.argsort([counts[value] for value in values], kind="stable")
        kept = {*order[len(values) - self.max_categories + 1 :].tolist()}
        return (
            [value for i, value in enumerate(values) if i in kept],
            [value for i, value in enumerate(values) if i not in kept],
        )

    def _has_classes(self, source: Source) -> bool:
        if self.target_type != "auto":
            return self.target_type == "classes"
        kinds = {np.asarray(block.y).dtype.kind for block in _first(source)}
        if not kinds or "V" in kinds:
            raise ValueError(
                "Encoder(kind='target') requires y to be passed, but the target y is None"
            )
        return "f" not in kinds

    def _learn_targets(self, source: Source, classes: list[Any] | None) -> None:
        shared = (tuple(self.columns_), self.cv, classes)
        groups = self._pass("targets", source, source.total, grouped, shared, None)
        self.encodings_, self._of_other_folds = [], []
        self.target_mean_ = np.zeros(0)
        for values, table in zip(self.categories_, groups.tables, strict=True):
            stats = np.stack([table[value] for value in values])  # (k, cv, 3, K)
            by_fold = reduce(merged, stats)
            every = reduce(merged, np.moveaxis(stats, 1, 0))
            overall = reduce(merged, by_fold)
            self.target_mean_ = overall[1]
            self.encodings_.append(shrunk(every, overall, self.smooth))
            others = []
            for fold in range(self.cv):
                rest = [k for k in range(self.cv) if k != fold]
                left = reduce(merged, np.moveaxis(stats[:, rest], 1, 0))
                others.append(shrunk(left, reduce(merged, by_fold[rest]), self.smooth))
            self._of_other_folds.append(np.stack(others))

    @fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: PointsLike, y: TargetsLike = None) -> PointsLike:
        """Learn from rows and transform them, by the other folds if the target is used.

        Parameters
        ----------
        X : array-like, frame or source of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,), optional
            Targets; those of a source come with it.
        """
        self.fit(X, y)
        return self._transformed(X, "_apart" if self.kind == "target" else "_applied")

    # Transforming ---------------------------------------------------------------------------------

    def _applied(self, X: PointsLike) -> PointsLike:
        return self._encoded(X, None)

    def _apart(self, X: PointsLike) -> PointsLike:
        return self._encoded(X, fold_of(X, self.cv, FOLD_SEED))

    def _encoded(self, X: PointsLike, fold: NDArray[np.intp] | None) -> PointsLike:
        n, p = X.shape
        place = {j: c for c, j in enumerate(self.columns_)}
        numbers = [column_of(X, j) for j in range(p) if j not in place]
        dtype = common_type([v.dtype for v in numbers]) if numbers else np.dtype(np.float64)
        if not isinstance(X, Table):
            dtype = X.dtype
        parts: list[Any] = []
        for j in range(p):
            values = column_of(X, j)
            if j not in place:
                if values.dtype == object:
                    raise DataError(f"{self._name(j)!r} held numbers when the encoder was fitted")
                parts.append(values[:, None].astype(dtype))
                continue
            c = place[j]
            index = self._index(values, c)
            width = self._width(c)
            if self.kind == "ordinal":
                parts.append(index[:, None].astype(dtype))
            elif self.kind == "target":
                table = self.encodings_[c] if fold is None else self._of_other_folds[c]
                found = table[index] if fold is None else table[fold, index]
                found = np.where(index[:, None] >= 0, found, self.target_mean_)
                parts.append(found.astype(dtype))
            else:
                rows = np.flatnonzero(index >= 0)
                hot = (np.ones(len(rows), dtype=dtype), (rows, index[rows]))
                one = sp.csr_array(hot, shape=(n, width))
                parts.append(one if self.sparse else one.toarray())
        if self.sparse:
            return sp.csr_array(sp.hstack([sp.csr_array(part) for part in parts], format="csr"))
        return np.concatenate(parts, axis=1)

    def _index(self, values: AnyArray, c: int) -> NDArray[np.intp]:
        """Return the number of each row's category, -1 for one that was never met."""
        own, rest = ([*map(key_of, each[c])] for each in (self.categories_, self.infrequent_))
        lookup, unknown = codes_of(own, rest)
        keys, codes = factorized(values)
        if self.handle_unknown == "error":
            new = [key for key in keys if key_of(key) not in lookup]
            if new:
                name = self._name(self.columns_[c])
                raise DataError(
                    f"column {name!r} has a category that the fit has not met: {new[0]!r}"
                )
        return np.array([lookup.get(key_of(key), unknown) for key in keys], dtype=np.intp)[codes]

    def _width(self, c: int) -> int:
        return len(self.categories_[c]) + bool(self.infrequent_[c])

    def _name(self, j: int) -> str:
        return str(check_feature_names_in(self, self._names)[j])

    def _output_names(self, names: list[str]) -> list[str]:
        """Return ``colour_red`` for the category red of colour."""
        result: list[str] = []
        place = {j: c for c, j in enumerate(self.columns_)}
        for j, name in enumerate(names):
            if j not in place or self.kind == "ordinal":
                result.append(name)
            elif self.kind == "target":
                classes = getattr(self, "classes_", [None])
                one = len(classes) == 1
                result += [name if one else f"{name}_{value}" for value in classes]
            else:
                c = place[j]
                result += [f"{name}_{value}" for value in self.categories_[c]]
                result += [f"{name}_infrequent"] if self.infrequent_[c] else []
        return result

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.kind == "target"
        return tags


def _first(source: Source) -> Iterator[Block]:
    """Yield the first block of a source, if it has targets."""
    for block in source.blocks(1):
        if block.y is not None:
            yield block
        return
