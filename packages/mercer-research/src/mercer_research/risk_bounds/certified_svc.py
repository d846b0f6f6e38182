r"""A support vector machine whose settings are chosen by a bound on its error, which it keeps.

What each bound may depend on, with the rows in a random order that does not depend on them:

===================  ==========================  ===============================================
rows                 what is learnt from them    bounds that count the rows after them
===================  ==========================  ===============================================
the first tenth      scaler and unit of widths   compression, PAC-Bayes with prior 0, Rademacher
the first half       centre of the prior         PAC-Bayes with this prior
the first share      a machine of this share     errors on the rows set aside
===================  ==========================  ===============================================

Each bound is conditional on the rows that its kernel, prior or machine is made of. So nothing is
learnt from rows that a bound takes for new, scaling included.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._fitting import AllOrNothing
from mercer._settings import KW_ONLY, settings
from mercer._sklearn import Interval, fit_context
from mercer._typing import AnyArray, Array, Constraints, PointsLike, Seed, SplitterLike, TargetsLike
from mercer.estimators.svc import SVC
from mercer.io.plans import plan_of
from mercer.io.registry import Plan, register
from mercer.io.symbols import Outputs, Value
from mercer.kernels.gaussian import Gaussian
from mercer.risk_bounds import INDEPENDENT, Assumption, Bound, error_bound, majority_error
from mercer_research.risk_bounds.pac_bayes import randomized_machine_bound
from mercer_research.risk_bounds.rademacher import rademacher_margin_bound
from mercer_research.risk_bounds.sample_compression import refit_to_support
from mercer_research.risk_bounds.weight_vector import weights_of

__all__ = ["CertifiedSVC"]

Rows = NDArray[np.intp]

SET_ASIDE = Assumption("the rows set aside made neither machine nor scaler", "checked")

# Kinds of bounds on one machine, each with its part of delta, so that all hold at once.
N_BOUNDS = 4
# Rows that tell the median distance of two points.
MEDIAN_ROWS = 500
# A scaler and a median need at least so many rows, if there are twice as many.
MIN_SCALED = 20


@dataclass(frozen=True, eq=False)
class Scale:
    """Centres, scales and the median distance of standardized points, from some rows."""

    centre: Array
    scale: Array
    unit: float

    @classmethod
    def of(cls, X: Array) -> Scale:
        spread = X.std(axis=0)
        # Columns that are constant up to rounding keep their unit.
        flat = spread <= 1e-12 * np.abs(X).max(axis=0, initial=0.0)
        found = cls(X.mean(axis=0), np.where(flat, 1.0, spread), 1.0)
        distances = pdist(found(X[:MEDIAN_ROWS]))
        middle = float(np.median(distances)) if len(distances) else 0.0
        return replace(found, unit=middle or 1.0)

    def __call__(self, X: Array) -> Array:
        return np.asarray((X - self.centre) / self.scale)


@dataclass(frozen=True, eq=False)
class OrderedSample:
    """Standardized rows and signs, and the random order in which they are set aside."""

    Z: Array
    y: Array
    order: Rows
    scaled: int
    prior: int

    def split(self, count: int) -> tuple[Rows, Rows]:
        """Return the first rows of the order and the others, each ascending."""
        return np.sort(self.order[:count]), np.sort(self.order[count:])

    def fitted(self, share: float) -> tuple[Rows, Rows]:
        """Return the rows of a share, and those that neither they nor the scaler know."""
        count = _count(share, len(self.y)) if share < 1 else len(self.y)
        return self.split(count)[0], self.split(max(count, self.scaled))[1]


def _count(share: float, n: int) -> int:
    """Return a share of the rows as a count that leaves at least one row on either side."""
    return min(max(1, round(share * n)), n - 1)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A machine of one setting and share of the rows, with bounds on it."""

    C: float
    width: float
    share: float
    machine: SVC
    bounds: dict[str, Bound]

    @property
    def best(self) -> Bound:
        return min(self.bounds.values(), key=lambda bound: bound.value)


