"""Figures 6.3 and 6.4a: the secular equation, and the variance of the noise instead of a weight."""

import numpy as np

from mercer.kernels import Gaussian
from mercer.smoothing import Spectral
from mercer.smoothing.secular import feasible, mean_square, morozov
from papers.outcome import Claim, Result, at_least, at_most, near

N, NOISE = 100, 0.2
KERNEL = Gaussian(0.5)
SHARES = np.geomspace(0.4, 2.5, 41)


def sample(seed: int, n: int, stream: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, stream])
    x = rng.uniform(-3.0, 3.0, n)
    return x, np.sinc(x) + NOISE * rng.standard_normal(n)


def sweep(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return weights and errors on validation data for all variances, NaN where there is none."""
    (x, y), (z, v) = sample(seed, N, 0), sample(seed, 1000, 1)
    spectral = Spectral(KERNEL(x[:, None]), np.ones((N, 1)))
    low, high = feasible(spectral, y)
    C, errors = np.full(len(SHARES), np.nan), np.full(len(SHARES), np.nan)
    K = KERNEL(z[:, None], x[:, None])
    for k, variance in enumerate(SHARES * NOISE**2):
        if low < variance < high:
            C[k] = morozov(spectral, y, variance)
            a, b = spectral.coefficients(y, C[k])
            errors[k] = np.mean((v - K @ a - b) ** 2)
    return C, errors


def run(short: bool = False, random_state: int = 0) -> Result:
    seeds = range(random_state, random_state + (20 if short else 200))
    x, y = sample(random_state, 12, 0)
    spectral = Spectral(Gaussian(0.3)(x[:, None]))
    sigma, xi = spectral.values, np.geomspace(1e-6, 1e6, 2000)
    h = mean_square(spectral, y, 2 * xi)
    # To the left of zero the function has a pole at -1/(2 sigma) for each eigenvalue.
    poles = -0.5 / sigma
    near_poles = np.array([mean_square(spectral, y, 2 * p * (1 + 1e-7)) for p in poles])
    target = 0.3 * float(mean_square(spectral, y, 0.0))
    C = morozov(spectral, y, target)
    runs = [sweep(s) for s in seeds]
    errors = np.array([e for _, e in runs])
    best = SHARES[np.nanargmin(errors, axis=1)]
    exact = [e[np.argmin(np.abs(SHARES - 1.0))] / np.nanmin(e) for e in errors]
    first = [e[~np.isnan(e)][0] / np.nanmin(e) for e in errors]
    falling = [np.all(np.diff(c[~np.isnan(c)]) < 0) for c, _ in runs]
    seen = ~np.all(np.isnan(errors), axis=0)
    error = 1.25 * float(np.std(best)) / np.sqrt(len(best))
    return Result(
        "The variance of the noise instead of a weight",
        "Pelckmans 2005, figures 6.3 and 6.4a, eq. (6.25) to (6.35)",
        f"Above: 12 points, all values of the secular equation. Below: sinc + N(0, 0.2²) at {N} "
        "points uniform on [-3, 3], Gaussian of width 0.5, an intercept; Morozov's weight for "
        f"{len(SHARES)} variances, 1000 validation points, {len(seeds)} samples. The data of the "
        "figure are not printed.",
        [
            at_most(
                "largest step of h(ξ) on ξ > 0",
                np.max(np.diff(h)),
                0.0,
                "h falls, so there is one root",
            ),
            at_least(
                "least h(ξ) a ten-millionth beside its poles, over h(0)",
                np.min(near_poles) / mean_square(spectral, y, 0.0),
                1e3,
                "one pole for each eigenvalue, at ξ = -1/(2σ)",
            ),
            near(
                "mean squared residual over that asked for, minus 1",
                float(np.mean(spectral.residuals(y, C) ** 2)) / target - 1,
                0.0,
                1e-9,
                "the root to rounding",
            ),
            at_least(
                "share of samples where more noise means less weight",
                np.mean(falling),
                1.0,
                "the map is monotone",
            ),
            Claim(
                "best variance on validation over the true one, median",
                float(np.median(best)),
                0.8 - 3 * error,
                1.0 + 3 * error,
                "a fit of d degrees of freedom leaves 1 - d/n of the variance; d is 10 to 20",
                1.0,
            ),
            at_most(
                "error with the true variance over the least, median",
                np.median(exact),
                1.25,
                "near the optimum: a quarter",
            ),
            at_least(
                "error with the smallest variance over the least, median",
                np.median(first),
                1.1,
                "small variances overfit",
            ),
        ],
        {"shares": SHARES[seen].tolist(), "median": np.nanmedian(errors[:, seen], axis=0).tolist()},
    )
