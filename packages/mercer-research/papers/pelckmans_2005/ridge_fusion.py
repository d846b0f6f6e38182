"""Figures 7.1 and 7.2: ridge fused with validation, exactly and by clusters of the spectrum."""

import numpy as np

from mercer_research.linear import FusedRidge, RidgeFusion, Split, clustered_ridge, least_squares
from papers.outcome import Result, at_least, at_most, near

N, D, N_VAL = 100, 10, 75
# What a box and its whiskers show of the runs.
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
SPECTRUM = np.array([97.0] * 2 + [0.05] * 8)
OLS, RIDGE, CLUSTERED = (16.0, 0.100), (1.86, 0.0323), (1.95, 0.0322)


def valleys() -> tuple[Split, np.ndarray]:
    """Return a case whose cost of validation has two valleys, and penalties to draw it at."""
    X, y = np.diag([10.0, 0.1]), np.array([10.0, 0.1])
    split = Split.of(X, y, np.diag([1.0, 1.2]), np.array([0.1, 1.2]), False)
    return split, np.geomspace(1e-5, 1e5, 400)


def trial(rng: np.random.Generator) -> tuple[dict[str, np.ndarray], float]:
    """Return errors of coefficients and of predictions by model, and how far a proof is off."""
    V = np.linalg.qr(rng.standard_normal((D, D)))[0]
    X = np.linalg.qr(rng.standard_normal((N, D)))[0] * np.sqrt(SPECTRUM) @ V.T
    X_val = rng.standard_normal((N_VAL, D)) * np.sqrt(SPECTRUM / N) @ V.T
    w = rng.standard_normal(D)
    y, y_val = (Z @ w + rng.standard_normal(len(Z)) for Z in (X, X_val))
    ridge = FusedRidge(fit_intercept=False, certify=True).fit(X, y, X_val, y_val)
    clustered = clustered_ridge(X, y, X_val, y_val, n_clusters=2, fit_intercept=False)
    G = X.T @ X / N
    found = {}
    coefs = {"OLS": least_squares(X, y).coef, "ridge": ridge.coef_, "clustered": clustered.coef}
    for name, coef in coefs.items():
        e = coef - w
        found[name] = np.array([np.mean(e**2), e @ G @ e])
    return found, ridge.certificate_.gap / ridge.certificate_.cost


def run(short: bool = False, random_state: int = 0) -> Result:
    runs = 30 if short else 1000
    split, grid = valleys()
    fusion = RidgeFusion([split])
    costs = fusion.value(grid)
    lowest = np.count_nonzero((costs[1:-1] < costs[:-2]) & (costs[1:-1] < costs[2:]))
    ends = int(costs[0] < costs[1]) + int(costs[-1] < costs[-2])
    rng = np.random.default_rng(random_state)
    trials = [trial(rng) for _ in range(runs)]
    E = {name: np.array([t[0][name] for t in trials]) for name in ("OLS", "ridge", "clustered")}
    mean = {name: e.mean(axis=0) for name, e in E.items()}
    claims = [
        at_least(
            "local minima along a path of ridge regression",
            lowest + ends,
            2,
            "figure 7.1: the cost of validation is not convex along the path",
        ),
        at_most(
            "cost of the penalty that is found over the least on a grid of 400",
            float(fusion.value(fusion.minimize())) / costs.min(),
            1.0 + 1e-12,
            "the global minimum",
        ),
        at_most(
            "largest gap of a proof over the cost",
            max(t[1] for t in trials),
            1e-6,
            "branch and bound stops at 1e-8 of the cost of the null model",
        ),
    ]
    for name, reference in (("OLS", OLS), ("ridge", RIDGE), ("clustered", CLUSTERED)):
        for k, what in enumerate(("coefficient", "prediction")):
            spread = float(E[name][:, k].std())
            claims.append(
                near(
                    f"{name}: mean squared error of a {what}",
                    mean[name][k],
                    reference[k],
                    3 * spread * np.sqrt(1 / runs + 1 / 300) + 5e-3 * reference[k],
                    "three standard errors of a difference to 300 runs of another program, and "
                    "half of its last digit",
                )
            )
    for k, what in enumerate(("coefficient", "prediction")):
        excess = E["clustered"][:, k] - 1.1 * E["ridge"][:, k]
        slack = 3 * float(excess.std()) / np.sqrt(runs)
        claims += [
            at_most(
                f"{what}s: error of clusters minus 1.1 times that of ridge",
                excess.mean(),
                slack,
                "printed: clusters do about as well; three standard errors",
            ),
            at_most(
                f"{what}s: error of ridge over that of least squares",
                mean["ridge"][k] / mean["OLS"][k],
                0.5,
                "printed: both are far better than least squares",
            ),
        ]
    return Result(
        "Ridge regression fused with validation",
        "Pelckmans 2005, section 7.1.1 and figures 7.1 and 7.2",
        f"{N} samples, {D} inputs whose matrix of squares has the eigenvalues 97 (twice) and 0.05 "
        f"(eight times) and random eigenvectors, normal coefficients and noise, {N_VAL} validation "
        f"samples of the same covariance, {runs} runs. The laws of inputs and coefficients are not "
        "printed; the printed mean singular values 97 and 5 do not give the printed condition.",
        claims,
        {
            "penalty": grid.tolist(),
            "cost": costs.tolist(),
            **{name: np.quantile(e, QUANTILES, axis=0).tolist() for name, e in E.items()},
        },
    )
