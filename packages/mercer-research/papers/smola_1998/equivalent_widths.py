"""Figure 3.6: a B-spline and a Gaussian that are the same filter where it matters."""

import numpy as np

from mercer.kernels import BSpline, Gaussian
from mercer_research.diagnostics import equivalent_width
from papers.outcome import Result, at_most, near
from papers.smola_1998.kernel_pictures import relative

SPLINE = (0.778912, 0.353165, 0.079080, 0.005103)
GAUSSIAN = (0.781344, 0.372708, 0.108537, 0.019296)


def run(short: bool = False, random_state: int = 0) -> Result:
    gaussian = Gaussian(float(1 / np.sqrt(20)))
    match = equivalent_width(gaussian, BSpline(degree=3), 5e-3, method="moments")
    best = equivalent_width(gaussian, BSpline(degree=3), 5e-3)
    omega = np.pi * np.arange(1, 5)
    six = "computed to six digits"
    same = equivalent_width(BSpline(degree=3), Gaussian(), 5e-3, method="moments").kernel
    far = np.linspace(0, 8 * np.pi, 20001)
    difference = relative(BSpline(degree=3), far) - relative(same, far)
    near_zero = far[(far > 0) & (far <= np.pi / 2)]
    ratio = relative(BSpline(degree=3), near_zero) / relative(same, near_zero)
    claims = [
        near(
            "scale of the spline with equal moments", match.kernel.length_scale, 0.387298, 6e-7, six
        )
    ]
    for name, kernel, row in (("$B_3$", match.kernel, SPLINE), ("Gaussian", gaussian, GAUSSIAN)):
        values = zip(omega, relative(kernel, omega), row, strict=True)
        claims += [
            near(f"{name} filter at {w / np.pi:.0f}π", ours, reference, 6e-7, six)
            for w, ours, reference in values
        ]
    claims += [
        near(
            "$B_3$ filter at 4π, the end of the band",
            relative(match.kernel, [4 * np.pi])[0],
            5e-3,
            5e-4,
            "printed with one digit: down to 5e-3",
            printed=True,
        ),
        near(
            "Gaussian variance for knots at the integers",
            same.length_scale**2,
            1 / 3,
            1e-6,
            "(n + 1)/12 exactly; by differences at zero",
        ),
        at_most(
            "largest difference of these two, all frequencies",
            np.max(np.abs(difference)),
            0.03,
            "bound by calculus",
        ),
        at_most(
            "largest relative difference up to π/2",
            np.max(np.abs(ratio - 1)),
            0.01,
            "bound by calculus",
        ),
        near(
            "relative difference at π",
            1 - relative(BSpline(degree=3), [np.pi])[0] / relative(same, [np.pi])[0],
            0.15,
            0.005,
            "given to two digits",
        ),
        at_most(
            "largest factor between them above 5e-3, at the best width",
            best.comparison.worst_factor,
            match.comparison.worst_factor,
            "not worse than with equal moments",
        ),
    ]
    band = np.linspace(0, 4 * np.pi, 201)
    return Result(
        "B-spline and Gaussian as one filter",
        "Smola 1998, figure 3.6",
        "The caption says variance 20, agreement down to 5e-3 and the band [-4π, 4π], no scales. "
        "It fits a Gaussian filter with variance 20 in frequency and a cubic spline with the same "
        "second moment, whose filter is 5.1e-3 at 4π.",
        claims,
        {
            "omega": band.tolist(),
            "spline": relative(match.kernel, band).tolist(),
            "gaussian": relative(gaussian, band).tolist(),
        },
    )
