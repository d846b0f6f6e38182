"""Kernels and transforms of features among which a table finds its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.kernels.base import Kernel
from mercer.kernels.exponential import Laplacian
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.matern import Matern
from mercer.preprocessing import RankNormalizer, Scaler

__all__ = ["CANDIDATES", "MARKS", "Candidate", "Features", "binary"]


# Pairs of rows that tell how far apart the values of a column are.
PAIRS = 1000
# Distances are not smaller: a column that differs in one row of a thousand is no infinite evidence.
LEAST = 1e-3
# Columns of two values that have scales of one size at the start, where there are more: a mark that
# few rows have says no more than others, as it would if each were divided by its own spread.
MARKS = 30


@dataclass(frozen=True)
class Candidate:
    """A kernel and the form of the features that it is computed from."""

    name: str
    """As users read it."""

    family: Callable[[Any], Kernel]
    """The kernel with length scales."""

    ranks: bool
    """Whether numbers are replaced by normal scores of their ranks."""

    absolute: bool
    """Whether distances are sums of absolute differences, or roots of sums of squares."""


_matern = partial(Matern, nu=1.5)

CANDIDATES = (
    Candidate("laplacian-ranks", Laplacian, ranks=True, absolute=True),
    Candidate("matern", _matern, ranks=False, absolute=False),
    Candidate("laplacian", Laplacian, ranks=False, absolute=True),
    Candidate("gaussian", Gaussian, ranks=False, absolute=False),
    Candidate("matern-ranks", _matern, ranks=True, absolute=False),
)
"""The best alone comes first, for those with little time."""


@dataclass(frozen=True, eq=False)
class Features:
    """Columns of numbers in a form, beside columns of category codes as they are."""

    scaler: Any
    """Scaler or RankNormalizer of the numbers."""

    numbers: NDArray[np.intp]
    categories: NDArray[np.intp]

    @classmethod
    def of(
        cls, X: Array, numbers: NDArray[np.intp], categories: NDArray[np.intp], ranks: bool
    ) -> Features:
        """Learn the form from a matrix of numbers and category codes."""
        scaler: Any = RankNormalizer() if ranks else Scaler()
        if len(numbers):
            scaler.fit(X[:, numbers])
        return cls(scaler, numbers, categories)

    def __call__(self, X: Array) -> Array:
        """Return numbers in their form, then codes."""
        parts = [X[:, self.categories]]
        if len(self.numbers):
            parts.insert(0, np.asarray(self.scaler.transform(X[:, self.numbers]), dtype=np.float64))
        return np.hstack(parts)

    @property
    def columns(self) -> NDArray[np.intp]:
        """For every feature the column that it comes from."""
        return np.concatenate([self.numbers, self.categories])

    def kernel(self, candidate: Candidate, Z: Array, rng: np.random.Generator) -> Kernel:
        """Return the kernel of a candidate with all features as important as each other.

        Parameters
        ----------
        candidate : Candidate
        Z : (n, p) array
            Features.
        rng : Generator
            Draws the pairs of rows whose distances make the length scales.
        """
        p, q = len(self.numbers), len(self.categories)
        first, second = rng.integers(0, len(Z), size=(2, PAIRS))
        apart = np.abs(Z[first] - Z[second])
        apart[:, p:] = apart[:, p:] != 0.0
        power = 1.0 if candidate.absolute else 2.0
        mean = np.maximum(np.mean(apart**power, axis=0), LEAST)
        marks = binary(Z[:, :p])
        if len(marks) > MARKS:
            # The distance of the two values, and how often two rows differ in the mean column.
            between = np.ptp(Z[:, marks], axis=0) ** power
            mean[marks] = between * np.mean(apart[:, marks] != 0.0)
        scales = ((p + q) * mean) ** (1.0 / power)
        if candidate.absolute or p == 0:
            return Laplacian(scales, categories=tuple(range(p, p + q)))
        if q == 0:
            return candidate.family(scales)
        names = Laplacian(
            (p + q) * np.maximum(apart[:, p:].mean(axis=0), LEAST), categories=tuple(range(q))
        )
        return candidate.family(scales[:p]).on(list(range(p))) * names.on(list(range(p, p + q)))


def binary(X: Array) -> NDArray[np.intp]:
    """Return the columns of two values.

    Examples
    --------
    >>> binary(np.array([[0.0, 1.0], [1.0, 2.0], [0.0, 3.0]]))
    array([0])
    """
    low, high = X.min(axis=0), X.max(axis=0)
    return np.flatnonzero(np.all((low == X) | (high == X), axis=0) & (low < high))
