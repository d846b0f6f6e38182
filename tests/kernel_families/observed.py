"""Functionals of three places."""

import numpy as np

from mercer.kernels import Gaussian, Kernel, Matern
from mercer_research.kernels.observed import Observed

PLACES = np.array([[0.0, 0.3], [0.5, -0.2], [1.5, 0.4]])

KERNELS: list[Kernel] = [
    Observed(Gaussian(0.7), PLACES),
    Observed(2.0 * Matern([0.7, 1.2]) + Gaussian(0.3), PLACES),
]
