"""The problem of a machine as a value: its sample, and subproblems with the way back.

Every fit takes the same four steps, and hands the result of each to the next as a value:

    prepare -> minimize -> read -> assemble

:func:`prepare` takes the first one for whoever asks: a fit, a search for hyperparameters, a report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from mercer._typing import Array, PointsLike, TargetsLike, WeightsLike
from mercer.gram.base import Gram
from mercer.losses.base import Loss
from mercer.problems.risk import RegularizedRisk
from mercer.solvers import Solution
from mercer.solvers.small import RiskBatch, SolutionBatch

__all__ = [
    "Coefficients",
    "Posing",
    "Prepared",
    "Rows",
    "Sample",
    "SampleGram",
    "SolvedBatch",
    "SolvedSubproblem",
    "Subproblem",
    "SubproblemBatch",
    "check_loss",
    "left_to_sample",
    "prepare",
    "read_coefficients",
    "weight_is_free",
]


class Tunable(Protocol):
    """What has parameters that a word leaves to the sample."""

    @property
    def _tunable(self) -> tuple[str, ...]: ...


def check_loss(loss: Loss, n: int) -> Loss:
    """Refuse parameters given per sample for another number of samples."""
    for name, value in loss.per_sample().items():
        if np.shape(value) != (n,):
            raise ValueError(
                f"{name} of {type(loss).__name__} has shape {np.shape(value)}; give one "
                f"number, or one per sample: ({n},)"
            )
    return loss


def left_to_sample(machine: Tunable) -> bool:
    """Return whether a parameter beside those of the kernel is left to the sample."""
    return any(isinstance(getattr(machine, name, None), str) for name in machine._tunable)


def weight_is_free(machine: object) -> bool:
    """Return whether the weight of the loss is left to the sample."""
    return isinstance(getattr(machine, "C", None), str)


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a sample as a machine admitted them: checked, encoded, and in its order."""

    X: PointsLike
    """Points; None where rows are only read in blocks."""
    y: TargetsLike = None
    """Encoded targets: numbers, or positions of classes."""
    weights: Any = None
    """Weights of the losses without C, (n,); None for ones."""
    order: NDArray[np.intp] | None = None
    """Which rows of the data these are, if they were put in another order."""
    known: Any = None
    """What a machine knows of its targets beside a number each, such as intervals."""


class SampleGram(NamedTuple):
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
    def of(cls, rows: Rows, laid: SampleGram, B: Array) -> Sample:
        """Return rows with their matrix and columns."""
        given = rows.X, rows.y, rows.weights, rows.order, rows.known
        return cls(*given, K=laid.K, B=B, whitening=laid.whitening, basis=laid.basis)

    def white(self, values: Array) -> Array:
        """Return values of the sample, whitened if its errors are correlated."""
        return values if self.whitening is None else np.asarray(self.whitening @ values)

    def unwhitened(self, a: Array) -> Array:
        """Return coefficients of the sample from coefficients of whitened errors."""
        return a if self.whitening is None else np.asarray(self.whitening.T @ a)


class Coefficients(NamedTuple):
    """Coefficients of the machine, read off a solution."""

    a: Array
    """Coefficients of the expansion."""
    b: Array
    """Coefficients of the unpenalized functions."""
    facts: dict[str, Any] = {}  # noqa: RUF012
    """Fitted attributes that come with them, such as the width of a tube."""


def read_coefficients(solution: Solution) -> Coefficients:
    """Read a solution whose variables are the machine's own."""
    return Coefficients(solution.a, solution.b)


class Subproblem(NamedTuple):
    """A problem, its name among the problems of the machine, and the way back from its solution."""

    title: str
    risk: Any
    """A :class:`~mercer.problems.RegularizedRisk`, or a program with a solver of its own."""
    read: Callable[[Solution], Coefficients] = read_coefficients


class SolvedSubproblem(NamedTuple):
    """A solution with the coefficients that were read off it."""

    solution: Solution
    a: Array
    b: Array
    facts: dict[str, Any] = {}  # noqa: RUF012


