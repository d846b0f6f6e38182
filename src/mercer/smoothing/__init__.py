"""Linear smoothers: all that one factorization of the squared loss tells."""

from mercer.smoothing.coverage import (
    CoverageReport,
    CoverageTest,
    coverage_test,
    dkw_band,
    tolerance_level,
    tolerance_sample_size,
)
from mercer.smoothing.eigendecomposition import Spectral
from mercer.smoothing.noise import noise_variance
from mercer.smoothing.scale import ScaleWarning
from mercer.smoothing.secular import Ivanov, Morozov
from mercer.smoothing.tube_width import (
    PolynomialNoise,
    fit_noise,
    optimal_epsilon,
    optimal_nu,
    tube_efficiency,
)

__all__ = [
    "CoverageReport",
    "CoverageTest",
    "Ivanov",
    "Morozov",
    "PolynomialNoise",
    "ScaleWarning",
    "Spectral",
    "coverage_test",
    "dkw_band",
    "fit_noise",
    "noise_variance",
    "optimal_epsilon",
    "optimal_nu",
    "tolerance_level",
    "tolerance_sample_size",
    "tube_efficiency",
]
