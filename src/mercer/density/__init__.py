"""Distributions of a sample: smooth distribution functions with a shape, and the classical ones."""

from mercer.density.cdf import KernelCDF
from mercer.density.chi_square import ChiSquareDensity
from mercer.density.classical import (
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
    "KernelCDF",
    "ParzenWindow",
]
