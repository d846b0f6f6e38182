"""From functions to their losses: covering numbers, constants and the statement about risks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from mercer._params import check_nonnegative, check_positive
from mercer.losses import Loss
from mercer.risk_bounds import Assumption, Bound, Constant, one_each, some_samples
from mercer_research.covering.base import Covering, Derived
from mercer_research.covering.uniform import Coverings, Inequality, real_valued_classes

__all__ = ["AlmostLipschitz", "LossRange", "loss_range", "losses_of", "risk_bound_by_covering"]


@dataclass(frozen=True)
class LossRange:
    """What inequalities ask of a loss on bounded functions and targets.

    Parameters
    ----------
    lipschitz : float
        By how much more losses differ than functions do, at most.
    largest : float
        The largest loss.
    """

    lipschitz: float
    largest: float


def loss_range(loss: Loss, y: ArrayLike, largest: float) -> LossRange:
    r"""Return the Lipschitz constant and the largest value of a loss on bounded functions.

    Losses are convex in the decision value, so that both are found at the ends
    :math:`f = \pm \text{largest}`; in targets both are monotone on either side, so that the
    extreme targets suffice.

    Parameters
    ----------
    loss : Loss
    y : array-like
        The extreme targets, such as ``[-1, 1]``; bounds known beforehand, not those of the sample.
    largest : float
        A bound on the values of functions, such as norm times size.

    Examples
    --------
    >>> from mercer.losses import EpsilonInsensitive, Squared
    >>> loss_range(Squared(), [-1.0, 1.0], 2.0)
    LossRange(lipschitz=3.0, largest=4.5)
    >>> loss_range(EpsilonInsensitive(0.5), [-1.0, 1.0], 2.0)
    LossRange(lipschitz=1.0, largest=2.5)
    """
    check_positive(largest=largest)
    targets = one_each(np.atleast_1d(np.asarray(y, dtype=float)), "y")
    constant = float(np.max(loss.lipschitz(targets, -largest, largest)))
    ends = [loss.value(targets, np.full(targets.shape, end)) for end in (-largest, largest)]
    return LossRange(constant, float(np.max(ends)))


def losses_of(covering: Covering, lipschitz: float, n_samples: int | None = None) -> Covering:
    r"""Cover the losses of a class of functions.

    .. math:: N(\varepsilon, l \circ F, \ell_\infty) \le N(\varepsilon / L, F, \ell_\infty), \qquad
        N(\varepsilon, l \circ F, L_1) \le N(\varepsilon m / L, F, \ell_1^m)

    Parameters
    ----------
    covering : Covering
    lipschitz : float
        L.
    n_samples : int, optional
        m, where the covering is in sums of absolute differences; losses are covered in their mean.

    Examples
    --------
    >>> from mercer_research.covering import Interval
    >>> losses_of(Interval(1.0), 2.0).log_covering(0.1) == Interval(2.0).log_covering(0.1)
    True
    """
    check_nonnegative(lipschitz=lipschitz)
    n_samples = None if n_samples is None else some_samples(n_samples)
    return covering.scaled(lipschitz if n_samples is None else lipschitz / n_samples)


@dataclass(frozen=True)
class AlmostLipschitz(Derived):
    r"""Losses that jump: covered at radii above the largest jump.

    Where :math:`|l(f) - l(f')| \le \max(L |f - f'|, J)`, a covering of the functions at
    :math:`\varepsilon / L` covers the losses at every :math:`\varepsilon \ge J`. Below nothing is
    known, and the bound is infinite.

    Parameters
    ----------
    covering : Covering
        Of the functions.
    lipschitz, jump : float
        L and J.

    Examples
    --------
    >>> from mercer_research.covering import Interval
    >>> rounded = AlmostLipschitz(Interval(1.0), lipschitz=1.0, jump=0.1)
    >>> rounded.log_covering(0.1) == Interval(1.0).log_covering(0.1), rounded.log_covering(0.09)
    (True, inf)
    """

    lipschitz: float
    jump: float

    def __post_init__(self) -> None:
        check_nonnegative(lipschitz=self.lipschitz, jump=self.jump)
        super().__post_init__()

    @property
    def norm(self) -> float:
        return max(self.lipschitz * self.covering.norm, self.jump)

    def _log_covering(self, radius: float) -> float:
        if radius < self.jump:
            return np.inf
        return self.covering.scaled(self.lipschitz).log_covering(radius)

    def active(self, radius: float) -> str:
        return self.covering.scaled(self.lipschitz).active(radius)


def risk_bound_by_covering(
    covering: Coverings,
    loss: Loss,
    y: ArrayLike,
    largest: float,
    *,
    empirical: float,
    n_samples: int,
    delta: float = 0.05,
    inequality: Inequality | None = None,
) -> Bound:
    r"""Bound the risk of any function of a class, by its mean loss on the sample.

    With probability at least :math:`1 - \delta`, for all f of the class,

    .. math:: R(f) \le R_m(f) + \varepsilon, \qquad 12\, m\, N(\varepsilon / (6 L))\,
        e^{-\varepsilon^2 m / (36 B^2)} = \delta,

    where L is the Lipschitz constant of the loss and B its largest value.

    Parameters
    ----------
    covering : Covering or callable
        Of the functions, in the largest difference on 2m points.
    loss : Loss
    y : array-like
        The extreme targets, as in :func:`loss_range`.
    largest : float
        A bound on the values of functions, known beforehand.
    empirical : float
        The mean loss on the sample.
    n_samples : int
    delta : float, default=0.05
    inequality : Inequality, default=real_valued_classes()

    Examples
    --------
    >>> from mercer_research.covering import Interval
    >>> from mercer.losses import Absolute
    >>> bound = risk_bound_by_covering(
    ...     Interval(0.5), Absolute(), [-0.5, 0.5], 0.5, empirical=0.2, n_samples=100_000
    ... )
    >>> print(bound)
    at most 0.286, by Alon and others for real-valued classes, covered by offset, assuming that
    rows are drawn independently from one distribution and the class of functions was fixed
    before the rows were seen
    """
    limits = loss_range(loss, y, largest)
    inequality = (inequality or real_valued_classes()).over(limits.largest)
    if not 0 <= empirical <= limits.largest:
        raise ValueError(
            f"empirical={empirical!r} is no mean of losses between 0 and {limits.largest:.6g}: "
            "are y and largest bounds on targets and functions?"
        )

    def of_losses(n_points: int) -> Covering:
        cover = covering(n_points) if callable(covering) else covering
        return losses_of(cover, limits.lipschitz)

    width = inequality.width(of_losses, n_samples, delta)
    within = f"functions are at most {largest:g} and targets lie in [{np.min(y):g}, {np.max(y):g}]"
    return replace(
        width,
        value=empirical + width.value,
        constants={
            **width.constants,
            "lipschitz": Constant(limits.lipschitz, f"{type(loss).__name__} on that range"),
            "empirical": Constant(empirical, "mean loss on the sample"),
        },
        assumptions=(*width.assumptions, Assumption(within, "given")),
    )
