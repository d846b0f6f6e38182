"""Kernels of one feature on an interval."""

from mercer.kernels import Kernel, Spline
from mercer_research.kernels import Haar

KERNELS: list[Kernel] = [
    Spline(order=1, lower=-8.0).on([0]),
    Spline(lower=-8.0).on([2]) + 2.0 * Spline(order=3, lower=-6.0).on([0]),
    Haar(lower=-8.0, upper=8.0).on([1]),
    Haar(0.4, constant=0.3, lower=-8.0, upper=9.0, depth=7).on([1]),
]
