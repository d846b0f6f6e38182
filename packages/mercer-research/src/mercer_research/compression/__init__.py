"""Research: may change without notice.

Few terms in theory: rates, bases of other kernels, covers by Lipschitz constants.
"""

from mercer_research.compression.foreign import (
    ForeignBasis,
    LipschitzCover,
    coefficient_norm_growth,
    foreign_basis,
    lipschitz_constant,
    lipschitz_cover,
)
from mercer_research.compression.makovoz import Makovoz, makovoz

__all__ = [
    "ForeignBasis",
    "LipschitzCover",
    "Makovoz",
    "coefficient_norm_growth",
    "foreign_basis",
    "lipschitz_constant",
    "lipschitz_cover",
    "makovoz",
]
