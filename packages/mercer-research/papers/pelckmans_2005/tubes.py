"""Example 3.4, figures 3.4 and 3.5: what the width of a tube says about observations to come."""

import numpy as np
from sklearn.linear_model import lars_path_gram

from mercer.estimators import SupportVectorTube
from mercer.kernels import Gaussian
from mercer.regularizers import Empty
from mercer.smoothing import dkw_band
from mercer.smoothing.coverage import tolerance_probability
from papers.outcome import Result, at_least, at_most, near

EPS, DELTA, LEVEL = 0.1, 0.1, 0.9
KERNEL = Gaussian(0.5)
SIZES = (10, 20, 40)


def draw(rng, n):
    x = rng.uniform(-3, 3, n)
    return x[:, None], np.sinc(x) + rng.uniform(-0.3, 0.3, n)


def frequencies(rng, rounds):
    """Return how often more than EPS lies outside, for errors around a known function."""
    found = {}
    for n in SIZES:
        z = rng.uniform(-1, 1, (rounds, n))
        tube = 1.0 - np.max(np.abs(z), axis=1)
        interval = 1.0 - 0.5 * np.ptp(z, axis=1)
        found[n] = (float(np.mean(tube > EPS)), float(np.mean(interval > EPS)))
    return found


def fitted(rng, rounds):
    """Return the risk of tubes around their own sample, and of those calibrated on another."""
    own, calibrated = [], []
    for _ in range(rounds):
        X, y = draw(rng, 60)
        tube = SupportVectorTube(KERNEL, mu=2.0).fit(X, y)
        new, truth = draw(rng, 400)
        error = np.abs(truth - tube.predict(new))
        own.append(float(np.mean(error > tube.tube_halfwidth_)))
        tube.calibrate(*draw(rng, 60), LEVEL)
        calibrated.append(float(np.mean(error > tube.tube_halfwidth_)))
    return np.array(own), np.array(calibrated)


def run(short: bool = False, random_state: int = 0) -> Result:
    rng = np.random.default_rng(random_state)
    rounds, tubes = (20_000, 20) if short else (200_000, 200)
    shares = frequencies(rng, rounds)
    error = 4.0 * np.sqrt(0.25 / rounds)
    why = f"four standard errors of a share of {rounds}"
    claims = []
    for n, (one, two) in shares.items():
        reference = (1 - EPS) ** n
        claims.append(near(f"P(R > 0.1), ± max |z|, n = {n}", one, reference, error, why))
        reference = n * (1 - EPS) ** (n - 1) - (n - 1) * (1 - EPS) ** n
        claims.append(near(f"P(R > 0.1), [min, max], n = {n}", two, reference, error, why))
    worst = max(
        abs(tolerance_probability(n, EPS, two_sided=True) - two) for n, (_, two) in shares.items()
    )
    claims.append(at_most("largest deviation of the Beta law from the shares", worst, error, why))

    z = np.sort(rng.uniform(size=(rounds // 20, 50)), axis=1)
    steps = np.arange(1, 51) / 50
    sup = np.maximum(np.max(steps - z, axis=1), np.max(z - steps + 0.02, axis=1))
    fails = float(np.mean(sup > dkw_band(50, DELTA)))
    claims.append(
        at_most("share of samples off the band, at most 0.1", fails, DELTA, "eq. (3.45) is a bound")
    )

    own, calibrated = fitted(rng, tubes)
    spread = 3.0 * np.sqrt(LEVEL * (1 - LEVEL) / 61 / tubes)
    claims += [
        at_most(
            "risk of calibrated tubes",
            np.mean(calibrated),
            1 - LEVEL + spread,
            "1 - 0.9 on average, with three standard errors of the mean",
        ),
        at_least(
            "risk of tubes around their own sample over that of a known function",
            np.mean(own) * 61,
            1.0,
            "a known function would have 1/61; the fit has used the sample up",
        ),
    ]

    X, y = draw(np.random.default_rng(7), 40)
    K = KERNEL(X) + 1e-6 * np.eye(40)
    penalties, _, coefficients = lars_path_gram(y, K, n_samples=1, method="lasso", eps=1e-14)
    mu = 3.0
    machine = SupportVectorTube(kernel="precomputed", mu=mu, null_space=Empty(), tol=1e-8)
    machine.fit(K, y)
    lasso = float(np.interp(mu, np.abs(coefficients).sum(axis=0), penalties))
    r = np.abs(y - machine.predict(K))
    path = SupportVectorTube(KERNEL).path(X, y)
    claims += [
        near(
            "half-width beside the penalty of the LASSO",
            machine.tube_halfwidth_,
            lasso,
            1e-6,
            "both solve the same problem, to 1e-8",
        ),
        at_most(
            "farthest target outside the tube",
            np.max(r) - machine.tube_halfwidth_,
            1e-6,
            "no empirical risk, up to the tolerance at which it was solved",
        ),
        at_most(
            "farthest support vector from the walls",
            np.max(machine.tube_halfwidth_ - r[machine.support_]),
            1e-6,
            "support vectors sit on the walls",
        ),
        at_most(
            "largest rise of the half-width along the path",
            np.max(np.diff(path.halfwidths)),
            0.0,
            "the dearer, the narrower",
        ),
    ]
    return Result(
        "What a tube says about observations to come",
        "Pelckmans 2005, example 3.4, figures 3.4 and 3.5, lemma 3.7",
        f"errors uniform around a known function, {rounds} samples; sinc on [-3, 3] with uniform "
        f"noise, 60 points, {tubes} tubes with μ = 2, calibrated on 60 others. The document "
        "prints formulas and no numbers; that for [min, max] is misprinted and was derived anew.",
        claims,
        {
            "sizes": list(SIZES),
            "shares": [list(pair) for pair in shares.values()],
            "own": own.tolist(),
            "calibrated": calibrated.tolist(),
            "prices": path.prices.tolist()[:40],
            "halfwidths": path.halfwidths.tolist()[:40],
        },
    )
