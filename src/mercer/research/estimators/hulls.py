"""Convex hulls of two classes: their distance, with a certificate."""

from __future__ import annotations

from dataclasses import dataclass

from mercer._typing import Array

__all__ = ["HullCertificate", "NotSeparable"]


@dataclass(frozen=True, eq=False)
class HullCertificate:
    r"""How far the convex hulls of two classes are apart, in the norm in which it was asked.

    The distance is enclosed from both sides: two points of the hulls are no further apart than
    ``distance``, and across a hyperplane the classes leave a gap of ``lower``,

    .. math:: \frac{\min_{y_i = 1} w'x_i - \max_{y_i = -1} w'x_i}{\|w\|_p} \le \min_\alpha
              \Bigl\|\sum_i \alpha_i y_i x_i\Bigr\|_q, \qquad \tfrac1p + \tfrac1q = 1 .

    References
    ----------
    A. J. Smola, P. Bartlett, B. Schoelkopf, D. Schuurmans, Introduction to large margin
    classifiers, in *Advances in Large Margin Classifiers*, figure 1.2; with equality by duality.
    """

    separable: bool
    """Whether a hyperplane divides the classes."""

    weights: Array
    """Convex weights of the samples, adding up to one in each class: the two points, (n,)."""

    distance: float
    """Their distance, no less than that of the hulls."""

    lower: float
    """What the distance of the hulls is no less than; zero or less if nothing is proven."""

    radius: float
    """The largest norm of a point."""

    @property
    def margin(self) -> float:
        """Half of the proven distance: how far every sample is from the hyperplane at least."""
        return 0.5 * max(self.lower, 0.0)


class NotSeparable(ValueError):  # noqa: N818
    """No hyperplane divides the classes.

    Parameters
    ----------
    message : str
    certificate : HullCertificate
        Convex weights of both classes that make the same point.
    """

    def __init__(self, message: str, certificate: HullCertificate) -> None:
        super().__init__(message)
        self.certificate = certificate
