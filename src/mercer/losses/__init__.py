"""What an error costs."""

from mercer.losses.base import (
    Conjugate,
    DualTerms,
    Loss,
    MarginLoss,
    QuadraticDualLoss,
    ResidualLoss,
    WeightedLosses,
)
from mercer.losses.classification import Hinge, HuberHinge, Logistic, SquaredHinge
from mercer.losses.log_cosh import LogCosh
from mercer.losses.power import PiecewisePolynomial, Polynomial
from mercer.losses.regression import (
    Absolute,
    EpsilonInsensitive,
    Expectile,
    Huber,
    Pinball,
    Squared,
    SquaredEpsilonInsensitive,
)

__all__ = [
    "Absolute",
    "Conjugate",
    "DualTerms",
    "EpsilonInsensitive",
    "Expectile",
    "Hinge",
    "Huber",
    "HuberHinge",
    "LogCosh",
    "Logistic",
    "Loss",
    "MarginLoss",
    "PiecewisePolynomial",
    "Pinball",
    "Polynomial",
    "QuadraticDualLoss",
    "ResidualLoss",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "WeightedLosses",
]
