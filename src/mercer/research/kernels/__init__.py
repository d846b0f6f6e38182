"""Research: may change without notice.

Kernels from eigenfunctions, Green's functions, tables, lattices and observations of functions.
"""

from mercer.research.kernels.convolution import convolution_root, self_convolution
from mercer.research.kernels.eigen import Eigensystem, Fourier
from mercer.research.kernels.observed import Observed
from mercer.research.kernels.operator import Green, from_penalty_matrix
from mercer.research.kernels.tabulated import Tabulated
from mercer.research.kernels.torus import Torus

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
