"""Powers of one plus the squared distance, and powered exponentials."""

from mercer.kernels import (
    Cauchy,
    DampedOscillator,
    InverseMultiquadric,
    Kernel,
    Multiquadric,
    PoweredExponential,
)

SCALES = [0.7, 1.5, 2.0]

KERNELS: list[Kernel] = [
    Multiquadric(1.3),
    Multiquadric(SCALES),
    Multiquadric(1.3, exponent=1.5),
    InverseMultiquadric(1.3),
    InverseMultiquadric(SCALES, exponent=2.2),
    DampedOscillator(0.9),
    Cauchy(1.3),
    Cauchy(SCALES),
    PoweredExponential(1.2, exponent=0.7),
    PoweredExponential(SCALES, exponent=1.5),
    PoweredExponential(1.4, exponent=2.0),
]
