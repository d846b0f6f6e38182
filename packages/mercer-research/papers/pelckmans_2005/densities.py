"""Figures 1.1, 1.2 and 2.1: histograms, windows, and a piecewise linear density by cones."""

import numpy as np
from scipy import stats

from mercer_research.density import ChiSquareDensity, EmpiricalCDF, HistogramDensity, ParzenWindow
from papers.outcome import Result, at_least, at_most, near

GRID = np.linspace(-4.5, 4.5, 901)[:, None]
WIDTHS = (0.1, 0.4, 1.5)
# The sample of figure 2.1 is not given: two peaks of different width.
PEAKS = ((0.6, -1.0, 0.3), (0.4, 1.5, 0.6))


def bumps(p: np.ndarray) -> int:
    """Count the peaks of a density on the grid."""
    return int(np.sum((p[1:-1] > p[:-2]) & (p[1:-1] >= p[2:]) & (p[1:-1] > 0.02 * p.max())))


def two_peaks(seed: int, n: int = 300) -> np.ndarray:
    rng = np.random.default_rng(seed)
    which = rng.uniform(size=n) < PEAKS[0][0]
    first, second = (rng.normal(m, s, n) for _, m, s in PEAKS)
    return np.where(which, first, second)[:, None]


def peaked(x):
    return sum(w * stats.norm.pdf(x, m, s) for w, m, s in PEAKS)


def run(short: bool = False, random_state: int = 0) -> Result:
    seeds = range(random_state, random_state + (2 if short else 40))
    counts, totals, gaps, errors = [], [], [], []
    for seed in seeds:
        x = np.random.default_rng(seed).normal(size=(100, 1))
        windows = [ParzenWindow(bandwidth=h).fit(x) for h in WIDTHS]
        counts.append([bumps(model.pdf(GRID)) for model in windows])
        totals.append(abs(np.trapezoid(windows[1].pdf(GRID), GRID[:, 0]) - 1.0))
        gaps.append(np.max(np.abs(EmpiricalCDF().fit(x).cdf(GRID) - stats.norm.cdf(GRID[:, 0]))))
        z = two_peaks(seed)
        knots = np.linspace(z.min(), z.max(), 16)
        models = [
            ChiSquareDensity(knots).fit(z),
            HistogramDensity(knots).fit(z),
            ParzenWindow().fit(z),
        ]
        errors.append(
            [np.trapezoid((m.pdf(GRID) - peaked(GRID[:, 0])) ** 2, GRID[:, 0]) for m in models]
        )
    few, right, many = np.mean(counts, axis=0)[::-1]
    chi, histogram, window = np.mean(errors, axis=0)
    return Result(
        "Histogram, windows and a density by cones",
        "Pelckmans 2005, figures 1.1, 1.2 and 2.1, examples 1.1 and 2.1",
        f"100 draws of N(0, 1), windows of widths {WIDTHS}; 300 draws of two Gaussian peaks (the "
        f"sample of figure 2.1 is not given), 15 bins, normal rule for the window; {len(seeds)} "
        "runs.",
        [
            at_least("peaks, window too narrow", many, 5.0, "printed: a spiky picture"),
            near("peaks, window too wide", few, 1.0, 0.0, "printed: one flat bump"),
            at_most("peaks, window between", right, 3.0, "printed: close to the law"),
            at_most("mass of the window minus one", max(totals), 1e-3, "the grid ends at 4.5"),
            at_most(
                "sup distance of the empirical function, 100 draws",
                np.mean(gaps),
                0.12,
                "Kolmogorov: the mean is 0.87 / 10",
            ),
            at_most(
                "squared error, cones over histogram",
                chi / histogram,
                1.0,
                "continuous: below the histogram on the same bins",
            ),
            at_most(
                "squared error, cones over window",
                chi / window,
                1.0,
                "printed: follows the peaks better than a window",
            ),
        ],
        {"errors": np.array(errors).tolist(), "peaks": np.array(counts).tolist()},
    )
