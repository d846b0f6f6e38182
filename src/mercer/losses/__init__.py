"""What an error costs."""

from mercer.losses.base import (
    Conjugate,
    ConjugateLoss,
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
from mercer.losses.stacked import stack

__all__ = [
    "Absolute",
    "Conjugate",
    "ConjugateLoss",
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
    "stack",
]
