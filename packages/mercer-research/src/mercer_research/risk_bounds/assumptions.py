"""Whether a bound may be quoted after what was done to the rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from mercer import risk_bounds
from mercer._typing import AnyArray, PointsLike, TargetsLike
from mercer.kernels.points import is_sparse
from mercer.risk_bounds import Assumption, Bound, Status
from mercer_research.risk_bounds import concentration, pac_bayes, rademacher
from mercer_research.risk_bounds.duplicates import CopiedRows, find_copies
from mercer_research.risk_bounds.fitted_parts import (
    FittedPart,
    chosen,
    measured,
    parts,
    settings_tried,
    stopped_early,
    title,
)
from mercer_research.risk_bounds.leakage import Seen, learns_nothing, seen

__all__ = ["NEEDS", "Audit", "audit"]

Rows = Literal["training", "held out"]

# What a bound may need of the rows it is computed from. Each becomes one sentence of a report.
NEEDS: dict[Rows, dict[str, str]] = {
    "held out": {
        "fit": "the machine was fitted without the held-out rows",
        "split": "the rows were split before anything was fitted to them",
        "table": "the table was not scaled with the held-out rows",
        "preparation": "the model's transformers were fitted without the held-out rows",
        "features": "the features were chosen without the held-out rows",
        "settings": "the settings were chosen without the held-out rows",
        "independence": "the held-out rows are independent draws, none a copy of another row",
    },
    "training": {
        "table": "the table was not scaled with the training rows",
        "preparation": "the model's transformers were there before the training rows were seen",
        "features": "the features were chosen before the training rows were seen",
        "kernel": "the kernel was fixed before the training rows were seen",
        "settings": "the settings were fixed before the training rows were seen",
        "stopping": "training rows did not decide when to stop",
        "independence": "the training rows are independent draws, none a copy of another row",
    },
}

# What stays to be believed of a topic that is paid for, or done again inside a bound.
STILL_ASSUMED = {
    "features": "no column was left out of the table by looking at the {} rows",
    "settings": "the settings that could have been chosen were fixed before the {} rows were seen",
    "independence": "the {} rows are independent draws once copies are left out",
}

# What bounds say of their rows in general gives way to what is known of each thing.
GENERAL_ASSUMPTIONS = {
    one.text
    for one in (
        risk_bounds.INDEPENDENT,
        risk_bounds.UNSEEN,
        pac_bayes.BEFORE,
        rademacher.BEFORE,
        concentration.INDEPENDENT,
        concentration.BEFOREHAND,
    )
}

# A column is scaled by the rows if its mean or its range is what a scaler makes, to this precision.
SCALING_TOL = 1e-8

# A column of fewer values may have the range of a scaler without one.
MAX_LEVELS = 10


# Of a step of a pipeline that a refit as a whole gives.
PROVED: tuple[Seen, str] = ("training", "is what a refit to the training rows gives")


@dataclass(frozen=True, eq=False)
class Audit:
    """What is known of everything that a bound needs; see :func:`audit`."""

    held_out: dict[str, Assumption]
    """What a bound from held-out rows needs, by topic; empty without such rows."""

    training: dict[str, Assumption]
    """What a bound from training rows needs, by topic."""

    n_settings: float = 1
    """Settings that a search chose from, for all of which a bound must hold; inf: a continuum."""

    copies: CopiedRows | None = None
    """Rows that repeat others."""

    reasons: dict[tuple[str, str], str] = field(default_factory=dict)
    """The evidence for each verdict, by rows and topic."""

    @property
    def distinct(self) -> NDArray[np.bool_]:
        """Training rows that are no copies of earlier ones, (n,)."""
        assert self.copies is not None
        return ~self.copies.train

    @property
    def distinct_test(self) -> NDArray[np.bool_]:
        """Held-out rows that are no copies of training rows or earlier ones, (m,)."""
        assert self.copies is not None
        return ~self.copies.test

    @property
    def findings(self) -> list[str]:
        """What forbids a bound, a sentence each."""
        return [
            f"A bound from {_named(rows)} rows needs that {known.text}."
            for rows, topic, known in self
            if known.status == "violated"
        ]

    def __iter__(self) -> Iterator[tuple[Rows, str, Assumption]]:
        for topic, known in self.held_out.items():
            yield "held out", topic, known
        for topic, known in self.training.items():
            yield "training", topic, known

    def judge(self, bound: Bound, rows: Rows, *, free: Collection[str] = ()) -> Bound:
        """Return a bound together with what is known of everything it needs.

        Parameters
        ----------
        bound : Bound
        rows : {"training", "held out"}
            The rows it was computed from.
        free : collection of str, default=()
            Topics it does not need: ``"settings"`` where the choice is paid for, ``"preparation"``
            where that is done again inside, ``"sizes"`` where the theorem lets norms, radii and
            margins be measured.

        Returns
        -------
        Bound
            Its ``valid`` is false if something it needs is known to be false.
        """
        table = self.held_out if rows == "held out" else self.training
        known = tuple(
            Assumption(STILL_ASSUMED[topic].format(_named(rows))) if topic in free else one
            for topic, one in table.items()
            if topic not in free or topic in STILL_ASSUMED
        )
        own = tuple(one for one in bound.assumptions if one.text not in GENERAL_ASSUMPTIONS)
        if "sizes" not in free:
            known += (_sizes(bound, _named(rows)),)
        return replace(bound, assumptions=(*own, *known))

    def summary(self) -> str:
        """Return what is known as text, a line for each thing that a bound may need."""
        lines, before = [], ""
        for rows, topic, known in self:
            if rows != before:
                lines.append(f"what bounds from {_named(rows)} rows need")
                before = rows
            lines.append(f"  {known.status:>8}  {NEEDS[rows][topic]}")
            lines.append(f"            ({self.reasons[rows, topic]})")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()


def _sizes(bound: Bound, rows: str) -> Assumption:
    """Return whether norms, radii and margins were there before the rows, as a bound says."""
    need = f"norms, radii and margins were fixed before the {rows} rows were seen, or are paid for"
    if bound.data_dependent:
        return Assumption(f"{need}, but some were measured on them", "violated")
    return Assumption(need, "checked")


def _named(rows: str) -> str:
    return "held-out" if rows == "held out" else rows


def audit(
    model: object,
    X: PointsLike,
    y: TargetsLike = None,
    X_test: PointsLike = None,
    y_test: TargetsLike = None,
    *,
    tuned_by: object = (),
) -> Audit:
    r"""Find out what was done to the rows that a bound is to be computed from.

    A bound from held-out rows needs that nothing was fitted, scaled, selected or tuned with them; a
    bound from training rows needs that features, kernel and settings were there before them, or
    that their choice is paid for. Each need gets one of these words:

    "checked"
        Proved from the model at hand. Transformers and machine are fitted again, with the same
        settings and `random_state`, to the training rows, and give the same outputs on training
        rows, held-out rows and rows beside them, and hold the same state, private attributes
        included. So what predicts follows from the settings and the training rows alone.
    "assumed"
        Nothing at hand can prove it: that the rows were split before the fit, that features and
        settings were chosen without the held-out rows, that rows are independent.
    "unknown"
        It was looked into without an answer: a fit without a fixed `random_state`, with weights or
        in another order, an object of another library, a function or a table among the settings.
    "violated"
        Known to be false: held-out rows among the support vectors, a refit to all rows that gives
        the model, a scaler that counted all rows, a search, rows on both sides of the split.

    Parameters
    ----------
    model : fitted estimator, pipeline, search, or result of :func:`mercer.selection.tune`
        What was done before belongs into it: ``make_pipeline(scaler, selector, machine)`` of fitted
        objects need not be fitted again.
    X, y : training rows and their targets
        As the model takes them.
    X_test, y_test : held-out rows and their targets, optional
    tuned_by : search, result of :func:`mercer.selection.tune`, or a list of them
        From which settings of the model were taken, if it is another object than the model.

    Returns
    -------
    Audit

    Notes
    -----
    It costs one more fit of the model, up to 10,000 rows, and three where the first does not agree.

    Examples
    --------
    A scaler that saw all rows, before the split:

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from mercer import SVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> Z = StandardScaler().fit_transform(X)
    >>> machine = SVC(gamma=0.03).fit(Z[:400], y[:400])
    >>> found = audit(machine, Z[:400], y[:400], Z[400:], y[400:])
    >>> found.held_out["table"].status
    'violated'
    >>> found.reasons["held out", "table"]
    'all columns have mean 0 and the same variance over training and held-out rows together'
    >>> found.held_out["fit"].status
    'checked'
    """
    record = _Record(X_test is not None)
    chain = list(parts(model, X, X_test))
    whole = FittedPart("machine", chosen(model), X, X_test)
    # Transformers may hand other rows to the next step while they are fitted than afterwards, so a
    # pipeline is compared as one; its steps are looked at apart if that fails.
    proved = len(chain) > 1 and seen(whole, y, y_test)[0] == "training"
    for part in chain:
        if part.kind == "search":
            record.searched(part.fitted)
            continue
        which, words = PROVED if proved else seen(part, y, y_test)
        if proved and learns_nothing(part.fitted):
            which, words = "nothing", "learns nothing from rows"
        if part.kind == "transformer":
            record.prepared(part, which, words)
        else:
            record.fitted(part, which, words)
    for search in tuned_by if isinstance(tuned_by, list | tuple) else [tuned_by]:
        record.searched(search)
        try:
            *_, machine = parts(getattr(search, "best_estimator_", None), X, X_test)
        except (TypeError, NotFittedError):  # the search kept no fitted machine
            continue
        which, words = seen(machine, y, y_test)
        if which in ("all", "test"):
            phrase = f"{title(search)} chose on them: its {words_of(machine, words)}"
            record.note("held out", "settings", "violated", phrase)
    record.scaled(X, X_test)
    copies = find_copies(X, X_test)
    record.repeated(copies)
    held_out, training = record.tables()
    return Audit(held_out, training, record.n_settings, copies, record.reasons)


def words_of(part: FittedPart, words: str) -> str:
    """Return an object's class and what it shows, as a phrase."""
    return f"{title(part.fitted)} {words}"


