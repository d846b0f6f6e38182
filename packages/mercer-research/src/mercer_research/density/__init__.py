"""Research: may change without notice.

The classical distributions of a sample, and a smooth one with a shape.
"""

from mercer_research.density.chi_square import ChiSquareDensity
from mercer_research.density.classical import (
    EmpiricalCDF,
    GaussianDensity,
    HistogramDensity,
    ParzenWindow,
)
from mercer_research.density.kernel_cdf import KernelCDF

__all__ = [
    "ChiSquareDensity",
    "EmpiricalCDF",
    "GaussianDensity",
    "HistogramDensity",
    "KernelCDF",
    "ParzenWindow",
]
