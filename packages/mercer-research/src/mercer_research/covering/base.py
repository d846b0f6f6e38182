"""Upper bounds on covering numbers as values that scale, add and compete, in logarithms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from mercer._params import check_nonnegative
from mercer.risk_bounds import Assumption

# Bounds are compared to the norm of the class with this slack: sums of kernels round.
SLACK = 1e-12

# Shares of the radius tried for the first of two classes.
SHARES = np.linspace(1e-3, 1 - 1e-3, 65)


class Covering(ABC):
    r"""An upper bound on :math:`\ln N(\varepsilon)` for one class of functions, for all radii.

    :math:`N(\varepsilon)` is the smallest number of balls of radius :math:`\varepsilon` that cover
    the class. A subclass defines ``norm``, from which on one ball suffices, and ``_log_covering``
    for smaller radii, which never rises with the radius. It may define ``assumptions`` and
    ``data_dependent``.
    """

    name: str = ""
    assumptions: tuple[Assumption, ...] = ()
    data_dependent: bool = False

    @property
    @abstractmethod
    def norm(self) -> float:
        """A radius at which one ball suffices."""

    def log_covering(self, radius: float) -> float:
        """Return an upper bound on the natural logarithm of the covering number.

        Parameters
        ----------
        radius : float
            Of the balls, positive.
        """
        if not radius > 0:
            raise ValueError(f"radius must be positive, got {radius!r}.")
        return 0.0 if radius >= self.norm * (1 - SLACK) else self._log_covering(radius)

    @abstractmethod
    def _log_covering(self, radius: float) -> float:
        """Return the bound at a positive radius below the norm."""

    def active(self, radius: float) -> str:
        """Return the name of the argument that gives the bound at this radius."""
        return self.name

    def log_entropy(self, log_n: float) -> float:
        r"""Return :math:`\ln\varepsilon` of the smallest radius for which ``exp(log_n)`` balls do.

        That is the entropy number :math:`\varepsilon_n` of the class; by bisection.
        """
        high = np.log(self.norm)

        def excess(log_radius: float) -> float:
            return self.log_covering(float(np.exp(log_radius))) - log_n

        low = high - 1.0
        while excess(low) <= 0:
            low -= 2 * (high - low)
            if low < high - 700:
                return -np.inf
        return float(brentq(lambda t: np.sign(excess(t)) or -1.0, low, high, xtol=1e-13))

    def scaled(self, factor: float) -> Covering:
        """Return the same bound for the class with every function multiplied by a factor."""
        return Scaled(self, abs(factor))

    def __add__(self, other: Covering) -> Covering:
        return Sum(self, other)


@dataclass(frozen=True)
class Derived(Covering):
    """A bound that follows from another, with its name and under its assumptions."""

    covering: Covering

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.covering.name)
        object.__setattr__(self, "assumptions", self.covering.assumptions)
        object.__setattr__(self, "data_dependent", self.covering.data_dependent)


@dataclass(frozen=True)
class Scaled(Derived):
    """A class whose functions are multiplied by a positive factor."""

    factor: float

    def __post_init__(self) -> None:
        check_nonnegative(factor=self.factor)
        super().__post_init__()

    @property
    def norm(self) -> float:
        return self.factor * self.covering.norm

    def _log_covering(self, radius: float) -> float:
        return self.covering.log_covering(radius / self.factor)

    def active(self, radius: float) -> str:
        return self.covering.active(radius / self.factor) if self.factor else self.name


class Best(Covering):
    """The least of several bounds on one class, which says whose it is.

    Examples
    --------
    >>> line = Interval(1.0)
    >>> best = Best([line.scaled(2.0), line])
    >>> float(np.exp(best.log_covering(0.25)))
    4.0
    """

    def __init__(self, coverings: list[Covering]) -> None:
        if not coverings:
            raise ValueError("give at least one bound to choose from")
        self.coverings = tuple(coverings)
        self.name = "best of " + ", ".join(covering.name for covering in coverings)
        self.assumptions = tuple(dict.fromkeys(a for c in coverings for a in c.assumptions))
        self.data_dependent = any(covering.data_dependent for covering in coverings)

    @property
    def norm(self) -> float:
        return min(covering.norm for covering in self.coverings)

    def _log_covering(self, radius: float) -> float:
        return min(covering.log_covering(radius) for covering in self.coverings)

    def active(self, radius: float) -> str:
        return min(self.coverings, key=lambda c: c.log_covering(radius)).active(radius)


class Sum(Covering):
    r"""Sums of a function from each of two classes, the radius shared between them at best.

    .. math:: \ln N(\varepsilon, F_1 + F_2) \le
        \min_\tau\; \ln N(\tau\varepsilon, F_1) + \ln N((1-\tau)\varepsilon, F_2)
    """

    def __init__(self, first: Covering, second: Covering) -> None:
        self.first, self.second = first, second
        self.name = f"{first.name} + {second.name}"
        self.assumptions = tuple(dict.fromkeys(first.assumptions + second.assumptions))
        self.data_dependent = first.data_dependent or second.data_dependent

    @property
    def norm(self) -> float:
        return self.first.norm + self.second.norm

    def _share(self, radius: float) -> tuple[float, float]:
        """Return the best sum and the share of the first class: a scan, then a golden section."""

        def total(share: float) -> float:
            first = self.first.log_covering(share * radius)
            return first + self.second.log_covering((1 - share) * radius)

        totals = [total(share) for share in SHARES]
        best = int(np.argmin(totals))
        low, high = SHARES[max(best - 1, 0)], SHARES[min(best + 1, len(SHARES) - 1)]
        found, share = totals[best], SHARES[best]
        golden = (np.sqrt(5) - 1) / 2
        # Every value tried is a bound, so a search that misses the minimum is loose, not wrong.
        for _ in range(40):
            left, right = high - golden * (high - low), low + golden * (high - low)
            at = total(left), total(right)
            if min(at) < found:
                found, share = min(zip(at, (left, right), strict=True))
            low, high = (low, right) if at[0] <= at[1] else (left, high)
        return found, share

    def _log_covering(self, radius: float) -> float:
        return self._share(radius)[0]

    def active(self, radius: float) -> str:
        share = self._share(radius)[1]
        return f"{self.first.active(share * radius)} + {self.second.active((1 - share) * radius)}"


@dataclass(frozen=True)
class Interval(Covering):
    r"""Constants between -B and B, such as an offset: :math:`\lceil B/\varepsilon\rceil` balls.

    Examples
    --------
    >>> float(np.exp(Interval(1.0).log_covering(0.3)))
    4.0
    """

    largest: float
    name: str = "offset"
    assumptions: tuple[Assumption, ...] = ()
    data_dependent: bool = False

    def __post_init__(self) -> None:
        check_nonnegative(largest=self.largest)

    @property
    def norm(self) -> float:
        return self.largest

    def _log_covering(self, radius: float) -> float:
        return float(np.log(max(1.0, np.ceil(self.largest / radius * (1 - SLACK)))))
