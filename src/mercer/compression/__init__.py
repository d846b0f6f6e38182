"""Fitted machines with fewer terms: prediction made fast, with a certificate."""

from mercer.compression.certificate import Compression
from mercer.compression.compress import compress
from mercer.compression.foreign import (
    ForeignBasis,
    LipschitzCover,
    coefficient_norm_growth,
    foreign_basis,
    lipschitz_constant,
    lipschitz_cover,
)
from mercer.compression.precision import with_precision
from mercer.compression.preimage import Preimages, preimages
from mercer.compression.pursuit import matching_pursuit, project
from mercer.compression.stratified import Makovoz, Strata, Stratified, makovoz, stratified_terms
from mercer.compression.supremum import Covered, sup_terms

__all__ = [
    "Compression",
    "Covered",
    "ForeignBasis",
    "LipschitzCover",
    "Makovoz",
    "Preimages",
    "Strata",
    "Stratified",
    "coefficient_norm_growth",
    "compress",
    "foreign_basis",
    "lipschitz_constant",
    "lipschitz_cover",
    "makovoz",
    "matching_pursuit",
    "preimages",
    "project",
    "stratified_terms",
    "sup_terms",
    "with_precision",
]
