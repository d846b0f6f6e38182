"""Losses by name, for estimators that accept either."""

from __future__ import annotations

from mercer.losses.base import Loss
from mercer.losses.classification import Hinge, HuberHinge, Logistic, SquaredHinge
from mercer.losses.log_cosh import LogCosh
from mercer.losses.power import PiecewisePolynomial, Polynomial
from mercer.losses.power_hinge import PowerHinge
from mercer.losses.regression import (
    Absolute,
    EpsilonInsensitive,
    Expectile,
    Huber,
    Pinball,
    Squared,
    SquaredEpsilonInsensitive,
)

__all__ = ["CLASSIFICATION", "REGRESSION", "resolve"]

REGRESSION: dict[str, type[Loss]] = {
    "absolute": Absolute,
    "epsilon_insensitive": EpsilonInsensitive,
    "expectile": Expectile,
    "huber": Huber,
    "log_cosh": LogCosh,
    "piecewise_polynomial": PiecewisePolynomial,
    "pinball": Pinball,
    "polynomial": Polynomial,
    "squared": Squared,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
}
"""Losses of a number."""

CLASSIFICATION: dict[str, type[Loss]] = {
    "hinge": Hinge,
    "huber_hinge": HuberHinge,
    "logistic": Logistic,
    "power_hinge": PowerHinge,
    "squared": Squared,
    "squared_hinge": SquaredHinge,
}
"""Losses of a label plus or minus one; the squared loss is the least-squares classifier."""


def resolve(loss: Loss | str, names: dict[str, type[Loss]]) -> Loss:
    """Return the loss meant by a name, with its default parameters, or the loss itself.

    Examples
    --------
    >>> from mercer.losses.named import CLASSIFICATION, resolve
    >>> resolve("hinge", CLASSIFICATION)
    Hinge(margin=1.0)
    """
    if isinstance(loss, Loss):
        return loss
    if loss in names:
        return names[loss]()
    raise ValueError(f"loss must be a Loss or one of {', '.join(sorted(names))}; got {loss!r}")
