"""Research: may change without notice.

Kernels from eigenfunctions, Green's functions, tables, lattices and observations of functions; rare
kernels of the literature; spectra by quadrature.
"""

from mercer_research.kernels._fourier import Transform, fourier_transform
from mercer_research.kernels.convolution import convolution_root, self_convolution
from mercer_research.kernels.eigen import Eigensystem, Fourier
from mercer_research.kernels.jumps import Breaks, Haar
from mercer_research.kernels.locality_improved import LocalityImproved
from mercer_research.kernels.observed import Observed
from mercer_research.kernels.operator import Green, from_penalty_matrix
from mercer_research.kernels.periodic import Dirichlet, Periodized
from mercer_research.kernels.power_series import PowerSeries
from mercer_research.kernels.power_series_check import power_series_check
from mercer_research.kernels.radial_bspline import RadialBSpline
from mercer_research.kernels.spectra import product_spectrum
from mercer_research.kernels.spectral import BandLimited, FromSpectrum
from mercer_research.kernels.tabulated import Tabulated
from mercer_research.kernels.torus import Torus

__all__ = [
    "BandLimited",
    "Breaks",
    "Dirichlet",
    "Eigensystem",
    "Fourier",
    "FromSpectrum",
    "Green",
    "Haar",
    "LocalityImproved",
    "Observed",
    "Periodized",
    "PowerSeries",
    "RadialBSpline",
    "Tabulated",
    "Torus",
    "Transform",
    "convolution_root",
    "fourier_transform",
    "from_penalty_matrix",
    "power_series_check",
    "product_spectrum",
    "self_convolution",
]
