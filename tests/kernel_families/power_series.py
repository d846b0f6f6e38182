"""Power series of kernels."""

from mercer.kernels import Gaussian, Kernel, Linear, Polynomial
from mercer_research.kernels import PowerSeries

KERNELS: list[Kernel] = [
    PowerSeries("exp", 0.3 * Linear()),
    PowerSeries([0.5, 0.0, 1.5, 0.25]),
    PowerSeries([0.0, 1.0, -0.2], Gaussian(1.5)),
    PowerSeries("sinh", PowerSeries("exp", 0.05 * Linear())),
    PowerSeries("geometric", 0.7 * Gaussian([0.7, 1.5, 2.0])),
    PowerSeries("logarithm", 0.8 * Gaussian(1.3)),
    PowerSeries("arcsine", 0.9 * Gaussian(1.3)).on([0, 2]),
    PowerSeries("cosh", Polynomial(2, gamma=0.1, coef0=0.3)),
]