class _Record:
    """Evidence as it comes in; the worst that is known of a topic stands."""

    ORDER: tuple[Status, ...] = ("assumed", "checked", "unknown", "violated")

    def __init__(self, held_out: bool) -> None:
        self.held_out = held_out
        self.status: dict[tuple[str, str], Status] = {}
        self.reasons: dict[tuple[str, str], str] = {}
        self.n_settings: float = 1
        self.transformers = 0

    def note(self, rows: Rows, topic: str, status: Status, words: str) -> None:
        if rows == "held out" and not self.held_out:
            return
        known = self.status.get((rows, topic))
        if known is None or self.ORDER.index(status) > self.ORDER.index(known):
            self.status[rows, topic], self.reasons[rows, topic] = status, words

    def prepared(self, part: FittedPart, which: Seen, words: str) -> None:
        """Note to which rows a transformer was fitted."""
        self.transformers += 1
        phrase = words_of(part, words)
        # That a selector saw no held-out row does not say who left columns out before it.
        topic = "features" if _selects(part.fitted) else "preparation"
        if which in ("all", "test"):
            self.note("held out", topic, "violated", phrase)
        else:
            self.note("held out", "preparation", _proved(which), phrase)
        if which == "unknown":
            self.note("training", "preparation", "unknown", phrase)
        elif which == "nothing":
            self.note("training", "preparation", "checked", phrase)
        elif which in ("all", "training"):
            self.note("training", topic, "violated", f"{title(part.fitted)} was fitted to them")

    def fitted(self, part: FittedPart, which: Seen, words: str) -> None:
        """Note to which rows the machine was fitted, and what it measured on them."""
        phrase = words_of(part, words)
        self.note("held out", "fit", _proved(which), phrase)
        if which in ("all", "test") and self.n_settings > 1:
            self.note("held out", "settings", "violated", f"the search had the same rows: {phrase}")
        if words_measured := measured(part.fitted):
            self.note(
                "training",
                "kernel",
                "violated",
                f"{' and '.join(words_measured)} of {title(part.fitted)} was measured on them",
            )
        if stopped_early(part.fitted):
            phrase = f"{title(part.fitted)} held some of its rows out to decide when to stop"
            self.note("training", "stopping", "violated", phrase)

    def searched(self, search: object) -> None:
        """Note that settings were chosen."""
        tried = settings_tried(search)
        if tried is None:
            return
        self.n_settings *= tried
        many = "a continuum of" if np.isinf(tried) else f"{tried:d}"
        self.note(
            "training", "settings", "violated", f"{title(search)} chose among {many} settings"
        )

    def scaled(self, X: PointsLike, X_test: PointsLike) -> None:
        """Note whether the rows carry the marks of a scaler."""
        if is_sparse(X) or np.asarray(X).dtype.kind != "f" or np.ndim(X) != 2:
            return
        own = _scaler_of(np.asarray(X))
        if own:
            self.note("training", "table", "violated", f"{own} over the training rows")
        if X_test is not None and not own:
            both = _scaler_of(np.concatenate([np.asarray(X), np.asarray(X_test)]))
            if both:
                phrase = f"{both} over training and held-out rows together"
                self.note("held out", "table", "violated", phrase)
                self.note("training", "table", "violated", phrase)

    def repeated(self, copies: CopiedRows) -> None:
        """Note rows that occur twice."""
        n = int(copies.train.sum())
        self.note(
            "training",
            "independence",
            "violated" if n else "assumed",
            f"{n} training rows are copies of others" if n else "no training row is a copy",
        )
        again = int(copies.test.sum()) - copies.crossing
        if copies.crossing:
            words = f"{copies.crossing} held-out rows are copies of training rows"
        elif copies.unlikely:
            words = (
                f"{copies.chance} held-out rows equal a training row, where {copies.expected:.0f} "
                "would in a split at random"
            )
        elif again:
            words = f"{again} held-out rows are copies of other held-out rows"
        else:
            words = "no held-out row is a copy of another row"
            if copies.chance:
                words += (
                    f"; {copies.chance} equal a training row, as chance has it with these values"
                )
        bad = copies.crossing or copies.unlikely or again
        self.note("held out", "independence", "violated" if bad else "assumed", words)

    def tables(self) -> tuple[dict[str, Assumption], dict[str, Assumption]]:
        """Return what is known of every topic."""
        if not self.transformers:
            for rows in NEEDS:
                self.note(rows, "preparation", "checked", "there is none beside the machine")
        for rows, needs in NEEDS.items():
            for topic in needs if rows == "training" or self.held_out else ():
                self.note(rows, topic, "assumed", "nothing found speaks against it")
        made: dict[str, dict[str, Assumption]] = {"held out": {}, "training": {}}
        for rows, needs in NEEDS.items():
            for topic, need in needs.items():
                status = self.status.get((rows, topic))
                if status is not None:
                    but = f", but {self.reasons[rows, topic]}" if status == "violated" else ""
                    made[rows][topic] = Assumption(need + but, status)
        return made["held out"], made["training"]


