"""What an error costs."""

from mercer.losses.base import Conjugate, Loss, MarginLoss, QuadraticDualLoss, ResidualLoss
from mercer.losses.classification import Hinge, HuberHinge, Logistic, SquaredHinge
from mercer.losses.custom import Custom
from mercer.losses.density import density_from_loss, loss_from_density
from mercer.losses.interval import Interval
from mercer.losses.log_cosh import LogCosh
from mercer.losses.power import PiecewisePolynomial, PolynomialLoss
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

__all__ = [
    "Absolute",
    "Conjugate",
    "Custom",
    "EpsilonInsensitive",
    "Expectile",
    "Hinge",
    "Huber",
    "HuberHinge",
    "Interval",
    "LogCosh",
    "Logistic",
    "Loss",
    "MarginLoss",
    "PiecewisePolynomial",
    "Pinball",
    "PolynomialLoss",
    "PowerHinge",
    "QuadraticDualLoss",
    "ResidualLoss",
    "Several",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "density_from_loss",
    "loss_from_density",
]
