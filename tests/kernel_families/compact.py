"""Kernels of compact support."""

from mercer.kernels import BSpline, Kernel, Wendland
from mercer_research.kernels import RadialBSpline

SCALES = [0.7, 1.5, 2.0]

KERNELS: list[Kernel] = [
    BSpline(1.3),
    BSpline(SCALES),
    BSpline(2.0, degree=0),
    BSpline(2.0, degree=1),
    BSpline(SCALES, degree=2),
    BSpline(1.1, degree=5),
    BSpline(0.9, degree=9),
    RadialBSpline(1.6),
    RadialBSpline(SCALES, dim=4),
    RadialBSpline(0.9, dim=7),
    RadialBSpline(1.2, degree=3),
    RadialBSpline(SCALES, degree=5),
    Wendland(3.0, smoothness=0),
    Wendland(2.5),
    Wendland([1.4, 3.0, 4.0], smoothness=2, dim=4),
    Wendland(3.5, smoothness=3, dim=5),
]
