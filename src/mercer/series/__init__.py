"""Series: their covariances and spectra, the kernels realized from these, causal models."""

from mercer.series.autocovariance import autocovariance, cross_covariance, parzen
from mercer.series.autoregression import (
    AutoRegression,
    BlockedSplit,
    Lagged,
    Memory,
    SpatialAutoRegression,
    exponential_memory,
    lag_matrix,
)
from mercer.series.differogram import Differogram, covariance_from_differogram
from mercer.series.projection import nearest_definite, nearest_moving_average
from mercer.series.realize import (
    CirculantRealization,
    Realization,
    realize,
    realize_circulant,
    suggest,
)
from mercer.series.spectrum import PowerSpectrum, kernel_from_power_spectrum, power_spectrum
from mercer.series.state_space import ho_kung, markov_parameters
from mercer.series.toeplitz import Toeplitz
from mercer.series.wiener import wiener_hopf, wiener_taps

__all__ = [
    "AutoRegression",
    "BlockedSplit",
    "CirculantRealization",
    "Differogram",
    "Lagged",
    "Memory",
    "PowerSpectrum",
    "Realization",
    "SpatialAutoRegression",
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
    "parzen",
    "power_spectrum",
    "realize",
    "realize_circulant",
    "suggest",
    "wiener_hopf",
    "wiener_taps",
]
