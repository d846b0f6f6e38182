r"""Principal manifolds and quantizers: uniform convergence of the distortion, and its rates.

A quantizer f maps codes z to points, and its risk is :math:`R(f) = E \min_z c(x, f(z))`. Data and
maps lie in a ball of radius r, so that costs are bounded and Lipschitz, and maps are covered in
:math:`\sup_z \|f(z) - f'(z)\|`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer._params import check_integer, check_nonnegative, check_positive
from mercer.risk_bounds import Assumption, Bound, Constant, some_samples
from mercer_research.covering.base import SLACK, Covering
from mercer_research.risk_bounds.concentration import BEFOREHAND, INDEPENDENT

__all__ = [
    "CurvesOfLength",
    "Distortion",
    "Rate",
    "covering_rate",
    "excess_rate",
]

GOLDEN = (np.sqrt(5) - 1) / 2
MINIMIZER = Assumption("the quantizer minimizes the distortion of the sample over its class")


@dataclass(frozen=True)
class Distortion:
    r"""The cost :math:`\|x - f(z)\|^p` of a quantizer inside a ball, and bounds on its mean.

    Costs lie in :math:`[0, B]` with :math:`B = (2 r)^p`, and are Lipschitz in f with
    :math:`L = p (2 r)^{p - 1}`: 4r² and 4r for squared distances.

    Parameters
    ----------
    size : float, default=1.0
        r: data and maps lie in a ball of this radius.
    power : float, default=2.0
        p, at least 1.
    shrink : float, default=2.0
        The class is covered at :math:`\varepsilon / (\text{shrink} \cdot L)`. With 2 the losses are
        covered at half of :math:`\varepsilon`, once for the risk and once for the sample, which is
        enough. Some texts take 4.

    Examples
    --------
    Three centres on a grid of 100 places in the plane, after 100,000 rows:

    >>> from mercer_research.covering import FiniteClass
    >>> codebooks = FiniteClass(3 * np.log(100))
    >>> print(Distortion().excess(codebooks, n_samples=100_000))
    at most 0.0748, by Hoeffding over a covering of quantizers, covered by number of functions,
    assuming that rows are drawn independently from one distribution, the class of functions was
    fixed before the rows were seen and the quantizer minimizes the distortion of the sample
    over its class
    """

    size: float = 1.0
    power: float = 2.0
    shrink: float = 2.0

    def __post_init__(self) -> None:
        check_positive(size=self.size, power=self.power, shrink=self.shrink)
        if self.power < 1 or self.shrink < 2:
            raise ValueError(
                "power must be at least 1 and shrink at least 2, got "
                f"{self.power!r} and {self.shrink!r}."
            )

    @property
    def largest(self) -> float:
        """The largest cost."""
        return float((2 * self.size) ** self.power)

    @property
    def lipschitz(self) -> float:
        """By how much more costs differ than maps do, at most."""
        return float(self.power * (2 * self.size) ** (self.power - 1))

    def losses(self, covering: Covering) -> Covering:
        """Cover the costs of a class of maps: at a radius over the Lipschitz constant."""
        return covering.scaled(self.lipschitz)

    def deviation(self, covering: Covering, n_samples: int, delta: float = 0.05) -> Bound:
        r"""Bound the difference of sample and true distortion, for all maps of a class.

        .. math:: \Pr\{\sup_f |R_m - R| > \eta\} \le
            2 N(\varepsilon / (2 L))\, e^{-2 m (\eta - \varepsilon)^2 / B^2}

        for every :math:`\varepsilon`; the best one is taken.

        Examples
        --------
        >>> from mercer_research.covering import FiniteClass
        >>> round(Distortion().deviation(FiniteClass(np.log(10)), 10_000).value, 4)
        0.0692
        """
        return self._width(covering, n_samples, delta, rate=self.largest**2 / 2, one_more=False)

    def excess(self, covering: Covering, n_samples: int, delta: float = 0.05) -> Bound:
        r"""Bound by how much the minimizer on the sample is worse than the best of the class.

        .. math:: \Pr\{R(f_m) - R(f^*) > \eta\} \le
            2 (N(\varepsilon / (2 L)) + 1)\, e^{-m (\eta - \varepsilon)^2 / (2 B^2)}

        Examples
        --------
        >>> from mercer_research.covering import FiniteClass
        >>> round(Distortion().excess(FiniteClass(np.log(10)), 10_000).value, 4)
        0.1396
        """
        return self._width(covering, n_samples, delta, rate=2 * self.largest**2, one_more=True)

    def mean_excess(self, covering: Covering, n_samples: int) -> Bound:
        r"""Bound the expected excess of the minimizer: the learning curve.

        .. math:: E[R(f_m) - R(f^*)] \le \min_\varepsilon\; \varepsilon +
            \sqrt{\frac{s \ln(N + 1)}{m}} + \sqrt{\frac{s}{m \ln(N + 1)}}, \qquad s = 2 B^2,

        with :math:`N = N(\varepsilon / (\text{shrink} \cdot L))`; the integral of the tail of
        :meth:`excess`.

        Examples
        --------
        >>> from mercer_research.covering import FiniteClass
        >>> ten = FiniteClass(np.log(10))
        >>> [round(Distortion().mean_excess(ten, m).value, 4) for m in (1000, 100_000)]
        [0.3925, 0.0393]
        """
        some_samples(n_samples)
        rate = 2 * self.largest**2

        def total(radius: float) -> float:
            log_count = _log_one_more(self._log_covering(covering, radius))
            return radius + float(np.sqrt(rate / n_samples) * (log_count**0.5 + log_count**-0.5))

        return self._bound(covering, total, n_samples, rate, (MINIMIZER,))

    def _width(
        self, covering: Covering, n_samples: int, delta: float, *, rate: float, one_more: bool
    ) -> Bound:
        some_samples(n_samples)
        if not 0 < delta < 1:
            raise ValueError(f"delta must lie between 0 and 1, got {delta!r}.")

        def total(radius: float) -> float:
            log_count = self._log_covering(covering, radius)
            log_count = _log_one_more(log_count) if one_more else log_count
            return radius + float(np.sqrt(rate * (np.log(2 / delta) + log_count) / n_samples))

        return self._bound(covering, total, n_samples, rate, (MINIMIZER,) if one_more else ())

    def _log_covering(self, covering: Covering, radius: float) -> float:
        return covering.log_covering(radius / (self.shrink * self.lipschitz))

    def _bound(
        self,
        covering: Covering,
        total: Callable[[float], float],
        n_samples: int,
        rate: float,
        assumptions: tuple[Assumption, ...],
    ) -> Bound:
        # What chance adds is more than 1 / m, so that radii far below are not worth their balls.
        radius, value = _least(total, self.largest, depth=20 + float(np.log(n_samples)))
        scale = radius / (self.shrink * self.lipschitz)
        inside = Assumption(f"data and maps lie in a ball of radius {self.size:g}", "given")
        return Bound(
            value,
            f"Hoeffding over a covering of quantizers, covered by {covering.active(scale)}",
            trivial=self.largest,
            log_covering=covering.log_covering(scale),
            constants={
                "rate": Constant(rate, "in the exponent"),
                "lipschitz": Constant(self.lipschitz, "of the cost in the map"),
                "radius": Constant(radius, "share of the deviation that the covering has"),
            },
            assumptions=(INDEPENDENT, BEFOREHAND, inside, *assumptions, *covering.assumptions),
            data_dependent=covering.data_dependent,
        )


@dataclass(frozen=True)
class CurvesOfLength(Covering):
    r"""Curves of bounded length in a ball, such as polygonal principal curves.

    Parametrized by their length, curves are Lipschitz with constant l on [0, 1]. Followed in
    :math:`k = \lceil l / \varepsilon \rceil` steps on a lattice of width
    :math:`\varepsilon / \sqrt d`,

    .. math:: \ln N(\varepsilon) \le d \ln\Bigl(\frac{2 r \sqrt d}{\varepsilon} + 2\Bigr)
        + (k - 1)\, d \ln(2 \lfloor 2 \sqrt d \rfloor + 1) = O(1 / \varepsilon).

    Parameters
    ----------
    length : float
        l.
    dim : int
        d, of the space the curves lie in.
    size : float, default=1.0
        r, the radius of the ball.

    Examples
    --------
    >>> curves = CurvesOfLength(length=2.0, dim=2)
    >>> round(curves.log_covering(0.01) / curves.log_covering(0.02), 2)
    1.98
    """

    length: float
    dim: int
    size: float = 1.0
    name: str = "curves of bounded length"

    def __post_init__(self) -> None:
        check_integer("dim", self.dim, 1)
        check_nonnegative(length=self.length)
        check_positive(size=self.size)

    @property
    def norm(self) -> float:
        return self.size

    def _log_covering(self, radius: float) -> float:
        root = np.sqrt(self.dim)
        starts = self.dim * np.log(2 * self.size * root / radius + 2)
        steps = max(1.0, np.ceil(self.length / radius * (1 - SLACK)))
        turns = self.dim * np.log(2 * np.floor(2 * root) + 1)
        return float(starts + (steps - 1) * turns)


@dataclass(frozen=True)
class Rate:
    r"""A rate :math:`O(t^{-a} \ln^b t)`, without its constant.

    Parameters
    ----------
    power : float
        a.
    log_power : float
        b.

    Notes
    -----
    Constants are not part of a rate, so that this is no :class:`Bound`.

    Examples
    --------
    >>> print(Rate(0.25))
    t^-0.25
    >>> print(Rate(0.5, 0.75))
    t^-0.5 ln^0.75 t
    """

    power: float
    log_power: float = 0.0

    def __str__(self) -> str:
        logs = f" ln^{self.log_power:g} t" if self.log_power else ""
        return f"t^{-self.power:g}{logs}" if self.power else logs.strip() or "1"


def covering_rate(decay: Rate, *, absolute: bool = False) -> Rate:
    r"""Return how :math:`\ln N(\varepsilon)` grows in :math:`t = 1 / \varepsilon`.

    .. math::
        \lambda_j = O(j^{-a}) &\;\Rightarrow\; \ln N = O(\varepsilon^{-2 / (a - 1)}) \\
        \lambda_j = O(e^{-c j^p}) &\;\Rightarrow\; \ln N = O(\ln^{(p + 1) / p}(1 / \varepsilon))

    The first holds with an arbitrarily small loss in the exponent.

    Parameters
    ----------
    decay : Rate
        Of eigenvalues: ``Rate(a)`` for powers, ``Rate(inf, p)`` for exponentials of powers.
    absolute : bool, default=False
        Whether absolute values of coefficients are penalized instead of squares. Then the decay
        counts twice.

    Examples
    --------
    The length of a curve has eigenvalues that fall as 1/j².

    >>> covering_rate(Rate(2.0)).power, covering_rate(Rate(2.0), absolute=True).power
    (-2.0, -0.6666666666666666)
    >>> print(covering_rate(Rate(np.inf, 2.0)))
    ln^1.5 t
    """
    if decay.power == np.inf:
        check_positive(log_power=decay.log_power)
        return Rate(0.0, (decay.log_power + 1) / decay.log_power)
    a = decay.power * (2 if absolute else 1)
    if not a > 1:
        raise ValueError(f"eigenvalues that fall as j^-{a:g} have no sum, and no covering")
    return Rate(-2 / (a - 1))


def excess_rate(covering: Rate) -> Rate:
    r"""Return how the expected excess of a quantizer falls with the number of rows.

    .. math::
        \ln N = O(\varepsilon^{-a}) &\;\Rightarrow\; O(m^{-1 / (a + 2)}) \\
        \ln N = O(\ln^b(1 / \varepsilon)) &\;\Rightarrow\; O(m^{-1/2} \ln^{b / 2} m)

    Examples
    --------
    >>> excess_rate(covering_rate(Rate(2.0))).power  # length, squared penalty
    0.25
    >>> excess_rate(covering_rate(Rate(2.0), absolute=True)).power
    0.375
    >>> round(excess_rate(Rate(-1.0)).power, 4)  # polygonal curves of bounded length
    0.3333
    """
    if not covering.power <= 0:
        raise ValueError(
            f"ln N grows as the radius falls, so that power is at most 0, got {covering.power!r}; "
            "covering_rate returns such a rate"
        )
    if covering.power == 0:
        return Rate(0.5, covering.log_power / 2)
    return Rate(1 / (2 - covering.power))


def _log_one_more(log_count: float) -> float:
    """Return ln(N + 1) from ln N."""
    return float(np.logaddexp(log_count, 0.0))


def _least(total: Callable[[float], float], largest: float, depth: float) -> tuple[float, float]:
    """Minimize over radii: a scan in logarithms, then golden sections around its best place."""
    logs = np.log(largest) + np.linspace(-depth, 0.0, 4 * int(depth))
    values = [total(float(np.exp(t))) for t in logs]
    best = int(np.argmin(values))
    found, place = values[best], logs[best]
    low, high = logs[max(best - 1, 0)], logs[min(best + 1, len(logs) - 1)]
    # Every radius gives a bound, so that a search that misses the least is loose, not wrong.
    for _ in range(50):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        at = total(float(np.exp(left))), total(float(np.exp(right)))
        if min(at) < found:
            found, place = min(zip(at, (left, right), strict=True))
        low, high = (low, right) if at[0] <= at[1] else (left, high)
    return float(np.exp(place)), float(found)
