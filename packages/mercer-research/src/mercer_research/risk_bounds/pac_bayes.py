r"""PAC-Bayes bounds of kernel machines: the error of a machine whose weights are shaken.

The randomized machine draws, for every prediction, a function from a Gaussian process with the
covariance k around :math:`\mu f/\|f\|`. Under a prior of the same covariance around
:math:`\eta f_0/\|f_0\|`, the divergence of the two is half the squared distance of the centres in
the kernel's space (the theorem of Cameron and Martin), whatever the dimension of that space:

.. math:: \mathrm{KL} = \tfrac12\bigl(\mu^2 + \eta^2 - 2\mu\eta\cos(f, f_0)\bigr), \qquad
          \hat R_Q = \frac1m\sum_i \bar\Phi(\mu\,t_i), \qquad
          t_i = \frac{y_i f(x_i)}{\|f\|\sqrt{k(x_i, x_i)}}
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from mercer._params import check_positive
from mercer._typing import Array, PointsLike, TargetsLike
from mercer.risk_bounds import (
    INDEPENDENT,
    Assumption,
    Bound,
    Constant,
    confidence,
    kl_upper,
    logarithm,
    one_each,
)
from mercer_research.risk_bounds.concentration import check_margins, half_digits, log_kl_moment
from mercer_research.risk_bounds.weight_vector import Weights

__all__ = [
    "PRIOR_SCALES",
    "pac_bayes_bound",
    "randomized_machine_bound",
    "randomized_regression_bound",
]


# Scales of the posterior, then ten between the neighbours of the best. The theorem holds for all
# posteriors at once, so they cost nothing.
POSTERIOR_SCALES = np.geomspace(0.25, 2000.0, 53)

PRIOR_SCALES = tuple(float(2.0**j) for j in range(10))
"""Scales of a prior around another machine; a grid of N of them costs ln N."""

BEFORE = Assumption("the prior depends on none of these rows: kernel, scaler and centre", "given")


def pac_bayes_bound(
    risk: ArrayLike,
    divergence: ArrayLike,
    n_samples: int,
    *,
    delta: float = 0.05,
    choices: float = 1,
) -> Array:
    r"""Return the kl bound on the risk of randomized machines, elementwise.

    Let P be a distribution over machines that was fixed before m independent rows, with losses in
    [0, 1]. With probability at least :math:`1-\delta`, for all distributions Q at once,

    .. math:: \mathrm{kl}(\hat R_Q\,\|\,R_Q) \le \frac1m\Bigl(\mathrm{KL}(Q\|P) +
              \ln\frac{\xi(m)}\delta\Bigr), \qquad \xi(m) \le 2\sqrt m

    and the bound is the largest :math:`R_Q` that satisfies this. Proof: by Jensen's inequality and
    Donsker and Varadhan's, :math:`m\,\mathrm{kl}(\hat R_Q\|R_Q) \le \mathrm{KL}(Q\|P) +
    \ln\mathbf E_P e^{m\,\mathrm{kl}(\hat R_h\|R_h)}`, whose last expectation has itself an
    expectation of at most :math:`\xi(m)`, and by Markov's inequality is below
    :math:`\xi(m)/\delta`. One of N priors may be chosen afterwards at :math:`\delta/N` each.

    Parameters
    ----------
    risk : array-like
        Mean loss :math:`\hat R_Q` of the randomized machine on the rows.
    divergence : array-like
        :math:`\mathrm{KL}(Q\|P)`.
    n_samples : int
    delta, choices :
        As in :func:`~mercer.risk_bounds.error_bound`; the choices count priors, not posteriors.

    References
    ----------
    M. Seeger, *JMLR* 3 (2002) 233, theorem 1; A. Maurer, arXiv:cs/0411099, theorem 5, with the sum
    :math:`\xi(m)` itself in place of :math:`2\sqrt m`.

    Examples
    --------
    >>> pac_bayes_bound(0.05, [0.0, 10.0, 100.0], 1000).round(3)
    array([0.079, 0.1  , 0.213])
    """
    log_delta = logarithm(delta, choices)
    if not np.all(np.asarray(divergence) >= 0):
        raise ValueError("divergence must hold numbers of at least zero, without NaN")
    budget = (np.asarray(divergence) + log_kl_moment(n_samples) - log_delta) / n_samples
    return kl_upper(risk, budget)


def randomized_machine_bound(
    margins: ArrayLike,
    *,
    cosine: float | None = None,
    prior_scales: Sequence[float] = PRIOR_SCALES,
    delta: float = 0.05,
    choices: float = 1,
    trivial: float = 1.0,
    randomized: bool = False,
) -> Bound:
    r"""Bound the error of a kernel machine by PAC-Bayes, from its normalized margins.

    The bound of :func:`pac_bayes_bound` with a Gaussian prior around 0, or around the direction of
    another machine at one of several scales :math:`\eta`, minimized over the scale :math:`\mu` of
    the posterior, which is free. The randomized machine errs at x with probability at least 1/2
    wherever the sign of its centre errs, since it is symmetric about it; so the error rate of the
    sign is at most **twice** that of the randomized machine, and this is returned unless
    ``randomized``.

    Parameters
    ----------
    margins : array-like of shape (m,)
        :math:`t_i = y_i f(x_i)/(\|f\|\|\phi(x_i)\|)` on rows that the prior does not depend on,
        from :meth:`Weights.margins`. They lie in [-1, 1] by Cauchy and Schwarz, and others raise an
        error, because f was not divided by its norm.
    cosine : float, optional
        Of the angle between the machine and the centre of the prior; without it the prior is
        centred at 0.
    prior_scales : sequence of float
        Values of :math:`\eta`, fixed before; N of them cost :math:`\ln N`.
    delta : float, default=0.05
    choices : int, default=1
        Number of *priors* (kernels, scalers, centres) that were tried; values of C that only change
        the machine cost nothing.
    trivial : float, default=1.0
    randomized : bool, default=False
        Bound the randomized machine instead of the sign of its centre.

    References
    ----------
    J. Langford and J. Shawe-Taylor, PAC-Bayes and margins, *NIPS* 15 (2003); A. Ambroladze,
    E. Parrado-Hernandez and J. Shawe-Taylor, Tighter PAC-Bayes bounds, *NIPS* 19 (2007).

    Examples
    --------
    >>> print(randomized_machine_bound(np.full(2000, 0.3), trivial=0.5))
    at most 0.0672, by PAC-Bayes with prior 0, of the sign (twice the randomized machine's),
    assuming that the rows are independent draws of the distribution to come
    """
    t = check_margins(margins)
    m = len(t)
    if cosine is not None and not abs(cosine) <= 1 + half_digits(cosine):
        raise ValueError(f"cosine must lie between -1 and 1, got {cosine!r}.")
    etas = np.zeros(1) if cosine is None else _positive_scales(prior_scales, "prior_scales")
    priors = choices * len(etas)

    def at(mu: Array) -> tuple[float, float, float, float, float]:
        gibbs = ndtr(-mu[:, None] * t).mean(axis=1)
        KL = 0.5 * (mu[:, None] ** 2 + etas**2 - 2.0 * mu[:, None] * etas * (cosine or 0.0))
        # Half a squared distance: what rounding takes below zero is zero.
        KL = np.maximum(KL, 0.0)
        values = pac_bayes_bound(gibbs[:, None], KL, m, delta=delta, choices=priors)
        i, j = np.unravel_index(np.argmin(values), values.shape)
        return float(values[i, j]), float(mu[i]), float(etas[j]), float(gibbs[i]), float(KL[i, j])

    found = at(np.union1d(POSTERIOR_SCALES, etas[etas > 0]))
    step = POSTERIOR_SCALES[1] / POSTERIOR_SCALES[0]
    value, mu, eta, gibbs, KL = min(found, at(np.geomspace(found[1] / step, found[1] * step, 11)))
    origin = "prior 0" if cosine is None else "a prior from other rows"
    whose = (
        "of the randomized machine"
        if randomized
        else "of the sign (twice the randomized machine's)"
    )
    return Bound(
        value if randomized else min(1.0, 2.0 * value),
        f"PAC-Bayes with {origin}, {whose}",
        trivial,
        constants={
            "posterior scale": Constant(mu, "chosen on the sample, free"),
            "prior scale": Constant(eta, f"chosen among {len(etas)}, paid for"),
            "divergence": Constant(KL, "half the squared distance of posterior and prior"),
            "randomized error": Constant(gibbs, "error rate of the randomized machine on the rows"),
            "randomized bound": Constant(value, "bound on the randomized machine's error rate"),
        }
        | confidence(delta, priors),
        assumptions=(INDEPENDENT, BEFORE),
    )


def randomized_regression_bound(
    weights: Weights,
    X: PointsLike,
    y: TargetsLike,
    *,
    largest: float,
    scales: Sequence[float] = PRIOR_SCALES,
    unit: float = 1.0,
    prior: Weights | None = None,
    delta: float = 0.05,
    choices: float = 1,
    trivial: float | None = None,
) -> Bound:
    r"""Bound the expected clipped error of a randomized kernel regression by PAC-Bayes.

    The randomized machine predicts :math:`g(x) \sim N(f(x), s^2 k(x, x))`, under a prior of the
    same covariance around 0 or another function :math:`f_0`, so that
    :math:`\mathrm{KL} = \|f - f_0\|^2/(2s^2)`; its loss :math:`\min(|y - g|, B)/B` has a mean in
    closed form. The scale s belongs to the prior: it is chosen among N and paid by :math:`\ln N`.
    Clipped errors are not convex, so nothing follows for f itself.

    Parameters
    ----------
    weights : Weights
        The function f.
    X, y : array-like
        Rows that the prior does not depend on.
    largest : float
        The clip B, fixed before.
    scales : sequence of float
        Values of :math:`u/s` for the unit u, fixed before.
    unit : float, default=1.0
        The unit u of targets, known before the rows or from rows set aside.
    prior : Weights, optional
        The function :math:`f_0` from other rows; 0 by default.
    delta, choices, trivial :
        As in :func:`randomized_machine_bound`; what is known is `largest` by default.

    Examples
    --------
    >>> from mercer import SVR
    >>> from mercer_research.risk_bounds.weight_vector import weights_of
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(1000, 1))
    >>> y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=1000)
    >>> f = weights_of(SVR(gamma=1.0, C=1.0).fit(X, y))
    >>> round(randomized_regression_bound(f, X, y, largest=2.0).value, 2)
    0.55
    """
    X, y = np.asarray(X, dtype=float), one_each(y, "y")
    check_positive(largest=largest, unit=unit)
    error, sizes = y - weights(X), weights.sizes(X)
    squared = weights.inner(weights)
    if prior is not None:
        squared += prior.inner(prior) - 2.0 * weights.inner(prior)
    s = unit / _positive_scales(scales, "scales")
    gibbs = np.array([_clipped(error, each * sizes, largest).mean() for each in s]) / largest
    KL = max(squared, 0.0) / (2.0 * s**2)
    priors = choices * len(s)
    values = largest * pac_bayes_bound(gibbs, KL, len(y), delta=delta, choices=priors)
    best = int(np.argmin(values))
    return Bound(
        float(values[best]),
        "PAC-Bayes, of the randomized machine's clipped error",
        largest if trivial is None else trivial,
        constants={
            "prior scale": Constant(float(s[best]), f"chosen among {len(s)}, paid for"),
            "divergence": Constant(float(KL[best]), "half the squared distance over the scale's"),
            "randomized error": Constant(largest * float(gibbs[best]), "on the rows"),
        }
        | confidence(delta, priors),
        assumptions=(INDEPENDENT, BEFORE),
    )


def _positive_scales(values: Sequence[float], name: str) -> Array:
    """Return scales of a prior, or raise ValueError if one is not a positive number."""
    scales = one_each(values, name)
    check_positive(**{f"{name}[{i}]": float(value) for i, value in enumerate(scales)})
    return scales


def _clipped(mean: Array, scale: Array, largest: float) -> Array:
    r"""Return :math:`\mathbf E\min(|Z|, B)` for :math:`Z \sim N(\mu, s^2)`."""

    def above(level: float, centre: Array) -> Array:  # E max(Z - level, 0)
        z = (centre - level) / scale
        return np.asarray(scale * (z * ndtr(z) + np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)))

    whole = above(0.0, mean) + above(0.0, -mean)
    return np.asarray(whole - above(largest, mean) - above(largest, -mean))
