"""A machine poses its problem as a value: its sample, and the problems with the way back.

Every fit takes the same four steps, and hands the result of each to the next as a value:

    declare -> minimize -> read -> assemble

:func:`declare` takes the first one for whoever asks: a fit, a search for hyperparameters, a report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from mercer.gram.base import Gram
from mercer.losses.base import Array
from mercer.solvers import Solution
from mercer.solvers.small import Found, Parts

__all__ = [
    "Batch",
    "Declared",
    "Laid",
    "Posed",
    "Read",
    "Rows",
    "Sample",
    "Solved",
    "Together",
    "declare",
    "plain",
]


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a sample as a machine admitted them: checked, encoded, and in its order."""

    X: Any
    """Points; None where rows are only read in blocks."""
    y: Any = None
    """Encoded targets: numbers, or positions of classes."""
    weights: Any = None
    """Weights of the losses without C, (n,); None for ones."""
    order: NDArray[np.intp] | None = None
    """Which rows of the data these are, if they were put in another order."""
    known: Any = None
    """What a machine knows of its targets beside a number each, such as intervals."""


class Laid(NamedTuple):
    """The kernel matrix of a sample as its problem has it."""

    K: Gram
    whitening: Any = None
    """W with covariance (W'W)^-1 of the errors; None for independent errors."""
    basis: Array | None = None
    """The map of the coefficients of `K` to those of the kernel, if they differ."""


@dataclass(frozen=True, eq=False)
class Sample(Rows):
    """Rows together with their kernel matrix and unpenalized columns."""

    K: Any = field(kw_only=True)
    """The Gram of the problem; a dictionary for machines under the 1-norm."""
    B: Array = field(kw_only=True)
    """Unpenalized columns, (n, q), before errors are whitened."""
    whitening: Any = field(default=None, kw_only=True)
    basis: Array | None = field(default=None, kw_only=True)

    @classmethod
    def of(cls, rows: Rows, laid: Laid, B: Array) -> Sample:
        """Return rows with their matrix and columns."""
        given = rows.X, rows.y, rows.weights, rows.order, rows.known
        return cls(*given, K=laid.K, B=B, whitening=laid.whitening, basis=laid.basis)

    def white(self, values: Array) -> Array:
        """Return values of the sample, whitened if its errors are correlated."""
        return values if self.whitening is None else np.asarray(self.whitening @ values)

    def unwhitened(self, a: Array) -> Array:
        """Return coefficients of the sample from coefficients of whitened errors."""
        return a if self.whitening is None else np.asarray(self.whitening.T @ a)


class Read(NamedTuple):
    """Coefficients of the machine, read off a solution."""

    a: Array
    """Coefficients of the expansion."""
    b: Array
    """Coefficients of the unpenalized functions."""
    facts: dict[str, Any] = {}  # noqa: RUF012
    """Fitted attributes that come with them, such as the width of a tube."""


def plain(solution: Solution) -> Read:
    """Read a solution whose variables are the machine's own."""
    return Read(solution.a, solution.b)


class Posed(NamedTuple):
    """A problem, its name among the problems of the machine, and the way back from its solution."""

    title: str
    risk: Any
    """A :class:`~mercer.problems.RegularizedRisk`, or a program with a solver of its own."""
    read: Callable[[Solution], Read] = plain


class Solved(NamedTuple):
    """A solution with the coefficients that were read off it."""

    solution: Solution
    a: Array
    b: Array
    facts: dict[str, Any] = {}  # noqa: RUF012


class Together(Sequence[Posed]):
    """Problems that are parts of one kernel matrix; each is posed when it is asked for.

    Parameters
    ----------
    parts : Parts
        All of them, laid end to end.
    pose : callable
        Maps the number of a problem to the problem, its name and the way back.
    columns : ndarray of shape (n,)
        Where the machine keeps the coefficients of the samples of `parts`.
    read : callable
        Maps their solutions to coefficients of the machine, (n,) and (k, q).
    """

    def __init__(
        self,
        parts: Parts,
        pose: Callable[[int], Posed],
        columns: NDArray[np.intp],
        read: Callable[[Found], tuple[Array, Array]],
    ) -> None:
        self.parts, self.pose, self.columns, self.read = parts, pose, columns, read

    def __len__(self) -> int:
        return len(self.parts.ends) - 1

    @overload
    def __getitem__(self, k: int) -> Posed: ...
    @overload
    def __getitem__(self, k: slice) -> list[Posed]: ...
    def __getitem__(self, k: int | slice) -> Posed | list[Posed]:
        if isinstance(k, slice):
            return [self.pose(i) for i in range(*k.indices(len(self)))]
        return self.pose(range(len(self))[k])


class Batch(Sequence[Solved]):
    """Solutions of problems that were solved together, and the coefficients read off them."""

    def __init__(self, posed: Together, found: Found) -> None:
        self.posed, self.found = posed, found
        self.a, self.b = posed.read(found)

    def __len__(self) -> int:
        return len(self.found)

    @overload
    def __getitem__(self, k: int) -> Solved: ...
    @overload
    def __getitem__(self, k: slice) -> list[Solved]: ...
    def __getitem__(self, k: int | slice) -> Solved | list[Solved]:
        if isinstance(k, slice):
            return [self[i] for i in range(*k.indices(len(self)))]
        k, ends = range(len(self))[k], self.posed.parts.ends
        return Solved(self.found[k], self.a[ends[k] : ends[k + 1]], self.b[k])


@dataclass(frozen=True, eq=False)
class Declared:
    """A machine on a sample with kernel and automatic parameters settled, and its problems."""

    machine: Any
    sample: Sample
    posed: Sequence[Posed]

    @property
    def risks(self) -> list[Any]:
        """The problems alone."""
        return [posed.risk for posed in self.posed]

    def reweighted(self, weights: Array) -> Declared:
        """Return the problems with other weights of the samples."""
        sample = replace(self.sample, weights=weights)
        return replace(self, sample=sample, posed=self.machine._pose(sample))


def declare(machine: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Declared:
    """Take the steps of a fit up to its problems.

    Parameters
    ----------
    machine : KernelMachine
        Fitted attributes are set on the way (classes, kernel, automatic parameters): give a clone
        to keep a machine as it is.
    X, y, sample_weight :
        As in ``fit``.
    """
    rows = machine._admit(X, y, sample_weight)
    sample = machine._lay_out(rows)
    machine._choose_parameters(sample)
    return Declared(machine, sample, machine._pose(sample))
