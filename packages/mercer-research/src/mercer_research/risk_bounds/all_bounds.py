"""All bounds that a fitted machine admits, each judged by the audit: the ladder of a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from mercer._params import check_positive
from mercer._sklearn import safe_indexing
from mercer._typing import AnyArray, Array, Estimator, PointsLike, SplitterLike
from mercer.risk_bounds import (
    Assumption,
    Bound,
    cross_validated_estimate,
    held_out_bound,
    majority_error,
)
from mercer_research.risk_bounds.assumptions import Audit
from mercer_research.risk_bounds.certified_svc import CertifiedSVC
from mercer_research.risk_bounds.fitted_parts import FittedPart, chosen, innermost, title
from mercer_research.risk_bounds.pac_bayes import (
    randomized_machine_bound,
    randomized_regression_bound,
)
from mercer_research.risk_bounds.rademacher import rademacher_margin_bound
from mercer_research.risk_bounds.sample_compression import compression_bound
from mercer_research.risk_bounds.weight_vector import Weights, weights_of

__all__ = ["ReportSample", "Rung", "known_without", "ladder"]


# Bounds from the training rows of a classifier and of a regressor; they share delta, so that the
# least of them may be quoted.
N_CLASSIFIER_BOUNDS, N_REGRESSOR_BOUNDS = 4, 2

# What is done again when a machine is refitted to few rows need not have been there before.
REFITTED = frozenset({"preparation", "features", "kernel", "stopping"})

# What a machine that certifies itself did with its own rows is paid for.
CERTIFIED = REFITTED | {"settings"}

# A machine is one point of a ball, however its C or its stopping time were chosen.
STOPPED = frozenset({"stopping"})

# Rows up to which cross-validation costs seconds.
MAX_ROWS_FOLDED = 2000


@dataclass(frozen=True)
class Rung:
    """One way to bound a risk: its name, and the bound or why there is none.

    Parameters
    ----------
    name : str
    rows : {"held out", "training", "none"}
        The rows that it was computed from.
    bound : Bound, optional
    why : str, default=""
        One sentence: what it cost to keep, or why it is refused or not there.
    """

    name: str
    rows: str
    bound: Bound | None = None
    why: str = ""

    @property
    def status(self) -> str:
        """One of "holds", "unproved", "says nothing", "estimate", "refused" and "not there".

        "holds" rests on nothing but what is proved, given or assumed; "unproved" on something that
        was looked into and is unknown.
        """
        if self.bound is None:
            return "not there"
        if self.rows == "none":
            return "estimate"
        if not self.bound.valid:
            return "refused"
        if self.bound.vacuous:
            return "says nothing"
        unknown = any(one.status == "unknown" for one in self.bound.assumptions)
        return "unproved" if unknown else "holds"


@dataclass(frozen=True, eq=False)
class ReportSample:
    """Training rows, and held-out rows if there are any."""

    X: PointsLike
    y: AnyArray
    X_test: PointsLike = None
    y_test: AnyArray | None = None


def ladder(
    model: object,
    sample: ReportSample,
    found: Audit,
    *,
    delta: float = 0.05,
    largest: float | None = None,
    cv: SplitterLike = "auto",
    random_state: int = 0,
) -> list[Rung]:
    """Return all bounds that a fitted model admits, those to be quoted first.

    Bounds from training rows hold together with probability at least 1 - delta, each having its
    part of it, so that the least of them may be quoted; the bound from held-out rows has a delta of
    its own.

    Parameters
    ----------
    model : fitted classifier or regressor
    sample : Sample
    found : Audit
    delta : float, default=0.05
    largest : float, optional
        Of a regressor: errors above it count as so large. By default the range of the training
        targets, which was not known before the training rows.
    cv : int, splitter, "auto" or None, default="auto"
        "auto" is 5 folds up to 2,000 rows.
    random_state : int, default=0
        Draws the half of the rows that a prior is fitted to.
    """
    if largest is not None:
        check_positive(largest=largest)
    made = _Ladder(model, sample, found, delta, largest, random_state)
    rungs = [made.held_out()] if sample.X_test is not None else [_no_rows()]
    if cv == "auto" and len(sample.y) > MAX_ROWS_FOLDED:
        rungs.append(_too_many(len(sample.y)))
    elif cv is not None:
        rungs.append(made.estimate(5 if cv == "auto" else cv))
    return [*rungs, *made.training()]


def known_without(y: AnyArray, largest: float | None) -> float:
    """Return the error of the most frequent class, or of the median with errors clipped."""
    if largest is None:
        return majority_error(y)
    return float(np.minimum(np.abs(y - np.median(y)), largest).mean())


def _no_rows() -> Rung:
    return Rung(
        "held-out rows", "held out", None, "No held-out rows were given: they give the best bound."
    )


def _too_many(n: int) -> Rung:
    why = f"Left out, since {n} rows take five long fits; cv=5 asks for it."
    return Rung("cross-validation", "none", None, why)


class _Ladder:
    def __init__(
        self,
        model: object,
        sample: ReportSample,
        found: Audit,
        delta: float,
        largest: float | None,
        random_state: int,
    ) -> None:
        self.chosen = chosen(model)
        self.sample, self.found, self.delta = sample, found, delta
        self.classifies = bool(is_classifier(self.chosen))
        self.told = largest is not None
        self.largest = None if self.classifies else largest or float(np.ptp(sample.y))
        self.random_state = random_state
        # Of equal training rows the first stands for all.
        self.rows = np.flatnonzero(found.distinct)
        self.y = sample.y[self.rows]
        self.known = known_without(sample.y, self.largest)

    def held_out(self) -> Rung:
        """Return the bound from held-out rows, copies left out."""
        s, kept, copies_found = self.sample, self.found.distinct_test, self.found.copies
        copies = int((~kept).sum())
        free, why = set(), ""
        assert s.y_test is not None
        assert copies_found is not None
        if copies and kept.any() and not copies_found.unlikely:
            free, why = {"independence"}, f"{copies} copies among the held-out rows were left out."
        else:
            kept = np.ones(len(kept), dtype=bool)
        rows = np.flatnonzero(kept)
        bound = held_out_bound(
            self.chosen,
            safe_indexing(s.X_test, rows),
            s.y_test[rows],
            delta=self.delta,
            largest=self.largest,
        )
        bound = self.found.judge(replace(bound, trivial=self.known), "held out", free=free)
        return Rung("held-out rows", "held out", bound, self._refusal(bound) or why)

    def estimate(self, cv: SplitterLike) -> Rung:
        """Return the cross-validated error, an estimate without a guarantee."""
        s = self.sample
        bound = cross_validated_estimate(self.chosen, s.X, s.y, cv=cv, largest=self.largest)
        why = "An estimate: no theorem says how far it is off."
        if self.found.n_settings > 1:
            why = "An estimate, too small since settings were chosen by the same rows."
        return Rung("cross-validation", "none", bound, why)

    def training(self) -> Iterator[Rung]:
        """Yield bounds from the training rows, copies left out."""
        count = N_CLASSIFIER_BOUNDS if self.classifies else N_REGRESSOR_BOUNDS
        n = self.found.n_settings
        paid: frozenset[str] = frozenset({"settings"}) if np.isfinite(n) else frozenset()
        self.choices = count * n if paid else count
        self.notes = [f"Paid for {n:.0f} settings of the search."] if paid and n > 1 else []
        machine = innermost(self.chosen, self.sample.X)
        if copies := int((~self.found.distinct).sum()):
            self.notes.append(f"{copies} copies among the training rows were left out.")
            paid |= {"independence"}
        if isinstance(self.chosen, CertifiedSVC):
            # Its bounds hold for the rows as they came, each with its part of its own delta.
            self.notes = [f"It holds with all others of {title(self.chosen)} together."]
            for name, bound in self.chosen.bounds_.items():
                yield self._judged(name, bound, CERTIFIED)
            return
        yield self._rung("compression", lambda: self._compressed(machine), REFITTED | paid)
        try:
            weights = weights_of(machine.fitted)
            Z = np.asarray(safe_indexing(machine.X, self.rows), dtype=float)
        except (AttributeError, ValueError, TypeError):
            yield Rung(
                "PAC-Bayes, margins",
                "training",
                None,
                "There are none for machines that are not one function of a kernel.",
            )
            return
        if not self.classifies:
            yield self._rung("PAC-Bayes", lambda: self._regression(weights, Z), STOPPED | paid)
            return
        signs = np.where(self.y == self.chosen.classes_[1], 1.0, -1.0)
        margins = weights.margins(Z, signs)
        how: dict[str, Any] = {
            "delta": self.delta,
            "choices": self.choices,
            "trivial": self.known,
        }
        ways: dict[str, Callable[[], Bound]] = {
            "PAC-Bayes, prior from half": lambda: self._half(machine.fitted, weights, Z, margins),
            "PAC-Bayes, prior 0": lambda: randomized_machine_bound(margins, **how),
            "Rademacher margin": lambda: rademacher_margin_bound(margins, size=1.0, **how),
        }
        for name, make in ways.items():
            yield self._rung(name, make, STOPPED | paid)

    def _rung(self, name: str, make: Callable[[], Bound], free: frozenset[str]) -> Rung:
        try:
            bound = make()
        except (ValueError, IndexError) as error:
            words = str(error)
            return Rung(name, "training", None, words[:1].upper() + words[1:] + ".")
        return self._judged(name, bound, free)

    def _judged(self, name: str, bound: Bound, free: frozenset[str]) -> Rung:
        bound = self.found.judge(replace(bound, trivial=self.known), "training", free=free)
        notes = [*_refit(bound), *self.notes]
        return Rung(name, "training", bound, self._refusal(bound) or " ".join(notes))

    @staticmethod
    def _refusal(bound: Bound) -> str:
        broken = [a.text for a in bound.assumptions if a.status == "violated"]
        return f"It needs that {broken[0]}." if broken else ""

    def _compressed(self, machine: FittedPart) -> Bound:
        if not _carried(machine):
            raise ValueError(
                "these rows are not those, in this order, that the machine was made of"
            )
        model, X = self.chosen, self.sample.X
        if len(self.rows) < len(self.sample.y):
            X = safe_indexing(X, self.rows)
            model = clone(model).fit(X, self.y)
        bound = compression_bound(
            model,
            X,
            self.y,
            delta=self.delta,
            choices=self.choices,
            largest=self.largest,
        )
        return self._clipped(bound)

    def _regression(self, weights: Weights, Z: PointsLike) -> Bound:
        assert self.largest is not None
        bound = randomized_regression_bound(
            weights, Z, self.y, largest=self.largest, delta=self.delta, choices=self.choices
        )
        return self._clipped(bound)

    def _clipped(self, bound: Bound) -> Bound:
        """Return a bound on clipped errors with what is known of the clip."""
        if self.classifies:
            return bound
        clip = Assumption(
            f"errors are clipped at {self.largest:.3g}, fixed before the training rows were seen"
            + ("" if self.told else ", but it is their range (give largest)"),
            "given" if self.told else "violated",
        )
        return replace(bound, assumptions=(*bound.assumptions, clip))

    def _half(self, machine: Estimator, weights: Weights, Z: PointsLike, margins: Array) -> Bound:
        """Return the bound whose prior is the same machine of one half, counted on the other."""
        n = len(margins)
        order = np.random.default_rng(self.random_state).permutation(n)
        first, second = np.sort(order[: n // 2]), np.sort(order[n // 2 :])
        prior = clone(machine).fit(Z[first], self.y[first])
        return randomized_machine_bound(
            margins[second],
            cosine=weights.cosine(weights_of(prior)),
            delta=self.delta,
            choices=self.choices,
            trivial=self.known,
        )


def _refit(bound: Bound) -> list[str]:
    """Return which machine compression bounds, in words."""
    if "agreement" not in bound.constants:
        return []
    kept, agreement = (bound.constants[name].value for name in ("kept", "agreement"))
    rows = f"the {kept:.0f} rows that carry it"
    return [
        f"Of the machine refitted to {rows}, the same on {100 * agreement:.3g} % of the others."
    ]


def _carried(machine: FittedPart) -> bool:
    """Return whether the support vectors of a machine are the rows that it numbers."""
    index, vectors = (
        getattr(machine.fitted, name, None) for name in ("support_", "support_vectors_")
    )
    if index is None or not isinstance(vectors, np.ndarray) or not vectors.size:
        return True
    X = np.asarray(machine.X, dtype=float)
    return bool(np.max(index, initial=-1) < len(X) and np.allclose(X[index], vectors))
