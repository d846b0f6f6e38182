"""Figure 1, lower row: a principal surface through a noisy sheet in three dimensions."""

from itertools import pairwise

import numpy as np

from mercer.manifold import Grid
from papers.outcome import Result, at_least, at_most
from papers.smola_2001.fits import fit, largest_rise

LAMBDAS = (0.001, 0.1, 1.0)
NOISE = 0.1


def sheet(u: np.ndarray) -> np.ndarray:
    """Return points of the sheet over the square."""
    height = np.sin(0.5 * np.pi * u[:, 0]) * np.cos(0.5 * np.pi * u[:, 1])
    return np.asarray(np.c_[u, height])


def run(short: bool = False, random_state: int = 0) -> Result:
    rng = np.random.default_rng(random_state)
    m = 150 if short else 400
    X = sheet(rng.uniform(-1.0, 1.0, (m, 2))) + NOISE * rng.normal(size=(m, 3))
    axis = np.linspace(-0.9, 0.9, 19)
    truth = sheet(np.stack(np.meshgrid(axis, axis), axis=2).reshape(-1, 2))
    cap = 15 if short else 300
    fits = [fit(Grid(6, 6), X, lam=lam, normalization="sum", max_iter=cap) for lam in LAMBDAS]
    R = [found.distortion_ / m for found in fits]
    Q = [found.penalty_ for found in fits]
    apart = [float(np.mean(np.sqrt(found.distortion(truth)))) for found in fits]
    return Result(
        "Principal surfaces of a noisy sheet",
        "Smola, Mika, Schölkopf and Williamson 2001, figure 1, lower row",
        f"{m} points of the sheet x₃ = sin(πx₁/2) cos(πx₂/2) over [-1, 1]², noise of deviation "
        f"{NOISE}; 6 × 6 nodes, a Gaussian of width 1 in distances of nodes, summed loss, λ = "
        f"0.001, 0.1, 1, at most {cap} iterations. The sheet of the figure is known as a picture "
        "only; a smooth one stands in.",
        [
            at_most(
                "largest relative rise of the objective at a half step",
                max(map(largest_rise, fits)),
                1e-12,
                "the objective decreases at each step; rounding",
            ),
            at_least(
                "smallest quotient of the errors of a λ and the one before",
                min(b / a for a, b in pairwise(R)),
                1.0,
                "stiffer sheets are farther from the points",
            ),
            at_most(
                "largest quotient of the penalties of a λ and the one before",
                max(b / a for a, b in pairwise(Q)),
                1.0,
                "sheets become smoother",
            ),
            at_most(
                "mean distance of the true sheet to the nearest of the three",
                min(apart),
                NOISE,
                "a close match for a suitable λ: nearer than the points are",
            ),
        ],
        {"errors": R, "penalties": Q, "distance": apart},
    )
