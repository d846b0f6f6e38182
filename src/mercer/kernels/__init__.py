"""What "similar" means: kernels, their algebra, and kernels by name."""

from mercer.kernels.admissibility import power_series_check, power_series_coefficients
from mercer.kernels.anova import ANOVA, Additive, Tensor, components
from mercer.kernels.base import ActiveDims, Kernel, Power, Product, Scaled, Sum
from mercer.kernels.callable import Callable, Pairwise
from mercer.kernels.compact import BSpline
from mercer.kernels.convolution import convolution_root, self_convolution
from mercer.kernels.dot_product import Linear, Polynomial, Sigmoid, monomials
from mercer.kernels.eigen import Eigensystem, Fourier
from mercer.kernels.invariant import (
    Breaks,
    Invariant,
    LocalityImproved,
    Symmetrized,
    Transformed,
    log_polar,
)
from mercer.kernels.named import resolve, resolve_gamma
from mercer.kernels.operator import Green, from_penalty_matrix
from mercer.kernels.periodic import Dirichlet, Periodic, PeriodicGaussian, Periodized
from mercer.kernels.polyharmonic import Polyharmonic, ThinPlate
from mercer.kernels.power_series import PowerSeries, operator_penalty
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.spectral import BandLimited, FromSpectrum, SpectralMixture
from mercer.kernels.spline import Haar, Spline
from mercer.kernels.stationary import Gaussian, Laplacian, Matern, RationalQuadratic
from mercer.kernels.structured import ObjectKernel, SetKernel, StringSpectrum, Subsequence
from mercer.kernels.tabulated import Tabulated

__all__ = [
    "ANOVA",
    "ActiveDims",
    "Additive",
    "BSpline",
    "BandLimited",
    "Breaks",
    "Callable",
    "Dirichlet",
    "Eigensystem",
    "Fourier",
    "FromSpectrum",
    "Gaussian",
    "Green",
    "Haar",
    "Invariant",
    "Kernel",
    "Laplacian",
    "Linear",
    "LocalityImproved",
    "Matern",
    "ObjectKernel",
    "Pairwise",
    "Periodic",
    "PeriodicGaussian",
    "Periodized",
    "Polyharmonic",
    "Polynomial",
    "Power",
    "PowerSeries",
    "Precomputed",
    "Product",
    "RationalQuadratic",
    "Scaled",
    "SetKernel",
    "Sigmoid",
    "SpectralMixture",
    "Spline",
    "StringSpectrum",
    "Subsequence",
    "Sum",
    "Symmetrized",
    "Tabulated",
    "Tensor",
    "ThinPlate",
    "Transformed",
    "components",
    "convolution_root",
    "from_penalty_matrix",
    "log_polar",
    "monomials",
    "operator_penalty",
    "power_series_check",
    "power_series_coefficients",
    "resolve",
    "resolve_gamma",
    "self_convolution",
]
