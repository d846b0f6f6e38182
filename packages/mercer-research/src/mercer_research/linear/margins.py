r"""Hyperplanes of large margin, where distances are measured in any norm."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, fit_context
from mercer._typing import Array, Constraints, PointsLike, TargetsLike, WeightsLike
from mercer.machines.solving import EarlyStop
from mercer.programs.program import Block, Program
from mercer_research.estimators.hulls import (
    HullCertificate,
    NotSeparable,
    nearest_points,
    value_rounding,
)
from mercer_research.linear._hyperplanes import Hyperplanes
from mercer_research.linear._model import Optimum

__all__ = ["FeatureShare", "LpMarginSVC", "dual_norm"]

# Relative difference of a margin and its bound, above which a fit warns: the programs have eight
# digits.
TOL = 1e-6


def dual_norm(p: float) -> float:
    r"""Return q with :math:`1/p + 1/q = 1`.

    Examples
    --------
    >>> dual_norm(1.0), dual_norm(2.0), dual_norm(float("inf"))
    (inf, 2.0, 1.0)
    """
    if p == 1.0:
        return np.inf
    return 1.0 if np.isinf(p) else p / (p - 1.0)


@dataclass(frozen=True)
class FeatureShare:
    """Share of an input in a hyperplane."""

    name: str
    weight: float
    pull: float
    r"""Size of :math:`\sum_i \beta_i y_i x_{ij}`, at most one: an input is used where it is one."""

    @property
    def used(self) -> bool:
        """Whether the input has a weight."""
        return self.weight != 0.0


@settings
class LpMarginSVC(Hyperplanes):
    r"""A linear classifier whose margin is large in the norm that suits the inputs.

    .. math:: \min_{w, b} \|w\|_p + C \sum_i s_i \max(0,\, 1 - y_i (w'x_i + b))

    Points are :math:`|w'x + b| / \|w\|_p` away from the plane in the norm with
    :math:`1/p + 1/q = 1`, so that :math:`p = 1` measures distances by the largest coordinate, and
    uses few of them; :math:`p = \infty` by the sum of all, and uses every one; :math:`p = 2` is
    Euclidean. With ``C=inf`` no error is allowed and the margin :math:`1/\|w\|_p` is the widest;
    twice as wide as the hulls of the classes are apart,

    .. math:: 2\rho = \min_\alpha \Bigl\|\sum_i \alpha_i y_i x_i\Bigr\|_q \quad\text{subject to}
              \quad \sum_{y_i = 1} \alpha_i = \sum_{y_i = -1} \alpha_i = 1, \; \alpha \ge 0 .

    If they meet, the fit is refused with the point that they share. Linear programs for
    :math:`p = 1, \infty`, a second-order cone for 2, and power cones between.

    Parameters
    ----------
    p : float, default=2.0
        Norm of the weights, from 1 to infinity.
    C : float, default=1.0
        Weight of the errors against the norm; infinity for none at all.
    class_weight : dict or "balanced", optional
        Factors of C for the classes.
    fit_intercept : bool, default=True
        Fit the constant b.
    verbose : bool or int, default=False
        Write how the fit ended to the standard error.

    Attributes
    ----------
    coef_, intercept_, classes_ :
        As in scikit-learn; several classes are divided each from the rest.
    margins_ : ndarray of shape (1,) or (n_classes,)
        Widths :math:`1 / \|w\|_p`; infinite where no input has a weight.
    solutions_ : list of Optimum
        Value and lower bound of each program, and the signed multipliers of the samples.
    certificates_ : list of HullCertificate
        Only for ``C=inf``: the distance of the hulls from both sides.

    References
    ----------
    A. J. Smola, P. Bartlett, B. Schoelkopf, D. Schuurmans, Introduction to large margin
    classifiers, in *Advances in Large Margin Classifiers*, eq. (1.20)-(1.22). What is printed
    there, :math:`\|w\|_p = 1`, is a convex program after relaxing it to :math:`\le 1`, which
    changes nothing exactly if the classes are separable.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer_research.linear import LpMarginSVC
    >>> X = np.array([[-2.0, 1.0], [-1.0, -2.0], [1.0, 2.0], [2.0, -1.0]])
    >>> y = ["a", "a", "b", "b"]
    >>> for p in (1.0, 2.0, np.inf):
    ...     model = LpMarginSVC(p, C=np.inf).fit(X, y)
    ...     print(model.coef_.round(4) + 0.0, model.margins_.round(4))
    [[0.6 0.2]] [1.25]
    [[0.6 0.2]] [1.5811]
    [[0.6 0.2]] [1.6667]
    """

    p: float = 2.0
    _: KW_ONLY
    C: float = 1.0

    _parameter_constraints: ClassVar[Constraints] = {
        "p": [Interval(Real, 1.0, None, closed="both")],
        "C": [Interval(Real, 0.0, None, closed="right")],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike, sample_weight: WeightsLike = None) -> Self:
        """Solve one program for two classes, else one for each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs; distances depend on their scales.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples' errors; without errors, whether a sample counts.
        """
        X, index, s, positive = self._classes(X, y, sample_weight)
        live = s > 0
        X, index, s = X[live], index[live], s[live]
        if any(len(np.unique(index == k)) < 2 for k in positive):
            raise ValueError("All samples with positive weights belong to the same class.")
        self.certificates_: list[HullCertificate] = []
        fits = []
        for k in positive:
            labels = np.where(index == k, 1.0, -1.0)
            if np.isinf(self.C):
                fits.append(self._hard(X, labels, str(self.classes_[k])))
            else:
                fits.append(self._soft(X, labels, float(self.C) * s))
        self._keep(fits)
        # Of the samples that count; those of weight zero pull nothing.
        self._pulls = np.abs(self.solutions_[0].multipliers @ X)
        norms = np.array([np.linalg.norm(w, self.p) for w in self.coef_])
        with np.errstate(divide="ignore"):
            self.margins_ = 1.0 / norms
        return self

    def _plane(self, program: Program, Z: Array, y: Array) -> tuple[list[Any], Block, Block | None]:
        """Add a hyperplane; return the terms of the margins, its weights and its constant."""
        w = program.variable(Z.shape[1])
        b = program.variable(1) if self.fit_intercept else None
        terms = [(Z, w)] if b is None else [(Z, w), (y[:, None], b)]
        return terms, w, b

    def _soft(self, X: Array, y: Array, c: Array) -> tuple[Array, float, Optimum]:
        # Units: a plane of inputs of size one has weights, norm and slacks of size one.
        unit = float(np.max(np.abs(X))) or 1.0
        Z, program = y[:, None] * X / unit, Program()
        terms, w, b = self._plane(program, Z, y)
        slack = program.variable(len(y), lower=0.0)
        rows = program.at_least([*terms, (sp.eye_array(len(y)), slack)], 1.0)
        length = program.variable(1)
        _norm(program, w, length, self.p)
        program.cost(length, 1.0 / unit)
        program.cost(slack, c)
        found = program.solve(1e-9)
        coef = _clean(found[w]) / unit
        offset = 0.0 if b is None else float(found[b][0])
        value = float(np.linalg.norm(coef, self.p))
        value += float(c @ np.maximum(0.0, 1.0 - y * (X @ coef + offset)))
        beta = self._feasible(X, y, np.clip(found.multiplier(rows), 0.0, c))
        return coef, offset, Optimum(value, float(beta.sum()), y * beta)

    def _feasible(self, X: Array, y: Array, beta: Array) -> Array:
        """Return multipliers with ``y'beta = 0`` and a sum of length at most one, for a bound."""
        if self.fit_intercept:
            sides = np.array([beta[y < 0].sum(), beta[y > 0].sum()])
            if not sides.min() > 0:
                return np.zeros_like(beta)
            beta = beta * (sides.min() / sides)[(y > 0).astype(np.intp)]
        length = float(np.linalg.norm((y * beta) @ X, dual_norm(self.p)))
        return beta / max(1.0, length)

    def _hard(self, X: Array, y: Array, name: str) -> tuple[Array, float, Optimum]:
        # The widest margin of planes with weights of length one: feasible for every sample. Only
        # differences of points matter beside an intercept, and have all digits around their mean.
        q, positive, negative = dual_norm(self.p), y > 0, y < 0
        points = X - np.mean(X, axis=0) if self.fit_intercept else X
        radius = float(np.max(np.linalg.norm(points, q, axis=1))) or 1.0
        Z, program = y[:, None] * points / radius, Program()
        terms, w, _ = self._plane(program, Z, y)
        rho, length = program.variable(1), program.variable(1, upper=1.0)
        rows = program.at_least([*terms, (-np.ones((len(y), 1)), rho)], 0.0)
        _norm(program, w, length, self.p)
        program.cost(rho, -1.0)
        found = program.solve(1e-10)
        alpha, coef = self._convex(np.maximum(found.multiplier(rows), 0.0), y), _clean(found[w])
        distance = float(np.linalg.norm(alpha @ Z, q)) * radius
        reach, lower = self._between(points, y, coef, radius)
        if not lower > 0:
            # The program may have no such digits, as an active set over the points has.
            group = positive.astype(np.intp) if self.fit_intercept else np.zeros(len(y), np.intp)
            total = 1.0 if self.fit_intercept else 2.0
            refined = total * nearest_points(Z, group)[0]
            other = refined @ Z
            nearer = float(np.linalg.norm(other, q)) * radius
            if nearer < distance:
                alpha, distance = refined, nearer
            if np.any(other):
                other /= np.linalg.norm(other, self.p)
                across, proven = self._between(points, y, other, radius)
                if proven > lower:
                    coef, reach, lower = other, across, proven
        certificate = HullCertificate(lower > 0, alpha, distance, lower, radius)
        if not certificate.separable:
            near = f"convex combinations of both sides are as near as {distance:.2g}"
            if distance > value_rounding(int(np.count_nonzero(alpha)), radius, 2.0):
                raise ValueError(
                    f"Whether a hyperplane divides {name!r} from the rest is not decided: {near}, "
                    "and neither a margin nor a common point beyond rounding was found. Use a "
                    "finite C."
                )
            raise NotSeparable(
                f"No hyperplane divides {name!r} from the rest: {near}, which is rounding where "
                f"all points are within {radius:.2g}. Use a finite C, or more inputs.",
                certificate,
            )
        self.certificates_.append(certificate)
        if lower < (1.0 - TOL) * distance:
            warnings.warn(
                f"The margin of {name!r} is known up to {certificate.margin:.6g} to "
                f"{0.5 * distance:.6g} only: rounding of points within {radius:.2g} hides more.",
                EarlyStop,
                stacklevel=4,
            )
        w1 = coef / reach
        f = X @ w1
        offset = -0.5 * float(np.min(f[positive]) + np.max(f[negative]))
        if self.fit_intercept and not np.min(f[positive]) > np.max(f[negative]):
            raise ValueError(
                f"A hyperplane divides {name!r} from the rest, {lower:.2g} apart, which is beyond "
                f"rounding of inputs as large as {float(np.max(np.abs(X))):.2g}. Subtract the "
                "mean of each input."
            )
        value = float(np.linalg.norm(w1, self.p))
        # The dual of the canonical form: multipliers of length one, worth their sum.
        beta = alpha / distance
        optimum = Optimum(value, float(beta.sum()), y * beta)
        return w1, offset if self.fit_intercept else 0.0, optimum

    def _convex(self, alpha: Array, y: Array) -> Array:
        """Return weights that add up to one in each class, or to two without an intercept."""
        if not self.fit_intercept:  # the hull of the reflected sample against the origin, twice
            sums: Array = np.asarray(0.5 * alpha.sum())
        else:
            sums = np.where(y > 0, alpha[y > 0].sum(), alpha[y < 0].sum())
        return np.asarray(alpha / sums)

    def _between(self, X: Array, y: Array, coef: Array, radius: float) -> tuple[float, float]:
        """Return half the room between the classes in units of f, and what of it is proven."""
        f = X @ coef
        size: float = float(np.linalg.norm(coef, self.p))
        low, high = float(np.min(f[y > 0])), float(np.max(f[y < 0]))
        reach = 0.5 * (low - high) if self.fit_intercept else min(low, -high)
        proven = reach - value_rounding(X.shape[1], radius, size)
        return reach, 2.0 * proven / size if size > 0 else 0.0

    def feature_report(self) -> list[FeatureShare]:
        """Return the share of each input, the heaviest first; for two classes.

        With ``p=1`` those without a weight are not needed; their pull says how near to it they
        are.

        Returns
        -------
        list of FeatureShare

        Examples
        --------
        >>> import numpy as np
        >>> from mercer_research.linear import LpMarginSVC
        >>> X = np.array([[-2.0, 0.5], [-1.0, -0.5], [1.0, -0.5], [2.0, 0.5]])
        >>> model = LpMarginSVC(1.0, C=10.0).fit(X, [0, 0, 1, 1])
        >>> [(share.name, share.used) for share in model.feature_report()]
        [('x0', True), ('x1', False)]
        """
        check_is_fitted(self)
        if len(self.classes_) != 2:
            raise ValueError("A report is one of two classes; ask for each class on its own.")
        names = getattr(self, "feature_names_in_", None)
        names = [f"x{j}" for j in range(self.n_features_in_)] if names is None else names
        shares = [
            FeatureShare(str(name), float(weight), float(pull))
            for name, weight, pull in zip(names, self.coef_[0], self._pulls, strict=True)
        ]
        return sorted(shares, key=lambda share: -abs(share.weight))


def _norm(program: Program, w: Block, length: Block, p: float) -> None:
    r"""Ask for :math:`\|w\|_p \le t`.

    For p between the ends, :math:`|w_j| \le r_j^{1/p} t^{1 - 1/p}` with :math:`\sum_j r_j = t`.
    """
    n = w.size
    eye, ones = sp.eye_array(n, format="csr"), np.ones((n, 1))
    if p == 2.0:
        program.norm([(eye, w)], 0.0, [(np.ones((1, 1)), length)])
    elif np.isinf(p):
        program.at_most([(eye, w), (-ones, length)], 0.0)
        program.at_least([(eye, w), (ones, length)], 0.0)
    else:
        parts = program.variable(n, lower=0.0)
        program.at_most([(ones.T, parts), (-np.ones((1, 1)), length)], 0.0)
        if p == 1.0:
            program.at_most([(eye, w), (-eye, parts)], 0.0)
            program.at_least([(eye, w), (eye, parts)], 0.0)
            return
        for j in range(n):
            pick = [
                sp.csr_array(([1.0], ([row], [column])), shape=(3, size))
                for row, column, size in ((0, j, n), (1, 0, 1), (2, j, n))
            ]
            program.power(list(zip(pick, (parts, length, w), strict=True)), 0.0, 1.0 / p)


def _clean(w: NDArray[np.float64]) -> Array:
    """Return weights without those that are rounding of zero."""
    return np.where(np.abs(w) > 1e-8 * np.max(np.abs(w), initial=0.0), w, 0.0)
