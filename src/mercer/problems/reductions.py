r"""The dual of a regularized risk as a box program or a linear system, each with its way back.

.. math::

    \min_a\; \tfrac12 a'Ka + \sum_i g_i(a_i), \quad B'a = d,
    \qquad g_i(a) = c_i\, l^*(y_i, -a / c_i)

A coefficient whose :math:`g_i` has a kink at zero, or bends differently on its two sides, becomes
two variables :math:`a_i = \alpha_i - \alpha_i^*`, both non-negative; any other stays one variable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from mercer._linear_program import NoOptimumError, linear_program
from mercer._typing import Array
from mercer.gram.base import Gram
from mercer.gram.dense import Dense
from mercer.gram.factor import orthonormal
from mercer.gram.indexed import Indexed
from mercer.losses.base import DualTerms, Loss
from mercer.problems.box_qp import BoxProgram, BoxQP, SignedCopies
from mercer.problems.risk import RegularizedRisk

__all__ = [
    "BoxDual",
    "LinearSystem",
    "Reduction",
    "box_program",
    "box_qp",
    "copies",
    "infeasible",
    "linear_system",
    "resident",
]

# Distance from the ends of a box, relative to it, at which slopes of a conjugate are still finite.
BOX_DISTANCE_PART = 1e-13
TINY = 1e-300

Problem = TypeVar("Problem", covariant=True)
Back = Callable[[Array, Array], tuple[Array, Array]]


@dataclass(frozen=True)
class Reduction(Generic[Problem]):
    """A problem equivalent to a regularized risk, and the way back.

    Parameters
    ----------
    problem : BoxProgram or LinearSystem
        The equivalent problem.
    back : callable
        Maps a solution ``(z, multipliers)`` of it to the coefficients ``(a, b)`` of the risk.
    """

    problem: Problem
    back: Back


@dataclass(frozen=True)
class BoxDual(BoxProgram):
    r"""The dual of a loss whose conjugate is known by its derivatives only.

    Parameters
    ----------
    H, p, A, e, lower, upper
        As in :class:`~mercer.problems.box_qp.BoxProgram`.
    loss : Loss
        The loss, one parameter per variable.
    y, c, sign : ndarray of shape (m,)
        Target and weight of each variable's sample, and the side of zero it stands for.
    """

    loss: Loss
    y: Array
    c: Array
    sign: Array

    def corner(self) -> Array | None:
        return self.slope(np.zeros_like(self.p))

    def slope(self, z: Array) -> Array:
        return self.p - self.sign * self.loss.conjugate_gradient(self.y, self._v(z))

    def curvature(self, z: Array) -> Array:
        return self.loss.conjugate_curvature(self.y, self._v(z)) / self.c

    def _v(self, z: Array) -> Array:
        """Return the slope of the loss, off the ends of its range, where the conjugate may end."""
        # Not zero either, whose side of a kink would be anyone's guess.
        room = np.where(np.isfinite(self.upper), BOX_DISTANCE_PART * self.upper, TINY)
        return -self.sign * np.clip(z, room, self.upper - room) / self.c


@dataclass(frozen=True)
class LinearSystem:
    r"""The optimality conditions of a squared loss.

    .. math::

        \begin{pmatrix} K + \operatorname{diag}(e) & B \\ B' & 0 \end{pmatrix} \binom{a}{b}
        = \binom{r}{d}

    An infinite entry of ``e`` says that the coefficient is zero.
    """

    K: Gram
    e: Array
    B: Array
    r: Array
    d: Array


def box_qp(risk: RegularizedRisk, *, project: bool = False) -> Reduction[BoxQP]:
    """Write the dual of a loss with quadratic conjugate as a box QP.

    Parameters
    ----------
    risk : RegularizedRisk
        A problem whose loss is a :class:`~mercer.losses.QuadraticDualLoss`.
    project : bool, default=False
        Replace K by its part orthogonal to the columns of B, in memory; for kernels that are
        positive definite there only.

    Returns
    -------
    Reduction
        ``problem`` is the :class:`BoxQP`; ``back(z, b)`` returns the coefficients of the risk.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.losses import EpsilonInsensitive
    >>> from mercer.problems import RegularizedRisk
    >>> from mercer.problems.reductions import box_qp
    >>> risk = RegularizedRisk(EpsilonInsensitive(0.1), Dense(np.eye(2)), np.array([1.0, -1.0]))
    >>> qp = box_qp(risk)
    >>> qp.problem.p
    array([-0.9,  1.1,  1.1, -0.9])
    >>> qp.back(np.array([0.9, 0.0, 0.0, 0.9]), np.zeros(0))
    (array([ 0.9, -0.9]), array([], dtype=float64))
    """
    terms = risk.terms
    if not isinstance(terms, DualTerms):
        raise ValueError(f"the conjugate of {risk.loss!r} is not quadratic; use box_program")
    kink = (terms.p_pos != terms.p_neg) | (terms.q_pos != terms.q_neg)
    index, sign, lower, upper = _split(terms.lower, terms.upper, kink)
    sample = _sample(risk, project)
    positive = sign > 0
    problem = BoxQP(
        H=copies(sample.K, index, sign),
        p=np.where(positive, terms.p_pos[index], -terms.p_neg[index]) + sign * sample.offset[index],
        h=np.where(positive, terms.q_pos[index], terms.q_neg[index]),
        A=sign[:, None] * risk.B[index],
        e=risk.d,
        lower=lower,
        upper=upper,
    )
    return Reduction(problem, _way_back(risk.n, index, sign, sample))


def box_program(risk: RegularizedRisk, *, project: bool = False) -> Reduction[BoxProgram]:
    """Write the dual of any convex loss as a separable program in a box.

    Parameters
    ----------
    risk : RegularizedRisk
        The problem.
    project : bool, default=False
        As for :func:`box_qp`.

    Returns
    -------
    Reduction
        ``problem`` is a :class:`BoxQP` where the conjugate is quadratic, else a :class:`BoxDual`.
    """
    if isinstance(risk.terms, DualTerms):
        return box_qp(risk, project=project)
    index, sign, lower, upper = _split(*risk.box(), np.ones(risk.n, dtype=bool))
    sample = _sample(risk, project)
    problem = BoxDual(
        H=copies(sample.K, index, sign),
        p=sign * sample.offset[index],
        A=sign[:, None] * risk.B[index],
        e=risk.d,
        lower=lower,
        upper=upper,
        loss=risk.loss.take(index),
        y=risk.y[index],
        c=risk.c[index],
        sign=sign,
    )
    return Reduction(problem, _way_back(risk.n, index, sign, sample))


def linear_system(
    risk: RegularizedRisk, *, project: bool = False
) -> Reduction[LinearSystem] | None:
    r"""Write the optimality conditions of a squared loss as a linear system.

    .. math::

        \begin{pmatrix} K + \operatorname{diag}(1/c) & B \\ B' & 0 \end{pmatrix} \binom{a}{b}
        = \binom{y}{d}

    Parameters
    ----------
    risk : RegularizedRisk
        The problem.
    project : bool, default=False
        As for :func:`box_qp`.

    Returns
    -------
    Reduction or None
        ``problem`` is the :class:`LinearSystem`; None if the conjugate of the loss is not one
        parabola on the whole line.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Dense
    >>> from mercer.losses import Absolute, Squared
    >>> from mercer.problems import RegularizedRisk
    >>> from mercer.problems.reductions import linear_system
    >>> K, y = Dense(np.eye(2)), np.array([1.0, -1.0])
    >>> linear_system(RegularizedRisk(Squared(), K, y, 4.0)).problem.e
    array([0.25, 0.25])
    >>> linear_system(RegularizedRisk(Absolute(), K, y)) is None
    True
    """
    terms, live = risk.terms, risk.c > 0
    if not isinstance(terms, DualTerms) or np.any(np.isfinite(terms.upper) & live):
        return None  # the common case, decided at a glance
    parabola = (
        (terms.p_pos == terms.p_neg)
        & (terms.q_pos == terms.q_neg)
        & (terms.q_pos > 0)
        & np.isneginf(terms.lower)
    )
    if not np.all(parabola[live]):
        return None
    sample = _sample(risk, project)
    problem = LinearSystem(
        K=sample.K,
        e=np.where(live, terms.q_pos, np.inf),
        B=risk.B,
        r=-terms.p_pos - sample.offset,
        d=risk.d,
    )
    return Reduction(problem, lambda a, b: (a, sample.recover(a, b)))


def resident(risk: RegularizedRisk) -> RegularizedRisk:
    """Return the same problem with K in memory, each repeated row once, ready to be factorized."""
    base, rows = risk.K.origin()
    if base is risk.K and base.resident:
        return risk
    held = base if base.resident else Dense(base.dense())
    K = held if len(rows) == base.shape[0] else Indexed(held, rows)
    return RegularizedRisk(risk.loss, K, risk.y, risk.c, risk.B, risk.d)


def infeasible(risk: RegularizedRisk) -> str:
    """Return why ``B'a = d`` has no solution in the box of the loss; empty if no reason was found.

    Every row is compared with the interval that the box lets it reach, which decides the matter for
    one column and for columns that share no sample; otherwise a linear program does.
    """
    if not np.any(risk.d):
        return ""  # zero is in every box, because every loss has a least value
    lower, upper = risk.box()
    with np.errstate(invalid="ignore"):  # 0 * inf: an entry of B that is zero reaches nothing
        ends = np.nan_to_num([risk.B.T * lower, risk.B.T * upper], posinf=np.inf, neginf=-np.inf)
    least, most = np.min(ends, axis=0).sum(axis=1), np.max(ends, axis=0).sum(axis=1)
    slack = 1e-9 * (np.abs(risk.d) + np.abs(np.where(np.isfinite(most), most, 0.0)))
    beyond = (risk.d < least - slack) | (risk.d > most + slack)
    if np.any(beyond):
        i = int(np.flatnonzero(beyond)[0])
        return (
            f"the dual is infeasible: the loss confines entry {i} of B'a to [{least[i]:.6g}, "
            f"{most[i]:.6g}], away from d = {risk.d[i]:.6g}, so the risk is unbounded below"
        )
    B = np.where(risk.c[:, None] > 0, risk.B, 0.0)
    U, back = orthonormal(B)
    # Seen with columns of one length, where the rows of B' are of one size.
    length = np.sqrt(np.sum(B * B, axis=0))
    length = np.where(length > 0, length, 1.0)
    missing = (B.T @ (U @ (back.T @ risk.d)) - risk.d) / length
    if np.max(np.abs(missing)) > 1e-9 * np.max(np.abs(risk.d / length)):
        return "the dual is infeasible: d is not in the range of B', so the risk is unbounded below"
    if np.any(np.count_nonzero(risk.B, axis=1) > 1):
        bounds = list(zip(lower.tolist(), upper.tolist(), strict=True))
        try:
            linear_program(np.zeros(risk.n), A_eq=U.T, b_eq=back.T @ risk.d, bounds=bounds)
        except NoOptimumError as failure:
            if failure.infeasible:
                return (
                    "the dual is infeasible, so the risk is unbounded below: unpenalized functions "
                    "alone do better than nu asks for; penalize them, or lower nu"
                )
    return ""


class _Sample(NamedTuple):
    """A kernel matrix to solve with, its remainder in f, and b for the original matrix."""

    K: Gram
    offset: Array
    recover: Callable[[Array, Array], Array]


def _sample(risk: RegularizedRisk, project: bool) -> _Sample:
    r"""Return K as it is, or its part :math:`(1-P)K(1-P)` off the columns of B.

    Every feasible a has the same :math:`Pa = a_0`, so on the feasible set :math:`a'Ka` is
    :math:`a'(1-P)K(1-P)a + 2 a'(1-P)Ka_0` and a constant, and :math:`Ka` differs from half its
    gradient by :math:`PKa`, a combination of the columns of B.
    """
    if not project:
        return _Sample(risk.K, np.zeros(risk.n), lambda a, b: b)
    # A sample without weight has no coefficient and takes no part in B'a = d.
    U, back = orthonormal(np.where(risk.c[:, None] > 0, risk.B, 0.0))
    every = np.arange(risk.n)
    K = np.asarray(risk.K.block(every, every), dtype=np.float64)
    KU = K @ U
    KU -= 0.5 * U @ (U.T @ KU)
    K = K - U @ KU.T - KU @ U.T
    a0 = U @ (back.T @ risk.d)
    Ka0 = risk.K.matvec(a0)
    return _Sample(
        Dense(K),
        Ka0 - U @ (U.T @ Ka0),
        lambda a, b: b - back @ (U.T @ risk.K.matvec(a)),
    )


def _split(
    lower: Array, upper: Array, kink: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], Array, Array, Array]:
    """Return sample, sign and bounds of each variable; a sample with an empty box is left out."""
    above, below = upper > 0, lower < 0
    whole = np.flatnonzero(above & below & ~kink)
    positive, negative = (
        np.flatnonzero(above & (kink | ~below)),
        np.flatnonzero(below & (kink | ~above)),
    )
    index = np.concatenate([whole, positive, negative])
    sign = np.repeat([1.0, 1.0, -1.0], [len(whole), len(positive), len(negative)])
    low = np.concatenate([lower[whole], np.zeros(len(positive) + len(negative))])
    high = np.concatenate([upper[whole], upper[positive], -lower[negative]])
    order = np.argsort(index, kind="stable")
    return index[order], sign[order], low[order], high[order]


def copies(K: Gram, index: NDArray[np.intp], sign: Array) -> SignedCopies:
    """Return signed copies of rows of K; rows that repeat a point of K become copies of it too."""
    base, rows = K.origin()
    return SignedCopies(base, rows[index], sign)


def _way_back(n: int, index: NDArray[np.intp], sign: Array, sample: _Sample) -> Back:
    def back(z: Array, b: Array) -> tuple[Array, Array]:
        a = np.bincount(index, sign * z, minlength=n).astype(np.float64)
        return a, sample.recover(a, b)

    return back
