"""Research: may change without notice.

Covariances of series, the kernels realized from these, and causal models.
"""

from mercer_research.series.autocovariance import autocovariance, cross_covariance
from mercer_research.series.autoregression import (
    BlockedSplit,
    exponential_memory,
    lag_matrix,
)
from mercer_research.series.differogram import Differogram, covariance_from_differogram
from mercer_research.series.power_spectrum import kernel_from_power_spectrum
from mercer_research.series.projection import nearest_definite, nearest_moving_average
from mercer_research.series.realize import (
    CirculantRealization,
    Realization,
    realize,
    realize_circulant,
    suggest,
)
from mercer_research.series.state_space import ho_kung, markov_parameters
from mercer_research.series.toeplitz import Toeplitz
from mercer_research.series.wiener import wiener_hopf, wiener_taps

__all__ = [
    "BlockedSplit",
    "CirculantRealization",
    "Differogram",
    "Realization",
    "Toeplitz",
    "autocovariance",
    "covariance_from_differogram",
    "cross_covariance",
    "exponential_memory",
    "ho_kung",
    "kernel_from_power_spectrum",
    "lag_matrix",
    "markov_parameters",
    "nearest_definite",
    "nearest_moving_average",
    "realize",
    "realize_circulant",
    "suggest",
    "wiener_hopf",
    "wiener_taps",
]
