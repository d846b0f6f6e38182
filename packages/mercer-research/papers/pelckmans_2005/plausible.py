"""Example 7.1 and figures 7.4 and 7.6: what covariances say, and the sparsest plausible model."""

import numpy as np
from scipy import stats

from mercer_research.linear import (
    FusedRidge,
    PlausibleLeastSquares,
    ValidatedLasso,
    covariance_draws,
    covariance_quantiles,
    lasso_homotopy,
    least_squares,
    plausible_set,
)
from papers.outcome import Result, at_least, at_most, near

N, D, N_VAL = 100, 10, 20
# What a box and its whiskers show of the runs.
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
# Squared length of the error of the coefficients, 60 runs of another program.
REFERENCE = {"OLS": 0.110, "ridge": 0.128, "lasso": 0.069, "pLS (t)": 0.070, "pLS (pairs)": 0.092}


def spreads(rng: np.random.Generator) -> tuple[float, float, float]:
    """Return standard deviations of a covariance by the fixed design and by pairs, and its span."""
    x = rng.standard_normal((N, 1))
    y = 3.14 * x[:, 0] + rng.standard_normal(N)
    pairs = covariance_draws(x, y, method="bootstrap-pairs", n_draws=1000, random_state=0)
    (z,) = np.diff(covariance_quantiles(x, y, [0.25, 0.75])[:, 0])
    return float(np.sqrt(x[:, 0] @ x[:, 0])) / N, float(pairs.std()) / N, float(z) / N


def trial(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return the squared error of the coefficients and the share of zeros found, by model."""
    w = np.zeros(D)
    w[:2] = rng.uniform(-5, 5, 2)
    X, X_val = rng.standard_normal((N, D)), rng.standard_normal((N_VAL, D))
    y, y_val = (Z @ w + rng.standard_normal(len(Z)) for Z in (X, X_val))
    data = X, y, X_val, y_val
    options = {"fit_intercept": False}
    pairs = {"method": "bootstrap-pairs", "random_state": 0, "n_draws": 2000}
    models = {
        "ridge": FusedRidge(**options).fit(*data).coef_,
        "lasso": ValidatedLasso(**options).fit(*data).coef_,
        "pLS (t)": PlausibleLeastSquares(refit=False, **options).fit(*data).coef_,
        "pLS (t, refit)": PlausibleLeastSquares(**options).fit(*data).coef_,
        "pLS (pairs)": PlausibleLeastSquares(refit=False, **pairs, **options).fit(*data).coef_,
        "OLS": least_squares(X, y).coef,
    }
    return {
        name: np.array([np.sum((v - w) ** 2), np.mean(v[2:] == 0.0)]) for name, v in models.items()
    }


def run(short: bool = False, random_state: int = 0) -> Result:
    runs = 6 if short else 200
    rng = np.random.default_rng(random_state)
    S = np.array([spreads(rng) for _ in range(20 if short else 200)])
    trials = [trial(rng) for _ in range(runs)]
    E = {name: np.array([t[name] for t in trials]) for name in trials[0]}
    claims = [
        near(
            "fixed inputs: standard deviation of a covariance over n",
            S[:, 0].mean(),
            0.1,
            3 * S[:, 0].std() / np.sqrt(len(S)) + 0.001,
            "√(Σx²)/n for 100 normal inputs; three standard errors",
        ),
        near(
            "pairs: the same by the bootstrap",
            S[:, 1].mean(),
            0.455,
            3 * S[:, 1].std() / np.sqrt(len(S)) + 0.02,
            "√((2w² + 1)/n), which a bootstrap of heavy-tailed squares underestimates a little",
        ),
        near(
            "half of the covariances lie within this width over n, by t",
            S[:, 2].mean(),
            2 * 0.6745 * 0.1,
            3 * S[:, 2].std() / np.sqrt(len(S)) + 0.002,
            "between the quartiles of a normal law of deviation 0.1",
        ),
    ]
    # Of few runs the deviation is hardly known: what three deviations are, Student's law says.
    wide = float(stats.t.ppf(stats.norm.cdf(3.0), runs - 1))
    for name, reference in REFERENCE.items():
        spread = float(E[name][:, 0].std(ddof=1))
        claims.append(
            near(
                f"{name}: squared error of the coefficients",
                E[name][:, 0].mean(),
                reference,
                wide * spread * np.sqrt(1 / runs + 1 / 60) + 0.0005,
                "three standard errors of a difference to 60 runs of another program",
            )
        )
    excess = E["pLS (t)"][:, 0] - 1.1 * E["lasso"][:, 0]
    zeros = E["pLS (t)"][:, 1] - E["lasso"][:, 1]
    claims += [
        at_most(
            "error of pLS (t) minus 1.1 times that of the lasso",
            excess.mean(),
            3 * float(excess.std()) / np.sqrt(runs),
            "a small loss in accuracy at most; three standard errors",
        ),
        at_least(
            "zeros found by pLS (t) minus those found by the lasso",
            zeros.mean(),
            -0.05 - (3 * float(zeros.std()) / np.sqrt(runs) if short else 0.0),
            "not more than five points fewer",
        ),
        at_least(
            "zeros found by pLS (t) with refit minus those found by the lasso",
            (E["pLS (t, refit)"][:, 1] - E["lasso"][:, 1]).mean(),
            0.0,
            "caption: pLS recovers more structure",
            must=False,
        ),
    ]
    rng = np.random.default_rng(random_state)
    X = rng.standard_normal((N, 2)) @ np.array([[1.0, 0.6], [0.0, 0.8]])
    y = X @ [2.0, 0.0] + rng.standard_normal(N)
    S_05, path = plausible_set(X, y, 0.05), lasso_homotopy(X, y)
    ridge = FusedRidge(fit_intercept=False).fit(X, y).validation_path_
    inside = [S_05.contains(path.coefs[-1]), S_05.contains(ridge.coefs[0])]
    outside = [not S_05.contains(path.coefs[0]), not S_05.contains(ridge.coefs[-1])]
    claims.append(
        at_least(
            "paths of lasso and ridge that end inside the plausible set and begin outside",
            float(np.sum(inside) + np.sum(outside)) / 2,
            2.0,
            "figure 7.4",
        )
    )
    return Result(
        "The sparsest plausible model",
        "Pelckmans 2005, example 7.1, algorithm 7.1 and figures 7.4 to 7.6",
        f"Covariances: 100 samples, slope 3.14, unit variances. Models: {N} samples, {D} standard "
        f"normal inputs, y = ω₁x₁ + ω₂x₂ + N(0, 1), ω uniform on [-5, 5]; penalties and the level "
        f"of the test chosen on {N_VAL} samples; {runs} runs; 2000 draws of pairs. The law of the "
        "inputs is not printed.",
        claims,
        {name: np.quantile(e, QUANTILES, axis=0).tolist() for name, e in E.items()},
    )
