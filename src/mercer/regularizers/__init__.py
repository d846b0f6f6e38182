"""What "smooth" means, and what the penalty leaves free."""

from mercer.regularizers.basis import BasisNotInRKHS, penalized
from mercer.regularizers.errors import (
    ARMA,
    AutoRegressive,
    Covariance,
    ErrorModel,
    Independent,
    LinearProcess,
    MovingAverage,
    Precision,
)
from mercer.regularizers.null_space import (
    Breaks,
    Columns,
    Constant,
    Empty,
    Functions,
    Monomials,
    NullSpace,
    Polynomial,
    Sum,
    complete,
)

__all__ = [
    "ARMA",
    "AutoRegressive",
    "BasisNotInRKHS",
    "Breaks",
    "Columns",
    "Constant",
    "Covariance",
    "Empty",
    "ErrorModel",
    "Functions",
    "Independent",
    "LinearProcess",
    "Monomials",
    "MovingAverage",
    "NullSpace",
    "Polynomial",
    "Precision",
    "Sum",
    "complete",
    "penalized",
]
