r"""How far a least-squares machine is from the truth on average, for every C.

With targets :math:`y = g + e`, :math:`\operatorname{var} e_i = \sigma^2 / s_i`, components
:math:`p = V'Wg` of the truth and :math:`u = 1/C`,

.. math:: \sum_i s_i\, (E f_i - g_i)^2 = \sum_j \Bigl(\frac{u p_j}{\sigma_j + u}\Bigr)^2, \qquad
          \sum_i s_i \operatorname{var} f_i
          = \sigma^2 \Bigl(q + \sum_j \Bigl(\frac{\sigma_j}{\sigma_j + u}\Bigr)^2\Bigr).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from mercer._typing import Array
from mercer.smoothing.eigendecomposition import Spectral

__all__ = ["BiasVariance", "bias_variance", "plug_in"]

# Range of C in units of the largest eigenvalue in which minima are looked for, and how finely: no
# term of the sums changes by more than a third between neighbours.
LOW, HIGH, STEPS = 1e-4, 1e12, 200
LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class BiasVariance:
    """Expected errors, totals over the sample and its outputs, one number a C."""

    C: Array
    """Weights of the loss."""

    squared_bias: Array
    """What the mean of the fits is off."""

    variance: Array
    """What fits differ from their mean."""

    @property
    def total(self) -> Array:
        """The total mean squared error: squared bias and variance."""
        return np.asarray(self.squared_bias + self.variance)


def bias_variance(
    spectral: Spectral, truth: ArrayLike, noise_variance: float, C: ArrayLike
) -> BiasVariance:
    """Return squared bias and variance of the machine where the truth is known.

    Parameters
    ----------
    spectral : Spectral
        The machine for every C. Weights are inverse variances of the noise, up to a factor, and
        weigh the errors.
    truth : (n,) or (n, d) array
        Values without noise.
    noise_variance : float
        Variance of the noise of a sample of weight one.
    C : float or (k,) array
        Weights of the loss.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, eq. (6.19) to (6.24), lemma 6.4,
    where eq. (6.21) lacks that covariances are centered.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing import Spectral
    >>> from mercer_research.diagnostics import bias_variance
    >>> errors = bias_variance(Spectral(np.eye(2)), np.array([1.0, 3.0]), 1.0, [1.0, 4.0])
    >>> errors.squared_bias, errors.variance
    (array([2.5, 0.4]), array([0.5 , 1.28]))
    """
    C = np.asarray(C, dtype=np.float64)
    with np.errstate(over="ignore"):
        # Infinity is a number here: what K does not see, an eigenvalue of zero, is never fitted.
        left = 1.0 / (1.0 + np.multiply.outer(np.minimum(C, LARGEST), spectral.values))
    components = spectral.components(truth)
    d = components.shape[1]
    bias = np.sum(np.sum(components**2, axis=1) * left**2, axis=-1)
    kept = spectral.rank + np.sum((1.0 - left) ** 2, axis=-1)
    return BiasVariance(C, np.asarray(bias), np.asarray(noise_variance * d * kept))


def plug_in(
    spectral: Spectral,
    y: ArrayLike,
    noise_variance: float | None = None,
    pilot: float | None = None,
) -> float:
    r"""Return the C of the least estimated total error: a pilot fit stands for the truth.

    .. math:: \hat C = \arg\min_C \; \|(1 - S_C) \hat g\|^2 + \hat\sigma^2 \operatorname{tr} S_C^2

    A rough estimate: a pilot that is too smooth hides bias. The exact criteria of
    :mod:`mercer.smoothing.criteria` do not need a pilot.

    Parameters
    ----------
    spectral : Spectral
        The machine for every C.
    y : (n,) or (n, d) array
        Targets.
    noise_variance : float, optional
        Variance of the noise of a sample of weight one; by default that of the residuals of the
        pilot, per degree of freedom that it leaves.
    pilot : float, optional
        The C of the pilot fit, by default that of generalized cross-validation.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 6.2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.smoothing import Spectral
    >>> from mercer_research.diagnostics import bias_variance
    >>> from mercer_research.diagnostics.bias_variance import plug_in
    >>> x, rng = np.linspace(-3, 3, 100)[:, None], np.random.default_rng(0)
    >>> g = np.sinc(x[:, 0])
    >>> spectral = Spectral(Gaussian(1.0)(x))
    >>> C = plug_in(spectral, g + 0.1 * rng.normal(size=100))
    >>> Cs = np.logspace(-4, 8, 100)
    >>> best = np.min(bias_variance(spectral, g, 0.01, Cs).total)
    >>> bool(bias_variance(spectral, g, 0.01, C).total < 1.5 * best)
    True
    """
    if not len(spectral.values) or not spectral.values[-1] > 0:
        raise ValueError("K vanishes off the columns of B, so that no C differs from another.")
    Y = np.asarray(y, dtype=np.float64).reshape(spectral.n, -1)
    energy = np.sum(spectral.components(Y) ** 2, axis=1)
    live, d = len(spectral.vectors), Y.shape[1]

    def left(C: float) -> tuple[float, float]:
        """Return squared residuals, and degrees of freedom left, per output."""
        shrunk = 1.0 + C * spectral.values
        return float(np.sum(energy / shrunk**2)) / d, float(np.sum(1.0 / shrunk))

    def gcv(x: float) -> float:
        square, free = left(np.exp(x))
        return float(np.log(square / free**2)) if square > 0 and free > 0 else np.inf

    if pilot is None:
        pilot = float(np.exp(_least(gcv, spectral.values[-1])))
    if noise_variance is None:
        square, free = left(pilot)
        noise_variance = square / max(free, np.finfo(float).eps * live)
    truth = spectral.fitted(Y, pilot)

    def error(x: float) -> float:
        return float(bias_variance(spectral, truth, noise_variance, np.exp(x)).total)

    return float(np.exp(_least(error, spectral.values[-1])))


def _least(criterion: Callable[[float], float], largest: float) -> float:
    """Return the log C of the least value: the best of a grid, then between its neighbours."""
    grid = np.linspace(np.log(LOW / largest), np.log(HIGH / largest), STEPS)
    k = int(np.argmin([criterion(x) for x in grid]))
    low, high = grid[max(k - 1, 0)], grid[min(k + 1, STEPS - 1)]
    return float(minimize_scalar(criterion, bounds=(low, high), method="bounded").x)
