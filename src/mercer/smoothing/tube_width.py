r"""How wide a tube should be for a density of noise, and which density noise has.

The location a that minimizes :math:`\sum_i |z_i - a|_\epsilon` over n observations has the variance
:math:`G / (n Q^2)`, which is :math:`1 / (n e I)` with the Fisher information I of the noise and the
efficiency

.. math:: e(\epsilon) = \frac{Q^2}{G I}, \qquad Q = \varphi(a + \epsilon) + \varphi(a - \epsilon),
          \quad G = P(|Z - a| > \epsilon)

G is the variance of the score, and a the place with as much beyond one wall as beyond the other,
the centre of a symmetric density.

References
----------
A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (2.18) to (2.32) and (2.36) to (2.42),
with the largest efficiency where the smallest is printed, the factor of the Gaussian case
(:math:`\pi/2` for :math:`2\pi`), and the Fisher information of eq. (2.31) restored.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import integrate, optimize, special, stats

from mercer._params import check_sample_weight
from mercer._typing import Array
from mercer.losses.base import Loss
from mercer.losses.density import NoiseDensity, density_from_loss, known_score

__all__ = [
    "PolynomialNoise",
    "fit_noise",
    "optimal_epsilon",
    "optimal_nu",
    "tube_efficiency",
    "tube_variance",
]


NAMED_POWERS = {"gaussian": 2.0, "laplace": 1.0}
"""Named densities of variance one, by the power in their exponent."""

# The widest tube that is considered leaves this share outside: fewer samples do not tell where the
# walls are. It matters only for noise with sharp ends.
MIN_OUTSIDE = 0.01
# Half of the 95 per cent quantile of chi-squared with one degree of freedom: so much more likely
# another power must be than a Gaussian to be preferred.
EVIDENCE = 1.92


class _LogDensity:
    """A log-density in the place of a loss."""

    def __init__(self, log: Callable[[Array], Array]) -> None:
        self.log = log

    def value(self, y: Array, f: Array) -> Array:
        return -np.asarray(self.log(y - f), dtype=np.float64)

    def gradient(self, y: Array, f: Array) -> Array:
        h = 6e-6 * (1.0 + np.abs(y - f))
        return np.asarray((self.value(y, f + h) - self.value(y, f - h)) / (2.0 * h))


def _density(noise: object) -> Any:
    """Return the density that is meant, of variance one if it is a name or a power."""
    if isinstance(noise, str):
        if noise not in NAMED_POWERS:
            raise ValueError(f"noise must be one of {list(NAMED_POWERS)}, a power, or a density.")
        noise = NAMED_POWERS[noise]
    if np.isscalar(noise):
        power = float(noise)  # type: ignore[arg-type]
        if not power >= 1.0:
            raise ValueError(f"exp(-|z|^p) needs a power of at least 1, got {power}.")
        density = stats.gennorm(power)
        return stats.gennorm(power, scale=1.0 / density.std())
    if isinstance(noise, Loss):
        return density_from_loss(noise)
    if not hasattr(noise, "pdf") and callable(noise):
        return NoiseDensity(_LogDensity(noise))
    return noise


def _spread(density: Any) -> float:
    """Return half the distance of two quantiles, one standard deviation of Gaussian noise."""
    return 0.5 * float(density.ppf(0.8413447460685429) - density.ppf(0.15865525393145707))


def _places(density: Any) -> tuple[float, float, float]:
    """Return quantiles between which the middle of any tube lies, give or take its width."""
    low, middle, high = (float(density.ppf(q)) for q in (1e-3, 0.5, 1.0 - 1e-3))
    return low, middle, high


def _walls(density: Any, epsilon: Array, places: tuple[float, float, float]) -> tuple[Array, Array]:
    """Return G and Q of tubes around the places they estimate."""
    low, high = places[0] - epsilon, places[2] + epsilon
    a = np.full(epsilon.shape, places[1])
    # A symmetric density balances around its median: then there is nothing to look for.
    beyond, before = density.sf(a + epsilon), density.cdf(a - epsilon)
    if not np.allclose(beyond, before, rtol=1e-9, atol=1e-13):
        for _ in range(60):
            a = 0.5 * (low + high)
            rising = density.sf(a + epsilon) > density.cdf(a - epsilon)
            low, high = np.where(rising, a, low), np.where(rising, high, a)
    G = density.sf(a + epsilon) + density.cdf(a - epsilon)
    return np.asarray(G), np.asarray(density.pdf(a + epsilon) + density.pdf(a - epsilon))


def tube_variance(noise: object, epsilon: float) -> float:
    r"""Return n times the variance of the location that a tube finds in n observations.

    .. math:: G / Q^2, \qquad Q = \varphi(a + \epsilon) + \varphi(a - \epsilon), \quad
              G = P(|Z - a| > \epsilon)

    Parameters
    ----------
    noise, epsilon :
        As in :func:`tube_efficiency`; the density need not have a Fisher information.

    Examples
    --------
    The median of uniform noise, and what knows its ends better:

    >>> from scipy import stats
    >>> tube_variance(stats.uniform(-1, 2), 0.0), round(tube_variance(stats.uniform(-1, 2), 0.9), 3)
    (1.0, 0.1)
    """
    if not epsilon >= 0:
        raise ValueError(f"epsilon must not be negative, got {epsilon}.")
    density = _density(noise)
    G, Q = _walls(density, np.array([float(epsilon)]), _places(density))
    return float(G[0] / Q[0] ** 2) if Q[0] > 0 else np.inf


def tube_efficiency(noise: object, epsilon: float) -> float:
    r"""Return how well the tube uses the data, compared with the best estimate there is.

    Parameters
    ----------
    noise : {"gaussian", "laplace"}, float, Loss, distribution or callable
        A power p is the density :math:`\propto \exp(-|cz|^p)` of variance one, a loss of the
        residual its density (:func:`~mercer.losses.density_from_loss`), a function a log-density up
        to a constant; a distribution is one of ``scipy.stats``, symmetric or not.
    epsilon : float
        Half-width of the tube, in the units of the noise.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> round(tube_efficiency("gaussian", 0.0), 4), round(tube_efficiency("gaussian", 0.612), 4)
    (0.6366, 0.8098)
    """
    density = _density(noise)
    return 1.0 / (tube_variance(density, epsilon) * _information(density))


def _information(density: Any) -> float:
    r"""Return the Fisher information, the integral of :math:`\varphi'^2 / \varphi`."""
    if isinstance(density, NoiseDensity):
        return density.information()
    if density.dist.name == "gennorm":
        # c^2 p^2 E|cz|^(2p-2), and |cz|^p is Gamma(1/p): no difference quotients at the cusp.
        power = float(density.dist._parse_args(*density.args, **density.kwds)[0][0])
        scale = float(density.std() / stats.gennorm(power).std())
        moment = special.gamma(2.0 - 1.0 / power) / special.gamma(1.0 / power)
        return float(power**2 * moment / scale**2)
    spread, middle = _spread(density), float(density.ppf(0.5))
    ends = np.array([end for end in density.support() if np.isfinite(end)])
    edges = density.pdf(ends + 1e-9 * spread * np.sign(middle - ends))
    score, step = known_score(density), 1e-5 * spread

    def slope(z: float) -> float:
        if score is not None:
            return float(score(np.asarray(z)))
        return float((density.logpdf(z + step) - density.logpdf(z - step)) / (2.0 * step))

    low, high = float(density.ppf(1e-12)), float(density.isf(1e-12))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", integrate.IntegrationWarning)
        # To either side of the median, where a cusp may be that differences do not see.
        gap = step if score is None else 0.0
        parts = [
            integrate.quad(lambda z: slope(z) ** 2 * float(density.pdf(z)), *part, limit=200)
            for part in ((low + 2.0 * gap, middle - gap), (middle + gap, high - 2.0 * gap))
        ]
    value, error = sum(part[0] for part in parts), sum(part[1] for part in parts)
    if np.any(edges * spread > 1e-6) or not error <= 1e-3 * value:
        raise ValueError(
            "The noise has sharp ends, or a density too rough for a finite Fisher information: "
            "there is no best variance to compare with. Compare variances by tube_variance."
        )
    return float(value)


def _best(density: Any) -> tuple[float, float]:
    """Return width and share outside of the tube of least variance."""
    spread = _spread(density)
    widest = 0.5 * float(density.ppf(1.0 - 0.5 * MIN_OUTSIDE) - density.ppf(0.5 * MIN_OUTSIDE))
    low, high, places = 0.0, widest, _places(density)

    def cost(t: Array) -> tuple[Array, Array]:
        G, Q = _walls(density, t, places)
        with np.errstate(divide="ignore"):
            return np.log(G) - 2.0 * np.log(Q), G

    for _ in range(8):
        t = np.linspace(low, high, 65)
        values, shares = cost(t)
        k = int(np.argmin(values))
        low, high = t[max(k - 1, 0)], t[min(k + 1, 64)]
    best, share = float(t[k]), float(shares[k])
    none, all_outside = cost(np.zeros(1))
    # Where nothing is gained by a tube there is none.
    if values[k] >= none[0] - 1e-9:
        return 0.0, float(all_outside[0])
    if best > widest - 1e-6 * spread:
        warnings.warn(
            "The wider the tube the better for noise with such sharp ends, which tell more than "
            f"any sum of losses; it leaves {100 * MIN_OUTSIDE:g} per cent of the samples outside.",
            UserWarning,
            stacklevel=3,
        )
    return best, share


def optimal_epsilon(noise: object = "gaussian", sigma: float = 1.0) -> float:
    r"""Return the half-width of the tube that is most efficient, :math:`\epsilon = \tau \sigma`.

    Parameters
    ----------
    noise : {"gaussian", "laplace"}, float, Loss, distribution or callable, default="gaussian"
        As in :func:`tube_efficiency`.
    sigma : float, default=1.0
        Standard deviation of the noise, for densities of variance one; a factor for others.

    Returns
    -------
    float

    Notes
    -----
    Asymptotic, for the estimate of a constant: a function has a bias too, and then a little wider
    tubes do as well. For noise with sharp ends (uniform, say) the efficiency grows without bound;
    there the tube leaves one per cent of the samples outside, with a warning.

    Examples
    --------
    >>> round(optimal_epsilon("gaussian", sigma=0.5), 4), optimal_epsilon("laplace")
    (0.306, 0.0)
    """
    return _best(_density(noise))[0] * sigma


def optimal_nu(noise: object = "gaussian") -> float:
    r"""Return the share of errors outside the most efficient tube, whatever the noise's scale.

    Parameters
    ----------
    noise : {"gaussian", "laplace"}, float, Loss, distribution or callable, default="gaussian"
        As in :func:`tube_efficiency`.

    Examples
    --------
    >>> round(optimal_nu("gaussian"), 4), optimal_nu("laplace")
    (0.5405, 1.0)
    """
    return _best(_density(noise))[1]


@dataclass(frozen=True)
class PolynomialNoise:
    r"""Noise of the density :math:`\propto \exp(-|(z - m)/s|^p)`, from :func:`fit_noise`.

    Parameters
    ----------
    power : float
        The power p: 1 is Laplacian noise, 2 Gaussian, many nearly uniform.
    location : float
        The centre m.
    sigma : float
        The standard deviation.
    log_likelihood : float
        Of the residuals, at these parameters.
    gain : float
        By how much that exceeds the one of Gaussian noise.
    """

    power: float
    location: float
    sigma: float
    log_likelihood: float
    gain: float

    @property
    def density(self) -> Any:
        """The frozen distribution of ``scipy.stats``."""
        scale = self.sigma / stats.gennorm(self.power).std()
        return stats.gennorm(self.power, loc=self.location, scale=scale)

    @property
    def epsilon(self) -> float:
        """The most efficient half-width of a tube."""
        return optimal_epsilon(self.power, self.sigma)

    @property
    def nu(self) -> float:
        """The share of samples outside that tube."""
        return optimal_nu(self.power)


def fit_noise(
    residuals: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    powers: tuple[float, float] = (1.0, 10.0),
    location: float | None = 0.0,
    evidence: float = EVIDENCE,
) -> PolynomialNoise:
    r"""Return the most likely power of the noise, Gaussian unless the residuals object.

    .. math:: \log L(p, s) = \sum_i w_i \Bigl(\log \frac{p}{2 s \Gamma(1/p)}
              - \Bigl|\frac{z_i - m}{s}\Bigr|^p\Bigr), \qquad
              s^p = p\, \frac{\sum_i w_i |z_i - m|^p}{\sum_i w_i}

    Parameters
    ----------
    residuals : (n,) array
        Errors of predictions, best of samples that were left out.
    weights : (n,) array, optional
        Of the residuals.
    powers : (float, float), default=(1, 10)
        Between which the power is looked for.
    location : float or None, default=0.0
        The centre m; None to estimate it as well.
    evidence : float, default=1.92
        The power is 2 unless the log-likelihood of the best one is larger by this.

    Returns
    -------
    PolynomialNoise

    Examples
    --------
    >>> z = np.random.default_rng(0).laplace(size=500)
    >>> noise = fit_noise(z)
    >>> bool(noise.power < 1.2), bool(noise.epsilon < 0.1 * noise.sigma)
    (True, True)
    >>> fit_noise(np.random.default_rng(0).normal(size=500)).power
    2.0
    """
    z = np.ravel(np.asarray(residuals, dtype=np.float64))
    w = check_sample_weight(weights, len(z), "weights")
    low, high = powers
    if not 1.0 <= low <= high:
        raise ValueError(f"powers must lie at or above 1, in order, got {powers}.")
    z, w = z[w > 0], w[w > 0]

    def fitted(p: float) -> tuple[float, float, float]:
        """Return log-likelihood, centre and scale for a power."""
        m = _centre(z, w, p) if location is None else location
        scale = float(p * (w @ np.abs(z - m) ** p) / np.sum(w)) ** (1.0 / p)
        if scale == 0.0:
            return -np.inf, m, 0.0
        log = np.log(p / (2.0 * scale)) - special.gammaln(1.0 / p) - 1.0 / p
        return float(np.sum(w) * log), m, scale

    found = optimize.minimize_scalar(
        lambda t: -fitted(float(np.exp(t)))[0],
        bounds=(np.log(low), np.log(high) + 1e-12),
        method="bounded",
        options={"xatol": 1e-8},
    )
    # A bounded search stops short of its ends.
    candidates = [low, high, float(np.exp(found.x))]
    best = max(candidates, key=lambda p: fitted(p)[0])
    gaussian = fitted(2.0)[0]
    gain = fitted(best)[0] - gaussian
    if not gain > evidence:
        best, gain = 2.0, 0.0
    log, m, scale = fitted(best)
    sigma = scale * float(stats.gennorm(best).std())
    return PolynomialNoise(best, float(m), sigma, log, gain)


def _centre(z: Array, w: Array, p: float) -> float:
    """Return the place with the least sum of powers of distances."""
    found = optimize.minimize_scalar(
        lambda m: float(w @ np.abs(z - m) ** p),
        bounds=(float(np.min(z)), float(np.max(z))),
        method="bounded",
        options={"xatol": 1e-10 * float(np.ptp(z)) + 1e-300},
    )
    return float(found.x)
