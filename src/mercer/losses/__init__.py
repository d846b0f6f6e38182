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
from mercer.losses.custom import Custom
from mercer.losses.interval import Interval, IntervalResidual, within
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
from mercer.losses.several import Several
from mercer.losses.stacked import stack
from mercer.losses.wall import LinearWall

__all__ = [
    "Absolute",
    "Conjugate",
    "ConjugateLoss",
    "Custom",
    "DualTerms",
    "EpsilonInsensitive",
    "Expectile",
    "Hinge",
    "Huber",
    "HuberHinge",
    "Interval",
    "IntervalResidual",
    "LinearWall",
    "LogCosh",
    "Logistic",
    "Loss",
    "MarginLoss",
    "PiecewisePolynomial",
    "Pinball",
    "Polynomial",
    "QuadraticDualLoss",
    "ResidualLoss",
    "Several",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "WeightedLosses",
    "stack",
    "within",
]
