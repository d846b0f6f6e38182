"""What a bound says, what it rests on, and whether it says anything at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

Status = Literal["given", "checked", "assumed", "unknown", "violated"]


@dataclass(frozen=True)
class Assumption:
    """One thing a bound rests on, and how we know it.

    Parameters
    ----------
    text : str
        A sentence without its full stop, "the norm was bounded before the data were seen".
    status : {"given", "checked", "assumed", "unknown", "violated"}
        Told by the caller, proved from what is at hand, taken on trust since nothing at hand can
        prove it, looked into without an answer, or known to be false.

    Examples
    --------
    >>> print(Assumption("the loss lies in [0, 1]", "checked"))
    the loss lies in [0, 1] (checked)
    """

    text: str
    status: Status = "assumed"

    def __str__(self) -> str:
        return f"{self.text} ({self.status})"


# What a bound for a whole class of functions rests on; an audit looks into both.
INDEPENDENT = Assumption("rows are drawn independently from one distribution")
BEFOREHAND = Assumption("the class of functions was fixed before the rows were seen")


@dataclass(frozen=True)
class Constant:
    """A number inside a bound, and where it comes from.

    Examples
    --------
    >>> print(Constant(36.0, "exponent of the inequality for real-valued classes"))
    36 (exponent of the inequality for real-valued classes)
    """

    value: float
    origin: str

    def __str__(self) -> str:
        return f"{self.value:g} ({self.origin})"


@dataclass(frozen=True)
class Bound:
    """A bound with everything that is needed to quote it.

    Parameters
    ----------
    value : float
        The bound itself: a risk, a deviation, a probability or a number of rows.
    method : str
        Which argument gave it, in words: "binomial tail on held-out rows".
    trivial : float
        What is known without any theory, such as 1 for an error rate, or the majority class's
        rate. A bound at or above it says nothing.
    log_covering : float, optional
        Natural logarithm of the covering number inside, where there is one.
    constants : mapping of str to Constant
    assumptions : tuple of Assumption
    data_dependent : bool
        Whether quantities measured on the sample went in that the theorem wants fixed before.

    Examples
    --------
    >>> bound = Bound(0.083, "binomial tail on held-out rows", trivial=0.37)
    >>> bound.vacuous, bound.valid
    (False, True)
    >>> Bound(-0.778, "a norm below zero").vacuous
    True
    >>> print(bound)
    at most 0.083, by binomial tail on held-out rows
    >>> print(Bound(3.2, "Rademacher complexity", trivial=0.37))
    says nothing (3.2, where 0.37 is known without it), by Rademacher complexity
    >>> print(Bound(0.083, "binomial tail", assumptions=(Assumption("rows are independent"),)))
    at most 0.083, by binomial tail, assuming that rows are independent
    """

    value: float
    method: str
    trivial: float = np.inf
    log_covering: float | None = None
    constants: Mapping[str, Constant] = field(default_factory=dict)
    assumptions: tuple[Assumption, ...] = ()
    data_dependent: bool = False

    @property
    def vacuous(self) -> bool:
        """Whether it adds nothing to what is known without it.

        True of a value that is not below ``trivial``, of one that is no bound (negative or NaN),
        and of a bound that is not ``valid``.
        """
        return not (self.valid and 0 <= self.value < self.trivial)

    @property
    def valid(self) -> bool:
        """Whether nothing it rests on is known to be false."""
        return all(assumption.status != "violated" for assumption in self.assumptions)

    @property
    def rests_on(self) -> tuple[Assumption, ...]:
        """What it rests on without proof: everything assumed or unknown."""
        return tuple(one for one in self.assumptions if one.status in ("assumed", "unknown"))

    def __str__(self) -> str:
        if not self.valid:
            broken = next(a.text for a in self.assumptions if a.status == "violated")
            return f"may not be quoted, by {self.method}: it needs that {broken}"
        if not self.value >= 0:
            return f"may not be quoted, by {self.method}: its value is {self.value:.3g}"
        if self.vacuous:
            known = f"{self.value:.3g}, where {self.trivial:.3g} is known without it"
            return f"says nothing ({known}), by {self.method}"
        return f"at most {self.value:.3g}, by {self.method}{conditions(self.rests_on)}"


def conditions(unproved: tuple[Assumption, ...]) -> str:
    """Return what a bound rests on without proof, as the end of its sentence.

    Examples
    --------
    >>> conditions((Assumption("A"), Assumption("B"), Assumption("C", "unknown")))
    ', assuming that A and B, and if C, which is unknown'
    """
    assumed = [one.text for one in unproved if one.status == "assumed"]
    unknown = [one.text for one in unproved if one.status == "unknown"]
    words = f", assuming that {_listed(assumed)}" if assumed else ""
    if unknown:
        words += f",{' and' if assumed else ''} if {_listed(unknown)}, which is unknown"
    return words


def _listed(texts: list[str]) -> str:
    *rest, last = texts
    return f"{', '.join(rest)} and {last}" if rest else last
