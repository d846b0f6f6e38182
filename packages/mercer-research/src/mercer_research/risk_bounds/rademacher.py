r"""Rademacher averages of balls in a kernel's space: margin bounds, and complexity at a radius.

These are shown beside the other bounds and usually say nothing: a term of
:math:`2R/(\rho\sqrt m)` for margins of 0.1 R needs more than 1,600 rows to fall below 1/2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mercer._params import check_nonnegative, check_positive
from mercer._typing import Array
from mercer.risk_bounds import (
    INDEPENDENT,
    Assumption,
    Bound,
    Constant,
    confidence,
    logarithm,
    one_each,
    some_samples,
)
from mercer_research.risk_bounds.concentration import check_margins, half_digits

__all__ = ["local_complexity", "rademacher_bound", "rademacher_margin_bound"]


# Margins R 2^(-j/2), the j-th with the part 1/((j + 1)(j + 2)) of delta.
N_MARGINS = 40

BEFORE = Assumption("the kernel depends on none of these rows, its scaler included", "given")


def _deviation(width: float, trace: float | None, m: int, log_delta: Array) -> tuple[Array, str]:
    r"""Return complexity and confidence of losses in [0, 1] that are 1-Lipschitz in f.

    With `trace` from the rows themselves: both the loss and the Rademacher average deviate.
    """
    if trace is None:
        return 2.0 * width / np.sqrt(m) + np.sqrt(-log_delta / (2.0 * m)), "radius"
    spread = 3.0 * np.sqrt((np.log(2.0) - log_delta) / (2.0 * m))
    return 2.0 * width * np.sqrt(trace) / m + spread, "trace"


def _check_extent(size: float | None, trace: float | None) -> None:
    """Raise ValueError unless one of size and trace is given, as a positive number."""
    if (size is None) == (trace is None):
        raise ValueError("give size, a bound on the length of all points, or the trace of K")
    check_positive(**({"trace": trace} if size is None else {"size": size}))


def rademacher_bound(
    losses: ArrayLike,
    *,
    norm: float,
    lipschitz: float = 1.0,
    size: float | None = None,
    trace: float | None = None,
    largest: float = 1.0,
    delta: float = 0.05,
    choices: float = 1,
    trivial: float | None = None,
) -> Bound:
    r"""Bound the risk of all functions of a ball in the kernel's space at once.

    With probability at least :math:`1-\delta`, for all f with :math:`\|f\| \le \Lambda` and losses
    in [0, B] that are C-Lipschitz in f(x), the first if :math:`k(x, x) \le R^2`:

    .. math::

        R(f) &\le \hat R(f) + \frac{2C\Lambda R}{\sqrt m} + B\sqrt{\frac{\ln(1/\delta)}{2m}} \\
        R(f) &\le \hat R(f) + \frac{2C\Lambda\sqrt{\operatorname{tr} K}}m
              + 3B\sqrt{\frac{\ln(2/\delta)}{2m}}

    Parameters
    ----------
    losses : array-like of shape (m,)
        Losses of one function of the ball.
    norm : float
        The radius :math:`\Lambda`, fixed before the rows were looked at.
    lipschitz : float, default=1.0
        The constant C of the loss.
    size : float, optional
        A bound R on the length of points in the kernel's space, 1 for the Gaussian kernel.
    trace : float, optional
        Of the Gram matrix K of these rows; give this or `size`.
    largest : float, default=1.0
        Largest possible loss B.
    delta, choices :
        As in :func:`~mercer.risk_bounds.error_bound`; choices count radii and kernels.
    trivial : float, optional
        By default `largest`.

    References
    ----------
    P. Bartlett and S. Mendelson, *JMLR* 3 (2002) 463, theorem 8, lemma 22; M. Mohri,
    A. Rostamizadeh and A. Talwalkar, *Foundations of Machine Learning*, theorems 3.3 and 5.8.

    Examples
    --------
    >>> print(rademacher_bound(np.full(10_000, 0.05), norm=2.0, size=1.0))
    at most 0.102, by Rademacher average of a ball, assuming that the rows are independent draws
    of the distribution to come
    """
    losses = one_each(losses, "losses")
    m = len(losses)
    _check_extent(size, trace)
    check_nonnegative(norm=norm, lipschitz=lipschitz)
    check_positive(largest=largest)
    width = lipschitz * norm * (1.0 if size is None else size) / largest
    excess, _ = _deviation(width, trace, m, np.asarray(logarithm(delta, choices)))
    inside = losses.min() >= 0.0 and losses.max() <= largest
    return Bound(
        float(losses.mean() + largest * excess),
        "Rademacher average of a ball",
        largest if trivial is None else trivial,
        constants={
            "mean": Constant(float(losses.mean()), "mean loss on the rows"),
            "norm": Constant(norm, "radius of the ball, fixed before"),
        }
        | confidence(delta, choices),
        assumptions=(
            INDEPENDENT,
            BEFORE,
            Assumption("the radius of the ball was fixed before", "given"),
            Assumption(f"losses lie in [0, {largest:g}]", "checked" if inside else "violated"),
        ),
    )


def rademacher_margin_bound(
    margins: ArrayLike,
    *,
    size: float | None = None,
    trace: float | None = None,
    delta: float = 0.05,
    choices: float = 1,
    trivial: float = 1.0,
) -> Bound:
    r"""Bound the error rate of a kernel machine by its margins and a Rademacher average.

    With probability at least :math:`1-\delta`, for all functions f of the kernel's space and all
    j = 0, 1, ... at once, with :math:`u_i = y_i f(x_i)/\|f\|` and
    :math:`\rho_j = R\,2^{-j/2}`,

    .. math:: R(\operatorname{sign} f) \le \frac1m\sum_i
              \min\Bigl(1, \max\bigl(0, 1-\frac{u_i}{\rho_j}\bigr)\Bigr)
              + \frac{2R}{\rho_j\sqrt m} + \sqrt{\frac{\ln((j+1)(j+2)/\delta)}{2m}}

    if :math:`k(x, x) \le R^2`; with the trace of K, the last two terms are
    :math:`2\sqrt{\operatorname{tr}K}/(\rho_j m) + 3\sqrt{\ln(2(j+1)(j+2)/\delta)/(2m)}` and
    :math:`R = 1` only fixes the margins that are tried. The sign does not change if f is divided
    by its norm, so there is one ball for functions of all norms and the union over norms is free;
    the one over margins is the term in j.

    Parameters
    ----------
    margins : array-like of shape (m,)
        :math:`u_i`, in units of the kernel's space: for points of one length R they are R times
        those of :meth:`Weights.margins`. None exceeds R, and their squares sum to no more than the
        trace; others raise an error, because f was not divided by its norm.
    size : float, optional
        The bound R on the length of points.
    trace : float, optional
        Of the Gram matrix of these rows; give this or `size`.
    delta, choices, trivial :
        As in :func:`~mercer.risk_bounds.error_bound`; choices count kernels, since values of C only
        change f.

    References
    ----------
    V. Koltchinskii and D. Panchenko, *Annals of Statistics* 30 (2002) 1, theorem 2; constants as in
    :func:`rademacher_bound`.

    Examples
    --------
    >>> print(rademacher_margin_bound(np.full(4000, 0.3), size=1.0, trivial=0.4))
    at most 0.155, by Rademacher average and margins, assuming that the rows are independent
    draws of the distribution to come
    >>> print(rademacher_margin_bound(np.full(400, 0.05), size=1.0, trivial=0.4))
    says nothing (1, where 0.4 is known without it), by Rademacher average and margins
    """
    _check_extent(size, trace)
    if trace is None:
        u = check_margins(margins, size or 0.0)
    else:
        u = one_each(margins, "margins")
        if not np.linalg.norm(u) <= np.sqrt(trace) * (1.0 + half_digits(margins)):
            raise ValueError(
                f"the squares of the margins sum to {float(u @ u):.6g}, where those of a function "
                f"of norm 1 sum to at most the trace of K, {trace:.6g}; divide f by its norm"
            )
    j = np.arange(N_MARGINS)
    rho = (1.0 if size is None else size) * 2.0 ** (-0.5 * j)
    ramp = np.clip(1.0 - u / rho[:, None], 0.0, 1.0).mean(axis=1)
    log_delta = logarithm(delta, choices) - np.log((j + 1.0) * (j + 2.0))
    width = (1.0 if size is None else size) / rho
    values = np.array(
        [
            r + _deviation(w, trace, len(u), ld)[0]
            for r, w, ld in zip(ramp, width, log_delta, strict=True)
        ]
    )
    best = int(np.argmin(values))
    return Bound(
        min(1.0, float(values[best])),
        "Rademacher average and margins",
        trivial,
        constants={
            "margin": Constant(float(rho[best]), "chosen on the sample, paid for"),
            "margin error": Constant(float(ramp[best]), "mean of the ramp loss on the rows"),
            "sum": Constant(float(values[best]), "of the three terms, before it is cut at 1"),
        }
        | confidence(delta, choices),
        assumptions=(INDEPENDENT, BEFORE),
    )


def local_complexity(
    eigenvalues: ArrayLike, n_samples: int, *, radius: float, norm: float = 1.0
) -> Bound:
    r"""Bound the Rademacher average of the small functions of a ball by eigenvalues.

    For functions with :math:`\|f\| \le \Lambda` and :math:`\frac1m\sum_i f(x_i)^2 \le r` and the
    eigenvalues :math:`\lambda_i` of K/m,

    .. math:: \mathbf E_\sigma \sup_f \frac1m\sum_i \sigma_i f(x_i) \le
              \sqrt{\frac2m\sum_i\min(r, \Lambda^2\lambda_i)}

    Directions whose eigenvalues exceed :math:`r/\Lambda^2` count r each: the sum is r times an
    effective dimension, and :func:`mercer.inspect.gram.effective_dimension` is its smooth relative
    (:math:`\min(1, t) \le 2t/(1+t)`). A comparison of kernels, not a risk.

    Parameters
    ----------
    eigenvalues : array-like
        Of K/m; those left out count as zero and must be negligible.
    n_samples : int
    radius : float
        The mean square r, which may be infinite.
    norm : float, default=1.0
        The radius :math:`\Lambda` of the ball.

    References
    ----------
    S. Mendelson, Geometric parameters of kernel machines, *COLT* 2002, theorem 2.1; P. Bartlett,
    O. Bousquet and S. Mendelson, *Annals of Statistics* 33 (2005) 1497, lemma 6.6.

    Examples
    --------
    >>> bound = local_complexity([0.5, 0.3, 0.2], 100, radius=0.25)
    >>> round(bound.value, 4)  # sqrt(2 / 100 * (0.25 + 0.25 + 0.2))
    0.1183
    """
    n_samples = some_samples(n_samples)
    check_nonnegative(norm=norm)
    if not radius >= 0:
        raise ValueError(f"radius must be a mean square of at least zero, got {radius!r}.")
    values = one_each(eigenvalues, "eigenvalues")
    if not np.max(values) < np.inf:
        raise ValueError("eigenvalues must be finite")
    # Rounding makes eigenvalues of zero slightly negative.
    values = np.maximum(values, 0.0) * norm**2
    kept = np.minimum(radius, values)
    return Bound(
        float(np.sqrt(2.0 * kept.sum() / n_samples)),
        "eigenvalues above and below the radius",
        float(np.sqrt(radius)),  # Cauchy and Schwarz
        constants={
            "directions": Constant(float(np.sum(values > radius)), "eigenvalues above the radius")
        },
    )
