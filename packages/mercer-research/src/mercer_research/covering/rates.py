"""Rates: entropy numbers of scaled features where eigenvalues fall like a known law."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, zeta

from mercer._params import check_integer, check_positive
from mercer.inspect.decay import Decay
from mercer.kernels.points import Array
from mercer.risk_bounds import Assumption
from mercer_research.covering.base import Covering
from mercer_research.covering.diagonal import FACTOR


class PolynomialDecay(Covering):
    r"""A ball of a kernel's space in the sup norm, from a power law of the eigenvalues.

    With :math:`\lambda_j \le \beta^2 j^{-\alpha-1}`, the scaling :math:`a_j = j^{-\tau/2}` gives
    for all :math:`\tau` below :math:`\alpha` and :math:`2 \ln n`

    .. math:: \varepsilon_n \le 6 \Lambda C_k\beta
              \Bigl(1 + \frac{1}{\alpha - \tau}\Bigr)^{1/2}
              \Bigl(\frac{2\ln n}{\tau}\Bigr)^{-\tau/2} .

    The best scaling falls like :math:`(\ln n)^{-\alpha/2}` itself, :meth:`log_asymptote`; covering
    numbers grow like :math:`\varepsilon^{-2/\alpha}`, and like :math:`\varepsilon^{-2/(\alpha+1)}`
    on a sample, where the ball of a Hilbert space adds its part. Looser than :class:`BestScaling`
    on the same eigenvalues (:func:`power_law`); needs none of them.

    Parameters
    ----------
    exponent : float
        The :math:`\alpha`, above 0.
    scale : float, default=1.0
        The :math:`\beta`.
    eigenfunction_bound : float, default=1.0
        A bound :math:`C_k` on all eigenfunctions.
    norm : float, default=1.0
        The largest norm :math:`\Lambda` of a function.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (8.54) and (8.64)-(8.72).

    Examples
    --------
    >>> law = PolynomialDecay(1.0)
    >>> round(float(np.exp(law.log_entropy(2000.0))), 4), round(law.log_covering(0.5), 1)
    (0.4506, 1578.4)
    """

    name = "polynomial decay"
    assumptions = (Assumption("eigenvalues lie below the law, eigenfunctions below the constant"),)

    def __init__(
        self,
        exponent: float,
        scale: float = 1.0,
        *,
        eigenfunction_bound: float = 1.0,
        norm: float = 1.0,
    ) -> None:
        check_positive(
            exponent=exponent, scale=scale, eigenfunction_bound=eigenfunction_bound, norm=norm
        )
        self.exponent = exponent
        self.log_constants = float(np.log(scale * eigenfunction_bound * norm))

    @property
    def norm(self) -> float:
        return float(np.exp(self.log_constants) * np.sqrt(zeta(self.exponent + 1.0)))

    def log_scale(self, log_n: float) -> float:
        """Return the logarithm of the entropy number's bound without the factor of 6."""

        def value(tau: Array) -> Array:
            spread = 0.5 * np.log1p(1.0 / (self.exponent - tau))
            return np.asarray(spread - 0.5 * tau * np.log(2.0 * log_n / tau))

        return self.log_constants + _least(value, min(self.exponent, 2.0 * log_n))

    def log_entropy(self, log_n: float) -> float:
        whole = float(np.log(self.norm))
        return min(whole, np.log(FACTOR) + self.log_scale(log_n)) if log_n > 0 else whole

    def log_asymptote(self, log_n: float) -> float:
        r"""Return the logarithm of what the best scaling comes to as n grows; no bound.

        .. math:: 6\Lambda C_k\beta\sqrt{1 + 1/\alpha}\,(2\ln n/(\alpha+1))^{-\alpha/2}
        """
        a = self.exponent
        fall = 0.5 * np.log1p(1.0 / a) - 0.5 * a * np.log(2.0 * log_n / (a + 1.0))
        return float(np.log(FACTOR) + self.log_constants + fall)

    def _log_covering(self, radius: float) -> float:
        target, high = float(np.log(radius)), 1.0
        while self.log_entropy(high) > target:
            high *= 2.0
            if high > 1e300:
                return np.inf
        low = 0.0 if high == 1.0 else 0.5 * high
        found = brentq(lambda L: self.log_entropy(L) - target, low, high, xtol=1e-12, rtol=1e-12)
        # The upper end of the last bracket, so that the bound holds.
        return float(min(found * (1 + 1e-11) + 1e-11, high))


