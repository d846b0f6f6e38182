"""Machines that find out which components they need: maximal variation, then a refit."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, _fit_context
from sklearn.model_selection import check_cv
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from mercer.estimators._components import (
    Term,
    functions_of,
    named_kernel,
    read_components,
)
from mercer.estimators._expansion import Array
from mercer.estimators.additive import CONSTRAINTS, AdditiveClassifier, AdditiveRegressor
from mercer.estimators.base import EarlyStop, all_or_nothing
from mercer.losses.base import Loss
from mercer.losses.named import CLASSIFICATION, REGRESSION, resolve
from mercer.programs.variation import Variation, VariationProblem
from mercer.regularizers.null_space import Constant, NullSpace, complete
from mercer.smoothing._pairs import some_rows
from mercer.smoothing.widths import guess_C
from mercer.solvers import join

__all__ = ["StructureWarning", "VariationClassifier", "VariationPath", "VariationRegressor"]

# Rows that the weight of the loss is chosen on.
ROWS = 500

# Targets without noise ask for no end of weight: beyond this, over their variance, programs are too
# stiff to be solved to their tolerance.
STIFF = 1e5

# Of fewer samples than this every kernel is rough.
FEW = 20

# Rows up to which a refit is exact; beyond it is looked for among few functions.
EXACT = 5000

# Functions of a component whose share of its variance is less are left out.
RANK = 1e-7

# Programs of folds are solved to so many times the tolerance.
FOLDS = 10.0

# Functions whose variance is below this share of the largest do not keep a component from falling
# below the threshold.
VISIBLE = 1e-2


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


class VariationMachine(BaseEstimator):  # type: ignore[misc]
    """What both machines share: components, a path, a choice and a refit."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
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
        "tol": CONSTRAINTS["tol"],
        "random_state": ["random_state"],
        "degree": CONSTRAINTS["degree"],
        "gamma": [StrOptions({"scale", "auto", "median"}), Interval(Real, 0, None, closed="left")],
        "coef0": CONSTRAINTS["coef0"],
    }

    # What a kind of machine declares --------------------------------------------------------------

    def _loss(self) -> Loss:
        raise NotImplementedError

    def _refitted(self, terms: list[Term]) -> Any:
        """Return the machine of some components, to be fitted."""
        raise NotImplementedError

    # Fitting --------------------------------------------------------------------------------------

    def _fit(self, X: Array, Y: Array, s: Array, y: Any, groups: Any) -> None:
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
        self._functions = [functions_of(term, Xl, int(self.rank), tol=RANK) for term in self.terms_]
        self._raw = np.hstack([functions.part.design for functions in self._functions])
        if self.form == "substrate":
            # The variation is not to be that of a constant.
            self._functions = [functions.centred() for functions in self._functions]
        self._warn_if_rough(len(live))
        self.C_ = self._chosen_C(Xl, Yl, B, sl)
        problems = [self._problem(t, self.C_ * sl, B) for t in Yl.T]
        self.path_: VariationPath | None = None
        if isinstance(self.mu, str):
            self._choose(problems, self._folds(X, Y, live, groups), Yl, B, sl)
        else:
            self.mu_ = float(self.mu)
        found = [problem.solve(self.mu_, tol=self.tol) for problem in problems]
        self._whole = self._size(problems)
        self.solution_ = join([one.solution for one in found])
        if not self.solution_.converged:
            warnings.warn(
                f"the program {self.solution_.status.value}, with a relative duality gap of "
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
            machine = self._refitted(kept)
            if len(X) > EXACT:
                machine.set_params(approximation="auto")
            self.machine_ = machine.fit(X, y, sample_weight=s)

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
            ranks.append(int(np.sum(sizes > VISIBLE * np.max(sizes, initial=0.0))))
        worst = int(np.argmax(ranks))
        if n >= FEW and ranks[worst] > 0.5 * n:
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
        rows = some_rows(len(s), ROWS)
        Z = np.hstack([functions.part.design[rows] for functions in self._functions])
        found = guess_C(Z @ Z.T, Y[rows], B[rows], s[rows])
        spread = float(np.mean(np.var(Y, axis=0))) or 1.0
        return float(min(found.weight_of(self._loss()), STIFF / spread))

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

    def _choose(
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
        pairs = [
            (place[T], place[V]) for T, V in self._splitter(Y).split(X, self._stratified(Y), groups)
        ]
        pairs = [(T[T >= 0], V[V >= 0]) for T, V in pairs]
        return [(T, V) for T, V in pairs if len(T) and len(V)]

    def _splitter(self, Y: Array) -> Any:
        splitter = check_cv(self.cv, self._stratified(Y), classifier=self._classifies)
        if isinstance(self.cv, Integral) or self.cv is None:
            splitter.n_splits = max(2, min(splitter.n_splits, len(Y)))
            splitter.shuffle = True
            splitter.random_state = self.random_state
        return splitter

    _classifies: ClassVar[bool] = False

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
            problem.path(share * mus, start, tol=FOLDS * self.tol)
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

    def _check_new(self, X: Any) -> Array:
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, reset=False, dtype=np.float64))

    def predict_components(self, X: Any) -> Array:
        """Evaluate the centred components; those that were dropped are zero.

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


class VariationRegressor(RegressorMixin, VariationMachine):  # type: ignore[misc]
    r"""Find the components that a sample needs, and fit a sum of these.

    .. math:: \min_{f, b} \tfrac12 \sum_p \|f_p\|^2
              + C \sum_i s_i\, l\Bigl(y_i, \sum_p f_p(x_i^{(p)}) + b\Bigr)
              + \mu \sum_p \max_i |f_p(x_i^{(p)})|

    The largest value of a component on the sample, its maximal variation, does not depend on how
    its input is scaled, and a penalty on the sum of them makes components vanish as a whole. Those
    that are left are shrunk too, which is why they are fitted again without the penalty
    (``refit``). The weight :math:`\mu` is chosen by cross-validation of the refitted machines
    along a path: the best one, or the largest within a standard error of it, which does not keep
    components for little.

    A component vanishes only as far as its kernel is smooth: with a kernel matrix of full rank all
    components vanish at the same :math:`\mu`. Components below a share `threshold` of the largest
    count as gone.

    Parameters
    ----------
    components, kernel, categorical :
        As in :class:`AdditiveRegressor`; dictionaries of kernels and parametric terms are given as
        :class:`Component` objects, several of them for a feature if need be.
    loss : Loss or str, default="squared"
        What an error costs; one with a quadratic dual.
    mu : float, "1se" or "min", default="1se"
        The weight of the variation, or how to choose it.
    C : float or "auto", default="auto"
        Weight of the loss; by leaving one out of the additive machine, and again for the refit.
    penalty : {"variation", "norm"}, default="variation"
        Of largest values; or of norms, :math:`\mu \sum_p \|f_p\|`, which makes exact zeros also
        of rough components.
    form : {"full", "substrate"}, default="full"
        Coefficients of each component of its own; or components that share one expansion, with the
        variation as the only penalty.
    refit : bool or "tuned", default=True
        Fit the components that are left again, among few functions if there are more than 5,000
        rows; with weights by the evidence if "tuned".
    threshold : float, default=0.01
        Share of the largest variation below which a component is dropped.
    n_mus, smallest : int and float, default=15 and 1e-2
        Length of the path, and its end relative to where nothing is left.
    cv : int, splitter or iterable, default=5
        Shuffled folds, or any splitter; a single split validates.
    rank : int, default=40
        Largest number of functions of a component, chosen by a pivoted factorization.
    null_space : NullSpace, optional
        Unpenalized functions; an intercept by default.
    tol : float, default=1e-5
        Relative duality gap of the programs.
    random_state : int, RandomState or None, default=0
        Seed of the folds where `cv` is a number.
    degree, gamma, coef0 :
        Of named kernels, for each feature by itself.

    Attributes
    ----------
    selected_ : ndarray of shape (n_components,)
        Which components are kept.
    selected_names_, component_names_ : list of str
        Their names, and those of all.
    variation_ : ndarray of shape (n_components,)
        Largest values of the components, before a refit.
    mu_, C_ : float
        The weights that were used.
    path_ : VariationPath or None
        Variation, selection and errors along the path; None for a given weight.
    machine_ : AdditiveRegressor or None
        The refitted machine, None without components or refit.
    solution_ : Solution
        Certificate of the program.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, section 6.4, eq. (6.37)-(6.45), and
    section 8.4.2, eq. (8.39)-(8.43).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import VariationRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(80, 6))
    >>> y = 5 * np.sin(3 * X[:, 0]) + 3 * X[:, 3] + 0.3 * rng.normal(size=80)
    >>> machine = VariationRegressor(n_mus=8).fit(X, y)
    >>> machine.selected_names_, machine.score(X, y) > 0.95
    (['x0', 'x3'], True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **VariationMachine._parameter_constraints,
        "loss": [Loss, StrOptions(set(REGRESSION))],
    }

    def __init__(
        self,
        components: Any = "each",
        kernel: Any = "rbf",
        *,
        loss: Loss | str = "squared",
        mu: float | str = "1se",
        C: float | str = "auto",
        penalty: str = "variation",
        form: str = "full",
        refit: bool | str = True,
        threshold: float = 0.01,
        n_mus: int = 15,
        smallest: float = 1e-2,
        cv: Any = 5,
        categorical: Any = None,
        rank: int = 40,
        null_space: NullSpace | None = None,
        tol: float = 1e-5,
        random_state: Any = 0,
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
    ) -> None:
        self.components = components
        self.kernel = kernel
        self.loss = loss
        self.mu = mu
        self.C = C
        self.penalty = penalty
        self.form = form
        self.refit = refit
        self.threshold = threshold
        self.n_mus = n_mus
        self.smallest = smallest
        self.cv = cv
        self.categorical = categorical
        self.rank = rank
        self.null_space = null_space
        self.tol = tol
        self.random_state = random_state
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def _loss(self) -> Loss:
        return resolve(self.loss, REGRESSION)

    def _refitted(self, terms: list[Term]) -> AdditiveRegressor:
        return AdditiveRegressor(
            components=terms,
            loss=self._loss(),
            null_space=self.null_space,
            C="auto" if self.refit == "tuned" else self.C,
            tune="weights" if self.refit == "tuned" else None,
        )

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Find the components and fit them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the losses.
        groups : array-like of shape (n_samples,), optional
            What a splitter of groups asks for.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        s = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        y = np.asarray(y, dtype=np.float64)
        self._fit(X, y[:, None], s, y, None if groups is None else np.asarray(groups))
        return self

    def predict(self, X: Any) -> Array:
        """Evaluate the fitted function.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        X = self._check_new(X)
        if self.machine_ is None:
            return self._values(X)[:, 0]
        return np.asarray(self.machine_.predict(X))


class VariationClassifier(ClassifierMixin, VariationMachine):  # type: ignore[misc]
    r"""Find the components that tell classes apart, and classify by their sum.

    .. math:: \min_{f, b} \tfrac12 \sum_p \|f_p\|^2
              + C \sum_i s_i\, l\Bigl(y_i, \sum_p f_p(x_i^{(p)}) + b\Bigr)
              + \mu \sum_p \max_i |f_p(x_i^{(p)})|, \qquad y_i = \pm 1

    More than two classes are divided each from the rest, with one :math:`\mu`; a component is kept
    if one of the functions needs it.

    Parameters
    ----------
    loss : Loss or str, default="hinge"
        What a decision value costs; one with a quadratic dual.
    class_weight : dict or "balanced", optional
        Factors of the weights for the classes.
    components, kernel, mu, C, penalty, form, refit, threshold, n_mus, smallest, cv :
        As in :class:`VariationRegressor`.
    categorical, rank, null_space, tol, random_state, degree, gamma, coef0 :
        As in :class:`VariationRegressor`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    selected_, selected_names_, variation_, mu_, C_, path_, solution_ :
        As in :class:`VariationRegressor`.
    machine_ : AdditiveClassifier or None
        The refitted machine.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, section 6.4 and eq. (6.49)-(6.54)
    with everything observed.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import VariationClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, (120, 5))
    >>> y = np.where(np.abs(X[:, 1]) > 0.5, "outer", "inner")
    >>> machine = VariationClassifier(n_mus=6, C=10.0).fit(X, y)
    >>> machine.selected_names_, machine.score(X, y) > 0.95
    (['x1'], True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **VariationMachine._parameter_constraints,
        "loss": [Loss, StrOptions(set(CLASSIFICATION))],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }
    _classifies: ClassVar[bool] = True

    def __init__(
        self,
        components: Any = "each",
        kernel: Any = "rbf",
        *,
        loss: Loss | str = "hinge",
        mu: float | str = "1se",
        C: float | str = "auto",
        class_weight: dict[Any, float] | str | None = None,
        penalty: str = "variation",
        form: str = "full",
        refit: bool | str = True,
        threshold: float = 0.01,
        n_mus: int = 15,
        smallest: float = 1e-2,
        cv: Any = 5,
        categorical: Any = None,
        rank: int = 40,
        null_space: NullSpace | None = None,
        tol: float = 1e-5,
        random_state: Any = 0,
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
    ) -> None:
        self.components = components
        self.kernel = kernel
        self.loss = loss
        self.mu = mu
        self.C = C
        self.class_weight = class_weight
        self.penalty = penalty
        self.form = form
        self.refit = refit
        self.threshold = threshold
        self.n_mus = n_mus
        self.smallest = smallest
        self.cv = cv
        self.categorical = categorical
        self.rank = rank
        self.null_space = null_space
        self.tol = tol
        self.random_state = random_state
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def _loss(self) -> Loss:
        return resolve(self.loss, CLASSIFICATION)

    def _refitted(self, terms: list[Term]) -> AdditiveClassifier:
        return AdditiveClassifier(
            components=terms,
            loss=self._loss(),
            null_space=self.null_space,
            C="auto" if self.refit == "tuned" else self.C,
            tune="weights" if self.refit == "tuned" else None,
        )

    def _stratified(self, Y: Array) -> Any:
        return np.argmax(Y, axis=1) if Y.shape[1] > 1 else (Y[:, 0] > 0).astype(int)

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Find the components and fit them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Labels of the classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the losses.
        groups : array-like of shape (n_samples,), optional
            What a splitter of groups asks for.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        s = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("The number of classes has to be greater than one; got 1 class")
        if len(np.unique(codes[s > 0])) < 2:
            raise ValueError(
                "Invalid input - all samples with positive weights belong to the same class."
            )
        weights = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        n_classes = len(self.classes_)
        positives = np.arange(1, 2) if n_classes == 2 else np.arange(n_classes)
        Y = np.where(codes[:, None] == positives, 1.0, -1.0)
        self._fit(X, Y, s * weights[codes], y, None if groups is None else np.asarray(groups))
        return self

    def decision_function(self, X: Any) -> Array:
        """Evaluate the decision function.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes positive speaks for ``classes_[1]``; for more, one column per class.
        """
        X = self._check_new(X)
        if self.machine_ is not None:
            return np.asarray(self.machine_.decision_function(X))
        f = self._values(X)
        return f[:, 0] if len(self.classes_) == 2 else f

    def predict(self, X: Any) -> Any:
        """Predict the class of new points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
            Class labels.
        """
        f = self.decision_function(X)
        return self.classes_[(f > 0).astype(np.intp) if f.ndim == 1 else np.argmax(f, axis=1)]
