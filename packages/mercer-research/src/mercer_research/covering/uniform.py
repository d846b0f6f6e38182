r"""Uniform convergence: how far risks on a sample may lie from true ones, for a whole class.

All statements have one form. With probability at least :math:`1 - \delta`, no function of the class
deviates by more than :math:`\varepsilon`, where

.. math:: \delta = c\, m^a\; N(\varepsilon / s)\; \exp(-(\varepsilon / B)^\beta\, m / r).

An :class:`Inequality` holds the constants; it is solved for the probability, the deviation or the
number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from mercer._params import check_integer, check_nonnegative, check_positive
from mercer.risk_bounds import Assumption, Bound, Constant, some_samples
from mercer_research.covering.base import Covering
from mercer_research.risk_bounds.concentration import BEFOREHAND, INDEPENDENT

__all__ = [
    "Entropies",
    "FiniteClass",
    "Inequality",
    "binary_classes",
    "finite_classes",
    "one_function",
    "real_valued_classes",
    "sample_entropies",
    "squared_errors",
    "zero_training_error",
]

# A covering number, or covering numbers on so many points.
Coverings = Covering | Callable[[int], Covering]

# Where a class is so rich that no number of rows suffices, the search for one ends here.
LARGEST = 2**62


@dataclass(frozen=True)
class FiniteClass(Covering):
    r"""A class of so many functions, or of so many sign patterns on a sample, at all radii.

    Parameters
    ----------
    log_count : float
        Natural logarithm of the number of functions.

    Examples
    --------
    >>> round(float(np.exp(FiniteClass(np.log(30)).log_covering(0.1))), 9)
    30.0
    """

    log_count: float
    name: str = "number of functions"

    def __post_init__(self) -> None:
        if not self.log_count >= 0:
            raise ValueError(
                f"log_count must be the logarithm of at least one function, got {self.log_count!r}."
            )

    @property
    def norm(self) -> float:
        return 0.0 if self.log_count == 0 else np.inf

    def _log_covering(self, radius: float) -> float:
        return self.log_count

    def log_entropy(self, log_n: float) -> float:
        return -np.inf if log_n >= self.log_count else np.inf


@dataclass(frozen=True)
class Inequality:
    r"""An inequality of uniform convergence, by its constants.

    .. math:: \Pr\{\exists f:\ \text{deviation}(f) > \varepsilon\} \le c\, m^a\;
        N(\varepsilon / s)\; \exp(-(\varepsilon / B)^\beta\, m / r), \qquad
        m \ge \ell\, (B / \varepsilon)^\beta

    Parameters
    ----------
    name : str
        Whose inequality it is.
    factor, degree : float
        c and a.
    shrink : float
        s, by which the radius of the covering is smaller than the deviation.
    rate : float
        r; the smaller, the sharper.
    power : {2, 1}
        :math:`\beta`: 2 in general, 1 where no function errs on the sample.
    least : float
        :math:`\ell`. Below that many rows nothing is said.
    largest : float
        B: losses lie in [0, B].
    copies : int
        The class is covered on ``copies * n_samples`` points: 2 where a second sample is imagined.
    assumptions : tuple of Assumption

    Notes
    -----
    A covering is a :class:`Covering`, or a function that returns one for a number of points, such
    as :class:`GrowthFunction`. Expected covering numbers are meant, so that a covering measured on
    the very sample makes the bound ``data_dependent``, and logarithms may not be averaged.

    Examples
    --------
    How far may error rates of 1000 classifiers be off, and how many rows make that 0.01?

    >>> classifiers = FiniteClass(np.log(1000))
    >>> print(finite_classes().width(classifiers, n_samples=10_000, delta=0.05))
    at most 0.023, by Hoeffding for finite classes, covered by number of functions, assuming
    that rows are drawn independently from one distribution and the class of functions was fixed
    before the rows were seen
    >>> finite_classes().sample_size(classifiers, radius=0.01, delta=0.05).value
    52984.0
    """

    name: str
    factor: float
    rate: float
    shrink: float = 1.0
    degree: float = 0.0
    power: float = 2.0
    least: float = 0.0
    largest: float = 1.0
    copies: int = 2
    assumptions: tuple[Assumption, ...] = (INDEPENDENT, BEFOREHAND)

    def __post_init__(self) -> None:
        check_positive(factor=self.factor, rate=self.rate, shrink=self.shrink, power=self.power)
        check_nonnegative(degree=self.degree, least=self.least, largest=self.largest)
        check_integer("copies", self.copies, 1)

    def log_probability(self, covering: Coverings, n_samples: int, radius: float) -> float:
        """Return the logarithm of the right-hand side, which may be positive."""
        cover = _on(covering, self.copies * n_samples)
        exponent = (radius / self.largest) ** self.power * n_samples / self.rate
        log_factor = np.log(self.factor) + self.degree * np.log(n_samples)
        return float(log_factor + cover.log_covering(radius / self.shrink) - exponent)

    def probability(self, covering: Coverings, n_samples: int, radius: float) -> Bound:
        """Bound the probability that some function deviates by more than a radius."""
        _check(n_samples=n_samples, radius=radius)
        enough = n_samples >= self.least * (self.largest / radius) ** self.power
        log_value = self.log_probability(covering, n_samples, radius) if enough else 0.0
        # Beyond 1 the value only says that it is vacuous; far beyond it would overflow.
        value = float(np.exp(min(log_value, 700.0)))
        return self._bound(value, 1.0, covering, n_samples, radius)

    def width(self, covering: Coverings, n_samples: int, delta: float = 0.05) -> Bound:
        r"""Bound the deviation of all functions with probability :math:`1 - \delta`."""
        _check(n_samples=n_samples, delta=delta)
        cover, target = _on(covering, self.copies * n_samples), float(np.log(delta))

        def fails(log_radius: float) -> bool:
            return self.log_probability(cover, n_samples, float(np.exp(log_radius))) > target

        # Below the least radius the theorem says nothing; above it holds all the more.
        least = (self.least / n_samples) ** (1 / self.power) * self.largest
        radius = max(_first_that_holds(fails, np.log(self.largest)), least)
        return self._bound(radius, self.largest, cover, n_samples, radius)

    def sample_size(self, covering: Coverings, radius: float, delta: float = 0.05) -> Bound:
        r"""Bound the number of rows that keep all deviations below a radius.

        Infinite where the covering grows as fast with the rows as the exponent does.
        """
        _check(radius=radius, delta=delta)
        ratio = (self.largest / radius) ** self.power

        def fails(n_samples: int) -> bool:
            return self.log_probability(covering, n_samples, radius) > float(np.log(delta))

        # With fewer rows the factor still outgrows the exponent, and the right side rises.
        low = max(1, int(np.ceil(self.least * ratio)), int(self.degree * self.rate * ratio))
        if not fails(low):
            return self._bound(float(low), np.inf, covering, low, radius)
        high = 2 * low
        while fails(high):
            low, high = high, 2 * high
            if high > LARGEST:
                return self._bound(np.inf, np.inf, covering, low, radius)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fails(middle) else (low, middle)
        return self._bound(float(high), np.inf, covering, high, radius)

    def over(self, largest: float) -> Inequality:
        """Return the inequality for losses in [0, largest]."""
        check_positive(largest=largest)
        return replace(self, largest=float(largest))

    def _bound(
        self, value: float, trivial: float, covering: Coverings, n_samples: int, radius: float
    ) -> Bound:
        cover = _on(covering, self.copies * n_samples)
        scale = radius / self.shrink
        constants = {
            "factor": Constant(self.factor * n_samples**self.degree, f"in front, {self.name}"),
            "shrink": Constant(self.shrink, "deviation over radius of the covering"),
            "rate": Constant(self.rate, f"in the exponent, {self.name}"),
            "largest": Constant(self.largest, "losses lie between 0 and this"),
        }
        return Bound(
            value,
            f"{self.name}, covered by {cover.active(scale)}",
            trivial=trivial,
            log_covering=cover.log_covering(scale),
            constants=constants,
            assumptions=tuple(dict.fromkeys(self.assumptions + cover.assumptions)),
            data_dependent=cover.data_dependent,
        )


def one_function(largest: ArrayLike = 1.0, *, two_sided: bool = False) -> Inequality:
    r"""Hoeffding's inequality for the mean of one bounded function.

    .. math:: \Pr\{E_m f - E f \ge \varepsilon\} \le e^{-2 \varepsilon^2 m / B^2}, \qquad
        B^2 = \frac1m \sum_i (b_i - a_i)^2

    Parameters
    ----------
    largest : float or array-like of shape (m,), default=1.0
        The range B, or the ranges :math:`b_i - a_i` of m independent variables.
    two_sided : bool, default=False
        Whether to bound the deviation in both directions.

    Examples
    --------
    >>> single = FiniteClass(0.0)
    >>> round(one_function().probability(single, n_samples=100, radius=0.1).value, 7)
    0.1353353
    """
    ranges = np.atleast_1d(np.asarray(largest, dtype=float))
    if ranges.ndim != 1 or not ranges.size or not np.all((ranges >= 0) & np.isfinite(ranges)):
        raise ValueError("largest must be finite ranges b - a >= 0 of one variable or more")
    return Inequality(
        "Hoeffding for one function",
        factor=2.0 if two_sided else 1.0,
        rate=0.5,
        largest=float(np.sqrt(np.mean(ranges**2))),
        copies=1,
        assumptions=(INDEPENDENT, Assumption("the function was fixed before the rows were seen")),
    )


def finite_classes(largest: float = 1.0) -> Inequality:
    r"""Hoeffding's inequality for every function of a finite class at once.

    .. math:: \Pr\{\sup_f |E_m f - E f| > \varepsilon\} \le 2\, |F|\, e^{-2 \varepsilon^2 m / B^2}

    Examples
    --------
    >>> bound = finite_classes().width(FiniteClass(np.log(10)), n_samples=1000)
    >>> round(bound.value, 6), round(float(np.sqrt(np.log(2 * 10 / 0.05) / 2000)), 6)
    (0.054733, 0.054733)
    """
    name = "Hoeffding for finite classes"
    return Inequality(name, factor=2.0, rate=0.5, largest=largest, copies=1)


def real_valued_classes(largest: float = 1.0) -> Inequality:
    r"""Uniform convergence of real-valued classes, after Alon and others.

    For losses in [0, B] and :math:`m \ge 2 B^2 / \varepsilon^2`,

    .. math:: \Pr\{\sup_f |E_m f - E f| > \varepsilon\} \le
        12\, m\, E[N(\varepsilon / 6)]\, e^{-\varepsilon^2 m / (36 B^2)},

    with covering numbers in the largest difference on 2m points.

    Examples
    --------
    >>> bound = real_valued_classes().width(FiniteClass(np.log(10)), n_samples=10_000)
    >>> round(bound.value, 3)
    0.247
    """
    return Inequality(
        "Alon and others for real-valued classes",
        factor=12.0,
        degree=1.0,
        shrink=6.0,
        rate=36.0,
        least=2.0,
        largest=largest,
    )


def binary_classes(*, printed: bool = False) -> Inequality:
    r"""Uniform convergence of error rates, after Vapnik and Chervonenkis.

    .. math:: \Pr\{\sup_f |R_m(f) - R(f)| > \varepsilon\} \le
        4\, E[\Pi(2m)]\, e^{-\varepsilon^2 m / 8},

    where :math:`\Pi` counts the sign patterns on 2m points. ``printed=True`` gives the constants 8
    and 16, which are implied and weaker.

    Examples
    --------
    >>> from mercer_research.covering import GrowthFunction
    >>> round(binary_classes().width(GrowthFunction(10), n_samples=10_000).value, 6)
    0.265798
    """
    if printed:
        name = "Vapnik and Chervonenkis, weaker constants"
        return Inequality(name, factor=8.0, rate=16.0, least=2.0)
    return Inequality("Vapnik and Chervonenkis", factor=4.0, rate=8.0, least=2.0)


def zero_training_error() -> Inequality:
    r"""Error rates of classifiers that make no error on the sample.

    .. math:: \Pr\{\exists f:\ R_m(f) = 0,\ R(f) > \varepsilon\} \le
        2\, E[\Pi(2m)]\, 2^{-\varepsilon m / 2}

    The base is 2: half of all exchanges between two samples hide each error. With base e, as
    sometimes printed, the argument does not give it.

    Examples
    --------
    >>> from mercer_research.covering import GrowthFunction
    >>> round(zero_training_error().width(GrowthFunction(10), n_samples=10_000).value, 7)
    0.0252811
    """
    none = Assumption("the classifier makes no error on the sample", "given")
    return Inequality(
        "Vapnik and Chervonenkis without errors",
        factor=2.0,
        rate=2.0 / np.log(2.0),
        power=1.0,
        least=2.0,
        assumptions=(INDEPENDENT, BEFOREHAND, none),
    )


def squared_errors() -> Inequality:
    r"""Uniform convergence of mean squared errors, functions and targets in [0, 1].

    .. math:: \Pr\{\sup_f |R_m(f) - R(f)| \ge \varepsilon\} \le
        4\, E[N(\varepsilon / 16)]\, e^{-\varepsilon^2 m / 32}

    The covering is that of the functions themselves, on 2m points, in the mean or the largest
    absolute difference.

    Examples
    --------
    >>> round(squared_errors().width(FiniteClass(np.log(10)), n_samples=10_000).value, 4)
    0.1463
    """
    inside = Assumption("functions and targets lie in [0, 1]", "given")
    return Inequality(
        "Anthony and Bartlett for squared errors",
        factor=4.0,
        shrink=16.0,
        rate=32.0,
        least=2.0,
        assumptions=(INDEPENDENT, BEFOREHAND, inside),
    )


@dataclass(frozen=True)
class Entropies:
    r"""Logarithms of covering numbers over samples: three averages, in rising order.

    .. math:: E[\ln N] \le \ln E[N] \le \sup \ln N

    Parameters
    ----------
    mean : float
        :math:`E[\ln N]`, the VC entropy.
    annealed : float
        :math:`\ln E[N]`, the annealed entropy: what inequalities ask for.
    largest : float
        The largest seen, which the growth function bounds.
    mean_error, annealed_error : float
        Standard errors, the second by the jackknife.
    """

    mean: float
    annealed: float
    largest: float
    mean_error: float
    annealed_error: float


def sample_entropies(log_coverings: Sequence[float] | ArrayLike) -> Entropies:
    r"""Estimate entropies from the logarithms of covering numbers of several samples.

    A diagnostic: covering numbers of drawn samples estimate an expectation that inequalities ask
    for, and an estimate is no bound. No :class:`Bound` is made of it.

    Parameters
    ----------
    log_coverings : array-like of shape (n_draws,)
        :math:`\ln N` on independent samples of 2m points each.

    Examples
    --------
    >>> entropies = sample_entropies(np.log([1.0, 2.0, 3.0]))
    >>> round(float(np.exp(entropies.annealed)), 12), round(float(np.exp(entropies.largest)), 12)
    (2.0, 3.0)
    >>> entropies.mean < entropies.annealed
    True
    """
    logs = np.asarray(log_coverings, dtype=float)
    n = len(logs)
    if logs.ndim != 1 or n < 2 or not np.all(logs >= 0):
        raise ValueError(
            "give the logarithms of at least two covering numbers, which are at least 0"
        )
    annealed = float(logsumexp(logs) - np.log(n))
    others = np.where(np.eye(n, dtype=bool), -np.inf, logs)
    left_out = logsumexp(others, axis=1) - np.log(n - 1)
    return Entropies(
        mean=float(np.mean(logs)),
        annealed=annealed,
        largest=float(np.max(logs)),
        mean_error=float(np.std(logs, ddof=1) / np.sqrt(n)),
        annealed_error=float(np.sqrt((n - 1) * np.var(left_out))),
    )


def _on(covering: Coverings, n_points: int) -> Covering:
    return covering(n_points) if callable(covering) else covering


def _first_that_holds(fails: Callable[[float], bool], start: float) -> float:
    """Return exp of the least argument at which a falling condition holds, from the side it does.

    Covering numbers are steps, so that the side matters: bisection keeps it, Newton would not.
    """
    low = high = start
    step = 1.0
    while fails(high):
        low, high, step = high, high + step, 2 * step
        if high > 700:
            return np.inf
    if low == high:
        while not fails(low):
            high, low, step = low, low - step, 2 * step
            if low < -700:
                return 0.0
    while high - low > 1e-15 * max(1.0, abs(high)):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        low, high = (middle, high) if fails(middle) else (low, middle)
    return float(np.exp(high))


def _check(
    n_samples: float | None = None, radius: float | None = None, delta: float | None = None
) -> None:
    if n_samples is not None:
        some_samples(n_samples)
    if radius is not None:
        check_positive(radius=radius)
    if delta is not None and not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, got {delta!r}")
