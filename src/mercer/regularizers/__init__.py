"""Penalties, which say what "smooth" means, and the null spaces that they leave free."""

from mercer.regularizers.constraints import Constraint
from mercer.regularizers.errors import ARMA, AutoRegressive, Covariance, MovingAverage, Precision
from mercer.regularizers.knowledge import (
    At,
    AtLeast,
    AtMost,
    Difference,
    Integral,
    Mean,
    Order,
    Periodic,
)
from mercer.regularizers.null_space import (
    Breaks,
    Columns,
    Constant,
    Empty,
    Functions,
    NullSpace,
    Polynomial,
)
from mercer.regularizers.shape import (
    Bounded,
    Concave,
    Convex,
    Decreasing,
    Increasing,
    Lipschitz,
    Positive,
    Slope,
)

__all__ = [
    "ARMA",
    "At",
    "AtLeast",
    "AtMost",
    "AutoRegressive",
    "Bounded",
    "Breaks",
    "Columns",
    "Concave",
    "Constant",
    "Constraint",
    "Convex",
    "Covariance",
    "Decreasing",
    "Difference",
    "Empty",
    "Functions",
    "Increasing",
    "Integral",
    "Lipschitz",
    "Mean",
    "MovingAverage",
    "NullSpace",
    "Order",
    "Periodic",
    "Polynomial",
    "Positive",
    "Precision",
    "Slope",
]
