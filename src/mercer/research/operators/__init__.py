"""Research: may change without notice.

Kernels and regularization operators: admissibility, norms of functions and self-consistency.
"""

from mercer.research.operators.admissible import Verdict, conditional_order, is_kernel
from mercer.research.operators.norms import (
    Consistency,
    Penalty,
    inner_product,
    penalty,
    self_consistency,
)

__all__ = [
    "Consistency",
    "Penalty",
    "Verdict",
    "conditional_order",
    "inner_product",
    "is_kernel",
    "penalty",
    "self_consistency",
]
