"""The one rule for ``cv``: which rows an integer, a share or a splitter leaves out.

Rows whose features occur more than once stay together: a machine that was fitted to a copy of a row
has seen it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit, check_cv

from mercer._sklearn import num_samples
from mercer._typing import AnyArray, PointsLike, Seed, SplitterLike, TargetsLike

__all__ = ["as_splitter", "copies_of", "same_observations", "with_copies"]

# Different rows from which on leaving all copies of one of them out tells something, and the share
# of them that a column of numbers must tell apart. Where columns have few values rows coincide, and
# new rows coincide with them as well.
MIN_DIFFERENT_ROWS, TOLD_APART = 20, 0.5


def as_splitter(
    cv: SplitterLike,
    y: TargetsLike,
    random_state: Seed = 0,
    *,
    classifier: bool = False,
    shuffle: bool = True,
) -> Any:
    """Return the splitter that a parameter ``cv`` stands for, the same in every estimator.

    An integer is the number of folds, which are stratified where the targets are classes, as in
    scikit-learn, and drawn at random by a seed, unlike there: rows sorted by an input or by class
    are common, and a fold of consecutive rows then asks a machine to extrapolate. The seed is the
    ``random_state`` of an estimator that has one and 0 otherwise, so that the same integer leaves
    out the same rows for the same targets everywhere. There are at most as many folds as samples.
    For rows in the order of time give a splitter, such as scikit-learn's ``TimeSeriesSplit`` or
    ``KFold``.

    Parameters
    ----------
    cv : int, float, splitter, iterable or None
        Number of folds, five for None; share of the sample to validate on, once; or a splitter or
        splits, which are used as they are.
    y : array-like or None
        Targets, or class labels.
    random_state : int, RandomState or None, default=0
        Seed of the folds where `cv` is a number.
    classifier : bool, default=False
        Whether targets are classes.
    shuffle : bool, default=True
        Whether folds are drawn, or consecutive rows.

    Returns
    -------
    splitter
        With ``split`` and ``get_n_splits``, as in scikit-learn.

    Examples
    --------
    >>> from mercer.machines.folds import as_splitter
    >>> as_splitter(5, None)
    KFold(n_splits=5, random_state=0, shuffle=True)
    >>> as_splitter(2, [0, 1, 0, 1], classifier=True)
    StratifiedKFold(n_splits=2, random_state=0, shuffle=True)
    >>> as_splitter(0.25, None).get_n_splits()
    1
    """
    if isinstance(cv, float):
        kind = StratifiedShuffleSplit if classifier else ShuffleSplit
        return kind(1, test_size=cv, random_state=random_state)
    splitter = check_cv(cv, y, classifier=classifier)
    if cv is None or isinstance(cv, Integral):
        if y is not None:
            splitter.n_splits = min(splitter.n_splits, max(2, num_samples(y)))
        splitter.shuffle = shuffle
        splitter.random_state = random_state if shuffle else None
    return splitter


def copies_of(
    X: PointsLike, numbers: Sequence[int] | NDArray[np.intp] | None = None
) -> NDArray[np.intp] | None:
    """Return for each row the number of its group of rows with the same features.

    Rows are compared if a column of numbers has at least half as many values as there are different
    rows: where columns have few values, rows coincide without being copies.

    Parameters
    ----------
    X : array or data frame of shape (n, p)
        Features; missing values equal each other.
    numbers : sequence of int, optional
        Positions of the columns of numbers; found by their types by default.

    Returns
    -------
    (n,) array of int or None
        None if no row occurs more than once, or rows are not compared.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> copies_of(X) is None
    True
    >>> copies_of(np.vstack([X, X[:2]]))[[0, 30, 1, 31]]
    array([0, 0, 1, 1])
    """
    n = num_samples(X)
    frame = hasattr(X, "iloc")
    group, most = np.zeros(n, dtype=np.intp), 0
    for j in range(X.shape[1] if len(np.shape(X)) == 2 else 0):
        column = X.iloc[:, j] if frame else X[:, j]
        code, values = _coded(np.asarray(column))
        number = column.dtype.kind in "iuf" if numbers is None else j in numbers
        if number:
            most = max(most, values)
        # Groups of the columns so far and values of this one fit in 64 bits up to 3e9 rows.
        group = np.unique(group * values + code, return_inverse=True)[1]
        if len(group) and int(group.max()) + 1 == n:
            return None
    different = int(group.max()) + 1 if n else 0
    if different == n or different < MIN_DIFFERENT_ROWS or most < TOLD_APART * different:
        return None
    first = np.unique(group, return_index=True)[1]
    return np.argsort(np.argsort(first))[group]


def same_observations(
    copies: NDArray[np.intp], y: AnyArray
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first row of every observation, and the number of the observation of each row.

    Rows with the same features and targets are one observation, whose weight is the sum of theirs:
    as several it would have no noise.

    Parameters
    ----------
    copies : (n,) array of int
        Groups of rows with the same features.
    y : (n,) or (n, d) array
        Targets.

    Examples
    --------
    >>> same_observations(np.array([0, 1, 0, 1]), np.array([2.0, 3.0, 2.0, 4.0]))
    (array([0, 1, 3]), array([0, 1, 0, 2]))
    """
    group = copies
    for column in np.reshape(y, (len(y), -1)).T:
        code, values = _coded(column)
        group = np.unique(group * values + code, return_inverse=True)[1]
    _, first, group = np.unique(group, return_index=True, return_inverse=True)
    return np.sort(first), np.argsort(np.argsort(first))[group]


def _coded(column: AnyArray) -> tuple[NDArray[np.intp], int]:
    """Return the number of the value of every cell, and how many values there are."""
    if column.dtype.kind in "biufM":
        values, code = np.unique(column, return_inverse=True)
        return code, len(values)
    known: dict[Any, int] = {}
    code = np.array([known.setdefault(_key(cell), len(known)) for cell in column.tolist()])
    return code.astype(np.intp), len(known)


def _key(cell: Any) -> Any:
    """Return what a cell is known by: missing values equal each other, and lists their text."""
    if not isinstance(cell, Hashable):
        return repr(cell)
    missing = cell is None or type(cell).__name__ == "NAType" or bool(cell != cell)
    return None if missing else cell


def with_copies(fold: NDArray[np.intp], copies: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return folds in which every row is where the first row of its group is.

    Parameters
    ----------
    fold : (n,) array of int
        Folds of rows.
    copies : (n,) array of int
        Groups, as of :func:`copies_of`, or of some of its rows.

    Examples
    --------
    >>> with_copies(np.array([2, 0, 1, 1]), np.array([5, 7, 5, 8]))
    array([2, 0, 2, 1])
    """
    _, first, group = np.unique(copies, return_index=True, return_inverse=True)
    return fold[first[group]]
