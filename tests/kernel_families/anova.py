"""Kernels of all features from a kernel of one."""

from mercer.kernels import (
    ANOVA,
    Additive,
    BSpline,
    Gaussian,
    Kernel,
    Linear,
    Matern,
    PeriodicGaussian,
    Polynomial,
    Spline,
    Tensor,
)
from mercer_research.kernels import Haar

KERNELS: list[Kernel] = [
    Additive(Gaussian([0.8])),
    Additive(Spline(2, -8.0)),
    Tensor(Matern(1.3, nu=0.5)),
    Tensor(BSpline(2.0)),
    Tensor(Haar(0.7, lower=-8.0, upper=8.0)),
    ANOVA(Gaussian(1.1)),
    ANOVA(2.0 * PeriodicGaussian(1.2) + Linear(), interactions=3),
    ANOVA(Polynomial(2, 0.5, 0.7), interactions=1),
    0.5 * ANOVA(Matern([0.9]), interactions=7).on([0, 2]),
]
