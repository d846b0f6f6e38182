"""Figures 3.1 to 3.3 and 3.5: kernels, their transforms and coefficients, against closed forms."""

import numpy as np
from scipy.optimize import minimize_scalar

from mercer.kernels import BSpline, Gaussian, PeriodicGaussian
from mercer_research.kernels import Dirichlet
from papers.outcome import Claim, Result, near

# Printed to six digits: half a unit of the last, with room for the rounding of both sides.
SIX = "computed to six digits"


def value(kernel, u):
    """Return the kernel at differences ``u``."""
    return kernel(np.zeros((1, 1)), np.reshape(u, (-1, 1)))[0]


def run(short: bool = False, random_state: int = 0) -> Result:
    spline, gaussian, dirichlet = BSpline(1.0, degree=3), Gaussian(0.5), Dirichlet(10)
    claims = [*spline_claims(spline), *gaussian_claims(gaussian), *dirichlet_claims(dirichlet)]
    for variance, offset, size, quarter in PERIODIC:
        claims += periodic_claims(variance, offset, size, quarter)
    x = np.linspace(-np.pi, np.pi, 201)
    omega = np.linspace(0.0, 8.0 * np.pi, 401)
    return Result(
        "Kernels and their spectra",
        "Smola 1998, figures 3.1 to 3.3 and 3.5",
        "Cubic B-spline; Gaussian of width 1/2; Dirichlet kernel of order 10; periodic Gaussians. "
        "No data and nothing left open, only scales: the spline has knots at the integers, its "
        "spectrum is relative to the one at zero.",
        claims,
        {
            "x": x.tolist(),
            "spline": value(spline, x).tolist(),
            "gaussian": value(gaussian, x).tolist(),
            "dirichlet": value(dirichlet, x).tolist(),
            "omega": omega.tolist(),
            "spline spectrum": relative(spline, omega).tolist(),
            "gaussian spectrum": relative(gaussian, omega).tolist(),
        },
    )


def relative(kernel, omega):
    """Return the spectrum relative to the one at zero: how much of a frequency passes."""
    return kernel.spectrum(np.asarray(omega)) / kernel.spectrum(np.zeros(1))


def spline_claims(kernel) -> list[Claim]:
    exact = "a rational number; only rounding"
    shape = value(kernel, [0.5, 1.0, 1.5, 2.0]) / value(kernel, [0.0])
    names = ("1/2", "1", "3/2", "2")
    references = np.array([23 / 48, 1 / 6, 1 / 48, 0.0]) / (2 / 3)
    lobe = minimize_scalar(
        lambda w: -float(relative(kernel, [w])[0]), bounds=(2 * np.pi, 4 * np.pi), method="bounded"
    )
    return [
        *(
            near(f"$B_3({n})/B_3(0)$", ours, float(ref), 1e-14, exact)
            for n, ours, ref in zip(names, shape, references, strict=True)
        ),
        near("$B_3$ spectrum at π", relative(kernel, [np.pi])[0], 0.164256, 6e-7, SIX),
        near(
            "$B_3$ spectrum at its first zero, 2π",
            relative(kernel, [2 * np.pi])[0],
            0,
            1e-30,
            "rounding of 2π, to the fourth power",
        ),
        near("$B_3$ first side lobe", -lobe.fun, 2.22694e-3, 6e-9, SIX),
        near(
            "its place, in π",
            lobe.x / np.pi,
            2.86059,
            1e-4,
            "a maximum is found to the root of rounding",
        ),
    ]


def gaussian_claims(kernel) -> list[Claim]:
    exact = "closed form; only rounding"
    ours = kernel.spectrum(np.array([0.0, 2.0]))
    return [
        near("Gaussian spectrum at 0 (unitary)", ours[0], 0.5, 1e-14, exact),
        near("Gaussian attenuation at ω = 2", ours[1] / ours[0], 0.606531, 6e-7, SIX),
    ]


def dirichlet_claims(kernel) -> list[Claim]:
    zero = 2 * np.pi / 21
    least = minimize_scalar(
        lambda u: float(value(kernel, [u])[0]), bounds=(zero, 2 * zero), method="bounded"
    )
    scale = 21.0 / float(value(kernel, [0.0])[0])
    return [
        near("Dirichlet: smallest value for $k(0) = 21$", scale * least.fun, -4.596930, 6e-7, SIX),
        near(
            "Dirichlet at its first zero, 0.2991993",
            scale * value(kernel, [zero])[0],
            0.0,
            1e-12,
            "21 terms of size one, rounded",
        ),
    ]


PERIODIC = (
    (0.1, 0.5, 3.963327298, 4.386383e-06),
    (0.5, 0.499816646, 1.772270497, 0.084710289),
    (1.0, 0.481972622, 1.235286766, 0.280884403),
    (2.0, 0.349687100, 0.736005702, 0.450229628),
)
"""Variance, minus the smallest value, range and normalized value at a quarter of the period."""


def periodic_claims(variance, offset, size, quarter) -> list[Claim]:
    width, label = float(np.sqrt(variance)), f"periodic Gaussian, σ² = {variance}"
    kernel = PeriodicGaussian(width, drop_constant=True)
    top, bottom = value(kernel, [0.0, np.pi])
    middle = value(PeriodicGaussian(width, normalize="range"), [np.pi / 2])[0]
    nine = {"why": "computed to nine digits"}
    claims = [
        near(f"{label}: range", top - bottom, size, 6e-10, **nine),
        near(f"{label}: offset", -bottom, offset, 6e-10, **nine),
        near(f"{label}: at π/2, normalized", middle, quarter, 6e-10, **nine),
    ]
    if variance == 0.1:
        # Two exponentials make a cosine.
        ours = 2.0 * kernel.coefficients(np.array([1, 2, 5, 10]))
        references = (0.951229, 0.818731, 0.286505, 0.00673795)
        claims += [
            near(f"{label}: coefficient {n}", a, b, 6e-7, SIX)
            for n, a, b in zip((1, 2, 5, 10), ours, references, strict=True)
        ]
    return claims
