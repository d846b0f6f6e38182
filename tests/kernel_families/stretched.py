"""Kernels of features in other units."""

from mercer.kernels import BSpline, Gaussian, Linear, Polynomial, Stretched

KERNELS = [
    Stretched(Linear(), [0.5, 2.0, 3.0]),
    Stretched(Polynomial(degree=2, coef0=1.0), [0.5, 2.0, 3.0]),
    Stretched(Gaussian(1.3), 2.0),
    Stretched(Gaussian([1.0, 2.0]).on([0, 2]) + Linear(), [0.5, 2.0, 3.0]),
    Stretched(BSpline(2.0, degree=3), [0.7, 1.0, 1.5]),
]
