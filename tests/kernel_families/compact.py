"""Kernels of compact support."""

from mercer.kernels import BSpline, Kernel

SCALES = [0.7, 1.5, 2.0]

KERNELS: list[Kernel] = [
    BSpline(1.3),
    BSpline(SCALES),
    BSpline(2.0, degree=0),
    BSpline(2.0, degree=1),
    BSpline(SCALES, degree=2),
    BSpline(1.1, degree=5),
    BSpline(0.9, degree=9),
]
