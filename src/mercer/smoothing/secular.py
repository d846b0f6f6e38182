r"""The weight C from a known noise variance or a known norm, by secular equations.

On one eigendecomposition, with :math:`p = V'Wy` and eigenvalues :math:`\sigma`, both quantities are
rational functions of C without poles for C > 0,

.. math:: \sum_i s_i r_i^2 = \sum_j \Bigl(\frac{p_j}{1 + C\sigma_j}\Bigr)^2, \qquad
          \|f\|^2 = a'Ka = \sum_j \sigma_j \Bigl(\frac{C p_j}{1 + C\sigma_j}\Bigr)^2,

the first falling, the second rising, so that each equation has one root.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mercer._params import Params, is_integer
from mercer._typing import Array
from mercer.smoothing.eigendecomposition import Spectral

__all__ = [
    "AveragedMachine",
    "Ivanov",
    "Morozov",
    "WeightRule",
    "average",
    "ivanov",
    "mean_square",
    "morozov",
    "squared_norm",
]

EPS = float(np.finfo(np.float64).eps)
# Steps of a bracket in log C, and of Newton's method in it; bisection alone needs about 60.
BRACKET_STEP = np.log(100.0)
MAX_STEPS = 200


def mean_square(spectral: Spectral, y: ArrayLike, C: ArrayLike) -> Array:
    r"""Return the mean squared residual, :math:`\sum_i s_i r_i^2 / \sum_i s_i`, over all outputs.

    Parameters
    ----------
    spectral : Spectral
        The machine for every C.
    y : (n,) or (n, d) array
        Targets.
    C : float or (k,) array
        Weights of the loss.

    Returns
    -------
    float or (k,) array

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing import Spectral
    >>> mean_square(Spectral(np.eye(2)), np.array([1.0, 3.0]), 1.0)
    array(1.25)
    """
    sigma, energy, total = _spectrum(spectral, y)
    shrunk = 1.0 + np.multiply.outer(np.asarray(C, dtype=np.float64), sigma)
    return np.asarray(np.sum(energy / shrunk**2, axis=-1) / total)


def squared_norm(spectral: Spectral, y: ArrayLike, C: ArrayLike) -> Array:
    r"""Return :math:`\|f\|^2` of the penalized part, summed over all outputs.

    Parameters
    ----------
    spectral, y, C :
        As in :func:`mean_square`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing import Spectral
    >>> squared_norm(Spectral(np.eye(2)), np.array([1.0, 3.0]), 1.0)
    array(2.5)
    """
    sigma, energy, _ = _spectrum(spectral, y)
    C = np.asarray(C, dtype=np.float64)[..., None]
    return np.asarray(np.sum(sigma * energy * (C / (1.0 + C * sigma)) ** 2, axis=-1))


def morozov(spectral: Spectral, y: ArrayLike, variance: float) -> float:
    r"""Return the C whose mean squared residual is the variance of the noise.

    .. math:: \min_f \tfrac12 \|f\|^2 \quad \text{s.t.} \quad \frac{\sum_i s_i r_i^2}{\sum_i s_i}
              = \sigma^2

    Parameters
    ----------
    spectral, y :
        As in :func:`mean_square`; several outputs share their noise.
    variance : float
        The variance :math:`\sigma^2`.

    Raises
    ------
    ValueError
        Where no C leaves such residuals; the message names the range.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (6.25) to (6.35), with
    :math:`C = 2\xi`; eq. (6.31) and (6.35) are corrected, the root is unique.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing import Spectral
    >>> from mercer.smoothing.secular import morozov
    >>> round(morozov(Spectral(np.eye(2)), np.array([1.0, 3.0]), 1.25), 12)
    1.0
    """
    low, high = feasible(spectral, y)
    if not low < variance < high:
        raise ValueError(
            f"no weight C leaves a mean squared residual of {variance:.4g}: with this kernel it "
            f"lies between {low:.4g} and {high:.4g}. Give a variance in this range, or another "
            "kernel."
        )
    sigma, energy, total = _spectrum(spectral, y)

    def log_square(x: float) -> tuple[float, float]:
        t = np.exp(x) * sigma
        terms = energy / (1.0 + t) ** 2
        h = float(np.sum(terms))
        return np.log(h / (total * variance)), -2.0 * float(np.sum(terms * t / (1.0 + t))) / h

    return float(np.exp(_root(log_square, np.log(1.0 / sigma[-1]), _largest(sigma))))


def ivanov(spectral: Spectral, y: ArrayLike, norm: float) -> float:
    r"""Return the C of the best function of a bounded norm.

    .. math:: \min_f \tfrac12 \sum_i s_i r_i^2 \quad \text{s.t.} \quad \|f\| \le \pi

    Parameters
    ----------
    spectral, y :
        As in :func:`mean_square`; the norm is that of all outputs.
    norm : float
        The bound :math:`\pi`.

    Returns
    -------
    float
        Infinity where the bound does not bind: interpolation has no larger norm.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (6.32), where :math:`1/C =
    2\xi` stands on the diagonal, not its inverse.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing import Spectral
    >>> from mercer.smoothing.secular import ivanov
    >>> round(ivanov(Spectral(np.eye(2)), np.array([1.0, 3.0]), np.sqrt(2.5)), 12)
    1.0
    """
    if not norm > 0:
        raise ValueError(f"the bound of the norm must be positive, got {norm!r}.")
    sigma, energy, _ = _spectrum(spectral, y)
    if not len(sigma) or not sigma[-1] > 0 or not np.any(energy * sigma):
        return np.inf
    last = _largest(sigma)
    if squared_norm(spectral, y, np.exp(last)) <= norm**2:
        return np.inf

    def log_norm(x: float) -> tuple[float, float]:
        t = np.exp(x) * sigma
        terms = t * energy / (1.0 + t) ** 2
        g = float(np.sum(terms))
        # |f|^2 = C g, so that its logarithm has the slope 1 + C g'/g in log C; turned to fall.
        return (
            np.log(norm**2) - x - np.log(g),
            -1.0 - float(np.sum(terms * (1.0 - t) / (1.0 + t))) / g,
        )

    return float(np.exp(_root(log_norm, np.log(1.0 / sigma[-1]), last)))


@dataclass(frozen=True, eq=False)
class AveragedMachine:
    """The mean of machines, one expansion."""

    C: Array
    """Weights of the loss of the machines, (k,)."""

    weights: Array
    """What the machines weigh in the mean, (k,), adding up to one."""

    a: Array
    """Coefficients of the mean, like the targets."""

    b: Array
    """Unpenalized coefficients of the mean."""


def average(
    spectral: Spectral,
    y: ArrayLike,
    variance: float,
    std: float,
    *,
    width: float = 2.0,
    n_machines: int = 21,
) -> AveragedMachine:
    r"""Return the mean of the machines of an uncertain variance of the noise.

    .. math:: \bar f = \sum_k p_k f_{C(v_k)}, \qquad p_k \propto
              \exp\Bigl(-\frac{(v_k - \hat\sigma^2)^2}{2 \sigma_v^2}\Bigr)

    over equidistant variances v in :math:`\hat\sigma^2 \pm w \sigma_v`, as far as some C leaves
    them, with C(v) of :func:`morozov`. It is one expansion with the mean coefficients.

    Parameters
    ----------
    spectral, y :
        As in :func:`mean_square`.
    variance, std : float
        An estimate of the variance of the noise, and its standard deviation.
    width : float, default=2.0
        The half-width w of the interval, in standard deviations.
    n_machines : int, default=21
        How many machines are averaged.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (6.36), whose interval is
    meant around the variance and in standard deviations.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing import Spectral
    >>> from mercer.smoothing.secular import average, morozov
    >>> spectral, y = Spectral(np.eye(2)), np.array([1.0, 3.0])
    >>> mean = average(spectral, y, 1.25, 0.2)
    >>> bool(mean.C[0] > morozov(spectral, y, 1.25) > mean.C[-1])
    True
    """
    rule = Morozov(variance, std, width=width, n_machines=n_machines)
    C, weights = rule.choose(spectral, y)
    parts = [spectral.coefficients(y, float(one)) for one in C]
    a = sum(w * part[0] for w, part in zip(weights, parts, strict=True))
    b = sum(w * part[1] for w, part in zip(weights, parts, strict=True))
    return AveragedMachine(C, weights, np.asarray(a), np.asarray(b))


class WeightRule(Params, ABC):
    """A rule that determines C."""

    @abstractmethod
    def choose(self, spectral: Spectral, y: ArrayLike) -> tuple[Array, Array]:
        """Return weights of the loss, and the weights of their machines in the mean, (k,) and (k,).

        Parameters
        ----------
        spectral, y :
            As in :func:`mean_square`.
        """


@dataclass(eq=False)
class Morozov(WeightRule):
    r"""The C that leaves residuals of the variance of the noise, or a mean over an interval of it.

    Parameters
    ----------
    variance : float
        The variance :math:`\sigma^2` of the noise, as in :func:`morozov`.
    std : float, default=0.0
        Its standard deviation; if positive, machines are averaged as in :func:`average`.
    width : float, default=2.0
        Half-width of the interval, in standard deviations.
    n_machines : int, default=21
        How many machines are averaged.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR
    >>> from mercer.smoothing import Morozov
    >>> X = np.linspace(-3, 3, 50)[:, None]
    >>> y = np.sinc(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=50)
    >>> machine = LSSVR(C=Morozov(0.01)).fit(X, y)
    >>> round(float(np.mean((y - machine.predict(X)) ** 2)), 6)
    0.01
    """

    variance: float
    std: float = 0.0
    width: float = 2.0
    n_machines: int = 21

    def __post_init__(self) -> None:
        if not self.variance > 0:
            raise ValueError(f"variance must be positive, got {self.variance!r}.")
        if not (self.std >= 0 and self.width > 0):
            raise ValueError(
                f"std must be at least 0 and width positive, got {self.std!r} and {self.width!r}."
            )
        if not is_integer(self.n_machines) or self.n_machines < 1:
            raise ValueError(f"n_machines must be a positive integer, got {self.n_machines!r}.")

    def choose(self, spectral: Spectral, y: ArrayLike) -> tuple[Array, Array]:
        v = np.array([self.variance])
        if self.std and self.n_machines > 1:
            spread = self.width * self.std
            low, high = feasible(spectral, y)
            first, last = max(self.variance - spread, low), min(self.variance + spread, high)
            if not first < last:
                raise ValueError(
                    f"no weight C leaves a mean squared residual of {self.variance:.4g} ± "
                    f"{spread:.4g}: with this kernel it lies between {low:.4g} and {high:.4g}."
                )
            # The ends of the feasible range belong to C = infinity and 0: keep off by half a step.
            v = first + (last - first) * (0.5 + np.arange(self.n_machines)) / self.n_machines
        density = np.exp(-0.5 * ((v - self.variance) / (self.std or 1.0)) ** 2)
        C = np.array([morozov(spectral, y, float(one)) for one in v])
        return C, np.asarray(density / np.sum(density))


@dataclass(eq=False)
class Ivanov(WeightRule):
    r"""The C of the best function whose norm is bounded.

    Parameters
    ----------
    norm : float
        The bound of :math:`\|f\|`, as in :func:`ivanov`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR
    >>> from mercer.smoothing import Ivanov
    >>> X = np.linspace(-3, 3, 50)[:, None]
    >>> machine = LSSVR(C=Ivanov(0.5)).fit(X, np.sinc(X[:, 0]))
    >>> a = machine.dual_coef_[0]
    >>> round(float(a @ machine.kernel_(X) @ a), 6)
    0.25
    """

    norm: float

    def __post_init__(self) -> None:
        if not self.norm > 0:
            raise ValueError(f"norm must be positive, got {self.norm!r}.")

    def choose(self, spectral: Spectral, y: ArrayLike) -> tuple[Array, Array]:
        return np.array([ivanov(spectral, y, self.norm)]), np.ones(1)


def feasible(spectral: Spectral, y: ArrayLike) -> tuple[float, float]:
    """Return the mean squared residuals of the largest C that double precision sees, and of C = 0.

    Parameters
    ----------
    spectral, y :
        As in :func:`mean_square`.
    """
    sigma, energy, total = _spectrum(spectral, y)
    high = float(np.sum(energy)) / total
    if not len(sigma) or not sigma[-1] > 0:
        return high, high
    return float(mean_square(spectral, y, np.exp(_largest(sigma)))), high


def _spectrum(spectral: Spectral, y: ArrayLike) -> tuple[Array, Array, float]:
    """Return eigenvalues, squared components of the targets and the weight of all targets."""
    components = spectral.components(y)
    total = float(np.sum(spectral.weights)) * components.shape[1]
    return spectral.values, np.sum(components**2, axis=1), total


def _largest(sigma: Array) -> float:
    """Return the logarithm of the largest C that differs from infinity: 1/C is seen by sigma."""
    return -float(np.log(len(sigma) * EPS * sigma[-1]))


def _root(g: Callable[[float], tuple[float, float]], start: float, last: float) -> float:
    """Return the root of a falling function by Newton's method inside a bracket.

    Parameters
    ----------
    g : callable
        Value and slope.
    start, last : float
        Where to begin, and where g is negative.
    """
    low, high = min(start, last), last
    while g(low)[0] < 0:
        low, high = low - BRACKET_STEP, low
    x = low
    for _ in range(MAX_STEPS):
        value, slope = g(x)
        low, high = (x, high) if value >= 0 else (low, x)
        step = x - value / slope if slope < 0 else np.inf
        new = step if low <= step <= high else 0.5 * (low + high)
        if abs(new - x) <= 4 * EPS * max(1.0, abs(x)):
            return float(new)
        x = new
    return float(x)
