"""What an experiment returns: claims with the range that counts as agreement, and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np


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
    """Whether the experiment fails without it; else the number is told for the record."""

    @property
    def holds(self) -> bool:
        return bool(self.low <= self.ours <= self.high)


def near(
    what: str, ours: float, reference: float, tolerance: float, why: str, **options: Any
) -> Claim:
    """Return the claim that a number is within ``tolerance`` of a reference."""
    return Claim(
        what, float(ours), reference - tolerance, reference + tolerance, why, reference, **options
    )


def at_most(what: str, ours: float, high: float, why: str, **options: Any) -> Claim:
    return Claim(what, float(ours), -np.inf, high, why, **options)


def at_least(what: str, ours: float, low: float, why: str, **options: Any) -> Claim:
    return Claim(what, float(ours), low, np.inf, why, **options)


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
    gallery: str = ""
    """The example that draws it."""

    revised: str = ""
    """What was changed after numbers had been seen, and what the first version gave."""

    @property
    def failures(self) -> list[Claim]:
        return [claim for claim in self.claims if claim.must and not claim.holds]

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold: infinite ends of ranges become null."""
        record = asdict(self)
        for claim in record["claims"]:
            for end in ("low", "high"):
                claim[end] = claim[end] if np.isfinite(claim[end]) else None
        return record

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Result:
        ends = {"low": -np.inf, "high": np.inf}
        claims = [
            Claim(**claim | {e: v if claim[e] is None else claim[e] for e, v in ends.items()})
            for claim in record["claims"]
        ]
        return cls(**record | {"claims": claims})


class MissingDataError(Exception):
    """The data of an experiment are not on this machine; the message says where they belong."""
