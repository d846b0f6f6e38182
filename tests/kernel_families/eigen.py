"""Kernels from eigenvalues; functions have no representation that could be evaluated."""

from mercer.kernels import Kernel
from mercer_research.kernels import Fourier

KERNELS: list[Kernel] = [
    Fourier([0.7, 1.0, 4.0, 9.0]),
    Fourier([0.9, 1.5, 2.0], period=3.0).on([1]),
]
