"""Smooth distribution functions of a sample, with a shape, and their densities."""

from mercer.density.cdf import KernelCDF

__all__ = ["KernelCDF"]
