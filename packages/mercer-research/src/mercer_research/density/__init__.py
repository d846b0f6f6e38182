"""Research: may change without notice.

The classical distributions of a sample.
"""

from mercer_research.density.chi_square import ChiSquareDensity
from mercer_research.density.classical import (
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
