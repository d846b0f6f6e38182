r"""Intervals of a least-squares machine from one factorization, without refits.

Predictions are linear in the targets, :math:`f(x) = w(x)'y`, and so is everything that a sample
that was left out, drawn again or perturbed does to them:

.. math:: f^{(-i)}(x) = f(x) - w_i(x)\, \frac{a_i}{Q_{ii}}, \qquad f^*(x) = w(x)'y^*.

Two questions have two answers: where the *function* is, which further data will tell, and where the
next *observation* will be, whose error no data will tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from mercer._typing import Array

__all__ = ["METHODS", "Predictive", "order_statistics"]


# Resampled fits at a time: a few arrays of this many columns.
MAX_RESAMPLES_AT_ONCE = 256

METHODS = {
    "observation": ("conformal", "local", "jackknife+", "bayes", "bootstrap"),
    "function": ("bayes", "bootstrap", "wild"),
}
"""What answers which question, the recommended method first."""


def order_statistics(n: int, coverage: float) -> tuple[int, int]:
    r"""Return the ranks between which a new one of n + 1 exchangeable values lies.

    .. math:: k = \lceil \gamma (n + 1) \rceil, \qquad P(z_{n+1} \le z_{(k)}) \ge \gamma

    and the mirror image, :math:`n + 1 - k`. A rank of n + 1 or 0 stands for infinity: so few values
    prove nothing at that level.

    Examples
    --------
    >>> from mercer.smoothing.intervals import order_statistics
    >>> order_statistics(99, 0.9), order_statistics(8, 0.9)
    ((10, 90), (0, 9))
    """
    # The product may miss an integer by rounding only.
    k = int(np.ceil(coverage * (n + 1) * (1.0 - 4 * np.finfo(np.float64).eps)))
    return n + 1 - k, k


@dataclass(frozen=True, eq=False)
class Predictive:
    r"""Predictive distribution of one output at m new points.

    The observations have the covariance :math:`\tau (K + \operatorname{diag}(e))`, with the noise
    :math:`e_i = 1/c_i` in units of the kernel; Q is the inverse off the unpenalized columns. The
    factor :math:`\tau` is estimated from residuals,

    .. math:: \hat\tau = \frac{1}{n - \operatorname{tr} S} \sum_i \frac{r_i^2}{e_i}
              = \frac{\sum_i e_i a_i^2}{\sum_i e_i Q_{ii}}, \qquad a = Qy.

    Parameters
    ----------
    y : (n,) array
        Targets.
    inverse : (n, n) array
        The matrix Q.
    noise : (n,) array
        The noise e of each observation.
    new : float
        The noise of a new observation.
    weights : (m, n) array
        What targets weigh in predictions, w(x).
    variance : (m,) array
        Posterior variance of the function in units of the kernel.

    References
    ----------
    K. Pelckmans, *Primal-Dual Kernel Machines*, KU Leuven 2005, sec. 5.2; R. Barber, E. Candes,
    A. Ramdas and R. Tibshirani (2021), Predictive inference with the jackknife+, Annals of
    Statistics 49, eq. (1.2); D. Nychka (1988), Bayesian confidence intervals for smoothing splines,
    J. American Statistical Association 83.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.smoothing.intervals import Predictive
    >>> y, n = np.random.default_rng(0).normal(size=50), 50
    >>> center = np.eye(n) - 1 / n
    >>> mean = Predictive(y, center, np.ones(n), 1.0, np.full((1, n), 1 / n), np.array([1 / n]))
    >>> mean.bayes(0.9, "function").round(2)
    array([[-0.09,  0.35]])
    """

    y: Array
    inverse: Array
    noise: Array
    new: float
    weights: Array
    variance: Array

    @property
    def mean(self) -> Array:
        """Predictions, (m,)."""
        return np.asarray(self.weights @ self.y)

    @cached_property
    def coefficients(self) -> Array:
        """Coefficients of the expansion, (n,)."""
        return np.asarray(self.inverse @ self.y)

    @cached_property
    def precision(self) -> Array:
        """The diagonal of Q; one over it is the variance of a sample given the others."""
        return np.maximum(np.diag(self.inverse), 0.0)

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Samples that the others predict: not those that determine a free function alone."""
        rounding = len(self.y) * float(np.finfo(np.float64).eps) * np.max(self.precision)
        return np.asarray(self.precision > rounding)

    @cached_property
    def left_out(self) -> Array:
        """Errors of samples predicted by the others, (n,); infinite where they are not."""
        q = np.where(self.known, self.precision, 1.0)
        return np.where(self.known, self.coefficients / q, np.inf)

    @cached_property
    def studentized(self) -> Array:
        """Those errors over the standard deviations that the machine expects of them, (n,)."""
        q = np.where(self.known, self.precision, 1.0)
        return np.where(self.known, self.coefficients / np.sqrt(q), 0.0)

    @cached_property
    def left_over(self) -> float:
        """Residual degrees of freedom, n less the trace of the smoother."""
        return float(np.sum(self.noise * self.precision))

    @cached_property
    def scale(self) -> float:
        r"""The estimate of :math:`\tau`."""
        return float(np.sum(self.noise * self.coefficients**2)) / self.left_over

    @cached_property
    def degrees(self) -> float:
        r"""Degrees of freedom of that estimate, by matching two moments.

        .. math:: \frac{(\operatorname{tr} EQ)^2}{\operatorname{tr} EQEQ}
        """
        EQ = self.noise[:, None] * self.inverse
        return self.left_over**2 / float(np.sum(EQ * EQ.T))

    def interval(
        self,
        method: str,
        of: str = "observation",
        coverage: float = 0.9,
        *,
        symmetric: bool = True,
        n_resamples: int = 1000,
        random_state: np.random.Generator | int | None = None,
    ) -> Array:
        """Return lower and upper ends, (m, 2), by the name of a method.

        Parameters
        ----------
        method : str
            One of ``METHODS[of]``.
        of : {"observation", "function"}
            What is to lie inside.
        coverage : float
            The probability with which it does.
        symmetric : bool
            Whether both ends are as far from the prediction, for methods that rank left-out errors;
            else both are as likely to be exceeded.
        n_resamples : int
            Samples drawn by ``"bootstrap"`` and ``"wild"``.
        random_state : Generator or int, optional
            What they are drawn by.
        """
        if method == "bayes":
            return self.bayes(coverage, of)
        if method in ("conformal", "local"):
            return self.conformal(coverage, symmetric, local=method == "local")
        if method == "jackknife+":
            return self.jackknife_plus(coverage, symmetric)
        return self.bootstrap(coverage, of, method == "wild", n_resamples, random_state)

    # Errors with a law ---------------------------------------------------------------------------

    def bayes(self, coverage: float, of: str = "observation") -> Array:
        r"""Return posterior mean plus and minus quantiles of Student's law.

        .. math:: f(x) \pm t_\nu \sqrt{\hat\tau\, (v(x) + [e])}

        For functions the coverage is that of an average over the design, for functions as rough as
        the kernel expects: the posterior variance stands for variance and squared bias.
        """
        spread = self.variance + (self.new if of == "observation" else 0.0)
        quantile = float(student.ppf(0.5 + 0.5 * coverage, self.degrees))
        half = quantile * np.sqrt(self.scale * spread)
        return np.column_stack([self.mean - half, self.mean + half])

    # Errors that are exchangeable ----------------------------------------------------------------

    def conformal(self, coverage: float, symmetric: bool = True, local: bool = False) -> Array:
        r"""Return the prediction with quantiles of studentized left-out errors.

        .. math:: f(x) \pm z_{(k)} \sqrt{v(x) + e}, \qquad
                  z_i = \frac{|y_i - f^{(-i)}(x_i)|}{\sqrt{1/Q_{ii}}}

        where :math:`1/Q_{ii}` is the variance that the machine without sample i predicts for it: no
        law of the errors enters, and intervals widen where there are few data. *Local* ones are
        also divided by the root mean square of those nearby, in the proportion in which these carry
        the prediction, so that widths follow errors that are larger in some places than in others.
        """
        z, known = self.studentized, self.known
        spread = np.sqrt(self.variance + self.new)
        if local:
            S = -self.noise[:, None] * self.inverse
            np.fill_diagonal(S, 0.0)
            spread, z = spread * self._nearby(self.weights), z / self._nearby(S)
        z = z[known]
        ends = _ends(np.abs(z), -np.abs(z), coverage) if symmetric else _tails(z, coverage)
        return np.asarray(self.mean[:, None] + spread[:, None] * ends)

    def _nearby(self, weights: Array) -> Array:
        """Return root mean squares of studentized errors that weigh as in a prediction."""
        share = np.abs(weights) * self.known
        total, z2 = np.sum(share, axis=1), self.studentized**2
        # A sample that nothing else predicts has the scale of all.
        squares = np.divide(
            share @ z2, total, out=np.full(len(total), np.mean(z2)), where=total > 0
        )
        return np.asarray(np.sqrt(np.maximum(squares, np.finfo(np.float64).tiny)))

    def jackknife_plus(self, coverage: float, symmetric: bool = True) -> Array:
        r"""Return quantiles of leave-one-out predictions plus and minus their errors.

        .. math:: \bigl[q^-\{f^{(-i)}(x) - |r_i|\},\; q^+\{f^{(-i)}(x) + |r_i|\}\bigr], \qquad
                  r_i = y_i - f^{(-i)}(x_i)

        Whatever the law, the machine and n, the coverage is at least :math:`2\gamma - 1` for
        exchangeable data and fixed hyperparameters, and :math:`\gamma` where leaving one out
        changes little. Errors of samples that weigh s are taken to be :math:`\sqrt s` times smaller
        than those of new ones.
        """
        left = self.left_out[self.known]
        others = self.mean[:, None] - self.weights[:, self.known] * left
        r = left * np.sqrt(self.new / self.noise[self.known])
        if symmetric:
            return _ends(others + np.abs(r), others - np.abs(r), coverage)
        return _tails(others + r, coverage)

    # Errors drawn again --------------------------------------------------------------------------

    def bootstrap(
        self,
        coverage: float,
        of: str = "observation",
        wild: bool = False,
        n_resamples: int = 1000,
        random_state: np.random.Generator | int | None = None,
    ) -> Array:
        r"""Return intervals from the distribution of studentized errors of resampled fits.

        .. math:: z^* = \frac{w(x)'e^* + b^*(x) [- e^*(x)]}{s^*(x)}, \qquad
                  \bigl[f(x) - z^*_{(1-\alpha)} s(x),\; f(x) - z^*_{(\alpha)} s(x)\bigr]

        Errors :math:`e^*` are drawn from studentized left-out ones. *Wild* ones stay where they are
        and change sign at random, which keeps a variance that changes from place to place. The
        smoothing bias b is not among the data: a resampled fit of a fit, which is smoother than the
        function, underestimates it. It is drawn from what the kernel expects, a normal law of
        variance :math:`\hat\tau\, (v(x) - \sum_i w_i(x)^2 e_i)`, what is left of the posterior
        variance after that of the errors.

        References
        ----------
        A. Davison and D. Hinkley, *Bootstrap Methods and their Application*, 1997, sec. 7.6; W.
        Haerdle and J. Marron (1991), Bootstrap simultaneous error bars for nonparametric
        regression, Annals of Statistics 19, for the bias.
        """
        rng = np.random.default_rng(random_state)
        n, m, mean = len(self.y), len(self.weights), self.mean
        new = self.new if of == "observation" else 0.0
        unit = self.studentized if wild else self._recentred()
        squares = self.weights**2 * self.noise
        bias = np.maximum(self.variance - np.sum(squares, axis=1), 0.0)[:, None]

        def spread(A: Array) -> Array:
            """Return standard errors, (m, b), from the coefficients (n, b) of b fits."""
            scale = np.sum(self.noise[:, None] * A**2, axis=0) / self.left_over
            if not wild:
                return np.sqrt(np.outer(self.variance + new, scale))
            z2 = A**2 / np.where(self.known, self.precision, np.inf)[:, None]
            return np.asarray(np.sqrt(squares @ z2 + (bias + new) * scale))

        roots = np.empty((m, n_resamples))
        for first in range(0, n_resamples, MAX_RESAMPLES_AT_ONCE):
            b = min(MAX_RESAMPLES_AT_ONCE, n_resamples - first)
            if wild:
                e = unit[:, None] * rng.choice([-1.0, 1.0], size=(n, b))
            else:
                e = rng.choice(unit, size=(n, b))
            e *= np.sqrt(self.noise)[:, None]
            error = self.weights @ e + np.sqrt(self.scale * bias) * rng.normal(size=(m, b))
            if new:
                error -= np.sqrt(new) * rng.choice(unit, size=(m, b))
            # Coefficients of the fit of f + e: what smoothing leaves of f is in the bias already.
            size = spread(self.inverse @ e)
            roots[:, first : first + b] = np.divide(
                error, size, out=np.zeros_like(error), where=size > 0
            )
        tail = 0.5 * (1.0 - coverage)
        low, high = np.quantile(roots, [tail, 1.0 - tail], axis=1)
        size = spread(self.coefficients[:, None])[:, 0]
        return np.column_stack([mean - high * size, mean - low * size])

    def _recentred(self) -> Array:
        """Return errors to draw from: of mean zero and of the estimated scale."""
        unit = self.studentized - np.mean(self.studentized)
        square = float(np.mean(unit**2))
        return np.asarray(unit * np.sqrt(self.scale / square)) if square > 0 else unit


def _ends(above: Array, below: Array, coverage: float) -> Array:
    """Return the low quantile of values below and the high one of values above, (..., 2)."""
    low, high = order_statistics(above.shape[-1], coverage)
    return np.stack([_ranked(below, low), _ranked(above, high)], axis=-1)


def _tails(values: Array, coverage: float) -> Array:
    """Return quantiles that leave as much on either side, (..., 2)."""
    low, high = order_statistics(values.shape[-1], 0.5 + 0.5 * coverage)
    return np.stack([_ranked(values, low), _ranked(values, high)], axis=-1)


def _ranked(values: Array, k: int) -> Array:
    """Return the k-th smallest along the last axis, infinite beyond the first and the last."""
    n = values.shape[-1]
    if not 1 <= k <= n:
        return np.full(values.shape[:-1], np.inf if k > n else -np.inf)
    return np.asarray(np.partition(values, k - 1, axis=-1)[..., k - 1])
