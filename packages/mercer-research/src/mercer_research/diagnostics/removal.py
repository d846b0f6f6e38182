r"""Uniform stability: what one row can change, and what follows for the risk.

Minimizing :math:`\tfrac12\|f\|^2 + C\sum_i\ell(y_i, f(x_i))`, losses summed as everywhere in this
library, is what Bousquet and Elisseeff write with :math:`\lambda = 1/(2Cm)`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from mercer.risk_bounds import (
    INDEPENDENT,
    Assumption,
    Bound,
    Constant,
    confidence,
    logarithm,
    one_each,
)

__all__ = ["removal_change", "stability_bound"]

NO_OFFSET = Assumption("nothing is left unpenalized: an offset is part of the kernel, as k + 1")
ALL_ROWS = Assumption("kernel, C and scaler are fixed, not chosen on these rows", "given")


def removal_change(C: float, *, lipschitz: float = 1.0, size: float = 1.0) -> Bound:
    r"""Bound by how much any loss changes if one row is removed.

    For the minimizer f of :math:`\tfrac12\|f\|^2 + C\sum_i\ell(y_i, f(x_i))`, the minimizer
    :math:`f'` without row i, convex losses with slopes of at most L and
    :math:`k(x, x) \le R^2`, everywhere

    .. math:: |\ell(y, f(x)) - \ell(y, f'(x))| \le \beta = C L^2 R^2

    Proof: both objectives are strongly convex, so their minima satisfy
    :math:`\|f - f'\|^2 \le C(\ell_i(f') - \ell_i(f)) \le C L R\|f - f'\|`, and a value changes by
    at most R times that norm. The bound has no m: it is of use for C of the order 1/m.

    Parameters
    ----------
    C : float
    lipschitz : float, default=1.0
        The largest slope L: 1 for absolute, epsilon-insensitive, quantile and hinge losses, delta
        for Huber's.
    size : float, default=1.0
        The bound R, 1 for the Gaussian kernel.

    References
    ----------
    O. Bousquet and A. Elisseeff, *JMLR* 2 (2002) 499, theorem 22 with :math:`\lambda = 1/(2Cm)`.

    Examples
    --------
    >>> removal_change(0.01, size=2.0).value
    0.04
    """
    return Bound(
        C * lipschitz**2 * size**2,
        "strong convexity of the penalty",
        constants={
            "C": Constant(C, "weight of the summed loss"),
            "lipschitz": Constant(lipschitz, "largest slope of the loss"),
            "size": Constant(size, "largest length of a point in the kernel's space"),
        },
        assumptions=(NO_OFFSET,),
    )


def stability_bound(
    losses: ArrayLike,
    change: Bound,
    *,
    largest: float,
    left_out: bool = False,
    method: Literal["bounded differences", "second moment"] = "bounded differences",
    delta: float = 0.05,
    trivial: float | None = None,
) -> Bound:
    r"""Bound the expected loss of a stable machine by its training or leave-one-out losses.

    With losses in [0, B], a machine of m independent rows whose losses change by at most
    :math:`\beta` if a row is removed, and probability at least :math:`1-\delta`,

    .. math::

        R &\le \hat R + 2\beta + (4m\beta + B)\sqrt{\frac{\ln(1/\delta)}{2m}} \\
        R &\le \hat R_{\mathrm{loo}} + \beta + (4m\beta + B)\sqrt{\frac{\ln(1/\delta)}{2m}} \\
        R &\le \hat R_{\mathrm{loo}} + \sqrt{\frac1\delta\Bigl(\frac{B^2}m + 6B\beta\Bigr)}

    The last line, "second moment", follows from
    :math:`\mathbf E(R - \hat R_{\mathrm{loo}})^2 \le B^2/m + 6B\beta`: with
    :math:`T_1 = \mathbf E\,\ell(f_S, z)\ell(f_S, z')`,
    :math:`T_2 = \mathbf E\,\ell(f_{S\setminus1}, z_1)\ell(f_S, z)` and
    :math:`T_3 = \mathbf E\,\ell(f_{S\setminus1}, z_1)\ell(f_{S\setminus2}, z_2)` it is at most
    :math:`(T_1 - T_2) + (T_3 - T_2) + B^2/m`, and after exchanging :math:`z_1, z'` in the first
    and :math:`z_2, z` in the second difference each is at most :math:`3B\beta`. It is the smaller
    one where :math:`m\beta` exceeds B.

    Parameters
    ----------
    losses : array-like of shape (m,)
        Losses of the machine on its rows, or, `left_out`, of the machine without each row on it.
        Losses clipped at B change no more than losses that are not.
    change : Bound
        From :func:`removal_change`.
    largest : float
        The clip B.
    left_out : bool, default=False
        Whether the losses are leave-one-out losses.
    method : {"bounded differences", "second moment"}
        The second needs leave-one-out losses.
    delta : float, default=0.05
    trivial : float, optional
        By default `largest`.

    See Also
    --------
    mercer.ConformalRegressor : intervals that hold at any C.

    References
    ----------
    O. Bousquet and A. Elisseeff, *JMLR* 2 (2002) 499, theorem 12; the second moment as in their
    lemma 9, with the constants of the proof above.

    Examples
    --------
    >>> losses = np.full(2000, 0.1)
    >>> print(stability_bound(losses, removal_change(2e-5), largest=1.0))
    at most 0.132, by uniform stability and training losses, assuming that the rows are
    independent draws of the distribution to come and nothing is left unpenalized: an offset is
    part of the kernel, as k + 1
    >>> print(stability_bound(losses, removal_change(1.0), largest=1.0))
    says nothing (221, where 1 is known without it), by uniform stability and training losses
    """
    losses = one_each(losses, "losses")
    if not largest > 0:
        raise ValueError(f"largest must be a positive loss, got {largest!r}")
    m, beta, B = len(losses), change.value, largest
    if method == "second moment":
        if not left_out:
            raise ValueError("the second moment is that of leave-one-out losses: left_out=True")
        excess = np.sqrt((B**2 / m + 6.0 * B * beta) / np.exp(logarithm(delta)))
    else:
        tail = np.sqrt(-logarithm(delta) / (2.0 * m))
        excess = (1.0 if left_out else 2.0) * beta + (4.0 * m * beta + B) * tail
    whose = "leave-one-out" if left_out else "training"
    inside = losses.min() >= 0.0 and losses.max() <= B
    return Bound(
        float(losses.mean() + excess),
        f"uniform stability and {whose} losses",
        B if trivial is None else trivial,
        constants={
            "mean": Constant(float(losses.mean()), f"mean of the {whose} losses"),
            "change": Constant(beta, change.method),
        }
        | confidence(delta, 1),
        assumptions=(
            INDEPENDENT,
            ALL_ROWS,
            *change.assumptions,
            Assumption(f"losses lie in [0, {B:g}]", "checked" if inside else "violated"),
        ),
    )
