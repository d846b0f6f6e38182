"""Kernels on the circle."""

from mercer.kernels import (
    Gaussian,
    Kernel,
    Matern,
    Periodic,
    PeriodicGaussian,
    PeriodicSpline,
    RationalQuadratic,
)
from mercer_research.kernels import Dirichlet, Periodized
from mercer_research.kernels.torus import Torus

KERNELS: list[Kernel] = [
    PeriodicGaussian(0.4),
    PeriodicGaussian([0.3, 0.8, 1.5], period=4.0),
    PeriodicGaussian(0.7, drop_constant=True),
    PeriodicGaussian(1.4, drop_constant=True, normalize="diagonal"),
    PeriodicGaussian(0.5, normalize="range"),
    PeriodicGaussian([0.9, 1.1, 2.0], normalize="range"),
    Periodic(0.9, period=3.0),
    Periodic([0.5, 1.0, 2.0], period=3.0),
    Dirichlet(4),
    PeriodicSpline(1).on([2]),
    PeriodicSpline(3, period=4.0).on([0]),
    Periodized(Gaussian(0.6), period=2.5).on([1]),
    Periodized(Gaussian(2.6), period=2.5).on([1]),
    Periodized(RationalQuadratic(0.8, alpha=2.0), period=5.0).on([0]),
    Periodized(2.0 * Matern([0.3]) + Gaussian(0.5), period=5.0).on([0]),
    Torus(Matern(0.3), (2.5, 4.0)).on([0, 2]),
    Torus(Gaussian(1.6), (2.5, 2.0, 3.0)),
    Torus(RationalQuadratic(0.8, alpha=3.0), (3.0, 2.5)).on([1, 2]),
]
