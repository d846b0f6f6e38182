"""Research: may change without notice.

Few terms in theory: rates, bases of other kernels, covers by Lipschitz constants; importing it adds
the methods "stratified" and "sup" to :func:`mercer.compression.compress`.
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
from mercer_research.compression.stratified_sampling import Stratified, stratified_terms
from mercer_research.compression.sup_norm import Covered, sup_terms

__all__ = [
    "Covered",
    "ForeignBasis",
    "LipschitzCover",
    "Makovoz",
    "Stratified",
    "coefficient_norm_growth",
    "foreign_basis",
    "lipschitz_constant",
    "lipschitz_cover",
    "makovoz",
    "stratified_terms",
    "sup_terms",
]
