r"""Losses with their kinks rounded: the Moreau envelope, which adds a parabola to the conjugate.

.. math:: l_\mu(y, f) = \min_g\, l(y, g) + \frac{(f - g)^2}{2 \mu}, \qquad
          l_\mu^*(y, v) = l^*(y, v) + \frac{\mu}{2} v^2

It lies below the loss, by at most :math:`\mu v^2 / 2` where the loss has slope v, its slope is one
of the loss nearby, and so a dual vector of one is a dual vector of the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mercer._typing import Array
from mercer.losses.base import Conjugate, ConjugateLoss, Loss, MarginLoss, ResidualLoss

__all__ = ["smoothed"]


def _rounded(loss: ConjugateLoss, mu: float | Array) -> Conjugate:
    terms = loss.terms()
    negative = terms.quad_negative
    return replace(
        terms,
        quad=terms.quad + mu,
        quad_negative=None if negative is None else negative + mu,
    )


@dataclass(eq=False)
class SmoothedResidualLoss(ResidualLoss):
    """A function of the residual with its kinks rounded."""

    loss: ResidualLoss
    mu: float | Array

    def terms(self) -> Conjugate:
        return _rounded(self.loss, self.mu)

    def mirrored(self) -> Loss:
        return smoothed(self.loss.mirrored(), self.mu)


@dataclass(eq=False)
class SmoothedMarginLoss(MarginLoss):
    """A function of the margin with its kinks rounded."""

    loss: MarginLoss
    mu: float | Array

    def terms(self) -> Conjugate:
        return _rounded(self.loss, self.mu)


def smoothed(loss: Loss, mu: float | Array) -> Loss:
    r"""Return the Moreau envelope of a loss.

    Parameters
    ----------
    loss : Loss
        Returned as it is if it is smooth.
    mu : float or array
        Half of the width over which a kink is rounded, in units of decision values for slopes that
        change by two.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Hinge
    >>> loss = smoothed(Hinge(), 0.5)
    >>> y, f = np.ones(3), np.array([0.0, 0.75, 2.0])
    >>> loss.value(y, f), Hinge().value(y, f)
    (array([0.75  , 0.0625, 0.    ]), array([1.  , 0.25, 0.  ]))
    """
    if loss.smooth:
        return loss
    if isinstance(loss, ResidualLoss):
        return SmoothedResidualLoss(loss, mu)
    if isinstance(loss, MarginLoss):
        return SmoothedMarginLoss(loss, mu)
    raise ValueError(
        f"{loss!r} has kinks and no conjugate of two parabolas, so they cannot be rounded; "
        "write it as a ResidualLoss or a MarginLoss."
    )
