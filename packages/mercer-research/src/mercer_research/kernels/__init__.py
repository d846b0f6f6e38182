"""Research: may change without notice.

Kernels from eigenfunctions, Green's functions, tables, lattices and observations of functions.
"""

from mercer_research.kernels.convolution import convolution_root, self_convolution
from mercer_research.kernels.eigen import Eigensystem, Fourier
from mercer_research.kernels.observed import Observed
from mercer_research.kernels.operator import Green, from_penalty_matrix
from mercer_research.kernels.tabulated import Tabulated
from mercer_research.kernels.torus import Torus

__all__ = [
    "Eigensystem",
    "Fourier",
    "Green",
    "Observed",
    "Tabulated",
    "Torus",
    "convolution_root",
    "from_penalty_matrix",
    "self_convolution",
]
