"""Additive machines: components of a function, and their parts of a prediction."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from numbers import Integral
from operator import add
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize
from sklearn.utils.validation import check_is_fitted

from mercer._deadline import time_left
from mercer._settings import KW_ONLY, fixed, settings
from mercer._sklearn import Interval, StrOptions
from mercer._typing import Array, Constraints, PointsLike, TargetsLike, WeightsLike
from mercer.data.opening import is_source
from mercer.kernels.base import Kernel
from mercer.kernels.named import FREE, NAMES
from mercer.kernels.points import take
from mercer.machines.base import KernelMachine
from mercer.machines.components import Term, named_kernel, read_components
from mercer.machines.evaluating import expand
from mercer.machines.subproblems import Rows, weight_is_free
from mercer.machines.unpenalized import intercept_of
from mercer.reduced.base import Approximation
from mercer.reduced.random_features import NAMES as APPROXIMATIONS
from mercer.regularizers.null_space import complete
from mercer.smoothing.criteria import Evidence
from mercer.smoothing.factored import Factored
from mercer.smoothing.pairs import some_rows
from mercer.smoothing.widths import guess_C

__all__ = ["CONSTRAINTS", "Additive", "tune_terms"]

# Rows over which components are averaged, and whose range is told; and after a deadline.
SHOWN, LATE = 5000, 200

# Rows that weights are chosen on.
WEIGHT_ROWS = 500

# Logarithms of weights are looked for this far below and above where they start.
BELOW, ABOVE = 16.0, 9.0

# Steps of the search for weights.
MAX_STEPS = 60

CONSTRAINTS: dict[str, Any] = {
    "components": [
        StrOptions({"each", "pairs"}),
        Interval(Integral, 1, None, closed="left"),
        dict,
        list,
        tuple,
    ],
    "kernel": [StrOptions({*FREE, *NAMES} - {"precomputed"}), callable, dict],
    "categorical": ["array-like", None],
    "tune": [StrOptions({"weights"}), None],
    # No local machines: components are functions of all rows.
    "approximation": [
        Approximation,
        StrOptions({"auto", *APPROXIMATIONS}),
        Interval(Integral, 1, None, closed="left"),
        None,
    ],
}


@settings
class Additive(KernelMachine):
    """Base of additive machines: components, and their parts of a prediction."""

    _: KW_ONLY
    categorical: Any = None
    tune: str | None = None
    standardize: bool = fixed(False)

    _parameter_constraints: ClassVar[Constraints] = CONSTRAINTS

    def _resolved(self, rows: Rows, gamma: Any = None) -> Kernel:
        names = getattr(self, "feature_names_in_", None)
        terms = read_components(
            self.components,
            self.kernel,
            self.categorical,
            rows.X,
            None if names is None else list(names),
            named_kernel(self, gamma),
        )
        self._evidence_weight: float | None = None
        self.terms_: list[Term] = terms if self.tune is None else self._tuned(terms, rows)
        return reduce(add, [term.weighted for term in self.terms_])

    def _known_weight(self) -> float | None:
        weight = self._evidence_weight
        return super()._known_weight() if weight is None else weight

    def _tuned(self, terms: list[Term], rows: Rows) -> list[Term]:
        """Choose weights; what they have in common is C where this is left open too."""
        X, Y, s = rows.X, self._targets(rows.y), rows.weights
        names = getattr(self, "feature_names_in_", None)
        space = self._null_space() if names is None else self._null_space().bind(list(names))
        whole: Kernel = reduce(add, [term.kernel for term in terms])
        columns = complete(space, whole.unpenalized(X.shape[1]), X.shape[1])(X)
        found = tune_terms(terms, X, Y, columns, s)
        C = max(term.weight for term in found) if weight_is_free(self) else self._weight()
        if weight_is_free(self):
            self._evidence_weight = C
        return [replace(term, weight=term.weight / C) for term in found]

    def _fit_extras(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike) -> None:
        super()._fit_extras(X, y, sample_weight)
        names = self.null_space_names_
        features = getattr(self, "feature_names_in_", None)
        p = self.n_features_in_
        titles = [f"x{j}" if features is None else str(features[j]) for j in range(p)]
        # An unpenalized slope is a part of the component of its feature.
        alone = {
            term.columns[0]: k
            for k, term in reversed(list(enumerate(self.terms_)))
            if len(term.columns) == 1
        }
        self._joined: dict[int, int] = {
            j: alone[titles.index(name)]
            for j, name in enumerate(names)
            if name in titles and titles.index(name) in alone
        }
        self._further = [j for j, name in enumerate(names) if name != "1" and j not in self._joined]
        self.component_names_ = [term.name for term in self.terms_]
        self.component_names_ += [names[j] for j in self._further]
        self._show(X, sample_weight)

    def _show(self, X: PointsLike, sample_weight: WeightsLike) -> None:
        """Find means and ranges of the components over the sample."""
        n = self.shape_fit_[0]
        for name in ("component_means_", "component_range_", "component_variation_"):
            self.__dict__.pop(name, None)
        if self._functions is not None:
            return  # random features do not tell components apart
        if is_source(X):
            points, s = self.support_vectors_, None
        else:
            rows = some_rows(n, SHOWN if time_left() > 0.0 else LATE)
            points = take(self._check_new(X), rows)
            s = None if sample_weight is None else np.asarray(sample_weight, float)[rows]
            if s is not None:
                points, s = take(points, np.flatnonzero(s > 0)), s[s > 0]
        parts = self._parts(points)
        self.component_means_ = self._one_or_more(np.average(parts, axis=0, weights=s))
        centred = parts - np.average(parts, axis=0, weights=s)
        self.component_range_ = np.stack(
            [self._one_or_more(centred.min(axis=0)), self._one_or_more(centred.max(axis=0))],
            axis=-1,
        )
        self.component_variation_ = self._one_or_more(np.abs(parts).max(axis=0))

    def _parts(self, X: PointsLike) -> Array:
        """Evaluate the components at checked points, (n, P, d)."""
        if self._functions is not None:
            raise ValueError(
                "random features do not tell components apart: use approximation=Nystrom()."
            )
        coef = self._dual_coef_.T
        parts = [expand(self, X, coef, term.weighted) for term in self.terms_]
        columns, b = self.null_space_(X), np.atleast_2d(self.null_space_coef_)
        for j, k in self._joined.items():
            parts[k] = parts[k] + np.outer(columns[:, j], b[:, j])
        parts += [np.outer(columns[:, j], b[:, j]) for j in self._further]
        return np.stack(parts, axis=1)

    def _one_or_more(self, values: Array) -> Array:
        """Return values of the only output or class without an axis for it."""
        return values[..., 0] if self._single_output() else values

    @abstractmethod
    def _single_output(self) -> bool:
        """Answer whether the machine has one function."""

    def predict_components(self, X: PointsLike, *, centred: bool = True) -> Array:
        r"""Evaluate the components, whose sum with a constant is the fitted function.

        .. math:: f(x) = b + \sum_p f_p(x^{(p)}), \qquad f_p(x) = v_p \sum_i a_i k_p(x_i, x)

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New inputs.
        centred : bool, default=True
            Take the mean of each component over the sample from it. A component is known up to a
            constant only; these then add up to ``component_offset_``.

        Returns
        -------
        ndarray of shape (n_samples, n_components) or (n_samples, n_components, n_outputs)
            In the order of ``component_names_``.
        """
        check_is_fitted(self)
        parts = self._one_or_more(self._parts(self._check_new(X)))
        return parts - self.component_means_ if centred else parts

    @property
    def component_offset_(self) -> Any:
        """The constant that centred components leave: intercept and means."""
        check_is_fitted(self)
        intercept = np.atleast_1d(intercept_of(self.null_space_names_, self.null_space_coef_))
        means = np.sum(self.component_means_, axis=0)
        return float(intercept[0] + means) if self._single_output() else intercept + means


def tune_terms(terms: Sequence[Term], X: PointsLike, Y: Array, B: Array, s: Array) -> list[Term]:
    r"""Return the components with their maximum-likelihood weights, for a loss with C = 1.

    .. math:: y \sim N\bigl(Bb,\; \tau (\textstyle\sum_p v_p K_p + \operatorname{diag}(1/s))\bigr)

    is maximized over the weights v by gradients, which also decides how smooth each component is; a
    component that the sample does not need gets a weight of almost nothing.

    Parameters
    ----------
    terms : sequence of Term
    X : (n, p) points
    Y : (n, d) array
        Targets.
    B : (n, q) array
        Unpenalized columns.
    s : (n,) array
        Weights of the samples.
    """
    live = np.flatnonzero(s > 0)
    rows = live[some_rows(len(live), WEIGHT_ROWS)]
    X, Y, B, s = take(X, rows), Y[rows], B[rows], s[rows]
    if len(rows) <= B.shape[1] + 1 or np.all(np.ptp(Y, axis=0) == 0):
        return list(terms)
    Ks = [np.asarray(term.kernel(X), dtype=np.float64) for term in terms]
    start = np.full(len(Ks), np.log(guess_C(np.sum(Ks, axis=0), Y, B, s).C))
    bounds = [(e - BELOW, e + ABOVE) for e in start]
    steps: Any = {"maxiter": MAX_STEPS}
    found: Any = minimize(
        _evidence, start, (Ks, Y, B, s), "L-BFGS-B", True, bounds=bounds, options=steps
    )
    return [replace(term, weight=float(np.exp(e))) for term, e in zip(terms, found.x, strict=True)]


def _evidence(eta: Array, Ks: Sequence[Array], Y: Array, B: Array, s: Array) -> tuple[float, Array]:
    """Return minus the evidence per sample and its slopes in the logarithms of the weights."""
    weights = np.exp(eta)
    K = sum((w * M for w, M in zip(weights, Ks, strict=True)), np.zeros_like(Ks[0]))
    value, G, _ = Evidence().gradient(Factored(K, B, s, C=1.0), Y)
    return value, np.array([w * np.vdot(G, M) for w, M in zip(weights, Ks, strict=True)])
