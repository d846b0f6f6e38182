"""Series: their power spectra, and kernels with such a spectrum."""

from mercer.series.spectrum import kernel_from_power_spectrum

__all__ = [
    "kernel_from_power_spectrum",
]
