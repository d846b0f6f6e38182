"""Spectra of kernels of period 6, from their Fourier transforms, for tests of this room."""

import numpy as np

PERIOD = 6.0


def periodic(log_density, n):
    """Return logarithms of eigenvalues at frequencies 0 .. n, and how often each occurs."""
    omega = 2 * np.pi * np.arange(n + 1) / PERIOD
    return log_density(omega), np.r_[1, np.full(n, 2)]


def gaussian(width, n=200):
    return periodic(lambda w: np.log(width * np.sqrt(2 * np.pi)) - (width * w) ** 2 / 2, n)


def exponential(n):
    """Return the spectrum of exp(-|t|) and ln of what the trace, coth 3 times 6, has beyond it."""
    log_eigenvalues, times = periodic(lambda w: np.log(2) - np.log1p(w**2), n)
    rest = PERIOD / np.tanh(3) - np.sum(times * np.exp(log_eigenvalues))
    return log_eigenvalues, times, np.log(rest)


def rational(n=400):
    """Return the spectrum of 1/(1 + x^2)."""
    return periodic(lambda w: np.log(np.pi) - w, n)