def lattice_rate(
    log_n: float,
    rate: float,
    power: float,
    period: float,
    dim: int,
    scale: float = 1.0,
    norm: float = 1.0,
) -> float:
    r"""Return ln of the entropy number of a wrapped kernel in d dimensions, approximately.

    For :math:`S(\omega) = \beta^2 e^{-\alpha|\omega|^p}` on a box with sides v, with the sum over
    the lattice replaced by an integral at its density :math:`D = (v/2\pi)^d` and the surface s of
    the unit ball,

    .. math:: \varepsilon_n \approx 6\Lambda v^{-d/2}\beta\sqrt{sD\,\Gamma(d/p)/p}\;
              \inf_\tau (\alpha-\tau)^{-d/2p} \exp\bigl(-(\tau/2)^{d/(d+p)} T\bigr), \qquad
              T = \Bigl(\frac{(d+p)d}{p} \frac{\ln n}{sD}\Bigr)^{p/(d+p)} .

    An approximation and no bound, within about 20 % of the lattice in up to four dimensions; with
    its exponent, :math:`\ln N = O(\ln^{1+d/p}(1/\varepsilon))`.

    Parameters
    ----------
    log_n : float
    rate, power : float
        The :math:`\alpha` and p.
    period : float
        The sides v.
    dim : int
        The dimension d.
    scale, norm : float, default=1.0
        The :math:`\beta` and :math:`\Lambda`.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (8.63) and (8.91)-(8.99), where the
    cell of the lattice has the exponent d/2 instead of d.

    Examples
    --------
    >>> beta = (2 * np.pi) ** 0.5  # a Gaussian of width 1 in two dimensions: its square
    >>> log = lattice_rate(10.0, rate=0.5, power=2.0, period=6.0, dim=2, scale=beta)
    >>> round(float(np.exp(log)) / 6, 6)
    0.555248
    """
    check_integer("dim", dim, 1)
    check_positive(log_n=log_n, rate=rate, power=power, period=period, scale=scale, norm=norm)
    d, p = float(dim), power
    log_surface = np.log(2.0) + 0.5 * d * np.log(np.pi) - gammaln(0.5 * d)
    log_density = d * np.log(period / (2.0 * np.pi))
    crowd = log_surface + log_density
    time = ((d + p) * d / p * log_n * np.exp(-crowd)) ** (p / (d + p))

    def value(tau: Array) -> Array:
        fall = (0.5 * tau) ** (d / (d + p)) * time
        return np.asarray(-0.5 * d / p * np.log(rate - tau) - fall)

    constants = np.log(FACTOR * norm * scale) - 0.5 * d * np.log(period)
    root = 0.5 * (crowd + gammaln(d / p) - np.log(p))
    return float(constants + root + _least(value, rate))


def growth_exponent(decay: Decay, dim: int = 1, wrapped: bool = True) -> tuple[str, float]:
    r"""Return how :math:`\ln N(\varepsilon)` grows on a sample, from the law of a spectrum.

    ``("power", 2d/a)`` stands for :math:`\varepsilon^{-2d/a}`, for a spectrum
    :math:`|\omega|^{-a}` whose j-th eigenvalue falls like :math:`j^{-a/d}`; ``("log", 1 + d/p)``
    for :math:`\ln^{1+d/p}(1/\varepsilon)`, for :math:`e^{-b|\omega|^p}`.

    Parameters
    ----------
    decay : Decay
        Of the spectrum, from :func:`mercer.inspect.bands.spectral_decay`.
    dim : int, default=1
    wrapped : bool, default=True
        Whether the kernel is wrapped around a box of a fixed period. If not, the period of a
        Gaussian grows with the precision, and the exponent is 1 + d.

    Examples
    --------
    >>> from mercer.inspect.bands import spectral_decay
    >>> from mercer.kernels import Gaussian, Matern
    >>> growth_exponent(spectral_decay(Gaussian()), dim=2)
    ('log', 2.0)
    >>> growth_exponent(spectral_decay(Gaussian()), dim=2, wrapped=False)
    ('log', 3.0)
    """
    check_integer("dim", dim, 1)
    if decay.kind == "polynomial":
        return "power", 2.0 * dim / decay.exponent
    if decay.kind == "finite":
        return "log", 1.0
    return "log", 1.0 + dim / (decay.exponent if wrapped else min(decay.exponent, 1.0))


def _least(value: Callable[[Array], Array], upper: float) -> float:
    """Return the least value between 0 and an end: a scan, then finer scans around its best.

    Every value tried is a bound, so that a search that misses the least one is loose, not wrong.
    """
    # Both ends are approached: the best scaling may come close to the law itself.
    share = np.r_[np.geomspace(1e-4, 0.1, 24), np.linspace(0.1, 0.9, 33)[1:]]
    grid = upper * np.r_[share, 1.0 - np.geomspace(0.1, 1e-6, 40)[1:]]
    for _ in range(4):
        values = value(grid)
        i = int(np.argmin(values))
        grid = np.linspace(grid[max(i - 1, 0)], grid[min(i + 1, len(grid) - 1)], 65)
    return float(value(grid).min())
