r"""A 1-norm on the parametric part beside the norm of the kernel part, as a regularized risk.

.. math::

    \min_{f, b} \tfrac12 \|f\|^2 + \sum_j \omega_j |b_j| + \sum_i c_i\, l(y_i, f(x_i) + b'p(x_i))

:math:`\omega_j |b_j|` is the absolute loss of one more sample, which sees nothing but :math:`b_j`:
its row of K is zero and its row of B a unit vector. So the equality rows :math:`B'a = 0` of the
dual become :math:`|B'a|_j \le \omega_j`, and every solver takes it as it is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer._typing import Array
from mercer.gram.base import Gram
from mercer.gram.combined import extend
from mercer.losses.base import Loss
from mercer.losses.regression import Absolute
from mercer.losses.stacked import stack
from mercer.problems.nu import Machine
from mercer.problems.risk import RegularizedRisk
from mercer.solvers import Solution

__all__ = ["dropped", "mixed", "mixed_back"]

# The multiplier of a coefficient that is not zero is on its bound; this far inside it is not.
INSIDE = 1e-6


def mixed(loss: Loss, K: Gram, y: Array, c: Array, B: Array, omega: Array) -> RegularizedRisk:
    r"""Write a risk whose parametric coefficients cost :math:`\sum_j \omega_j |b_j|`.

    Parameters
    ----------
    loss : Loss
        Cost of a decision value.
    K : Gram
        Kernel matrix of the sample.
    y, c : ndarray of shape (n,)
        Targets and weights.
    B : ndarray of shape (n, q)
        Parametric columns.
    omega : ndarray of shape (q,)
        What a unit of each coefficient costs; zero leaves it free, infinity leaves it out.

    Returns
    -------
    RegularizedRisk
        With one more sample for each coefficient of a cost; :func:`mixed_back` reads its solution.

    References
    ----------
    A. J. Smola, *Learning with Kernels*, TU Berlin 1998, eq. (3.103) and (3.104).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.losses import Squared
    >>> from mercer_research.estimators.mixed_risk import mixed, mixed_back
    >>> from mercer.solvers import InteriorPoint, minimize
    >>> B, y, omega = np.eye(2), np.array([3.0, 0.5]), np.ones(2)
    >>> risk = mixed(Squared(), Dense(np.zeros((2, 2))), y, np.ones(2), B, omega)
    >>> solution = minimize(risk, InteriorPoint(tol=1e-9))  # soft thresholds of the targets
    >>> mixed_back(solution.a, solution.b, omega).b.round(6)
    array([2., 0.])
    """
    n, k = len(y), np.flatnonzero((omega > 0) & np.isfinite(omega))
    used = np.flatnonzero(np.isfinite(omega))
    unit = np.eye(len(omega))[k]
    return RegularizedRisk(
        stack([loss, Absolute()], [n, len(k)]),
        extend(K, np.zeros((n, len(k))), np.zeros((len(k), len(k)))),
        np.append(y, np.zeros(len(k))),
        np.append(c, omega[k]),
        np.vstack([B, unit])[:, used],
    )


def dropped(risk: RegularizedRisk, found: Solution, omega: Array) -> Solution:
    """Return the solution of a mixed risk without the coefficients whose prices are too low.

    What that costs is part of the gap. Where it is more than the gap was, and more than a millionth
    of the objective, a solver did not get far enough to tell which they are, and all stay.

    Parameters
    ----------
    risk : RegularizedRisk
        Of :func:`mixed`.
    found : Solution
        Its solution.
    omega : ndarray of shape (q,)
        The costs.
    """
    k = np.flatnonzero((omega > 0) & np.isfinite(omega))
    low = np.zeros(len(omega), dtype=bool)
    low[k] = np.abs(found.a[len(found.a) - len(k) :]) < omega[k] * (1.0 - INSIDE)
    b = np.where(low[np.isfinite(omega)], 0.0, found.b)
    if np.array_equal(b, found.b):
        return found
    f = found.f + risk.B @ (b - found.b)
    more = risk.risk(f) - risk.risk(found.f)
    if not more <= max(found.gap, INSIDE * found.objective):
        return found
    assert found.terms is not None
    return replace(
        found,
        b=b,
        f=f,
        objective=found.objective + more,
        gap=found.gap + max(more, 0.0),
        terms=found.terms._replace(losses=found.terms.losses + more),
    )


def mixed_back(a: Array, b: Array, omega: Array) -> Machine:
    """Return the machine of a mixed risk; ``width`` is the 1-norm of its costly coefficients.

    Parameters
    ----------
    a, b : ndarray
        The solution.
    omega : ndarray of shape (q,)
        The costs.
    """
    k = np.flatnonzero((omega > 0) & np.isfinite(omega))
    n = len(a) - len(k)
    full = np.zeros(len(omega))
    full[np.isfinite(omega)] = b
    return Machine(a[:n], full, float(omega[k] @ np.abs(full[k])))
