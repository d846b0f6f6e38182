"""Which intercept a machine gets where several are optimal: one rule, whichever solver ran."""

from __future__ import annotations

import numpy as np

from mercer._typing import Array
from mercer.losses.base import DualTerms
from mercer.problems.risk import RegularizedRisk

__all__ = ["centre_intercepts"]


def centre_intercepts(risk: RegularizedRisk, a: Array, b: Array, Ka: Array) -> tuple[Array, Array]:
    r"""Return the middle and the ends of the interval of optimal intercepts.

    At the optimal expansion every decision value that goes with its coefficient is as good as any
    other: :math:`l_i \le (Ka + Bb)_i \le u_i`, with :math:`l_i = u_i` for a coefficient inside its
    bounds. Without such a coefficient an interval of intercepts is left, over which the objective
    does not change. Its middle is taken, the finite end if the other is infinite, as LIBSVM does.

    A column that shares no sample with another (an intercept, or one a group of samples) is centred
    so. A column that does share samples stays where the solver put it: its interval is what is
    optimal while the other coefficients stay. For losses whose conjugate is not quadratic (logistic
    and others, curved wherever they have a slope) the solver's value is taken as the only one.

    Parameters
    ----------
    risk : RegularizedRisk
        The problem.
    a, b : ndarray of shape (n,) and (q,)
        Optimal coefficients.
    Ka : ndarray of shape (n,)
        Product of the kernel matrix with ``a``.

    Returns
    -------
    b : ndarray of shape (q,)
    interval : ndarray of shape (q, 2)
        Smallest and largest optimal value of each; both are the value itself where it is unique,
        or where ``a`` is not optimal enough for the two to be in order.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.losses import Hinge
    >>> y = np.array([-1.0, 1.0])
    >>> risk = RegularizedRisk(Hinge(), Dense(np.eye(2)), y, 0.1, np.ones((2, 1)))
    >>> centre_intercepts(risk, 0.1 * y, np.zeros(1), 0.1 * y)
    (array([0.]), array([[-0.9,  0.9]]))
    """
    interval = np.column_stack([b, b])
    if not isinstance(risk.terms, DualTerms):
        return b, interval
    low, high = risk.terms.interval(a)
    b, used = b.copy(), risk.B != 0
    alone = ~np.any(used[np.sum(used, axis=1) > 1], axis=0)
    for j, inside in enumerate(used.T):
        lower, upper = low[inside], high[inside]
        if not lower.size or np.any(lower == upper):
            continue
        column = risk.B[inside, j]
        others = Ka[inside] + risk.B[inside] @ b - column * b[j]
        ends = np.sort([(lower - others) / column, (upper - others) / column], axis=0)
        bottom, top = float(np.max(ends[0])), float(np.min(ends[1]))
        if bottom > top:
            continue
        interval[j] = bottom, top
        finite = interval[j][np.isfinite(interval[j])]
        if alone[j] and finite.size:
            b[j] = float(np.mean(finite))
    return b, interval
