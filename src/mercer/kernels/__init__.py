"""Kernels, which say what "similar" means, their algebra, and kernels by name."""

from mercer.kernels.algebra import ActiveDims, Power, Product, Scaled, Sum
from mercer.kernels.anova import ANOVA, Additive, Tensor, components
from mercer.kernels.base import Kernel
from mercer.kernels.callable import Callable, Pairwise
from mercer.kernels.categorical import Categorical
from mercer.kernels.compact import BSpline, Wendland
from mercer.kernels.dot_product import Linear, Polynomial, Sigmoid
from mercer.kernels.exponential import Laplacian, PoweredExponential
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.invariant import Invariant, Symmetrized, Transformed
from mercer.kernels.matern import Matern
from mercer.kernels.multiquadric import Cauchy, DampedOscillator, InverseMultiquadric, Multiquadric
from mercer.kernels.periodic import Periodic, PeriodicGaussian, PeriodicSpline
from mercer.kernels.polyharmonic import Polyharmonic, ThinPlate
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.rational_quadratic import RationalQuadratic
from mercer.kernels.spectral import SpectralMixture
from mercer.kernels.spline import Spline
from mercer.kernels.stretched import Stretched
from mercer.kernels.structured import ObjectKernel, SetKernel, StringSpectrum, Subsequence
from mercer.kernels.taylor import derivatives

__all__ = [
    "ANOVA",
    "ActiveDims",
    "Additive",
    "BSpline",
    "Callable",
    "Categorical",
    "Cauchy",
    "DampedOscillator",
    "Gaussian",
    "Invariant",
    "InverseMultiquadric",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Multiquadric",
    "ObjectKernel",
    "Pairwise",
    "Periodic",
    "PeriodicGaussian",
    "PeriodicSpline",
    "Polyharmonic",
    "Polynomial",
    "Power",
    "PoweredExponential",
    "Precomputed",
    "Product",
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
    "Transformed",
    "Wendland",
    "components",
    "derivatives",
]
