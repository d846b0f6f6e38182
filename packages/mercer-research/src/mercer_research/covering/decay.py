"""Balls of kernels whose eigenvalues are known to decay exponentially, without their list."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from mercer._params import check_integer, check_positive
from mercer.kernels.points import Array
from mercer_research.covering.base import Covering
from mercer_research.covering.diagonal import FACTOR, whole

__all__ = ["ExponentialDecay"]

# Shares of the decay given to the scaling; every one of them is a bound.
SHARES = np.concatenate([np.geomspace(1e-4, 0.5, 60), 1 - np.geomspace(0.5, 1e-6, 120)[1:]])


@dataclass(frozen=True)
class ExponentialDecay(Covering):
    r"""A ball of a kernel's space in the sup norm, from a law of decay of the eigenvalues.

    With :math:`\lambda_j \le \beta^2 e^{-\alpha j^p}` for :math:`j \ge 1`, the scaling
    :math:`a_j = e^{-\tau j^p/2}` gives for all :math:`0 < \tau < \alpha`

    .. math:: \varepsilon_n \le 6 \Lambda C_k \beta
              \sqrt{\frac{\Gamma(1/p)}{p (\alpha - \tau)^{1/p}}}\;
              \exp\Bigl(-\Bigl(\frac\tau2\Bigr)^{\frac1{p+1}}
              \Bigl(\frac{p+1}p \frac{\ln n}D\Bigr)^{\frac p{p+1}}\Bigr)

    so that :math:`\ln N(\varepsilon) = O(\ln^{1+1/p}(1/\varepsilon))`. Looser than
    :class:`BestScaling` on the same eigenvalues; needs none of them.

    Parameters
    ----------
    rate : float
        The number :math:`\alpha`.
    power : float, default=2
        The number p: 2 for Gaussians, 1 for :math:`1/(1 + r^2)`, both periodic in one dimension; in
        d dimensions p/d.
    scale : float, default=1
        The number :math:`\beta`.
    eigenfunction_bound, radius_of_ball, outputs
        :math:`C_k`, the bound :math:`\Lambda` on the norm and the number D of outputs.

    References
    ----------
    A. Smola, S. Mika, B. Schölkopf and R. Williamson (2001), Regularized principal manifolds,
    Journal of Machine Learning Research 1, propositions 12 and 13, without their factor
    :math:`\sqrt D`; A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (8.55).

    Examples
    --------
    >>> ball = ExponentialDecay(0.5, power=2)
    >>> round(ball.log_covering(0.1), 2), round(ball.log_covering(0.01), 2)
    (14.64, 26.51)
    """

    rate: float
    power: float = 2.0
    scale: float = 1.0
    eigenfunction_bound: float = 1.0
    radius_of_ball: float = 1.0
    outputs: int = 1
    name: str = "exponential decay"

    def __post_init__(self) -> None:
        check_integer("outputs", self.outputs, 1)
        check_positive(
            rate=self.rate,
            power=self.power,
            scale=self.scale,
            eigenfunction_bound=self.eigenfunction_bound,
            radius_of_ball=self.radius_of_ball,
        )

    def _largest(self, tau: Array | float) -> Array:
        """Return ln of the radius of the scaled features times that of the ball, for every tau."""
        p = self.power
        integral = gammaln(1 / p) - np.log(p) - np.log(self.rate - tau) / p
        return np.asarray(
            np.log(self.radius_of_ball * self.eigenfunction_bound * self.scale) + 0.5 * integral
        )

    @property
    def norm(self) -> float:
        return float(np.exp(self._largest(0.0)))

    def log_entropy(self, log_n: float) -> float:
        p, tau = self.power, SHARES * self.rate
        fall = (tau / 2) ** (1 / (p + 1)) * ((p + 1) / p * log_n / self.outputs) ** (p / (p + 1))
        value = np.min(np.log(FACTOR) + self._largest(tau) - fall)
        return float(min(value, np.log(self.norm)))

    def _log_covering(self, radius: float) -> float:
        p, tau = self.power, SHARES * self.rate
        fall = np.maximum(np.log(FACTOR) + self._largest(tau) - np.log(radius), 0.0)
        nats = p / (p + 1) * (fall / (tau / 2) ** (1 / (p + 1))) ** ((p + 1) / p)
        return whole(float(self.outputs * np.min(nats)))
