"""Kernels given by their spectrum, by an operator, by a table."""

from mercer.kernels import SpectralMixture
from mercer_research.kernels import BandLimited, FromSpectrum
from mercer_research.kernels.operator import Green
from mercer_research.kernels.tabulated import Tabulated

# A density as a table has a representation that is an expression; a function has none.
TRIANGLE = ((0.0, 1.0, 2.0), (1.0, 0.6, 0.0))

KERNELS = [
    FromSpectrum(TRIANGLE, dim=3, length_scale=0.9),
    FromSpectrum(TRIANGLE, dim=3, length_scale=[0.7, 1.5, 2.0]),
    FromSpectrum(((0.5, 1.5), (0.3, 2.0)), length_scale=1.2).on([1]),
    BandLimited(0.8, dim=3),
    BandLimited([0.7, 1.5, 2.0], dim=5),
    SpectralMixture(
        [1.0, 0.5], means=[[0.0, 0.0, 0.0], [1.0, 0.5, 2.0]], scales=[[0.7, 1.0, 0.4]] * 2
    ),
    SpectralMixture([1.0, 0.5, 0.2], means=[0.0, 1.3, 4.0], scales=[0.7, 0.2, 1.1]).on([2]),
    Green((1.0, 0.5, 0.3), length_scale=0.6).on([0]),
    Green((1.0, 2.0, 1.0), dim=3),
    Green((2.0, 0.0, 0.1, 0.02), dim=3, length_scale=[0.7, 1.5, 2.0]),
    Tabulated((0.0, 0.5, 1.0, 1.5), (2.0, 1.1, 0.4, 0.1), length_scale=1.3).on([1]),
    Tabulated((0.0, 0.4, 1.0, 2.0), (1.0, 0.7, 0.2, 0.0), length_scale=[0.7, 1.5, 2.0], dim=3),
]
