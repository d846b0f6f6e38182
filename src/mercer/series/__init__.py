"""Series: their covariances and spectra, the kernels realized from these, causal models."""

from mercer.series.autoregression import BlockedSplit
from mercer.series.realize import Realization, realize, realize_circulant
from mercer.series.spectrum import kernel_from_power_spectrum

__all__ = [
    "BlockedSplit",
    "Realization",
    "kernel_from_power_spectrum",
    "realize",
    "realize_circulant",
]
