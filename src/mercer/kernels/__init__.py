"""Kernels, which say what "similar" means, their algebra, and kernels by name."""

from mercer.kernels._transform import Transform, fourier_transform
from mercer.kernels.admissibility import power_series_check
from mercer.kernels.algebra import ActiveDims, Power, Product, Scaled, Sum
from mercer.kernels.anova import ANOVA, Additive, Tensor, components
from mercer.kernels.base import Kernel
from mercer.kernels.callable import Callable, Pairwise
from mercer.kernels.catalogue import catalogue
from mercer.kernels.categorical import Categorical
from mercer.kernels.compact import BSpline, RadialBSpline, Wendland
from mercer.kernels.dot_product import Linear, Polynomial, Sigmoid
from mercer.kernels.exponential import Laplacian, PoweredExponential
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.invariant import Breaks, Invariant, LocalityImproved, Symmetrized, Transformed
from mercer.kernels.matern import Matern
from mercer.kernels.multiquadric import Cauchy, DampedOscillator, InverseMultiquadric, Multiquadric
from mercer.kernels.periodic import (
    Dirichlet,
    Periodic,
    PeriodicGaussian,
    PeriodicSpline,
    Periodized,
)
from mercer.kernels.polyharmonic import Polyharmonic, ThinPlate
from mercer.kernels.power_series import PowerSeries
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.rational_quadratic import RationalQuadratic
from mercer.kernels.spectral import BandLimited, FromSpectrum, SpectralMixture
from mercer.kernels.spline import Haar, Spline
from mercer.kernels.stretched import Stretched
from mercer.kernels.structured import ObjectKernel, SetKernel, StringSpectrum, Subsequence
from mercer.kernels.taylor import derivatives

__all__ = [
    "ANOVA",
    "ActiveDims",
    "Additive",
    "BSpline",
    "BandLimited",
    "Breaks",
    "Callable",
    "Categorical",
    "Cauchy",
    "DampedOscillator",
    "Dirichlet",
    "FromSpectrum",
    "Gaussian",
    "Haar",
    "Invariant",
    "InverseMultiquadric",
    "Kernel",
    "Laplacian",
    "Linear",
    "LocalityImproved",
    "Matern",
    "Multiquadric",
    "ObjectKernel",
    "Pairwise",
    "Periodic",
    "PeriodicGaussian",
    "PeriodicSpline",
    "Periodized",
    "Polyharmonic",
    "Polynomial",
    "Power",
    "PowerSeries",
    "PoweredExponential",
    "Precomputed",
    "Product",
    "RadialBSpline",
    "RationalQuadratic",
    "Scaled",
    "SetKernel",
    "Sigmoid",
    "SpectralMixture",
    "Spline",
    "Stretched",
    "StringSpectrum",
    "Subsequence",
    "Sum",
    "Symmetrized",
    "Tensor",
    "ThinPlate",
    "Transform",
    "Transformed",
    "Wendland",
    "catalogue",
    "components",
    "derivatives",
    "fourier_transform",
    "power_series_check",
]
