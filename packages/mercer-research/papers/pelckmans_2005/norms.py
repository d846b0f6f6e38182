"""Example 3.1: each noise has its norm; example 3.3: which samples hold a location."""

import numpy as np

from mercer_research.linear import NormRegression, location
from papers.outcome import Result, at_most, near

N, D = 100, 5
# What a box and its whiskers show of the runs.
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
NORMS = ("absolute", "huber", "squared", "maximum")
NAMES = {"absolute": "L1", "huber": "Huber", "squared": "L2", "maximum": "L∞"}

# Means of 1000 runs of another program, in the order of NORMS; the contaminated errors have
# variance 1 for 95 % of the samples and 10 for the others.
REFERENCE = {
    "Laplace": (0.102, 0.111, 0.141, 2.39),
    "Gauss": (0.050, 0.034, 0.032, 0.181),
    "contaminated": (0.054, 0.038, 0.046, 1.02),
    "uniform": (0.064, 0.031, 0.024, 0.0069),
}
WINNER = {"Laplace": "absolute", "Gauss": "squared", "contaminated": "huber", "uniform": "maximum"}


def noise(kind: str, rng: np.random.Generator) -> np.ndarray:
    if kind == "Laplace":
        return rng.laplace(0.0, 1.5, N)
    if kind == "uniform":
        return rng.uniform(-1.5, 1.5, N)
    e = rng.standard_normal(N)
    return e if kind == "Gauss" else e * np.where(rng.random(N) < 0.05, np.sqrt(10.0), 1.0)


def errors(kind: str, runs: int, seed: int) -> np.ndarray:
    """Return mean squared errors of the coefficients, (runs, norms)."""
    rng = np.random.default_rng([seed, list(REFERENCE).index(kind)])
    found = []
    for _ in range(runs):
        X, w = rng.uniform(-1, 1, (N, D)), rng.uniform(-5, 5, D)
        y = X @ w + noise(kind, rng)
        fits = [NormRegression(norm, fit_intercept=False).fit(X, y) for norm in NORMS]
        found.append([np.mean((fit.coef_ - w) ** 2) for fit in fits])
    return np.array(found)


def run(short: bool = False, random_state: int = 0) -> Result:
    runs = 25 if short else 1000
    claims, data = [], {}
    for kind, reference in REFERENCE.items():
        E = errors(kind, runs, random_state)
        mean, error = E.mean(axis=0), E.std(axis=0) / np.sqrt(runs)
        data[kind] = {
            NAMES[norm]: np.quantile(E[:, k], QUANTILES).tolist() for k, norm in enumerate(NORMS)
        }
        for k, norm in enumerate(NORMS):
            share = 0.25 if norm == "maximum" else 0.10
            claims.append(
                near(
                    f"{kind} noise, {NAMES[norm]}: mean squared error of a coefficient",
                    mean[k],
                    reference[k],
                    share * reference[k] + 3 * error[k],
                    f"{share:.0%} of a mean of 1000 runs of another program, and three standard "
                    "errors of ours",
                )
            )
        best = NORMS.index(WINNER[kind])
        others = np.delete(np.arange(4), best)
        ahead = E[:, others] - E[:, [best]]
        rival = int(np.argmin(ahead.mean(axis=0)))
        slack = 0.0 if not short else 3 * float(ahead[:, rival].std()) / np.sqrt(runs)
        claims.append(
            at_most(
                f"{kind} noise: {NAMES[WINNER[kind]]} minus the best of the other norms",
                -ahead[:, rival].mean(),
                slack,
                "the norm of the noise wins" + (", up to three standard errors" if short else ""),
            )
        )
    y = np.random.default_rng(random_state).standard_normal(101)
    centre = location(y)
    claims.append(
        at_most(
            "median: multipliers other than 1 above, 0 below and ½ on it",
            np.max(np.abs(centre.above - np.where(y == centre.value, 0.5, y > centre.value))),
            0.0,
            "example 3.3: the pattern is exact",
        )
    )
    return Result(
        "Four norms for four noises",
        "Pelckmans 2005, examples 3.1 and 3.3 and figures 3.1 and 3.3",
        f"{N} samples, {D} inputs uniform on [-1, 1], coefficients uniform on [-5, 5], no "
        f"constant; Laplace noise of scale 1.5, normal, normal with 5 % of variance 10, uniform on "
        f"[-1.5, 1.5]; {runs} runs. Huber's threshold is 1.345 times a robust scale of the "
        "residuals (printed with its square). The document shows boxes and no numbers.",
        claims,
        data,
    )
