"""The one rule for ``cv``: which rows an integer, a share or a splitter leaves out."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit, check_cv

from mercer._sklearn import num_samples
from mercer._typing import Seed, SplitterLike, TargetsLike

__all__ = ["as_splitter"]


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
