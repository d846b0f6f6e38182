"""What an experiment returns: claims with the range that counts as agreement, and why."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

ANYTHING = (-np.inf, np.inf)
POSSIBLE = {
    r"\bshare\b|p-value|probability": (0.0, 1.0),
    r"in per ?cent|, per ?cent|% SV|\baccuracy\b": (0.0, 100.0),
    r"\bcorrelation\b": (-1.0, 1.0),
}
"""Values that a number can take whatever a machine does, by the words of its claim."""

WIDEST = 4.0
"""Largest quotient of the ends of a range: 60 per cent to each side, or a factor of two."""

LARGEST_PART = 0.5
"""Largest part of all possible values that may agree with a reference: half of them."""


@dataclass(frozen=True)
class Claim:
    """A number, what it should be, and how far it may be from there."""

    what: str
    """The claim in words, short enough for a table."""

    ours: float

    low: float
    high: float
    """The ends of the range that counts as agreement."""

    why: str
    """Where the range comes from."""

    reference: float | None = None
    """The number to compare with, if there is one; a claim of order has none."""

    printed: bool = False
    """Whether the source prints that number; else it was computed independently of this library."""

    must: bool = True
    """Whether the experiment fails without it; else it is only told that it was not reproduced."""

    possible: tuple[float, float] | None = None
    """The values that the number can take, where its words do not say them (:data:`POSSIBLE`)."""

    trivial: float | None = None
    """What a predictor gives that has learned nothing, such as the most frequent class."""

    @property
    def holds(self) -> bool:
        return bool(self.low <= self.ours <= self.high)

    @property
    def judged(self) -> bool:
        """Whether there is a range; else the number is recorded only."""
        return bool(np.isfinite(self.low) or np.isfinite(self.high))

    @property
    def values(self) -> tuple[float, float]:
        """The smallest and the largest value that the number can take."""
        if self.possible is not None:
            return self.possible
        found = (ends for words, ends in POSSIBLE.items() if re.search(words, self.what))
        return next(found, ANYTHING)

    @property
    def certain(self) -> str:
        """Why nothing that can come out lies outside the range; empty if something does."""
        least, most = self.values
        if not self.judged:
            return ""
        if -np.inf < self.low < least or most < self.high < np.inf:
            return f"the range goes beyond the possible values, {least:g} to {most:g}"
        if self.low <= least and self.high >= most:
            return f"every possible value agrees, {least:g} to {most:g}"
        return ""

    @property
    def vacuous(self) -> str:
        """Why the range says nothing, since it cannot fail or hardly can; empty if it says some."""
        least, most = self.values
        if self.certain or not self.judged:
            return self.certain
        if self.trivial is not None and self.low <= self.trivial <= self.high:
            return f"a predictor that has learned nothing agrees, with {self.trivial:.4g}"
        if self.reference is None and not (np.isfinite(self.low) and np.isfinite(self.high)):
            return ""  # a bound, not an estimate
        low, high = max(self.low, least), min(self.high, most)
        if high - low > LARGEST_PART * (most - least):
            return "more than half of the possible values agree"
        if high == most or self.reference == 0.0:
            return ""  # a quotient says nothing beside an upper end or around zero
        if np.isfinite(least) and low == least and self.reference is not None:
            wide = high - least > WIDEST * (self.reference - least)
            return f"the upper end is more than {WIDEST:g} times the reference" if wide else ""
        near, far = sorted((abs(low), abs(high)))
        if low * high <= 0.0 or far > WIDEST * near * (1.0 + 1e-9):
            return f"one end is more than {WIDEST:g} times the other"
        return ""


def near(
    what: str, ours: float, reference: float, tolerance: float, why: str, **options: Any
) -> Claim:
    """Return the claim that a number is within ``tolerance`` of a reference.

    The range ends where the possible values end: a share of 0.95 to within 0.1 is at least 0.85.
    """
    low, high = reference - tolerance, reference + tolerance
    claim = Claim(what, float(ours), low, high, why, reference, **options)
    least, most = claim.values
    return replace(claim, low=max(low, least), high=min(high, most))


def at_most(what: str, ours: float, high: float, why: str, **options: Any) -> Claim:
    return Claim(what, float(ours), -np.inf, high, why, **options)


def at_least(what: str, ours: float, low: float, why: str, **options: Any) -> Claim:
    return Claim(what, float(ours), low, np.inf, why, **options)


def within_factor(what: str, ours: float, reference: float, why: str, **options: Any) -> Claim:
    """Return the claim that a number is within a factor of two, the widest range that is judged."""
    factor = float(np.sqrt(WIDEST))
    why = f"a factor of two, the widest range that is judged: {why}"
    low, high = reference / factor, reference * factor
    return Claim(what, float(ours), low, high, why, reference, **options)


def recorded(what: str, ours: float, why: str, **options: Any) -> Claim:
    """Return a number that is told beside its reference and not judged."""
    return Claim(what, float(ours), *ANYTHING, why, must=False, **options)


def recorded_if_wide(claim: Claim) -> Claim:
    """Return a claim, or only its number where the range is too wide to say anything.

    For ranges that follow from standard errors: with few runs they can include nearly everything.
    """
    if not (reason := claim.vacuous):
        return claim
    why = f"{claim.why}; too wide a range to judge: {reason}"
    return replace(claim, low=-np.inf, high=np.inf, must=False, why=why)


def filled(low: float | None, high: float | None) -> tuple[float, float]:
    """Return the ends of a range, of which those that JSON cannot hold are null."""
    return -np.inf if low is None else low, np.inf if high is None else high


@dataclass(frozen=True)
class Result:
    """The claims of an experiment, and the numbers of its figure."""

    title: str
    source: str
    """Figure, table or example of the document, or the data."""

    settings: str
    """What was done, with everything that the document leaves open."""

    claims: list[Claim]
    data: dict[str, Any] = field(default_factory=dict)
    revised: str = ""
    """What was changed after numbers had been seen, and what the first version gave."""

    note: str = ""
    """Why a printed figure cannot come out, in one short sentence."""

    @property
    def failures(self) -> list[Claim]:
        return [claim for claim in self.claims if claim.must and not claim.holds]

    @property
    def tally(self) -> str:
        """How many of the claims that are judged hold, and how many numbers are recorded only."""
        judged = [claim for claim in self.claims if claim.judged]
        more = len(self.claims) - len(judged)
        count = f"{sum(claim.holds for claim in judged)} of {len(judged)}"
        return f"{count}, {more} recorded" if more else count

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold: infinite ends of ranges become null."""
        record = asdict(self)
        for claim in record["claims"]:
            for end in ("low", "high"):
                claim[end] = claim[end] if np.isfinite(claim[end]) else None
            if claim["possible"] is None:
                del claim["possible"]
            else:
                claim["possible"] = [v if np.isfinite(v) else None for v in claim["possible"]]
            if claim["trivial"] is None:
                del claim["trivial"]
        return record

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Result:
        def whole(claim: dict[str, Any]) -> Claim:
            low, high = filled(claim["low"], claim["high"])
            possible = claim.get("possible")
            more = {"low": low, "high": high}
            return Claim(**claim | more | ({"possible": filled(*possible)} if possible else {}))

        return cls(**record | {"claims": [whole(claim) for claim in record["claims"]]})


class MissingDataError(Exception):
    """The data of an experiment are not on this machine; the message says where they belong."""
