"""What "smooth" means, and what the penalty leaves free."""

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
    "Breaks",
    "Columns",
    "Constant",
    "Empty",
    "Functions",
    "Monomials",
    "NullSpace",
    "Polynomial",
    "Sum",
    "complete",
]
