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
from mercer.losses.density import NoiseDensity, density_from_loss, loss_from_density
from mercer.losses.interval import Interval, IntervalResidual, within
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
from mercer.losses.several import Several
from mercer.losses.stacked import stack

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
    "LogCosh",
    "Logistic",
    "Loss",
    "MarginLoss",
    "NoiseDensity",
    "PiecewisePolynomial",
    "Pinball",
    "Polynomial",
    "PowerHinge",
    "QuadraticDualLoss",
    "ResidualLoss",
    "Several",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "WeightedLosses",
    "density_from_loss",
    "loss_from_density",
    "stack",
    "within",
]
