"""What "smooth" means, and what the penalty leaves free."""

from mercer.regularizers.null_space import Constant, Empty, Functions, NullSpace, Polynomial, Sum

__all__ = ["Constant", "Empty", "Functions", "NullSpace", "Polynomial", "Sum"]
