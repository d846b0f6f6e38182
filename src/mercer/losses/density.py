r"""A loss for a density of noise, and the density of noise for a loss.

.. math:: l(y, f) = -\log p(y - f) + \text{const}, \qquad p(r) = e^{-C l(r)} / Z

A machine whose loss is minus the logarithm of the density of its errors is the most likely one a
posteriori, with the penalty as minus the logarithm of a Gaussian prior.

References
----------
A. J. Smola, *Learning with Kernels*, TU Berlin 1998, remark 2.1, eq. (2.1) to (2.4) and Table 2.1;
the printed density of the polynomial loss belongs to :math:`|r|^p`, not to :math:`|r|^p / p`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mercer._typing import Array, Seed
from mercer.losses.base import Loss
from mercer.losses.conjugate import shortfall
from mercer.losses.custom import Custom, Function

__all__ = ["NoiseDensity", "density_from_loss", "loss_from_density"]

SCORES: dict[str, Callable[..., Array]] = {
    "gennorm": lambda z, p: -p * np.sign(z) * np.abs(z) ** (p - 1.0),
    "gumbel_l": lambda z: 1.0 - np.exp(z),
    "gumbel_r": lambda z: np.expm1(-z),
    "hypsecant": lambda z: -np.tanh(z),
    "laplace": lambda z: -np.sign(z),
    "laplace_asymmetric": lambda z, k: np.where(z > 0, -k, 1.0 / k),
    "logistic": lambda z: -np.tanh(0.5 * z),
    "norm": lambda z: -z,
    "t": lambda z, df: -(df + 1.0) * z / (df + z * z),
}
"""Derivatives of log-densities of ``scipy.stats`` in standard form, by name."""

# Nodes and weights of Gauss and Legendre's rules, one to integrate and one to doubt it.
FINE_NODES, FINE_WEIGHTS = np.polynomial.legendre.leggauss(16)
COARSE_NODES, COARSE_WEIGHTS = np.polynomial.legendre.leggauss(10)
# A density is followed to where it has fallen to exp(-DEEP) of its largest value.
MAX_LOG_FALL = 80.0


@dataclass(frozen=True)
class _MinusLog:
    """Minus a log-density and its slope, with straight arms beyond two ends if there are."""

    noise: Any
    derivative: Function | None
    top: float
    unit: float
    low: float = -np.inf
    high: float = np.inf

    def __call__(self, z: Array) -> Array:
        inner = np.clip(z, self.low, self.high)
        bare = self.top - np.asarray(logarithm(self.noise)(inner), dtype=np.float64)
        beyond = -shortfall(z, self.low, self.high)
        if not np.any(beyond):
            return bare
        return np.where(beyond == 0, bare, bare + beyond * self.slope(inner))

    def slope(self, z: Array) -> Array:
        z = np.clip(z, self.low, self.high)
        if self.derivative is not None:
            return -np.asarray(self.derivative(z), dtype=np.float64)
        log, h = logarithm(self.noise), 6e-6 * (self.unit + np.abs(z))
        up, down = z + h, z - h
        return np.asarray((log(down) - log(up)) / (up - down))


@dataclass(frozen=True)
class _Standard:
    """The derivative of a log-density that is known in standard form."""

    score: str
    shapes: tuple[float, ...]
    loc: float
    scale: float

    def __call__(self, z: Array) -> Array:
        return SCORES[self.score]((z - self.loc) / self.scale, *self.shapes) / self.scale


def logarithm(noise: Any) -> Function:
    """Return the log-density of a distribution, or the function given."""
    log: Function = getattr(noise, "logpdf", noise)
    return log


def loss_from_density(
    noise: Any, score: Function | None = None, *, proxy: bool = False, unit: float | None = None
) -> Custom:
    r"""Return the loss under which a machine is most likely for a density of noise.

    .. math:: l(y, f) = \log p(m) - \log p(y - f), \qquad m = \arg\max p

    Parameters
    ----------
    noise : distribution or callable
        A frozen distribution of ``scipy.stats``, anything with ``logpdf``, or a function that
        returns the log-density of an array, up to a constant.
    score : callable, optional
        The derivative of the log-density; known for common distributions, else by differences. A
        density with a cusp needs it.
    proxy : bool, default=False
        For a density that is not log-concave (Student, Cauchy): follow its logarithm from the mode
        to where it stops being concave, and the tangent from there on, as Huber's loss does.
    unit : float, optional
        A typical error; half the distance between two quantiles by default, or one.

    Returns
    -------
    Custom
        Convex; machines take it with ``C=1``.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import stats
    >>> from mercer.losses import loss_from_density
    >>> loss = loss_from_density(stats.logistic())
    >>> bool(np.isclose(loss.value(np.array(2.0), np.array(0.0)), 2 * np.log(np.cosh(1.0))))
    True
    >>> heavy = loss_from_density(stats.t(3), proxy=True)
    >>> heavy.slopes(np.zeros(1))[1].round(4)
    array([1.1547])
    """
    middle, size = _whereabouts(noise)
    unit = size if unit is None else unit
    if score is None:
        score = known_score(noise)
    bare = _MinusLog(noise, score, 0.0, unit)
    z = middle + unit * np.linspace(-40.0, 40.0, 4001)
    # Where a density underflows nothing can be asked of it.
    with np.errstate(all="ignore"):
        values = bare(z)
    _refuse_walls(noise, z, values)
    mode = float(z[np.nanargmin(np.where(np.isfinite(values), values, np.inf))])
    high = mode + _first_fall(bare, mode, unit, 1.0)
    low = mode - _first_fall(bare, mode, unit, -1.0)
    if (np.isfinite(high) or np.isfinite(low)) and not proxy:
        end = high if np.isfinite(high) else low
        raise ValueError(
            f"the density is not log-concave: minus its logarithm stops being convex at {end:.6g}, "
            "so that no convex loss belongs to it. Use proxy=True for the loss that follows it to "
            "there and goes on straight, or Huber()"
        )
    clipped = _MinusLog(noise, score, 0.0, unit, low, high)
    width = 0.02 * unit
    for _ in range(8):  # to the last digit of a cusp
        steps = np.linspace(mode - width, mode + width, 201)
        mode, width = float(steps[np.argmin(clipped(steps))]), 0.01 * width
    top = -float(clipped(np.array(mode)))
    cost = _MinusLog(noise, score, top, unit, low, high)
    return Custom(cost, cost.slope if score is not None else None, unit=unit)


def _first_fall(cost: _MinusLog, mode: float, unit: float, side: float) -> float:
    """Return how far from the mode the slope first falls on a side, infinity if it never does."""
    t = unit * np.linspace(0.0, 40.0, 8001)
    for _ in range(6):
        with np.errstate(all="ignore"):
            slope = side * cost.slope(mode + side * t)
        t, slope = t[np.isfinite(slope)], slope[np.isfinite(slope)]
        # Slopes by differences are known to about 1e-9 of their size.
        falls = np.flatnonzero(np.diff(slope) < -1e-8 * (np.abs(slope[1:]) + np.abs(slope[:-1])))
        if not len(falls):
            return np.inf if len(t) > 101 else float(t[np.argmax(slope)])
        k = int(falls[0])
        t = np.linspace(t[max(k - 1, 0)], t[min(k + 1, len(t) - 1)], 101)
    return float(t[np.argmax(slope)])


def _whereabouts(noise: Any) -> tuple[float, float]:
    """Return the median of a distribution and half the distance of two quantiles, or 0 and 1."""
    if not hasattr(noise, "ppf"):
        return 0.0, 1.0
    low, middle, high = (float(noise.ppf(q)) for q in (0.16, 0.5, 0.84))
    return middle, 0.5 * (high - low)


def known_score(noise: Any) -> Function | None:
    """Return the derivative of the log-density of a known distribution, None of others."""
    name = getattr(getattr(noise, "dist", None), "name", None)
    if name not in SCORES:
        return None
    shapes, loc, scale = noise.dist._parse_args(*noise.args, **noise.kwds)
    return _Standard(name, tuple(float(s) for s in shapes), float(loc), float(scale))


def _refuse_walls(noise: Any, z: Array, values: Array) -> None:
    """Refuse noise that cannot leave an interval."""
    ends = noise.support() if callable(getattr(noise, "support", None)) else (-np.inf, np.inf)
    if np.any(np.isfinite(ends)) or (not hasattr(noise, "support") and np.any(np.isposinf(values))):
        raise ValueError(
            "the density is zero somewhere, so that some errors would cost infinitely much; "
            "errors that cannot leave an interval are constraints: use a wide tube with a large C"
        )
    if np.any(np.isnan(values)):
        raise ValueError("the log-density is not a number somewhere; it must be finite everywhere")


def density_from_loss(loss: Loss, C: float = 1.0) -> NoiseDensity:
    r"""Return the density of noise for which a loss is the most likely one.

    .. math:: p(r) = e^{-C \rho(r)} / Z, \qquad Z = \int e^{-C \rho(r)}\, dr

    Parameters
    ----------
    loss : Loss
        A loss of the residual that grows on both sides.
    C : float, default=1.0
        Its weight in the machine, the inverse of a temperature.

    Returns
    -------
    NoiseDensity
        Normalized, with what ``scipy.stats`` gives for a distribution.

    Examples
    --------
    >>> from mercer.losses import EpsilonInsensitive, density_from_loss
    >>> density = density_from_loss(EpsilonInsensitive(1.0))
    >>> round(float(density.pdf(0.0)), 6)  # 1 / (2 (1 + epsilon))
    0.25
    """
    if not (C > 0 and np.isfinite(C)):
        raise ValueError(f"C must be positive and finite, got {C}")
    if any(np.ndim(value) for value in loss.per_sample().values()):
        raise ValueError("the parameters of the loss differ between samples; give numbers")
    r = np.linspace(-3.0, 3.0, 7)
    shifted = [loss.value(np.full_like(r, y), y - r) for y in (-1.0, 0.0, 1.0)]
    if not np.allclose(shifted, shifted[1], rtol=1e-9, atol=1e-12):
        raise ValueError(f"{loss!r} is no loss of the residual y - f, and has no density of noise")
    return NoiseDensity(loss, C)


@dataclass(frozen=True)
class NoiseDensity:
    """A density of noise, from :func:`density_from_loss`, read like a frozen distribution.

    Parameters
    ----------
    loss : Loss
        A loss of the residual.
    C : float, default=1.0
        Its weight.
    """

    loss: Any
    C: float = 1.0

    @cached_property
    def _panels(self) -> tuple[Array, Array]:
        """Ends of intervals on each of which a rule of few nodes integrates the density."""
        low, high = -self._reach(-1.0), self._reach(1.0)
        edges = np.unique([np.linspace(low, 0.0, 33), np.linspace(0.0, high, 33)])
        for _ in range(60):
            mass, doubt = self._masses(edges[:-1], edges[1:])
            split = doubt > 1e-14 * np.sum(mass)
            if not np.any(split):
                break
            edges = np.sort(np.concatenate([edges, 0.5 * (edges[:-1] + edges[1:])[split]]))
        mass, _ = self._masses(edges[:-1], edges[1:])
        return edges, mass

    def _reach(self, side: float) -> float:
        """Return how far out the density is worth following."""
        far = 1.0
        with np.errstate(all="ignore"):
            while self._cost(np.array(side * far)) < MAX_LOG_FALL and far < 1e9:
                far *= 2.0
        if far >= 1e9:
            raise ValueError(
                f"{self.loss!r} hardly grows on one side, so that exp(-loss) has no finite "
                "integral and no density belongs to it"
            )
        return far

    def _cost(self, z: Array) -> Array:
        return np.asarray(self.C * self.loss.value(z, np.zeros_like(z)))

    def _masses(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return integrals over intervals by two rules, the second as a difference."""
        half, middle = 0.5 * (high - low), 0.5 * (high + low)
        with np.errstate(all="ignore"):
            fine, coarse = (
                half * (np.exp(-self._cost(middle[..., None] + half[..., None] * x)) @ w)
                for x, w in ((FINE_NODES, FINE_WEIGHTS), (COARSE_NODES, COARSE_WEIGHTS))
            )
        return fine, np.abs(fine - coarse)

    @cached_property
    def log_normalizer(self) -> float:
        r"""The logarithm of :math:`Z = \int e^{-C \rho}`."""
        return float(np.log(np.sum(self._panels[1])))

    def logpdf(self, z: ArrayLike) -> Array:
        """Return the logarithm of the density."""
        return -self._cost(np.asarray(z, dtype=np.float64)) - self.log_normalizer

    def pdf(self, z: ArrayLike) -> Array:
        """Return the density."""
        return np.exp(self.logpdf(z))

    def score(self, z: ArrayLike) -> Array:
        """Return the derivative of the log-density."""
        z = np.asarray(z, dtype=np.float64)
        return np.asarray(self.C * self.loss.gradient(z, np.zeros_like(z)))

    def cdf(self, z: ArrayLike) -> Array:
        """Return the probability of an error up to ``z``."""
        return self._share(np.asarray(z, dtype=np.float64), upper=False)

    def sf(self, z: ArrayLike) -> Array:
        """Return the probability of an error beyond ``z``."""
        return self._share(np.asarray(z, dtype=np.float64), upper=True)

    def logsf(self, z: ArrayLike) -> Array:
        """Return the logarithm of the probability of an error beyond ``z``."""
        with np.errstate(divide="ignore"):
            return np.log(self.sf(z))

    def _share(self, z: Array, *, upper: bool) -> Array:
        edges, mass = self._panels
        z = np.clip(z, edges[0], edges[-1])
        k = np.clip(np.searchsorted(edges, z, side="right") - 1, 0, len(mass) - 1)
        if upper:
            outer = np.append(np.cumsum(mass[::-1])[::-1], 0.0)[k + 1]
            part, _ = self._masses(z, edges[k + 1])
        else:
            outer = np.append(0.0, np.cumsum(mass))[k]
            part, _ = self._masses(edges[k], z)
        return np.asarray((outer + part) / np.sum(mass))

    def ppf(self, q: ArrayLike) -> Array:
        """Return the error that is exceeded with probability ``1 - q``."""
        q = np.asarray(q, dtype=np.float64)
        edges, mass = self._panels
        share = np.append(0.0, np.cumsum(mass)) / np.sum(mass)
        k = np.clip(np.searchsorted(share, q, side="right") - 1, 0, len(mass) - 1)
        low, high = edges[k], edges[k + 1]
        for _ in range(60):
            middle = 0.5 * (low + high)
            over = self.cdf(middle) > q
            low, high = np.where(over, low, middle), np.where(over, middle, high)
        return np.asarray(0.5 * (low + high))

    def isf(self, q: ArrayLike) -> Array:
        """Return the error that is exceeded with probability ``q``."""
        return self.ppf(1.0 - np.asarray(q, dtype=np.float64))

    def rvs(self, size: Any = None, random_state: Seed = None) -> Array:
        """Draw errors.

        Parameters
        ----------
        size : int or tuple of int, optional
        random_state : int or Generator, optional
        """
        return self.ppf(np.random.default_rng(random_state).uniform(size=size))

    def support(self) -> tuple[float, float]:
        """Return the ends of the line."""
        return -np.inf, np.inf

    def expect(self, function: Function) -> float:
        """Return the expectation of a function of the error."""
        edges, mass = self._panels
        half, middle = 0.5 * np.diff(edges), 0.5 * (edges[1:] + edges[:-1])
        z = middle[:, None] + half[:, None] * FINE_NODES
        density = np.exp(-self._cost(z))
        return float(half @ ((density * function(z)) @ FINE_WEIGHTS) / np.sum(mass))

    def mean(self) -> float:
        """Return the mean."""
        return self.expect(lambda z: z)

    def std(self) -> float:
        """Return the standard deviation."""
        mean = self.mean()
        return float(np.sqrt(self.expect(lambda z: (z - mean) ** 2)))

    def information(self) -> float:
        r"""Return the Fisher information of the location, :math:`E[(C \rho')^2]`."""
        return self.expect(lambda z: self.score(z) ** 2)
