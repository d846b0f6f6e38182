"""What functions over machines ask of a machine, as types: its settings, and the ways of a fit.

A machine hands itself to the modules below its base class, which cannot import it. Each protocol
has what one way through a fit needs; :class:`~mercer.machines.base.KernelMachine` follows them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, Self, TypeGuard

import numpy as np
from numpy.typing import NDArray
from sklearn import base

from mercer._typing import (
    AnyArray,
    Array,
    Classifier,
    PointsLike,
    SupportVectors,
    TargetsLike,
    WeightsLike,
)
from mercer.data.base import Source
from mercer.kernels.base import Kernel
from mercer.losses.base import Loss
from mercer.machines.callbacks import TaskContext
from mercer.machines.subproblems import (
    Posing,
    Prepared,
    Rows,
    Sample,
    SolvedSubproblem,
)
from mercer.reduced.base import Approximation
from mercer.reduced.passes import Census, Passes
from mercer.reduced.solve import Reduced, Task
from mercer.regularizers.null_space import NullSpace
from mercer.smoothing.widths import Guess
from mercer.solvers import Solution, Solver

__all__ = [
    "ExactMachine",
    "KernelFunction",
    "KernelSettings",
    "LeastSquaresMachine",
    "LocalMachine",
    "LowRankMachine",
    "Machine",
    "Solving",
    "WholeMachine",
    "is_classifier",
]


class KernelSettings(Protocol):
    """The parameters that a kernel is made of."""

    kernel: Any
    """A Kernel, its name, or a function."""
    gamma: float | str
    degree: int
    coef0: float


class Machine(Posing, KernelSettings, Protocol):
    """A machine at its fit, whichever way it is fitted, and what the fit leaves."""

    approximation: Any
    """An Approximation, a Local, the name of one, a number, or None."""
    solver: Solver | str
    gram: Any
    null_space: NullSpace | None
    standardize: bool
    verbose: bool | int
    max_time: float | None

    kernel_: Kernel
    null_space_: NullSpace
    null_space_names_: list[str]
    null_space_condition_: float
    solution_: Solution
    fit_status_: int
    support_: AnyArray
    shape_fit_: tuple[int, ...]
    n_features_in_: int
    _sparse: bool
    _X_fit: Any
    _kernel_fit: Any
    _functions: Any
    _labelled: bool
    _tunable: tuple[str, ...]
    _last: tuple[float, Sequence[Solution]]

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...

    def set_params(self, **params: Any) -> Self: ...

    def fit(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike) -> Self: ...

    def predict(self, X: PointsLike) -> Any: ...

    def __sklearn_tags__(self) -> Any: ...

    def _encode(self, y: TargetsLike) -> tuple[Any, Any]: ...

    def _fit_extras(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike) -> None: ...

    def _targets(self, y: TargetsLike) -> Array: ...

    def _cost(self, y: Array, f: Array) -> Array: ...

    def _known_weight(self) -> float | None: ...

    def _weight(self) -> float: ...

    def _loss(self, rows: Rows | None = None) -> Loss: ...

    def _resolved(self, rows: Rows, gamma: Any = None) -> Kernel: ...


class Solving(Protocol):
    """What the solution of problems one after the other asks of their machine."""

    verbose: bool | int
    warm_start: bool

    def _weight(self) -> float: ...

    def _make_solver(self) -> Solver: ...


class ExactMachine(Machine, Solving, Protocol):
    """A machine that is fitted to all rows at once."""

    cache_size: float
    _max_tasks: int | None

    def _solve(
        self, prepared: Prepared[Posing], context: TaskContext
    ) -> Sequence[SolvedSubproblem]: ...

    def _assemble(self, sample: Sample, solved: Sequence[SolvedSubproblem]) -> None: ...


class LowRankMachine(Machine, Protocol):
    """A machine that is approximated, by passes over the rows."""

    tol: float
    max_iter: int

    C_: float
    classes_: AnyArray
    feature_names_in_: NDArray[np.object_]
    _kept: AnyArray
    _several: bool

    def _how(self) -> Approximation: ...

    def _null_space(self) -> NullSpace: ...

    def _warn_if_indefinite(self, X: PointsLike) -> None: ...

    def _count_classes(self, classes: Any, counts: Any) -> None: ...

    def _set_parameters(self, found: Guess | None, rows: Rows | None = None) -> None: ...

    def _validate_blocks(
        self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike
    ) -> tuple[Source, Rows]: ...

    def _low_rank_problem(self, rows: Rows, labels: AnyArray | None) -> Any: ...

    def _solve_reduced(
        self, task: Task, census: Census, passes: Passes, how: Approximation
    ) -> Reduced: ...

    def _assemble_reduced(
        self, found: Reduced, sample: Sample, solved: Sequence[SolvedSubproblem]
    ) -> None: ...


class LocalMachine(LowRankMachine, Protocol):
    """A machine that is fitted in each leaf of a tree."""

    class_weight_: Any
    n_iter_: Any
    _local: Any


class WholeMachine(ExactMachine, LocalMachine, Protocol):
    """A machine that can be fitted in any way, before one is chosen."""

    approximation_: Any
    approximation_reason_: str
    _in_blocks: bool
    _parameter_constraints: Mapping[str, Any]


class KernelFunction(SupportVectors, Protocol):
    """A fitted expansion that knows its kernel."""

    @property
    def kernel_(self) -> Kernel: ...


# scikit-learn's own function, with what it says of an estimator.
is_classifier: Callable[[object], TypeGuard[Classifier]] = base.is_classifier


class LeastSquaresMachine(Protocol):
    """A fitted least-squares machine, with the factorization that its diagnostics come from."""

    _local: Any
    _report: Any
    _lazy: frozenset[str]