@settings
class CertifiedSVC(ClassifierMixin, AllOrNothing, BaseEstimator):  # type: ignore[misc]
    r"""Support vector classification with the C and width of the least bound on the error.

    With probability at least :math:`1-\delta` over the rows, simultaneously for the settings and
    shares of the grid and for four kinds j of bounds,

    .. math:: R(f_{C, \sigma, s}) \le \mathrm{bound}_j(f_{C, \sigma, s}; \delta/(4N_j)), \qquad
              (\hat C, \hat\sigma, \hat s, \hat\jmath) = \arg\min \mathrm{bound}_j

    so the least of them holds as well. :math:`N_j` counts what a kind of bound wants fixed before:
    widths for PAC-Bayes with prior 0 and Rademacher averages, widths and C for the prior from half
    of the rows, widths, C and shares for the others. The error bounded is that of ``predict``:
    PAC-Bayes bounds are doubled for the sign.

    Parameters
    ----------
    delta : float, default=0.05
        Probability, over the rows, that ``bound_`` fails.
    Cs : sequence of float, default=(0.1, 1.0, 10.0, 100.0, 1000.0)
        Weights of the summed loss, fixed before the rows are seen.
    widths : sequence of float, default=(0.5, 1.0, 2.0, 4.0)
        Length scales of the Gaussian kernel in units of the median distance of two points.
    shares : sequence of float, default=(0.5, 0.75, 1.0)
        Shares of the rows that machines are fitted to. Machines of all rows, 1.0, are bounded by
        compression to their support vectors, those of fewer by their errors on the others: usually
        a smaller bound of a slightly worse machine.
    scaling : float, default=0.1
        Share of the rows that standardization and the unit of widths are learnt from.
    prior : float, default=0.5
        Share of the rows, these included, that the prior is learnt from.
    cv : int, splitter or None, default=5
        Cross-validation that the choice is compared with; None leaves it out.
    tol : float, default=1e-3
        Of the machines, as in :class:`~mercer.SVC`; bounds hold at any.
    random_state : int or RandomState, default=0
        Order of the rows.

    Attributes
    ----------
    bound_ : Bound
        The least bound on the error rate of ``predict``.
    bounds_ : dict of str to Bound
        All bounds on this machine, smallest first; they hold together.
    least_bounds_ : dict of str to Bound
        The least bound of each kind among all machines that were tried, smallest first; these hold
        together too, each for its own machine.
    accuracy_cost_ : float
        Cross-validated accuracy of the best setting, fitted to all rows, less that of the chosen
        setting and share: what the bound cost. An estimate without a guarantee. Absent if `cv` is
        None.
    cross_validated_ : dict
        ``C`` and ``width`` that cross-validation prefers, their ``accuracy``, and the least
        ``bound`` of machines of this setting: it holds too, since the union is over all settings.
    C_, width_, share_ : float
        The choice, the width in standard deviations.
    machine_ : SVC
        The machine, of standardized features; that of all rows is the refit to support vectors.
    classes_ : ndarray of shape (2,)

    Notes
    -----
    Preprocessing is inside the bounds. Rows are put in a random order that does not depend on them.
    The first tenth teaches the scaler and the unit of widths, and no bound counts it. Compression,
    PAC-Bayes with prior 0 and Rademacher averages count all rows after it, PAC-Bayes with a prior
    from rows those after the first half, which teach the prior, and rows set aside are those after
    a machine's share. Each is conditional on the rows before. Parts are not stratified: that would
    use labels of rows that are to be new. Scaling X before ``fit`` by all of its rows voids the
    bounds; a fixed map of each row, such as a logarithm, does not.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from mercer_research.risk_bounds import CertifiedSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> machine = CertifiedSVC(Cs=[10.0, 1000.0], widths=[1.0, 4.0], cv=None).fit(X, y)
    >>> print(machine.bound_)
    at most 0.0762, by binomial tail on held-out rows, assuming that the rows are independent draws
    of the distribution to come
    >>> print(CertifiedSVC(Cs=[1000.0], widths=[4.0], shares=[1.0], cv=None).fit(X, y).bound_)
    at most 0.258, by compression to support vectors, assuming that the rows are independent draws
    of the distribution to come
    """

    _: KW_ONLY
    delta: float = 0.05
    Cs: Sequence[float] = (0.1, 1.0, 10.0, 100.0, 1000.0)
    widths: Sequence[float] = (0.5, 1.0, 2.0, 4.0)
    shares: Sequence[float] = (0.5, 0.75, 1.0)
    scaling: float = 0.1
    prior: float = 0.5
    cv: SplitterLike = 5
    tol: float = 1e-3
    random_state: Seed = 0

    _parameter_constraints: ClassVar[Constraints] = {
        "delta": [Interval(Real, 0.0, 1.0, closed="neither")],
        "Cs": ["array-like"],
        "widths": ["array-like"],
        "shares": ["array-like"],
        "scaling": [Interval(Real, 0.0, 1.0, closed="neither")],
        "prior": [Interval(Real, 0.0, 1.0, closed="neither")],
        "cv": ["cv_object", Interval(Integral, 2, None, closed="left"), None],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: PointsLike, y: TargetsLike) -> Self:
        """Fit machines of all settings and shares, and keep the one with the least bound."""
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}."
            )
        if len(self.classes_) < 2:
            raise ValueError("The number of classes has to be greater than one; got 1 class")
        if not all(0.0 < share <= 1.0 for share in self.shares):
            raise ValueError(f"shares of the rows are above 0 and at most 1, got {self.shares}")
        if not (len(self.Cs) and len(self.widths) and len(self.shares)):
            raise ValueError("Cs, widths and shares need at least one value each")
        signs = np.where(codes == 1, 1.0, -1.0)
        order = check_random_state(self.random_state).permutation(len(X))
        scaled = min(max(_count(self.scaling, len(X)), MIN_SCALED), _count(self.prior, len(X)))
        self._scale = Scale.of(X[order[:scaled]])
        rows = OrderedSample(self._scale(X), signs, order, scaled, _count(self.prior, len(X)))
        candidates = list(self._candidates(rows))
        if not candidates:
            raise ValueError(
                f"the rows of every share in {list(self.shares)} are of one class, so no machine "
                f"can be fitted: {int(np.bincount(codes).min())} of {len(y)} rows are of the "
                "smaller class. Add the share 1.0, which takes all rows, or give more rows."
            )
        chosen = min(candidates, key=lambda candidate: candidate.best.value)
        # What selection did not need: every kind of bound holds for any machine of the grid.
        every = chosen.bounds | self._by_margins(rows, chosen.machine, chosen.C, chosen.width)
        self.C_, self.share_ = chosen.C, chosen.share
        self.width_ = chosen.width * self._scale.unit
        self.machine_ = chosen.machine
        self.bounds_ = dict(_sorted(every.items()))
        self.bound_ = next(iter(self.bounds_.values()))
        tried = [pair for candidate in candidates for pair in candidate.bounds.items()]
        # The largest come first, so that the least of a kind is the one that stays.
        self.least_bounds_ = dict(_sorted(dict(reversed(_sorted(tried))).items()))
        if self.cv is not None:
            self._compare(X, signs, order, chosen, candidates)
        return self

    def _ending(self) -> str:
        return f"C={self.C_:g}, width {self.width_:.3g}, error {self.bound_}"

    def _settings(self) -> list[tuple[float, float]]:
        return [(float(width), float(C)) for width in self.widths for C in self.Cs]

    def _svc(self, width: float, C: float, unit: float) -> SVC:
        return SVC(kernel=Gaussian(width * unit), C=C, tol=self.tol)

    def _candidates(self, rows: OrderedSample) -> Iterator[Candidate]:
        """Yield machines of all settings and shares; one label cannot be fitted."""
        choices = N_BOUNDS * len(self._settings()) * len(self.shares)
        known = majority_error(rows.y)
        for width, C in self._settings():
            for share in self.shares:
                first, rest = rows.fitted(share)
                if len(np.unique(rows.y[first])) < 2:
                    continue
                machine = self._svc(width, C, self._scale.unit).fit(rows.Z[first], rows.y[first])
                if share < 1:
                    wrong = int(np.sum(machine.predict(rows.Z[rest]) != rows.y[rest]))
                    tail = error_bound(
                        wrong, len(rest), delta=self.delta, choices=choices, trivial=known
                    )
                    tail = replace(tail, assumptions=(INDEPENDENT, SET_ASIDE))
                    yield Candidate(C, width, share, machine, {"rows set aside": tail})
                else:
                    given = rows.split(rows.scaled)[0]
                    few = refit_to_support(machine, rows.Z, rows.y, given=given)
                    bounds = {"compression": few.bound(self.delta, choices)}
                    bounds |= self._by_margins(rows, few.machine, C, width)
                    yield Candidate(C, width, share, few.machine, bounds)

    def _by_margins(
        self, rows: OrderedSample, machine: SVC, C: float, width: float
    ) -> dict[str, Bound]:
        """Return the bounds of a machine that follow from its margins."""
        ours, known, delta = weights_of(machine), majority_error(rows.y), self.delta
        # C changes neither the kernel, nor its ball, nor a prior around 0.
        kernels, grid = N_BOUNDS * len(self.widths), N_BOUNDS * len(self._settings())
        tested, second = rows.split(rows.scaled)[1], rows.split(rows.prior)[1]
        first = rows.split(rows.prior)[0]
        t = ours.margins(rows.Z, rows.y)
        size = float(np.sqrt(1.0 + ours.constant**2))
        bounds = {
            "PAC-Bayes, prior 0": randomized_machine_bound(
                t[tested], delta=delta, choices=kernels, trivial=known
            ),
            "Rademacher margin": rademacher_margin_bound(
                size * t[tested], size=size, delta=delta, choices=kernels, trivial=known
            ),
        }
        if len(np.unique(rows.y[first])) > 1:
            prior = self._svc(width, C, self._scale.unit).fit(rows.Z[first], rows.y[first])
            bounds["PAC-Bayes, prior from rows"] = randomized_machine_bound(
                t[second],
                cosine=ours.cosine(weights_of(prior)),
                delta=delta,
                choices=grid,
                trivial=known,
            )
        return bounds

    def _compare(
        self,
        X: Array,
        y: Array,
        order: Rows,
        chosen: Candidate,
        candidates: list[Candidate],
    ) -> None:
        """Cross-validate all settings, standardizing inside, and the recipe that was chosen."""
        folds = list(check_cv(self.cv, y, classifier=True).split(X, y))
        grid = self._settings()
        wrong = np.zeros(len(grid) + 1)
        kept = np.isin(np.arange(len(y)), order[: _count(chosen.share, len(y))])
        for train, left in folds:
            scale = Scale.of(X[train])
            Z, L = scale(X[train]), scale(X[left])
            used = kept[train] if chosen.share < 1 else np.full(len(train), True)
            tried = [(*setting, Z, y[train]) for setting in grid]
            tried.append((chosen.width, chosen.C, Z[used], y[train][used]))
            wrong += [
                _errors(self._svc(width, C, scale.unit), rows, signs, L, y[left])
                for width, C, rows, signs in tried
            ]
        accuracy = 1.0 - wrong / sum(len(left) for _, left in folds)
        best = int(np.argmax(accuracy[:-1]))
        width, C = grid[best]
        bounds = [c.best for c in candidates if (c.width, c.C) == (width, C)]
        self.cross_validated_ = {
            "C": C,
            "width": width * self._scale.unit,
            "accuracy": float(accuracy[best]),
            "bound": min(bounds, key=lambda bound: bound.value),
        }
        self.accuracy_cost_ = float(accuracy[best] - accuracy[-1])

    def decision_function(self, X: PointsLike) -> Array:
        """Return the values of the machine; positive ones are of the second class."""
        check_is_fitted(self, "machine_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(self.machine_.decision_function(self._scale(X)))

    def predict(self, X: PointsLike) -> AnyArray:
        """Predict classes."""
        check_is_fitted(self, "machine_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        # The machine's own answer, which the bounds count, at a value of 0 as well.
        signs = np.asarray(self.machine_.predict(self._scale(X)))
        return np.asarray(self.classes_[(signs > 0).astype(np.intp)])


def _sorted(bounds: Iterable[tuple[str, Bound]]) -> list[tuple[str, Bound]]:
    return sorted(bounds, key=lambda pair: pair[1].value)


def _errors(machine: SVC, Z: Array, y: Array, L: Array, left: Array) -> int:
    """Count errors on the rows left out; rows of one label predict it, and no rows anything."""
    if len(np.unique(y)) < 2:
        return int(np.sum(left != np.append(y, 1.0)[0]))
    return int(np.sum(machine.fit(Z, y).predict(L) != left))


def _plan(model: CertifiedSVC) -> Plan:
    """Return the graph of standardized rows for ONNX; signs stand for the classes."""
    machine, scale = plan_of(model.machine_), model._scale
    rounded = scale.centre.astype(np.float32).astype(np.float64)

    def write(x: Value) -> Outputs:
        centred = (x - rounded[None]) - (scale.centre - rounded)[None]
        return machine.write(centred * (1.0 / scale.scale)[None])

    Z = machine.Z * scale.scale + scale.centre
    return Plan(model, write, machine.widths, np.asarray(model.classes_), Z, machine.wide)


register({CertifiedSVC: _plan})
