"""Kernels that know a symmetry, the layout of an image, or places of jumps."""

import numpy as np

from mercer.kernels import Gaussian, Invariant, Kernel, Laplacian, Polynomial, Symmetrized
from mercer_research.kernels import Breaks, LocalityImproved

TURN = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])

KERNELS: list[Kernel] = [
    Symmetrized(Gaussian([0.7, 1.5, 2.0])),
    Symmetrized(Polynomial(3, 0.5, 1.0), parity="odd"),
    Symmetrized(Laplacian(1.2), center=(0.5, 0.0, -1.0)),
    Invariant(Gaussian([0.7, 1.5, 2.0]), (np.eye(3), TURN, TURN @ TURN)),
    Invariant(Gaussian(1.5), (np.eye(3), np.diag([1, -1, -1])), (1, -1)),
    LocalityImproved((3,), inner=2, outer=2),
    LocalityImproved((3, 1), inner=1, taper=True, kernel=Gaussian(1.5)),
    Gaussian(1.3) + Breaks((-0.5, 0.5), degree=1).on([1]),
]