class SubproblemBatch(Sequence[Subproblem]):
    """Problems that are parts of one kernel matrix; each is built when it is asked for.

    Parameters
    ----------
    parts : RiskBatch
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
        parts: RiskBatch,
        pose: Callable[[int], Subproblem],
        columns: NDArray[np.intp],
        read: Callable[[SolutionBatch], tuple[Array, Array]],
    ) -> None:
        self.parts, self.pose, self.columns, self.read = parts, pose, columns, read

    @property
    def risks(self) -> Sequence[RegularizedRisk]:
        """The problems alone, each built when it is asked for."""
        return _Risks(self)

    def __len__(self) -> int:
        return len(self.parts.ends) - 1

    @overload
    def __getitem__(self, k: int) -> Subproblem: ...
    @overload
    def __getitem__(self, k: slice) -> list[Subproblem]: ...
    def __getitem__(self, k: int | slice) -> Subproblem | list[Subproblem]:
        if isinstance(k, slice):
            return [self.pose(i) for i in range(*k.indices(len(self)))]
        return self.pose(range(len(self))[k])


class _Risks(Sequence[RegularizedRisk]):
    def __init__(self, subproblems: SubproblemBatch) -> None:
        self.subproblems = subproblems

    def __len__(self) -> int:
        return len(self.subproblems)

    def __getitem__(self, k: Any) -> Any:
        return self.subproblems[k].risk


class SolvedBatch(Sequence[SolvedSubproblem]):
    """Solutions of problems that were solved together, and the coefficients read off them."""

    def __init__(self, subproblems: SubproblemBatch, found: SolutionBatch) -> None:
        self.subproblems, self.found = subproblems, found
        self.a, self.b = subproblems.read(found)

    def __len__(self) -> int:
        return len(self.found)

    @overload
    def __getitem__(self, k: int) -> SolvedSubproblem: ...
    @overload
    def __getitem__(self, k: slice) -> list[SolvedSubproblem]: ...
    def __getitem__(self, k: int | slice) -> SolvedSubproblem | list[SolvedSubproblem]:
        if isinstance(k, slice):
            return [self[i] for i in range(*k.indices(len(self)))]
        k, ends = range(len(self))[k], self.subproblems.parts.ends
        return SolvedSubproblem(self.found[k], self.a[ends[k] : ends[k + 1]], self.b[k])


class Posing(Protocol):
    """What poses problems: the first of the four steps, in its parts."""

    def _validate(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike) -> Rows: ...

    def _build_sample(self, rows: Rows) -> Sample: ...

    def _choose_parameters(self, sample: Sample) -> None: ...

    def _subproblems(self, sample: Sample) -> Sequence[Subproblem]: ...


Poser = TypeVar("Poser", bound=Posing)
Poser_co = TypeVar("Poser_co", bound=Posing, covariant=True)


@dataclass(frozen=True, eq=False)
class Prepared(Generic[Poser_co]):
    """A machine on a sample with kernel and automatic parameters settled, and its problems."""

    machine: Poser_co
    sample: Sample
    subproblems: Sequence[Subproblem]

    @property
    def risks(self) -> list[Any]:
        """The problems alone."""
        return [one.risk for one in self.subproblems]

    def reweighted(self, weights: Array) -> Prepared[Poser_co]:
        """Return the problems with other weights of the samples."""
        sample = replace(self.sample, weights=weights)
        return replace(self, sample=sample, subproblems=self.machine._subproblems(sample))


def prepare(
    machine: Poser, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None
) -> Prepared[Poser]:
    """Take the steps of a fit up to its problems.

    Parameters
    ----------
    machine : KernelMachine
        Fitted attributes are set on the way (classes, kernel, automatic parameters): give a clone
        to keep a machine as it is.
    X, y, sample_weight :
        As in ``fit``.
    """
    rows = machine._validate(X, y, sample_weight)
    sample = machine._build_sample(rows)
    machine._choose_parameters(sample)
    return Prepared(machine, sample, machine._subproblems(sample))
