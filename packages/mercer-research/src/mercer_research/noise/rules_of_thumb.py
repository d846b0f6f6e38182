"""First guesses of hyperparameters from the noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mercer.smoothing.noise import NoiseVariance
from mercer.smoothing.pairs import as_sample
from mercer.smoothing.tube_width import optimal_epsilon

__all__ = ["cherkassky_C", "guess_epsilon", "plug_in_bandwidth", "ridge_C", "signal_to_noise"]


def guess_epsilon(
    noise: float | NoiseVariance, n: int | None = None, rule: str = "efficient"
) -> float:
    r"""Return a half-width of the tube for a variance of the noise.

    Parameters
    ----------
    noise : float or NoiseVariance
        The variance :math:`\sigma^2`.
    n : int, optional
        Number of samples, for Cherkassky's rule.
    rule : {"efficient", "cherkassky"}, default="efficient"
        :math:`0.612 \sigma`, the most efficient tube for Gaussian noise
        (:func:`optimal_epsilon`), or :math:`3 \sigma \sqrt{\ln n / n}`, which narrows as samples
        become more.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, sec. 2.2.2; V. Cherkassky and Y. Ma,
    Neural Networks 17, 2004; K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. A.4.

    Examples
    --------
    >>> round(guess_epsilon(0.04), 4), round(guess_epsilon(0.04, 100, "cherkassky"), 4)
    (0.1224, 0.1288)
    """
    sigma = float(np.sqrt(_variance(noise)))
    if rule == "efficient":
        return optimal_epsilon("gaussian", sigma)
    if rule != "cherkassky":
        raise ValueError(f"rule must be 'efficient' or 'cherkassky', got {rule!r}.")
    if n is None or n < 2:
        raise ValueError("Cherkassky's rule needs the number of samples, n, at least 2.")
    return float(3.0 * sigma * np.sqrt(np.log(n) / n))


def cherkassky_C(y: ArrayLike) -> float:
    r"""Return Cherkassky's C of support vector regression, :math:`\max |\bar y \pm 3 s_y|`.

    Examples
    --------
    >>> cherkassky_C([0.0, 2.0])
    4.0
    """
    y = np.asarray(y, dtype=float)
    return float(abs(y.mean()) + 3.0 * y.std())


def signal_to_noise(slope: float, noise: float | NoiseVariance) -> float:
    r"""Return C of a linear least-squares machine, :math:`\hat\gamma = \sigma_w^2 / \sigma_e^2`.

    Parameters
    ----------
    slope : float
        Slope of the differogram of half the squared differences, :attr:`DifferogramFit.slope`: half
        the prior variance :math:`\sigma_w^2` of a weight.
    noise : float or NoiseVariance
        The variance of the noise.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (A.23).

    Examples
    --------
    >>> signal_to_noise(2.0, 0.1)
    40.0
    """
    return float(2.0 * slope / _variance(noise, positive=True))


def ridge_C(X: ArrayLike, y: ArrayLike, noise: float | NoiseVariance) -> float:
    r"""Return C of ridge regression by Hoerl, Kennard and Baldwin.

    .. math:: \hat\gamma = \hat w' \hat w / (p \hat\sigma_e^2)

    with the least-squares weights, the intercept apart; ridge's penalty is its reciprocal.

    Parameters
    ----------
    X : (n, p) array
    y : (n,) array
    noise : float or NoiseVariance
        The variance of the noise.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. A.4, with the variance of the
    noise for its standard deviation.

    Examples
    --------
    >>> ridge_C([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0], 0.5)
    8.0
    """
    points, targets = as_sample(X, y)
    centred = points - points.mean(axis=0)
    w = np.linalg.lstsq(centred, targets - targets.mean(), rcond=None)[0]
    return float(np.round(w @ w / (len(w) * _variance(noise, positive=True)), 12))


def plug_in_bandwidth(
    x: ArrayLike, y: ArrayLike, noise: float | NoiseVariance, rule: str = "amise"
) -> float:
    r"""Return the bandwidth of Nadaraya and Watson's Gaussian average of one feature.

    .. math:: h = \Bigl[\frac{R(K) \sigma^2 |X|}{n \mu_2^2 E[f''(x)^2]}\Bigr]^{1/5}, \qquad
              R(K) = \frac{1}{2\sqrt\pi}, \quad \mu_2 = 1

    which minimizes the asymptotic mean squared error :math:`\tfrac14 h^4 \mu_2^2 E[f''^2] +
    R(K) \sigma^2 |X| / (nh)` over points spread evenly over a range of length :math:`|X|`;
    :math:`f''` is that of a polynomial of degree four.

    Parameters
    ----------
    x : (n,) or (n, 1) array
    y : (n,) array
    noise : float or NoiseVariance
        The variance of the noise.
    rule : {"amise", "printed"}, default="amise"
        "printed" is :math:`\tfrac{6\sqrt\pi}{25} \sigma^2 n^{-1/5}`, which does not have the unit
        of x and is there to compare with.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (A.24).

    Examples
    --------
    >>> x = np.linspace(0, 1, 201)
    >>> round(plug_in_bandwidth(x, x**2, 0.01), 3)
    0.081
    """
    points, targets = as_sample(x, y)
    if points.shape[1] != 1 or len(targets) < 6:
        raise ValueError("A bandwidth by plugging in needs one feature and at least six samples.")
    if rule == "printed":
        return float(6.0 * np.sqrt(np.pi) / 25.0 * _variance(noise) * len(targets) ** -0.2)
    if rule != "amise":
        raise ValueError(f"rule must be 'amise' or 'printed', got {rule!r}.")
    low, high = float(points.min()), float(points.max())
    quartic = np.polynomial.Polynomial.fit(points[:, 0], targets, 4, domain=[low, high])
    squared = (quartic.deriv(2) ** 2).integ()
    roughness = float(squared(high) - squared(low)) / (high - low) if high > low else 0.0
    if not roughness > 0:
        return high - low
    top = _variance(noise) * (high - low) / (2.0 * np.sqrt(np.pi))
    return float(min((top / (len(targets) * roughness)) ** 0.2, high - low))


def _variance(noise: float | NoiseVariance, positive: bool = False) -> float:
    value = float(noise)
    if not (value > 0 if positive else value >= 0) or not np.isfinite(value):
        raise ValueError(f"The variance of the noise must be positive and finite, got {value}.")
    return value
