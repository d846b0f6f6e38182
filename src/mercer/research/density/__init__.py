"""Research: may change without notice.

The classical distributions of a sample.
"""

from mercer.research.density.chi_square import ChiSquareDensity
from mercer.research.density.classical import (
    EmpiricalCDF,
    GaussianDensity,
    HistogramDensity,
    ParzenWindow,
)

__all__ = [
    "ChiSquareDensity",
    "EmpiricalCDF",
    "GaussianDensity",
    "HistogramDensity",
    "ParzenWindow",
]
