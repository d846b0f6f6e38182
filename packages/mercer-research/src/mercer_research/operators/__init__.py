"""Research: may change without notice.

Kernels and regularization operators: admissibility, norms of functions and self-consistency.
"""

from mercer_research.operators.admissible import Verdict, conditional_order, is_kernel
from mercer_research.operators.norms import (
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
