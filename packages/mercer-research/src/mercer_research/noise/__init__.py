"""Research: may change without notice.

The variance of the noise from pairs of samples, and rules of thumb that follow from it.
"""

from mercer_research.noise.differogram import DifferogramCloud, differogram_noise
from mercer_research.noise.rules_of_thumb import (
    cherkassky_C,
    guess_epsilon,
    plug_in_bandwidth,
    ridge_C,
    signal_to_noise,
)

__all__ = [
    "DifferogramCloud",
    "cherkassky_C",
    "differogram_noise",
    "guess_epsilon",
    "plug_in_bandwidth",
    "ridge_C",
    "signal_to_noise",
]
