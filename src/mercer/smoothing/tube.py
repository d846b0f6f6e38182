r"""How wide a tube should be for a density of noise.

The mean that minimizes :math:`\sum_i |z_i - a|_\epsilon` over n observations has the variance
:math:`1/(n e I)` with the Fisher information I of the noise and the efficiency

.. math:: e(\epsilon) = \frac{Q^2}{G I}, \qquad Q = \varphi(\epsilon) + \varphi(-\epsilon), \quad
          G = P(|Z| > \epsilon)

References
----------
A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (2.18) to (2.32) and (2.36) to (2.42),
with the largest efficiency where the smallest is printed, the factor of the Gaussian case
(:math:`\pi/2` for :math:`2\pi`), and the Fisher information of eq. (2.31) restored.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import integrate, optimize, special, stats

__all__ = ["optimal_epsilon", "optimal_nu", "tube_efficiency"]

NAMES = {"gaussian": 2.0, "laplace": 1.0}
"""Named densities of variance one, by the power in their exponent."""


def _density(noise: Any) -> Any:
    """Return the frozen symmetric density of variance one that is meant, or the one given."""
    if isinstance(noise, str):
        if noise not in NAMES:
            raise ValueError(f"noise must be one of {list(NAMES)}, a power, or a density.")
        noise = NAMES[noise]
    if np.isscalar(noise):
        power = float(noise)  # type: ignore[arg-type]
        if not power >= 1.0:
            raise ValueError(f"exp(-|z|^p) needs a power of at least 1, got {power}.")
        density = stats.gennorm(power)
        return stats.gennorm(power, scale=1.0 / density.std())
    mean = float(noise.mean())
    here = noise.pdf(noise.ppf([0.6, 0.75, 0.9]))
    there = noise.pdf(2.0 * mean - noise.ppf([0.6, 0.75, 0.9]))
    if abs(mean) > 1e-9 * noise.std() or not np.allclose(here, there, rtol=1e-8):
        raise ValueError("The density must be symmetric around zero.")
    return noise


def tube_efficiency(noise: Any, epsilon: float) -> float:
    r"""Return how well the tube uses the data, compared with the best estimate there is.

    Parameters
    ----------
    noise : {"gaussian", "laplace"}, float or frozen distribution
        A power p is the density :math:`\propto \exp(-|cz|^p)` of variance one; a distribution of
        ``scipy.stats`` must be symmetric around zero.
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
    Q = 2.0 * float(density.pdf(epsilon))
    G = 2.0 * float(density.sf(epsilon))
    return Q**2 / (G * _information(density))


def _information(density: Any) -> float:
    r"""Return the Fisher information, the integral of :math:`\varphi'^2 / \varphi`."""
    args = density.args
    if density.dist.name == "gennorm":
        # c^2 p^2 E|cz|^(2p-2), and |cz|^p is Gamma(1/p): no difference quotients at the cusp.
        power, scale = float(args[0]), float(density.std() / stats.gennorm(args[0]).std())
        moment = special.gamma(2.0 - 1.0 / power) / special.gamma(1.0 / power)
        return float(power**2 * moment / scale**2)
    step = 1e-5 * float(density.std())

    def term(z: float) -> float:
        slope = (density.logpdf(z + step) - density.logpdf(z - step)) / (2.0 * step)
        return float(slope**2 * density.pdf(z))

    # From above zero: a cusp there has no mass.
    top = float(density.isf(1e-12))
    return 2.0 * float(integrate.quad(term, 2.0 * step, top, limit=200)[0])


def optimal_epsilon(noise: Any = "gaussian", sigma: float = 1.0) -> float:
    r"""Return the half-width of the tube that is most efficient, :math:`\epsilon = \tau \sigma`.

    Parameters
    ----------
    noise : {"gaussian", "laplace"}, float or frozen distribution, default="gaussian"
        As in :func:`tube_efficiency`.
    sigma : float, default=1.0
        Standard deviation of the noise, for densities of variance one; a factor for others.

    Returns
    -------
    float

    Notes
    -----
    Asymptotic, for the estimate of a constant: a function has a bias too, and then a little wider
    tubes do as well.

    Examples
    --------
    >>> round(optimal_epsilon("gaussian", sigma=0.5), 4), optimal_epsilon("laplace")
    (0.306, 0.0)
    """
    density = _density(noise)
    spread = float(density.std())

    def logarithm(t: float) -> float:
        value: float = 2.0 * density.logpdf(t * spread) - density.logsf(t * spread)
        return -value

    found = optimize.minimize_scalar(
        logarithm, bounds=(0.0, 3.0), method="bounded", options={"xatol": 1e-10}
    )
    # At zero the derivative may be negative: then no tube is best.
    best = float(found.x) if logarithm(float(found.x)) < logarithm(0.0) - 1e-9 else 0.0
    return best * spread * sigma


def optimal_nu(noise: Any = "gaussian") -> float:
    r"""Return the share of errors outside the most efficient tube, whatever the noise's scale.

    Parameters
    ----------
    noise : {"gaussian", "laplace"}, float or frozen distribution, default="gaussian"
        As in :func:`tube_efficiency`.

    Examples
    --------
    >>> round(optimal_nu("gaussian"), 4), optimal_nu("laplace")
    (0.5405, 1.0)
    """
    density = _density(noise)
    return float(2.0 * density.sf(optimal_epsilon(density)))