def _proved(which: Seen) -> Status:
    """Return what is known of "without the held-out rows"."""
    if which in ("all", "test"):
        return "violated"
    return "unknown" if which == "unknown" else "checked"


def _selects(transformer: object) -> bool:
    """Return whether a transformer chooses among the columns."""
    return hasattr(transformer, "get_support")


def _scaler_of(X: AnyArray) -> str:
    """Return which scaler the columns look like the work of, empty for none."""
    X = np.asarray(X, dtype=np.float64)
    X = X[:, [len(np.unique(column)) > MAX_LEVELS for column in X.T]]
    if not X.shape[1] or len(X) < 3 or not np.isfinite(X).all():
        return ""
    means, variances = X.mean(axis=0), X.var(axis=0)
    if np.all(np.abs(means) < SCALING_TOL * np.sqrt(variances)):
        # Squares that add up to the number of rows, to one less, or to one.
        for size in (len(X), len(X) - 1, 1):
            if np.all(np.abs(variances * len(X) / size - 1) < SCALING_TOL):
                return "all columns have mean 0 and the same variance"
    low, high = X.min(axis=0), X.max(axis=0)
    for a in (0.0, -1.0):
        if np.all(np.abs(low - a) < SCALING_TOL) and np.all(np.abs(high - 1) < SCALING_TOL):
            return f"all columns range from {a:g} to 1"
    return ""
