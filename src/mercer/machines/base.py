"""The path from data to solver and back, shared by every machine.

A machine declares a loss (or a problem), a kernel, an unpenalized part and its weights. Here the
kernel becomes a Gram operator, the declaration a :class:`~mercer.problems.RegularizedRisk`, and the
solution a function of new points. Nothing here depends on which loss it is.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._params import check_sample_weight
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import CallbackSupportMixin, Interval, StrOptions, fit_context
from mercer._typing import (
    AnyArray,
    Array,
    Constraints,
    Function,
    PointsLike,
    TargetsLike,
    WeightsLike,
)
from mercer.data.base import Source
from mercer.gram.make import KINDS
from mercer.kernels.base import Kernel
from mercer.kernels.named import FREE, NAMES
from mercer.kernels.points import take
from mercer.local import Local
from mercer.losses.base import Loss
from mercer.machines import risk_terms
from mercer.machines.automatic import choose_kernel, guess, stretched
from mercer.machines.callbacks import SILENT, TaskContext
from mercer.machines.evaluating import dense, expand, kernel_matrix
from mercer.machines.expansion import Expansion, bind_names, store_nonzero
from mercer.machines.fitted import FittedExpansion
from mercer.machines.kernel_kinds import is_function, is_precomputed
from mercer.machines.low_rank import (
    LowRankProblem,
    irreducible,
    solve_reduced,
    validate_blocks,
)
from mercer.machines.plain_arrays import is_plain_targets
from mercer.machines.solving import solve_subproblems
from mercer.machines.subproblems import (
    Posing,
    Prepared,
    Rows,
    Sample,
    SampleGram,
    SolvedBatch,
    SolvedSubproblem,
    Subproblem,
    SubproblemBatch,
    check_loss,
    left_to_sample,
)
from mercer.machines.unpenalized import intercept_of, unpenalized_columns
from mercer.machines.ways import choose_fit
from mercer.problems.risk import RegularizedRisk
from mercer.reduced.base import Approximation
from mercer.reduced.passes import Census, Passes
from mercer.reduced.random_features import NAMES as APPROXIMATIONS
from mercer.reduced.random_features import as_approximation
from mercer.reduced.solve import Reduced, Task
from mercer.regularizers.null_space import Constant, NullSpace
from mercer.smoothing.widths import Guess, squared_error
from mercer.solvers import (
    SOLVERS,
    Solution,
    Solver,
)
from mercer.solvers.small import SolutionBatch

__all__ = ["HARD", "KernelMachine", "finite_weight", "unfitted"]

# C = inf asks for a hard margin or tube: a finite weight beyond which double precision sees no
# difference for data of ordinary scale, and which keeps the certificate finite where none exists.
# A larger C is taken as it is.
HARD = 1e10


def finite_weight(C: Any) -> float:
    """Return C, or the weight that stands for infinity."""
    return float(C) if np.isfinite(C) else HARD


def unfitted(estimator: object, C: float | None = None) -> Any:
    """Return a clone of a machine of this library, with another weight of the loss if given."""
    if not isinstance(estimator, KernelMachine):
        raise TypeError(
            f"{type(estimator).__name__} is no kernel machine of this library, so its problem is "
            "not known; give SVC, SVR, KernelClassifier, KernelRegressor or a relative."
        )
    machine = clone(estimator)
    if C is not None:
        if "C" not in machine.get_params():
            raise ValueError(f"{type(machine).__name__} has no parameter C to follow.")
        machine.set_params(C=C)
    return machine


def _like(old: Any, values: Any) -> Any:
    """Return numbers in the type that a machine keeps them in."""
    kind: Any = type(old)
    return kind(values) if sp.issparse(old) else values


@settings
class KernelMachine(CallbackSupportMixin, Expansion):  # type: ignore[misc]
    """Base of all kernel machines: a kernel, a Gram, a solver, and the expansion they lead to."""

    _squared_weight: ClassVar[float | None] = None
    """The weight of the squared loss that others follow, if it is known and not to be guessed."""

    _: KW_ONLY
    degree: int = 3
    gamma: float | str = "scale"
    coef0: float = 0.0
    null_space: NullSpace | None = None
    tol: float = 1e-3
    cache_size: float = 200
    max_iter: int = -1
    max_time: float | None = None
    gram: str | Function = "auto"
    solver: Solver | str = "auto"
    warm_start: bool = False
    standardize: bool = False
    approximation: Approximation | Local | str | int | None = None

    _parameter_constraints: ClassVar[Constraints] = {
        "kernel": [StrOptions({*FREE, *NAMES}), callable],
        "null_space": [NullSpace, None],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [
            StrOptions({"scale", "auto", "median", "tuned"}),
            Interval(Real, 0.0, None, closed="left"),
        ],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "C": [Interval(Real, 0.0, None, closed="right"), StrOptions({"auto"})],
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
        "shrinking": ["boolean"],
        "cv": ["cv_object"],
        "random_state": ["random_state"],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "max_time": [Interval(Real, 0.0, None, closed="neither"), None],
        "gram": [StrOptions({*KINDS}), callable],
        "solver": [StrOptions({*SOLVERS}), Solver],
        "warm_start": ["boolean"],
        "standardize": ["boolean"],
        "approximation": [
            Approximation,
            Local,
            StrOptions({"auto", "local", *APPROXIMATIONS}),
            Interval(Integral, 1, None, closed="left"),
            None,
        ],
    }

    # Values of the functional at the fitted machine, read off its solution -----------------------

    norm_ = property(risk_terms.norm)
    penalty_ = property(risk_terms.penalty)
    empirical_risk_ = property(risk_terms.empirical_risk)
    regularized_risk_ = property(risk_terms.regularized_risk)
    intercept_interval_ = property(risk_terms.intercept_interval)

    _labelled: ClassVar[bool] = False
    """Whether targets are classes."""

    _tunable: ClassVar[tuple[str, ...]] = ("C",)
    """Parameters beside those of the kernel that may be left to the sample, by a word."""

    _max_tasks: ClassVar[int | None] = None
    """How many problems are solved at most, where it is not the number of those that are posed."""

    _direct: ClassVar[bool] = True
    """Whether the problem that is solved is the machine's own, and not one that it is read from."""

    def _multiples(self) -> Any:
        """Return the factors between the functions of the machine and of its problems."""
        return 1.0

    # What a kind of machine declares --------------------------------------------------------------

    def _encode(self, y: TargetsLike) -> tuple[Array | NDArray[np.intp], float | Array]:
        """Return the targets, or the class of each sample, and the factors of the weights."""
        known = is_plain_targets(y, np.shape(y)[0] if np.ndim(y) else 0)
        targets = y if known else column_or_1d(y, warn=True)
        return targets.astype(np.float64, copy=False), 1.0

    @abstractmethod
    def _loss(self, rows: Rows | None = None) -> Loss:
        """Return the loss of the problems; of a sample where its targets are part of the loss."""

    def _risk(self, loss: Loss, K: Any, y: Array, c: Array, B: Array) -> Any:
        """Return the problem of a loss, for targets on a sample."""
        return RegularizedRisk(loss, K, y, c, B)

    def _subproblems(self, sample: Sample) -> Sequence[Subproblem]:
        """Return the problems, each with its name and the way back; by default one of the loss."""
        loss = check_loss(self._loss(sample), len(sample.y))
        c = self._weight() * sample.weights
        return [Subproblem("", self._risk(loss, sample.K, sample.y, c, sample.B))]

    def _assemble(self, sample: Sample, solved: Sequence[SolvedSubproblem]) -> None:
        """Make the machine of the solved problems; by default of the only one."""
        (one,) = solved
        store_nonzero(self, sample.X, one.a[:, None], one.b)
        self.n_iter_: Any = int(one.solution.n_iter)
        self.__dict__.update(one.facts)

    def _order(self, y: TargetsLike) -> NDArray[np.intp] | None:
        """Return an order of the samples in which the problems meet them in one piece, if any."""
        return None

    def _null_space(self) -> NullSpace:
        """Return the unpenalized functions; an intercept unless declared otherwise."""
        return Constant() if self.null_space is None else self.null_space

    def _weight(self) -> float:
        """Return the weight of the summed loss, ``C``; a high wall stands for infinity."""
        return finite_weight(self.C_ if isinstance(self.C, str) else self.C)

    # Low-rank approximation -----------------------------------------------------------------------

    _in_blocks: ClassVar[bool] = True
    """Whether an approximation is fitted by passes over blocks of rows."""

    def _how(self) -> Approximation:
        """Return the approximation asked for."""
        return as_approximation(self.approximation)

    def _low_rank_problem(self, rows: Rows, labels: AnyArray | None) -> LowRankProblem:
        """Return the problems over rows in blocks; refuse those that are more than a sum of losses.

        ``labels`` are those of the classes, if there are any.
        """
        raise irreducible(self)

    def _validate_blocks(
        self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike
    ) -> tuple[Source, Rows]:
        """Return the rows as a source, and what of them is at hand."""
        return validate_blocks(self, X, y, sample_weight)

    def _solve_reduced(
        self, task: Task, census: Census, passes: Passes, how: Approximation
    ) -> Reduced:
        """Solve the problems that were declared."""
        return solve_reduced(self, task, census, passes, how)

    def _assemble_reduced(
        self, found: Reduced, sample: Sample, solved: Sequence[SolvedSubproblem]
    ) -> None:
        """Make the machine of the coefficients of its functions."""
        self._assemble(sample, solved)

    def _count_classes(self, classes: Any, counts: Any) -> None:
        """Settle what a machine needs to know of the classes of a source."""

    # What it predicts -----------------------------------------------------------------------------

    def _evaluate(self, X: PointsLike) -> Array:
        """Evaluate the fitted function at points that were checked."""
        free: Array = self.null_space_(X) @ self.null_space_coef_.T
        return self._flat(expand(self, X, self._dual_coef_.T)) + free

    def _flat(self, F: Array) -> Array:
        """Return values of all outputs, (n, d), as a machine of one output predicts them."""
        return F[:, 0]

    # The fitted functions as a value, and back ---------------------------------------------------

    @property
    def leaves_(self) -> Sequence[Any]:
        """The machines of a local machine, with their rows and classes."""
        if self._local is None:
            raise AttributeError("leaves_ are there after a fit with approximation=Local(...).")
        return self._local.sequence  # type: ignore[no-any-return]

    @property
    def tree_(self) -> Any:
        """The tree of a local machine."""
        if self._local is None:
            raise AttributeError("tree_ is there after a fit with approximation=Local(...).")
        return self._local.tree

    def _expansion(self) -> FittedExpansion:
        """Return the fitted functions; refuse what is no expansion, or many."""
        check_is_fitted(self)
        if self._local is not None:
            raise ValueError(
                "a local machine is an expansion in each leaf: take those of leaves_ one by one."
            )
        if self._functions is not None:
            raise ValueError(
                "a machine of random features is no expansion of its kernel; fit it with fewer "
                "features, or with approximation=Nystrom(...), whose centres can be compressed."
            )
        coef = np.asarray(dense(self.dual_coef_), dtype=np.float64).T
        kernel: Kernel | None = None
        matrix, index = None, np.asarray(self.support_, dtype=np.intp)
        points: Any = index
        if is_function(self.kernel):
            matrix = kernel_matrix(self._kernel_fit, self._X_fit, self._X_fit)
        elif not is_precomputed(self.kernel):
            kernel, points = self.kernel_, self.support_vectors_
            if hasattr(points, "tocsr"):
                points = sp.csr_array(points)
        return FittedExpansion(
            kernel=kernel,
            points=points,
            index=index,
            coef=coef,
            null_space=self.null_space_,
            null_space_coef=np.atleast_2d(np.asarray(self.null_space_coef_, dtype=np.float64)),
            groups=np.zeros(len(coef), dtype=np.intp),
            allowed=np.ones((1, coef.shape[1]), dtype=bool),
            by_group=False,
            tol=self._tol_fit,
            check=self._check_new,
            matrix=matrix,
        )

    def _with_expansion(self, expansion: FittedExpansion) -> Self:
        """Return a copy that is made of other points and coefficients.

        What the fit says of its whole sample does not go with it, unless predictions need it.
        """
        new = copy.copy(self)
        new.__dict__.pop("_last", None)
        new.support_ = expansion.index.astype(np.int32)
        coef = np.ascontiguousarray(expansion.coef.T)
        new.dual_coef_ = _like(self.dual_coef_, coef)
        new._dual_coef_ = new.dual_coef_
        new._n_support = np.bincount(expansion.groups, minlength=len(expansion.allowed)).astype(
            np.int32
        )
        if is_function(self.kernel):
            # Of the sample, only what has a coefficient is compared with new points.
            X, rows = self._X_fit, expansion.index
            new._X_fit = take(X, rows) if hasattr(X, "shape") else [X[i] for i in rows]
            new.support_ = np.arange(len(rows), dtype=np.int32)
            new.shape_fit_ = (len(rows), *self.shape_fit_[1:])
        elif not is_precomputed(self.kernel):
            new.support_vectors_ = _like(self.support_vectors_, expansion.points)
        b = np.reshape(expansion.null_space_coef, np.shape(self.null_space_coef_))
        new.null_space_coef_, new.intercept_ = (
            b,
            np.atleast_1d(intercept_of(self.null_space_names_, b)),
        )
        if hasattr(self, "_intercept_"):
            new._intercept_ = new.intercept_
        return new

    # What the sample decides ----------------------------------------------------------------------

    def _targets(self, y: TargetsLike) -> Array:
        """Return the targets of a least-squares machine, (n, d)."""
        return np.asarray(y, dtype=np.float64).reshape(len(y), -1)

    def _cost(self, y: Array, f: Array) -> Array:
        """Return what a prediction of these targets costs."""
        return squared_error(y, f)

    def _calibrated_loss(self, found: Guess, rows: Rows | None) -> Loss:
        """Return the loss whose weight is calibrated against the squared loss of a guess."""
        return self._loss(rows)

    def _known_weight(self) -> float | None:
        """Return the weight of the squared loss that others follow, if it need not be guessed."""
        return self._squared_weight

    def _set_parameters(self, found: Guess | None, rows: Rows | None = None) -> None:
        """Set the parameters that are used, from a least-squares machine if it is asked for."""
        C = getattr(self, "C", None)
        if found is not None and isinstance(C, str):
            self.C_ = min(found.weight_of(self._calibrated_loss(found, rows)), HARD)
        elif isinstance(C, Real):
            self.C_ = finite_weight(C)

    def _resolved(self, rows: Rows, gamma: Any = None) -> Kernel:
        self.__dict__.pop("feature_scales_", None)
        kernel, scales = choose_kernel(self, rows, self.gamma if gamma is None else gamma)
        if scales is not None:
            self.feature_scales_ = scales
        return stretched(bind_names(self, kernel), scales)

    def _fit_extras(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike) -> None:
        """Fit what a machine has beside its expansion; by default nothing."""

    # Fitting -------------------------------------------------------------------------------------

    def _init_callback_context(self, **described: Any) -> Any:
        """Return the context that callbacks are called in, which takes time if there are any."""
        if "_skl_callbacks" in vars(self) or "_parent_callback_ctx" in vars(self):
            return super()._init_callback_context(**described)
        return SILENT

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike = None, sample_weight: WeightsLike = None) -> Self:
        """Fit the machine to a sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or Source
            Inputs; the kernel matrix (n_samples, n_samples) for ``kernel="precomputed"``. Rows may
            also come in blocks, from files by :func:`mercer.data.open` or from Dask; the machine is
            then a low-rank approximation.
        y : array-like of shape (n_samples,), optional
            Targets, or class labels, unless a source brings them.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples' losses, not negative; a sample of weight zero is left out.

        Returns
        -------
        self
            The fitted machine. If the fit fails or is interrupted it stays what it was before.
        """
        self._local = None
        choose_fit(self, X).fit(self, X, y, sample_weight)
        return self

    def _validate(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike) -> Rows:
        """Return checked points, encoded targets and weights, in the order of the problems."""
        X, y = self._check_X(X, y)
        y, factors = self._encode(y)
        s = factors * check_sample_weight(sample_weight, len(y))
        order = self._order(y)
        if order is not None:
            X, y, s = X[order], y[order], s[order]
        return Rows(X, y, s, order)

    def _build_sample(self, rows: Rows) -> Sample:
        """Settle the kernel and what stays unpenalized; return both on the sample."""
        laid = self._build_gram(rows)
        return Sample.of(rows, laid, unpenalized_columns(self, rows.X, self._null_space()))

    def _build_gram(self, rows: Rows) -> SampleGram:
        """Settle the kernel, and return its matrix as the problem has it."""
        return SampleGram(self._make_gram(rows))

    def _choose_parameters(self, sample: Sample) -> None:
        """Settle the parameters that are left to the sample."""
        self._set_parameters(guess(self, sample) if left_to_sample(self) else None, sample)

    def _solve(
        self, prepared: Prepared[Posing], context: TaskContext
    ) -> Sequence[SolvedSubproblem]:
        """Solve the problems, and read their solutions."""
        subproblems = prepared.subproblems
        solutions = self._minimize(subproblems, context)
        if isinstance(solutions, SolutionBatch):
            assert isinstance(subproblems, SubproblemBatch)
            return SolvedBatch(subproblems, solutions)
        return [
            SolvedSubproblem(solution, *one.read(solution))
            for one, solution in zip(subproblems, solutions, strict=True)
        ]

    def _make_solver(self) -> Solver:
        """Return the solver asked for, with the machine's tolerance and budget if it is a name."""
        if isinstance(self.solver, Solver):
            return self.solver
        kind = SOLVERS[self.solver]
        wanted: dict[str, Any] = {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "max_time": self.max_time,
            "cache_bytes": self.cache_size * 2**20,
        }
        if not self._definite:
            wanted["max_stiff"] = 0  # only decomposition survives an indefinite matrix
        own = kind.__dataclass_fields__
        return kind(**{key: value for key, value in wanted.items() if key in own})

    def _minimize(
        self, subproblems: Sequence[Subproblem], context: TaskContext
    ) -> Sequence[Solution]:
        """Solve the problems of a machine, telling whoever listens."""
        return solve_subproblems(self, subproblems, context)
