r"""Folds as labels: which kernel entries the machines of a cross-validation share.

With fold F(k) of sample k, sample k is used by the L - 1 machines that leave another fold out; two
samples are used together by L - 1 machines if they are of one fold, and by L - 2 if not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mercer._typing import Array, PointsLike, Seed, SplitterLike, TargetsLike
from mercer.machines.folds import as_splitter

__all__ = ["Folds"]

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Folds:
    r"""A partition of a sample into folds, and the kernel entries that their machines share.

    Parameters
    ----------
    labels : (n,) array of int
        The fold of each sample, from 0 to L - 1.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (8.17), (8.18); the counts of
    eq. (8.27), (8.28) and (8.31) are corrected.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.selection.folds import Folds
    >>> folds = Folds(np.array([0, 0, 1, 2]))
    >>> folds.within(np.ones((4, 4)))
    array([[1., 1., 0., 0.],
           [1., 1., 0., 0.],
           [0., 0., 1., 0.],
           [0., 0., 0., 1.]])
    >>> folds.shared()[0]
    array([2, 2, 1, 1])
    """

    labels: Indices

    def __post_init__(self) -> None:
        labels = np.asarray(self.labels)
        found = np.unique(labels)
        if labels.ndim != 1 or len(found) < 2 or not np.array_equal(found, np.arange(len(found))):
            raise ValueError(
                "labels must name the fold of each sample by the integers 0, 1, ..., at least two "
                "folds, none of them empty."
            )

    @classmethod
    def split(
        cls,
        cv: SplitterLike,
        X: PointsLike,
        y: TargetsLike,
        groups: Any = None,
        random_state: Seed = 0,
        *,
        classifier: bool = False,
    ) -> Folds:
        """Return the folds of a splitter, which must hold out every sample exactly once.

        Parameters
        ----------
        cv : int, splitter or iterable
            As in :func:`as_splitter`.
        X, y, groups : array-like
            What the splitter asks for.
        random_state : int, RandomState or None, default=0
            Seed of the folds where `cv` is a number.
        classifier : bool, default=False
            Whether targets are classes.
        """
        n = len(y)
        labels = np.full(n, -1)
        count = np.zeros(n, dtype=int)
        splits = as_splitter(cv, y, random_state, classifier=classifier).split(X, y, groups)
        for fold, (_, held_out) in enumerate(splits):
            labels[held_out] = fold
            count[held_out] += 1
        if np.any(count != 1):
            raise ValueError(
                "cv must hold out every sample exactly once, as KFold, GroupKFold or LeaveOneOut "
                "do; repeated or partial splits make no partition into folds."
            )
        return cls(labels)

    @property
    def n_folds(self) -> int:
        """The number L of folds."""
        return int(np.max(self.labels)) + 1

    def inside(self, fold: int) -> Indices:
        """Return the samples of a fold, V."""
        return np.flatnonzero(self.labels == fold)

    def outside(self, fold: int) -> Indices:
        """Return the samples that the machine of a fold is trained on, T."""
        return np.flatnonzero(self.labels != fold)

    def shared(self) -> Indices:
        """Return how many machines use both of two samples, (n, n)."""
        same = self.labels[:, None] == self.labels
        return np.where(same, self.n_folds - 1, self.n_folds - 2)

    def within(self, K: ArrayLike) -> Array:
        """Return K with zeros between samples of different folds."""
        return np.where(self.labels[:, None] == self.labels, np.asarray(K), 0.0)

    def across(self, K: ArrayLike) -> Array:
        """Return K with zeros between samples of one fold, which predicts samples left out."""
        return np.where(self.labels[:, None] == self.labels, 0.0, np.asarray(K))

    def averaged(self, K: ArrayLike) -> Array:
        r"""Return who predicts a sample on average over the machines trained with it.

        .. math:: \frac{(L-2) K + K^{cv}}{L-1}
        """
        return np.asarray(self.shared() / (self.n_folds - 1) * np.asarray(K))

    def difference(self, K: ArrayLike) -> Array:
        r"""Return how these two predictions differ, averaged less left out.

        .. math:: \frac{L K^{cv} - K}{L-1}
        """
        return np.asarray(self.averaged(K) - self.across(K))
