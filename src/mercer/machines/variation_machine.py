"""Base of machines with a maximal-variation penalty: programs along mu, folds, and the choice."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._fitting import AllOrNothing, ending, say
from mercer._params import check_sample_weight
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, StrOptions, fit_context
from mercer._typing import (
    Array,
    Constraints,
    PointsLike,
    Seed,
    SplitterLike,
    TargetsLike,
    WeightsLike,
)
from mercer.losses.base import Loss
from mercer.machines.additive import CONSTRAINTS
from mercer.machines.components import functions_of, named_kernel, read_components
from mercer.machines.folds import as_splitter
from mercer.machines.solving import EarlyStop
from mercer.programs.variation import Variation, VariationProblem
from mercer.reduced.nystrom import Nystrom
from mercer.regularizers.null_space import Constant, NullSpace, complete
from mercer.smoothing.pairs import some_rows
from mercer.smoothing.widths import guess_C
from mercer.solvers.solution import join

__all__ = ["MAX_EXACT_ROWS", "StructureWarning", "VariationMachine", "VariationPath"]

# Rows that the weight of the loss is chosen on.
WEIGHT_ROWS = 500

# Targets without noise ask for no end of weight: beyond this, over their variance, programs are too
# stiff to be solved to their tolerance.
MAX_SCALED_WEIGHT = 1e5

# Of fewer samples than this every kernel is rough.
MIN_SMOOTH_ROWS = 20

# Rows up to which a refit is exact; beyond it is a low-rank approximation.
MAX_EXACT_ROWS = 5000

# Functions of a component whose share of its variance is less are left out.
MIN_VARIANCE_SHARE = 1e-7

# Programs of folds are solved to so many times the tolerance.
FOLD_TOLERANCE_FACTOR = 10.0

# Functions whose variance is below this share of the largest do not keep a component from falling
# below the threshold.
MIN_VISIBLE_SHARE = 1e-2


class StructureWarning(UserWarning):
    """Components can hardly be told apart from nothing: their kernels are too rough."""


@dataclass(frozen=True, eq=False)
class VariationPath:
    r"""How components come and go with the weight of their variation.

    Parameters
    ----------
    parameters : ndarray of shape (k,)
        Values of :math:`\mu`, descending.
    coefs : ndarray of shape (k, P)
        Variation :math:`t_p` of each component.
    names : list of str
        Of the components.
    selected : ndarray of shape (k, P)
        Which components are kept.
    errors, standard_errors : ndarray of shape (k,)
        Mean losses of samples left out, after a refit if there is one, and their standard errors.
    chosen : float
        The value that was taken.
    """

    parameters: Array
    coefs: Array
    names: list[str]
    selected: NDArray[np.bool_]
    errors: Array
    standard_errors: Array
    chosen: float


@settings
class VariationMachine(AllOrNothing, BaseEstimator, ABC):  # type: ignore[misc]
    """Base of both machines: components, a path, a choice and a refit."""

    _: KW_ONLY
    mu: float | str = "1se"
    C: float | str = "auto"
    penalty: str = "variation"
    form: str = "full"
    refit: bool | str = True
    threshold: float = 0.01
    n_mus: int = 15
    smallest: float = 1e-2
    cv: SplitterLike = 5
    categorical: Any = None
    rank: int = 40
    null_space: NullSpace | None = None
    tol: float = 1e-5
    random_state: Seed = 0
    degree: int = 3
    gamma: float | str = "scale"
    coef0: float = 0.0

    _parameter_constraints: ClassVar[Constraints] = {
        "components": CONSTRAINTS["components"],
        "kernel": CONSTRAINTS["kernel"],
        "mu": [StrOptions({"1se", "min"}), Interval(Real, 0.0, None, closed="left")],
        "C": [StrOptions({"auto"}), Interval(Real, 0.0, None, closed="neither")],
        "penalty": [StrOptions({"variation", "norm"})],
        "form": [StrOptions({"full", "substrate"})],
        "refit": ["boolean", StrOptions({"tuned"})],
        "threshold": [Interval(Real, 0.0, 1.0, closed="left")],
        "n_mus": [Interval(Integral, 2, None, closed="left")],
        "smallest": [Interval(Real, 0.0, 1.0, closed="neither")],
        "cv": ["cv_object"],
        "categorical": CONSTRAINTS["categorical"],
        "rank": [Interval(Integral, 1, None, closed="left")],
        "null_space": [NullSpace, None],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "random_state": ["random_state"],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto", "median"}), Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
    }

    # What a kind of machine declares --------------------------------------------------------------

    @abstractmethod
    def _loss(self) -> Loss:
        """Return the loss that defines the machine."""

    _additive: ClassVar[Any]
    """The class of additive machines that are refitted."""

    _classifies: ClassVar[bool] = False

    @abstractmethod
    def _encode(self, y: TargetsLike, s: Array) -> tuple[Any, Array, Array]:
        """Return targets for a refit, targets of the problems (n, d), and weights."""

    # Fitting --------------------------------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: PointsLike,
        y: TargetsLike,
        sample_weight: WeightsLike = None,
        *,
        groups: Any = None,
    ) -> Self:
        """Find the components and fit them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Targets, or labels of the classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the losses.
        groups : array-like of shape (n_samples,), optional
            What a splitter of groups asks for.
        """
        numeric = not self._classifies
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=numeric, ensure_min_samples=2)
        s = check_sample_weight(sample_weight, X.shape[0])
        y, Y, s = self._encode(y, s)
        self._fit(X, Y, s, y, None if groups is None else np.asarray(groups))
        return self

    def _fit(self, X: Array, Y: Array, s: Array, y: TargetsLike, groups: Any) -> None:
        """Find the structure of targets (n, d), and fit what is left of it to y."""
        names = getattr(self, "feature_names_in_", None)
        features = None if names is None else list(names)
        self.terms_ = read_components(
            self.components, self.kernel, self.categorical, X, features, named_kernel(self)
        )
        self.component_names_ = [term.name for term in self.terms_]
        live = np.flatnonzero(s > 0)
        Xl, Yl, sl = X[live], Y[live], s[live]
        space = Constant() if self.null_space is None else self.null_space
        space = space if features is None else space.bind(features)
        for term in self.terms_:
            space = complete(space, term.kernel.unpenalized(X.shape[1]), X.shape[1])
        self.null_space_ = space
        B = np.asarray(space(Xl), dtype=np.float64)
        self._functions = [
            functions_of(term, Xl, int(self.rank), tol=MIN_VARIANCE_SHARE) for term in self.terms_
        ]
        self._raw = np.hstack([functions.part.design for functions in self._functions])
        if self.form == "substrate":
            # The variation is not to be that of a constant.
            self._functions = [functions.centred() for functions in self._functions]
        self._warn_if_rough(len(live))
        self.C_ = self._chosen_C(Xl, Yl, B, sl)
        problems = [self._problem(t, self.C_ * sl, B) for t in Yl.T]
        self.path_: VariationPath | None = None
        if isinstance(self.mu, str):
            self._choose_mu(problems, self._folds(X, Y, live, groups), Yl, B, sl)
        else:
            self.mu_ = float(self.mu)
        found = [problem.solve(self.mu_, tol=self.tol) for problem in problems]
        self._whole = self._size(problems)
        self.solution_ = join([one.solution for one in found])
        if not self.solution_.converged:
            warnings.warn(
                f"the program ended with {self.solution_.status.value}: a relative duality gap of "
                f"{self.solution_.relative_gap:.1e}; scale the targets, or raise tol.",
                EarlyStop,
                stacklevel=4,
            )
        self.variation_ = self._variation(found)
        self.selected_ = self._kept(self.variation_)
        self.coefs_ = [
            np.column_stack([one.w[p] for one in found]) for p in range(len(self.terms_))
        ]
        self.null_space_coef_ = np.column_stack([one.b for one in found])
        self._free_coef = np.column_stack([problem.constant().b for problem in problems])
        self.machine_ = None
        kept = [term for term, keep in zip(self.terms_, self.selected_, strict=True) if keep]
        if self.refit and kept:
            machine = self._additive(
                components=kept,
                loss=self._loss(),
                null_space=self.null_space,
                C="auto" if self.refit == "tuned" else self.C,
                tune="weights" if self.refit == "tuned" else None,
            )
            if len(X) > MAX_EXACT_ROWS:
                machine.set_params(approximation=Nystrom())
            self.machine_ = machine.fit(X, y, sample_weight=s)

    def _ending(self) -> str:
        kept = int(np.sum(self.selected_))
        return f"{kept} of {len(self.terms_)} components at mu={self.mu_:.4g}, {ending(self)}"

    def _problem(self, y: Array, c: Array, B: Array) -> VariationProblem:
        parts = [functions.part for functions in self._functions]
        problem = VariationProblem(parts, self._loss(), y, c, B, penalty=self.penalty)
        if self.form == "full":
            return problem
        return replace(problem, ridge=0.0, span=_rows_of(self._raw))

    def _warn_if_rough(self, n: int) -> None:
        """Say so where a component cannot vanish unless all of them do."""
        ranks = []
        for functions in self._functions:
            sizes = np.max(np.square(functions.part.features), axis=0, initial=0.0)
            ranks.append(int(np.sum(sizes > MIN_VISIBLE_SHARE * np.max(sizes, initial=0.0))))
        worst = int(np.argmax(ranks))
        if n >= MIN_SMOOTH_ROWS and ranks[worst] > 0.5 * n:
            warnings.warn(
                f"component {self.component_names_[worst]!r} has {ranks[worst]} functions for {n} "
                "samples: with kernels as rough as this, components vanish together or not at "
                "all. Use a wider kernel, or fewer functions by rank=.",
                StructureWarning,
                stacklevel=5,
            )
        if self.form == "substrate" and sum(f.rank for f in self._functions) >= n:
            warnings.warn(
                f"components of {sum(f.rank for f in self._functions)} functions share one "
                f"expansion of {n} samples, so that few of them can vanish: use form='full', or "
                "fewer functions by rank=.",
                StructureWarning,
                stacklevel=5,
            )

    def _chosen_C(self, X: Array, Y: Array, B: Array, s: Array) -> float:
        if not isinstance(self.C, str):
            return float(self.C)
        rows = some_rows(len(s), WEIGHT_ROWS)
        Z = np.hstack([functions.part.design[rows] for functions in self._functions])
        found = guess_C(Z @ Z.T, Y[rows], B[rows], s[rows])
        spread = float(np.mean(np.var(Y, axis=0))) or 1.0
        return float(min(found.weight_of(self._loss()), MAX_SCALED_WEIGHT / spread))

    def _variation(self, found: list[Variation]) -> Array:
        """Return the largest values of the components, over all outputs."""
        return np.array(
            [
                max(
                    float(np.max(np.abs(functions.part.features @ one.w[p]), initial=0.0))
                    for one in found
                )
                for p, functions in enumerate(self._functions)
            ]
        )

    def _size(self, problems: list[VariationProblem]) -> float:
        """Return the largest value of a component that is not penalized."""
        free = [replace(p, ridge=1.0, span=None).solve(0.0, tol=1e-4) for p in problems]
        return float(np.max(self._variation(free), initial=0.0))

    def _kept(self, variation: Array) -> NDArray[np.bool_]:
        """Return which components are more than rounding of those that are there."""
        largest = float(np.max(variation, initial=0.0))
        if largest <= max(self.threshold * self._whole, 1e-12):
            return np.zeros(len(variation), dtype=bool)
        return np.asarray(variation > self.threshold * largest)

    # The path -------------------------------------------------------------------------------------

    def _choose_mu(
        self,
        problems: list[VariationProblem],
        folds: list[tuple[NDArray[np.intp], NDArray[np.intp]]],
        Y: Array,
        B: Array,
        s: Array,
    ) -> None:
        """Follow the path on the sample and on folds of it, and take the value they prefer."""
        self._whole = self._size(problems)
        largest = max(problem.largest_mu() for problem in problems) or 1.0
        mus = largest * np.geomspace(1.0, self.smallest, self.n_mus)
        paths = [problem.path(mus, tol=self.tol) for problem in problems]
        variation = np.array([self._variation(list(found)) for found in zip(*paths, strict=True)])
        selected = np.array([self._kept(t) for t in variation])
        folds = [(T, V) for T, V in folds if len(T) and len(V)]
        if not folds:
            raise ValueError(
                f"mu={self.mu!r} needs samples to fit and others to compare with, but {len(Y)} "
                "sample(s) have a positive weight; give mu as a number, or weights to more samples."
            )
        errors, shares = np.empty((len(folds), len(mus))), np.empty(len(folds))
        each = []
        for i, (T, V) in enumerate(folds):
            f = self._fold(problems, paths, B, s, T, V, mus)
            loss = self._loss().take(V)
            costs = np.array(
                [
                    np.mean([loss.value(t, g) for t, g in zip(Y[V].T, at.T, strict=True)], axis=0)
                    for at in f
                ]
            )
            shares[i] = s[V].sum()
            errors[i] = costs @ s[V] / shares[i]
            say(self, f"fold {i + 1} of {len(folds)}: mean loss {np.min(errors[i]):.6g} at best")
            each.append(costs)
        mean = np.average(errors, axis=0, weights=shares)
        if len(folds) > 1:
            spread = np.average((errors - mean) ** 2, axis=0, weights=shares)
            error = np.sqrt(spread / (len(folds) - 1))
        else:
            error = np.std(each[0], axis=1) / np.sqrt(each[0].shape[1])
        k = int(np.argmin(mean))
        if self.mu == "1se":
            k = int(np.argmax(mean <= mean[k] + error[k]))
        self.mu_ = float(mus[k])
        self.path_ = VariationPath(
            mus, variation, list(self.component_names_), selected, mean, error, self.mu_
        )

    def _folds(
        self, X: Array, Y: Array, live: NDArray[np.intp], groups: Any
    ) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Return the samples with weight inside and outside of each fold, among these."""
        place = np.full(len(Y), -1)
        place[live] = np.arange(len(live))
        targets = self._stratified(Y)
        folds = as_splitter(self.cv, targets, self.random_state, classifier=self._classifies)
        pairs = [(place[T], place[V]) for T, V in folds.split(X, targets, groups)]
        pairs = [(T[T >= 0], V[V >= 0]) for T, V in pairs]
        return [(T, V) for T, V in pairs if len(T) and len(V)]

    def _stratified(self, Y: Array) -> Any:
        return Y[:, 0]

    def _part_of(self, problem: VariationProblem, rows: NDArray[np.intp]) -> VariationProblem:
        """Return the problem of some samples."""
        return replace(
            problem,
            # Largest values are over all inputs, so that rows of the whole path can be kept.
            parts=[replace(part, index=part.index[rows]) for part in problem.parts],
            loss=problem.loss.take(rows),
            y=problem.y[rows],
            c=problem.c[rows],
            B=problem.B[rows],
            span=None if problem.span is None else _rows_of(self._raw[rows]),
        )

    def _fold(
        self,
        problems: list[VariationProblem],
        starts: list[list[Variation]],
        B: Array,
        s: Array,
        T: NDArray[np.intp],
        V: NDArray[np.intp],
        mus: Array,
    ) -> Array:
        """Return predictions of samples left out along the path, (k, n_V, d)."""
        share = float(s[T].sum() / s.sum())
        designs = [functions.part.design[V] for functions in self._functions]
        columns = []
        inner = [self._part_of(problem, T) for problem in problems]
        paths = [
            problem.path(share * mus, start, tol=FOLD_TOLERANCE_FACTOR * self.tol)
            for problem, start in zip(inner, starts, strict=True)
        ]
        known: dict[tuple[int, ...], list[Array]] = {}
        for k in range(len(mus)):
            found = [path[k] for path in paths]
            if not self.refit:
                columns.append([_predicted(designs, B[V], one.w, one.b) for one in found])
                continue
            kept = tuple(int(p) for p in np.flatnonzero(self._kept(self._variation(found))))
            if kept not in known:
                known[kept] = []
                for problem in inner:
                    few = replace(
                        problem,
                        parts=[problem.parts[p] for p in kept],
                        factors=None,
                        span=None,
                        ridge=1.0,
                    )
                    one = few.solve(0.0, tol=1e-4)
                    some = [designs[p] for p in kept]
                    known[kept].append(_predicted(some, B[V], one.w, one.b))
            columns.append(known[kept])
        return np.array(columns).transpose(0, 2, 1)

    # What was found -------------------------------------------------------------------------------

    def _values(self, X: Array) -> Array:
        """Evaluate the function as the program left it, (n, d), or without any component."""
        columns = self.null_space_(X)
        if self._constant():
            return np.asarray(columns @ self._free_coef)
        values = np.asarray(columns @ self.null_space_coef_)
        for functions, w in zip(self._functions, self.coefs_, strict=True):
            values = values + functions(X) @ w
        return values

    def _constant(self) -> bool:
        """Whether nothing is left but the unpenalized part."""
        return bool(self.refit) and not self.selected_.any()

    def _check_new(self, X: PointsLike) -> Array:
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, reset=False, dtype=np.float64))

    def predict_components(self, X: PointsLike) -> Array:
        """Evaluate the centred components; dropped components are zero.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_components) or (n_samples, n_components, n_outputs)
        """
        X = self._check_new(X)
        if self.machine_ is None:
            if self._constant():
                return np.zeros((len(X), len(self.terms_)))
            parts = np.stack(
                [
                    functions(X) @ w - np.mean(functions.part.design @ w, axis=0)
                    for functions, w in zip(self._functions, self.coefs_, strict=True)
                ],
                axis=1,
            )
            return parts[..., 0] if parts.shape[2] == 1 else parts
        found = self.machine_.predict_components(X)
        whole = np.zeros((len(X), len(self.terms_), *found.shape[2:]))
        whole[:, self.selected_] = found[:, : int(self.selected_.sum())]
        return whole

    @property
    def selected_names_(self) -> list[str]:
        """Names of the components that are kept."""
        check_is_fitted(self)
        return [n for n, keep in zip(self.component_names_, self.selected_, strict=True) if keep]


def _rows_of(Z: Array) -> Array:
    """Return a basis of the coefficients w_p = Z_p'a that one expansion a leads to."""
    _, sizes, V = np.linalg.svd(Z, full_matrices=False)
    return np.asarray(V[sizes > 1e-10 * max(float(np.max(sizes, initial=0.0)), 1e-300)].T)


def _predicted(designs: list[Array], B: Array, w: list[Array], b: Array) -> Array:
    return np.asarray(sum((Z @ v for Z, v in zip(designs, w, strict=True)), B @ b))
